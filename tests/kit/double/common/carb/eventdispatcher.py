"""Events by name; an observer lives as long as its guard."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Event:
    def __init__(self, event_name: str, payload: dict[str, Any]) -> None:
        self.event_name = event_name
        self.payload = payload


class ObserverGuard:
    """Removes its observer when it is collected."""

    def __init__(self, dispatcher: IEventDispatcher, key: int) -> None:
        self._finalizer = weakref.finalize(self, dispatcher.observers.pop, key, None)

    def reset(self) -> None:
        self._finalizer()


class IEventDispatcher:
    def __init__(self) -> None:
        self.observers: dict[int, tuple[int, str, Callable[[Event], None], str]] = {}
        self._next = 0

    def observe_event(
        self,
        order: int = 0,
        event_name: str = "",
        on_event: Callable[[Event], None] | None = None,
        filter: Any = None,
        observer_name: str = "<python>",
    ) -> ObserverGuard:
        assert event_name and on_event is not None
        self._next += 1
        self.observers[self._next] = (order, event_name, on_event, observer_name)
        return ObserverGuard(self, self._next)

    def dispatch_event(self, event_name: str, payload: dict[str, Any] | None = None) -> int:
        found = [item for item in self.observers.values() if item[1] == event_name]
        for _, _, on_event, _ in sorted(found, key=lambda item: item[0]):
            on_event(Event(event_name, dict(payload or {})))
        return len(found)


_dispatcher = IEventDispatcher()


def get_eventdispatcher() -> IEventDispatcher:
    return _dispatcher
