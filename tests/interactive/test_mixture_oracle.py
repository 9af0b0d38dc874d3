"""Mixtures, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

from irsim_isaac.interactive.mixture import fit

mixture = pytest.importorskip("sklearn.mixture")


def blobs(seed: int) -> tuple[np.ndarray, int]:
    random = np.random.default_rng(seed)
    k = int(random.integers(1, 4))
    parts = [
        random.normal(random.uniform(-3, 3, 3), random.uniform(0.05, 0.6, 3),
                      (int(random.integers(15, 60)), 3))
        for _ in range(k)
    ]  # fmt: skip
    return np.concatenate(parts), k


@pytest.mark.filterwarnings("ignore:Best performing initialization did not converge")
@pytest.mark.parametrize("seed", range(10))
def test_fits_are_where_scikit_learn_stays_and_as_likely_as_its_best(seed):
    points, k = blobs(seed)
    ours = fit(points, np.ones((1, len(points)), bool), k, np.random.default_rng(seed))
    joint = ours.log_joint(points)[0]
    likelihood = float(np.logaddexp.reduce(joint, axis=1).mean())
    going_on = mixture.GaussianMixture(
        k, covariance_type="diag", reg_covar=0.0, weights_init=ours.weights[0],
        means_init=ours.means[0], precisions_init=1.0 / ours.sigmas[0] ** 2,
    )  # fmt: skip
    # One more step of expectation and maximisation, which an optimum survives.
    going_on.set_params(max_iter=1, tol=1e9).fit(points)
    assert going_on.means_ == pytest.approx(ours.means[0], abs=1e-3)
    assert np.sqrt(going_on.covariances_) == pytest.approx(ours.sigmas[0], abs=1e-3)
    assert going_on.weights_ == pytest.approx(ours.weights[0], abs=1e-3)
    assert going_on.score(points) == pytest.approx(likelihood, abs=1e-5)
    free = mixture.GaussianMixture(k, covariance_type="diag", n_init=5, random_state=0)
    assert likelihood > free.fit(points).score(points) - 1e-4
