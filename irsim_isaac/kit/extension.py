"""What Kit starts and stops."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import carb
import carb.settings
import carb.tokens
import omni.ext
import omni.kit.actions.core

from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.application import register_simulator
from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.menu import add_menu_entry, notify
from irsim_isaac.kit.packages import (
    COMMANDS,
    MAPPING,
    MissingInIsaacSimError,
    install,
    install_command,
    missing,
)

__all__ = ["INSTALL_PACKAGES", "MAP_STAGE", "Extension"]

MAP_STAGE = "map_stage"
"""The name of the action that maps the open stage."""

INSTALL_PACKAGES = "install_packages"
"""The name of the action that installs what is missing; executing it is the yes."""

_TITLE = "IR-SIM: map the stage"
_OUTPUT_SETTING = "output_directory"


class Extension(omni.ext.IExt):
    """The extension: whatever its start registers, its end takes away in reverse order."""

    def on_startup(self, ext_id: str) -> None:
        """Register the actions and, where there is a menu, an entry in it.

        Args:
            ext_id: The extension's identifier, its version included.
        """
        self._name = omni.ext.get_extension_name(ext_id)
        self._installing: asyncio.Task[None] | None = None
        with ExitStack() as started:
            self._register(
                started,
                MAP_STAGE,
                self._map_open_stage,
                _TITLE,
                "Map the open stage and write its occupancy map and IR-SIM world",
            )
            self._register(
                started,
                INSTALL_PACKAGES,
                self._start_installing,
                "IR-SIM: install missing packages",
                "Install the packages that Isaac Sim's Python lacks, with pip",
            )
            started.callback(add_menu_entry(_TITLE, (self._name, MAP_STAGE)))
            if not missing(MAPPING):
                started.callback(register_simulator())
            self._undo = started.pop_all()
        self._tell_missing()

    def on_shutdown(self) -> None:
        """Take away everything that the start has registered."""
        if self._installing is not None:
            self._installing.cancel()
            self._installing = None
        self._undo.close()

    def _register(
        self, started: ExitStack, action: str, function: Any, title: str, description: str
    ) -> None:
        registry = omni.kit.actions.core.get_action_registry()
        registry.register_action(
            self._name, action, function, display_name=title, description=description
        )
        started.callback(registry.deregister_action, self._name, action)

    def _tell_missing(self) -> None:
        """Name what Isaac Sim's Python lacks, and offer to install it."""
        absent = missing(COMMANDS)
        if not absent:
            return
        message = (
            f"Isaac Sim's Python lacks {', '.join(absent)}; install with: {install_command(absent)}"
        )
        carb.log_warn(f"[{self._name}] {message}")
        notify(
            message,
            warning=True,
            buttons={"Install now": self._start_installing, "Not now": _nothing},
        )

    def _start_installing(self) -> None:
        """Install what is missing without holding up the window."""
        if self._installing is None or self._installing.done():
            self._installing = asyncio.ensure_future(self._install())

    async def _install(self) -> None:
        absent = missing(COMMANDS)
        if not absent:
            return
        try:
            said = await asyncio.get_running_loop().run_in_executor(None, install, absent)
        except MissingInIsaacSimError as error:
            self._fail(error)
            return
        self._undo.callback(register_simulator())
        carb.log_info(f"[{self._name}] {said}")
        notify(said)

    def _map_open_stage(
        self, directory: str | os.PathLike[str] | None = None, **options: Any
    ) -> MappedStage | None:
        """Map the open stage and say in the log and in the window how it went.

        Args:
            directory: The folder to write into; None for one named after the stage in the
                folder that the settings name.
            **options: What ``map_stage`` takes besides.

        Returns:
            What was written, or None where it could not be.
        """
        try:
            mapped = map_stage(directory or self._default_directory(), **options)
        except (IrsimIsaacError, OSError) as error:
            self._fail(error)
            return None
        left_out = len(mapped.report.omissions)
        message = f"wrote {mapped.map} and {mapped.world}; {left_out} prims were left out"
        carb.log_info(f"[{self._name}] {message}")
        notify(message)
        return mapped

    def _fail(self, error: Exception) -> None:
        carb.log_error(f"[{self._name}] {error}")
        notify(str(error), warning=True)

    def _default_directory(self) -> Path:
        setting = f"/exts/{self._name}/{_OUTPUT_SETTING}"
        folder = carb.settings.get_settings().get(setting)
        resolved = carb.tokens.get_tokens_interface().resolve(folder)
        layer = open_stage().GetRootLayer()
        return Path(resolved) / (Path(layer.realPath or layer.identifier).stem or "stage")


def _nothing() -> None:
    """Leave it at that."""
