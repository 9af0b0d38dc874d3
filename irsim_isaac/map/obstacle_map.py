"""A map as one static obstacle: its boundary lines and its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from shapely.strtree import STRtree

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.collision import (
    OCCUPANCY_THRESHOLD,
    CellFrame,
    bounds_of,
    meets_occupied_cell,
)
from irsim_isaac.map.limits import CELL_LIMIT
from irsim_isaac.map.outline import outline

__all__ = ["ObstacleMap", "grid_collision_geometry"]

_OFF_LATTICE = 1e-4
_DEFAULT_RESOLUTION = 0.1


class ObstacleMap:
    """The occupied cells of a map as one static obstacle.

    It has what IR-SIM's class of this name has, without being one of IR-SIM's objects;
    ``to_irsim`` gives one of those.

    Args:
        shape: ``{"name": "map", "points": centres of the occupied cells (2, N) [m], "reso":
            their sides [m]}``. Without points the cells of ``grid_map`` are taken.
        color: What it is drawn in.
        static: Whether it stays where it is.
        grid_map: Occupancy 0 to 100, shape (nx, ny).
        grid_reso: The sides of the grid's cells [m], shape (2, 1) or anything like it.
        world_offset: The grid's least x and y [m].
        **kwargs: What IR-SIM's object takes beside these; kept for ``to_irsim``.

    Raises:
        TypeError: There are neither points nor a grid.
        MapFormatError: Points, grid or sides are not what they must be.

    Attributes:
        linestrings: Closed boundary lines, in the world; a solid block is one, of four segments.
        geometry_tree: A tree over them.
        grid_map: The grid as it was given.
        grid_reso: float64, shape (2, 1).
        world_offset: The grid's least x and y [m].
    """

    role = "obstacle"
    linestrings: list[Any]
    geometry_tree: STRtree
    grid_map: npt.NDArray[Any] | None
    grid_reso: npt.NDArray[np.float64]
    world_offset: list[float]

    def __init__(
        self,
        shape: dict[str, Any] | None = None,
        color: str = "k",
        static: bool = True,
        grid_map: npt.NDArray[Any] | None = None,
        grid_reso: npt.NDArray[Any] | None = None,
        world_offset: list[float] | None = None,
        **kwargs: Any,
    ) -> None:
        described: Mapping[str, Any] = {} if shape is None else shape
        if described.get("name", "map") != "map":
            raise MapFormatError(f"shape is {described['name']!r}, 'map' was expected")
        points = described.get("points")
        if points is None and grid_map is None:
            raise TypeError("an obstacle map needs points in its shape, or a grid_map")
        self.shape = "map"
        self.color = color
        self.static = static
        self.options = dict(kwargs)
        self.grid_map = grid_map
        self.grid_reso = np.ones((2, 1)) if grid_reso is None else _sides(grid_reso)
        self.world_offset = [0.0, 0.0] if world_offset is None else world_offset
        self.state = np.zeros((3, 1))
        self._cells: npt.NDArray[np.bool_] = np.zeros((1, 1), dtype=np.bool_)
        self._frame = CellFrame(1, 1, 0.0, 0.0, 1.0, 1.0)
        self._union: Any = None
        if grid_map is not None and points is None:
            self._cells, self._frame = grid_map > OCCUPANCY_THRESHOLD, self._grid_frame()
        elif points is not None and np.size(points):
            self._take_points(
                np.asarray(points, dtype=np.float64),
                _sides(described.get("reso", _DEFAULT_RESOLUTION)),
            )
        if self._union is None:
            corners, rings = outline(self._cells)
            places = (self._frame.x_edges(corners[:, 0]), self._frame.y_edges(corners[:, 1]))
            lines = shapely.linestrings(*places, indices=rings) if len(rings) else np.array([])
        else:
            lines = shapely.get_parts(shapely.simplify(self._union.boundary, 0.0))
        self.linestrings = list(lines)
        self.geometry_tree = STRtree(self.linestrings)
        self._lines: Any = None

    @property
    def geometry(self) -> Any:
        """All boundary lines as one MultiLineString."""
        if self._lines is None:
            self._lines = shapely.MultiLineString(self.linestrings)
        return self._lines

    @property
    def _geometry(self) -> Any:
        return self.geometry

    def _grid_frame(self) -> CellFrame:
        assert self.grid_map is not None
        return _frame_of(self.grid_map, self.grid_reso, self.world_offset)

    def _take_points(self, points: npt.NDArray[np.float64], sides: npt.NDArray[np.float64]) -> None:
        """Find the cells that points are the centres of: the grid's, or those about the points.

        Points that are on no lattice are squares by themselves, joined.
        """
        if points.ndim != 2 or points.shape[0] != 2 or not np.isfinite(points).all():
            raise MapFormatError(
                f"points have shape {points.shape}, finite numbers of shape (2, N) were expected"
            )
        frames = []
        if self.grid_map is not None and np.array_equal(sides, self.grid_reso):
            frames.append(self._grid_frame())
        corner = points.min(axis=1, keepdims=True) - sides / 2
        counts = np.rint((points.max(axis=1, keepdims=True) - corner) / sides + 0.5).ravel()
        if counts.prod() <= CELL_LIMIT:
            nx, ny = (int(count) for count in counts)
            (ox,), (oy,) = corner.tolist()
            (rx,), (ry,) = sides.tolist()
            frames.append(CellFrame(nx, ny, ox, oy, nx * rx, ny * ry))
        for frame in frames:
            steps = (points - np.array([[frame.ox], [frame.oy]])) / sides - 0.5
            indices = np.rint(steps)
            i, j = indices.astype(np.int64)
            inside = (i >= 0).all() and (j >= 0).all() and i.max() < frame.nx and j.max() < frame.ny
            if inside and np.abs(steps - indices).max() <= _OFF_LATTICE:
                self._cells, self._frame = np.zeros((frame.nx, frame.ny), dtype=np.bool_), frame
                self._cells[i, j] = True
                return
        low, high = points - sides / 2, points + sides / 2
        self._union = shapely.union_all(shapely.box(low[0], low[1], high[0], high[1]))

    def check_grid_collision(self, geometry: Any) -> bool:
        """Tell whether a geometry meets an occupied cell of ``grid_map``.

        Args:
            geometry: Any shapely geometry [m].

        Raises:
            TypeError: It is no geometry.
            MapFormatError: It is empty or has coordinates that are not finite numbers.
        """
        return grid_collision_geometry(self.grid_map, self.grid_reso, geometry, self.world_offset)

    def is_collision(self, geometry: Any) -> bool:
        """Tell whether a geometry meets an occupied cell; touching one is no collision.

        Args:
            geometry: Any shapely geometry [m].

        Raises:
            TypeError: It is no geometry.
            MapFormatError: It is empty or has coordinates that are not finite numbers.
        """
        if self.check_grid_collision(geometry):
            return True
        bounds = bounds_of(geometry)
        if self._union is None:
            return meets_occupied_cell(self._cells, self._frame, geometry, bounds, 0)
        return bool(self._union.intersects(geometry) and not self._union.touches(geometry))

    meets_geometry = is_collision

    def to_irsim(self) -> Any:
        """Return this map as an object for a real IR-SIM environment's ``add_object``.

        It is an ``irsim.world.map.ObstacleMap`` with these boundary lines and this collision
        test.

        Raises:
            MissingPackageError: IR-SIM is not installed.
            MapFormatError: No cell is occupied, and IR-SIM has no object for that.
        """
        from irsim_isaac.map.irsim_adapter import to_irsim_obstacle_map

        return to_irsim_obstacle_map(self)


def grid_collision_geometry(
    grid: npt.NDArray[Any] | None,
    grid_reso: npt.ArrayLike,
    geometry: Any,
    world_offset: Sequence[float] = (0.0, 0.0),
) -> bool:
    """Tell whether a geometry meets an occupied cell of a grid; touching one is no collision.

    Args:
        grid: Occupancy 0 to 100, shape (nx, ny); None has no occupied cell.
        grid_reso: The sides of the cells [m]: one number or two.
        geometry: Any shapely geometry [m].
        world_offset: The grid's least x and y [m].

    Raises:
        TypeError: It is no geometry.
        MapFormatError: It is empty or has coordinates that are not finite numbers.
    """
    if grid is None:
        return False
    frame = _frame_of(grid, _sides(grid_reso), world_offset)
    return meets_occupied_cell(grid, frame, geometry, bounds_of(geometry))


def _frame_of(
    grid: npt.NDArray[Any], sides: npt.NDArray[np.float64], world_offset: Sequence[float]
) -> CellFrame:
    nx, ny = grid.shape
    rx, ry = sides.ravel().tolist()
    return CellFrame(nx, ny, float(world_offset[0]), float(world_offset[1]), nx * rx, ny * ry)


def _sides(value: Any) -> npt.NDArray[np.float64]:
    """Return the sides of a cell, shape (2, 1), from a number or two in any shape."""
    sides = np.asarray(value, dtype=np.float64).ravel()
    if sides.size not in (1, 2) or not (np.isfinite(sides) & (sides > 0)).all():
        raise MapFormatError(
            f"the sides of a cell are {value!r}: one or two positive numbers of metres were "
            "expected"
        )
    both: npt.NDArray[np.float64] = np.broadcast_to(sides, 2).reshape(2, 1).copy()
    return both
