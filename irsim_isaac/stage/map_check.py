"""Whether a map still is what its stage gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.stage.geometry import Progress
from irsim_isaac.stage.occupancy import build_occupancy
from irsim_isaac.stage.parameters import MapParameters, read_parameters
from irsim_isaac.stage.usd import Usd

__all__ = ["MapCheck", "check_map"]


@dataclass(frozen=True, slots=True)
class MapCheck:
    """How a map stands to a stage.

    Attributes:
        same_stage: Whether the surfaces that the map was made from are those of the stage.
        changed_cells: How many cells a new map has otherwise; -1 where it has another shape or
            place.
        area: (x_min, y_min, x_max, y_max) [m] of the changed cells, None without any.
        digest: Of the stage as it is.
        recorded: Of the stage that the map was made from.
    """

    same_stage: bool
    changed_cells: int
    area: tuple[float, float, float, float] | None
    digest: str
    recorded: str

    @property
    def good(self) -> bool:
        """Whether the map is what the stage gives."""
        return self.same_stage and self.changed_cells == 0


def check_map(
    occupancy: Occupancy, stage: Usd.Stage, *, progress: Progress | None = None
) -> MapCheck:
    """Tell whether a map still is what its stage gives.

    Args:
        occupancy: A map, as ``load_ros_map`` gives it.
        stage: The stage, opened as it was for the map.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The comparison of digests and of cells.

    Raises:
        StageError: The map does not say from what it was made.
    """
    parameters = occupancy.report.parameters
    recorded = parameters.get("digest")
    if not isinstance(recorded, str):
        raise StageError(
            "the map does not say from which stage it was made: the key 'irsim_isaac' with a "
            "digest was expected in its YAML file"
        )
    if parameters.get("geometry") == "given":
        raise StageError("the map was made from surfaces that were given, not from a stage")
    said = read_parameters(MapParameters, dict(parameters), "the map's irsim_isaac")
    options: dict[str, Any] = said.model_dump(exclude_unset=True)
    try:
        made = build_occupancy(stage, progress=progress, **options)
    except StageError as error:
        raise StageError(f"the stage no longer gives a map: {error}") from error
    digest = str(made.report.parameters["digest"])
    changed, area = _compare(occupancy, made)
    return MapCheck(digest == recorded, changed, area, digest, recorded)


def _compare(
    old: Occupancy, new: Occupancy
) -> tuple[int, tuple[float, float, float, float] | None]:
    if old.shape != new.shape or not np.allclose(old.origin, new.origin, atol=1e-6):
        return -1, None
    changed = np.argwhere(old.cells != new.cells)
    if not len(changed):
        return 0, None
    low = new.cell_to_world(*changed.min(axis=0), at="corner")
    high = new.cell_to_world(*(changed.max(axis=0) + 1), at="corner")
    return len(changed), (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
