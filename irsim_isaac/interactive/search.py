"""Running a search from beginning to end: the stage, the simulator, the store, the drive."""

from __future__ import annotations

import asyncio
import difflib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError, ScenarioError
from irsim_isaac.interactive.action_registry import ActionRegistry
from irsim_isaac.interactive.actions import (
    DriveAndSearchAction,
    DriveToSurfaceAction,
    ObjectSearchAction,
)
from irsim_isaac.interactive.goals import GoalStatus
from irsim_isaac.interactive.navigation import PathNavigator
from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.ranking import RankedSurface
from irsim_isaac.interactive.recogniser import StageRecogniser, View
from irsim_isaac.interactive.search_scenario import Event, SearchScenario
from irsim_isaac.interactive.services import WorldServices
from irsim_isaac.interactive.simulation import Simulation
from irsim_isaac.interactive.store import Store
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import Header, Odometry, PoseStamped, PoseWithCovariance, WorldState
from irsim_isaac.msg.interactive_world import (
    DriveAndSearch,
    FindSurface,
    ItemPlace,
    ObjectSearch,
    PlacementSurface,
    WorldModel,
    from_matrix,
    to_matrix,
)
from irsim_isaac.recording import record
from irsim_isaac.validation import make_simulator, prepare

__all__ = ["Look", "Move", "Search", "SearchOutcome", "find"]

_SETTLING = 1.5
"""How long an item that was put somewhere has to come to rest [s]."""

_DROP = 0.003
"""How high above a surface an item is let go [m]."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look of the robot.

    Attributes:
        time: When [s].
        surface: The surface that it looked at.
        part: The part of it, by its frame.
        at: Where that part is: x, y [m].
        view: What was seen from where.
        searching: Whether it was part of the search, and not of what came before.
        found: Whether what is searched for was seen.
    """

    time: float
    surface: str
    part: str
    at: tuple[float, float]
    view: View
    searching: bool
    found: bool


@dataclass(frozen=True, slots=True)
class Move:
    """An item that the simulation put elsewhere.

    Attributes:
        time: When [s].
        item: Its name.
        start: Where it was: x, y, z [m].
        end: Where it came to rest: x, y, z [m].
        surfaces: What it was on before and after; blank for none.
    """

    time: float
    item: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    surfaces: tuple[str, str]


@dataclass(slots=True)
class SearchOutcome:
    """What came out of a search, and how it went.

    Attributes:
        item: What was searched for.
        scenario: The scenario's title.
        simulator: The simulator's name.
        robot: The robot's name.
        status: How the goal ended.
        found: Whether the item was found.
        text: Why it ended so.
        surface: Where the item was found; blank for nowhere.
        position: Where on it: x, y, z of what it stands on [m]; None for nowhere.
        truth: The surface that the item really is on; blank for none.
        ranking: The surfaces in the order of the search.
        searched: The surfaces that were searched.
        story: What was told: (time [s], text).
        looks: All looks.
        moves: What the simulation moved.
        paths: The planned paths [m], shape (n, 2) each.
        track: x, y of the robot at each step [m], shape (n, 2).
        search_begins: From which row of the track on it searched.
        duration: Of the search [s].
        distance: That was driven in the search [m].
        seconds: Real time of everything [s].
    """

    item: str
    scenario: str
    simulator: str
    robot: str
    status: GoalStatus = "aborted"
    found: bool = False
    text: str = ""
    surface: str = ""
    position: tuple[float, float, float] | None = None
    truth: str = ""
    ranking: list[RankedSurface] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    story: list[tuple[float, str]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    paths: list[NDArray[np.float64]] = field(default_factory=list)
    track: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    search_begins: int = 0
    duration: float = 0.0
    distance: float = 0.0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can say of it, in metres and seconds."""
        return {
            "item": self.item,
            "scenario": self.scenario,
            "simulator": self.simulator,
            "robot": self.robot,
            "status": self.status,
            "found": self.found,
            "text": self.text,
            "surface": self.surface,
            "position": None if self.position is None else list(self.position),
            "truth": self.truth,
            "ranking": [
                {"surface": entry.name, "score": entry.score, "why": entry.why}
                for entry in self.ranking
            ],
            "searched": self.searched,
            "moves": [
                {
                    "time": move.time,
                    "item": move.item,
                    "from": move.surfaces[0],
                    "to": move.surfaces[1],
                    "start": list(move.start),
                    "end": list(move.end),
                }
                for move in self.moves
            ],
            "looks": [
                {
                    "time": look.time,
                    "surface": look.surface,
                    "part": look.part,
                    "camera": list(look.view.position),
                    "searching": look.searching,
                    "seen": [sighting.item for sighting in look.view.seen],
                    "found": look.found,
                }
                for look in self.looks
            ],
            "story": [{"time": at, "text": text} for at, text in self.story],
            "duration": self.duration,
            "distance": self.distance,
            "seconds": self.seconds,
        }


class Search:
    """A scenario made ready: the simulator, the world, the store and the actions.

    Args:
        scenario: What to do.
        store: Where observations are kept and models come from.
        directory: Where files of the simulator are written.
        time_offset: The time at which the simulation begins [s], UTC.
        on_event: Called with each thing that is told.
        progress: Called as ``progress(done, total, what)`` while the stage is read.
        wall_clock: Tells the real time [s].

    Raises:
        ScenarioError: The scenario does not fit its stage.
    """

    def __init__(
        self,
        scenario: SearchScenario,
        directory: Path,
        *,
        store: Store | str,
        time_offset: float | None = None,
        on_event: Callable[[str], None] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
        wall_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Isaac Sim must be running before anything of USD is imported.
        from irsim_isaac.stage import open_stage, room_map, world_model

        self.scenario = scenario
        self._begins = time.time() if time_offset is None else time_offset
        self._waited = 0.0
        self._on_event = on_event
        self._closing = ExitStack()
        try:
            drive = scenario.drive
            ground = prepare(drive, progress=progress)
            world = ground.world.save(directory / "world")
            stage = open_stage(drive.stage_path)
            self.model: WorldModel = world_model(stage)
            self.occupancy: Occupancy = ground.occupancy
            self.floor_plan: Occupancy = room_map(stage, resolution=ground.occupancy.resolution)
            simulator = make_simulator(scenario.simulator, drive, ground, world)
            self._closing.callback(simulator.close)
            simulator.reset(scenario.seed)
            self.simulation = Simulation(simulator)
            self.robot = ground.robot.name
            self.store = Store(store, clock=self.now) if isinstance(store, str) else store
            if isinstance(store, str):
                self._closing.callback(self.store.close)
            self.services = WorldServices(self.model, self.store)
            self.recogniser = StageRecogniser(
                stage,
                self.model,
                robots=tuple(simulator.robots.values()),
                robot=self.robot,
                reference=self.simulation.state,
                camera=scenario.camera.camera,
                miss_rate=scenario.miss_rate,
                seed=scenario.seed,
            )
            self.outcome = SearchOutcome("", scenario.title, simulator.name, self.robot)
            self._make_actions(wall_clock)
        except BaseException:
            self._closing.close()
            raise
        self._searching = False

    def _make_actions(self, wall_clock: Callable[[], float]) -> None:
        scenario = self.scenario
        self.navigator = PathNavigator(
            self.simulation,
            self.robot,
            self.occupancy,
            planner=scenario.planner,
            speed=scenario.speed,
            on_path=self.outcome.paths.append,
        )
        self.drive_to_surface = DriveToSurfaceAction(
            self.simulation,
            self.navigator,
            self.model,
            drive_time=scenario.drive_time,
            wall_clock=wall_clock,
        )
        self.drive_and_search = DriveAndSearchAction(
            self.simulation,
            self.navigator,
            self.recogniser,
            self.services,
            drive_time=scenario.drive_time,
            on_view=self._viewed,
            wall_clock=wall_clock,
        )
        self.object_search = ObjectSearchAction(
            self.simulation,
            self.drive_and_search,
            self.services,
            strategy=scenario.strategy,
            surface_time=scenario.surface_time,
            time_limit=scenario.time_limit,
            now=self.now,
            on_ranking=self.outcome.ranking.extend,
            wall_clock=wall_clock,
        )
        self.actions = ActionRegistry()
        self.actions.add("drive_to_surface", self.drive_to_surface)
        self.actions.add("drive_and_search", self.drive_and_search)
        self.actions.add("object_search", self.object_search)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the simulator, and of the store where it was opened here."""
        self._closing.close()

    def now(self) -> float:
        """Return the time of the world [s], UTC: simulated, and what was waited beside."""
        simulated = self.simulation.time if hasattr(self, "simulation") else 0.0
        return self._begins + simulated + self._waited

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.outcome.story.append((self.simulation.time, text))
        if self._on_event is not None:
            self._on_event(text)

    def where(self, item: ItemPlace) -> str:
        """Return the surface that an item is on now; blank for none."""
        pose = PoseStamped(Header(frame_id=self.model.fixed_frame), item.standing)
        return self.services.find_surface(FindSurface.Request(pose)).surface

    def item(self, name: str) -> ItemPlace | None:
        """Return the first item of a name where it is now."""
        return next(
            (
                item
                for item in self.recogniser.items(self.simulation.state)
                if item.name.casefold() == name.casefold()
            ),
            None,
        )

    def check_known(self, name: str) -> None:
        """Refuse an item that neither the stage, nor the store, nor the models know.

        Raises:
            InteractiveError: It is like that.
        """
        known = dict.fromkeys(item.name for item in self.model.items)
        known |= dict.fromkeys(row.item for row in self.store.observations(removed=None))
        for number in self.scenario.models:
            for model in self.store.load_models(number).models:
                known[model.placement.item.name] = None
        if name.casefold() not in {item.casefold() for item in known}:
            near = difflib.get_close_matches(name.casefold(), map(str.casefold, known), n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(known)}"
            raise InteractiveError(f"nothing is known of an item '{name}'; {hint}")

    def remember(self) -> None:
        """Put the scenario's history into the store."""
        for seen in self.scenario.history:
            found = self.model.find(seen.surface)
            if not found:
                raise ScenarioError(
                    f"{self.scenario.file}: 'history' names the surface '{seen.surface}'; "
                    f"there are {', '.join(item.name for _, item in self.model.surfaces())}"
                )
            surface = found[0][1]
            at = surface.placements[0].pose.position
            self.store.add_observation(
                Observation(
                    surface.name,
                    seen.item,
                    at.x,
                    at.y,
                    at.z,
                    surface_frame_id=surface.frame_id,
                    placement_surface_frame_id=surface.placements[0].frame_id,
                    time=self.now() - seen.ago,
                    removed=None if seen.gone is None else self.now() - seen.gone,
                )
            )

    async def happen(self, event: Event, item: str) -> None:
        """Let one event of the scenario happen.

        Args:
            event: What happens.
            item: What is searched for later.
        """
        if event.wait is not None:
            self._waited += event.wait
            self.tell(f"{_long(event.wait)} go by")
        elif event.look is not None:
            handle = self.drive_and_search.send(DriveAndSearch.Goal(item, event.look))
            await handle.finished()
            if handle.status != "succeeded":
                raise InteractiveError(handle.text)
            self.tell(f"looked at {event.look}: {handle.text}")
        else:
            await self._move(event)

    async def _move(self, event: Event) -> None:
        name, target = str(event.move), str(event.to)
        item, found = self.item(name), self.model.find(target)
        if item is None or not found:
            what = f"item '{name}'" if item is None else f"surface '{target}'"
            raise ScenarioError(f"{self.scenario.file}: 'before' names the {what}, which is none")
        body = self.recogniser.body_of(item.frame_id)
        odom = next((o.odom for o in self.simulation.state.objects if o.name == body), None)
        if odom is None:
            raise ScenarioError(
                f"{self.scenario.file}: the simulator '{self.simulation.simulator.name}' has no "
                f"object '{body}' and cannot move the {name}"
            )
        part = found[0][1].placements[0]
        frame = self.model.frames()[part.frame_id]
        goal = (frame @ (*event.at, _DROP, 1.0))[:3]
        start, before = item.standing.position, self.where(item)
        pose = to_matrix(odom.pose.pose)
        pose[:3, 3] += goal - (start.x, start.y, start.z)
        self.simulation.write(
            {
                body: Odometry(
                    odom.header, odom.child_frame_id, PoseWithCovariance(from_matrix(pose))
                )
            }
        )
        await self.navigator.rest(_SETTLING, check=lambda: None)
        moved = self.item(name)
        end = moved.standing.position if moved is not None else start
        after = "" if moved is None else self.where(moved)
        if after != found[0][1].name:
            raise ScenarioError(
                f"{self.scenario.file}: the {name} was put on {target} and came to rest on "
                f"{after or 'no surface'}"
            )
        self.outcome.moves.append(
            Move(
                self.simulation.time,
                item.name,
                (start.x, start.y, start.z),
                (end.x, end.y, end.z),
                (before, after),
            )
        )
        self.tell(f"the {item.name} is moved from {before or 'no surface'} to {after}")

    async def run(self, item: str) -> SearchOutcome:
        """Let happen what comes before, and search.

        Args:
            item: What to search for.

        Returns:
            What came out.

        Raises:
            InteractiveError: Nothing is known of the item, or what comes before cannot happen.
            StoreError: The store cannot be used.
        """
        began = time.perf_counter()
        outcome = self.outcome
        outcome.item = item
        self.remember()
        self.check_known(item)
        track = [self._here(self.simulation.state)]
        self.simulation.listen(lambda state: track.append(self._here(state)))
        for event in self.scenario.before:
            await self.happen(event, item)
        self._searching = True
        outcome.search_begins = len(track) - 1
        start = self.simulation.time
        handle = self.object_search.send(
            ObjectSearch.Goal(list(self.scenario.models), item), on_feedback=self.tell
        )
        await handle.finished()
        outcome.status, outcome.found, outcome.text = (
            handle.status,
            handle.result.success,
            handle.text,
        )
        outcome.searched = [child.goal.surface for child in handle.children]
        outcome.duration = self.simulation.time - start
        outcome.track = np.array(track)
        driven = np.diff(outcome.track[outcome.search_begins :], axis=0)
        outcome.distance = float(np.hypot(*driven.T).sum())
        truth = self.item(item)
        outcome.truth = "" if truth is None else self.where(truth)
        if outcome.found:
            (objects,) = (child.result.objects.objects for child in handle.children[-1:])
            at = objects[0].center
            outcome.position = (at.x, at.y, at.z - objects[0].height / 2.0)
            outcome.surface = self.services.find_surface(
                FindSurface.Request(_standing(outcome.position, self.model.fixed_frame))
            ).surface
        outcome.seconds = time.perf_counter() - began
        return outcome

    def _here(self, state: WorldState) -> tuple[float, float]:
        at = next(item.odom for item in state.objects if item.name == self.robot).pose.pose.position
        return at.x, at.y

    def _viewed(self, view: View, part: PlacementSurface) -> None:
        frame = self.model.frames()[part.frame_id]
        surface = next(
            item.name
            for _, item in self.model.surfaces()
            if part.frame_id in {own.frame_id for own in item.placements}
        )
        wanted = self.outcome.item.casefold()
        self.outcome.looks.append(
            Look(
                self.simulation.time,
                surface,
                part.frame_id,
                (float(frame[0, 3]), float(frame[1, 3])),
                view,
                self._searching,
                any(sighting.item.casefold() == wanted for sighting in view.seen),
            )
        )


def _standing(position: Sequence[float], fixed_frame: str) -> PoseStamped:
    matrix = np.eye(4)
    matrix[:3, 3] = position
    return PoseStamped(Header(frame_id=fixed_frame), from_matrix(matrix))


def _long(seconds: float) -> str:
    for length, word in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= length:
            return f"{seconds / length:g} {word}"
    return f"{seconds:g} seconds"


def find(
    scenario: SearchScenario,
    item: str,
    directory: Path,
    *,
    store: str | None = None,
    recording: Literal["mcap", "jsonl"] = "mcap",
    time_offset: float | None = None,
    on_event: Callable[[str], None] | None = None,
    on_state: Callable[[Search, WorldState], None] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> SearchOutcome:
    """Search for an item, and write the recording, the picture and the result.

    Args:
        scenario: What to do.
        item: What to search for.
        directory: Where ``drive.mcap``, ``search.png``, ``search.json`` and, where no store is
            named, ``observations.db`` are written.
        store: The store, in place of the scenario's.
        recording: The form of the recording.
        time_offset: The time at which the simulation begins [s], UTC; now unless told.
        on_event: Called with each thing that is told.
        on_state: Called with every state.
        progress: Called as ``progress(done, total, what)`` while the stage is read.

    Returns:
        What came out.

    Raises:
        ScenarioError: The scenario does not fit its stage.
        InteractiveError: Nothing is known of the item.
        StoreError: The store cannot be used.
    """
    from irsim_isaac.files import write_text, writing
    from irsim_isaac.interactive.search_picture import draw_search

    url = store or scenario.store_url or str(directory / "observations.db")
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        search = stack.enter_context(
            Search(
                scenario,
                directory,
                store=url,
                time_offset=time_offset,
                on_event=on_event,
                progress=progress,
            )
        )
        recorder = stack.enter_context(
            record(directory / f"drive.{recording}", robots=search.simulation.simulator.robots)
        )
        recorder.write(search.simulation.state)
        search.simulation.listen(recorder.write)
        if on_state is not None:
            search.simulation.listen(lambda state: on_state(search, state))
        outcome = asyncio.run(search.run(item))
        picture = draw_search(
            outcome,
            search.model,
            search.floor_plan,
            items=search.recogniser.items(search.simulation.state),
            camera=search.recogniser.camera,
        )
    with writing(directory / "search.png") as temporary:
        picture.save(temporary, format="PNG")
    write_text(
        directory / "search.json", json.dumps(outcome.to_dict(), indent=2, allow_nan=False) + "\n"
    )
    return outcome
