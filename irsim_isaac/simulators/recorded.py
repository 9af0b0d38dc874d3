"""A recording, played back as a simulator."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from irsim_isaac.clock import PacedClock, Seconds, exact_seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import (
    LaserScan,
    ObjectState,
    Odometry,
    Point,
    Quaternion,
    Twist,
    Vector3,
    WorldState,
)
from irsim_isaac.recording import read
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators.base import SteppedSimulator, robots_by_name
from irsim_isaac.simulators.motion import PlanarTwist
from irsim_isaac.simulators.protocol import Drive

__all__ = ["RecordedSimulator"]

_ON_THE_GRID = Fraction(1, 1000)
"""How far from a whole count of steps a stamp may lie [steps]: a rounded float, no more."""


class RecordedSimulator(SteppedSimulator):
    """What was recorded, step by step or in real time.

    Commands are checked and then left out; nothing can be written to it. Time starts at zero
    with the first state. With ``between="exact"`` every step must be in the recording, which
    may have more; with ``"interpolate"`` poses and twists between two states are those on the
    straight way from one to the other, and everything else is that of the earlier one.

    With ``drive="runs"`` it runs by itself: ``run`` plays it beside the clock on the wall and
    calls ``on_step`` after each step.

    Args:
        recording: The path of a recording, or its states in order.
        robots: What is known of the robots besides; those not given are made of the states.
        step_time: The length of a step [s]; None for that of the recording.
        source: The simulator that was recorded, where the recording has several.
        between: What a step is that the recording has not.
        drive: Whether it is stepped or runs by itself.
        pace: Simulated seconds a second, when it runs by itself.
        seed: Of no use: there is no chance in a recording.

    Raises:
        RecordingError: The recording cannot be read.
        SimulatorError: It has no state, its stamps do not rise, or a robot is not in it.
    """

    def __init__(
        self,
        *,
        recording: str | os.PathLike[str] | Iterable[WorldState],
        robots: Sequence[RobotSpec] = (),
        step_time: Seconds | None = None,
        source: str | None = None,
        between: Literal["exact", "interpolate"] = "exact",
        drive: Drive = "step",
        pace: float = 1.0,
        seed: int = 0,
    ) -> None:
        if between not in ("exact", "interpolate"):
            raise SimulatorError(
                f"recorded: between must be 'exact' or 'interpolate', found {between!r}"
            )
        if drive not in ("step", "runs"):
            raise SimulatorError(f"recorded: drive must be 'step' or 'runs', found {drive!r}")
        if isinstance(recording, (str, os.PathLike)):
            self._where = os.fspath(recording)
            self._states = list(read(recording, source=source))
        else:
            self._where = "the recording"
            self._states = list(recording)
        if not self._states:
            raise SimulatorError(f"recorded: {self._where} has no state")
        step = self._states[0].step_time if step_time is None else step_time
        super().__init__("recorded", (), step_time=step, seed=seed)
        self._between = between
        self._drive: Drive = drive
        self._pace = pace
        self._playing = False
        start = exact_seconds(self._states[0].header.stamp)
        self._times = [exact_seconds(state.header.stamp) - start for state in self._states]
        for before, after in zip(self._times, self._times[1:], strict=False):
            if after <= before:
                raise SimulatorError(
                    f"recorded: {self._where}: the stamp {float(after + start):g} s comes after "
                    f"{float(before + start):g} s; rising stamps were expected"
                )
        self._robots = robots_by_name(_known_robots(self._states[0], robots, self._where))
        self._at = 0

    @property
    def drive(self) -> Drive:
        """Whether it is stepped or runs by itself."""
        return self._drive

    @property
    def duration(self) -> float:
        """From the first state to the last one [s]."""
        return float(self._times[-1])

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step; what is commanded changes nothing.

        Raises:
            SimulatorError: The recording ends here or has not this step, a command is bad, it
                is closed or runs by itself.
        """
        if self._drive == "runs":
            raise SimulatorError("recorded: it runs by itself and cannot be stepped; use run()")
        return super().step(commands)

    def run(
        self,
        *,
        steps: int | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> int:
        """Play on in real time, calling ``on_step`` after each step, until the end or ``stop``.

        Args:
            steps: How many steps to play at most.
            now: Reads the clock on the wall [s].
            sleep: Waits [s].

        Returns:
            How many steps were played.

        Raises:
            SimulatorError: It is stepped, is closed, or the recording has not a step.
        """
        if self._drive != "runs":
            raise SimulatorError("recorded: it is stepped and does not run by itself")
        clock = PacedClock(self._clock.step, pace=self._pace, now=now)
        clock.resume()
        self._playing = True
        played = 0
        while self._playing and not self._ended() and played != steps:
            for _ in range(clock.due()):
                with self._using():
                    self._advance({})
                    self._clock.advance()
                    state = self._capture()
                played += 1
                if self.on_step is not None:
                    self.on_step(state)
                if not self._playing or self._ended() or played == steps:
                    break
            else:
                sleep(clock.wait())
        self._playing = False
        return played

    def stop(self) -> None:
        """Let ``run`` end after the present step."""
        self._playing = False

    def _ended(self) -> bool:
        return self._clock.time + self._clock.step > self._times[-1] + self._slack()

    def _slack(self) -> Fraction:
        return _ON_THE_GRID * self._clock.step

    def _restart(self, seed: int) -> None:
        self._at = 0

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        target = self._clock.time + self._clock.step
        if self._ended():
            raise SimulatorError(
                f"recorded: {self._where} ends after {self.duration:g} s; "
                f"there is no state at {float(target):g} s"
            )
        index = self._at
        while index + 1 < len(self._times) and self._times[index + 1] <= target + self._slack():
            index += 1
        if self._between == "exact" and abs(self._times[index] - target) > self._slack():
            raise SimulatorError(
                f"recorded: {self._where} has no state {float(target):g} s after its start; the "
                f"one before it is at {float(self._times[index]):g} s"
            )
        self._at = index

    def _capture(self) -> WorldState:
        now = self._clock.time
        state = copy.deepcopy(self._states[self._at])
        share = now - self._times[self._at]
        if share > self._slack() and self._at + 1 < len(self._states):
            whole = self._times[self._at + 1] - self._times[self._at]
            later = {item.name: item for item in self._states[self._at + 1].objects}
            for item in state.objects:
                if item.name in later:
                    item.odom = _between(item.odom, later[item.name].odom, float(share / whole))
        stamp, seq = self._clock.stamp, self._clock.count
        # Scans keep the time that passed since their first ray.
        late = now - self._times[self._at]
        before = exact_seconds(self._states[self._at].header.stamp)
        state.header.stamp, state.header.seq = stamp, seq
        state.step_time = self.step_time
        for item in state.objects:
            for header in (item.header, item.odom.header):
                header.stamp, header.seq = stamp, seq
            for scan in item.scans:
                age = before - exact_seconds(scan.header.stamp) + late
                scan.header.stamp = float(now - age)
        return state

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        raise SimulatorError("recorded: a recording cannot be written to")

    def _release(self) -> None:
        self._playing = False
        self._states = []


def _between(before: Odometry, after: Odometry, share: float) -> Odometry:
    """Return odometry on the way from one to the other; ``share`` is 0 at the first one."""
    mixed = copy.deepcopy(before)
    first, last = before.pose.pose, after.pose.pose
    mixed.pose.pose.position = _mix_points(first.position, last.position, share)
    mixed.pose.pose.orientation = _slerp(first.orientation, last.orientation, share)
    one, other = before.twist.twist, after.twist.twist
    mixed.twist.twist = Twist(
        _mix_vectors(one.linear, other.linear, share),
        _mix_vectors(one.angular, other.angular, share),
    )
    return mixed


def _mix_points(a: Point, b: Point, share: float) -> Point:
    return Point(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), a.z + share * (b.z - a.z))


def _mix_vectors(a: Vector3, b: Vector3, share: float) -> Vector3:
    return Vector3(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), a.z + share * (b.z - a.z))


def _slerp(a: Quaternion, b: Quaternion, share: float) -> Quaternion:
    """Return the orientation on the shorter turn from one to the other."""
    first, last = np.array([a.x, a.y, a.z, a.w]), np.array([b.x, b.y, b.z, b.w])
    first, last = first / np.linalg.norm(first), last / np.linalg.norm(last)
    cosine = float(first @ last)
    if cosine < 0.0:
        last, cosine = -last, -cosine
    angle = math.acos(min(1.0, cosine))
    if angle < 1e-6:
        mixed = first + share * (last - first)
    else:
        mixed = (
            math.sin((1.0 - share) * angle) * first + math.sin(share * angle) * last
        ) / math.sin(angle)
    return Quaternion(*(float(value) for value in mixed / np.linalg.norm(mixed)))


def _known_robots(state: WorldState, robots: Sequence[RobotSpec], where: str) -> list[RobotSpec]:
    """Return a spec for each robot of a recording, the given ones first choice."""
    given = robots_by_name(robots)
    recorded = {item.name: item for item in state.robots}
    missing = [name for name in given if name not in recorded]
    if missing:
        raise SimulatorError(
            f"recorded: {where} has no robot '{missing[0]}'; "
            f"its robots: {', '.join(recorded) or 'none'}"
        )
    return [given.get(name) or _described(item) for name, item in recorded.items()]


def _described(item: ObjectState) -> RobotSpec:
    """Return what a state says of a robot."""
    spec = RobotSpec(
        item.name,
        lidars=tuple(
            LidarMount(_profile(scan), name=f"lidar_{index}" if index else "lidar")
            for index, scan in enumerate(item.scans)
        ),
    )
    for kinematics in ("diff", "omni", "omni_angular", "acker"):
        if item.kinematics == kinematics:
            return replace(spec, kinematics=kinematics)
    return spec


def _profile(scan: LaserScan) -> LidarProfile:
    return LidarProfile(
        name="recorded",
        beam_count=max(1, len(scan.ranges)),
        angle_min=scan.angle_min,
        angle_increment=scan.angle_increment or math.radians(1.0),
        range_min=scan.range_min,
        range_max=scan.range_max,
        scan_rate=1.0 / scan.scan_time if scan.scan_time > 0.0 else 10.0,
        scan_type="rotary" if scan.time_increment else "solid_state",
    )
