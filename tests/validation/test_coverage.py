"""What counts as explored, and of how much."""

from __future__ import annotations

import numpy as np
import pytest

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import Occupancy
from irsim_isaac.validation import explore
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
    pose = (-3.0, 0.0, 0.0)
    scan = room_scan(pose, (4.0, 3.0))
    result = explore(with_closet, [0.0], [pose], [scan], ROBOT.lidars[0])
    assert not result.reachable[61:81, 31:50].any()
    assert result.reachable.sum() == (with_closet.cells == 0).sum() - 20 * 19


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
    with pytest.raises(MapFormatError, match="is not free"):
        explore(room(), [0.0], [(-4.05, 0.0, 0.0)], [scan], ROBOT.lidars[0])
    with pytest.raises(MapFormatError, match="is not free"):
        explore(room(), [0.0], [(-9.0, 0.0, 0.0)], [scan], ROBOT.lidars[0])
