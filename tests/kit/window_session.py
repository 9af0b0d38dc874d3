"""The window on the double: frames that go on, buttons that are pressed, fields that are typed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.host import ROOT, Kit

STAGE = ROOT / "data" / "warehouse.usda"
LIDAR = "/World/RobotStart/Lidar"
ENTRY = "Tools/Robotics/IR-SIM Bridge"


class Session:
    """A person before the application.

    Args:
        kit: The application.
    """

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.app = kit.module("omni.kit.app").get_app()

    def start(self, stage: Path | None = STAGE) -> Session:
        """Enable the extension and open a stage."""
        self.kit.enable()
        if stage is not None:
            self.kit.open_stage(stage)
        return self

    @property
    def extension(self) -> Any:
        (extension,) = self.kit.extensions
        return extension

    @property
    def bridge(self) -> Any:
        return self.extension.wiring.bridge

    def panel(self, name: str) -> Any:
        return self.bridge.panels[name]

    def execute(self, action: str, **values: Any) -> Any:
        """Execute an action of Kit."""
        registry = self.kit.module("omni.kit.actions.core").get_action_registry()
        return registry.execute_action("irsim_isaac", action, **values)

    def timeline(self, what: str) -> None:
        getattr(self.kit.module("irsim_isaac.kit.application"), what)()

    @property
    def shown(self) -> list[tuple[int, str, list[Any]]]:
        """The notifications, newest last."""
        return list(self.kit.module("omni.kit.notification_manager").shown)

    # -------------------------------------------------------------- frames

    async def frame(self) -> None:
        self.app.update()
        await asyncio.sleep(0)

    async def until(self, reached: Callable[[], Any], seconds: float = 90.0) -> None:
        """Let frames go on until something is so."""
        end = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < end, f"not within {seconds} s"
            self.app.update()
            await asyncio.sleep(0.002)

    async def done(self, task: asyncio.Task[Any], seconds: float = 90.0) -> Any:
        """Let frames go on until a task has ended, and return what came of it."""
        await self.until(task.done, seconds)
        return task.result()

    # -------------------------------------------------------------- the window

    def open(self) -> Any:
        """Open the window by its menu entry, and return it."""
        self.kit.module("omni.kit.menu.utils").click(ENTRY)
        (window,) = self.kit.module("omni.ui").windows
        return window

    def widgets(self, panel: str, kind: str) -> list[Any]:
        """Return the widgets of a kind in the part of a panel."""
        ui = self.kit.module("omni.ui")
        (window,) = ui.windows
        title = self.panel(panel).panel.title
        (frame,) = (
            item
            for item in ui.widgets(window.frame)
            if type(item).__name__ == "CollapsableFrame" and item.title == title
        )
        return [item for item in ui.widgets(frame) if type(item).__name__ == kind]

    def button(self, panel: str, title: str) -> Any:
        return next(item for item in self.widgets(panel, "Button") if item.text == title)

    def field(self, panel: str, name: str) -> Any:
        """Return the widget of a field: they stand in the order of the description."""
        kinds = {"flag": "CheckBox", "choice": "ComboBox", "prim": "ComboBox"}
        model = self.panel(panel)
        wanted = model.panel.field(name)
        kind = kinds.get(wanted.kind, "StringField")
        same = [item for item in model.panel.fields if kinds.get(item.kind, "StringField") == kind]
        return self.widgets(panel, kind)[same.index(wanted)]

    def labels(self, panel: str) -> list[str]:
        """Return what stands on the labels of a panel that are shown."""
        return [item.text for item in self.widgets(panel, "Label") if item.visible and item.text]
