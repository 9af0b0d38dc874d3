"""How much of a map a robot has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.map import Occupancy, reachable_cells
from irsim_isaac.msg import LaserScan
from irsim_isaac.robot import LidarMount

__all__ = ["Coverage", "explore"]


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """What one side saw of the map, over time.

    Shares are of the free cells of the map that can be reached from the start, so that all of
    them can be seen and a closed room counts for nothing.

    Attributes:
        times: [s], shape (n,).
        share: Explored so far, from 0 to 1, never falling, shape (n,).
        area: The same [m^2], shape (n,).
        explored: The cells seen by the end, shape (nx, ny).
        reachable: The cells that count, shape (nx, ny).
        skipped: How many states had no scan.
    """

    times: NDArray[np.float64]
    share: NDArray[np.float64]
    area: NDArray[np.float64]
    explored: NDArray[np.bool_]
    reachable: NDArray[np.bool_]
    skipped: int

    @property
    def final(self) -> float:
        """The share explored at the end, from 0 to 1."""
        return float(self.share[-1]) if len(self.share) else 0.0

    def time_to(self, share: float) -> float | None:
        """Return when a share was explored [s]; None where it never was."""
        reached = np.flatnonzero(self.share >= share - 1e-12)
        return float(self.times[reached[0]]) if reached.size else None


def explore(
    occupancy: Occupancy,
    times: ArrayLike,
    poses: ArrayLike,
    scans: Sequence[LaserScan | None],
    mount: LidarMount,
) -> Coverage:
    """Lift the fog of a map by the scans of a run.

    Args:
        occupancy: The map that both sides are judged by; its fog map is of its own shape.
        times: Of the scans [s], shape (n,).
        poses: x, y [m] and yaw [rad] of the robot at each scan, shape (n, 3).
        scans: The scans; None where there was none.
        mount: Where the lidar sits on the robot.

    Raises:
        MapFormatError: The robot does not start in a free cell.
    """
    rows = np.asarray(poses, float).reshape(-1, 3)
    reachable = reachable_cells(occupancy, (float(rows[0, 0]), float(rows[0, 1])))
    fog = occupancy.to_fog_map(known="fog")
    share, skipped = [], 0
    for pose, scan in zip(rows, scans, strict=True):
        if scan is None:
            skipped += 1
        else:
            fog.reveal_from_scan(scan, pose=tuple(pose.tolist()), mount=mount)
        share.append(fog.reachable_ratio(reachable))
    shares = np.array(share)
    return Coverage(
        times=np.asarray(times, float),
        share=shares,
        area=shares * np.count_nonzero(reachable) * occupancy.resolution**2,
        explored=np.array(fog.explored, bool),
        reachable=reachable,
        skipped=skipped,
    )
