"""How much of a map a robot has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import LaserScan
from irsim_isaac.robot import LidarMount

__all__ = ["Coverage", "explore", "reachable_cells"]


def reachable_cells(free: ArrayLike, start: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the free cells that can be reached from a cell over shared edges.

    Args:
        free: Which cells are free, shape (nx, ny).
        start: ix, iy of a free cell.

    Returns:
        Shape (nx, ny).

    Raises:
        ScenarioError: The start lies outside the map or is not free.
    """
    open_cells = np.asarray(free, bool)
    shape = open_cells.shape
    if not (0 <= start[0] < shape[0] and 0 <= start[1] < shape[1]):
        raise ScenarioError(f"the start cell {start} lies outside the map of {shape} cells")
    if not open_cells[start]:
        raise ScenarioError(f"the start cell {start} is not free")
    # A border all around that is not free lets flat indices stand for the four neighbours.
    padded = np.pad(open_cells, 1).ravel()
    row = shape[1] + 2
    seen = np.zeros_like(padded)
    front = np.array([(start[0] + 1) * row + start[1] + 1])
    seen[front] = True
    while front.size:
        near = np.concatenate((front - row, front + row, front - 1, front + 1))
        near = near[padded[near] & ~seen[near]]
        seen[near] = True
        front = np.unique(near)
    return seen.reshape(shape[0] + 2, row)[1:-1, 1:-1]


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
        ScenarioError: The robot does not start in a free cell.
    """
    rows = np.asarray(poses, float).reshape(-1, 3)
    ix, iy = occupancy.world_to_cell(float(rows[0, 0]), float(rows[0, 1]))
    reachable = reachable_cells(occupancy.cells == 0, (int(ix), int(iy)))
    total = int(reachable.sum())
    fog = occupancy.to_fog_map(known="fog")
    share, skipped = [], 0
    for pose, scan in zip(rows, scans, strict=True):
        if scan is None:
            skipped += 1
        else:
            fog.reveal_from_scan(scan, pose=tuple(pose.tolist()), mount=mount)
        share.append(int(np.count_nonzero(fog.explored & reachable)) / total)
    shares = np.array(share)
    return Coverage(
        times=np.asarray(times, float),
        share=shares,
        area=shares * total * occupancy.resolution**2,
        explored=np.array(fog.explored, bool),
        reachable=reachable,
        skipped=skipped,
    )
