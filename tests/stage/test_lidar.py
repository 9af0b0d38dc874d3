"""The lidars of a stage: what they measure and where they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("pxr")

from pxr import Gf, Sdf, Usd, UsdGeom

from irsim_isaac.errors import ScanError, StageError
from irsim_isaac.lidar import LidarProfile, lidar_profiles
from irsim_isaac.stage import lidar_mounts, lidar_profile

TYPES = {
    str: Sdf.ValueTypeNames.Token,
    bool: Sdf.ValueTypeNames.Bool,
    int: Sdf.ValueTypeNames.UInt,
    float: Sdf.ValueTypeNames.Float,
}


def add_lidar(stage: Usd.Stage, path: str, profile: LidarProfile, release: str) -> Usd.Prim:
    """Author a lidar as Isaac Sim does: float32 numbers, unsigned frequencies."""
    prim = stage.DefinePrim(path, "OmniLidar")
    for name, value in profile.to_omni_lidar(release=release).items():
        if isinstance(value, list):
            whole = name.endswith(("fireTimeNs", "channelId"))
            kind = Sdf.ValueTypeNames.UIntArray if whole else Sdf.ValueTypeNames.FloatArray
            entries = [round(entry) if whole else entry for entry in value]
            prim.CreateAttribute(name, kind).Set(entries)
        else:
            prim.CreateAttribute(name, TYPES[type(value)]).Set(value)
    return prim


@pytest.mark.parametrize("release", ["5", "6"])
@pytest.mark.parametrize("name", lidar_profiles())
def test_a_prim_tells_the_whole_profile(name: str, release: str) -> None:
    profile = LidarProfile.load(name)
    stage = Usd.Stage.CreateInMemory()
    found = lidar_profile(add_lidar(stage, "/World/lidar", profile, release))
    assert found.name == "lidar"
    assert found.beam_count == profile.beam_count
    assert np.allclose(found.bearings, profile.bearings, rtol=0.0, atol=1e-6)
    assert found.scan_rate == profile.scan_rate
    assert found.clockwise == profile.clockwise
    assert found.full_circle == profile.full_circle
    assert found.time_increment == pytest.approx(profile.time_increment, rel=1e-3)
    for field in ("range_min", "range_max", "range_accuracy", "range_resolution"):
        assert np.float32(getattr(found, field)) == np.float32(getattr(profile, field))


def test_a_prim_that_is_no_lidar_is_refused_by_its_path() -> None:
    stage = Usd.Stage.CreateInMemory()
    camera = UsdGeom.Camera.Define(stage, "/World/camera").GetPrim()
    with pytest.raises(StageError, match=r"/World/camera: a prim of type 'Camera' without"):
        lidar_profile(camera)
    with pytest.raises(StageError, match="does not exist"):
        lidar_profile(stage.GetPrimAtPath("/World/absent"))
    lidar = stage.DefinePrim("/World/lidar", "OmniLidar")
    lidar.CreateAttribute("omni:sensor:Core:nearRangeM", Sdf.ValueTypeNames.Float).Set(0.1)
    with pytest.raises(ScanError, match="/World/lidar: scanRateBaseHz is missing"):
        lidar_profile(lidar)


def test_a_lidar_is_where_its_prim_and_all_above_it_put_it() -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.Xform.Define(stage, "/World")
    moved = UsdGeom.Xform.Define(stage, "/World/moved")
    moved.AddTranslateOp().Set(Gf.Vec3d(50.0, 0.0, 10.0))
    moved.AddRotateZOp().Set(90.0)
    lidar = UsdGeom.Xformable(
        add_lidar(stage, "/World/moved/lidar", LidarProfile.load("RPLIDAR_S2E"), "6")
    )
    lidar.AddTranslateOp().Set(Gf.Vec3d(100.0, 200.0, 30.0))
    lidar.AddRotateZOp().Set(30.0)
    (mount,) = lidar_mounts(stage, stage.GetPrimAtPath("/World"))
    assert (mount.x, mount.y, mount.z) == pytest.approx((0.5 - 2.0, 1.0, 0.4))
    assert (mount.roll, mount.pitch) == pytest.approx((0.0, 0.0))
    assert mount.yaw == pytest.approx(math.radians(120.0))
    assert mount.profile.beam_count == 3200
