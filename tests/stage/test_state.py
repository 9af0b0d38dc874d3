"""A stage at a time, as a state of the world."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("pxr")

from pxr import Gf, UsdGeom, UsdPhysics

from irsim_isaac import msg
from irsim_isaac.resources import resource
from irsim_isaac.stage import (
    object_state,
    open_stage,
    read_geometry,
    read_obstacles,
    robot_specs,
    robot_starts,
    world_state,
)
from tests.stage.builders import new_stage

UNITS = [(1.0, "Z"), (0.01, "Y"), (0.01, "Z"), (1.0, "Y")]


def a_sliding_crate(meters_per_unit, up_axis):
    """A crate at (1, 2) that slides 3 m along x in 1.5 s and turns a quarter about z."""
    stage = new_stage(meters_per_unit=meters_per_unit, up_axis=up_axis)
    stage.SetTimeCodesPerSecond(24.0)

    def point(x, y, z):
        x, y, z = (value / meters_per_unit for value in (x, y, z))
        return Gf.Vec3d(x, y, z) if up_axis == "Z" else Gf.Vec3d(x, z, -y)

    crate = UsdGeom.Cube.Define(stage, "/World/crate")
    crate.CreateSizeAttr(0.5 / meters_per_unit)
    move = crate.AddTranslateOp()
    turn = crate.AddRotateZOp() if up_axis == "Z" else crate.AddRotateYOp()
    move.Set(point(1, 2, 0.25))
    turn.Set(0.0)
    for code, x, angle in ((0, 1, 0), (36, 4, 90)):
        move.Set(point(x, 2, 0.25), code)
        turn.Set(float(angle), code)
    body = UsdPhysics.RigidBodyAPI.Apply(crate.GetPrim())
    body.CreateVelocityAttr(Gf.Vec3f(point(2, 0, 0)))
    body.CreateAngularVelocityAttr(Gf.Vec3f(0, 0, 60) if up_axis == "Z" else Gf.Vec3f(0, 60, 0))
    UsdPhysics.MassAPI.Apply(crate.GetPrim()).CreateMassAttr(3.0)
    return stage


@pytest.mark.parametrize(("meters_per_unit", "up_axis"), UNITS)
def test_poses_and_velocities_are_in_metres_with_z_up(meters_per_unit, up_axis):
    stage = a_sliding_crate(meters_per_unit, up_axis)
    at_rest = world_state(stage).objects[0]
    assert (at_rest.name, at_rest.role, at_rest.static) == ("crate", "obstacle", False)
    position = at_rest.odom.pose.pose.position
    assert (position.x, position.y) == pytest.approx((1.0, 2.0), abs=1e-6)

    obstacles = read_obstacles(stage, read_geometry(stage))
    state = world_state(stage, time=1.5, seq=15, step_time=0.1, obstacles=obstacles)
    crate = state.objects[0]
    assert state.header == crate.header == msg.Header(15, 1.5)
    position = crate.odom.pose.pose.position
    assert (position.x, position.y) == pytest.approx((4.0, 2.0), abs=1e-6)
    assert crate.odom.pose.pose.orientation.to_yaw() == pytest.approx(math.pi / 2, abs=1e-6)
    twist = crate.odom.twist.twist
    assert (twist.linear.x, twist.linear.y) == pytest.approx((0.0, -2.0), abs=1e-6)
    assert twist.angular.z == pytest.approx(math.radians(60), abs=1e-6)
    half = object_state(stage, "crate", time=0.75, obstacles=obstacles)
    assert half.odom.pose.pose.position.x == pytest.approx(2.5, abs=1e-6)
    assert half.odom.pose.pose.orientation.to_yaw() == pytest.approx(math.pi / 4, abs=1e-6)
    with pytest.raises(KeyError, match="no object is named 'box'; objects: crate"):
        object_state(stage, "box", obstacles=obstacles)


def test_the_warehouse_is_told_as_its_world():
    stage = open_stage(resource("data/warehouse.usda"))
    state = world_state(stage)
    starts = robot_starts(stage)
    assert [item.name for item in state.robots] == [spec.name for spec in robot_specs(stage)]
    for item in state.robots:
        pose = item.odom.pose.pose
        got = (pose.position.x, pose.position.y, pose.orientation.to_yaw())
        assert got == pytest.approx(starts[item.name], abs=1e-9)
    names = [item.name for item in state.objects]
    assert len(set(names)) == len(names)
    assert [item.id for item in state.objects] == list(range(len(names)))
    assert state.obstacles
    assert msg.WorldState.from_json(state.to_json()) == state
