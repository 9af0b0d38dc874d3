"""Whether a mesh is closed, and which way its triangles look.

A mesh is closed when its triangles, as oriented pieces, have no boundary: every edge is run
as often one way as the other. Vertices in the same place are one vertex here, because many
files give each face its own. The check sums an antisymmetric hash over all edges, which is
zero for a closed mesh and, but for one chance in 2^60, for no other.
"""

# mypy: disable-error-code="valid-type,operator,no-untyped-def"
# Warp reads the annotations of kernels; to a type checker they are calls.

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp
from numpy.typing import NDArray

from irsim_isaac.kernels import launch, start

__all__ = ["classify_meshes", "orient_faces"]

wp.set_module_options({"fuse_fp": False, "enable_backward": False})


@wp.func
def _mix(value: wp.uint64):
    a = (value ^ (value >> wp.uint64(30))) * wp.uint64(0xBF58476D1CE4E5B9)
    b = (a ^ (a >> wp.uint64(27))) * wp.uint64(0x94D049BB133111EB)
    return b ^ (b >> wp.uint64(31))


@wp.kernel(enable_backward=False)
def _hash_points(bits: wp.array2d(dtype=wp.uint64), hashes: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    value = _mix(bits[i, 0] + wp.uint64(0x9E3779B97F4A7C15))
    value = _mix(value ^ bits[i, 1])
    hashes[i] = _mix(value ^ bits[i, 2])


@wp.kernel(enable_backward=False)
def _sum_edges(
    points: wp.array2d(dtype=wp.float64),
    hashes: wp.array(dtype=wp.uint64),
    triangles: wp.array2d(dtype=wp.int32),
    owners: wp.array(dtype=wp.int32),
    offsets: wp.array(dtype=wp.int32),
    boundary: wp.array(dtype=wp.uint64),
    parity: wp.array(dtype=wp.uint64),
    volumes: wp.array(dtype=wp.float64),
):
    # One thread a mesh: sums in a fixed order, so that the signs are the same on every run.
    mesh = wp.tid()
    first = offsets[mesh]
    total = wp.uint64(0)
    even = wp.uint64(0)
    volume = wp.float64(0.0)
    for t in range(owners[mesh], owners[mesh + 1]):
        a = first + triangles[t, 0]
        b = first + triangles[t, 1]
        c = first + triangles[t, 2]
        ha = hashes[a]
        hb = hashes[b]
        hc = hashes[c]
        if ha == hb:
            continue
        if hb == hc:
            continue
        if hc == ha:
            continue
        ra = _mix(ha + wp.uint64(1))
        rb = _mix(hb + wp.uint64(1))
        rc = _mix(hc + wp.uint64(1))
        ab = ha * rb - hb * ra
        bc = hb * rc - hc * rb
        ca = hc * ra - ha * rc
        total = total + ab + bc + ca
        even = even ^ _mix((ha + hb) ^ (ha * hb))
        even = even ^ _mix((hb + hc) ^ (hb * hc))
        even = even ^ _mix((hc + ha) ^ (hc * ha))
        ox = points[first, 0]
        oy = points[first, 1]
        oz = points[first, 2]
        ax = points[a, 0] - ox
        ay = points[a, 1] - oy
        az = points[a, 2] - oz
        bx = points[b, 0] - ox
        by = points[b, 1] - oy
        bz = points[b, 2] - oz
        cx = points[c, 0] - ox
        cy = points[c, 1] - oy
        cz = points[c, 2] - oz
        volume = volume + (
            ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        )
    boundary[mesh] = total
    parity[mesh] = even
    volumes[mesh] = volume


def classify_meshes(
    meshes: Sequence[tuple[NDArray[np.float64], NDArray[np.int32]]],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Tell which meshes are closed.

    Args:
        meshes: Vertices of shape (n, 3) and triangles of shape (m, 3), numbered from 0.

    Returns:
        Three arrays of shape (len(meshes),): whether the mesh is closed and its triangles all
        look the same way; whether it would be closed if they did; and its signed volume,
        positive when they look outward.
    """
    count = len(meshes)
    if not count:
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), np.zeros(0)
    points = np.concatenate([mesh[0] for mesh in meshes])
    triangles = np.concatenate([mesh[1] for mesh in meshes])
    offsets = np.zeros(count + 1, dtype=np.int32)
    owners = np.zeros(count + 1, dtype=np.int32)
    np.cumsum([len(mesh[0]) for mesh in meshes], out=offsets[1:])
    np.cumsum([len(mesh[1]) for mesh in meshes], out=owners[1:])
    # Adding zero turns -0.0 into 0.0, which is the same place.
    bits = (points + 0.0).view(np.uint64)
    start()
    device = "cpu"
    hashes = wp.empty(len(points), dtype=wp.uint64, device=device)
    boundary = np.zeros(count, dtype=np.uint64)
    parity = np.zeros(count, dtype=np.uint64)
    volumes = np.zeros(count)
    launch(_hash_points, len(points), [wp.array(bits, device=device, copy=False), hashes])
    launch(
        _sum_edges,
        count,
        [
            wp.array(points, dtype=wp.float64, device=device, copy=False),
            hashes,
            wp.array(triangles, dtype=wp.int32, device=device, copy=False),
            wp.array(owners, device=device, copy=False),
            wp.array(offsets, device=device, copy=False),
            wp.array(boundary, device=device, copy=False),
            wp.array(parity, device=device, copy=False),
            wp.array(volumes, device=device, copy=False),
        ],
    )
    solid = np.abs(volumes) > 0.0
    return (boundary == 0) & solid, parity == 0, volumes / 6.0


def orient_faces(points: NDArray[np.float64], triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Turn the triangles of a mesh so that neighbours look the same way, and outward.

    Each connected piece is turned by itself, from its first triangle on.

    Args:
        points: Vertices, shape (n, 3).
        triangles: Vertex numbers, shape (m, 3).

    Returns:
        The triangles, some of them turned.
    """
    _, places = np.unique(points + 0.0, axis=0, return_inverse=True)
    corners = places.reshape(-1)[triangles]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    faces = np.tile(np.arange(len(triangles)), 3)
    rising = edges[:, 0] < edges[:, 1]
    order = np.lexsort((edges.max(axis=1), edges.min(axis=1)))
    ends = np.sort(edges, axis=1)[order]
    # Edges in pairs: each with the one that follows it, if that joins the same two places.
    paired = np.flatnonzero((ends[:-1] == ends[1:]).all(axis=1))
    paired = paired[_alternate(paired)]
    first, second = order[paired], order[paired + 1]
    partners = np.full(len(edges), -1)
    partners[first], partners[second] = faces[second], faces[first]
    turns = np.ones(len(edges), dtype=np.int8)
    turns[first] = turns[second] = np.where(rising[first] == rising[second], -1, 1)
    partners, turns = partners.reshape(3, -1).T, turns.reshape(3, -1).T
    sides = np.zeros(len(triangles), dtype=np.int8)
    a, b, c = (points[triangles[:, corner]] - points[triangles[0, 0]] for corner in range(3))
    volumes = (np.cross(a, b) * c).sum(axis=1)
    for seed in range(len(triangles)):
        if sides[seed]:
            continue
        sides[seed] = 1
        frontier = np.array([seed])
        piece = [frontier]
        while len(frontier):
            near = partners[frontier]
            side = sides[frontier][:, None] * turns[frontier]
            fresh = (near >= 0) & (sides[near] == 0)
            sides[near[fresh]] = side[fresh]
            frontier = np.unique(near[fresh])
            piece.append(frontier)
        members = np.concatenate(piece)
        if (volumes[members] * sides[members]).sum() < 0.0:
            sides[members] = -sides[members]
    return np.where(sides[:, None] < 0, triangles[:, ::-1], triangles)


def _alternate(positions: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Of runs of neighbouring positions, keep every other one, the first among them."""
    starts = np.concatenate([[True], np.diff(positions) != 1])[: len(positions)]
    begins = np.maximum.accumulate(np.where(starts, np.arange(len(positions)), 0))
    return np.asarray((np.arange(len(positions)) - begins) % 2 == 0)
