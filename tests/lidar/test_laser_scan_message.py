"""The golden tables of Isaac Sim's LaserScan message, bit by bit."""

from __future__ import annotations

import logging
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irsim_isaac.lidar import Ros2LaserScanMessage, Ros2LaserScanMessageImpl, Ros2Message

HALF_TURN = (-180.0, 180.0)
# azimuths, rate, resolution, field of view, count; bits of angle_min, angle_max,
# angle_increment, scan_time and time_increment.
GOLDEN = [
    (HALF_TURN, 10, 1, 360, 360, "c0490fdb 40490fdb 3c8efa35 3dcccccd 3991a2b4"),
    (HALF_TURN, 10, 0.1125, 360, 3200, "c0490fdb 40490fdb 3b00adfc 3dcccccd 3803126f"),
    (HALF_TURN, 20, 1, 360, 360, "c0490fdb 40490fdb 3c8efa35 3d4ccccd 3911a2b4"),
    ((-180.0, 179.0), 20, 1, 360, 360, "c0490fdb 4047f1e6 3c8efa35 3d4ccccd 3911a2b4"),
    (HALF_TURN, 0, 1, 360, 360, "c0490fdb 40490fdb 3c8efa35 00000000 00000000"),
    (HALF_TURN, 10, 1, 360, 0, "c0490fdb 40490fdb 3c8efa35 3dcccccd 7f800000"),
    (HALF_TURN, 0, 1, 360, 0, "c0490fdb 40490fdb 3c8efa35 00000000 nan"),
    ((-135.0, 135.0), 15, 270 / 811, 270, 811, "c016cbe4 4016cbe4 3bbe66c4 3d888889 38814b52"),
    ((-135.0, 135.0), 15, 270 / 810, 270, 811, "c016cbe4 4016cbe4 3bbea2f2 3d888889 38814b52"),
    ((-90.0, 90.0), 5.5, 0.25, 180, 720, "bfc90fdb 3fc90fdb 3b8efa35 3e3a2e8c 3904655e"),
    (HALF_TURN, -10, 1, 360, 360, "c0490fdb 40490fdb 3c8efa35 bdcccccd b991a2b4"),
]


def bits(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return f"{int(np.float32(value).view(np.uint32)):08x}"


def written(count: int, *data: Any) -> Ros2LaserScanMessage:
    message = Ros2LaserScanMessage()
    message.writeHeader(123.456, "laser_frame")
    message.generateBuffers(count)
    message.writeData(*data)
    return message


@pytest.mark.parametrize(("azimuths", "rate", "resolution", "fov", "count", "expected"), GOLDEN)
def test_numbers_have_the_golden_bits(
    azimuths: tuple[float, float],
    rate: float,
    resolution: float,
    fov: float,
    count: int,
    expected: str,
) -> None:
    message = written(count, azimuths, rate, (0.1, 30.0), resolution, fov).getPtr()
    names = ("angle_min", "angle_max", "angle_increment", "scan_time", "time_increment")
    assert " ".join(bits(getattr(message, name)) for name in names) == expected
    assert (message.range_min, message.range_max) == (np.float32(0.1), np.float32(30.0))


def test_a_rate_of_negative_zero_is_none_and_of_nan_is_nan() -> None:
    still = written(4, HALF_TURN, -0.0, (0.1, 30.0), 1, 360).getPtr()
    assert bits(still.scan_time) == "00000000"
    assert math.isnan(written(4, HALF_TURN, math.nan, (0.1, 30.0), 1, 360).getPtr().scan_time)


@pytest.mark.parametrize(
    ("time", "sec", "nanosec"),
    [
        (1e-9, 0, 1),
        (1 / 60, 0, 16666666),
        (1 / 30, 0, 33333333),
        (123.456, 123, 456000000),
        (1e9 + 0.5, 1000000000, 500000000),
        (2147483647.999, 2147483647, 999000064),
        (2147483648.0, -2147483648, 0),
    ],
)
def test_a_stamp_is_cut_off_and_wraps(time: float, sec: int, nanosec: int) -> None:
    message = Ros2LaserScanMessage()
    message.writeHeader(time, "laser")
    stamp = message.getPtr().header.stamp
    assert (stamp.sec, stamp.nanosec) == (sec, nanosec)


@pytest.mark.parametrize("time", [0.0, 1e-10, -1.0, math.nan, math.inf, -math.inf, 1e300])
def test_a_stamp_that_is_not_positive_leaves_the_last_one(
    time: float, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    message = Ros2LaserScanMessage()
    message.writeHeader(5.25, "old")
    with caplog.at_level(logging.WARNING):
        message.writeHeader(time, "new")
    header = message.getPtr().header
    assert (header.stamp.sec, header.stamp.nanosec, header.frame_id) == (5, 250000000, "new")
    assert "Timestamp is invalid" in caplog.text
    assert capsys.readouterr().out == ""
    fresh = Ros2LaserScanMessage()
    fresh.writeHeader(time, "new")
    assert (fresh.getPtr().header.stamp.sec, fresh.getPtr().header.stamp.nanosec) == (0, 0)


def test_a_frame_ends_before_its_first_nul() -> None:
    message = Ros2LaserScanMessage()
    message.writeHeader(1.0, "laser\0frame")
    assert message.getPtr().header.frame_id == "laser"


def test_a_new_message_is_zero_and_empty() -> None:
    message = Ros2LaserScanMessage()
    inner = message.getPtr()
    assert inner is message.m_msg
    assert inner.header.frame_id == ""
    assert len(inner.ranges) == len(inner.intensities) == 0
    assert inner.angle_min == inner.time_increment == inner.range_max == 0.0


def test_buffers_are_shared_keep_what_they_held_and_fill_with_zero() -> None:
    message = Ros2LaserScanMessage()
    message.generateBuffers(3)
    ranges = message.getRangeData()
    assert ranges.dtype == np.float32
    ranges[:] = [1.0, 2.0, 3.0]
    message.getIntensitiesData()[:] = 7.0
    assert list(message.getPtr().ranges) == [1.0, 2.0, 3.0]
    message.generateBuffers(5)
    assert list(message.getPtr().ranges) == [1.0, 2.0, 3.0, 0.0, 0.0]
    assert list(message.getPtr().intensities) == [7.0, 7.0, 7.0, 0.0, 0.0]
    message.generateBuffers(2)
    message.getRangeData()[1] = 9.0
    assert list(message.getPtr().ranges) == [1.0, 9.0]
    message.generateBuffers(0)
    assert len(message.getPtr().ranges) == message.getRangeData().size == 0


def test_the_time_between_readings_depends_on_the_order_of_the_calls() -> None:
    message = Ros2LaserScanMessage()
    message.writeData(HALF_TURN, 10, (0.1, 30.0), 1, 360)
    assert message.getPtr().time_increment == np.inf
    message.generateBuffers(360)
    assert message.getPtr().time_increment == np.inf
    message.writeData(HALF_TURN, 10, (0.1, 30.0), 1, 360)
    assert bits(message.getPtr().time_increment) == "3991a2b4"


def test_without_a_message_every_method_does_nothing() -> None:
    message = Ros2LaserScanMessage()
    message.generateBuffers(2)
    message.getRangeData()[:] = 4.0
    message.m_msg = None
    message.writeHeader(1.0, "laser")
    message.generateBuffers(7)
    message.writeData(HALF_TURN, 10, (0.1, 30.0), 1, 360)
    assert message.getPtr() is None
    assert list(message.getRangeData()) == [4.0, 4.0]
    with pytest.raises(ValueError, match="no scan"):
        message.to_laser_scan()


def test_the_snake_case_methods_do_the_same() -> None:
    message = Ros2LaserScanMessage()
    message.write_header(123.456, "laser_frame")
    message.generate_buffers(360)
    message.write_data(HALF_TURN, 10, (0.1, 30.0), 1, 360)
    message.get_range_data()[:] = 2.0
    message.get_intensities_data()[:] = 3.0
    other = written(360, HALF_TURN, 10, (0.1, 30.0), 1, 360)
    other.getRangeData()[:] = 2.0
    other.getIntensitiesData()[:] = 3.0
    assert message.to_laser_scan() == other.to_laser_scan()
    assert message.get_ptr() is message.m_msg
    assert message.get_type_support_handle() == other.getTypeSupportHandle()


def test_it_becomes_a_message_of_this_project() -> None:
    message = written(4, (-90.0, 90.0), 10, (0.1, 30.0), 45, 180)
    message.getRangeData()[:] = [1.0, -1.0, 3.0, 4.0]
    scan = message.to_laser_scan()
    message.getRangeData()[:] = 0.0
    assert scan.ranges.tolist() == [1.0, -1.0, 3.0, 4.0]
    assert scan.ranges.dtype == scan.intensities.dtype == np.float32
    assert (scan.header.stamp, scan.header.frame_id) == (123.456, "laser_frame")
    assert scan.angle_min == float(np.float32(-math.pi / 2))


def test_the_class_of_the_implementation_is_the_same() -> None:
    assert Ros2LaserScanMessageImpl is Ros2LaserScanMessage
    assert issubclass(Ros2LaserScanMessage, Ros2Message)
    assert Ros2Message().getPtr() is None
    assert Ros2Message().getTypeSupportHandle() is None


def test_without_ros_the_handle_is_the_name_of_the_type() -> None:
    assert Ros2LaserScanMessage().getTypeSupportHandle() == "sensor_msgs/msg/LaserScan"


def test_with_ros_the_message_is_its_own_and_shares_the_buffers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Metaclass(type):
        _TYPE_SUPPORT: Any = None

        @classmethod
        def __import_type_support__(cls) -> None:
            cls._TYPE_SUPPORT = "handle"

    class Native(metaclass=Metaclass):
        def __init__(self) -> None:
            stamp = SimpleNamespace(sec=0, nanosec=0)
            object.__setattr__(self, "header", SimpleNamespace(stamp=stamp, frame_id=""))

        def __setattr__(self, name: str, value: Any) -> None:
            # As rosidl's classes do: sequences of floats are array.array, numbers float.
            wanted = "array" if name in ("ranges", "intensities") else "float"
            assert type(value).__name__ == wanted
            object.__setattr__(self, name, value)

    messages = ModuleType("sensor_msgs.msg")
    messages.LaserScan = Native
    for name, module in {
        "rclpy": ModuleType("rclpy"),
        "sensor_msgs": ModuleType("sensor_msgs"),
        "sensor_msgs.msg": messages,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    message = written(360, HALF_TURN, 10, (0.1, 30.0), 1, 360)
    message.getRangeData()[:] = 2.5
    native = message.getPtr()
    assert isinstance(native, Native)
    assert list(native.ranges) == [2.5] * 360
    assert bits(native.time_increment) == "3991a2b4"
    assert message.getTypeSupportHandle() == "handle"
    assert message.to_laser_scan().ranges.tolist() == [2.5] * 360


@pytest.mark.parametrize(("azimuths", "rate", "resolution", "fov", "count", "expected"), GOLDEN)
def test_the_class_of_ros_takes_what_is_written(
    monkeypatch: pytest.MonkeyPatch,
    azimuths: tuple[float, float],
    rate: float,
    resolution: float,
    fov: float,
    count: int,
    expected: str,
) -> None:
    rosbags = pytest.importorskip("rosbags.typesys")
    from tests.ros import rclpy_double

    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    name = "sensor_msgs/msg/LaserScan"
    native = rclpy_double.install(monkeypatch, store, [name])[name]
    monkeypatch.setitem(sys.modules, "rclpy", ModuleType("rclpy"))
    message = written(count, azimuths, rate, (0.1, 30.0), resolution, fov)
    message.getRangeData()[:] = np.arange(count)
    inner = message.getPtr()
    assert type(inner) is native
    names = ("angle_min", "angle_max", "angle_increment", "scan_time", "time_increment")
    assert " ".join(bits(getattr(inner, name)) for name in names) == expected
    assert list(inner.ranges) == list(range(count))
    assert (inner.header.stamp.sec, inner.header.stamp.nanosec) == (123, 456000000)
    assert inner.header.frame_id == "laser_frame"
