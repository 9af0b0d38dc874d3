"""USD's implicit shapes as closed triangle meshes that hold the true shape.

Round shapes are circumscribed: every face touches the true surface from outside, and the
faces that look along the shape's own axes lie exactly at its extent. No corner is farther
than the tolerance from the true surface. So a cell that the outline of a cylinder crosses is
never missed, and what is marked beyond it lies within the tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mesh", "Shape", "segment_count", "tessellate"]

Mesh = tuple[NDArray[np.float64], NDArray[np.int32]]
"""Vertices of shape (n, 3) and outward triangles of shape (m, 3)."""

ShapeKind = Literal["cube", "sphere", "cylinder", "cone", "capsule", "plane"]

_MIN_SEGMENTS = 8
_MAX_SEGMENTS = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """An implicit shape in its own frame, lengths in stage units.

    Attributes:
        kind: Which shape.
        radius: Of sphere, capsule, cylinder and cone: at the bottom, where two differ.
        top_radius: At the top, of cylinder and capsule.
        height: Of cylinder, cone and capsule, along the axis, without a capsule's ends.
        size: The sides of a cube, the width and length of a plane.
        axis: The axis of round shapes and the normal of a plane.
        center: Where its middle lies.
    """

    kind: ShapeKind
    radius: float = 0.0
    top_radius: float = 0.0
    height: float = 0.0
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: str = "Z"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def is_round(self) -> bool:
        """Whether its surface is curved."""
        return self.kind not in ("cube", "plane")


def segment_count(radius: float, tolerance: float) -> int:
    """Return how many sides hold a circle with corners at most ``tolerance`` outside it."""
    if radius <= 0.0 or tolerance >= radius:
        return _MIN_SEGMENTS
    count = math.pi / math.acos(radius / (radius + tolerance))
    # A multiple of four puts a side, not a corner, on each of the axes.
    return min(max(4 * math.ceil(count / 4.0), _MIN_SEGMENTS), _MAX_SEGMENTS)


def tessellate(shape: Shape, segments: int) -> Mesh:
    """Give a shape's surface as triangles in its own frame.

    Args:
        shape: The shape.
        segments: Sides of a full circle, a multiple of four.

    Returns:
        The mesh; closed and outward, a plane excepted, which is a sheet.
    """
    if shape.kind == "cube":
        points, triangles = _box(shape.size)
    elif shape.kind == "plane":
        points, triangles = _rectangle(shape.size[0], shape.size[1], shape.axis)
    else:
        points, triangles = _revolve(_profile(shape, segments), segments)
        # The cyclic order of the axes keeps the winding.
        points = np.roll(points, {"X": 1, "Y": 2, "Z": 0}[shape.axis], axis=1)
    return points + np.array(shape.center), triangles


def _box(size: tuple[float, float, float]) -> Mesh:
    half = np.array(size) / 2.0
    corners = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2.0 - 1.0
    quads = np.array(
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]],
        dtype=np.int32,
    )
    return corners * half, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def _rectangle(width: float, length: float, axis: str) -> Mesh:
    # UsdGeomPlane: width along x, or z when the axis is x; length along y, or z when it is y.
    w, h = width / 2.0, length / 2.0
    flat = {
        "Z": [(-w, -h, 0), (w, -h, 0), (w, h, 0), (-w, h, 0)],
        "X": [(0, -h, -w), (0, h, -w), (0, h, w), (0, -h, w)],
        "Y": [(-w, 0, h), (w, 0, h), (w, 0, -h), (-w, 0, -h)],
    }[axis]
    return np.array(flat, dtype=np.float64), np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def _profile(shape: Shape, segments: int) -> NDArray[np.float64]:
    """Return the half outline (radius, height) from bottom to top, shape (k, 2)."""
    half = shape.height / 2.0
    if shape.kind == "cylinder":
        return np.array([[shape.radius, -half], [shape.top_radius, half]])
    if shape.kind == "cone":
        return np.array([[shape.radius, -half], [0.0, half]])
    # Sides of the half circle touch it at multiples of the step, its poles and its equator
    # among them; the corners lie between.
    arcs = segments // 2
    step = math.pi / arcs
    angles = -math.pi / 2.0 + step * (np.arange(arcs) + 0.5)
    unit = np.column_stack([np.cos(angles), np.sin(angles)]) / math.cos(step / 2.0)
    if shape.kind == "sphere":
        return unit * shape.radius
    shift = np.array([0.0, half])
    lower, upper = unit[: arcs // 2] * shape.radius, unit[arcs // 2 :] * shape.top_radius
    return np.concatenate([lower - shift, upper + shift])


def _revolve(profile: NDArray[np.float64], segments: int) -> Mesh:
    """Turn a half outline about z into a closed surface of ``segments`` sides."""
    angles = 2.0 * math.pi * (np.arange(segments) + 0.5) / segments
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) / math.cos(math.pi / segments)
    # Numbers that are one in truth must be one, so that faces lie where they should.
    circle[np.abs(np.abs(circle) - 1.0) < 1e-12] = np.sign(
        circle[np.abs(np.abs(circle) - 1.0) < 1e-12]
    )
    points: list[NDArray[np.float64]] = []
    triangles: list[NDArray[np.int32]] = []
    rings: list[NDArray[np.int32]] = []
    total = 0
    for radius, height in profile:
        count = segments if radius > 0.0 else 1
        ring = np.empty((count, 3))
        ring[:, :2] = circle * radius if radius > 0.0 else 0.0
        ring[:, 2] = height
        points.append(ring)
        rings.append(np.arange(total, total + count, dtype=np.int32))
        total += count
    for end, z in ((0, profile[0, 1]), (-1, profile[-1, 1])):
        if len(rings[end]) > 1:
            points.append(np.array([[0.0, 0.0, z]]))
            cap = np.array([total], dtype=np.int32)
            total += 1
            rings.insert(0, cap) if end == 0 else rings.append(cap)
    for below, above in pairwise(rings):
        triangles.extend(_band(below, above))
    return np.concatenate(points), np.concatenate(triangles)


def _band(below: NDArray[np.int32], above: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Join two rings, one of which may be a single point."""
    if len(below) == 1 == len(above):
        return []
    found = []
    if len(below) > 1:
        after = np.roll(below, -1)
        tip = above if len(above) > 1 else np.repeat(above, len(below))
        found.append(np.column_stack([below, after, tip]))
    if len(above) > 1:
        after = np.roll(above, -1)
        tip = np.roll(below, -1) if len(below) > 1 else np.repeat(below, len(above))
        found.append(np.column_stack([after, above, tip]))
    return found
