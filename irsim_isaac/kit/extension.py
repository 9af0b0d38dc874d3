"""What Kit starts and stops."""

from __future__ import annotations

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
from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.menu import add_menu_entry, notify
from irsim_isaac.kit.packages import COMMANDS, install_command, missing

__all__ = ["MAP_STAGE", "Extension"]

MAP_STAGE = "map_stage"
"""The name of the action that maps the open stage."""

_TITLE = "IR-SIM: map the stage"
_OUTPUT_SETTING = "output_directory"


class Extension(omni.ext.IExt):
    """The extension: whatever its start registers, its end takes away in reverse order."""

    def on_startup(self, ext_id: str) -> None:
        """Register the action and, where there is a menu, its entry.

        Args:
            ext_id: The extension's identifier, its version included.
        """
        self._name = omni.ext.get_extension_name(ext_id)
        with ExitStack() as started:
            self._register_action(started)
            started.callback(add_menu_entry(_TITLE, (self._name, MAP_STAGE)))
            self._undo = started.pop_all()
        absent = missing(COMMANDS)
        if absent:
            carb.log_warn(
                f"[{self._name}] Isaac Sim's Python lacks {', '.join(absent)}; install with: "
                f"{install_command(absent)}"
            )

    def on_shutdown(self) -> None:
        """Take away everything that the start has registered."""
        self._undo.close()

    def _register_action(self, started: ExitStack) -> None:
        registry = omni.kit.actions.core.get_action_registry()
        registry.register_action(
            self._name,
            MAP_STAGE,
            self._map_open_stage,
            display_name=_TITLE,
            description="Map the open stage and write its occupancy map and IR-SIM world",
        )
        started.callback(registry.deregister_action, self._name, MAP_STAGE)

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
            carb.log_error(f"[{self._name}] {error}")
            notify(str(error), warning=True)
            return None
        left_out = len(mapped.report.omissions)
        message = f"wrote {mapped.map} and {mapped.world}; {left_out} prims were left out"
        carb.log_info(f"[{self._name}] {message}")
        notify(message)
        return mapped

    def _default_directory(self) -> Path:
        setting = f"/exts/{self._name}/{_OUTPUT_SETTING}"
        folder = carb.settings.get_settings().get(setting)
        resolved = carb.tokens.get_tokens_interface().resolve(folder)
        layer = open_stage().GetRootLayer()
        return Path(resolved) / (Path(layer.realPath or layer.identifier).stem or "stage")
