"""What Kit starts and stops."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import carb
import carb.settings
import carb.tokens
import omni.ext
import omni.kit.actions.core

from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.application import register_simulator
from irsim_isaac.kit.irsim_process import IrsimAbsentError, environment_folder, make_environment
from irsim_isaac.kit.live_mirror import LiveMirror, close_mirrors
from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.menu import add_menu_entry, notify
from irsim_isaac.kit.packages import (
    MAPPING,
    install,
    install_command,
    missing,
)
from irsim_isaac.kit.window.wiring import Wiring

if TYPE_CHECKING:
    from irsim_isaac.mirror import Direction

__all__ = [
    "CANCEL_IRSIM_ENVIRONMENT",
    "INSTALL_PACKAGES",
    "MAKE_IRSIM_ENVIRONMENT",
    "MAP_STAGE",
    "RESUME_MIRROR",
    "START_MIRROR",
    "STOP_MIRROR",
    "Extension",
]

MAP_STAGE = "map_stage"
"""The name of the action that maps the open stage."""

INSTALL_PACKAGES = "install_packages"
"""The name of the action that installs what is missing; executing it is the yes."""

MAKE_IRSIM_ENVIRONMENT = "make_irsim_environment"
"""The name of the action that makes the Python of IR-SIM; executing it is the yes."""

CANCEL_IRSIM_ENVIRONMENT = "cancel_irsim_environment"
"""The name of the action that breaks that off."""

START_MIRROR = "start_mirror"
"""The name of the action that starts IR-SIM beside the open stage and mirrors."""

STOP_MIRROR = "stop_mirror"
"""The name of the action that ends the mirror and IR-SIM's process."""

RESUME_MIRROR = "resume_mirror"
"""The name of the action that takes up an IR-SIM that was lost."""

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
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._making_given_up = threading.Event()
        self._maker = ThreadPoolExecutor(1, "irsim_isaac environment")
        self._simulator_known = False
        self.mirror = LiveMirror()
        with ExitStack() as started:
            started.callback(close_mirrors)
            for action, function, title, description in (
                (
                    MAP_STAGE,
                    self._map_open_stage,
                    _TITLE,
                    "Map the open stage and write its occupancy map and IR-SIM world",
                ),
                (
                    INSTALL_PACKAGES,
                    self._start_installing,
                    "IR-SIM: install missing packages",
                    "Install the packages that Isaac Sim's Python lacks, with pip",
                ),
                (
                    MAKE_IRSIM_ENVIRONMENT,
                    self._start_making,
                    "IR-SIM: make its Python",
                    "Make the virtual environment that IR-SIM runs in, with pip",
                ),
                (
                    CANCEL_IRSIM_ENVIRONMENT,
                    self._give_making_up,
                    "IR-SIM: stop making its Python",
                    "Break off the making of IR-SIM's virtual environment",
                ),
                (
                    START_MIRROR,
                    self._start_mirror,
                    "IR-SIM: mirror the stage",
                    "Start IR-SIM beside the open stage and keep both in step",
                ),
                (
                    STOP_MIRROR,
                    self.mirror.stop,
                    "IR-SIM: stop the mirror",
                    "End the mirror and IR-SIM's process",
                ),
                (
                    RESUME_MIRROR,
                    self._resume_mirror,
                    "IR-SIM: resume the mirror",
                    "Start a lost IR-SIM again at its last whole state and go on",
                ),
            ):
                self._register(started, action, function, title, description)
            started.callback(add_menu_entry(_TITLE, (self._name, MAP_STAGE)))
            self.wiring = Wiring(self._name, self.mirror, make_python=self._start_making)
            started.callback(self.wiring.close)
            self._make_simulator_known(started)
            self._undo = started.pop_all()
        self._tell_missing()

    def on_shutdown(self) -> None:
        """Take away everything that the start has registered."""
        self._making_given_up.set()
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._undo.close()
        # No pip may outlive the extension.
        self._maker.shutdown()

    def _make_simulator_known(self, started: ExitStack) -> None:
        """Register the live simulator, where what it needs is there."""
        if not missing(MAPPING):
            started.callback(register_simulator())
            self._simulator_known = True

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
        absent = missing()
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

    def _spawn(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Do something on a task, unless it is being done; return whether it was begun."""
        running = self._tasks.get(name)
        if running is not None and not running.done():
            return False
        self._tasks[name] = asyncio.ensure_future(self._told(work))
        return True

    async def _told(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something and tell of what goes wrong."""
        try:
            await work()
        except IrsimAbsentError as error:
            self._fail(error, {"Make it now": self._start_making, "Not now": _nothing})
        except (IrsimIsaacError, OSError) as error:
            self._fail(error)

    def _start_mirror(self, direction: Direction = "follow", **options: Any) -> bool:
        """Start the mirror without holding up the window.

        Args:
            direction: Who moves whom.
            **options: What ``LiveMirror.start`` takes besides.

        Returns:
            Whether it was begun.
        """
        return self._spawn(START_MIRROR, lambda: self.mirror.start_async(direction, **options))

    def _resume_mirror(self) -> bool:
        """Resume the mirror without holding up the window; return whether it was begun."""
        return self._spawn(RESUME_MIRROR, self.mirror.resume_async)

    def _start_making(self) -> bool:
        """Make IR-SIM's environment without holding up the window; say whether it was begun."""
        return self._spawn(MAKE_IRSIM_ENVIRONMENT, self._make)

    def _give_making_up(self) -> None:
        self._making_given_up.set()

    async def _make(self) -> None:
        given_up = self._making_given_up = threading.Event()
        notify(
            f"making IR-SIM's Python in {environment_folder()}; this takes minutes",
            buttons={"Cancel": self._give_making_up},
        )
        making = self._maker.submit(
            make_environment, progress=self._log_progress, cancelled=given_up
        )
        python = await asyncio.wrap_future(making)
        self._say(f"made {python}; IR-SIM can be started now")

    def _log_progress(self, done: int, total: int, what: str) -> None:
        carb.log_info(f"[{self._name}] {done} of {total}: {what}")

    def _start_installing(self) -> bool:
        """Install what is missing without holding up the window; say whether it was begun."""
        return self._spawn(INSTALL_PACKAGES, self._install)

    async def _install(self) -> None:
        absent = missing()
        if not absent:
            return
        said = await asyncio.get_running_loop().run_in_executor(None, install, absent)
        if not self._simulator_known:
            self._make_simulator_known(self._undo)
        self._say(said)

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
        self._say(message)
        return mapped

    def _say(self, message: str) -> None:
        carb.log_info(f"[{self._name}] {message}")
        notify(message)

    def _fail(
        self, error: Exception, buttons: Mapping[str, Callable[[], object]] | None = None
    ) -> None:
        carb.log_error(f"[{self._name}] {error}")
        notify(str(error), warning=True, buttons=buttons)

    def _default_directory(self) -> Path:
        setting = f"/exts/{self._name}/{_OUTPUT_SETTING}"
        folder = carb.settings.get_settings().get(setting)
        resolved = carb.tokens.get_tokens_interface().resolve(folder)
        layer = open_stage().GetRootLayer()
        return Path(resolved) / (Path(layer.realPath or layer.identifier).stem or "stage")


def _nothing() -> None:
    """Leave it at that."""
