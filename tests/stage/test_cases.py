"""What people met in public, each with its right value: maps, and reading stages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from PIL import Image
from pxr import Gf, UsdGeom, UsdPhysics, Vt

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.stage import Geometry, build_occupancy, open_stage, read_geometry, stage_units
from tests.stage.builders import add_box, add_cube, add_mesh, end_lines, new_stage, text_stage


def blobs(cells: NDArray[np.int8]) -> int:
    """Count the groups of occupied cells that join side by side."""
    left = {(int(x), int(y)) for x, y in np.argwhere(cells == 100)}
    count = 0
    while left:
        count += 1
        queue = [left.pop()]
        while queue:
            x, y = queue.pop()
            for near in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)):
                if near in left:
                    left.remove(near)
                    queue.append(near)
    return count


def occupied_at(occupancy: Occupancy, x: float, y: float) -> bool:
    ix, iy = occupancy.world_to_cell(x, y)
    nx, ny = occupancy.shape
    return 0 <= ix < nx and 0 <= iy < ny and bool(occupancy.cells[ix, iy] == 100)


def reach(geometry: Geometry) -> NDArray[np.float64]:
    """The corners of the box that holds all parts, shape (2, 3)."""
    points = np.concatenate([part.points for part in geometry.parts])
    return np.array([points.min(axis=0), points.max(axis=0)])


def paths(geometry: Geometry) -> list[str]:
    return [part.path for part in geometry.parts]


def written(path: Path, text: str, header: str = 'metersPerUnit = 1 upAxis = "Z"') -> Path:
    lines = header.replace(" upAxis", "\n upAxis")
    path.write_text(f"#usda 1.0\n(\n {lines}\n)\n{end_lines(text)}\n")
    return path


# Maps


def test_m01_a_seed_in_an_obstacle_never_frees_it() -> None:
    stage = new_stage()
    add_cube(stage, "/Cube", (0, 0, 0.5))
    bounds = (-2, -2, 2, 2)
    with pytest.raises(StageError, match="nearest free point"):
        build_occupancy(stage, resolution=0.5, bounds=bounds, seeds=[(0, 0)])
    cells = build_occupancy(stage, resolution=0.5, bounds=bounds, seeds=[(1.5, 1.5)]).cells
    assert (cells[3:5, 3:5] == 100).all()
    assert (cells == 100).sum() == 4


def test_m03_what_has_no_collider_is_in_the_visual_map_alone() -> None:
    stage = new_stage()
    wall = add_cube(stage, "/Wall", (0, 0, 0.5), (4, 0.2, 1))
    bounds = (-3, -1, 3, 1)
    visual = build_occupancy(stage, bounds=bounds)
    assert (visual.cells == 100).any()
    collision = build_occupancy(stage, bounds=bounds, geometry="collision")
    assert not (collision.cells == 100).any()
    (omission,) = collision.report.omissions
    assert (omission.where, omission.kind) == ("/Wall", "no collision")
    assert "CollisionAPI" in omission.reason
    UsdPhysics.CollisionAPI.Apply(wall.GetPrim())
    assert build_occupancy(stage, bounds=bounds, geometry="collision") == visual


def test_m05_no_physics_scene_is_needed() -> None:
    stage = new_stage()
    UsdPhysics.CollisionAPI.Apply(add_cube(stage, "/Cube", (0, 0, 0.5)).GetPrim())
    for geometry in ("visual", "collision", "both"):
        assert (build_occupancy(stage, geometry=geometry).cells == 100).sum() == 400


def test_m06_row_zero_of_the_image_is_the_largest_y(tmp_path: Path) -> None:
    stage = new_stage()
    add_cube(stage, "/Cube", (3, 1, 0.5))
    bounds = (-5, -5, 5, 5)
    build_occupancy(stage, resolution=0.5, bounds=bounds).save_ros(tmp_path)
    image = np.asarray(Image.open(tmp_path / "map.png"))
    expected = np.zeros((20, 20), dtype=bool)
    expected[7:9, 15:17] = True
    assert np.array_equal(image == 0, expected)


def test_m06_no_turn_or_mirror_of_the_map_is_the_map(tmp_path: Path) -> None:
    stage = new_stage()
    add_cube(stage, "/Long", (0.5, 1.5, 0.5), (1, 3, 1))
    add_cube(stage, "/Foot", (1.5, 0.5, 0.5), (1, 1, 1))
    build_occupancy(stage, resolution=1.0, bounds=(0, 0, 3, 3)).save_ros(tmp_path)
    image = np.asarray(Image.open(tmp_path / "map.png")) == 0
    assert np.array_equal(image, np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool))


def test_m07_the_origin_is_the_corner_of_the_first_cell(tmp_path: Path) -> None:
    stage = new_stage()
    add_cube(stage, "/Wall", (1.25, 0, 0.5), (0.5, 4, 1))
    occupancy = build_occupancy(stage, resolution=0.5, bounds=(-2, -2, 2, 2))
    occupancy.save_ros(tmp_path)
    assert yaml.safe_load((tmp_path / "map.yaml").read_text())["origin"] == [-2.0, -2.0, 0.0]
    assert np.flatnonzero((occupancy.cells == 100).any(axis=1)).tolist() == [6]


@pytest.mark.parametrize(
    ("reach_m", "resolution", "count"), [(10, 0.05, 400), (10, 0.1, 200), (100, 0.05, 4000)]
)
def test_m08_no_row_or_column_is_lost(reach_m: float, resolution: float, count: int) -> None:
    stage = new_stage()
    x = reach_m - resolution / 2
    add_cube(stage, "/Wall", (x, 0, 0.5), (0.001, 1, 1))
    bounds = (-reach_m, -reach_m, reach_m, reach_m)
    occupancy = build_occupancy(stage, resolution=resolution, bounds=bounds)
    assert occupancy.shape == (count, count)
    assert np.flatnonzero((occupancy.cells == 100).any(axis=1)).tolist() == [count - 1]


def test_m10_heights_are_above_the_declared_floor() -> None:
    stage = new_stage()
    add_cube(stage, "/Low", (0, 0, 0.15), (1, 1, 0.3))
    assert (build_occupancy(stage, height=(0.1, 0.62)).cells == 100).any()
    bounds = (-1, -1, 1, 1)
    assert not (build_occupancy(stage, floor=0.3, bounds=bounds).cells == 100).any()
    assert (build_occupancy(stage, floor=-3.0, height=(3.1, 3.2)).cells == 100).any()


def test_m11_the_band_is_exact() -> None:
    stage = new_stage()
    ground = [(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0)]
    add_mesh(stage, "/Ground", ground, [[0, 1, 2, 3]])
    cells = build_occupancy(stage, height=(0.02, 0.5), bounds=(-2, -2, 2, 2)).cells
    assert (cells == 0).all()


@pytest.mark.parametrize(("height", "count"), [((0.1, 0.5), 4), ((0.1, 0.8), 1)])
def test_m12_a_table_is_its_legs_at_lidar_height(height: tuple[float, float], count: int) -> None:
    stage = new_stage()
    add_cube(stage, "/Top", (0, 0, 0.725), (1.4, 0.8, 0.05))
    for index, (x, y) in enumerate([(-1, -1), (1, -1), (-1, 1), (1, 1)]):
        add_cube(stage, f"/Leg_{index}", (x * 0.625, y * 0.325, 0.35), (0.05, 0.05, 0.7))
    assert blobs(build_occupancy(stage, height=height).cells) == count


def test_m13_a_turned_wall_is_a_wall() -> None:
    stage = new_stage()
    add_cube(stage, "/Wall", (0, 0, 1), (10, 0.1, 2), yaw=45)
    occupancy = build_occupancy(stage, resolution=0.05)
    assert 1.0 <= (occupancy.cells == 100).sum() * 0.05**2 <= 2.5


def test_m15_inactive_class_and_over_prims_are_not_there() -> None:
    stage = text_stage("""
        def Cube "there" { double size = 1 }
        def Cube "off" (active = false) { double size = 1 }
        class Cube "cls" { double size = 1 }
        over "ov" { def Cube "x" { double size = 1 } }
    """)
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/there"]
    found = {omission.where: omission.kind for omission in geometry.omissions}
    assert found == {"/off": "inactive", "/cls": "class", "/ov": "over"}


def test_m17_a_sky_dome_does_not_decide_the_bounds() -> None:
    stage = new_stage()
    sky = UsdGeom.Sphere.Define(stage, "/Sky")
    sky.CreateRadiusAttr(1000.0)
    for index, (x, y, w, h) in enumerate(
        [(0, -5, 10, 0.2), (0, 5, 10, 0.2), (-5, 0, 0.2, 10), (5, 0, 0.2, 10)]
    ):
        add_cube(stage, f"/Wall_{index}", (x, y, 1), (w, h, 2))
    occupancy = build_occupancy(stage)
    assert occupancy.width <= 20
    assert occupancy.height <= 20
    assert (occupancy.cells == 0).any()
    assert [item.where for item in occupancy.report.omissions] == ["/Sky"]
    kept = build_occupancy(stage, bounds=(-6, -6, 6, 6), keep_shells=True)
    assert (kept.cells == 100).all()


def test_m17_a_root_path_leaves_the_rest_out() -> None:
    stage = new_stage()
    UsdGeom.Sphere.Define(stage, "/Sky").CreateRadiusAttr(1000.0)
    UsdGeom.Xform.Define(stage, "/Room")
    add_cube(stage, "/Room/Wall", (0, 0, 1))
    occupancy = build_occupancy(stage, root="/Room", bounds=(-1, -1, 1, 1))
    assert (occupancy.cells == 100).sum() == 400


def test_m19_a_closed_room_is_free_inside_with_a_seed_in_it() -> None:
    stage = new_stage()
    add_box(stage, "/Room", (0, 0, 0), (6, 4, 2.5))
    seeded = build_occupancy(stage, seeds=[(3, 2)]).cells
    assert (seeded[1:-1, 1:-1] == 0).all()
    rim = seeded.copy()
    rim[1:-1, 1:-1] = 100
    assert (rim == 100).all()
    assert seeded.shape == (120, 80)
    unseeded = build_occupancy(stage).cells
    assert (unseeded[1:-1, 1:-1] == -1).all()


def test_m21_a_wall_without_vertices_in_the_band_is_whole() -> None:
    stage = new_stage()
    wall = [(0, 0.02, 0), (4, 0.02, 0), (4, 0.02, 3), (0, 0.02, 3)]
    add_mesh(stage, "/Wall", wall, [[0, 1, 2], [0, 2, 3]])
    cells = build_occupancy(stage, height=(0.4, 0.5), bounds=(0, 0, 4, 1)).cells
    assert (cells[:, 0] == 100).all()
    assert (cells[:, 1:] == 0).all()


def test_m23_a_stage_in_centimetres_gives_the_same_files(tmp_path: Path) -> None:
    images = []
    for unit in (1.0, 0.01):
        stage = new_stage(meters_per_unit=unit)
        add_box(stage, "/Room/Wall", (0, 0, 0), (6, 0.25, 2.5))
        add_box(stage, "/Room/Crate", (1.1, 1.3, 0), (1.7, 2.2, 1.0))
        folder = tmp_path / f"{unit:g}"
        build_occupancy(stage).save_ros(folder)
        header = yaml.safe_load((folder / "map.yaml").read_text())
        header["irsim_isaac"] = None
        images.append(((folder / "map.png").read_bytes(), header))
    assert images[0] == images[1]


def test_m25_unauthored_metrics_are_told_and_can_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "bare.usda"
    path.write_text('#usda 1.0\ndef Cube "Box" {\n double size = 2\n}\n')
    occupancy = build_occupancy(open_stage(path), height=(0.0, 0.005), resolution=0.01)
    told = " ".join(occupancy.report.warnings)
    assert "metersPerUnit is not authored, 0.01 m" in told
    assert "upAxis is not authored, Y up" in told
    stage = open_stage(path, meters_per_unit=1.0, up_axis="Z")
    overridden = build_occupancy(stage)
    assert overridden.report.warnings == ()
    assert overridden.width == 2.0
    assert "double size = 2" in path.read_text()
    assert "upAxis" not in path.read_text()


@pytest.mark.parametrize("axis", ["X", "invalid", "z"])
def test_m27_an_up_axis_that_is_none_is_refused_by_name(axis: str) -> None:
    stage = text_stage('def Cube "a" {}', header=f'metersPerUnit = 1\n    upAxis = "{axis}"')
    with pytest.raises(StageError, match=f"upAxis is '{axis}', 'Y' or 'Z' was expected"):
        build_occupancy(stage)


@pytest.mark.parametrize("unit", ["0", "-1", "inf", "nan"])
def test_m27_a_unit_of_no_length_is_refused(unit: str) -> None:
    stage = text_stage('def Cube "a" {}', header=f'metersPerUnit = {unit}\n    upAxis = "Z"')
    with pytest.raises(StageError, match="a positive length was expected"):
        stage_units(stage)


def test_m29_invisible_is_inherited() -> None:
    stage = text_stage("""
        def Xform "P" {
            token visibility = "invisible"
            def Cube "c" { token visibility = "inherited" }
        }
        def Cube "there" { double3 xformOp:translate = (5, 0, 0)
                           uniform token[] xformOpOrder = ["xformOp:translate"] }
    """)
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/there"]
    assert [(o.where, o.kind) for o in geometry.omissions] == [("/P/c", "invisible")]
    assert paths(read_geometry(stage, include_invisible=True)) == ["/P/c", "/there"]


def test_m30_a_mesh_without_points_is_counted() -> None:
    stage = new_stage()
    UsdGeom.Mesh.Define(stage, "/Empty")
    add_cube(stage, "/Cube", (0, 0, 0.5))
    report = build_occupancy(stage).report
    assert [(o.where, o.kind) for o in report.omissions] == [("/Empty", "empty")]


def test_m31_instanceable_assets_are_there() -> None:
    stage = text_stage("""
        class "Asset" { def Cube "c" { double size = 1 } }
        def Xform "A" (instanceable = true; references = </Asset>) {}
        def Xform "B" (instanceable = true; references = </Asset>) {
            double3 xformOp:translate = (5, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }
    """)
    occupancy = build_occupancy(stage)
    assert blobs(occupancy.cells) == 2
    assert occupied_at(occupancy, 0, 0)
    assert occupied_at(occupancy, 5, 0)


def test_m32_a_room_that_is_not_square_has_its_border_alone() -> None:
    stage = new_stage()
    for index, (x, y, w, h) in enumerate(
        [(2.5, 0.05, 5, 0.1), (2.5, 9.95, 5, 0.1), (0.05, 5, 0.1, 10), (4.95, 5, 0.1, 10)]
    ):
        add_cube(stage, f"/Wall_{index}", (x, y, 1), (w, h, 2))
    cells = build_occupancy(stage, resolution=0.1).cells
    assert cells.shape == (50, 100)
    assert (cells[1:-1, 1:-1] == 0).all()
    cells[1:-1, 1:-1] = 100
    assert (cells == 100).all()


def test_m36_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError, match="cell_size"):
        build_occupancy(new_stage(), cell_size=0.05)  # type: ignore[call-arg]


# Reading stages


def test_u01_nested_instances_are_in_their_places() -> None:
    stage = text_stage("""
        class "Inner" { def Cube "c" {
            double3 xformOp:translate = (0, 1, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"] } }
        class "Outer" { def Xform "In" (instanceable = true; references = </Inner>) {} }
        def Xform "A" (instanceable = true; references = </Outer>) {}
        def Xform "B" (instanceable = true; references = </Outer>) {
            double3 xformOp:translate = (10, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"] }
    """)
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/A/In/c", "/B/In/c"]
    centers = [part.points.mean(axis=0).tolist() for part in geometry.parts]
    assert centers == [[0, 1, 0], [10, 1, 0]]


POINT_INSTANCER = """
    def PointInstancer "PI" {
        int[] protoIndices = [0, 0, 0]
        point3f[] positions = [(0, 0, 0), (5, 0, 0), (0, 5, 0)]
        rel prototypes = </PI/Protos/c>
        def Scope "Protos" { def Cube "c" {
            double size = 1
            double3 xformOp:translate = (100, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"] } }
    }
"""


def test_u02_prototypes_are_no_geometry_of_their_own() -> None:
    geometry = read_geometry(text_stage(POINT_INSTANCER))
    assert paths(geometry) == ["/PI[0]", "/PI[1]", "/PI[2]"]
    centers = [part.points.mean(axis=0).tolist() for part in geometry.parts]
    assert centers == [[100, 0, 0], [105, 0, 0], [100, 5, 0]]


@pytest.mark.parametrize(
    ("scope", "prototype", "instancer", "count"),
    [("invisible", "inherited", "inherited", 3), ("inherited", "invisible", "inherited", 0),
     ("inherited", "inherited", "invisible", 0)],
)  # fmt: skip
def test_u04_what_hides_a_prototype(scope: str, prototype: str, instancer: str, count: int) -> None:
    stage = text_stage(POINT_INSTANCER)
    for path, value in (("/PI/Protos", scope), ("/PI/Protos/c", prototype), ("/PI", instancer)):
        UsdGeom.Imageable(stage.GetPrimAtPath(path)).CreateVisibilityAttr(value)
    assert len(read_geometry(stage).parts) == count


def test_u06_scale_turn_shift_then_the_instancer() -> None:
    stage = text_stage("""
        def PointInstancer "PI" {
            int[] protoIndices = [0]
            point3f[] positions = [(6, 0, 0)]
            quath[] orientations = [(0.70710678, 0, 0, 0.70710678)]
            float3[] scales = [(2, 0.5, 1)]
            rel prototypes = </PI/c>
            def Cube "c" { double size = 1 }
        }
    """)
    low, high = reach(read_geometry(stage))
    assert low == pytest.approx([5.75, -1, -0.5], abs=2e-3)
    assert high == pytest.approx([6.25, 1, 0.5], abs=2e-3)


def test_u07_default_and_render_count_proxy_only_alone() -> None:
    body = """
        def Xform "A" {
            def Cube "r" { token purpose = "render" }
            def Cube "p" { token purpose = "proxy" }
            def Cube "g" { token purpose = "guide" }
            def Cube "d" {}
        }
        def Xform "B" { def Cube "p" { token purpose = "proxy" } }
    """
    geometry = read_geometry(text_stage(body))
    assert paths(geometry) == ["/A/r", "/A/d", "/B/p"]
    assert {o.where for o in geometry.omissions} == {"/A/p", "/A/g"}
    guides = read_geometry(text_stage(body), include_guides=True)
    assert "/A/g" in paths(guides)


def test_u09_a_left_handed_mesh_gives_the_same_map() -> None:
    right = new_stage()
    add_box(right, "/Box", (0, 0, 0), (2, 1, 1))
    left = new_stage()
    add_box(left, "/Box", (0, 0, 0), (2, 1, 1)).CreateOrientationAttr("leftHanded")
    assert build_occupancy(left) == build_occupancy(right)


def test_u10_a_negative_scale_keeps_the_footprint(shared: Path) -> None:
    folder = shared / "usd" / "newton"
    (cube,) = read_geometry(open_stage(folder / "negative_scale_cube.usda")).parts
    assert np.ptp(cube.points, axis=0)[:2] == pytest.approx([1.0, 0.5], abs=1e-6)
    pair = read_geometry(open_stage(folder / "negative_scale_mesh_pair.usda")).parts
    assert np.ptp(pair[0].points, axis=0) == pytest.approx(np.ptp(pair[1].points, axis=0))
    for part in (cube, *pair):
        a, b, c = (part.points[part.triangles[:, i]] - part.points[0] for i in range(3))
        assert (np.cross(a, b) * c).sum() > 0.0, f"{part.path} does not look outward"


@pytest.mark.parametrize("start", range(6))
def test_u12_a_concave_face_covers_no_more_than_itself(start: int) -> None:
    outline = np.array([(2, 0), (2, 1), (1, 1), (1, 2), (0, 2), (0, 0)], dtype=float)
    points = np.column_stack([np.roll(outline, start, axis=0), np.full(6, 0.3)])
    stage = new_stage()
    add_mesh(stage, "/L", points, [list(range(6))])
    occupancy = build_occupancy(stage, resolution=0.1, bounds=(-1, -1, 3, 3))
    assert not occupied_at(occupancy, 1.2, 1.2)
    assert (occupancy.cells == 100).sum() == 300


def test_u13_subdivision_surfaces_are_read_by_their_cage(shared: Path) -> None:
    folder = shared / "usd" / "usd-wg" / "test_assets" / "schemaTests" / "usdGeom" / "meshes"
    boxes = []
    for scheme in ("subdiv_none", "subdiv_bilinear", "subdiv_catmullClark"):
        geometry = read_geometry(open_stage(folder / scheme / f"{scheme}.usda"))
        boxes.append(reach(geometry).tolist())
        caged = any("control cage" in warning for warning in geometry.warnings)
        assert caged is (scheme != "subdiv_none")
    assert boxes[0] == boxes[1] == boxes[2]


def test_u14_samples_count_where_there_is_no_default() -> None:
    stage = text_stage(
        """
        def Cube "c" {
            double size = 1
            double3 xformOp:translate.timeSamples = { 1: (1, 0, 0), 3: (3, 0, 0) }
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }
        def Mesh "m" {
            int[] faceVertexCounts = [3]
            int[] faceVertexIndices = [0, 1, 2]
            point3f[] points.timeSamples = { 1: [(0, 0, 9), (1, 0, 9), (0, 1, 9)] }
        }
    """,
        header='metersPerUnit = 1\n    upAxis = "Z"\n    timeCodesPerSecond = 2',
    )

    def center(**when: float) -> float:
        return float(read_geometry(stage, **when).parts[0].points[:, 0].mean())

    assert center() == 1.0
    assert center(time_code=3) == 3.0
    assert center(time_code=2) == 2.0
    assert center(time=1.0) == 2.0
    assert paths(read_geometry(stage)) == ["/c", "/m"]
    with pytest.raises(StageError, match="both given"):
        read_geometry(stage, time=1.0, time_code=2.0)


def test_u16_an_unloaded_payload_is_named(tmp_path: Path) -> None:
    written(tmp_path / "inner.usda", 'def Cube "c" {}')
    outer = written(tmp_path / "outer.usda", 'def "P" (payload = @inner.usda@</c>) {}')
    assert paths(read_geometry(open_stage(outer))) == ["/P"]
    geometry = read_geometry(open_stage(outer, payloads="none"))
    assert [(o.where, o.kind) for o in geometry.omissions] == [("/P", "unloaded")]


def test_u17_a_missing_reference_is_named_and_the_rest_is_mapped(tmp_path: Path) -> None:
    path = written(
        tmp_path / "stage.usda",
        'def Cube "there" {}\ndef "gone" (references = @nowhere.usda@) {}',
    )
    geometry = read_geometry(open_stage(path))
    assert paths(geometry) == ["/there"]
    (omission,) = [o for o in geometry.omissions if o.kind == "composition"]
    assert "nowhere.usda" in omission.reason
    with pytest.raises(StageError, match=r"nowhere\.usda"):
        open_stage(path, strict=True)


def test_u19_lying_extents_are_not_believed(shared: Path) -> None:
    folder = shared / "usd" / "usd-wg" / "test_assets" / "schemaTests" / "usdGeom" / "extent"
    files = sorted(folder.glob("*.usda"))
    assert len(files) >= 4
    sizes = {}
    for path in files:
        part = read_geometry(open_stage(path)).parts[0]
        sizes[path.name] = np.ptp(part.points, axis=0).tolist()
    assert len({tuple(size) for size in sizes.values()}) == 1, sizes


def test_u20_a_reset_stack_and_an_unlisted_op() -> None:
    stage = text_stage("""
        def Xform "P" {
            double3 xformOp:translate = (10, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Cube "reset" {
                double3 xformOp:translate = (1, 0, 0)
                uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:translate"]
            }
            def Cube "unlisted" {
                double3 xformOp:translate = (1, 0, 0)
                double3 xformOp:translate:other = (50, 0, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
        }
    """)
    centers = {part.path: part.points[:, 0].mean() for part in read_geometry(stage).parts}
    assert centers == {"/P/reset": 1.0, "/P/unlisted": 11.0}


def test_u22_broken_meshes_are_named_and_their_neighbours_mapped() -> None:
    stage = new_stage()
    quad = [(0, 0, 0.3), (1, 0, 0.3), (1, 1, 0.3), (0, 1, 0.3)]
    add_mesh(stage, "/Good", quad, [[0, 1, 2, 3]])
    add_mesh(stage, "/Index", quad, [[0, 1, 2, 7]])
    add_mesh(stage, "/Sum", quad, [[0, 1, 2, 3]]).CreateFaceVertexCountsAttr([3])
    nan = add_mesh(stage, "/Nan", quad, [[0, 1, 2, 3]])
    nan.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(float("nan"), 0, 0)] * 4))
    add_mesh(stage, "/Hole", quad, [[0, 1, 2, 3]]).CreateHoleIndicesAttr([4])
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/Good"]
    assert {o.where for o in geometry.omissions} == {"/Index", "/Sum", "/Nan", "/Hole"}
    assert {o.kind for o in geometry.omissions} == {"broken"}


def test_u22_broken_instancers_are_named() -> None:
    stage = text_stage(POINT_INSTANCER)
    instancer = UsdGeom.PointInstancer(stage.GetPrimAtPath("/PI"))
    for attribute, value in (
        (instancer.GetPositionsAttr(), [(0, 0, 0)]),
        (instancer.CreateScalesAttr(), [(1, 1, 1)]),
        (instancer.GetProtoIndicesAttr(), [0, 1, 7]),
        (instancer.GetProtoIndicesAttr(), [0, -1, 0]),
    ):
        before = attribute.Get()
        attribute.Set(value)
        geometry = read_geometry(stage)
        assert not geometry.parts
        assert [(o.where, o.kind) for o in geometry.omissions] == [("/PI", "broken")]
        attribute.Set(before) if before is not None else attribute.Clear()
    assert len(read_geometry(stage).parts) == 3


def test_u23_implicit_shapes_have_their_own_sizes() -> None:
    sizes = {
        "Cube": (2, 2, 2), "Sphere": (2, 2, 2), "Cylinder": (2, 2, 2), "Cone": (2, 2, 2),
        "Capsule": (1, 1, 2), "Plane": (2, 2, 0),
    }  # fmt: skip
    for kind, size in sizes.items():
        stage = text_stage(f'def {kind} "shape" {{}}')
        low, high = reach(read_geometry(stage))
        assert (high - low) == pytest.approx(size, abs=1e-12), kind
        if kind not in ("Cube", "Sphere"):
            for axis, order in (("X", (2, 0, 1)), ("Y", (1, 2, 0))):
                stage.GetPrimAtPath("/shape").GetAttribute("axis").Set(axis)
                low, high = reach(read_geometry(stage))
                turned = (high - low)[list(order)] if kind == "Plane" else high - low
                expected = np.roll(size, {"X": 1, "Y": 2}[axis])
                if kind == "Plane":
                    turned = high - low
                assert turned == pytest.approx(expected, abs=1e-12), (kind, axis)


def test_u25_many_instances_stay_within_seconds() -> None:
    stage = new_stage()
    UsdGeom.Cube.Define(stage, "/Field/Cube").CreateSizeAttr(0.5)
    instancer = UsdGeom.PointInstancer.Define(stage, "/Field")
    instancer.CreatePrototypesRel().SetTargets(["/Field/Cube"])
    count = 5000
    places = np.column_stack([np.arange(count) % 100, np.arange(count) // 100, np.full(count, 0.3)])
    instancer.CreateProtoIndicesAttr(Vt.IntArray.FromNumpy(np.zeros(count, np.int32)))
    instancer.CreatePositionsAttr(Vt.Vec3fArray.FromNumpy(places.astype(np.float32)))
    occupancy = build_occupancy(stage, resolution=0.25)
    assert (occupancy.cells == 100).sum() == count * 4


def test_u27_a_variant_changes_the_map(tmp_path: Path) -> None:
    path = written(
        tmp_path / "door.usda",
        """
        def Xform "D" (
            variants = { string state = "open" }
            prepend variantSets = "state"
        ) {
            variantSet "state" = {
                "open" { def Cube "panel" (active = false) {} }
                "closed" { def Cube "panel" {} }
            }
        }
        def Cube "post" { double3 xformOp:translate = (5, 0, 0)
                          uniform token[] xformOpOrder = ["xformOp:translate"] }
        """,
    )
    assert paths(read_geometry(open_stage(path))) == ["/post"]
    closed = open_stage(path, variants={"/D:state": "closed"})
    assert paths(read_geometry(closed)) == ["/D/panel", "/post"]
    for variants, words in (
        ({"/D:state": "ajar"}, "no variant 'ajar' in 'state'"),
        ({"/D:colour": "red"}, "no variant set 'colour'"),
        ({"/E:state": "open"}, "no prim at '/E'"),
    ):
        with pytest.raises(StageError, match=words):
            open_stage(path, variants=variants)


def test_u28_a_syntax_error_is_one_line_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "broken.usda"
    path.write_text('#usda 1.0\ndef Cube "a" {\n  double size = \n')
    with pytest.raises(StageError, match=r"broken\.usda:3:") as caught:
        open_stage(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("text.usda", "hello"), ("image.png", "x"), ("empty.usdc", "")]
)
def test_u28_what_is_no_usd_is_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(StageError, match="a USD file was expected"):
        open_stage(tmp_path / name)
    with pytest.raises(StageError, match="nothing is there"):
        open_stage(tmp_path / "missing.usd")


def test_u30_a_point_instancer_is_found_under_both_instances() -> None:
    stage = text_stage("""
        class "Cloud" {
            def PointInstancer "PI" {
                int[] protoIndices = [0]
                point3f[] positions = [(1, 0, 0)]
                rel prototypes = </Cloud/PI/droplet>
                def Sphere "droplet" { double radius = 0.5 }
            }
        }
        def Xform "A" (instanceable = true; inherits = </Cloud>) {}
        def Xform "B" (instanceable = true; inherits = </Cloud>) {
            double3 xformOp:translate = (10, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"] }
    """)
    geometry = read_geometry(stage)
    assert paths(geometry) == ["/A/PI[0]", "/B/PI[0]"]
    centers = [float((p.points.min(0) + p.points.max(0))[0] / 2) for p in geometry.parts]
    assert centers == pytest.approx([1.0, 11.0])


def test_every_public_stage_opens_to_a_map_or_to_one_clear_error(shared: Path) -> None:
    files = sorted((shared / "usd").rglob("*.usd*"))
    assert len(files) > 100
    maps = 0
    for path in files:
        try:
            stage = open_stage(path)
            occupancy = build_occupancy(stage, resolution=0.25, height=(-1e4, 1e4))
        except StageError as error:
            assert "\n" not in str(error), path
            assert len(str(error)) > 20, path
        else:
            maps += 1
            assert (occupancy.cells == 100).any(), path
    assert maps > 90
