"""Frames of a turning lidar to whole scans."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    VALID,
    CoordsType,
    FrameAtTime,
    GenericModelOutput,
    LidarProfile,
    ScanAssembler,
    check_scan,
    scan_from_gmo,
)
from irsim_isaac.msg import LaserScan
from tests.lidar.scenes import frame, turning

SECOND = 1_000_000_000


def stream(
    profile: LidarProfile,
    frames: int,
    *,
    rays: int,
    first_ray: int = 0,
    start: int = SECOND,
    drop_misses: bool = True,
    edges: bool = False,
    coords: CoordsType = CoordsType.SPHERICAL,
) -> list[GenericModelOutput]:
    """Return the frames of a sensor in a room whose walls are nearer in later turns.

    Ray k is measured ``k`` steps after the start and looks where beam k does, in the order in
    which the sensor turns; every ninth ray comes to nothing.
    """
    turn = round(2.0 * math.pi / profile.angle_increment)
    step = SECOND * profile.scan_time / turn
    made = []
    for number in range(frames):
        ray = first_ray + number * rays + np.arange(rays)
        place = ray % turn
        beam = profile.beam_count - 1 - place if profile.clockwise else place
        bearing = profile.angle_min + beam * profile.angle_increment
        azimuth = np.degrees(np.remainder(bearing + math.pi, 2.0 * math.pi) - math.pi)
        times = start + np.rint((ray - first_ray) * step).astype(np.int64)
        hit = ray % 9 != 4
        kept = hit if drop_misses else np.ones(rays, dtype=bool)
        reach = (10.0 - ray // turn)[kept]
        stamp = int(times[0])
        poses: dict[str, Any] = {}
        if edges:
            poses = {
                "frameStart": FrameAtTime(stamp),
                "frameEnd": FrameAtTime(stamp + round(rays * step)),
            }
        x, y, z = azimuth[kept], np.zeros(kept.sum()), reach
        if coords is CoordsType.CARTESIAN:
            a = np.radians(x)
            x, y, z = reach * np.cos(a), reach * np.sin(a), np.zeros(kept.sum())
        made.append(
            frame(
                x,
                z,
                y,
                flags=np.where(hit, VALID, 0)[kept],
                offsets=times[kept] - stamp,
                stamp=stamp,
                coords=coords,
                **poses,
            )
        )
    return made


def pushed(assembler: ScanAssembler, frames: list[GenericModelOutput]) -> list[LaserScan]:
    return [scan for gmo in frames for scan in assembler.push(gmo)]


@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("drop_misses", [False, True])
@pytest.mark.parametrize("rays", [60, 77, 360, 500, 1000])
@pytest.mark.parametrize("coords", [CoordsType.SPHERICAL, CoordsType.CARTESIAN])
def test_scans_are_whole_turns_however_the_frames_fall(
    clockwise: bool, drop_misses: bool, rays: int, coords: CoordsType
) -> None:
    profile = turning(360, clockwise=clockwise)
    frames = stream(profile, 3000 // rays, rays=rays, drop_misses=drop_misses, coords=coords)
    assembler = ScanAssembler(profile)
    scans = pushed(assembler, frames)
    assert len(scans) >= 3000 // rays * rays // 360 - (drop_misses or rays == 1000)
    for number, scan in enumerate(scans):
        ray = np.arange(360)
        missed = (ray + 360 * number) % 9 == 4
        expected = np.where(missed, math.inf, 10.0 - number)
        if clockwise:
            expected = expected[::-1]
        # Of Cartesian output the range is computed.
        assert np.allclose(scan.ranges, expected, rtol=1e-6 * (coords is CoordsType.CARTESIAN))
        assert scan.header.seq == number
        begins = 1.0 + 0.1 * number + (0.1 * 359 / 360 if clockwise else 0.0)
        assert scan.header.stamp == pytest.approx(begins, abs=1e-6)
        assert check_scan(scan) == []
    assert assembler.coverage == 1.0
    assert assembler.scans == len(scans)
    assert assembler.late_returns == assembler.partial_scans == 0


def test_the_scan_that_had_begun_is_dropped_or_marked() -> None:
    profile = turning(360)
    frames = stream(profile, 20, rays=60, first_ray=217)
    dropping = ScanAssembler(profile)
    scans = pushed(dropping, frames)
    assert scans[0].angle_min == profile.angle_min
    assert scans[0].header.stamp == pytest.approx(1.0 + 143 / 3600, abs=1e-6)
    assert not np.isnan(scans[0].ranges).any()
    assert dropping.coverage >= 0.999
    assert dropping.partial_scans == 1

    marking = ScanAssembler(profile, partial="mark")
    marked: list[LaserScan] = []
    for gmo in frames:
        marked += marking.push(gmo)
        if marked:
            break
    assert marking.coverage == pytest.approx(143 / 360)
    assert np.isnan(marked[0].ranges[:217]).all()
    assert not np.isnan(marked[0].ranges[217:]).any()
    assert marked[0].header.stamp == pytest.approx(1.0 - 217 / 3600, abs=1e-6)
    assert check_scan(marked[0]) == []


def test_what_is_begun_at_the_end_is_handed_out_if_partial_scans_are_marked() -> None:
    profile = turning(360)
    frames = stream(profile, 8, rays=60)
    dropping, marking = ScanAssembler(profile), ScanAssembler(profile, partial="mark")
    assert len(pushed(dropping, frames)) == len(pushed(marking, frames)) == 1
    assert dropping.flush() == []
    (rest,) = marking.flush()
    assert np.isnan(rest.ranges[120:]).all()
    assert not np.isnan(rest.ranges[:120]).any()
    assert dropping.partial_scans == marking.partial_scans == 1
    assert marking.flush() == []


def test_beams_of_a_lost_frame_are_nan() -> None:
    profile = turning(360)
    frames = stream(profile, 18, rays=60, drop_misses=False)
    del frames[8]
    assembler = ScanAssembler(profile)
    scans = pushed(assembler, frames[:12])
    assert [bool(np.isnan(scan.ranges).any()) for scan in scans] == [False, True]
    assert np.flatnonzero(np.isnan(scans[1].ranges)).tolist() == list(range(120, 180))
    assert assembler.coverage == pytest.approx(300 / 360)


def test_the_edges_of_frames_tell_beams_that_came_to_nothing_from_beams_not_fired() -> None:
    profile = turning(360)
    frames = stream(profile, 6, rays=60, edges=True)
    for gmo in frames:
        keep = slice(10, -10)
        for name in ("x", "y", "z", "scalar", "flags", "timeOffsetNs"):
            setattr(gmo, name, getattr(gmo, name)[keep])
    (scan,) = pushed(ScanAssembler(profile), frames)
    assert not np.isnan(scan.ranges).any()
    assert np.isposinf(scan.ranges[:11]).all()


def test_nothing_is_left_from_the_last_turn() -> None:
    profile = turning(36)
    full = stream(profile, 1, rays=36, drop_misses=False)[0]
    empty = stream(profile, 1, rays=36, drop_misses=False, start=2 * SECOND)[0]
    empty.flags = np.zeros(36, dtype=np.uint8)
    assembler = ScanAssembler(profile)
    first, second = pushed(assembler, [full, empty])
    assert np.isfinite(first.ranges).sum() == 32
    assert np.isposinf(second.ranges).all()
    assert (second.intensities == 0.0).all()


def test_empty_frames_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    profile = turning(360)
    empty = [frame([], [], stamp=number) for number in range(10)]
    assembler = ScanAssembler(profile)
    with caplog.at_level(logging.WARNING):
        scans = pushed(assembler, [*empty, *stream(profile, 1, rays=360), *empty])
    assert len(scans) == 1
    assert len(caplog.records) == 1
    assert "10 empty frames in a row" in caplog.text
    assert assembler.empty_frames == 20
    quiet = ScanAssembler(profile)
    pushed(quiet, empty[:9])
    assert quiet.empty_frames == 9
    assert len(caplog.records) == 1


def test_a_frame_that_comes_twice_counts_once() -> None:
    profile = turning(360)
    gmo = stream(profile, 1, rays=360)[0]
    assembler = ScanAssembler(profile)
    assert len(pushed(assembler, [gmo, gmo, gmo])) == 1
    assert assembler.duplicate_frames == 2


def test_a_frame_that_is_late_is_left_out_and_a_new_start_is_not() -> None:
    profile = turning(360)
    first, second = stream(profile, 2, rays=360)
    late = stream(profile, 1, rays=360, start=SECOND + 50_000_000)[0]
    again = stream(profile, 1, rays=360, start=10)[0]
    assembler = ScanAssembler(profile)
    scans = pushed(assembler, [first, second, late, again])
    assert assembler.late_frames == 1
    assert [round(scan.header.stamp, 6) for scan in scans] == [1.0, 1.1, 0.0]


@pytest.mark.parametrize("partial", ["drop", "mark"])
@pytest.mark.parametrize("first_ray", [0, 100])
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("window", [False, True])
def test_every_element_counts_once(partial: Any, first_ray: int, anew: bool, window: bool) -> None:
    """Find each element in a reading or under one reason, whatever happens to its scan."""
    turned = turning(360)
    profile = turned
    if window:
        profile = LidarProfile.fan(
            "window", 91, -math.pi / 4, math.pi / 4, range_max=turned.range_max
        )
    frames = stream(turned, 17, rays=77, first_ray=first_ray, drop_misses=False)
    if anew:
        frames += stream(turned, 9, rays=77, start=10, drop_misses=False)
    assembler = ScanAssembler(profile, partial=partial, own_body=[(0, 0), (20, 0), (20, 20)])
    scans = pushed(assembler, frames) + assembler.flush()
    readings = sum(int(np.isfinite(scan.ranges).sum()) for scan in scans)
    counted = sum(assembler.left_out.values()) + assembler.late_returns
    assert readings + counted == sum(gmo.numElements for gmo in frames)
    assert assembler.left_out["of the robot itself"] > 0
    if not window:
        assert (assembler.left_out["of a partial scan"] > 0) == (partial == "drop")
        assert assembler.partial_scans == 1 + anew + bool(first_ray)


def test_stamps_rise() -> None:
    profile = turning(360)
    scans = pushed(ScanAssembler(profile), stream(profile, 40, rays=77))
    stamps = np.array([scan.header.stamp for scan in scans])
    assert (np.diff(stamps) > 0.0).all()


def test_a_frame_of_one_moment_that_holds_a_turn_is_a_scan() -> None:
    profile = turning(360)
    azimuths = np.random.default_rng(0).permutation(np.arange(-180, 180))
    assembler = ScanAssembler(profile)
    scans = pushed(assembler, [frame(azimuths, 4.0), frame(azimuths, 5.0, stamp=SECOND + 10**8)])
    assert [scan.ranges.tolist() for scan in scans] == [[4.0] * 360, [5.0] * 360]
    assert [scan.header.stamp for scan in scans] == [1.0, 1.1]
    assert assembler.coverage == 1.0


def test_a_frame_of_one_moment_may_hold_a_part_of_a_turn() -> None:
    profile = turning(360)
    frames = [
        frame(np.arange(90) + 90.0 * part - 180.0, 4.0 + part, stamp=SECOND + part * 25_000_000)
        for part in range(5)
    ]
    (scan,) = pushed(ScanAssembler(profile), frames)
    assert scan.ranges.tolist() == [4.0] * 90 + [5.0] * 90 + [6.0] * 90 + [7.0] * 90


def test_each_frame_of_a_solid_state_lidar_is_a_scan() -> None:
    profile = LidarProfile.load("TIM781")
    azimuths = np.degrees(profile.bearings)
    gmo = frame(np.where(azimuths < -180, azimuths + 360, azimuths), 5.0)
    assembler = ScanAssembler(profile)
    (scan,) = assembler.push(gmo)
    assert scan == scan_from_gmo(gmo, profile)
    assert assembler.coverage == 1.0
    (single,) = assembler.push(frame([0.0], 5.0, stamp=2 * SECOND))
    assert np.isposinf(single.ranges).sum() == 810


def test_a_window_is_a_scan_of_its_own_beams() -> None:
    for clockwise in (False, True):
        profile = LidarProfile.full_turn("turn", 360, range_max=20.0, clockwise=clockwise)
        window = LidarProfile(
            name="window",
            beam_count=271,
            angle_min=math.radians(-135),
            angle_increment=profile.angle_increment,
            range_max=20.0,
            clockwise=clockwise,
        )
        frames = stream(profile, 30, rays=60, drop_misses=False)
        scans = pushed(ScanAssembler(window), frames)
        assert len(scans) >= 3
        for scan in scans:
            assert scan.ranges.size == 271
            assert not np.isnan(scan.ranges).any()
            assert check_scan(scan) == []


def test_rings_look_to_both_sides_of_their_column() -> None:
    profile = turning(360, rings=(math.radians(-2.0), 0.0, math.radians(2.0)))
    made = []
    for number in range(40):
        column = number * 30 + np.repeat(np.arange(30), 3)
        side = np.tile([-4.0, 0.0, 4.0], 30)
        azimuth = np.remainder(column + side, 360.0) - 180.0
        made.append(
            frame(
                azimuth,
                10.0 - column // 360,
                np.tile([-2.0, 0.0, 2.0], 30),
                offsets=(column - number * 30) * 277_778,
                stamp=SECOND + number * 30 * 277_778,
            )
        )
    assembler = ScanAssembler(profile, height=(-1.0, 1.0))
    scans = pushed(assembler, made)
    assert len(scans) == 3
    for scan in scans:
        assert np.isfinite(scan.ranges).all()
    assert assembler.late_returns == 0
    level = ScanAssembler(profile, ring=1)
    for number, scan in enumerate(pushed(level, made)):
        assert (scan.ranges == 10.0 - number).all()


def test_a_sensor_upside_down_is_assembled_in_the_order_of_its_rays() -> None:
    profile = turning(360, clockwise=True)
    frames = stream(profile, 20, rays=77, drop_misses=False)
    scans = pushed(ScanAssembler(profile, tilt=(math.pi, 0.0)), frames)
    assert len(scans) >= 3
    for scan in scans:
        assert scan.time_increment > 0.0
        assert not np.isnan(scan.ranges).any()


def test_options_are_checked_at_once() -> None:
    with pytest.raises(ScanError, match="partial is 'keep', expected 'drop' or 'mark'"):
        ScanAssembler(turning(4), partial="keep")
    with pytest.raises(ScanError, match="strategy is 'best'"):
        ScanAssembler(turning(4), strategy="best")
    assert (
        ScanAssembler(turning(4), finite=True)
        .push(frame([0.0, 90, 180, -90], 99.0))[0]
        .ranges.tolist()
        == [20.0] * 4
    )


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.integers(0, 359), st.booleans())
@settings(max_examples=40)
def test_no_cut_of_the_stream_changes_the_scans(
    cuts: list[int], first_ray: int, clockwise: bool
) -> None:
    profile = turning(360, clockwise=clockwise)
    whole = stream(profile, 1, rays=sum(cuts), first_ray=first_ray, drop_misses=False)[0]
    assembler = ScanAssembler(profile)
    scans: list[LaserScan] = []
    start = 0
    for cut in cuts:
        part = slice(start, start + cut)
        start += cut
        base = int(whole.timeOffsetNs[part][0])
        scans += assembler.push(
            frame(
                whole.x[part],
                whole.z[part],
                flags=whole.flags[part],
                offsets=whole.timeOffsetNs[part] - base,
                stamp=whole.timestampNs + base,
            )
        )
    partial_turn = first_ray != 0
    expected = (first_ray + sum(cuts)) // 360 - partial_turn
    assert len(scans) == max(0, expected)
    for number, scan in enumerate(scans):
        ray = np.arange(360) + 360 * (number + partial_turn)
        values = np.where(ray % 9 == 4, math.inf, 10.0 - ray // 360)
        kept = values <= 20.0
        wanted = np.where(
            kept & (values >= 0.1), values, np.where(values < 0.1, -math.inf, math.inf)
        )
        assert np.array_equal(scan.ranges, (wanted[::-1] if clockwise else wanted).astype("f4"))
