"""What a recording holds, and the order that it must be in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from irsim_isaac.errors import RecordingError
from irsim_isaac.msg import OccupancyGrid, WorldState

__all__ = ["Entry", "Kind", "Order"]

Kind: TypeAlias = Literal["state", "map", "fog"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a recording.

    Attributes:
        source: The simulator that it came from; empty where there was one alone.
        kind: What it is.
        message: The message.
    """

    source: str
    kind: Kind
    message: WorldState | OccupancyGrid


class Order:
    """Holds each source's states to the order of time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: dict[str, tuple[float, int]] = {}

    def follow(self, source: str, state: WorldState, where: str) -> None:
        """Check a state and remember it.

        Raises:
            RecordingError: The state is earlier than the one before it.
        """
        self.check(source, state, where)
        self.remember(source, state)

    def remember(self, source: str, state: WorldState) -> None:
        """Take a state as the last of its source."""
        self._last[source] = (state.header.stamp, state.header.seq)

    def check(self, source: str, state: WorldState, where: str) -> None:
        """Check that a state may follow.

        Raises:
            RecordingError: The state is earlier than the one before it.
        """
        stamp, seq = state.header.stamp, state.header.seq
        last = self._last.get(source)
        if last is not None and not (stamp >= last[0] and seq >= last[1]):
            of = f" of '{source}'" if source else ""
            raise RecordingError(
                f"{self._path}, {where}: found the state{of} at {stamp} s, count {seq}, after "
                f"the one at {last[0]} s, count {last[1]}; states must be in the order of time"
            )
