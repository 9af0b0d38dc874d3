"""Footprints of meshes between two heights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pxr")

from irsim_isaac.stage.footprints import (
    cells_area,
    mesh_footprint,
    raster_footprint,
    simple_polygons,
    simplified,
)
from irsim_isaac.stage.geometry import Part

BOX = np.array(
    [
        *((0, 2, 1), (0, 3, 2), (4, 5, 6), (4, 6, 7), (0, 1, 5), (0, 5, 4)),
        *((1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6), (3, 0, 4), (3, 4, 7)),
    ],
    dtype=np.int32,
)


def _box(low, high, *, inward=False):
    (x0, y0, z0), (x1, y1, z1) = low, high
    points = [(x, y, z) for z in (z0, z1) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
    return np.array(points, dtype=np.float64), BOX[:, ::-1] if inward else BOX


def _part(*pieces, solid="closed"):
    points = np.concatenate([points for points, _ in pieces])
    first = np.cumsum([0, *(len(points) for points, _ in pieces)])[:-1]
    triangles = np.concatenate([faces + n for (_, faces), n in zip(pieces, first, strict=True)])
    return Part("/p", points, np.ascontiguousarray(triangles, dtype=np.int32), solid)


def _rotated(part, seed):
    """Turn a part about a random axis, so that no face is upright or level."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.linalg.det(q))
    return Part(part.path, part.points @ q.T, part.triangles, part.solid)


def test_a_wall_without_a_vertex_in_the_band_is_its_cross_section():
    area, lines = mesh_footprint(_part(_box((1, 2, 0), (5, 2.2, 3))), 0.4, 0.5)
    assert area.equals(shapely.box(1, 2, 5, 2.2))
    assert lines.is_empty


def test_an_upright_sheet_is_a_line_and_nothing_more():
    points = np.array([(0, 0, 0), (3, 1, 0), (3, 1, 2), (0, 0, 2)], dtype=np.float64)
    part = Part("/p", points, np.array([(0, 1, 2), (0, 2, 3)], np.int32), "sheet")
    for band in ((0.4, 0.5), (0.45, 0.45)):
        area, lines = mesh_footprint(part, *band)
        assert area.is_empty
        assert shapely.line_merge(lines).equals(shapely.LineString([(0, 0), (3, 1)]))


def test_a_table_is_its_legs_below_its_top_and_its_top_within():
    legs = [_box((x, y, 0), (x + 0.05, y + 0.05, 0.7)) for x in (0, 1.15) for y in (0, 0.75)]
    part = _part(_box((0, 0, 0.7), (1.2, 0.8, 0.75)), *legs)
    below, _ = mesh_footprint(part, 0.1, 0.5)
    within, _ = mesh_footprint(part, 0.1, 0.8)
    assert len(shapely.get_parts(below)) == 4
    assert below.area == pytest.approx(4 * 0.05**2)
    assert within.equals(shapely.box(0, 0, 1.2, 0.8))


def test_solids_of_one_mesh_that_overlap_do_not_cancel():
    part = _part(_box((0, 0, 0), (2, 1, 1)), _box((1, 0.5, 0), (3, 2, 1)))
    area, _ = mesh_footprint(part, 0.5, 0.5)
    assert (
        area.symmetric_difference(shapely.box(0, 0, 2, 1) | shapely.box(1, 0.5, 3, 2)).area < 1e-9
    )


def test_a_cavity_stays_open():
    part = _part(_box((0, 0, 0), (4, 4, 4)), _box((1, 1, 1), (3, 3, 3), inward=True))
    area, _ = mesh_footprint(part, 2.0, 2.0)
    assert area.symmetric_difference(shapely.box(0, 0, 4, 4) - shapely.box(1, 1, 3, 3)).area < 1e-9
    # With its floor in the band it is covered from above.
    covered, _ = mesh_footprint(part, 0.5, 2.0)
    assert covered.symmetric_difference(shapely.box(0, 0, 4, 4)).area < 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(-1.2, 1.0), st.floats(0.0, 0.8))
def test_the_footprint_of_a_tilted_box_is_that_of_its_convex_slab(seed, low, depth):
    """The slab of a convex solid is convex; its shadow is the hull of its corners' shadows."""
    part = _rotated(_part(_box((-0.7, -0.5, -0.6), (0.7, 0.5, 0.6))), seed)
    high = low + depth
    area, _ = mesh_footprint(part, low, high)
    corners = [p for p in part.points if low <= p[2] <= high]
    for triangle in part.triangles:
        for a, b in zip(triangle, np.roll(triangle, 1), strict=True):
            p, q = part.points[a], part.points[b]
            for height in (low, high):
                if (p[2] - height) * (q[2] - height) < 0:
                    t = (height - p[2]) / (q[2] - p[2])
                    corners.append(p + t * (q - p))
    if len(corners) < 3:
        assert area.area < 1e-6
        return
    hull = shapely.MultiPoint(np.array(corners)[:, :2]).convex_hull
    assert area.symmetric_difference(hull).area < 1e-5


@settings(max_examples=6)
@given(st.integers(0, 10_000))
def test_outlines_on_a_raster_are_within_their_error_of_the_exact_ones(seed):
    part = _rotated(_part(_box((-0.7, -0.5, -0.6), (0.7, 0.5, 0.6))), seed)
    exact, _ = mesh_footprint(part, -0.2, 0.3)
    drawn, error = raster_footprint([part], -0.2, 0.3, 0.02)
    assert error == pytest.approx(0.02)
    assert shapely.hausdorff_distance(exact.exterior, drawn.exterior) <= error


@settings(max_examples=8)
@given(st.integers(0, 10_000))
def test_overlapping_solids_have_the_outline_that_a_raster_has(seed):
    """Three boxes that pierce each other, in one mesh and at any angle."""
    rng = np.random.default_rng(seed)
    pieces = []
    for number in range(3):
        size = rng.uniform(0.3, 1.0, 3)
        box = _rotated(_part(_box(-size, size)), seed + number)
        pieces.append((box.points + rng.uniform(-0.6, 0.6, 3), box.triangles))
    part = _part(*pieces)
    band = (-0.3, rng.uniform(-0.3, 0.5))
    exact, _ = mesh_footprint(part, *band)
    drawn, error = raster_footprint([part], *band, 0.02)
    assert exact.is_valid
    assert exact.difference(drawn.buffer(error)).area < 1e-9
    assert drawn.difference(exact.buffer(error)).area < 1e-9


def test_the_error_of_a_raster_grows_with_what_it_covers():
    part = _part(_box((0, 0, 0), (100, 100, 1)))
    _, error = raster_footprint([part], 0.2, 0.8, 0.005)
    assert error == pytest.approx(3 * 100 / 4096)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.001, 0.2))
def test_simplified_outlines_stay_within_the_tolerance(seed, tolerance):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * math.pi, 60))
    radii = rng.uniform(1.0, 1.3, 60)
    star = shapely.Polygon(np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]))
    if not star.is_valid:
        return
    simple = simplified(star, tolerance)
    assert len(simple.exterior.coords) <= len(star.exterior.coords)
    assert shapely.hausdorff_distance(star.exterior, simple.exterior) <= tolerance + 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_areas_with_holes_are_split_without_loss(seed):
    rng = np.random.default_rng(seed)
    cells = rng.random((12, 10)) < 0.6
    area = cells_area(cells)
    pieces = simple_polygons(area)
    assert all(piece.is_valid and not piece.interiors for piece in pieces)
    assert sum(piece.area for piece in pieces) == pytest.approx(cells.sum())
    assert shapely.union_all(pieces).symmetric_difference(area).area < 1e-9
    assert all(shapely.is_ccw(piece.exterior) for piece in pieces)
