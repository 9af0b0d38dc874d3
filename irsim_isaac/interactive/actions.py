"""Driving to a surface, looking for an item on it, and looking for an item everywhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.goals import Action, GoalHandle
from irsim_isaac.interactive.navigation import Navigator, Stand, stands_around
from irsim_isaac.interactive.ranking import RankedSurface, Strategy, rank_surfaces
from irsim_isaac.interactive.recogniser import Place, Recogniser, Sighting, View
from irsim_isaac.interactive.services import WorldServices
from irsim_isaac.interactive.sightings import SightingKeeper
from irsim_isaac.interactive.simulation import Simulation
from irsim_isaac.msg import Header
from irsim_isaac.msg.interactive_world import (
    DriveAndSearch,
    DriveToSurface,
    ObjectSearch,
    PlacementSurface,
    RoomPlace,
    SegmentedObjectList,
    SurfacePlace,
    WorldModel,
)

__all__ = ["DriveAndSearchAction", "DriveToSurfaceAction", "ObjectSearchAction"]

DriveToSurfaceHandle: TypeAlias = GoalHandle[DriveToSurface.Goal, DriveToSurface.Result]
DriveAndSearchHandle: TypeAlias = GoalHandle[DriveAndSearch.Goal, DriveAndSearch.Result]
ObjectSearchHandle: TypeAlias = GoalHandle[ObjectSearch.Goal, ObjectSearch.Result]

_AT_A_GLANCE = 0.8
"""What is longer than this is looked at in pieces [m]."""

_REACH = 0.5
"""How far before furniture a robot stands that nobody gave a place [m]."""


class DriveToSurfaceAction(Action[DriveToSurface.Goal, DriveToSurface.Result]):
    """Drives to where a surface can be reached.

    A surface of that name that is not there, or no way to it, is an answer: the goal succeeds
    with ``success`` false, and its text says why.

    Args:
        simulation: What is stepped.
        navigator: Drives the robot.
        model: The world.
        drive_time: How long the drive may take [s].
        wall_clock: Tells the real time [s].
        time_limit: How long a goal may take [s].
        wall_limit: How long it may take in real time [s].
    """

    kind = DriveToSurface

    def __init__(
        self,
        simulation: Simulation,
        navigator: Navigator,
        model: WorldModel,
        *,
        drive_time: float = 60.0,
        wall_clock: Callable[[], float] = time.monotonic,
        time_limit: float = math.inf,
        wall_limit: float = 600.0,
    ) -> None:
        super().__init__(
            clock=lambda: simulation.time,
            wall_clock=wall_clock,
            time_limit=time_limit,
            wall_limit=wall_limit,
        )
        self._simulation, self._navigator, self._model = simulation, navigator, model
        self._drive_time = drive_time

    async def _execute(self, handle: DriveToSurfaceHandle) -> None:
        goal = handle.goal
        found = self._model.find(goal.surface)
        if not found:
            handle.text = f"there is no surface '{goal.surface}'"
            return
        stand = self._chosen(found, goal)
        handle.tell(f"driving to {stand.name}")
        handle.enter("waiting")
        async with self._simulation.turn(handle.check):
            handle.enter("driving")
            arrival = await self._navigator.drive(
                stand, check=handle.check, time_limit=self._drive_time
            )
        handle.result.success = arrival.there
        handle.text = arrival.text

    def _chosen(
        self, found: Sequence[tuple[RoomPlace, SurfacePlace]], goal: DriveToSurface.Goal
    ) -> Stand:
        """Return the place nearest the point of interest, or nearest the point."""
        frames = self._model.frames()
        surface = found[0][1]
        near = np.array([goal.point.x, goal.point.y, goal.point.z])
        for _, candidate in found if goal.poi else ():
            poi = next(
                (p for p in candidate.pois if p.name.casefold() == goal.poi.casefold()), None
            )
            if poi is not None:
                surface, near = candidate, frames[poi.frame_id][:3, 3]
                break
        stands = [
            stand for part in surface.placements for stand in _stands(self._model, surface, part)
        ]
        if not stands:
            raise InteractiveError(
                f"the surface '{surface.name}' has no part that items stand on, and so no place "
                "before it"
            )
        # The nearest of them; of several as near the first.
        return min(stands, key=lambda stand: math.dist((stand.x, stand.y, 0.0), near))


def _stands(model: WorldModel, surface: SurfacePlace, part: PlacementSurface) -> list[Stand]:
    """Return where a robot may stand to reach a part: the place that it names, else around."""
    frames = model.frames()
    goal = part.nav_goal
    if goal is not None:
        frame = frames[goal.frame_id]
        yaw = math.atan2(frame[1, 0], frame[0, 0]) + goal.yaw_offset
        name = goal.name or goal.frame_id
        return [Stand(float(frame[0, 3]), float(frame[1, 3]), yaw, name)]
    frame = frames[surface.frame_id]
    half = (surface.width / 2.0, surface.height / 2.0)
    corners = [
        tuple(float(value) for value in (frame @ (sx * half[0], sy * half[1], 0.0, 1.0))[:2])
        for sx, sy in ((1, -1), (1, 1), (-1, 1), (-1, -1))
    ]
    return [
        Stand(x, y, yaw, f"{surface.name}, side {index}")
        for index, (x, y, yaw) in enumerate(
            stands_around([(corner[0], corner[1]) for corner in corners], _REACH), start=1
        )
    ]


class DriveAndSearchAction(Action[DriveAndSearch.Goal, DriveAndSearch.Result]):
    """Drives to each part of a surface in turn and looks for an item there.

    The goal ends at the first part where the item is seen. What was seen is kept, and what was
    not seen where it was thought to be is closed. A part that cannot be reached is passed over;
    an item that is nowhere, or a surface that is not there, is an answer with ``success`` false.

    Args:
        simulation: What is stepped.
        navigator: Drives the robot.
        recogniser: Looks.
        services: Of the world.
        keep: Whether sightings are kept in the store of the services.
        drive_time: How long each drive may take [s].
        look_time: How long the robot stands for each look [s].
        on_view: Called with each look and the part that it was at.
        wall_clock: Tells the real time [s].
        time_limit: How long a goal may take [s].
        wall_limit: How long it may take in real time [s].
    """

    kind = DriveAndSearch

    def __init__(
        self,
        simulation: Simulation,
        navigator: Navigator,
        recogniser: Recogniser,
        services: WorldServices,
        *,
        keep: bool = True,
        drive_time: float = 60.0,
        look_time: float = 0.5,
        on_view: Callable[[View, PlacementSurface], None] | None = None,
        wall_clock: Callable[[], float] = time.monotonic,
        time_limit: float = math.inf,
        wall_limit: float = 1200.0,
    ) -> None:
        super().__init__(
            clock=lambda: simulation.time,
            wall_clock=wall_clock,
            time_limit=time_limit,
            wall_limit=wall_limit,
        )
        self._simulation, self._navigator = simulation, navigator
        self._recogniser, self._model = recogniser, services.model
        self._keeper = SightingKeeper(services, keep=keep)
        self._drive_time, self._look_time = drive_time, look_time
        self._on_view = on_view

    async def _execute(self, handle: DriveAndSearchHandle) -> None:
        goal = handle.goal
        if not goal.item.strip():
            raise InteractiveError("the item is blank, a name was expected")
        found = self._model.find(goal.surface)
        if not found:
            handle.text = f"there is no surface '{goal.surface}'"
            return
        reasons = []
        for _, surface in found:
            for part in surface.placements:
                handle.enter("waiting")
                async with self._simulation.turn(handle.check):
                    reason, views = await self._search(handle, surface, part)
                if reason:
                    reasons.append(reason)
                    handle.tell(reason)
                objects = _recognised(views, goal.item)
                if objects:
                    self._report(handle, objects)
                    return
        handle.text = f"no {goal.item} on {goal.surface}"
        if reasons:
            handle.text += f" ({'; '.join(reasons)})"

    def _report(self, handle: DriveAndSearchHandle, objects: Sequence[Sighting]) -> None:
        fixed = self._model.fixed_frame
        handle.result.success = True
        handle.result.objects = SegmentedObjectList(
            Header(0, self._simulation.time, fixed),
            objects=[sighting.segmented(fixed) for sighting in objects],
        )
        place = self._keeper.surface_of(objects[0]).surface
        handle.text = f"the {objects[0].item} is on {place or 'no surface'}"
        handle.tell(handle.text)

    async def _search(
        self, handle: DriveAndSearchHandle, surface: SurfacePlace, part: PlacementSurface
    ) -> tuple[str, list[View]]:
        """Return why a part could not be looked at, or the looks at it."""
        reason = ""
        for stand in _stands(self._model, surface, part):
            handle.enter("driving")
            handle.tell(f"driving to {stand.name}")
            arrival = await self._navigator.drive(
                stand, check=handle.check, time_limit=self._drive_time
            )
            if arrival.there:
                return "", await self._look(handle, surface, part)
            reason = arrival.text
        return reason or f"{surface.name} has no place before it", []

    async def _look(
        self, handle: DriveAndSearchHandle, surface: SurfacePlace, part: PlacementSurface
    ) -> list[View]:
        handle.enter("looking")
        handle.tell(f"looking at {part.name or part.frame_id}")
        expected = self._keeper.expected(surface, part)
        views = []
        for place in self._aims(surface, part):
            await self._navigator.rest(self._look_time, check=handle.check)
            view = self._recogniser.look(
                self._simulation.state, place, expected=[item.place for item in expected]
            )
            views.append(view)
            if self._on_view is not None:
                self._on_view(view, part)
        handle.check()
        self._keeper.keep(views, expected)
        return views

    def _aims(self, surface: SurfacePlace, part: PlacementSurface) -> list[Place]:
        """Return what to look at so that all of a part comes into view."""
        frame = self._model.frames()[part.frame_id]
        sides = (part.width or surface.width, part.height or surface.height)
        axis = int(sides[1] > sides[0])
        count = max(1, math.ceil(sides[axis] / _AT_A_GLANCE))
        places = []
        for index in range(count):
            local = [0.0, 0.0, 0.0, 1.0]
            local[axis] = ((index + 0.5) / count - 0.5) * sides[axis]
            x, y, z = (float(value) for value in (frame @ local)[:3])
            places.append((x, y, z))
        return places


def _recognised(views: Sequence[View], item: str) -> list[Sighting]:
    """Return the best sighting of each item of a name."""
    best: dict[str, Sighting] = {}
    for view in views:
        for sighting in view.seen:
            known = best.get(sighting.frame_id)
            if sighting.item.casefold() == item.casefold() and (
                known is None or sighting.confidence > known.confidence
            ):
                best[sighting.frame_id] = sighting
    return list(best.values())


class ObjectSearchAction(Action[ObjectSearch.Goal, ObjectSearch.Result]):
    """Looks for an item on one surface after the other, the likeliest first.

    The goal ends at the first find. Each surface is a goal of ``DriveAndSearch``; one that takes
    too long is called off, and the next has its turn. A store or models that cannot be read, and
    a search that takes longer than it may, abort the goal.

    Args:
        simulation: What is stepped.
        drive_and_search: Looks on one surface.
        services: Of the world.
        strategy: How surfaces are ranked.
        surface_time: How long the search of one surface may take [s].
        now: Tells the time by which observations are stamped [s], UTC.
        on_ranking: Called with the surfaces in the order of the search.
        wall_clock: Tells the real time [s].
        time_limit: How long a goal may take [s].
        wall_limit: How long it may take in real time [s].
    """

    kind: ClassVar = ObjectSearch

    def __init__(
        self,
        simulation: Simulation,
        drive_and_search: DriveAndSearchAction,
        services: WorldServices,
        *,
        strategy: Strategy = "combined",
        surface_time: float = 120.0,
        now: Callable[[], float] = time.time,
        on_ranking: Callable[[Sequence[RankedSurface]], None] | None = None,
        wall_clock: Callable[[], float] = time.monotonic,
        time_limit: float = 3600.0,
        wall_limit: float = 3600.0,
    ) -> None:
        super().__init__(
            clock=lambda: simulation.time,
            wall_clock=wall_clock,
            time_limit=time_limit,
            wall_limit=wall_limit,
        )
        self._drive_and_search, self._services = drive_and_search, services
        self._strategy, self._surface_time, self._now = strategy, surface_time, now
        self._on_ranking = on_ranking
        self.current_surface = ""
        """The surface that is searched now; blank for none."""

    async def _execute(self, handle: ObjectSearchHandle) -> None:
        item = handle.goal.item
        if not item.strip():
            raise InteractiveError("the item is blank, a name was expected")
        handle.enter("ranking")
        handle.tell(f"asking where the {item} was seen")
        ranked = self._ranked(handle.goal)
        if self._on_ranking is not None:
            self._on_ranking(ranked)
        try:
            await self._search(handle, ranked)
        finally:
            self.current_surface = ""

    async def _search(self, handle: ObjectSearchHandle, ranked: Sequence[RankedSurface]) -> None:
        item = handle.goal.item
        for surface in ranked:
            handle.check()
            handle.enter("searching")
            handle.tell(f"searching {surface.name}")
            self.current_surface = surface.name
            child = self._drive_and_search.send(
                DriveAndSearch.Goal(item, surface.name),
                parent=handle,
                time_limit=self._surface_time,
            )
            await child.finished()
            handle.check()
            if child.status == "succeeded" and child.result.success:
                handle.result.success = True
                handle.text = child.text
                handle.tell(child.text)
                return
            if child.status == "aborted" and not child.out_of_time:
                raise InteractiveError(child.text)
            handle.tell(f"not on {surface.name}: {child.text}")
        handle.text = f"the {item} is on none of {len(ranked)} surfaces"

    def _ranked(self, goal: ObjectSearch.Goal) -> Sequence[RankedSurface]:
        store = self._services.store
        models = [model for number in goal.models for model in store.load_models(number).models]
        return rank_surfaces(
            goal.item,
            self._services.model,
            store.observations(item=goal.item, removed=None),
            models,
            self._now(),
            strategy=self._strategy,
        )
