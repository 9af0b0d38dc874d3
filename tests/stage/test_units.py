"""Units, axes and quaternions of a stage, and layers that speak others."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, UsdGeom

from irsim_isaac.errors import StageError
from irsim_isaac.stage import (
    gf_quaternion,
    metric_differences,
    open_stage,
    quaternion_xyzw,
    read_geometry,
    stage_units,
)
from tests.stage.builders import new_stage

number = st.floats(-1e3, 1e3)


@given(number, number, number, st.sampled_from([1.0, 0.01, 0.0254]), st.sampled_from(["Y", "Z"]))
def test_a_point_comes_back_from_metres(
    x: float, y: float, z: float, unit: float, axis: str
) -> None:
    units = stage_units(new_stage(meters_per_unit=unit, up_axis=axis))
    assert units.stage_point(*units.point(x, y, z)) == pytest.approx((x, y, z), abs=1e-9)


def test_the_up_axis_becomes_z_and_handedness_stays() -> None:
    units = stage_units(new_stage(meters_per_unit=0.01, up_axis="Y"))
    assert units.point(100, 200, 300) == (1.0, -3.0, 2.0)
    assert np.linalg.det(units.rotation) == 1.0


@given(st.tuples(number, number, number, number))
def test_quaternions_are_turned_over_by_name(values: tuple[float, float, float, float]) -> None:
    x, y, z, w = values
    assert quaternion_xyzw(gf_quaternion(x, y, z, w)) == values
    assert quaternion_xyzw(Gf.Quatd(w, x, y, z)) == values


def test_the_pose_of_a_prim_is_in_metres_with_z_up() -> None:
    stage = new_stage(meters_per_unit=0.01, up_axis="Y")
    xform = UsdGeom.Xform.Define(stage, "/Robot")
    xform.AddTranslateOp().Set((100, 50, -200))
    xform.AddRotateYOp().Set(90)
    xform.AddScaleOp().Set((3, 3, 3))
    matrix = xform.ComputeLocalToWorldTransform(0)
    position, quaternion = stage_units(stage).pose(matrix)
    assert position == pytest.approx((1.0, 2.0, 0.5))
    # The prim's own x axis points along the stage's -z, which is the world's y.
    x, y, z, w = quaternion
    forward = (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w))
    assert forward == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)
    assert math.hypot(x, y, z, w) == pytest.approx(1.0)


@pytest.mark.parametrize("options", [{"meters_per_unit": 0.0}, {"meters_per_unit": math.nan}])
def test_an_override_that_makes_no_sense_is_refused(
    tmp_path: Path, options: dict[str, float]
) -> None:
    path = tmp_path / "stage.usda"
    path.write_text("#usda 1.0\n")
    with pytest.raises(StageError, match="a positive length was expected"):
        open_stage(path, **options)  # type: ignore[arg-type]


def mixed_stage(folder: Path) -> Path:
    """A stage in metres with z up that refers to a box in centimetres with y up."""
    (folder / "box.usda").write_text(
        '#usda 1.0\n(\n metersPerUnit = 0.01\n upAxis = "Y"\n defaultPrim = "Box"\n)\n'
        'def Xform "Box" {\n def Cube "Body" {\n  double size = 1\n'
        "  float3 xformOp:scale = (100, 300, 50)\n"
        '  uniform token[] xformOpOrder = ["xformOp:scale"]\n }\n}\n'
    )
    path = folder / "room.usda"
    path.write_text(
        '#usda 1.0\n(\n metersPerUnit = 1\n upAxis = "Z"\n)\n'
        'def Xform "Crate" (\n references = @box.usda@\n) {\n'
        "  double3 xformOp:translate = (4, 5, 0)\n"
        '  uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n'
    )
    return path


def test_a_layer_in_other_units_is_named(tmp_path: Path) -> None:
    stage = open_stage(mixed_stage(tmp_path))
    (difference,) = metric_differences(stage)
    assert difference.prim == "/Crate"
    assert difference.scale == 100.0
    (warning,) = read_geometry(stage).warnings
    assert "box.usda" in warning
    assert "units of 0.01 m with Y up" in warning


def test_fix_units_brings_it_to_its_true_size_and_writes_no_file(tmp_path: Path) -> None:
    path = mixed_stage(tmp_path)
    before = path.read_text()
    stage = open_stage(path, fix_units=True)
    geometry = read_geometry(stage)
    assert geometry.warnings == ()
    points = geometry.parts[0].points
    assert points.min(axis=0) == pytest.approx([3.5, 4.75, -1.5])
    assert points.max(axis=0) == pytest.approx([4.5, 5.25, 1.5])
    assert path.read_text() == before


def test_a_stage_that_agrees_with_itself_has_no_differences(shared: Path) -> None:
    stage = open_stage(shared / "usd" / "pegasus" / "BoxWithCylinders.usd")
    assert metric_differences(stage) == ()
