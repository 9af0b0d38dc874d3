"""When a robot touched what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.msg import ObjectState, WorldState
from irsim_isaac.validation.trajectory import find_object

__all__ = ["ContactEvent", "ContactTimeline", "contact_starts"]


def contact_starts(touching: ArrayLike) -> NDArray[np.int64]:
    """Return the indices at which a contact begins: each rising edge, and the first state.

    Args:
        touching: Whether there is a contact at each state, shape (n,).
    """
    flags = np.asarray(touching, bool)
    return np.flatnonzero(flags & ~np.concatenate(([False], flags[:-1]))[: len(flags)])


@dataclass(frozen=True, slots=True)
class ContactEvent:
    """One stretch of touching.

    Attributes:
        start: Time of the first state that touches [s].
        end: Time of the last state that touches [s].
        others: The names of what was touched, sorted; empty where the simulator tells none.
        max_force: The greatest net force [N]; zero where the simulator tells none.
    """

    start: float
    end: float
    others: tuple[str, ...]
    max_force: float


@dataclass(frozen=True, slots=True, eq=False)
class ContactTimeline:
    """All the contacts of a robot in a run.

    Attributes:
        times: Of the states [s], shape (n,).
        touching: Whether it touched anything then, shape (n,).
        events: Its contacts, one after the other.
    """

    times: NDArray[np.float64]
    touching: NDArray[np.bool_]
    events: tuple[ContactEvent, ...]

    @classmethod
    def from_states(cls, states: Sequence[WorldState], name: str) -> ContactTimeline:
        """Read the contacts of a robot from the states of a simulator."""
        items = [find_object(state, name) for state in states]
        times = np.array([state.header.stamp for state in states], float)
        touching = np.array([item.collision or bool(item.contacts) for item in items], bool)
        names = [_partners(item, state) for item, state in zip(items, states, strict=True)]
        starts = contact_starts(touching)
        ends = contact_starts(touching[::-1])[::-1]
        events = []
        for first, last in zip(starts, len(touching) - 1 - ends, strict=True):
            span = range(int(first), int(last) + 1)
            events.append(
                ContactEvent(
                    start=float(times[first]),
                    end=float(times[last]),
                    others=tuple(sorted({other for index in span for other in names[index]})),
                    max_force=max(_force(items[index]) for index in span),
                )
            )
        return cls(times, touching, tuple(events))

    def partners(self, time: float) -> tuple[str, ...]:
        """Return what was touched at a time [s]."""
        return tuple(
            other
            for event in self.events
            if event.start <= time <= event.end
            for other in event.others
        )


def _partners(item: ObjectState, state: WorldState) -> set[str]:
    if item.contacts:
        return {contact.other for contact in item.contacts if contact.other}
    by_id = {other.id: other.name for other in state.objects}
    return {by_id[key] for key in item.collision_ids if key in by_id}


def _force(item: ObjectState) -> float:
    force = item.contact_force
    return float(np.sqrt(force.x**2 + force.y**2 + force.z**2))
