"""A copy of the open stage, which other threads may read while the stage goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["OURS", "Snapshot", "take_snapshot"]

OURS = ("irsim_isaac_fog",)
"""Prims at the root of the live stage that are ours and no part of it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a stage, its session layer included.

    Attributes:
        layer: One layer with all of it, which nothing else changes.
    """

    layer: Any

    def stage(self) -> Any:
        """Return the copy as a stage."""
        from irsim_isaac.stage.usd import Usd

        return Usd.Stage.Open(self.layer)

    def starts(self) -> Mapping[str, tuple[float, float, float]]:
        """Return where its robots start: x, y [m] and yaw [rad] by name."""
        from irsim_isaac.stage import robot_starts

        return dict(robot_starts(self.stage()))


def take_snapshot(stage: Any) -> Snapshot:
    """Copy a stage as it stands; on the thread of the stage.

    Args:
        stage: The open stage.
    """
    layer = stage.Flatten()
    for name in OURS:
        if name in layer.rootPrims:
            del layer.rootPrims[name]
    return Snapshot(layer)
