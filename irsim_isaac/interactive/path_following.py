"""Following a path as closely as a robot's kinematics can, to a pose at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irsim_isaac.msg import Odometry, Twist, Vector3

if TYPE_CHECKING:
    from irsim_isaac.robot import RobotSpec

__all__ = ["PathFollower"]

_SPIN_FROM = 0.5
"""From which angle to the path on a robot turns on the spot [rad]."""

_SPIN_TO = 0.08
_GAIN = 2.0
_CREEP = 0.06
_TURN_LENGTH = 0.3
"""What a radian that is still to be turned counts as, in progress [m]."""


class PathFollower:
    """Aims at a point of the path a little ahead, and turns on the spot where it can.

    A differential robot turns to the path before it drives along it, so that it leaves the path
    by centimetres only; a car steers; a robot that slides heads for the aim as it stands. At the
    end, robots that can turn take the heading that is asked for.

    Args:
        points: x, y of the path's corners [m], shape (n, 2).
        robot: What is driven; its speeds are not exceeded.
        heading: Where it looks at the end [rad]; None for wherever it comes to look.
        speed: Forward [m/s]; None for the robot's greatest.
        look_ahead: How far along the path it aims [m].
        tolerance: How near the end is near enough [m].
        heading_tolerance: How near the heading is near enough [rad].
    """

    def __init__(
        self,
        points: Sequence[Sequence[float]] | np.ndarray,
        robot: RobotSpec,
        *,
        heading: float | None = None,
        speed: float | None = None,
        look_ahead: float = 0.3,
        tolerance: float = 0.05,
        heading_tolerance: float = 0.05,
    ) -> None:
        corners = np.asarray(points, float).reshape(-1, 2)
        keep = np.append(np.hypot(*np.diff(corners, axis=0).T) > 1e-9, True)
        self._points = corners[keep]
        self._along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(self._points, axis=0).T))))
        self._robot = robot
        turns = robot.kinematics in ("diff", "omni_angular")
        self._heading = heading if turns else None
        self._speed = min(speed or robot.max_linear_speed, robot.max_linear_speed)
        self._look_ahead = look_ahead
        self._tolerance, self._heading_tolerance = tolerance, heading_tolerance
        self._progress = 0.0
        self._spinning = self._there = False
        self.arrived = False
        self.remaining = math.inf
        """What is left: of the path [m], and of turning, weighed as a length."""

    def command(self, odom: Odometry) -> Twist:
        """Return the twist to drive with from here, in the base frame; zero at the end."""
        at, yaw = odom.pose.pose.position, odom.pose.pose.orientation.to_yaw()
        here = np.array((at.x, at.y))
        self._progress = self._nearest(here)
        left = float(np.hypot(*(self._points[-1] - here)))
        self._there = self._there or left <= self._tolerance
        if self._there:
            turn = 0.0 if self._heading is None else _wrapped(self._heading - yaw)
            self.remaining = _TURN_LENGTH * abs(turn)
            if abs(turn) <= self._heading_tolerance:
                self.arrived, self.remaining = True, 0.0
                return Twist()
            return self._turned(turn)
        reach = min(self._progress + self._look_ahead, float(self._along[-1]))
        aim = np.array([np.interp(reach, self._along, axis) for axis in self._points.T]) - here
        turn = _wrapped(math.atan2(aim[1], aim[0]) - yaw)
        self.remaining = max(float(self._along[-1]) - self._progress, left)
        speed = min(self._speed, _CREEP + left)
        if self._robot.kinematics in ("omni", "omni_angular"):
            return Twist(linear=Vector3(speed * math.cos(turn), speed * math.sin(turn)))
        self.remaining += _TURN_LENGTH * abs(turn)
        if self._robot.kinematics == "diff":
            self._spinning = abs(turn) > (_SPIN_TO if self._spinning else _SPIN_FROM)
            if self._spinning:
                return self._turned(turn)
        most = self._robot.max_angular_speed
        curvature = 2.0 * math.sin(turn) / max(float(np.hypot(*aim)), 1e-6)
        speed = min(speed, most / max(abs(curvature), 1e-9))
        return Twist(linear=Vector3(x=speed), angular=Vector3(z=speed * curvature))

    def _turned(self, turn: float) -> Twist:
        most = self._robot.max_angular_speed
        return Twist(angular=Vector3(z=max(-most, min(most, _GAIN * turn))))

    def _nearest(self, here: np.ndarray) -> float:
        """Return how far along the path the nearest point not yet passed lies [m]."""
        if len(self._points) == 1:
            return 0.0
        start, way = self._points[:-1], np.diff(self._points, axis=0)
        first, last = self._along[:-1], self._along[1:]
        low = np.maximum(first, self._progress)
        # A path may come near itself: only what lies a little ahead is looked at.
        high = np.minimum(last, self._progress + 2.0 * self._look_ahead)
        along = first + ((here - start) * way).sum(axis=1) / (last - first)
        along = np.clip(along, low, np.maximum(low, high))
        foot = start + ((along - first) / (last - first))[:, None] * way
        distance = np.where(low <= high, np.hypot(*(foot - here).T), np.inf)
        return float(along[int(np.argmin(distance))])


def _wrapped(angle: float) -> float:
    return math.remainder(angle, 2.0 * math.pi)
