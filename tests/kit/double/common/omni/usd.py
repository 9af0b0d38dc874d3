"""The stage that is open, and its events."""

from __future__ import annotations

import enum
from typing import Any

from carb.eventdispatcher import get_eventdispatcher
from pxr import Sdf, Tf, Usd, UsdUtils


class StageEventType(enum.Enum):
    OPENED = 2
    CLOSING = 4
    CLOSED = 5
    ASSETS_LOADED = 8
    SIMULATION_START_PLAY = 11
    SIMULATION_STOP_PLAY = 12


class UsdContext:
    def __init__(self) -> None:
        self._stage: Usd.Stage | None = None
        self._loading = 0

    def stage_event_name(self, event: StageEventType) -> str:
        return f"omni.usd.stage_event.{event.name.lower()}"

    def get_stage(self) -> Usd.Stage | None:
        return self._stage

    def get_stage_id(self) -> int:
        return UsdUtils.StageCache.Get().GetId(self._stage).ToLongInt() if self._stage else 0

    def get_stage_loading_status(self) -> tuple[str, int, int]:
        """Assets go on loading for two more looks after a stage has opened."""
        left = self._loading
        self._loading = max(0, left - 1)
        return "", 0, left

    def open_stage(self, url: str) -> bool:
        try:
            root = Sdf.Layer.FindOrOpen(url)
        except Tf.ErrorException:
            return False
        if root is None:
            return False
        self._attach(Usd.Stage.Open(root))
        return True

    def new_stage(self) -> bool:
        self._attach(Usd.Stage.CreateInMemory())
        return True

    def can_close_stage(self) -> bool:
        return self._stage is not None

    def close_stage(self) -> bool:
        if self._stage is None:
            return False
        self._dispatch(StageEventType.CLOSING)
        UsdUtils.StageCache.Get().Erase(self._stage)
        self._stage = None
        self._dispatch(StageEventType.CLOSED)
        return True

    def _attach(self, stage: Usd.Stage) -> None:
        self.close_stage()
        self._stage = stage
        self._loading = 2
        UsdUtils.StageCache.Get().Insert(stage)
        self._dispatch(StageEventType.OPENED)
        self._dispatch(StageEventType.ASSETS_LOADED)

    def _dispatch(self, event: StageEventType, payload: dict[str, Any] | None = None) -> None:
        get_eventdispatcher().dispatch_event(self.stage_event_name(event), payload or {})


_context = UsdContext()


def get_context() -> UsdContext:
    return _context
