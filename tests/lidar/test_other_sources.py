"""Other lidar outputs: three ways to say "miss", two units, one kind of scan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import warp as wp

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    LidarProfile,
    check_scan,
    gmo_from_scan_buffer,
    scan_from_flat_scan,
    scan_from_gmo,
    scan_from_raycast,
    scan_from_rotating_lidar,
)
from tests.lidar.scenes import turning

INF = math.inf


def flat_scan(**changes: Any) -> dict[str, Any]:
    return {
        "azimuthRange": np.array([-180.0, 89.0], dtype=np.float32),
        "depthRange": np.array([0.1, 30.0], dtype=np.float32),
        "horizontalFov": 360.0,
        "horizontalResolution": 90.0,
        "rotationRate": 20.0,
        "linearDepthData": np.array([2.0, -1.0, 0.05, 30.0], dtype=np.float32),
        "intensitiesData": np.array([10, 0, 20, 255], dtype=np.uint8),
        "numRows": 1,
        "numCols": 4,
    } | changes


def test_a_flat_scan() -> None:
    scan = scan_from_flat_scan(flat_scan(), stamp=2.5, frame_id="front")
    assert scan.ranges.tolist() == [2.0, INF, -INF, 30.0]
    assert scan.intensities.tolist() == [10.0, 0.0, 0.0, 255.0]
    assert (scan.header.stamp, scan.header.frame_id) == (2.5, "front")
    assert (scan.angle_min, scan.angle_increment) == (-math.pi, math.pi / 2)
    assert scan.scan_time == pytest.approx(0.05)
    assert check_scan(scan) == []
    # Releases differ in the end of the range, which is not read.
    assert (
        scan_from_flat_scan(flat_scan(azimuthRange=[-180.0, -1.0]), stamp=2.5, frame_id="front")
        == scan
    )
    renamed = {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in key): value
        for key, value in flat_scan().items()
    }
    assert scan_from_flat_scan(renamed, stamp=2.5, frame_id="front") == scan
    bare = scan_from_flat_scan(flat_scan(intensitiesData=None), stamp=0.0, finite=True)
    assert bare.ranges.tolist() == [2.0, 30.0, np.float32(0.1), 30.0]
    assert bare.intensities.size == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numRows": 2}, "numRows is 2, expected 1"),
        ({"linearDepthData": None}, "'linearDepthData' is missing"),
        ({"linearDepthData": []}, "linearDepthData is empty"),
        ({"rotationRate": "fast"}, "'rotationRate' is .* expected a number"),
        ({"depthRange": [1.0]}, "'depthRange' has 1 numbers, expected 2"),
        ({"depthRange": [3.0, 2.0]}, "expected 0 <= range_min < range_max"),
    ],
)
def test_a_flat_scan_that_is_none_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScanError, match=message):
        scan_from_flat_scan(flat_scan(**changes), stamp=0.0)


def test_a_scan_buffer_of_points() -> None:
    points = np.array([[3, 0, 0], [0, 0, 0], [0, 4, 0]], dtype=np.float32)
    data = {
        "data": wp.array(points, dtype=wp.float32, device="cpu"),
        "intensity": np.array([0.5, 0.0, 0.25], dtype=np.float32),
        "timestamp": np.array([1_000_000_000, 1_000_001_000, 1_000_002_000], dtype=np.uint64),
        "objectId": np.array([[7, 0, 0, 0], [0, 0, 0, 0], [9, 0, 0, 1]], dtype=np.uint32),
    }
    gmo = gmo_from_scan_buffer(data, frame_id=4)
    assert gmo.flags.tolist() == [0x40, 0, 0x40]
    assert (gmo.timestampNs, gmo.frameId) == (1_000_000_000, 4)
    assert gmo.timeOffsetNs.tolist() == [0, 1000, 2000]
    scan = scan_from_gmo(gmo, turning(4))
    assert scan.ranges.tolist() == [INF, INF, 3.0, 4.0]
    assert scan.intensities.tolist() == [0.0, 0.0, 0.5, 0.25]
    without = scan_from_gmo(gmo, turning(4), own_objects=(9 + (1 << 96),))
    assert np.isnan(without.ranges[3])
    assert gmo.to_bytes()


def test_a_scan_buffer_of_azimuths() -> None:
    data = {
        "data": np.ones((3, 3), dtype=np.float32),
        "azimuth": np.array([0.0, 90.0, -90.0], dtype=np.float32),
        "elevation": np.zeros(3, dtype=np.float32),
        "distance": np.array([3.0, 4.0, 0.0], dtype=np.float32),
    }
    scan = scan_from_gmo(gmo_from_scan_buffer(data), turning(4))
    assert scan.ranges.tolist() == [INF, INF, 3.0, 4.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "'data' is missing; there are none"),
        ({"data": np.zeros(4)}, r"data has the shape \(4,\)"),
        ({"data": np.ones((2, 3)), "intensity": np.ones(3)}, "intensity has 3 entries, expected 2"),
        ({"data": np.ones((2, 3)), "objectId": np.ones((1, 4))}, "objectId has 1 entries"),
    ],
)
def test_a_scan_buffer_that_is_none_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ScanError, match=message):
        gmo_from_scan_buffer(data)


def test_rays_in_units_of_the_stage() -> None:
    profile = turning(4, range_max=10.0)
    reading = {
        "depths": np.array([300.0, 1000.0, 1000.0, 5.0], dtype=np.float32),
        "hit_normals": np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=np.float32),
        "time": 0.25,
    }
    scan = scan_from_raycast(reading, profile, meters_per_unit=0.01)
    assert scan.ranges.tolist() == [3.0, INF, 10.0, -INF]
    assert (scan.header.stamp, scan.time_increment) == (0.25, 0.0)
    assert check_scan(scan) == []
    positions = {
        "depths": reading["depths"],
        "hit_positions": np.array([[1, 0, 0], [0, 0, 0], [0, 9, 0], [0, 1, 0]], dtype=np.float32),
    }
    assert scan_from_raycast(positions, profile, meters_per_unit=0.01).ranges.tolist() == [
        3.0, INF, 10.0, -INF,
    ]  # fmt: skip
    bare = {"depths": reading["depths"]}
    assert scan_from_raycast(bare, profile, meters_per_unit=0.01).ranges.tolist() == [
        3.0, INF, INF, -INF,
    ]  # fmt: skip


def test_rays_in_directions_of_their_own() -> None:
    profile = turning(4, range_max=10.0)
    directions = [[0.0, 2.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    reading = {"depths": np.array([4.0, math.sqrt(8.0), 1.0])}
    scan = scan_from_raycast(reading, profile, meters_per_unit=1.0, directions=directions)
    assert scan.ranges[2:].tolist() == [1.0, 4.0]
    assert np.isnan(scan.ranges[:2]).all(), "no ray looks there"
    forward = scan_from_raycast(
        {"depths": reading["depths"][1:2]}, profile, meters_per_unit=1.0, directions=directions[1:2]
    )
    assert forward.ranges[2] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("reading", "directions", "message"),
    [
        ({"depths": []}, None, "the reading is invalid"),
        ({}, None, "'depths' is missing"),
        ({"depths": [1.0]}, None, "1 depths for the 4 beams of 'turning'"),
        ({"depths": [1.0]}, [[1.0, 0.0]], r"directions has the shape \(1, 2\), expected \(1, 3\)"),
    ],
)
def test_rays_that_are_none_are_refused(reading: Any, directions: Any, message: str) -> None:
    with pytest.raises(ScanError, match=message):
        scan_from_raycast(reading, turning(4), meters_per_unit=1.0, directions=directions)


def test_a_rotating_lidar() -> None:
    profile = LidarProfile.fan("physx", 3, -math.pi / 2, math.pi / 2, range_min=0.4, range_max=8.0)
    frame = {
        "linear_depth": np.array([[1.0, 2.0], [8.0, 8.0]], dtype=np.float32),
        "intensity": np.array([[255.0, 255.0], [0.0, 0.0]], dtype=np.float32),
        "azimuth": np.array([-math.pi / 2, 0.0], dtype=np.float32),
        "zenith": np.array([0.3, -0.1], dtype=np.float32),
        "time": 1.5,
    }
    scan = scan_from_rotating_lidar(frame, profile)
    assert scan.ranges[0] == pytest.approx(2.0 * math.cos(0.1))
    assert scan.ranges[1] == INF
    assert np.isnan(scan.ranges[2]), "that column did not tick"
    assert scan.intensities.tolist() == [255.0, 0.0, 0.0]
    assert scan.header.stamp == 1.5
    wall = frame | {"intensity": np.full((2, 2), 255.0)}
    assert scan_from_rotating_lidar(wall, profile).ranges[1] == pytest.approx(8 * math.cos(0.1))
    bare = {key: frame[key] for key in ("linear_depth", "azimuth", "zenith")}
    assert scan_from_rotating_lidar(bare, profile).ranges[1] == INF
    assert scan_from_rotating_lidar(bare, profile).intensities.size == 0


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"linear_depth": [1.0], "azimuth": []}, "no column has ticked"),
        ({"linear_depth": [1.0, 2.0, 3.0], "azimuth": [0.0, 1.0]}, "for 2 azimuths"),
        ({"linear_depth": [1.0, 2.0], "azimuth": [0.0], "zenith": [0.0]}, "1 zeniths for 2 rows"),
        ({"azimuth": [0.0]}, "'linear_depth' is missing; there are azimuth"),
    ],
)
def test_a_rotating_lidar_that_is_none_is_refused(frame: Any, message: str) -> None:
    with pytest.raises(ScanError, match=message):
        scan_from_rotating_lidar(frame, turning(4))
