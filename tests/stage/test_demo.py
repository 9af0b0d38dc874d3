"""The demo stages are what their script writes, and hold what the demo needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irsim_isaac.resources import resource

pxr = pytest.importorskip("pxr")

from pxr import Usd, UsdGeom, UsdPhysics  # noqa: E402 - after the check that it is there


def _stage() -> Usd.Stage:
    return Usd.Stage.Open(str(resource("data/warehouse.usda")))


def test_the_script_reproduces_the_stages_byte_for_byte(tmp_path):
    script = resource("data/make_demo_stages.py")
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    written = sorted(tmp_path.iterdir())
    assert [path.name for path in written] == ["warehouse.usda"]
    for path in written:
        assert path.read_bytes() == resource(f"data/{path.name}").read_bytes()
        assert path.stat().st_size < 200_000


def test_the_warehouse_is_in_metres_with_z_up():
    stage = _stage()
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert not stage.GetCompositionErrors()


def test_every_shape_is_a_collider_and_every_authored_extent_is_right():
    stage = _stage()
    shapes = [
        prim for prim in stage.Traverse(Usd.TraverseInstanceProxies()) if prim.IsA(UsdGeom.Gprim)
    ]
    assert len(shapes) == 19
    for prim in shapes:
        assert prim.HasAPI(UsdPhysics.CollisionAPI), prim.GetPath()
        extent = UsdGeom.Boundable(prim).GetExtentAttr().Get()
        computed = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), 0)
        assert list(extent) == list(computed), prim.GetPath()


def test_the_ground_lies_below_the_height_band_and_one_body_moves():
    stage = _stage()
    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.default_])
    ground = cache.ComputeWorldBound(stage.GetPrimAtPath("/World/Ground")).ComputeAlignedRange()
    assert ground.GetMax()[2] == pytest.approx(0.0, abs=1e-8)
    bodies = [
        str(prim.GetPath()) for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)
    ]
    assert bodies == ["/World/Crate"]


def test_the_rack_is_one_prototype_used_twice():
    stage = _stage()
    racks = [stage.GetPrimAtPath(f"/World/{name}") for name in ("RackWest", "RackEast")]
    assert all(prim.IsInstance() for prim in racks)
    assert racks[0].GetPrototype() == racks[1].GetPrototype()
    assert (
        len(UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/Cartons")).GetPositionsAttr().Get())
        == 11
    )


def test_the_lidar_has_the_attributes_of_an_rplidar_s2e():
    stage = _stage()
    lidar = stage.GetPrimAtPath("/World/RobotStart/Lidar")
    values = {
        name: lidar.GetAttribute(f"omni:sensor:Core:{name}").Get()
        for name in (
            "scanType",
            "rotationDirection",
            "scanRateBaseHz",
            "patternFiringRateHz",
            "farRangeM",
        )
    }
    assert values == {
        "scanType": "ROTARY",
        "rotationDirection": "CW",
        "scanRateBaseHz": 10,
        "patternFiringRateHz": 32000,
        "farRangeM": 30.0,
    }
    assert lidar.GetAttribute("omni:sensor:Core:nearRangeM").Get() == pytest.approx(0.05)
    assert lidar.GetAttribute("omni:sensor:tickRate").Get() == 10.0
    assert list(lidar.GetAttribute("omni:sensor:Core:emitterState:s001:azimuthDeg").Get()) == [0.0]
