"""A map is what IR-SIM's planners take, and answers as IR-SIM's does."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import Point

from irsim_isaac.map import EnvGridMap, FogMap, Map

_MARGIN = st.one_of(st.just(0.0), st.floats(-1, 4), st.sampled_from([1e-9, 0.5, 1.0, math.nan]))


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    x=st.floats(-1, 11),
    y=st.floats(-1, 8),
    margin_x=_MARGIN,
    margin_y=_MARGIN,
    threshold=st.sampled_from([50.0, 0.0, 99.0, 100.0]),
)
def test_grid_occupied_equals_irsims(
    real: Any,
    seed: int,
    x: float,
    y: float,
    margin_x: float,
    margin_y: float,
    threshold: float,
) -> None:
    """Answer as IR-SIM does at any point, with any margin and threshold."""
    grid = np.random.default_rng(seed).choice([0.0, 40.0, 100.0], (10, 7), p=[0.7, 0.1, 0.2])
    ours, theirs = Map(10, 7, 1.0, grid=grid), real.Map(10, 7, 1.0, grid=grid)
    question = (x, y, margin_x, margin_y, threshold)
    assert ours.grid_occupied(*question) is theirs.grid_occupied(*question)


def test_grid_occupied_holds_up_to_the_last_float_below_the_edge() -> None:
    """Find the last cell occupied at the last number inside, where the quotient rounds up."""
    checked = 0
    for count in range(1, 60):
        for side in (0.1, 0.05, 0.3, 1 / 3, 0.7):
            width = count * side
            if round(width / side) != count:
                continue
            grid = np.zeros((count, 1))
            grid[-1, 0] = 100
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                world = Map(width, 1.0, side, grid=grid)
            assert world.grid_occupied(math.nextafter(width, 0.0), 0.5) is True
            assert world.grid_occupied(width, 0.5) is True
            checked += 1
    assert checked > 250


def test_grid_occupied_of_absurd_questions() -> None:
    """Refuse a point that is none, and look at the whole grid within an infinite margin."""
    grid = np.zeros((4, 4))
    world = Map(4, 4, 1.0, grid=grid)
    for place in ((math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(ValueError, match="two numbers were expected"):
            world.grid_occupied(*place)
    assert world.grid_occupied(1.5, 1.5, margin_x=math.inf, margin_y=math.inf) is False
    grid[3, 1] = 100
    assert world.grid_occupied(0.5, 1.5, margin_x=math.inf) is True
    assert world.grid_occupied(0.5, 3.5, margin_x=math.inf) is False
    assert world.grid_occupied(0.5, 3.5, margin_x=math.inf, margin_y=1e300) is True


def test_grid_occupied_is_none_without_a_grid() -> None:
    """Leave it to the obstacles where there is no grid."""
    assert Map().grid_occupied(1, 1) is None
    assert Map().grid_resolution is None


def test_attributes_and_defaults_are_the_contracts() -> None:
    """Have the names and defaults that planners read."""
    world = Map()
    assert (world.width, world.height, world.resolution) == (10, 10, 0.1)
    assert (world.obstacle_list, world.grid, world.world_offset) == ([], None, (0.0, 0.0))
    grid = np.zeros((4, 8))
    world = Map(2, 2, 0.5, grid=grid, world_offset=[1, 2])
    assert world.grid is grid
    assert world.world_offset == (1.0, 2.0)
    assert world.grid_resolution == (0.5, 0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "positive, finite"),
        ({"height": -1}, "positive, finite"),
        ({"width": math.nan}, "positive, finite"),
        ({"resolution": 0}, "resolution is 0"),
        ({"resolution": -0.1}, "resolution is -0.1"),
        ({"resolution": math.nan}, "resolution is nan"),
        ({"world_offset": [1.0]}, "two finite numbers"),
        ({"world_offset": (0.0, math.nan)}, "two finite numbers"),
        ({"grid": np.zeros(3)}, "shape"),
        ({"grid": np.zeros((0, 3))}, "at least one cell"),
    ],
)
def test_worlds_without_extent_and_grids_that_are_none_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    """Refuse at once what IR-SIM takes and divides by later."""
    with pytest.raises(ValueError, match=message):
        Map(**arguments)


def test_maps_satisfy_both_protocols(real: Any) -> None:
    """Be what our protocol and IR-SIM's ask for; a stand-in without the methods is not."""
    for protocol in (EnvGridMap, real.EnvGridMap):
        assert isinstance(Map(), protocol)
        assert isinstance(FogMap(), protocol)
        assert not isinstance(SimpleNamespace(width=1), protocol)


def _maze() -> np.ndarray[Any, Any]:
    grid = np.zeros((40, 40))
    grid[12, :30] = grid[26, 10:] = 100
    return grid


class _Robot:
    """What IR-SIM's sampling planners read of a robot."""

    original_geometry = Point(0, 0).buffer(0.2)
    radius = 0.2


@pytest.mark.parametrize("planner", ["AStarPlanner", "JPSPlanner"])
def test_grid_planners_find_the_same_path_as_on_irsims_map(
    irsim: Any, real: Any, planner: str
) -> None:
    """Plan on our map as on the real one: the same path round two walls."""
    from irsim.lib import path_planners

    grid = _maze()
    paths = []
    for kind in (Map, real.Map):
        world = kind(10, 10, 0.25, grid=grid)
        made = getattr(path_planners, planner)(world)
        start, goal = np.array([[1.0], [1.0]]), np.array([[9.0], [9.0]])
        paths.append(np.array(made.planning(start, goal, show_animation=False)))
    assert paths[0].shape[1] > 5
    assert np.array_equal(*paths)
    for x, y in paths[0].T:
        assert grid[int(x / 0.25), int(y / 0.25)] == 0


@pytest.mark.parametrize("planner", ["RRT", "RRTStar", "InformedRRTStar"])
def test_sampling_planners_find_a_path(irsim: Any, planner: str) -> None:
    """Plan with random trees on our map, and cross no wall."""
    from irsim.lib import path_planners
    from irsim.util.random import set_seed

    set_seed(3)
    world = Map(10, 10, 0.25, grid=_maze())
    made = getattr(path_planners, planner)(world, _Robot(), max_iter=1500)
    path = made.planning([1.0, 1.0, 0.0], [9.0, 9.0, 0.0], show_animation=False)
    assert path is not None
    places = np.array(path)[:2].T
    assert len(places) > 3
    assert not any(world.is_collision(Point(place).buffer(0.2)) for place in places)


def test_road_map_planner_finds_a_path(irsim: Any) -> None:
    """Plan with a probabilistic road map on our map."""
    from irsim.lib.path_planners import PRMPlanner

    world = Map(10, 10, 0.25, grid=_maze())
    made = PRMPlanner(world, robot_radius=0.2, n_sample=300)
    path = made.planning(
        np.array([[1.0], [1.0], [0.0]]),
        np.array([[9.0], [9.0], [0.0]]),
        rng=np.random.default_rng(1),
        show_animation=False,
    )
    assert path is not None
    places = np.array(path)[:2].T
    assert not any(world.is_collision(Point(place).buffer(0.2)) for place in places)
