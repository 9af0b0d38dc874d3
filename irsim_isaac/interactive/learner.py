"""Where items belong: clusters of placements, and how dense each is."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError, MissingPackageError
from irsim_isaac.interactive.mixture import FOLDS, LEAST_SIGMA, cross_validated_count, fit
from irsim_isaac.interactive.parser import Skipped
from irsim_isaac.interactive.study_logs import wrapped
from irsim_isaac.msg import Point
from irsim_isaac.msg.interactive_world import (
    Model,
    Placement,
    PlacementSet,
    TaskModels,
    TaskTrainingData,
)

__all__ = ["Cluster", "Clusters", "LearnedModels", "LearnedSet", "learn_models"]

Clusters: TypeAlias = Literal["cv", "bic"] | int
"""How many clusters a set has: what cross-validation or the Bayesian information criterion says,
or a number."""

_MOST_BY_BIC = 10
_PARAMETERS = 7
"""What one more Gaussian has to be told by: a mean, a deviation an axis, and a weight."""

_PAIRS = 1 << 20
"""How many pairs of points are compared at a time."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Placements that belong together.

    Attributes:
        x: The mean [m].
        y: The mean [m].
        theta: The mean rotation [rad], in (-pi, pi].
        sigma_x: Standard deviation [m].
        sigma_y: Standard deviation [m].
        sigma_theta: Standard deviation [rad].
        members: The indices of the placements in their set.
        decision_value: The mean distance of two of its placements, over its share of the set;
            the least is the best. Infinite for less than two placements.
    """

    x: float
    y: float
    theta: float
    sigma_x: float
    sigma_y: float
    sigma_theta: float
    members: tuple[int, ...]
    decision_value: float


@dataclass(frozen=True, slots=True)
class LearnedSet:
    """What was learned from one set of placements.

    Attributes:
        data: The set.
        clusters: All of its clusters, the best first.
        models: Those that became models.
    """

    data: PlacementSet
    clusters: tuple[Cluster, ...]
    models: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class LearnedModels:
    """What was learned for a task.

    Attributes:
        sets: The sets that something was learned from, in order.
        skipped: Those that nothing was learned from, and why.
    """

    sets: tuple[LearnedSet, ...]
    skipped: tuple[Skipped, ...]

    @property
    def models(self) -> TaskModels:
        """The models of all sets."""
        return TaskModels([model for one in self.sets for model in one.models])


def learn_models(
    training: TaskTrainingData,
    *,
    clusters: Clusters = "cv",
    most: int = 1,
    theta_weight: float = 1.0,
    seed: int = 0,
) -> LearnedModels:
    """Learn where items belong, from the placements of a task.

    The x, y and rotations of a set are clustered by a mixture of diagonal Gaussians, and the best
    clusters become models; heights are not learned. What the decision value of a cluster is, its
    class tells. Rotations are cut open where they leave the widest gap, so that a cluster that
    faces backwards stays whole. The same data and seed give the same models.

    Args:
        training: The placements.
        clusters: How many clusters each set has. ``"cv"`` adds clusters while placements that
            were left out become strictly more likely; fewer than ten placements are one cluster.
            ``"bic"`` takes the least Bayesian information criterion of scikit-learn's mixtures,
            again with one cluster below ten placements, and with no more parameters than
            placements, without which it would make a cluster of each.
        most: How many clusters of a set become models; each needs two placements.
        theta_weight: What a rotation counts beside a distance [m/rad], in the decision value.
        seed: What the learning starts from; not negative.

    Raises:
        InteractiveError: A placement is not finite, or an option is out of its bounds.
        MissingPackageError: ``"bic"`` needs scikit-learn.
    """
    number = isinstance(clusters, int) and not isinstance(clusters, bool) and clusters >= 1
    if not number and clusters not in ("cv", "bic"):
        raise InteractiveError(
            f"clusters is {clusters!r}, 'cv', 'bic' or a number of at least 1 was expected"
        )
    if most < 1 or seed < 0:
        raise InteractiveError(f"most is {most} and the seed {seed}, at least 1 and 0 are expected")
    if not (math.isfinite(theta_weight) and theta_weight >= 0.0):
        raise InteractiveError(f"the weight of rotations is {theta_weight}, at least 0 is expected")
    sets: list[LearnedSet] = []
    skipped: list[Skipped] = []
    for data in training.data:
        n = len(data.placements)
        if n < 2:
            reason = f"it has {n} placements, at least two are needed"
            skipped.append(Skipped(_told(data), reason))
            continue
        found = _clusters(data, clusters, theta_weight, seed)
        models = tuple(
            _model(data, one) for one in found[:most] if math.isfinite(one.decision_value)
        )
        if models:
            sets.append(LearnedSet(data, found, models))
        else:
            reason = f"none of its {len(found)} clusters has two placements"
            skipped.append(Skipped(_told(data), reason))
    return LearnedModels(tuple(sets), tuple(skipped))


def _told(data: PlacementSet) -> str:
    where = f" on '{data.surface.name}' in '{data.room.name}'" if data.surface.name else ""
    return f"set '{data.item.name}' by '{data.reference_frame_id}'{where}"


def _clusters(
    data: PlacementSet, clusters: Clusters, theta_weight: float, seed: int
) -> tuple[Cluster, ...]:
    points = np.array([(one.position.x, one.position.y, one.rotation) for one in data.placements])
    if not np.isfinite(points).all():
        raise InteractiveError(f"{_told(data)} has a placement that is not finite")
    points[:, 2] = _opened(points[:, 2])
    if clusters == "bic":
        means, sigmas, labels = _by_bic(points, seed)
    else:
        k = cross_validated_count(points, seed=seed) if clusters == "cv" else int(clusters)
        every = np.ones((1, len(points)), bool)
        mixture = fit(points, every, k, np.random.default_rng(seed))
        means, sigmas = mixture.means[0], mixture.sigmas[0]
        labels = mixture.log_joint(points)[0].argmax(axis=1)
    found = []
    for index in np.unique(labels):
        members = np.flatnonzero(labels == index)
        x, y, theta = (float(value) for value in means[index])
        sigma_x, sigma_y, sigma_theta = (float(value) for value in sigmas[index])
        found.append(
            Cluster(
                x,
                y,
                wrapped(theta),
                sigma_x,
                sigma_y,
                sigma_theta,
                tuple(int(member) for member in members),
                _decision(points[members], len(points), theta_weight),
            )
        )
    # The sort is stable: the first of equals stays first.
    return tuple(sorted(found, key=lambda one: one.decision_value))


def _opened(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return angles that differ by turns, so that none of them is across the widest gap."""
    inside = np.array([wrapped(float(angle)) for angle in angles])
    ordered = np.unique(inside)
    gaps = np.diff(ordered)
    around = ordered[0] + math.tau - ordered[-1]
    # Half a turn is where rotations are cut already, so another gap must be wider.
    if not len(gaps) or gaps.max() <= around + 1e-9:
        return inside
    cut = ordered[int(gaps.argmax())]
    return np.where(inside <= cut, inside + math.tau, inside)


def _decision(points: NDArray[np.float64], total: int, theta_weight: float) -> float:
    n = len(points)
    if n < 2:
        return math.inf
    rows = max(1, _PAIRS // n)
    sums: list[float] = []
    for start in range(0, n, rows):
        away = points[start : start + rows, None] - points[None]
        away[..., 2] = theta_weight * (away[..., 2] - math.tau * np.rint(away[..., 2] / math.tau))
        sums.extend(np.sqrt(np.einsum("mnd,mnd->mn", away, away)).sum(axis=1).tolist())
    return math.fsum(sums) / (n * (n - 1)) * total / n


def _model(data: PlacementSet, cluster: Cluster) -> Model:
    placement = Placement(
        data.item,
        data.room,
        data.surface,
        data.reference_frame_id,
        Point(cluster.x, cluster.y, 0.0),
        cluster.theta,
    )
    return Model(
        placement,
        cluster.decision_value,
        cluster.sigma_x,
        cluster.sigma_y,
        0.0,
        cluster.sigma_theta,
    )


def _by_bic(points: NDArray[np.float64], seed: int) -> tuple[Any, Any, Any]:
    """Return means, standard deviations and the cluster of each point."""
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture
    except ImportError as error:
        raise MissingPackageError("scikit-learn", "store") from error
    n = len(points)
    different = len(np.unique(points, axis=0))
    most = 1 if n < FOLDS else min(_MOST_BY_BIC, different, (n + 1) // _PARAMETERS)
    best, least = None, math.inf
    for k in range(1, most + 1):
        mixture = GaussianMixture(
            k,
            covariance_type="diag",
            n_init=10,
            random_state=seed,
            reg_covar=LEAST_SIGMA,
        )
        with warnings.catch_warnings():
            # A fit that could still gain is compared as it is.
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(points)
        criterion = float(mixture.bic(points))
        if criterion < least:
            best, least = mixture, criterion
    assert best is not None
    return best.means_, np.sqrt(best.covariances_), best.predict(points)
