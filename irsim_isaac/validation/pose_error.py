"""Absolute and relative pose error between two trajectories.

The definitions are those that the field compares by: Sturm et al., "A Benchmark for the
Evaluation of RGB-D SLAM Systems", IROS 2012, with the statistics that evaluation tools print.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation.trajectory import wrap_angle

__all__ = [
    "PoseError",
    "Statistics",
    "absolute_pose_error",
    "align",
    "relative_pose_error",
]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is told about a row of errors.

    Attributes:
        rmse: Root of the mean square.
        mean: The mean.
        median: The median.
        std: The population's standard deviation.
        min: The least.
        max: The greatest.
        sse: The sum of the squares.
    """

    rmse: float
    mean: float
    median: float
    std: float
    min: float
    max: float
    sse: float

    @classmethod
    def of(cls, errors: ArrayLike) -> Statistics:
        """Sum up errors, shape (n,); NaN throughout where there is none."""
        values = np.asarray(errors, float)
        if not values.size:
            return cls(*(float("nan"),) * 6, 0.0)
        squares = values @ values
        return cls(
            rmse=float(np.sqrt(squares / values.size)),
            mean=float(values.mean()),
            median=float(np.median(values)),
            std=float(values.std()),
            min=float(values.min()),
            max=float(values.max()),
            sse=float(squares),
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures by their names."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class PoseError:
    """Errors pose by pose.

    Attributes:
        translation: [m], shape (n,).
        rotation: [rad], from 0 to pi, shape (n,).
    """

    translation: NDArray[np.float64]
    rotation: NDArray[np.float64]

    @property
    def translation_statistics(self) -> Statistics:
        """The translation summed up [m]."""
        return Statistics.of(self.translation)

    @property
    def rotation_statistics(self) -> Statistics:
        """The rotation summed up [rad]."""
        return Statistics.of(self.rotation)


def _pair(
    reference: ArrayLike, estimate: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first: NDArray[np.float64] = np.asarray(reference, float).reshape(-1, 3)
    second: NDArray[np.float64] = np.asarray(estimate, float).reshape(-1, 3)
    if len(first) != len(second):
        raise ScenarioError(
            f"pose errors need as many poses on both sides, found {len(first)} and {len(second)}"
        )
    return first, second


def align(reference: ArrayLike, estimate: ArrayLike) -> NDArray[np.float64]:
    """Move an estimate rigidly to where its positions fit the reference best.

    The least squares solution of Umeyama (1991) in the plane, without scale. Where the
    positions define no rotation, it only moves.

    Args:
        reference: x, y [m], yaw [rad], shape (n, 3).
        estimate: The same, pose by pose, shape (n, 3).

    Returns:
        The moved estimate, shape (n, 3).
    """
    first, second = _pair(reference, estimate)
    if not len(first):
        return np.array(second)
    centre, middle = first[:, :2].mean(axis=0), second[:, :2].mean(axis=0)
    a, b = first[:, :2] - centre, second[:, :2] - middle
    sine = float((b[:, 0] * a[:, 1] - b[:, 1] * a[:, 0]).sum())
    cosine = float((a * b).sum())
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    turn = float(np.arctan2(sine, cosine)) if np.hypot(sine, cosine) > 1e-12 * scale else 0.0
    c, s = np.cos(turn), np.sin(turn)
    moved = np.empty_like(second)
    moved[:, :2] = b @ np.array([[c, s], [-s, c]]) + centre
    moved[:, 2] = wrap_angle(second[:, 2] + turn)
    return moved


def absolute_pose_error(
    reference: ArrayLike, estimate: ArrayLike, *, aligned: bool = False
) -> PoseError:
    """Compare poses one by one in the world frame.

    Args:
        reference: x, y [m], yaw [rad], shape (n, 3).
        estimate: The same, pose by pose, shape (n, 3).
        aligned: Whether the estimate is first moved to fit best. Two simulators of one world
            share its frame, so a constant offset is an error and not to be taken away.

    Returns:
        The error of each pose.
    """
    first, second = _pair(reference, estimate)
    if aligned:
        second = align(first, second)
    offset = second[:, :2] - first[:, :2]
    return PoseError(
        np.hypot(offset[:, 0], offset[:, 1]), np.abs(wrap_angle(second[:, 2] - first[:, 2]))
    )


def _motion(poses: NDArray[np.float64], delta: int) -> NDArray[np.float64]:
    """Return each pose as seen from the one ``delta`` before it."""
    start, end = poses[:-delta], poses[delta:]
    c, s = np.cos(start[:, 2]), np.sin(start[:, 2])
    dx, dy = (end[:, :2] - start[:, :2]).T
    motion: NDArray[np.float64] = np.column_stack(
        (c * dx + s * dy, c * dy - s * dx, end[:, 2] - start[:, 2])
    )
    return motion


def relative_pose_error(
    reference: ArrayLike, estimate: ArrayLike, *, delta: int = 1, aligned: bool = False
) -> PoseError:
    """Compare how far each side went between poses that are ``delta`` apart.

    Args:
        reference: x, y [m], yaw [rad], shape (n, 3).
        estimate: The same, pose by pose, shape (n, 3).
        delta: The number of poses between start and end of a motion.
        aligned: Whether the estimate is first moved to fit best, which changes nothing but
            rounding: a motion does not depend on where it starts.

    Returns:
        The error of each motion, shape (n - delta,).
    """
    first, second = _pair(reference, estimate)
    if delta < 1:
        raise ScenarioError(f"a motion spans 1 pose or more, found {delta}")
    if aligned:
        second = align(first, second)
    a, b = _motion(first, delta), _motion(second, delta)
    offset = b[:, :2] - a[:, :2]
    return PoseError(np.hypot(offset[:, 0], offset[:, 1]), np.abs(wrap_angle(b[:, 2] - a[:, 2])))
