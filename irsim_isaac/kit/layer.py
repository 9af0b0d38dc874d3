"""A layer of our own on the live stage, which goes without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["OwnLayer"]


class OwnLayer:
    """An anonymous layer under a stage's session layer.

    Isaac Sim authors on prims that it gives access to; none of that may end up in the user's
    file, nor stay in the session when it is no longer needed.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Any) -> None:
        from irsim_isaac.stage.usd import Sdf

        self._stage = stage
        self._layer = Sdf.Layer.CreateAnonymous("irsim_isaac.usda")
        stage.GetSessionLayer().subLayerPaths.insert(0, self._layer.identifier)

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Author into the layer for the length of a block."""
        from irsim_isaac.stage.usd import Usd

        with Usd.EditContext(self._stage, self._layer):
            yield

    def remove(self) -> None:
        """Take the layer away, and all that it holds with it; twice is no error."""
        paths = self._stage.GetSessionLayer().subLayerPaths
        if self._layer.identifier in paths:
            paths.remove(self._layer.identifier)
