"""Triangles to the cells of a grid, exactly, within a band of heights.

A triangle is clipped to the band; what is left is a convex piece, which is scanned column by
column: within the strip of a column it covers one stretch of y, and the cells whose open
square meets that stretch are the cells that separating axes would give. Coordinates are in
cells from the grid's corner, in float64.

The inside of solids is found by crossings: above the centre of a cell, each outward face that
looks up counts one and each that looks down minus one; the sum is how many solids hold the
centre. Faces that share an edge find the same place for it, so no line leaks between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import warp as wp
from numpy.typing import NDArray

from irsim_isaac.kernels import launch, start

__all__ = ["CLOSED", "FILLED", "SHEET", "rasterize"]

SHEET = 0
"""A surface without an inside."""
CLOSED = 1
"""A closed mesh, whose inside is unknown."""
FILLED = 2
"""A solid, whose inside is occupied."""

_TIE = 1e-4
"""What lies within this many cells of a cell edge lies on it."""
_HEIGHT_TIE = 1e-6
"""What lies within this many metres of the band's ends lies on them."""
_ROUNDING = 1e-6
"""A piece that reaches into a cell by no more metres than this does not meet it. In metres, so
that a smaller cell never sees what a larger one does not."""

if TYPE_CHECKING:
    Vertices: TypeAlias = Any
    Triangles: TypeAlias = Any
    Kinds: TypeAlias = Any
    Crossings: TypeAlias = Any
    Cells: TypeAlias = Any
    Corners: TypeAlias = Any
    Point: TypeAlias = Any
    Pair: TypeAlias = Any
    Span: TypeAlias = Any
else:
    Vertices = wp.array(dtype=wp.vec3d)
    Triangles = wp.array2d(dtype=wp.int32)
    Kinds = wp.array(dtype=wp.int8)
    Crossings = wp.array2d(dtype=wp.int32)
    Cells = wp.array2d(dtype=wp.int8)
    Corners = wp.types.vector(length=5, dtype=wp.float64)
    Point = wp.vec3d
    Pair = wp.vec2d
    Span = wp.vec2i

# Fused products round the two faces of an edge apart.
wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_TIES = wp.constant(wp.float64(_TIE))
_HEIGHT_TIES = wp.constant(wp.float64(_HEIGHT_TIE))
_MARGIN = wp.constant(wp.float64(-2.0))
_HALF = wp.constant(wp.float64(0.5))
# Older Warp takes the negative of a constant for a float32.
_MINUS_HALF = wp.constant(wp.float64(-0.5))
_ZERO = wp.constant(wp.float64(0.0))
_FAR = wp.constant(wp.float64(1.0e300))
_MINUS_FAR = wp.constant(wp.float64(-1.0e300))
_FILLED_WEIGHT = wp.constant(65536)
_OCCUPIED = wp.constant(wp.int8(100))


@wp.kernel(enable_backward=False)
def _snap(
    points: Vertices,
    snapped: Vertices,
    resolution: wp.float64,
    corner_x: wp.float64,
    corner_y: wp.float64,
    low: wp.float64,
    high: wp.float64,
) -> None:
    """Bring vertices to cells from the corner, and ties to where they belong.

    Args:
        points: [m].
        snapped: x and y in cells, z in metres.
        resolution: The side of a cell [m].
        corner_x: The corner's whole number of cells from zero.
        corner_y: The same along y.
        low: The lower end of the band [m].
        high: Its upper end [m].
    """
    i = wp.tid()
    p = points[i]
    x = p[0] / resolution - corner_x
    y = p[1] / resolution - corner_y
    z = p[2]
    near_x = wp.floor(x + _HALF)
    near_y = wp.floor(y + _HALF)
    if wp.abs(x - near_x) <= _TIES:
        x = near_x
    if wp.abs(y - near_y) <= _TIES:
        y = near_y
    if wp.abs(z - low) <= _HEIGHT_TIES:
        z = low
    elif wp.abs(z - high) <= _HEIGHT_TIES:
        z = high
    snapped[i] = Point(x, y, z)


@wp.func
def _normal(a: Point, b: Point, c: Point) -> Point:
    return wp.cross(b - a, c - a)


@wp.func
def _least(a: wp.float64, b: wp.float64) -> wp.float64:
    # Warp's own minimum minds what is not a number, at three times the cost.
    if b < a:
        return b
    return a


@wp.func
def _most(a: wp.float64, b: wp.float64) -> wp.float64:
    if b > a:
        return b
    return a


@wp.func
def _floor(x: wp.float64) -> int:
    return int(wp.floor(x))


@wp.func
def _ceil(x: wp.float64) -> int:
    return int(wp.ceil(x))


@wp.func
def _row(y: wp.float64, rows: wp.float64) -> int:
    """Return the first row whose centre lies at ``y`` or above, on the grid."""
    return int(wp.ceil(_least(_most(y - _HALF, _ZERO), rows)))


@wp.func
def _beside(line: int, kind: int, side: wp.float64) -> Span:
    """Return the first and the last cell that a piece on the line before a cell occupies."""
    if kind == 0:
        return Span(line - 1, line)
    # A solid occupies its inner side, away from where its normal points.
    if side > _ZERO:
        return Span(line - 1, line - 1)
    if side < _ZERO:
        return Span(line, line)
    return Span(0, -1)


@wp.func
def _above(
    v0: Point,
    v1: Point,
    v2: Point,
    x: wp.float64,
    y0: wp.float64,
    y1: wp.float64,
    height: wp.float64,
    rows: wp.float64,
) -> Span:
    """Return the rows of a face in a column between which it lies above a height."""
    z0 = v0[2] + (x - v0[0]) / (v2[0] - v0[0]) * (v2[2] - v0[2])
    z1 = v2[2]
    if x < v1[0]:
        z1 = v0[2] + (x - v0[0]) / (v1[0] - v0[0]) * (v1[2] - v0[2])
    else:
        z1 = v1[2] + (x - v1[0]) / (v2[0] - v1[0]) * (v2[2] - v1[2])
    if z0 <= height and z1 <= height:
        return Span(0, 0)
    if z0 <= height:
        y0 = y0 + (height - z0) / (z1 - z0) * (y1 - y0)
    elif z1 <= height:
        y1 = y0 + (height - z0) / (z1 - z0) * (y1 - y0)
    return Span(_row(y0, rows), _row(y1, rows))


@wp.func
def _stretch(xs: Corners, ys: Corners, count: int, left: wp.float64) -> Pair:
    """Return the stretch of y that a convex piece covers in the column from ``left`` on."""
    right = left + wp.float64(1.0)
    from_y = _FAR
    to_y = _MINUS_FAR
    for i in range(count):
        j = i + 1
        if j == count:
            j = 0
        x0 = xs[i]
        y0 = ys[i]
        x1 = xs[j]
        y1 = ys[j]
        if x0 > x1:
            x0 = xs[j]
            y0 = ys[j]
            x1 = xs[i]
            y1 = ys[i]
        if x1 >= left and x0 <= right:
            at_left = y0
            at_right = y1
            if x0 < left:
                at_left = y0 + (left - x0) / (x1 - x0) * (y1 - y0)
            if x1 > right:
                at_right = y0 + (right - x0) / (x1 - x0) * (y1 - y0)
            from_y = _least(from_y, _least(at_left, at_right))
            to_y = _most(to_y, _most(at_left, at_right))
    return Pair(from_y, to_y)


@wp.func
def _cut(p: Point, q: Point, height: wp.float64) -> Pair:
    """Return x and y where an edge crosses a height, the same from both ends."""
    low = p
    high = q
    if p[2] > q[2]:
        low = q
        high = p
    share = (height - low[2]) / (high[2] - low[2])
    return Pair(low[0] + share * (high[0] - low[0]), low[1] + share * (high[1] - low[1]))


@wp.kernel(enable_backward=False)
def _mark(
    vertices: Vertices,
    triangles: Triangles,
    kinds: Kinds,
    low: wp.float64,
    high: wp.float64,
    rounding: wp.float64,
    cells: Cells,
    crossings: Crossings,
) -> None:
    """Mark the cells that a triangle meets within the band, and count its crossings.

    Args:
        vertices: From ``_snap``.
        triangles: Vertex numbers.
        kinds: SHEET, CLOSED or FILLED, one a triangle.
        low: The lower end of the band [m].
        high: Its upper end [m].
        rounding: In cells; a piece that reaches no farther into a cell does not meet it.
        cells: Becomes 100 where a surface is.
        crossings: Differences along y of the sums above the band, one column more than cells.
    """
    t = wp.tid()
    a = vertices[triangles[t, 0]]
    b = vertices[triangles[t, 1]]
    c = vertices[triangles[t, 2]]
    kind = int(kinds[t])
    bottom = _least(a[2], _least(b[2], c[2]))
    top = _most(a[2], _most(b[2], c[2]))
    # Most triangles of a stage stand outside the band; of solids, those above it still count.
    if top < low or (bottom > high and kind == 0):
        return
    nx = cells.shape[0]
    ny = cells.shape[1]
    v0 = a
    v1 = b
    v2 = c
    if v0[0] > v1[0]:
        v0 = b
        v1 = a
    if v1[0] > v2[0]:
        v2 = v1
        v1 = c
        if v0[0] > v1[0]:
            v1 = v0
            v0 = c
    if v2[0] < _MINUS_HALF or v0[0] > wp.float64(nx) + _HALF:
        return
    # Every slope from the two ends of its edge alone, so that both its faces have the same.
    long_slope = _ZERO
    left_slope = _ZERO
    right_slope = _ZERO
    if v2[0] > v0[0]:
        long_slope = (v2[1] - v0[1]) / (v2[0] - v0[0])
    if v1[0] > v0[0]:
        left_slope = (v1[1] - v0[1]) / (v1[0] - v0[0])
    if v2[0] > v1[0]:
        right_slope = (v2[1] - v1[1]) / (v2[0] - v1[0])
    if kind != 0:
        facing = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        middle = _HALF * (low + high)
        if top > middle and facing != _ZERO:
            weight = wp.int32(1)
            if kind == 2:
                weight = _FILLED_WEIGHT
            if facing < _ZERO:
                weight = -weight
            whole = bottom > middle
            rows = wp.float64(ny)
            ix = wp.max(_ceil(_most(v0[0], _MINUS_HALF) - _HALF), 0)
            end = wp.min(_ceil(_least(v2[0], wp.float64(nx) + _HALF) - _HALF), nx)
            while ix < end:
                x = wp.float64(ix) + _HALF
                y0 = v0[1] + (x - v0[0]) * long_slope
                y1 = v0[1] + (x - v0[0]) * left_slope
                if x >= v1[0]:
                    y1 = v1[1] + (x - v1[0]) * right_slope
                j0 = _row(y0, rows)
                j1 = _row(y1, rows)
                if j0 != j1:
                    if not whole:
                        above = _above(v0, v1, v2, x, y0, y1, middle, rows)
                        j0 = above[0]
                        j1 = above[1]
                    if j0 < j1:
                        wp.atomic_add(crossings, ix, j0, weight)
                        wp.atomic_add(crossings, ix, j1, -weight)
                    elif j1 < j0:
                        wp.atomic_add(crossings, ix, j1, weight)
                        wp.atomic_add(crossings, ix, j0, -weight)
                ix = ix + 1
        if bottom > high:
            return
        # A solid occupies its inner side: one that ends where the band begins is not in it.
        if bottom < top:
            if top == low or bottom == high:
                return
        elif low == high:
            return
        else:
            if bottom == low and facing >= _ZERO:
                return
            if bottom == high and facing <= _ZERO:
                return
    xs = Corners()
    ys = Corners()
    count = wp.int32(0)
    min_x = v0[0]
    max_x = v2[0]
    min_y = _least(a[1], _least(b[1], c[1]))
    max_y = _most(a[1], _most(b[1], c[1]))
    if bottom < low or top > high:
        p = a
        q = b
        for edge in range(3):
            if edge == 1:
                p = b
                q = c
            elif edge == 2:
                p = c
                q = a
            if p[2] >= low and p[2] <= high:
                xs[count] = p[0]
                ys[count] = p[1]
                count = count + 1
            rising = q[2] > p[2]
            for step in range(2):
                level = low
                if (step == 0) != rising:
                    level = high
                if (p[2] < level and q[2] > level) or (p[2] > level and q[2] < level):
                    at = _cut(p, q, level)
                    xs[count] = at[0]
                    ys[count] = at[1]
                    count = count + 1
        if count == 0:
            return
        min_x = xs[0]
        max_x = xs[0]
        min_y = ys[0]
        max_y = ys[0]
        for i in range(1, count):
            min_x = _least(min_x, xs[i])
            max_x = _most(max_x, xs[i])
            min_y = _least(min_y, ys[i])
            max_y = _most(max_y, ys[i])
        if max_x < _MINUS_HALF or min_x > wp.float64(nx) + _HALF:
            return
    if max_y < _MINUS_HALF or min_y > wp.float64(ny) + _HALF:
        return
    # A grid's reach keeps the whole numbers of cells small.
    low_y = _most(min_y, _MARGIN)
    high_y = _least(max_y, wp.float64(ny + 2))
    first = _floor(_most(min_x, _MARGIN) + rounding)
    last = _ceil(_least(max_x, wp.float64(nx + 2)) - rounding) - 1
    one_stretch = first == last
    if last < first:
        # The piece lies on the line between two columns.
        columns = _beside(_floor(min_x + _HALF), kind, _normal(a, b, c)[0])
        first = columns[0]
        last = columns[1]
        one_stretch = True
    column = wp.max(first, 0)
    # On the long edge, and on the other two, where the column begins.
    left = _most(wp.float64(column), min_x)
    long_y = _ZERO
    short_y = _ZERO
    if not one_stretch and count == 0:
        long_y = v0[1] + (left - v0[0]) * long_slope
        short_y = v1[1] - (v1[0] - left) * left_slope
        if left > v1[0]:
            short_y = v1[1] + (left - v1[0]) * right_slope
    last = wp.min(last, nx - 1)
    while column <= last:
        from_y = low_y
        to_y = high_y
        if not one_stretch:
            if count == 0:
                right = _least(wp.float64(column + 1), v2[0])
                from_y = _least(long_y, short_y)
                to_y = _most(long_y, short_y)
                if left <= v1[0] and v1[0] <= right:
                    from_y = _least(from_y, v1[1])
                    to_y = _most(to_y, v1[1])
                long_y = v0[1] + (right - v0[0]) * long_slope
                short_y = v1[1] - (v1[0] - right) * left_slope
                if right > v1[0]:
                    short_y = v1[1] + (right - v1[0]) * right_slope
                from_y = _least(from_y, _least(long_y, short_y))
                to_y = _most(to_y, _most(long_y, short_y))
                left = right
            else:
                stretch = _stretch(xs, ys, count, wp.float64(column))
                from_y = stretch[0]
                to_y = stretch[1]
            from_y = _most(from_y, low_y)
            to_y = _least(to_y, high_y)
        if from_y <= to_y:
            first_y = _floor(from_y + rounding)
            last_y = _ceil(to_y - rounding) - 1
            if last_y < first_y:
                # The stretch lies on the line between two cells.
                pair = _beside(_floor(from_y + _HALF), kind, _normal(a, b, c)[1])
                first_y = pair[0]
                last_y = pair[1]
            first_y = wp.max(first_y, 0)
            last_y = wp.min(last_y, ny - 1)
            if first_y <= last_y:
                # Most stretches are short; a loop of few turns costs a processor a wrong guess.
                cells[column, first_y] = _OCCUPIED
                cells[column, wp.min(first_y + 1, last_y)] = _OCCUPIED
                cells[column, wp.max(last_y - 1, first_y)] = _OCCUPIED
                cells[column, last_y] = _OCCUPIED
                iy = first_y + 2
                while iy < last_y - 1:
                    cells[column, iy] = _OCCUPIED
                    iy = iy + 1
        column = column + 1


@wp.kernel(enable_backward=False)
def _fill(cells: Cells, crossings: Crossings, inside: int) -> None:
    """Fill solids in a column.

    Args:
        cells: 100 where a surface is, 0 elsewhere; becomes -1, 0 or 100.
        crossings: From ``_mark``.
        inside: What the inside of a closed mesh becomes.
    """
    ix = wp.tid()
    column = cells[ix]
    differences = crossings[ix]
    total = wp.int32(0)
    iy = wp.int32(0)
    # On the CPU, a loop over a range of unknown length takes twice as long.
    while iy < column.shape[0]:
        total = total + differences[iy]
        filled = (total + 32768) >> 16
        value = wp.where(total == filled << 16, 0, inside)
        value = wp.where(filled == 0, value, 100)
        column[iy] = wp.where(column[iy] == _OCCUPIED, _OCCUPIED, wp.int8(value))
        iy = iy + 1


def rasterize(
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    kinds: NDArray[np.int8],
    *,
    resolution: float,
    corner: tuple[int, int],
    shape: tuple[int, int],
    band: tuple[float, float],
    inside: int = -1,
    device: str = "cpu",
) -> NDArray[np.int8]:
    """Draw triangles into a grid.

    Args:
        points: Vertices [m], shape (n, 3).
        triangles: Vertex numbers, shape (m, 3); of solids, outward.
        kinds: SHEET, CLOSED or FILLED, shape (m,).
        resolution: The side of a cell [m].
        corner: The grid's corner, in cells from zero.
        shape: Cells along x and y.
        band: The ends of the band [m]; the same twice for a slice.
        inside: What cells inside a closed mesh become.
        device: A Warp device name.

    Returns:
        Cells, shape (nx, ny): 100 where a surface is and inside of filled solids, ``inside``
        inside closed meshes, 0 elsewhere.
    """
    start()
    nx, ny = shape
    low, high = (wp.float64(end) for end in band)
    on_cpu = device == "cpu"
    solid = bool(kinds.any())
    placed = wp.array(points, dtype=wp.vec3d, device=device, copy=not on_cpu)
    snapped = wp.empty(len(points), dtype=wp.vec3d, device=device)
    cells = wp.zeros((nx, ny), dtype=wp.int8, device=device)
    crossings = wp.zeros((nx, ny + 1) if solid else (1, 1), dtype=wp.int32, device=device)
    corner_x, corner_y = (wp.float64(value) for value in corner)
    launch(
        _snap,
        len(points),
        [placed, snapped, wp.float64(resolution), corner_x, corner_y, low, high],
        device=device,
    )
    launch(
        _mark,
        len(triangles),
        [
            snapped,
            wp.array(triangles, dtype=wp.int32, device=device, copy=not on_cpu),
            wp.array(kinds, dtype=wp.int8, device=device, copy=not on_cpu),
            low,
            high,
            wp.float64(min(_ROUNDING / resolution, _TIE / 2.0)),
            cells,
            crossings,
        ],
        device=device,
    )
    if solid:
        launch(_fill, nx, [cells, crossings, inside], device=device)
    return np.asarray(cells.numpy())
