"""Learning from a crowd: how often the frames that items were placed by are found."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irsim_isaac.interactive import Clusters, Store, build_template, learn_models, parse_study
from tests.interactive.studies import PLANTED, crowd, dining_world
from tests.soak.harness import soak

NOISE = (0.05, 0.1, 0.2, 0.3)


WANTED = {"Plate": (0.0, -0.28), "Cup": (0.16, 0.12), "Fork": (-0.14, 0.02), "Vase": (0.0, 0.0)}


def crowds(
    seed: int, noise: Sequence[float], *, clusters: Clusters, sessions: int = 30
) -> dict[str, Any]:
    """Parse and learn what crowds placed, one for each share of noise, and arrange the items.

    Returns:
        For each share: whether the step of an item is by the frame that it was planted in, and
        how far off the model puts those for which it is [m].
    """
    with tempfile.TemporaryDirectory() as folder, Store(str(Path(folder) / "crowd.db")) as store:
        study = store.add_study("Crowds")
        with store.transaction():
            for share in noise:
                random = np.random.default_rng((seed, round(100 * share)))
                condition = store.add_condition(study, f"noise {share}")
                crowd(store, condition, random, noise=share, sessions=sessions)
        parsed = parse_study(store, study)
    figures = {}
    for share, one in zip(noise, parsed, strict=True):
        learned = learn_models(one.training, seed=seed, clusters=clusters)
        template = build_template(learned.models.models, dining_world(), items=list(PLANTED))
        assert not template.unplaced
        right = {step.item: step.reference == PLANTED[step.item] for step in template.steps}
        off = {
            step.item: math.dist(
                WANTED[step.item],
                (step.model.placement.position.x, step.model.placement.position.y),
            )
            for step in template.steps
            if right[step.item]
        }
        figures[str(share)] = {"found": right, "off": off}
    return figures


@soak("crowd", rounds=100)
def crowd_rounds(seed: int) -> dict[str, Any]:
    """A hundred crowds for each share of noise, clusters counted by cross-validation."""
    return crowds(seed, NOISE, clusters="cv")


@soak("crowd_bic", rounds=50)
def crowd_by_bic(seed: int) -> dict[str, Any]:
    """Fifty of these crowds, clusters counted by the Bayesian information criterion."""
    return crowds(seed, NOISE, clusters="bic")
