"""How likely an item still is where it was seen: it stays for an exponential time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.observations import Observation

__all__ = ["mean_stay", "persistence"]

_SKEW = 1.0
"""How far the clock that stamped an observation may be ahead of the one that asks [s]."""


def mean_stay(observations: Sequence[Observation], now: float) -> float:
    """Return how long an item stays where it is seen [s], on average.

    What is still there has stayed until now. The complexity is linear.

    Args:
        observations: Of one item on one surface; at least one.
        now: The time [s], UTC.

    Raises:
        InteractiveError: There are no observations, or one is not of the past.
    """
    if not observations:
        raise InteractiveError("there are no observations, at least one was expected")
    return math.fsum(_stay(row, now) for row in observations) / len(observations)


def persistence(observations: Sequence[Observation], now: float) -> float:
    """Return the probability that an item still is where it was seen.

    It is ``exp(-x / mu)``, with ``x`` the time since the latest sighting and ``mu`` the mean
    stay (Toris and Chernova, "Temporal Persistence Modeling for Object Search", ICRA 2017, in the
    form of interactive_world 0.0.12). That the item is known to be gone does not lower it
    otherwise: it may have come back. What was seen right now is there.

    Args:
        observations: Of one item on one surface; at least one.
        now: The time [s], UTC.

    Raises:
        InteractiveError: There are no observations, or one is not of the past.
    """
    mean = mean_stay(observations, now)
    age = max(0.0, now - max(_seen(row, now) for row in observations))
    if age == 0.0:
        return 1.0
    return math.exp(-age / mean) if mean > 0.0 else 0.0


def _seen(row: Observation, now: float) -> float:
    if row.time is None:
        raise InteractiveError(
            f"an observation of '{row.item}' on '{row.surface}' tells no time; "
            "one that a store keeps was expected"
        )
    if not math.isfinite(now) or not math.isfinite(row.time) or row.time > now + _SKEW:
        raise InteractiveError(
            f"'{row.item}' was seen on '{row.surface}' at {row.time} s, which is not before "
            f"the present, {now} s: their clocks differ"
        )
    return row.time


def _stay(row: Observation, now: float) -> float:
    seen = _seen(row, now)
    until = now if row.removed is None else row.removed
    if not math.isfinite(until) or (row.removed is not None and until < seen):
        raise InteractiveError(
            f"'{row.item}' was seen on '{row.surface}' at {seen} s and gone at {until} s; "
            "a later time was expected"
        )
    return max(0.0, until - seen)
