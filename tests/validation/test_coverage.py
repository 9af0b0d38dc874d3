"""What counts as explored, and of how much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import ScenarioError
from irsim_isaac.map import Occupancy
from irsim_isaac.validation import explore, reachable_cells
from tests.validation.worlds import PROFILE, ROBOT, room_scan


def room(closet: bool = False) -> Occupancy:
    """A room of 8 m by 6 m inside walls of one cell, with a closed closet if asked."""
    cells = np.zeros((82, 62), np.int8)
    cells[[0, -1], :] = cells[:, [0, -1]] = 100
    if closet:
        cells[60:82, [30, 50]] = cells[[60, 81], 30:51] = 100
    return Occupancy(cells, 0.1, (-4.1, -3.1, 0.0))


def test_a_closed_closet_is_not_counted():
    with_closet = room(closet=True)
    reachable = reachable_cells(with_closet.cells == 0, (10, 10))
    assert not reachable[61:81, 31:50].any()
    assert reachable.sum() == (with_closet.cells == 0).sum() - 20 * 19


def test_all_of_an_open_room_is_seen_and_the_share_never_falls():
    poses = [(x, 0.5, 0.1) for x in np.linspace(-3, 3, 25)]
    scans = [room_scan(pose, (4.0, 3.0)) for pose in poses]
    result = explore(room(), np.arange(25) / 10, poses, scans, ROBOT.lidars[0])
    assert (np.diff(result.share) >= 0).all()
    assert result.share[0] > 0.0
    assert result.final == 1.0
    assert result.area[-1] == pytest.approx(48.0)
    t90, t99 = result.time_to(0.9), result.time_to(0.99)
    assert t90 <= t99 <= 2.4
    assert result.share[round(10 * t90)] >= 0.9 > result.share[round(10 * t90) - 1]


def test_states_without_scan_are_counted_and_reveal_nothing():
    pose = (0.0, 0.0, 0.0)
    result = explore(room(), [0.0, 0.1], [pose] * 2, [None, None], ROBOT.lidars[0])
    assert (result.final, result.skipped, result.time_to(0.9)) == (0.0, 2, None)


def test_a_start_that_is_not_free_is_refused():
    scan = room_scan((0.0, 0.0, 0.0), (4.0, 3.0), PROFILE)
    with pytest.raises(ScenarioError, match="is not free"):
        explore(room(), [0.0], [(-4.05, 0.0, 0.0)], [scan], ROBOT.lidars[0])
    with pytest.raises(ScenarioError, match="outside the map"):
        explore(room(), [0.0], [(-9.0, 0.0, 0.0)], [scan], ROBOT.lidars[0])


@given(st.integers(0, 2**30), st.integers(1, 9), st.integers(1, 9))
def test_reachable_cells_are_closed_under_steps_and_connected(seed, nx, ny):
    rng = np.random.default_rng(seed)
    free = rng.random((nx, ny)) < 0.6
    start = (int(rng.integers(nx)), int(rng.integers(ny)))
    free[start] = True
    seen = reachable_cells(free, start)
    stack, expected = [start], {start}
    while stack:
        x, y = stack.pop()
        for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if 0 <= cell[0] < nx and 0 <= cell[1] < ny and free[cell] and cell not in expected:
                expected.add(cell)
                stack.append(cell)
    assert {tuple(cell) for cell in np.argwhere(seen).tolist()} == expected
