"""One map a floor, and what leads from one floor to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from irsim_isaac.errors import StageError
from irsim_isaac.map import BuildReport, Occupancy
from irsim_isaac.stage.geometry import Geometry, Part, Progress, read_geometry
from irsim_isaac.stage.occupancy import READING, build_occupancy
from irsim_isaac.stage.usd import Usd

__all__ = ["build_floors"]

_REACH = 0.05
_FLATTEST, _STEEPEST = math.radians(1.0), math.radians(45.0)


def build_floors(
    stage: Usd.Stage,
    floors: Sequence[float],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[Occupancy, ...]:
    """Draw one map for each floor of a stage.

    A ramp is a surface inclined between 1 and 45 degrees that leads from one of the floors to
    the next; a map of one floor shows where its band cuts it, and its report names it.

    Args:
        stage: An open stage.
        floors: The heights of the floors [m], rising.
        progress: Called as ``progress(done, total, what)``.
        options: Those of ``build_occupancy``, ``floor`` excepted.

    Returns:
        The maps, in the order of the floors.

    Raises:
        StageError: The floors do not rise, or one of them cannot be mapped.
    """
    if not floors or any(b <= a for a, b in pairwise(floors)):
        raise StageError(f"floors are {list(floors)}, rising heights in metres were expected")
    reading = {key: value for key, value in options.items() if key in READING}
    ramps: list[tuple[str, int]] = []
    if len(floors) > 1:
        ramps = _ramps(read_geometry(stage, static_only=True, **reading), floors)
    found = []
    for index, floor in enumerate(floors):
        made = build_occupancy(stage, floor=floor, progress=progress, **options)
        near = tuple(
            f"{path} is a ramp from the floor at {floors[low]:g} m to the floor at "
            f"{floors[low + 1]:g} m; a map of one floor shows it where its band cuts it"
            for path, low in ramps
            if index in (low, low + 1)
        )
        report = BuildReport(
            made.report.omissions, (*made.report.warnings, *near), made.report.parameters
        )
        found.append(replace(made, report=report))
    return tuple(found)


def _ramps(geometry: Geometry, floors: Sequence[float]) -> list[tuple[str, int]]:
    """Return the ramps, and the number of the floor each begins at."""
    found = []
    for part in geometry.parts:
        for low in range(len(floors) - 1):
            if _leads(part, floors[low], floors[low + 1]):
                found.append((part.path, low))
    return found


def _leads(part: Part, low: float, high: float) -> bool:
    heights = part.points[:, 2]
    if heights.min() > low + _REACH or heights.max() < high - _REACH:
        return False
    a, b, c = (part.points[part.triangles[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    steepness = np.arccos(
        np.clip(np.divide(np.abs(normals[:, 2]), lengths, where=lengths > 0.0,
                          out=np.zeros(len(lengths))), 0.0, 1.0)
    )  # fmt: skip
    sloped = (steepness > _FLATTEST) & (steepness < _STEEPEST)
    if not sloped.any():
        return False
    reached = heights[part.triangles[sloped]]
    return bool(reached.min() <= low + _REACH and reached.max() >= high - _REACH)
