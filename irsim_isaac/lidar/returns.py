"""The returns of a frame as planar ranges and bearings about the sensor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.generic_model_output import (
    VALID,
    CoordsType,
    FrameOfReference,
    GenericModelOutput,
)
from irsim_isaac.lidar.profile import LidarProfile

__all__ = [
    "PlanarReturns",
    "ReturnSelection",
    "Strategy",
    "levelled_profile",
    "planar_returns",
    "tilt_of",
]

Strategy: TypeAlias = Literal["nearest", "first", "last", "mean", "strongest"]
STRATEGIES: tuple[Strategy, ...] = ("nearest", "first", "last", "mean", "strongest")

Floats: TypeAlias = npt.NDArray[np.float32]
Indices: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

# A planar lidar whose returns rise by more is a lidar with rings that nobody told us of: this
# allows for elevation noise and for targets so near that a tilt of millimetres counts.
_PLANAR_SLOPE = math.tan(math.radians(1.0))
_PLANAR_HEIGHT = 0.02
_RADIANS = np.float32(math.pi / 180.0)
# Few enough for what is computed on the way to stay in the cache of the processor.
_BATCH = 40_000


@dataclass(frozen=True, slots=True)
class ReturnSelection:
    """Which returns make a scan, and how the sensor is held.

    Attributes:
        strategy: What a beam with several returns within range reads: the nearest, the first
            or the last in the order of the frame, their mean, or the one of most intensity.
        height: The least and the greatest height of a return above the sensor [m], in the
            levelled frame; every height if None.
        ring: The index of the one ring to use, the lowest being 0; all rings if None.
        tilt: Roll and pitch of the sensor [rad], by which its returns are levelled, or
            ``"frame"`` for the orientation that the frame itself carries. The scan keeps the
            heading of the sensor.
        own_body: Returns from the robot itself, to be left out: a radius [m] or the vertices of
            a polygon [m], shape (V, 2), about the sensor. A beam with nothing else is blocked.
        own_objects: Object ids whose returns are left out in the same way.
    """

    strategy: Strategy = "nearest"
    height: tuple[float, float] | None = None
    ring: int | None = None
    tilt: tuple[float, float] | Literal["frame"] = (0.0, 0.0)
    own_body: float | Sequence[tuple[float, float]] | None = None
    own_objects: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ScanError(
                f"strategy is '{self.strategy}', expected one of {', '.join(STRATEGIES)}"
            )
        if self.height is not None and not self.height[0] <= self.height[1]:
            raise ScanError(f"height is {self.height}, expected least and greatest height [m]")
        if self.height is not None and self.ring is not None:
            raise ScanError("both height and ring are given, expected one of them")


@dataclass(frozen=True, slots=True)
class PlanarReturns:
    """Returns about the sensor, in the order of the frame.

    Attributes:
        bearings: [rad], shape (M,); float64, or float32 where they were computed.
        ranges: Distance in the plane [m], float32, shape (M,).
        strengths: Intensities, float32, shape (M,).
        indices: Which elements of the frame they are, shape (M,).
        blocked: Which of them came from the robot itself, shape (M,); None if none did.
        left_out: How many elements of the batch are no returns, and how many returns were not
            taken, by the reason.
    """

    bearings: npt.NDArray[np.float64] | Floats
    ranges: Floats
    strengths: Floats
    indices: Indices | slice
    blocked: Mask | None
    left_out: Counter[str]


def planar_returns(
    gmo: GenericModelOutput, profile: LidarProfile, selection: ReturnSelection
) -> Iterator[PlanarReturns]:
    """Give the valid elements of a frame, levelled and projected on the plane, in batches.

    Args:
        gmo: The frame.
        profile: The lidar that it came from.
        selection: Which elements to take and how the sensor is held.

    Yields:
        The returns of the frame, some thousands at a time.

    Raises:
        ScanError: A lidar with several rings is given neither a height band nor a ring, or the
            coordinates are not ones that a scan can be made of.
    """
    _check_rings(profile, selection)
    for name in ("x", "y", "z", "scalar", "flags"):
        size = len(getattr(gmo, name))
        if size != gmo.numElements:
            raise ScanError(
                f"frame {gmo.frameId}: {name} has {size} entries, expected {gmo.numElements}"
            )
    coords, reference = gmo.elementsCoordsType, gmo.frameOfReference
    if coords is CoordsType.NOT_APPLICABLE:
        raise ScanError("elementsCoordsType is NOT_APPLICABLE, expected SPHERICAL or CARTESIAN")
    if reference not in (FrameOfReference.SENSOR, FrameOfReference.WORLD):
        raise ScanError(f"frameOfReference is {reference.name}, expected SENSOR or WORLD")
    if reference is FrameOfReference.WORLD and coords is CoordsType.SPHERICAL:
        raise ScanError("frameOfReference is WORLD with spherical coordinates, expected SENSOR")
    tilt = tilt_of(gmo, selection)
    for start in range(0, gmo.numElements, _BATCH):
        batch = slice(start, min(start + _BATCH, gmo.numElements))
        yield _batch_returns(gmo, profile, selection, tilt, batch)


def _batch_returns(
    gmo: GenericModelOutput,
    profile: LidarProfile,
    selection: ReturnSelection,
    tilt: tuple[float, float],
    batch: slice,
) -> PlanarReturns:
    """Return the valid elements of one batch."""
    valid = gmo.flags[batch] & VALID
    indices: Indices | slice = batch
    left_out: Counter[str] = Counter()
    if not valid.all():
        returned = np.flatnonzero(valid)
        indices = returned + batch.start
        left_out["not valid"] = valid.size - returned.size
    if selection.ring is not None:
        chosen = _of_ring(gmo, profile, selection.ring, indices)
        left_out["of another ring"] = gmo.x[indices].size - chosen.size
        indices = chosen
    x, y, z = gmo.x[indices], gmo.y[indices], gmo.z[indices]
    roll, pitch = tilt
    spherical = gmo.elementsCoordsType is CoordsType.SPHERICAL
    heights: Floats | None = None
    bearings: npt.NDArray[np.float64] | Floats
    with np.errstate(invalid="ignore", over="ignore"):
        if spherical and not roll and not pitch:
            bearings, ranges = x.astype(np.float64), z
            bearings *= math.pi / 180.0
            if y.any():
                elevations = y * _RADIANS
                ranges = z * np.cos(elevations)
                if _needs_heights(selection):
                    heights = z * np.sin(elevations)
                    _check_planar(ranges, None, heights, profile, selection)
        else:
            if spherical:
                x, y, z = _cartesian(x, y, z)
            elif gmo.frameOfReference is FrameOfReference.WORLD:
                x, y, z = _in_sensor(gmo, x, y, z)
            _check_planar(x, y, z, profile, selection)
            if roll or pitch:
                x, y, z = _levelled(x, y, z, roll, pitch)
            bearings, ranges, heights = np.arctan2(y, x), np.sqrt(x * x + y * y), z
    strengths = gmo.scalar[indices]
    if selection.height is not None:
        low, high = selection.height
        level = np.zeros(ranges.shape, dtype=np.float32) if heights is None else heights
        # A height that is no number stays, so that its beam tells of it.
        kept = np.flatnonzero(~((level < low) | (level > high)))
        if kept.size != ranges.size:
            left_out["outside the height band"] = ranges.size - kept.size
            bearings, ranges, strengths = bearings[kept], ranges[kept], strengths[kept]
            indices = _subset(indices, kept)
    blocked = _blocked(gmo, bearings, ranges, indices, selection)
    if blocked is not None:
        left_out["of the robot itself"] = int(np.count_nonzero(blocked))
    return PlanarReturns(bearings, ranges, strengths, indices, blocked, +left_out)


def _needs_heights(selection: ReturnSelection) -> bool:
    """Tell whether heights decide over returns: by a band, or by a check that they are low."""
    return selection.height is not None or selection.ring is None


def _subset(indices: Indices | slice, kept: Indices) -> Indices:
    """Return the indices at some places of others."""
    return kept + indices.start if isinstance(indices, slice) else indices[kept]


def _check_rings(profile: LidarProfile, selection: ReturnSelection) -> None:
    if selection.ring is not None:
        if not 0 <= selection.ring < len(profile.rings):
            raise ScanError(
                f"ring is {selection.ring}, but '{profile.name}' has the rings 0 to "
                f"{len(profile.rings) - 1}"
            )
    elif len(profile.rings) > 1 and selection.height is None:
        degrees = ", ".join(f"{math.degrees(ring):.4g}" for ring in profile.rings)
        raise ScanError(
            f"'{profile.name}' has {len(profile.rings)} rings, a LaserScan has one: choose a ring "
            f"by its index or a height band; the elevations are {degrees} degrees"
        )


def _check_planar(
    x: Floats, y: Floats | None, heights: Floats, profile: LidarProfile, selection: ReturnSelection
) -> None:
    """Refuse returns far off the plane where nothing says what to do with them.

    Args:
        x: Forward, or where ``y`` is None the distance in the plane.
        y: To the left.
        heights: Up.
        profile: The lidar.
        selection: What the caller chose.
    """
    if selection.height is not None or selection.ring is not None or not heights.any():
        return
    reach = x if y is None else np.sqrt(x * x + y * y)
    expected = math.tan(profile.rings[0])
    off = np.abs(heights - reach * np.float32(expected)) > np.maximum(
        reach * np.float32(_PLANAR_SLOPE), np.float32(_PLANAR_HEIGHT)
    )
    if off.any():
        slopes = np.degrees(np.arctan2(heights[off], reach[off]))
        raise ScanError(
            f"'{profile.name}' is planar, but {int(off.sum())} returns lie at elevations of "
            f"{slopes.min():.4g} to {slopes.max():.4g} degrees: choose a height band"
        )


def _of_ring(
    gmo: GenericModelOutput, profile: LidarProfile, ring: int, indices: Indices | slice
) -> Indices:
    """Return the elements that lie nearer to the ring than to its neighbours."""
    x, y, z = gmo.x[indices], gmo.y[indices], gmo.z[indices]
    if gmo.elementsCoordsType is CoordsType.SPHERICAL:
        elevations = np.radians(y.astype(np.float64))
    else:
        elevations = np.arctan2(z, np.hypot(x, y)).astype(np.float64)
    rings = profile.elevations
    edges = (rings[:-1] + rings[1:]) / 2.0
    return _subset(indices, np.flatnonzero(np.searchsorted(edges, elevations) == ring))


def levelled_profile(profile: LidarProfile, tilt: tuple[float, float]) -> LidarProfile:
    """Return the beams of a lidar as they lie when its returns are levelled.

    Upside down, a clockwise sensor turns counter-clockwise and its window is mirrored.

    Args:
        profile: The lidar.
        tilt: Roll and pitch [rad].
    """
    if math.cos(tilt[0]) * math.cos(tilt[1]) >= 0.0:
        return profile
    turned = replace(profile, clockwise=not profile.clockwise)
    if profile.full_circle:
        return turned
    gaps = tuple(sorted(profile.beam_count - 1 - beam for beam in profile.gaps))
    return replace(turned, angle_min=-profile.angle_max, gaps=gaps)


def tilt_of(gmo: GenericModelOutput, selection: ReturnSelection) -> tuple[float, float]:
    """Return roll and pitch of the sensor [rad].

    Args:
        gmo: The frame, which may carry the sensor's orientation.
        selection: Says where the tilt comes from.
    """
    if selection.tilt != "frame":
        return selection.tilt
    x, y, z, w = (float(value) for value in gmo.frameStart.orientation)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not norm > 0.0:
        raise ScanError(
            f"frame {gmo.frameId}: frameStart has no orientation, so it cannot be levelled by it"
        )
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    return roll, math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))


def _cartesian(azimuths: Floats, elevations: Floats, reach: Floats) -> tuple[Floats, ...]:
    azimuths = azimuths * _RADIANS
    if not elevations.any():
        return reach * np.cos(azimuths), reach * np.sin(azimuths), np.zeros_like(reach)
    elevations = elevations * _RADIANS
    planar = reach * np.cos(elevations)
    return planar * np.cos(azimuths), planar * np.sin(azimuths), reach * np.sin(elevations)


def _in_sensor(gmo: GenericModelOutput, x: Floats, y: Floats, z: Floats) -> tuple[Floats, ...]:
    """Carry points from the world to the sensor as it was when the frame began."""
    qx, qy, qz, qw = (float(value) for value in gmo.frameStart.orientation)
    rotation = np.array(
        [
            [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qw * qz), 2 * (qx * qz + qw * qy)],
            [2 * (qx * qy + qw * qz), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qw * qx)],
            [2 * (qx * qz - qw * qy), 2 * (qy * qz + qw * qx), 1 - 2 * (qx * qx + qy * qy)],
        ]
    )
    offsets = np.stack([x, y, z], axis=1).astype(np.float64) - gmo.frameStart.posM
    turned = (offsets @ rotation).astype(np.float32)
    return turned[:, 0], turned[:, 1], turned[:, 2]


def _levelled(
    x: Floats, y: Floats, z: Floats, roll: float, pitch: float
) -> tuple[Floats, Floats, Floats]:
    """Turn points about x by roll, then about y by pitch."""
    sr, cr = np.float32(math.sin(roll)), np.float32(math.cos(roll))
    sp, cp = np.float32(math.sin(pitch)), np.float32(math.cos(pitch))
    up = sr * y + cr * z
    return cp * x + sp * up, cr * y - sr * z, cp * up - sp * x


def _blocked(
    gmo: GenericModelOutput,
    bearings: npt.NDArray[np.float64] | Floats,
    ranges: Floats,
    indices: Indices | slice,
    selection: ReturnSelection,
) -> Mask | None:
    """Return which returns come from the robot itself."""
    masks: list[Mask] = []
    body = selection.own_body
    if isinstance(body, (int, float)):
        masks.append(ranges <= np.float32(body))
    elif body is not None:
        masks.append(_in_polygon(ranges * np.cos(bearings), ranges * np.sin(bearings), body))
    if selection.own_objects:
        if gmo.objId is None:
            raise ScanError("own_objects is given, but the frame holds no objId (auxType FULL)")
        ids = np.ascontiguousarray(gmo.objId[indices]).view("<u8").reshape(-1, 2)
        own = np.zeros(len(ids), dtype=np.bool_)
        for identifier in selection.own_objects:
            low, high = identifier & (2**64 - 1), identifier >> 64
            own |= (ids[:, 0] == np.uint64(low)) & (ids[:, 1] == np.uint64(high))
        masks.append(own)
    if not masks:
        return None
    blocked = np.logical_or.reduce(masks)
    return blocked if blocked.any() else None


def _in_polygon(
    x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], polygon: Sequence[tuple[float, float]]
) -> Mask:
    """Return which points lie inside a polygon, by the parity of the edges to their right."""
    inside = np.zeros(x.shape, dtype=np.bool_)
    for (x0, y0), (x1, y1) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0)))
    return inside
