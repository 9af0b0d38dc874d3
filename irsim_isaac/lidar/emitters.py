"""Lists of emitters, and the even fan of beams that holds every one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError

__all__ = ["EmitterState", "Fan", "fit_fan"]

# Emitters that differ by less lie on one bearing: lists are written with 12 digits and more.
_SAME_DEG = 1e-6


@dataclass(frozen=True, slots=True)
class EmitterState:
    """One firing pattern of a lidar, emitter by emitter, in the units of ``OmniLidar``.

    Attributes:
        azimuths: [deg], counter-clockwise, 0 forward, as the source gave them.
        elevations: [deg], up.
        fire_times: After the start of the pattern [ns]; empty where the source has none.
        channels: Channel numbers; empty where the source has none.
        others: What else the source said of its emitters, as pairs of name and value.
    """

    azimuths: tuple[float, ...]
    elevations: tuple[float, ...]
    fire_times: tuple[float, ...] = ()
    channels: tuple[int, ...] = ()
    others: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        count = len(self.azimuths)
        if count == 0:
            raise ScanError("an emitter state has no emitter, at least one was expected")
        for name in ("elevations", "fire_times", "channels"):
            found = len(getattr(self, name))
            if found != count and not (found == 0 and name != "elevations"):
                raise ScanError(
                    f"an emitter state has {found} {name}, expected as many as azimuths: {count}"
                )
        for name in ("azimuths", "elevations", "fire_times"):
            if not all(math.isfinite(value) for value in getattr(self, name)):
                raise ScanError(f"the {name} of an emitter state are not all finite")


@dataclass(frozen=True, slots=True)
class Fan:
    """Evenly spaced beams.

    Attributes:
        angle_min: The bearing of the first beam [rad].
        angle_increment: From one beam to the next [rad].
        beam_count: The number of beams.
        firing_interval: Between the firings of neighbouring beams [s]; zero where all fire at
            once or in no order of their bearings.
        clockwise: Whether the beams fire from the last to the first.
        gaps: The beams that no emitter has, because the emitters are not evenly spaced.
    """

    angle_min: float
    angle_increment: float
    beam_count: int
    firing_interval: float
    clockwise: bool
    gaps: tuple[int, ...] = ()


def _unwrap(azimuths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return azimuths [deg] as one run that does not cross the widest gap between them.

    Lists are given in 0 to 360 as well as in -180 to 180, so a fan that looks forward may
    cross 0/360; the gap that it does not cover tells where it begins. The middle of the run
    lies in (-180, 180].
    """
    turned = np.mod(azimuths, 360.0)
    order = np.sort(turned)
    gaps = np.diff(order, append=order[0] + 360.0)
    widest = int(np.argmax(gaps))
    first = order[(widest + 1) % order.size]
    run = np.mod(turned - first, 360.0)
    # An azimuth a rounding below the first one belongs to it and not a turn later.
    run[run > 360.0 - _SAME_DEG] = 0.0
    if 360.0 - float(run.max()) <= _SAME_DEG:
        return azimuths
    middle = first + float(run.max()) / 2.0
    first -= 360.0 * math.ceil((middle - 180.0) / 360.0)
    unwrapped: npt.NDArray[np.float64] = first + run
    return unwrapped


def fit_fan(states: Sequence[EmitterState]) -> Fan:
    """Return evenly spaced beams of which each emitter has its own.

    Of a sensor with several rings the ring nearest to the horizon gives the fan.

    Args:
        states: The firing patterns.
    """
    azimuths = np.concatenate([np.array(state.azimuths, dtype=np.float64) for state in states])
    heights = np.concatenate([np.array(state.elevations, dtype=np.float64) for state in states])
    times = np.concatenate(
        [np.array(state.fire_times or np.zeros(len(state.azimuths))) for state in states]
    ).astype(np.float64)
    nearest = np.abs(heights) <= np.abs(heights).min() + _SAME_DEG
    run, times = _unwrap(azimuths[nearest]), times[nearest]

    order = np.argsort(run, kind="stable")
    run, times = run[order], times[order]
    distinct = np.append(True, np.diff(run) > _SAME_DEG)
    run, times = run[distinct], times[distinct]
    if run.size == 1:
        return Fan(math.radians(float(run[0])), math.radians(1.0), 1, 0.0, False)
    span = float(run[-1] - run[0])
    count = run.size
    even = run[0] + np.arange(count) * (span / (count - 1))
    gaps: tuple[int, ...] = ()
    if float(np.abs(even - run).max()) > 0.25 * span / (count - 1):
        count = math.ceil(span / float(np.diff(run).min()) - _SAME_DEG) + 1
        held = np.rint((run - run[0]) * ((count - 1) / span)).astype(np.intp)
        gaps = tuple(np.setdiff1d(np.arange(count), held).tolist())
    low, high = math.radians(float(run[0])), math.radians(float(run[-1]))

    steps = np.diff(times)
    ordered = bool((steps > 0.0).all() or (steps < 0.0).all())
    interval = abs(float(times[-1] - times[0])) * 1e-9 / (count - 1) if ordered else 0.0
    clockwise = ordered and bool(steps[0] < 0.0)
    return Fan(low, (high - low) / (count - 1), count, interval, clockwise, gaps)
