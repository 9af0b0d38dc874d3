"""What was seen where."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Observation"]


@dataclass(frozen=True, slots=True)
class Observation:
    """An item that was seen on a surface.

    Attributes:
        surface: The name of the surface.
        item: What was seen.
        x: In the frame of the surface [m].
        y: In the frame of the surface [m].
        z: In the frame of the surface [m].
        theta: About z of the surface [rad].
        confidence: How sure the recogniser was.
        surface_frame_id: The frame of the surface.
        placement_surface_frame_id: The frame of the part that it stood on.
        time: When it was seen [s], UTC; None lets the store say now.
        removed: When it was gone [s], UTC; None while it is still there.
        id: What it is called in the store; 0 before it is kept.
    """

    surface: str
    item: str
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    theta: float = 0.0
    confidence: float = 1.0
    surface_frame_id: str = ""
    placement_surface_frame_id: str = ""
    time: float | None = None
    removed: float | None = None
    id: int = 0
