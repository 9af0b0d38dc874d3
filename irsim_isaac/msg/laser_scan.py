"""One turn of a planar lidar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = ["LaserScan"]


def _float32(values: Any) -> NDArray[np.float32]:
    """Return a copy of the values as float32; no values for None."""
    if values is None:
        return np.zeros(0, np.float32)
    if values.__class__ is np.ndarray:
        copy: NDArray[np.float32] = values.astype(np.float32)
        return copy
    return np.array(values, np.float32)


@dataclass(slots=True, eq=False)
class LaserScan(Message):
    """The fields of ``sensor_msgs/LaserScan``: angles [rad], times [s], ranges [m].

    Angles run counter-clockwise and the stamp is that of the first ray. ``ranges`` and
    ``intensities`` are float32 of shape (N,), as in ROS; without intensities, shape (0,).
    """

    ros_type: ClassVar[str] = "sensor_msgs/LaserScan"

    header: Header
    angle_min: float
    angle_max: float
    angle_increment: float
    time_increment: float
    scan_time: float
    range_min: float
    range_max: float
    ranges: NDArray[np.float32]
    intensities: NDArray[np.float32]

    @classmethod
    def from_sensor(
        cls,
        sensor: Any,
        *,
        stamp: float = 0.0,
        seq: int = 0,
        frame_id: str | None = None,
        use_inf: bool = False,
    ) -> LaserScan:
        """Return the scan of a lidar, sharing no array with it.

        Args:
            sensor: An IR-SIM lidar, or anything with its ``get_scan()`` and ``sensor_type``.
            stamp: The time of the header [s].
            seq: The count of the header.
            frame_id: The frame of the scan; the sensor's type where it is None or empty.
            use_inf: Tell misses as REP 117 does: +inf where nothing came back within
                ``range_max``, -inf where the return was too close, NaN where nothing was
                measured. Without it, the sensor's own finite values stay.

        Raises:
            TypeError: The sensor has no scan, or the scan lacks a value or holds what is no
                number.
        """
        try:
            frame_id = frame_id or str(sensor.sensor_type)
            return cls._of(sensor, float(stamp), int(seq), frame_id, use_inf)
        except AttributeError as missing:
            raise TypeError(f"no scan of a {type(sensor).__name__}: {missing}") from missing

    @classmethod
    def _of(cls, sensor: Any, stamp: float, seq: int, frame_id: str, use_inf: bool) -> LaserScan:
        """Return the scan; what :meth:`from_sensor` checks has been checked."""
        scan = sensor.get_scan()
        try:
            ranges = _float32(scan["ranges"])
            if use_inf:
                _mark_misses(ranges, scan.get("valid"), scan["range_max"])
            return cls(
                Header(seq, stamp, frame_id),
                float(scan["angle_min"]),
                float(scan["angle_max"]),
                float(scan["angle_increment"]),
                float(scan["time_increment"]),
                float(scan["scan_time"]),
                float(scan["range_min"]),
                float(scan["range_max"]),
                ranges,
                _float32(scan.get("intensities")),
            )
        except KeyError as missing:
            raise TypeError(f"the scan of a {type(sensor).__name__} lacks {missing}") from missing


def _mark_misses(ranges: NDArray[np.float32], valid: Any, range_max: float) -> None:
    """Write +inf and -inf where no usable return came, in place; NaN stays."""
    if valid is None:
        return
    valid = np.asarray(valid, bool)
    if valid.size != ranges.size or valid.all():
        return
    invalid = ~valid.reshape(ranges.shape)
    far = ranges >= np.float32(range_max)
    near = ranges < np.float32(range_max)
    ranges[invalid & far] = np.inf
    ranges[invalid & near] = -np.inf
