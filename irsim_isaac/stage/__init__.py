"""A USD stage to geometry, occupancy, obstacles, robots, an IR-SIM world; and back."""

from irsim_isaac.stage.consistency import Consistency, compare_sources
from irsim_isaac.stage.floors import build_floors
from irsim_isaac.stage.geometry import Geometry, Part, read_geometry
from irsim_isaac.stage.lidar import lidar_profile
from irsim_isaac.stage.map_check import MapCheck, check_map, stage_overrides
from irsim_isaac.stage.metrics import MetricDifference, fix_metrics, metric_differences
from irsim_isaac.stage.obstacles import LowObject, Obstacle, Obstacles, read_obstacles
from irsim_isaac.stage.occupancy import build_occupancy
from irsim_isaac.stage.opening import open_stage
from irsim_isaac.stage.picture import draw_world
from irsim_isaac.stage.provenance import geometry_digest
from irsim_isaac.stage.robot_files import load_robot, robot_names
from irsim_isaac.stage.robots import (
    lidar_mounts,
    robot_goals,
    robot_specs,
    robot_starts,
    start_pose,
)
from irsim_isaac.stage.scene import world_to_stage
from irsim_isaac.stage.state import object_state, world_state
from irsim_isaac.stage.survey import StageSurvey, survey_stage
from irsim_isaac.stage.units import StageUnits, gf_quaternion, quaternion_xyzw, stage_units
from irsim_isaac.stage.wheeled import WheeledRobot, add_wheeled_robot
from irsim_isaac.stage.world import World, build_world, map_world
from irsim_isaac.stage.world_file import read_world

__all__ = [
    "Consistency",
    "Geometry",
    "LowObject",
    "MapCheck",
    "MetricDifference",
    "Obstacle",
    "Obstacles",
    "Part",
    "StageSurvey",
    "StageUnits",
    "WheeledRobot",
    "World",
    "add_wheeled_robot",
    "build_floors",
    "build_occupancy",
    "build_world",
    "check_map",
    "compare_sources",
    "draw_world",
    "fix_metrics",
    "geometry_digest",
    "gf_quaternion",
    "lidar_mounts",
    "lidar_profile",
    "load_robot",
    "map_world",
    "metric_differences",
    "object_state",
    "open_stage",
    "quaternion_xyzw",
    "read_geometry",
    "read_obstacles",
    "read_world",
    "robot_goals",
    "robot_names",
    "robot_specs",
    "robot_starts",
    "stage_overrides",
    "stage_units",
    "start_pose",
    "survey_stage",
    "world_state",
    "world_to_stage",
]
