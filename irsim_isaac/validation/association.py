"""Which state of one side belongs to which of the other, by their times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.errors import ScenarioError

__all__ = ["Association", "associate"]


@dataclass(frozen=True, slots=True, eq=False)
class Association:
    """Pairs of states, each state in one pair at most.

    Attributes:
        left: Indices into the left times, shape (n,), rising.
        right: Indices into the right times, shape (n,), rising.
        left_total: How many left times there were.
        right_total: How many right times there were.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    left_total: int
    right_total: int

    @property
    def matched(self) -> int:
        """The number of pairs."""
        return len(self.left)

    @property
    def share(self) -> float:
        """Pairs over the most that there could be, from 0 to 1."""
        return self.matched / max(1, min(self.left_total, self.right_total))


def _nearest(times: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each time the index of the nearest of the others, the earlier of two."""
    after = np.searchsorted(others, times).clip(1, len(others) - 1)
    before = after - 1
    nearer = np.abs(others[after] - times) < np.abs(times - others[before])
    return np.where(nearer, after, before)


def associate(
    left: ArrayLike, right: ArrayLike, *, tolerance: float = 0.01, min_share: float = 0.0
) -> Association:
    """Pair the times that are each other's nearest.

    Args:
        left: Times [s], shape (n,), strictly rising.
        right: Times [s], shape (m,), strictly rising.
        tolerance: The most that the times of a pair may be apart [s].
        min_share: The least share of the shorter side that must find a partner.

    Returns:
        The pairs, one to one.

    Raises:
        ScenarioError: Times are not strictly rising, or fewer than ``min_share`` matched.
    """
    sides = {"left": np.asarray(left, float), "right": np.asarray(right, float)}
    for name, times in sides.items():
        falls = np.flatnonzero(~(np.diff(times) > 0))
        if falls.size:
            index = int(falls[0])
            raise ScenarioError(
                f"the {name} times are to rise: found {times[index]:g} s before "
                f"{times[index + 1]:g} s at state {index + 1}"
            )
    a, b = sides["left"], sides["right"]
    pairs = np.zeros(0, np.int64)
    partners = np.zeros(0, np.int64)
    if a.size and b.size:
        to_right = _nearest(a, b) if b.size > 1 else np.zeros(a.size, np.int64)
        to_left = _nearest(b, a) if a.size > 1 else np.zeros(b.size, np.int64)
        # A float step count times a step may miss the tolerance by its last bit.
        close = np.abs(b[to_right] - a) <= tolerance * (1 + 1e-9) + 1e-12
        pairs = np.flatnonzero((to_left[to_right] == np.arange(a.size)) & close)
        partners = to_right[pairs]
    result = Association(pairs, partners, a.size, b.size)
    if result.share < min_share:
        raise ScenarioError(
            f"{result.matched} of at most {min(a.size, b.size)} states found a partner within "
            f"{tolerance:g} s; at least {min_share:.0%} are expected (left: {_span(a)}, right: "
            f"{_span(b)})"
        )
    return result


def _span(times: NDArray[np.float64]) -> str:
    if not times.size:
        return "no states"
    return f"{times.size} states from {times[0]:g} s to {times[-1]:g} s"
