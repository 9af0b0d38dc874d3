"""When two sides part, and what is told to have come first."""

from __future__ import annotations

import numpy as np
import pytest

from irsim_isaac.validation import ContactTimeline, Divergence, Trajectory, first_divergence
from tests.validation.worlds import states

LIMITS = Divergence(position=0.05, heading=0.05)


def line(speed, *, steps=20, start=0.0, told=None):
    """Straight along x; ``told`` is the speed that the odometry tells."""
    told = speed if told is None else told
    poses = [(start + 0.1 * index * speed, 0.0, 0.0) for index in range(steps)]
    return states(poses, twists=[(0.0, 0.0, 0.0)] + [(told, 0.0, 0.0)] * (steps - 1))


def part(left, right, **options):
    a, b = Trajectory.from_states(left, "robot"), Trajectory.from_states(right, "robot")
    return first_divergence(a, b, limits=LIMITS, **options)


def test_sides_that_stay_together_have_no_divergence():
    result = part(line(0.5), line(0.51))
    assert result.time is None
    assert result.cause is None
    assert result.position == pytest.approx(0.019)


def test_a_slower_side_is_told_by_its_speed_before_the_distance():
    result = part(line(0.5), line(0.4))
    assert result.time == pytest.approx(0.6)  # 0.6 s x 0.1 m/s is the first beyond 5 cm
    assert (result.cause.kind, result.cause.time) == ("speed", pytest.approx(0.1))
    assert result.cause.text == "the left speed is 0.500 m/s, the right 0.400 m/s"
    assert result.cause.share == 1.0


def test_the_limit_itself_is_not_beyond_it():
    assert part(line(0.5, steps=2), line(0.0, steps=2)).time is None


def test_a_drift_without_any_other_cue_is_called_so():
    result = part(line(0.5), line(0.54, told=0.5))
    assert result.cause.kind == "drift"
    assert result.cause.share == 1.0


def test_a_contact_of_one_side_is_named_with_its_partner():
    left, right = line(0.5), line(0.5)
    stopped = states(
        [(min(0.05 * index, 0.3), 0.0, 0.0) for index in range(20)],
        touches=[("crate",) if index >= 6 else () for index in range(20)],
        twists=[(0.5, 0.0, 0.0) if 0 < index < 8 else (0.0, 0.0, 0.0) for index in range(20)],
    )
    contacts = [ContactTimeline.from_states(side, "robot") for side in (left, stopped)]
    result = part(left, stopped, contacts=tuple(contacts))
    assert result.time == pytest.approx(0.8)
    assert result.cause.kind == "contact"
    assert result.cause.text == "the right robot alone touches crate"
    assert [cue.kind for cue in result.cues] == ["contact"]  # the speed differs because of it
    assert part(left, right, contacts=(contacts[0], contacts[0])).time is None


def test_starts_that_lie_apart_are_the_cause_at_once():
    result = part(line(0.5), line(0.5, start=0.2))
    assert (result.time, result.cause.kind) == (0.0, "start")


def test_a_heading_alone_is_a_divergence():
    left = [(0.0, 0.0, 0.02 * index) for index in range(10)]
    right = [(0.0, 0.0, -0.02 * index) for index in range(10)]
    result = part(states(left), states(right))
    assert result.time == pytest.approx(0.2)
    assert result.heading == pytest.approx(0.08)


def test_cues_after_the_divergence_are_no_cause():
    left = states([(0.0, 0.0, 0.0)] * 3 + [(1.0, 0.0, 0.0)] * 3, touches=[()] * 5 + [("late",)])
    right = states([(0.0, 0.0, 0.0)] * 6)
    contacts = tuple(ContactTimeline.from_states(side, "robot") for side in (left, right))
    result = part(left, right, contacts=contacts)
    assert np.isclose(result.time, 0.3)
    assert [cue.kind for cue in result.cues] == ["drift"]


def test_what_brings_most_of_the_way_is_the_cause_and_shares_add_up():
    # A slow start costs 1 cm; later one side is told to stop, which costs the rest.
    left = [0.0] + [0.05 * index for index in range(1, 20)]
    right = [0.0] + [0.05 * index - 0.01 for index in range(1, 10)] + [0.44] * 10
    speeds = [[0.0] + [0.5] * 19, [0.0, 0.4] + [0.5] * 8 + [0.0] * 10]
    told = [np.zeros((20, 3)) for _ in range(2)]
    told[0][1:, 0] = told[1][1:10, 0] = 0.5
    sides = [
        states(
            [(x, 0.0, 0.0) for x in places],
            twists=[(v, 0.0, 0.0) for v in row],
        )
        for places, row in zip((left, right), speeds, strict=True)
    ]
    result = part(*sides, commands=tuple(told))
    assert result.time == pytest.approx(1.0)
    assert result.cause.kind == "command"
    assert result.cause.time == pytest.approx(1.0)
    assert result.cause.text.startswith("the left command is (0.5 m/s, 0 rad/s), the right (0 m/s")
    assert [cue.kind for cue in result.cues] == ["command", "speed"]
    assert [cue.share for cue in result.cues] == pytest.approx([5 / 6, 1 / 6])


def test_a_short_contact_is_felt_for_a_while():
    left = states([(0.0, 0.0, 0.0)] * 20)
    right = states(
        [(0.0, 0.0, 0.0)] * 5 + [(0.02 * index, 0.0, 0.0) for index in range(15)],
        touches=[("wall",) if index == 4 else () for index in range(20)],
    )
    contacts = tuple(ContactTimeline.from_states(side, "robot") for side in (left, right))
    assert part(left, right, contacts=contacts).cause.kind == "contact"
