"""Reading the surfaces of a stage: sources, filters, bodies, solids."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, UsdGeom, UsdPhysics

from irsim_isaac.errors import StageError
from irsim_isaac.stage import Geometry, read_geometry
from tests.stage.builders import (
    BOX_FACES,
    add_box,
    add_cube,
    add_mesh,
    box_points,
    new_stage,
    text_stage,
)


def paths(geometry: Geometry) -> list[str]:
    return [part.path for part in geometry.parts]


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = (points[triangles[:, corner]] - points[0] for corner in range(3))
    return float((np.cross(a, b) * c).sum() / 6.0)


def test_parts_are_in_metres_float64_with_whole_triangles() -> None:
    stage = new_stage(meters_per_unit=0.01, up_axis="Y")
    add_mesh(stage, "/Mesh", box_points((0, 0, 0), (1, 2, 3)), BOX_FACES)
    (part,) = read_geometry(stage).parts
    assert part.points.dtype == np.float64
    assert part.triangles.dtype == np.int32
    assert part.points.max(axis=0) == pytest.approx([1, 2, 3], abs=1e-6)
    assert part.solid == "closed"
    assert volume(part.points, part.triangles) == pytest.approx(6.0)


def test_shear_and_nested_transforms_are_composed() -> None:
    stage = new_stage()
    UsdGeom.Xform.Define(stage, "/A").AddTransformOp().Set(
        Gf.Matrix4d(1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 10, 0, 0, 1)
    )
    add_cube(stage, "/A/Cube", (0, 2, 0), (2, 2, 2))
    (part,) = read_geometry(stage).parts
    assert part.points.min(axis=0) == pytest.approx([9.5, 1, -1])
    assert part.points.max(axis=0) == pytest.approx([12.5, 3, 1])


@pytest.mark.parametrize(
    ("change", "solid"),
    [("whole", "closed"), ("unwelded", "closed"), ("open", "sheet"), ("flat", "sheet")],
)
def test_what_is_closed_is_told_by_places_not_by_vertex_numbers(change: str, solid: str) -> None:
    points, faces = box_points((0, 0, 0), (1, 1, 1)), BOX_FACES
    if change == "unwelded":
        points, faces = points[faces.ravel()], np.arange(24).reshape(6, 4)
    elif change == "open":
        faces = faces[1:]
    elif change == "flat":
        points = points * [1, 1, 0]
    stage = new_stage()
    add_mesh(stage, "/Mesh", points, faces)
    assert read_geometry(stage).parts[0].solid == solid


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=12, max_size=12), st.booleans())
def test_faces_that_look_either_way_still_close_a_mesh(flips: list[bool], unwelded: bool) -> None:
    """Two boxes in one mesh, each face turned at random."""
    points = np.concatenate([box_points((0, 0, 0), (1, 1, 1)), box_points((5, 0, 0), (6, 2, 1))])
    faces = np.concatenate([BOX_FACES, BOX_FACES + 8])
    faces = np.array(
        [face[::-1] if flip else face for face, flip in zip(faces, flips, strict=True)]
    )
    if unwelded:
        points, faces = points[faces.ravel()], np.arange(48).reshape(12, 4)
    stage = new_stage()
    add_mesh(stage, "/Mesh", points, faces)
    (part,) = read_geometry(stage).parts
    assert part.solid == "closed"
    # Two boxes that look opposite ways, each of them whole, are one mesh and its hollow.
    hollow = len({*flips[:6]}) == len({*flips[6:]}) == 1 and flips[0] != flips[6]
    assert volume(part.points, part.triangles) == pytest.approx(1.0 if hollow else 3.0)


def test_a_body_is_named_by_the_prim_that_moves_it() -> None:
    stage = new_stage()
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, "/Crate").GetPrim())
    add_cube(stage, "/Crate/Lid", (0, 0, 1))
    add_cube(stage, "/Wall", (5, 0, 1))
    off = UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, "/Off").GetPrim())
    off.CreateRigidBodyEnabledAttr(False)
    add_cube(stage, "/Off/Box", (9, 0, 1))
    UsdPhysics.ArticulationRootAPI.Apply(UsdGeom.Xform.Define(stage, "/Arm").GetPrim())
    add_cube(stage, "/Arm/Foot", (13, 0, 1))
    bodies = {part.path: part.body for part in read_geometry(stage).parts}
    assert bodies == {
        "/Crate/Lid": "/Crate", "/Wall": None, "/Off/Box": None, "/Arm/Foot": "/Arm",
    }  # fmt: skip
    still = read_geometry(stage, static_only=True)
    assert paths(still) == ["/Wall", "/Off/Box"]
    assert {item.where: item.kind for item in still.omissions} == {
        "/Crate/Lid": "moving", "/Arm/Foot": "moving",
    }  # fmt: skip


def collider(approximation: str) -> Geometry:
    stage = new_stage()
    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    points = [(x, y, z) for z in (0.0, 1.0) for x, y in outline]
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    faces = [list(range(5, -1, -1)), list(range(6, 12)), *sides]
    mesh = add_mesh(stage, "/L", points, faces)
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr(approximation)
    return read_geometry(stage, source="collision", tolerance=1e-5)


def test_a_mesh_collider_is_the_mesh() -> None:
    (part,) = collider("none").parts
    assert part.solid == "closed"
    assert volume(part.points, part.triangles) == pytest.approx(3.0)


def test_a_convex_hull_collider_is_the_hull() -> None:
    (part,) = collider("convexHull").parts
    assert part.solid == "filled"
    assert volume(part.points, part.triangles) == pytest.approx(3.5)


def test_a_bounding_cube_collider_is_the_box() -> None:
    (part,) = collider("boundingCube").parts
    assert part.solid == "filled"
    assert volume(part.points, part.triangles) == pytest.approx(4.0)


def test_a_bounding_sphere_collider_is_the_smallest_ball() -> None:
    (part,) = collider("boundingSphere").parts
    assert part.solid == "filled"
    low, high = part.points.min(axis=0), part.points.max(axis=0)
    # Through the ends of the two arms and the corner between them.
    assert (high - low) / 2 == pytest.approx(np.full(3, np.sqrt(2.25)), abs=1e-6)
    assert (high + low) / 2 == pytest.approx([1, 1, 0.5], abs=1e-6)


def test_an_approximation_of_the_engine_itself_is_read_by_the_mesh_and_told() -> None:
    geometry = collider("convexDecomposition")
    assert geometry.parts[0].solid == "closed"
    assert "/L (convexDecomposition)" in geometry.warnings[0]


def test_colliders_count_though_they_are_invisible_guides_and_by_an_ancestor() -> None:
    stage = text_stage("""
        def Xform "Shelf" (apiSchemas = ["PhysicsCollisionAPI"]) {
            token visibility = "invisible"
            def Cube "board" { token purpose = "guide" }
        }
        def Cube "off" (apiSchemas = ["PhysicsCollisionAPI"]) {
            bool physics:collisionEnabled = 0 }
        def Plane "ground" (apiSchemas = ["PhysicsCollisionAPI"]) {}
    """)
    geometry = read_geometry(stage, source="collision")
    assert paths(geometry) == ["/Shelf/board"]
    assert {item.where: item.kind for item in geometry.omissions} == {
        "/off": "no collision", "/ground": "infinite plane",
    }  # fmt: skip
    assert paths(read_geometry(stage)) == ["/off", "/ground"]


def test_both_reads_the_two_sources() -> None:
    stage = new_stage()
    add_cube(stage, "/Seen", (0, 0, 0))
    touched = add_cube(stage, "/Touched", (3, 0, 0))
    UsdPhysics.CollisionAPI.Apply(touched.GetPrim())
    touched.CreateVisibilityAttr("invisible")
    found = [(part.path, part.source) for part in read_geometry(stage, source="both").parts]
    assert found == [("/Seen", "visual"), ("/Touched", "collision")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"root": "/World/A"}, ["/World/A/Box", "/World/A/Deep/Box"]),
        ({"include": ["/World/A"]}, ["/World/A/Box", "/World/A/Deep/Box"]),
        ({"include": ["/World/*/Box"]}, ["/World/A/Box", "/World/B/Box"]),
        ({"include": ["Box"]}, ["/World/A/Box", "/World/A/Deep/Box", "/World/B/Box"]),
        ({"exclude": ["/World/**/Deep"]}, ["/World/A/Box", "/World/B/Box"]),
        ({"exclude": ["/World/?"]}, []),
        ({"exclude": ["**/A"], "include": ["Box"]}, ["/World/B/Box"]),
    ],
)
def test_globs_choose_by_path(options: dict[str, object], expected: list[str]) -> None:
    stage = new_stage()
    for path in ("/World/A/Box", "/World/A/Deep/Box", "/World/B/Box"):
        add_cube(stage, path, (0, 0, 0))
    geometry = read_geometry(stage, **options)  # type: ignore[arg-type]
    assert paths(geometry) == expected
    assert bool(geometry.omissions) is ("root" not in options and len(expected) < 3)


def test_curves_and_points_are_named() -> None:
    stage = new_stage()
    UsdGeom.BasisCurves.Define(stage, "/Curve")
    UsdGeom.Points.Define(stage, "/Points")
    geometry = read_geometry(stage)
    assert {item.where: item.kind for item in geometry.omissions} == {
        "/Curve": "no surface", "/Points": "no surface",
    }  # fmt: skip


def test_instancers_inside_instancers_are_expanded() -> None:
    stage = text_stage("""
        def PointInstancer "Outer" {
            int[] protoIndices = [0, 0]
            int64[] ids = [7, 9]
            point3f[] positions = [(0, 0, 0), (10, 0, 0)]
            rel prototypes = </Outer/Inner>
            def PointInstancer "Inner" {
                int[] protoIndices = [0, 0, 0]
                point3f[] positions = [(0, 1, 0), (0, 2, 0), (0, 3, 0)]
                int64[] invisibleIds = [1]
                rel prototypes = </Outer/Inner/Ball>
                def Sphere "Ball" { double radius = 0.1 }
            }
        }
    """)
    geometry = read_geometry(stage)
    centers = [
        tuple(np.round((part.points.min(axis=0) + part.points.max(axis=0)) / 2, 6))
        for part in geometry.parts
    ]
    assert centers == [(0, 1, 0), (0, 3, 0), (10, 1, 0), (10, 3, 0)]
    assert paths(geometry)[0].startswith("/Outer[7]")
    assert [item.kind for item in geometry.omissions] == ["invisible"]


def test_an_instancer_that_instances_itself_ends() -> None:
    stage = text_stage("""
        def PointInstancer "Loop" {
            int[] protoIndices = [0]
            point3f[] positions = [(0, 0, 0)]
            rel prototypes = </Loop>
        }
    """)
    assert [item.kind for item in read_geometry(stage).omissions] == ["broken"]


def test_inactive_instances_are_named() -> None:
    stage = new_stage()
    instancer = UsdGeom.PointInstancer.Define(stage, "/Field")
    UsdGeom.Cube.Define(stage, "/Field/Cube")
    instancer.CreatePrototypesRel().SetTargets([Sdf.Path("/Field/Cube")])
    instancer.CreateProtoIndicesAttr([0, 0, 0])
    instancer.CreatePositionsAttr([(0, 0, 0), (3, 0, 0), (6, 0, 0)])
    instancer.DeactivateId(1)
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/Field[0]", "/Field[2]"]
    assert [item.where for item in geometry.omissions] == ["/Field[1]"]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(4, 12))
def test_star_shaped_faces_keep_their_area(seed: int, corners: int) -> None:
    """Ears are clipped right: the triangles have the face's area and its winding."""
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    if np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() > np.pi - 0.1:
        angles = np.arange(corners) * 2 * np.pi / corners
    radii = rng.uniform(0.3, 2.0, corners)
    x, y = radii * np.cos(angles), radii * np.sin(angles)
    points = np.column_stack([x, y, np.zeros(corners)])
    stage = new_stage()
    add_mesh(stage, "/Star", points, [list(range(corners))])
    (part,) = read_geometry(stage).parts
    a, b, c = (part.points[part.triangles[:, corner]] for corner in range(3))
    areas = np.cross(b - a, c - a)[:, 2] / 2.0
    expected = (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2.0
    assert (areas > -1e-9).all()
    assert areas.sum() == pytest.approx(expected, rel=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_a_hull_holds_its_points_and_is_convex(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(30, 3))
    stage = new_stage()
    mesh = add_mesh(stage, "/Cloud", points, np.arange(30).reshape(10, 3))
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr("convexHull")
    (part,) = read_geometry(stage, source="collision").parts
    a, b, c = (part.points[part.triangles[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    heights = np.einsum("pfk,fk->pf", points.astype(np.float32)[:, None] - a, normals)
    assert heights.max() < 1e-6
    assert part.solid == "filled"


def test_what_makes_no_sense_is_refused() -> None:
    stage = new_stage()
    add_cube(stage, "/Cube", (0, 0, 0))
    for options in ({"source": "radar"}, {"root": "/No"}, {"root": "World"}):
        with pytest.raises(StageError):
            read_geometry(stage, **options)  # type: ignore[arg-type]


def test_progress_is_told_on_long_stages() -> None:
    stage = new_stage()
    for index in range(1200):
        UsdGeom.Xform.Define(stage, f"/World/Prim_{index}")
    add_box(stage, "/World/Box", (0, 0, 0), (1, 1, 1))
    told: list[tuple[int, int, str]] = []
    read_geometry(stage, progress=lambda *what: told.append(what))
    assert told
    assert told[0][2] == "reading prims"


def test_without_pxr_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['pxr'] = None\n"
        "try:\n import irsim_isaac.stage\n"
        "except ImportError as error:\n print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert "irsim-isaac[usd]" in answer.stdout
