"""What a robot is and where its lidars sit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from irsim_isaac.lidar.profile import LidarProfile

__all__ = ["Footprint", "Kinematics", "LidarMount", "RobotSpec"]

Kinematics: TypeAlias = Literal["diff", "omni", "omni_angular", "acker"]

Footprint: TypeAlias = "float | tuple[tuple[float, float], ...]"
"""A radius [m], or the vertices [m] of a simple polygon, counter-clockwise, in the base frame."""


@dataclass(frozen=True, slots=True)
class LidarMount:
    """A lidar on a robot: which one, and where it sits in the base frame.

    Attributes:
        profile: What the lidar measures.
        name: The name of the lidar on its robot.
        frame_id: The frame of its scans; empty for ``{robot}/laser``.
        x: Forward of the base [m].
        y: Left of the base [m].
        z: Above the base [m].
        roll: About the base's x axis [rad], applied first.
        pitch: About the base's y axis [rad], applied second.
        yaw: About the base's z axis [rad], applied last.
    """

    profile: LidarProfile
    name: str = "lidar"
    frame_id: str = ""
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class RobotSpec:
    """A robot, as every simulator and every file is told of it.

    The base frame lies on the ground under the point that the kinematics turn about: midway
    between the driven wheels of ``diff``, midway on the rear axle of ``acker``.

    Attributes:
        name: The name of the object in every simulator.
        prim_path: Its prim in the stage, or None where the stage has none.
        kinematics: How it moves, by IR-SIM's names.
        footprint: A radius [m] or a counter-clockwise polygon [m] in the base frame.
        height: The height of its body above the ground [m].
        wheel_radius: The radius of the driven wheels [m].
        track: The distance between the left and right wheels [m].
        wheelbase: The distance between the axles [m]; None where it has one axle.
        mass: Of the whole robot [kg].
        max_linear_speed: [m/s].
        max_angular_speed: [rad/s].
        max_linear_acceleration: [m/s^2].
        max_angular_acceleration: [rad/s^2].
        joints: The driven joints in the stage: left, right; with steering joints after them.
        lidars: The lidars that it carries.
    """

    name: str
    prim_path: str | None = None
    kinematics: Kinematics = "diff"
    footprint: Footprint = 0.25
    height: float = 0.3
    wheel_radius: float = 0.1
    track: float = 0.4
    wheelbase: float | None = None
    mass: float = 20.0
    max_linear_speed: float = 1.0
    max_angular_speed: float = 1.0
    max_linear_acceleration: float = float("inf")
    max_angular_acceleration: float = float("inf")
    joints: tuple[str, ...] = ()
    lidars: tuple[LidarMount, ...] = ()
