"""Taking up a simulator that was lost."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from irsim_isaac.msg import ObjectState, Odometry, WorldState

__all__ = ["RESUMED", "Resumption", "Side", "same_state"]

Side: TypeAlias = Literal["left", "right"]

RESUMED = "resumed"
"""The status of the first state after a resumption that may differ from an unbroken run."""

_ROUNDING = 1e-9
"""What writing a pose and reading it again may do to it [m, rad]."""

_RANGE_ROUNDING = 1e-4
"""What that may do to a range [m]."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """One time that a simulator was lost and taken up again.

    Attributes:
        side: Which one it was.
        time: The time of the state that it was taken up from [s].
        reason: Why it was lost.
        exact: Whether it goes on as if nothing had happened: it follows, everything in it that
            moves is written after each step, and it came back as it was, its scans included.
            Otherwise its next state has the status ``RESUMED``.
    """

    side: Side
    time: float
    reason: str
    exact: bool


def same_state(last: WorldState, found: WorldState, *, moved: Collection[str]) -> bool:
    """Return whether a simulator came back as it was.

    Args:
        last: What it said last.
        found: What it says now.
        moved: The objects that are written after each step, so that rounding does not matter.
    """
    return (
        bool(moved)
        and last.header == found.header
        and [item.name for item in last.objects] == [item.name for item in found.objects]
        and all(
            _same_object(a, b, a.name in moved)
            for a, b in zip(last.objects, found.objects, strict=True)
        )
    )


def _same_object(a: ObjectState, b: ObjectState, moved: bool) -> bool:
    if moved:
        near = np.allclose(_numbers(a.odom), _numbers(b.odom), rtol=0.0, atol=_ROUNDING)
    else:
        near = a.odom.pose == b.odom.pose and a.odom.twist == b.odom.twist
    memory = ("collision", "arrive", "contact_time", "air_time", "collision_ids")
    return (
        bool(near)
        and all(getattr(a, name) == getattr(b, name) for name in memory)
        and len(a.scans) == len(b.scans)
        and all(
            one.header == other.header
            and one.ranges.shape == other.ranges.shape
            and np.allclose(
                one.ranges, other.ranges, rtol=0.0, atol=_RANGE_ROUNDING, equal_nan=True
            )
            for one, other in zip(a.scans, b.scans, strict=True)
        )
    )


def _numbers(odom: Odometry) -> list[float]:
    p, q = odom.pose.pose.position, odom.pose.pose.orientation
    v, w = odom.twist.twist.linear, odom.twist.twist.angular
    # A quaternion and its opposite are one orientation.
    sign = -1.0 if (q.w, q.z, q.y, q.x) < (0.0, 0.0, 0.0, 0.0) else 1.0
    turn = [sign * value for value in (q.x, q.y, q.z, q.w)]
    return [p.x, p.y, p.z, *turn, v.x, v.y, v.z, w.x, w.y, w.z]
