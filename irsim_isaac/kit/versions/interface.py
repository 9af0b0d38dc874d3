"""What the extension needs of Isaac Sim, in one form for every version.

Poses are in the stage's own units and axes, quaternions scalar first (w, x, y, z), angular
velocities in rad/s: as Isaac Sim gives them. ``stage/units.py`` makes ours of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Articulation",
    "Bodies",
    "FrameSource",
    "Frames",
    "IsaacSim",
    "JointAttribute",
    "TimelineEvent",
    "Undo",
    "whole_rate_step",
]

Floats: TypeAlias = "npt.NDArray[np.float64]"

Undo: TypeAlias = "Callable[[], None]"
"""Takes back what was registered."""

TimelineEvent: TypeAlias = Literal["play", "pause", "stop"]

JointAttribute: TypeAlias = Literal["position", "velocity", "position_target", "velocity_target"]


FrameSource: TypeAlias = Literal["auto", "sensor", "annotator", "writer"]
"""How a lidar is read: by its sensor (6.x), by an annotator, or by a writer, which misses no frame.

``"auto"`` is the sensor where there is one, else the annotator.
"""


class Bodies(Protocol):
    """Rigid bodies by path, links of articulations among them, read all at once."""

    def poses(self) -> tuple[Floats, Floats]:
        """Return positions [stage units], shape (N, 3), and quaternions wxyz, shape (N, 4)."""
        ...

    def velocities(self) -> tuple[Floats, Floats]:
        """Return how they move, each of shape (N, 3).

        The linear velocity [stage units/s] is that of the centre of mass, the angular one
        is in rad/s.
        """
        ...

    def mass_centres(self) -> Floats:
        """Return the centre of mass in each body's frame [stage units], shape (N, 3)."""
        ...

    def set_pose(self, index: int, position: Floats, quaternion: Floats) -> None:
        """Put one body at a position and a quaternion wxyz."""
        ...

    def set_velocity(self, index: int, linear: Floats, angular: Floats) -> None:
        """Give one body a velocity."""
        ...


class Articulation(Protocol):
    """A robot of links and joints, by the path of its root."""

    def set_pose(self, position: Floats, quaternion: Floats) -> None:
        """Put its root link at a position and a quaternion wxyz; its joints stay as they are."""
        ...

    def set_velocity(self, linear: Floats, angular: Floats) -> None:
        """Give its root link a velocity."""
        ...

    def joint_positions(self, names: Sequence[str]) -> Floats:
        """Return the positions [rad, or stage units] of joints by name, shape (N,)."""
        ...

    def set_joints(self, attribute: JointAttribute, names: Sequence[str], values: Floats) -> None:
        """Set positions, velocities or targets [rad, or stage units; a second] by name."""
        ...


class Frames(Protocol):
    """What a lidar sends out, frame by frame."""

    @property
    def dropped(self) -> int:
        """How many frames were let go of because too many were waiting."""
        ...

    def read(self) -> Sequence[npt.NDArray[np.uint8]]:
        """Return the bytes of each GenericModelOutput to be taken up, copied once.

        An annotator has the last frame, which may be one that was read before; a writer has
        every frame since the last reading. There may be none.
        """
        ...

    def close(self) -> None:
        """Detach from the lidar."""
        ...


class IsaacSim(Protocol):
    """The Isaac Sim of this process."""

    @property
    def version(self) -> str:
        """Its version, such as ``"6.0.1"``."""
        ...

    def on_physics_step(self, callback: Callable[[float], None]) -> Undo:
        """Call back after each physics step with its length [s], until a stage opens or closes.

        The callback is held strongly, whatever it is bound to.
        """
        ...

    def on_timeline(self, event: TimelineEvent, callback: Callable[[], None]) -> Undo:
        """Call back when the simulation is played, paused or stopped."""
        ...

    def physics_step_time(self) -> float:
        """Return the length of a physics step [s]."""
        ...

    def set_physics_step_time(self, seconds: float) -> None:
        """Set the length of a physics step [s]; the simulation must be stopped."""
        ...

    def simulation_time(self) -> float:
        """Return the time since the simulation was played [s]."""
        ...

    def step(self) -> None:
        """Take one physics step and show it to the renderer, without rendering a frame."""
        ...

    def update_links(self) -> None:
        """Bring the links of articulations to where their roots and joints have been put."""
        ...

    def bodies(self, paths: Sequence[str]) -> Bodies:
        """Return rigid bodies by path; the simulation must be playing or paused."""
        ...

    def articulation(self, path: str) -> Articulation:
        """Return a robot by the path of its root; the simulation must be playing or paused."""
        ...

    def frames(self, path: str, source: FrameSource = "auto") -> Frames:
        """Return the output of the OmniLidar prim at a path."""
        ...

    def labels(self, prim: Any) -> Mapping[str, Sequence[str]]:
        """Return the semantic labels of a prim by taxonomy, its own only."""
        ...


def whole_rate_step(seconds: float) -> float:
    """Return the physics step to ask for so that Isaac Sim keeps its rate.

    Isaac Sim cuts ``1 / seconds`` to a whole number of steps a second, which makes 92 of
    1 / 93; a step that is shorter by a billionth is cut to the rate that was meant.

    Args:
        seconds: The step that is meant [s].
    """
    return seconds * (1.0 - 1e-9)
