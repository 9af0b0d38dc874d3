"""Fields that say what they mean and how ROS spells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

__all__ = ["EXTRA", "ROS", "SAYS", "flag", "many", "number", "part", "secret", "text", "whole"]

SAYS = "says"
"""The key of a field's meaning in its metadata."""

ROS = "ros"
"""The key of a field's type in ROS where the annotation does not tell it."""

EXTRA = "extra"
"""The key that marks a field of version 0.0.12, which the public contract lacks."""


def text(says: str, *, extra: bool = False) -> str:
    """Return a field that holds text."""
    return field(default="", metadata={SAYS: says, EXTRA: extra})  # type: ignore[no-any-return]


def number(says: str) -> float:
    """Return a field that holds a float64."""
    return field(default=0.0, metadata={SAYS: says})  # type: ignore[no-any-return]


def whole(says: str, *, ros: str = "int32") -> int:
    """Return a field that holds an integer of a ROS type."""
    return field(default=0, metadata={SAYS: says, ROS: ros})  # type: ignore[no-any-return]


def flag(says: str, *, extra: bool = False) -> bool:
    """Return a field that holds a truth value."""
    return field(default=False, metadata={SAYS: says, EXTRA: extra})  # type: ignore[no-any-return]


def part(cls: Callable[[], Any], says: str) -> Any:
    """Return a field that holds a message, by default a new one."""
    return field(default_factory=cls, metadata={SAYS: says})


def many(says: str, *, ros: str | None = None, extra: bool = False) -> Any:
    """Return a field that holds a list, by default a new and empty one."""
    return field(default_factory=list, metadata={SAYS: says, ROS: ros, EXTRA: extra})


def secret(default: Any, says: str, *, ros: str | None = None) -> Any:
    """Return a field that no ``repr`` shows."""
    return field(default=default, repr=False, metadata={SAYS: says, ROS: ros})
