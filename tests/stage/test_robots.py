"""Robots from files, from starts and from articulations."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import yaml

pytest.importorskip("pxr")

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.errors import StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.resources import resource
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.articulations import find_articulations
from irsim_isaac.stage.opening import open_stage
from irsim_isaac.stage.robot_files import load_robot, robot_names
from irsim_isaac.stage.robots import lidar_mounts, robot_specs, robot_starts, start_pose
from irsim_isaac.stage.wheeled import add_wheeled_robot


def _stage(meters=1.0, up="Z") -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters)
    UsdGeom.SetStageUpAxis(stage, up)
    return stage


def _untold(stage, path):
    """Take away what a robot says of itself, so that it must be measured."""
    prim = stage.GetPrimAtPath(path)
    for attribute in prim.GetAttributes():
        if attribute.GetName().startswith("irsim:"):
            prim.RemoveProperty(attribute.GetName())


def test_the_robots_that_travel_with_the_package_are_sound():
    assert {"differential", "turtlebot4", "jackal", "nova_carter", "ridgeback", "f1tenth"} <= set(
        robot_names()
    )
    for name in robot_names():
        spec = load_robot(name)
        assert spec.name == name
        text = resource(f"config/robots/{name}.yaml").read_text()
        assert name == "differential" or yaml.safe_load(text)["source"]
        half = (
            min(abs(y) for _, y in spec.footprint)
            if isinstance(spec.footprint, tuple)
            else spec.footprint
        )
        assert spec.track / 2.0 <= half, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wheel_radius": -1}, "wheel_radius"),
        ({"legs": 4}, "legs"),
        ({"kinematics": "hover"}, "kinematics"),
        ({"footprint": {"radius": 0.2, "length": 3}}, "footprint"),
        ({"kinematics": "acker"}, "wheelbase"),
        ({"track": None}, "track"),
    ],
)
def test_a_file_with_a_mistake_names_its_key(tmp_path, change, message):
    content = yaml.safe_load(resource("config/robots/turtlebot4.yaml").read_text()) | change
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(StageError, match=message):
        load_robot(file)


def test_an_unknown_robot_lists_the_known_ones(tmp_path):
    with pytest.raises(StageError, match="turtlebot4"):
        load_robot("r2d2")
    with pytest.raises(StageError, match="robot file was expected"):
        load_robot(tmp_path / "none.yaml")


def test_a_start_takes_its_robot_from_a_file_and_its_lidars_from_the_stage():
    stage = open_stage(resource("data/warehouse.usda"))
    (spec,) = robot_specs(stage)
    plain = load_robot("differential")
    assert replace(spec, name=plain.name, lidars=()) == plain
    assert spec.name == "carrier"
    (mount,) = spec.lidars
    assert (mount.x, mount.y, mount.z, mount.roll, mount.pitch, mount.yaw) == (
        0.1, 0.0, 0.28, 0.0, 0.0, 0.0,
    )  # fmt: skip
    assert (mount.profile.beam_count, mount.profile.clockwise) == (3200, True)
    assert robot_starts(stage) == {"carrier": (-8.0, -4.0, 0.0)}


def test_a_robot_can_be_named_in_the_place_of_the_files():
    stage = open_stage(resource("data/warehouse.usda"))
    (spec,) = robot_specs(stage, robot="nova_carter")
    assert (spec.name, spec.wheel_radius, len(spec.lidars)) == ("carrier", 0.14, 1)
    (own,) = robot_specs(stage, robot=RobotSpec("mine", wheel_radius=0.3))
    assert own.wheel_radius == 0.3


def test_poses_are_composed_and_unknown_prims_refused():
    stage = _stage()
    parent = UsdGeom.Xform.Define(stage, "/P")
    parent.AddTranslateOp().Set(Gf.Vec3d(1.0, 2.0, 0.0))
    parent.AddRotateZOp().Set(30.0)
    child = UsdGeom.Xform.Define(stage, "/P/Start")
    child.AddTranslateOp().Set(Gf.Vec3d(2.0, 0.0, 0.3))
    child.AddRotateZOp().Set(15.0)
    x, y, yaw = start_pose(stage, "/P/Start")
    assert (x, y) == pytest.approx((1.0 + math.sqrt(3.0), 3.0))
    assert yaw == pytest.approx(math.pi / 4.0)
    with pytest.raises(StageError, match="no prim at '/Nowhere'"):
        start_pose(stage, "/Nowhere")


def test_a_lidar_whose_schema_nobody_knows_is_still_placed():
    stage = _stage()
    base = UsdGeom.Xform.Define(stage, "/R")
    base.AddRotateZOp().Set(90.0)
    lidar = stage.DefinePrim("/R/Mast/Lidar", "OmniLidar")
    for name, value in LidarProfile.load("TIM781").to_omni_lidar().items():
        kind = {str: "token", bool: "bool", int: "uint", float: "float"}.get(type(value))
        kind = kind or ("uint[]" if all(isinstance(v, int) for v in value) else "float[]")
        lidar.CreateAttribute(name, Sdf.ValueTypeNames.Find(kind)).Set(value)
    for name, value in (
        ("xformOp:translate", Gf.Vec3d(0.2, -0.1, 0.4)),
        ("xformOp:rotateXYZ", Gf.Vec3f(10.0, 20.0, 30.0)),
    ):
        kind = "double3" if name.endswith("translate") else "float3"
        lidar.CreateAttribute(name, Sdf.ValueTypeNames.Find(kind)).Set(value)
    lidar.CreateAttribute("xformOpOrder", Sdf.ValueTypeNames.TokenArray).Set(
        ["xformOp:translate", "xformOp:rotateXYZ"]
    )
    (mount,) = lidar_mounts(stage, base.GetPrim())
    assert (mount.x, mount.y, mount.z) == pytest.approx((0.2, -0.1, 0.4))
    angles = (mount.roll, mount.pitch, mount.yaw)
    assert angles == pytest.approx(tuple(map(math.radians, (10.0, 20.0, 30.0))), abs=1e-6)
    assert mount.profile.beam_count == 811


@pytest.mark.parametrize(("meters", "up"), [(1.0, "Z"), (0.01, "Z"), (0.01, "Y")])
@pytest.mark.parametrize("name", ["differential", "f1tenth", "ridgeback", "turtlebot4"])
def test_articulations_are_told_by_their_joints(name, meters, up):
    """Whatever the units and the up axis, and without a word of theirs."""
    spec = load_robot(name)
    if name == "differential":
        spec = replace(spec, lidars=(LidarMount(LidarProfile(), x=0.2, z=0.3, yaw=0.5),))
    stage = _stage(meters, up)
    add_wheeled_robot(stage, spec, (1.0, -2.0, 0.7), "/World/Robot")
    _untold(stage, "/World/Robot")
    (found,) = robot_specs(stage)
    assert found.prim_path == "/World/Robot"
    assert found.kinematics == spec.kinematics
    assert robot_starts(stage)["Robot"] == pytest.approx((1.0, -2.0, 0.7), abs=1e-6)
    if spec.kinematics in ("diff", "acker"):
        assert found.wheel_radius == pytest.approx(spec.wheel_radius, abs=1e-4)
        assert found.track == pytest.approx(spec.track, abs=1e-6)
    if spec.kinematics == "acker":
        assert found.wheelbase == pytest.approx(spec.wheelbase, abs=1e-6)
        assert len(found.joints) == 4
    assert found.mass == pytest.approx(spec.mass, rel=1e-6)
    if isinstance(spec.footprint, tuple):
        assert sorted(found.footprint) == pytest.approx(sorted(spec.footprint), abs=1e-4)
    else:
        assert found.footprint == pytest.approx(spec.footprint, abs=1e-3)
    assert found.height == pytest.approx(spec.height, abs=1e-3)
    for mount, own in zip(spec.lidars, found.lidars, strict=True):
        assert (own.x, own.z, own.yaw) == pytest.approx((mount.x, mount.z, mount.yaw), abs=1e-4)


def test_what_an_articulation_says_of_itself_wins():
    stage = _stage()
    add_wheeled_robot(stage, RobotSpec("r", max_linear_speed=0.7), (0.0, 0.0, 0.0), "/R")
    stage.GetPrimAtPath("/R").GetAttribute("irsim:track").Set(0.55)
    (spec,) = robot_specs(stage)
    assert (spec.track, spec.max_linear_speed) == (0.55, 0.7)


def test_skid_steering_is_differential_with_pairs_of_wheels():
    stage = _stage()
    _wheels(stage, [(x, y) for x in (0.2, -0.2) for y in (0.3, -0.3)])
    (spec,) = robot_specs(stage)
    assert (spec.kinematics, len(spec.joints)) == ("diff", 4)
    assert spec.track == pytest.approx(0.6)
    assert spec.wheelbase == pytest.approx(0.4)
    assert spec.joints[:2] == ("left_0", "right_1")
    assert robot_starts(stage)["Bot"] == pytest.approx((5.0, 1.0, 0.0))


def test_sides_are_told_by_where_wheels_are_not_by_their_names():
    stage = _stage()
    _wheels(stage, [(0.0, -0.3), (0.0, 0.3)], [0.0, 0.0])
    (spec,) = robot_specs(stage)
    assert (spec.kinematics, spec.joints) == ("diff", ("wheel_1", "wheel_0"))


def test_wheels_in_three_directions_are_omnidirectional():
    stage = _stage()
    angles = [math.radians(90.0 + 120.0 * k) for k in range(3)]
    _wheels(stage, [(0.2 * math.cos(a), 0.2 * math.sin(a)) for a in angles], angles)
    (spec,) = robot_specs(stage)
    assert (spec.kinematics, len(spec.joints)) == ("omni_angular", 3)


def test_an_arm_is_no_robot_on_wheels():
    stage = _stage()
    UsdGeom.Xform.Define(stage, "/Arm")
    for name in ("base", "upper"):
        UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Cube.Define(stage, f"/Arm/{name}").GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath("/Arm"))
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/Arm/shoulder")
    joint.CreateAxisAttr("Z")
    joint.CreateBody0Rel().SetTargets(["/Arm/base"])
    joint.CreateBody1Rel().SetTargets(["/Arm/upper"])
    assert len(find_articulations(stage)) == 1
    assert robot_specs(stage) == ()


def test_two_robots_of_one_name_are_refused():
    stage = _stage()
    for path in ("/A/Bot", "/B/Bot"):
        add_wheeled_robot(stage, RobotSpec("r"), (0.0, 0.0, 0.0), path)
    with pytest.raises(StageError, match="two robots are called 'Bot'"):
        robot_specs(stage)


def test_a_robot_is_not_written_over_another_prim():
    stage = _stage()
    UsdGeom.Xform.Define(stage, "/R")
    with pytest.raises(StageError, match="a prim stands at /R already"):
        add_wheeled_robot(stage, RobotSpec("r"), (0.0, 0.0, 0.0), "/R")
    with pytest.raises(StageError, match="no prim path"):
        add_wheeled_robot(stage, RobotSpec("r"), (0.0, 0.0, 0.0), "R one")
    with pytest.raises(StageError, match="needs a wheelbase"):
        add_wheeled_robot(stage, RobotSpec("r", kinematics="acker"), (0.0, 0.0, 0.0), "/Car")


def _wheels(stage, places, angles=None):
    """Write a body with wheels of 0.1 m as another tool would, their axes along local y."""
    root = UsdGeom.Xform.Define(stage, "/Bot")
    root.AddTranslateOp().Set(Gf.Vec3d(5.0, 1.0, 0.0))
    UsdPhysics.ArticulationRootAPI.Apply(root.GetPrim())
    body = UsdGeom.Cube.Define(stage, "/Bot/chassis")
    body.CreateSizeAttr(1.0)
    body.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.2))
    body.AddScaleOp().Set(Gf.Vec3f(0.5, 0.4, 0.1))
    UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
    for number, (x, y) in enumerate(places):
        angle = angles[number] if angles else 0.0
        name = f"wheel_{number}" if angles else f"{'left' if y > 0 else 'right'}_{number}"
        wheel = UsdGeom.Cylinder.Define(stage, f"/Bot/{name}_link")
        wheel.CreateRadiusAttr(0.1)
        wheel.CreateHeightAttr(0.04)
        wheel.CreateAxisAttr("Y")
        wheel.AddTranslateOp().Set(Gf.Vec3d(x, y, 0.1))
        wheel.AddRotateZOp().Set(math.degrees(angle))
        UsdPhysics.RigidBodyAPI.Apply(wheel.GetPrim())
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"/Bot/{name}")
        joint.CreateAxisAttr("Y")
        joint.CreateBody0Rel().SetTargets(["/Bot/chassis"])
        joint.CreateBody1Rel().SetTargets([f"/Bot/{name}_link"])
        UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular").CreateDampingAttr(100.0)
