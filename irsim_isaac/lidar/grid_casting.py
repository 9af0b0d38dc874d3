"""Lidar rays against the cells of a map."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import warp as wp

from irsim_isaac.errors import ScanError
from irsim_isaac.kernels import launch, start

__all__ = ["GridCaster"]

if TYPE_CHECKING:
    Doubles: TypeAlias = Any
    Floats: TypeAlias = Any
    Bytes: TypeAlias = Any
else:
    Doubles = wp.array(dtype=wp.float64)
    Floats = wp.array(dtype=wp.float32)
    Bytes = wp.array(dtype=wp.uint8)

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_FAR = 1.0e300
_MISS = math.inf

_TIE = 1.0e-9
"""Edges that a beam meets within this of each other [cells] are met at their corner."""


@wp.kernel(enable_backward=False)
def _traverse_kernel(
    cells: Bytes,
    width: int,
    height: int,
    start_x: wp.float64,
    start_y: wp.float64,
    heading: wp.float64,
    bearings: Doubles,
    reach: wp.float64,
    resolution: wp.float64,
    ranges: Floats,
) -> None:
    beam = wp.tid()
    one = wp.float64(1.0)
    zero = wp.float64(0.0)
    far = wp.float64(_FAR)
    tie = wp.float64(_TIE)
    angle = heading + bearings[beam]
    dx = wp.cos(angle)
    dy = wp.sin(angle)
    ix = int(wp.floor(start_x))
    iy = int(wp.floor(start_y))
    step_x = wp.int32(1)
    step_y = wp.int32(1)
    along_x = far
    along_y = far
    next_x = far
    next_y = far
    if dx > zero:
        along_x = one / dx
        next_x = (wp.float64(ix) + one - start_x) / dx
    elif dx < zero:
        step_x = -1
        along_x = -one / dx
        next_x = (wp.float64(ix) - start_x) / dx
    if dy > zero:
        along_y = one / dy
        next_y = (wp.float64(iy) + one - start_y) / dy
    elif dy < zero:
        step_y = -1
        along_y = -one / dy
        next_y = (wp.float64(iy) - start_y) / dy
    found = far
    way = zero
    last_x = wp.int32(-1)
    last_y = wp.int32(-1)
    if step_x > 0:
        last_x = width
    if step_y > 0:
        last_y = height
    if ix >= 0 and ix < width and iy >= 0 and iy < height:
        if cells[ix * height + iy] != wp.uint8(0):
            found = zero
    while found == far and way <= reach:
        if next_x < next_y - tie:
            way = next_x
            next_x = next_x + along_x
            ix = ix + step_x
        elif next_y < next_x - tie:
            way = next_y
            next_y = next_y + along_y
            iy = iy + step_y
        else:
            # Through a corner: the two cells beside it close the way as well.
            way = next_x
            if way <= reach:
                if iy >= 0 and iy < height and ix + step_x >= 0 and ix + step_x < width:
                    if cells[(ix + step_x) * height + iy] != wp.uint8(0):
                        found = way
                if ix >= 0 and ix < width and iy + step_y >= 0 and iy + step_y < height:
                    if cells[ix * height + iy + step_y] != wp.uint8(0):
                        found = way
            next_x = next_x + along_x
            next_y = next_y + along_y
            ix = ix + step_x
            iy = iy + step_y
        if ix >= 0 and ix < width and iy >= 0 and iy < height:
            if way <= reach and cells[ix * height + iy] != wp.uint8(0):
                found = way
        elif (ix == last_x and dx != zero) or (iy == last_y and dy != zero):
            # Past the map's last edge in this direction there is nothing more.
            way = far
    if found == far:
        ranges[beam] = wp.float32(_MISS)
    else:
        ranges[beam] = wp.float32(found * resolution)


class GridCaster:
    """Casts the beams of a planar lidar at the occupied cells of a map.

    The way of a beam is followed from cell to cell in float64; its range is where it enters
    the first occupied cell. A beam through the corner where four cells meet is stopped by
    either cell beside it, so that nothing leaks between two that touch at a corner; one that
    runs along the edge of a cell runs in the cell on the side of larger x or y. Beyond the map
    there is nothing.

    Args:
        occupied: Which cells are occupied, shape (nx, ny).
        resolution: The side of a cell [m].
        origin: x, y [m] and yaw [rad] of the corner of cell (0, 0).
        device: A Warp device name.

    Raises:
        ScanError: The grid has another shape, or the resolution is no length.
    """

    def __init__(
        self,
        occupied: npt.ArrayLike,
        *,
        resolution: float,
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
        device: str = "cpu",
    ) -> None:
        start()
        grid = np.asarray(occupied)
        if grid.ndim != 2:
            raise ScanError(f"a grid of shape (nx, ny) was expected, found {grid.shape}")
        if not (math.isfinite(resolution) and resolution > 0.0):
            raise ScanError(f"the side of a cell must be more than 0 m, found {resolution}")
        self._device = device
        self._shape = grid.shape
        self._resolution = float(resolution)
        self._origin = origin
        self._cells = wp.array(
            np.ascontiguousarray(grid != 0, dtype=np.uint8).ravel(), dtype=wp.uint8, device=device
        )
        self._beams: dict[int, tuple[npt.NDArray[np.float64], Any, Any]] = {}

    def scan(
        self,
        bearings: npt.NDArray[np.float64],
        pose: tuple[float, float, float],
        *,
        range_max: float,
    ) -> npt.NDArray[np.float32]:
        """Cast the beams of a lidar from where it is.

        Args:
            bearings: Counter-clockwise from forward [rad], shape (N,). The same array again is
                not copied again.
            pose: x, y [m] and yaw [rad] of the lidar.
            range_max: How far to look [m].

        Returns:
            The distance to the first occupied cell [m], float32 of shape (N,); zero for a
            lidar in one, +inf where there is none within ``range_max``.
        """
        directions, buffer = self._sensor(bearings)
        x, y, yaw = self._origin
        cos, sin = math.cos(yaw), math.sin(yaw)
        dx, dy = pose[0] - x, pose[1] - y
        launch(
            _traverse_kernel,
            len(bearings),
            [
                self._cells,
                self._shape[0],
                self._shape[1],
                (cos * dx + sin * dy) / self._resolution,
                (cos * dy - sin * dx) / self._resolution,
                pose[2] - yaw,
                directions,
                range_max / self._resolution,
                self._resolution,
                buffer,
            ],
            device=self._device,
        )
        ranges: npt.NDArray[np.float32] = buffer.numpy().copy()
        return ranges

    def _sensor(self, bearings: npt.NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the device arrays of a sensor's bearings and of its ranges."""
        known = self._beams.get(id(bearings))
        if known is None:
            values = np.ascontiguousarray(bearings, dtype=np.float64)
            known = (
                bearings,
                wp.array(values, dtype=wp.float64, device=self._device),
                wp.empty(len(values), dtype=wp.float32, device=self._device),
            )
            self._beams[id(bearings)] = known
        return known[1], known[2]
