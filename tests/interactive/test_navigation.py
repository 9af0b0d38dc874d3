"""Paths of IR-SIM's planners on our map, and robots of every kinematics that follow them."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pxr")
pytest.importorskip("sqlalchemy")
pytest.importorskip("irsim")

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import PathFollower, PathNavigator, Simulation, Stand, plan_path
from irsim_isaac.map import Occupancy
from irsim_isaac.simulators import RecordedSimulator
from tests.interactive import flats

RADIUS = 0.17
CELL = 0.1


def hall(*full: tuple[slice, slice], shape=(60, 40)) -> Occupancy:
    """A hall with walls round it, and what stands in it."""
    cells = np.zeros(shape, np.int8)
    cells[[0, -1], :] = 100
    cells[:, [0, -1]] = 100
    for place in full:
        cells[place] = 100
    return Occupancy(cells, CELL, (-1.0, 2.0, 0.0))


def clearance(path, occupancy) -> float:
    """Return how near the path comes to the middle of an occupied cell [m]."""
    centres = np.column_stack(occupancy.cell_to_world(*np.nonzero(occupancy.cells != 0)))
    nearest = math.inf
    for start, end in pairwise(path):
        count = max(2, math.ceil(math.dist(start, end) / 0.02))
        line = start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)
        nearest = min(nearest, float(np.hypot(*(line[:, None] - centres).T).min()))
    return nearest


@pytest.mark.parametrize("planner", ["astar", "jps"])
def test_a_path_leads_round_a_wall_and_keeps_clear(planner, capfd):
    world = hall((slice(28, 32), slice(0, 30)))
    path = plan_path(world, (0.0, 3.0), (4.0, 3.0), radius=RADIUS, planner=planner)
    assert path[0] == pytest.approx((0.0, 3.0))
    assert path[-1] == pytest.approx((4.0, 3.0))
    # Over the end of the wall, and by no needless corners.
    assert path[:, 1].max() > 5.0
    assert len(path) <= 6
    length = np.hypot(*np.diff(path, axis=0).T).sum()
    shortest = 2 * math.hypot(1.8, 2.0 + RADIUS) + 0.4
    assert shortest <= length < 1.25 * shortest
    assert clearance(path, world) >= RADIUS
    assert capfd.readouterr().out == ""


def test_where_no_way_leads_there_is_no_path():
    world = hall((slice(28, 32), slice(0, 40)))
    assert plan_path(world, (0.0, 3.0), (4.0, 3.0), radius=RADIUS) is None
    # In a wall, outside of the map, and where the map knows nothing.
    assert plan_path(world, (0.0, 3.0), (2.0, 3.0), radius=RADIUS) is None
    assert plan_path(world, (0.0, 3.0), (40.0, 3.0), radius=RADIUS) is None
    unknown = Occupancy(np.where(world.cells == 100, np.int8(-1), world.cells), CELL, world.origin)
    assert plan_path(unknown, (0.0, 3.0), (4.0, 3.0), radius=RADIUS) is None


def test_a_narrow_gap_is_taken_only_where_there_is_no_other_way():
    gap, door = slice(10, 15), slice(30, 39)
    only = hall((slice(28, 32), slice(0, 10)), (slice(28, 32), slice(15, 40)))
    both = hall((slice(28, 32), slice(0, 10)), (slice(28, 32), slice(15, 30)))
    through = plan_path(only, (0.0, 3.2), (4.0, 3.2), radius=RADIUS)
    assert through is not None
    assert clearance(through, only) >= RADIUS
    round_it = plan_path(both, (0.0, 3.2), (4.0, 3.2), radius=RADIUS)
    at_wall = np.interp(2.0, round_it[:, 0], round_it[:, 1])
    assert at_wall > 2.0 + door.start * CELL
    assert np.interp(2.0, through[:, 0], through[:, 1]) < 2.0 + gap.stop * CELL


def test_a_robot_that_stands_close_to_something_still_drives_away():
    world = hall((slice(10, 20), slice(10, 20)))
    path = plan_path(world, (-0.1, 3.5), (4.0, 3.0), radius=RADIUS)
    assert path is not None
    assert path[0] == pytest.approx((-0.1, 3.5))


@settings(max_examples=8)
@given(st.data())
def test_paths_keep_clear_in_any_hall_and_are_found_where_there_is_room(data):
    blocks = data.draw(
        st.lists(st.tuples(st.integers(4, 50), st.integers(1, 34), st.integers(1, 9),
                           st.integers(1, 9)), max_size=6)
    )  # fmt: skip
    world = hall(*((slice(x, x + dx), slice(y, y + dy)) for x, y, dx, dy in blocks))
    start, goal = (-0.55, 2.45), (4.55, 5.45)
    path = plan_path(world, start, goal, radius=RADIUS)
    if path is not None:
        ends = np.array([start, goal])
        centres = np.column_stack(world.cell_to_world(*np.nonzero(world.cells != 0)))
        alone = np.hypot(*(ends[:, None] - centres).T).min()
        assert clearance(path, world) >= min(RADIUS, alone) - 1e-9
    elif roomy(world, start, goal):
        raise AssertionError("there is a wide way, and no path was found")


def roomy(world, start, goal) -> bool:
    """Tell whether cells that are far from everything join two places side by side."""
    nx, ny = world.cells.shape
    x, y = world.cell_to_world(np.arange(nx)[:, None], np.arange(ny)[None, :])
    taken = np.column_stack(world.cell_to_world(*np.nonzero(world.cells != 0)))
    far = np.min(
        np.hypot(x[..., None] - taken[:, 0], y[..., None] - taken[:, 1]), axis=-1
    ) > RADIUS + 2.5 * CELL  # fmt: skip
    first, last = (world.world_to_cell(*place) for place in (start, goal))
    seen, queue = {first}, deque([first] if far[first] else [])
    while queue:
        i, j = queue.popleft()
        for cell in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if cell not in seen and far[cell]:
                seen.add(cell)
                queue.append(cell)
    return last in seen and bool(far[last])


CORNERS = np.array([(0.7, 4.65), (3.0, 4.65), (3.0, 3.0), (4.5, 3.0)])


@pytest.mark.parametrize(
    ("robot", "leaves_by", "takes_heading"),
    [
        ({"kinematics": "diff"}, 0.08, True),
        ({"kinematics": "omni"}, 0.2, False),
        ({"kinematics": "omni_angular"}, 0.2, True),
        ({"kinematics": "acker", "wheelbase": 0.2, "max_angular_speed": 0.5}, 0.6, False),
    ],
)
def test_a_robot_follows_a_path_as_its_kinematics_let_it(robot, leaves_by, takes_heading):
    with flats.opened(collisions=False, robot=robot) as flat:
        simulator = flat.simulation.simulator
        spec = simulator.robots[flats.ROBOT]
        follower = PathFollower(CORNERS, spec, heading=math.pi / 2.0)
        state, track, remaining = simulator.read(), [], []
        for _ in range(600):
            odom = next(o.odom for o in state.objects if o.name == flats.ROBOT)
            place = odom.pose.pose.position
            track.append((place.x, place.y))
            twist = follower.command(odom)
            remaining.append(follower.remaining)
            assert math.hypot(twist.linear.x, twist.linear.y) <= spec.max_linear_speed + 1e-9
            assert abs(twist.angular.z) <= spec.max_angular_speed + 1e-9
            if follower.arrived:
                break
            state = simulator.step({flats.ROBOT: twist})
        assert follower.arrived
        assert math.dist(track[-1], CORNERS[-1]) <= 0.06
        if takes_heading:
            assert odom.pose.pose.orientation.to_yaw() == pytest.approx(math.pi / 2.0, abs=0.051)
        assert max(distance_to(CORNERS, point) for point in track) < leaves_by
        assert remaining[-1] == 0.0 or not takes_heading


def distance_to(corners, point) -> float:
    best = math.inf
    for start, end in pairwise(corners):
        way = end - start
        share = np.clip((point - start) @ way / (way @ way), 0.0, 1.0)
        best = min(best, float(np.hypot(*(start + share * way - point))))
    return best


def test_a_path_of_one_point_is_only_turned_on():
    with flats.opened(collisions=False) as flat:
        spec = flat.simulation.simulator.robots[flats.ROBOT]
        follower = PathFollower([(0.7, 4.65), (0.7, 4.65)], spec, heading=1.0)
        twist = follower.command(flats.at(0.7, 4.65))
        assert (twist.linear.x, twist.angular.z > 0.0) == (0.0, True)
        assert follower.command(flats.at(0.7, 4.65, yaw=1.0)) == type(twist)()
        assert follower.arrived


def test_a_navigator_drives_to_a_stand_and_looks_where_it_is_to_look():
    with flats.opened(leap=False) as flat:
        paths = []
        navigator = PathNavigator(
            flat.simulation, flats.ROBOT, flat.occupancy, planner="jps", on_path=paths.append
        )
        arrival = asyncio.run(
            navigator.drive(Stand(2.9, 4.6, -1.0, "there"), check=lambda: None, time_limit=60.0)
        )
        assert (arrival.end, arrival.there, arrival.text) == ("arrived", True, "at there")
        pose = next(
            o for o in flat.simulation.state.objects if o.name == flats.ROBOT
        ).odom.pose.pose
        assert math.dist((pose.position.x, pose.position.y), (2.9, 4.6)) < 0.06
        assert pose.orientation.to_yaw() == pytest.approx(-1.0, abs=0.06)
        assert len(paths) == 1
        with pytest.raises(InteractiveError, match="has no robot 'nobody'; it has seeker"):
            PathNavigator(flat.simulation, "nobody", flat.occupancy)


def test_a_simulator_that_runs_by_itself_cannot_be_shared():
    with flats.opened() as flat:
        running = RecordedSimulator(recording=[flat.simulation.state], drive="runs")
        with pytest.raises(InteractiveError, match="runs by itself"):
            Simulation(running)
