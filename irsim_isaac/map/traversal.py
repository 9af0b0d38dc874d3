"""The exact walk of a beam over the cells of a grid, in whole numbers.

Coordinates are in cells, rounded to 2^-32 of a cell and held as 64-bit whole numbers, so every
comparison is exact. A beam is walked along its longer axis; where it crosses a column, the
other coordinate is a whole number, a remainder over the beam's length along the longer axis,
and a part below 2^-32 that stays the same from column to column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import warp as wp

__all__ = ["FRACTION_BITS", "REACH", "reveal_beams"]

if TYPE_CHECKING:
    Cells: TypeAlias = Any
    Ends: TypeAlias = Any
else:
    Cells = wp.array(dtype=wp.uint8)
    Ends = wp.array(dtype=wp.int64)

FRACTION_BITS = 32
"""A cell is 2^32 units wide."""

REACH = 2**20
"""Beams are cut at this many cells from the grid's corner, so that no product overflows."""

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_ONE = wp.constant(wp.int64(2**32))
_LOW = wp.constant(wp.int64(2**32 - 1))
_LOW_UNSIGNED = wp.constant(wp.uint64(2**32 - 1))
_SHIFT = wp.constant(wp.int64(32))
_SHIFT_UNSIGNED = wp.constant(wp.uint64(32))


@wp.func
def _mark(
    explored: Cells,
    a: wp.int64,
    b: wp.int64,
    na: wp.int64,
    nb: wp.int64,
    stride_a: wp.int64,
    stride_b: wp.int64,
) -> None:
    if a >= wp.int64(0) and a < na and b >= wp.int64(0) and b < nb:
        explored[wp.int32(a * stride_a + b * stride_b)] = wp.uint8(1)


@wp.kernel(enable_backward=False)
def reveal_beams(
    ends: Ends,
    explored: Cells,
    nx: wp.int64,
    ny: wp.int64,
) -> None:
    """Mark the cells in which a beam runs for a positive length, and those of its ends.

    Args:
        ends: x0, y0, x1, y1 of each beam in turn, in 2^-32 of a cell from the grid's corner.
        explored: The grid's cells, (nx * ny,), y fastest.
        nx: Cells along x.
        ny: Cells along y.
    """
    beam = wp.int32(wp.tid())
    zero = wp.int64(0)
    one = wp.int64(1)
    a0 = ends[4 * beam]
    b0 = ends[4 * beam + 1]
    a1 = ends[4 * beam + 2]
    b1 = ends[4 * beam + 3]
    na = nx
    nb = ny
    stride_a = ny
    stride_b = one
    _mark(explored, a0 >> _SHIFT, b0 >> _SHIFT, na, nb, stride_a, stride_b)
    _mark(explored, a1 >> _SHIFT, b1 >> _SHIFT, na, nb, stride_a, stride_b)

    if wp.abs(b1 - b0) > wp.abs(a1 - a0):
        swap = a0
        a0 = b0
        b0 = swap
        swap = a1
        a1 = b1
        b1 = swap
        na = ny
        nb = nx
        stride_a = one
        stride_b = ny
    if a0 == a1:
        return

    # Mirrored where it runs down, the beam runs up both axes; cell k becomes cell -k - 1.
    base = zero
    low_a = zero
    high_a = na
    if a1 < a0:
        a0 = -a0
        a1 = -a1
        low_a = -na
        high_a = zero
        base -= stride_a
        stride_a = -stride_a
    low_b = zero
    high_b = nb
    if b1 < b0:
        b0 = -b0
        b1 = -b1
        low_b = -nb
        high_b = zero
        base -= stride_b
        stride_b = -stride_b
    da = a1 - a0
    db = b1 - b0

    column = a0 >> _SHIFT
    last = ((a1 + _LOW) >> _SHIFT) - one
    cell = b0 >> _SHIFT
    if column >= high_a or last < low_a or cell >= high_b or (b1 >> _SHIFT) < low_b:
        return

    # At the end of the first column, (other coordinate - cell) * da = high + low * 2^-32.
    to_edge = wp.uint64(((column + one) << _SHIFT) - a0)
    within = wp.uint64(b0 & _LOW)
    p = to_edge * wp.uint64(db & _LOW)
    q = within * wp.uint64(da & _LOW)
    parts = (p & _LOW_UNSIGNED) + (q & _LOW_UNSIGNED)
    low = wp.int64(parts & _LOW_UNSIGNED)
    high = wp.int64(
        to_edge * wp.uint64(db >> _SHIFT)
        + within * wp.uint64(da >> _SHIFT)
        + (p >> _SHIFT_UNSIGNED)
        + (q >> _SHIFT_UNSIGNED)
        + (parts >> _SHIFT_UNSIGNED)
    )
    if db == zero:
        low = one  # a beam along a cell edge stays in the cells above it

    if column < low_a:
        # To the edge before the first column of the grid, by doubling.
        skipped = low_a - column - one
        quotient = zero
        remainder = zero
        bit = wp.int64(21)
        while bit >= zero:
            quotient = quotient + quotient
            remainder = remainder + remainder
            if remainder >= da:
                remainder -= da
                quotient += one
            if ((skipped >> bit) & one) == one:
                remainder += db
                if remainder >= da:
                    remainder -= da
                    quotient += one
            bit -= one
        high += remainder
        cell += quotient
        while high >= da:
            high -= da
            cell += one
        high += db
        column = low_a

    stop = wp.min(last, high_a)
    while column < stop and cell < low_b - one:
        if high >= da:
            high -= da
            cell += one
        high += db
        column += one

    at = wp.int32(base + column * stride_a + cell * stride_b)
    step_a = wp.int32(stride_a)
    step_b = wp.int32(stride_b)
    while column < stop:
        if cell >= high_b:
            return
        if cell >= low_b:
            explored[at] = wp.uint8(1)
        if high >= da:
            high -= da
            cell += one
            at += step_b
            if (high != zero or low != zero) and cell >= low_b and cell < high_b:
                explored[at] = wp.uint8(1)
        high += db
        column += one
        at += step_a
    if column == last and column < high_a:
        if cell >= low_b and cell < high_b:
            explored[at] = wp.uint8(1)
        final = cell
        if db > zero:
            final = ((b1 + _LOW) >> _SHIFT) - one
        if final > cell and final >= low_b and final < high_b:
            explored[at + step_b] = wp.uint8(1)
