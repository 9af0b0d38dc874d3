"""Fog is lifted from exactly the cells that a beam runs through."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import MapFormatError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.map import FogMap, Map, Occupancy, reachable_cells
from irsim_isaac.msg import Header, LaserScan
from irsim_isaac.robot import LidarMount


def _seen(fog: FogMap) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.argwhere(fog.explored)}


_ON_LATTICE = st.integers(-8, 40).map(lambda eighths: eighths / 8)
_ANYWHERE = st.floats(-1.0, 5.0)
_TURN = st.one_of(
    st.floats(-7.0, 7.0), st.integers(-8, 8).map(lambda eighths: eighths * math.pi / 4)
)
_LENGTH = st.one_of(st.floats(1e-12, 9.0), st.integers(1, 60).map(lambda eighths: eighths / 8))


@settings(max_examples=400)
@given(
    x=st.one_of(_ANYWHERE, _ON_LATTICE),
    y=st.one_of(_ANYWHERE, _ON_LATTICE),
    theta=_TURN,
    angle=_TURN,
    length=_LENGTH,
)
@example(x=0.0, y=0.0, theta=0.0, angle=math.pi / 4, length=4.0)
@example(x=2.0, y=1.0, theta=0.0, angle=math.pi, length=3.0)
@example(x=2.0, y=3.0, theta=0.0, angle=-math.pi / 2, length=3.5)
def test_reveal_equals_rational_arithmetic(
    exact_cells: Callable[..., set[tuple[int, int]]],
    x: float,
    y: float,
    theta: float,
    angle: float,
    length: float,
) -> None:
    """Reveal the very cells that rational arithmetic gives, on the lattice and off it."""
    fog = FogMap(4.0, 3.0, 0.25, world_offset=(0.0, 0.0))
    fog.reveal_from_lidar([x, y, theta], [angle], [length])
    assert _seen(fog) == exact_cells(fog, x, y, theta + angle, length)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    offset=st.tuples(st.floats(-100, 100), st.floats(-100, 100)),
    size=st.tuples(st.floats(0.5, 9), st.floats(0.5, 9)),
    resolution=st.floats(0.05, 1.0),
)
def test_reveal_of_many_beams_is_the_union_of_each(
    exact_cells: Callable[..., set[tuple[int, int]]],
    seed: int,
    offset: tuple[float, float],
    size: tuple[float, float],
    resolution: float,
) -> None:
    """Reveal the union of the beams' cells, with cells of any side anywhere."""
    random = np.random.default_rng(seed)
    fog = FogMap(*size, resolution, world_offset=offset)
    x, y = np.array(offset) + random.uniform(-0.2, 1.2, 2) * size
    angles = random.uniform(-4, 4, 7)
    lengths = random.uniform(0, 12, 7) + 1e-6
    fog.reveal_from_lidar([x, y, 0.3], angles, lengths)
    expected = set()
    for angle, length in zip(angles, lengths, strict=True):
        expected |= exact_cells(fog, x, y, 0.3 + angle, length)
    assert _seen(fog) == expected


def test_reveal_holds_all_that_irsim_reveals(real: Any) -> None:
    """Reveal a superset of IR-SIM's cells in generic poses, and more only where it cut corners."""
    random = np.random.default_rng(1)
    for _ in range(20):
        ours, theirs = FogMap(20, 15, 0.1, (-5, -3)), real.FogMap(20, 15, 0.1, (-5, -3))
        pose = random.uniform((-6, -4, -3), (16, 13, 3))
        angles, ranges = random.uniform(-4, 4, 90), random.uniform(0.1, 12, 90)
        ours.reveal_from_lidar(pose, angles, ranges)
        theirs.reveal_from_lidar(pose, angles, ranges)
        assert not (theirs.explored & ~ours.explored).any()
        assert ours.explored_count <= 1.25 * np.count_nonzero(theirs.explored)


def test_a_beam_of_a_thousand_kilometres_is_cut_and_not_refused() -> None:
    """Walk a beam that leaves the map by far as far as the map goes."""
    fog = FogMap(10, 10, 0.5)
    fog.reveal_from_lidar([5.25, 5.25, 0.0], [0.0], [1e6])
    assert _seen(fog) == {(i, 10) for i in range(10, 20)}
    farthest = FogMap(10, 10, 0.5)
    farthest.reveal_from_lidar([5.25, 5.25, 0.0], [0.0], [1e308])
    assert _seen(farthest) == _seen(fog)
    far = FogMap(10, 10, 0.5)
    far.reveal_from_lidar([-1e6, 5.25, 0.0], [0.0], [2e6])
    assert _seen(far) == {(i, 10) for i in range(20)}


def test_special_ranges_reveal_what_rep_117_says() -> None:
    """Count NaN, infinities and negatives, and let none of them reveal or raise."""
    angles = np.array([0.0, 0.0, 0.0, 0.0, 1.5, 2.0, 2.5, -1.5])
    ranges = np.array([np.inf, np.nan, -1.0, -np.inf, 3.0, 3.0, 3.0, 3.0])
    fog = FogMap(10, 10, 0.5)
    fog.reveal_from_lidar([5.2, 5.2, 0.0], angles, ranges)
    only = FogMap(10, 10, 0.5)
    only.reveal_from_lidar([5.2, 5.2, 0.0], angles[4:], ranges[4:])
    assert _seen(fog) == _seen(only)
    assert fog.left_out == {"+inf without range_max": 1, "NaN": 1, "negative": 1, "-inf": 1}

    behind = FogMap(10, 10, 0.5)
    behind.reveal_from_lidar([5.2, 5.2, 0.0], [0.0, 0.0], [-1.0, 2.0])
    assert min(i for i, _ in _seen(behind)) == 10

    reaching = FogMap(10, 10, 0.5)
    reaching.reveal_from_lidar([5.2, 5.2, 0.0], [0.0], [np.inf], range_max=2.0)
    assert _seen(reaching) == {(i, 10) for i in range(10, 15)}
    assert not reaching.left_out
    reaching.reveal_from_lidar([5.2, np.nan], [0.0], [1.0])
    assert reaching.left_out == {"pose is not finite": 1}
    reaching.reset()
    assert not reaching.left_out
    assert not reaching.explored.any()


@pytest.mark.parametrize(
    ("origin", "angle"),
    [
        ([1e300, 5.0, 0.0], 0.0),
        ([-1e300, 5.0, 0.0], 0.0),
        ([-1e12, 5.0, 0.0], 0.0),
        ([5.0, 1e300], 0.0),
        ([5.0, 5.0, 1e300], 0.0),
        ([5.0, 5.0, 1e17], 0.0),
        ([5.0, 5.0, 0.0], -1e300),
    ],
)
def test_absurd_poses_reveal_nothing_and_are_counted(origin: Any, angle: float) -> None:
    """Reveal nothing where the digits of the numbers tell no cell from its neighbour."""
    fog = FogMap(10, 10, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fog.reveal_from_lidar(origin, [angle, angle + 1.0], [1e308, 3.0])
    assert not fog.explored.any()
    assert fog.left_out == {"pose is too large": 2}
    scan = _scan([3.0, 3.0], 0.0, 0.5)
    other = FogMap(10, 10, 0.5)
    if not angle:
        other.reveal_from_scan(scan, (*origin, 0.0)[:3])
        assert other.left_out == {"pose is too large": 2}
        with pytest.raises(ValueError, match="do not tell cells apart"):
            other.reveal_fov(origin, 1.0, 2.0)
    assert not other.explored.any()


@pytest.mark.parametrize("origin", [[5.0], [], None])
def test_an_origin_has_x_and_y(origin: Any) -> None:
    """Refuse an origin that is no place."""
    fog = FogMap(10, 10, 0.5)
    with pytest.raises(MapFormatError, match=r"\[x, y\] or \[x, y, heading\] was expected"):
        fog.reveal_from_lidar(origin, [0.0], [1.0])
    with pytest.raises(MapFormatError, match=r"\[x, y\] or \[x, y, heading\] was expected"):
        fog.reveal_fov(origin, 1.0, 1.0)


def test_range_max_is_a_distance() -> None:
    """Refuse a greatest range that is none, and count what an infinite one leaves without end."""
    fog = FogMap(10, 10, 0.5)
    for range_max in (math.nan, 0.0, -1.0):
        with pytest.raises(MapFormatError, match="range_max is"):
            fog.reveal_from_lidar([5, 5, 0], [0.0], [1.0], range_max=range_max)
    fog.reveal_from_lidar([5, 5, 0], [0.0], [math.inf], range_max=math.inf)
    assert fog.left_out == {"+inf without range_max": 1}
    assert not fog.explored.any()


def test_empty_and_zero_scans_reveal_nothing() -> None:
    """Reveal nothing for no beams and for beams without length, as IR-SIM does."""
    fog = FogMap(4, 4, 1.0)
    fog.reveal_from_lidar([2, 2, 0], [], [])
    fog.reveal_from_lidar([2, 2, 0], [0.0, 1.0], [0.0, 0.0])
    assert fog.explored_ratio == 0.0


def test_angles_and_ranges_of_other_counts_are_refused() -> None:
    """Refuse three angles for two ranges, and take one for many."""
    fog = FogMap(4, 4, 1.0)
    with pytest.raises(ValueError, match="3 angles and 2 ranges"):
        fog.reveal_from_lidar([2, 2], [0, 1, 2], [1, 1])
    fog.reveal_from_lidar([0.5, 0.5], [0.0], [1.0, 3.0])
    assert _seen(fog) == {(0, 0), (1, 0), (2, 0), (3, 0)}


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10), st.floats(-4, 4)), max_size=4))
@settings(max_examples=30)
def test_explored_ratio_counts_only_what_changed_and_is_right(
    poses: list[tuple[float, float, float]],
) -> None:
    """Keep the count right through beams, sectors, resets and writes from outside."""
    fog, watched = FogMap(10, 10, 0.1), FogMap(10, 10, 0.1)
    for pose in poses:
        for each in (fog, watched):
            each.reveal_from_lidar(pose, np.linspace(-1, 1, 5), np.linspace(1, 4, 5))
            each.reveal_fov(pose, 1.0, 1.5)
        assert fog.explored_count == np.count_nonzero(watched.explored)
    watched.explored[3, 4] = True
    watched.explored |= np.eye(100, dtype=bool)
    assert watched.explored_count == np.count_nonzero(watched.explored)
    fog.reset()
    assert fog.explored_ratio == 0.0


def test_explored_area_is_in_square_metres() -> None:
    """Give the area of three cells of half a metre."""
    fog = FogMap(10, 10, 0.5)
    fog.reveal_from_lidar([0.2, 0.2], [0.0], [1.0])
    assert fog.explored_area == pytest.approx(3 * 0.25)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_reveal_fov_equals_irsims(real: Any, seed: int) -> None:
    """Reveal the sectors that IR-SIM reveals."""
    random = np.random.default_rng(seed)
    pose = random.uniform((-6, -6, -4), (6, 6, 4))
    fov, radius = random.choice([0.4, 1.5, 3.0, 4.0, 6.2, 7.0]), random.uniform(0.1, 6)
    ours, theirs = FogMap(8, 9, 0.25, (-4, -4)), real.FogMap(8, 9, 0.25, (-4, -4))
    ours.reveal_fov(pose, fov, radius)
    theirs.reveal_fov(pose, fov, radius)
    assert np.array_equal(ours.explored, theirs.explored)


def test_to_rgba_takes_the_colour_of_each_call() -> None:
    """Colour the fog as asked each time, and clear what was seen."""
    fog = FogMap(4, 4, 1.0)
    fog.explored[1, 2] = True
    first = fog.to_rgba((0.1, 0.2, 0.3), 0.5)
    assert first.shape == (4, 4, 4)
    assert first[0, 0].tolist() == [0.1, 0.2, 0.3, 0.5]
    assert first[1, 2, 3] == 0.0
    assert fog.to_rgba((0.4, 0.5, 0.6))[0, 0].tolist() == [0.4, 0.5, 0.6, 1.0]


def test_union_and_difference() -> None:
    """Combine what two robots have seen, cell by cell."""
    a, b = FogMap(4, 4, 1.0), FogMap(4, 4, 1.0)
    a.reveal_from_lidar([0.5, 0.5], [0.0], [2.0])
    b.reveal_from_lidar([1.5, 0.5], [0.0], [2.0])
    assert _seen(a.union(b)) == _seen(a) | _seen(b)
    assert _seen(a.difference(b)) == _seen(a) - _seen(b)
    assert a.union(b).explored_ratio == 4 / 16
    with pytest.raises(ValueError, match="other cells"):
        a.union(FogMap(4, 4, 0.5))


def test_reachable_ratio_leaves_a_sealed_closet_out() -> None:
    """Attain the whole of what can be reached although a closet stays unseen."""
    cells = np.zeros((10, 10), dtype=np.int8)
    cells[6, 6:] = cells[6:, 6] = 100
    world = Occupancy(cells, 1.0)
    reachable = reachable_cells(world, (0.5, 0.5))
    assert np.count_nonzero(reachable) == 100 - 7 - 9
    fog = world.to_fog_map()
    fog.reveal_fov([5, 5], 7.0, 2.0)
    part = fog.reachable_ratio(reachable)
    assert part == np.count_nonzero(fog.explored & reachable) / np.count_nonzero(reachable)
    fog.explored[:6] = fog.explored[:, :6] = True
    assert fog.reachable_ratio(reachable) == 1.0
    with pytest.raises(ValueError, match="nearest free point is"):
        reachable_cells(world, (6.5, 8.5))
    assert np.array_equal(reachable_cells(world.to_map(), (0.5, 0.5)), reachable)


def test_known_cells_can_start_explored() -> None:
    """Start under fog, or with the known cells explored."""
    cells = np.array([[0, -1], [100, 0]], dtype=np.int8)
    world = Occupancy(cells, 0.5, (3.0, -1.0, 0.0))
    fog = world.to_fog_map()
    assert (fog.shape, fog.world_offset, fog.explored_count) == ((2, 2), (3.0, -1.0), 0)
    assert world.to_fog_map(known="explored").explored.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("resolution", [0.0, -0.5, math.inf, math.nan, 1e-5])
def test_absurd_resolutions_are_refused_before_allocation(resolution: float) -> None:
    """Refuse cells that cannot be, and a trillion of them."""
    with pytest.raises(ValueError, match=r"positive and finite|at most"):
        FogMap(10, 10, resolution)


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_absurd_sizes_are_refused(width: float) -> None:
    """Refuse a world without width, which IR-SIM takes and divides by later."""
    with pytest.raises(ValueError, match="width"):
        FogMap(width, 10, 0.1)


def _scan(ranges: list[float], angle_min: float, increment: float) -> LaserScan:
    return LaserScan(
        header=Header(),
        angle_min=angle_min,
        angle_max=angle_min + increment * (len(ranges) - 1),
        angle_increment=increment,
        time_increment=0.0,
        scan_time=0.1,
        range_min=0.2,
        range_max=4.0,
        ranges=np.array(ranges, dtype=np.float32),
        intensities=np.array([], dtype=np.float32),
    )


def _mount(**where: float) -> LidarMount:
    profile = LidarProfile.from_irsim({"name": "lidar2d", "range_max": 4.0, "number": 5})
    return LidarMount(profile=profile, **where)


def test_reveal_from_scan_takes_rep_117_and_irsims_misses() -> None:
    """Reveal up to range_max for +inf and for range_max, and nothing for the other specials."""
    pose = (5.1, 5.1, 0.4)
    scan = _scan([math.inf, 4.0, 9.0, 1.5, math.nan, -math.inf, 0.1], -1.0, 0.3)
    fog, by_hand = FogMap(12, 12, 0.25), FogMap(12, 12, 0.25)
    fog.reveal_from_scan(scan, pose)
    angles = -1.0 + np.arange(4) * 0.3
    by_hand.reveal_from_lidar(pose, angles, [4.0, 4.0, 4.0, 1.5])
    assert _seen(fog) == _seen(by_hand)
    assert fog.left_out == {"NaN": 1, "-inf": 1, "below range_min": 1}


def test_reveal_from_scan_places_the_lidar_on_the_base() -> None:
    """Shift and turn the scan with its mount, and mirror it where it hangs upside down."""
    scan = _scan([1.5, 2.0, 2.5], -0.5, 0.5)
    pose = (5.1, 5.1, math.pi / 2)
    fog, by_hand = FogMap(12, 12, 0.25), FogMap(12, 12, 0.25)
    fog.reveal_from_scan(scan, pose, _mount(x=0.5, y=0.25, yaw=0.3))
    turned = math.pi / 2 + 0.3
    by_hand.reveal_from_lidar([4.85, 5.6, turned], [-0.5, 0.0, 0.5], [1.5, 2.0, 2.5])
    assert _seen(fog) == _seen(by_hand)

    hanging, mirrored = FogMap(12, 12, 0.25), FogMap(12, 12, 0.25)
    hanging.reveal_from_scan(scan, pose, _mount(roll=math.pi))
    mirrored.reveal_from_lidar(pose, [0.5, 0.0, -0.5], [1.5, 2.0, 2.5])
    assert _seen(hanging) == _seen(mirrored)

    tilted, shorter = FogMap(12, 12, 0.25), FogMap(12, 12, 0.25)
    tilted.reveal_from_scan(_scan([2.0], 0.0, 0.1), (5.1, 5.1, 0.0), _mount(pitch=math.pi / 3))
    shorter.reveal_from_lidar([5.1, 5.1, 0.0], [0.0], [1.0])
    assert _seen(tilted) == _seen(shorter)


_WORLD = """
world: {height: 10, width: 10, step_time: 0.1, fog_map: true, fog_map_resolution: 0.2}
robot:
  - kinematics: {name: omni}
    shape: {name: circle, radius: 0.2}
    state: [5, 5, 0]
    behavior: {name: dash}
    goal: [8, 8, 0]
    sensors: [{name: lidar2d, range_max: 4.0, angle_range: 6.283, number: 90}]
"""


def test_fog_map_works_in_a_real_environment_with_its_plot(irsim: Any, tmp_path: Any) -> None:
    """Stand in for IR-SIM's fog in a running environment, and be drawn by it."""
    (tmp_path / "world.yaml").write_text(_WORLD)
    env = irsim.make(str(tmp_path / "world.yaml"), display=False)
    try:
        real_fog = env._world.fog_map
        real_fog.plot_clear()
        fog = FogMap(10, 10, 0.2)
        env._world.fog_map = fog
        env._env_plot.draw_fog(fog)
        artist = fog._im
        assert artist is not None
        before = artist.get_array().copy()
        for _ in range(5):
            env.step()
            env.render(0.001)
        assert fog.explored_ratio > 0.2
        shown = np.asarray(artist.get_array())
        assert not np.array_equal(shown, before)
        assert np.array_equal(shown[..., 3] == 0, fog.explored.T)
        env.reset()
        assert fog.explored_ratio == 0.0
        fog.plot_clear()
        assert fog._im is None
    finally:
        env.end()


def test_fog_map_is_a_map() -> None:
    """Be a map without a grid, so that planners may take it."""
    fog = FogMap(10, 10, 0.5, (-5, -5))
    assert isinstance(fog, Map)
    assert fog.grid is None
    assert fog.grid_occupied(0, 0) is None
