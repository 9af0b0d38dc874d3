"""Planar motion: twists to velocities of each kinematics, and how they move a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from irsim_isaac.errors import SimulatorError
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
from irsim_isaac.robot import RobotSpec

__all__ = [
    "REST",
    "PlanarPose",
    "PlanarTwist",
    "base_odometry",
    "body_twist",
    "checked_commands",
    "checked_update",
    "integrate",
    "largest_steering",
    "limited",
    "steering_angle",
    "wrapped",
]

_STANDING = 2.2e-16


class PlanarPose(NamedTuple):
    """Where a base is: x, y [m], yaw [rad]; and the steering angle [rad] of a car."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    steer: float = 0.0


class PlanarTwist(NamedTuple):
    """How a base moves in its own frame: forward, left [m/s], counter-clockwise [rad/s]."""

    forward: float = 0.0
    left: float = 0.0
    turn: float = 0.0


REST = PlanarTwist()


def wrapped(angle: float) -> float:
    """Return an angle brought into [-pi, pi) by whole turns."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def checked_commands(
    commands: Mapping[str, Twist], robots: Mapping[str, RobotSpec], simulator: str
) -> dict[str, PlanarTwist]:
    """Return the planar part of every command, a rest for each robot that has none.

    Args:
        commands: Twists by robot.
        robots: The robots that take commands.
        simulator: The simulator's name, for messages.

    Raises:
        SimulatorError: A robot is unknown, or a command is not a twist of finite values.
    """
    taken = dict.fromkeys(robots, REST)
    for name, twist in commands.items():
        if name not in taken:
            raise SimulatorError(
                f"{simulator}: a command for '{name}', which is no robot of it; "
                f"its robots: {', '.join(robots) or 'none'}"
            )
        try:
            planar = PlanarTwist(
                float(twist.linear.x), float(twist.linear.y), float(twist.angular.z)
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise SimulatorError(
                f"{simulator}: the command for '{name}' is no Twist: {twist!r}"
            ) from error
        if not all(map(math.isfinite, planar)):
            raise SimulatorError(
                f"{simulator}: the command for '{name}' must be finite, found {tuple(planar)}"
            )
        taken[name] = planar
    return taken


def _clipped(value: float, before: float, limit: float, acceleration: float, time: float) -> float:
    low, high = -limit, limit
    if not math.isinf(acceleration):
        low = max(low, before - acceleration * time)
        high = min(high, before + acceleration * time)
    return min(max(value, low), high)


def limited(
    spec: RobotSpec, command: PlanarTwist, before: PlanarTwist, step_time: float
) -> PlanarTwist:
    """Return what a robot makes of a command within its limits, each component by itself.

    The components that its kinematics has not are left out.

    Args:
        spec: The robot.
        command: What it is told.
        before: How it moved in the step before.
        step_time: The length of the step [s].
    """
    speed, acceleration = spec.max_linear_speed, spec.max_linear_acceleration
    forward = _clipped(command.forward, before.forward, speed, acceleration, step_time)
    left = turn = 0.0
    if spec.kinematics in ("omni", "omni_angular"):
        left = _clipped(command.left, before.left, speed, acceleration, step_time)
    if spec.kinematics in ("diff", "omni_angular"):
        turn = _clipped(
            command.turn,
            before.turn,
            spec.max_angular_speed,
            spec.max_angular_acceleration,
            step_time,
        )
    if spec.kinematics == "acker" and command.forward != 0.0:
        # A car that cannot go as fast as it is told still takes the curve that it is told.
        turn = command.turn * (forward / command.forward)
    return PlanarTwist(forward, left, turn)


def largest_steering(spec: RobotSpec) -> float:
    """Return the largest steering angle of a car [rad]: its fastest turn at its top speed."""
    return math.atan2(spec.max_angular_speed * (spec.wheelbase or 1.0), spec.max_linear_speed)


def steering_angle(
    wheelbase: float, forward: float, turn: float, present: float, *, limit: float = math.inf
) -> float:
    """Return the steering angle [rad] of a car for a speed and a yaw rate.

    A car that stands keeps the angle that it has.

    Args:
        wheelbase: Between the axles [m].
        forward: Its speed [m/s]; negative backward.
        turn: Its yaw rate [rad/s].
        present: The angle that it has [rad].
        limit: The largest angle that it can have [rad].
    """
    if abs(forward) <= _STANDING:
        return present
    return min(max(math.atan(turn * wheelbase / forward), -limit), limit)


def integrate(
    spec: RobotSpec, pose: PlanarPose, motion: PlanarTwist, step_time: float
) -> PlanarPose:
    """Return where a robot is one step later.

    This is the explicit Euler step of IR-SIM: the velocity keeps, for the whole step, the
    heading that the robot had at the start of the step, and a car turns with the steering
    angle of the step before.

    Args:
        spec: The robot.
        pose: Where it is.
        motion: Its velocity in the base frame, within its limits.
        step_time: The length of the step [s].
    """
    cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
    x = pose.x + (motion.forward * cos - motion.left * sin) * step_time
    y = pose.y + (motion.forward * sin + motion.left * cos) * step_time
    steer = pose.steer
    turn = motion.turn
    if spec.kinematics == "acker":
        wheelbase = spec.wheelbase or 1.0
        steer = steering_angle(
            wheelbase, motion.forward, motion.turn, pose.steer, limit=largest_steering(spec)
        )
        turn = motion.forward * math.tan(pose.steer) / wheelbase
    yaw = pose.yaw if spec.kinematics == "omni" else wrapped(pose.yaw + turn * step_time)
    return PlanarPose(x, y, yaw, steer)


def body_twist(spec: RobotSpec, pose: PlanarPose, motion: PlanarTwist) -> PlanarTwist:
    """Return the twist that odometry reports, the yaw rate of a car by its steering angle."""
    if spec.kinematics != "acker":
        return motion
    turn = motion.forward * math.tan(pose.steer) / (spec.wheelbase or 1.0)
    return PlanarTwist(motion.forward, 0.0, turn)


def base_odometry(
    name: str, stamp: float, seq: int, pose: PlanarPose, twist: PlanarTwist, *, z: float = 0.0
) -> Odometry:
    """Return the odometry of a base that stands upright."""
    return Odometry(
        header=Header(seq, stamp, "world"),
        child_frame_id=f"{name}/base_link",
        pose=PoseWithCovariance(Pose(Point(pose.x, pose.y, z), Quaternion.from_yaw(pose.yaw))),
        twist=TwistWithCovariance(
            Twist(Vector3(twist.forward, twist.left, 0.0), Vector3(0.0, 0.0, twist.turn))
        ),
    )


def checked_update(name: str, update: Odometry, simulator: str) -> tuple[PlanarPose, PlanarTwist]:
    """Return the planar pose and twist of an update.

    Raises:
        SimulatorError: It is not odometry, a value is not finite, or its orientation defines
            no yaw.
    """
    try:
        position = update.pose.pose.position
        turned = update.pose.pose.orientation
        linear, angular = update.twist.twist.linear, update.twist.twist.angular
        values = tuple(
            float(value)
            for value in (
                *(position.x, position.y, position.z),
                *(turned.x, turned.y, turned.z, turned.w),
                *(linear.x, linear.y, angular.z),
            )
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise SimulatorError(
            f"{simulator}: the update of '{name}' is no Odometry: {update!r}"
        ) from error
    if not all(map(math.isfinite, values)):
        raise SimulatorError(f"{simulator}: the update of '{name}' must be finite, found {values}")
    try:
        yaw = Quaternion(*values[3:7]).to_yaw()
    except ValueError as error:
        raise SimulatorError(
            f"{simulator}: the update of '{name}' has the orientation {values[3:7]}, "
            "which defines no yaw"
        ) from error
    return PlanarPose(values[0], values[1], yaw), PlanarTwist(*values[7:10])
