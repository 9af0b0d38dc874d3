"""A USD stage to geometry, occupancy, obstacles, robots, an IR-SIM world; and back."""

from irsim_isaac.stage.consistency import Consistency, compare_sources
from irsim_isaac.stage.floors import build_floors
from irsim_isaac.stage.geometry import Geometry, Part, read_geometry
from irsim_isaac.stage.labels import add_labels, labels
from irsim_isaac.stage.lidar import lidar_profile
from irsim_isaac.stage.map_check import MapCheck, check_map
from irsim_isaac.stage.metrics import MetricDifference, fix_metrics, metric_differences
from irsim_isaac.stage.obstacles import LowObject, Obstacle, Obstacles, read_obstacles
from irsim_isaac.stage.occupancy import build_occupancy
from irsim_isaac.stage.opening import open_stage, stage_overrides
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
from irsim_isaac.stage.room_finding import FoundDoor, FoundRoom, RoomPlan, find_rooms
from irsim_isaac.stage.scene import world_to_stage
from irsim_isaac.stage.state import object_state, world_state
from irsim_isaac.stage.survey import StageSurvey, survey_stage
from irsim_isaac.stage.units import StageUnits, gf_quaternion, quaternion_xyzw, stage_units
from irsim_isaac.stage.wheeled import WheeledRobot, add_wheeled_robot
from irsim_isaac.stage.world import World, build_world, map_world
from irsim_isaac.stage.world_file import read_world
from irsim_isaac.stage.world_model import (
    ItemRelation,
    item_relations,
    room_map,
    world_model,
    world_model_to_stage,
)

__all__ = [
    "Consistency",
    "FoundDoor",
    "FoundRoom",
    "Geometry",
    "ItemRelation",
    "LowObject",
    "MapCheck",
    "MetricDifference",
    "Obstacle",
    "Obstacles",
    "Part",
    "RoomPlan",
    "StageSurvey",
    "StageUnits",
    "WheeledRobot",
    "World",
    "add_labels",
    "add_wheeled_robot",
    "build_floors",
    "build_occupancy",
    "build_world",
    "check_map",
    "compare_sources",
    "draw_world",
    "find_rooms",
    "fix_metrics",
    "geometry_digest",
    "gf_quaternion",
    "item_relations",
    "labels",
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
    "room_map",
    "stage_overrides",
    "stage_units",
    "start_pose",
    "survey_stage",
    "world_model",
    "world_model_to_stage",
    "world_state",
    "world_to_stage",
]
