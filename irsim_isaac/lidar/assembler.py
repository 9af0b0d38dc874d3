"""Frames of a turning lidar to whole scans."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.beams import Beams, beam_positions
from irsim_isaac.lidar.generic_model_output import VALID, CoordsType, GenericModelOutput
from irsim_isaac.lidar.profile import LidarProfile
from irsim_isaac.lidar.returns import (
    PlanarReturns,
    ReturnSelection,
    Strategy,
    levelled_profile,
    planar_returns,
    tilt_of,
)
from irsim_isaac.lidar.scan import fired_beams, first_beam_time, scan_message
from irsim_isaac.msg import LaserScan

__all__ = ["ScanAssembler"]

_log = logging.getLogger(__name__)

Turns: TypeAlias = npt.NDArray[np.float64]

# A frame of one moment that leaves less than this part of a turn open holds a whole turn.
_WHOLE_GAP = 0.25
# Emitters of one column look to both sides of it, so a turn with rings ends a little later.
_RING_SLACK = 0.05
# A frame that comes after more than this many times the shortest interval follows a lost one.
_NEXT_FRAME = 1.5
_NO_TURN = np.iinfo(np.int64).min


@dataclass(slots=True)
class _Turn:
    """One turn that is being filled."""

    beams: Beams
    fired: npt.NDArray[np.bool_]
    start: float = math.nan
    """When its first beam was measured [s]."""


@dataclass(slots=True)
class ScanAssembler:
    """Puts the frames of a lidar together to whole scans.

    A scan begins with the beam that the sensor measures first and ends with the one that it
    measures last, however the frames fall. The scan that had begun before the first frame is
    partial. Beams that no frame covers are NaN. Frames that hold a whole scan by themselves,
    as those of solid-state sensors do, give one scan each.

    Args:
        profile: The lidar.
        frame_id: The frame of the scans.
        partial: ``"drop"`` the scan that had begun before the first frame, or ``"mark"`` it:
            hand it out with NaN for the beams that are missing.
        finite: Whether to write IR-SIM's form instead of that of REP 117.
        warn_after: After how many empty frames in a row the log warns, once.
        strategy: As for ``scan_from_gmo``, like those that follow.
        height: The least and the greatest height of a return above the sensor [m].
        ring: The index of the one ring to use.
        tilt: Roll and pitch of the sensor [rad], or ``"frame"``.
        own_body: A radius [m] or a polygon [m] about the sensor, which is the robot itself.
        own_objects: Object ids that are the robot itself.

    Attributes:
        coverage: The part of the beams of the last scan that were fired, 0 to 1.
        scans: How many scans were handed out.
        partial_scans: How many partial scans were dropped or marked.
        empty_frames: How many frames held no element.
        duplicate_frames: How many frames had the time of one before and were left out.
        late_frames: How many frames were older than the last one and were left out.
        late_returns: How many returns came after their scan was handed out.
        left_out: How many elements gave no distance, by the reason.
    """

    profile: LidarProfile
    frame_id: str = "laser"
    partial: Literal["drop", "mark"] = field(default="drop", kw_only=True)
    finite: bool = field(default=False, kw_only=True)
    warn_after: int = field(default=10, kw_only=True)
    strategy: Strategy = field(default="nearest", kw_only=True)
    height: tuple[float, float] | None = field(default=None, kw_only=True)
    ring: int | None = field(default=None, kw_only=True)
    tilt: tuple[float, float] | Literal["frame"] = field(default=(0.0, 0.0), kw_only=True)
    own_body: float | Sequence[tuple[float, float]] | None = field(default=None, kw_only=True)
    own_objects: tuple[int, ...] = field(default=(), kw_only=True)
    coverage: float = field(default=0.0, init=False)
    scans: int = field(default=0, init=False)
    partial_scans: int = field(default=0, init=False)
    empty_frames: int = field(default=0, init=False)
    duplicate_frames: int = field(default=0, init=False)
    late_frames: int = field(default=0, init=False)
    late_returns: int = field(default=0, init=False)
    left_out: Counter[str] = field(default_factory=Counter, init=False)
    _selection: ReturnSelection = field(init=False, repr=False)
    _levelled: LidarProfile = field(init=False, repr=False)
    _turns: dict[int, _Turn] = field(default_factory=dict, init=False, repr=False)
    _first_turn: int | None = field(default=None, init=False, repr=False)
    _emitted: int | None = field(default=None, init=False, repr=False)
    _last_element: tuple[int, float] | None = field(default=None, init=False, repr=False)
    _last_time: int | None = field(default=None, init=False, repr=False)
    _last_frame: int | None = field(default=None, init=False, repr=False)
    _interval: int | None = field(default=None, init=False, repr=False)
    _covered: float = field(default=math.inf, init=False, repr=False)
    _empty_in_a_row: int = field(default=0, init=False, repr=False)
    _warned: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.partial not in ("drop", "mark"):
            raise ScanError(f"partial is '{self.partial}', expected 'drop' or 'mark'")
        self._levelled = self.profile
        self._selection = ReturnSelection(
            strategy=self.strategy,
            height=self.height,
            ring=self.ring,
            tilt=self.tilt,
            own_body=self.own_body,
            own_objects=self.own_objects,
        )

    def push(self, gmo: GenericModelOutput) -> list[LaserScan]:
        """Take up a frame.

        Args:
            gmo: The next frame.

        Returns:
            The scans that it completed, in the order of time.

        Raises:
            ScanError: No scan can be made of such a frame.
        """
        if gmo.numElements == 0:
            self._count_empty()
            return []
        self._empty_in_a_row = 0
        if self._last_time is not None and gmo.timestampNs <= self._last_time:
            if gmo.timestampNs == self._last_time:
                self.duplicate_frames += 1
                return []
            if (self._last_time - gmo.timestampNs) * 1e-9 < self.profile.scan_time:
                self.late_frames += 1
                return []
            # The simulation was started anew.
            begun = self.flush()
            return begun + self.push(gmo)
        self._last_time = gmo.timestampNs
        profile = levelled_profile(self.profile, tilt_of(gmo, self._selection))
        self._levelled = profile
        if profile.scan_type == "solid_state":
            return [self._whole(gmo, profile)]
        turn = 2.0 * math.pi / profile.angle_increment
        elements, progress = self._progress(gmo, profile, turn)
        if progress is None:
            return [self._whole(gmo, profile)]
        return self._sweep(gmo, profile, turn, elements, progress)

    def flush(self) -> list[LaserScan]:
        """End the stream: hand out what has been begun, if partial scans are marked.

        Returns:
            The partial scans.
        """
        scans: list[LaserScan] = []
        for number in sorted(self._turns):
            turn = self._turns.pop(number)
            if turn.fired.any():
                self.partial_scans += 1
                if self.partial == "mark":
                    scans.append(self._emit(turn, self._levelled))
                    continue
            self._drop(turn)
        self._forget()
        return scans

    def _forget(self) -> None:
        self._turns.clear()
        self._first_turn = self._emitted = self._last_element = self._last_time = None
        self._last_frame = self._interval = None

    def _count_empty(self) -> None:
        self.empty_frames += 1
        self._empty_in_a_row += 1
        if self._empty_in_a_row >= self.warn_after and not self._warned:
            self._warned = True
            _log.warning(
                "%d empty frames in a row from lidar '%s': is the simulation playing, does the "
                "render product belong to an OmniLidar, is its tick rate its scan rate, and is "
                "there anything within %g m?",
                self._empty_in_a_row,
                self.profile.name,
                self.profile.range_max,
            )

    def _whole(self, gmo: GenericModelOutput, profile: LidarProfile) -> LaserScan:
        """Return the scan of a frame that holds all of it."""
        beams = Beams(profile, strategy=self.strategy)
        for returns in planar_returns(gmo, self.profile, self._selection):
            _take(beams, returns, beam_positions(returns.bearings, profile), None)
            self.left_out.update(returns.left_out)
        self.left_out.update(beams.left_out)
        ranges, intensities = beams.values(fired=fired_beams(profile))
        self.coverage = 1.0
        return self._message(
            profile,
            ranges,
            intensities,
            first_beam_time(gmo, self.profile, clockwise=profile.clockwise),
        )

    def _message(
        self,
        profile: LidarProfile,
        ranges: npt.NDArray[np.float32],
        intensities: npt.NDArray[np.float32],
        stamp: float,
    ) -> LaserScan:
        self.scans += 1
        return scan_message(
            profile,
            ranges,
            intensities,
            stamp=stamp,
            frame_id=self.frame_id,
            seq=self.scans - 1,
            finite=self.finite,
        )

    def _progress(
        self, gmo: GenericModelOutput, profile: LidarProfile, turn: float
    ) -> tuple[npt.NDArray[np.intp], Turns | None]:
        """Return how far the sensor had turned at each element, in beams since its first one.

        Args:
            gmo: The frame.
            profile: The beams as they lie when levelled.
            turn: The number of beams in a full turn.

        Returns:
            The elements in the order of time, and the progress of each; None for a frame of
            one moment that holds a whole turn.
        """
        if gmo.elementsCoordsType is CoordsType.SPHERICAL:
            elements = np.arange(gmo.numElements)
            bearings = np.radians(gmo.x.astype(np.float64))
        else:
            # What came to nothing may lie at the origin, where it has no bearing.
            elements = np.flatnonzero((gmo.flags & VALID) | (gmo.x != 0) | (gmo.y != 0))
            bearings = np.arctan2(gmo.y, gmo.x).astype(np.float64)[elements]
        if profile.clockwise != self.profile.clockwise:
            bearings = -bearings
        finite = np.isfinite(bearings)
        elements, bearings = elements[finite], bearings[finite]
        if not elements.size:
            return elements, np.zeros(0)
        places = np.asarray(beam_positions(bearings, profile), dtype=np.float64)
        if profile.clockwise:
            places = np.mod(profile.beam_count - places, turn)
        times = gmo.timestampNs + gmo.timeOffsetNs[elements].astype(np.int64)
        if times[0] == times[-1] and (times == times[0]).all():
            ordered = np.argsort(places, kind="stable")
            places = places[ordered]
            gaps = np.diff(places, append=places[0] + turn)
            widest = int(np.argmax(gaps))
            if gaps[widest] < max(_WHOLE_GAP * turn, 1.5):
                return elements, None
            ordered, places = np.roll(ordered, -widest - 1), np.roll(places, -widest - 1)
            elements, times = elements[ordered], times[ordered]
        elif (np.diff(times) < 0).any():
            ordered = np.argsort(times, kind="stable")
            elements, times, places = elements[ordered], times[ordered], places[ordered]
        if self._last_element is None:
            last = (int(times[0]), float(places[0]))
        else:
            last = self._last_element
        # The times tell by how many whole turns two elements differ, the bearings the rest.
        expected = np.diff(times, prepend=last[0]) * (1e-9 * profile.scan_rate * turn)
        found = np.diff(places, prepend=np.mod(last[1], turn))
        steps = expected + np.mod(found - expected + turn / 2.0, turn) - turn / 2.0
        progress: Turns = last[1] + np.cumsum(steps)
        self._last_element = (int(times[-1]), float(progress[-1]))
        return elements, progress

    def _sweep(
        self,
        gmo: GenericModelOutput,
        profile: LidarProfile,
        turn: float,
        elements: npt.NDArray[np.intp],
        progress: Turns,
    ) -> list[LaserScan]:
        """Take up a frame that covers a part of a turn, or parts of several."""
        if not elements.size:
            return []
        numbers = np.floor(progress / turn).astype(np.int64)
        first_turn = int(numbers[0]) if self._first_turn is None else self._first_turn
        self._first_turn = first_turn
        turn_of = np.full(gmo.numElements, _NO_TURN, dtype=np.int64)
        turn_of[elements] = numbers
        for returns in planar_returns(gmo, self.profile, self._selection):
            self.left_out.update(returns.left_out)
            owners = turn_of[returns.indices]
            positions = beam_positions(returns.bearings, profile)
            for number in np.unique(owners):
                owned = owners == number
                if number == _NO_TURN:
                    self.left_out["without a bearing"] += int(owned.sum())
                elif self._emitted is not None and number <= self._emitted:
                    self.late_returns += int(owned.sum())
                else:
                    opened = self._opened(int(number), profile)
                    _take(opened.beams, returns, positions, owned)
        self._mark_fired(gmo, profile, turn, elements, progress, first_turn)
        return self._finished(profile, turn, float(progress.max()))

    def _opened(self, number: int, profile: LidarProfile) -> _Turn:
        if number not in self._turns:
            self._turns[number] = _Turn(
                Beams(profile, strategy=self.strategy),
                np.zeros(profile.beam_count, dtype=np.bool_),
            )
        return self._turns[number]

    def _mark_fired(
        self,
        gmo: GenericModelOutput,
        profile: LidarProfile,
        turn: float,
        elements: npt.NDArray[np.intp],
        progress: Turns,
        first_turn: int,
    ) -> None:
        """Mark the beams that the frame covers, whether or not something came back."""
        low, high = float(progress.min()), float(progress.max())
        rate = profile.scan_rate * turn
        times = gmo.timestampNs + gmo.timeOffsetNs[elements].astype(np.int64)
        start, end = gmo.frameStart.timestampNs, gmo.frameEnd.timestampNs
        if 0 < start < end and (end - start) * 1e-9 * rate <= 2.0 * turn:
            low = min(low, float(progress[0]) - (int(times[0]) - start) * 1e-9 * rate)
            # The frame ends where the next one begins: the beam there belongs to the next.
            covered = float(progress[-1]) + (end - int(times[-1])) * 1e-9 * rate - 1.0
            high = max(high, covered)
        elif gmo.timestampNs <= int(times[0]):
            low = min(low, float(progress[0]) - (int(times[0]) - gmo.timestampNs) * 1e-9 * rate)
        if self._follows(gmo) and self._covered < low < self._covered + turn:
            # No frame is missing between the last one and this one.
            low = self._covered
        self._covered = high
        closed = profile.beam_count > turn + 0.5
        for number in range(max(int(low // turn), first_turn), int(high // turn) + 1):
            if self._emitted is not None and number <= self._emitted:
                continue
            opened = self._opened(number, profile)
            first = max(0, math.floor(low - number * turn + 1e-3))
            last = min(profile.beam_count - 1, math.floor(high - number * turn + 1e-3))
            fired = slice(first, last + 1)
            if profile.clockwise:
                fired = slice(profile.beam_count - 1 - last, profile.beam_count - first)
            opened.fired[fired] = True
            if closed:
                opened.fired[[0, -1]] = opened.fired[0] or opened.fired[-1]
            if math.isnan(opened.start):
                inside = np.flatnonzero(progress >= number * turn)
                element = int(inside[0]) if inside.size else 0
                ahead = (float(progress[element]) - number * turn - 0.5) / rate
                opened.start = int(times[element]) * 1e-9 - ahead

    def _follows(self, gmo: GenericModelOutput) -> bool:
        """Tell whether the frame comes right after the last one, by the time between them."""
        last, self._last_frame = self._last_frame, gmo.timestampNs
        if last is None:
            return False
        interval = gmo.timestampNs - last
        known, self._interval = self._interval, min(interval, self._interval or interval)
        return interval <= _NEXT_FRAME * (known or interval)

    def _finished(self, profile: LidarProfile, turn: float, reached: float) -> list[LaserScan]:
        """Hand out the turns that are complete or that the sensor has left behind."""
        slack = _RING_SLACK * turn if len(profile.rings) > 1 else 0.0
        scans: list[LaserScan] = []
        for number in sorted(self._turns):
            done = reached >= (number + 1) * turn + slack
            if not done and not (slack == 0.0 and self._turns[number].fired.all()):
                continue
            filled = self._turns.pop(number)
            self._emitted = number
            if not filled.fired.any():
                self._drop(filled)
                continue
            if number == self._first_turn and not filled.fired.all():
                self.partial_scans += 1
                if self.partial == "drop":
                    self._drop(filled)
                    continue
            scans.append(self._emit(filled, profile))
        return scans

    def _drop(self, turn: _Turn) -> None:
        """Count what a turn holds that is not handed out."""
        self.left_out.update(turn.beams.left_out)
        if turn.beams.taken:
            self.left_out["of a partial scan"] += turn.beams.taken

    def _emit(self, filled: _Turn, profile: LidarProfile) -> LaserScan:
        self.coverage = float(filled.fired.mean())
        self.left_out.update(filled.beams.left_out)
        ranges, intensities = filled.beams.values(fired=filled.fired)
        stamp = filled.start
        if profile.clockwise:
            stamp += (profile.beam_count - 1) * abs(profile.time_increment)
        return self._message(profile, ranges, intensities, round(stamp, 9))


def _take(
    beams: Beams,
    returns: PlanarReturns,
    positions: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    chosen: npt.NDArray[np.bool_] | None,
) -> None:
    """Give returns to the beams of a scan."""
    blocked = returns.blocked
    if chosen is None or chosen.all():
        beams.add(positions, returns.ranges, returns.strengths, blocked=blocked)
        return
    beams.add(
        positions[chosen],
        returns.ranges[chosen],
        returns.strengths[chosen],
        blocked=None if blocked is None else blocked[chosen],
    )
