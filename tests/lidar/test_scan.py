"""Scans that are right: every way in which lidar output goes wrong, and random scenes."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    VALID,
    AuxType,
    CoordsType,
    FrameAtTime,
    FrameOfReference,
    GenericModelOutput,
    LidarProfile,
    check_scan,
    scan_from_gmo,
)
from tests.lidar.scenes import frame, turning

INF = math.inf


def hits(scan: Any) -> dict[float, float]:
    """Return the finite readings by their bearings in degrees."""
    bearings = np.degrees(scan.angle_min + np.arange(scan.ranges.size) * scan.angle_increment)
    finite = np.isfinite(scan.ranges)
    return {
        round(float(bearing), 6): round(float(value), 6)
        for bearing, value in zip(bearings[finite], scan.ranges[finite], strict=True)
    }


def slam_toolbox_expects(scan: Any) -> int:
    """Return how many readings slam_toolbox expects, by the rule of its laser and of Karto."""
    low, high, step = (
        np.float32(value) for value in (scan.angle_min, scan.angle_max, scan.angle_increment)
    )
    span = float(high) - float(low)
    readings = round(span / float(step))
    full = abs(span - 2.0 * math.pi) < float(step) - 1e-6
    if span > math.radians(350.0) and readings + 1 == scan.ranges.size:
        full = False
    return readings + (0 if full else 1)


def test_a_beam_without_return_is_infinite() -> None:
    scan = scan_from_gmo(frame([0.0], 5.0), turning(360))
    assert np.isfinite(scan.ranges).sum() == 1
    assert np.isposinf(scan.ranges).sum() == 359
    assert (scan.ranges <= 0.3).sum() == 0
    assert hits(scan) == {0.0: 5.0}


@pytest.mark.parametrize("count", [4, 359, 360, 361, 720, 900, 1081, 3600])
def test_slam_toolbox_expects_as_many_readings_as_there_are(count: int) -> None:
    scan = scan_from_gmo(frame([0.0], 5.0), turning(count))
    assert scan.ranges.size == slam_toolbox_expects(scan) == count
    assert check_scan(scan) == []
    exact = scan_from_gmo(frame([0.0], 5.0), turning(count), producer="graph")
    assert any("slam_toolbox" in problem for problem in check_scan(exact))


@pytest.mark.parametrize(
    ("scan_rate", "firing_rate", "count"),
    [
        (10, 5000, 500),
        (10, 1250, 125),
        (5, 2500, 500),
        (20, 10000, 500),
        (30, 15000, 500),
        (50, 6250, 125),
        (7, 7000, 1000),
    ],
)
def test_the_number_of_beams_is_counted_in_integers(
    scan_rate: int, firing_rate: int, count: int
) -> None:
    profile = LidarProfile.from_omni_lidar(
        {
            "omni:sensor:Core:scanType": "ROTARY",
            "omni:sensor:Core:scanRateBaseHz": scan_rate,
            "omni:sensor:Core:patternFiringRateHz": firing_rate,
            "omni:sensor:Core:nearRangeM": 0.1,
            "omni:sensor:Core:farRangeM": 20.0,
        }
    )
    scan = scan_from_gmo(frame([0.0], 5.0), profile)
    assert scan.ranges.size == profile.beam_count == count
    assert scan.angle_increment == 2.0 * math.pi / count
    exact = scan_from_gmo(frame([0.0], 5.0), profile, producer="graph")
    assert exact.ranges.size == count - 1, "Isaac Sim loses one"


def test_the_number_of_beams_does_not_depend_on_what_came_back() -> None:
    profile = turning(456)
    rng = np.random.default_rng(0)
    scans = [
        scan_from_gmo(frame(rng.uniform(-180, 180, returns), 3.0), profile)
        for returns in (451, 456, 449)
    ]
    shapes = {(scan.ranges.size, scan.angle_min, scan.angle_increment) for scan in scans}
    assert shapes == {(456, -math.pi, 2.0 * math.pi / 456)}


def test_emitters_at_both_ends_of_a_window_have_a_beam_each() -> None:
    azimuths = np.linspace(-135.0, 135.0, 541)
    profile = LidarProfile.from_omni_lidar(
        {
            "omni:sensor:Core:scanType": "SOLID_STATE",
            "omni:sensor:Core:scanRateBaseHz": 10,
            "omni:sensor:Core:emitterState:s001:azimuthDeg": azimuths.tolist(),
            "omni:sensor:Core:emitterState:s001:elevationDeg": [0.0] * 541,
        }
    )
    assert math.degrees(profile.angle_increment) == pytest.approx(0.5, abs=1e-12)
    scan = scan_from_gmo(frame(azimuths[540:], 10.0), profile)
    assert np.flatnonzero(np.isfinite(scan.ranges)).tolist() == [540]
    assert list(hits(scan)) == [135.0]
    assert scan.time_increment == 0.0


def half_turn(count: int = 181) -> LidarProfile:
    return LidarProfile.fan("fan", count, -math.pi / 2, math.pi / 2, range_min=0.1, range_max=20.0)


def test_what_lies_outside_the_window_is_dropped() -> None:
    for azimuth in (-90.51, 90.51, 180.0, -180.0, 135.0):
        assert hits(scan_from_gmo(frame([azimuth], 2.0), half_turn())) == {}
    narrow = scan_from_gmo(frame([-90.01], 2.0), half_turn(18001))
    assert narrow.ranges[-1] == INF
    assert hits(scan_from_gmo(frame([-90.01], 2.0), half_turn())) == {-90.0: 2.0}
    assert hits(scan_from_gmo(frame([90.01], 2.0), half_turn())) == {90.0: 2.0}


def test_the_end_of_the_window_is_counted_once() -> None:
    gmo = frame([0.0, -2.0], -0.001, [2.0, 0.0], coords=CoordsType.CARTESIAN)
    assert hits(scan_from_gmo(gmo, half_turn())) == {90.0: 2.0}


def test_a_full_circle_wraps() -> None:
    scan = scan_from_gmo(frame([180.0, 179.6, -179.6, 539.0], [1, 2, 3, 4]), turning(360))
    assert hits(scan) == {-180.0: 1.0, 179.0: 4.0}


def test_windows_may_reach_beyond_half_a_turn() -> None:
    profile = LidarProfile.load("TIM781")
    scan = scan_from_gmo(frame([45.0, 135.0, 180.0, -180.0, 90.0], [1, 2, 4, 3, 5]), profile)
    assert hits(scan) == {45.0: 1.0, -225.0: 2.0, -180.0: 3.0}


@pytest.mark.parametrize("order", [[2.0, 5.0], [5.0, 2.0]])
def test_the_nearest_return_of_a_beam_counts(order: list[float]) -> None:
    assert hits(scan_from_gmo(frame([10.0, 10.2], order), turning(360))) == {10.0: 2.0}


@pytest.mark.parametrize(
    ("strategy", "value", "intensity"),
    [
        ("nearest", 2.0, 0.25),
        ("first", 5.0, 0.5),
        ("last", 4.0, 0.125),
        ("mean", 4.0, 0.40625),
        ("strongest", 5.0, 0.75),
    ],
)
@pytest.mark.parametrize("lead", [0, 40_000])
def test_the_return_of_a_beam_is_chosen(
    strategy: Any, value: float, intensity: float, lead: int
) -> None:
    gmo = frame(
        [10.0, 10.2, *[50.0] * lead, 9.8, 10.1],
        [5.0, 2.0, *[7.0] * lead, 5.0, 4.0],
        scalar=[0.5, 0.25, *[1.0] * lead, 0.75, 0.125],
    )
    scan = scan_from_gmo(gmo, turning(360), strategy=strategy)
    assert (scan.ranges[190], scan.intensities[190]) == (value, intensity)
    assert scan.intensities[0] == 0.0


def test_an_unknown_strategy_or_producer_is_refused_by_name() -> None:
    with pytest.raises(ScanError, match="strategy is 'best', expected one of nearest, first"):
        scan_from_gmo(frame([0.0], 1.0), turning(4), strategy="best")
    with pytest.raises(ScanError, match="producer is 'ros'"):
        scan_from_gmo(frame([0.0], 1.0), turning(4), producer="ros")


def test_only_valid_elements_count() -> None:
    gmo = frame([0.0, 0.0, 90.0], [0.0, 4.0, 0.0], flags=[0, VALID, 0x3F])
    scan = scan_from_gmo(gmo, turning(360))
    assert hits(scan) == {0.0: 4.0}
    assert scan.ranges[270] == INF


def test_a_range_lies_in_the_plane() -> None:
    gmo = frame([0.0], 10.0, [30.0])
    assert hits(scan_from_gmo(gmo, turning(360), height=(-9.0, 9.0))) == {0.0: 8.660254}
    assert hits(scan_from_gmo(gmo, turning(360), height=(-0.1, 0.1))) == {}
    gmo = frame([3.0], 5.0, [4.0], coords=CoordsType.CARTESIAN)
    scan = scan_from_gmo(gmo, turning(360), height=(-9.0, 9.0))
    assert list(hits(scan).values()) == [5.0]


def test_cartesian_returns_have_their_bearings() -> None:
    gmo = frame([0.0, 5.0], 0.0, [5.0, 0.0], coords=CoordsType.CARTESIAN)
    assert hits(scan_from_gmo(gmo, turning(360))) == {90.0: 5.0, 0.0: 5.0}


def test_a_return_on_the_left_is_at_90_degrees_whichever_way_the_sensor_turns() -> None:
    for clockwise in (False, True):
        profile = turning(360, clockwise=clockwise)
        assert hits(scan_from_gmo(frame([90.0], 3.0), profile)) == {90.0: 3.0}
        scan = scan_from_gmo(frame([90.0], 3.0), profile)
        assert scan.angle_increment > 0.0
        assert (scan.time_increment < 0.0) == clockwise


def revolution(count: int, clockwise: bool, stamp: int, **fields: Any) -> GenericModelOutput:
    """Return one turn of ten a second, measured beam after beam."""
    azimuths = -180.0 + 360.0 / count * np.arange(count)
    offsets = np.arange(count) * (100_000_000 // count)
    if clockwise:
        azimuths = azimuths[::-1]
    return frame(azimuths, 5.0, offsets=offsets, stamp=stamp, **fields)


def test_the_stamp_is_that_of_the_first_ray() -> None:
    profile = turning(500)
    scan = scan_from_gmo(revolution(500, False, 900_000_000), profile)
    assert scan.header.stamp == pytest.approx(0.9, abs=1e-9)
    assert scan.time_increment == pytest.approx(2e-4, rel=1e-12)
    assert scan.scan_time == pytest.approx(0.1)
    # Where only the end of the turn has a time, the frame says when it began.
    flash = frame([0.0], 5.0, stamp=1_000_000_000, frameStart=FrameAtTime(900_000_000))
    assert scan_from_gmo(flash, profile).header.stamp == pytest.approx(0.9)
    assert scan_from_gmo(frame([0.0], 5.0, stamp=0), profile).header.stamp == 0.0
    assert scan_from_gmo(frame([0.0], 5.0), profile, stamp=7.5).header.stamp == 7.5


def test_each_ray_has_its_time_whichever_way_the_sensor_turns() -> None:
    for clockwise in (False, True):
        gmo = revolution(500, clockwise, 900_000_000)
        scan = scan_from_gmo(gmo, turning(500, clockwise=clockwise))
        measured = scan.header.stamp + np.arange(500) * scan.time_increment
        beams = np.rint((gmo.x + 180.0) / 0.72).astype(int)
        times = 1e-9 * (gmo.timestampNs + gmo.timeOffsetNs)
        assert np.allclose(measured[beams], times, atol=1e-6)


def test_the_stamp_does_not_wait_for_the_first_return() -> None:
    gmo = revolution(500, False, 900_000_000)
    late = frame(gmo.x[100:], 5.0, offsets=gmo.timeOffsetNs[100:], stamp=900_000_000)
    assert scan_from_gmo(late, turning(500)).header.stamp == pytest.approx(0.9, abs=1e-6)


def test_what_is_too_close_is_minus_infinite_and_what_is_too_far_is_infinite() -> None:
    ring = frame(np.arange(-180, 180), 0.05)
    assert np.isneginf(scan_from_gmo(ring, turning(360, range_min=0.12)).ranges).all()
    scan = scan_from_gmo(frame([0.0, 0.0, 90.0], [0.05, 3.0, 20.001]), turning(360))
    assert hits(scan) == {0.0: 3.0}
    assert scan.ranges[270] == INF


def test_a_range_that_is_no_number_is_nan() -> None:
    scan = scan_from_gmo(frame([0.0, 90.0, 91.0], [math.nan, math.nan, INF]), turning(360))
    assert np.isnan(scan.ranges[180])
    assert np.isnan(scan.ranges[270])
    assert scan.ranges[271] == INF
    scan = scan_from_gmo(frame([0.0, 0.0], [math.nan, 4.0]), turning(360))
    assert scan.ranges[180] == 4.0


def test_a_bearing_that_is_no_number_is_no_beam() -> None:
    scan = scan_from_gmo(frame([math.nan, INF, 0.0], [1.0, 2.0, 3.0]), turning(360))
    assert hits(scan) == {0.0: 3.0}


def test_the_greatest_range_is_a_constant_of_the_sensor() -> None:
    scans = [scan_from_gmo(frame([0.0], farthest), turning(360)) for farthest in (3.0, 9.0)]
    assert [scan.range_max for scan in scans] == [20.0, 20.0]


def test_a_wall_at_the_greatest_range_is_no_miss() -> None:
    for greatest in (10.0, 0.7, 29.9):
        profile = turning(4, range_max=greatest)
        scan = scan_from_gmo(frame([0.0], np.float32(greatest)), profile)
        assert scan.ranges[2] == np.float32(greatest)
        assert scan.ranges[1] == INF
        assert check_scan(scan) == []


def test_the_nearer_of_two_echoes_counts() -> None:
    gmo = frame(
        [0.0, 0.0],
        [7.0, 3.0],
        auxType=AuxType.BASIC,
        echoId=np.array([1, 0], dtype=np.uint8),
    )
    assert hits(scan_from_gmo(gmo, turning(360))) == {0.0: 3.0}


def test_a_circular_room_reads_the_same_with_and_without_the_doubled_beam() -> None:
    azimuths = np.arange(-180.0, 180.0, 0.25)
    room = frame(azimuths, 4.0)
    open_end = scan_from_gmo(room, turning(360))
    both_ends = scan_from_gmo(
        room, LidarProfile.fan("irsim", 361, -math.pi, math.pi, range_min=0.1, range_max=20.0)
    )
    assert both_ends.ranges[0] == both_ends.ranges[-1] == np.float32(4.0)
    assert np.abs(both_ends.ranges[:-1] - open_end.ranges).max() < 1e-6
    assert check_scan(both_ends) == []


SIXTEEN = tuple(math.radians(angle) for angle in range(-15, 16, 2))


def test_a_lidar_with_rings_needs_a_choice() -> None:
    profile = turning(360, rings=SIXTEEN)
    with pytest.raises(ScanError, match=r"16 rings.*-15, -13, .* 13, 15 degrees"):
        scan_from_gmo(frame([0.0], 5.0), profile)
    with pytest.raises(ScanError, match="ring is 16, but 'turning' has the rings 0 to 15"):
        scan_from_gmo(frame([0.0], 5.0), profile, ring=16)
    with pytest.raises(ScanError, match="both height and ring"):
        scan_from_gmo(frame([0.0], 5.0), profile, ring=1, height=(0.0, 1.0))
    with pytest.raises(ScanError, match="expected least and greatest height"):
        scan_from_gmo(frame([0.0], 5.0), profile, height=(1.0, 0.0))
    with pytest.raises(ScanError, match=r"2 returns lie at elevations of -15 to 15 degrees"):
        scan_from_gmo(frame([0.0, 1.0, 2.0], 5.0, [-15.0, 15.0, 0.1]), turning(360))


def test_a_ring_or_a_band_is_chosen() -> None:
    profile = turning(360, rings=SIXTEEN)
    elevations = np.degrees(SIXTEEN)
    gmo = frame(np.arange(16.0), 10.0, elevations)
    for ring in (0, 7, 15):
        scan = scan_from_gmo(gmo, profile, ring=ring)
        assert hits(scan) == {float(ring): pytest.approx(10 * math.cos(SIXTEEN[ring]), abs=1e-5)}
    heights = 10.0 * np.sin(SIXTEEN)
    inside = [beam for beam in range(16) if -0.6 <= heights[beam] <= 1.0]
    assert list(hits(scan_from_gmo(gmo, profile, height=(-0.6, 1.0)))) == inside
    points = frame(10.0 * np.cos(SIXTEEN), heights, np.zeros(16), coords=CoordsType.CARTESIAN)
    scan = scan_from_gmo(points, profile, ring=15)
    assert hits(scan) == {0.0: pytest.approx(10 * math.cos(SIXTEEN[15]), abs=1e-5)}


def test_points_a_little_below_the_plane_are_kept() -> None:
    gmo = frame([2.0], -0.001, [0.0], coords=CoordsType.CARTESIAN)
    assert hits(scan_from_gmo(gmo, turning(360))) == {0.0: 2.0}


def test_a_sensor_upside_down_is_turned_over() -> None:
    profile = turning(360, clockwise=True)
    scan = scan_from_gmo(frame([90.0, 0.0], [3.0, 5.0]), profile, tilt=(math.pi, 0.0))
    assert hits(scan) == {-90.0: 3.0, 0.0: 5.0}
    assert scan.time_increment > 0.0, "seen from above it turns the other way"
    lopsided = LidarProfile.fan("fan", 91, 0.0, math.pi / 2, range_min=0.1, range_max=20.0)
    scan = scan_from_gmo(frame([90.0, 0.0], [3.0, 5.0]), lopsided, tilt=(math.pi, 0.0))
    assert hits(scan) == {-90.0: 3.0, 0.0: 5.0}
    assert scan.angle_min == pytest.approx(-math.pi / 2)
    assert scan.ranges.size == 91


def test_a_tilted_sensor_is_levelled() -> None:
    pitch = math.radians(30.0)
    scan = scan_from_gmo(
        frame([0.0, 90.0], [10.0, 4.0]), turning(360), tilt=(0.0, pitch), height=(-9.0, 9.0)
    )
    assert hits(scan) == {0.0: pytest.approx(8.660254, abs=1e-5), 90.0: 4.0}
    # Nose down by 30 degrees, the forward ray ends 5 m below the sensor.
    low = scan_from_gmo(
        frame([0.0, 90.0], [10.0, 4.0]), turning(360), tilt=(0.0, pitch), height=(-5.1, -4.9)
    )
    assert list(hits(low)) == [0.0]


def test_the_frame_tells_how_the_sensor_is_held() -> None:
    half = math.radians(30.0) / 2.0
    yaw = math.radians(75.0) / 2.0
    # Yaw after pitch: the heading of the sensor is not part of its tilt.
    orientation = np.array(
        [
            -math.sin(yaw) * math.sin(half),
            math.cos(yaw) * math.sin(half),
            math.sin(yaw) * math.cos(half),
            math.cos(yaw) * math.cos(half),
        ],
        dtype=np.float32,
    )
    gmo = frame([0.0, 90.0], [10.0, 4.0], frameStart=FrameAtTime(1, orientation))
    scan = scan_from_gmo(gmo, turning(360), tilt="frame")
    assert hits(scan) == {0.0: pytest.approx(8.660254, abs=1e-5), 90.0: pytest.approx(4.0)}
    with pytest.raises(ScanError, match="has no orientation"):
        scan_from_gmo(
            frame([0.0], 1.0, frameStart=FrameAtTime(1, np.zeros(4, np.float32))),
            turning(360),
            tilt="frame",
        )


def test_points_about_the_world_are_carried_to_the_sensor() -> None:
    quarter = np.array([0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)], dtype=np.float32)
    pose = FrameAtTime(1, quarter, np.array([1.0, 2.0, 0.5], dtype=np.float32))
    gmo = frame(
        [1.0],
        0.5,
        [5.0],
        coords=CoordsType.CARTESIAN,
        frameOfReference=FrameOfReference.WORLD,
        frameStart=pose,
    )
    assert hits(scan_from_gmo(gmo, turning(360))) == {0.0: pytest.approx(3.0, abs=1e-5)}
    gmo.frameOfReference = FrameOfReference.CUSTOM
    with pytest.raises(ScanError, match="frameOfReference is CUSTOM"):
        scan_from_gmo(gmo, turning(360))
    gmo.frameOfReference = FrameOfReference.WORLD
    gmo.elementsCoordsType = CoordsType.SPHERICAL
    with pytest.raises(ScanError, match="WORLD with spherical"):
        scan_from_gmo(gmo, turning(360))
    gmo.elementsCoordsType = CoordsType.NOT_APPLICABLE
    with pytest.raises(ScanError, match="NOT_APPLICABLE"):
        scan_from_gmo(gmo, turning(360))


def test_the_robot_itself_is_left_out_and_blocks_what_is_behind() -> None:
    gmo = frame([0.0, 90.0, 90.0, 180.0], [0.3, 0.3, 4.0, 6.0])
    scan = scan_from_gmo(gmo, turning(360), own_body=0.35)
    assert hits(scan) == {90.0: 4.0, -180.0: 6.0}
    assert np.isnan(scan.ranges[180])
    box = [(0.4, -0.2), (0.4, 0.2), (-0.2, 0.2), (-0.2, -0.2)]
    scan = scan_from_gmo(gmo, turning(360), own_body=box)
    assert hits(scan) == {90.0: 0.3, -180.0: 6.0}
    assert np.isnan(scan.ranges[180])


def test_objects_that_are_the_robot_are_left_out() -> None:
    ids = [7, 2**100 + 7, 9]
    gmo = frame([0.0, 90.0, 180.0], [1.0, 2.0, 3.0])
    gmo.auxType = AuxType.FULL
    gmo.objId = np.array(
        [list(identifier.to_bytes(16, "little")) for identifier in ids], dtype=np.uint8
    )
    scan = scan_from_gmo(gmo, turning(360), own_objects=(2**100 + 7, 9))
    assert hits(scan) == {0.0: 1.0}
    with pytest.raises(ScanError, match="holds no objId"):
        scan_from_gmo(frame([0.0], 1.0), turning(360), own_objects=(1,))


def test_what_gives_no_distance_is_counted_by_its_reason() -> None:
    gmo = frame(
        [0.0, 1.0, 2.0, math.nan, 120.0, 3.0, 4.0, 5.0, 6.0],
        [5.0, 0.01, 99.0, 5.0, 5.0, math.nan, 5.0, 5.0, 0.3],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40.0, 0.0, 0.0],
        flags=[VALID] * 7 + [0, VALID],
    )
    left_out: Counter[str] = Counter()
    options = {"height": (-1.0, 1.0), "own_body": [(0.5, -1), (0.5, 1), (0.2, 1), (0.2, -1)]}
    scan = scan_from_gmo(gmo, half_turn(), left_out=left_out, **options)
    assert hits(scan) == {0.0: 5.0}
    assert left_out == {
        "not valid": 1,
        "outside the height band": 1,
        "of the robot itself": 1,
        "too close": 1,
        "beyond range_max": 1,
        "without a range": 1,
        "without a bearing": 1,
        "outside the window": 1,
    }
    rings: Counter[str] = Counter()
    profile = turning(360, rings=SIXTEEN)
    scan_from_gmo(frame([0.0, 1.0], 5.0, [-15.0, 15.0]), profile, ring=0, left_out=rings)
    assert rings == {"of another ring": 1}


def test_beams_without_an_emitter_are_not_measured() -> None:
    attributes = {
        "omni:sensor:Core:scanType": "SOLID_STATE",
        "omni:sensor:Core:scanRateBaseHz": 10,
        "omni:sensor:Core:emitterState:s001:azimuthDeg": [0.0, 1.0, 4.0],
        "omni:sensor:Core:emitterState:s001:elevationDeg": [0.0] * 3,
    }
    profile = LidarProfile.from_omni_lidar(attributes)
    scan = scan_from_gmo(frame([0.0, 4.0], 5.0), profile)
    assert scan.ranges.tolist()[:2] == [5.0, INF]
    assert np.isnan(scan.ranges[2:4]).all()
    assert scan.ranges[4] == 5.0
    turned = scan_from_gmo(frame([0.0, 4.0], 5.0), profile, tilt=(math.pi, 0.0))
    assert np.isnan(turned.ranges).tolist() == [False, True, True, False, False]


def test_the_finite_form_is_that_of_irsim() -> None:
    gmo = frame([0.0, 90.0, -90.0], [5.0, 0.01, math.nan])
    scan = scan_from_gmo(gmo, turning(4), finite=True)
    assert scan.ranges.tolist() == [20.0, 20.0, 5.0, np.float32(0.1)]
    assert check_scan(scan) == []


def test_an_empty_frame_is_no_scan() -> None:
    for producer in ("rep117", "graph", "srtx"):
        with pytest.raises(ScanError, match="frame 0 at 1000000000 ns is empty"):
            scan_from_gmo(frame([], []), turning(4), producer=producer)


def test_what_isaac_sim_publishes_is_wrong_for_the_known_reasons() -> None:
    scan = scan_from_gmo(frame([0.0, 90.0], [5.0, 99.0]), turning(360), producer="graph")
    problems = check_scan(scan)
    assert len(problems) == 3
    assert (
        "there are 360 readings, but angle_min, angle_max and angle_increment make 361"
        in (problems[0])
    )
    assert "358 readings are negative" in problems[1]
    assert "1 readings are above range_max" in problems[2]
    srtx = scan_from_gmo(frame([0.0], 5.0), turning(360), producer="srtx")
    assert any("time_increment is inf" in problem for problem in check_scan(srtx))


def points(scan: Any) -> npt.NDArray[np.float64]:
    bearings = scan.angle_min + np.arange(scan.ranges.size) * scan.angle_increment
    finite = np.isfinite(scan.ranges)
    return np.stack([bearings[finite], scan.ranges[finite].astype(np.float64)], axis=1)


PROFILES = [
    turning(360),
    turning(359, clockwise=True),
    turning(3200),
    half_turn(),
    LidarProfile.load("TIM781"),
    LidarProfile.load("picoScan150"),
    LidarProfile.load("microScan3"),
    LidarProfile.fan("irsim", 361, -math.pi, math.pi, range_max=20.0),
    LidarProfile.fan("narrow", 7, 0.1, 0.9, range_max=20.0),
]


@given(
    st.sampled_from(PROFILES),
    st.integers(0, 2**32 - 1),
    st.integers(1, 2000),
    st.sampled_from(["nearest", "first", "last", "strongest"]),
    st.sampled_from(["spherical", "cartesian", "elevated", "tilted"]),
)
@settings(max_examples=120)
def test_every_reading_is_a_return_within_half_an_increment(
    profile: LidarProfile, seed: int, count: int, strategy: Any, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    azimuths = rng.uniform(-180.0, 180.0, count).astype(np.float32)
    ranges = rng.uniform(0.0, 25.0, count).astype(np.float32)
    valid = rng.random(count) < 0.8
    flags = np.where(valid, VALID, 0)
    elevations = np.zeros(count, dtype=np.float32)
    tilt, height = (0.0, 0.0), None
    if kind in ("elevated", "tilted"):
        elevations = rng.uniform(-60.0, 60.0, count).astype(np.float32)
        height = (-5.0, 3.0)
    if kind == "tilted":
        tilt = (rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5))
    a, e = np.radians(azimuths.astype(np.float64)), np.radians(elevations.astype(np.float64))
    x, y, z = ranges * np.cos(e) * np.cos(a), ranges * np.cos(e) * np.sin(a), ranges * np.sin(e)
    gmo = frame(azimuths, ranges, elevations, scalar=rng.random(count), flags=flags)
    if kind == "cartesian":
        gmo = frame(x, z, y, scalar=rng.random(count), flags=flags, coords=CoordsType.CARTESIAN)
    cr, sr, cp, sp = math.cos(tilt[0]), math.sin(tilt[0]), math.cos(tilt[1]), math.sin(tilt[1])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    x, y, z = pitch @ roll @ np.stack([x, y, z])
    within = valid if height is None else valid & (z > height[0]) & (z < height[1])
    true_bearings, true_ranges = np.arctan2(y, x)[within], np.hypot(x, y)[within]

    scan = scan_from_gmo(gmo, profile, strategy=strategy, tilt=tilt, height=height)
    assert check_scan(scan) == []
    assert scan.ranges.size == profile.beam_count
    for bearing, value in points(scan):
        turned = np.remainder(true_bearings - bearing + math.pi, 2.0 * math.pi) - math.pi
        near = np.abs(turned) <= 0.5 * profile.angle_increment + 2e-6
        assert near.any()
        assert np.abs(true_ranges[near] - value).min() <= 1e-5 * max(1.0, value)
        if strategy == "nearest":
            seen = true_ranges[np.abs(turned) <= 0.5 * profile.angle_increment - 2e-6]
            seen = seen[seen >= profile.range_min + 1e-5]
            assert not seen.size or value <= seen.min() + 1e-5


@pytest.mark.parametrize("name", ["TIM781", "picoScan150", "microScan3"])
def test_every_emitter_of_a_solid_state_lidar_has_its_own_beam(name: str) -> None:
    profile = LidarProfile.load(name)
    azimuths = np.degrees(profile.bearings)
    azimuths = np.where(azimuths < -180.0, azimuths + 360.0, azimuths)
    distances = np.linspace(1.0, 20.0, azimuths.size, dtype=np.float32)
    scan = scan_from_gmo(frame(azimuths, distances), profile)
    assert np.array_equal(scan.ranges, distances)


@given(st.data())
@settings(max_examples=150)
def test_any_frame_gives_a_right_scan_or_a_scan_error(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 20))
    floats = st.floats(width=32)

    def column(entries: Any) -> list[Any]:
        return data.draw(st.lists(entries, min_size=count, max_size=count))

    gmo = frame(
        column(floats),
        column(floats),
        column(st.one_of(st.just(0.0), floats)),
        scalar=column(floats),
        flags=column(st.integers(0, 255)),
        offsets=column(st.integers(-(2**31), 2**31 - 1)),
        stamp=data.draw(st.integers(2**32, 2**62)),
        coords=data.draw(st.sampled_from(CoordsType)),
        frameOfReference=data.draw(st.sampled_from(FrameOfReference)),
    )
    try:
        scan = scan_from_gmo(
            gmo,
            data.draw(st.sampled_from(PROFILES)),
            strategy=data.draw(st.sampled_from(["nearest", "first", "last", "mean", "strongest"])),
            height=data.draw(st.sampled_from([None, (-1.0, 1.0)])),
            tilt=data.draw(st.sampled_from([(0.0, 0.0), (3.0, 0.2), "frame"])),
            own_body=data.draw(st.sampled_from([None, 0.3])),
        )
    except ScanError:
        return
    assert check_scan(scan) == []


@pytest.mark.parametrize("name", ["y", "z", "scalar", "flags"])
def test_arrays_of_other_lengths_are_refused(name: str) -> None:
    """Name the array that has not one entry an element."""
    gmo = frame(np.arange(4.0), np.full(4, 3.0))
    setattr(gmo, name, getattr(gmo, name)[:1])
    with pytest.raises(ScanError, match=f"{name} has 1 entries, expected 4"):
        scan_from_gmo(gmo, turning(360))
