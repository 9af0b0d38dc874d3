"""What the extension shows where Isaac Sim has a window; nothing where it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["add_menu_entry", "notify"]

_MENU = "Tools"
_SUBMENU = "Robotics"


def add_menu_entry(
    title: str, action: tuple[str, str], *, ticked: Callable[[], bool] | None = None
) -> Callable[[], None]:
    """Add an entry under Tools > Robotics.

    Args:
        title: The text of the entry.
        action: The extension and the name of the action that it runs.
        ticked: Says whether the entry is ticked, when the menu opens; None for one that never is.

    Returns:
        A function that takes the entry away again.
    """
    try:
        from omni.kit.menu.utils import MenuItemDescription, add_menu_items, remove_menu_items
    except ImportError:
        return _nothing
    items = [
        MenuItemDescription(
            name=_SUBMENU,
            sub_menu=[
                MenuItemDescription(
                    name=title,
                    ticked=ticked is not None,
                    ticked_fn=ticked,
                    onclick_action=action,
                )
            ],
        )
    ]
    add_menu_items(items, _MENU)

    def remove() -> None:
        remove_menu_items(items, _MENU)

    return remove


def notify(
    message: str,
    *,
    warning: bool = False,
    buttons: Mapping[str, Callable[[], object]] | None = None,
) -> None:
    """Show a line of text in the window.

    Args:
        message: The line.
        warning: Whether it is about something that went wrong.
        buttons: What each button under it does, by its text; with buttons the line stays until
            one is pressed.
    """
    try:
        from omni.kit.notification_manager import (
            NotificationButtonInfo,
            NotificationStatus,
            post_notification,
        )
    except ImportError:
        return
    status = NotificationStatus.WARNING if warning else NotificationStatus.INFO
    post_notification(
        message,
        hide_after_timeout=not (warning or buttons),
        status=status,
        button_infos=[
            NotificationButtonInfo(text, on_complete=pressed)
            for text, pressed in (buttons or {}).items()
        ],
    )


def _nothing() -> None:
    """Take nothing away where nothing was added."""
