"""Exact time: whole counts of rational steps.

A step of 0.1 s and one of 1/60 s are kept as fractions, so that six of the second are one of
the first, exactly, and a million steps later still.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from irsim_isaac.errors import SimulatorError

__all__ = ["Seconds", "SteppedClock", "exact_seconds", "sub_step_count"]

Seconds: TypeAlias = "Fraction | float | int | str"
"""A time [s]: a number, or text such as ``"1/60"``."""

_LARGEST_DENOMINATOR = 1_000_000


def exact_seconds(value: Seconds) -> Fraction:
    """Return a time as the fraction that was meant.

    A float stands for the fraction with a denominator up to a million that rounds to it,
    so that 0.1 is 1/10 and 1 / 60 is 1/60; where there is none, for its own binary value.

    Args:
        value: The time [s].

    Raises:
        SimulatorError: It is not a finite number.
    """
    try:
        exact = Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise SimulatorError(
            f"a time must be a finite number of seconds or text such as '1/60', found {value!r}"
        ) from error
    if isinstance(value, float):
        near = exact.limit_denominator(_LARGEST_DENOMINATOR)
        if float(near) == value:
            return near
    return exact


def _positive(value: Seconds, what: str) -> Fraction:
    exact = exact_seconds(value)
    if exact <= 0:
        raise SimulatorError(f"the {what} must be longer than 0 s, found {value!r}")
    return exact


def sub_step_count(step: Seconds, sub_step: Seconds) -> int:
    """Return how many sub-steps make one step.

    Args:
        step: The step [s], such as 0.1.
        sub_step: The sub-step [s], such as 1 / 60.

    Raises:
        SimulatorError: The step is no whole multiple of the sub-step.
    """
    whole = _positive(step, "step")
    part = _positive(sub_step, "sub-step")
    count = whole / part
    if count.denominator != 1:
        below = (count.numerator // count.denominator) * part
        raise SimulatorError(
            f"a step of {float(whole):g} s ({whole}) is not a whole multiple of the sub-step of "
            f"{float(part):g} s ({part}); the nearest multiples are {float(below):g} s and "
            f"{float(below + part):g} s"
        )
    return count.numerator


class SteppedClock:
    """A clock that counts steps.

    Args:
        step: The length of a step [s].
    """

    __slots__ = ("_count", "_step")

    def __init__(self, step: Seconds) -> None:
        self._step = _positive(step, "step time")
        self._count = 0

    @property
    def step(self) -> Fraction:
        """The length of a step [s]."""
        return self._step

    @property
    def count(self) -> int:
        """The number of steps since the start."""
        return self._count

    @property
    def time(self) -> Fraction:
        """The time since the start [s], exactly."""
        return self._count * self._step

    @property
    def stamp(self) -> float:
        """The float nearest to the time since the start [s]."""
        return self._count * self._step.numerator / self._step.denominator

    def advance(self, steps: int = 1) -> None:
        """Go on by whole steps.

        Args:
            steps: How many; not negative.
        """
        if steps < 0:
            raise SimulatorError(f"a clock goes forward: 0 or more steps expected, found {steps}")
        self._count += steps

    def reset(self) -> None:
        """Go back to the start."""
        self._count = 0
