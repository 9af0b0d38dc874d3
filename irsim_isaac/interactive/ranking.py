"""In which order to look for an item on the surfaces of a world."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.persistence import mean_stay, persistence
from irsim_isaac.msg.interactive_world import Model, WorldModel

__all__ = ["LEAST", "UNSEEN", "RankedSurface", "Strategy", "rank_surfaces"]

Strategy: TypeAlias = Literal["combined", "temporal", "recency", "models"]

LEAST = 0.001
"""The score of a surface of which nothing is known; a sighting older than ``ln 1000`` mean stays
scores less."""

UNSEEN = 0.05
"""The score of the surface that the models like best, where the item was never seen on it."""

_YEAR = 31_557_600.0
"""A Julian year [s]: the unit of recency."""


@dataclass(frozen=True, slots=True)
class RankedSurface:
    """A surface to look on.

    Attributes:
        name: The surface.
        score: How promising it is; comparable within one ranking, the greatest comes first.
        why: What the score comes from, in words.
    """

    name: str
    score: float
    why: str


@dataclass(slots=True)
class _Evidence:
    """What is known of an item on one surface."""

    name: str
    known: bool
    rows: list[Observation] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    """The decision values of the models that put the item there."""


def rank_surfaces(
    item: str,
    world: WorldModel,
    observations: Iterable[Observation],
    models: Iterable[Model],
    now: float,
    *,
    strategy: Strategy = "combined",
    combine: Literal["min", "sum"] = "min",
) -> tuple[RankedSurface, ...]:
    """Return the surfaces to look for an item on, the most promising first.

    ``"temporal"`` scores a surface by the probability that the item still is where it was seen,
    and by ``LEAST`` where it never was (interactive_world 0.0.12). ``"combined"`` scores it so
    too, at least by ``LEAST``; where the item was never seen, what was learned speaks: the
    surface of the least decision value scores ``UNSEEN`` and others less, down to ``LEAST``.
    ``"recency"`` adds up the times of all sightings in years, and ``"models"`` takes the
    negative decision value; both return the surfaces that they know something of only.

    Equals come in the order of the world, then by name. Names are compared in any case, aliases
    are resolved, and surfaces that share a name are one. A surface that only observations or
    models name is ranked too, and ``why`` says that the world has none of that name. The
    complexity is linear in what is given, but for the sorting.

    Args:
        item: What is looked for.
        world: The world.
        observations: What was seen of it, also what is gone; those of other items are left out.
        models: What was learned; a model counts where the item is what it places or what it is
            placed by, and where it names a surface.
        now: The time by which observations are stamped [s], UTC.
        strategy: How to score.
        combine: How the decision values of several models of one surface become one: the least,
            or, as interactive_world 0.0.8 did, their sum, which favours few frames.

    Raises:
        InteractiveError: The strategy is unknown, an observation is not of the past, or a
            decision value is not a finite number of at least 0.
    """
    if strategy not in get_args(Strategy) or combine not in ("min", "sum"):
        raise InteractiveError(
            f"the strategy is '{strategy}' with '{combine}'; one of "
            f"{', '.join(get_args(Strategy))} with min or sum was expected"
        )
    evidence = _collect(item, world, observations, models)
    score: Callable[[Sequence[_Evidence]], list[RankedSurface]] = {
        "combined": lambda known: _combined(known, now, combine),
        "temporal": lambda known: [_temporal(surface, now) for surface in known],
        "recency": _recency,
        "models": lambda known: _by_models(known, combine),
    }[strategy]
    ranked = score(evidence)
    foreign = {surface.name for surface in evidence if not surface.known}
    ranked = [
        RankedSurface(entry.name, entry.score, f"{entry.why}; the world has no such surface")
        if entry.name in foreign
        else entry
        for entry in ranked
    ]
    # The sort is stable, and the evidence is in the order that decides between equals.
    return tuple(sorted(ranked, key=lambda entry: -entry.score))


def _collect(
    item: str, world: WorldModel, observations: Iterable[Observation], models: Iterable[Model]
) -> list[_Evidence]:
    """Return what is known of each surface: those of the world in order, then others by name."""
    by_key: dict[str, _Evidence] = {}
    key_of: dict[str, str] = {}
    for _, surface in world.surfaces():
        key = surface.name.casefold()
        by_key.setdefault(key, _Evidence(surface.name, known=True))
        key_of[key] = key
    for _, surface in world.surfaces():
        for alias in surface.aliases:
            key_of.setdefault(alias.casefold(), surface.name.casefold())
    foreign: dict[str, _Evidence] = {}

    def of(name: str) -> _Evidence:
        key = name.casefold()
        if key in key_of:
            return by_key[key_of[key]]
        return foreign.setdefault(key, _Evidence(name, known=False))

    wanted = item.casefold()
    for row in observations:
        if row.item.casefold() == wanted:
            of(row.surface).rows.append(row)
    for model in models:
        placement = model.placement
        name = placement.surface.name
        involved = (placement.item.name.casefold(), placement.reference_frame_id.casefold())
        if not name.strip() or wanted not in involved:
            continue
        value = model.decision_value
        if not (math.isfinite(value) and value >= 0.0):
            raise InteractiveError(
                f"a model of '{placement.item.name}' on '{name}' has the decision value {value}, "
                "a finite number of at least 0 was expected"
            )
        of(name).values.append(value)
    return [*by_key.values(), *(foreign[key] for key in sorted(foreign))]


def _temporal(surface: _Evidence, now: float) -> RankedSurface:
    if not surface.rows:
        return RankedSurface(surface.name, LEAST, "never seen there")
    age = max(0.0, now - max(row.time or 0.0 for row in surface.rows))
    return RankedSurface(
        surface.name,
        persistence(surface.rows, now),
        f"seen {_spell(age)} ago, stays {_spell(mean_stay(surface.rows, now))} on average",
    )


def _combined(
    surfaces: Sequence[_Evidence], now: float, combine: Literal["min", "sum"]
) -> list[RankedSurface]:
    unseen = {
        id(surface): 1.0 / (1.0 + _value(surface, combine))
        for surface in surfaces
        if surface.values and not surface.rows
    }
    greatest = max(unseen.values(), default=1.0)
    ranked = []
    for surface in surfaces:
        seen = _temporal(surface, now)
        if surface.rows:
            ranked.append(RankedSurface(seen.name, max(seen.score, LEAST), seen.why))
        elif surface.values:
            weight = unseen[id(surface)] / greatest
            value = _value(surface, combine)
            why = f"never seen there, belongs there with a decision value of {value:.3g}"
            score = LEAST + (UNSEEN - LEAST) * weight
            ranked.append(RankedSurface(surface.name, score, why))
        else:
            ranked.append(seen)
    return ranked


def _recency(surfaces: Sequence[_Evidence]) -> list[RankedSurface]:
    return [
        RankedSurface(
            surface.name,
            math.fsum((row.time or 0.0) / _YEAR for row in surface.rows),
            f"seen there {len(surface.rows)} times",
        )
        for surface in surfaces
        if surface.rows
    ]


def _by_models(
    surfaces: Sequence[_Evidence], combine: Literal["min", "sum"]
) -> list[RankedSurface]:
    return [
        RankedSurface(
            surface.name,
            -_value(surface, combine),
            f"{len(surface.values)} models put it there",
        )
        for surface in surfaces
        if surface.values
    ]


def _value(surface: _Evidence, combine: Literal["min", "sum"]) -> float:
    return min(surface.values) if combine == "min" else math.fsum(surface.values)


def _spell(seconds: float) -> str:
    """Return a length of time in the unit that suits it."""
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
