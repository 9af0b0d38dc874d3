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
# Roundings of crossings and clips, in cells: far below a tie, far above float64's own.
_ROUNDING = wp.constant(wp.float64(1e-7))
_HALF = wp.constant(wp.float64(0.5))
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
def _mark_rows(
    marks: Marks,
    ix: int,
    ny: int,
    low: wp.float64,
    high: wp.float64,
    kind: int,
    normal_y: wp.float64,
) -> None:
    """Mark the cells of a column that a stretch of y meets."""
    first = int(wp.floor(low + _ROUNDING))
    last = int(wp.ceil(high - _ROUNDING)) - 1
    if last < first:
        # The stretch lies on the line between two cells.
        line = int(wp.floor(low + _HALF))
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
def _crossing(p: Point, q: Point, x: wp.float64) -> Pair:
    """Return y and z where an edge crosses a line of constant x, the same from both ends."""
    low = p
    high = q
    if p[0] > q[0]:
        low = q
        high = p
    share = (x - low[0]) / (high[0] - low[0])
    return Pair(low[1] + share * (high[1] - low[1]), low[2] + share * (high[2] - low[2]))


@wp.func
def _count_crossings(
    crossings: Crossings,
    a: Point,
    b: Point,
    c: Point,
    height: wp.float64,
    weight: int,
    nx: int,
    ny: int,
) -> None:
    """Add a face to the sums above the cell centres that it covers, as differences along y."""
    facing = _normal(a, b, c)[2]
    if facing == _ZERO:
        return
    sign = weight
    if facing < _ZERO:
        sign = -weight
    low_x = wp.min(a[0], wp.min(b[0], c[0]))
    high_x = wp.max(a[0], wp.max(b[0], c[0]))
    first = wp.max(int(wp.ceil(wp.max(low_x, -_HALF) - _HALF)), 0)
    last = int(wp.ceil(wp.min(high_x, wp.float64(nx) + _HALF) - _HALF)) - 1
    last = wp.min(last, nx - 1)
    for ix in range(first, last + 1):
        x = wp.float64(ix) + _HALF
        found = wp.int32(0)
        start = Pair(_ZERO, _ZERO)
        end = Pair(_ZERO, _ZERO)
        if (a[0] <= x) != (b[0] <= x):
            start = _crossing(a, b, x)
            found = 1
        if (b[0] <= x) != (c[0] <= x):
            if found == 0:
                start = _crossing(b, c, x)
            else:
                end = _crossing(b, c, x)
            found = found + 1
        if (c[0] <= x) != (a[0] <= x):
            if found == 0:
                start = _crossing(c, a, x)
            else:
                end = _crossing(c, a, x)
            found = found + 1
        if found == 2:
            if start[0] > end[0]:
                swap = start
                start = end
                end = swap
            if start[1] > height or end[1] > height:
                y0 = start[0]
                y1 = end[0]
                # A face that comes up through the band counts only where it is above.
                if start[1] <= height:
                    share = (height - start[1]) / (end[1] - start[1])
                    y0 = start[0] + share * (end[0] - start[0])
                elif end[1] <= height:
                    share = (height - start[1]) / (end[1] - start[1])
                    y1 = start[0] + share * (end[0] - start[0])
                rows = wp.float64(ny)
                j0 = int(wp.ceil(wp.clamp(y0 - _HALF, _ZERO, rows)))
                j1 = int(wp.ceil(wp.clamp(y1 - _HALF, _ZERO, rows)))
                if j0 < j1:
                    wp.atomic_add(crossings, ix, j0, sign)
                    wp.atomic_add(crossings, ix, j1, -sign)


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
    bottom = wp.min(a[2], wp.min(b[2], c[2]))
    top = wp.max(a[2], wp.max(b[2], c[2]))
    if kind != 0:
        middle = _HALF * (low + high)
        if top > middle:
            weight = wp.int32(1)
            if kind == 2:
                weight = _FILLED_WEIGHT
            _count_crossings(crossings, a, b, c, middle, weight, nx, ny)
    if bottom > high or top < low:
        return
    if kind != 0:
        # A solid occupies its inner side: one that ends where the band begins is not in it.
        if bottom < top:
            if top == low or bottom == high:
                return
        elif low == high:
            return
        else:
            upward = _normal(a, b, c)[2]
            if bottom == low and upward >= _ZERO:
                return
            if bottom == high and upward <= _ZERO:
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
    if max_x < -_HALF or min_x > wp.float64(nx) + _HALF:
        return
    if max_y < -_HALF or min_y > wp.float64(ny) + _HALF:
        return
    low_y = wp.max(min_y, wp.float64(-2.0))
    high_y = wp.min(max_y, wp.float64(ny + 2))
    first = int(wp.floor(wp.max(min_x, wp.float64(-2.0)) + _ROUNDING))
    last = int(wp.ceil(wp.min(max_x, wp.float64(nx + 2)) - _ROUNDING)) - 1
    normal = Point(_ZERO, _ZERO, _ZERO)
    if kind != 0:
        normal = _normal(a, b, c)
    if last < first:
        # The piece lies on the line between two columns.
        line = int(wp.floor(min_x + _HALF))
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
            _mark_rows(marks, ix, ny, low_y, high_y, kind, normal[1])
        return
    if first == last:
        if first >= 0 and first < nx:
            _mark_rows(marks, first, ny, low_y, high_y, kind, normal[1])
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
            _mark_rows(marks, ix, ny, from_y, to_y, kind, normal[1])


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
            marks,
            crossings,
        ],
        device=device,
    )
    launch(_fill, nx, [marks, crossings, inside, cells], device=device)
    return np.asarray(cells.numpy())
