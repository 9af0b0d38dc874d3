"""Whether a planar geometry meets the open square of an occupied cell.

The grid is read at the time of the question, so a grid that was changed in place is answered
for as it is. Large questions first ask the geometry which blocks of cells it meets and read
only those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from irsim_isaac.errors import MapFormatError

__all__ = ["OCCUPANCY_THRESHOLD", "CellFrame", "bounds_of", "meets_occupied_cell"]

OCCUPANCY_THRESHOLD = 50
"""A cell is occupied when its value is greater."""

_SMALL_WINDOW = 4096
_TILE = 512
_ROUNDING = 8.0


@dataclass(frozen=True, slots=True)
class CellFrame:
    """Where the cells of a grid lie.

    Attributes:
        nx: Cells along x.
        ny: Cells along y.
        ox: The grid's least x [m].
        oy: The grid's least y [m].
        width: Along x [m].
        height: Along y [m].
    """

    nx: int
    ny: int
    ox: float
    oy: float
    width: float
    height: float

    @property
    def rounding(self) -> float:
        """What counts as touching [m]: a few of the last digits of the largest coordinate.

        A footprint exactly as wide as a corridor has edges that differ from the corridor's by
        such digits only.
        """
        largest = max(
            abs(self.ox), abs(self.oy), abs(self.ox + self.width), abs(self.oy + self.height)
        )
        return _ROUNDING * math.ulp(largest)

    def x_edges(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the least x of columns [m]; both neighbours of an edge get the same number."""
        edges: npt.NDArray[np.float64] = self.ox + indices * self.width / self.nx
        return edges

    def y_edges(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the least y of rows [m]."""
        edges: npt.NDArray[np.float64] = self.oy + indices * self.height / self.ny
        return edges


def bounds_of(geometry: Any) -> tuple[float, float, float, float]:
    """Return the bounds of a geometry [m].

    Raises:
        MapFormatError: It is empty or has a coordinate that is not a number.
    """
    minx, miny, maxx, maxy = geometry.bounds
    if minx + miny + maxx + maxy != minx + miny + maxx + maxy:
        raise MapFormatError(
            f"a {geometry.geom_type} that is empty or has coordinates that are not numbers "
            "cannot be tested for collision"
        )
    return minx, miny, maxx, maxy


def _boxes(
    frame: CellFrame,
    i: npt.NDArray[np.int64],
    j: npt.NDArray[np.int64],
    size: int,
    limit: tuple[int, int],
) -> Any:
    """Return boxes of blocks of cells, drawn in by the rounding."""
    inset = frame.rounding
    return shapely.box(
        frame.x_edges(i) + inset,
        frame.y_edges(j) + inset,
        frame.x_edges(np.minimum(i + size, limit[0])) - inset,
        frame.y_edges(np.minimum(j + size, limit[1])) - inset,
    )


def _blocks(occupied: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
    """Return which blocks of ``size`` x ``size`` cells hold an occupied one."""
    rows = np.logical_or.reduceat(occupied, np.arange(0, occupied.shape[0], size), axis=0)
    return np.logical_or.reduceat(rows, np.arange(0, occupied.shape[1], size), axis=1)


def _meets_window(
    occupied: npt.NDArray[np.bool_], frame: CellFrame, geometry: Any, i0: int, j0: int
) -> bool:
    """Answer for one window of cells, whose first cell is (i0, j0)."""
    levels = [occupied]
    sizes = [1]
    while levels[-1].size > _SMALL_WINDOW // 8 and min(levels[-1].shape) > 1:
        levels.append(_blocks(levels[-1], 2))
        sizes.append(sizes[-1] * 2)
    limit = (i0 + occupied.shape[0], j0 + occupied.shape[1])
    i, j = np.nonzero(levels[-1])
    for level in range(len(levels) - 1, -1, -1):
        size = sizes[level]
        boxes = _boxes(frame, i0 + i * size, j0 + j * size, size, limit)
        met = shapely.intersects(geometry, boxes)
        if level == 0 or not met.any():
            return bool(met.any())
        i, j = i[met], j[met]
        below = levels[level - 1]
        i = (2 * i[:, None] + np.array([0, 0, 1, 1])).ravel()
        j = (2 * j[:, None] + np.array([0, 1, 0, 1])).ravel()
        inside = (i < below.shape[0]) & (j < below.shape[1])
        i, j = i[inside], j[inside]
        held = below[i, j]
        i, j = i[held], j[held]
    return False


def meets_occupied_cell(
    grid: npt.NDArray[Any],
    frame: CellFrame,
    geometry: Any,
    bounds: tuple[float, float, float, float],
    threshold: float = OCCUPANCY_THRESHOLD,
) -> bool:
    """Tell whether a geometry meets the open square of an occupied cell.

    Args:
        grid: Shape (nx, ny), values 0 to 100.
        frame: Where the cells lie.
        geometry: Any shapely geometry.
        bounds: Its bounds [m].
        threshold: Cells of a greater value are occupied.
    """
    sx, sy = frame.nx / frame.width, frame.ny / frame.height
    i0 = max(0, math.floor((bounds[0] - frame.ox) * sx - 1e-9))
    j0 = max(0, math.floor((bounds[1] - frame.oy) * sy - 1e-9))
    i1 = min(frame.nx, math.floor((bounds[2] - frame.ox) * sx + 1e-9) + 1)
    j1 = min(frame.ny, math.floor((bounds[3] - frame.oy) * sy + 1e-9) + 1)
    if i0 >= i1 or j0 >= j1:
        return False
    if (i1 - i0) * (j1 - j0) <= _SMALL_WINDOW:
        i, j = (grid[i0:i1, j0:j1] > threshold).nonzero()
        if not i.size:
            return False
        boxes = _boxes(frame, i + i0, j + j0, 1, (frame.nx, frame.ny))
        return bool(shapely.intersects(geometry, boxes).any())
    shapely.prepare(geometry)
    rows, columns = np.arange(i0, i1, _TILE), np.arange(j0, j1, _TILE)
    ti, tj = np.repeat(rows, columns.size), np.tile(columns, rows.size)
    met = shapely.intersects(geometry, _boxes(frame, ti, tj, _TILE, (i1, j1)))
    for i, j in zip(ti[met].tolist(), tj[met].tolist(), strict=True):
        window = grid[i : min(i + _TILE, i1), j : min(j + _TILE, j1)] > threshold
        if _meets_window(window, frame, geometry, i, j):
            return True
    return False
