"""The window among Kit's menus, actions and workspace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import omni.kit.actions.core

from irsim_isaac.kit.menu import add_menu_entry
from irsim_isaac.kit.window.bridge import Bridge

if TYPE_CHECKING:
    from irsim_isaac.kit.live_mirror import LiveMirror
    from irsim_isaac.kit.window.omni_ui import BridgeWindow

__all__ = ["SHOW_WINDOW", "Wiring"]

SHOW_WINDOW = "show_window"
"""The name of the action that opens and closes the window."""

_TITLE = "IR-SIM Bridge"


class Wiring:
    """Registers the panels' actions and, where there is a window, the window and its menu entry.

    Args:
        extension: The name of the extension.
        mirror: The live mirror of the extension.
        make_python: Begins to make the Python of IR-SIM.

    Attributes:
        bridge: The panels.
        window: The window while it is open; None while it is not.
    """

    def __init__(
        self,
        extension: str,
        mirror: LiveMirror | None = None,
        *,
        make_python: Callable[[], object] | None = None,
    ) -> None:
        self.window: BridgeWindow | None = None
        self._closing = False
        with ExitStack() as started:
            self.bridge = Bridge(mirror, make_python=make_python)
            started.callback(self.bridge.close)
            registry = omni.kit.actions.core.get_action_registry()
            for name, model, action in self.bridge.actions():
                registry.register_action(
                    extension,
                    name,
                    _pressing(model, action.name),
                    display_name=f"IR-SIM {model.panel.title}: {action.title}",
                    description=action.description,
                )
                started.callback(registry.deregister_action, extension, name)
            if has_window():
                started.callback(self._close_window)
                registry.register_action(
                    extension,
                    SHOW_WINDOW,
                    self.toggle,
                    display_name=_TITLE,
                    description="Open or close the window of the IR-SIM bridge",
                )
                started.callback(registry.deregister_action, extension, SHOW_WINDOW)
                started.callback(
                    add_menu_entry(_TITLE, (extension, SHOW_WINDOW), ticked=self.is_open)
                )
                started.callback(_shown_by_workspace(self.show))
            self._undo = started.pop_all()

    def is_open(self) -> bool:
        """Return whether the window is open."""
        return self.window is not None and not self._closing

    def toggle(self) -> None:
        """Open the window, or close it."""
        self.show(not self.is_open())

    def show(self, visible: bool) -> None:
        """Open or close the window; what is as wanted stays.

        Args:
            visible: Whether it is to be open.
        """
        if not visible:
            self._close_window()
            return
        if self._closing:
            self._close_window()
        if self.window is None:
            from irsim_isaac.kit.window.omni_ui import BridgeWindow

            self.window = BridgeWindow(self.bridge, self._hidden)

    def close(self) -> None:
        """Take everything away that was registered, and the window."""
        self._undo.close()

    def _hidden(self) -> None:
        """Take the window away with the next frame: it must not go while it tells of it."""
        self._closing = True
        self.bridge.on_look = self._close_window

    def _close_window(self) -> None:
        window, self.window = self.window, None
        self._closing = False
        if window is not None:
            window.destroy()


def has_window() -> bool:
    """Return whether this application has windows."""
    from importlib.util import find_spec

    return find_spec("omni.ui") is not None


def _pressing(model: Any, action: str) -> Callable[..., Any]:
    """Return what presses a button: keyword arguments are given to fields first."""

    def press(**values: object) -> Any:
        return model.press(action, **values)

    return press


def _shown_by_workspace(show: Callable[[bool], None]) -> Callable[[], None]:
    """Have layouts open the window by its title; return what takes that back."""
    import omni.ui

    omni.ui.Workspace.set_show_window_fn(_TITLE, show)

    def forget() -> None:
        omni.ui.Workspace.set_show_window_fn(_TITLE, None)

    return forget
