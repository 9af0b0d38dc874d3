"""The pose and the velocity of an object."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan, cos, isfinite, sin, tan
from sys import float_info
from typing import Any, ClassVar

from irsim_isaac.msg.geometry import (
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = ["Odometry"]

_new = object.__new__

# The twist component (linear.x, linear.y, angular.z) that each row of a velocity is.
_ROWS = {"diff": (0, 2), "omni": (0, 1), "omni_angular": (0, 1, 2)}


def _is_passive(kinematics: Any) -> bool:
    """Return whether a velocity is the world-frame one that a push gave."""
    return kinematics is None or kinematics == "static"


def _wheelbase(obj: Any) -> float:
    """Return the distance between the axles that the kinematics integrate with [m]."""
    wheelbase = getattr(getattr(obj, "kf", None), "wheelbase", None)
    if wheelbase is None:
        wheelbase = obj.wheelbase
    if not isinstance(wheelbase, (int, float, np.number)) or not wheelbase:
        raise ValueError(
            f"object '{obj.name}' has the wheelbase {wheelbase!r}, expected a number "
            "that is not zero"
        )
    return float(wheelbase)


@dataclass(slots=True, eq=False)
class Odometry(Message):
    """The pose of an object and its velocity in its own frame, as ``nav_msgs/Odometry``."""

    ros_type: ClassVar[str] = "nav_msgs/Odometry"

    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)
    twist: TwistWithCovariance = field(default_factory=TwistWithCovariance)

    @classmethod
    def from_object(
        cls,
        obj: Any,
        *,
        stamp: float = 0.0,
        seq: int = 0,
        frame_id: str = "world",
    ) -> Odometry:
        """Return the planar pose and the velocity of an object, the velocity in its own frame.

        The yaw rate of a car is that of its steering state, with the wheelbase that its
        kinematics integrate with. Of a kinematics model that is not known here, the first row
        of the velocity alone is trusted, as forward speed.

        Args:
            obj: An IR-SIM object, or anything with its ``state``, ``velocity``,
                ``kinematics`` and ``name``.
            stamp: The time of the header [s].
            seq: The count of the header.
            frame_id: The frame of the pose.

        Raises:
            TypeError: An attribute is missing or of the wrong type.
            ValueError: The state is too short, or the yaw infinite.
        """
        try:
            return cls._of(obj, obj.name, obj.kinematics, float(stamp), int(seq), frame_id)
        except AttributeError as missing:
            raise TypeError(f"no odometry of a {type(obj).__name__}: {missing}") from missing

    @classmethod
    def _of(
        cls, obj: Any, name: str, kinematics: Any, stamp: float, seq: int, frame_id: str
    ) -> Odometry:
        state = np.asarray(obj.state, float).ravel().tolist()
        velocity = np.asarray(obj.velocity, float).ravel().tolist()
        size = len(velocity)
        if len(state) < 2:
            raise ValueError(f"object '{name}' has the state {state}, expected x and y at least")
        yaw = state[2] if len(state) > 2 else 0.0
        forward = lateral = turn = 0.0
        if size:
            forward = velocity[0]
            if kinematics in _ROWS:
                if size > 1:
                    if kinematics == "diff":
                        turn = velocity[1]
                    else:
                        lateral = velocity[1]
                        if size > 2 and kinematics == "omni_angular":
                            turn = velocity[2]
            elif kinematics == "acker":
                if len(state) > 3:
                    turn = forward * tan(state[3]) / _wheelbase(obj)
            elif size > 1 and _is_passive(kinematics):
                c, s = cos(yaw), sin(yaw)
                east, north = forward, velocity[1]
                forward = c * east + s * north
                lateral = -s * east + c * north
                if size > 2:
                    turn = velocity[2]
        # Eight more constructors would take longer than all else here, and only fill slots.
        header = _new(Header)
        header.seq, header.stamp, header.frame_id = seq, stamp, frame_id
        position = _new(Point)
        position.x, position.y, position.z = state[0], state[1], 0.0
        pose = _new(Pose)
        pose.position, pose.orientation = position, Quaternion.from_yaw(yaw)
        linear = _new(Vector3)
        linear.x, linear.y, linear.z = forward, lateral, 0.0
        angular = _new(Vector3)
        angular.x, angular.y, angular.z = 0.0, 0.0, turn
        twist = _new(Twist)
        twist.linear, twist.angular = linear, angular
        posed = _new(PoseWithCovariance)
        posed.pose, posed.covariance = pose, np.zeros(36)
        moving = _new(TwistWithCovariance)
        moving.twist, moving.covariance = twist, np.zeros(36)
        return cls(header, f"{name}/base_link", posed, moving)

    @classmethod
    def from_msg(cls, msg: Any) -> Odometry:
        """Return the planar pose and velocity of any message shaped like ``nav_msgs/Odometry``.

        The position and linear velocity along x and y, the orientation and the rate about z
        are read, and nothing else: the header belongs to whoever receives the message.

        Args:
            msg: An object with ``pose.pose`` and ``twist.twist``.

        Raises:
            TypeError: A value is missing or is no number.
            ValueError: A value is not finite.
        """
        try:
            position = msg.pose.pose.position
            orientation = msg.pose.pose.orientation
            linear = msg.twist.twist.linear
            values = (
                float(position.x),
                float(position.y),
                float(orientation.x),
                float(orientation.y),
                float(orientation.z),
                float(orientation.w),
                float(linear.x),
                float(linear.y),
                float(msg.twist.twist.angular.z),
            )
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise TypeError(
                f"found a {type(msg).__name__}, expected a ROS-compatible nav_msgs/Odometry "
                f"message: {error}"
            ) from error
        x, y, qx, qy, qz, qw, forward, lateral, turn = values
        if not all(map(isfinite, values)):
            _refuse_non_finite(values)
        return cls(
            pose=PoseWithCovariance(Pose(Point(x, y), Quaternion(qx, qy, qz, qw))),
            twist=TwistWithCovariance(Twist(Vector3(forward, lateral), Vector3(0.0, 0.0, turn))),
        )

    def to_state_velocity(self, obj: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return this odometry as the state and the velocity of an object; the object is read.

        The inverse of :meth:`from_object`. What odometry does not carry, the object keeps of
        its own: the steering angle of a car that stands, the steering rate of a car that is
        commanded by it, and the values of a longer state.

        Args:
            obj: The object whose layout the arrays get.

        Returns:
            The new state, shape (n, 1), and velocity of shape ``obj.vel_shape``.

        Raises:
            TypeError: The object lacks an attribute, or a value here is no number.
            ValueError: The object's state is too short, a value here is not finite, or the
                orientation defines no rotation.
        """
        try:
            return self._to_state_velocity(obj)
        except AttributeError as missing:
            raise TypeError(f"a {type(obj).__name__} takes no odometry: {missing}") from missing

    def _to_state_velocity(self, obj: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        state = np.array(obj.state, dtype=float)
        if state.ndim != 2 or len(state) < 3:
            raise ValueError(
                f"object '{obj.name}' has a state of shape {state.shape}, expected a column of "
                "at least three state values to receive planar odometry"
            )
        position = self.pose.pose.position
        linear = self.twist.twist.linear
        forward, lateral, turn = linear.x, linear.y, self.twist.twist.angular.z
        if not (
            isfinite(position.x)
            and isfinite(position.y)
            and isfinite(forward)
            and isfinite(lateral)
            and isfinite(turn)
        ):
            q = self.pose.pose.orientation
            _refuse_non_finite((position.x, position.y, q.x, q.y, q.z, q.w, forward, lateral, turn))
        yaw = self.pose.pose.orientation.to_yaw()
        state[0, 0] = position.x
        state[1, 0] = position.y
        state[2, 0] = yaw
        velocity = np.zeros(obj.vel_shape, dtype=float)
        kinematics = obj.kinematics
        if kinematics == "acker":
            _steer(obj, state, velocity, forward, turn)
        elif _is_passive(kinematics):
            if len(velocity) > 1:
                c, s = cos(yaw), sin(yaw)
                velocity[0, 0] = c * forward - s * lateral
                velocity[1, 0] = s * forward + c * lateral
                if len(velocity) > 2:
                    velocity[2, 0] = turn
            elif len(velocity):
                velocity[0, 0] = forward
        else:
            values = (forward, lateral, turn)
            rows = _ROWS.get(kinematics, (0, 1, 2))
            for row, component in enumerate(rows[: len(velocity)]):
                velocity[row, 0] = values[component]
        return state, velocity


def _steer(
    obj: Any,
    state: NDArray[np.float64],
    velocity: NDArray[np.float64],
    forward: float,
    turn: float,
) -> None:
    """Fill the steering of a car in."""
    if len(state) < 4:
        raise ValueError(
            f"object '{obj.name}' has {len(state)} state values; a car needs a steering state "
            "value, the fourth, to receive odometry"
        )
    if abs(forward) > float_info.epsilon:
        state[3, 0] = atan(turn * _wheelbase(obj) / forward)
    velocity[0, 0] = forward
    if len(velocity) > 1:
        if getattr(getattr(obj, "kf", None), "mode", "steer") == "steer":
            velocity[1, 0] = state[3, 0]
        else:
            # The second row is a rate of the steering angle, of which odometry knows nothing.
            own = np.asarray(getattr(obj, "velocity", ())).ravel()
            velocity[1, 0] = own[1] if own.size > 1 else 0.0


_NAMES = (
    "pose.pose.position.x",
    "pose.pose.position.y",
    "pose.pose.orientation.x",
    "pose.pose.orientation.y",
    "pose.pose.orientation.z",
    "pose.pose.orientation.w",
    "twist.twist.linear.x",
    "twist.twist.linear.y",
    "twist.twist.angular.z",
)


def _refuse_non_finite(values: tuple[float, ...]) -> None:
    odd = [f"{name} = {v}" for name, v in zip(_NAMES, values, strict=True) if not isfinite(v)]
    raise ValueError(f"odometry values must all be finite, found {', '.join(odd)}")
