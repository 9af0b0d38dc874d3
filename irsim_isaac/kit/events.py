"""Stage events, and registrations that Isaac Sim forgets when a stage opens or closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from irsim_isaac.kit.versions import Undo

__all__ = ["StageEvent", "kept", "on_stage", "on_update"]

StageEvent: TypeAlias = Literal["OPENED", "CLOSING", "CLOSED"]

_AFTER_ALL = 1000
"""An order behind that of Isaac Sim's own observers, which clear what others registered."""


def on_stage(event: StageEvent, callback: Callable[[], None]) -> Undo:
    """Call back when a stage opens or closes.

    Args:
        event: Which of the two, or just before it closes.
        callback: Called without arguments, after Isaac Sim's own observers.

    Returns:
        A function that ends it.
    """
    import carb.eventdispatcher
    import omni.usd

    types = {
        "OPENED": omni.usd.StageEventType.OPENED,
        "CLOSING": omni.usd.StageEventType.CLOSING,
        "CLOSED": omni.usd.StageEventType.CLOSED,
    }
    name = omni.usd.get_context().stage_event_name(types[event])
    guards = [
        carb.eventdispatcher.get_eventdispatcher().observe_event(
            order=_AFTER_ALL,
            event_name=name,
            on_event=lambda _: callback(),
            observer_name=f"irsim_isaac.on_stage_{event.lower()}",
        )
    ]
    return guards.clear


def on_update(callback: Callable[[], None]) -> Undo:
    """Call back with every update of the application, whether it plays or not.

    Args:
        callback: Called without arguments.

    Returns:
        A function that ends it.
    """
    import carb.eventdispatcher
    import omni.kit.app

    guards = [
        carb.eventdispatcher.get_eventdispatcher().observe_event(
            event_name=omni.kit.app.GLOBAL_EVENT_UPDATE,
            on_event=lambda _: callback(),
            observer_name="irsim_isaac.on_update",
        )
    ]
    return guards.clear


def kept(register: Callable[[], Undo]) -> Undo:
    """Register something now, and again whenever a stage opens.

    Isaac Sim clears physics step callbacks when a stage opens and when it closes; taking such a
    one back afterwards is an error in 5.1.

    Args:
        register: Registers it and returns what takes it back.

    Returns:
        A function that takes it back for good.
    """
    undo: list[Undo] = [register()]

    def renew() -> None:
        undo.clear()
        undo.append(register())

    guards = [on_stage("CLOSED", undo.clear), on_stage("OPENED", renew)]

    def end() -> None:
        while guards:
            guards.pop()()
        while undo:
            undo.pop()()

    return end
