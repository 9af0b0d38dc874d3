"""Exact time: whole counts of rational steps.

A step of 0.1 s and one of 1/60 s are kept as fractions, so that six of the second are one of
the first, exactly, and a million steps later still.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from irsim_isaac.errors import SimulatorError

__all__ = [
    "PacedClock",
    "Seconds",
    "StepEvent",
    "StepWatch",
    "SteppedClock",
    "exact_seconds",
    "sub_step_count",
]

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


class PacedClock:
    """Tells how many whole steps are due beside a clock on the wall.

    Steps that were told once are not told again, whatever the wall clock does: when it goes
    backward, nothing is due until it has caught up.

    Args:
        step: The length of a step [s].
        pace: Simulated seconds a second of the wall clock.
        now: Reads the wall clock [s].
    """

    def __init__(
        self, step: Seconds, *, pace: float = 1.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._step = _positive(step, "step time")
        self._pace = _positive(pace, "simulated time of a second")
        self._now = now
        self._told = 0
        self._gone = Fraction(0)
        self._since: Fraction | None = None

    @property
    def running(self) -> bool:
        """Whether time goes on."""
        return self._since is not None

    def resume(self) -> None:
        """Let time go on from here; it stands still until the first call."""
        if self._since is None:
            self._since = self._wall()

    def pause(self) -> None:
        """Let time stand still."""
        self._gone = self._elapsed()
        self._since = None

    def reset(self) -> None:
        """Go back to the start; time goes on if it did."""
        self._told = 0
        self._gone = Fraction(0)
        if self._since is not None:
            self._since = self._wall()

    def due(self) -> int:
        """Return how many steps have become due since the last call."""
        whole = self._elapsed() * self._pace / self._step
        steps = max(0, whole.numerator // whole.denominator - self._told)
        self._told += steps
        return steps

    def wait(self) -> float:
        """Return how long it is until the next step is due [s]; inf while time stands still."""
        if self._since is None:
            return float("inf")
        left = (self._told + 1) * self._step / self._pace - self._elapsed()
        return max(0.0, float(left))

    def _elapsed(self) -> Fraction:
        if self._since is None:
            return self._gone
        return self._gone + self._wall() - self._since

    def _wall(self) -> Fraction:
        # In whole nanoseconds, so that waiting for the sum of two floats ends.
        return Fraction(round(self._now() * 1e9), 1_000_000_000)


StepKind: TypeAlias = Literal["first", "next", "repeated", "skipped", "backward"]


@dataclass(frozen=True, slots=True)
class StepEvent:
    """What a stamp says about the step before it.

    Attributes:
        kind: ``"next"`` is one step on, ``"repeated"`` the same step again, ``"skipped"``
            several steps on, ``"backward"`` an earlier step, as after a reset.
        count: The whole count of steps that the stamp stands for.
        steps: From the stamp before to this one; negative backward.
    """

    kind: StepKind
    count: int
    steps: int


class StepWatch:
    """Watches the stamps of a simulator that somebody else steps.

    Args:
        step: The length of its steps [s].

    Attributes:
        repeated: How many stamps came twice.
        skipped: How many steps were never seen.
        backward: How often time went backward.
    """

    _ON_THE_GRID = Fraction(1, 1000)

    def __init__(self, step: Seconds) -> None:
        self._step = _positive(step, "step time")
        self._last: int | None = None
        self.repeated = 0
        self.skipped = 0
        self.backward = 0

    def see(self, stamp: Seconds) -> StepEvent:
        """Take the next stamp.

        Args:
            stamp: The time of the simulator [s].

        Raises:
            SimulatorError: The stamp is no whole count of steps.
        """
        exact = exact_seconds(stamp) / self._step
        count = round(exact)
        if abs(exact - count) > self._ON_THE_GRID:
            raise SimulatorError(
                f"the stamp {float(exact_seconds(stamp)):g} s is {float(exact):g} steps of "
                f"{float(self._step):g} s; a whole count was expected"
            )
        last, self._last = self._last, count
        if last is None:
            return StepEvent("first", count, 0)
        steps = count - last
        if steps == 1:
            return StepEvent("next", count, 1)
        if steps == 0:
            self.repeated += 1
            return StepEvent("repeated", count, 0)
        if steps > 0:
            self.skipped += steps - 1
            return StepEvent("skipped", count, steps)
        self.backward += 1
        return StepEvent("backward", count, steps)
