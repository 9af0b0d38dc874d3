"""How large a grid may be, checked before anything is allocated."""

from __future__ import annotations

import math

from irsim_isaac.errors import MapFormatError

__all__ = ["CELL_LIMIT", "cells_along", "check_cell_count"]

CELL_LIMIT = 2**27
"""The most cells of a grid unless the caller allows more: 134,217,728, about 11,585 x 11,585."""


def check_cell_count(nx: int, ny: int, limit: int, what: str) -> None:
    """Refuse a grid of more cells than the limit.

    Args:
        nx: Cells along x.
        ny: Cells along y.
        limit: The most cells allowed.
        what: What asks for the grid, for the message.

    Raises:
        MapFormatError: There are too many.
    """
    if nx * ny > limit:
        raise MapFormatError(
            f"{what} has {nx} x {ny} = {nx * ny:,} cells, at most {limit:,} are allowed; "
            "choose a coarser resolution, or raise the limit where one can be given"
        )


def cells_along(length: float, resolution: float, what: str) -> int:
    """Return how many cells of a resolution fit a length, rounded, at least one.

    Args:
        length: [m].
        resolution: [m] a cell.
        what: What asks, for the message.

    Raises:
        MapFormatError: The quotient is not a finite number.
    """
    quotient = float(length) / float(resolution)
    if not math.isfinite(quotient):
        raise MapFormatError(
            f"{what}: {length} m in cells of {resolution} m is no finite number of cells"
        )
    return max(1, round(quotient))
