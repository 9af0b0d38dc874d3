"""Which object of one simulator is which of the other, and how their poses become each other's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from irsim_isaac.errors import MirrorError
from irsim_isaac.msg import (
    Header,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
    WorldState,
)

__all__ = [
    "Binding",
    "Direction",
    "PlanarPose",
    "bind_by_label",
    "bind_by_name",
    "bind_by_prim_path",
    "bindings_from_config",
]

Direction: TypeAlias = Literal["follow", "lead", "beside"]
"""``"follow"``: the right object goes where the left one is; ``"lead"``: the left one goes where
the right one is; ``"beside"``: neither is moved."""

PlanarPose: TypeAlias = tuple[float, float, float]
"""x, y [m] and yaw [rad]."""


class _Frame(NamedTuple):
    """A frame in the plane with its sine and cosine."""

    x: float
    y: float
    yaw: float
    cos: float
    sin: float

    @classmethod
    def at(cls, pose: PlanarPose) -> _Frame:
        return cls(*pose, math.cos(pose[2]), math.sin(pose[2]))


@dataclass(frozen=True, slots=True)
class Binding:
    """One object in both simulators.

    Simulators speak in metres with z up. A right side that speaks in other units or with y up
    is given ``meters_per_unit`` and ``up_axis``; the axes of its bodies stay their own, so that
    with y up a body's own y is up.

    Attributes:
        left: The object's name on the left.
        right: Its name on the right.
        prim_path: Its prim in the right one's stage, or None.
        frame: The right world's frame in the left world: x, y [m] and yaw [rad].
        base: The right object's base frame in the left one's: x, y [m] and yaw [rad].
        meters_per_unit: The length of one unit of the right side [m].
        up_axis: Which axis is up on the right side.
        tilt_limit: A right body that leans farther than this [rad] has no heading to go by.
        direction: Who moves whom; None for what the mirror does.
    """

    left: str
    right: str
    prim_path: str | None = None
    frame: PlanarPose = (0.0, 0.0, 0.0)
    base: PlanarPose = (0.0, 0.0, 0.0)
    meters_per_unit: float = 1.0
    up_axis: Literal["Y", "Z"] = "Z"
    tilt_limit: float = math.radians(60.0)
    direction: Direction | None = None
    _frame: _Frame = field(init=False, repr=False, compare=False)
    _base: _Frame = field(init=False, repr=False, compare=False)
    _plain: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        where = f"binding of '{self.left}' and '{self.right}'"
        for name in ("frame", "base"):
            pose = tuple(float(value) for value in getattr(self, name))
            if len(pose) != 3 or not all(map(math.isfinite, pose)):
                raise MirrorError(f"{where}: {name} is {pose}, finite x, y and yaw were expected")
            object.__setattr__(self, name, pose)
        if not (math.isfinite(self.meters_per_unit) and self.meters_per_unit > 0):
            raise MirrorError(
                f"{where}: meters_per_unit is {self.meters_per_unit}, more than 0 was expected"
            )
        if self.up_axis not in ("Y", "Z"):
            raise MirrorError(f"{where}: up_axis is {self.up_axis!r}, 'Y' or 'Z' was expected")
        if not 0 < self.tilt_limit <= math.pi:
            raise MirrorError(
                f"{where}: tilt_limit is {self.tilt_limit} rad, more than 0 and at most pi was "
                "expected"
            )
        object.__setattr__(self, "_frame", _Frame.at(self.frame))
        object.__setattr__(self, "_base", _Frame.at(self.base))
        metric = self.meters_per_unit == 1.0 and self.up_axis == "Z"
        object.__setattr__(self, "_plain", metric and self.frame == self.base == (0.0, 0.0, 0.0))

    def tilt(self, odom: Odometry) -> float:
        """Return how far a right body leans from upright [rad], from 0 to pi."""
        q = odom.pose.pose.orientation
        if q.x == 0.0 and q.y == 0.0 and self.up_axis == "Z":
            return 0.0
        x, y, z, _ = _normal(odom.pose.pose.orientation)
        across = y if self.up_axis == "Z" else z
        cosine = 1.0 - 2.0 * (x * x + across * across)
        return math.acos(max(-1.0, min(1.0, cosine)))

    def left_pose(self, odom: Odometry) -> PlanarPose:
        """Return where the left object is to be by the right one's odometry.

        The heading is where the body's x axis points, seen from above.
        """
        pose = odom.pose.pose
        px, py, _ = self._metric(pose.position)
        yaw = self._heading(pose.orientation)
        frame, base = self._frame, self._base
        x = frame.x + frame.cos * px - frame.sin * py
        y = frame.y + frame.sin * px + frame.cos * py
        yaw = yaw + frame.yaw - base.yaw
        cos, sin = math.cos(yaw), math.sin(yaw)
        return (
            x - cos * base.x + sin * base.y,
            y - sin * base.x - cos * base.y,
            math.remainder(yaw, 2 * math.pi),
        )

    def to_left(self, odom: Odometry) -> Odometry:
        """Return the left object's odometry by the right one's: planar, upright, z zero."""
        if self._plain and _level(odom, _FLAT):
            return odom
        x, y, yaw = self.left_pose(odom)
        twist = odom.twist.twist
        vx, vy, w = self._planar_twist(twist)
        base = self._base
        # The left base is carried by the right body: rotate, then add what the lever does.
        lx = base.cos * vx - base.sin * vy + w * base.y
        ly = base.sin * vx + base.cos * vy - w * base.x
        return _odometry(odom.header, self.left, (x, y, 0.0), Quaternion.from_yaw(yaw), lx, ly, w)

    def to_right(self, odom: Odometry, present: Odometry | None = None) -> Odometry:
        """Return the right object's odometry by the left one's.

        Args:
            odom: The left object's; its x, y and yaw count.
            present: The right object's own, whose height, roll and pitch are kept; None for
                an upright body on the ground.
        """
        if self._plain and (present is None or _level(odom, present)):
            return odom
        frame, base = self._frame, self._base
        pose, twist = odom.pose.pose, odom.twist.twist
        yaw = pose.orientation.to_yaw()
        cos, sin = math.cos(yaw), math.sin(yaw)
        dx = pose.position.x + cos * base.x - sin * base.y - frame.x
        dy = pose.position.y + sin * base.x + cos * base.y - frame.y
        x = frame.cos * dx + frame.sin * dy
        y = frame.cos * dy - frame.sin * dx
        heading = yaw + base.yaw - frame.yaw
        height = 0.0
        upright = True
        if present is not None:
            height = self._metric(present.pose.pose.position)[2]
            q = present.pose.pose.orientation
            upright = q.x == 0.0 and q.y == 0.0 and self.up_axis == "Z"
        if upright and self.up_axis == "Z":
            orientation = Quaternion.from_yaw(heading)
        else:
            orientation = self._turned(heading, present)
        vx = twist.linear.x - twist.angular.z * base.y
        vy = twist.linear.y + twist.angular.z * base.x
        vx, vy = base.cos * vx + base.sin * vy, base.cos * vy - base.sin * vx
        return self._right_odometry(odom, (x, y, height), orientation, (vx, vy, twist.angular.z))

    def twist_to_right(self, twist: Twist) -> Twist:
        """Return a command for the left object as the right one takes it, in metres, z up."""
        base = self._base
        if base[:3] == (0.0, 0.0, 0.0):
            return twist
        vx = twist.linear.x - twist.angular.z * base.y
        vy = twist.linear.y + twist.angular.z * base.x
        return Twist(
            linear=Vector3(base.cos * vx + base.sin * vy, base.cos * vy - base.sin * vx, 0.0),
            angular=Vector3(0.0, 0.0, twist.angular.z),
        )

    def _metric(self, point: Point) -> tuple[float, float, float]:
        """Take a point of the right side to metres with z up."""
        scale = self.meters_per_unit
        if self.up_axis == "Z":
            return point.x * scale, point.y * scale, point.z * scale
        return point.x * scale, -point.z * scale, point.y * scale

    def _heading(self, orientation: Quaternion) -> float:
        """Return where the body's x axis points, seen from above [rad]."""
        if self.up_axis == "Z":
            return orientation.to_yaw()
        x, y, z, w = _normal(orientation)
        # The x axis of the body in the world, y up: z up has -z in the place of y.
        return math.atan2(-2.0 * (x * z - w * y), 1.0 - 2.0 * (y * y + z * z))

    def _turned(self, heading: float, present: Odometry | None) -> Quaternion:
        """Turn the present orientation about the up axis to a heading, or an upright one."""
        now = present.pose.pose.orientation if present is not None else Quaternion()
        x, y, z, w = _normal(now)
        half = (heading - self._heading(now)) / 2.0
        c, s = math.cos(half), math.sin(half)
        if self.up_axis == "Z":
            return Quaternion(c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z)
        return Quaternion(c * x + s * z, c * y + s * w, c * z - s * x, c * w - s * y)

    def _planar_twist(self, twist: Twist) -> tuple[float, float, float]:
        scale = self.meters_per_unit
        if self.up_axis == "Z":
            return twist.linear.x * scale, twist.linear.y * scale, twist.angular.z
        return twist.linear.x * scale, -twist.linear.z * scale, twist.angular.y

    def _right_odometry(
        self,
        odom: Odometry,
        position: tuple[float, float, float],
        orientation: Quaternion,
        twist: tuple[float, float, float],
    ) -> Odometry:
        if self.meters_per_unit == 1.0 and self.up_axis == "Z":
            return _odometry(odom.header, self.right, position, orientation, *twist)
        scale = 1.0 / self.meters_per_unit
        x, y, z = (value * scale for value in position)
        vx, vy = twist[0] * scale, twist[1] * scale
        message = _odometry(odom.header, self.right, (x, y, z), orientation, vx, vy, twist[2])
        if self.up_axis == "Y":
            message.pose.pose.position = Point(x, z, -y)
            message.twist.twist.linear = Vector3(vx, 0.0, -vy)
            message.twist.twist.angular = Vector3(0.0, twist[2], 0.0)
        return message


def _level(odom: Odometry, other: Odometry) -> bool:
    """Tell whether both bodies are upright and at one height."""
    here, there = odom.pose.pose, other.pose.pose
    p, q = here.orientation, there.orientation
    upright = p.x == 0.0 and p.y == 0.0 and q.x == 0.0 and q.y == 0.0
    return upright and here.position.z == there.position.z


_FLAT = Odometry()


def _normal(q: Quaternion) -> tuple[float, float, float, float]:
    norm = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w)
    if not norm > 2.2e-16:
        raise MirrorError(f"the quaternion {q} defines no rotation")
    return q.x / norm, q.y / norm, q.z / norm, q.w / norm


def _odometry(
    header: Header,
    name: str,
    position: tuple[float, float, float],
    orientation: Quaternion,
    vx: float,
    vy: float,
    w: float,
) -> Odometry:
    return Odometry(
        header=header,
        child_frame_id=f"{name}/base_link",
        pose=PoseWithCovariance(Pose(Point(*position), orientation)),
        twist=TwistWithCovariance(Twist(Vector3(vx, vy, 0.0), Vector3(0.0, 0.0, w))),
    )


def bind_by_name(left: WorldState, right: WorldState, **settings: Any) -> tuple[Binding, ...]:
    """Bind the objects that have one name on both sides.

    Args:
        left: A state of the left simulator.
        right: A state of the right simulator.
        **settings: Further fields of every ``Binding``.

    Raises:
        MirrorError: A name occurs twice on a side.
    """
    names = [_unique([item.name for item in state.objects], "name") for state in (left, right)]
    return tuple(Binding(name, name, **settings) for name in names[0] if name in set(names[1]))


def bind_by_label(
    left: Mapping[str, str], right: Mapping[str, str], **settings: Any
) -> tuple[Binding, ...]:
    """Bind the objects whose label occurs on both sides, once on each.

    Args:
        left: The label of each left object, by name.
        right: The label of each right object, by name.
        **settings: Further fields of every ``Binding``.

    Raises:
        MirrorError: A label of both sides occurs twice on one of them.
    """
    shared = set(left.values()) & set(right.values())
    for side in (left, right):
        _unique([label for label in side.values() if label in shared], "label")
    names = {label: name for name, label in right.items()}
    return tuple(
        Binding(name, names[label], **settings) for name, label in left.items() if label in shared
    )


def bind_by_prim_path(
    left: Mapping[str, str], right: Mapping[str, str], **settings: Any
) -> tuple[Binding, ...]:
    """Bind the objects that stand for one prim.

    Args:
        left: The prim path of each left object, by name.
        right: The prim path of each right object, by name.
        **settings: Further fields of every ``Binding``.

    Raises:
        MirrorError: A path occurs twice on a side.
    """
    for side in (left, right):
        _unique(list(side.values()), "prim path")
    names = {path: name for name, path in right.items()}
    return tuple(
        Binding(name, names[path], prim_path=path, **settings)
        for name, path in left.items()
        if path in names
    )


def bindings_from_config(rows: Iterable[Mapping[str, Any]]) -> tuple[Binding, ...]:
    """Make bindings of what a file says.

    Args:
        rows: The fields of each binding; ``right`` is ``left`` where it is missing, and
            ``frame`` and ``base`` may be lists.

    Raises:
        MirrorError: A key is unknown, ``left`` is missing, or a name is bound twice.
    """
    known = [name for name in Binding.__dataclass_fields__ if not name.startswith("_")]
    bindings = []
    for row in rows:
        unknown = [key for key in row if key not in known]
        if unknown or "left" not in row:
            what = f"the key '{unknown[0]}' is unknown" if unknown else "the key 'left' is missing"
            raise MirrorError(f"a binding {dict(row)}: {what}; known are: {', '.join(known)}")
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
        }
        bindings.append(Binding(**{"right": fields["left"], **fields}))
    _unique([item.left for item in bindings], "left name")
    _unique([item.right for item in bindings], "right name")
    return tuple(bindings)


def _unique(values: list[str], what: str) -> list[str]:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise MirrorError(f"the {what} '{twice[0]}' occurs twice; one object each was expected")
    return values
