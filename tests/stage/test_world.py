"""Worlds that are read from stages, and that the real IR-SIM runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
import yaml

pytest.importorskip("pxr")

from pxr import Gf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.cli import main
from irsim_isaac.errors import StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.map import Occupancy
from irsim_isaac.resources import resource
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.opening import open_stage
from irsim_isaac.stage.robots import robot_specs
from irsim_isaac.stage.world import build_world, map_world


@pytest.fixture(scope="module")
def warehouse() -> Usd.Stage:
    return open_stage(resource("data/warehouse.usda"))


def _metres() -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    return stage


def _box(stage, path, center, size, yaw=0.0):
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(1.0)
    cube.AddTranslateOp().Set(Gf.Vec3d(*center))
    cube.AddRotateZOp().Set(yaw)
    cube.AddScaleOp().Set(Gf.Vec3f(*size))
    return cube.GetPrim()


def _small_lidar(spec: RobotSpec, beams: int = 90) -> RobotSpec:
    mount = spec.lidars[0]
    profile = replace(mount.profile, beam_count=beams, angle_increment=2.0 * math.pi / beams)
    return replace(spec, lidars=(replace(mount, profile=profile),))


def test_the_demo_world_runs_two_hundred_steps_in_the_real_irsim(warehouse, irsim, tmp_path):
    # IR-SIM spends its time on beams; where the robot gets to does not depend on them.
    robots = [_small_lidar(spec) for spec in robot_specs(warehouse)]
    world = build_world(warehouse, robots=robots)
    env = irsim.make(str(world.save(tmp_path)), headless=True)
    try:
        assert env.step_time == 0.1
        assert [item.name for item in env.obstacle_list] == [o.name for o in world.obstacles]
        for _ in range(200):
            env.step([[0.4, 0.3]])
        assert env.time == pytest.approx(20.0)
        assert not env.robot.collision_flag
        # The circle of the commands; IR-SIM's steps of 0.1 s cut its corners a little.
        radius = 0.4 / 0.3
        assert env.robot.state[0, 0] == pytest.approx(-8.0 + radius * math.sin(6.0), abs=0.05)
        assert env.robot.state[1, 0] == pytest.approx(-4.0 + radius * (1 - math.cos(6.0)), abs=0.05)
        assert env.robot.lidar.range_data.shape == (90,)
    finally:
        env.end(0)


def test_the_robot_has_the_lidar_of_the_stage(warehouse):
    content = build_world(warehouse).to_irsim()
    (robot,) = content["robot"]
    (sensor,) = robot["sensors"]
    assert robot["name"] == "carrier"
    assert robot["state"] == [-8.0, -4.0, 0.0]
    assert sensor["number"] == 3200
    assert sensor["offset"][:2] == [0.1, 0.0]
    assert sensor["range_max"] == 30.0
    assert content["world"]["collision_mode"] == "contact"


def test_the_crate_alone_moves_and_keeps_its_mass(warehouse):
    moving = [item for item in build_world(warehouse).obstacles if item.moving]
    assert [(item.name, item.mass, item.pose) for item in moving] == [
        ("Crate", 12.0, (0.8, -2.6, 0.0))
    ]


def test_a_pushed_crate_moves_in_the_real_irsim(irsim, tmp_path):
    stage = _metres()
    UsdPhysics.RigidBodyAPI.Apply(_box(stage, "/Crate", (2.0, 0.0, 0.25), (0.5, 0.5, 0.5)))
    UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Crate")).CreateMassAttr(5.0)
    spec = RobotSpec("r", footprint=0.3, mass=30.0)
    world = build_world(stage, robots=[spec], starts={"r": (0.0, 0.0, 0.0)})
    env = irsim.make(str(world.save(tmp_path)), headless=True)
    try:
        for _ in range(30):
            env.step([[1.0, 0.0]])
        (crate,) = env.obstacle_list
        assert crate.state[0, 0] == pytest.approx(0.3 + 0.25 + env.robot.state[0, 0], abs=1e-3)
        assert crate.state[0, 0] > 3.0
    finally:
        env.end(0)


def test_band_and_lidar_worlds_differ_in_what_the_lidar_cannot_see(warehouse):
    band = {item.name: item for item in build_world(warehouse).obstacles}
    seen = {item.name: item for item in build_world(warehouse, mode="lidar").obstacles}
    assert set(band) - set(seen) == {"Pallet", "Cartons_8", "Cartons_9", "Cartons_10"}
    assert len(band["LowShelf"].polygons) == 1
    assert len(seen["LowShelf"].polygons) == 4
    assert len(band["ShelfA"].polygons) == len(seen["ShelfA"].polygons) == 4


def test_a_ring_of_walls_is_split_into_simple_polygons_that_make_the_ring_again(warehouse):
    (office,) = [item for item in build_world(warehouse).obstacles if item.name == "Office"]
    assert len(office.polygons) == 2
    pieces = [shapely.Polygon(ring) for ring in office.polygons]
    assert all(piece.is_valid and not piece.interiors for piece in pieces)
    ring = shapely.box(6.7, 3.1, 9.7, 5.7) - shapely.box(6.85, 3.25, 9.55, 5.55)
    assert office.area().symmetric_difference(ring).area < 1e-5


def test_low_furniture_is_flagged():
    """A bed of 0.35 m under a band that begins at 0.5 m is no obstacle and is not nothing."""
    stage = _metres()
    _box(stage, "/Bed", (1.0, 2.0, 0.175), (2.0, 1.4, 0.35))
    _box(stage, "/Floor", (0.0, 0.0, -0.05), (10.0, 10.0, 0.1))
    _box(stage, "/Post", (4.0, 4.0, 1.0), (0.2, 0.2, 2.0))
    world = build_world(stage, robots=(), height=(0.5, 1.0))
    assert [item.name for item in world.obstacles] == ["Post"]
    assert [(low.name, low.prim_path) for low in world.low] == [("Bed", "/Bed")]
    assert world.low[0].top == pytest.approx(0.35)
    assert world.low[0].area.symmetric_difference(shapely.box(0.0, 1.3, 2.0, 2.7)).area < 1e-6
    assert world.report.parameters["low"] == {"Bed": pytest.approx(0.35)}
    (warning,) = world.report.warnings
    assert "Bed (0.35 m)" in warning


def test_a_world_from_a_map_keeps_the_origin_of_the_map(irsim, tmp_path):
    """An obstacle is where the map has it, not counted from the corner of the image."""
    cells = np.zeros((40, 30), dtype=np.int8)
    cells[12:15, 7:9] = 100
    grid = Occupancy(cells, 0.5, (-10.0, -10.0, 0.0))
    map_file = grid.save_ros(tmp_path / "map")
    assert main(["world", str(map_file), "-o", str(tmp_path / "world")]) == 0
    env = irsim.make(str(tmp_path / "world" / "world.yaml"), headless=True)
    try:
        assert env._world.offset == [-10.0, -10.0]
        (item,) = env.obstacle_list
        assert item.geometry.bounds == pytest.approx((-4.0, -6.5, -2.5, -5.5))
    finally:
        env.end(0)


def test_a_grid_that_was_written_is_read_back_equal(irsim, tmp_path):
    cells = np.random.default_rng(5).choice([0, 100], size=(37, 23)).astype(np.int8)
    world = map_world(Occupancy(cells, 0.1, (1.5, -2.0, 0.0)))
    env = irsim.make(str(world.save(tmp_path)), headless=True)
    try:
        assert np.array_equal(env._world.grid_map > 50, cells > 50)
        assert (env._world.width, env._world.height) == pytest.approx((3.7, 2.3))
    finally:
        env.end(0)


@pytest.mark.parametrize(
    ("policy", "occupied", "grey"), [("free", 0, 255), ("occupied", 1, 0), ("keep", 0, 205)]
)
def test_unknown_cells_follow_the_policy(irsim, tmp_path, policy, occupied, grey):
    """Read by IR-SIM the grey of unknown cells is free, so it is said what they become."""
    from PIL import Image

    cells = np.zeros((6, 5), dtype=np.int8)
    cells[2, 3] = -1
    world = map_world(Occupancy(cells, 1.0), unknown=policy)
    path = world.save(tmp_path)
    assert Image.open(tmp_path / "map.png").getpixel((2, 1)) == grey
    env = irsim.make(str(path), headless=True)
    try:
        assert int((env._world.grid_map > 50).sum()) == occupied
    finally:
        env.end(0)


def test_the_wrapped_file_is_the_same_world(warehouse, irsim, tmp_path):
    world = build_world(warehouse, mode="lidar", lidar_height=0.28, robots=())
    plain = yaml.safe_load(world.save(tmp_path / "plain").read_text())
    path = world.save(tmp_path / "wrapped", wrapped=True)
    content = yaml.safe_load(path.read_text())
    assert content == {"irsim": plain}
    path.write_text(path.read_text() + "another_simulator: {scene: warehouse.usda}\n")
    env = irsim.make(str(path), headless=True)
    try:
        assert len(env.obstacle_list) == len(world.obstacles)
    finally:
        env.end(0)


def test_both_forms_hold_the_same_obstacles(warehouse, irsim, tmp_path):
    """The polygons reach every cell of the image, and the image covers the polygons."""
    world = build_world(warehouse, robots=(), obstacles="both")
    path = world.save(tmp_path)
    env = irsim.make(str(path), headless=True)
    try:
        kinds = [item.shape for item in env.obstacle_list]
        assert kinds.count("map") == 1
        assert len(kinds) == len(world.obstacles) + 1
        occupied = env._world.grid_map > 50
    finally:
        env.end(0)
    x, y = world.offset
    step = world.grid.resolution
    ix, iy = np.nonzero(occupied)
    cells = shapely.box(x + ix * step, y + iy * step, x + (ix + 1) * step, y + (iy + 1) * step)
    standing = [item for item in world.obstacles if not item.moving]
    union = shapely.union_all([item.area() for item in standing])
    assert shapely.dwithin(cells, union, 1e-6).all()
    assert union.difference(shapely.union_all(cells).buffer(1e-6)).area < 1e-4


def test_fog_and_offset_reach_the_real_irsim(warehouse, irsim, tmp_path):
    world = build_world(warehouse, robots=(), bounds=(-5.0, -6.5, 10.0, 6.5), fog_resolution=0.25)
    env = irsim.make(str(world.save(tmp_path)), headless=True)
    try:
        assert env._world.fog_map.explored.shape == (60, 52)
        assert env._world.offset == [-5.0, -6.5]
    finally:
        env.end(0)
    assert [entry.where for entry in world.report.omissions if entry.kind == "out of bounds"] == [
        "/World/Walls/West"
    ]


def test_the_file_says_from_what_it_was_made(tmp_path):
    """A wall that was moved, and nothing else, changes the digest."""
    stage = _metres()
    wall = _box(stage, "/Wall", (0.0, 2.0, 1.0), (4.0, 0.2, 2.0))
    first = yaml.safe_load(build_world(stage, robots=()).save(tmp_path).read_text())
    said = first["custom"]["irsim_isaac"]
    assert (said["height"], said["floor"], said["mode"]) == ([0.1, 0.62], 0.0, "band")
    assert said["prims"] == {"Wall": "/Wall"}
    stage.GetRootLayer().Export(str(tmp_path / "same.usdc"))
    again = build_world(open_stage(tmp_path / "same.usdc"), robots=())
    assert again.report.parameters["digest"] == said["digest"]
    wall.GetAttribute("xformOp:translate").Set(Gf.Vec3d(0.0, 2.001, 1.0))
    assert build_world(stage, robots=()).report.parameters["digest"] != said["digest"]


@pytest.mark.parametrize("options", [[], ["--mode", "lidar"], ["--obstacles", "both", "--merge"]])
def test_the_check_tells_a_world_from_a_stage_that_has_changed(tmp_path, capsys, options):
    file = tmp_path / "hall.usda"
    file.write_bytes(resource("data/warehouse.usda").read_bytes())
    assert main(["world", str(file), "-o", str(tmp_path / "world"), *options]) == 0
    assert main(["check", str(tmp_path / "world"), str(file)]) == 0
    stage = Usd.Stage.Open(str(file))
    stage.GetPrimAtPath("/World/Table").GetAttribute("xformOp:translate").Set(Gf.Vec3d(3, 1, 0))
    stage.GetRootLayer().Save()
    capsys.readouterr()
    assert main(["check", str(tmp_path / "world" / "world.yaml"), str(file), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["same_stage"], told["changed"]) == (False, ["Table"])


def test_a_world_that_says_nothing_of_a_stage_cannot_be_checked(tmp_path, capsys):
    file = tmp_path / "plain.yaml"
    file.write_text("world: {width: 5, height: 5}\n")
    assert main(["check", str(file), str(resource("data/warehouse.usda"))]) == 2
    assert "does not say from which stage" in capsys.readouterr().err


def test_two_worlds_of_one_stage_are_byte_for_byte_the_same(tmp_path):
    texts = []
    for name in ("a", "b"):
        stage = open_stage(resource("data/warehouse.usda"))
        texts.append(build_world(stage).save(tmp_path / name).read_bytes())
    assert texts[0] == texts[1]


def test_what_does_not_fit_is_refused(warehouse):
    spec = RobotSpec("walker")
    with pytest.raises(StageError, match="'walker' has no start"):
        build_world(warehouse, robots=[spec])
    with pytest.raises(StageError, match="needs a lidar"):
        build_world(warehouse, robots=(), mode="lidar")
    with pytest.raises(StageError, match="no extent"):
        build_world(_metres(), robots=())
    turned = Occupancy(np.zeros((2, 2), dtype=np.int8), 1.0, (0.0, 0.0, 0.3))
    with pytest.raises(StageError, match=r"turned by 0\.3 rad"):
        map_world(turned)
    with pytest.raises(StageError, match="lower end comes first"):
        build_world(warehouse, height=(0.6, 0.1))


def test_a_tilted_or_many_ringed_lidar_is_told(warehouse):
    profile = LidarProfile(rings=(-0.1, 0.0, 0.1))
    spec = RobotSpec("carrier", lidars=(LidarMount(profile, pitch=0.2),))
    warnings = build_world(warehouse, robots=[spec]).report.warnings
    assert any("tilted" in warning for warning in warnings)
    assert any("3 rings" in warning for warning in warnings)


def test_the_command_writes_the_world_and_says_what_it_is(tmp_path, capsys):
    stage = resource("data/warehouse.usda")
    assert main(["world", str(stage), "-o", str(tmp_path / "out"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["moving"] == ["Crate"]
    assert summary["robots"] == ["carrier"]
    content = yaml.safe_load((tmp_path / "out" / "world.yaml").read_text())
    assert len(content["obstacle"]) == summary["obstacles"]


def test_the_command_puts_a_robot_where_the_stage_has_none(tmp_path, capsys):
    stage = _metres()
    _box(stage, "/Wall", (0.0, 2.0, 1.0), (4.0, 0.2, 2.0))
    file = tmp_path / "wall.usda"
    stage.GetRootLayer().Export(str(file))
    command = ["world", str(file), "-o", str(tmp_path / "out")]
    assert main([*command, "--robot", "jackal"]) == 2
    assert "--start" in capsys.readouterr().err
    assert main([*command, "--start", "1", "0", "0.5"]) == 2
    assert main([*command, "--robot", "jackal", "--start", "1", "0", "0.5"]) == 0
    (robot,) = yaml.safe_load((tmp_path / "out" / "world.yaml").read_text())["robot"]
    assert (robot["name"], robot["state"]) == ("jackal", [1.0, 0.0, 0.5])


def test_the_command_refuses_bad_input_in_one_line(tmp_path, capsys):
    missing = tmp_path / "none.usda"
    assert main(["world", str(missing), "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    empty = tmp_path / "empty.usda"
    empty.write_text("#usda 1.0\n")
    assert main(["world", str(empty), "-o", str(tmp_path / "out")]) == 2
    assert "no extent" in capsys.readouterr().err
    stage = str(resource("data/warehouse.usda"))
    assert main(["world", stage, "-o", str(tmp_path / "out"), "--mode", "both"]) == 2
    assert main(["world", stage, "-o", str(tmp_path / "out"), "--robot", "r2d2"]) == 2
    assert "turtlebot4" in capsys.readouterr().err
