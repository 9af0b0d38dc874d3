"""The one grid with a third class: free, occupied and unknown."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.report import BuildReport

if TYPE_CHECKING:
    from irsim_isaac.map.fog_map import FogMap
    from irsim_isaac.map.grid_map import Map

__all__ = ["FREE", "OCCUPIED", "UNKNOWN", "Occupancy", "Unknown", "resolve_unknown"]

FREE = 0
OCCUPIED = 100
UNKNOWN = -1
_FARTHEST_CELL = 2.0**62

Unknown: TypeAlias = Literal["occupied", "free", "keep"]
"""What an unknown cell (-1) becomes: 100, 0, or what it is."""

_REPLACEMENTS = {"occupied": OCCUPIED, "free": FREE, "keep": None}


def resolve_unknown(cells: npt.NDArray[Any], unknown: Unknown) -> npt.NDArray[Any]:
    """Apply a policy for unknown cells.

    Args:
        cells: A grid, shape (nx, ny); negative cells are unknown.
        unknown: The policy.

    Returns:
        The grid itself where nothing changes, else a copy.

    Raises:
        MapFormatError: The policy has another name, or a cell is NaN.
    """
    if unknown not in _REPLACEMENTS:
        raise MapFormatError(
            f"unknown={unknown!r}: expected one of {', '.join(map(repr, _REPLACEMENTS))}"
        )
    if cells.size == 0 or cells.dtype == np.bool_:
        return cells
    least = cells.min()
    if np.isnan(least):
        where = np.argwhere(np.isnan(cells))
        first = tuple(int(index) for index in where[0])
        raise MapFormatError(
            f"the grid has {len(where)} NaN cells, the first at {first}: NaN is neither free nor "
            "occupied; mark unknown cells with -1"
        )
    replacement = _REPLACEMENTS[unknown]
    if least >= 0 or replacement is None:
        return cells
    return np.where(cells < 0, cells.dtype.type(replacement), cells)


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """A grid of free, occupied and unknown cells, and where it lies.

    Attributes:
        cells: int8, shape (nx, ny), indexed ``[ix, iy]``: -1 unknown, 0 free to 100 occupied.
        resolution: The side of a cell [m].
        origin: (x, y, yaw) [m, m, rad] of the corner of cell (0, 0).
        report: What was left out while the grid was built.
    """

    cells: npt.NDArray[np.int8]
    resolution: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    report: BuildReport = field(default_factory=BuildReport)

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        if cells.ndim != 2 or 0 in cells.shape:
            raise MapFormatError(
                f"the cells have shape {cells.shape}, a grid (nx, ny) of at least one cell was "
                "expected"
            )
        if cells.dtype.kind not in "iu":
            raise MapFormatError(f"the cells are {cells.dtype}, whole numbers were expected")
        least, most = int(cells.min()), int(cells.max())
        if least < UNKNOWN or most > OCCUPIED:
            raise MapFormatError(
                f"the cells run from {least} to {most}, -1 (unknown) to 100 (occupied) was expected"
            )
        resolution = float(self.resolution)
        if not (math.isfinite(resolution) and resolution > 0):
            raise MapFormatError(
                f"resolution is {self.resolution}, a positive number of metres was expected"
            )
        origin = tuple(float(value) for value in self.origin)
        if len(origin) != 3 or not all(map(math.isfinite, origin)):
            raise MapFormatError(
                f"origin is {self.origin}, three finite numbers (x, y, yaw) were expected"
            )
        object.__setattr__(self, "cells", cells.astype(np.int8, copy=False))
        object.__setattr__(self, "resolution", resolution)
        object.__setattr__(self, "origin", origin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Occupancy):
            return NotImplemented
        return (
            self.resolution == other.resolution
            and self.origin == other.origin
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds an array, so it cannot be hashed

    @property
    def shape(self) -> tuple[int, int]:
        """Cells along x and y of the grid's own frame."""
        nx, ny = self.cells.shape
        return nx, ny

    @property
    def width(self) -> float:
        """Along x of the grid's own frame [m]."""
        return float(self.cells.shape[0] * self.resolution)

    @property
    def height(self) -> float:
        """Along y of the grid's own frame [m]."""
        return float(self.cells.shape[1] * self.resolution)

    def world_to_cell(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Any, Any]:
        """Return the cells that hold points of the world.

        Args:
            x: [m], any shape.
            y: [m], the same shape.

        Returns:
            The indices along x and y, as int64 arrays or, for numbers, as ints. They may lie
            outside the grid.

        Raises:
            MapFormatError: A coordinate is NaN.
        """
        ox, oy, yaw = self.origin
        dx, dy = np.asarray(x, dtype=np.float64) - ox, np.asarray(y, dtype=np.float64) - oy
        if np.isnan(dx).any() or np.isnan(dy).any():
            raise MapFormatError(f"found the point ({x!r}, {y!r}), numbers were expected")
        if yaw:
            cosine, sine = math.cos(yaw), math.sin(yaw)
            dx, dy = cosine * dx + sine * dy, cosine * dy - sine * dx
        indices = []
        for distance in (dx, dy):
            index = np.floor(distance / self.resolution)
            # The quotient may round up to the next whole number, or down past the edge's float.
            index = np.where(distance < index * self.resolution, index - 1, index)
            index = np.where(distance >= (index + 1) * self.resolution, index + 1, index)
            indices.append(np.clip(index, -_FARTHEST_CELL, _FARTHEST_CELL).astype(np.int64))
        if indices[0].ndim == 0:
            return int(indices[0]), int(indices[1])
        return indices[0], indices[1]

    def cell_to_world(
        self,
        ix: npt.ArrayLike,
        iy: npt.ArrayLike,
        *,
        at: Literal["centre", "corner"] = "centre",
    ) -> tuple[Any, Any]:
        """Return points of cells in the world.

        Args:
            ix: Indices along x, any shape.
            iy: Indices along y, the same shape.
            at: The centre of each cell, or its corner of least x and y in the grid's frame.

        Returns:
            x and y [m], as float64 arrays or, for numbers, as floats.
        """
        ox, oy, yaw = self.origin
        shift = 0.5 if at == "centre" else 0.0
        dx = (np.asarray(ix, dtype=np.float64) + shift) * self.resolution
        dy = (np.asarray(iy, dtype=np.float64) + shift) * self.resolution
        if yaw:
            cosine, sine = math.cos(yaw), math.sin(yaw)
            dx, dy = cosine * dx - sine * dy, sine * dx + cosine * dy
        if dx.ndim == 0:
            return float(ox + dx), float(oy + dy)
        return ox + dx, oy + dy

    def to_map(self, *, unknown: Unknown = "occupied", obstacle_list: Any = None) -> Map:
        """Return the map that planners take.

        A turned grid is resampled so that no occupied or unknown area is lost.

        Args:
            unknown: What unknown cells become. Occupied unless told, because the inside of a
                solid is unknown.
            obstacle_list: Obstacles beside the grid, as IR-SIM's planners know them.
        """
        from irsim_isaac.map.grid_map import Map
        from irsim_isaac.map.resampling import straighten

        straight = straighten(self)
        return Map(
            straight.width,
            straight.height,
            straight.resolution,
            obstacle_list,
            resolve_unknown(straight.cells, unknown),
            straight.origin[:2],
            unknown="keep",
        )

    def to_fog_map(self, *, known: Literal["fog", "explored"] = "fog") -> FogMap:
        """Return a fog map over the same area.

        Args:
            known: Whether known cells start under fog like all others, or explored.
        """
        from irsim_isaac.map.fog_map import FogMap
        from irsim_isaac.map.resampling import straighten

        straight = straighten(self)
        fog = FogMap(straight.width, straight.height, straight.resolution, straight.origin[:2])
        if known == "explored":
            fog.explored = straight.cells >= 0
        elif known != "fog":
            raise MapFormatError(f"known={known!r}: expected 'fog' or 'explored'")
        return fog

    def save_ros(self, directory: str | os.PathLike[str]) -> Path:
        """Write ``map.yaml`` and ``map.png`` as ROS's map server reads them.

        Args:
            directory: The folder; it is made if it is missing.

        Returns:
            The path of ``map.yaml``.
        """
        from irsim_isaac.map.ros_map import save_ros_map

        return save_ros_map(self, Path(directory) / "map.yaml")
