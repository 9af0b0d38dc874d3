"""Rays against the cells of a map."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.grid_casting import GridCaster


def entry_distances(
    occupied: npt.NDArray[np.bool_], x: float, y: float, angles: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return where each ray first enters an occupied cell, in cells, every cell tried."""
    ix, iy = np.nonzero(occupied)
    best = np.full(len(angles), np.inf)
    for ray, angle in enumerate(angles):
        dx, dy = math.cos(angle), math.sin(angle)
        with np.errstate(divide="ignore", invalid="ignore"):
            ax, bx = np.sort([(ix - x) / dx, (ix + 1 - x) / dx], axis=0)
            ay, by = np.sort([(iy - y) / dy, (iy + 1 - y) / dy], axis=0)
        enter, leave = np.maximum(ax, ay), np.minimum(bx, by)
        met = (leave > enter) & (leave > 0)
        if met.any():
            best[ray] = max(0.0, enter[met].min())
    return best


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_ranges_are_those_of_every_cell_tried(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 40, 2))
    occupied = random.random(shape) < random.choice([0.02, 0.2])
    resolution = float(random.uniform(0.02, 0.5))
    origin = tuple(random.uniform(-5, 5, 3))
    # Starts within the map and beyond it.
    x, y = random.uniform(-5, np.array(shape) + 5)
    bearings = np.sort(random.uniform(-math.pi, math.pi, 60))
    heading = float(random.uniform(-3, 3))
    cos, sin = math.cos(origin[2]), math.sin(origin[2])
    pose = (
        origin[0] + resolution * (cos * x - sin * y),
        origin[1] + resolution * (sin * x + cos * y),
        heading + origin[2],
    )
    reach = float(random.uniform(1, 60)) * resolution
    found = GridCaster(occupied, resolution=resolution, origin=origin).scan(
        bearings, pose, range_max=reach
    )
    expected = entry_distances(occupied, x, y, heading + bearings) * resolution
    doubtful = np.abs(expected - reach) < 1e-6
    expected[expected > reach] = np.inf
    np.testing.assert_allclose(found[~doubtful], expected[~doubtful], rtol=1e-5, atol=1e-6)


def scan(
    occupied: npt.ArrayLike, pose: tuple[float, float, float], *degrees: float, reach: float = 99.0
) -> list[float]:
    bearings = np.radians(degrees)
    return GridCaster(occupied, resolution=1.0).scan(bearings, pose, range_max=reach).tolist()


def test_grids_are_indexed_x_first() -> None:
    occupied = np.zeros((5, 3), dtype=bool)
    occupied[4, 1] = True
    assert scan(occupied, (0.5, 1.5, 0.0), 0, 90, 180, 270) == [3.5, math.inf, math.inf, math.inf]
    assert scan(occupied, (0.5, 1.5, math.pi / 2), -90, 0) == [3.5, math.inf]


def test_nothing_leaks_between_cells_that_touch_at_a_corner() -> None:
    """A beam exactly through the corner is stopped there, from each of the four sides."""
    for cells in ([(1, 2), (2, 1)], [(1, 1), (2, 2)], [(1, 2)], [(2, 1)]):
        occupied = np.zeros((4, 4), dtype=bool)
        for cell in cells:
            occupied[cell] = True
        rising = [cell for cell in cells if cell in ((1, 2), (2, 1))]
        if rising:
            assert scan(occupied, (0.5, 0.5, 0.0), 45)[0] == pytest.approx(1.5 * math.sqrt(2))
            assert scan(occupied, (3.5, 3.5, 0.0), 225)[0] == pytest.approx(1.5 * math.sqrt(2))
        else:
            assert scan(occupied, (0.5, 3.5, 0.0), -45)[0] == pytest.approx(1.5 * math.sqrt(2))
            assert scan(occupied, (3.5, 0.5, 0.0), 135)[0] == pytest.approx(1.5 * math.sqrt(2))


def test_a_beam_along_an_edge_runs_on_the_side_of_larger_coordinates() -> None:
    above = np.zeros((4, 4), dtype=bool)
    above[3, 2] = True
    below = np.zeros((4, 4), dtype=bool)
    below[3, 1] = True
    assert scan(above, (0.5, 2.0, 0.0), 0) == [2.5]
    assert scan(below, (0.5, 2.0, 0.0), 0) == [math.inf]


def test_a_lidar_in_a_wall_measures_nothing_but_it() -> None:
    occupied = np.ones((3, 3), dtype=bool)
    assert scan(occupied, (1.5, 1.5, 0.0), 0, 120, 240) == [0.0, 0.0, 0.0]


def test_reach_is_included_and_the_end_of_the_map_is_open() -> None:
    occupied = np.zeros((5, 1), dtype=bool)
    occupied[3] = True
    assert scan(occupied, (0.5, 0.5, 0.0), 0, reach=2.5) == [2.5]
    assert scan(occupied, (0.5, 0.5, 0.0), 0, reach=2.4999) == [math.inf]
    assert scan(occupied, (0.5, 0.5, 0.0), 180, 90, 270, reach=1e9) == [math.inf] * 3
    assert scan(occupied, (-1e4, 0.5, 0.0), 0, reach=1e9) == [10003.0]
    assert scan(np.zeros((0, 4), dtype=bool), (0.5, 0.5, 0.0), 0, 90) == [math.inf] * 2


def test_what_is_no_grid_is_refused() -> None:
    with pytest.raises(ScanError, match=r"shape \(nx, ny\)"):
        GridCaster(np.zeros(3), resolution=1.0)
    for resolution in (0.0, -1.0, math.nan):
        with pytest.raises(ScanError, match="more than 0 m"):
            GridCaster(np.zeros((3, 3)), resolution=resolution)
