"""Buffers of RTX sensors: written, parsed and refused."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    VALID,
    AuxType,
    CoordsType,
    FrameAtTime,
    FrameOfReference,
    GenericModelOutput,
    Modality,
    MotionCompensationState,
)
from tests.lidar.scenes import frame

ARRAYS = ("x", "y", "z", "scalar", "flags", "timeOffsetNs")
AUX = {
    "emitterId": (np.uint32, ()),
    "channelId": (np.uint32, ()),
    "matId": (np.uint32, ()),
    "tickId": (np.uint32, ()),
    "hitNormals": (np.float32, (3,)),
    "velocities": (np.float32, (3,)),
    "objId": (np.uint8, (16,)),
    "echoId": (np.uint8, ()),
    "tickStates": (np.uint8, ()),
}
NUMBERS = (
    "timestampNs",
    "frameId",
    "frameOfReference",
    "motionCompensationState",
    "elementsCoordsType",
    "outputType",
    "auxType",
    "modality",
    "majorVersion",
    "minorVersion",
    "patchVersion",
    "scanComplete",
    "azimuthOffset",
    "numElements",
    "sizeInBytes",
    "filledAuxMembers",
)


def same_bits(left: npt.NDArray[Any] | None, right: npt.NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and (left.tobytes() == right.tobytes())
    )


def assert_same(left: GenericModelOutput, right: GenericModelOutput) -> None:
    for name in NUMBERS:
        assert getattr(left, name) == getattr(right, name), name
    for name in (*ARRAYS, *AUX, "modelToAppTransform"):
        assert same_bits(getattr(left, name), getattr(right, name)), name
    for name in ("frameStart", "frameEnd"):
        one, other = getattr(left, name), getattr(right, name)
        assert one.timestampNs == other.timestampNs
        assert same_bits(one.orientation, other.orientation)
        assert same_bits(one.posM, other.posM)


@st.composite
def frames(draw: st.DrawFn) -> GenericModelOutput:
    count = draw(st.integers(0, 12))

    def array(dtype: Any, *shape: int) -> npt.NDArray[Any]:
        return draw(hnp.arrays(dtype, shape))

    aux = draw(st.sampled_from(AuxType))
    held = draw(st.sets(st.sampled_from(sorted(AUX)))) if aux else set()
    stamps = st.integers(0, 2**64 - 1)
    return GenericModelOutput(
        **{name: array(np.float32, count) for name in ("x", "y", "z", "scalar")},
        flags=array(np.uint8, count),
        timeOffsetNs=array(np.int32, count),
        timestampNs=draw(stamps),
        frameId=draw(stamps),
        frameOfReference=draw(st.sampled_from(FrameOfReference)),
        motionCompensationState=draw(st.sampled_from(MotionCompensationState)),
        elementsCoordsType=draw(st.sampled_from(CoordsType)),
        modelToAppTransform=array(np.float32, 4, 4),
        frameStart=FrameAtTime(draw(stamps), array(np.float32, 4), array(np.float32, 3)),
        frameEnd=FrameAtTime(draw(stamps), array(np.float32, 4), array(np.float32, 3)),
        auxType=aux,
        modality=draw(st.sampled_from([Modality.UNDEFINED, Modality.LIDAR])),
        majorVersion=draw(st.sampled_from([1, 2])),
        minorVersion=draw(st.integers(0, 9)),
        scanComplete=draw(st.integers(0, 1)) if aux else 0,
        azimuthOffset=draw(st.floats(width=32, allow_nan=False)) if aux else 0.0,
        **{name: array(AUX[name][0], count, *AUX[name][1]) for name in held},
    )


@given(frames())
@settings(max_examples=60)
def test_what_is_written_is_read(original: GenericModelOutput) -> None:
    data = original.to_bytes()
    assert len(data) == original.sizeInBytes
    parsed = GenericModelOutput.from_buffer(data)
    assert_same(parsed, original)
    assert parsed.to_bytes() == data


def well_formed() -> bytes:
    return frame(
        np.linspace(-3, 3, 9),
        2.0,
        offsets=np.arange(9),
        auxType=AuxType.FULL,
        objId=np.arange(144, dtype=np.uint8).reshape(9, 16),
        echoId=np.zeros(9, dtype=np.uint8),
    ).to_bytes()


@given(st.binary(max_size=700))
def test_any_bytes_give_a_frame_or_a_scan_error(data: bytes) -> None:
    try:
        parsed = GenericModelOutput.from_buffer(data)
    except ScanError:
        return
    assert GenericModelOutput.from_buffer(parsed.to_bytes()).to_bytes() == parsed.to_bytes()


@given(
    st.lists(st.tuples(st.integers(0, 351), st.integers(0, 255)), min_size=1, max_size=8),
    st.integers(0, 900),
)
@settings(max_examples=300)
def test_any_change_of_a_frame_gives_a_frame_inside_the_buffer_or_a_scan_error(
    changes: list[tuple[int, int]], length: int
) -> None:
    data = bytearray(well_formed())
    for place, value in changes:
        data[place] = value
    buffer = np.frombuffer(bytes(data[:length] if length < len(data) else data), dtype=np.uint8)
    start, end = buffer.ctypes.data, buffer.ctypes.data + buffer.size
    try:
        parsed = GenericModelOutput.from_buffer(buffer)
    except ScanError:
        return
    for name in (*ARRAYS, *AUX):
        array = getattr(parsed, name)
        if array is not None and array.size:
            assert start <= array.ctypes.data
            assert array.ctypes.data + array.nbytes <= end


def test_the_fields_lie_where_isaac_sim_has_them() -> None:
    data = frame(
        [10.0, 20.0],
        [1.0, 2.0],
        [3.0, 4.0],
        scalar=[0.25, 0.75],
        flags=[VALID, 1],
        offsets=[5, 6],
        stamp=77,
        frameId=88,
        frameStart=FrameAtTime(11, np.array([0, 0, 0.6, 0.8], np.float32), np.float32([1, 2, 3])),
        auxType=AuxType.BASIC,
        scanComplete=1,
        azimuthOffset=0.5,
        emitterId=np.array([7, 8], dtype=np.uint32),
        echoId=np.array([1, 2], dtype=np.uint8),
    ).to_bytes()
    assert struct.unpack_from("<4IQI2HQQ2I", data) == (
        0x4E474D4F, 1, 0, 0, len(data), 2, 0, 0, 88, 77, 1, 0,
    )  # fmt: skip
    assert struct.unpack_from("<16f", data, 56) == tuple(np.eye(4).ravel())
    assert struct.unpack_from("<Q7f", data, 120) == pytest.approx((11, 0, 0, 0.6, 0.8, 1, 2, 3))
    assert struct.unpack_from("<2I", data, 200) == (1, 1)
    assert struct.unpack_from("<2i8f2B", data, 264) == (
        5, 6, 10, 20, 3, 4, 1, 2, 0.25, 0.75, VALID, 1,
    )  # fmt: skip
    assert struct.unpack_from("<IfI", data, 312) == (1, 0.5, 1 | 4)
    assert struct.unpack_from("<2I2B", data, 400) == (7, 8, 1, 2)
    assert len(data) == 416


def test_a_frame_is_parsed_from_whatever_holds_it_and_nothing_is_written() -> None:
    data = well_formed()
    kept = bytearray(data)
    array = np.frombuffer(data, dtype=np.uint8).copy()
    strided = np.zeros(2 * array.size, dtype=np.uint8)
    strided[::2] = array
    with_more = np.concatenate([array, np.full(64, 255, dtype=np.uint8)])
    for source in (
        data,
        kept,
        memoryview(data),
        array,
        array.view(np.int8),
        strided[::2],
        with_more,
        wp.array(array, dtype=wp.uint8, device="cpu"),
        {"data": array, "info": {}},
    ):
        parsed = GenericModelOutput.from_buffer(source)
        assert parsed.to_bytes() == data
        assert not parsed.x.flags.writeable
        assert not parsed.flags.flags.writeable
    assert kept == data
    assert array.tobytes() == data
    assert array.flags.writeable
    assert GenericModelOutput.from_buffer(array).z.base is not None
    assert np.shares_memory(GenericModelOutput.from_buffer(array).z, array)


def test_a_frame_is_parsed_at_any_alignment() -> None:
    data = well_formed()
    for shift in (1, 2, 3):
        assert GenericModelOutput.from_buffer(
            memoryview(bytes(shift) + data)[shift:]
        ).to_bytes() == (data)


def changed(offset: int, layout: str, *values: int) -> bytes:
    data = bytearray(well_formed())
    struct.pack_into(layout, data, offset, *values)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes, the header alone has 264"),
        (bytes(300), "magicNumber is 0x00000000"),
        (changed(0, "<I", 0x4F4D474E), "magicNumber is 0x4f4d474e"),
        (changed(4, "<I", 3), "majorVersion is 3, expected 1 or 2"),
        (changed(16, "<Q", 263), "sizeInBytes is 263"),
        (changed(16, "<Q", 10**6), "sizeInBytes is 1000000, but the buffer ends after"),
        (changed(24, "<I", 2**32 - 1), "numElements 4294967295 needs"),
        (changed(28, "<H", 4), "frameOfReference is 4"),
        (changed(30, "<H", 9), "motionCompensationState is 9"),
        (changed(48, "<I", 3), "elementsCoordsType is 3"),
        (changed(52, "<I", 1), "outputType is 1"),
        (changed(200, "<I", 4), "auxType is 4"),
        (changed(204, "<I", 2), r"modality is RADAR \(2\), expected LIDAR"),
        (changed(464, "<I", 0x200), "filledAuxMembers is 0x200"),
        (changed(464, "<I", 0x1FF), "emitterId of 9 elements ends at|ends at"),
        (well_formed()[:-1], "the buffer ends after"),
        (well_formed()[:263], "263 bytes"),
        ("text", "found str, expected a buffer"),
        (None, "found NoneType"),
        (np.array([object()]), "array of objects"),
    ],
)
def test_what_is_no_frame_is_refused_by_name(data: Any, message: str) -> None:
    with pytest.raises(ScanError, match=message):
        GenericModelOutput.from_buffer(data)


def test_the_layout_of_isaac_sim_4_5_is_refused_by_name() -> None:
    count = 20
    old = bytearray(256 + 21 * count)
    struct.pack_into("<4I2IQQ2I", old, 0, 0x4E474D4F, 1, 0, 0, count, 0, 5, 10**9, 1, 0)
    struct.pack_into("<16f", old, 48, *np.eye(4).ravel())
    with pytest.raises(ScanError, match=r"layout of Isaac Sim 4\.5"):
        GenericModelOutput.from_buffer(bytes(old))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"y": np.zeros(3, np.float32)}, r"y has the shape \(3,\), expected \(2,\)"),
        ({"emitterId": np.zeros(2, np.uint32)}, "auxiliary arrays, but auxType is NONE"),
        (
            {"auxType": AuxType.FULL, "objId": np.zeros((2, 4), np.uint8)},
            r"objId has the shape \(2, 4\), expected \(2, 16\)",
        ),
        ({"timestampNs": -1}, "a number of the header does not fit"),
        ({"frameStart": FrameAtTime(0, np.zeros(3, np.float32))}, "orientation"),
        ({"modelToAppTransform": np.eye(3, dtype=np.float32)}, "9 numbers, expected 16"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(fields: dict[str, Any], message: str) -> None:
    original = frame([1.0, 2.0], 3.0)
    for name, value in fields.items():
        setattr(original, name, value)
    with pytest.raises(ScanError, match=message):
        original.to_bytes()


def test_the_spelling_of_isaac_sim_5_1_gives_the_same_offsets() -> None:
    parsed = frame([1.0, 2.0], 3.0, offsets=[4, 5])
    assert parsed.timeOffSetNs is parsed.timeOffsetNs
