"""What is wrong with a LaserScan is told, one sentence a problem."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irsim_isaac.lidar import check_scan, scan_from_gmo
from irsim_isaac.msg import Header, LaserScan
from tests.lidar.scenes import frame, turning


def right() -> LaserScan:
    return scan_from_gmo(frame([0.0, 90.0], [5.0, 0.05]), turning(360))


def test_a_right_scan_has_no_problem() -> None:
    assert check_scan(right()) == []
    empty_intensities = replace(right(), intensities=np.zeros(0, dtype=np.float32))
    assert check_scan(empty_intensities) == []
    unmeasured = replace(right(), ranges=np.full(360, np.nan, dtype=np.float32))
    assert check_scan(unmeasured) == []


def spoiled(index: int, value: float) -> np.ndarray:
    ranges = right().ranges.copy()
    ranges[index] = value
    return ranges


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"angle_max": math.pi}, "there are 360 readings, but .* make 361: .* slam_toolbox"),
        ({"ranges": right().ranges[:-1]}, "there are 359 readings"),
        ({"angle_increment": -0.1}, "angle_increment is -0.1, expected more than 0"),
        ({"angle_increment": math.nan}, "angle_increment is nan, expected a finite number"),
        ({"time_increment": math.inf}, "time_increment is inf"),
        ({"time_increment": 1e-3}, "360 readings 0.001 s apart take 0.359 s, longer than"),
        ({"time_increment": -1e-3}, "360 readings -0.001 s apart take 0.359 s"),
        ({"scan_time": -0.1}, "scan_time is -0.1"),
        ({"range_min": 20.0}, "range_min is 20 and range_max 20, expected"),
        ({"range_min": -0.1}, "range_min is -0.1"),
        ({"ranges": spoiled(7, -1.0)}, "1 readings are negative.*-1 at index 7"),
        ({"ranges": spoiled(7, 0.01)}, "1 readings are below range_min.*0.01 at index 7"),
        ({"ranges": spoiled(7, 20.1)}, "1 readings are above range_max.*20.1 at index 7"),
        ({"ranges": np.zeros(0, dtype=np.float32)}, r"ranges has the shape \(0,\)"),
        ({"ranges": np.zeros((2, 180), dtype=np.float32)}, r"ranges has the shape \(2, 180\)"),
        ({"intensities": np.zeros(3, dtype=np.float32)}, r"intensities has the shape \(3,\)"),
        ({"header": Header(0, -1.0, "laser")}, "the stamp is -1.0"),
        ({"header": Header(0, math.nan, "laser")}, "the stamp is nan"),
        ({"header": Header(0, 1.0, "")}, "frame_id is ''"),
        ({"header": Header(0, 1.0, "/laser")}, "frame_id is '/laser'"),
    ],
)
def test_a_problem_is_told(changes: dict[str, Any], message: str) -> None:
    problems = check_scan(replace(right(), **changes))
    assert len(problems) >= 1
    assert any(re.search(message, problem) for problem in problems), problems


def test_more_than_a_turn_is_told() -> None:
    scan = replace(
        right(),
        angle_max=-math.pi + 359 * 0.02,
        angle_increment=0.02,
    )
    assert any("span more than a turn" in problem for problem in check_scan(scan))
