"""Messages as ROS says them: CDR, ROS 1 bytes, and the classes of rclpy and rospy.

Bytes need the package ``rosbags`` and no ROS; native messages need a sourced ROS.
"""

from __future__ import annotations

import array
import importlib
import math
import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, get_args, get_type_hints

from irsim_isaac.errors import IrsimIsaacError, MissingPackageError
from irsim_isaac.msg.geometry import (
    Point,
    Pose,
    PoseStamped,
    PoseWithCovariance,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from irsim_isaac.msg.header import Clock, Header
from irsim_isaac.msg.interactive_world.described import EXTRA
from irsim_isaac.msg.interactive_world.interfaces import (
    message_definitions,
    ros_field_type,
    wire_classes,
)
from irsim_isaac.msg.laser_scan import LaserScan
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import np
from irsim_isaac.msg.occupancy_grid import MapMetaData, OccupancyGrid
from irsim_isaac.msg.odometry import Odometry
from irsim_isaac.msg.ros_definitions import DEFINITIONS
from irsim_isaac.msg.tf import TFMessage
from irsim_isaac.msg.world_state import ContactState, ObjectState, WorldState

__all__ = [
    "INTERACTIVE_TYPES",
    "ROS_TYPES",
    "MissingRosError",
    "RunningGoal",
    "definition",
    "from_cdr",
    "from_native",
    "from_ros1",
    "nanoseconds",
    "serve",
    "serve_action",
    "to_cdr",
    "to_native",
    "to_ros1",
]

M = TypeVar("M", bound=Message)
Generation: TypeAlias = Literal[1, 2]

ROS_TYPES: Mapping[type[Message], str] = {
    cls: cls.ros_type
    for cls in (
        Header,
        Clock,
        Point,
        Vector3,
        Quaternion,
        Pose,
        PoseStamped,
        PoseWithCovariance,
        Twist,
        TwistWithCovariance,
        Transform,
        TransformStamped,
        TFMessage,
        Odometry,
        LaserScan,
        MapMetaData,
        OccupancyGrid,
        ContactState,
        ObjectState,
        WorldState,
    )
}
"""The ROS type of each message class, as ``package/Type``; ROS 2 says ``package/msg/Type``."""

INTERACTIVE_TYPES: Mapping[type[Message], str] = {cls: name for name, cls in wire_classes().items()}
"""The same for the interactive world; ``package/Service_Request`` and the like for its parts."""


class MissingRosError(MissingPackageError):
    """A package of ROS messages cannot be imported."""

    def __init__(self, package: str) -> None:
        IrsimIsaacError.__init__(
            self,
            f"the ROS package '{package}' cannot be imported; source a ROS 1 or ROS 2 "
            "workspace that has it",
        )
        self.package = package
        self.extra = ""


# ------------------------------------------------------------------ time


def _clock(seconds: float, field: str, unsigned: bool = False) -> tuple[int, int]:
    """Return whole seconds and nanoseconds from 0 to 999,999,999."""
    if not math.isfinite(seconds) or (unsigned and seconds < 0.0):
        expected = "a finite time from zero on" if unsigned else "a finite time"
        raise ValueError(f"{field} is {seconds}, expected {expected}")
    whole = math.floor(seconds)
    nanos = round((seconds - whole) * 1e9)
    return (whole + 1, 0) if nanos == 1_000_000_000 else (whole, nanos)


def nanoseconds(seconds: float) -> int:
    """Return a time [s] as whole nanoseconds, the nearest.

    Raises:
        ValueError: The time is not finite.
    """
    whole, nanos = _clock(seconds, "the time")
    return whole * 1_000_000_000 + nanos


def _seconds(time: Any) -> float:
    """Return the seconds of a time of either generation."""
    if hasattr(time, "nanosec"):
        return float(time.sec + time.nanosec / 1e9)
    return float(time.secs + time.nsecs / 1e9)


# ------------------------------------------------------------------ targets


class _Rosbags:
    """The types of a typestore; what has the right attributes already is taken as it is."""

    direct = True

    def __init__(self, store: Any, generation: Generation) -> None:
        self.types = {name.replace("/msg/", "/"): cls for name, cls in store.types.items()}
        self.clock = self.types["builtin_interfaces/Time"]
        self.has_seq = generation == 1

    def make(self, name: str, /, **values: Any) -> Any:
        return self.types[name](**values)

    def time(self, seconds: float, field: str) -> Any:
        return self.clock(*_clock(seconds, field, self.has_seq))

    def sequence(self, values: Any) -> Any:
        return values

    def fixed(self, values: Any) -> Any:
        return values


_TYPECODES = {
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "int64": "q",
    "uint8": "B",
    "uint32": "I",
}


class _Native:
    """The classes of rclpy or rospy, whichever can be imported."""

    direct = False

    def __init__(self) -> None:
        self.has_seq = hasattr(_native_class("std_msgs/Header"), "_md5sum")

    def make(self, name: str, /, **values: Any) -> Any:
        return _native_class(name)(**values)

    def time(self, seconds: float, field: str) -> Any:
        sec, nanosec = _clock(seconds, field, self.has_seq)
        if self.has_seq:
            return importlib.import_module("genpy").Time(sec, nanosec)
        return _native_class("builtin_interfaces/Time")(sec=sec, nanosec=nanosec)

    def sequence(self, values: Any) -> Any:
        return array.array(_TYPECODES[values.dtype.name], values.tobytes())

    def fixed(self, values: Any) -> Any:
        return values


_INNER = {
    "Request": "srv",
    "Response": "srv",
    "Goal": "action",
    "Result": "action",
    "Feedback": "action",
}
"""What a name after an underscore is a part of."""


def _native_class(name: str) -> Any:
    package, _, leaf = name.partition("/")
    whole, _, part = leaf.partition("_")
    kind = _INNER.get(part, "msg")
    try:
        module = importlib.import_module(f"{package}.{kind}")
    except ImportError as error:
        raise MissingRosError(package) from error
    try:
        if kind == "msg":
            return getattr(module, leaf)
        owner = getattr(module, whole, None)
        # rclpy nests the parts, rospy joins the names.
        return getattr(owner, part, None) or getattr(module, whole + part)
    except AttributeError:
        raise MissingRosError(name) from None


Target: TypeAlias = "_Rosbags | _Native"


# ------------------------------------------------------------------ to ROS


def _vector(values: Any, dtype: Any, field: str, size: int | None = None) -> Any:
    result = np.ascontiguousarray(values, dtype)
    if result.ndim != 1 or (size is not None and result.size != size):
        expected = "(n,)" if size is None else f"({size},)"
        raise ValueError(f"{field} has shape {result.shape}, expected {expected}")
    return result


def _pack_header(to: Target, header: Header, field: str = "header.stamp") -> Any:
    seq = {"seq": header.seq} if to.has_seq else {}
    return to.make(
        "std_msgs/Header", stamp=to.time(header.stamp, field), frame_id=header.frame_id, **seq
    )


def _pack_own_header(to: Target, header: Header) -> Any:
    if to.direct:
        return header
    return to.make(
        "irsim_msgs/Header", seq=header.seq, stamp=_real(header.stamp), frame_id=header.frame_id
    )


def _pack_plain(to: Target, message: Message) -> Any:
    """Pack a message whose ROS type has the same fields, numbers and such messages."""
    if to.direct:
        return message
    values = {}
    for item in fields(message):
        value = getattr(message, item.name)
        values[item.name] = _pack(to, value) if isinstance(value, Message) else _real(value)
    return to.make(ROS_TYPES[message.__class__], **values)


def _real(value: Any) -> float:
    """Return a number as the float that native classes insist on; text is none."""
    return float(value * 1.0)


def _pack_covariance(inner: str) -> Callable[[Target, Any], Any]:
    def pack(to: Target, message: Any) -> Any:
        covariance = _vector(message.covariance, np.float64, "covariance", 36)
        if to.direct and covariance is message.covariance:
            return message
        values = {inner: _pack(to, getattr(message, inner)), "covariance": to.fixed(covariance)}
        return to.make(message.ros_type, **values)

    return pack


def _pack_odometry(to: Target, odom: Odometry, own: bool = False) -> Any:
    pose, twist = _pack(to, odom.pose), _pack(to, odom.twist)
    if own and pose is odom.pose and twist is odom.twist:
        return odom
    return to.make(
        "irsim_msgs/Odometry" if own else "nav_msgs/Odometry",
        header=_pack_own_header(to, odom.header) if own else _pack_header(to, odom.header),
        child_frame_id=odom.child_frame_id,
        pose=pose,
        twist=twist,
    )


def _pack_scan(to: Target, scan: LaserScan, own: bool = False) -> Any:
    ranges = _vector(scan.ranges, np.float32, "ranges")
    intensities = _vector(scan.intensities, np.float32, "intensities")
    if own and to.direct and ranges is scan.ranges and intensities is scan.intensities:
        return scan
    return to.make(
        "irsim_msgs/LaserScan" if own else "sensor_msgs/LaserScan",
        header=_pack_own_header(to, scan.header) if own else _pack_header(to, scan.header),
        angle_min=_real(scan.angle_min),
        angle_max=_real(scan.angle_max),
        angle_increment=_real(scan.angle_increment),
        time_increment=_real(scan.time_increment),
        scan_time=_real(scan.scan_time),
        range_min=_real(scan.range_min),
        range_max=_real(scan.range_max),
        ranges=to.sequence(ranges),
        intensities=to.sequence(intensities),
    )


def _pack_stamped(inner: str) -> Callable[[Target, Any], Any]:
    def pack(to: Target, message: Any) -> Any:
        values = {"header": _pack_header(to, message.header)}
        if isinstance(message, TransformStamped):
            values["child_frame_id"] = message.child_frame_id
        values[inner] = _pack(to, getattr(message, inner))
        return to.make(message.ros_type, **values)

    return pack


def _pack_tf(to: Target, message: TFMessage) -> Any:
    return to.make(
        "tf2_msgs/TFMessage", transforms=[_pack(to, item) for item in message.transforms]
    )


def _pack_metadata(to: Target, info: MapMetaData) -> Any:
    return to.make(
        "nav_msgs/MapMetaData",
        map_load_time=to.time(info.map_load_time, "map_load_time"),
        resolution=_real(info.resolution),
        width=info.width,
        height=info.height,
        origin=_pack(to, info.origin),
    )


def _pack_grid(to: Target, grid: OccupancyGrid) -> Any:
    return to.make(
        "nav_msgs/OccupancyGrid",
        header=_pack_header(to, grid.header),
        info=_pack(to, grid.info),
        data=to.sequence(_vector(grid.data, np.int8, "data")),
    )


def _pack_clock(to: Target, message: Clock) -> Any:
    return to.make("rosgraph_msgs/Clock", clock=to.time(message.clock, "clock"))


def _pack_object(to: Target, state: ObjectState) -> Any:
    scan, scans = state.scan, state.scans
    first = bool(scans) and scan is scans[0]
    if state.goal is None:
        goal, shape = np.zeros(0), np.zeros(0, np.uint32)
    else:
        goal = np.ascontiguousarray(state.goal, np.float64)
        goal, shape = goal.ravel(), np.array(np.shape(state.goal), np.uint32)
    return to.make(
        "irsim_msgs/ObjectState",
        header=_pack_own_header(to, state.header),
        id=state.id,
        name=state.name,
        role=state.role,
        kinematics=[] if state.kinematics is None else [state.kinematics],
        shape=state.shape,
        odom=_pack_odometry(to, state.odom, own=True),
        scan=[] if scan is None or first else [_pack_scan(to, scan, own=True)],
        scan_is_first=first,
        goal=to.sequence(goal),
        goal_shape=to.sequence(shape),
        is_static=state.static,
        arrive=state.arrive,
        collision=state.collision,
        collision_ids=to.sequence(np.array(state.collision_ids, np.int64)),
        scans=[_pack_scan(to, item, own=True) for item in scans],
        contact_force=_pack(to, state.contact_force),
        contact_time=_real(state.contact_time),
        air_time=_real(state.air_time),
        contacts=[_pack(to, item) for item in state.contacts],
    )


def _pack_contact(to: Target, contact: ContactState) -> Any:
    if to.direct:
        return contact
    return to.make(
        "irsim_msgs/ContactState",
        other_id=contact.other_id,
        other=contact.other,
        point=_pack(to, contact.point),
        normal=_pack(to, contact.normal),
        depth=_real(contact.depth),
        force=_real(contact.force),
    )


def _pack_world(to: Target, state: WorldState) -> Any:
    return to.make(
        "irsim_msgs/WorldState",
        header=_pack_header(to, state.header),
        seq=state.header.seq,
        stamp=_real(state.header.stamp),
        name=state.name,
        status=state.status,
        step_time=_real(state.step_time),
        objects=[_pack_object(to, item) for item in state.objects],
    )


_PACKERS: Mapping[type[Message], Callable[[Any, Any], Any]] = {
    Header: _pack_header,
    Clock: _pack_clock,
    PoseStamped: _pack_stamped("pose"),
    PoseWithCovariance: _pack_covariance("pose"),
    TwistWithCovariance: _pack_covariance("twist"),
    TransformStamped: _pack_stamped("transform"),
    TFMessage: _pack_tf,
    Odometry: _pack_odometry,
    LaserScan: _pack_scan,
    MapMetaData: _pack_metadata,
    OccupancyGrid: _pack_grid,
    ContactState: _pack_contact,
    ObjectState: _pack_object,
    WorldState: _pack_world,
}


_NUMBERS = {"float64": np.float64, "uint32": np.uint32, "uint8": np.uint8}


def _pack_fields(to: Target, message: Any) -> Any:
    """Pack a message of the interactive world, field by field.

    A sourced package may be of the contract alone: fields beyond it are then left out.
    """
    cls = message.__class__
    name = INTERACTIVE_TYPES[cls]
    known = None if to.direct else _native_fields(_native_class(name))
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for item in fields(cls):
        if known is not None and item.name not in known and item.metadata.get(EXTRA):
            continue
        kind = ros_field_type(hints[item.name], item)
        values[item.name] = _pack_value(to, getattr(message, item.name), kind, item.name)
    if to.direct and not values:
        # An empty message of ROS 2 holds one byte, which is a field where rosbags makes the class.
        values = {item.name: 0 for item in fields(to.types[name])}  # type: ignore[union-attr]  # rosbags'
    return to.make(name, **values)


def _native_fields(cls: Any) -> set[str]:
    if hasattr(cls, "get_fields_and_field_types"):
        return set(cls.get_fields_and_field_types())
    return set(cls.__slots__)


def _pack_value(to: Target, value: Any, kind: str, field: str) -> Any:
    if isinstance(value, Message):
        return _pack(to, value)
    base, is_list, _ = kind.partition("[]")
    if not is_list:
        return _real(value) if base == "float64" else value
    if base == "builtin_interfaces/Time":
        return [to.time(item, field) for item in value]
    if base in _NUMBERS:
        return to.sequence(_vector(value, _NUMBERS[base], field))
    return [_pack(to, item) if isinstance(item, Message) else item for item in value]


def _pack(to: Target, message: Any) -> Any:
    if message.__class__ in INTERACTIVE_TYPES:
        return _pack_fields(to, message)
    return _PACKERS.get(message.__class__, _pack_plain)(to, message)


# ------------------------------------------------------------------ from ROS


def _unpack_header(native: Any) -> Header:
    return Header(int(getattr(native, "seq", 0)), _seconds(native.stamp), str(native.frame_id))


def _unpack_own_header(native: Any) -> Header:
    return Header(int(native.seq), float(native.stamp), str(native.frame_id))


def _xyz(cls: type[M]) -> Callable[[Any], M]:
    return lambda native: cls(float(native.x), float(native.y), float(native.z))  # type: ignore[call-arg]


_point = _xyz(Point)
_vector3 = _xyz(Vector3)


def _unpack_quaternion(native: Any) -> Quaternion:
    return Quaternion(float(native.x), float(native.y), float(native.z), float(native.w))


def _unpack_pose(native: Any) -> Pose:
    return Pose(_point(native.position), _unpack_quaternion(native.orientation))


def _unpack_twist(native: Any) -> Twist:
    return Twist(_vector3(native.linear), _vector3(native.angular))


def _unpack_pose_covariance(native: Any) -> PoseWithCovariance:
    return PoseWithCovariance(_unpack_pose(native.pose), np.array(native.covariance, np.float64))


def _unpack_twist_covariance(native: Any) -> TwistWithCovariance:
    return TwistWithCovariance(_unpack_twist(native.twist), np.array(native.covariance, np.float64))


def _unpack_odometry(native: Any, own: bool = False) -> Odometry:
    return Odometry(
        _unpack_own_header(native.header) if own else _unpack_header(native.header),
        str(native.child_frame_id),
        _unpack_pose_covariance(native.pose),
        _unpack_twist_covariance(native.twist),
    )


def _unpack_scan(native: Any, own: bool = False) -> LaserScan:
    return LaserScan(
        _unpack_own_header(native.header) if own else _unpack_header(native.header),
        float(native.angle_min),
        float(native.angle_max),
        float(native.angle_increment),
        float(native.time_increment),
        float(native.scan_time),
        float(native.range_min),
        float(native.range_max),
        np.array(native.ranges, np.float32),
        np.array(native.intensities, np.float32),
    )


def _unpack_transform(native: Any) -> Transform:
    return Transform(_vector3(native.translation), _unpack_quaternion(native.rotation))


def _unpack_transform_stamped(native: Any) -> TransformStamped:
    return TransformStamped(
        _unpack_header(native.header),
        str(native.child_frame_id),
        _unpack_transform(native.transform),
    )


def _unpack_metadata(native: Any) -> MapMetaData:
    return MapMetaData(
        _seconds(native.map_load_time),
        float(native.resolution),
        int(native.width),
        int(native.height),
        _unpack_pose(native.origin),
    )


def _unpack_grid(native: Any) -> OccupancyGrid:
    return OccupancyGrid(
        _unpack_header(native.header),
        _unpack_metadata(native.info),
        np.array(native.data, np.int8),
    )


def _unpack_contact(native: Any) -> ContactState:
    return ContactState(
        int(native.other_id),
        str(native.other),
        _point(native.point),
        _vector3(native.normal),
        float(native.depth),
        float(native.force),
    )


def _unpack_object(native: Any) -> ObjectState:
    scans = [_unpack_scan(item, own=True) for item in native.scans]
    scan: LaserScan | None = None
    if native.scan_is_first:
        scan = scans[0]
    elif len(native.scan):
        scan = _unpack_scan(native.scan[0], own=True)
    shape = tuple(int(side) for side in native.goal_shape)
    goal = np.array(native.goal, np.float64)
    return ObjectState(
        _unpack_own_header(native.header),
        int(native.id),
        str(native.name),
        str(native.role),
        str(native.kinematics[0]) if len(native.kinematics) else None,
        str(native.shape),
        _unpack_odometry(native.odom, own=True),
        scan,
        goal.reshape(shape) if shape or goal.size else None,
        bool(native.is_static),
        bool(native.arrive),
        bool(native.collision),
        [int(other) for other in native.collision_ids],
        scans,
        _vector3(native.contact_force),
        float(native.contact_time),
        float(native.air_time),
        [_unpack_contact(item) for item in native.contacts],
    )


def _unpack_world(native: Any) -> WorldState:
    return WorldState(
        Header(int(native.seq), float(native.stamp), str(native.header.frame_id)),
        str(native.name),
        str(native.status),
        float(native.step_time),
        [_unpack_object(item) for item in native.objects],
    )


_UNPACKERS: Mapping[str, Callable[[Any], Message]] = {
    "std_msgs/Header": _unpack_header,
    "rosgraph_msgs/Clock": lambda native: Clock(_seconds(native.clock)),
    "geometry_msgs/Point": _point,
    "geometry_msgs/Vector3": _vector3,
    "geometry_msgs/Quaternion": _unpack_quaternion,
    "geometry_msgs/Pose": _unpack_pose,
    "geometry_msgs/PoseStamped": lambda native: PoseStamped(
        _unpack_header(native.header), _unpack_pose(native.pose)
    ),
    "geometry_msgs/PoseWithCovariance": _unpack_pose_covariance,
    "geometry_msgs/Twist": _unpack_twist,
    "geometry_msgs/TwistWithCovariance": _unpack_twist_covariance,
    "geometry_msgs/Transform": _unpack_transform,
    "geometry_msgs/TransformStamped": _unpack_transform_stamped,
    "tf2_msgs/TFMessage": lambda native: TFMessage(
        [_unpack_transform_stamped(item) for item in native.transforms]
    ),
    "nav_msgs/Odometry": _unpack_odometry,
    "sensor_msgs/LaserScan": _unpack_scan,
    "nav_msgs/MapMetaData": _unpack_metadata,
    "nav_msgs/OccupancyGrid": _unpack_grid,
    "irsim_msgs/Header": _unpack_own_header,
    "irsim_msgs/Odometry": lambda native: _unpack_odometry(native, own=True),
    "irsim_msgs/LaserScan": lambda native: _unpack_scan(native, own=True),
    "irsim_msgs/ContactState": _unpack_contact,
    "irsim_msgs/ObjectState": _unpack_object,
    "irsim_msgs/WorldState": _unpack_world,
}


def _unpack_fields(cls: type[Any]) -> Callable[[Any], Any]:
    """Return what unpacks a message of the interactive world; absent extras keep defaults."""
    hints = get_type_hints(cls)
    kinds = {item.name: ros_field_type(hints[item.name], item) for item in fields(cls)}
    extra = {item.name for item in fields(cls) if item.metadata.get(EXTRA)}

    def unpack(native: Any) -> Any:
        values = {}
        for name, kind in kinds.items():
            if name in extra and not hasattr(native, name):
                continue
            values[name] = _unpack_value(getattr(native, name), hints[name], kind)
        return cls(**values)

    return unpack


def _unpack_value(value: Any, hint: Any, kind: str) -> Any:
    base, is_list, _ = kind.partition("[]")
    if not is_list:
        if isinstance(hint, type) and issubclass(hint, Message):
            return _UNPACKERS[hint.ros_type](value)  # type: ignore[attr-defined]  # each has one
        return hint(value)
    if base == "uint8":
        return np.frombuffer(bytes(value), np.uint8).copy()
    if base == "builtin_interfaces/Time":
        return [_seconds(item) for item in value]
    (inner,) = get_args(hint)
    return [_unpack_value(item, inner, base) for item in value]


_UNPACKERS = {
    **_UNPACKERS,
    **{name: _unpack_fields(cls) for cls, name in INTERACTIVE_TYPES.items()},
}


# ------------------------------------------------------------------ bytes


@lru_cache(maxsize=2)
def _typestore(generation: Generation) -> Any:
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise MissingPackageError("rosbags", "record") from error
    store = get_typestore(Stores.ROS2_HUMBLE if generation == 2 else Stores.ROS1_NOETIC)
    missing = {**DEFINITIONS, **message_definitions()}
    if "tf2_msgs/msg/TFMessage" not in store.types:
        missing["tf2_msgs/TFMessage"] = "geometry_msgs/TransformStamped[] transforms\n"
    for name, text in missing.items():
        package, _, leaf = name.partition("/")
        store.register(get_types_from_msg(text, f"{package}/msg/{leaf}"))
    return store


@lru_cache(maxsize=2)
def _rosbags(generation: Generation) -> _Rosbags:
    return _Rosbags(_typestore(generation), generation)


_NAMES = {
    cls: name.replace("/", "/msg/") for cls, name in {**ROS_TYPES, **INTERACTIVE_TYPES}.items()
}


def _type_name(cls: type[Message]) -> str:
    try:
        return _NAMES[cls]
    except KeyError:
        raise TypeError(
            f"found a {cls.__name__}, expected a message with a ROS type: "
            + ", ".join(sorted(known.__name__ for known in ROS_TYPES))
        ) from None


# Anything that a value of the wrong type or size sets off inside a serialiser.
_UNFIT = (struct.error, AssertionError, AttributeError, TypeError, OverflowError, ValueError)


def _serialize(message: Message, generation: Generation) -> bytes:
    cls = message.__class__
    name = _type_name(cls)
    store = _typestore(generation)
    write = store.serialize_cdr if generation == 2 else store.serialize_ros1
    try:
        return bytes(write(_pack(_rosbags(generation), message), name))
    except _UNFIT as error:
        cls.from_dict(message.to_dict())  # names the field where its value is of a wrong type
        raise ValueError(f"{cls.__name__}: ROS {generation} cannot say it: {error}") from error


def _read_cdr(store: Any, data: bytes, name: str) -> Any:
    """Read CDR as the typestore does, and refuse bytes that end too early.

    The typestore takes the rest of the bytes for a last array or text that is cut short.
    """
    if len(data) < 4 or bytes(data[:2]) not in (b"\0\0", b"\0\1"):
        raise ValueError("no CDR encapsulation")
    kind = store.get_msgdef(name)
    read = kind.deserialize_cdr_le if data[1] else kind.deserialize_cdr_be
    native, end = read(memoryview(data)[4:], 0, kind.cls, store)
    if not end <= len(data) - 4 < end + 4:
        raise ValueError(f"the message is of {end + 4} bytes")
    return native


def _read_ros1(store: Any, data: bytes, name: str) -> Any:
    kind = store.get_msgdef(name)
    native, end = kind.deserialize_ros1(memoryview(data), 0, kind.cls, store)
    if end != len(data):
        raise ValueError(f"the message is of {end} bytes")
    return native


def _deserialize(cls: type[M], data: bytes, generation: Generation) -> M:
    name = _type_name(cls)
    read = _read_cdr if generation == 2 else _read_ros1
    store = _typestore(generation)
    from rosbags.serde import SerdeError

    try:
        native = read(store, data, name)
        return _UNPACKERS[name.replace("/msg/", "/")](native)  # type: ignore[return-value]
    except (*_UNFIT, IndexError, SerdeError) as error:
        form = "CDR" if generation == 2 else "ROS 1"
        raise ValueError(
            f"found {len(data)} bytes, expected a {name.replace('/msg/', '/')} as {form}: {error}"
        ) from error


def to_cdr(message: Message) -> bytes:
    """Return a message as ROS 2 sends it.

    Args:
        message: A message of a class in :data:`ROS_TYPES`.

    Raises:
        TypeError: The class has no ROS type, or a field is of the wrong type.
        ValueError: A value does not fit its ROS field.
        MissingPackageError: ``rosbags`` is not installed.
    """
    return _serialize(message, 2)


def from_cdr(cls: type[M], data: bytes) -> M:
    """Return the message that ROS 2 bytes tell of.

    Raises:
        TypeError: The class has no ROS type.
        ValueError: The bytes are no such message.
        MissingPackageError: ``rosbags`` is not installed.
    """
    return _deserialize(cls, data, 2)


def to_ros1(message: Message) -> bytes:
    """Return a message as ROS 1 sends it.

    Raises:
        TypeError: The class has no ROS type, or a field is of the wrong type.
        ValueError: A value does not fit its ROS field, such as a time before zero.
        MissingPackageError: ``rosbags`` is not installed.
    """
    return _serialize(message, 1)


def from_ros1(cls: type[M], data: bytes) -> M:
    """Return the message that ROS 1 bytes tell of.

    Raises:
        TypeError: The class has no ROS type.
        ValueError: The bytes are no such message.
        MissingPackageError: ``rosbags`` is not installed.
    """
    return _deserialize(cls, data, 1)


def definition(cls: type[Message], generation: Generation = 2) -> str:
    """Return the ``.msg`` text of a class's ROS type, followed by every type that it uses.

    Args:
        cls: A class in :data:`ROS_TYPES`.
        generation: 1 or 2.

    Raises:
        TypeError: The class has no ROS type.
        MissingPackageError: ``rosbags`` is not installed.
    """
    text, _ = _typestore(generation).generate_msgdef(_type_name(cls), ros_version=generation)
    return str(text)


# ------------------------------------------------------------------ native messages


def to_native(message: Message) -> Any:
    """Return a message as the class of rclpy or rospy, whichever ROS is sourced.

    Raises:
        TypeError: The class has no ROS type, or a field is of the wrong type.
        ValueError: A value does not fit its ROS field.
        MissingRosError: No sourced ROS has the type.
    """
    _type_name(message.__class__)
    try:
        return _pack(_Native(), message)
    except _UNFIT as error:
        cls = message.__class__
        cls.from_dict(message.to_dict())
        raise ValueError(f"{cls.__name__}: ROS cannot say it: {error}") from error


def from_native(native: Any) -> Message:
    """Return the message that a native ROS message, or one of ``rosbags``, tells of.

    Raises:
        TypeError: It is no ROS message, or of a type that is not in the table.
    """
    cls = native.__class__
    name = getattr(native, "__msgtype__", None) or getattr(cls, "_type", None)
    if name is None:
        name = f"{cls.__module__.partition('.')[0]}/{cls.__name__}"
    name = name.replace("/msg/", "/")
    if name not in _UNPACKERS:
        raise TypeError(f"found a {name}, expected one of {', '.join(sorted(_UNPACKERS))}")
    try:
        return _UNPACKERS[name](native)
    except (AttributeError, ValueError) as error:
        raise TypeError(f"found a {name} that is not whole: {error}") from error


# ------------------------------------------------------------------ services


def serve(node: Any, service: type[Any], name: str, answer: Callable[[Any], Message]) -> Any:
    """Answer a service of the interactive world on a node of rclpy.

    Where the answer raises one of this package's errors, the error is logged and the response
    stays as ROS made it, with blank texts and empty lists: a service of ROS 2 has no other way
    to say that it failed, and an exception would end the node.

    Args:
        node: A node of rclpy.
        service: The class of the service, such as ``FindSurface``.
        name: The name under which it is served.
        answer: Takes the request and returns the response.

    Returns:
        What the node's ``create_service`` returned.

    Raises:
        MissingRosError: No sourced ROS has the service.
    """
    package, _, leaf = service.ros_type.partition("/")
    try:
        native = getattr(importlib.import_module(f"{package}.srv"), leaf)
    except ImportError as error:
        raise MissingRosError(package) from error
    except AttributeError:
        raise MissingRosError(service.ros_type) from None
    read = _UNPACKERS[service.Request.ros_type]

    def called(request: Any, response: Any) -> Any:
        try:
            return to_native(answer(read(request)))
        except IrsimIsaacError as error:
            node.get_logger().error(f"{name}: {error}")
            return response

    return node.create_service(native, name, called)


# ------------------------------------------------------------------ actions


class RunningGoal(Protocol):
    """A goal that something works on, in whatever thread that is.

    Attributes:
        done: Whether it has ended.
        status: How it ended: ``"succeeded"``, ``"canceled"`` or ``"aborted"``.
        result: What came out.
        text: Why it ended as it did.
    """

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        ...

    @property
    def status(self) -> str:
        """How it ended."""
        ...

    @property
    def result(self) -> Message:
        """What came out."""
        ...

    @property
    def text(self) -> str:
        """Why it ended as it did."""
        ...

    def cancel(self) -> None:
        """Call it off."""
        ...


_POLL = 0.02
"""Seconds between two looks at a goal."""


def serve_action(
    node: Any,
    action: type[Any],
    name: str,
    begin: Callable[[Any, Callable[[Message], None]], RunningGoal],
    *,
    callback_group: Any = None,
) -> Any:
    """Answer an action of the interactive world on a node of rclpy.

    Every goal is accepted, and every wish to cancel one. A goal is looked after by a timer of the
    node, so that any executor will do: neither goals nor their cancelling block it. What is told
    on the way is published from that timer too, because it may come from another thread.

    Args:
        node: A node of rclpy.
        action: The class of the action, such as ``ObjectSearch``.
        name: The name under which it is served.
        begin: Takes the goal and what publishes feedback, and returns the goal at work.
        callback_group: The node's group that all of it belongs to; its default group unless told.

    Returns:
        The action server of rclpy.

    Raises:
        MissingRosError: No sourced ROS has the action, or there is no rclpy.
    """
    package, _, leaf = action.ros_type.partition("/")
    try:
        native = getattr(importlib.import_module(f"{package}.action"), leaf)
    except ImportError as error:
        raise MissingRosError(package) from error
    except AttributeError:
        raise MissingRosError(action.ros_type) from None
    try:
        rclpy_action = importlib.import_module("rclpy.action")
        rclpy_clock = importlib.import_module("rclpy.clock")
        rclpy_task = importlib.import_module("rclpy.task")
    except ImportError as error:
        raise MissingRosError("rclpy") from error
    read = _UNPACKERS[action.Goal.ros_type]

    async def execute(goal_handle: Any) -> Any:
        told: deque[Message] = deque()
        try:
            running = begin(read(goal_handle.request), told.append)
        except IrsimIsaacError as error:
            node.get_logger().error(f"{name}: {error}")
            goal_handle.abort()
            return native.Result()
        ended = rclpy_task.Future()
        asked = False

        def look() -> None:
            nonlocal asked
            # Before the feedback is taken, so that what was told last is not left behind.
            done = running.done
            while told:
                goal_handle.publish_feedback(to_native(told.popleft()))
            if goal_handle.is_cancel_requested and not asked:
                asked = True
                running.cancel()
            if done and not ended.done():
                ended.set_result(None)

        timer = node.create_timer(
            _POLL,
            look,
            callback_group=callback_group,
            # A simulated clock may stand still.
            clock=rclpy_clock.Clock(clock_type=rclpy_clock.ClockType.STEADY_TIME),
        )
        try:
            await ended
        finally:
            node.destroy_timer(timer)
        if running.status == "succeeded":
            goal_handle.succeed()
        elif running.status == "canceled" and goal_handle.is_cancel_requested:
            goal_handle.canceled()
        else:
            node.get_logger().error(f"{name}: {running.text}")
            goal_handle.abort()
        return to_native(running.result)

    return rclpy_action.ActionServer(
        node,
        native,
        name,
        execute,
        callback_group=callback_group,
        cancel_callback=lambda goal_handle: rclpy_action.CancelResponse.ACCEPT,
    )
