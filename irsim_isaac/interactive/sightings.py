"""From looks to the store: what was seen where, and what is no longer where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.recogniser import Place, Sighting, View
from irsim_isaac.interactive.services import WorldServices
from irsim_isaac.msg import Header, PoseStamped
from irsim_isaac.msg.interactive_world import (
    FindSurface,
    PlacementSurface,
    SetObservationsRemoved,
    StoreObservation,
    SurfacePlace,
    from_matrix,
    to_matrix,
)

__all__ = ["Expected", "SightingKeeper"]


@dataclass(frozen=True, slots=True)
class Expected:
    """An observation that is still open, and where in the world that was.

    Attributes:
        row: The observation.
        place: In the world [m].
    """

    row: Observation
    place: Place


class SightingKeeper:
    """Keeps what is seen, by the services of a world.

    Each look at a part of a surface is kept whole or not at all: every item that was seen on a
    surface is stored anew, and an observation of that part is closed where its place was in view
    and its item was not seen anywhere.

    Args:
        services: Of the world; where they have no store, nothing is kept.
        keep: Whether anything is kept.
    """

    def __init__(self, services: WorldServices, *, keep: bool = True) -> None:
        self._services = services
        self._keep = keep

    def expected(self, surface: SurfacePlace, part: PlacementSurface) -> list[Expected]:
        """Return what is thought to be on a part of a surface.

        Raises:
            StoreError: The store cannot be read.
        """
        if not self._keep:
            return []
        frame = self._services.model.frames()[surface.frame_id]
        found = []
        for row in self._services.store.observations(surface=surface.name):
            if row.surface_frame_id not in ("", surface.frame_id):
                continue
            if row.placement_surface_frame_id not in (part.frame_id, surface.frame_id, ""):
                continue
            x, y, z = (float(value) for value in (frame @ (row.x, row.y, row.z, 1.0))[:3])
            found.append(Expected(row, (x, y, z)))
        return found

    def surface_of(self, sighting: Sighting) -> FindSurface.Response:
        """Return the surface that an item stands on; blank for none."""
        return self._services.find_surface(FindSurface.Request(self._stamped(sighting)))

    def keep(self, views: Sequence[View], expected: Sequence[Expected]) -> tuple[int, int]:
        """Keep what was seen in the looks at one part of a surface.

        Args:
            views: The looks, each asked about all that was expected.
            expected: What was thought to be there.

        Returns:
            How many sightings were stored, and how many observations closed.

        Raises:
            StoreError: It could not be kept; nothing was then.
        """
        if not self._keep:
            return 0, 0
        seen: dict[str, Sighting] = {}
        for view in views:
            for sighting in view.seen:
                best = seen.get(sighting.frame_id)
                if best is None or sighting.confidence > best.confidence:
                    seen[sighting.frame_id] = sighting
        names = {sighting.item.casefold() for sighting in seen.values()}
        gone = [
            item.row.id
            for index, item in enumerate(expected)
            if any(view.clear[index] for view in views) and item.row.item.casefold() not in names
        ]
        stored = 0
        with self._services.store.transaction():
            for sighting in seen.values():
                stored += self._store(sighting)
            self._services.set_removed(SetObservationsRemoved.Request(gone))
        return stored, len(gone)

    def _store(self, sighting: Sighting) -> bool:
        found = self.surface_of(sighting)
        if not found.surface:
            return False
        # By its frame, because several surfaces may share the name.
        frame = self._services.model.frames()[found.surface_frame_id]
        local = from_matrix(np.linalg.inv(frame) @ to_matrix(sighting.standing))
        self._services.store_observation(
            StoreObservation.Request(
                surface=found.surface,
                placement_surface_frame_id=found.placement_surface_frame_id,
                item=sighting.item,
                item_conf=sighting.confidence,
                x=local.position.x,
                y=local.position.y,
                z=local.position.z,
                theta=local.orientation.to_yaw(),
                surface_frame_id=found.surface_frame_id,
            )
        )
        return True

    def _stamped(self, sighting: Sighting) -> PoseStamped:
        return PoseStamped(Header(frame_id=self._services.model.fixed_frame), sighting.standing)
