"""Grids of a world: what is occupied, what has been seen, and the files that hold them."""

from irsim_isaac.map.fog_map import FogMap
from irsim_isaac.map.grid_map import EnvGridMap, Map
from irsim_isaac.map.occupancy import Occupancy, Unknown
from irsim_isaac.map.report import BuildReport, Omission
from irsim_isaac.map.ros_map import MapMode, load_ros_map, save_ros_map

__all__ = [
    "BuildReport",
    "EnvGridMap",
    "FogMap",
    "Map",
    "MapMode",
    "Occupancy",
    "Omission",
    "Unknown",
    "load_ros_map",
    "save_ros_map",
]
