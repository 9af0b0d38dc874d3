"""What is wrong with a LaserScan."""

from __future__ import annotations

import math

import numpy as np

from irsim_isaac.msg import LaserScan

__all__ = ["check_scan"]


def check_scan(scan: LaserScan) -> list[str]:
    """Tell what is wrong with a scan, for those who read it by its definition.

    The rules are those of ``sensor_msgs/LaserScan`` and REP 117, and the count rule by which
    slam_toolbox refuses scans. Numbers are judged as the float32 that they are on the wire.

    Args:
        scan: Any scan, from whatever source.

    Returns:
        One sentence a problem; an empty list for a scan that is right.
    """
    problems = _number_problems(scan)
    ranges = np.asarray(scan.ranges)
    if ranges.ndim != 1 or ranges.size == 0:
        problems.append(f"ranges has the shape {ranges.shape}, expected (N,) with N of 1 or more")
        return problems
    intensities = np.asarray(scan.intensities)
    if intensities.shape not in ((0,), ranges.shape):
        problems.append(
            f"intensities has the shape {intensities.shape}, expected {ranges.shape}, or (0,) "
            "where there are none"
        )
    problems += _angle_problems(scan, ranges.size)
    problems += _time_problems(scan, ranges.size)
    problems += _range_problems(scan, ranges.astype(np.float32))
    frame = scan.header.frame_id
    if not frame or frame.startswith("/"):
        problems.append(f"frame_id is '{frame}', expected a name without a leading slash")
    return problems


def _number_problems(scan: LaserScan) -> list[str]:
    names = (
        "angle_min",
        "angle_max",
        "angle_increment",
        "time_increment",
        "scan_time",
        "range_min",
        "range_max",
    )
    return [
        f"{name} is {getattr(scan, name)}, expected a finite number"
        for name in names
        if not math.isfinite(getattr(scan, name))
    ]


def _angle_problems(scan: LaserScan, count: int) -> list[str]:
    low, high, step = (
        float(np.float32(value)) for value in (scan.angle_min, scan.angle_max, scan.angle_increment)
    )
    if not all(map(math.isfinite, (low, high, step))):
        return []
    if step <= 0.0:
        return [f"angle_increment is {step:.6g}, expected more than 0: beams run counter-clockwise"]
    problems = []
    expected = round((high - low) / step) + 1
    if expected != count:
        problems.append(
            f"there are {count} readings, but angle_min, angle_max and angle_increment make "
            f"{expected}: angle_max is {high:.7g}, expected {low + (count - 1) * step:.7g}; "
            "slam_toolbox refuses such scans"
        )
    if (count - 1) * step > 2.0 * math.pi + 0.5 * step:
        problems.append(
            f"{count} readings {step:.6g} rad apart span more than a turn: {(count - 1) * step:.6g}"
        )
    return problems


def _time_problems(scan: LaserScan, count: int) -> list[str]:
    problems = []
    stamp = scan.header.stamp
    if not math.isfinite(stamp) or stamp < 0.0:
        problems.append(f"the stamp is {stamp}, expected 0 or more")
    if scan.scan_time < 0.0:
        problems.append(f"scan_time is {scan.scan_time:.6g}, expected 0 or more")
    spent = abs(scan.time_increment) * (count - 1)
    if math.isfinite(spent) and 0.0 <= scan.scan_time < spent * (1.0 - 1e-4):
        problems.append(
            f"{count} readings {scan.time_increment:.6g} s apart take {spent:.6g} s, longer than "
            f"scan_time, which is {scan.scan_time:.6g}"
        )
    return problems


def _range_problems(
    scan: LaserScan, ranges: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> list[str]:
    low, high = np.float32(scan.range_min), np.float32(scan.range_max)
    problems = []
    if not 0.0 <= low < high:
        problems.append(
            f"range_min is {low:.6g} and range_max {high:.6g}, expected 0 <= range_min < range_max"
        )
    finite = np.isfinite(ranges)
    for name, wrong in (
        ("negative; nothing in range is +inf, too close -inf", finite & (ranges < 0.0)),
        ("below range_min; too close is -inf", finite & (ranges >= 0.0) & (ranges < low)),
        ("above range_max; nothing in range is +inf", finite & (ranges > high)),
    ):
        places = np.flatnonzero(wrong)
        if places.size:
            problems.append(
                f"{places.size} readings are {name}: the first is {ranges[places[0]]:.6g} at "
                f"index {places[0]}"
            )
    return problems
