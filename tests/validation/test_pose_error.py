"""Pose errors on paths worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation import (
    Statistics,
    absolute_pose_error,
    align,
    relative_pose_error,
    wrap_angle,
)

HALF = math.pi / 2
# Forward along x, then a left turn and forward along y.
PATH = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, HALF), (2, 1, HALF)]
# The same drive that slips: 3/4 m a step, and turns 0.1 rad too little.
SLIP = [
    (0, 0, 0),
    (0.75, 0, 0),
    (1.5, 0, 0),
    (1.5, 0, HALF - 0.1),
    (1.5 + 0.75 * math.sin(0.1), 0.75 * math.cos(0.1), HALF - 0.1),
]


def test_absolute_error_of_five_poses():
    error = absolute_pose_error(PATH, SLIP)
    last = math.hypot(0.5 - 0.75 * math.sin(0.1), 1 - 0.75 * math.cos(0.1))
    np.testing.assert_allclose(error.translation, [0, 0.25, 0.5, 0.5, last], atol=1e-15)
    np.testing.assert_allclose(error.rotation, [0, 0, 0, 0.1, 0.1], atol=1e-15)


def test_relative_error_of_five_poses():
    error = relative_pose_error(PATH, SLIP)
    np.testing.assert_allclose(error.translation, [0.25, 0.25, 0, 0.25], atol=1e-15)
    np.testing.assert_allclose(error.rotation, [0, 0, 0.1, 0], atol=1e-15)
    two = relative_pose_error(PATH, SLIP, delta=2)
    np.testing.assert_allclose(two.translation[:2], [0.5, 0.25], atol=1e-15)
    np.testing.assert_allclose(two.rotation, [0, 0.1, 0.1], atol=1e-15)


def test_statistics_by_hand():
    figures = Statistics.of([1.0, 2.0, 3.0, 6.0])
    assert figures.sse == 50.0
    assert figures.rmse == math.sqrt(12.5)
    assert (figures.mean, figures.median, figures.min, figures.max) == (3.0, 2.5, 1.0, 6.0)
    assert figures.std == math.sqrt(3.5)


def test_a_constant_offset_is_an_error_and_gone_only_after_alignment():
    moved = np.add(PATH, (0.1, 0, 0))
    raw = absolute_pose_error(PATH, moved).translation_statistics
    fitted = absolute_pose_error(PATH, moved, aligned=True).translation_statistics
    assert raw.rmse == pytest.approx(0.1, abs=1e-15)
    assert fitted.rmse == pytest.approx(0.0, abs=1e-15)


POSES = st.lists(
    st.tuples(*[st.floats(-50, 50)] * 2, st.floats(-3.1, 3.1)), min_size=2, max_size=20
)
MOVE = st.tuples(*[st.floats(-50, 50)] * 2, st.floats(-3.1, 3.1))


def _moved(poses, move):
    rows = np.array(poses, float)
    c, s = math.cos(move[2]), math.sin(move[2])
    x, y = rows[:, 0].copy(), rows[:, 1].copy()
    rows[:, 0], rows[:, 1] = c * x - s * y + move[0], s * x + c * y + move[1]
    rows[:, 2] = wrap_angle(rows[:, 2] + move[2])
    return rows


@given(POSES, MOVE)
def test_a_rigid_move_leaves_motions_alone_and_alignment_undoes_it(poses, move):
    rows = np.array(poses, float)
    other = _moved(poses, move)
    relative = relative_pose_error(rows, other)
    np.testing.assert_allclose(relative.translation, 0, atol=1e-9)
    np.testing.assert_allclose(relative.rotation, 0, atol=1e-9)
    spread = np.hypot(*(rows[:, :2] - rows[:, :2].mean(axis=0)).T).max()
    if spread > 0.1:
        np.testing.assert_allclose(align(rows, other)[:, :2], rows[:, :2], atol=1e-7)


@given(POSES, MOVE)
def test_alignment_never_makes_the_positions_fit_worse(poses, move):
    rows = np.array(poses, float)
    other = rows + np.array(move)
    raw = absolute_pose_error(rows, other).translation_statistics.sse
    fitted = absolute_pose_error(rows, other, aligned=True).translation_statistics.sse
    assert fitted <= raw * (1 + 1e-9) + 1e-9


def test_positions_that_define_no_rotation_are_moved_only():
    still = np.array([(1, 2, 0.3)] * 3)
    np.testing.assert_allclose(
        align(still, np.add(still, (1, 1, 0.2))), np.add(still, (0, 0, 0.2)), atol=1e-12
    )


@given(st.floats(-100, 100))
def test_angles_wrap_to_plus_pi(angle):
    wrapped = float(wrap_angle(angle))
    assert -math.pi < wrapped <= math.pi
    assert math.cos(wrapped) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(angle), abs=1e-9)


def test_half_a_turn_is_plus_pi():
    assert float(wrap_angle(math.pi)) == float(wrap_angle(-math.pi)) == math.pi


def test_unequal_lengths_and_empty_motions_are_refused():
    with pytest.raises(ScenarioError, match="found 5 and 4"):
        absolute_pose_error(PATH, PATH[:4])
    with pytest.raises(ScenarioError, match="1 pose or more, found 0"):
        relative_pose_error(PATH, SLIP, delta=0)
