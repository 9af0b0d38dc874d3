"""Exact time."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.clock import (
    PacedClock,
    SteppedClock,
    StepWatch,
    exact_seconds,
    sub_step_count,
)
from irsim_isaac.errors import SimulatorError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1 / 60, Fraction(1, 60)),
        (1 / 3, Fraction(1, 3)),
        ("1/120", Fraction(1, 120)),
        ("0.03", Fraction(3, 100)),
        (2, Fraction(2)),
        (Fraction(3, 7), Fraction(3, 7)),
        (math.pi, Fraction(math.pi)),
    ],
)
def test_a_time_is_the_fraction_that_was_meant(value: object, expected: Fraction) -> None:
    assert exact_seconds(value) == expected


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_every_short_fraction_survives_a_float(numerator: int, denominator: int) -> None:
    exact = Fraction(numerator, denominator)
    assert exact_seconds(float(exact)) == exact


@pytest.mark.parametrize("value", [math.nan, math.inf, "soon", None, [1]])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(SimulatorError, match="finite number of seconds"):
        exact_seconds(value)


@pytest.mark.parametrize(
    ("step", "sub_step", "count"),
    [(0.1, 1 / 60, 6), (0.1, 1 / 120, 12), (0.1, 0.1, 1), ("1/30", "1/240", 8), (1, 0.001, 1000)],
)
def test_a_step_is_a_whole_number_of_sub_steps(step: object, sub_step: object, count: int) -> None:
    assert sub_step_count(step, sub_step) == count


@pytest.mark.parametrize(("step", "sub_step"), [(0.03, 1 / 60), (1 / 60, 0.1), (0.1, 0.03)])
def test_a_step_that_is_not_says_which_would_be(step: float, sub_step: float) -> None:
    with pytest.raises(SimulatorError, match="not a whole multiple") as raised:
        sub_step_count(step, sub_step)
    below = math.floor(Fraction(str(step)) / exact_seconds(sub_step)) * sub_step
    assert f"{below:g} s and {below + sub_step:g} s" in str(raised.value)


@pytest.mark.parametrize("step", [0, -0.1, "0"])
def test_a_step_has_a_length(step: object) -> None:
    with pytest.raises(SimulatorError, match="longer than 0 s"):
        SteppedClock(step)


@given(st.sampled_from(["1/10", "1/60", "1/30", "0.003", "7/900"]), st.integers(0, 10**9))
def test_a_clock_does_not_drift(step: str, count: int) -> None:
    """After any count of steps the stamp is the float nearest to the exact time."""
    clock = SteppedClock(step)
    clock.advance(count)
    assert clock.time == count * Fraction(step)
    assert clock.stamp == float(count * Fraction(step))


def test_a_million_single_steps_do_not_drift() -> None:
    fast, slow = SteppedClock("1/60"), SteppedClock("1/10")
    for count in range(1_000_000):
        fast.advance()
        if count % 6 == 5:
            slow.advance()
    assert fast.count == 1_000_000
    assert fast.time == Fraction(1_000_000, 60)
    assert slow.time == Fraction(166_666, 10)
    assert fast.time - slow.time == Fraction(4, 60)
    fast.reset()
    assert (fast.count, fast.stamp) == (0, 0.0)


def test_a_clock_goes_forward() -> None:
    with pytest.raises(SimulatorError, match="goes forward"):
        SteppedClock(1).advance(-1)


class Wall:
    """A clock on the wall that the test sets."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_a_paced_clock_tells_every_step_once() -> None:
    wall = Wall()
    clock = PacedClock(0.25, now=wall)
    assert not clock.running
    wall.time += 10.0
    assert clock.due() == 0
    clock.resume()
    assert clock.running
    assert clock.due() == 0
    wall.time += 0.5
    assert clock.due() == 2
    assert clock.due() == 0
    assert clock.wait() == 0.25
    wall.time += 0.375
    assert clock.due() == 1
    assert clock.wait() == 0.125


def test_a_paused_clock_stands_still() -> None:
    wall = Wall()
    clock = PacedClock(0.25, pace=2.0, now=wall)
    clock.resume()
    wall.time += 0.0625
    clock.pause()
    assert clock.wait() == math.inf
    wall.time += 50.0
    assert clock.due() == 0
    clock.resume()
    clock.resume()
    wall.time += 0.0625
    assert clock.due() == 1
    clock.reset()
    assert clock.due() == 0
    wall.time += 0.125
    assert clock.due() == 1


def test_a_wall_clock_that_goes_backward_tells_no_step_twice() -> None:
    wall = Wall()
    clock = PacedClock(0.25, now=wall)
    clock.resume()
    wall.time += 1.0
    assert clock.due() == 4
    wall.time -= 0.75
    assert clock.due() == 0
    wall.time += 0.75
    assert clock.due() == 0
    wall.time += 0.25
    assert clock.due() == 1


def test_a_watch_names_what_a_simulator_did() -> None:
    watch = StepWatch("1/60")
    counts = [0, 1, 2, 2, 5, 6, 0, 1]
    events = [watch.see(count / 60) for count in counts]
    kinds = ["first", "next", "next", "repeated", "skipped", "next", "backward", "next"]
    assert [event.kind for event in events] == kinds
    assert [event.count for event in events] == counts
    assert [event.steps for event in events] == [0, 1, 1, 0, 3, 1, -6, 1]
    assert (watch.repeated, watch.skipped, watch.backward) == (1, 2, 1)


def test_a_watch_takes_rounded_stamps_and_refuses_other_times() -> None:
    """A stamp in float32, as some simulators have it, still stands for its step."""
    watch = StepWatch(0.1)
    assert watch.see(0.30000001192092896).count == 3
    with pytest.raises(SimulatorError, match=r"3\.5 steps"):
        watch.see(0.35)
