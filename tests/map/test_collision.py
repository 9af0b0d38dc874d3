"""A cell is its square: collision is meeting an open square, and touching is none."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import affinity
from shapely.geometry import LineString, MultiPoint, Point, box

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import Map, ObstacleMap, Occupancy


def _map(grid: Any, side: float = 1.0, offset: tuple[float, float] = (0.0, 0.0)) -> Map:
    grid = np.asarray(grid, dtype=np.float64)
    return Map(grid.shape[0] * side, grid.shape[1] * side, side, grid=grid, world_offset=offset)


def _oracle(world: Map, geometry: Any) -> bool:
    """Ask GEOS of every occupied cell whether insides meet."""
    assert world.grid is not None
    rx, ry = world.width / world.grid.shape[0], world.height / world.grid.shape[1]
    (ox, oy), (minx, miny, maxx, maxy) = world.world_offset, geometry.bounds
    if minx < ox or miny < oy or maxx > ox + world.width or maxy > oy + world.height:
        return True
    i, j = np.nonzero(world.grid > 50)
    boxes = shapely.box(ox + i * rx, oy + j * ry, ox + (i + 1) * rx, oy + (j + 1) * ry)
    met = shapely.intersects(geometry, boxes) & ~shapely.touches(geometry, boxes)
    return bool(met.any())


@st.composite
def _questions(draw: st.DrawFn) -> tuple[Map, Any]:
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    large = draw(st.booleans())
    nx, ny = random.integers(1, 250 if large else 12, 2)
    side = random.choice([0.25, 0.5, 1.0])
    grid = (random.random((nx, ny)) < random.choice([0.0005, 0.02, 0.3])) * 100.0
    offset = (float(random.choice([0.0, -3.0])), float(random.choice([0.0, 2.5])))
    size = np.array([nx, ny]) * side

    def point() -> Any:
        place = random.uniform(-0.02, 1.02, 2) * size
        on_lattice = draw(st.booleans())
        return (np.round(place * 8) / 8 if on_lattice else place) + offset

    kind = draw(st.sampled_from(["point", "line", "disc", "box", "bar", "points"]))
    a, b, c = point(), point(), point()
    if kind == "point":
        shape: Any = Point(a)
    elif kind == "line":
        shape = LineString([a, b, c])
    elif kind == "points":
        shape = MultiPoint([a, b, c])
    elif kind == "disc":
        shape = Point(a).buffer(random.uniform(0.05, 3))
    elif kind == "box":
        low, high = np.minimum(a, b), np.maximum(a, b) + 0.125
        shape = box(*low, *high)
    else:
        bar = affinity.rotate(box(0, 0, random.uniform(0.1, 40), 0.2), random.uniform(0, 360))
        shape = affinity.translate(bar, *a)
    return _map(grid, side, offset), shape


@settings(max_examples=500)
@given(_questions())
def test_is_collision_equals_asking_every_cell(question: tuple[Map, Any]) -> None:
    """Answer as if every occupied cell had been asked, small windows and large."""
    world, geometry = question
    assert world.is_collision(geometry) is _oracle(world, geometry)


def test_touching_is_no_collision() -> None:
    """Let a geometry touch a cell's sides, its corners and the world's edges."""
    grid = np.zeros((4, 4))
    grid[1, 1] = 100
    world = _map(grid)
    for free in (
        box(2, 1, 3, 2),
        box(0, 0, 1, 1),
        box(0, 2, 4, 4),
        box(2, 0, 4, 4),
        LineString([(1, 0), (1, 4)]),
        LineString([(0, 0), (1, 1)]),
        Point(1, 1),
        Point(2, 1.5),
        Point(4, 4),
    ):
        assert not world.is_collision(free), free
    for hit in (
        box(1.9, 1, 3, 2),
        box(0, 0, 4, 4),
        LineString([(0, 0), (1.01, 1.01)]),
        LineString([(0, 3), (3, 0)]),
        Point(1.000001, 1.5),
        Point(math.nextafter(2, 0), 1.5).buffer(1e-6),
    ):
        assert world.is_collision(hit), hit


@pytest.mark.parametrize("side", [1.0, 0.05, 0.1, 0.3, 1 / 3])
@pytest.mark.parametrize("offset", [(0.0, 0.0), (-7.3, 12.9)])
def test_a_footprint_as_wide_as_a_cell_passes_a_corridor_one_cell_wide(
    side: float, offset: tuple[float, float]
) -> None:
    """Let a square pass between two walls exactly as far apart as it is wide."""
    grid = np.full((40, 3), 100.0)
    grid[:, 1] = 0
    world = _map(grid, side, offset)
    half = side / 2
    for step in range(1, 39):
        x, y = offset[0] + (step + 0.5) * side, offset[1] + 1.5 * side
        assert not world.is_collision(box(x - half, y - half, x + half, y + half))
        shifted = y + 0.001 * side
        assert world.is_collision(box(x - half, shifted - half, x + half, shifted + half))


def test_the_corners_of_a_cell_and_the_middle_of_a_block_are_solid() -> None:
    """Hit where IR-SIM's inscribed discs leave holes."""
    grid = np.zeros((10, 10))
    grid[3:8, 3:8] = 100
    world = _map(grid)
    assert world.is_collision(Point(3.05, 3.05))
    assert world.is_collision(Point(5, 5).buffer(0.2))
    assert world.is_collision(Point(5, 5).buffer(1e-6))


def test_is_collision_reads_the_grid_as_it_is_now() -> None:
    """See a cell that was occupied, and a grid that was put in, after the map was made."""
    grid = np.zeros((4, 4))
    world = _map(grid)
    assert not world.is_collision(Point(1.5, 1.5))
    grid[1, 1] = 100
    assert world.is_collision(Point(1.5, 1.5))
    world.grid = np.zeros((2, 2))
    assert not world.is_collision(Point(1.5, 1.5))
    world.grid = np.full((2, 2), 100)
    assert world.is_collision(Point(1.5, 1.5))


@pytest.mark.filterwarnings("ignore:invalid value encountered in from_wkt")
@pytest.mark.parametrize(
    "wkt",
    [
        "POLYGON EMPTY",
        "POINT EMPTY",
        "GEOMETRYCOLLECTION EMPTY",
        "POINT (NaN 1)",
        "POINT (1 NaN)",
        "LINESTRING (1 1, NaN NaN, 2 2)",
        "LINESTRING (1 1, 2 NaN)",
        "LINESTRING (1 1, 9 9, 2 NaN)",
        "POLYGON ((1 1, 2 1, NaN 2, 1 1))",
        "POLYGON ((0 0, 3 0, 3 3, 0 0), (1 1, 2 NaN, 2 1, 1 1))",
        "MULTIPOINT (1 1, NaN NaN)",
        "GEOMETRYCOLLECTION (POINT (1 1), POINT (NaN 2))",
    ],
)
def test_empty_and_nan_geometries_are_refused(wkt: str) -> None:
    """Refuse what has no place, wholly or in part, before anything is asked of the grid."""
    geometry = shapely.from_wkt(wkt)
    for grid in (np.zeros((4, 4)), np.full((4, 4), 100)):
        with pytest.raises(MapFormatError, match="cannot be tested"):
            _map(grid).is_collision(geometry)
        with pytest.raises(MapFormatError, match="cannot be tested"):
            ObstacleMap(grid_map=grid).is_collision(geometry)


def test_what_reaches_to_infinity_is_outside_a_world_and_refused_by_an_obstacle() -> None:
    """Answer for a world, whose outside it meets, and refuse where there is no outside."""
    grid = np.zeros((4, 4))
    for place in ((math.inf, 1.0), (1.0, -math.inf)):
        geometry = LineString([(1, 1), place])
        assert _map(grid).is_collision(geometry)
        with pytest.raises(MapFormatError, match="finite coordinates were expected"):
            ObstacleMap(grid_map=grid).is_collision(geometry)


@pytest.mark.parametrize("thing", [None, "POINT (1 1)", 3, (1.0, 1.0)])
def test_what_is_no_geometry_is_refused(thing: Any) -> None:
    """Name what came instead of a geometry."""
    for asked in (_map(np.zeros((4, 4))), ObstacleMap(grid_map=np.zeros((4, 4)))):
        with pytest.raises(TypeError, match="expected a shapely geometry"):
            asked.is_collision(thing)


def test_nan_cells_are_refused_and_unknown_cells_follow_the_policy() -> None:
    """Refuse NaN by its place, and make unknown cells what the policy says."""
    grid = np.zeros((3, 3))
    grid[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN cells, the first at \(1, 2\)"):
        _map(grid)
    grid[1, 2] = -1
    inside = Point(1.5, 2.5)
    answers = {}
    for unknown in ("free", "occupied", "keep"):
        world = Map(3, 3, 1.0, grid=grid, unknown=unknown)  # type: ignore[arg-type]
        assert world.grid is not None
        answers[unknown] = (world.is_collision(inside), float(world.grid[1, 2]))
    assert answers == {"free": (False, 0.0), "occupied": (True, 100.0), "keep": (False, -1.0)}
    with pytest.raises(ValueError, match="'occupied', 'free', 'keep'"):
        Map(3, 3, 1.0, grid=grid, unknown="maybe")  # type: ignore[arg-type]


def test_a_solids_inside_is_never_free_in_the_map_of_an_occupancy() -> None:
    """Take unknown cells for occupied unless told otherwise."""
    cells = np.zeros((3, 3), dtype=np.int8)
    cells[1, 1] = -1
    world = Occupancy(cells, 1.0)
    assert world.to_map().is_collision(Point(1.5, 1.5))
    assert not world.to_map(unknown="free").is_collision(Point(1.5, 1.5))
    kept = world.to_map(unknown="keep")
    assert kept.grid is not None
    assert kept.grid[1, 1] == -1


def test_obstacles_are_asked_where_they_are_now() -> None:
    """See obstacles beside the grid, and see them move, come and go."""
    obstacle = SimpleNamespace(_geometry=box(2, 2, 4, 4))
    world = Map(10, 10, 1.0, [obstacle])
    assert world.is_collision(Point(3, 3))
    assert not world.is_collision(Point(1, 1))
    obstacle._geometry = box(0.5, 0.5, 1.5, 1.5)
    assert world.is_collision(Point(1, 1))
    assert not world.is_collision(Point(3, 3))
    world.obstacle_list.append(SimpleNamespace(_geometry=Point(8, 8).buffer(1)))
    assert world.is_collision(Point(8, 8))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_answers_differ_from_irsims_only_where_discs_leave_corners(real: Any, seed: int) -> None:
    """Hit wherever IR-SIM hits, save by a disc's margin, and more only in cells' corners."""
    random = np.random.default_rng(seed)
    grid = (random.random((12, 9)) < 0.15) * 100.0
    ours = _map(grid)
    theirs = real.Map(12, 9, 1.0, grid=grid)
    for _ in range(20):
        x, y = random.uniform(1, 11), random.uniform(1, 8)
        radius = random.uniform(0.05, 0.9)
        disc = Point(x, y).buffer(radius)
        if ours.is_collision(disc) != theirs.is_collision(disc):
            i, j = np.nonzero(grid > 50)
            centres = shapely.points(i + 0.5, j + 0.5)
            nearest = shapely.distance(disc, centres).min()
            assert 0.5 < nearest < math.sqrt(0.5), "only the corners outside the inscribed disc"
            assert ours.is_collision(disc)


def test_divergent_resolution_warns_on_the_callers_line() -> None:
    """Warn as IR-SIM does when the resolution is not the cells' side."""
    with pytest.warns(UserWarning, match="resolution.*differs from grid") as caught:
        Map(10, 10, 0.1, grid=np.zeros((20, 20)))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Map(10, 10, 0.5, grid=np.zeros((20, 20)))
