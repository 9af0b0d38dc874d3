"""The boundary lines of the occupied cells of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["outline"]

_Array = npt.NDArray[np.int64]


def outline(occupied: npt.NDArray[np.bool_]) -> tuple[_Array, _Array]:
    """Return the boundary of the union of cells as closed rings.

    Occupied cells lie on the left of every ring: outer rings run counter-clockwise, holes
    clockwise. Sides that go on straight are one segment. Cells that meet in a corner only are
    not joined there.

    Args:
        occupied: Shape (nx, ny).

    Returns:
        Corners in whole cells, shape (N, 2), each ring's last corner equal to its first; and the
        number of each corner's ring, shape (N,), rising.
    """
    nx, ny = occupied.shape
    grid = np.zeros((nx + 2, ny + 2), dtype=np.int8)
    grid[1:-1, 1:-1] = occupied
    # +1 where the side between two cells has the occupied one at the greater x, -1 at the lesser.
    sides = grid[1:] - grid[:-1]
    # The outline turns where the side below a lattice point differs from the side above it.
    found = np.flatnonzero(sides[:, 1:] != sides[:, :-1])
    if not found.size:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
    x, y = np.divmod(found, ny + 1)
    below, above = sides[x, y], sides[x, y + 1]
    left = grid[x, y + 1] - grid[x, y]
    right = grid[x + 1, y + 1] - grid[x + 1, y]

    vertical = _Runs(np.arange(x.size), below, above, 0)
    horizontal = _Runs(np.argsort(y, kind="stable"), left, right, vertical.count)
    # A vertical run with the occupied cells at the greater x is walked down, the others up; a
    # horizontal one with the occupied cells above is walked to the right, the others to the left.
    down, rightward = vertical.sign > 0, horizontal.sign > 0
    following = np.empty(vertical.count + horizontal.count, dtype=np.int64)
    head = np.where(down, vertical.first, vertical.last)
    to_left, to_right = horizontal.before[head], horizontal.behind[head]
    # Where two cells meet in a corner there is a choice, and the left turn stays on one's own.
    wanted, other = np.where(down, to_right, to_left), np.where(down, to_left, to_right)
    following[: vertical.count] = np.where(wanted >= 0, wanted, other)
    head = np.where(rightward, horizontal.last, horizontal.first)
    down_from, up_from = vertical.before[head], vertical.behind[head]
    wanted = np.where(rightward, up_from, down_from)
    other = np.where(rightward, down_from, up_from)
    following[vertical.count :] = np.where(wanted >= 0, wanted, other)

    tails = np.concatenate(
        [
            np.where(down, vertical.last, vertical.first),
            np.where(rightward, horizontal.first, horizontal.last),
        ]
    )
    order, rings = _cycles(following)
    corners = tails[order]
    return np.stack([x[corners], y[corners]], axis=1), rings


class _Runs:
    """The straight sides along one axis, between corners.

    Args:
        order: The corners, row by row along the axis.
        ending: The sign of the side that ends in each corner, 0 where none does.
        starting: The sign of the side that starts in each corner, 0 where none does.
        base: The number of the first run.

    Attributes:
        first: The corner that each run starts in.
        last: The corner that it ends in.
        sign: Its sign.
        before: The number of the run that ends in each corner, or -1.
        behind: The number of the run that starts in each corner, or -1.
    """

    def __init__(
        self,
        order: _Array,
        ending: npt.NDArray[np.int8],
        starting: npt.NDArray[np.int8],
        base: int,
    ) -> None:
        self.first = order[starting[order] != 0]
        self.last = order[ending[order] != 0]
        self.count = self.first.size
        self.sign = starting[self.first]
        numbers = np.arange(base, base + self.count)
        self.before = np.full(order.size, -1)
        self.before[self.last] = numbers
        self.behind = np.full(order.size, -1)
        self.behind[self.first] = numbers


def _cycles(following: _Array) -> tuple[_Array, _Array]:
    """Return the elements of a permutation cycle by cycle, closed, and each one's cycle."""
    successor: list[Any] = following.tolist()
    seen = bytearray(len(successor))
    order: list[int] = []
    lengths: list[int] = []
    for first in range(len(successor)):
        if seen[first]:
            continue
        before = len(order)
        at = first
        while not seen[at]:
            seen[at] = 1
            order.append(at)
            at = successor[at]
        order.append(first)
        lengths.append(len(order) - before)
    return np.array(order), np.repeat(np.arange(len(lengths)), lengths)
