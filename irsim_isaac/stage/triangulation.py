"""Polygons of a mesh to triangles, concave ones too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["triangulate"]


def triangulate(
    points: NDArray[np.floating],
    counts: NDArray[np.integer],
    indices: NDArray[np.integer],
    holes: NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """Split the faces of a mesh into triangles of the same winding.

    Convex faces become fans; concave ones are clipped ear by ear, so that no triangle covers
    what its face does not. Faces of fewer than three vertices have no area and give none.

    Args:
        points: Vertices, shape (n, 3).
        counts: Vertices of each face, shape (f,).
        indices: Vertex numbers, face after face, shape (sum of counts,).
        holes: Numbers of faces that are holes.

    Returns:
        Vertex numbers, shape (m, 3).
    """
    is_hole = np.zeros(len(counts), dtype=bool)
    if holes is not None and len(holes):
        is_hole[holes] = True
    if not is_hole.any() and len(counts) and counts.min() == 3 == counts.max():
        return np.ascontiguousarray(indices, dtype=np.int32).reshape(-1, 3)
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)[:-1]])
    found = []
    for degree in np.unique(counts[~is_hole]):
        if degree < 3:
            continue
        faces = starts[(counts == degree) & ~is_hole]
        corners = np.asarray(indices)[faces[:, None] + np.arange(degree)].astype(np.int32)
        found.append(_split(np.asarray(points, dtype=np.float64), corners))
    return np.concatenate(found) if found else np.empty((0, 3), dtype=np.int32)


def _split(points: NDArray[np.float64], corners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Split faces of one degree: corners of shape (f, degree)."""
    degree = corners.shape[1]
    if degree == 3:
        return corners
    at = points[corners]
    edges = at[:, 1:] - at[:, :1]
    # (f, degree - 2, 3): twice the area vectors of a fan from the first corner; their sum is
    # the face's own.
    fan_areas = np.cross(edges[:, :-1], edges[:, 1:])
    area = fan_areas.sum(axis=1)
    ok = ((fan_areas * area[:, None]).sum(axis=2) >= 0.0).all(axis=1)
    found = [_fan(corners[ok])]
    rest = corners[~ok]
    if degree == 4 and len(rest):
        found.append(_fan(np.roll(rest, -1, axis=1)))
    else:
        found.extend(
            _clip_ears(points, face, normal) for face, normal in zip(rest, area[~ok], strict=True)
        )
    return np.concatenate(found)


def _fan(corners: NDArray[np.int32]) -> NDArray[np.int32]:
    count, degree = corners.shape
    triangles = np.empty((count, degree - 2, 3), dtype=np.int32)
    triangles[:, :, 0] = corners[:, :1]
    triangles[:, :, 1] = corners[:, 1:-1]
    triangles[:, :, 2] = corners[:, 2:]
    return triangles.reshape(-1, 3)


def _clip_ears(
    points: NDArray[np.float64], face: NDArray[np.int32], normal: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Clip the ears of one concave face, seen along its strongest axis."""
    axis = int(np.argmax(np.abs(normal)))
    u, v = ((1, 2), (2, 0), (0, 1))[axis]
    sign = 1.0 if normal[axis] >= 0.0 else -1.0
    flat = points[face][:, [u, v]]
    if sign < 0.0:
        flat = flat * np.array([1.0, -1.0])
    left = list(range(len(face)))
    found = []
    while len(left) > 3:
        ear = _find_ear(flat, left)
        before, after = left[ear - 1], left[(ear + 1) % len(left)]
        found.append((before, left[ear], after))
        del left[ear]
    found.append((left[0], left[1], left[2]))
    return np.asarray(face[np.array(found)])


def _find_ear(flat: NDArray[np.float64], left: list[int]) -> int:
    """Return the position in ``left`` of a corner whose triangle holds no other corner."""
    ring = flat[left]
    before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
    turns = _turn(before, ring, after)
    for position in np.argsort(turns <= 0.0, kind="stable"):
        a, b, c = before[position], ring[position], after[position]
        if turns[position] < 0.0:
            continue
        inside = (
            (_turn(a, b, ring) >= 0.0) & (_turn(b, c, ring) >= 0.0) & (_turn(c, a, ring) >= 0.0)
        )
        own = (ring == a).all(axis=1) | (ring == b).all(axis=1) | (ring == c).all(axis=1)
        if not (inside & ~own).any():
            return int(position)
    # A face that crosses itself has no ear; any corner brings the clipping to its end.
    return int(np.argmax(turns))


def _turn(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return twice the signed area of triangles a, b, c."""
    return np.asarray(
        (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1])
        - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    )
