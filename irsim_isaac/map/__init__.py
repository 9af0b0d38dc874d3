"""Grids of a world: what is occupied, what has been seen, and the files that hold them."""

from irsim_isaac.map.fog_map import FogMap
from irsim_isaac.map.grid_map import EnvGridMap, Map
from irsim_isaac.map.grid_map_generator_base import GridMapGenerator
from irsim_isaac.map.image_map_generator import ImageGridGenerator
from irsim_isaac.map.limits import CELL_LIMIT
from irsim_isaac.map.obstacle_grid import build_grid_from_generator, resolve_obstacle_map
from irsim_isaac.map.obstacle_map import ObstacleMap, grid_collision_geometry
from irsim_isaac.map.occupancy import Occupancy, Unknown
from irsim_isaac.map.occupancy_message import from_occupancy_grid, to_occupancy_grid
from irsim_isaac.map.perlin_map_generator import PerlinGridGenerator
from irsim_isaac.map.reachability import reachable_cells
from irsim_isaac.map.report import BuildReport, Omission
from irsim_isaac.map.resampling import (
    downsample,
    downsample_occupancy_grid,
    inflate,
    straighten,
)
from irsim_isaac.map.ros_map import MapMode, load_ros_map, save_ros_map

__all__ = [
    "CELL_LIMIT",
    "BuildReport",
    "EnvGridMap",
    "FogMap",
    "GridMapGenerator",
    "ImageGridGenerator",
    "Map",
    "MapMode",
    "ObstacleMap",
    "Occupancy",
    "Omission",
    "PerlinGridGenerator",
    "Unknown",
    "build_grid_from_generator",
    "downsample",
    "downsample_occupancy_grid",
    "from_occupancy_grid",
    "grid_collision_geometry",
    "inflate",
    "load_ros_map",
    "reachable_cells",
    "resolve_obstacle_map",
    "save_ros_map",
    "straighten",
    "to_occupancy_grid",
]
