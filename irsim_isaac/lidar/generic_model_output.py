"""The buffer in which RTX sensors hand out their returns.

The layout is that of Isaac Sim 5.0 to 6.0: packed, little-endian, a header of 264 bytes, the
arrays of the elements and, on request, a block of auxiliary arrays. Everything is found by its
offset: the pointers in the buffer are neither read nor written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError

__all__ = [
    "VALID",
    "AuxType",
    "CoordsType",
    "FrameAtTime",
    "FrameOfReference",
    "GenericModelOutput",
    "Modality",
    "MotionCompensationState",
]

Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float32]

VALID = 0x40
"""The flag of an element that is a return; the others were fired and came to nothing."""

MAGIC = 0x4E474D4F
HEADER_BYTES = 264
_ELEMENT_BYTES = 21
_AUX_HEADER_BYTES = 88

_HEADER = struct.Struct("<4IQI2HQQ2I")
_KIND = struct.Struct("<2I")
_FRAME = struct.Struct("<Q")
_AUX = struct.Struct("<IfI")


class FrameOfReference(IntEnum):
    """What the coordinates of the elements are relative to."""

    SENSOR = 0
    WORLD = 1
    CUSTOM = 2
    PARENT = 3


class MotionCompensationState(IntEnum):
    """Whether the elements are where they were at the end of the frame."""

    NONCOMPENSATED = 0
    COMPENSATED = 1
    NOT_APPLICABLE = 2


class CoordsType(IntEnum):
    """What x, y and z are: metres, or azimuth [deg], elevation [deg] and range [m]."""

    CARTESIAN = 0
    SPHERICAL = 1
    NOT_APPLICABLE = 2


class AuxType(IntEnum):
    """How much auxiliary output was asked for."""

    NONE = 0
    BASIC = 1
    EXTRA = 2
    FULL = 3


class Modality(IntEnum):
    """The kind of the sensor."""

    UNDEFINED = 0
    LIDAR = 1
    RADAR = 2
    ACOUSTIC = 3
    IDS = 4


# name, presence bit, dtype, shape of one element: in the order in which the arrays lie.
_AUX_ARRAYS: tuple[tuple[str, int, str, tuple[int, ...]], ...] = (
    ("emitterId", 1, "<u4", ()),
    ("channelId", 2, "<u4", ()),
    ("matId", 8, "<u4", ()),
    ("tickId", 32, "<u4", ()),
    ("hitNormals", 128, "<f4", (3,)),
    ("velocities", 256, "<f4", (3,)),
    ("objId", 16, "|u1", (16,)),
    ("echoId", 4, "|u1", ()),
    ("tickStates", 64, "|u1", ()),
)
_AUX_BITS = sum(bit for _, bit, _, _ in _AUX_ARRAYS)

_Enum = TypeVar("_Enum", bound=IntEnum)


def _no_floats() -> Floats:
    return np.zeros(0, dtype=np.float32)


@dataclass(slots=True, eq=False)
class FrameAtTime:
    """Where the sensor was at one instant.

    Attributes:
        timestampNs: [ns].
        orientation: Quaternion x, y, z, w from the sensor to the world, shape (4,).
        posM: Position in the world [m], shape (3,).
    """

    timestampNs: int = 0
    orientation: Floats = field(default_factory=lambda: np.array([0, 0, 0, 1], dtype=np.float32))
    posM: Floats = field(default_factory=lambda: np.zeros(3, dtype=np.float32))

    def _to_bytes(self, where: str) -> bytes:
        orientation, position = np.asarray(self.orientation), np.asarray(self.posM)
        if orientation.shape != (4,) or position.shape != (3,):
            raise ScanError(
                f"{where}: orientation {orientation.shape} and posM {position.shape}, "
                "expected shapes (4,) and (3,)"
            )
        return (
            _packed(_FRAME, where, self.timestampNs)
            + orientation.astype("<f4").tobytes()
            + position.astype("<f4").tobytes()
            + bytes(4)
        )


@dataclass(slots=True, eq=False)
class GenericModelOutput:
    """One frame of a lidar, under Isaac Sim's own names.

    A frame that was parsed holds read-only views of the buffer. An auxiliary array that the
    frame does not hold is None.

    Attributes:
        x: Azimuth [deg], counter-clockwise, or metres forward; float32, shape (N,).
        y: Elevation [deg], or metres to the left; float32, shape (N,).
        z: Range [m], or metres up; float32, shape (N,).
        scalar: Intensity, 0 to 1; float32, shape (N,).
        flags: uint8, shape (N,); ``VALID`` marks the returns.
        timeOffsetNs: After ``timestampNs`` [ns]; int32, shape (N,).
        timestampNs: Of the frame [ns].
        frameId: The number of the frame.
        frameStart: The sensor when the frame began.
        frameEnd: The sensor when the frame ended.
        modelToAppTransform: Shape (4, 4).
        scanComplete: Auxiliary: non-zero where the frame ends a scan.
        azimuthOffset: Auxiliary [deg].
        emitterId: Auxiliary; uint32, shape (N,).
        channelId: Auxiliary; uint32, shape (N,).
        matId: Auxiliary; uint32, shape (N,).
        tickId: Auxiliary; uint32, shape (N,).
        hitNormals: Auxiliary; float32, shape (N, 3).
        velocities: Auxiliary [m/s]; float32, shape (N, 3).
        objId: Auxiliary: 128-bit object ids, little-endian; uint8, shape (N, 16).
        echoId: Auxiliary; uint8, shape (N,).
        tickStates: Auxiliary; uint8, shape (N,).
    """

    x: Floats = field(default_factory=_no_floats)
    y: Floats = field(default_factory=_no_floats)
    z: Floats = field(default_factory=_no_floats)
    scalar: Floats = field(default_factory=_no_floats)
    flags: Bytes = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    timeOffsetNs: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    timestampNs: int = 0
    frameId: int = 0
    frameOfReference: FrameOfReference = FrameOfReference.SENSOR
    motionCompensationState: MotionCompensationState = MotionCompensationState.NONCOMPENSATED
    elementsCoordsType: CoordsType = CoordsType.SPHERICAL
    outputType: int = 0
    modelToAppTransform: Floats = field(default_factory=lambda: np.eye(4, dtype=np.float32))
    frameStart: FrameAtTime = field(default_factory=FrameAtTime)
    frameEnd: FrameAtTime = field(default_factory=FrameAtTime)
    auxType: AuxType = AuxType.NONE
    modality: Modality = Modality.LIDAR
    magicNumber: int = MAGIC
    majorVersion: int = 1
    minorVersion: int = 0
    patchVersion: int = 0
    scanComplete: int = 0
    azimuthOffset: float = 0.0
    emitterId: npt.NDArray[np.uint32] | None = None
    channelId: npt.NDArray[np.uint32] | None = None
    matId: npt.NDArray[np.uint32] | None = None
    tickId: npt.NDArray[np.uint32] | None = None
    hitNormals: Floats | None = None
    velocities: Floats | None = None
    objId: Bytes | None = None
    echoId: Bytes | None = None
    tickStates: Bytes | None = None

    @property
    def numElements(self) -> int:
        """The number of elements, returns or not."""
        return len(self.x)

    @property
    def timeOffSetNs(self) -> npt.NDArray[np.int32]:
        """The time offsets, as Isaac Sim 5.1 spells them."""
        return self.timeOffsetNs

    @property
    def filledAuxMembers(self) -> int:
        """One bit for each auxiliary array that the frame holds."""
        return sum(bit for name, bit, _, _ in _AUX_ARRAYS if getattr(self, name) is not None)

    @property
    def sizeInBytes(self) -> int:
        """The length of the buffer that ``to_bytes`` writes."""
        count = self.numElements
        size = _aligned(HEADER_BYTES + _ELEMENT_BYTES * count)
        if self.auxType == AuxType.NONE:
            return size
        held = self.filledAuxMembers
        per_element = sum(
            np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
            for _, bit, dtype, shape in _AUX_ARRAYS
            if held & bit
        )
        return _aligned(size + _AUX_HEADER_BYTES + per_element * count)

    @classmethod
    def from_buffer(cls, data: Any) -> GenericModelOutput:
        """Parse a buffer by offsets; the arrays are read-only views of it.

        Bytes after the buffer's own ``sizeInBytes`` are not read. Nothing is written.

        Args:
            data: ``bytes`` or another buffer, a numpy array, a Warp array (copied to the host
                if it lies on a GPU), or an annotator's dictionary with one of them as ``data``.

        Raises:
            ScanError: It is not such a buffer; the message says by which field.
        """
        raw = _raw_bytes(data)
        if raw.size < HEADER_BYTES:
            raise ScanError(
                f"GenericModelOutput: {raw.size} bytes, the header alone has {HEADER_BYTES}"
            )
        (
            magic, major, minor, patch, size, count,
            frame_of_reference, motion, frame_id, timestamp, coords, output,
        ) = _HEADER.unpack_from(raw.data)  # fmt: skip
        if magic != MAGIC:
            raise ScanError(
                f"GenericModelOutput: magicNumber is {magic:#010x}, expected {MAGIC:#010x}; "
                "the first frames after play may be empty"
            )
        try:
            return cls._parse(
                raw, (major, minor, patch), size, count, frame_of_reference, motion, frame_id,
                timestamp, coords, output,
            )  # fmt: skip
        except ScanError as error:
            if _is_old_layout(raw):
                raise ScanError(
                    "GenericModelOutput: the layout of Isaac Sim 4.5 (numElements at byte 16), "
                    "expected that of 5.0 or later (sizeInBytes at byte 16)"
                ) from error
            raise

    @classmethod
    def _parse(
        cls,
        raw: Bytes,
        version: tuple[int, int, int],
        size: int,
        count: int,
        frame_of_reference: int,
        motion: int,
        frame_id: int,
        timestamp: int,
        coords: int,
        output: int,
    ) -> GenericModelOutput:
        if version[0] not in (1, 2):
            raise ScanError(f"GenericModelOutput: majorVersion is {version[0]}, expected 1 or 2")
        if size > raw.size:
            raise ScanError(
                f"GenericModelOutput: sizeInBytes is {size}, but the buffer ends after "
                f"{raw.size} bytes"
            )
        end = HEADER_BYTES + _ELEMENT_BYTES * count
        if size < end:
            raise ScanError(
                f"GenericModelOutput: sizeInBytes is {size}, but numElements {count} needs {end}"
            )
        aux_type, modality = _KIND.unpack_from(raw.data, 200)
        if modality > Modality.LIDAR:
            raise ScanError(
                f"GenericModelOutput: modality is {_named(Modality, modality)}, expected "
                f"{_named(Modality, Modality.LIDAR)}"
            )
        if output != 0:
            raise ScanError(f"GenericModelOutput: outputType is {output}, expected POINTCLOUD (0)")
        x = HEADER_BYTES + 4 * count
        y, z, scalar, flags = x + 4 * count, x + 8 * count, x + 12 * count, x + 16 * count
        frame = cls(
            raw[x:y].view("<f4"),
            raw[y:z].view("<f4"),
            raw[z:scalar].view("<f4"),
            raw[scalar:flags].view("<f4"),
            raw[flags:end],
            raw[HEADER_BYTES:x].view("<i4"),
            timestamp,
            frame_id,
            _checked(FrameOfReference, frame_of_reference, "frameOfReference"),
            _checked(MotionCompensationState, motion, "motionCompensationState"),
            _checked(CoordsType, coords, "elementsCoordsType"),
            output,
            raw[56:120].view("<f4").reshape(4, 4),
            _frame_at(raw, 120),
            _frame_at(raw, 160),
            _checked(AuxType, aux_type, "auxType"),
            Modality(modality),
            MAGIC,
            *version,
        )
        if aux_type != AuxType.NONE:
            frame._read_aux(raw, _aligned(end), size)
        return frame

    def _read_aux(self, raw: Bytes, offset: int, size: int) -> None:
        """Read the auxiliary block that begins at ``offset``."""
        count = self.numElements
        position = offset + _AUX_HEADER_BYTES
        if position > size:
            raise ScanError(
                f"GenericModelOutput: sizeInBytes is {size}, but the auxiliary block of auxType "
                f"{self.auxType.name} needs {position}"
            )
        self.scanComplete, self.azimuthOffset, held = _AUX.unpack_from(raw.data, offset)
        if held & ~_AUX_BITS:
            raise ScanError(
                f"GenericModelOutput: filledAuxMembers is {held:#x}, known bits are {_AUX_BITS:#x}"
            )
        for name, bit, dtype, shape in _AUX_ARRAYS:
            if not held & bit:
                continue
            width = 4 if dtype != "|u1" else 1
            end = position + width * count * (shape[0] if shape else 1)
            if end > size:
                raise ScanError(
                    f"GenericModelOutput: sizeInBytes is {size}, but {name} of {count} elements "
                    f"ends at {end}"
                )
            setattr(self, name, raw[position:end].view(dtype).reshape(count, *shape))
            position = end

    def to_bytes(self) -> bytes:
        """Write the frame in the layout that ``from_buffer`` reads, pointers zero.

        Raises:
            ScanError: An array has not one entry an element, a number does not fit its field,
                or there are auxiliary arrays and ``auxType`` is NONE.
        """
        where = f"GenericModelOutput of frame {self.frameId}"
        count = self.numElements
        if self.auxType == AuxType.NONE and self.filledAuxMembers:
            raise ScanError(f"{where}: it holds auxiliary arrays, but auxType is NONE")
        transform = np.asarray(self.modelToAppTransform)
        if transform.size != 16:
            raise ScanError(
                f"{where}: modelToAppTransform has {transform.size} numbers, expected 16"
            )
        parts = [
            _packed(
                _HEADER, where, self.magicNumber, self.majorVersion, self.minorVersion,
                self.patchVersion, self.sizeInBytes, count, self.frameOfReference,
                self.motionCompensationState, self.frameId, self.timestampNs,
                self.elementsCoordsType, self.outputType,
            ),
            transform.astype("<f4").tobytes(),
            self.frameStart._to_bytes(f"{where}: frameStart"),
            self.frameEnd._to_bytes(f"{where}: frameEnd"),
            _packed(_KIND, where, self.auxType, self.modality),
            bytes(56),
        ]  # fmt: skip
        for name, dtype in (
            ("timeOffsetNs", "<i4"),
            ("x", "<f4"),
            ("y", "<f4"),
            ("z", "<f4"),
            ("scalar", "<f4"),
            ("flags", "|u1"),
        ):
            parts.append(self._array_bytes(name, dtype, (), where))
        parts.append(_padding(HEADER_BYTES + _ELEMENT_BYTES * count))
        if self.auxType != AuxType.NONE:
            held = self.filledAuxMembers
            parts.append(_packed(_AUX, where, self.scanComplete, self.azimuthOffset, held))
            parts.append(bytes(_AUX_HEADER_BYTES - _AUX.size))
            for name, bit, dtype, shape in _AUX_ARRAYS:
                if held & bit:
                    parts.append(self._array_bytes(name, dtype, shape, where))
            parts.append(_padding(sum(map(len, parts))))
        return b"".join(parts)

    def _array_bytes(self, name: str, dtype: str, shape: tuple[int, ...], where: str) -> bytes:
        array = np.asarray(getattr(self, name))
        expected = (self.numElements, *shape)
        if array.shape != expected:
            raise ScanError(f"{where}: {name} has the shape {array.shape}, expected {expected}")
        return array.astype(dtype).tobytes()


def _raw_bytes(data: Any) -> Bytes:
    """Return a read-only byte view of whatever holds a buffer."""
    if isinstance(data, Mapping):
        data = data.get("data")
    if isinstance(data, np.ndarray):
        array = data
    elif hasattr(data, "numpy"):
        array = np.asarray(data.numpy())
    else:
        try:
            view = memoryview(data)
            array = np.frombuffer(view if view.contiguous else view.tobytes(), dtype=np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise ScanError(
                f"GenericModelOutput: found {type(data).__name__}, expected a buffer, a numpy "
                "array or a Warp array"
            ) from error
    if array.dtype.hasobject:
        raise ScanError("GenericModelOutput: found an array of objects, expected bytes")
    raw: Bytes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if raw.flags.writeable:
        raw = raw.view()
        raw.flags.writeable = False
    return raw


def _is_old_layout(raw: Bytes) -> bool:
    """Tell whether the fields make sense where Isaac Sim 4.5 had them."""
    count, frame_of_reference = struct.unpack_from("<2I", raw.data, 16)
    coords, output = struct.unpack_from("<2I", raw.data, 40)
    return bool(
        frame_of_reference <= FrameOfReference.PARENT
        and coords <= CoordsType.NOT_APPLICABLE
        and output == 0
        and _ELEMENT_BYTES * count <= raw.size
    )


def _frame_at(raw: Bytes, offset: int) -> FrameAtTime:
    return FrameAtTime(
        _FRAME.unpack_from(raw.data, offset)[0],
        raw[offset + 8 : offset + 24].view("<f4"),
        raw[offset + 24 : offset + 36].view("<f4"),
    )


def _checked(kind: type[_Enum], value: int, name: str) -> _Enum:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(f"{entry.name} ({entry.value})" for entry in kind)
        raise ScanError(f"GenericModelOutput: {name} is {value}, expected one of {known}") from None


def _named(kind: type[IntEnum], value: int) -> str:
    known = kind._value2member_map_.get(value)
    return f"{known.name} ({value})" if isinstance(known, IntEnum) else str(value)


def _packed(layout: struct.Struct, where: str, *values: Any) -> bytes:
    try:
        return layout.pack(*values)
    except struct.error as error:
        raise ScanError(f"{where}: a number of the header does not fit: {error}") from error


def _aligned(size: int) -> int:
    """Return the next multiple of eight."""
    return (size + 7) & ~7


def _padding(size: int) -> bytes:
    return bytes(_aligned(size) - size)
