"""When two simulators first part, and what brought them apart."""

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

Kind = Literal["start", "contact", "command", "speed", "turn rate", "drift"]

_AFTER_CONTACT = 1.0
"""How long a contact is felt after it ended [s]."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Something that differed for a while before the two sides parted.

    Attributes:
        time: From when on [s].
        kind: What differed.
        text: What differed, in words and figures.
        share: How much of the way apart came while this was the difference that had lasted
            longest, from 0 to 1.
    """

    time: float
    kind: Kind
    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Parting:
    """The first divergence.

    Attributes:
        time: When [s]; None where the sides stay together.
        position: The distance between the robots then, or at the end [m].
        heading: The angle between their headings then, or at the end [rad].
        cause: The cue that most of the way apart is due to; None where they stay together.
        cues: All that had a share in it, the greatest share first.
        ranges: From when on [s] half of the ranges differ by more than the limit although the
            robots are together; None where that never is so before they part.
    """

    time: float | None
    position: float
    heading: float
    cause: Cue | None
    cues: tuple[Cue, ...]
    ranges: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Signal:
    """What differs at which states, and how a stretch of it is told."""

    kind: Kind
    flags: NDArray[np.bool_]
    texts: dict[int, str]


def first_divergence(
    left: Trajectory,
    right: Trajectory,
    *,
    limits: Divergence | None = None,
    contacts: tuple[ContactTimeline, ContactTimeline] | None = None,
    commands: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    scans: ScanComparison | None = None,
) -> Parting:
    """Find when two sides parted and what brought them apart.

    The growth of the error from each state to the next is put down to the difference that has
    lasted longest then: a contact, which no two engines solve alike, unequal commands, an unequal
    speed or turn rate; growth without any of them is drift. Where the error shrinks, all shares do.

    Args:
        left: The poses of one side, pair by pair with the other's.
        right: The other's.
        limits: From when on they count as apart.
        contacts: The contacts of both sides, state by state with the poses.
        commands: What led to each state on both sides: forward, left [m/s] and
            counter-clockwise [rad/s], shape (n, 3), the first row for the start.
        scans: The comparison of their scans.
    """
    limits = limits or Divergence()
    offset = right.poses - left.poses
    position = np.hypot(offset[:, 0], offset[:, 1])
    heading = np.abs(wrap_angle(offset[:, 2]))
    error = np.maximum(position / limits.position, heading / limits.heading)
    # A float may stand a rounding above a limit that it does not exceed.
    beyond = np.flatnonzero(error > 1 + 1e-9)
    together = error <= 1 + 1e-9
    ranges = _ranges_apart(left.times, together, limits, scans)
    if not beyond.size:
        return Parting(None, float(position[-1]), float(heading[-1]), None, (), ranges)
    index = int(beyond[0])
    signals = list(_signals(left, right, limits, contacts, commands))
    cues = _shares(left.times, error, index, signals)
    if error[0] > 1 + 1e-9:
        text = f"the starts lie {position[0]:.3f} m and {np.degrees(heading[0]):.2f}° apart"
        cues = [Cue(float(left.times[0]), "start", text, 1.0)]
    time = float(left.times[index])
    early = ranges if ranges is not None and ranges <= time else None
    return Parting(time, float(position[index]), float(heading[index]), cues[0], tuple(cues), early)


def _shares(
    times: NDArray[np.float64], error: NDArray[np.float64], index: int, signals: list[_Signal]
) -> list[Cue]:
    """Put the error at a state down to cues by when it grew, the greatest share first."""
    grown: dict[tuple[Kind, int], float] = {}
    starts = [_run_starts(signal.flags) for signal in signals]
    for step in range(1, index + 1):
        growth = float(error[step] - error[step - 1])
        if growth <= 0:
            # What comes together again is taken from all alike.
            kept = float(error[step] / error[step - 1]) if error[step - 1] else 1.0
            grown = {key: value * kept for key, value in grown.items()}
            continue
        active = [
            (int(starts[order][step]), order)
            for order, signal in enumerate(signals)
            if signal.flags[step]
        ]
        first, order = min(active, default=(0, -1))
        key: tuple[Kind, int] = (signals[order].kind, first) if active else ("drift", 0)
        grown[key] = grown.get(key, 0.0) + growth
    texts = {signal.kind: signal.texts for signal in signals}
    total = sum(grown.values()) or 1.0
    cues = [
        Cue(float(times[start]), kind, texts[kind][start], growth / total)
        for (kind, start), growth in grown.items()
        if kind != "drift"
    ]
    drift = grown.get(("drift", 0), 0.0)
    if drift or not cues:
        text = "neither contacts nor commands nor speeds differ by more than their limits"
        cues.append(Cue(float(times[0]), "drift", text, drift / total))
    # Rounding leaves shares of nothing.
    told = [cue for cue in cues if cue.share > 1e-9] or cues[:1]
    return sorted(told, key=lambda cue: (-cue.share, cue.time))


def _run_starts(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each state the index at which the stretch of flags that holds it began."""
    rising = flags & ~np.concatenate(([False], flags[:-1]))
    return np.maximum.accumulate(np.where(rising, np.arange(len(flags)), 0))


def _signals(
    left: Trajectory,
    right: Trajectory,
    limits: Divergence,
    contacts: tuple[ContactTimeline, ContactTimeline] | None,
    commands: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> Iterator[_Signal]:
    """Give what may bring the sides apart, what causes the rest first."""
    if contacts is not None:
        yield _contact_signal(contacts)
    if commands is not None:
        a, b = commands
        most = np.array((limits.speed, limits.speed, limits.turn_rate))
        flags: NDArray[np.bool_] = np.any(np.abs(a - b) > most, axis=1)
        yield _Signal(
            "command",
            flags,
            {
                i: f"the left command is {_command(a[i])}, the right {_command(b[i])}"
                for i in np.flatnonzero(flags).tolist()
            },
        )
    for kind, column, limit, unit in (
        ("speed", 0, limits.speed, "m/s"),
        ("turn rate", 2, limits.turn_rate, "rad/s"),
    ):
        x, y = left.twists[:, column], right.twists[:, column]
        flags = np.abs(x - y) > limit
        yield _Signal(
            "speed" if kind == "speed" else "turn rate",
            flags,
            {
                i: f"the left {kind} is {x[i]:.3f} {unit}, the right {y[i]:.3f} {unit}"
                for i in np.flatnonzero(flags).tolist()
            },
        )


def _command(row: NDArray[np.float64]) -> str:
    return f"({row[0]:.3g} m/s, {row[2]:.3g} rad/s)"


def _contact_signal(contacts: tuple[ContactTimeline, ContactTimeline]) -> _Signal:
    """Tell of contacts on either side: also one that both have is not alike on both."""
    left, right = contacts
    touching = left.touching | right.touching
    flags = touching.copy()
    texts: dict[int, str] = {}
    for index in np.flatnonzero(touching).tolist():
        time = float(left.times[index])
        if left.touching[index] and right.touching[index]:
            who, timeline = "both robots touch", left
        elif left.touching[index]:
            who, timeline = "the left robot alone touches", left
        else:
            who, timeline = "the right robot alone touches", right
        others = timeline.partners(float(timeline.times[index]))
        texts[index] = f"{who} {' and '.join(others) or 'something'}"
        flags[(left.times > time) & (left.times <= time + _AFTER_CONTACT)] = True
    return _Signal("contact", flags, texts)


def _ranges_apart(
    times: NDArray[np.float64],
    together: NDArray[np.bool_],
    limits: Divergence,
    scans: ScanComparison | None,
) -> float | None:
    if scans is None:
        return None
    apart = np.flatnonzero(
        (np.interp(scans.times, times, together.astype(float)) >= 1) & (scans.median > limits.range)
    )
    return float(scans.times[apart[0]]) if apart.size else None
