"""What a robot did: its poses and speeds over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.msg import ObjectState, WorldState

__all__ = ["Trajectory", "find_object", "wrap_angle"]


def wrap_angle(angle: ArrayLike) -> NDArray[np.float64]:
    """Return angles [rad] in (-pi, pi]."""
    return -np.remainder(-np.asarray(angle, float) + np.pi, 2 * np.pi) + np.pi


def find_object(state: WorldState, name: str) -> ObjectState:
    """Return an object of a state by its name.

    Raises:
        ScenarioError: The state has no such object.
    """
    for item in state.objects:
        if item.name == name:
            return item
    raise ScenarioError(
        f"the state at {state.header.stamp:g} s has no object '{name}'; it has: "
        f"{', '.join(item.name for item in state.objects) or 'none'}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Planar poses over time.

    Attributes:
        times: [s], shape (n,).
        poses: x, y [m] and yaw [rad] in the world frame, shape (n, 3).
        twists: forward, left [m/s] and counter-clockwise [rad/s] in the base frame, shape
            (n, 3).
    """

    times: NDArray[np.float64]
    poses: NDArray[np.float64]
    twists: NDArray[np.float64]

    @classmethod
    def from_poses(cls, times: ArrayLike, poses: ArrayLike) -> Trajectory:
        """Make one of poses alone, standing still at each.

        Args:
            times: [s], shape (n,).
            poses: x, y [m] and yaw [rad], shape (n, 3).
        """
        rows = np.asarray(poses, float).reshape(-1, 3)
        return cls(np.asarray(times, float), rows, np.zeros_like(rows))

    @classmethod
    def from_states(cls, states: Sequence[WorldState], name: str) -> Trajectory:
        """Make one of an object's odometry.

        Args:
            states: The states of one simulator.
            name: The object.
        """
        rows = []
        for state in states:
            odom = find_object(state, name).odom
            pose, twist = odom.pose.pose, odom.twist.twist
            rows.append(
                (
                    state.header.stamp,
                    pose.position.x,
                    pose.position.y,
                    pose.orientation.to_yaw(),
                    twist.linear.x,
                    twist.linear.y,
                    twist.angular.z,
                )
            )
        table = np.array(rows, float).reshape(-1, 7)
        return cls(table[:, 0], table[:, 1:4], table[:, 4:7])

    def __len__(self) -> int:
        return len(self.times)

    def take(self, indices: NDArray[np.int64]) -> Trajectory:
        """Return the poses at some indices."""
        return Trajectory(self.times[indices], self.poses[indices], self.twists[indices])

    @property
    def length(self) -> float:
        """The length of the path [m]."""
        return float(np.hypot(*np.diff(self.poses[:, :2], axis=0).T).sum())
