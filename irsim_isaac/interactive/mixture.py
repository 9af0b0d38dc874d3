"""Mixtures of diagonal Gaussians by expectation maximisation, several fits at a time.

The rules are those of Weka's EM, which the original software learns with: the start is the best
of ten runs of k-means over ranges, a standard deviation that vanishes becomes that of all points,
and a fit ends when an iteration gains less than 1e-6 or after a hundred of them. Sums are taken
without BLAS, so that results do not depend on the number of its threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOLDS", "LEAST_SIGMA", "Mixture", "cross_validated_count", "fit"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_SIGMA = 1e-6
"""At and below this a standard deviation counts as vanished."""

FOLDS = 10
"""How many parts cross-validation deals the points into; fewer points are one cluster."""

_STARTS = 10
_ITERATIONS = 100
_KMEANS_ITERATIONS = 500
_LEAST_GAIN = 1e-6
_TIE = 1e-9
"""By which part of itself a likelihood must change to be another: rounding must not break ties."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Several mixtures of as many Gaussians.

    Attributes:
        weights: Shape (B, k); 0 for what has no points.
        means: Shape (B, k, D).
        sigmas: Standard deviations, shape (B, k, D).
    """

    weights: Floats
    means: Floats
    sigmas: Floats

    def log_joint(self, points: Floats) -> Floats:
        """Return the logarithm of weight times density, shape (B, N, k).

        Args:
            points: Shape (N, D).
        """
        away = (points[None, :, None, :] - self.means[:, None]) / self.sigmas[:, None]
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - np.log(self.sigmas).sum(axis=-1)
        constant -= 0.5 * points.shape[1] * math.log(math.tau)
        joint: Floats = constant[:, None] - 0.5 * np.einsum("bnkd,bnkd->bnk", away, away)
        return joint


def fit(points: Floats, members: Flags, k: int, random: np.random.Generator) -> Mixture:
    """Fit mixtures of at most k Gaussians, each to some of the points.

    Args:
        points: Shape (N, D).
        members: Which points each mixture is of, shape (B, N); at least one each.
        k: How many Gaussians; fewer where there are fewer different points.
        random: What k-means starts from.
    """
    spread = _overall(points, members)
    clusters = _start(points, members, k, random)
    mixture = _maximised(points, clusters, spread, np.zeros((len(members), k, points.shape[1])))
    before = np.full(len(members), -np.inf)
    counts = members.sum(axis=1)
    running = np.ones(len(members), bool)
    for _ in range(_ITERATIONS):
        joint = mixture.log_joint(points)
        total = _log_sum(joint)
        likelihood = np.where(members, total, 0.0).sum(axis=1) / counts
        running &= ~(likelihood - before < _LEAST_GAIN)
        if not running.any():
            break
        before = likelihood
        shares = np.exp(joint - total[..., None]) * members[..., None]
        better = _maximised(points, shares, spread, mixture.means)
        mixture = Mixture(
            np.where(running[:, None], better.weights, mixture.weights),
            np.where(running[:, None, None], better.means, mixture.means),
            np.where(running[:, None, None], better.sigmas, mixture.sigmas),
        )
    return mixture


def cross_validated_count(points: Floats, *, seed: int) -> int:
    """Return how many Gaussians fit best what they were not fitted to.

    Beginning with one, there is one more as long as the mean log-likelihood of the points left
    out grows. A part of the points whose likelihood stays the same but for rounding counts as
    unchanged, so that one that is astronomically unlikely does not drown the others. Fewer than
    ten points are one cluster.

    Args:
        points: Shape (N, D).
        seed: What the points are dealt by.
    """
    n = len(points)
    if n < FOLDS:
        return 1
    fold = np.empty(n, np.int64)
    fold[np.random.default_rng(seed).permutation(n)] = np.arange(n) % FOLDS
    members = fold != np.arange(FOLDS)[:, None]
    best: Floats | None = None
    k = 1
    while k <= members.sum(axis=1).min():
        mixture = fit(points, members, k, np.random.default_rng((seed, k)))
        if not (mixture.weights > 0.0).sum(axis=1).max() == k:
            # There are not so many different points.
            break
        total = _log_sum(mixture.log_joint(points))
        left_out = np.where(members, 0.0, total).sum(axis=1) / (~members).sum(axis=1)
        if best is not None:
            gain = left_out - best
            gain[np.abs(gain) <= _TIE * np.abs(left_out)] = 0.0
            if not gain.mean() > 0.0:
                break
        best = left_out
        k += 1
    return max(1, k - 1)


def _log_sum(joint: Floats) -> Floats:
    """Return the logarithm of the sum over Gaussians, shape (B, N)."""
    top = joint.max(axis=-1, keepdims=True)
    total: Floats = top[..., 0] + np.log(np.exp(joint - top).sum(axis=-1))
    return total


def _overall(points: Floats, members: Flags) -> Floats:
    """Return the sample standard deviations of all points of each mixture, shape (B, D)."""
    counts = members.sum(axis=1)[:, None]
    mean = (members[..., None] * points).sum(axis=1) / counts
    away = (points - mean[:, None]) * members[..., None]
    variance = (away * away).sum(axis=1) / np.maximum(counts - 1, 1)
    deviation: Floats = np.sqrt(variance)
    return np.maximum(deviation, LEAST_SIGMA)


def _maximised(points: Floats, shares: Floats, overall: Floats, means: Floats) -> Mixture:
    """Return the mixtures that the points' shares make, shape (B, N, k).

    Gaussians without a share keep their means.
    """
    mass = shares.sum(axis=1)
    some = mass > 0.0
    divisor = np.where(some, mass, 1.0)[..., None]
    sums = np.einsum("bnk,nd->bkd", shares, points)
    centres = np.where(some[..., None], sums / divisor, means)
    away = points[None, :, None, :] - centres[:, None]
    variance = np.einsum("bnk,bnkd->bkd", shares, away * away) / divisor
    sigmas = np.sqrt(variance)
    sigmas = np.where(sigmas <= LEAST_SIGMA, overall[:, None], sigmas)
    return Mixture(mass / mass.sum(axis=1, keepdims=True), centres, sigmas)


def _start(points: Floats, members: Flags, k: int, random: np.random.Generator) -> Floats:
    """Return which cluster each point is in by the best of some runs of k-means.

    Distances are over the ranges of the points of each mixture.

    Returns:
        1.0 for the cluster of a point, else 0.0, shape (B, N, k).
    """
    b, n = members.shape
    if k == 1:
        return members[..., None].astype(float)
    low = np.where(members[..., None], points, np.inf).min(axis=1)
    high = np.where(members[..., None], points, -np.inf).max(axis=1)
    ranges = high - low
    scaled = (points - low[:, None]) / np.where(ranges > 0.0, ranges, 1.0)[:, None]
    mixture = np.repeat(np.arange(b), _STARTS)
    chosen, usable = _different(points, members, k, random)
    chosen, usable = chosen.reshape(-1, k), usable.reshape(-1, k)
    centres = np.where(usable[..., None], scaled[mixture[:, None], chosen], np.inf)
    clusters = np.full((b * _STARTS, n), -1)
    errors = np.empty(b * _STARTS)
    moving = np.arange(b * _STARTS)
    for _ in range(_KMEANS_ITERATIONS):
        places, inside = scaled[mixture[moving]], members[mixture[moving]]
        away = places[:, :, None, :] - centres[moving, None]
        squares = np.einsum("rnkd,rnkd->rnk", away, away)
        nearest = squares.argmin(axis=-1)
        errors[moving] = np.where(inside, squares.min(axis=-1), 0.0).sum(axis=-1)
        changed = (nearest != clusters[moving]).any(axis=1)
        clusters[moving] = nearest
        moving = moving[changed]
        if not len(moving):
            break
        shares = ((nearest[changed][..., None] == np.arange(k)) & inside[changed][..., None]) * 1.0
        counts = shares.sum(axis=1)[..., None]
        sums = np.einsum("rnk,rnd->rkd", shares, places[changed])
        # A cluster that lost its points is given up.
        centres[moving] = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    best = errors.reshape(b, _STARTS).argmin(axis=1)
    labels = clusters.reshape(b, _STARTS, n)[np.arange(b), best]
    found: Floats = ((labels[..., None] == np.arange(k)) & members[..., None]).astype(float)
    return found


def _different(
    points: Floats, members: Flags, k: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], Flags]:
    """Return k different points of each mixture for each run, and whether there are so many.

    Both are of shape (B, runs, k).
    """
    b, n = members.shape
    _, group = np.unique(points, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    starts = np.flatnonzero(np.diff(group.ravel()[order], prepend=-1))
    keys = np.where(members[:, None], random.random((b, _STARTS, n)), np.inf)[..., order]
    # Of equal points the one with the least key stands for all of them.
    least = np.minimum.reduceat(keys, starts, axis=-1)
    first = np.argsort(least, axis=-1, kind="stable")[..., :k]
    usable = np.isfinite(np.take_along_axis(least, first, axis=-1))
    chosen = order[starts][first]
    missing = k - chosen.shape[-1]
    if missing > 0:
        chosen = np.pad(chosen, ((0, 0), (0, 0), (0, missing)))
        usable = np.pad(usable, ((0, 0), (0, 0), (0, missing)))
    return chosen, usable
