"""Whether a map still is what its stage gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.stage.geometry import Progress
from irsim_isaac.stage.usd import Usd

__all__ = ["MapCheck", "check_map", "stage_overrides"]

_BUILDING = (
    "resolution", "height", "floor", "bounds", "geometry", "mode", "solid", "seeds", "root",
    "include", "exclude", "static_only", "include_invisible", "include_guides", "time",
    "time_code", "keep_shells",
)  # fmt: skip


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


def stage_overrides(stage: Usd.Stage) -> dict[str, object]:
    """Return what ``open_stage`` was told beside the file, as keywords for it."""
    layer = stage.GetSessionLayer()
    root = layer.pseudoRoot
    found: dict[str, object] = {}
    if root.HasInfo("metersPerUnit"):
        found["meters_per_unit"] = float(root.GetInfo("metersPerUnit"))
    if root.HasInfo("upAxis"):
        found["up_axis"] = str(root.GetInfo("upAxis"))
    variants: dict[str, str] = {}
    fixed = False
    stack = list(root.nameChildren)
    while stack:
        spec = stack.pop()
        for name, choice in dict(spec.variantSelections).items():
            variants[f"{spec.path}:{name}"] = str(choice)
        fixed = fixed or any("unitsResolve" in prop.name for prop in spec.properties)
        stack.extend(spec.nameChildren)
    if variants:
        found["variants"] = dict(sorted(variants.items()))
    if fixed:
        found["fix_units"] = True
    return found


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
    from irsim_isaac.stage.occupancy import build_occupancy

    parameters = occupancy.report.parameters
    recorded = parameters.get("digest")
    if not isinstance(recorded, str):
        raise StageError(
            "the map does not say from which stage it was made: the key 'irsim_isaac' with a "
            "digest was expected in its YAML file"
        )
    if parameters.get("geometry") == "given":
        raise StageError("the map was made from surfaces that were given, not from a stage")
    options: dict[str, Any] = {key: parameters[key] for key in _BUILDING if key in parameters}
    for key in ("height", "bounds"):
        if isinstance(options.get(key), list):
            options[key] = tuple(options[key])
    if options.get("bounds") is None:
        options.pop("bounds", None)
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
