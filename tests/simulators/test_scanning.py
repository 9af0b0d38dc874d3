"""Scans by revolution: each beam from where the lidar was when it fired."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import LaserScan
from irsim_isaac.robot import LidarMount
from irsim_isaac.simulators import Simulator, make
from tests.simulators.arena import (
    HALF_LENGTH,
    HALF_WIDTH,
    LIDAR_HEIGHT,
    STARTS,
    odometry,
    robot,
    twist,
    write_stage,
)
from tests.simulators.conformance import state_of

COUNT = 200
TURNING = LidarProfile.full_turn("turning", COUNT, range_max=30.0, scan_rate=10.0)


def stage_simulator(folder: Path, profile: LidarProfile = TURNING, **options: Any) -> Simulator:
    spec = replace(robot(), lidars=(LidarMount(profile, z=LIDAR_HEIGHT),))
    return make(
        "stage",
        stage=write_stage(folder / "stage.usda", crate=False),
        **{"robots": [spec], "starts": STARTS, "scans": "revolution", "collisions": False}
        | options,
    )


def walls(
    x: npt.ArrayLike, y: npt.ArrayLike, angle: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the distance to the walls of the room from places within it."""
    with np.errstate(divide="ignore"):
        along = np.where(np.cos(angle) > 0, HALF_LENGTH - x, HALF_LENGTH + np.asarray(x))
        across = np.where(np.sin(angle) > 0, HALF_WIDTH - y, HALF_WIDTH + np.asarray(y))
        return np.minimum(along / np.abs(np.cos(angle)), across / np.abs(np.sin(angle)))


def scan_of(world: Any) -> LaserScan:
    (scan,) = state_of(world, "robot").scans
    return scan


def test_a_standing_lidar_sees_what_a_snapshot_sees(tmp_path: Path) -> None:
    turning = stage_simulator(tmp_path)
    still = stage_simulator(tmp_path, scans="snapshot")
    assert state_of(turning.read(), "robot").scans == []
    assert state_of(turning.read(), "robot").scan is None
    scan = scan_of(turning.step({}))
    np.testing.assert_allclose(scan.ranges, scan_of(still.read()).ranges, rtol=1e-6)
    assert (scan.header.stamp, scan.header.seq) == (0.0, 0)
    assert scan.scan_time == 0.1
    assert scan.time_increment == pytest.approx(0.1 / COUNT)
    second = scan_of(turning.step({}))
    assert (second.header.stamp, second.header.seq) == (0.1, 1)


def test_a_turning_robot_smears_its_scan(tmp_path: Path) -> None:
    """Beam k looks where the robot had turned to when it fired."""
    simulator = stage_simulator(tmp_path, robots=[with_lidar(TURNING, max_angular_speed=2.0)])
    for count in range(3):
        scan = scan_of(simulator.step({"robot": twist(0.0, 2.0)}))
        times = 0.1 * count + np.arange(COUNT) * 0.1 / COUNT
        expected = walls(0.0, 0.0, TURNING.bearings + 2.0 * times)
        np.testing.assert_allclose(scan.ranges, expected, atol=1e-4)


def test_a_driving_robot_measures_from_where_it_was(tmp_path: Path) -> None:
    simulator = stage_simulator(tmp_path, robots=[with_lidar(TURNING, max_linear_speed=10.0)])
    scan = scan_of(simulator.step({"robot": twist(10.0)}))
    places = 10.0 * np.arange(COUNT) * 0.1 / COUNT
    np.testing.assert_allclose(scan.ranges, walls(places, 0.0, TURNING.bearings), atol=1e-4)


def with_lidar(profile: LidarProfile, **fields: Any) -> Any:
    return replace(robot(**fields), lidars=(LidarMount(profile, z=LIDAR_HEIGHT),))


def test_a_clockwise_lidar_measures_its_first_beam_last(tmp_path: Path) -> None:
    """The stamp is that of beam 0 and the time from beam to beam is negative."""
    profile = replace(TURNING, clockwise=True)
    simulator = stage_simulator(tmp_path, robots=[with_lidar(profile, max_linear_speed=10.0)])
    scan = scan_of(simulator.step({"robot": twist(10.0)}))
    between = 0.1 / COUNT
    assert scan.time_increment == pytest.approx(-between)
    assert scan.header.stamp == pytest.approx((COUNT - 1) * between)
    times = scan.header.stamp + np.arange(COUNT) * scan.time_increment
    assert times.min() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(scan.ranges, walls(10.0 * times, 0.0, profile.bearings), atol=1e-4)


@pytest.mark.parametrize(("step_time", "rate"), [("0.03", 10.0), ("0.1", 4.0), ("0.1", 30.0)])
def test_turns_and_steps_need_not_agree(tmp_path: Path, step_time: str, rate: float) -> None:
    """Every turn is told once it is over, and every beam has fired once."""
    profile = replace(TURNING, scan_rate=rate)
    simulator = stage_simulator(
        tmp_path, robots=[with_lidar(profile, max_linear_speed=2.0)], step_time=step_time
    )
    stamps = []
    for _ in range(20):
        world = simulator.step({"robot": twist(2.0)})
        whole = math.floor(simulator.time * rate + 1e-9)
        scans = state_of(world, "robot").scans
        assert len(scans) == (1 if whole else 0)
        if whole:
            assert scans[0].header.seq == whole - 1
            assert scans[0].header.stamp == pytest.approx((whole - 1) / rate)
            stamps.append(scans[0].header.stamp)
            times = scans[0].header.stamp + np.arange(COUNT) / rate / COUNT
            np.testing.assert_allclose(
                scans[0].ranges, walls(2.0 * times, 0.0, profile.bearings), atol=1e-4
            )
    assert stamps == sorted(stamps)


def test_a_lidar_that_does_not_turn_fires_all_at_once(tmp_path: Path) -> None:
    profile = replace(TURNING, scan_type="solid_state", scan_rate=5.0)
    simulator = stage_simulator(tmp_path, robots=[with_lidar(profile, max_linear_speed=2.0)])
    worlds = [simulator.step({"robot": twist(2.0)}) for _ in range(4)]
    assert [scan_of(world).header.stamp for world in worlds] == pytest.approx([0.0, 0.0, 0.2, 0.2])
    expected = walls(0.4, 0.0, profile.bearings)
    np.testing.assert_allclose(scan_of(worlds[3]).ranges, expected, atol=1e-4)
    assert scan_of(worlds[3]).time_increment == 0.0


def test_a_robot_that_is_put_elsewhere_was_never_between(tmp_path: Path) -> None:
    simulator = stage_simulator(tmp_path)
    simulator.step({})
    simulator.write({"robot": odometry(3.0, 1.0)})
    scan = scan_of(simulator.step({}))
    np.testing.assert_allclose(scan.ranges, walls(3.0, 1.0, TURNING.bearings), atol=1e-4)
    simulator.reset()
    assert state_of(simulator.read(), "robot").scans == []
    assert scan_of(simulator.step({})).header.stamp == 0.0


def test_physx_takes_scans_by_revolution_as_well(tmp_path: Path) -> None:
    pytest.importorskip("ovphysx")
    simulator = make(
        "physx",
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[with_lidar(TURNING)],
        starts=STARTS,
        scans="revolution",
        drive_by="body",
    )
    for _ in range(5):
        world = simulator.step({"robot": twist(0.0, 1.0)})
    scan = scan_of(world)
    assert scan.header.stamp == 0.4
    times = 0.4 + np.arange(COUNT) * 0.1 / COUNT
    expected = walls(0.0, 0.0, TURNING.bearings + times)
    # The body starts to turn with its first step of the solver.
    np.testing.assert_allclose(scan.ranges, expected, atol=0.05)
    simulator.close()


def test_noise_belongs_to_the_turn(tmp_path: Path) -> None:
    profile = replace(TURNING, range_accuracy=0.02, scan_rate=5.0)
    options: dict[str, Any] = {"robots": [with_lidar(profile)], "noise": True, "seed": 2}
    one, other = stage_simulator(tmp_path, **options), stage_simulator(tmp_path, **options)
    scans = [scan_of([one.step({}) for _ in range(2)][-1]).ranges]
    scans.append(scan_of(one.step({})).ranges)
    scans.append(scan_of(one.step({})).ranges)
    np.testing.assert_array_equal(scans[0], scans[1])
    assert not np.array_equal(scans[1], scans[2])
    np.testing.assert_array_equal(scan_of([other.step({}) for _ in range(2)][-1]).ranges, scans[0])


def test_there_is_no_third_way(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="'snapshot' or 'revolution'"):
        stage_simulator(tmp_path, scans="sideways")
