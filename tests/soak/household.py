"""Searching a simulated household: persistence beside simpler ways to guess."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irsim_isaac.interactive import Observation, rank_surfaces
from irsim_isaac.msg.interactive_world import RoomPlace, SurfacePlace, WorldModel
from tests.soak.harness import soak

HOUR = 3600.0
DAY = 24.0 * HOUR
SURFACES = tuple(f"surface_{k}" for k in range(8))
WORLD = WorldModel(
    (RoomPlace("home", "home", surfaces=tuple(SurfacePlace(s, s) for s in SURFACES)),)
)
ITEMS = 4
LEARNING, ASKING = 10.0 * DAY, 4.0 * DAY
QUESTIONS = 50

Rows = Sequence[Observation]
Guess = Callable[[Rows, float, np.random.Generator], list[str]]


class Item:
    """A thing that is carried from surface to surface.

    How long it stays is exponential, with a mean of its own for each surface; where it goes next
    is drawn from likings of its own. ``spread`` is by what factor the means differ at most.
    """

    def __init__(self, name: str, spread: float, random: np.random.Generator) -> None:
        self.name = name
        likings = random.dirichlet(np.full(len(SURFACES), 0.7))
        means = 2.0 * HOUR * np.exp(random.uniform(-0.5, 0.5, len(SURFACES)) * math.log(spread))
        where = int(random.choice(len(SURFACES), p=likings))
        self.times, self.places = [0.0], [where]
        while self.times[-1] < LEARNING + ASKING:
            self.times.append(self.times[-1] + float(random.exponential(means[where])))
            others = likings.copy()
            others[where] = 0.0
            if others.sum() <= 0.0:
                others[:] = 1.0
                others[where] = 0.0
            where = int(random.choice(len(SURFACES), p=others / others.sum()))
            self.places.append(where)

    def at(self, time: float) -> str:
        """Return the surface that it is on."""
        return SURFACES[self.places[int(np.searchsorted(self.times, time, "right")) - 1]]


def observe(item: Item, times: np.ndarray, places: np.ndarray) -> list[Observation]:
    """Return what a robot keeps that looks at one surface at a time."""
    rows: list[Observation] = []
    is_open: dict[str, list[int]] = {name: [] for name in SURFACES}
    for time, place in zip(times, places, strict=True):
        surface = SURFACES[place]
        if item.at(time) == surface:
            is_open[surface].append(len(rows))
            rows.append(Observation(surface, item.name, time=float(time)))
        else:
            for k in is_open[surface]:
                rows[k] = Observation(surface, item.name, time=rows[k].time, removed=float(time))
            is_open[surface].clear()
    return rows


def known_at(rows: Rows, now: float) -> list[Observation]:
    """Return what was known at a time: later sightings and removals are not."""
    return [
        row
        if row.removed is None or row.removed <= now
        else Observation(row.surface, row.item, time=row.time)
        for row in rows
        if row.time is not None and row.time <= now
    ]


def by_persistence(rows: Rows, now: float, random: np.random.Generator) -> list[str]:
    del random
    ranked = rank_surfaces("item", WORLD, rows, [], now, strategy="temporal")
    return [entry.name for entry in ranked]


def by_frequency(rows: Rows, now: float, random: np.random.Generator) -> list[str]:
    del now, random
    counts = {name: sum(row.surface == name for row in rows) for name in SURFACES}
    return sorted(SURFACES, key=lambda name: -counts[name])


def by_last_sighting(rows: Rows, now: float, random: np.random.Generator) -> list[str]:
    del now, random
    latest = {row.surface: row.time or 0.0 for row in sorted(rows, key=lambda row: row.time or 0)}
    return sorted(SURFACES, key=lambda name: -latest.get(name, -1.0))


def by_chance(rows: Rows, now: float, random: np.random.Generator) -> list[str]:
    del rows, now
    return [str(name) for name in random.permutation(SURFACES)]


GUESSES: dict[str, Guess] = {
    "persistence": by_persistence,
    "most_frequent": by_frequency,
    "last_seen": by_last_sighting,
    "random": by_chance,
}


def household(seed: int, *, spread: float, gap: float) -> dict[str, Any]:
    """Live through two weeks in one home and ask where things are in the last four days.

    Args:
        seed: Of everything random.
        spread: By what factor the mean stays of surfaces differ at most.
        gap: Between two looks at a surface [s], on average.

    Returns:
        For each way to guess: the share of first looks that find the item, and how many
        surfaces are looked at until it is found.
    """
    random = np.random.default_rng(seed)
    looks = int((LEARNING + ASKING) / (gap))
    times = np.sort(random.uniform(0.0, LEARNING + ASKING, looks))
    places = random.integers(0, len(SURFACES), looks)
    first = dict.fromkeys(GUESSES, 0)
    looked = dict.fromkeys(GUESSES, 0)
    asked = 0
    for _ in range(ITEMS):
        item = Item("item", spread, random)
        rows = observe(item, times, places)
        for now in random.uniform(LEARNING, LEARNING + ASKING, QUESTIONS):
            known, truth = known_at(rows, float(now)), item.at(float(now))
            asked += 1
            for name, guess in GUESSES.items():
                place = guess(known, float(now), random).index(truth)
                first[name] += place == 0
                looked[name] += place + 1
    return {
        "asked": asked,
        "first_look": {name: count / asked for name, count in first.items()},
        "surfaces_looked_at": {name: count / asked for name, count in looked.items()},
    }


SETTINGS = {
    "looks_often": {"spread": 50.0, "gap": 0.25 * HOUR},
    "looks_hourly": {"spread": 50.0, "gap": HOUR},
    "surfaces_alike": {"spread": 1.0, "gap": HOUR},
}


@soak("household", rounds=100)
def household_rounds(seed: int) -> dict[str, Any]:
    """A hundred homes, each lived in three ways."""
    figures = {name: household(seed, **setting) for name, setting in SETTINGS.items()}
    for told in figures.values():
        # What holds in every home; which way is better is told by the mean of all of them.
        assert told["first_look"]["persistence"] > told["first_look"]["random"]
        assert told["surfaces_looked_at"]["persistence"] < told["surfaces_looked_at"]["random"]
    return figures
