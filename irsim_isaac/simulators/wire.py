"""What two processes say to each other: messages of frames, and what may be in them.

A message is an envelope of fixed size, a body of msgpack, the gathered arrays and, for each
large array, a frame of its own. The envelope says how much follows, so that a message that lost
something is known by it. Nothing is ever unpickled, and no class is made but those named here.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np

from irsim_isaac.errors import MissingPackageError, SimulatorError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.lidar.emitters import EmitterState
from irsim_isaac.msg import WorldState
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators.tables import ArrayReader, ArrayWriter, table

__all__ = [
    "ANNOUNCEMENT",
    "COPIED",
    "LOOPBACK",
    "NO_SESSION",
    "SIZE_LIMIT",
    "VERSION",
    "DamagedMessageError",
    "Envelope",
    "Kind",
    "compose",
    "import_msgpack",
    "import_zmq",
    "is_local",
    "pack_values",
    "parse",
    "unpack",
    "unpack_values",
]

VERSION = 1
"""The version of what is said; both ends must speak the same one."""

ANNOUNCEMENT = "irsim_isaac server at "
"""What the line begins with in which a server says where it is."""

LOOPBACK = "tcp://127.0.0.1:*"

SIZE_LIMIT = 256 * 2**20
"""Bytes of a message at most, unless told otherwise."""

COPIED = 4 * 2**20
"""Frames of fewer bytes are copied into ZeroMQ: keeping them alive until sent takes longer."""

NO_SESSION = bytes(16)

_MAGIC = b"ISIR"
_ENVELOPE = struct.Struct(">4sHB16sQIQ")


class Kind(IntEnum):
    """What a message is."""

    HELLO = 1
    WELCOME = 2
    REFUSED = 3
    ASK = 4
    ANSWER = 5
    FAILED = 6
    EVENT = 7
    TAKEN = 8
    STOP = 9
    BYE = 10


class DamagedMessageError(SimulatorError):
    """A message is not what it must be."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message that was taken apart.

    Attributes:
        kind: What it is.
        session: The session that it belongs to; ``NO_SESSION`` before there is one.
        count: Which request of the session it is, or answers.
        body: Its msgpack.
        gathered: The gathered arrays.
        arrays: The arrays that have a frame each.
    """

    kind: Kind
    session: bytes
    count: int
    body: Any
    gathered: Any
    arrays: Sequence[Any]


def import_zmq() -> Any:
    """Return pyzmq.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        import zmq
    except ImportError as error:
        raise MissingPackageError("zmq", "remote") from error
    return zmq


def import_msgpack() -> Any:
    """Return msgpack.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        import msgpack
    except ImportError as error:
        raise MissingPackageError("msgpack", "remote") from error
    return msgpack


def _plain(value: Any) -> Any:
    """Return the built-in number of a numpy one; msgpack knows those alone."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"found {value!r:.80}, a {type(value).__name__}, which cannot be sent")


def compose(
    kind: Kind,
    session: bytes,
    count: int,
    body: Any = None,
    writer: ArrayWriter | None = None,
    *,
    limit: int = SIZE_LIMIT,
) -> list[Any]:
    """Return the frames of a message.

    Args:
        kind: What it is.
        session: The session that it belongs to.
        count: Which request of the session it is, or answers.
        body: Tuples and plain values.
        writer: The arrays and floats of the tables in the body.
        limit: Bytes of the message at most.

    Raises:
        SimulatorError: A value cannot be sent, or the message is too large.
    """
    msgpack = import_msgpack()
    try:
        packed = msgpack.packb(body, default=_plain, unicode_errors="surrogatepass")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise SimulatorError(f"a message cannot be sent: {error}") from error
    frames = [packed]
    if writer is not None:
        frames += [writer.gathered(), *writer.frames]
    size = sum(map(len, frames))
    if size > limit:
        raise SimulatorError(f"a message of {size} bytes; at most {limit} may be sent")
    envelope = _ENVELOPE.pack(_MAGIC, VERSION, kind, session, count, len(frames), size)
    return [envelope, *frames]


def parse(frames: Sequence[Any], *, limit: int = SIZE_LIMIT) -> Envelope:
    """Take a message apart.

    Args:
        frames: Buffers, the envelope first.
        limit: Bytes of the message at most.

    Raises:
        DamagedMessageError: It is none of this version, too large, or lacks something.
    """
    if not frames or len(frames[0]) != _ENVELOPE.size:
        found = len(frames[0]) if frames else 0
        raise DamagedMessageError(
            f"a message without envelope: {_ENVELOPE.size} bytes were expected, found {found}"
        )
    magic, version, kind, session, count, frame_count, size = _ENVELOPE.unpack(frames[0])
    if magic != _MAGIC:
        raise DamagedMessageError(f"a message of something else: it begins with {magic!r}")
    if version != VERSION:
        raise DamagedMessageError(
            f"a message of version {version}; this end speaks version {VERSION}"
        )
    found = sum(map(len, frames)) - len(frames[0])
    if (len(frames) - 1, found) != (frame_count, size):
        raise DamagedMessageError(
            f"a message of {len(frames) - 1} frames with {found} bytes; its envelope says "
            f"{frame_count} with {size}"
        )
    if size > limit:
        raise DamagedMessageError(f"a message of {size} bytes; at most {limit} are taken")
    if not frame_count or kind not in Kind._value2member_map_:
        raise DamagedMessageError(f"a message of kind {kind} with {frame_count} frames")
    gathered = frames[2] if frame_count > 1 else b""
    return Envelope(Kind(kind), session, count, frames[1], gathered, frames[3:])


def unpack(body: Any) -> Any:
    """Return what a body says: plain values and tuples.

    Raises:
        DamagedMessageError: It is no msgpack.
    """
    msgpack = import_msgpack()
    try:
        return msgpack.unpackb(body, use_list=False, unicode_errors="surrogatepass")
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise DamagedMessageError(f"a message that cannot be read: {error}") from error


# ------------------------------------------------------------------ values of any shape

_TUPLE, _SPEC, _STATE = 1, 2, 3
_SPECS: Mapping[str, type] = {
    cls.__name__: cls for cls in (EmitterState, LidarMount, LidarProfile, RobotSpec)
}


def pack_values(value: Any) -> bytes:
    """Return arguments as bytes: plain values, tuples, paths, times, robots and states.

    Raises:
        SimulatorError: A value cannot be sent.
    """
    msgpack = import_msgpack()

    def pack(item: Any) -> Any:
        return msgpack.packb(
            item, default=special, strict_types=True, unicode_errors="surrogatepass"
        )

    def special(item: Any) -> Any:
        kind = type(item)
        if isinstance(item, tuple):
            return msgpack.ExtType(_TUPLE, pack(list(item)))
        if _SPECS.get(kind.__name__) is kind:
            content = [getattr(item, field.name) for field in fields(item)]
            return msgpack.ExtType(_SPEC, pack([kind.__name__, content]))
        if isinstance(item, WorldState):
            writer = ArrayWriter()
            told = table(WorldState).pack([item], writer)
            body = msgpack.packb(told, default=_plain, unicode_errors="surrogatepass")
            return msgpack.ExtType(
                _STATE, pack([body, writer.gathered(), [bytes(frame) for frame in writer.frames]])
            )
        if isinstance(item, Fraction):
            return str(item)
        if isinstance(item, os.PathLike):
            return os.fspath(item)
        if isinstance(item, Mapping):
            return dict(item)
        if isinstance(item, np.generic):
            return item.item()
        # Of a subclass, such as an enumeration's, the plain value.
        if isinstance(item, str):
            return str.__str__(item)
        for base in (int, float):
            if isinstance(item, base):
                return base(item)
        return _plain(item)

    try:
        packed: bytes = pack(value)
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise SimulatorError(f"a value cannot be sent: {error}") from error
    return packed


def unpack_values(data: Any) -> Any:
    """Return the arguments that bytes of :func:`pack_values` tell of.

    Raises:
        DamagedMessageError: The bytes are none of that function.
    """
    msgpack = import_msgpack()

    def read(packed: Any) -> Any:
        return msgpack.unpackb(
            packed, ext_hook=special, strict_map_key=False, unicode_errors="surrogatepass"
        )

    def special(code: int, packed: bytes) -> Any:
        if code == _TUPLE:
            return tuple(read(packed))
        if code == _SPEC:
            name, content = read(packed)
            cls = _SPECS[name]
            known = [field.name for field in fields(cls) if is_dataclass(cls)]
            return cls(**dict(zip(known, content, strict=True)))
        if code == _STATE:
            body, gathered, frames = read(packed)
            reader = ArrayReader(bytearray(gathered), [bytearray(frame) for frame in frames])
            (state,) = table(WorldState).unpack(unpack(body), reader)
            reader.finish()
            return state
        raise ValueError(f"a value of the kind {code}")

    errors = (ValueError, TypeError, KeyError, RecursionError, IndexError)
    try:
        return read(data)
    except (*errors, msgpack.exceptions.UnpackException) as error:
        raise DamagedMessageError(f"arguments that cannot be read: {error!r}") from error


# ------------------------------------------------------------------ addresses


def is_local(address: str) -> bool:
    """Return whether an address can be reached from this machine alone.

    Raises:
        SimulatorError: It is no address of ZeroMQ's ``tcp`` or ``ipc``.
    """
    kind, _, rest = address.partition("://")
    if kind == "ipc" and rest:
        return True
    host, _, port = rest.rpartition(":")
    if kind != "tcp" or not host or not (port == "*" or port.isdigit()):
        raise SimulatorError(
            f"the address is '{address}'; 'tcp://HOST:PORT' or 'ipc://PATH' was expected"
        )
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
