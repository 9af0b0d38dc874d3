"""IR-SIM itself, where it is installed, and exact answers to compare with."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

Cells = set[tuple[int, int]]


@pytest.fixture(scope="session")
def irsim() -> ModuleType:
    """The real IR-SIM, drawing into memory."""
    pytest.importorskip("irsim")
    with contextlib.redirect_stdout(io.StringIO()):
        import irsim
        import irsim.world.map
    import matplotlib

    matplotlib.use("Agg")
    return irsim


@pytest.fixture(scope="session")
def real(irsim: ModuleType) -> Any:
    """The real ``irsim.world.map``."""
    return irsim.world.map


def walked(ends: tuple[Fraction, Fraction, Fraction, Fraction]) -> Cells:
    """Return the cells of a beam, in cells, by rational arithmetic.

    Those in which it runs for a positive length, cells being half-open, and those of its ends.
    """
    x0, y0, x1, y1 = ends
    cells = {(floor(x0), floor(y0)), (floor(x1), floor(y1))}
    dx, dy = x1 - x0, y1 - y0
    crossings = {Fraction(0), Fraction(1)}
    for start, way in ((x0, dx), (y0, dy)):
        low, high = min(start, start + way), max(start, start + way)
        if way:
            crossings.update((k - start) / way for k in range(ceil(low), floor(high) + 1))
    if dx or dy:
        ordered = sorted(crossings)
        for before, behind in pairwise(ordered):
            middle = (before + behind) / 2
            cells.add((floor(x0 + middle * dx), floor(y0 + middle * dy)))
    return cells


@pytest.fixture(scope="session")
def exact_cells() -> Callable[..., Cells]:
    """How the cells of one beam over a fog map are worked out by rational arithmetic."""

    def cells(fog: Any, x: float, y: float, heading: float, length: float) -> Cells:
        nx, ny = fog.shape
        ox, oy = fog.world_offset
        rx, ry = fog.width / nx, fog.height / ny
        tip = x + length * np.cos(heading), y + length * np.sin(heading)
        ends = (x - ox) / rx, (y - oy) / ry, (tip[0] - ox) / rx, (tip[1] - oy) / ry
        rounded = tuple(Fraction(int(np.rint(end * 2.0**32)), 2**32) for end in ends)
        inside = walked(rounded)  # type: ignore[arg-type]  # a tuple of four by construction
        return {(i, j) for i, j in inside if 0 <= i < nx and 0 <= j < ny}

    return cells
