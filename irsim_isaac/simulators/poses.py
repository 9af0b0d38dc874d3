"""Poses as matrices, quaternions and messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.lidar.ray_casting import pose_matrix
from irsim_isaac.msg import (
    Header,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
)

__all__ = [
    "Matrix",
    "Motion",
    "body_odometry",
    "heading",
    "inverse",
    "odometry_motion",
    "planar_matrix",
    "pose_of",
    "quaternion_of",
    "rotation_of",
]

Matrix: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class Motion:
    """A frame and how it moves, in metres with z up.

    Attributes:
        pose: Shape (4, 4).
        linear: The velocity of its origin in the world [m/s], shape (3,).
        angular: Its turning in the world [rad/s], shape (3,).
    """

    pose: Matrix
    linear: npt.NDArray[np.float64]
    angular: npt.NDArray[np.float64]


def planar_matrix(x: float, y: float, yaw: float, z: float = 0.0) -> Matrix:
    """Return the pose of an upright frame, shape (4, 4)."""
    return pose_matrix(x, y, z, yaw=yaw)


def rotation_of(quaternion: npt.ArrayLike) -> Matrix:
    """Return the rotation of a quaternion x, y, z, w, shape (3, 3), whatever its length."""
    x, y, z, w = np.asarray(quaternion, dtype=np.float64) / np.linalg.norm(quaternion)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def quaternion_of(rotation: Matrix) -> tuple[float, float, float, float]:
    """Return the quaternion x, y, z, w of a rotation, w not negative.

    Args:
        rotation: Shape (3, 3).
    """
    m = rotation
    squares = np.array(
        [
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
        ]
    )
    # The largest of the four is computed first: dividing by it loses nothing.
    largest = int(np.argmax(squares))
    first = math.sqrt(squares[largest]) / 2.0
    scale = 0.25 / first
    xy, xz, yz = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    xw, yw, zw = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    rest = {
        0: (None, xy, xz, xw),
        1: (xy, None, yz, yw),
        2: (xz, yz, None, zw),
        3: (xw, yw, zw, None),
    }[largest]
    values = [first if value is None else float(value) * scale for value in rest]
    if values[3] < 0.0:
        values = [-value for value in values]
    return values[0], values[1], values[2], values[3]


def pose_of(position: npt.ArrayLike, quaternion: npt.ArrayLike) -> Matrix:
    """Return a position and a quaternion x, y, z, w as a matrix of shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of(quaternion)
    matrix[:3, 3] = np.asarray(position, dtype=np.float64)
    return matrix


def inverse(pose: Matrix) -> Matrix:
    """Return the pose of the outside in a frame, exactly by its transposed rotation."""
    back = np.eye(4)
    back[:3, :3] = pose[:3, :3].T
    back[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return back


def heading(pose: Matrix) -> float:
    """Return the yaw [rad] of a frame: where its x axis points, seen from above."""
    return math.atan2(pose[1, 0], pose[0, 0])


def odometry_motion(odometry: Odometry) -> Motion:
    """Return odometry as a frame that moves; the inverse of ``body_odometry``."""
    position, turned = odometry.pose.pose.position, odometry.pose.pose.orientation
    pose = pose_of((position.x, position.y, position.z), (turned.x, turned.y, turned.z, turned.w))
    linear, angular = odometry.twist.twist.linear, odometry.twist.twist.angular
    return Motion(
        pose,
        pose[:3, :3] @ np.array([linear.x, linear.y, linear.z], dtype=np.float64),
        pose[:3, :3] @ np.array([angular.x, angular.y, angular.z], dtype=np.float64),
    )


def body_odometry(name: str, stamp: float, seq: int, motion: Motion) -> Odometry:
    """Return the odometry of a body.

    Args:
        name: The object's name.
        stamp: The time [s].
        seq: The count of steps.
        motion: Its frame and how it moves.
    """
    pose = motion.pose
    turned = pose[:3, :3].T
    forward, turn = turned @ motion.linear, turned @ motion.angular
    return Odometry(
        header=Header(seq, stamp, "world"),
        child_frame_id=f"{name}/base_link",
        pose=PoseWithCovariance(
            Pose(
                Point(float(pose[0, 3]), float(pose[1, 3]), float(pose[2, 3])),
                Quaternion(*quaternion_of(pose[:3, :3])),
            )
        ),
        twist=TwistWithCovariance(
            Twist(
                Vector3(float(forward[0]), float(forward[1]), float(forward[2])),
                Vector3(float(turn[0]), float(turn[1]), float(turn[2])),
            )
        ),
    )
