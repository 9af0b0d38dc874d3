"""Whether a planar geometry meets the open square of an occupied cell.

The grid is read at the time of the question, so a grid that was changed in place is answered
for as it is. Large questions first ask the geometry which blocks of cells it meets and read
only those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from shapely.geometry import GeometryCollection, MultiPoint
from shapely.geometry.base import BaseGeometry

from irsim_isaac.errors import MapFormatError

__all__ = ["OCCUPANCY_THRESHOLD", "CellFrame", "bounds_of", "meets_occupied_cell"]

OCCUPANCY_THRESHOLD = 50
"""A cell is occupied when its value is greater."""

_SMALL_WINDOW = 4096
_BLOCK = 64
_FEW = 8
_NEAR_EDGE = 1e-9
_ROUNDING = 8.0
_RIGHT = np.array([0, 0, 1, 1])
_UP = np.array([0, 1, 0, 1])

_Array = npt.NDArray[np.int64]


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
        rounding: What counts as touching [m]: a few of the last digits of the largest
            coordinate. A footprint exactly as wide as a corridor has edges that differ from the
            corridor's by such digits only.
        scales: Cells a metre along x and y, and the rounding in cells along x and y.
        reach: The grid's bounds [m], wider by the rounding.
    """

    nx: int
    ny: int
    ox: float
    oy: float
    width: float
    height: float
    rounding: float = field(init=False)
    scales: tuple[float, float, float, float] = field(init=False)
    reach: tuple[float, float, float, float] = field(init=False)

    def __post_init__(self) -> None:
        largest = max(
            abs(self.ox), abs(self.oy), abs(self.ox + self.width), abs(self.oy + self.height)
        )
        rounding = _ROUNDING * math.ulp(largest)
        sx, sy = self.nx / self.width, self.ny / self.height
        object.__setattr__(self, "rounding", rounding)
        object.__setattr__(self, "scales", (sx, sy, rounding * sx, rounding * sy))
        object.__setattr__(
            self,
            "reach",
            (
                self.ox - rounding,
                self.oy - rounding,
                self.ox + self.width + rounding,
                self.oy + self.height + rounding,
            ),
        )

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
        TypeError: It is no geometry.
        MapFormatError: It is empty or has a coordinate that is not a number.
    """
    if not isinstance(geometry, BaseGeometry):
        raise TypeError(f"found {geometry!r:.80}, expected a shapely geometry")
    bounds: tuple[float, float, float, float] = shapely.bounds(geometry).tolist()
    # Bounds pass over coordinates that are not numbers; the length does not, where there is one.
    if (
        not (bounds[0] <= bounds[2] and bounds[1] <= bounds[3])
        or math.isnan(shapely.length(geometry))
        or isinstance(geometry, (MultiPoint, GeometryCollection))
    ) and (geometry.is_empty or np.isnan(shapely.get_coordinates(geometry)).any()):
        raise MapFormatError(
            f"a {geometry.geom_type} that is empty or has coordinates that are not numbers "
            "cannot be tested for collision"
        )
    return bounds


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

    Raises:
        MapFormatError: The geometry reaches to infinity.
    """
    sx, sy, inset_x, inset_y = frame.scales
    if not (bounds[2] - bounds[0] < math.inf and bounds[3] - bounds[1] < math.inf):
        raise MapFormatError(
            f"a {geometry.geom_type} with the bounds {bounds} cannot be tested for collision: "
            "finite coordinates were expected"
        )
    i0 = math.floor((bounds[0] - frame.ox) * sx + inset_x)
    j0 = math.floor((bounds[1] - frame.oy) * sy + inset_y)
    i1 = math.ceil((bounds[2] - frame.ox) * sx - inset_x)
    j1 = math.ceil((bounds[3] - frame.oy) * sy - inset_y)
    if i0 < 0 or j0 < 0 or i1 > frame.nx or j1 > frame.ny:
        i0, j0, i1, j1 = max(0, i0), max(0, j0), min(frame.nx, i1), min(frame.ny, j1)
    cells = (i1 - i0) * (j1 - j0)
    if i0 >= i1 or j0 >= j1:
        return False
    if cells > _SMALL_WINDOW:
        shapely.prepare(geometry)
        return _meets_in_large_window(grid, frame, geometry, (i0, j0, i1, j1), threshold)
    if cells <= _FEW:
        # For so few, asking each cell is cheaper than making an array of them.
        item = grid.item
        held = False
        for i in range(i0, i1):
            for j in range(j0, j1):
                held |= item(i, j) > threshold
    else:
        held = bool((grid[i0:i1, j0:j1] > threshold).any())
    if not held:
        return False
    corners = shapely.get_coordinates(geometry)
    # Most hits show at one of a few corners; they are asked before any array is made.
    for x, y in corners[:: max(1, len(corners) // _FEW)].tolist():
        u, v = (x - frame.ox) * sx, (y - frame.oy) * sy
        i, j = int(u), int(v)
        if (
            i < i1
            and j < j1
            and _NEAR_EDGE < u - i < 1 - _NEAR_EDGE
            and _NEAR_EDGE < v - j < 1 - _NEAR_EDGE
            and grid.item(i, j) > threshold
        ):
            return True
    window = grid[i0:i1, j0:j1] > threshold
    columns, rows = window.nonzero()
    count = columns.size
    solid = geometry.area > 0
    if solid and count == cells:
        return True
    # Walls are rectangles of cells: where all cells of their bounding box are occupied, the box
    # answers, and where the geometry misses it, so does it elsewhere.
    left, right = int(columns[0]), int(columns[-1]) + 1
    low, high = int(rows.min()), int(rows.max()) + 1
    full = (right - left) * (high - low) == count
    if full or count > _FEW:
        hull = shapely.box(*_box(frame, i0 + left, j0 + low, i0 + right, j0 + high))
        if not shapely.intersects(geometry, hull):
            return False
        if full and solid:
            return True
    if len(corners) > _FEW:
        x = (corners[:, 0] - frame.ox) * sx - i0
        y = (corners[:, 1] - frame.oy) * sy - j0
        column, row = x.astype(np.int64), y.astype(np.int64)
        np.clip(column, 0, i1 - i0 - 1, out=column)
        np.clip(row, 0, j1 - j0 - 1, out=row)
        inside = window[column, row]
        if inside.any():
            deep_x = np.abs(x[inside] - column[inside] - 0.5)
            deep_y = np.abs(y[inside] - row[inside] - 0.5)
            if (np.maximum(deep_x, deep_y) < 0.5 - _NEAR_EDGE).any():
                return True
    boxes = _boxes(frame, columns + i0, rows + j0, 1, (frame.nx, frame.ny))
    return bool(shapely.intersects(geometry, boxes).any())


def _box(frame: CellFrame, i0: int, j0: int, i1: int, j1: int) -> tuple[float, float, float, float]:
    """Return the bounds of a rectangle of cells, drawn in by the rounding [m]."""
    inset = frame.rounding
    return (
        frame.ox + i0 * frame.width / frame.nx + inset,
        frame.oy + j0 * frame.height / frame.ny + inset,
        frame.ox + i1 * frame.width / frame.nx - inset,
        frame.oy + j1 * frame.height / frame.ny - inset,
    )


def _boxes(frame: CellFrame, i: _Array, j: _Array, size: int, limit: tuple[int, int]) -> Any:
    """Return boxes of square blocks of cells, cut at the limit, drawn in by the rounding."""
    inset = frame.rounding
    return shapely.box(
        frame.x_edges(i) + inset,
        frame.y_edges(j) + inset,
        frame.x_edges(np.minimum(i + size, limit[0])) - inset,
        frame.y_edges(np.minimum(j + size, limit[1])) - inset,
    )


def _quarters(i: _Array, j: _Array) -> tuple[_Array, _Array]:
    """Return the four halves-by-halves of each block, in units of the halved size."""
    return (2 * i[:, None] + _RIGHT).ravel(), (2 * j[:, None] + _UP).ravel()


def _meets_in_large_window(
    grid: npt.NDArray[Any],
    frame: CellFrame,
    geometry: Any,
    window: tuple[int, int, int, int],
    threshold: float,
) -> bool:
    """Answer for many cells: halve the blocks that the geometry meets, then read those cells."""
    i0, j0, i1, j1 = window
    limit = (i1, j1)
    size = _BLOCK
    while -(-(i1 - i0) // size) * -(-(j1 - j0) // size) > _BLOCK:
        size *= 2
    across, up = -(-(i1 - i0) // size), -(-(j1 - j0) // size)
    i, j = np.repeat(np.arange(across), up), np.tile(np.arange(up), across)
    while True:
        met = shapely.intersects(geometry, _boxes(frame, i0 + i * size, j0 + j * size, size, limit))
        i, j = i[met], j[met]
        if size == _BLOCK:
            break
        size //= 2
        i, j = _quarters(i, j)
        inside = (i0 + i * size < i1) & (j0 + j * size < j1)
        i, j = i[inside], j[inside]
    if not i.size:
        return False
    cells = np.zeros((i.size, _BLOCK, _BLOCK), dtype=np.bool_)
    for block, (x, y) in enumerate(
        zip((i0 + i * _BLOCK).tolist(), (j0 + j * _BLOCK).tolist(), strict=True)
    ):
        read = grid[x : min(x + _BLOCK, i1), y : min(y + _BLOCK, j1)]
        np.greater(read, threshold, out=cells[block, : read.shape[0], : read.shape[1]])
    return _meets_in_blocks(cells, frame, geometry, (i0 + i * _BLOCK, j0 + j * _BLOCK), limit)


def _meets_in_blocks(
    cells: npt.NDArray[np.bool_],
    frame: CellFrame,
    geometry: Any,
    corners: tuple[_Array, _Array],
    limit: tuple[int, int],
) -> bool:
    """Answer for blocks of cells, shape (N, 64, 64), whose first cells are the corners."""
    levels = [cells]
    while levels[-1].shape[1] > 1:
        rows = levels[-1][:, 0::2] | levels[-1][:, 1::2]
        levels.append(rows[:, :, 0::2] | rows[:, :, 1::2])
    area = geometry.area > 0
    (block,) = levels[-1][:, 0, 0].nonzero()
    i = np.zeros(block.size, dtype=np.int64)
    j = i
    for level in range(len(levels) - 1, -1, -1):
        size = 2**level
        boxes = _boxes(
            frame, corners[0][block] + i * size, corners[1][block] + j * size, size, limit
        )
        met = shapely.intersects(geometry, boxes)
        if level == 0 or not met.any():
            return bool(met.any())
        if area and np.count_nonzero(met) > _FEW and shapely.covers(geometry, boxes[met]).any():
            return True
        block = np.repeat(block[met], 4)
        i, j = _quarters(i[met], j[met])
        held = levels[level - 1][block, i, j]
        block, i, j = block[held], i[held], j[held]
    return False
