"""Positions, orientations and velocities, shaped like ``geometry_msgs``."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, cos, hypot, isfinite, sin
from sys import float_info
from typing import ClassVar

from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = [
    "Point",
    "Pose",
    "PoseStamped",
    "PoseWithCovariance",
    "Quaternion",
    "Transform",
    "TransformStamped",
    "Twist",
    "TwistWithCovariance",
    "Vector3",
]


def _zero_covariance() -> NDArray[np.float64]:
    return np.zeros(36)


@dataclass(slots=True, eq=False)
class Point(Message):
    """A position [m], as ``geometry_msgs/Point``."""

    ros_type: ClassVar[str] = "geometry_msgs/Point"

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(slots=True, eq=False)
class Vector3(Message):
    """A vector, as ``geometry_msgs/Vector3``."""

    ros_type: ClassVar[str] = "geometry_msgs/Vector3"

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(slots=True, eq=False)
class Quaternion(Message):
    """An orientation x, y, z, w, as ``geometry_msgs/Quaternion``."""

    ros_type: ClassVar[str] = "geometry_msgs/Quaternion"

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0

    @classmethod
    def from_yaw(cls, yaw: float) -> Quaternion:
        """Return the planar quaternion of a yaw angle [rad].

        Raises:
            ValueError: The angle is infinite.
        """
        half = float(yaw) / 2.0
        try:
            return cls(0.0, 0.0, sin(half), cos(half))
        except ValueError:
            raise ValueError(f"yaw is {yaw}, expected a finite angle") from None

    def to_yaw(self) -> float:
        """Return the planar yaw angle [rad] of the normalised quaternion, from -pi to pi.

        Raises:
            ValueError: The quaternion is zero or holds a value that is not finite, and so
                defines no rotation.
        """
        x, y, z, w = self.x, self.y, self.z, self.w
        norm = hypot(hypot(x, y), hypot(z, w))
        if not isfinite(norm):
            raise ValueError(f"the orientation must be finite to define a yaw, found {self}")
        if norm <= float_info.epsilon:
            raise ValueError(f"the orientation must be non-zero to define a yaw, found {self}")
        x, y, z, w = x / norm, y / norm, z / norm, w / norm
        return atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@dataclass(slots=True, eq=False)
class Pose(Message):
    """A position and an orientation, as ``geometry_msgs/Pose``."""

    ros_type: ClassVar[str] = "geometry_msgs/Pose"

    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True, eq=False)
class PoseWithCovariance(Message):
    """A pose and its row-major 6 by 6 covariance, shape (36,)."""

    ros_type: ClassVar[str] = "geometry_msgs/PoseWithCovariance"

    pose: Pose = field(default_factory=Pose)
    covariance: NDArray[np.float64] = field(default_factory=_zero_covariance)


@dataclass(slots=True, eq=False)
class PoseStamped(Message):
    """A pose in the frame and at the time of its header, as ``geometry_msgs/PoseStamped``."""

    ros_type: ClassVar[str] = "geometry_msgs/PoseStamped"

    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


@dataclass(slots=True, eq=False)
class Twist(Message):
    """A linear [m/s] and an angular [rad/s] velocity, as ``geometry_msgs/Twist``."""

    ros_type: ClassVar[str] = "geometry_msgs/Twist"

    linear: Vector3 = field(default_factory=Vector3)
    angular: Vector3 = field(default_factory=Vector3)


@dataclass(slots=True, eq=False)
class TwistWithCovariance(Message):
    """A twist and its row-major 6 by 6 covariance, shape (36,)."""

    ros_type: ClassVar[str] = "geometry_msgs/TwistWithCovariance"

    twist: Twist = field(default_factory=Twist)
    covariance: NDArray[np.float64] = field(default_factory=_zero_covariance)


@dataclass(slots=True, eq=False)
class Transform(Message):
    """A translation [m] and a rotation, as ``geometry_msgs/Transform``."""

    ros_type: ClassVar[str] = "geometry_msgs/Transform"

    translation: Vector3 = field(default_factory=Vector3)
    rotation: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True, eq=False)
class TransformStamped(Message):
    """Where a child frame lies in its parent, as ``geometry_msgs/TransformStamped``."""

    ros_type: ClassVar[str] = "geometry_msgs/TransformStamped"

    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    transform: Transform = field(default_factory=Transform)
