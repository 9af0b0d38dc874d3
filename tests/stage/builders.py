"""Small stages in memory for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pxr import Gf, Usd, UsdGeom, Vt

BOX_FACES = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
)


def new_stage(*, meters_per_unit: float = 1.0, up_axis: str = "Z") -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters_per_unit)
    UsdGeom.SetStageUpAxis(stage, up_axis)
    return stage


def end_lines(text: str) -> str:
    """End the line before each closing brace, as the format wants it."""
    return text.replace(" }", "\n}")


def text_stage(text: str, *, header: str = 'metersPerUnit = 1\n    upAxis = "Z"') -> Usd.Stage:
    """A stage from the body of a .usda file, in which blocks may end on their last line."""
    stage = Usd.Stage.CreateInMemory()
    assert stage.GetRootLayer().ImportFromString(
        f"#usda 1.0\n(\n    {header}\n)\n{end_lines(text)}"
    )
    return stage


def in_stage_units(stage: Usd.Stage, points: ArrayLike) -> NDArray[np.float64]:
    """Bring points in metres with z up to the stage's own coordinates."""
    array = np.asarray(points, dtype=np.float64)
    if UsdGeom.GetStageUpAxis(stage) == "Y":
        array = np.column_stack([array[:, 0], array[:, 2], -array[:, 1]])
    return array / UsdGeom.GetStageMetersPerUnit(stage)


def add_mesh(
    stage: Usd.Stage,
    path: str,
    points: ArrayLike,
    faces: Sequence[Sequence[int]] | NDArray[np.integer],
) -> UsdGeom.Mesh:
    """Add a mesh whose points are in metres with z up."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    placed = in_stage_units(stage, points)
    # Points of meshes are floats; the scale of an op carries the unit without rounding twice.
    mesh.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*map(float, point)) for point in placed]))
    mesh.CreateFaceVertexCountsAttr([len(face) for face in faces])
    mesh.CreateFaceVertexIndicesAttr([int(index) for face in faces for index in face])
    mesh.CreateSubdivisionSchemeAttr("none")
    return mesh


def box_points(low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    corners = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
    return np.asarray(low + corners * (high - low))


def add_box(stage: Usd.Stage, path: str, low: ArrayLike, high: ArrayLike) -> UsdGeom.Mesh:
    """Add a closed mesh between two corners."""
    return add_mesh(stage, path, box_points(low, high), BOX_FACES)


def add_cube(
    stage: Usd.Stage,
    path: str,
    center: Sequence[float],
    size: Sequence[float] = (1.0, 1.0, 1.0),
    *,
    yaw: float = 0.0,
) -> UsdGeom.Cube:
    """Add an implicit cube, in the stage's own coordinates."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(1.0)
    cube.AddTranslateOp().Set(Gf.Vec3d(*center))
    if yaw:
        cube.AddRotateZOp().Set(yaw)
    cube.AddScaleOp().Set(Gf.Vec3f(*size))
    return cube
