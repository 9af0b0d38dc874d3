"""What answers: which surface is under a pose, what was seen where, what was learned."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.learner import LearnedModels, learn_models
from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.parser import Skipped, parse_study
from irsim_isaac.interactive.registry import ServiceRegistry
from irsim_isaac.interactive.store import Store
from irsim_isaac.msg import Header, Pose, PoseStamped
from irsim_isaac.msg.interactive_world import (
    FindObservations,
    FindSurface,
    GetSurfaces,
    LearnModels,
    LoadModels,
    Parse,
    PlacementSurface,
    SetObservationsRemoved,
    StoreObservation,
    TaskTrainingData,
    TransformToSurfaceFrame,
    WorldModel,
    from_matrix,
    to_matrix,
)

__all__ = ["WorldServices"]

_LOG = logging.getLogger(__name__)

_SLACK = 1e-9
"""What composing frames may cost a pose that lies exactly on an edge [m]."""


class WorldServices:
    """Answers the services of ``interactive_world_msgs`` for one world.

    Args:
        model: The world.
        store: Where observations and models are kept; services that need one fail without.
        height_tolerance: How far above or below a part of a surface a pose is on it [m].
        stop_at_first_box: Answer blank where the first surface below a pose has no part at its
            height, as the original software does, instead of trying the next.
        fail_when_empty: Refuse to find no observations, as its oldest version does.
        allow_request_credentials: Connect to the database that a LearnModels request names.
        learn: How to learn from the placements of a task; ``learn_models`` unless told.
        frames: Where frames that the world does not know lie in its fixed frame, or a function
            that tells; it raises KeyError for a frame that it does not know.
    """

    def __init__(
        self,
        model: WorldModel,
        store: Store | None = None,
        *,
        height_tolerance: float = 0.1,
        stop_at_first_box: bool = False,
        fail_when_empty: bool = False,
        allow_request_credentials: bool = False,
        learn: Callable[[TaskTrainingData], LearnedModels] = learn_models,
        frames: Mapping[str, Pose] | Callable[[str], Pose] | None = None,
    ) -> None:
        self.model = model
        self._store = store
        self._tolerance = height_tolerance
        self._stop_at_first_box = stop_at_first_box
        self._fail_when_empty = fail_when_empty
        self._allow_request_credentials = allow_request_credentials
        self._learn = learn
        self._frames = model.frames()
        self._foreign = frames
        self.registry = ServiceRegistry()
        for name, service, answer in (
            ("find_surface", FindSurface, self.find_surface),
            ("transform_to_surface_frame", TransformToSurfaceFrame, self.transform),
            ("get_surfaces", GetSurfaces, self.get_surfaces),
            ("store_observation", StoreObservation, self.store_observation),
            ("find_observations", FindObservations, self.find_observations),
            ("set_observations_removed", SetObservationsRemoved, self.set_removed),
            ("load_models", LoadModels, self.load_models),
            ("learn_hypotheses", LearnModels, self.learn),
            ("parse_and_store", Parse, self.parse),
        ):
            self.registry.add(name, service, answer)

    @property
    def store(self) -> Store:
        """Where observations and models are kept.

        Raises:
            InteractiveError: There is none.
        """
        if self._store is None:
            raise InteractiveError("there is no store to keep observations and models in")
        return self._store

    def store_for(self, request: LearnModels.Request) -> Store:
        """Return the store that a LearnModels request is answered from.

        Args:
            request: The request; the database that it names is ignored unless that is allowed.

        Raises:
            InteractiveError: There is no store.
            StoreError: The request's database is allowed, and cannot be reached.
        """
        named = bool(request.host or request.user or request.password or request.database)
        if named and self._allow_request_credentials:
            return Store.of_credentials(
                host=request.host,
                port=request.port,
                user=request.user,
                password=request.password,
                database=request.database,
            )
        if named:
            _LOG.warning("the database that a LearnModels request names is ignored")
        return self.store

    def find_surface(self, request: FindSurface.Request) -> FindSurface.Response:
        """Answer which surface a pose is on: the first whose box and height it is in.

        Args:
            request: The pose, in a frame of the world.

        Returns:
            The surface, its frame and the frame of its nearest part; blank for none.

        Raises:
            InteractiveError: The frame is unknown, or the pose is not finite.
        """
        pose = self._in_world(request.pose)
        for _, surface in self.model.surfaces():
            place = np.linalg.inv(self._frames[surface.frame_id]) @ pose[:, 3]
            if (
                abs(place[0]) > surface.width / 2.0 + _SLACK
                or abs(place[1]) > surface.height / 2.0 + _SLACK
            ):
                continue
            part = self._nearest(surface.placements, pose[:3, 3])
            if part is not None:
                return FindSurface.Response(
                    surface.name, surface.frame_id, surface.frame_id, part.frame_id
                )
            if self._stop_at_first_box:
                break
        return FindSurface.Response()

    def transform(
        self, request: TransformToSurfaceFrame.Request
    ) -> TransformToSurfaceFrame.Response:
        """Answer where a pose is in the frame of a surface.

        Args:
            request: The pose, and the surface by a name or an alias in any case.

        Returns:
            The pose; its header names the frame of the surface, its stamp is 0.

        Raises:
            InteractiveError: The surface or the frame is unknown.
        """
        found = self.model.find(request.surface)
        if not found:
            raise InteractiveError(
                f"there is no surface '{request.surface}'; there are "
                f"{', '.join(item.name for _, item in self.model.surfaces()) or 'none'}"
            )
        frame_id = found[0][1].frame_id
        local = np.linalg.inv(self._frames[frame_id]) @ self._in_world(request.pose)
        return TransformToSurfaceFrame.Response(
            PoseStamped(Header(0, 0.0, frame_id), from_matrix(local))
        )

    def get_surfaces(self, request: GetSurfaces.Request) -> GetSurfaces.Response:
        """Answer the names of all surfaces, each once, in the order of the world."""
        del request
        names = dict.fromkeys(surface.name for _, surface in self.model.surfaces())
        return GetSurfaces.Response(list(names))

    def store_observation(self, request: StoreObservation.Request) -> StoreObservation.Response:
        """Keep that an item was seen.

        Args:
            request: What was seen where; an item and a surface are named, numbers are finite.

        Raises:
            InteractiveError: The request is not like that.
            StoreError: It could not be kept.
        """
        for key in ("item", "surface"):
            if not getattr(request, key).strip():
                raise InteractiveError(f"the {key} is blank, a name was expected")
        for key in ("item_conf", "x", "y", "z", "theta"):
            if not math.isfinite(getattr(request, key)):
                raise InteractiveError(
                    f"{key} is {getattr(request, key)}, a finite number was expected"
                )
        self.store.add_observation(
            Observation(
                request.surface,
                request.item,
                request.x,
                request.y,
                request.z,
                request.theta,
                request.item_conf,
                request.surface_frame_id,
                request.placement_surface_frame_id,
            )
        )
        return StoreObservation.Response()

    def find_observations(self, request: FindObservations.Request) -> FindObservations.Response:
        """Answer what was seen where, newest first; all lists have one length.

        Args:
            request: What the observations must match, in any case; blank matches all. Those
                still there, or with ``removed`` those that are gone.

        Raises:
            StoreError: The store cannot be read.
            InteractiveError: Nothing was found, and that is refused.
        """
        rows = self.store.observations(
            item=request.item,
            surface=request.surface,
            surface_frame_id=request.surface_frame_id,
            placement_surface_frame_id=request.placement_surface_frame_id,
            removed=request.removed,
        )
        if not rows and self._fail_when_empty:
            raise InteractiveError(f"nothing was seen of '{request.item}'")
        return FindObservations.Response(
            [row.surface for row in rows],
            [row.placement_surface_frame_id for row in rows],
            [row.confidence for row in rows],
            [row.x for row in rows],
            [row.y for row in rows],
            [row.z for row in rows],
            [row.theta for row in rows],
            [row.time or 0.0 for row in rows],
            [row.id for row in rows],
            [row.surface_frame_id for row in rows],
            [row.item for row in rows],
            [row.removed or 0.0 for row in rows],
        )

    def set_removed(
        self, request: SetObservationsRemoved.Request
    ) -> SetObservationsRemoved.Response:
        """Keep that what was seen is gone; ids that are unknown or gone already change nothing."""
        self.store.set_removed(request.ids)
        return SetObservationsRemoved.Response()

    def load_models(self, request: LoadModels.Request) -> LoadModels.Response:
        """Answer what was learned for a condition.

        Raises:
            StoreError: Nothing was learned for it, or what is kept is no such models.
        """
        return LoadModels.Response(self.store.load_models(request.condition_id))

    def learn(self, request: LearnModels.Request) -> LearnModels.Response:
        """Learn from the placements of a task, and keep it in place of what was kept before.

        Args:
            request: The condition and its placements; ``store_for`` tells where it is kept.

        Raises:
            InteractiveError: There is nothing that can be learned from; nothing is kept then.
            StoreError: There is no such condition, or it cannot be kept.
        """
        learned = self._learned(request.data, f"condition {request.condition_id}")
        store = self.store_for(request)
        try:
            store.save_models(request.condition_id, learned.models)
        finally:
            if store is not self._store:
                store.close()
        return LearnModels.Response()

    def parse(self, request: Parse.Request) -> Parse.Response:
        """Read a study, learn from each of its conditions, and keep all that was learned at once.

        What was left out is logged. A condition that nothing can be learned from keeps what it
        had, with a warning.

        Args:
            request: The study.

        Raises:
            InteractiveError: No condition has anything that can be learned from.
            StoreError: There is no such study, or it cannot be read or kept.
        """
        kept = []
        problem = f"study {request.study_id} has no placements to learn from"
        for parsed in parse_study(self.store, request.study_id):
            where = f"condition {parsed.condition.id}"
            _log_skipped(where, parsed.skipped)
            try:
                kept.append((parsed.condition.id, self._learned(parsed.training, where)))
            except InteractiveError as error:
                problem = f"study {request.study_id}, {error}"
                _LOG.warning("%s", problem)
        if not kept:
            raise InteractiveError(problem)
        with self.store.transaction():
            for condition, learned in kept:
                self.store.save_models(condition, learned.models)
        return Parse.Response()

    def _learned(self, data: TaskTrainingData, where: str) -> LearnedModels:
        learned = self._learn(data)
        _log_skipped(where, learned.skipped)
        if not learned.sets:
            why = "".join(f"; {left.where}: {left.reason}" for left in learned.skipped[:3])
            raise InteractiveError(f"{where} has no placements that can be learned from{why}")
        return learned

    def _nearest(
        self, parts: tuple[PlacementSurface, ...], point: NDArray[np.float64]
    ) -> PlacementSurface | None:
        """Return the nearest of the parts at the height of a point, the first of equals."""
        best, least = None, math.inf
        for part in parts:
            origin = self._frames[part.frame_id][:3, 3]
            if abs(origin[2] - point[2]) > self._tolerance + _SLACK:
                continue
            distance = float(np.linalg.norm(origin - point))
            if distance < least:
                best, least = part, distance
        return best

    def _in_world(self, stamped: PoseStamped) -> NDArray[np.float64]:
        try:
            pose = to_matrix(stamped.pose)
        except ValueError as error:
            raise InteractiveError(str(error)) from None
        return self._frame(stamped.header.frame_id) @ pose

    def _frame(self, name: str) -> NDArray[np.float64]:
        if name in self._frames:
            return self._frames[name]
        try:
            if callable(self._foreign):
                return to_matrix(self._foreign(name))
            if self._foreign is not None:
                return to_matrix(self._foreign[name])
        except KeyError:
            pass
        if name == "world":
            # What the states of simulators are told in.
            return self._frames[self.model.fixed_frame]
        raise InteractiveError(
            f"the frame '{name}' is unknown; known are {', '.join(sorted(self._frames)[:20])}"
        )


def _log_skipped(where: str, skipped: Iterable[Skipped]) -> None:
    for left in skipped:
        _LOG.info("%s, %s: %s", where, left.where, left.reason)
