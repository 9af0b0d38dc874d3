"""Grids of other cells: straightened, coarser, or grown.

None of them loses an obstacle, and none turns unknown into free.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import warp as wp

from irsim_isaac.errors import MapFormatError
from irsim_isaac.kernels import launch, start
from irsim_isaac.map.collision import OCCUPANCY_THRESHOLD
from irsim_isaac.map.limits import CELL_LIMIT, cells_along, check_cell_count
from irsim_isaac.map.occupancy import OCCUPIED, UNKNOWN, Occupancy

__all__ = ["downsample", "downsample_occupancy_grid", "inflate", "straighten"]

if TYPE_CHECKING:
    Grid: TypeAlias = Any
else:
    Grid = wp.array(dtype=wp.int8, ndim=2)

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_TOUCHING = 1e-9
_ROWS = 16
_OCCUPIED_ABOVE = wp.constant(wp.int32(OCCUPANCY_THRESHOLD))

_Number = TypeVar("_Number", bound=np.generic)


@wp.kernel(enable_backward=False)
def _gather(
    source: Grid,
    target: Grid,
    x: wp.float64,
    y: wp.float64,
    cosine: wp.float64,
    sine: wp.float64,
    touching: wp.float64,
) -> None:
    """Give each straight cell what the turned cells hold that its open square meets.

    Args:
        source: The turned grid.
        target: The straight grid.
        x: Of the straight grid's corner from the turned grid's, in cells, in the world's axes.
        y: The same along y.
        cosine: Of the turned grid's yaw.
        sine: The same.
        touching: How deep squares must overlap to meet, in cells.
    """
    cell = wp.int32(wp.tid())
    i = cell // target.shape[1]
    j = cell - i * target.shape[1]
    half = wp.float64(0.5)
    dx = x + wp.float64(i) + half
    dy = y + wp.float64(j) + half
    u = cosine * dx + sine * dy
    v = cosine * dy - sine * dx
    reach = half * (wp.abs(cosine) + wp.abs(sine)) + half - touching
    most = wp.int32(-1)
    unknown = wp.bool(False)
    for p in range(wp.int32(wp.floor(u - reach - half)), wp.int32(wp.floor(u + reach)) + 2):
        for q in range(wp.int32(wp.floor(v - reach - half)), wp.int32(wp.floor(v + reach)) + 2):
            du = wp.float64(p) + half - u
            dv = wp.float64(q) + half - v
            if (
                wp.abs(du) < reach
                and wp.abs(dv) < reach
                and wp.abs(cosine * du - sine * dv) < reach
                and wp.abs(sine * du + cosine * dv) < reach
            ):
                held = wp.int32(-1)
                if p >= 0 and q >= 0 and p < source.shape[0] and q < source.shape[1]:
                    held = wp.int32(source[p, q])
                if held < 0:
                    unknown = True
                most = wp.max(most, held)
    if unknown and most <= _OCCUPIED_ABOVE:
        most = wp.int32(-1)
    target[i, j] = wp.int8(most)


def straighten(occupancy: Occupancy, *, device: str = "cpu") -> Occupancy:
    """Return a grid whose axes are the world's.

    A cell is occupied when its square meets that of an occupied cell, else unknown when it meets
    an unknown cell or what lies outside the turned grid, else free.

    Args:
        occupancy: The grid; one without yaw is returned as it is.
        device: The Warp device.

    Raises:
        MapFormatError: The straight grid would have more cells than the limit.
    """
    ox, oy, yaw = occupancy.origin
    if not yaw:
        return occupancy
    size = occupancy.resolution
    nx, ny = occupancy.shape
    cosine, sine = math.cos(yaw), math.sin(yaw)
    xs = (0.0, nx * cosine, -ny * sine, nx * cosine - ny * sine)
    ys = (0.0, nx * sine, ny * cosine, nx * sine + ny * cosine)
    across = math.ceil(max(xs) - min(xs) - _TOUCHING)
    up = math.ceil(max(ys) - min(ys) - _TOUCHING)
    check_cell_count(across, up, CELL_LIMIT, "the straightened grid")
    start()
    source = wp.array(np.ascontiguousarray(occupancy.cells), dtype=wp.int8, device=device)
    target = wp.zeros((across, up), dtype=wp.int8, device=device)
    launch(
        _gather,
        across * up,
        [source, target, min(xs), min(ys), cosine, sine, _TOUCHING],
        device=device,
    )
    origin = (ox + min(xs) * size, oy + min(ys) * size, 0.0)
    return Occupancy(target.numpy(), size, origin, occupancy.report)


def _most(grid: npt.NDArray[Any], coarse: tuple[int, int]) -> npt.NDArray[Any]:
    """Return the greatest value of each block; NaN wherever a block holds one.

    A few rows at a time, so that their halfway result stays in the cache.
    """
    most = np.empty(coarse, dtype=grid.dtype)
    rows, columns = _Blocks(grid.shape[0], coarse[0]), _Blocks(grid.shape[1], coarse[1])
    for start_row in range(0, coarse[0], _ROWS):
        stop_row = min(start_row + _ROWS, coarse[0])
        part = rows.reduced(grid, start_row, stop_row)
        columns.reduce_across(part, most[start_row:stop_row])
    return most


class _Blocks:
    """The blocks of fine cells along one axis.

    Args:
        fine: How many cells there are.
        coarse: How many blocks.
    """

    def __init__(self, fine: int, coarse: int) -> None:
        edges = (np.arange(coarse + 1) * fine / coarse).astype(np.int64)
        self.first = edges[:-1]
        self.last = np.maximum(edges[1:], edges[:-1] + 1) - 1
        self.longest = int((self.last - self.first).max()) + 1
        self.even = fine % coarse == 0

    def reduced(self, grid: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """Return the greatest value of some blocks of rows, for every column."""
        first, last = self.first[start:stop], self.last[start:stop]
        if self.even:
            rows = grid[first[0] : last[-1] + 1]
            most: npt.NDArray[Any] = rows[:: self.longest].copy()
            for step in range(1, self.longest):
                np.maximum(most, rows[step :: self.longest], out=most)
            return most
        most = grid[first]
        for step in range(1, self.longest):
            np.maximum(most, grid[np.minimum(first + step, last)], out=most)
        return most

    def reduce_across(self, part: npt.NDArray[Any], most: npt.NDArray[Any]) -> None:
        """Write the greatest value of each block of columns."""
        if self.even:
            most[...] = part[:, :: self.longest]
            for step in range(1, self.longest):
                np.maximum(most, part[:, step :: self.longest], out=most)
            return
        np.take(part, self.first, axis=1, out=most, mode="clip")
        for step in range(1, self.longest):
            further = np.take(part, np.minimum(self.first + step, self.last), axis=1)
            np.maximum(most, further, out=most)


def downsample_occupancy_grid(
    grid: npt.NDArray[_Number], width: float, height: float, target_resolution: float
) -> npt.NDArray[_Number]:
    """Return a coarser grid over the same world, each cell the greatest of those it covers.

    A cell that covers an unknown (-1) or NaN cell and nothing occupied is unknown (-1).

    Args:
        grid: Occupancy 0 to 100, shape (nx, ny).
        width: Along x [m].
        height: Along y [m].
        target_resolution: The side of the coarse cells [m], rounded to a whole number of them.

    Raises:
        MapFormatError: The resolution is not positive and finite, or asks for too many cells.
    """
    if not (math.isfinite(target_resolution) and target_resolution > 0):
        raise MapFormatError(f"resolution is {target_resolution}, more than 0 m was expected")
    coarse = (
        cells_along(width, target_resolution, "width"),
        cells_along(height, target_resolution, "height"),
    )
    check_cell_count(*coarse, CELL_LIMIT, "the coarse grid")
    return _coarser(grid, coarse)


def _coarser(grid: npt.NDArray[Any], coarse: tuple[int, int]) -> npt.NDArray[Any]:
    if grid.dtype.kind in "ub" or grid.min() >= 0:
        return _most(grid, coarse)
    unknown = ~(grid >= 0)
    known = np.where(unknown, grid.dtype.type(0), grid)
    most = _most(known, coarse)
    covered = _most(unknown, coarse)
    most[covered & (most <= OCCUPANCY_THRESHOLD)] = UNKNOWN
    return most


def downsample(occupancy: Occupancy, factor: int) -> Occupancy:
    """Return a grid whose cells are ``factor`` times as wide.

    Where the count of cells is no multiple of the factor, the last cells reach beyond the grid;
    there they count as unknown unless they are occupied.

    Args:
        occupancy: The grid.
        factor: A whole number, at least 1.

    Raises:
        MapFormatError: The factor is no whole number or less than 1.
    """
    if factor < 1 or factor != int(factor):
        raise MapFormatError(f"factor is {factor}, a whole number of at least 1 was expected")
    factor = int(factor)
    nx, ny = (-(-count // factor) for count in occupancy.shape)
    padding = [(0, nx * factor - occupancy.shape[0]), (0, ny * factor - occupancy.shape[1])]
    padded = np.pad(occupancy.cells, padding, constant_values=UNKNOWN)
    return Occupancy(
        _coarser(padded, (nx, ny)),
        occupancy.resolution * factor,
        occupancy.origin,
        occupancy.report,
    )


def inflate(occupancy: Occupancy, radius: float) -> Occupancy:
    """Return the grid with its occupied cells grown by a disc.

    A cell becomes occupied when its centre lies within the radius of an occupied cell's centre.
    The kernel is odd and centred, so one cell grows alike to all sides.

    Args:
        occupancy: The grid.
        radius: [m]; 0 changes nothing.

    Raises:
        MapFormatError: The radius is negative or not finite.
    """
    if not (math.isfinite(radius) and radius >= 0):
        raise MapFormatError(f"radius is {radius}, 0 m or more was expected")
    reach = radius / occupancy.resolution + _TOUCHING
    occupied = occupancy.cells > OCCUPANCY_THRESHOLD
    nx, ny = occupied.shape
    before = np.zeros((nx, ny + 1), dtype=np.int32)
    np.cumsum(occupied, axis=1, out=before[:, 1:])
    grown = occupied.copy()
    for shift in range(min(math.floor(reach), nx - 1) + 1):
        half = math.floor(math.sqrt(reach * reach - shift * shift))
        columns = np.arange(ny)
        high = before[:, np.minimum(columns + half + 1, ny)]
        near = high > before[:, np.maximum(columns - half, 0)]
        grown[: nx - shift] |= near[shift:]
        grown[shift:] |= near[: nx - shift]
    cells = np.where(grown & ~occupied, np.int8(OCCUPIED), occupancy.cells)
    return Occupancy(cells, occupancy.resolution, occupancy.origin, occupancy.report)
