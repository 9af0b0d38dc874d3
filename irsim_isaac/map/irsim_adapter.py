"""The one place where maps touch IR-SIM itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from shapely.strtree import STRtree

from irsim_isaac.errors import MapFormatError, MissingPackageError

if TYPE_CHECKING:
    from irsim_isaac.map.obstacle_map import ObstacleMap

__all__ = ["to_irsim_obstacle_map"]


def to_irsim_obstacle_map(obstacle: ObstacleMap) -> Any:
    """Return an obstacle map as one of IR-SIM's objects.

    IR-SIM builds its boundary from one box a cell, which takes minutes on large maps; the
    object is therefore built from one cell and given the finished lines.

    Args:
        obstacle: The map.

    Raises:
        MissingPackageError: IR-SIM is not installed.
        MapFormatError: No cell is occupied.
    """
    try:
        from irsim.world.map import ObstacleMap as IrsimObstacleMap
    except ImportError as error:
        raise MissingPackageError("irsim", "irsim") from error
    if not obstacle.linestrings:
        raise MapFormatError("no cell is occupied: IR-SIM has no map object without one")

    class ExactObstacleMap(IrsimObstacleMap):
        """IR-SIM's map object, answering by whole cells."""

        def check_grid_collision(self, geometry: Any) -> bool:
            return obstacle.check_grid_collision(geometry)

        def is_collision(self, geometry: Any) -> bool:
            return obstacle.is_collision(geometry)

    first = np.array(obstacle.linestrings[0].coords[0]).reshape(2, 1)
    made = ExactObstacleMap(
        shape={"name": "map", "points": first, "reso": obstacle.grid_reso},
        color=obstacle.color,
        static=obstacle.static,
        grid_map=obstacle.grid_map,
        grid_reso=obstacle.grid_reso,
        world_offset=list(obstacle.world_offset),
        **obstacle.options,
    )
    made.set_original_geometry(obstacle.geometry)
    made.gf.length, made.gf.width = made.gf.cal_length_width(obstacle.geometry)
    made.set_state([0.0, 0.0, 0.0])
    made.linestrings = list(made.geometry.geoms)
    made.geometry_tree = STRtree(made.linestrings)
    return made
