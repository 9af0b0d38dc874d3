"""The pose and the velocity of an object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from irsim_isaac.msg.geometry import PoseWithCovariance, TwistWithCovariance
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message

__all__ = ["Odometry"]


@dataclass(slots=True, eq=False)
class Odometry(Message):
    """The pose of an object and its velocity in its own frame, as ``nav_msgs/Odometry``."""

    ros_type: ClassVar[str] = "nav_msgs/Odometry"

    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)
    twist: TwistWithCovariance = field(default_factory=TwistWithCovariance)
