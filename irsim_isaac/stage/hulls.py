"""The convex hull of points in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["convex_hull"]


def convex_hull(
    points: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
    """Return the convex hull of points as a closed triangle mesh.

    Points are added farthest first; those within 1e-9 of the cloud's size of a face count as
    on it.

    Args:
        points: Shape (n, 3).

    Returns:
        The corners, shape (k, 3), and the outward triangles, shape (m, 3); None when all
        points lie in a plane.
    """
    cloud = np.unique(points + 0.0, axis=0)
    first = _first_tetrahedron(cloud)
    if first is None:
        return None
    epsilon = 1e-9 * float(np.linalg.norm(np.ptp(cloud, axis=0)))
    faces = np.array(
        [[first[i] for i in face] for face in ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0))]
    )
    while True:
        normals, offsets = _planes(cloud, faces)
        heights = cloud @ normals.T - offsets
        above = heights.max(axis=1)
        above[np.unique(faces)] = 0.0
        farthest = int(np.argmax(above))
        if above[farthest] <= epsilon:
            break
        visible = heights[farthest] > epsilon
        edges = np.concatenate(
            [faces[visible][:, [0, 1]], faces[visible][:, [1, 2]], faces[visible][:, [2, 0]]]
        )
        key = edges[:, 0] * len(cloud) + edges[:, 1]
        back = edges[:, 1] * len(cloud) + edges[:, 0]
        rim = edges[~np.isin(key, back)]
        fresh = np.column_stack([rim, np.full(len(rim), farthest)])
        faces = np.concatenate([faces[~visible], fresh])
    used, numbers = np.unique(faces, return_inverse=True)
    return cloud[used], numbers.reshape(faces.shape).astype(np.int32)


def _planes(
    cloud: NDArray[np.float64], faces: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b, c = cloud[faces[:, 0]], cloud[faces[:, 1]], cloud[faces[:, 2]]
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    return normals, (normals * a).sum(axis=1)


def _first_tetrahedron(cloud: NDArray[np.float64]) -> list[int] | None:
    """Return four corners that span a volume, the last below the others' triangle."""
    if len(cloud) < 4:
        return None
    size = float(np.linalg.norm(np.ptp(cloud, axis=0)))
    a = 0
    b = int(np.argmax(np.linalg.norm(cloud - cloud[a], axis=1)))
    across = np.cross(cloud - cloud[a], cloud[b] - cloud[a])
    c = int(np.argmax(np.linalg.norm(across, axis=1)))
    normal = np.cross(cloud[b] - cloud[a], cloud[c] - cloud[a])
    length = float(np.linalg.norm(normal))
    if length <= 1e-9 * size * size:
        return None
    heights = (cloud - cloud[a]) @ (normal / length)
    d = int(np.argmax(np.abs(heights)))
    if abs(heights[d]) <= 1e-9 * size:
        return None
    return [a, b, c, d] if heights[d] < 0.0 else [a, c, b, d]
