"""What is laid over a viewport: a screen that takes clicks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from omni.ui import Container, Widget


class ClickGesture:
    def __init__(
        self,
        on_ended_fn: Callable[[Any], None] | None = None,
        mouse_button: int = 0,
        modifiers: int = 0,
        name: str = "",
        manager: Any = None,
    ) -> None:
        self.on_ended_fn = on_ended_fn


class Screen(Widget):
    takes = frozenset({"gesture", "gestures"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gesture = kwargs["gesture"]

    def click(self, x: float, y: float) -> None:
        """Click where the viewport is x, y, each from -1 to 1."""
        self.gesture.on_ended_fn(SimpleNamespace(gesture_payload=SimpleNamespace(mouse=(x, y))))


class SceneView(Container):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self:
            self._scene = Container()

    @property
    def scene(self) -> Container:
        return self._scene
