"""The simulation of 6.x: callbacks of (dt, context), bound methods held weakly."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import carb
import omni.usd
from carb.eventdispatcher import get_eventdispatcher
from omni.kit.app import get_app
from omni.physx import world


class SimulationEvent(enum.Enum):
    PHYSICS_PRE_STEP = "isaacsim.physics_pre_step"
    PHYSICS_POST_STEP = "isaacsim.physics_post_step"
    SIMULATION_SETUP = "isaacsim.simulation_setup"
    SIMULATION_STARTED = "isaacsim.simulation_started"
    SIMULATION_STOPPED = "isaacsim.simulation_stopped"
    PRIM_DELETED = "isaacsim.prim_deleted"


class PhysicsStepContext:
    scene_path = ""


class SimulationManager:
    _next = 0
    _guards: ClassVar[list[Any]] = []

    @classmethod
    def register_callback(
        cls, callback: Callable[..., Any], event: Any, *, order: int = 0, **kwargs: Any
    ) -> int:
        assert event is SimulationEvent.PHYSICS_POST_STEP
        assert not kwargs, "no other argument is supported any longer"
        if hasattr(callback, "__self__"):
            owner, method = weakref.proxy(callback.__self__), callback.__name__

            def on_event(dt: float) -> Any:
                return getattr(owner, method)(dt, PhysicsStepContext())

        else:

            def on_event(dt: float) -> Any:
                return callback(dt, PhysicsStepContext())

        cls._next += 1
        world.step_callbacks[cls._next] = on_event
        return cls._next

    @classmethod
    def deregister_callback(cls, uid: int) -> bool:
        if uid not in world.step_callbacks:
            carb.log_warn(f"Unable to deregister callback with uid '{uid}'")
            return False
        assert not world.stepping, "Subscription cannot be changed during the event call"
        del world.step_callbacks[uid]
        return True

    @classmethod
    def setup_simulation(cls, dt: float | None = None, device: str | None = None) -> None:
        if dt is not None:
            world.set_dt(omni.usd.get_context().get_stage(), dt)

    @classmethod
    def get_physics_dt(cls, physics_scene: str | None = None) -> float:
        return world.dt(omni.usd.get_context().get_stage())

    @classmethod
    def get_simulation_time(cls) -> float:
        return world.time

    @classmethod
    def get_num_physics_steps(cls) -> int:
        return world.steps

    @classmethod
    def get_physics_simulation_view(cls) -> Any | None:
        return world if world.valid else None

    @classmethod
    def is_fabric_enabled(cls) -> bool:
        return get_app().get_extension_manager().is_extension_enabled("omni.physx.fabric")

    @classmethod
    def step(
        cls,
        *,
        steps: int = 1,
        callback: Callable[[int, int], bool | None] | None = None,
        update_fabric: bool = False,
    ) -> None:
        if update_fabric and not cls.is_fabric_enabled():
            raise ValueError("PhysX support for fabric is not enabled")
        for step in range(steps):
            world.step(cls.get_physics_dt())
            if update_fabric:
                world.show()
            if callback is not None and callback(step + 1, steps) is False:
                break


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
