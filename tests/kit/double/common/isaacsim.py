"""The application of a standalone script."""

from __future__ import annotations

import sys
from typing import Any

started: list[SimulationApp] = []


class SimulationApp:
    def __init__(self, launch_config: dict[str, Any] | None = None, experience: str = "") -> None:
        early = {"omni.usd", "pxr"} & set(sys.modules) - _loaded_before
        assert not early, f"imported before SimulationApp: {early}"
        self.config = dict(launch_config or {})
        self.updates = 0
        self.closed = False
        started.append(self)

    def update(self) -> None:
        assert not self.closed
        self.updates += 1

    def is_running(self) -> bool:
        return not self.closed

    def close(self, wait_for_replicator: bool = True, skip_cleanup: bool = False) -> None:
        self.closed = True


_loaded_before = {name for name in sys.modules if name == "pxr"}
