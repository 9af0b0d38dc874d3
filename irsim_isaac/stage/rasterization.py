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
    Marks: TypeAlias = Any
    Crossings: TypeAlias = Any
    Cells: TypeAlias = Any
    Corners: TypeAlias = Any
    Point: TypeAlias = Any
    Pair: TypeAlias = Any
else:
    Vertices = wp.array(dtype=wp.vec3d)
    Triangles = wp.array2d(dtype=wp.int32)
    Kinds = wp.array(dtype=wp.int8)
    Marks = wp.array2d(dtype=wp.uint8)
    Crossings = wp.array2d(dtype=wp.int32)
    Cells = wp.array2d(dtype=wp.int8)
    Corners = wp.types.vector(length=5, dtype=wp.float64)
    Point = wp.vec3d
    Pair = wp.vec2d

# Fused products round the two faces of an edge apart.
wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_TIES = wp.constant(wp.float64(_TIE))
_HEIGHT_TIES = wp.constant(wp.float64(_HEIGHT_TIE))
_MARGIN = wp.constant(wp.float64(-2.0))
_HALF = wp.constant(wp.float64(0.5))
# Older Warp takes the negative of a constant for a float32.
_MINUS_HALF = wp.constant(wp.float64(-0.5))
_ZERO = wp.constant(wp.float64(0.0))
_FILLED_WEIGHT = wp.constant(65536)
_MARK = wp.constant(wp.uint8(1))


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
def _floor(x: wp.float64) -> int:
    whole = int(x)
    if wp.float64(whole) > x:
        whole = whole - 1
    return whole


@wp.func
def _ceil(x: wp.float64) -> int:
    whole = int(x)
    if wp.float64(whole) < x:
        whole = whole + 1
    return whole


@wp.func
def _mark_rows(
    marks: Marks,
    rounding: wp.float64,
    ix: int,
    ny: int,
    low: wp.float64,
    high: wp.float64,
    kind: int,
    normal_y: wp.float64,
) -> None:
    """Mark the cells of a column that a stretch of y meets."""
    first = _floor(low + rounding)
    last = _ceil(high - rounding) - 1
    if last < first:
        # The stretch lies on the line between two cells.
        line = _floor(low + _HALF)
        first = line - 1
        last = line
        if kind != 0:
            if normal_y > _ZERO:
                last = line - 1
            elif normal_y < _ZERO:
                first = line
            else:
                return
    first = wp.max(first, 0)
    last = wp.min(last, ny - 1)
    for iy in range(first, last + 1):
        marks[ix, iy] = _MARK


@wp.func
def _count_crossings(
    crossings: Crossings,
    v0: Point,
    v1: Point,
    v2: Point,
    facing: wp.float64,
    bottom: wp.float64,
    height: wp.float64,
    weight: int,
    nx: int,
    ny: int,
) -> None:
    """Add a face to the sums above the cell centres that it covers, as differences along y.

    Args:
        crossings: The differences.
        v0: The vertex of least x.
        v1: The vertex between; every edge so runs from less to more x, from both its faces.
        v2: The vertex of most x.
        facing: More than zero where the face looks up.
        bottom: The least height of the face [m].
        height: Where crossings begin to count [m].
        weight: What the face counts.
        nx: Cells along x.
        ny: Cells along y.
    """
    first = wp.max(_ceil(wp.max(v0[0], _MINUS_HALF) - _HALF), 0)
    last = wp.min(_ceil(wp.min(v2[0], wp.float64(nx) + _HALF) - _HALF) - 1, nx - 1)
    if last < first or facing == _ZERO:
        return
    sign = weight
    if facing < _ZERO:
        sign = -weight
    rows = wp.float64(ny)
    # Every slope from the two ends of its edge alone, so that both its faces have the same.
    long_slope = (v2[1] - v0[1]) / (v2[0] - v0[0])
    left_slope = _ZERO
    right_slope = _ZERO
    if v1[0] > v0[0]:
        left_slope = (v1[1] - v0[1]) / (v1[0] - v0[0])
    if v2[0] > v1[0]:
        right_slope = (v2[1] - v1[1]) / (v2[0] - v1[0])
    whole = bottom > height
    for ix in range(first, last + 1):
        x = wp.float64(ix) + _HALF
        y0 = v0[1] + (x - v0[0]) * long_slope
        y1 = v0[1] + (x - v0[0]) * left_slope
        if x >= v1[0]:
            y1 = v1[1] + (x - v1[0]) * right_slope
        j0 = _ceil(wp.clamp(y0 - _HALF, _ZERO, rows))
        j1 = _ceil(wp.clamp(y1 - _HALF, _ZERO, rows))
        if j0 != j1 and not whole:
            # A face that comes up through the band counts only where it is above.
            z0 = v0[2] + (x - v0[0]) / (v2[0] - v0[0]) * (v2[2] - v0[2])
            z1 = v2[2]
            if x < v1[0]:
                z1 = v0[2] + (x - v0[0]) / (v1[0] - v0[0]) * (v1[2] - v0[2])
            else:
                z1 = v1[2] + (x - v1[0]) / (v2[0] - v1[0]) * (v2[2] - v1[2])
            if z0 <= height and z1 <= height:
                j1 = j0
            elif z0 <= height:
                y0 = y0 + (height - z0) / (z1 - z0) * (y1 - y0)
                j0 = _ceil(wp.clamp(y0 - _HALF, _ZERO, rows))
            elif z1 <= height:
                y1 = y0 + (height - z0) / (z1 - z0) * (y1 - y0)
                j1 = _ceil(wp.clamp(y1 - _HALF, _ZERO, rows))
        if j0 < j1:
            wp.atomic_add(crossings, ix, j0, sign)
            wp.atomic_add(crossings, ix, j1, -sign)
        elif j1 < j0:
            wp.atomic_add(crossings, ix, j1, sign)
            wp.atomic_add(crossings, ix, j0, -sign)


@wp.func
def _mark_triangle(
    marks: Marks,
    rounding: wp.float64,
    v0: Point,
    v1: Point,
    v2: Point,
    first: int,
    last: int,
    kind: int,
    normal_y: wp.float64,
    nx: int,
    ny: int,
) -> None:
    """Mark a whole triangle that spans several columns; vertices by rising x."""
    # A grid's reach keeps the whole numbers of cells small.
    low_y = _MARGIN
    high_y = wp.float64(ny + 2)
    long_slope = (v2[1] - v0[1]) / (v2[0] - v0[0])
    left_slope = _ZERO
    right_slope = _ZERO
    if v1[0] > v0[0]:
        left_slope = (v1[1] - v0[1]) / (v1[0] - v0[0])
    if v2[0] > v1[0]:
        right_slope = (v2[1] - v1[1]) / (v2[0] - v1[0])
    begin = wp.max(first, 0)
    left = wp.max(wp.float64(begin), v0[0])
    # On the long edge, and on the other two, where the column begins.
    long_y = v0[1] + (left - v0[0]) * long_slope
    short_y = v1[1] - (v1[0] - left) * left_slope
    if left > v1[0]:
        short_y = v1[1] + (left - v1[0]) * right_slope
    for ix in range(begin, wp.min(last, nx - 1) + 1):
        right = wp.min(wp.float64(ix + 1), v2[0])
        from_y = wp.min(long_y, short_y)
        to_y = wp.max(long_y, short_y)
        if left <= v1[0] and v1[0] <= right:
            from_y = wp.min(from_y, v1[1])
            to_y = wp.max(to_y, v1[1])
        long_y = v0[1] + (right - v0[0]) * long_slope
        short_y = v1[1] - (v1[0] - right) * left_slope
        if right > v1[0]:
            short_y = v1[1] + (right - v1[0]) * right_slope
        from_y = wp.min(from_y, wp.min(long_y, short_y))
        to_y = wp.max(to_y, wp.max(long_y, short_y))
        left = right
        from_y = wp.max(from_y, low_y)
        to_y = wp.min(to_y, high_y)
        if from_y <= to_y:
            _mark_rows(marks, rounding, ix, ny, from_y, to_y, kind, normal_y)


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
    marks: Marks,
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
        marks: Becomes 1 where a surface is.
        crossings: Differences along y of the sums above the band, one column more than marks.
    """
    t = wp.tid()
    a = vertices[triangles[t, 0]]
    b = vertices[triangles[t, 1]]
    c = vertices[triangles[t, 2]]
    kind = int(kinds[t])
    nx = marks.shape[0]
    ny = marks.shape[1]
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
    normal = Point(_ZERO, _ZERO, _ZERO)
    bottom = wp.min(a[2], wp.min(b[2], c[2]))
    top = wp.max(a[2], wp.max(b[2], c[2]))
    if kind != 0:
        middle = _HALF * (low + high)
        if top > middle:
            weight = wp.int32(1)
            if kind == 2:
                weight = _FILLED_WEIGHT
            facing = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            _count_crossings(crossings, v0, v1, v2, facing, bottom, middle, weight, nx, ny)
    if bottom > high or top < low:
        return
    if kind != 0:
        normal = _normal(a, b, c)
        # A solid occupies its inner side: one that ends where the band begins is not in it.
        if bottom < top:
            if top == low or bottom == high:
                return
        elif low == high:
            return
        else:
            if bottom == low and normal[2] >= _ZERO:
                return
            if bottom == high and normal[2] <= _ZERO:
                return
    if bottom >= low and top <= high and v0[0] < v2[0]:
        low_cell = _floor(wp.clamp(v0[0], _MARGIN, wp.float64(nx + 2)) + rounding)
        high_cell = _ceil(wp.clamp(v2[0], _MARGIN, wp.float64(nx + 2)) - rounding) - 1
        if low_cell < high_cell:
            _mark_triangle(
                marks, rounding, v0, v1, v2, low_cell, high_cell, kind, normal[1], nx, ny
            )
            return
    xs = Corners()
    ys = Corners()
    count = wp.int32(0)
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
        min_x = wp.min(min_x, xs[i])
        max_x = wp.max(max_x, xs[i])
        min_y = wp.min(min_y, ys[i])
        max_y = wp.max(max_y, ys[i])
    if max_x < _MINUS_HALF or min_x > wp.float64(nx) + _HALF:
        return
    if max_y < _MINUS_HALF or min_y > wp.float64(ny) + _HALF:
        return
    low_y = wp.max(min_y, _MARGIN)
    high_y = wp.min(max_y, wp.float64(ny + 2))
    first = _floor(wp.max(min_x, _MARGIN) + rounding)
    last = _ceil(wp.min(max_x, wp.float64(nx + 2)) - rounding) - 1
    if last < first:
        # The piece lies on the line between two columns.
        line = _floor(min_x + _HALF)
        first = line - 1
        last = line
        if kind != 0:
            if normal[0] > _ZERO:
                last = line - 1
            elif normal[0] < _ZERO:
                first = line
            else:
                return
        for ix in range(wp.max(first, 0), wp.min(last, nx - 1) + 1):
            _mark_rows(marks, rounding, ix, ny, low_y, high_y, kind, normal[1])
        return
    if first == last:
        if first >= 0 and first < nx:
            _mark_rows(marks, rounding, first, ny, low_y, high_y, kind, normal[1])
        return
    for ix in range(wp.max(first, 0), wp.min(last, nx - 1) + 1):
        left = wp.float64(ix)
        right = left + wp.float64(1.0)
        from_y = max_y
        to_y = min_y
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
                from_y = wp.min(from_y, wp.min(at_left, at_right))
                to_y = wp.max(to_y, wp.max(at_left, at_right))
        from_y = wp.max(from_y, low_y)
        to_y = wp.min(to_y, high_y)
        if from_y <= to_y:
            _mark_rows(marks, rounding, ix, ny, from_y, to_y, kind, normal[1])


@wp.kernel(enable_backward=False)
def _fill(marks: Marks, crossings: Crossings, inside: int, cells: Cells) -> None:
    """Decide every cell of a column.

    Args:
        marks: 1 where a surface is.
        crossings: From ``_mark``.
        inside: What the inside of a closed mesh becomes.
        cells: -1, 0 or 100.
    """
    ix = wp.tid()
    total = wp.int32(0)
    for iy in range(cells.shape[1]):
        total = total + crossings[ix, iy]
        value = wp.int32(0)
        if marks[ix, iy] == _MARK:
            value = 100
        elif total != 0:
            filled = (total + 32768) >> 16
            if filled != 0:
                value = 100
            elif total - (filled << 16) != 0:
                value = inside
        cells[ix, iy] = wp.int8(value)


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
    placed = wp.array(points, dtype=wp.vec3d, device=device, copy=not on_cpu)
    snapped = wp.empty(len(points), dtype=wp.vec3d, device=device)
    marks = wp.zeros((nx, ny), dtype=wp.uint8, device=device)
    crossings = wp.zeros((nx, ny + 1), dtype=wp.int32, device=device)
    cells = wp.empty((nx, ny), dtype=wp.int8, device=device)
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
            marks,
            crossings,
        ],
        device=device,
    )
    launch(_fill, nx, [marks, crossings, inside, cells], device=device)
    return np.asarray(cells.numpy())
