"""Picking a point of the stage by a click into the viewport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irsim_isaac.errors import StageError
from irsim_isaac.kit.mapping import open_stage

__all__ = ["Pick"]

_NAME = "irsim_isaac.pick"


class Pick:
    """Waits for one click into the active viewport.

    Args:
        picked: Called with the point [m], z up, that was met, or None where nothing was.

    Raises:
        StageError: No stage is open, or there is no viewport.
    """

    def __init__(self, picked: Callable[[tuple[float, float, float] | None], None]) -> None:
        open_stage()
        try:
            import omni.ui.scene
            from omni.kit.viewport.utility import get_active_viewport_window
        except ImportError:
            raise StageError(
                "there is no viewport in this application; type the seeds as 'x, y; x, y'"
            ) from None
        window = get_active_viewport_window()
        if window is None:
            raise StageError("no viewport is open; open one with Window > Viewport")
        self._picked: Callable[[tuple[float, float, float] | None], None] | None = picked
        self._window = window
        self._frame = window.get_frame(_NAME)
        self._frame.visible = True
        with self._frame:
            self._view = omni.ui.scene.SceneView()
            with self._view.scene:
                omni.ui.scene.Screen(gesture=omni.ui.scene.ClickGesture(self._clicked))
        window.viewport_api.add_scene_view(self._view)

    def close(self) -> None:
        """Wait no longer; twice is no error."""
        self._picked = None
        if self._view is not None:
            self._window.viewport_api.remove_scene_view(self._view)
            self._view = None
            self._frame.clear()
            self._frame.visible = False

    def _clicked(self, sender: Any) -> None:
        """Ask what lies under a click."""
        api = self._window.viewport_api
        pixel, inside = api.map_ndc_to_texture_pixel(sender.gesture_payload.mouse)
        if pixel is None or inside is None:
            self._tell(None)
            return
        self._window.viewport_api.request_query(pixel, self._answered, query_name=_NAME)

    def _answered(self, path: str, position: Any, *_: Any) -> None:
        """Take up what the viewport says: a prim and a point of the stage."""
        if self._picked is None:
            return
        if not path or position is None:
            self._tell(None)
            return
        from irsim_isaac.stage import stage_units

        x, y, z = (float(value) for value in position)
        self._tell(stage_units(open_stage()).point(x, y, z))

    def _tell(self, point: tuple[float, float, float] | None) -> None:
        if self._picked is not None:
            self._picked(point)
