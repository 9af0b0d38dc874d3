"""A host process for the extension: the Kit double's modules, and enabling and disabling."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.simulators import IrsimSimulator, register, unregister

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DOUBLE = Path(__file__).resolve().parent / "double"

_FOREIGN = ("carb", "omni", "isaacsim", "physics_schema_tools")


def _is_foreign(name: str) -> bool:
    return (
        name.split(".", maxsplit=1)[0] in _FOREIGN
        or name == "pxr.PhysicsSchemaTools"
        or name.startswith("irsim_isaac.kit")
    )


class Kit:
    """The process that the extension is enabled in.

    Args:
        release: The version of Isaac Sim, ``"5_1"`` or ``"6"``.
        window: Whether the application has a window.
        documents: What ``${omni_documents}`` stands for, and ``${omni_data}`` lies in it.
    """

    def __init__(self, release: str, *, window: bool, documents: Path) -> None:
        self.release = release
        self.window = window
        self._enabled: list[Any] = []
        self.module("carb.tokens").values["omni_documents"] = str(documents)
        self.module("carb.tokens").values["omni_data"] = str(documents / "data")

    def module(self, name: str) -> Any:
        """Import a module of the double."""
        return importlib.import_module(name)

    def open_stage(self, path: Path) -> Any:
        """Open a stage as File > Open does, and return it."""
        context = self.module("omni.usd").get_context()
        assert context.open_stage(str(path))
        return context.get_stage()

    def enable(self, folder: Path = ROOT, name: str = "irsim_isaac") -> None:
        """Enable the extension of a folder as Kit does: settings, modules, ``on_startup``."""
        manifest = tomllib.loads((folder / "config" / "extension.toml").read_text())
        settings = self.module("carb.settings").get_settings()
        for path, value in _leaves(manifest["settings"]):
            settings.set_default("/" + path, value)
        ext_id = f"{name}-{manifest['package']['version']}"
        base = self.module("omni.ext").IExt
        for entry in manifest["python"]["module"]:
            module = self.module(entry["name"])
            for value in list(vars(module).values()):
                if isinstance(value, type) and issubclass(value, base) and value is not base:
                    extension = value()
                    extension.on_startup(ext_id)
                    self._enabled.append(extension)

    def disable(self) -> None:
        """Disable it and forget its modules, as a hot reload does."""
        while self._enabled:
            self._enabled.pop().on_shutdown()
        for name in [name for name in sys.modules if name.startswith("irsim_isaac.kit")]:
            del sys.modules[name]

    @property
    def extensions(self) -> list[Any]:
        """The extensions that are running."""
        return list(self._enabled)

    def registered(self) -> dict[str, list[Any]]:
        """Everything of others that is registered with the host now, by kind."""
        found: dict[str, list[Any]] = {}

        def add(kind: str, module: str, items: Callable[[Any], Iterable[Any]]) -> None:
            found[kind] = list(items(sys.modules[module])) if module in sys.modules else []

        add(
            "actions",
            "omni.kit.actions.core",
            lambda module: module.get_action_registry().get_all_actions(),
        )
        add(
            "observers",
            "carb.eventdispatcher",
            lambda module: [
                item
                for item in module.get_eventdispatcher().observers.values()
                if not item[-1].startswith("SimulationManager.")
            ],
        )
        add(
            "menus",
            "omni.kit.menu.utils",
            lambda module: [items for lists in module.menus.values() for items in lists],
        )
        add("physics steps", "omni.physx", lambda module: module.world.step_callbacks.values())
        add(
            "timeline",
            "omni.timeline_double",
            lambda module: (
                module.get_timeline_interface().get_timeline_event_stream().subscribers.values()
            ),
        )
        add("annotators", "omni.replicator.core", lambda module: module.attached)
        add("render products", "omni.replicator.core", lambda module: module.products.values())
        return found

    @property
    def log(self) -> list[tuple[str, str]]:
        """The lines of the log as (level, text)."""
        return list(self.module("carb").lines)


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value


@contextmanager
def hosted(release: str, *, window: bool, documents: Path) -> Iterator[Kit]:
    """Put the double's modules on the search path, and take every trace of them away after."""
    folders = ["common", f"isaac_{release}", *(["window"] if window else [])]
    _forget()
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(str(DOUBLE / folder))
        try:
            kit = Kit(release, window=window, documents=documents)
            yield kit
            kit.disable()
            if "omni.timeline_double" in sys.modules:
                timeline = kit.module("omni.timeline_double").get_timeline_interface()
                timeline.stop()
                timeline.commit()
            kit.module("omni.usd").get_context().close_stage()
        finally:
            _forget()
            # Scripts leave them to the end of their process.
            unregister("isaac")
            register("irsim", IrsimSimulator, replace=True)


def _forget() -> None:
    for name in [name for name in sys.modules if _is_foreign(name)]:
        del sys.modules[name]
    importlib.invalidate_caches()
