"""The application of a standalone script."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any

__path__ = pkgutil.extend_path(__path__, __name__)

_loaded_before = {name for name in sys.modules if name.partition(".")[0] in {"omni", "pxr"}}

started: list[SimulationApp] = []


class SimulationApp:
    def __init__(self, launch_config: dict[str, Any] | None = None, experience: str = "") -> None:
        loaded = {name for name in sys.modules if name.partition(".")[0] in {"omni", "pxr"}}
        assert loaded <= _loaded_before, f"imported before SimulationApp: {loaded}"
        self.config = dict(launch_config or {})
        self.updates = 0
        self.closed = False
        started.append(self)

    def update(self) -> None:
        from omni.kit.app import get_app

        assert not self.closed
        self.updates += 1
        get_app().update()

    def is_running(self) -> bool:
        return not self.closed

    def close(self, wait_for_replicator: bool = True, skip_cleanup: bool = False) -> None:
        self.closed = True
