"""The map that path planners take: ``Map`` and the protocol that it satisfies."""

from __future__ import annotations

import math
import warnings
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import shapely

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.collision import CellFrame, bounds_of, meets_occupied_cell
from irsim_isaac.map.occupancy import Unknown, resolve_unknown

__all__ = ["EnvGridMap", "Map"]

_DIVERGENCE = 0.05


@runtime_checkable
class EnvGridMap(Protocol):
    """What a path planner asks of a map; anything with these attributes will do.

    A planner asks the grid first, where there is one, and the obstacles after it.

    Attributes:
        width: Along x [m].
        height: Along y [m].
        resolution: The planner's step [m].
        obstacle_list: Obstacles beside the grid.
        grid: Occupancy 0 to 100, shape (nx, ny), or None.
        world_offset: The world's least x and y [m].
    """

    width: float
    height: float
    resolution: float
    obstacle_list: list[Any]
    grid: npt.NDArray[Any] | None
    world_offset: tuple[float, float]

    @property
    def grid_resolution(self) -> tuple[float, float] | None:
        """The cells' sides [m], or None where there is no grid."""
        ...

    def grid_occupied(
        self,
        x: float,
        y: float,
        margin_x: float = 0.0,
        margin_y: float = 0.0,
        threshold: float = 50.0,
    ) -> bool | None:
        """Tell whether a cell about a point is occupied."""
        ...

    def is_collision(self, geometry: Any) -> bool:
        """Tell whether a shapely geometry meets anything."""
        ...


class Map:
    """A world's extent, its occupancy grid and its obstacles, as planners take them.

    A cell is its square. The grid is kept as it is given, and read when it is asked, so a grid
    that is changed in place is answered for as it is.

    Args:
        width: Along x [m].
        height: Along y [m].
        resolution: The planner's step [m].
        obstacle_list: Objects with a shapely geometry in ``_geometry``, as IR-SIM's have.
        grid: Occupancy 0 to 100, shape (nx, ny); more than 50 is occupied.
        world_offset: The world's least x and y [m].
        unknown: What the grid's unknown cells (-1) become.

    Raises:
        MapFormatError: The grid is no grid or has a NaN cell, the world has no extent, or the
            resolution or the offset is not what it must be.
    """

    width: float
    height: float
    resolution: float
    obstacle_list: list[Any]
    grid: npt.NDArray[Any] | None
    world_offset: tuple[float, float]

    def __init__(
        self,
        width: float = 10,
        height: float = 10,
        resolution: float = 0.1,
        obstacle_list: list[Any] | None = None,
        grid: npt.NDArray[Any] | None = None,
        world_offset: tuple[float, float] | list[float] | None = None,
        *,
        unknown: Unknown = "free",
    ) -> None:
        if not (0 < width < math.inf and 0 < height < math.inf):
            raise MapFormatError(
                f"a world of {width} x {height} m: a positive, finite width and height were "
                "expected"
            )
        if not 0 < resolution < math.inf:
            raise MapFormatError(
                f"Map resolution is {resolution} m: it must be positive and finite"
            )
        self.width = width
        self.height = height
        self.resolution = resolution
        self.obstacle_list = [] if obstacle_list is None else obstacle_list
        self.grid = None if grid is None else resolve_unknown(_checked(grid), unknown)
        if world_offset is None:
            world_offset = (0.0, 0.0)
        if len(world_offset) < 2 or not all(map(math.isfinite, world_offset[:2])):
            raise MapFormatError(
                f"world_offset is {world_offset}, two finite numbers were expected"
            )
        self.world_offset = (float(world_offset[0]), float(world_offset[1]))
        self._frame_made_of: tuple[float, ...] = ()
        self._cell_frame()
        cell = self.grid_resolution
        if cell is None:
            return
        if abs(resolution - cell[0]) / max(resolution, cell[0]) > _DIVERGENCE:
            warnings.warn(
                f"Map.resolution ({resolution}) differs from grid cell size "
                f"({cell[0]:.4f} x {cell[1]:.4f}); planners on the grid use the latter.",
                stacklevel=2,
            )

    @property
    def grid_resolution(self) -> tuple[float, float] | None:
        """The cells' sides [m], or None where there is no grid."""
        if self.grid is None:
            return None
        return self.width / self.grid.shape[0], self.height / self.grid.shape[1]

    def grid_occupied(
        self,
        x: float,
        y: float,
        margin_x: float = 0.0,
        margin_y: float = 0.0,
        threshold: float = 50.0,
    ) -> bool | None:
        """Tell whether a cell about a point is occupied.

        Args:
            x: [m].
            y: [m].
            margin_x: How far to look on either side [m], in whole cells, rounded up.
            margin_y: The same along y [m].
            threshold: Cells of a greater value are occupied.

        Returns:
            None where there is no grid. True outside the world, so that planners stay in it.

        Raises:
            MapFormatError: The point is NaN.
        """
        grid = self.grid
        if grid is None:
            return None
        ox, oy = self.world_offset
        if x < ox or x >= ox + self.width or y < oy or y >= oy + self.height:
            return True
        if math.isnan(x) or math.isnan(y):
            raise MapFormatError(f"the point is ({x}, {y}), two numbers were expected")
        nx, ny = grid.shape
        rx, ry = self.width / nx, self.height / ny
        # Just below the far edge the quotient can round up to the cell behind the last one.
        ix = min(int((x - ox) / rx), nx - 1)
        iy = min(int((y - oy) / ry), ny - 1)
        mx = max(1, math.ceil(min(margin_x / rx, nx))) if margin_x > 0 else 0
        my = max(1, math.ceil(min(margin_y / ry, ny))) if margin_y > 0 else 0
        if not (mx or my):
            return bool(grid[ix, iy] > threshold)
        window = grid[max(0, ix - mx) : ix + mx + 1, max(0, iy - my) : iy + my + 1]
        return bool((window > threshold).any())

    def is_collision(self, geometry: Any) -> bool:
        """Tell whether a geometry meets an occupied cell, the world's outside or an obstacle.

        Touching an occupied cell or the world's edge is no collision.

        Args:
            geometry: Any shapely geometry [m].

        Raises:
            TypeError: It is no geometry.
            MapFormatError: It is empty or has coordinates that are not numbers.
        """
        bounds = bounds_of(geometry)
        grid = self.grid
        frame = self._cell_frame()
        minx, miny, maxx, maxy = frame.reach
        if bounds[0] < minx or bounds[1] < miny or bounds[2] > maxx or bounds[3] > maxy:
            return True
        if grid is not None and meets_occupied_cell(grid, frame, geometry, bounds):
            return True
        return bool(self.obstacle_list) and self._meets_obstacle(geometry)

    def _cell_frame(self) -> CellFrame:
        """Return where the cells lie; made anew when an attribute has changed."""
        nx, ny = (1, 1) if self.grid is None else self.grid.shape
        made_of = (nx, ny, *self.world_offset, self.width, self.height)
        if self._frame_made_of != made_of:
            self._frame = CellFrame(*made_of)
            self._frame_made_of = made_of
        return self._frame

    def _meets_obstacle(self, geometry: Any) -> bool:
        plain = []
        for obstacle in self.obstacle_list:
            test = getattr(obstacle, "meets_geometry", None)
            if test is None:
                plain.append(obstacle._geometry)
            elif test(geometry):
                return True
        if not plain:
            return False
        shapely.prepare(geometry)
        return bool(shapely.intersects(geometry, np.array(plain, dtype=object)).any())


def _checked(grid: npt.ArrayLike) -> npt.NDArray[Any]:
    cells = np.asarray(grid)
    if cells.ndim != 2 or not cells.size:
        raise MapFormatError(
            f"the grid has shape {cells.shape}, (nx, ny) of at least one cell was expected"
        )
    return cells
