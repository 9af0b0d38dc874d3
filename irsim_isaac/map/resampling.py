"""Grids of other cells: straightened, coarser, or grown."""

from __future__ import annotations

from irsim_isaac.map.occupancy import Occupancy

__all__ = ["straighten"]


def straighten(occupancy: Occupancy) -> Occupancy:
    """Return a grid whose axes are the world's."""
    return occupancy
