"""IR-SIM worlds as stages, and back."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pxr")

from pxr import Usd, UsdGeom, UsdPhysics

from irsim_isaac.cli import main
from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.stage.obstacles import Obstacle, placed
from irsim_isaac.stage.opening import open_stage
from irsim_isaac.stage.scene import grid_polygons, world_to_stage
from irsim_isaac.stage.world import World, build_world
from irsim_isaac.stage.world_file import read_world

WORLDS = Path(__file__).parent / "worlds"
NAMES = ("shapes", "kinematics", "perlin", "image")


@pytest.fixture(scope="module")
def image_world(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("image")
    rng = np.random.default_rng(11)
    pixels = np.where(rng.random((30, 40)) < 0.2, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(folder / "rooms.png")
    path = folder / "image.yaml"
    path.write_text("world: {width: 8, height: 6, offset: [-10, -10], obstacle_map: rooms.png}\n")
    return path


@pytest.fixture(params=NAMES)
def path(request, image_world) -> Path:
    return image_world if request.param == "image" else WORLDS / f"{request.param}.yaml"


def _back(stage: Usd.Stage, tmp_path: Path, world: World) -> World:
    file = tmp_path / "scene.usdc"
    stage.GetRootLayer().Export(str(file))
    return build_world(open_stage(file), tolerance=0.0, step_time=world.step_time)


def test_worlds_are_read_as_irsim_reads_them(path, irsim, monkeypatch):
    monkeypatch.chdir(path.parent)
    world = read_world(path)
    env = irsim.make(str(path), headless=True, log_level="ERROR")
    try:
        theirs = [item for item in env.obstacle_list if item.shape != "map"]
        assert len(theirs) == len(world.obstacles)
        for item, their in zip(world.obstacles, theirs, strict=True):
            outline = their.geometry
            if outline.geom_type in ("Polygon", "MultiPolygon"):
                outline = shapely.boundary(outline)
            assert shapely.hausdorff_distance(item.outline(), outline) < 1e-9, item.name
            assert item.moving == (not their.static)
            assert item.mass is None or item.mass == their.mass
        for spec, their in zip(world.robots, env.robot_list, strict=True):
            pose = world.starts[spec.name]
            if isinstance(spec.footprint, tuple):
                own = shapely.Polygon(spec.footprint)
            else:
                own = shapely.Point(0.0, 0.0).buffer(spec.footprint, quad_segs=16)
            assert placed(own, pose).symmetric_difference(their.geometry).area < 1e-9
            assert spec.kinematics == their.kinematics
            assert spec.max_linear_speed == their.vel_max[0, 0]
            if spec.name in world.goals:
                assert [list(goal) for goal in world.goals[spec.name]] == list(their._goal)
        grid = env._world.grid_map
        assert (grid is None) == (world.grid is None)
        if grid is not None:
            assert np.array_equal(world.grid.cells > 50, grid > 50)
        assert (world.fog_resolution is None) == (env._world.fog_map is None)
    finally:
        env.end(0)


def test_footprints_come_back_within_a_micrometre(path, tmp_path):
    world = read_world(path)
    again = _back(world_to_stage(world), tmp_path, world)
    before = {item.name: item for item in world.obstacles}
    after = {item.name: item for item in again.obstacles if item.name != "map"}
    assert set(after) == set(before)
    for name, item in before.items():
        distance = shapely.hausdorff_distance(item.outline(), after[name].outline())
        assert distance < 1e-6, name
        assert after[name].radius == item.radius
        assert after[name].mass == (None if item.mass is None else pytest.approx(item.mass))
        assert after[name].pose == pytest.approx(item.pose, abs=1e-6) or not item.moving
    if world.grid is not None:
        (found,) = [item for item in again.obstacles if item.name == "map"]
        cells = shapely.union_all([shapely.Polygon(ring) for ring in grid_polygons(world.grid)])
        assert found.area().symmetric_difference(cells).area < 1e-5
    assert (again.width, again.height) == pytest.approx((world.width, world.height))
    assert again.offset == pytest.approx(world.offset)


def test_what_comes_back_runs_in_the_real_irsim(path, irsim, tmp_path):
    world = read_world(path)
    again = _back(world_to_stage(world), tmp_path, world)
    env = irsim.make(str(again.save(tmp_path)), headless=True, log_level="ERROR")
    try:
        for _ in range(20):
            env.step()
        assert [robot.name for robot in env.robot_list] == [spec.name for spec in world.robots]
    finally:
        env.end(0)


@st.composite
def _obstacles(draw):
    """Draw obstacles of every kind, some of which are pushed about."""
    metres = st.floats(-40.0, 40.0, allow_nan=False)
    items = []
    for number in range(draw(st.integers(1, 4))):
        count = draw(st.integers(3, 9))
        angles = [2.0 * math.pi * (k + draw(st.floats(0.0, 0.8))) / count for k in range(count)]
        reach = [draw(st.floats(0.2, 4.0)) for _ in range(count)]
        star = tuple((r * math.cos(a), r * math.sin(a)) for r, a in zip(reach, angles, strict=True))
        kind = draw(st.sampled_from(("star", "disc", "line")))
        moving = kind != "line" and draw(st.booleans())
        items.append(
            Obstacle(
                name=f"item_{number}",
                polygons=(star,) if kind == "star" else (),
                lines=(star[:3],) if kind == "line" else (),
                radius=draw(st.floats(0.1, 3.0)) if kind == "disc" else None,
                pose=(draw(metres), draw(metres), draw(st.floats(-3.1, 3.1))),
                mass=draw(st.floats(0.5, 50.0)) if moving else None,
                height=draw(st.floats(0.7, 2.0)),
            )
        )
    return tuple(items)


@settings(max_examples=25)
@given(_obstacles())
def test_any_obstacles_come_back_within_a_micrometre(items):
    world = World(width=120.0, height=120.0, offset=(-60.0, -60.0), obstacles=items)
    stage = world_to_stage(world)
    again = {item.name: item for item in build_world(stage, tolerance=0.0).obstacles}
    assert set(again) == {item.name for item in items}
    for item in items:
        found = again[item.name]
        assert shapely.hausdorff_distance(item.outline(), found.outline()) < 1e-6
        assert found.moving == item.moving
        assert found.mass == (None if item.mass is None else pytest.approx(item.mass))


def test_robots_come_back_with_starts_goals_and_lidars(path, tmp_path):
    world = read_world(path)
    again = _back(world_to_stage(world), tmp_path, world)
    assert [spec.name for spec in again.robots] == [spec.name for spec in world.robots]
    for before, after in zip(world.robots, again.robots, strict=True):
        assert after.prim_path == f"/World/Robots/{before.name}"
        assert (
            len(after.joints)
            == {"diff": 2, "omni": 2, "omni_angular": 3, "acker": 4}[before.kinematics]
        )
        for field in (
            "kinematics", "footprint", "height", "wheel_radius", "track", "wheelbase", "mass",
            "max_linear_speed", "max_angular_speed",
        ):  # fmt: skip
            assert getattr(after, field) == getattr(before, field), field
        assert again.starts[before.name] == pytest.approx(world.starts[before.name], abs=1e-6)
        goals = world.goals.get(before.name, ())
        assert len(again.goals.get(before.name, ())) == len(goals)
        for goal, found in zip(goals, again.goals.get(before.name, ()), strict=True):
            assert found == pytest.approx(goal, abs=1e-6)
        for mount, own in zip(before.lidars, after.lidars, strict=True):
            assert (own.x, own.y, own.z) == pytest.approx((mount.x, mount.y, mount.z), abs=1e-6)
            assert own.profile.beam_count == mount.profile.beam_count
            assert np.allclose(
                own.profile.bearings + own.yaw, mount.profile.bearings + mount.yaw, atol=1e-6
            )


def test_every_shape_has_a_collider_and_a_label(path):
    world = read_world(path)
    stage = world_to_stage(world)
    shapes = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Gprim)]
    assert len(shapes) >= max(1, len(world.obstacles) + len(world.robots))
    for prim in shapes:
        # The tyres of a robot are for the eye, their contact is a shape of its own.
        assert prim.HasAPI(UsdPhysics.CollisionAPI) == (prim.GetName() != "tyre")
        above = prim
        while not above.GetAttribute("semantics:labels:class").HasAuthoredValue():
            above = above.GetParent()
            assert above, prim.GetPath()


def test_scenes_load_in_physx_and_their_robots_drive(path, tmp_path):
    pytest.importorskip("ovphysx")
    from irsim_isaac import simulators
    from irsim_isaac.msg import Twist, Vector3
    from irsim_isaac.stage.robots import robot_specs

    world = read_world(path)
    file = tmp_path / "scene.usda"
    stage = world_to_stage(world)
    stage.GetRootLayer().Export(str(file))
    specs = robot_specs(stage)
    simulator = simulators.make("physx", stage=file, robots=specs, step_time=0.1)
    try:
        before = simulator.reset(0)
        command = Twist(Vector3(0.3, 0.0, 0.0), Vector3(0.0, 0.0, 0.0))
        for _ in range(10):
            after = simulator.step({spec.name: command for spec in specs})
        for spec in specs:
            x, y, yaw = world.starts[spec.name]
            (now,) = [item for item in after.objects if item.name == spec.name]
            position = now.odom.pose.pose.position
            ahead = (position.x - x) * math.cos(yaw) + (position.y - y) * math.sin(yaw)
            assert ahead == pytest.approx(0.3, abs=0.08), spec.name
        assert len(before.objects) == len(after.objects)
    finally:
        simulator.close()


def test_the_merged_polygons_of_a_grid_cover_its_cells_exactly():
    rng = np.random.default_rng(2)
    cells = np.where(rng.random((25, 18)) < 0.35, 100, 0).astype(np.int8)
    grid = Occupancy(cells, 0.5, (-3.0, 2.0, 0.0))
    rings = grid_polygons(grid)
    polygons = [shapely.Polygon(ring) for ring in rings]
    assert all(polygon.is_valid for polygon in polygons)
    assert sum(polygon.area for polygon in polygons) == pytest.approx(0.25 * (cells > 50).sum())
    union = shapely.union_all(polygons)
    x, y = np.meshgrid(-2.75 + 0.5 * np.arange(25), 2.25 + 0.5 * np.arange(18), indexing="ij")
    assert np.array_equal(shapely.contains_xy(union, x, y), cells > 50)
    assert len(rings) < (cells > 50).sum()
    assert grid_polygons(Occupancy(np.zeros((3, 3), dtype=np.int8), 1.0)) == []


def test_the_command_writes_a_stage(tmp_path, capsys):
    target = tmp_path / "scene.usda"
    assert main(["stage", str(WORLDS / "shapes.yaml"), "-o", str(target), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["robots"] == ["rover"]
    assert summary["obstacles"] == 12
    assert Usd.Stage.Open(str(target)).GetPrimAtPath("/World/Obstacles/couch/Area")


def test_what_a_stage_has_no_place_for_is_named(tmp_path):
    file = tmp_path / "world.yaml"
    file.write_text(
        "world: {width: 5, height: 5, control_mode: keyboard}\n"
        "gui: {x: 1}\n"
        "robot:\n"
        "  - {kinematics: {name: diff}, shape: {name: circle, radius: 0.2}, state: [1, 1, 0],\n"
        "     behavior: {name: dash}, color: g}\n"
        "obstacle:\n"
        "  - {number: 2, shape: {name: circle, radius: 0.2}, state: [[2, 2], [3, 3]],\n"
        "     kinematics: {name: omni}, plot: {show_text: true}}\n"
    )
    omissions = read_world(file).report.omissions
    assert [entry.where for entry in omissions] == [
        "robot[0].behavior",
        "robot[0].color",
        "obstacle[0].plot",
        "obstacle_1.kinematics",
        "obstacle_2.kinematics",
        "world.control_mode",
        "gui",
    ]


def test_a_map_of_ros_is_raised_too(tmp_path):
    cells = np.zeros((20, 10), dtype=np.int8)
    cells[4:8, 2:5] = 100
    path = Occupancy(cells, 0.5, (-3.0, 1.0, 0.0)).save_ros(tmp_path / "map")
    target = tmp_path / "scene.usda"
    assert main(["stage", str(path), "-o", str(target), "--height", "2"]) == 0
    (item,) = build_world(open_stage(target)).obstacles
    assert item.name == "map"
    assert item.area().bounds == pytest.approx((-1.0, 2.0, 1.0, 3.5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "a mapping with"),
        ("wrld: {}\n", "unknown key 'wrld'"),
        ("obstacle: [{shape: {name: blob}}]\n", r"obstacle\[0\].shape: 'blob'"),
        ("obstacle: [{shape: {name: circle, radius: big}}]\n", "'big', expected a number"),
        ("robot: [{kinematics: {name: legs}}]\n", "'legs', expected diff"),
        ("obstacle: [{distribution: {name: random}}]\n", "give a seed"),
        ("world: {obstacle_map: nowhere.png}\n", "there is no image"),
        ("obstacle: [{shape: {name: polygon, vertices: [[0, 0], [1]]}}]\n", "vertices"),
        ("world: [\n", "not YAML"),
    ],
)
def test_bad_worlds_are_refused_in_one_line(tmp_path, capsys, text, message):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(StageError, match=message):
        read_world(file)
    assert main(["stage", str(file), "-o", str(tmp_path / "scene.usda")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "scene.usda").exists()


def test_random_places_are_apart_and_the_same_for_one_seed(tmp_path):
    file = tmp_path / "random.yaml"
    section = {
        "number": 6,
        "distribution": {"name": "random", "min_distance": 1.5},
        "shape": {"name": "circle", "radius": 0.2},
    }
    file.write_text(yaml.safe_dump({"world": {"width": 10, "height": 10}, "obstacle": section}))
    world = read_world(file, seed=4)
    places = [item.pose for item in world.obstacles]
    assert len(places) == 6
    assert places == [item.pose for item in read_world(file, seed=4).obstacles]
    assert min(math.dist(a[:2], b[:2]) for i, a in enumerate(places) for b in places[:i]) >= 1.5


@pytest.mark.parametrize("source", ["stage", "world", "map"])
def test_the_command_draws_stages_worlds_and_maps(source, tmp_path, capsys):
    from PIL import Image

    from irsim_isaac.resources import resource

    cells = np.zeros((40, 20), dtype=np.int8)
    cells[3, 4] = 100
    grid = Occupancy(cells, 0.25, (-5.0, -2.0, 0.0))
    path = {
        "stage": lambda: resource("data/warehouse.usda"),
        "world": lambda: WORLDS / "shapes.yaml",
        "map": lambda: grid.save_ros(tmp_path / "map"),
    }[source]()
    picture = tmp_path / "x.png"
    assert main(["show", str(path), "-o", str(picture), "--size", "400", "--seed=8,-5"]) == 0
    image = np.asarray(Image.open(picture).convert("RGB"), dtype=int)
    assert max(image.shape[:2]) == 400
    if source == "map":
        # The occupied cell lies in the fourth column of ten pixels, the fifth row from below.
        assert image[155, 35].max() < 80
        assert image[155, 55].min() > 240
        assert image[145, 35].min() > 240
    else:
        blue = (image[:, :, 2] - image[:, :, 0]) > 100
        assert blue.any()
    assert main(["show", str(path), "-o", str(tmp_path / "x.jpg")]) == 2
    assert main(["show", str(tmp_path / "nothing.yaml"), "-o", str(picture)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_a_stage_goes_to_irsim_and_back_with_all_that_irsim_has_no_word_for(tmp_path):
    """Heights, labels and wheels travel in the section that IR-SIM hands back untouched."""
    from irsim_isaac.resources import resource

    world = build_world(open_stage(resource("data/warehouse.usda")), tolerance=0.0)
    again = read_world(world.save(tmp_path))
    for before, after in zip(world.obstacles, again.obstacles, strict=True):
        for field in ("name", "height", "label", "mass", "pose"):
            assert getattr(after, field) == getattr(before, field)
        assert shapely.hausdorff_distance(before.outline(), after.outline()) < 1e-6
    ((robot, was),) = zip(again.robots, world.robots, strict=True)
    for field in ("name", "kinematics", "footprint", "height", "wheel_radius", "track", "mass"):
        assert getattr(robot, field) == getattr(was, field)
    assert [(m.name, m.x, m.z) for m in robot.lidars] == [(m.name, m.x, m.z) for m in was.lidars]
    round_trip = _back(world_to_stage(again), tmp_path, world)
    assert {item.name: item.height for item in round_trip.obstacles} == pytest.approx(
        {item.name: item.height for item in world.obstacles}, abs=1e-5
    )
    assert {item.label for item in round_trip.obstacles} == {item.label for item in world.obstacles}
