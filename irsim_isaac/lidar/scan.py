"""One frame of a lidar to one LaserScan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.beams import Beams, beam_positions, finite_ranges
from irsim_isaac.lidar.generic_model_output import CoordsType, GenericModelOutput
from irsim_isaac.lidar.isaac_producers import ScanMetadata, graph_message, srtx_message
from irsim_isaac.lidar.profile import LidarProfile
from irsim_isaac.lidar.returns import (
    ReturnSelection,
    Strategy,
    levelled_profile,
    planar_returns,
    tilt_of,
)
from irsim_isaac.msg import Header, LaserScan

__all__ = ["Producer", "fired_beams", "first_beam_time", "scan_from_gmo", "scan_message"]

Producer: TypeAlias = Literal["rep117", "graph", "srtx"]
"""The corrected scan, or the one that Isaac Sim's node or its SRTX publisher makes."""

Floats: TypeAlias = npt.NDArray[np.float32]


def scan_message(
    profile: LidarProfile,
    ranges: Floats,
    intensities: Floats,
    *,
    stamp: float,
    frame_id: str,
    seq: int = 0,
    finite: bool = False,
) -> LaserScan:
    """Return a scan whose angles and times are those of a lidar.

    Args:
        profile: The lidar.
        ranges: [m] with the values of REP 117, float32, shape (N,).
        intensities: float32, shape (N,) or (0,).
        stamp: The time of the first beam [s].
        frame_id: The frame of the scan.
        seq: The number of the scan.
        finite: Whether to write IR-SIM's form: the greatest range for no return, the least
            for one that was too close.
    """
    return LaserScan(
        header=Header(seq=seq, stamp=stamp, frame_id=frame_id),
        angle_min=profile.angle_min,
        angle_max=profile.angle_max,
        angle_increment=profile.angle_increment,
        time_increment=profile.time_increment,
        scan_time=profile.scan_time,
        range_min=profile.range_min,
        range_max=profile.range_max,
        ranges=finite_ranges(ranges, profile) if finite else ranges,
        intensities=intensities,
    )


def scan_from_gmo(
    gmo: GenericModelOutput,
    profile: LidarProfile,
    *,
    producer: Producer = "rep117",
    frame_id: str = "laser",
    stamp: float | None = None,
    seq: int = 0,
    finite: bool = False,
    strategy: Strategy = "nearest",
    height: tuple[float, float] | None = None,
    ring: int | None = None,
    tilt: tuple[float, float] | Literal["frame"] = (0.0, 0.0),
    own_body: float | Sequence[tuple[float, float]] | None = None,
    own_objects: tuple[int, ...] = (),
    left_out: Counter[str] | None = None,
) -> LaserScan:
    """Return the scan of one frame that holds a whole turn, or a whole flash, of a lidar.

    The corrected scan follows REP 117 and ``sensor_msgs/LaserScan``: its beams are those of the
    profile whatever came back; each return goes to the beam nearest to it, or to none outside
    the window; a range is the distance in the plane of the scan. The stamp is the time of the
    beam at ``angle_min``: a sensor that turns clockwise measures it last, and
    ``time_increment`` is negative.

    Args:
        gmo: The frame.
        profile: The lidar that it came from.
        producer: ``"rep117"`` for the corrected scan, ``"graph"`` or ``"srtx"`` for what Isaac
            Sim makes of the frame; the options after ``stamp`` hold for the corrected one.
        frame_id: The frame of the scan.
        stamp: The time of the scan [s]; from the frame if None.
        seq: The number of the scan.
        finite: Whether to write IR-SIM's form instead of that of REP 117.
        strategy: What a beam with several returns within range reads.
        height: The least and the greatest height of a return above the sensor [m].
        ring: The index of the one ring to use, the lowest being 0.
        tilt: Roll and pitch of the sensor [rad], or ``"frame"`` for the orientation that the
            frame carries.
        own_body: A radius [m] or a polygon [m], shape (V, 2), about the sensor, whose returns
            are the robot itself.
        own_objects: Object ids that are the robot itself.
        left_out: Is told how many elements gave no distance, by the reason.

    Returns:
        The scan.

    Raises:
        ScanError: The frame is empty, or no scan can be made of it; the message says why.
    """
    if producer not in ("rep117", "graph", "srtx"):
        raise ScanError(f"producer is '{producer}', expected 'rep117', 'graph' or 'srtx'")
    if gmo.numElements == 0:
        raise ScanError(f"frame {gmo.frameId} at {gmo.timestampNs} ns is empty: no scan in it")
    if producer != "rep117":
        publish = graph_message if producer == "graph" else srtx_message
        message = publish(
            gmo,
            ScanMetadata.from_profile(profile),
            stamp=gmo.timestampNs * 1e-9 if stamp is None else stamp,
            frame_id=frame_id,
        )
        if message is None:
            raise ScanError(f"frame {gmo.frameId}: '{producer}' publishes nothing")
        return message.to_laser_scan()
    selection = ReturnSelection(
        strategy=strategy,
        height=height,
        ring=ring,
        tilt=tilt,
        own_body=own_body,
        own_objects=own_objects,
    )
    levelled = levelled_profile(profile, tilt_of(gmo, selection))
    beams = Beams(levelled, strategy=strategy)
    for returns in planar_returns(gmo, profile, selection):
        beams.add(
            beam_positions(returns.bearings, levelled),
            returns.ranges,
            returns.strengths,
            blocked=returns.blocked,
        )
        beams.left_out.update(returns.left_out)
    if left_out is not None:
        left_out.update(beams.left_out)
    ranges, intensities = beams.values(fired=fired_beams(levelled))
    return scan_message(
        levelled,
        ranges,
        intensities,
        stamp=first_beam_time(gmo, profile, clockwise=levelled.clockwise)
        if stamp is None
        else stamp,
        frame_id=frame_id,
        seq=seq,
        finite=finite,
    )


def fired_beams(profile: LidarProfile) -> npt.NDArray[np.bool_] | None:
    """Return which beams a whole scan measures, shape (N,); None for all of them."""
    if not profile.gaps:
        return None
    fired = np.ones(profile.beam_count, dtype=np.bool_)
    fired[list(profile.gaps)] = False
    return fired


def first_beam_time(gmo: GenericModelOutput, profile: LidarProfile, *, clockwise: bool) -> float:
    """Return when the beam at ``angle_min`` was measured, for a frame of a whole scan [s].

    The earliest element tells when the scan began, corrected by the beams before it, though
    never to before the frame itself. Where the elements have no times of their own, the frame
    has.

    Args:
        gmo: The frame.
        profile: The lidar.
        clockwise: Whether the beams of the scan are measured clockwise.
    """
    step = abs(profile.time_increment)
    start = gmo.frameStart.timestampNs
    began = start if 0 < start <= gmo.timestampNs else gmo.timestampNs
    offsets = gmo.timeOffsetNs
    least = int(offsets.min())
    first = gmo.timestampNs + least
    if least == int(offsets.max()):
        first = began
    elif step and gmo.elementsCoordsType is CoordsType.SPHERICAL:
        earliest = int(np.argmin(offsets))
        position = beam_positions(np.radians(gmo.x[earliest : earliest + 1]), profile)[0]
        if 0.0 <= position < profile.beam_count:
            beam = int(position)
            before = profile.beam_count - 1 - beam if profile.clockwise else beam
            corrected = first - round(before * step * 1e9)
            first = max(corrected, min(began, first)) if began <= first else corrected
    span = step * (profile.beam_count - 1) if clockwise else 0.0
    return round(first * 1e-9 + span, 9)
