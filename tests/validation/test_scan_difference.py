"""Scans are compared by bearing, not by index."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import ScenarioError
from irsim_isaac.msg import Header, LaserScan
from irsim_isaac.validation import compare_scans, resample_ranges, scan_difference

TURN = 2 * math.pi


def scan(ranges, angle_min=-math.pi, increment=None):
    values = np.asarray(ranges, np.float32)
    step = TURN / len(values) if increment is None else increment
    return LaserScan(
        header=Header(),
        angle_min=angle_min,
        angle_max=angle_min + (len(values) - 1) * step,
        angle_increment=step,
        time_increment=0.0,
        scan_time=0.1,
        range_min=0.05,
        range_max=30.0,
        ranges=values,
        intensities=np.zeros(0, np.float32),
    )


def wall(bearings, distance=2.0, normal=0.3):
    """A flat wall, seen by every beam less than a right angle from its normal."""
    cosine = np.cos(np.asarray(bearings) - normal)
    return np.where(cosine > 0.2, distance / np.maximum(cosine, 0.2), np.inf)


def test_a_full_circle_with_its_first_beam_repeated_agrees_with_one_without():
    closed = scan(np.full(361, 4.0), increment=TURN / 360)
    open_ended = scan(np.full(360, 4.0))
    for left, right in ((closed, open_ended), (open_ended, closed)):
        difference = scan_difference(left, right).difference
        assert len(difference) == 360
        assert np.abs(difference).max() < 1e-6


def test_equal_scans_differ_by_exactly_nothing():
    ranges = np.where(np.arange(90) % 7 == 0, np.inf, 1 + np.arange(90) / 30)
    both = scan_difference(scan(ranges), scan(ranges))
    assert np.nanmax(np.abs(both.difference)) == 0.0
    assert not both.mismatch.any()


@given(st.floats(-3, 3), st.integers(200, 900))
def test_a_flat_wall_is_met_exactly_between_beams(start, count):
    fine = scan(wall(start + np.arange(count) * TURN / count), angle_min=start)
    bearings = np.linspace(0.3 - 1.0, 0.3 + 1.0, 41)
    np.testing.assert_allclose(resample_ranges(fine, bearings), wall(bearings), rtol=0, atol=2e-5)


def test_an_edge_is_not_smeared():
    ranges = np.full(360, 2.0)
    ranges[180:] = 8.0
    between = resample_ranges(scan(ranges), [-0.7 * TURN / 360, -0.3 * TURN / 360])
    np.testing.assert_array_equal(between, [2.0, 8.0])


def test_bearings_outside_the_fan_are_not_measured():
    fan = scan(np.full(91, 3.0), angle_min=-math.pi / 4, increment=math.pi / 180)
    seen = resample_ranges(fan, [-math.pi / 2, -math.pi / 4, 0.0, math.pi / 4, math.pi])
    np.testing.assert_array_equal(np.isnan(seen), [True, False, False, False, True])
    np.testing.assert_allclose(seen[1:4], 3.0)


def test_a_hit_beside_a_miss_is_a_mismatch_and_not_a_difference():
    left, right = np.full(8, 3.0), np.full(8, 3.5)
    left[2], right[5], right[6], left[7] = np.inf, np.inf, np.nan, -np.inf
    right[7] = np.inf
    both = scan_difference(scan(left), scan(right))
    np.testing.assert_array_equal(np.flatnonzero(both.mismatch), [2, 5])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(both.difference)), [2, 5, 6, 7])
    result = compare_scans([0.0], [scan(left)], [scan(right)])
    assert (result.compared, result.only_left, result.only_right) == (7, 1, 1)
    assert (result.not_measured, result.skipped) == (1, 0)
    assert result.statistics.mean == 0.5
    assert result.mismatch[0] == 2 / 7


def test_scans_are_summed_over_time_and_over_bearings():
    base = np.full(4, 2.0)
    left = [scan(base), None, scan(base)]
    right = [scan(np.add(base, (0, 1, 0, 0))), scan(base), scan(np.add(base, (0, 3, 0, 0)))]
    result = compare_scans([0.0, 0.1, 0.2], left, right, jump=0.1)
    np.testing.assert_array_equal(result.times, [0.0, 0.2])
    np.testing.assert_array_equal(result.mean, [0.25, 0.75])
    np.testing.assert_array_equal(result.median, [0.0, 0.0])
    np.testing.assert_array_equal(np.sort(result.bearing_max), [0, 0, 0, 3])
    assert result.bearing_mean[np.argmax(result.bearing_max)] == 2.0
    assert (np.diff(result.bearings) > 0).all()
    assert result.skipped == 1


def test_no_scans_give_no_comparison():
    assert compare_scans([0.0], [None], [scan([1.0])]) is None


def test_a_lidar_that_changes_during_a_run_is_refused():
    with pytest.raises(ScenarioError, match=r"has 5 beams at 0.1 s .* 4 that it had at 0 s"):
        compare_scans(
            [0.0, 0.1], [scan(np.ones(4)), scan(np.ones(5))], [scan(np.ones(4)), scan(np.ones(5))]
        )
