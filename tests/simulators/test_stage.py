"""Kinematic motion on a stage behind the protocol."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

from irsim_isaac.errors import SimulatorError, StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.robot import Kinematics, LidarMount
from irsim_isaac.simulators import Simulator, make
from tests.simulators.arena import (
    CRATE,
    CRATE_SIZE,
    FRONT,
    HALF_LENGTH,
    LIDAR_HEIGHT,
    PROFILE,
    STARTS,
    cube,
    odometry,
    robot,
    twist,
    write_stage,
    write_world,
)
from tests.simulators.conformance import DrivenConformance, pose_of, state_of

CELL = 0.05


class TestStage(DrivenConformance):
    crate_height = CRATE_SIZE / 2

    def make(self, folder: Path, **options: Any) -> Simulator:
        path = folder / "stage.usda"
        if not path.exists():
            write_stage(path)
        options = {"robots": [robot()], "starts": STARTS} | options
        return make("stage", stage=path, **options)


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker"])
def test_in_the_open_it_moves_as_irsim_does(tmp_path: Path, kinematics: Kinematics) -> None:
    """The same commands give the same poses, too fast ones and standing still included."""
    spec = robot(kinematics=kinematics, lidars=False)
    world = write_world(tmp_path / "world.yaml", [spec], size=2000.0, room=False)
    ours = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda", walls=False, crate=False),
        robots=[spec],
        starts=STARTS,
    )
    theirs = make("irsim", world=world, robots=[spec], starts=STARTS)
    random = np.random.default_rng(7)
    for step in range(600):
        if step % 10 == 0:
            command = {"robot": twist(*random.uniform(-1.3, 1.3, 3))} if step % 50 else {}
        one, other = ours.step(command), theirs.step(command)
        (x, y, yaw), (u, v, theta) = pose_of(one), pose_of(other)
        assert abs(x - u) <= 1e-9
        assert abs(y - v) <= 1e-9
        assert abs(math.remainder(yaw - theta, 2 * math.pi)) <= 1e-9
        left = state_of(one, "robot").odom.twist.twist
        right = state_of(other, "robot").odom.twist.twist
        assert (left.linear.x, left.linear.y, left.angular.z) == pytest.approx(
            (right.linear.x, right.linear.y, right.angular.z), abs=1e-12
        )
    theirs.close()


def test_it_stops_before_a_wall_and_drives_away_again(tmp_path: Path) -> None:
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts={"robot": (HALF_LENGTH - 1.0, -1.0, 0.0)},
    )
    flags = []
    for _ in range(20):
        world = simulator.step({"robot": twist(1.0)})
        flags.append(state_of(world, "robot").collision)
    gap = HALF_LENGTH - FRONT - pose_of(world)[0]
    assert -1e-9 <= gap <= CELL
    assert flags == [False] * flags.index(True) + [True] * (20 - flags.index(True))
    assert world.status == "Collision"
    assert state_of(world, "robot").odom.twist.twist.linear.x == 0.0
    away = simulator.step({"robot": twist(-0.5)})
    assert not state_of(away, "robot").collision
    assert pose_of(away)[0] == pytest.approx(pose_of(world)[0] - 0.05, abs=1e-12)


def test_a_fast_robot_does_not_pass_a_thin_wall(tmp_path: Path) -> None:
    """One step is longer than the wall is thick, and than the robot is long."""
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot(max_linear_speed=40.0)],
        starts={"robot": (HALF_LENGTH - 1.0, -1.0, 0.0)},
    )
    world = simulator.step({"robot": twist(40.0)})
    assert state_of(world, "robot").collision
    assert 0.0 <= HALF_LENGTH - FRONT - pose_of(world)[0] <= CELL


def test_turning_into_a_wall_stops_as_well(tmp_path: Path) -> None:
    """The corner of the footprint is what meets the wall."""
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts={"robot": (HALF_LENGTH - 0.27, 0.0, 0.0)},
    )
    turned = [pose_of(simulator.step({"robot": twist(0.0, 0.5)}))[2] for _ in range(30)]
    corner = math.hypot(FRONT, 0.2)
    limit = math.atan2(0.2, FRONT) - math.acos(0.27 / corner)
    assert turned[-1] == turned[-2]
    assert abs(turned[-1]) <= abs(limit) + 1e-9


def test_robots_stop_at_each_other_and_at_bodies(tmp_path: Path) -> None:
    names = {"a": (-1.0, 0.0, 0.0), "b": (1.0, 0.0, math.pi), "c": (CRATE[0] - 1, CRATE[1], 0.0)}
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot(name) for name in names],
        starts=names,
    )
    for _ in range(40):
        world = simulator.step({name: twist(0.5) for name in names})
    a, b, c, crate = (state_of(world, name) for name in ("a", "b", "c", "crate"))
    gap = pose_of(world, "b")[0] - pose_of(world, "a")[0] - 2 * FRONT
    assert 0.0 <= gap <= CELL
    assert a.collision_ids == [b.id]
    assert b.collision_ids == [a.id]
    assert c.collision_ids == [crate.id]
    assert crate.collision
    assert crate.collision_ids == [c.id]
    assert 0.0 <= CRATE[0] - CRATE_SIZE / 2 - FRONT - pose_of(world, "c")[0] <= CELL
    simulator.write({"crate": odometry(-4.0, -3.0, z=CRATE_SIZE / 2)})
    freed = simulator.step({"c": twist(0.5)})
    assert not state_of(freed, "c").collision
    assert pose_of(freed, "c")[0] == pytest.approx(pose_of(world, "c")[0] + 0.05)


def test_without_collisions_it_passes(tmp_path: Path) -> None:
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts={"robot": (HALF_LENGTH - 1.0, 0.0, 0.0)},
        collisions=False,
    )
    for _ in range(30):
        world = simulator.step({"robot": twist(1.0)})
    assert pose_of(world)[0] == pytest.approx(HALF_LENGTH + 2.0)
    assert not state_of(world, "robot").collision


def test_there_is_nothing_beyond_the_map(tmp_path: Path) -> None:
    """The map ends at the outermost thing that stands; a robot may come from beyond it."""
    path = write_stage(tmp_path / "stage.usda", walls=False, crate=False)
    stage = Usd.Stage.Open(str(path))
    cube(stage, "/block", (3.0, 0.0, 0.5), (0.4, 0.4, 1.0))
    stage.Save()
    simulator = make("stage", stage=path, robots=[robot()], starts=STARTS)
    worlds = [simulator.step({"robot": twist(1.0)}) for _ in range(40)]
    assert 0.0 <= 2.8 - FRONT - pose_of(worlds[-1])[0] <= CELL
    assert state_of(worlds[-1], "robot").collision
    simulator.write({"robot": odometry(0.0, 2.0)})
    for _ in range(40):
        world = simulator.step({"robot": twist(1.0)})
    assert pose_of(world)[0] == pytest.approx(4.0)


def test_a_start_in_a_wall_is_a_collision_from_the_start(tmp_path: Path) -> None:
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts={"robot": (HALF_LENGTH, 0.0, 0.0)},
    )
    assert state_of(simulator.read(), "robot").collision


@pytest.mark.parametrize(("unit", "y_up"), [(0.01, False), (1.0, True), (0.01, True)])
def test_units_and_axes_change_nothing(tmp_path: Path, unit: float, y_up: bool) -> None:
    """A stage in centimetres with y up is the same room."""
    runs = []
    for name, options in (("metres", {}), ("other", {"unit": unit, "y_up": y_up})):
        simulator = make(
            "stage",
            stage=write_stage(tmp_path / f"{name}.usda", **options),
            robots=[robot()],
            starts={"robot": (3.0, -1.0, 0.3)},
        )
        runs.append([simulator.step({"robot": twist(0.8, 0.3)}) for _ in range(40)])
    for one, other in zip(*runs, strict=True):
        assert pose_of(one) == pytest.approx(pose_of(other), abs=1e-9)
        assert pose_of(one, "crate") == pytest.approx(pose_of(other, "crate"), abs=1e-6)
        assert state_of(one, "robot").collision == state_of(other, "robot").collision
        np.testing.assert_allclose(
            state_of(one, "robot").scans[0].ranges,
            state_of(other, "robot").scans[0].ranges,
            atol=1e-4,
        )


def test_a_lidar_sees_what_is_at_its_height(tmp_path: Path) -> None:
    """Under a table top it sees the legs; a scaled cube is as large as it looks."""
    path = write_stage(tmp_path / "stage.usda", crate=False)
    stage = Usd.Stage.Open(str(path))
    cube(stage, "/top", (2.0, 0.0, 0.725), (1.0, 1.0, 0.05))
    block = UsdGeom.Cube.Define(stage, "/block")
    block.AddTranslateOp().Set(Gf.Vec3d(-3.0, 0.0, 0.0))
    block.AddScaleOp().Set(Gf.Vec3f(1.0, 4.0, 1.0))
    block.CreateSizeAttr(1.0)
    stage.Save()
    lidar = LidarMount(LidarProfile.full_turn("turn", 360, range_max=20.0), z=LIDAR_HEIGHT)
    simulator = make("stage", stage=path, robots=[replace(robot(), lidars=(lidar,))], starts=STARTS)
    scan = state_of(simulator.read(), "robot").scans[0]
    bearings = lidar.profile.bearings
    ahead = np.argmin(np.abs(bearings))
    assert scan.ranges[ahead] == pytest.approx(HALF_LENGTH, abs=1e-5)
    behind = np.abs(np.abs(bearings) - math.pi) < math.atan2(2.0, 2.5) - 1e-3
    np.testing.assert_allclose(
        scan.ranges[behind], 2.5 / np.abs(np.cos(bearings[behind])), atol=1e-5
    )
    beside = np.abs(np.abs(bearings) - math.pi) > math.atan2(2.0, 2.5) + 0.02
    assert (scan.ranges[beside] > 2.6).all()


def test_a_lidar_sits_where_it_is_mounted(tmp_path: Path) -> None:
    mount = LidarMount(PROFILE, x=0.2, y=0.1, z=LIDAR_HEIGHT, yaw=math.pi / 2, frame_id="left")
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[replace(robot(), lidars=(mount, LidarMount(PROFILE, z=LIDAR_HEIGHT)))],
        starts={"robot": (1.0, -1.0, math.pi / 2)},
    )
    first, second = state_of(simulator.read(), "robot").scans
    # The robot looks along y, the lidar on its left looks back along x.
    assert first.ranges[PROFILE.beam_count // 2] == pytest.approx(HALF_LENGTH + 1.0 - 0.1, abs=1e-5)
    assert [first.header.frame_id, second.header.frame_id] == ["left", "robot/laser_1"]
    assert second.ranges[PROFILE.beam_count // 2] == pytest.approx(5.0, abs=1e-5)


def test_other_robots_are_seen_and_the_own_body_is_not(tmp_path: Path) -> None:
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[robot("a"), robot("b")],
        starts={"a": (0.0, 0.0, 0.0), "b": (2.0, 0.0, 0.0)},
    )
    world = simulator.step({"b": twist(1.0)})
    ahead = PROFILE.beam_count // 2
    assert state_of(world, "a").scans[0].ranges[ahead] == pytest.approx(2.1 - FRONT, abs=1e-5)
    assert state_of(world, "b").scans[0].ranges[ahead] == pytest.approx(HALF_LENGTH - 2.1, abs=1e-5)


def test_noise_is_that_of_the_profile(tmp_path: Path) -> None:
    """Zero mean, the profile's deviation, none on misses; the seed decides about it."""
    profile = replace(LidarProfile.full_turn("noisy", 3000, range_max=5.0), range_accuracy=0.02)
    spec = replace(robot(), lidars=(LidarMount(profile, z=LIDAR_HEIGHT),))
    path = write_stage(tmp_path / "stage.usda", crate=False)
    options: dict[str, Any] = {"stage": path, "robots": [spec], "starts": STARTS}
    clean = state_of(make("stage", **options).read(), "robot").scans[0].ranges
    noisy = make("stage", noise=True, seed=3, **options)
    first = state_of(noisy.read(), "robot").scans[0].ranges
    inner = clean < 4.8
    error = first[inner] - clean[inner]
    assert abs(error.mean()) < 0.002
    assert error.std() == pytest.approx(0.02, rel=0.05)
    assert (first[clean == np.inf] > 4.9).all()
    second = state_of(noisy.step({}), "robot").scans[0].ranges
    assert not np.array_equal(first, second)
    again = make("stage", noise=True, seed=3, **options)
    np.testing.assert_array_equal(state_of(again.read(), "robot").scans[0].ranges, first)
    other = make("stage", noise=True, seed=4, **options)
    assert not np.array_equal(state_of(other.read(), "robot").scans[0].ranges, first)


def test_a_robot_that_stands_in_the_stage_is_no_obstacle(tmp_path: Path) -> None:
    """Its own meshes are neither in its map nor before its lidar, and they move with it."""
    path = write_stage(tmp_path / "stage.usda", crate=False)
    stage = Usd.Stage.Open(str(path))
    base = UsdGeom.Xform.Define(stage, "/mower")
    base.AddTranslateOp().Set(Gf.Vec3d(1.0, 1.0, 0.0))
    base.AddRotateZOp().Set(90.0)
    body = UsdGeom.Cube.Define(stage, "/mower/body")
    body.CreateSizeAttr(1.0)
    body.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.3))
    body.AddScaleOp().Set(Gf.Vec3f(0.5, 0.4, 0.6))
    stage.Save()
    mower = replace(robot("mower"), prim_path="/mower")
    simulator = make(
        "stage",
        stage=path,
        robots=[mower, robot("watcher")],
        starts={"watcher": (1.0, -2.0, math.pi / 2)},
    )
    ahead = PROFILE.beam_count // 2
    world = simulator.read()
    assert pose_of(world, "mower") == pytest.approx((1.0, 1.0, math.pi / 2), abs=1e-9)
    assert state_of(world, "mower").scans[0].ranges[ahead] == pytest.approx(3.0, abs=1e-5)
    assert state_of(world, "watcher").scans[0].ranges[ahead] == pytest.approx(2.75, abs=1e-5)
    world = simulator.step({"mower": twist(1.0)})
    assert not state_of(world, "mower").collision
    assert state_of(world, "watcher").scans[0].ranges[ahead] == pytest.approx(2.85, abs=1e-5)


def test_a_written_robot_stays_on_the_floor(tmp_path: Path) -> None:
    simulator = make(
        "stage",
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts=STARTS,
        floor=0.0,
    )
    simulator.write({"robot": odometry(1.0, 0.0, 0.5, z=0.7)})
    position = state_of(simulator.read(), "robot").odom.pose.pose.position
    assert (position.x, position.y, position.z) == (1.0, 0.0, 0.0)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = write_stage(tmp_path / "stage.usda")
    good: dict[str, Any] = {"stage": path, "robots": [robot()], "starts": STARTS}
    for options, error, message in (
        ({"stage": tmp_path / "none.usda"}, StageError, "none.usda"),
        ({"starts": {}}, SimulatorError, "robot 'robot' has no start"),
        ({"starts": {"robot": (0.0, math.nan, 0.0)}}, SimulatorError, "finite"),
        ({"starts": {"robot": (0.0, 0.0)}}, SimulatorError, "x, y and yaw"),
        ({"starts": STARTS | {"x": (0.0, 0.0, 0.0)}}, SimulatorError, "a start for 'x'"),
        ({"robots": [robot(), robot()]}, SimulatorError, "two robots are named 'robot'"),
        (
            {"robots": [robot("crate")], "starts": {"crate": (0.0, 0.0, 0.0)}},
            SimulatorError,
            "named 'crate'",
        ),
        ({"robots": [replace(robot(), prim_path="/none")]}, StageError, "/none"),
        (
            {"robots": [replace(robot(kinematics="acker"), wheelbase=None)]},
            SimulatorError,
            "wheelbase of more than 0 m, found None",
        ),
        ({"step_time": 0.0}, SimulatorError, "longer than 0 s"),
        ({"steps": 4}, SimulatorError, "no option 'steps'"),
    ):
        with pytest.raises(error, match=message):
            make("stage", **good | options)
    with pytest.raises(SimulatorError, match="needs 'stage'"):
        make("stage", robots=[robot()])
    with pytest.raises(SimulatorError, match="no simulator is named 'gazebo'"):
        make("gazebo")
