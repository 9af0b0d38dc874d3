"""The timeline: what it is told takes effect with the next update, or at once by ``commit``."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any

import omni.usd
from omni.physx import world


class TimelineEventType(enum.IntEnum):
    PLAY = 0
    PAUSE = 1
    STOP = 2


class ISubscription:
    """Ends when it is collected."""

    def __init__(self, stream: IEventStream, key: int) -> None:
        weakref.finalize(self, stream.subscribers.pop, key, None)


class IEventStream:
    def __init__(self) -> None:
        self.subscribers: dict[int, tuple[int, Callable[[Any], None]]] = {}
        self._next = 0

    def create_subscription_to_pop_by_type(
        self, event_type: int, fn: Callable[[Any], None], order: int = 0, name: str = ""
    ) -> ISubscription:
        self._next += 1
        self.subscribers[self._next] = (event_type, fn)
        return ISubscription(self, self._next)

    def send(self, event_type: int) -> None:
        for wanted, fn in list(self.subscribers.values()):
            if wanted == event_type:
                fn(event_type)


class Timeline:
    def __init__(self) -> None:
        self._state = TimelineEventType.STOP
        self._wanted: TimelineEventType | None = None
        self._stream = IEventStream()
        self.listeners: list[Callable[[TimelineEventType], None]] = [self._stream.send]

    def play(self) -> None:
        self._wanted = TimelineEventType.PLAY

    def pause(self) -> None:
        self._wanted = TimelineEventType.PAUSE

    def stop(self) -> None:
        self._wanted = TimelineEventType.STOP

    def commit(self) -> None:
        assert not world.stepping, "the simulation cannot be changed within one of its steps"
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted is self._state:
            return
        stage = omni.usd.get_context().get_stage()
        if wanted is TimelineEventType.PLAY and not world.valid:
            if stage is None:
                return
            world.start(stage)
        if wanted is TimelineEventType.STOP:
            world.stop()
        self._state = wanted
        for listener in self.listeners:
            listener(wanted)

    def is_playing(self) -> bool:
        return self._state is TimelineEventType.PLAY

    def is_stopped(self) -> bool:
        return self._state is TimelineEventType.STOP

    def get_current_time(self) -> float:
        return world.time

    def get_timeline_event_stream(self) -> IEventStream:
        return self._stream


_timeline = Timeline()


def get_timeline_interface() -> Timeline:
    return _timeline
