"""The values of the window as settings of Kit, kept between runs."""

from __future__ import annotations

import carb.settings

__all__ = ["ROOT", "keep", "kept_value"]

ROOT = "/exts/irsim_isaac/window"
"""Where the manifest says the defaults; Kit keeps what lies under ``/persistent`` between runs."""


def kept_value(panel: str, field: str) -> object:
    """Return what a field was left at, else what the settings say; None where neither does.

    Args:
        panel: The name of the panel.
        field: The name of the field.
    """
    settings = carb.settings.get_settings()
    kept = settings.get(f"/persistent{ROOT}/{panel}/{field}")
    value: object = settings.get(f"{ROOT}/{panel}/{field}") if kept is None else kept
    return value


def keep(panel: str, field: str, value: float | bool | str) -> None:
    """Keep the value of a field for the next run.

    Args:
        panel: The name of the panel.
        field: The name of the field.
        value: The value.
    """
    carb.settings.get_settings().set(f"/persistent{ROOT}/{panel}/{field}", value)
