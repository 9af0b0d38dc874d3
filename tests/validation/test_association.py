"""States are paired one to one by their times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation import associate


def test_hundred_hertz_against_ten_gives_ten_pairs_each_state_once():
    fast, slow = np.arange(100) / 100, np.arange(10) / 10
    pairs = associate(fast, slow, tolerance=0.02)
    assert pairs.matched == 10
    np.testing.assert_array_equal(pairs.left, np.arange(0, 100, 10))
    np.testing.assert_array_equal(pairs.right, np.arange(10))
    assert (pairs.left_total, pairs.right_total, pairs.share) == (100, 10, 1.0)


def test_sides_swapped_give_the_same_pairs():
    fast, slow = np.arange(100) / 100, 0.003 + np.arange(10) / 10
    there, back = associate(fast, slow), associate(slow, fast)
    np.testing.assert_array_equal(there.left, back.right)
    np.testing.assert_array_equal(there.right, back.left)


def test_no_match_is_told_with_both_spans():
    with pytest.raises(ScenarioError, match=r"0 of at most 2 .* from 0 s to 1 s.* 10 s to 11 s"):
        associate([0.0, 1.0], [10.0, 11.0], min_share=0.5)


def test_times_that_go_back_are_refused():
    with pytest.raises(ScenarioError, match="the right times are to rise: found 2 s before 1 s"):
        associate([0.0, 1.0], [0.0, 2.0, 1.0])


@pytest.mark.parametrize("side", [[], [0.5]])
def test_few_times(side):
    assert associate(side, [0.5], tolerance=0.1).matched == len(side)
    assert associate([], side).matched == 0


TIMES = st.lists(st.integers(0, 400), unique=True, max_size=30).map(sorted)


@given(TIMES, TIMES, st.integers(0, 30))
def test_pairs_are_one_to_one_and_within_the_tolerance(left, right, tolerance):
    a, b = np.array(left) / 100, np.array(right) / 100
    pairs = associate(a, b, tolerance=tolerance / 100)
    assert len(set(pairs.left.tolist())) == len(set(pairs.right.tolist())) == pairs.matched
    assert (np.diff(pairs.left) > 0).all() and (np.diff(pairs.right) > 0).all()
    assert (np.abs(a[pairs.left] - b[pairs.right]) <= tolerance / 100 + 1e-9).all()
    # Every time that both sides have is paired with itself.
    shared = set(left) & set(right)
    assert {
        left[i] for i, j in zip(pairs.left, pairs.right, strict=True) if left[i] == right[j]
    } == (shared)
