"""Recordings as MCAP: what Foxglove, rosbag2 and every ROS 2 tool open."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from irsim_isaac.errors import MissingPackageError, RecordingError
from irsim_isaac.msg import (
    Header,
    Message,
    ObjectState,
    OccupancyGrid,
    Odometry,
    Quaternion,
    TFMessage,
    Transform,
    TransformStamped,
    Vector3,
    WorldState,
)
from irsim_isaac.msg.ros import definition, from_cdr, nanoseconds, to_cdr
from irsim_isaac.recording.entry import Entry, Order

__all__ = ["McapRecorder", "Mount", "Robot", "read_mcap"]

_MAGIC = b"\x89MCAP0\r\n"
_STATE = "world_state"
_GRIDS = ("map", "fog")
_TRANSIENT_LOCAL = """\
- history: 1
  depth: 1
  reliability: 1
  durability: 1
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: 1
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: false
"""


class Mount(Protocol):
    """Where a lidar sits on its robot, as ``irsim_isaac.robot.LidarMount``."""

    frame_id: str
    x: float
    y: float
    z: float
    roll: float
    pitch: float
    yaw: float


class Robot(Protocol):
    """A robot and its lidars, as ``irsim_isaac.robot.RobotSpec``."""

    @property
    def name(self) -> str:
        """The robot's name."""
        ...

    @property
    def lidars(self) -> tuple[Any, ...]:
        """Its lidars, each a ``Mount``."""
        ...


class _Stream:
    """A file that the operating system has every byte of as soon as it is written."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._position = 0

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """Do nothing: no byte waits here."""

    def close(self) -> None:
        self._file.close()


def _rotation(mount: Mount) -> Quaternion:
    """Return the rotation of fixed-axis roll, pitch and yaw."""
    cr, sr = math.cos(mount.roll / 2), math.sin(mount.roll / 2)
    cp, sp = math.cos(mount.pitch / 2), math.sin(mount.pitch / 2)
    cy, sy = math.cos(mount.yaw / 2), math.sin(mount.yaw / 2)
    return Quaternion(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def _static_transforms(robots: Iterable[Robot]) -> list[TransformStamped]:
    transforms = []
    for robot in robots:
        for index, mount in enumerate(robot.lidars):
            default = f"{robot.name}/laser" if index == 0 else f"{robot.name}/laser_{index}"
            transforms.append(
                TransformStamped(
                    Header(frame_id=f"{robot.name}/base_link"),
                    mount.frame_id or default,
                    Transform(Vector3(mount.x, mount.y, mount.z), _rotation(mount)),
                )
            )
    return transforms


def _ros2_name(cls: type[Message]) -> str:
    ros_type: str = cls.ros_type  # type: ignore[attr-defined]
    return ros_type.replace("/", "/msg/")


@dataclass(frozen=True, slots=True)
class _Row:
    """One encoded message and where it goes."""

    topic: str
    cls: type[Message]
    data: bytes
    qos: str


class McapRecorder:
    """Writes an MCAP file of the ROS 2 profile, stamped with simulation time.

    Args:
        path: The file to write.
        robots: What the lidars' mounts in ``/tf_static`` are taken from.
        chunk_size: Bytes of a chunk before compression; what a kill can cost.
    """

    def __init__(self, path: Path, *, robots: Iterable[Robot], chunk_size: int) -> None:
        try:
            from mcap.writer import CompressionType, Writer
        except ImportError as error:
            raise MissingPackageError("mcap", "record") from error
        self._mounts = _static_transforms(robots)
        self._stream = _Stream(path)
        self._writer = Writer(
            self._stream,  # type: ignore[arg-type]
            chunk_size=chunk_size,
            compression=CompressionType.ZSTD,
        )
        self._writer.start(profile="ros2", library="irsim_isaac")
        self._schemas: dict[type[Message], int] = {}
        self._channels: dict[str, int] = {}
        self._sources: set[str] = set()

    def write_state(self, source: str, state: WorldState) -> None:
        """Write a state, and what ROS tools show of it.

        Raises:
            ValueError: The state cannot be said in ROS, or is of a time before zero.
        """
        time = _log_time(state.header.stamp)
        prefix = f"/{source}" if source else ""
        frame = f"{source}/" if source else ""
        # All is encoded before any is written: what does not fit leaves nothing behind.
        rows = [] if source in self._sources else self._mount_rows(frame, state.header.stamp)
        moving = []
        for item in state.objects:
            rows += _object_rows(f"{prefix}/{item.name}", frame, item)
            if item.role == "robot":
                moving.append(_transform(item.odom, frame))
        if moving:
            rows.append(_row("/tf", TFMessage(moving)))
        rows.append(_row(f"{prefix}/{_STATE}", state))
        self._sources.add(source)
        for row in rows:
            self._write(row, time)

    def write_grid(self, source: str, kind: str, grid: OccupancyGrid) -> None:
        """Write a map or a fog map.

        Raises:
            ValueError: The map cannot be said in ROS, or is of a time before zero.
        """
        topic = f"/{source}/{kind}" if source else f"/{kind}"
        self._write(_row(topic, grid, qos=_TRANSIENT_LOCAL), _log_time(grid.header.stamp))

    def close(self) -> None:
        """Write the index and close the file."""
        try:
            self._writer.finish()
        finally:
            self._stream.close()

    def _mount_rows(self, frame: str, stamp: float) -> list[_Row]:
        if not self._mounts:
            return []
        transforms = [
            TransformStamped(
                Header(0, stamp, frame + item.header.frame_id),
                frame + item.child_frame_id,
                item.transform,
            )
            for item in self._mounts
        ]
        return [_row("/tf_static", TFMessage(transforms), qos=_TRANSIENT_LOCAL)]

    def _write(self, row: _Row, time: int) -> None:
        channel = self._channels.get(row.topic)
        if channel is None:
            schema = self._schemas.get(row.cls)
            if schema is None:
                schema = self._writer.register_schema(
                    _ros2_name(row.cls), "ros2msg", definition(row.cls).encode()
                )
                self._schemas[row.cls] = schema
            channel = self._writer.register_channel(
                row.topic, "cdr", schema, {"offered_qos_profiles": row.qos}
            )
            self._channels[row.topic] = channel
        self._writer.add_message(channel, time, row.data, time)


def _log_time(stamp: float) -> int:
    time = nanoseconds(stamp)
    if time < 0:
        raise ValueError(f"found the time {stamp} s, expected one from zero on")
    return time


def _row(topic: str, message: Message, *, qos: str = "") -> _Row:
    return _Row(topic, message.__class__, to_cdr(message), qos)


def _object_rows(topic: str, frame: str, item: ObjectState) -> list[_Row]:
    rows = []
    odom = item.odom
    if item.role == "robot" or not item.static:
        if frame:
            odom = Odometry(odom.header, frame + odom.child_frame_id, odom.pose, odom.twist)
        rows.append(_row(f"{topic}/odom", odom))
    for index, scan in enumerate(item.scans):
        name = f"scan_{index}" if index else "scan"
        rows.append(_row(f"{topic}/{name}", _reframed(scan, frame) if frame else scan))
    rows += [_row(f"{topic}/contacts", contact) for contact in item.contacts]
    return rows


def _transform(odom: Odometry, frame: str) -> TransformStamped:
    pose = odom.pose.pose
    return TransformStamped(
        odom.header,
        frame + odom.child_frame_id,
        Transform(Vector3(pose.position.x, pose.position.y, pose.position.z), pose.orientation),
    )


def _reframed(scan: Any, frame: str) -> Any:
    """Return the same scan, in its frame of one simulator among several."""
    header = Header(scan.header.seq, scan.header.stamp, frame + scan.header.frame_id)
    values = {name: getattr(scan, name) for name in scan.__slots__ if name != "header"}
    return scan.__class__(header=header, **values)


# ------------------------------------------------------------------ reading


def _records(path: Path, data: io.BufferedReader, size: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the place, the opcode and the content of each whole record, to the footer."""
    start = data.read(len(_MAGIC))
    if start != _MAGIC:
        raise RecordingError(f"{path}, byte 0: found {start!r}, expected an MCAP file")
    offset = len(_MAGIC)
    while True:
        head = data.read(9)
        length = int.from_bytes(head[1:], "little")
        if len(head) < 9 or offset + 9 + length > size:
            raise RecordingError(
                f"{path}, byte {offset}: the recording is cut off in the middle of a record"
            )
        yield offset, head[0], data.read(length)
        if head[0] == 2:  # the footer
            if data.read() != _MAGIC:
                raise RecordingError(
                    f"{path}, byte {offset + 9 + length}: the recording is cut off at its end"
                )
            return
        offset += 9 + length


def read_mcap(path: Path) -> Iterator[Entry]:
    """Yield what an MCAP file holds; after the last whole message, say what is wrong.

    Raises:
        RecordingError: The file is foreign, cut off, damaged or out of order.
        MissingPackageError: ``mcap`` is not installed.
    """
    try:
        from mcap.data_stream import ReadDataStream
        from mcap.exceptions import McapError
        from mcap.records import Channel, Chunk, Schema
        from mcap.records import Message as Record
        from mcap.stream_reader import breakup_chunk
        from zstandard import ZstdError
    except ImportError as error:
        raise MissingPackageError("mcap", "record") from error
    damaged = (McapError, ZstdError, struct.error, ValueError, OverflowError, MemoryError)
    readers: dict[int, tuple[str, str, type[Message]]] = {}
    schemas: dict[int, Any] = {}
    topics: set[str] = set()
    order = Order(path)
    found = False
    with path.open("rb") as file:
        for offset, opcode, body in _records(path, file, path.stat().st_size):
            where = f"byte {offset}"
            try:
                stream = ReadDataStream(io.BytesIO(body))
                records: list[Any]
                if opcode == 6:
                    records = breakup_chunk(Chunk.read(stream), validate_crc=True)
                elif opcode == 3:
                    records = [Schema.read(stream)]
                elif opcode == 4:
                    records = [Channel.read(stream)]
                elif opcode == 5:
                    records = [Record.read(stream, len(body))]
                else:
                    continue
            except damaged as error:
                raise RecordingError(f"{path}, {where}: the record is damaged: {error}") from error
            for record in records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    topics.add(record.topic)
                    known = _reader(path, where, record, schemas.get(record.schema_id))
                    if known is not None:
                        readers[record.id] = known
                elif isinstance(record, Record) and record.channel_id in readers:
                    source, kind, cls = readers[record.channel_id]
                    try:
                        message = from_cdr(cls, record.data)
                    except ValueError as error:
                        raise RecordingError(f"{path}, {where}: {error}") from error
                    if isinstance(message, WorldState):
                        found = True
                        order.follow(source, message, where)
                    yield Entry(source, kind, message)  # type: ignore[arg-type]
    if not found and topics:
        raise RecordingError(
            f"{path}: no topic '{_STATE}' of irsim_msgs/msg/WorldState; topics found: "
            + ", ".join(sorted(topics))
        )


def _reader(
    path: Path, where: str, channel: Any, schema: Any
) -> tuple[str, str, type[Message]] | None:
    """Return the source, the kind and the class of a channel that is ours."""
    source, _, leaf = channel.topic.rpartition("/")
    source = source.removeprefix("/")
    cls: type[Message]
    if leaf == _STATE:
        kind, cls = "state", WorldState
    elif leaf in _GRIDS and "/" not in source:
        kind, cls = leaf, OccupancyGrid
    else:
        return None
    name = schema.name if schema is not None else "no schema"
    if name != _ros2_name(cls) or channel.message_encoding != "cdr":
        if leaf == _STATE:
            raise RecordingError(
                f"{path}, {where}: the topic {channel.topic} has {name} as "
                f"{channel.message_encoding}, expected {_ros2_name(cls)} as cdr"
            )
        return None
    if leaf == _STATE and schema.data.decode().strip() != definition(cls).strip():
        raise RecordingError(
            f"{path}, {where}: the schema of {channel.topic} is not the one of this version"
        )
    return source, kind, cls
