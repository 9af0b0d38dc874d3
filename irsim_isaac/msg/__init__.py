"""What is said between rooms, to IR-SIM and to ROS: plain dataclasses that need numpy alone."""

from __future__ import annotations

from irsim_isaac.msg.driving import drive
from irsim_isaac.msg.geometry import (
    Point,
    Pose,
    PoseStamped,
    PoseWithCovariance,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from irsim_isaac.msg.header import Clock, Header
from irsim_isaac.msg.laser_scan import LaserScan
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.occupancy_grid import MapMetaData, OccupancyGrid
from irsim_isaac.msg.odometry import Odometry
from irsim_isaac.msg.tf import TFMessage
from irsim_isaac.msg.world_state import ContactState, ObjectState, WorldState

__all__ = [
    "Clock",
    "ContactState",
    "Header",
    "LaserScan",
    "MapMetaData",
    "Message",
    "ObjectState",
    "OccupancyGrid",
    "Odometry",
    "Point",
    "Pose",
    "PoseStamped",
    "PoseWithCovariance",
    "Quaternion",
    "TFMessage",
    "Transform",
    "TransformStamped",
    "Twist",
    "TwistWithCovariance",
    "Vector3",
    "WorldState",
    "drive",
]
