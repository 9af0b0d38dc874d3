"""Rays against triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.ray_casting import (
    MovingBody,
    RayCaster,
    measured,
    pose_matrix,
    sensor_beams,
)

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int32]


def box(low: tuple[float, ...], high: tuple[float, ...]) -> tuple[Floats, Whole]:
    """Return a box as twelve triangles."""
    grid = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T
    points = np.array(low) + grid * (np.array(high) - np.array(low))
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return points, np.array(faces, dtype=np.int32)


def soup(random: np.random.Generator, count: int, spread: float = 5.0) -> tuple[Floats, Whole]:
    """Return triangles anywhere."""
    centres = random.uniform(-spread, spread, (count, 1, 3))
    points = (centres + random.uniform(-1.0, 1.0, (count, 3, 3))).reshape(-1, 3)
    return points, np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def rays(random: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    toward = random.normal(size=(count, 3))
    return random.uniform(-6, 6, (count, 3)), toward / np.linalg.norm(toward, axis=1)[:, None]


def exact_ranges(
    points: Floats, faces: Whole, starts: Floats, directions: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the nearest distance of each ray in float64, and where it is close to an edge."""
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    best = np.full(len(starts), np.inf)
    close = np.zeros(len(starts), dtype=bool)
    for ray, (start, toward) in enumerate(zip(starts, directions, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.einsum("ij,ij->i", a - start, normal) / (normal @ toward)
            hit = start + distance[:, None] * toward
            weights = [
                np.einsum("ij,ij->i", np.cross(q - p, hit - p), normal)
                / np.einsum("ij,ij->i", normal, normal)
                for p, q in ((a, b), (b, c), (c, a))
            ]
        least = np.min(weights, axis=0)
        ahead = (distance > 0) & np.isfinite(distance)
        inside = (least >= 0) & ahead
        if inside.any():
            best[ray] = distance[inside].min()
        doubtful = ahead & (np.abs(least) < 1e-4) & (distance < best[ray] + 1e-4)
        close[ray] = doubtful.any() or bool((np.abs(distance) < 1e-4).any())
    return best, close


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_ranges_are_those_of_every_triangle_tried(seed: int) -> None:
    """Against float64 without any tree; rays that graze an edge may go either way."""
    random = np.random.default_rng(seed)
    points, faces = soup(random, 60)
    starts, directions = rays(random, 80)
    expected, close = exact_ranges(points, faces, starts, directions)
    found = RayCaster(points, faces).cast(starts, directions, range_max=100.0)
    np.testing.assert_allclose(found[~close], expected[~close], atol=1e-4)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_moved_body_is_a_body_that_was_always_there(seed: int) -> None:
    """Taking rays into its frame gives what taking its points out of it gives."""
    random = np.random.default_rng(seed)
    fixed, moving = soup(random, 40), soup(random, 30, spread=1.0)
    starts, directions = rays(random, 60)
    caster = RayCaster(*fixed, bodies=[MovingBody("body", *moving)])
    caster.move({"body": pose_matrix(50.0, 0.0, 0.0)})
    pose = pose_matrix(*random.uniform(-3, 3, 3), **angles(random))
    caster.move({"body": pose})
    moved = moving[0] @ pose[:3, :3].T + pose[:3, 3]
    whole = RayCaster(
        np.concatenate([fixed[0], moved]),
        np.concatenate([fixed[1], moving[1] + len(fixed[0])]).astype(np.int32),
    )
    _, close = exact_ranges(
        np.concatenate([fixed[0], moved]),
        np.concatenate([fixed[1], moving[1] + len(fixed[0])]),
        starts,
        directions,
    )
    np.testing.assert_allclose(
        caster.cast(starts, directions, range_max=100.0)[~close],
        whole.cast(starts, directions, range_max=100.0)[~close],
        atol=1e-4,
    )


def angles(random: np.random.Generator) -> dict[str, float]:
    roll, pitch, yaw = random.uniform(-1, 1, 3)
    return {"roll": roll, "pitch": pitch, "yaw": yaw}


def test_its_own_body_is_not_seen_and_others_are() -> None:
    """A lidar inside two shells of its own sees the walls and the other body."""
    shell, inner = box((-0.3, -0.3, 0.0), (0.3, 0.3, 0.6)), box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.6))
    own = (
        np.concatenate([shell[0], inner[0]]),
        np.concatenate([shell[1], inner[1] + 8]).astype(np.int32),
    )
    caster = RayCaster(
        *box((-5.0, -4.0, 0.0), (5.0, 4.0, 3.0)),
        bodies=[MovingBody("own", *own), MovingBody("other", *shell)],
    )
    caster.move({"other": pose_matrix(2.0, 0.0, 0.0)})
    beams = sensor_beams([0.0, math.pi / 2, math.pi, -math.pi / 2])
    pose = pose_matrix(0.0, 0.0, 0.3)
    seen = caster.scan(beams, pose, range_max=30.0, own="own")
    np.testing.assert_allclose(seen[0], [1.7, 4.0, 5.0, 4.0], atol=1e-5)
    everything = caster.scan(beams, pose, range_max=30.0)
    np.testing.assert_allclose(everything[0], 0.1, atol=1e-6)
    # The other body's lidar sees the first one.
    turned = caster.scan(beams, pose_matrix(2.0, 0.0, 0.3), range_max=30.0, own="other")
    assert turned[0, 2] == pytest.approx(1.7, abs=1e-5)


def test_a_body_with_faces_level_with_its_lidar_changes_nothing() -> None:
    """Beams in the plane of hundreds of their own body's triangles see what is behind them."""
    random = np.random.default_rng(4)
    side = np.linspace(-0.4, 0.4, 16)
    x, y = np.meshgrid(side, side, indexing="ij")
    plate = np.stack([x, y, np.full_like(x, 0.25)], axis=-1).reshape(-1, 3)
    index = np.arange(256).reshape(16, 16)
    quads = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1)
    faces = np.concatenate([quads[..., [0, 1, 2]], quads[..., [0, 2, 3]]]).reshape(-1, 3)
    own = MovingBody("own", plate, faces.astype(np.int32))
    # Another body hangs over the plate, within the box around it.
    mast = MovingBody("mast", *box((0.1, -0.05, 0.0), (0.2, 0.05, 1.0)))
    fixed = soup(random, 300)
    both = RayCaster(*fixed, bodies=[own, mast])
    alone = RayCaster(*fixed, bodies=[mast])
    beams = sensor_beams(np.linspace(-math.pi, math.pi, 720, endpoint=False))
    for place in ((0.0, 0.0, 0.0), (1.25, -0.5, 0.75), (-3.0, 2.0, 1.5)):
        pose = pose_matrix(*place)
        both.move({"own": pose, "mast": pose})
        alone.move({"mast": pose})
        lidar = pose @ pose_matrix(0.0, 0.0, 0.25)
        found = both.scan(beams, lidar, range_max=20.0, own="own")
        np.testing.assert_array_equal(found, alone.scan(beams, lidar, range_max=20.0))
        assert found[0, 360] == pytest.approx(0.1, abs=1e-6)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_many_bodies_are_each_where_they_were_moved(seed: int) -> None:
    """A box in the tree for each, some of them flat, some without a triangle."""
    random = np.random.default_rng(seed)
    fixed = soup(random, 20)
    bodies = [MovingBody(f"body {i}", *soup(random, 5, spread=0.5)) for i in range(12)]
    bodies.insert(3, MovingBody("ghost", np.zeros((0, 3)), np.zeros((0, 3), np.int32)))
    bodies.append(MovingBody("flat", *box((-1.0, -1.0, 0.0), (1.0, 1.0, 0.0))))
    caster = RayCaster(*fixed, bodies=bodies)
    for _ in range(2):
        poses = {
            body.name: pose_matrix(*random.uniform(-4, 4, 3), **angles(random)) for body in bodies
        }
        caster.move(poses)
    own = "body 7"
    points, faces = [fixed[0]], [fixed[1]]
    for body in bodies:
        if body.name != own:
            faces.append(body.triangles + sum(map(len, points)))
            pose = poses[body.name]
            points.append(body.points @ pose[:3, :3].T + pose[:3, 3])
    scene = np.concatenate(points), np.concatenate(faces).astype(np.int32)
    starts, directions = rays(random, 80)
    expected, close = exact_ranges(*scene, starts, directions)
    found = caster.cast(starts, directions, range_max=100.0, own=own)
    np.testing.assert_allclose(found[~close], expected[~close], atol=1e-4)


def test_beams_are_counter_clockwise_from_forward() -> None:
    """Bearings turn left, elevations up, in the frame of a sensor that is turned itself."""
    room = box((-5.0, -4.0, -1.0), (7.0, 3.0, 2.0))
    caster = RayCaster(*room)
    bearings = np.radians([0.0, 90.0, 180.0, 270.0])
    elevations = np.radians([-30.0, 0.0, 30.0])
    upright = caster.scan(sensor_beams(bearings, elevations), np.eye(4), range_max=30.0)
    assert upright.shape == (3, 4)
    np.testing.assert_allclose(upright[1], [7.0, 3.0, 5.0, 4.0], atol=1e-5)
    np.testing.assert_allclose(upright[0], 2.0, atol=1e-5)
    np.testing.assert_allclose(
        upright[2], np.minimum(4.0, [7.0, 3.0, 5.0, 4.0] / np.cos(math.pi / 6)), atol=1e-5
    )
    left = caster.scan(sensor_beams(bearings), pose_matrix(yaw=math.pi / 2), range_max=30.0)
    np.testing.assert_allclose(left[0], [3.0, 5.0, 4.0, 7.0], atol=1e-5)
    down = caster.scan(sensor_beams([0.0]), pose_matrix(pitch=math.pi / 2), range_max=30.0)
    assert down[0, 0] == pytest.approx(1.0, abs=1e-5)
    rolled = caster.scan(sensor_beams([math.pi / 2]), pose_matrix(roll=math.pi / 2), range_max=30.0)
    assert rolled[0, 0] == pytest.approx(2.0, abs=1e-5)


def test_a_scene_far_away_is_as_exact_as_one_here() -> None:
    """A map in survey coordinates keeps its millimetres."""
    here = box((-5.0, -4.0, 0.0), (5.0, 4.0, 3.0))
    away = np.array([448_262.25, 5_411_932.5, 210.0])
    beams = sensor_beams(np.linspace(-3.0, 3.0, 50))
    expected = RayCaster(*here).scan(beams, pose_matrix(1.0, 1.0, 1.0), range_max=30.0)
    pose = pose_matrix(*(away + 1.0))
    found = RayCaster(here[0] + away, here[1]).scan(beams, pose, range_max=30.0)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_planar_scans_of_a_large_scene_are_those_of_all_of_it() -> None:
    """Cast at a layer of the scene or at the whole, level, trembling and tilted: the same."""
    random = np.random.default_rng(11)
    points, faces = soup(random, 60_000, spread=20.0)
    caster = RayCaster(points, faces)
    beams = sensor_beams(np.linspace(-math.pi, math.pi, 500, endpoint=False))
    for height, tilt in ((0.0, 0.0), (0.01, 1e-4), (5.0, 0.0), (-3.0, 0.002), (1.0, 0.3)):
        for _ in range(3):
            pose = pose_matrix(*random.uniform(-5, 5, 2), height, pitch=tilt, yaw=1.0)
            found = caster.scan(beams, pose, range_max=30.0)[0]
            directions = beams[0] @ pose[:3, :3].T
            every = caster.cast(np.tile(pose[:3, 3], (500, 1)), directions, range_max=30.0)
            np.testing.assert_array_equal(np.isinf(found), np.isinf(every))
            hit = np.isfinite(every)
            np.testing.assert_allclose(found[hit], every[hit], rtol=1e-5, atol=1e-5)
    assert (caster.scan(beams, pose_matrix(0.0, 0.0, 90.0), range_max=30.0) == np.inf).all()


def test_what_is_out_of_reach_is_missed() -> None:
    caster = RayCaster(*box((2.0, -1.0, -1.0), (3.0, 1.0, 1.0)))
    start, toward = [[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]
    assert caster.cast(start, toward, range_max=1.99)[0] == np.inf
    assert caster.cast(start, toward, range_max=2.01)[0] == pytest.approx(2.0)
    assert caster.cast(start, [[-1.0, 0.0, 0.0]], range_max=100.0)[0] == np.inf


def test_scenes_without_anything_see_nothing() -> None:
    nothing = np.zeros((0, 3))
    empty = RayCaster(nothing, nothing)
    assert (empty.scan(sensor_beams([0.0, 1.0]), np.eye(4), range_max=9.0) == np.inf).all()
    assert empty.cast(nothing, nothing, range_max=9.0).shape == (0,)
    body = MovingBody("body", *box((1.0, -1.0, -1.0), (2.0, 1.0, 1.0)))
    moving = RayCaster(nothing, nothing, bodies=[body, MovingBody("ghost", nothing, nothing)])
    moving.move({"ghost": pose_matrix(1.0)})
    assert moving.scan(sensor_beams([0.0]), np.eye(4), range_max=9.0)[0, 0] == 1.0


def test_ranges_are_the_callers_own() -> None:
    caster = RayCaster(*box((-5.0, -4.0, 0.0), (5.0, 4.0, 3.0)))
    beams = sensor_beams([0.0, 1.0])
    first = caster.scan(beams, pose_matrix(0.0, 0.0, 1.0), range_max=9.0)
    kept = first.copy()
    second = caster.scan(beams, pose_matrix(1.0, 0.0, 1.0), range_max=9.0)
    np.testing.assert_array_equal(first, kept)
    second[:] = 0.0
    assert caster.scan(beams, pose_matrix(1.0, 0.0, 1.0), range_max=9.0)[0, 0] == 4.0
    assert first.dtype == np.float32


def test_ranges_are_told_as_rep_117_has_them() -> None:
    raw = np.array([0.01, 0.05, 3.0, 10.0, 10.1, np.inf], dtype=np.float32)
    found = measured(raw, range_min=0.05, range_max=10.0)
    np.testing.assert_array_equal(
        found, np.array([-np.inf, 0.05, 3.0, 10.0, np.inf, np.inf], dtype=np.float32)
    )
    assert raw[0] == np.float32(0.01)


TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RayCaster(TRIANGLE, [[0, 1, 3]]), "vertex 3 of 3"),
        (lambda: RayCaster(TRIANGLE, [[0, 1, -1]]), "the scene"),
        (lambda: RayCaster(TRIANGLE * np.nan, [[0, 1, 2]]), "not finite"),
        (
            lambda: RayCaster(
                TRIANGLE,
                [[0, 1, 2]],
                bodies=[MovingBody("a", TRIANGLE, np.array([[0, 1, 2]], np.int32))] * 2,
            ),
            "one name",
        ),
    ],
)
def test_bad_meshes_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ScanError, match=message):
        build()


def test_bad_moves_move_nothing() -> None:
    body = MovingBody("body", *box((1.0, -1.0, -1.0), (2.0, 1.0, 1.0)))
    caster = RayCaster(TRIANGLE, [[0, 1, 2]], bodies=[body])
    beams = sensor_beams([0.0])
    for poses in (
        {"body": pose_matrix(3.0), "nobody": np.eye(4)},
        {"body": np.full((4, 4), np.nan)},
        {"body": np.diag([1.0, 1.0, 0.0, 1.0])},
        {"body": np.eye(3)},
    ):
        with pytest.raises(ScanError):
            caster.move(poses)
        assert caster.scan(beams, np.eye(4), range_max=9.0)[0, 0] == 1.0
    with pytest.raises(ScanError, match="nobody"):
        caster.scan(beams, np.eye(4), range_max=9.0, own="nobody")
    with pytest.raises(ScanError, match="1 starts and 2 directions"):
        caster.cast([[0.0, 0.0, 0.0]], np.eye(3)[:2], range_max=1.0)
