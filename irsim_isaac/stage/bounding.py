"""The smallest ball that holds points in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bounding_ball"]

_SLACK = 1e-9


def bounding_ball(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the smallest ball that holds points, by Welzl's incremental method.

    Args:
        points: Shape (n, 3), n at least 1.

    Returns:
        Its centre, shape (3,), and its radius.
    """
    cloud = np.unique(points, axis=0)
    # Visiting in a fixed random order keeps the expected work linear and the answer the same.
    cloud = cloud[np.random.default_rng(0).permutation(len(cloud))]
    return _grow(cloud, [])


def _grow(
    cloud: NDArray[np.float64], support: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], float]:
    """Return the smallest ball that holds a cloud and has the support on its surface."""
    center, radius = _through(support)
    if len(support) == 4:
        return center, radius
    begin = 0
    while begin < len(cloud):
        outside = np.linalg.norm(cloud[begin:] - center, axis=1) > radius * (1.0 + _SLACK)
        if radius >= 0.0 and not outside.any():
            break
        first = begin + (int(np.argmax(outside)) if radius >= 0.0 else 0)
        center, radius = _grow(cloud[:first], [*support, cloud[first]])
        begin = first + 1
    return center, radius


def _through(support: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
    """Return the smallest ball whose surface holds all of up to four points."""
    if not support:
        return np.zeros(3), -1.0
    first = support[0]
    if len(support) == 1:
        return first, 0.0
    edges = np.array(support[1:]) - first
    # The centre lies in the span of the edges, as far from the first point as from the others.
    weights = np.linalg.lstsq(edges @ edges.T, (edges**2).sum(axis=1) / 2.0, rcond=None)[0]
    offset = weights @ edges
    return first + offset, float(np.linalg.norm(offset))
