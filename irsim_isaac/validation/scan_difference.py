"""How far the ranges of two scans differ, bearing by bearing.

Scans are compared after resampling by bearing, never by index: one lidar may repeat its first
beam at the end of a turn, start elsewhere, or have other beams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.msg import LaserScan
from irsim_isaac.validation.pose_error import Statistics
from irsim_isaac.validation.trajectory import wrap_angle

__all__ = [
    "ScanComparison",
    "ScanDifference",
    "bearings_of",
    "compare_scans",
    "resample_ranges",
    "scan_difference",
]

_TURN = 2 * np.pi


def bearings_of(scan: LaserScan) -> NDArray[np.float64]:
    """Return the bearing of each beam of a scan [rad], shape (N,), as its fields say."""
    index = np.arange(len(scan.ranges), dtype=np.float64)
    return float(scan.angle_min) + index * float(scan.angle_increment)


def _one_turn(scan: LaserScan) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Return bearings and ranges without what repeats the first beam, and whether they close."""
    bearings = bearings_of(scan)
    ranges = np.asarray(scan.ranges, float)
    inside = bearings - scan.angle_min < _TURN - 1e-3 * scan.angle_increment
    bearings, ranges = bearings[inside], ranges[inside]
    closed = bool(len(bearings) * scan.angle_increment > _TURN - 0.5 * scan.angle_increment)
    return bearings, ranges, closed


def resample_ranges(
    scan: LaserScan, bearings: ArrayLike, *, jump: float = 0.3
) -> NDArray[np.float64]:
    """Return what a scan says at other bearings.

    A bearing between two beams meets the straight line between what they hit, which is exact
    on a flat wall. Where one of them hit nothing, or they hit things more than ``jump`` apart,
    the nearer beam speaks alone.

    Args:
        scan: The scan.
        bearings: Where to look [rad], shape (M,).
        jump: Ranges farther apart than this are two things [m].

    Returns:
        Ranges [m] with the infinities and NaN of REP 117, shape (M,); NaN at bearings that
        the scan does not cover.
    """
    own, ranges, closed = _one_turn(scan)
    wanted = np.asarray(bearings, float)
    if not len(own):
        return np.full(wanted.shape, np.nan)
    step = float(scan.angle_increment)
    position = np.remainder(wanted - own[0], _TURN) / step
    # What rounding puts just before the first beam lies on it.
    position = np.where(position > (_TURN / step) - 1e-6, 0.0, position)
    index = np.floor(position + 1e-9).astype(np.int64)
    share = np.clip(position - index, 0.0, 1.0)
    share[share < 1e-6] = 0.0
    last = len(own) - 1
    covered = index <= last if closed else position <= last + 0.5
    first = np.clip(index, 0, last)
    second = (first + 1) % len(own) if closed else np.clip(index + 1, 0, last)
    gap = np.where((first == last) & closed, _TURN - last * step, step)
    share = np.clip(share * step / gap, 0.0, 1.0)
    near, far = ranges[first], ranges[second]
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = np.isfinite(near) & np.isfinite(far) & (np.abs(near - far) <= jump)
        chord = (
            near
            * far
            * np.sin(gap)
            / (near * np.sin(share * gap) + far * np.sin((1 - share) * gap))
        )
    alone = np.where(share <= 0.5, near, far)
    result = np.where(whole & (share > 0) & (share < 1) & np.isfinite(chord), chord, alone)
    return np.where(covered, result, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class ScanDifference:
    """Two scans at the bearings of the left one.

    Attributes:
        bearings: [rad], shape (N,), rising.
        left: Ranges [m], shape (N,).
        right: Ranges [m], resampled, shape (N,).
    """

    bearings: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def difference(self) -> NDArray[np.float64]:
        """Right minus left [m], shape (N,); NaN where not both hit."""
        both = np.isfinite(self.left) & np.isfinite(self.right)
        result = np.full(self.left.shape, np.nan)
        result[both] = self.right[both] - self.left[both]
        return result

    @property
    def mismatch(self) -> NDArray[np.bool_]:
        """Where one side hit and the other did not, both having measured, shape (N,)."""
        result: NDArray[np.bool_] = self.compared & (
            np.isfinite(self.left) != np.isfinite(self.right)
        )
        return result

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Where both sides measured, shape (N,)."""
        return ~(np.isnan(self.left) | np.isnan(self.right))


def scan_difference(left: LaserScan, right: LaserScan, *, jump: float = 0.3) -> ScanDifference:
    """Compare two scans bearing by bearing.

    Args:
        left: Its bearings are the ones compared.
        right: Resampled at them.
        jump: As for ``resample_ranges`` [m].
    """
    bearings, ranges, _ = _one_turn(left)
    return ScanDifference(bearings, ranges, resample_ranges(right, bearings, jump=jump))


@dataclass(frozen=True, slots=True, eq=False)
class ScanComparison:
    """All the scans of a run, summed up over time and over bearings.

    Attributes:
        times: [s], shape (n,).
        mean: Mean absolute difference of each scan [m], shape (n,).
        median: Median absolute difference of each scan [m], shape (n,).
        mismatch: Share of the bearings of each scan at which one side alone hit, shape (n,).
        bearings: [rad], shape (N,).
        bearing_mean: Mean absolute difference at each bearing [m], shape (N,).
        bearing_max: Greatest absolute difference at each bearing [m], shape (N,).
        bearing_mismatch: Share of the scans in which one side alone hit there, shape (N,).
        statistics: Of the absolute differences of all scans and bearings [m].
        compared: How many pairs of ranges both sides measured.
        only_left: At how many of them the left side alone hit.
        only_right: At how many of them the right side alone hit.
        not_measured: How many pairs were left out because a side did not measure.
        skipped: How many pairs of states were left out because a side had no scan.
    """

    times: NDArray[np.float64]
    mean: NDArray[np.float64]
    median: NDArray[np.float64]
    mismatch: NDArray[np.float64]
    bearings: NDArray[np.float64]
    bearing_mean: NDArray[np.float64]
    bearing_max: NDArray[np.float64]
    bearing_mismatch: NDArray[np.float64]
    statistics: Statistics
    compared: int
    only_left: int
    only_right: int
    not_measured: int
    skipped: int


def compare_scans(
    times: ArrayLike,
    left: Sequence[LaserScan | None],
    right: Sequence[LaserScan | None],
    *,
    jump: float = 0.3,
) -> ScanComparison | None:
    """Compare the scans of two runs, pair by pair.

    Args:
        times: Of the pairs [s], shape (n,).
        left: The left scans.
        right: The right scans.
        jump: As for ``resample_ranges`` [m].

    Returns:
        The comparison; None where no pair has both scans.

    Raises:
        ScenarioError: The beams of the left lidar change during the run.
    """
    stamps: list[float] = []
    rows: list[ScanDifference] = []
    for time, a, b in zip(np.asarray(times, float).tolist(), left, right, strict=True):
        if a is None or b is None:
            continue
        row = scan_difference(a, b, jump=jump)
        if rows and not np.array_equal(row.bearings, rows[0].bearings):
            raise ScenarioError(
                f"the left lidar has {len(row.bearings)} beams at {time:g} s that are not the "
                f"{len(rows[0].bearings)} that it had at {stamps[0]:g} s"
            )
        stamps.append(time)
        rows.append(row)
    if not rows:
        return None
    bearings = rows[0].bearings
    difference = np.abs([row.difference for row in rows])
    mismatch = np.array([row.mismatch for row in rows])
    measured = np.array([row.compared for row in rows])
    seen_left = np.isfinite([row.left for row in rows])
    order = np.argsort(wrap_angle(bearings), kind="stable")
    return ScanComparison(
        times=np.array(stamps),
        mean=_reduced(difference, "mean", 1),
        median=_reduced(difference, "median", 1),
        mismatch=_share(mismatch, measured, 1),
        bearings=wrap_angle(bearings)[order],
        bearing_mean=_reduced(difference, "mean", 0)[order],
        bearing_max=_reduced(difference, "max", 0)[order],
        bearing_mismatch=_share(mismatch, measured, 0)[order],
        statistics=Statistics.of(difference[np.isfinite(difference)]),
        compared=int(measured.sum()),
        only_left=int((mismatch & seen_left).sum()),
        only_right=int((mismatch & ~seen_left).sum()),
        not_measured=int((~measured).sum()),
        skipped=len(left) - len(rows),
    )


def _reduced(
    table: NDArray[np.float64], how: Literal["mean", "median", "max"], axis: int
) -> NDArray[np.float64]:
    """Sum up along an axis without NaN; NaN where there is nothing else."""
    values = np.ma.masked_invalid(table)
    if how == "mean":
        result = values.mean(axis=axis)
    elif how == "max":
        result = values.max(axis=axis)
    else:
        result = np.ma.median(values, axis=axis)
    return np.ma.filled(np.ma.asarray(result, float), np.nan)


def _share(part: NDArray[np.bool_], whole: NDArray[np.bool_], axis: int) -> NDArray[np.float64]:
    total = whole.sum(axis=axis)
    return np.where(total > 0, part.sum(axis=axis) / np.maximum(total, 1), np.nan)
