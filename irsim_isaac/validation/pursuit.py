"""Following a path: what to command next, from where the robot is now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irsim_isaac.msg import Odometry, Twist, Vector3
from irsim_isaac.robot import RobotSpec
from irsim_isaac.validation.trajectory import wrap_angle

__all__ = ["PurePursuit"]


class PurePursuit:
    """A pure-pursuit controller (Coulter, CMU-RI-TR-92-01), one for each robot.

    It aims at the point of the path that lies ``look_ahead`` beyond the point nearest to the
    robot, going forward along the path only. A robot that can turn on the spot does so while
    the aim lies behind it; one that moves in any direction heads straight for the aim.

    Args:
        points: x, y of the path's corners, the first where the robot starts [m], shape (n, 2).
        robot: What is driven; its speeds are not exceeded.
        speed: Forward [m/s].
        look_ahead: [m].
        tolerance: How near the goal is near enough [m].
    """

    def __init__(
        self,
        points: Sequence[Sequence[float]],
        robot: RobotSpec,
        *,
        speed: float,
        look_ahead: float,
        tolerance: float,
    ) -> None:
        self._points = np.asarray(points, float).reshape(-1, 2)
        steps = np.hypot(*np.diff(self._points, axis=0).T)
        keep = np.concatenate(([True], steps > 0))
        self._points = self._points[keep]
        self._along = np.concatenate(([0.0], np.cumsum(steps[steps > 0])))
        self._robot = robot
        self._speed = min(speed, robot.max_linear_speed)
        self._look_ahead = look_ahead
        self._tolerance = tolerance
        self._progress = 0.0
        self.arrived = False

    def command(self, odom: Odometry) -> Twist:
        """Return the twist to drive with from here, in the base frame; zero at the goal."""
        pose = odom.pose.pose
        here = np.array((pose.position.x, pose.position.y))
        if self.arrived or np.hypot(*(self._points[-1] - here)) <= self._tolerance:
            self.arrived = True
            return Twist()
        self._progress = self._nearest(here)
        reach = min(self._progress + self._look_ahead, self._along[-1])
        aim = np.array([np.interp(reach, self._along, axis) for axis in self._points.T])
        offset = aim - here
        distance = float(np.hypot(*offset))
        heading = float(np.arctan2(offset[1], offset[0]))
        turn = float(wrap_angle(heading - pose.orientation.to_yaw()))
        return self._drive(turn, distance)

    def _drive(self, turn: float, distance: float) -> Twist:
        robot = self._robot
        if robot.kinematics in {"omni", "omni_angular"}:
            return Twist(linear=Vector3(self._speed * np.cos(turn), self._speed * np.sin(turn)))
        most = robot.max_angular_speed
        if robot.kinematics == "diff" and abs(turn) > np.pi / 2:
            return Twist(angular=Vector3(z=float(np.copysign(most, turn))))
        curvature = 2 * np.sin(turn) / distance
        speed = min(self._speed, most / max(abs(curvature), 1e-9))
        return Twist(linear=Vector3(x=float(speed)), angular=Vector3(z=float(speed * curvature)))

    def _nearest(self, here: np.ndarray) -> float:
        """Return how far along the path the nearest point not yet passed lies [m]."""
        if len(self._points) == 1:
            return 0.0
        start, end = self._points[:-1], self._points[1:]
        first, last = self._along[:-1], self._along[1:]
        lengths = last - first
        # A path may cross itself: only what is ahead and near by along the path is looked at.
        low = np.maximum(first, self._progress)
        high = np.minimum(last, self._progress + 2 * self._look_ahead)
        along = first + ((here - start) * (end - start)).sum(axis=1) / lengths
        along = np.clip(along, low, np.maximum(low, high))
        foot = start + ((along - first) / lengths)[:, None] * (end - start)
        distance = np.where(low <= high, np.hypot(*(foot - here).T), np.inf)
        return float(along[int(np.argmin(distance))])
