"""The base of every message."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["Message"]


def _builtin(value: Any) -> Any:
    """Return a value as JSON-compatible built-in values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _builtin(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_builtin(item) for item in value]
    return value


class Message:
    """The base of every message."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the complete message as JSON-compatible built-in values."""
        return {item.name: _builtin(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]
