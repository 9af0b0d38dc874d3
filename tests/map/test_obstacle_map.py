"""A map as an obstacle: its outline is the true one, and IR-SIM takes it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from shapely.geometry import LineString, Point, box

from irsim_isaac.map import Map, ObstacleMap, grid_collision_geometry

_CELLS = hnp.arrays(
    np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.booleans()
)


def _points(grid: Any, sides: Any, offset: Any = (0.0, 0.0)) -> Any:
    places = np.array(np.nonzero(grid))
    return np.array(offset)[:, None] + (places + 0.5) * np.broadcast_to(sides, (2, 1))


def _signed_area(ring: Any) -> float:
    return 0.5 * sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairwise(ring.coords))


@settings(max_examples=300)
@given(cells=_CELLS)
def test_the_outline_is_the_boundary_of_the_union_of_cells(cells: Any) -> None:
    """Draw exactly the union's boundary, in rings that turn at every corner."""
    obstacle = ObstacleMap(grid_map=cells * 100)
    i, j = np.nonzero(cells)
    union = shapely.union_all(shapely.box(i, j, i + 1, j + 1))
    if not cells.any():
        assert obstacle.linestrings == []
        return
    assert shapely.equals(obstacle.geometry, union.boundary)
    assert obstacle.geometry.length == union.length
    assert sum(map(_signed_area, obstacle.linestrings)) == cells.sum()
    for ring in obstacle.linestrings:
        assert ring.is_closed
        steps = np.diff(np.array(ring.coords), axis=0)
        assert ((steps == 0).sum(axis=1) == 1).all()
        assert (np.sum(steps * np.roll(steps, 1, axis=0), axis=1) == 0).all(), "every corner turns"


@settings(max_examples=100)
@given(
    cells=_CELLS,
    side=st.sampled_from([0.05, 0.1, 0.3, 1 / 3]),
    offset=st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
)
def test_points_give_the_outline_that_the_grid_gives(
    cells: Any, side: float, offset: tuple[float, float]
) -> None:
    """Find the same rings from centres alone, from centres with a grid, and from the grid."""
    sides = np.array([[side], [side]])
    given_offset = list(offset)
    whole = ObstacleMap(grid_map=cells * 100, grid_reso=sides, world_offset=given_offset)
    shape = {"name": "map", "points": _points(cells, sides, offset), "reso": sides}
    both = ObstacleMap(shape, grid_map=cells * 100, grid_reso=sides, world_offset=given_offset)
    assert both.geometry.wkb == whole.geometry.wkb
    alone = ObstacleMap(shape)
    assert len(alone.linestrings) == len(whole.linestrings)
    for ring, other in zip(alone.linestrings, whole.linestrings, strict=True):
        assert np.allclose(ring.coords, other.coords, rtol=0, atol=1e-12)


def test_a_solid_block_is_one_ring_of_four_segments() -> None:
    """Leave no sliver in a hundred by a hundred cells of a tenth."""
    obstacle = ObstacleMap(
        {"name": "map", "points": _points(np.ones((100, 100)), 0.1), "reso": 0.1}
    )
    (ring,) = obstacle.linestrings
    assert np.allclose(ring.coords, [(0, 10), (0, 0), (10, 0), (10, 10), (0, 10)], atol=1e-12)
    assert len(obstacle.geometry_tree.query(box(4, 4, 5, 5))) == 1


def test_the_boundary_is_irsims_where_its_arithmetic_is_exact(real: Any) -> None:
    """Draw what IR-SIM draws of cells of half a metre."""
    random = np.random.default_rng(4)
    for density in (0.1, 0.5, 0.9):
        cells = random.random((12, 9)) < density
        shape = {"name": "map", "points": _points(cells, 0.5), "reso": np.array([[0.5], [0.5]])}
        ours, theirs = ObstacleMap(shape), real.ObstacleMap(shape=shape)
        assert shapely.equals(ours.geometry, theirs.geometry)
        corners = sum(len(line.coords) for line in ours.linestrings)
        assert corners <= sum(len(line.coords) for line in theirs.linestrings)


def test_rooms_have_no_segment_more_than_the_true_outline() -> None:
    """Outline two hundred closed rooms in 804 segments."""
    grid = np.zeros((1000, 1000))
    grid[np.rint(np.linspace(0, 999, 21)).astype(int), :] = 100
    grid[:, np.rint(np.linspace(0, 999, 11)).astype(int)] = 100
    obstacle = ObstacleMap(grid_map=grid, grid_reso=np.array([[0.05], [0.05]]))
    assert sum(len(line.coords) - 1 for line in obstacle.linestrings) == 804


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1))
def test_collision_is_the_maps(seed: int) -> None:
    """Answer as a map over the same cells does, with a grid or with points alone."""
    random = np.random.default_rng(seed)
    cells = random.random((9, 7)) < 0.2
    cells[0, 0] = cells[8, 6] = True
    world = Map(9 * 0.5, 7 * 0.5, 0.5, grid=cells * 100)
    with_grid = ObstacleMap(grid_map=cells * 100, grid_reso=np.array([[0.5], [0.5]]))
    alone = ObstacleMap({"name": "map", "points": _points(cells, 0.5), "reso": 0.5})
    for _ in range(10):
        low = random.uniform(0.0, 2.5, 2)
        geometry = box(*low, *(low + random.uniform(0.05, 0.9, 2)))
        expected = world.is_collision(geometry)
        assert with_grid.is_collision(geometry) is expected
        assert with_grid.check_grid_collision(geometry) is expected
        assert alone.is_collision(geometry) is expected
        assert alone.check_grid_collision(geometry) is False
    assert with_grid.is_collision(box(-5, -5, -4, -4)) is False


def test_points_on_no_lattice_are_squares_by_themselves(real: Any) -> None:
    """Join squares that lie anywhere, as IR-SIM does, and hit their insides."""
    points = np.array([[0.5, 1.25, 4.0, 1e7], [0.5, 0.75, 4.0, 1e7]])
    shape = {"name": "map", "points": points, "reso": np.array([[1.0], [1.0]])}
    ours, theirs = ObstacleMap(shape, grid_map=np.zeros((3, 3))), real.ObstacleMap(shape=shape)
    assert shapely.equals(ours.geometry, theirs.geometry)
    assert ours.is_collision(Point(4, 4).buffer(0.1))
    assert not ours.is_collision(box(4.5, 3.5, 5, 4.5))
    assert not ours.is_collision(box(2, 2, 3, 3))


def test_the_collision_test_stands_by_itself() -> None:
    """Ask a bare grid what an obstacle map asks its own."""
    grid = np.zeros((4, 6))
    grid[2, 3] = 100
    hit, miss = Point(5.1, 4.6), Point(5.1, 3.9)
    assert grid_collision_geometry(grid, (1.0, 0.5), hit, (3.0, 3.0))
    assert not grid_collision_geometry(grid, (1.0, 0.5), miss, (3.0, 3.0))
    assert not grid_collision_geometry(grid, 1.0, Point(100, 100))
    assert grid_collision_geometry(None, 1.0, hit) is False


def test_touching_and_insides() -> None:
    """Hit inside a block, where the boundary is far, and not at its sides."""
    obstacle = ObstacleMap(grid_map=np.full((10, 10), 100), world_offset=[2.0, 3.0])
    assert obstacle.is_collision(Point(7, 8).buffer(0.2))
    assert not obstacle.is_collision(box(0, 0, 2, 20))
    assert obstacle.is_collision(LineString([(0, 0), (20, 20)]))
    with pytest.raises(ValueError, match="cannot be tested"):
        obstacle.is_collision(Point())


def test_a_map_asks_its_obstacle_map_for_its_insides() -> None:
    """Hit the inside of an obstacle map that a map holds among its obstacles."""
    obstacle = ObstacleMap(grid_map=np.full((4, 4), 100), world_offset=[2.0, 2.0])
    world = Map(10, 10, 1.0, [obstacle])
    assert world.is_collision(Point(4, 4).buffer(0.1))
    assert not world.is_collision(box(6, 2, 7, 6))


@pytest.mark.parametrize("reso", [0.5, "0.5", [0.5, 0.5], (0.5,), np.array([[0.5], [0.5]])])
def test_sides_in_any_shape(reso: Any) -> None:
    """Take a number, a word, one or two numbers in any shape."""
    cells = np.array([[1, 0], [0, 0]])
    obstacle = ObstacleMap(grid_map=cells * 100, grid_reso=reso)
    assert obstacle.grid_reso.tolist() == [[0.5], [0.5]]
    assert obstacle.geometry.bounds == (0.0, 0.0, 0.5, 0.5)


def test_defaults_are_the_contracts() -> None:
    """Have the contract's attributes and defaults."""
    grid = np.eye(3) * 100
    obstacle = ObstacleMap(grid_map=grid)
    assert (obstacle.color, obstacle.static, obstacle.role) == ("k", True, "obstacle")
    assert obstacle.grid_map is grid
    assert obstacle.grid_reso.tolist() == [[1.0], [1.0]]
    assert obstacle.world_offset == [0.0, 0.0]
    assert len(obstacle.linestrings) == 3, "cells that meet in corners have rings of their own"
    empty = ObstacleMap({"name": "map", "points": np.empty((2, 0)), "reso": 0.1})
    assert empty.linestrings == []
    assert not empty.is_collision(Point(0, 0))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "needs points"),
        ({"shape": {"name": "circle"}}, ValueError, "'map' was expected"),
        ({"shape": {"points": np.zeros((3, 2))}}, ValueError, "shape \\(3, 2\\)"),
        ({"shape": {"points": np.full((2, 1), math.nan)}}, ValueError, "finite"),
        ({"grid_map": np.eye(2), "grid_reso": [0.1, -1]}, ValueError, "positive"),
    ],
)
def test_what_cannot_be_a_map_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Say what is missing or wrong."""
    with pytest.raises(error, match=message):
        ObstacleMap(**arguments)


_WORLD = """
world: {height: 10, width: 10, step_time: 0.1}
robot:
  - kinematics: {name: diff}
    shape: {name: circle, radius: 0.2}
    state: [5.03, 4.9, 0.3]
    sensors: [{name: lidar2d, range_max: 12.0, angle_range: 6.283185, number: 180}]
"""


def _scan(irsim: Any, folder: Any, obstacle: Any) -> Any:
    (folder / "world.yaml").write_text(_WORLD)
    env = irsim.make(str(folder / "world.yaml"), display=False)
    try:
        env.add_object(obstacle)
        env.step([np.array([[0.3], [0.2]])])
        env.render(0.001)
        ranges = np.array(env.robot.lidar.range_data)
        env.robot.set_state([2.5, 2.5, 0.0])
        env.refresh()
        return ranges, env.robot.collision
    finally:
        env.end()


def test_to_irsim_stands_in_a_real_environment_with_its_plot(
    irsim: Any, real: Any, tmp_path: Any
) -> None:
    """Be seen by IR-SIM's lidar where its own map is, be drawn, and collide inside a block."""
    cells = np.zeros((20, 20), dtype=bool)
    cells[0] = cells[-1] = cells[:, 0] = cells[:, -1] = True
    cells[3:8, 3:8] = cells[14, 12:18] = True
    sides = np.array([[0.5], [0.5]])
    shape = {"name": "map", "points": _points(cells, sides), "reso": sides}
    options: dict[str, Any] = {"grid_map": cells * 100.0, "grid_reso": sides}
    made = ObstacleMap(shape, name="walls", **options).to_irsim()
    assert isinstance(made, real.ObstacleMap)
    assert (made.shape, made.role, made.static, made.name) == ("map", "obstacle", True, "walls")
    ours, inside = _scan(irsim, tmp_path, made)
    theirs, _ = _scan(irsim, tmp_path, real.ObstacleMap(shape=shape, **options))
    assert np.allclose(ours, theirs, rtol=0, atol=1e-9)
    assert ours.max() < 12
    assert inside
    with pytest.raises(ValueError, match="no cell is occupied"):
        ObstacleMap(grid_map=np.zeros((2, 2))).to_irsim()
