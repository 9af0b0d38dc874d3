"""Maps of stages: exact cells, and what must hold for every stage."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pxr import Usd, UsdGeom

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.stage import build_occupancy, open_stage, read_geometry
from tests.stage.builders import BOX_FACES, add_box, add_cube, add_mesh, box_points, new_stage

BAND = (0.5, 1.5)
SIDE = 12
"""Cells of the random scenes, a cell 1 m wide."""

Scene = list[tuple[str, NDArray[np.float64], NDArray[np.int64]]]
"""Meshes: sheet or closed, vertices [m], faces."""


def build(scene: Scene, *, cell: float = 1.0, scale: float = 1.0, **metrics: object) -> Occupancy:
    stage = stage_of(scene, **metrics)
    return build_occupancy(
        stage,
        resolution=cell * scale,
        height=BAND,
        bounds=(0.0, 0.0, SIDE * scale, SIDE * scale),
    )


def stage_of(scene: Scene, **metrics: object) -> Usd.Stage:
    stage = new_stage(**metrics)  # type: ignore[arg-type]
    for index, (_, points, faces) in enumerate(scene):
        add_mesh(stage, f"/Mesh_{index}", points, faces)
    return stage


# Eighths of a cell: on cell edges or far from them, of cells of 1 m and of half a metre.
along = st.integers(-8, 8 * (SIDE + 1)).map(lambda value: value / 8.0)
upward = st.integers(0, 16).map(lambda value: value / 8.0)
corner = st.tuples(along, along, upward)


@st.composite
def sheets(draw: st.DrawFn) -> tuple[str, NDArray[np.float64], NDArray[np.int64]]:
    first = np.array(draw(corner))
    offset = st.integers(-24, 24).map(lambda value: value / 8.0)
    others = [
        first + np.array(draw(st.tuples(offset, offset, offset.map(lambda z: z / 2.0))))
        for _ in range(2)
    ]
    return "sheet", np.array([first, *others]), np.array([[0, 1, 2]])


@st.composite
def boxes(draw: st.DrawFn) -> tuple[str, NDArray[np.float64], NDArray[np.int64]]:
    low = np.array(draw(corner))
    size = np.array([draw(st.integers(1, 32)) / 8.0 for _ in range(3)])
    points = box_points(low, low + size)
    # A shear that keeps eighths turns walls and floors out of the lattice.
    points[:, 0] += np.round((points[:, 1] - low[1]) * draw(st.integers(-1, 1)) * 8.0) / 8.0
    points[:, 0] += np.where(points[:, 2] > low[2], draw(st.integers(-4, 4)) / 8.0, 0.0)
    return "closed", points, BOX_FACES


scenes = st.lists(st.one_of(sheets(), boxes()), min_size=1, max_size=4)


def clipped(points: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Cut a triangle at the ends of the band; its corners there, seen from above."""
    kept = [point for point in points if BAND[0] <= point[2] <= BAND[1]]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for level in BAND:
            low, high = sorted((points[a], points[b]), key=lambda point: point[2])
            if low[2] < level < high[2]:
                kept.append(low + (level - low[2]) / (high[2] - low[2]) * (high - low))
    return kept


@settings(max_examples=30)
@given(scenes)
def test_a_cell_is_marked_exactly_when_a_surface_meets_its_open_square(scene: Scene) -> None:
    """Beside GEOS: squares shrunk by a rounding, and pieces of surfaces cut at the band."""
    cells = build(scene).cells
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    inner = shapely.box(x + 2e-6, y + 2e-6, x + 1 - 2e-6, y + 1 - 2e-6)
    outer = shapely.box(x - 1e-9, y - 1e-9, x + 1 + 1e-9, y + 1 + 1e-9)
    must = np.zeros((SIDE, SIDE), dtype=bool)
    may = np.zeros((SIDE, SIDE), dtype=bool)
    stage = stage_of(scene)
    for part in read_geometry(stage).parts:
        for triangle in part.triangles:
            at = part.points[triangle]
            low, high = at[:, 2].min(), at[:, 2].max()
            touching = part.solid != "sheet" and (high == BAND[0] or low == BAND[1])
            piece = clipped(at)
            if not piece:
                continue
            seen = shapely.convex_hull(shapely.multipoints([point[:2] for point in piece]))
            may |= shapely.intersects(seen, outer)
            if not touching:
                must |= shapely.intersects(seen, inner)
    assert (cells[must] == 100).all()
    assert not (cells[~may] == 100).any()


@settings(max_examples=20)
@given(scenes)
def test_every_point_of_the_geometry_lies_in_or_on_an_occupied_cell(scene: Scene) -> None:
    occupancy = build(scene)
    taken = shapely.union_all(
        [shapely.box(ix, iy, ix + 1, iy + 1) for ix, iy in np.argwhere(occupancy.cells == 100)]
    )
    rng = np.random.default_rng(0)
    weights = rng.dirichlet((0.5, 0.5, 0.5), 200)
    for part in read_geometry(stage_of(scene)).parts:
        for triangle in part.triangles:
            points = weights @ part.points[triangle]
            inside = (points[:, 2] > BAND[0]) & (points[:, 2] < BAND[1])
            inside &= ((points[:, :2] > 0.0) & (points[:, :2] < SIDE)).all(axis=1)
            here = shapely.points(points[inside, :2])
            assert (shapely.distance(here, taken) < 1e-7).all()


@settings(max_examples=20)
@given(scenes)
def test_centimetres_and_y_up_give_the_same_map(scene: Scene) -> None:
    cells = build(scene).cells
    assert np.array_equal(cells, build(scene, meters_per_unit=0.01).cells)
    assert np.array_equal(cells, build(scene, up_axis="Y").cells)
    assert np.array_equal(cells, build(scene, meters_per_unit=1 / 64, up_axis="Y").cells)


@settings(max_examples=20)
@given(scenes)
def test_a_quarter_turn_of_the_stage_turns_the_map(scene: Scene) -> None:
    turned = [
        (kind, np.column_stack([SIDE - points[:, 1], points[:, 0], points[:, 2]]), faces)
        for kind, points, faces in scene
    ]
    # (x, y) goes to (SIDE - y, x): the cell (ix, iy) to (SIDE - 1 - iy, ix).
    assert np.array_equal(build(turned).cells, build(scene).cells.T[::-1, :])


@settings(max_examples=15)
@given(scenes, st.integers(-5, 5), st.integers(-5, 5))
def test_moving_the_stage_by_whole_cells_moves_the_map(scene: Scene, dx: int, dy: int) -> None:
    moved = [(kind, points + np.array([dx, dy, 0.0]), faces) for kind, points, faces in scene]
    there = build_occupancy(
        stage_of(moved), resolution=1.0, height=BAND, bounds=(dx, dy, dx + SIDE, dy + SIDE)
    )
    here = build(scene)
    assert np.array_equal(here.cells, there.cells)
    assert there.origin == (dx, dy, 0.0)


@settings(max_examples=20)
@given(scenes, scenes)
def test_the_map_of_a_union_is_the_union_of_the_maps(first: Scene, second: Scene) -> None:
    one, two = build(first).cells, build(second).cells
    both = build([*first, *second]).cells
    # Occupied wins over unknown, unknown over free.
    rank = {0: 0, -1: 1, 100: 2}
    ranks = np.vectorize(rank.get)
    assert np.array_equal(ranks(both), np.maximum(ranks(one), ranks(two)))


@settings(max_examples=20)
@given(scenes)
def test_halving_the_cell_never_occupies_what_was_free(scene: Scene) -> None:
    coarse, fine = build(scene).cells, build(scene, cell=0.5).cells
    spread = np.kron(coarse, np.ones((2, 2), dtype=np.int8))
    assert not (fine[spread == 0] != 0).any()


@pytest.mark.parametrize("kind", ["cube", "mesh"])
def test_a_solid_on_cell_edges_takes_its_own_cells_and_no_other(kind: str) -> None:
    stage = new_stage()
    if kind == "cube":
        add_cube(stage, "/Box", (3.5, 4.0, 1.0), (3.0, 4.0, 2.0))
    else:
        add_box(stage, "/Box", (2, 2, 0), (5, 6, 2))
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 8, 8)).cells
    expected = np.zeros((8, 8), dtype=np.int8)
    expected[2:5, 2:6] = 100
    if kind == "mesh":
        expected[3:4, 3:5] = -1
    assert np.array_equal(cells, expected)


def test_a_sheet_on_a_cell_edge_takes_both_neighbours() -> None:
    stage = new_stage()
    wall = [(3, 2, 0), (3, 5, 0), (3, 5, 2), (3, 2, 2)]
    add_mesh(stage, "/Wall", wall, [[0, 1, 2, 3]])
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 8, 8)).cells
    expected = np.zeros((8, 8), dtype=np.int8)
    expected[2:4, 2:5] = 100
    assert np.array_equal(cells, expected)


@pytest.mark.parametrize(("shift", "columns"), [(0.9e-4, 2), (1.1e-4, 1)])
def test_a_tie_reaches_a_ten_thousandth_of_a_cell(shift: float, columns: int) -> None:
    stage = new_stage()
    x = 3 + shift
    wall = add_mesh(stage, "/Wall", [(0, 2, 0), (0, 5, 0), (0, 5, 2), (0, 2, 2)], [[0, 1, 2, 3]])
    wall.AddTranslateOp().Set((x, 0, 0))
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 8, 8)).cells
    assert (cells == 100).any(axis=1).sum() == columns


@pytest.mark.parametrize(
    ("low", "high", "marked"),
    [
        (0.0, 0.5, False),
        (0.0, 0.5 + 0.9e-6, False),
        (0.0, 0.5 + 1.1e-6, True),
        (1.5, 2.0, False),
        (1.5 - 1.1e-6, 2.0, True),
        (0.5, 1.0, True),
    ],
)
def test_a_solid_that_ends_where_the_band_begins_is_not_in_it(
    low: float, high: float, marked: bool
) -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (2.5, 2.5, (low + high) / 2), (1, 1, 1))
    cube = UsdGeom.Cube(stage.GetPrimAtPath("/Box"))
    cube.GetPrim().GetAttribute("xformOp:scale").Clear()
    cube.AddScaleOp(UsdGeom.XformOp.PrecisionDouble, "tall").Set((1, 1, high - low))
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 5, 5)).cells
    assert bool((cells == 100).any()) is marked


def test_a_sheet_at_the_end_of_the_band_is_in_it() -> None:
    stage = new_stage()
    add_mesh(stage, "/Floor", [(1, 1, 0.5), (4, 1, 0.5), (4, 4, 0.5), (1, 4, 0.5)], [[0, 1, 2, 3]])
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 5, 5)).cells
    assert np.array_equal(np.argwhere(cells == 100).min(axis=0), (1, 1))
    assert (cells == 100).sum() == 9


def test_a_hollow_mesh_has_a_free_hollow() -> None:
    """A room with thick walls, as one mesh: the hollow is no part of its inside."""
    outer, inner = box_points((0, 0, 0), (9, 9, 4)), box_points((2, 2, 0.1), (7, 7, 3))
    faces = np.concatenate([BOX_FACES, BOX_FACES[:, ::-1] + 8])
    stage = new_stage()
    add_mesh(stage, "/Room", np.concatenate([outer, inner]), faces)
    cells = build_occupancy(stage, resolution=0.5, height=BAND).cells
    assert (cells[4:14, 4:14] == 0).all()
    assert cells[1, 9] == cells[9, 1] == -1


@pytest.mark.parametrize("flip", [False, True])
def test_which_way_faces_look_does_not_matter(flip: bool) -> None:
    stage = new_stage()
    faces = BOX_FACES[:, ::-1] if flip else BOX_FACES
    add_mesh(stage, "/A", box_points((1, 1, 0), (4, 5, 2)), faces)
    add_mesh(stage, "/B", box_points((2, 2, 0), (7, 4, 2)), BOX_FACES)
    cells = build_occupancy(stage, resolution=0.5, height=BAND, bounds=(0, 0, 8, 8)).cells
    centers = (np.arange(16) + 0.5) * 0.5
    x, y = np.meshgrid(centers, centers, indexing="ij")
    inside = (x > 1) & (x < 4) & (y > 1) & (y < 5) | (x > 2) & (x < 7) & (y > 2) & (y < 4)
    assert (cells[inside] != 0).all()
    assert (cells[~inside] == 0).all()


def test_solid_occupied_fills_closed_meshes() -> None:
    stage = new_stage()
    add_box(stage, "/Box", (1, 1, 0), (7, 7, 2))
    cells = build_occupancy(
        stage, resolution=1.0, height=BAND, bounds=(0, 0, 8, 8), solid="occupied"
    ).cells
    assert (cells[1:7, 1:7] == 100).all()
    assert (cells == 100).sum() == 36


def round_shape(stage: Usd.Stage, kind: str) -> UsdGeom.Gprim:
    shape = getattr(UsdGeom, kind).Define(stage, "/Shape")
    shape.AddTranslateOp().Set((5.03, 4.98, 1.0))
    return shape


@pytest.mark.parametrize("kind", ["Cylinder", "Sphere", "Cone", "Capsule"])
@pytest.mark.parametrize("resolution", [0.05, 0.1, 0.25])
def test_round_shapes_take_every_cell_of_their_outline(kind: str, resolution: float) -> None:
    stage = new_stage()
    round_shape(stage, kind)
    band = (0.9, 1.0)
    occupancy = build_occupancy(stage, resolution=resolution, height=band, bounds=(0, 0, 10, 10))
    radius = {"Cone": 0.55, "Capsule": 0.5}.get(kind, 1.0)
    nx, ny = occupancy.shape
    x, y = occupancy.cell_to_world(*np.indices((nx, ny)), at="corner")
    squares = shapely.box(x, y, x + resolution, y + resolution)
    distance = shapely.distance(squares, shapely.Point(5.03, 4.98))
    assert (occupancy.cells[distance < radius - 1e-9] == 100).all()
    assert (occupancy.cells[distance > radius + resolution / 50] == 0).all()


def test_a_round_shape_that_touches_a_cell_edge_does_not_spill() -> None:
    stage = new_stage()
    sphere = UsdGeom.Sphere.Define(stage, "/Ball")
    sphere.AddTranslateOp().Set((4.0, 4.0, 1.0))
    cells = build_occupancy(stage, resolution=1.0, height=BAND, bounds=(0, 0, 8, 8)).cells
    expected = np.zeros((8, 8), dtype=np.int8)
    expected[3:5, 3:5] = 100
    assert np.array_equal(cells, expected)


def test_the_public_room_of_cylinders_is_exact(shared: Path) -> None:
    """Every outline is covered, nothing is marked a cell away, and no inside is free."""
    stage = open_stage(shared / "usd" / "pegasus" / "BoxWithCylinders.usd")
    occupancy = build_occupancy(stage, resolution=0.1, height=(0.1, 0.62))
    assert occupancy.origin == (-50.5, -100.5, 0.0)
    assert occupancy.shape == (1010, 2010)
    parts = [part for part in read_geometry(stage).parts if part.solid == "closed"]
    cylinders = [part for part in parts if "Cylinder" in part.path]
    assert len(cylinders) == 251
    outlines = [shapely.convex_hull(shapely.multipoints(part.points[:, :2])) for part in parts]
    tree = shapely.STRtree(outlines)
    x, y = occupancy.cell_to_world(*np.indices(occupancy.shape), at="corner")
    tie = 1e-5
    squares = shapely.box(x + tie, y + tie, x + 0.1 - tie, y + 0.1 - tie).ravel()
    cells = occupancy.cells.ravel()
    shapely.prepare(outlines)
    rings = np.array([shapely.get_exterior_ring(outline) for outline in outlines])
    # The walls lie on cell edges, where the inner neighbour counts.
    grown = shapely.box(x - tie, y - tie, x + 0.1 + tie, y + 0.1 + tie).ravel()
    is_wall = np.array(["Wall" in part.path for part in parts])
    of_square, of_outline = tree.query(squares, predicate="intersects")
    compared = np.where(is_wall[of_outline], grown[of_square], squares[of_square])
    crossed = np.zeros(len(squares), dtype=bool)
    crossed[of_square[shapely.intersects(compared, rings[of_outline])]] = True
    touched = np.zeros(len(squares), dtype=bool)
    touched[of_square] = True
    assert np.array_equal(cells == 100, crossed)
    assert np.array_equal(cells == -1, touched & ~crossed)


def test_a_lidar_sees_the_slice_at_its_height() -> None:
    """A table with legs at 0.3 m: the legs; at 0.72 m: the top."""
    stage = new_stage()
    add_cube(stage, "/Top", (1.5, 1.0, 0.725), (1.4, 0.8, 0.05))
    for index, (x, y) in enumerate([(0.9, 0.7), (2.1, 0.7), (0.9, 1.3), (2.1, 1.3)]):
        add_cube(stage, f"/Leg_{index}", (x + 0.025, y + 0.025, 0.35), (0.05, 0.05, 0.7))
    settings = {"resolution": 0.05, "mode": "lidar", "bounds": (0, 0, 3, 2)}
    legs = build_occupancy(stage, height=0.3, **settings).cells
    assert (legs == 100).sum() == 4
    top = build_occupancy(stage, height=0.72, **settings).cells
    assert (top == 100).sum() == 28 * 16


def test_seeds_free_what_they_reach_and_nothing_else() -> None:
    stage = new_stage()
    add_box(stage, "/Crate", (1, 1, 0), (3, 3, 2))
    add_box(stage, "/Room", (4, 0, 0), (12, 8, 3))
    settings = {"resolution": 0.5, "height": BAND, "bounds": (-1, -1, 13, 9)}
    unseeded = build_occupancy(stage, **settings).cells
    assert unseeded[15, 8] == -1
    seeded = build_occupancy(stage, seeds=[(8, 4)], **settings).cells
    assert (seeded == 0).sum() == 14 * 14
    assert seeded[0, 0] == -1
    assert np.array_equal(seeded == 100, unseeded == 100)
    two = build_occupancy(stage, seeds=[(8, 4), (-0.7, -0.7)], **settings).cells
    assert two[0, 0] == 0
    assert two[5, 5] == -1


@pytest.mark.parametrize("seed", [(1.1, 2.0), (50.0, 2.0)])
def test_a_seed_that_is_not_free_is_refused_with_the_nearest_free_point(
    seed: tuple[float, float],
) -> None:
    stage = new_stage()
    add_box(stage, "/Crate", (1, 1, 0), (3, 3, 2))
    with pytest.raises(StageError, match="nearest free point is"):
        build_occupancy(stage, resolution=0.5, height=BAND, bounds=(-1, -1, 5, 5), seeds=[seed])


def test_bounds_are_rounded_outwards_to_whole_cells() -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (0, 0, 1))
    occupancy = build_occupancy(stage, resolution=0.5, height=BAND, bounds=(-1.2, -1, 1.01, 0.9))
    assert occupancy.origin == (-1.5, -1.0, 0.0)
    assert occupancy.shape == (6, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resolution": 0.0}, "resolution is 0.0"),
        ({"resolution": math.nan}, "resolution is nan"),
        ({"height": (0.6, 0.1)}, "two rising numbers"),
        ({"height": 0.3}, "a pair"),
        ({"mode": "lidar"}, "one number"),
        ({"mode": "lidar", "height": 0.3, "geometry": "collision"}, "visual geometry"),
        ({"mode": "radar"}, "'band' or 'lidar'"),
        ({"geometry": "everything"}, "'visual', 'collision' or 'both'"),
        ({"solid": "free"}, "'unknown' or 'occupied'"),
        ({"bounds": (1, 1, 0, 0)}, "x_min, y_min, x_max, y_max"),
        ({"floor": math.inf}, "finite height"),
        ({"cell_limit": 10}, "at most 10 cells"),
        ({"height": (5, 6)}, "lies between 0.5 and 1.5 m"),
        ({"root": "/Nowhere"}, "no prim at '/Nowhere'"),
        ({"exclude": ["/Box"]}, "matches a glob of exclude"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(options: dict[str, object], words: str) -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (0, 0, 1))
    with pytest.raises(StageError, match=words.replace("(", r"\(")):
        build_occupancy(stage, **options)  # type: ignore[arg-type]


def test_the_cell_limit_is_checked_before_anything_is_allocated() -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (0, 0, 1))
    with pytest.raises(StageError, match="cells are allowed"):
        build_occupancy(stage, resolution=1e-4, bounds=(-1e4, -1e4, 1e4, 1e4))


def test_surfaces_read_before_give_the_same_map() -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (0.3, 0.2, 1), yaw=30)
    add_box(stage, "/Mesh", (2, 2, 0), (3, 4, 2))
    direct = build_occupancy(stage, height=BAND)
    given = build_occupancy(stage, height=BAND, geometry=read_geometry(stage))
    assert direct == given


def test_progress_is_told() -> None:
    stage = new_stage()
    add_cube(stage, "/Box", (0, 0, 1))
    told: list[tuple[int, int, str]] = []
    build_occupancy(stage, height=BAND, progress=lambda *what: told.append(what))
    assert told[-1] == (1, 1, "drawing surfaces")
