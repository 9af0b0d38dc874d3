"""Fog and collision against exact answers, over many random worlds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import shapely

from irsim_isaac.map import FogMap, Map
from tests.map.conftest import walked
from tests.soak.harness import soak


@soak("fog_against_rational_arithmetic", rounds=300)
def fog(seed: int) -> dict[str, Any]:
    """Walk 300 beams of a random world, half of them from lattice points along lattice ways."""
    random = np.random.default_rng(seed)
    nx, ny = (int(count) for count in random.integers(1, 40, 2))
    side = float(random.choice([0.05, 0.1, 0.25, 1 / 3]))
    world = FogMap(nx * side, ny * side, side, tuple(random.uniform(-9, 9, 2)))
    rx, ry = world.width / world.shape[0], world.height / world.shape[1]
    ox, oy = world.world_offset
    cells = 0
    for beam in range(300):
        place = random.uniform(-2, 42, 2)
        heading, length = random.uniform(-4, 4), random.uniform(0, 50) * side
        if beam % 2:
            place = np.rint(place * 2) / 2
            heading, length = random.integers(-8, 8) * np.pi / 4, random.integers(1, 50) * side
        x, y = ox + place[0] * rx, oy + place[1] * ry
        world.reset()
        world.reveal_from_lidar([x, y], [heading], [length])
        tip = x + length * np.cos(heading), y + length * np.sin(heading)
        ends = (x - ox) / rx, (y - oy) / ry, (tip[0] - ox) / rx, (tip[1] - oy) / ry
        a, b, c, d = (Fraction(int(np.rint(end * 2.0**32)), 2**32) for end in ends)
        expected = {
            (i, j)
            for i, j in walked((a, b, c, d))
            if 0 <= i < world.shape[0] and 0 <= j < world.shape[1]
        }
        seen = {(int(i), int(j)) for i, j in np.argwhere(world.explored)}
        assert seen == expected, (seed, beam)
        cells += len(seen)
    return {"beams": 300, "cells": cells}


@soak("collision_against_every_cell", rounds=300)
def collision(seed: int) -> dict[str, Any]:
    """Ask 100 geometries of a random grid, and ask GEOS of each occupied cell."""
    random = np.random.default_rng(seed)
    nx, ny = random.integers(1, 200, 2)
    grid = (random.random((nx, ny)) < random.choice([0.001, 0.02, 0.3])) * 100.0
    world = Map(nx * 0.5, ny * 0.5, 0.5, grid=grid)
    i, j = np.nonzero(grid)
    boxes = shapely.box(i * 0.5, j * 0.5, (i + 1) * 0.5, (j + 1) * 0.5)
    hits = 0
    for question in range(100):
        ends = random.uniform(0, 1, (3, 2)) * (nx * 0.5, ny * 0.5)
        if question % 2:
            ends = np.rint(ends * 8) / 8
        line = shapely.LineString(ends)
        geometry = line if question % 3 else line.buffer(0.3)
        minx, miny, maxx, maxy = geometry.bounds
        outside = minx < 0 or miny < 0 or maxx > nx * 0.5 or maxy > ny * 0.5
        met = shapely.intersects(geometry, boxes) & ~shapely.touches(geometry, boxes)
        expected = bool(outside or met.any())
        assert world.is_collision(geometry) is expected, (seed, question)
        hits += expected
    return {"questions": 100, "hits": hits}
