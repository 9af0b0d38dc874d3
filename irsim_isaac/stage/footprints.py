"""What a mesh looks like from above: the exact outline of what it has between two heights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.polygon import orient

from irsim_isaac.stage.geometry import Part
from irsim_isaac.stage.rasterization import CLOSED, FILLED, SHEET, rasterize

__all__ = ["cells_area", "mesh_footprint", "raster_footprint", "simple_polygons", "simplified"]

_GRID = 1e-7
"""Footprints are snapped to this [m], which closes the hairline gaps of rounding."""

_THIN = 1e-9
"""What covers less than this [m^2] from above is a line."""

_SMALL = 512
"""Solids of more triangles than this are not tried for convexity."""

_RASTER_SIDE = 4096
"""Cells along the longer side of a raster."""

_KINDS = {"sheet": SHEET, "closed": CLOSED, "filled": FILLED}

Triangles = NDArray[np.float64]


def mesh_footprint(
    part: Part, low: float, high: float
) -> tuple[shapely.Geometry, shapely.Geometry]:
    """Return what a part covers, seen from above, between two heights.

    Of a solid that is the union of its cross sections: the section at the lower height together
    with the surface above it, because whoever is inside at some height and goes down either
    meets the surface or is still inside at the lower height. A sheet covers its surface alone.

    Args:
        part: The part.
        low: The lower height [m].
        high: The upper height [m]; the same as the lower one for a single cross section.

    Returns:
        The area, a Polygon or MultiPolygon, and the lines that stand upright outside it, a
        MultiLineString; either may be empty.
    """
    corners = part.points[part.triangles]
    heights = corners[:, :, 2]
    corners = corners[(heights.max(axis=1) >= low) & (heights.min(axis=1) <= high)]
    if not len(corners):
        return shapely.Polygon(), shapely.MultiLineString()
    if part.solid != "sheet" and _is_convex(part):
        return _convex_slab(corners, low, high), shapely.MultiLineString()
    section = _section(corners, low)
    areas: list[shapely.Geometry] = []
    lines: list[shapely.Geometry] = []
    if part.solid == "sheet":
        if high <= low:
            lines += list(shapely.linestrings(section))
    else:
        areas.append(_filled(section))
    if high > low:
        inside = _clipped(_clipped(corners, low, keep_above=True), high, keep_above=False)
        flat = inside[:, :, :2]
        size = 0.5 * np.abs(_cross(flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]))
        wide = size > _THIN
        if wide.any():
            ring = flat[wide][:, [0, 1, 2, 0]]
            areas.append(shapely.union_all(shapely.polygons(ring), grid_size=_GRID))
        if part.solid == "sheet" and not wide.all():
            lines += _spans(flat[~wide])
    area = shapely.union_all(areas, grid_size=_GRID) if areas else shapely.Polygon()
    upright = shapely.union_all(lines, grid_size=_GRID) if lines else shapely.MultiLineString()
    if not upright.is_empty:
        upright = shapely.line_merge(shapely.difference(upright, area))
        # Snapped vertices along a straight line are not quite on it.
        upright = shapely.simplify(upright, 2.0 * _GRID)
    return _polygonal(area), upright


def _is_convex(part: Part) -> bool:
    """Tell whether a small solid is convex: no vertex of it lies outside any of its faces."""
    if len(part.triangles) > _SMALL:
        return False
    corners = part.points[part.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(normals, axis=1)
    faces = sizes > 0.0
    normals = normals[faces] / sizes[faces, None]
    beyond = part.points @ normals.T - np.einsum("ij,ij->i", normals, corners[faces, 0])
    return bool(beyond.max(initial=0.0) <= _GRID)


def _convex_slab(corners: Triangles, low: float, high: float) -> shapely.Geometry:
    """Return what a convex solid covers between two heights: the hull of its slab's corners."""
    inside = _clipped(_clipped(corners, low, keep_above=True), high, keep_above=False)
    if high <= low:
        inside = _section(corners, low)
    points = inside.reshape(-1, inside.shape[-1])[:, :2]
    if len(points) < 3:
        return shapely.Polygon()
    hull = shapely.MultiPoint(points).convex_hull
    return _polygonal(shapely.set_precision(hull, _GRID))


def raster_footprint(
    parts: Sequence[Part], low: float, high: float, tolerance: float
) -> tuple[shapely.Geometry, float]:
    """Return what parts cover between two heights, drawn on a fine raster and smoothed.

    For meshes of so many triangles that their union would take long.

    Args:
        parts: The parts; of sheets the cells that they meet are covered.
        low: The lower height [m].
        high: The upper height [m]; the same as the lower one for a single cross section.
        tolerance: How far the outline may lie from the exact one [m].

    Returns:
        The area, and how far its outline may lie from the exact one [m]: more than asked for
        where the raster would have had more than 4096 cells a side.
    """
    points = np.concatenate([part.points for part in parts])
    offsets = np.cumsum([0, *(len(part.points) for part in parts)])[:-1]
    triangles = np.concatenate(
        [part.triangles + first for part, first in zip(parts, offsets, strict=True)]
    ).astype(np.int32)
    kinds = np.concatenate(
        [np.full(len(part.triangles), _KINDS[part.solid], dtype=np.int8) for part in parts]
    )
    least, greatest = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    # A cell is a third of the error: its diagonal and the smoothing of its steps are the rest.
    cell = max(tolerance / 3.0, float((greatest - least).max()) / _RASTER_SIDE)
    first = np.floor(least / cell).astype(np.int64) - 1
    last = np.ceil(greatest / cell).astype(np.int64) + 1
    cells = rasterize(
        np.ascontiguousarray(points),
        triangles,
        kinds,
        resolution=cell,
        corner=(int(first[0]), int(first[1])),
        shape=(int(last[0] - first[0]), int(last[1] - first[1])),
        band=(low, high),
        inside=100,
    )
    area = cells_area(cells > 50)
    area = shapely.transform(area, lambda corners: (corners + first) * cell)
    return simplified(area, 1.5 * cell), 3.0 * cell


def cells_area(occupied: NDArray[np.bool_]) -> shapely.Geometry:
    """Return the area of the occupied cells of a grid, merged, in cells from its corner.

    Args:
        occupied: Shape (nx, ny).
    """
    if not occupied.any():
        return shapely.Polygon()
    edges = np.diff(np.pad(occupied, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    # Equal stretches of neighbouring rows are one box; in whole cells boxes share their edges
    # exactly, so the union has no slivers.
    order = np.lexsort((rows, ends, starts))
    rows, starts, ends = rows[order], starts[order], ends[order]
    joined = (np.diff(rows) == 1) & (np.diff(starts) == 0) & (np.diff(ends) == 0)
    head = np.flatnonzero(np.concatenate([[True], ~joined]))
    tail = np.append(head[1:], len(rows)) - 1
    boxes = shapely.box(rows[head], starts[head], rows[tail] + 1, ends[head])
    return shapely.simplify(shapely.union_all(boxes), 0.0)


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


def _odd_one_first(corners: Triangles, above: NDArray[np.bool_]) -> Triangles:
    """Turn triangles that cross a height so that the corner alone on its side comes first."""
    alone_above = above.sum(axis=1) == 1
    first = np.where(alone_above, above.argmax(axis=1), (~above).argmax(axis=1))
    order = (first[:, None] + np.arange(3)) % 3
    return np.take_along_axis(corners, order[:, :, None], axis=1)


def _at_height(a: Triangles, b: Triangles, height: float) -> Triangles:
    """Return where edges cross a height, bit for bit the same from either end."""
    swap = (a[:, 2] > b[:, 2])[:, None]
    lower, upper = np.where(swap, b, a), np.where(swap, a, b)
    t = (height - lower[:, 2:]) / (upper[:, 2:] - lower[:, 2:])
    crossing: Triangles = lower + t * (upper - lower)
    crossing[:, 2] = height
    return crossing


def _section(corners: Triangles, height: float) -> NDArray[np.float64]:
    """Return the cut of triangles with a plane, as segments with the solid on their left.

    A corner on the plane counts as above it, so that contours close.

    Returns:
        Segments, shape (n, 2, 2).
    """
    above = corners[:, :, 2] >= height
    crossing = above.any(axis=1) & ~above.all(axis=1)
    if not crossing.any():
        return np.zeros((0, 2, 2))
    turned = _odd_one_first(corners[crossing], above[crossing])
    p = _at_height(turned[:, 0], turned[:, 1], height)[:, :2]
    q = _at_height(turned[:, 0], turned[:, 2], height)[:, :2]
    first_above = (turned[:, 0, 2] >= height)[:, None]
    segments = np.stack([np.where(first_above, p, q), np.where(first_above, q, p)], axis=1)
    kept: NDArray[np.float64] = segments[np.any(segments[:, 0] != segments[:, 1], axis=1)]
    return kept


def _clipped(corners: Triangles, height: float, *, keep_above: bool) -> Triangles:
    """Cut triangles at a height and keep one side, as triangles."""
    above = corners[:, :, 2] >= height
    kept = above if keep_above else corners[:, :, 2] <= height
    whole = corners[kept.all(axis=1)]
    mixed = kept.any(axis=1) & ~kept.all(axis=1)
    if not mixed.any():
        return whole
    turned = _odd_one_first(corners[mixed], kept[mixed])
    p = _at_height(turned[:, 0], turned[:, 1], height)
    q = _at_height(turned[:, 0], turned[:, 2], height)
    tip = kept[mixed].sum(axis=1) == 1
    a, b, c = turned[:, 0], turned[:, 1], turned[:, 2]
    tips = np.stack([a, p, q], axis=1)[tip]
    stumps = np.concatenate([np.stack([p, b, c], axis=1)[~tip], np.stack([p, c, q], axis=1)[~tip]])
    return np.concatenate([whole, tips, stumps])


def _filled(segments: NDArray[np.float64]) -> shapely.Geometry:
    """Return the area that oriented contours enclose.

    A place is inside where an odd number of contours goes round it, as in a plain solid, or
    where they go round it in one sense, as where two solids of one mesh overlap; a cavity,
    whose contour runs against the outer one, is outside.
    """
    if not len(segments):
        return shapely.Polygon()
    noded = shapely.union_all(shapely.linestrings(segments), grid_size=_GRID)
    faces = shapely.get_parts(shapely.polygonize([noded]))
    if not len(faces):
        return shapely.Polygon()
    inside = shapely.get_coordinates(shapely.point_on_surface(faces))
    start, end = segments[:, 0], segments[:, 1]
    keep = np.empty(len(faces), dtype=bool)
    for number, (x, y) in enumerate(inside):
        upward = (start[:, 1] <= y) & (end[:, 1] > y)
        downward = (end[:, 1] <= y) & (start[:, 1] > y)
        cut = upward | downward
        s, e = start[cut], end[cut]
        right = s[:, 0] + (y - s[:, 1]) / (e[:, 1] - s[:, 1]) * (e[:, 0] - s[:, 0]) > x
        turns = int(np.sum(upward[cut][right])) - int(np.sum(downward[cut][right]))
        keep[number] = turns != 0 or bool(np.sum(right) % 2)
    return shapely.union_all(faces[keep], grid_size=_GRID)


def _spans(flat: NDArray[np.float64]) -> list[shapely.Geometry]:
    """Return what upright triangles cover, seen from above: their longest edges."""
    edges = np.stack([flat, np.roll(flat, -1, axis=1)], axis=2)
    lengths = np.linalg.norm(edges[:, :, 1] - edges[:, :, 0], axis=2)
    longest = lengths.argmax(axis=1)
    spans = np.take_along_axis(edges, longest[:, None, None, None], axis=1)[:, 0]
    return list(shapely.linestrings(spans[lengths.max(axis=1) > _GRID]))


def _polygonal(geometry: shapely.Geometry) -> shapely.Geometry:
    """Return the polygons of a geometry without its points, lines and slivers."""
    polygons = [
        piece
        for piece in shapely.get_parts(geometry)
        if piece.geom_type == "Polygon" and piece.area > _THIN
    ]
    if not polygons:
        return shapely.Polygon()
    return polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)


def simplified(area: shapely.Geometry, tolerance: float) -> shapely.Geometry:
    """Return an area with few vertices, whose outline is nowhere farther off than the tolerance.

    Args:
        area: A Polygon or MultiPolygon.
        tolerance: The greatest distance between the outlines [m].
    """
    edge = shapely.boundary(area)
    for share in (1.0, 0.5, 0.25, 0.125):
        # Where GEOS drops the first vertex of a ring it may go further than it was told.
        simple = _polygonal(shapely.make_valid(shapely.simplify(area, share * tolerance)))
        if shapely.hausdorff_distance(edge, shapely.boundary(simple)) <= tolerance:
            return simple
    return _polygonal(area)


def simple_polygons(area: shapely.Geometry) -> list[shapely.Polygon]:
    """Split an area into polygons without holes that only touch each other.

    A polygon with a hole is cut upright through the hole, as often as there are holes.

    Args:
        area: A Polygon or MultiPolygon.
    """
    result: list[shapely.Polygon] = []
    waiting = [piece for piece in shapely.get_parts(area) if not piece.is_empty]
    while waiting:
        polygon = waiting.pop()
        if not polygon.interiors:
            result.append(orient(polygon))
            continue
        x_min, y_min, x_max, y_max = polygon.bounds
        cut = float(shapely.Polygon(polygon.interiors[0]).representative_point().x)
        for half in (
            shapely.box(x_min - 1.0, y_min - 1.0, cut, y_max + 1.0),
            shapely.box(cut, y_min - 1.0, x_max + 1.0, y_max + 1.0),
        ):
            waiting += list(shapely.get_parts(_polygonal(shapely.intersection(polygon, half))))
    return sorted(result, key=lambda polygon: polygon.bounds)
