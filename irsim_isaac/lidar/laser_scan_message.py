"""``Ros2LaserScanMessage`` of Isaac Sim's ROS 2 bridge, bit for bit.

Every number is computed in float32 and in the order in which the bridge computes it, its
oddities included: a stamp that is not positive leaves the last one in place, seconds wrap at
2^31, and ``time_increment`` depends on when the buffers were made. What the numbers ought to be
is the business of ``scan_from_gmo``.
"""

from __future__ import annotations

import array
import importlib
import logging
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.msg import Header, LaserScan

__all__ = ["Ros2LaserScanMessage", "Ros2LaserScanMessageImpl", "Ros2Message"]

_log = logging.getLogger(__name__)

_ROS_TYPE = "sensor_msgs/msg/LaserScan"
_DEGREE = np.float32(math.pi / 180.0)
_INT64_MIN = -(2**63)


@dataclass(slots=True)
class RosTime:
    """``builtin_interfaces/msg/Time``."""

    sec: int = 0
    nanosec: int = 0


@dataclass(slots=True)
class RosHeader:
    """``std_msgs/msg/Header``."""

    stamp: RosTime = field(default_factory=RosTime)
    frame_id: str = ""


@dataclass(slots=True, eq=False)
class RosLaserScan:
    """``sensor_msgs/msg/LaserScan`` where ROS is not installed; its numbers are float32."""

    header: RosHeader = field(default_factory=RosHeader)
    angle_min: np.float32 | float = 0.0
    angle_max: np.float32 | float = 0.0
    angle_increment: np.float32 | float = 0.0
    time_increment: np.float32 | float = 0.0
    scan_time: np.float32 | float = 0.0
    range_min: np.float32 | float = 0.0
    range_max: np.float32 | float = 0.0
    ranges: Any = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    intensities: Any = field(default_factory=lambda: np.zeros(0, dtype=np.float32))


@cache
def _has_ros() -> bool:
    """Tell whether ROS 2 can be imported; looking costs as much as a scan."""
    return find_spec("rclpy") is not None


def _native_type() -> Any:
    """Return ROS 2's own message class, or None where ROS 2 is not installed."""
    if "rclpy" not in sys.modules and not _has_ros():
        return None
    try:
        importlib.import_module("rclpy")
        return importlib.import_module("sensor_msgs.msg").LaserScan
    except ImportError:
        return None


def _nanoseconds(time: float) -> int:
    """Convert seconds as x86-64 does: towards zero, and what does not fit to the least int64."""
    scaled = float(time) * 1e9
    return int(scaled) if -(2.0**63) <= scaled < 2.0**63 else _INT64_MIN


class Ros2Message:
    """The base of the bridge's messages: a message, and how to reach it.

    Attributes:
        m_msg: The message; every method does nothing while it is None.
    """

    m_msg: Any = None

    def getPtr(self) -> Any:
        """Return the message itself, or None."""
        return self.m_msg

    def getTypeSupportHandle(self) -> Any:
        """Return the type support handle of the message, or None where it has no type."""
        return None

    get_ptr = getPtr

    def get_type_support_handle(self) -> Any:
        """Return the type support handle of the message, or None where it has no type."""
        return self.getTypeSupportHandle()


class Ros2LaserScanMessage(Ros2Message):
    """A ``sensor_msgs/msg/LaserScan``, written as Isaac Sim's bridge writes it.

    The snake_case methods are the camelCase ones under Python's names.

    Attributes:
        m_rangeData: The ranges that the message shares, float32, shape (N,), writable.
        m_intensitiesData: The intensities that the message shares, float32, shape (N,).
    """

    m_rangeData: npt.NDArray[np.float32]
    m_intensitiesData: npt.NDArray[np.float32]

    def __init__(self) -> None:
        native = _native_type()
        self._native: bool = native is not None
        self.m_msg = RosLaserScan() if native is None else native()
        self.m_rangeData = np.zeros(0, dtype=np.float32)
        self.m_intensitiesData = np.zeros(0, dtype=np.float32)

    def writeHeader(self, timeStamp: float, frameId: str) -> None:
        """Set the stamp and the frame.

        A time that is no positive whole number of nanoseconds when cut off leaves the stamp
        that was there, which the log tells.

        Args:
            timeStamp: [s].
            frameId: The frame of the ranges; it ends before its first NUL.
        """
        if self.m_msg is None:
            return
        nanoseconds = _nanoseconds(timeStamp)
        self.m_msg.header.frame_id = frameId.split("\0", 1)[0]
        if nanoseconds <= 0:
            _log.warning(
                "Frame %s Timestamp is invalid. Timestamp %d will be neglected for all "
                "published ROS messages",
                frameId,
                nanoseconds,
            )
            return
        seconds, self.m_msg.header.stamp.nanosec = divmod(nanoseconds, 10**9)
        self.m_msg.header.stamp.sec = (seconds + 2**31) % 2**32 - 2**31

    def generateBuffers(self, buffSize: int) -> None:
        """Resize both buffers: what was there stays, what is new is zero.

        Args:
            buffSize: The number of ranges.
        """
        if self.m_msg is None:
            return
        self.m_rangeData, self.m_msg.ranges = self._resized(self.m_rangeData, buffSize)
        self.m_intensitiesData, self.m_msg.intensities = self._resized(
            self.m_intensitiesData, buffSize
        )

    def writeData(
        self,
        azimuthRange: Sequence[float],
        rotationRate: float,
        depthRange: Sequence[float],
        horizontalResolution: float,
        horizontalFov: float,
    ) -> None:
        """Set every field but the header, the ranges and the intensities.

        Args:
            azimuthRange: The bearings of the first and the last reading [deg].
            rotationRate: Scans a second [Hz].
            depthRange: Least and greatest range [m].
            horizontalResolution: From one reading to the next [deg].
            horizontalFov: 360 times the time between readings times their number, over the
                time of a scan [deg].
        """
        if self.m_msg is None:
            return
        rate, one = np.float32(rotationRate), np.float32(1.0)
        with np.errstate(all="ignore"):
            scan_time = one / rate if rate != 0 else np.float32(0.0)
            turn = np.float32(horizontalFov) / np.float32(360.0)
            time_increment = (turn * scan_time) / np.float32(self.m_rangeData.size)
            self._set("angle_min", np.float32(azimuthRange[0]) * _DEGREE)
            self._set("angle_max", np.float32(azimuthRange[1]) * _DEGREE)
            self._set("angle_increment", np.float32(horizontalResolution) * _DEGREE)
        self._set("scan_time", scan_time)
        self._set("time_increment", time_increment)
        self._set("range_min", np.float32(depthRange[0]))
        self._set("range_max", np.float32(depthRange[1]))

    def getRangeData(self) -> npt.NDArray[np.float32]:
        """Return the buffer of the ranges, live: what is written to it is in the message."""
        return self.m_rangeData

    def getIntensitiesData(self) -> npt.NDArray[np.float32]:
        """Return the buffer of the intensities, live."""
        return self.m_intensitiesData

    def getTypeSupportHandle(self) -> Any:
        """Return ROS 2's type support of LaserScan, or without ROS 2 the type's name."""
        native = _native_type()
        if native is None:
            return _ROS_TYPE
        metaclass: Any = type(native)
        if metaclass._TYPE_SUPPORT is None:
            metaclass.__import_type_support__()
        return metaclass._TYPE_SUPPORT

    write_header = writeHeader
    generate_buffers = generateBuffers
    write_data = writeData
    get_range_data = getRangeData
    get_intensities_data = getIntensitiesData

    def to_laser_scan(self) -> LaserScan:
        """Return a copy as this project's message, the stamp in seconds.

        Raises:
            ValueError: ``m_msg`` is None.
        """
        message = self.m_msg
        if message is None:
            raise ValueError("the message is None, so there is no scan in it")
        stamp = message.header.stamp
        return LaserScan(
            header=Header(
                stamp=(stamp.sec * 10**9 + stamp.nanosec) / 1e9,
                frame_id=message.header.frame_id,
            ),
            angle_min=float(message.angle_min),
            angle_max=float(message.angle_max),
            angle_increment=float(message.angle_increment),
            time_increment=float(message.time_increment),
            scan_time=float(message.scan_time),
            range_min=float(message.range_min),
            range_max=float(message.range_max),
            ranges=self.m_rangeData.copy(),
            intensities=self.m_intensitiesData.copy(),
        )

    def _set(self, name: str, value: np.float32) -> None:
        # ROS 2's own class checks for Python floats.
        setattr(self.m_msg, name, float(value) if self._native else value)

    def _resized(
        self, old: npt.NDArray[np.float32], size: int
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """Return a buffer and what the message holds of it, which share their memory."""
        if self._native:
            storage: Any = array.array("f", bytes(4 * size))
            buffer: npt.NDArray[np.float32] = np.frombuffer(storage, dtype=np.float32)
        else:
            storage = buffer = np.zeros(size, dtype=np.float32)
        kept = min(old.size, size)
        buffer[:kept] = old[:kept]
        return buffer, storage


Ros2LaserScanMessageImpl = Ros2LaserScanMessage
