"""Grids of other cells lose no obstacle and turn nothing unknown into free."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import (
    Occupancy,
    downsample,
    downsample_occupancy_grid,
    inflate,
    straighten,
)


def _random(seed: int, nx: int, ny: int) -> Any:
    return np.random.default_rng(seed).choice([-1, 0, 0, 40, 100], (nx, ny)).astype(np.int8)


def _squares(grid: Occupancy) -> Any:
    ix, iy = (index.ravel() for index in np.indices(grid.shape))
    corners = [
        np.stack(grid.cell_to_world(ix + right, iy + up, at="corner"), axis=1)
        for right, up in ((0, 0), (1, 0), (1, 1), (0, 1))
    ]
    return shapely.polygons(np.stack(corners, axis=1))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    nx=st.integers(1, 6),
    ny=st.integers(1, 6),
    yaw=st.floats(-4, 4).filter(lambda yaw: abs(yaw) > 1e-3),
)
def test_straightening_covers_every_turned_cell(seed: int, nx: int, ny: int, yaw: float) -> None:
    """Hold in each straight cell what the turned squares that it meets hold."""
    turned = Occupancy(_random(seed, nx, ny), 0.5, (1.0, -2.0, yaw))
    straight = straighten(turned)
    assert straight.origin[2] == 0.0
    source = _squares(turned)
    values = turned.cells.ravel()
    shared = shapely.area(shapely.intersection(_squares(straight)[:, None], source[None, :]))
    for value, areas in zip(straight.cells.ravel(), shared, strict=True):
        if ((areas > 0) & (areas < 1e-7)).any() or 0 < 0.25 - areas.sum() < 1e-7:
            continue
        met = values[areas > 1e-7]
        most = met.max() if met.size else -1
        unknown = (met < 0).any() or areas.sum() < 0.25 - 1e-7
        assert value == (-1 if unknown and most <= 50 else most)
    union = shapely.union_all(_squares(straight))
    assert union.buffer(1e-6).covers(shapely.union_all(source))


@pytest.mark.parametrize("quarters", [1, 2, 3, -1])
def test_quarter_turns_move_cells_and_change_none(quarters: int) -> None:
    """Turn a grid by right angles cell for cell."""
    cells = _random(3, 6, 9)
    straight = straighten(Occupancy(cells, 0.1, (2.0, 3.0, quarters * math.pi / 2)))
    assert np.array_equal(straight.cells, np.rot90(cells, quarters))


def test_a_straight_grid_is_returned_as_it_is() -> None:
    """Do nothing where nothing is turned."""
    grid = Occupancy(_random(1, 3, 3), 0.5, (1.0, 2.0, 0.0))
    assert straighten(grid) is grid


def test_a_turned_map_is_straightened_for_planners() -> None:
    """Find the turned wall occupied in the map, and what surrounds the grid unknown."""
    cells = np.zeros((10, 10), dtype=np.int8)
    cells[5] = 100
    grid = Occupancy(cells, 0.5, (2.0, 1.0, 0.7))
    world = grid.to_map(unknown="free")
    for iy in range(10):
        assert world.grid_occupied(*grid.cell_to_world(5, iy)) is True
    assert grid.to_map().grid_occupied(world.world_offset[0] + 0.01, world.world_offset[1] + 0.01)
    assert grid.to_fog_map().shape == world.grid.shape  # type: ignore[union-attr]


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    nx=st.integers(1, 50),
    ny=st.integers(1, 50),
    width=st.floats(0.5, 30),
    height=st.floats(0.5, 30),
    resolution=st.floats(0.2, 10),
)
def test_coarser_grids_equal_irsims(
    irsim: Any, seed: int, nx: int, ny: int, width: float, height: float, resolution: float
) -> None:
    """Make the blocks that IR-SIM makes, coarser and finer, of any factor."""
    from irsim.world.map import _downsample_occupancy_grid

    grid = np.random.default_rng(seed).choice([0.0, 30.0, 100.0], (nx, ny))
    ours = downsample_occupancy_grid(grid, width, height, resolution)
    theirs = _downsample_occupancy_grid(grid, width, height, resolution)
    assert ours.dtype == theirs.dtype
    assert np.array_equal(ours, theirs)


def test_neither_nan_nor_unknown_defeats_an_obstacle() -> None:
    """Keep an obstacle beside NaN, and the unknown beside free cells."""
    grid = np.array([[np.nan, 100.0, 0.0, np.nan], [0.0, np.nan, 0.0, 0.0]])
    coarse = downsample_occupancy_grid(grid, 2.0, 4.0, 2.0)
    assert coarse.tolist() == [[100.0, -1.0]]
    cells = np.array([[-1, 100], [0, 0], [-1, 40], [0, 0], [0, 0], [0, 0]], dtype=np.int8)
    assert downsample(Occupancy(cells, 0.1), 2).cells.tolist() == [[100], [-1], [0]]


@pytest.mark.parametrize("factor", [0, -1, 2.5])
def test_factors_are_whole_numbers(factor: float) -> None:
    """Refuse a factor that is no count of cells."""
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        downsample(Occupancy(np.zeros((4, 4), np.int8), 0.1), factor)  # type: ignore[arg-type]


def test_whole_factors_pad_with_unknown() -> None:
    """Cover the last cells with blocks that reach beyond the grid."""
    cells = np.zeros((5, 3), dtype=np.int8)
    cells[4, 2] = 100
    grid = Occupancy(cells, 0.1, (1.0, 2.0, 0.3))
    coarse = downsample(grid, 2)
    assert coarse.cells.tolist() == [[0, -1], [0, -1], [-1, 100]]
    assert (coarse.resolution, coarse.origin) == (0.2, grid.origin)
    assert downsample(grid, 1) == grid
    with pytest.raises(MapFormatError, match="at least 1"):
        downsample(grid, 0)


@pytest.mark.parametrize("resolution", [0.0, -1.0, math.nan, 1e-9])
def test_absurd_resolutions_are_refused(resolution: float) -> None:
    """Refuse before anything is allocated."""
    with pytest.raises(MapFormatError, match=r"more than 0|at most"):
        downsample_occupancy_grid(np.zeros((4, 4)), 10, 10, resolution)


@pytest.mark.parametrize("cells", [0, 1, 2, 3, 5])
def test_inflation_is_a_centred_disc(cells: int) -> None:
    """Grow one cell alike to all sides, and not at all by nothing."""
    single = np.zeros((15, 13), dtype=np.int8)
    single[7, 6] = 100
    grown = inflate(Occupancy(single, 0.1), cells * 0.1).cells
    i, j = np.indices(single.shape)
    assert np.array_equal(grown == 100, (i - 7) ** 2 + (j - 6) ** 2 <= cells**2)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    nx=st.integers(1, 14),
    ny=st.integers(1, 14),
    radius=st.floats(0, 2),
)
def test_inflation_reaches_what_lies_within_the_radius(
    seed: int, nx: int, ny: int, radius: float
) -> None:
    """Occupy the cells within the radius of an occupied one, and leave the others as they were."""
    cells = _random(seed, nx, ny)
    grid = Occupancy(cells, 0.25)
    near = np.zeros(cells.shape, dtype=bool)
    i, j = np.indices(cells.shape)
    for x, y in np.argwhere(cells > 50):
        near |= np.hypot(i - x, j - y) <= radius / 0.25 + 1e-9
    expected = np.where(near & ~(cells > 50), 100, cells)
    assert np.array_equal(inflate(grid, radius).cells, expected)


@pytest.mark.parametrize("radius", [-0.1, math.inf, math.nan])
def test_wrong_radii_are_refused(radius: float) -> None:
    """Refuse to shrink."""
    with pytest.raises(MapFormatError, match="0 m or more"):
        inflate(Occupancy(np.zeros((2, 2), np.int8), 0.1), radius)
