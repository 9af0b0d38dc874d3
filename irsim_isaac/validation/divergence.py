"""When two simulators first part, and what came first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.validation.contacts import ContactTimeline
from irsim_isaac.validation.scan_difference import ScanComparison
from irsim_isaac.validation.scenario import Divergence
from irsim_isaac.validation.trajectory import Trajectory, wrap_angle

__all__ = ["Cue", "Parting", "first_divergence"]


@dataclass(frozen=True, slots=True)
class Cue:
    """Something that differed before or when the two sides parted.

    Attributes:
        time: From when on [s].
        kind: What differed.
        text: What differed, in words and figures.
    """

    time: float
    kind: Literal["start", "contact", "speed", "turn rate", "scan", "drift"]
    text: str


@dataclass(frozen=True, slots=True)
class Parting:
    """The first divergence.

    Attributes:
        time: When [s]; None where the sides stay together.
        position: The distance between the robots then [m].
        heading: The angle between their headings then [rad].
        cause: The cue that came first; None where they stay together.
        cues: All cues up to then, the first first.
    """

    time: float | None
    position: float
    heading: float
    cause: Cue | None
    cues: tuple[Cue, ...]


def first_divergence(
    left: Trajectory,
    right: Trajectory,
    *,
    limits: Divergence | None = None,
    contacts: tuple[ContactTimeline, ContactTimeline] | None = None,
    scans: ScanComparison | None = None,
) -> Parting:
    """Find when two sides parted and what differed first.

    Args:
        left: The poses of one side, pair by pair with the other's.
        right: The other's.
        limits: From when on they count as apart.
        contacts: The contacts of both sides, state by state with the poses.
        scans: The comparison of their scans.
    """
    limits = limits or Divergence()
    offset = right.poses - left.poses
    position = np.hypot(offset[:, 0], offset[:, 1])
    heading = np.abs(wrap_angle(offset[:, 2]))
    index = _first((position > limits.position) | (heading > limits.heading))
    if index is None:
        last = len(position) - 1
        return Parting(None, float(position[last]), float(heading[last]), None, ())
    time = float(left.times[index])
    cues = sorted(
        (
            cue
            for cue in _cues(left, right, position, heading, limits, contacts, scans)
            if cue.time <= time
        ),
        key=lambda cue: cue.time,
    )
    if not cues:
        rate = position[index] / time if time else 0.0
        cues = [
            Cue(
                float(left.times[0]),
                "drift",
                f"no contact, speed or range differs by more than its limit; the distance grew by "
                f"{1000 * rate:.2g} mm a second",
            )
        ]
    return Parting(time, float(position[index]), float(heading[index]), cues[0], tuple(cues))


def _first(flags: NDArray[np.bool_]) -> int | None:
    where = np.flatnonzero(flags)
    return int(where[0]) if where.size else None


def _cues(
    left: Trajectory,
    right: Trajectory,
    position: NDArray[np.float64],
    heading: NDArray[np.float64],
    limits: Divergence,
    contacts: tuple[ContactTimeline, ContactTimeline] | None,
    scans: ScanComparison | None,
) -> Iterator[Cue]:
    times = left.times
    if position[0] > limits.position or heading[0] > limits.heading:
        yield Cue(
            float(times[0]),
            "start",
            f"the starts lie {position[0]:.3f} m and {np.degrees(heading[0]):.2f} deg apart",
        )
    if contacts is not None:
        yield from _contact_cues(contacts)
    for kind, column, limit, unit in (
        ("speed", 0, limits.speed, "m/s"),
        ("turn rate", 2, limits.turn_rate, "rad/s"),
    ):
        a, b = left.twists[:, column], right.twists[:, column]
        index = _first(np.abs(a - b) > limit)
        if index is not None:
            yield Cue(
                float(times[index]),
                "speed" if kind == "speed" else "turn rate",
                f"the left {kind} is {a[index]:.3f} {unit}, the right {b[index]:.3f} {unit}",
            )
    if scans is not None:
        together = np.interp(scans.times, times, position) <= limits.position
        index = _first(together & (scans.median > limits.range))
        if index is not None:
            yield Cue(
                float(scans.times[index]),
                "scan",
                f"half of the ranges differ by {scans.median[index]:.3f} m or more, the robots "
                f"being in one place",
            )


def _contact_cues(contacts: tuple[ContactTimeline, ContactTimeline]) -> Iterator[Cue]:
    left, right = contacts
    index = _first(left.touching != right.touching)
    if index is None:
        return
    side, timeline = ("left", left) if left.touching[index] else ("right", right)
    time = float(timeline.times[index])
    others = " and ".join(timeline.partners(time)) or "something"
    yield Cue(time, "contact", f"the {side} robot alone touches {others}")
