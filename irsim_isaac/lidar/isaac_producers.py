"""The LaserScan messages that Isaac Sim 6.0 itself makes of lidar output, to compare with.

Bins, flags, intensities, clamping and the order of the calls are those of the OmniGraph node
``ROS2PublishLaserScan`` and of the SRTX publisher, with the casts of x86-64. Cartesian output
goes through float32 ``atan2`` and can differ from Isaac Sim's by one unit in the last place,
and so by one bin.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.casts import size_t_index, uint8_of
from irsim_isaac.lidar.generic_model_output import VALID, CoordsType, GenericModelOutput
from irsim_isaac.lidar.laser_scan_message import Ros2LaserScanMessage
from irsim_isaac.lidar.omni_lidar import omni_lidar_of
from irsim_isaac.lidar.profile import LidarProfile

__all__ = [
    "ScanMetadata",
    "array_message",
    "graph_message",
    "srtx_message",
]

_log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]

# One unit in the last place below the nearest float32, because the bridge divides in float32.
_RADIAN = np.float32(180.0) / np.float32(np.pi)
_CORE = "omni:sensor:Core:"


@dataclass(frozen=True, slots=True)
class ScanMetadata:
    """What Isaac Sim's lidar helper tells the node that publishes LaserScan messages.

    Attributes:
        azimuth_range: The bearings of the first and the last reading [deg].
        depth_range: Least and greatest range [m].
        horizontal_fov: [deg].
        horizontal_resolution: From one reading to the next [deg].
        rotation_rate: Scans a second [Hz].
    """

    azimuth_range: tuple[float, float] = (-180.0, 180.0)
    depth_range: tuple[float, float] = (0.0, 100.0)
    horizontal_fov: float = 360.0
    horizontal_resolution: float = 1.0
    rotation_rate: float = 20.0

    @classmethod
    def from_profile(cls, profile: LidarProfile) -> ScanMetadata:
        """Return what Isaac Sim's helper computes for a lidar, mistakes included.

        A rotary lidar is taken to see a full turn. For a solid-state lidar the span of the
        azimuths as they stand is divided by their number, not by one less, and an end beyond
        180 degrees moves both ends by 180.

        Args:
            profile: The lidar.
        """
        attributes = omni_lidar_of(profile, "6")
        rate = float(profile.scan_rate)
        depths = (profile.range_min, profile.range_max)
        if profile.scan_type == "rotary":
            resolution = 360.0 * rate / float(attributes[_CORE + "patternFiringRateHz"])
            return cls((-180.0, 180.0), depths, 360.0, resolution, rate)
        azimuths = attributes[_CORE + "emitterState:s001:azimuthDeg"]
        start, end = min(azimuths), max(azimuths)
        fov = end - start
        resolution = fov / len(azimuths)
        if end > 180.0:
            start, end = start - 180.0, end - 180.0
        return cls((start, end), depths, fov, resolution, rate)


def _bin_count(metadata: ScanMetadata, producer: str) -> int:
    """Return the number of readings: a float32 quotient, cut off."""
    fov = np.float32(metadata.horizontal_fov)
    resolution = np.float32(metadata.horizontal_resolution)
    if not (resolution > 0.0 and fov > 0.0):
        raise ScanError(
            f"{producer}: horizontalFov {fov} and horizontalResolution {resolution}, "
            "expected both to be more than 0"
        )
    count = int(fov / resolution)
    if count == 0:
        raise ScanError(
            f"{producer}: horizontalResolution {resolution} exceeds horizontalFov {fov}, which "
            "leaves no reading; Isaac Sim writes out of bounds here"
        )
    return count


def _last_writers(bins: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """Return the index of the element that wrote last to each bin, -1 where none did."""
    writers = np.full(count, -1, dtype=np.intp)
    writers[bins] = np.arange(bins.size)
    return writers


def _bins(azimuths: Floats, metadata: ScanMetadata, count: int) -> npt.NDArray[np.intp]:
    """Return the bin of each azimuth [deg]."""
    start = np.float32(metadata.azimuth_range[0])
    resolution = np.float32(metadata.horizontal_resolution)
    with np.errstate(all="ignore"):
        return size_t_index((azimuths - start) / resolution, count)


def _coordinates(
    gmo: GenericModelOutput, producer: str
) -> Literal[CoordsType.CARTESIAN, CoordsType.SPHERICAL]:
    coords = gmo.elementsCoordsType
    if coords is CoordsType.NOT_APPLICABLE:
        raise ScanError(f"{producer}: elementsCoordsType is NOT_APPLICABLE")
    return coords


def graph_message(
    gmo: GenericModelOutput,
    metadata: ScanMetadata,
    *,
    stamp: float,
    frame_id: str = "sim_lidar",
    message: Ros2LaserScanMessage | None = None,
) -> Ros2LaserScanMessage | None:
    """Return the message that the OmniGraph node makes of a frame.

    The flag of an element is not looked at, the last element in a bin wins, an azimuth outside
    the window goes to the last bin, an empty bin reads -1, and intensities are 0 to 255.

    Args:
        gmo: The frame.
        metadata: What the node was told.
        stamp: The simulation time at which it publishes [s].
        frame_id: The frame of the message.
        message: The message to write to, as the node reuses its own; a new one if None.

    Returns:
        The message, or None for an empty frame, for which the node publishes nothing.

    Raises:
        ScanError: The node would report an error or write out of bounds.
    """
    count = _bin_count(metadata, "graph")
    if gmo.numElements == 0:
        return None
    if _coordinates(gmo, "graph") is CoordsType.SPHERICAL:
        azimuths = gmo.x
    else:
        with np.errstate(all="ignore"):
            azimuths = np.arctan2(gmo.y, gmo.x) * _RADIAN
    message = Ros2LaserScanMessage() if message is None else message
    message.writeHeader(stamp, frame_id)
    message.generateBuffers(count)
    _write_data(message, metadata, metadata.azimuth_range)
    writers = _last_writers(_bins(azimuths, metadata, count), count)
    hit = np.flatnonzero(writers >= 0)
    winners = writers[hit]
    with np.errstate(all="ignore"):
        if gmo.elementsCoordsType is CoordsType.SPHERICAL:
            distances = gmo.z[winners]
        else:
            x, y, z = gmo.x[winners], gmo.y[winners], gmo.z[winners]
            distances = np.sqrt(x * x + y * y + z * z)
        intensities = uint8_of(gmo.scalar[winners] * np.float32(255.0))
    _fill(message, hit, distances, intensities)
    return message


def srtx_message(
    gmo: GenericModelOutput,
    metadata: ScanMetadata,
    *,
    stamp: float,
    frame_id: str = "sim_lidar",
    message: Ros2LaserScanMessage | None = None,
) -> Ros2LaserScanMessage | None:
    """Return the message that the SRTX publisher makes of a frame.

    It writes the data before it makes the buffers, so the ``time_increment`` of the first
    message is infinite. Of Cartesian output it takes the bearing to be 0 and z for the range.

    Args:
        gmo: The frame.
        metadata: What the publisher was told.
        stamp: The time of the frame [s].
        frame_id: The frame of the message.
        message: The message to write to, as the publisher reuses its own; a new one if None.

    Returns:
        The message, or None for an empty frame, for which nothing is published.

    Raises:
        ScanError: The publisher would not start with this metadata.
    """
    count = _bin_count(metadata, "srtx")
    if gmo.numElements == 0:
        return None
    valid = np.flatnonzero(gmo.flags & VALID)
    if _coordinates(gmo, "srtx") is CoordsType.SPHERICAL:
        azimuths = gmo.x[valid]
    else:
        azimuths = np.zeros(valid.size, dtype=np.float32)
    message = Ros2LaserScanMessage() if message is None else message
    message.writeHeader(stamp, frame_id)
    start, end = metadata.azimuth_range
    last = np.float32(end) - np.float32(metadata.horizontal_resolution)
    _write_data(message, metadata, (start, float(last)))
    message.generateBuffers(count)
    writers = _last_writers(_bins(azimuths, metadata, count), count)
    hit = np.flatnonzero(writers >= 0)
    winners = valid[writers[hit]]
    _fill(message, hit, gmo.z[winners], gmo.scalar[winners])
    return message


def array_message(
    depths: npt.ArrayLike,
    intensities: npt.ArrayLike | None,
    metadata: ScanMetadata,
    *,
    stamp: float,
    frame_id: str = "sim_lidar",
    rows: int = 1,
    columns: int | None = None,
    message: Ros2LaserScanMessage | None = None,
) -> Ros2LaserScanMessage | None:
    """Return the message that the OmniGraph node makes of arrays, such as FlatScan's.

    Args:
        depths: ``linearDepthData`` [m], shape (N,).
        intensities: ``intensitiesData``, uint8, shape (N,); where it is missing or of another
            length, a depth of more than 0 has 255 and another has 0.
        metadata: What the node was told.
        stamp: The simulation time at which it publishes [s].
        frame_id: The frame of the message.
        rows: ``numRows``.
        columns: ``numCols``; N if None.
        message: The message to write to, as the node reuses its own; a new one if None.

    Returns:
        The message, or None without readings, for which the node publishes nothing.

    Raises:
        ScanError: There is more than one row, or fewer depths than rows times columns.
    """
    measured = np.asarray(depths, dtype=np.float32).reshape(-1)
    count = rows * (measured.size if columns is None else columns)
    if count == 0:
        return None
    if rows != 1:
        raise ScanError(f"graph: numRows is {rows}, expected 1: a LaserScan is planar")
    if measured.size < count:
        raise ScanError(f"graph: {measured.size} depths, expected numCols = {count}")
    measured = measured[:count]
    given = None if intensities is None else np.asarray(intensities, dtype=np.uint8).reshape(-1)
    if given is None or given.size != count:
        if given is not None and given.size:
            _log.warning("graph: %d intensities for %d depths are not used", given.size, count)
        given = np.where(measured > 0.0, 255, 0).astype(np.uint8)
    message = Ros2LaserScanMessage() if message is None else message
    message.writeHeader(stamp, frame_id)
    message.generateBuffers(count)
    _write_data(message, metadata, metadata.azimuth_range)
    message.getRangeData()[:] = measured
    message.getIntensitiesData()[:] = given
    return message


def _write_data(
    message: Ros2LaserScanMessage, metadata: ScanMetadata, azimuth_range: Sequence[float]
) -> None:
    message.writeData(
        azimuth_range,
        metadata.rotation_rate,
        metadata.depth_range,
        metadata.horizontal_resolution,
        metadata.horizontal_fov,
    )


def _fill(
    message: Ros2LaserScanMessage,
    hit: npt.NDArray[np.intp],
    distances: Floats,
    intensities: npt.NDArray[np.float32] | npt.NDArray[np.uint8],
) -> None:
    """Write the bins that were hit; the others read -1 with the intensity 0."""
    ranges, strengths = message.getRangeData(), message.getIntensitiesData()
    ranges.fill(-1.0)
    strengths.fill(0.0)
    ranges[hit] = distances
    strengths[hit] = intensities
