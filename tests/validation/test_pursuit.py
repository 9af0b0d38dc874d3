"""The controller follows a path with each kind of robot."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from irsim_isaac.robot import RobotSpec
from irsim_isaac.validation import PurePursuit
from tests.validation.worlds import odometry

SQUARE = [(0, 0), (4, 0), (4, 3), (0, 3), (0, 0.5)]
EIGHT = [(0, 0), (4, 3), (4, 0), (0, 3)]


def drive(points, robot, *, start=(0.0, 0.0, 0.0), steps=900, look_ahead=0.5):
    controller = PurePursuit(points, robot, speed=0.5, look_ahead=look_ahead, tolerance=0.1)
    x, y, yaw = start
    track = [(x, y)]
    for _ in range(steps):
        twist = controller.command(odometry(x, y, yaw))
        if controller.arrived:
            break
        vx, vy, w = twist.linear.x, twist.linear.y, twist.angular.z
        assert math.hypot(vx, vy) <= 0.5 + 1e-12
        assert abs(w) <= robot.max_angular_speed + 1e-12
        x += 0.1 * (vx * math.cos(yaw) - vy * math.sin(yaw))
        y += 0.1 * (vx * math.sin(yaw) + vy * math.cos(yaw))
        yaw += 0.1 * w
        track.append((x, y))
    return controller, np.array(track)


def off_path(track, points):
    rows = np.array(points, float)
    start, end = rows[:-1], rows[1:]
    along = end - start
    share = ((track[:, None] - start) * along).sum(-1) / (along**2).sum(-1)
    foot = start + share.clip(0, 1)[..., None] * along
    return np.hypot(*(foot - track[:, None]).transpose(2, 0, 1)).min(axis=1)


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker"])
@pytest.mark.parametrize("path", [SQUARE, EIGHT], ids=["square", "crossing"])
def test_the_path_is_followed_to_its_end(kinematics, path):
    robot = RobotSpec(name="r", kinematics=kinematics, max_angular_speed=1.5)
    controller, track = drive(path, robot)
    assert controller.arrived
    assert np.hypot(*(track[-1] - path[-1])) <= 0.1
    assert off_path(track, path).max() < 0.5
    for corner in path:
        assert np.hypot(*(track - corner).T).min() < 0.5


def test_a_robot_that_looks_away_turns_on_the_spot_first():
    robot = RobotSpec(name="r")
    controller = PurePursuit([(0, 0), (3, 0)], robot, speed=0.5, look_ahead=0.5, tolerance=0.1)
    twist = controller.command(odometry(0, 0, 3.0))
    assert twist.linear.x == 0.0
    assert twist.angular.z == -robot.max_angular_speed


def test_at_the_goal_it_stops_for_good():
    robot = RobotSpec(name="r")
    controller = PurePursuit([(0, 0), (1, 0)], robot, speed=0.5, look_ahead=0.5, tolerance=0.1)
    for x in (0.95, 0.5):
        twist = controller.command(odometry(x, 0, 0))
        assert controller.arrived
        assert (twist.linear.x, twist.angular.z) == (0.0, 0.0)


def test_slower_than_asked_where_the_robot_is():
    robot = replace(RobotSpec(name="r"), max_linear_speed=0.2)
    controller = PurePursuit([(0, 0), (3, 0)], robot, speed=0.5, look_ahead=0.5, tolerance=0.1)
    assert controller.command(odometry(0, 0, 0)).linear.x == 0.2
