"""Which free cells can be reached from a point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import warp as wp

from irsim_isaac.errors import MapFormatError
from irsim_isaac.kernels import launch, start
from irsim_isaac.map.collision import OCCUPANCY_THRESHOLD
from irsim_isaac.map.grid_map import Map
from irsim_isaac.map.occupancy import Occupancy

__all__ = ["reachable_cells"]

if TYPE_CHECKING:
    Flags: TypeAlias = Any
    Indices: TypeAlias = Any
else:
    Flags = wp.array(dtype=wp.uint8, ndim=2)
    Indices = wp.array(dtype=wp.int32)

wp.set_module_options({"enable_backward": False})

_FREE = wp.constant(wp.uint8(1))
_REACHED = wp.constant(wp.uint8(2))


@wp.func
def _visit(flags: Flags, queue: Indices, i: int, j: int, behind: int) -> int:
    if i < 0 or j < 0 or i >= flags.shape[0] or j >= flags.shape[1]:
        return behind
    if flags[i, j] != _FREE:
        return behind
    flags[i, j] = _REACHED
    queue[behind] = i * flags.shape[1] + j
    return behind + 1


@wp.kernel(enable_backward=False)
def _flood(flags: Flags, queue: Indices, i: int, j: int) -> None:
    """Mark the free cells that join the first one side by side; one thread.

    Args:
        flags: 1 where a cell is free; becomes 2 where it is reached.
        queue: Room for the index of every cell.
        i: The first cell along x.
        j: The first cell along y.
    """
    ny = flags.shape[1]
    at = wp.int32(0)
    behind = wp.int32(0)
    behind = _visit(flags, queue, i, j, behind)
    while at < behind:
        x = queue[at] // ny
        y = queue[at] - x * ny
        at += 1
        behind = _visit(flags, queue, x - 1, y, behind)
        behind = _visit(flags, queue, x + 1, y, behind)
        behind = _visit(flags, queue, x, y - 1, behind)
        behind = _visit(flags, queue, x, y + 1, behind)


def reachable_cells(
    world: Occupancy | Map, place: tuple[float, float], *, device: str = "cpu"
) -> npt.NDArray[np.bool_]:
    """Return the free cells that join a point's cell side by side.

    Args:
        world: A grid; its unknown cells are not free. Or a map with a grid.
        place: x, y [m] of a point in a free cell.
        device: The Warp device.

    Returns:
        bool, shape (nx, ny).

    Raises:
        MapFormatError: The map has no grid, or the point's cell is not free.
    """
    cells: npt.NDArray[Any] | None
    if isinstance(world, Occupancy):
        cells = world.cells
        i, j = world.world_to_cell(*place)
    else:
        cells = world.grid
        if cells is None:
            raise MapFormatError("the map has no grid, so no cells that could be reached")
        if not all(map(math.isfinite, place)):
            raise MapFormatError(f"the point is {place}, two finite numbers were expected")
        i, j = (
            math.floor((at - low) * count / length)
            for at, low, count, length in zip(
                place, world.world_offset, cells.shape, (world.width, world.height), strict=True
            )
        )
    free = (cells >= 0) & (cells <= OCCUPANCY_THRESHOLD)
    nx, ny = free.shape
    if not (0 <= i < nx and 0 <= j < ny and free[i, j]):
        raise MapFormatError(
            f"nothing can be reached from {place}: its cell ({i}, {j}) is not free"
            + _nearest(world, free, (i, j))
        )
    start()
    flags = wp.array(free.view(np.uint8), dtype=wp.uint8, ndim=2, device=device)
    queue = wp.empty(free.size, dtype=wp.int32, device=device)
    launch(_flood, 1, [flags, queue, i, j], device=device)
    reached: npt.NDArray[np.bool_] = flags.numpy() == 2
    return reached


def _nearest(world: Occupancy | Map, free: npt.NDArray[np.bool_], cell: tuple[int, int]) -> str:
    """Return words that name the free point nearest to a cell."""
    where = np.argwhere(free)
    if not len(where):
        return "; no cell is"
    i, j = where[((where - np.array(cell)) ** 2).sum(axis=1).argmin()].tolist()
    if isinstance(world, Occupancy):
        x, y = world.cell_to_world(i, j)
    else:
        x = world.world_offset[0] + (i + 0.5) * world.width / free.shape[0]
        y = world.world_offset[1] + (j + 0.5) * world.height / free.shape[1]
    return f"; the nearest free point is ({x:.4g}, {y:.4g})"
