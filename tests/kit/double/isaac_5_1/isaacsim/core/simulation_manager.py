"""The simulation of 5.1: callbacks of (dt), bound methods held weakly."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import omni.usd
from carb.eventdispatcher import get_eventdispatcher
from omni.physx import world


class IsaacEvents(enum.Enum):
    PHYSICS_WARMUP = "isaac.physics_warmup"
    PHYSICS_READY = "isaac.physics_ready"
    POST_RESET = "isaac.post_reset"
    PRIM_DELETION = "isaac.prim_deletion"
    PRE_PHYSICS_STEP = "isaac.pre_physics_step"
    POST_PHYSICS_STEP = "isaac.post_physics_step"
    TIMELINE_STOP = "isaac.timeline_stop"


class SimulationManager:
    _next = 0
    _guards: ClassVar[list[Any]] = []

    @classmethod
    def register_callback(
        cls, callback: Callable[..., Any], event: Any, order: int = 0, name: str | None = None
    ) -> int:
        assert event is IsaacEvents.POST_PHYSICS_STEP
        if hasattr(callback, "__self__"):
            owner, method = weakref.proxy(callback.__self__), callback.__name__

            def on_event(dt: float) -> Any:
                return getattr(owner, method)(dt)

        else:
            on_event = callback
        cls._next += 1
        world.step_callbacks[cls._next] = on_event
        return cls._next

    @classmethod
    def deregister_callback(cls, callback_id: int) -> None:
        if callback_id not in world.step_callbacks:
            raise Exception(f"callback with id {callback_id} is not registered")
        assert not world.stepping, "Subscription cannot be changed during the event call"
        del world.step_callbacks[callback_id]

    @classmethod
    def get_physics_dt(cls, physics_scene: str | None = None) -> float:
        return world.dt(omni.usd.get_context().get_stage())

    @classmethod
    def set_physics_dt(cls, dt: float = 1.0 / 60.0, physics_scene: str | None = None) -> None:
        world.set_dt(omni.usd.get_context().get_stage(), dt)

    @classmethod
    def get_simulation_time(cls) -> float:
        return world.time

    @classmethod
    def get_num_physics_steps(cls) -> int:
        return world.steps

    @classmethod
    def get_physics_sim_view(cls) -> Any:
        return world if world.valid else None

    @classmethod
    def step(cls, render: bool = False) -> None:
        world.step(cls.get_physics_dt())


def _clear(event: Any) -> None:
    world.step_callbacks.clear()


for _name in ("OPENED", "CLOSED"):
    SimulationManager._guards.append(
        get_eventdispatcher().observe_event(
            event_name=omni.usd.get_context().stage_event_name(
                getattr(omni.usd.StageEventType, _name)
            ),
            on_event=_clear,
            observer_name=f"SimulationManager._on_{_name}",
        )
    )
