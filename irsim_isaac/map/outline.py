"""The boundary lines of the occupied cells of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["outline"]

_Array = npt.NDArray[np.int64]


def _runs(signs: npt.NDArray[np.int8]) -> tuple[_Array, _Array, _Array, _Array]:
    """Return the longest runs of equal non-zero signs along the second axis.

    Returns:
        The row, the first index, the index behind the last, and the sign of each run.
    """
    padded = np.pad(signs, ((0, 0), (1, 1)))
    changes = padded[:, 1:] != padded[:, :-1]
    rows, ends = np.nonzero(changes & (padded[:, :-1] != 0))
    _, starts = np.nonzero(changes & (padded[:, 1:] != 0))
    return rows, starts, ends, padded[rows, ends].astype(np.int64)


def outline(occupied: npt.NDArray[np.bool_]) -> tuple[_Array, _Array]:
    """Return the boundary of the union of cells as closed rings.

    Occupied cells lie on the left of every ring: outer rings run counter-clockwise, holes
    clockwise. Sides that go on straight are one segment. Cells that meet in a corner only have
    rings of their own.

    Args:
        occupied: Shape (nx, ny).

    Returns:
        Corners in whole cells, shape (N, 2), each ring's last corner equal to its first; and the
        number of each corner's ring, shape (N,), rising.
    """
    nx, ny = occupied.shape
    grid = np.zeros((nx + 2, ny + 2), dtype=np.int8)
    grid[1:-1, 1:-1] = occupied
    # +1 where the occupied cell lies at the greater coordinate of an edge.
    along_y = grid[1:, 1:-1] - grid[:-1, 1:-1]
    along_x = (grid[1:-1, 1:] - grid[1:-1, :-1]).T
    x, low, high, sign = _runs(along_y)
    vertical = np.stack([x, np.where(sign > 0, high, low), np.where(sign > 0, low, high)])
    up = sign < 0
    y, low, high, sign = _runs(along_x)
    horizontal = np.stack([y, np.where(sign > 0, low, high), np.where(sign > 0, high, low)])
    right = sign > 0
    count = vertical.shape[1]
    if not count:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)

    # Every corner joins a vertical to a horizontal side; where two cells meet in a corner there
    # are two of each, and the order of the second key makes both turns left ones.
    width = ny + 1
    following = np.empty(2 * count, dtype=np.int64)
    ends = np.lexsort((~up, vertical[0] * width + vertical[2]))
    starts = np.lexsort((right, horizontal[1] * width + horizontal[0]))
    following[ends] = starts + count
    ends = np.lexsort((~right, horizontal[2] * width + horizontal[0]))
    starts = np.lexsort((~up, vertical[0] * width + vertical[1]))
    following[ends + count] = starts

    order, rings = _cycles(following)
    corners = np.concatenate(
        [
            np.stack([vertical[0], vertical[1]], axis=1),
            np.stack([horizontal[1], horizontal[0]], axis=1),
        ]
    )
    return corners[order], rings


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
