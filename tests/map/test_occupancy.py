"""The grid of three classes: where its cells lie, and what becomes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import BuildReport, Occupancy, Omission


def _occupancy(resolution: float, origin: tuple[float, float, float]) -> Occupancy:
    return Occupancy(np.zeros((40, 30), dtype=np.int8), resolution, origin)


_PLACE = st.floats(-1e3, 1e3)
_ORIGIN = st.tuples(_PLACE, _PLACE, st.one_of(st.just(0.0), st.floats(-7, 7)))


@settings(max_examples=200)
@given(resolution=st.floats(0.01, 10), origin=_ORIGIN)
def test_world_to_cell_undoes_cell_to_world(
    resolution: float, origin: tuple[float, float, float]
) -> None:
    """Find every cell by its centre, however the grid is turned."""
    occupancy = _occupancy(resolution, origin)
    ix, iy = np.indices(occupancy.shape)
    found = occupancy.world_to_cell(*occupancy.cell_to_world(ix, iy))
    assert np.array_equal(found[0], ix)
    assert np.array_equal(found[1], iy)
    assert occupancy.world_to_cell(*occupancy.cell_to_world(7, 3)) == (7, 3)


@settings(max_examples=200)
@given(resolution=st.floats(0.01, 10), x=st.floats(-500, 500), ox=_PLACE)
def test_cells_hold_their_lower_edge_and_not_their_upper(
    resolution: float, x: float, ox: float
) -> None:
    """Put a point at or above a cell's own edge and below the next."""
    occupancy = _occupancy(resolution, (ox, 0.0, 0.0))
    index, _ = occupancy.world_to_cell(x, 0.0)
    assert index * resolution <= x - ox < (index + 1) * resolution


def test_points_that_are_none_are_refused_and_far_ones_lie_outside() -> None:
    """Refuse NaN, and keep the sides of points beyond what an index can hold."""
    occupancy = Occupancy(np.zeros((2, 2), np.int8), 0.1)
    for place in ((math.nan, 0.0), (0.0, math.nan), ([0.0, math.nan], [0.0, 0.0])):
        with pytest.raises(MapFormatError, match="numbers were expected"):
            occupancy.world_to_cell(*place)
    for far in (1e300, math.inf):
        i, j = occupancy.world_to_cell(far, -far)
        assert i > 2**40
        assert j < -(2**40)


def test_indices_may_lie_outside() -> None:
    """Give indices beyond the grid rather than clip them."""
    occupancy = _occupancy(0.5, (1.0, 2.0, 0.0))
    assert occupancy.world_to_cell(0.9, 17.1) == (-1, 30)
    assert (occupancy.width, occupancy.height, occupancy.shape) == (20.0, 15.0, (40, 30))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cells": np.zeros(4, np.int8)}, "shape"),
        ({"cells": np.zeros((0, 4), np.int8)}, "at least one cell"),
        ({"cells": np.zeros((2, 2))}, "whole numbers"),
        ({"cells": np.full((2, 2), 101)}, "run from 101 to 101"),
        ({"cells": np.full((2, 2), -2)}, "run from -2 to -2"),
        ({"resolution": 0.0}, "positive"),
        ({"resolution": math.nan}, "positive"),
        ({"origin": (0.0, 0.0)}, "three finite numbers"),
        ({"origin": (0.0, math.inf, 0.0)}, "three finite numbers"),
    ],
)
def test_what_is_no_grid_is_refused(arguments: dict[str, Any], message: str) -> None:
    """Say what was found and what was expected."""
    usual: dict[str, Any] = {"cells": np.zeros((2, 2), np.int8), "resolution": 0.5}
    with pytest.raises(MapFormatError, match=message):
        Occupancy(**{**usual, **arguments})


def test_whole_numbers_of_any_width_become_int8_and_int8_is_kept() -> None:
    """Take 64-bit cells, and copy nothing that is int8."""
    cells = np.array([[0, 100], [-1, 50]])
    assert Occupancy(cells, 1.0).cells.dtype == np.int8
    small = cells.astype(np.int8)
    assert Occupancy(small, 1.0).cells is small


def test_equality_is_of_cells_and_place_and_not_of_the_report() -> None:
    """Compare what the grid is, not how it came about."""
    cells = np.zeros((2, 2), np.int8)
    report = BuildReport((Omission("/a", "hidden", "it is hidden"),))
    assert Occupancy(cells, 1.0) == Occupancy(cells.copy(), 1.0, report=report)
    assert Occupancy(cells, 1.0) != Occupancy(cells, 2.0)
    assert Occupancy(cells, 1.0) != Occupancy(cells, 1.0, (0.0, 1.0, 0.0))
    assert Occupancy(cells, 1.0) != Occupancy(cells + 1, 1.0)
    assert Occupancy(cells, 1.0) != "a map"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Occupancy(cells, 1.0))


def test_to_map_lies_where_the_grid_lies() -> None:
    """Give a map of the same extent, cells and obstacles."""
    cells = np.zeros((4, 6), np.int8)
    cells[1, 2] = 100
    obstacles = [object()]
    world = Occupancy(cells, 0.5, (-3.0, 2.0, 0.0)).to_map(obstacle_list=obstacles)
    assert (world.width, world.height, world.resolution) == (2.0, 3.0, 0.5)
    assert world.world_offset == (-3.0, 2.0)
    assert world.obstacle_list is obstacles
    assert world.grid_occupied(-2.25, 3.25) is True
    assert world.grid_occupied(-2.75, 3.25) is False


def test_a_wrong_word_for_known_cells_is_refused() -> None:
    """Name the words that may be given."""
    with pytest.raises(MapFormatError, match="'fog' or 'explored'"):
        _occupancy(1.0, (0.0, 0.0, 0.0)).to_fog_map(known="seen")  # type: ignore[arg-type]
