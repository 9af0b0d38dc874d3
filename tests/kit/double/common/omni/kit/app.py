"""The application: an update plays the timeline for a frame and renders it."""

from __future__ import annotations

import omni.timeline
import omni.usd
from carb.eventdispatcher import get_eventdispatcher
from carb.settings import get_settings
from omni.physx import world

FRAME_TIME = 1.0 / 60.0
GLOBAL_EVENT_UPDATE = "update"


class ExtensionManager:
    def __init__(self) -> None:
        self.enabled = {"omni.physx.fabric", "omni.replicator.core"}

    def is_extension_enabled(self, ext_name: str) -> bool:
        return ext_name in self.enabled

    def set_extension_enabled_immediate(self, extension_id: str, enabled: bool) -> bool:
        if enabled:
            self.enabled.add(extension_id)
        else:
            self.enabled.discard(extension_id)
        return True


class IApp:
    def __init__(self) -> None:
        self.updates = 0
        self._extensions = ExtensionManager()

    def get_extension_manager(self) -> ExtensionManager:
        return self._extensions

    def update(self) -> None:
        timeline = omni.timeline.get_timeline_interface()
        timeline.commit()
        simulating = get_settings().get("/app/player/playSimulations") is not False
        stage = omni.usd.get_context().get_stage()
        if timeline.is_playing() and simulating and stage is not None:
            dt = world.dt(stage)
            for _ in range(max(1, round(FRAME_TIME / dt))):
                world.step(dt)
            world.show()
        self.updates += 1
        get_eventdispatcher().dispatch_event(GLOBAL_EVENT_UPDATE)
        for render in list(world.rendered):
            render()


_app = IApp()


def get_app() -> IApp:
    return _app
