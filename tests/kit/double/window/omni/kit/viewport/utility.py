"""The active viewport: frames laid over it, and what lies under a pixel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni.ui import Frame

SIZE = (1280, 720)


class ViewportAPI:
    """A camera that looks straight down on 16 x 9 stage units around the origin."""

    def __init__(self) -> None:
        self.scene_views: list[Any] = []
        self.waiting: list[tuple[tuple[int, int], Callable[..., None]]] = []
        self.met: tuple[str, tuple[float, float, float] | None] | None = None

    def add_scene_view(self, scene_view: Any) -> None:
        self.scene_views.append(scene_view)

    def remove_scene_view(self, scene_view: Any) -> None:
        self.scene_views.remove(scene_view)

    def map_ndc_to_texture_pixel(self, mouse: tuple[float, float]) -> tuple[Any, Any]:
        x, y = mouse
        if not (-1 <= x <= 1 and -1 <= y <= 1):
            return None, None
        return (int((x + 1) / 2 * SIZE[0]), int((1 - y) / 2 * SIZE[1])), self

    def request_query(
        self, pixel: tuple[int, int], callback: Callable[..., None], query_name: str = ""
    ) -> None:
        assert query_name
        self.waiting.append((pixel, callback))

    def answer(self) -> None:
        """Answer what was asked, as the renderer does a few frames later."""
        for (column, row), callback in self.waiting:
            x, y = (column / SIZE[0] - 0.5) * 16, (0.5 - row / SIZE[1]) * 9
            path, point = self.met if self.met is not None else ("/World/Ground", (x, y, 0.0))
            callback(path, point, (column, row))
        self.waiting = []


class ViewportWindow:
    def __init__(self) -> None:
        self.viewport_api = ViewportAPI()
        self.frames: dict[str, Frame] = {}

    def get_frame(self, name: str) -> Frame:
        return self.frames.setdefault(name, Frame())


_window: ViewportWindow | None = ViewportWindow()


def get_active_viewport_window(
    window_name: str | None = None, usd_context_name: str = ""
) -> ViewportWindow | None:
    return _window
