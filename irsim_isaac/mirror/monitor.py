"""Watching how far mirrored objects are apart."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from irsim_isaac.mirror.bindings import PlanarPose

__all__ = ["Apart", "Difference", "DivergenceMonitor"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one object is from its other self.

    Attributes:
        left: Where the left one is: x, y [m] and yaw [rad].
        right: Where the right one is, in the left world.
        position: The distance [m].
        heading: The angle [rad], from 0 to pi.
    """

    left: PlanarPose
    right: PlanarPose
    position: float
    heading: float

    @classmethod
    def between(cls, left: PlanarPose, right: PlanarPose) -> Difference:
        """Compare two poses in one frame."""
        return cls(
            left,
            right,
            math.hypot(right[0] - left[0], right[1] - left[1]),
            abs(math.remainder(right[2] - left[2], 2 * math.pi)),
        )


@dataclass(frozen=True, slots=True)
class Apart:
    """An object that has just come to be apart.

    Attributes:
        time: When [s].
        name: The left object's name.
        difference: How far.
    """

    time: float
    name: str
    difference: Difference


Callback: TypeAlias = Callable[[Apart], None]


@dataclass(slots=True)
class DivergenceMonitor:
    """Tells when an object comes to be farther from its other self than allowed.

    It tells once; when the object has come back, it tells again the next time.

    Attributes:
        position: The most that positions may be apart [m].
        heading: The most that headings may be apart [rad].
        callbacks: Called in turn with each ``Apart``.
        events: The last of them, a thousand at most.
        count: How many there were.
        apart: The names of those that are apart now.
        present: The last difference of each object, by left name.
        greatest: The greatest position [m] and heading [rad] of each object so far.
    """

    position: float = 0.05
    heading: float = 0.05
    callbacks: list[Callback] = field(default_factory=list)
    events: deque[Apart] = field(default_factory=lambda: deque(maxlen=1000))
    count: int = 0
    apart: set[str] = field(default_factory=set)
    present: dict[str, Difference] = field(default_factory=dict)
    greatest: dict[str, tuple[float, float]] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget everything but the limits and the call-backs."""
        self.events.clear()
        self.count = 0
        self.apart.clear()
        self.present.clear()
        self.greatest.clear()

    def observe(
        self, time: float, pairs: Mapping[str, tuple[PlanarPose, PlanarPose]]
    ) -> tuple[Apart, ...]:
        """Take in where the objects are.

        Args:
            time: [s].
            pairs: Left and right pose of each object in the left world, by left name.

        Returns:
            Those that have just come to be apart.
        """
        new = []
        for name, (left, right) in pairs.items():
            difference = Difference.between(left, right)
            self.present[name] = difference
            most = self.greatest.get(name, (0.0, 0.0))
            self.greatest[name] = (
                max(most[0], difference.position),
                max(most[1], difference.heading),
            )
            if difference.position <= self.position and difference.heading <= self.heading:
                self.apart.discard(name)
            elif name not in self.apart:
                self.apart.add(name)
                new.append(Apart(time, name, difference))
        self.count += len(new)
        self.events.extend(new)
        for event in new:
            for callback in self.callbacks:
                callback(event)
        return tuple(new)
