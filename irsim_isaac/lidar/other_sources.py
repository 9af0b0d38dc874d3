"""Scans of Isaac Sim's other lidar outputs.

They say "nothing came back" in three ways (-1, the greatest range, a hit position of zero) and
measure in metres or in the units of the stage; here it all becomes metres and REP 117.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.beams import Beams, beam_positions
from irsim_isaac.lidar.generic_model_output import (
    VALID,
    AuxType,
    CoordsType,
    GenericModelOutput,
)
from irsim_isaac.lidar.profile import LidarProfile
from irsim_isaac.lidar.scan import scan_message
from irsim_isaac.msg import LaserScan

__all__ = [
    "gmo_from_scan_buffer",
    "scan_from_flat_scan",
    "scan_from_raycast",
    "scan_from_rotating_lidar",
]

Floats: TypeAlias = npt.NDArray[np.float32]

# A point nearer to the sensor is the origin, which stands for no return.
_NO_POINT = 1e-6


def _found(source: Mapping[str, Any], *names: str) -> Any:
    """Return the entry under one of its names, or None."""
    for name in names:
        value = source.get(name)
        if value is not None:
            return value.numpy() if hasattr(value, "numpy") else value
    return None


def _array(source: Mapping[str, Any], where: str, *names: str) -> npt.NDArray[Any]:
    value = _found(source, *names)
    if value is None:
        raise ScanError(
            f"{where}: '{names[0]}' is missing; there are {', '.join(source) or 'none'}"
        )
    return np.asarray(value)


def _number(source: Mapping[str, Any], where: str, *names: str) -> float:
    value = _array(source, where, *names)
    if value.size != 1 or not np.issubdtype(value.dtype, np.number):
        raise ScanError(f"{where}: '{names[0]}' is {value!r}, expected a number")
    return float(value.reshape(-1)[0])


def _pair(source: Mapping[str, Any], where: str, *names: str) -> tuple[float, float]:
    value = _array(source, where, *names).reshape(-1)
    if value.size != 2:
        raise ScanError(f"{where}: '{names[0]}' has {value.size} numbers, expected 2")
    return float(value[0]), float(value[1])


def _optional(
    source: Mapping[str, Any], where: str, name: str, dtype: np.dtype[Any], count: int
) -> npt.NDArray[Any]:
    """Return an array that the source may leave out or empty: zeros then, shape (count,)."""
    value = _found(source, name)
    if value is None or np.size(value) == 0:
        return np.zeros(count, dtype=dtype)
    return np.asarray(value).reshape(-1).astype(dtype)


def scan_from_flat_scan(
    data: Mapping[str, Any],
    *,
    stamp: float,
    frame_id: str = "laser",
    name: str = "flat scan",
    finite: bool = False,
) -> LaserScan:
    """Return the scan of what ``IsaacComputeRTXLidarFlatScan`` hands out.

    A depth below zero is a miss. The end of ``azimuthRange`` is not read, because releases
    differ in it; a field of 360 degrees is divided by the number of readings. It does not say
    which way the sensor turned, so ``time_increment`` is zero.

    Args:
        data: The annotator's dictionary, or the frame of ``LidarRtx``.
        stamp: The time of the scan [s].
        frame_id: The frame of the scan.
        name: What the source is called in errors.
        finite: Whether to write IR-SIM's form instead of that of REP 117.

    Raises:
        ScanError: An entry is missing or is not what it must be.
    """
    rows = int(_number(data, name, "numRows", "num_rows"))
    if rows != 1:
        raise ScanError(f"{name}: numRows is {rows}, expected 1: a LaserScan is planar")
    depths = _array(data, name, "linearDepthData", "linear_depth_data").reshape(-1)
    if depths.size == 0:
        raise ScanError(f"{name}: linearDepthData is empty; the sensor has not measured yet")
    start, _ = _pair(data, name, "azimuthRange", "azimuth_range")
    fov = _number(data, name, "horizontalFov", "horizontal_fov")
    near, far = _pair(data, name, "depthRange", "depth_range")
    step = math.radians(_number(data, name, "horizontalResolution", "horizontal_resolution"))
    if fov == 360.0:
        step = 2.0 * math.pi / depths.size
    profile = LidarProfile(
        name=name,
        beam_count=depths.size,
        angle_min=math.radians(start),
        angle_increment=step,
        range_min=near,
        range_max=far,
        scan_rate=_number(data, name, "rotationRate", "rotation_rate"),
    )
    intensities = _found(data, "intensitiesData", "intensities_data")
    return _scan_in_order(
        profile,
        depths.astype(np.float32),
        depths < 0.0,
        None if intensities is None else np.asarray(intensities, dtype=np.float32).reshape(-1),
        stamp,
        frame_id,
        finite,
    )


def gmo_from_scan_buffer(data: Mapping[str, Any], *, frame_id: int = 0) -> GenericModelOutput:
    """Return the frame in what the scan-buffer and point-cloud annotators hand out.

    Azimuth, elevation and distance are taken where the annotator gives all three, else the
    points; a point at the origin is no return.

    Args:
        data: The annotator's dictionary.
        frame_id: The number of the frame.

    Returns:
        A frame for ``scan_from_gmo`` or a ``ScanAssembler``.

    Raises:
        ScanError: There are neither points nor azimuths, elevations and distances, or the
            arrays are not of one length.
    """
    where = "scan buffer"
    polar = [_found(data, key) for key in ("azimuth", "elevation", "distance")]
    if all(values is not None and np.size(values) for values in polar):
        x, y, z = (np.asarray(values, dtype=np.float32).reshape(-1) for values in polar)
        coords, returned = CoordsType.SPHERICAL, z > _NO_POINT
    else:
        points = _array(data, where, "data", "pointCloud", "point_cloud").astype(np.float32)
        if points.size % 3:
            raise ScanError(f"{where}: data has the shape {points.shape}, expected (N, 3)")
        x, y, z = np.ascontiguousarray(points.reshape(-1, 3).T)
        coords, returned = CoordsType.CARTESIAN, np.sqrt(x * x + y * y + z * z) >= _NO_POINT
    count = x.size
    intensity = _optional(data, where, "intensity", np.dtype(np.float32), count)
    times = _optional(data, where, "timestamp", np.dtype(np.uint64), count)
    objects = _found(data, "objectId", "object_id")
    held = None
    if objects is not None and np.size(objects):
        held = np.ascontiguousarray(objects, dtype="<u4").view(np.uint8).reshape(-1, 16)
    lengths = {"y": y.size, "z": z.size, "intensity": intensity.size, "timestamp": times.size}
    if held is not None:
        lengths["objectId"] = len(held)
    for key, length in lengths.items():
        if length != count:
            raise ScanError(f"{where}: {key} has {length} entries, expected {count}")
    first = int(times.min()) if count else 0
    return GenericModelOutput(
        x=x,
        y=y,
        z=z,
        scalar=intensity,
        flags=np.where(returned, VALID, 0).astype(np.uint8),
        timeOffsetNs=(times - np.uint64(first)).astype(np.int32),
        timestampNs=first,
        frameId=frame_id,
        elementsCoordsType=coords,
        auxType=AuxType.NONE if held is None else AuxType.FULL,
        objId=held,
    )


def scan_from_raycast(
    data: Mapping[str, Any],
    profile: LidarProfile,
    *,
    meters_per_unit: float,
    directions: npt.ArrayLike | None = None,
    frame_id: str = "laser",
    finite: bool = False,
) -> LaserScan:
    """Return the scan of what ``RaycastSensor.get_data`` hands out.

    A ray missed where its hit normal is zero, or where there are none its hit position; where
    there is neither, at the greatest range. The sensor skips what is nearer than its least
    range, so that nothing is ever too close for it.

    Args:
        data: With ``depths`` in units of the stage, shape (N,), and ``time`` [s].
        profile: The beams and the limits of the range [m].
        meters_per_unit: Metres in a unit of the stage.
        directions: Of the rays in the frame of the sensor, shape (N, 3); the beams of the
            profile in their order if None.
        frame_id: The frame of the scan.
        finite: Whether to write IR-SIM's form instead of that of REP 117.

    Raises:
        ScanError: The reading is invalid, or there are not as many depths as rays.
    """
    where = "raycast sensor"
    depths = _array(data, where, "depths").reshape(-1).astype(np.float64) * meters_per_unit
    if depths.size == 0:
        raise ScanError(f"{where}: the reading is invalid: depths is empty; is it playing?")
    missed: npt.NDArray[np.bool_] = depths >= profile.range_max * (1.0 - 1e-6)
    for key in ("hit_normals", "hit_positions"):
        evidence = _found(data, key)
        if evidence is not None and np.size(evidence) == 3 * depths.size:
            missed = np.logical_not(np.asarray(evidence).reshape(-1, 3).any(axis=1))
            break
    missed |= depths < 0.0
    stamp = float(data.get("time", 0.0))
    if directions is None:
        if depths.size != profile.beam_count:
            raise ScanError(
                f"{where}: {depths.size} depths for the {profile.beam_count} beams of "
                f"'{profile.name}'; with other rays, directions must be given"
            )
        return _scan_in_order(
            profile, depths.astype(np.float32), missed, None, stamp, frame_id, finite
        )
    rays = np.asarray(directions, dtype=np.float64)
    if rays.shape != (depths.size, 3):
        raise ScanError(
            f"{where}: directions has the shape {rays.shape}, expected ({depths.size}, 3)"
        )
    # The sensor takes a ray without a direction to look forward.
    rays = np.where(rays.any(axis=1, keepdims=True), rays, [1.0, 0.0, 0.0])
    rays = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    hit = ~missed
    beams = Beams(profile, with_intensities=False)
    beams.add(
        beam_positions(np.arctan2(rays[hit, 1], rays[hit, 0]), profile),
        (depths[hit] * np.hypot(rays[hit, 0], rays[hit, 1])).astype(np.float32),
        None,
    )
    looked = np.minimum(
        beam_positions(np.arctan2(rays[:, 1], rays[:, 0]), profile).astype(np.intp),
        profile.beam_count,
    )
    fired = np.zeros(profile.beam_count + 1, dtype=np.bool_)
    fired[looked] = True
    ranges, intensities = beams.values(fired=fired[:-1])
    return scan_message(profile, ranges, intensities, stamp=stamp, frame_id=frame_id, finite=finite)


def scan_from_rotating_lidar(
    data: Mapping[str, Any],
    profile: LidarProfile,
    *,
    frame_id: str = "laser",
    finite: bool = False,
) -> LaserScan:
    """Return the scan of a frame of ``RotatingLidarPhysX``.

    Its row nearest to the horizon is taken. A ray missed where its intensity is 0, or without
    intensities at the greatest range. Beams that did not tick in this frame are NaN.

    Args:
        data: With ``linear_depth`` [m], shape (columns, rows), ``azimuth`` [rad], ``zenith``
            [rad] where there are rows, and ``time`` [s].
        profile: The beams and the limits of the range.
        frame_id: The frame of the scan.
        finite: Whether to write IR-SIM's form instead of that of REP 117.

    Raises:
        ScanError: An entry is missing or the arrays do not fit each other.
    """
    where = "rotating lidar"
    depths = _array(data, where, "linear_depth").astype(np.float32)
    azimuths = _array(data, where, "azimuth").reshape(-1).astype(np.float64)
    if azimuths.size == 0:
        raise ScanError(f"{where}: no column has ticked in this frame")
    if depths.size % azimuths.size:
        raise ScanError(f"{where}: linear_depth {depths.shape} for {azimuths.size} azimuths")
    depths = depths.reshape(azimuths.size, -1)
    zenith = _found(data, "zenith")
    tilts = np.zeros(depths.shape[1])
    if zenith is not None and np.size(zenith):
        tilts = np.asarray(zenith, dtype=np.float64).reshape(-1)
    if tilts.size != depths.shape[1]:
        raise ScanError(f"{where}: {tilts.size} zeniths for {depths.shape[1]} rows")
    row = int(np.argmin(np.abs(tilts)))
    reach = depths[:, row]
    strengths = _found(data, "intensity")
    held: Floats | None = None
    missed = reach >= np.float32(profile.range_max) * np.float32(1.0 - 1e-6)
    if strengths is not None and np.size(strengths) == depths.size:
        held = np.asarray(strengths, dtype=np.float32).reshape(depths.shape)[:, row]
        missed = held == 0.0
    positions = beam_positions(azimuths, profile)
    hit = ~missed & (reach >= 0.0)
    beams = Beams(profile, with_intensities=held is not None)
    beams.add(
        positions[hit],
        reach[hit] * np.float32(math.cos(tilts[row])),
        None if held is None else held[hit],
    )
    fired = np.zeros(profile.beam_count + 1, dtype=np.bool_)
    fired[np.minimum(positions.astype(np.intp), profile.beam_count)] = True
    ranges, intensities = beams.values(fired=fired[:-1])
    return scan_message(
        profile,
        ranges,
        intensities,
        stamp=float(data.get("time", 0.0)),
        frame_id=frame_id,
        finite=finite,
    )


def _scan_in_order(
    profile: LidarProfile,
    depths: Floats,
    missed: npt.NDArray[np.bool_],
    intensities: Floats | None,
    stamp: float,
    frame_id: str,
    finite: bool,
) -> LaserScan:
    """Return the scan of readings that are the beams of the profile, one by one."""
    if intensities is not None and intensities.size != depths.size:
        intensities = None
    beams = Beams(profile, with_intensities=intensities is not None)
    hit = np.flatnonzero(~missed)
    beams.add(hit + 0.5, depths[hit], None if intensities is None else intensities[hit])
    ranges, strengths = beams.values()
    return scan_message(
        replace(profile, scan_type="solid_state"),
        ranges,
        strengths,
        stamp=stamp,
        frame_id=frame_id,
        finite=finite,
    )
