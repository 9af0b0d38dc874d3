"""Lines of text shown in a corner of the window."""

from __future__ import annotations

from collections.abc import Callable


class NotificationStatus:
    WARNING = 0
    INFO = 1


class NotificationButtonInfo:
    def __init__(self, text: str, on_complete: Callable[[], None] | None = None) -> None:
        self.text = text
        self.handler = on_complete


shown: list[tuple[int, str, list[NotificationButtonInfo]]] = []


def post_notification(
    text: str,
    hide_after_timeout: bool = True,
    duration: int = 3,
    status: int = NotificationStatus.INFO,
    button_infos: list[NotificationButtonInfo] | None = None,
) -> None:
    shown.append((status, text, list(button_infos or [])))
