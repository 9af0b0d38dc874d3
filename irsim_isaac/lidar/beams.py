"""Planar returns to the beams of a scan, with the values of REP 117.

A beam reads a distance where something came back from within range; -inf where all that came
back was too close; +inf where it was fired and nothing came back; and NaN where it was not
fired, where its range is not a number, or where the robot itself is in the way.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.lidar.profile import LidarProfile
from irsim_isaac.lidar.returns import Strategy

__all__ = ["Beams", "beam_positions", "finite_ranges"]

Floats: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = "npt.NDArray[np.float64] | npt.NDArray[np.float32]"

_NONE = np.iinfo(np.int64).max
_LOW_HALF = np.int64(2**32 - 1)
_INFINITY_BITS = np.int64(0x7F800000)


def beam_positions(bearings: Positions, profile: LidarProfile) -> Positions:
    """Return where bearings lie among the beams: 0 to 1 for the first, 1 to 2 for the second.

    A beam reaches half an increment to either side. Bearings are taken modulo a turn, so what
    lies outside the window is at the number of beams or above, up to a turn.

    Args:
        bearings: [rad], shape (M,).
        profile: The beams.

    Returns:
        Shape (M,), of the type of the bearings; NaN for a bearing that is not finite.
    """
    turn = 2.0 * math.pi / profile.angle_increment
    if profile.full_circle:
        turn = float(profile.beam_count)
    scalar = bearings.dtype.type
    positions: Positions = bearings * scalar(1.0 / profile.angle_increment)
    positions += scalar(0.5 - profile.angle_min / profile.angle_increment)
    if positions.size:
        low, high = positions.min(), positions.max()
        if not (low >= -turn and high < 2.0 * turn):
            positions[~np.isfinite(positions)] = np.nan
            positions = np.mod(positions, scalar(turn))
        elif low < 0.0 or high >= turn:
            positions[positions < 0.0] += turn
            positions[positions >= turn] -= turn
    return positions


class Beams:
    """The beams of one scan, which take up returns one batch after another.

    Args:
        profile: The beams and the limits of their range.
        strategy: What a beam with several returns within range reads.
        with_intensities: Whether the returns have intensities.

    Attributes:
        left_out: How many returns gave no distance, by the reason.
        taken: How many returns were within range.
    """

    def __init__(
        self,
        profile: LidarProfile,
        *,
        strategy: Strategy = "nearest",
        with_intensities: bool = True,
    ) -> None:
        span = (profile.beam_count - 1) * profile.angle_increment
        # The last beam may look where the first one does, a turn later: then they are one.
        self._closed = profile.beam_count > 1 and math.isclose(span, 2.0 * math.pi, rel_tol=1e-9)
        self._count = profile.beam_count - self._closed
        self._low = np.float32(profile.range_min)
        self._high = np.float32(profile.range_max)
        self._strategy: Strategy = strategy
        # Whatever belongs to no beam goes to one more, which is thrown away.
        size = self._count + 1
        self._keys = np.full(size, _NONE, dtype=np.int64)
        self.taken = 0
        self._ranges = np.zeros(size, dtype=np.float32)
        self._intensities = np.zeros(size if with_intensities else 0, dtype=np.float32)
        self._sums = np.zeros((3, size), dtype=np.float64)
        self.left_out: Counter[str] = Counter()
        self._too_close = np.zeros(size, dtype=np.bool_)
        self._unknown = np.zeros(size, dtype=np.bool_)

    def add(
        self,
        positions: Positions,
        ranges: Floats,
        strengths: Floats | None,
        *,
        blocked: Mask | None = None,
    ) -> None:
        """Take up returns.

        Args:
            positions: Where each return lies among the beams, shape (M,).
            ranges: Distances in the plane [m], float32, shape (M,).
            strengths: Intensities, float32, shape (M,), if there are any.
            blocked: Which returns came from the robot itself, shape (M,).
        """
        if not positions.size:
            return
        with np.errstate(invalid="ignore"):
            beams = positions.astype(np.intp)
        highest = positions.max()
        if not highest < self._count:
            unknown = np.isnan(positions)
            beams[unknown] = self._count
            np.minimum(beams, self._count, out=beams)
            kept = np.flatnonzero(beams < self._count)
            # What came from the robot itself has been counted as that.
            others = np.ones(beams.size, dtype=np.bool_) if blocked is None else ~blocked
            self._count_out("without a bearing", int(np.count_nonzero(unknown & others)))
            beyond = (beams == self._count) & ~unknown & others
            self._count_out("outside the window", int(np.count_nonzero(beyond)))
            beams, ranges = beams[kept], ranges[kept]
            strengths = strengths if strengths is None else strengths[kept]
            blocked = blocked if blocked is None else blocked[kept]
            if not kept.size:
                return

        least, greatest = ranges.min(), ranges.max()
        if not (least >= self._low and greatest <= self._high) or blocked is not None:
            within = (ranges >= self._low) & (ranges <= self._high)
            unknown = np.isnan(ranges)
            no_range = unknown if blocked is None else unknown & ~blocked
            self._count_out("without a range", int(np.count_nonzero(no_range)))
            if blocked is not None:
                within &= ~blocked
                unknown |= blocked
            self._unknown[beams[unknown]] = True
            close = (ranges < self._low) & ~unknown
            self._too_close[beams[close]] = True
            far = int(np.count_nonzero((ranges > self._high) & ~unknown))
            self._count_out("too close", int(np.count_nonzero(close)))
            self._count_out("beyond range_max", far)
            chosen = np.flatnonzero(within)
            beams, ranges = beams[chosen], ranges[chosen]
            strengths = strengths if strengths is None else strengths[chosen]
        if self._strategy == "mean":
            self._add_to_means(beams, ranges, strengths)
        else:
            self._choose(beams, ranges, strengths)

    def _count_out(self, reason: str, number: int) -> None:
        if number:
            self.left_out[reason] += number

    def _add_to_means(
        self, beams: npt.NDArray[np.intp], ranges: Floats, strengths: Floats | None
    ) -> None:
        size = self._count + 1
        self.taken += beams.size
        self._sums[0] += np.bincount(beams, minlength=size)
        self._sums[1] += np.bincount(beams, weights=ranges, minlength=size)
        if strengths is not None:
            self._sums[2] += np.bincount(beams, weights=strengths, minlength=size)

    def _choose(
        self, beams: npt.NDArray[np.intp], ranges: Floats, strengths: Floats | None
    ) -> None:
        """Keep the return of each beam whose key is least: what is sought, then the order."""
        first = self.taken
        self.taken += beams.size
        if self._strategy == "last":
            keys = np.arange(-first, -self.taken, -1, dtype=np.int64)
        else:
            keys = np.arange(first, self.taken, dtype=np.int64)
        # The bits of floats that are not negative are ordered as the floats are.
        if self._strategy == "nearest":
            sought = ranges.view(np.int32).astype(np.int64)
            sought <<= 32
            keys |= sought
        elif self._strategy == "strongest" and strengths is not None:
            strong = np.nan_to_num(np.maximum(strengths, np.float32(0.0)), nan=0.0)
            keys |= (_INFINITY_BITS - strong.view(np.int32).astype(np.int64)) << 32
        np.minimum.at(self._keys, beams, keys)
        if self._strategy == "last":
            order = np.where(self._keys == _NONE, -1, -self._keys)
        else:
            order = np.where(self._keys == _NONE, -1, self._keys & _LOW_HALF)
        fresh = np.flatnonzero(order >= first)
        winners = order[fresh] - first
        self._ranges[fresh] = ranges[winners]
        if strengths is not None:
            self._intensities[fresh] = strengths[winners]

    def values(self, *, fired: Mask | None = None) -> tuple[Floats, Floats]:
        """Return what the beams read.

        Args:
            fired: Which beams were fired, shape (N,); all if None.

        Returns:
            Ranges [m] and intensities, float32, shape (N,); without intensities the second
            has the shape (0,).
        """
        ranges = np.full(self._count + 1, np.inf, dtype=np.float32)
        ranges[self._unknown] = np.nan
        ranges[self._too_close] = -np.inf
        intensities = self._intensities
        if self._strategy == "mean":
            hit = self._sums[0] > 0.0
            ranges[hit] = self._sums[1, hit] / self._sums[0, hit]
            if intensities.size:
                intensities[hit] = self._sums[2, hit] / self._sums[0, hit]
        else:
            hit = self._keys != _NONE
            ranges[hit] = self._ranges[hit]
        ranges[-1] = ranges[0]
        if intensities.size:
            intensities[-1] = intensities[0]
        count = self._count + self._closed
        ranges, intensities = ranges[:count], intensities[:count].copy()
        if fired is not None:
            ranges[~fired] = np.nan
            if intensities.size:
                intensities[~fired] = 0.0
        return ranges, intensities


def finite_ranges(ranges: Floats, profile: LidarProfile) -> Floats:
    """Return ranges in IR-SIM's form: the greatest range for none, the least for too close.

    Args:
        ranges: With the values of REP 117, shape (N,).
        profile: The limits of the range.
    """
    filled = np.where(ranges == -np.inf, np.float32(profile.range_min), ranges)
    return np.where(np.isfinite(filled), filled, np.float32(profile.range_max))
