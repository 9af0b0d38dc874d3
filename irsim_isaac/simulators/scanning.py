"""The lidars of robots in a scene of triangles."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.clock import exact_seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar.ray_casting import RayCaster, measured, pose_matrix, sensor_beams
from irsim_isaac.msg import Header, LaserScan
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators.poses import Matrix

__all__ = ["LidarRig", "ScanMode"]

ScanMode: TypeAlias = Literal["snapshot", "revolution"]
"""Whether all beams of a scan are cast at once or each when the sensor's turn comes to it."""

_HAIR = 1e-9
"""What lies within this of the end of a step [s] belongs to the next one."""


@dataclass(frozen=True, slots=True)
class _Lidar:
    """A lidar that is mounted: what it is, and what is computed once for it."""

    mount: LidarMount
    frame_id: str
    key: int
    place: npt.NDArray[np.float64]
    beams: npt.NDArray[np.float64]


@dataclass(slots=True)
class _Turn:
    """How far a lidar is in its turn, and its last whole scan.

    Attributes:
        count: The whole turns since the start.
        fired: The beams of this turn that have been cast, in the order in which they fire.
        ranges: What they measured, by beam, shape (N,).
        scan: The scan of the last whole turn.
    """

    count: int = 0
    fired: int = 0
    ranges: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    scan: LaserScan | None = None


class LidarRig:
    """All lidars of all robots.

    As a snapshot, every beam of a scan is cast from where the lidar is at the stamp. By
    revolution, each beam is cast from where the lidar was when it fired, on the straight way
    between the poses of two steps, at what moves where it is at the end of the step; a state
    has the scan of the last whole turn, stamped with its first beam, and none before the first
    turn is over. Of a lidar with several rings the scan is that of the ring nearest to the
    horizontal.

    Noise depends on the seed, the robot, the lidar and the count of steps or turns alone, so
    that reading twice or in another order gives the same scan.

    Args:
        robots: The robots by name.
        noise: Whether distances get the noise of ``range_accuracy`` and the steps of
            ``range_resolution`` of their profiles.
        seed: The seed of the noise.
        mode: How scans are taken.

    Raises:
        SimulatorError: There is no such way to take scans.
    """

    def __init__(
        self,
        robots: Mapping[str, RobotSpec],
        *,
        noise: bool,
        seed: int,
        mode: ScanMode = "snapshot",
    ) -> None:
        if mode not in ("snapshot", "revolution"):
            raise SimulatorError(f"scans must be 'snapshot' or 'revolution', found {mode!r}")
        self._noise = noise
        self.seed = seed
        self._mode = mode
        self._poses: dict[str, Matrix] = {}
        self._lidars = {
            name: [_mounted(name, index, mount) for index, mount in enumerate(robot.lidars)]
            for name, robot in robots.items()
        }

        self._turns = {name: [_Turn() for _ in items] for name, items in self._lidars.items()}

    def restart(self) -> None:
        """Go back to the start: no turn has begun, and no robot has been seen."""
        self._poses = {}
        self._turns = {name: [_Turn() for _ in items] for name, items in self._lidars.items()}

    def place(self, poses: Mapping[str, Matrix]) -> None:
        """Take robots to be somewhere, without a way from where they were.

        Args:
            poses: The pose of the base frame of each, shape (4, 4).
        """
        self._poses |= {name: pose for name, pose in poses.items() if name in self._lidars}

    def turn(
        self, poses: Mapping[str, Matrix], caster: RayCaster, *, time: Fraction, step: Fraction
    ) -> None:
        """Cast the beams that fired in a step.

        Args:
            poses: Where the base frame of each robot is at the end of the step, (4, 4) each.
            caster: The scene at the end of the step.
            time: The end of the step [s].
            step: Its length [s].
        """
        if self._mode == "snapshot":
            return
        for name, lidars in self._lidars.items():
            before, after = self._poses.get(name, poses[name]), poses[name]
            for lidar, turn in zip(lidars, self._turns[name], strict=True):
                self._fire(lidar, turn, name, before, after, caster, time, step)
            self._poses[name] = after

    def _fire(
        self,
        lidar: _Lidar,
        turn: _Turn,
        robot: str,
        before: Matrix,
        after: Matrix,
        caster: RayCaster,
        time: Fraction,
        step: Fraction,
    ) -> None:
        profile = lidar.mount.profile
        count, between = profile.beam_count, abs(profile.time_increment)
        backward = profile.time_increment < 0.0
        period = 1 / exact_seconds(profile.scan_rate)
        begin, end = float(time - step), float(time)
        if not len(turn.ranges):
            turn.ranges = np.full(count, np.inf, dtype=np.float32)
        while (first := float(turn.count * period)) + turn.fired * between < end - _HAIR:
            last = count
            if between > 0.0:
                last = min(count, int(np.ceil((end - _HAIR - first) / between)))
            order = np.arange(turn.fired, last)
            beams = count - 1 - order if backward else order
            shares = np.clip((first + order * between - begin) / float(step), 0.0, 1.0)
            starts, directions = _on_the_way(lidar, beams, before, after, shares)
            turn.ranges[beams] = caster.cast(
                starts,
                directions,
                range_max=self._reach(lidar),
                own=robot if robot in caster.bodies else None,
            )
            turn.fired = last
            if last < count:
                return
            # A sensor that turns clockwise measures its first beam last.
            stamp = first + (count - 1) * between if backward else first
            turn.scan = self._told(
                lidar, turn.ranges, stamp=stamp, seq=turn.count, apart=profile.time_increment
            )
            turn.count += 1
            turn.fired = 0

    def scans(
        self,
        robot: str,
        base: npt.NDArray[np.float64],
        caster: RayCaster,
        *,
        stamp: float,
        seq: int,
    ) -> list[LaserScan]:
        """Return a scan of each lidar of a robot, as far as it has one.

        Args:
            robot: The robot's name, which is also that of its body in the scene.
            base: The pose of its base frame, shape (4, 4).
            caster: The scene.
            stamp: The time [s].
            seq: The count of steps.
        """
        if self._mode == "revolution":
            whole = [turn.scan for turn in self._turns[robot] if turn.scan is not None]
            return [
                replace(scan, header=replace(scan.header), ranges=scan.ranges.copy())
                for scan in whole
            ]
        own = robot if robot in caster.bodies else None
        found = []
        for lidar in self._lidars[robot]:
            pose = base @ lidar.place
            ranges = caster.scan(lidar.beams, pose, range_max=self._reach(lidar), own=own)[0]
            found.append(self._told(lidar, ranges, stamp=stamp, seq=seq, apart=0.0))
        return found

    def _reach(self, lidar: _Lidar) -> float:
        # A little farther than the lidar reaches: noise may bring a return into its range.
        profile = lidar.mount.profile
        return profile.range_max + (4.0 * profile.range_accuracy if self._noise else 0.0)

    def _told(
        self,
        lidar: _Lidar,
        ranges: npt.NDArray[np.float32],
        *,
        stamp: float,
        seq: int,
        apart: float,
    ) -> LaserScan:
        """Return distances as a scan."""
        profile = lidar.mount.profile
        if self._noise:
            ranges = self._disturbed(ranges, lidar, seq)
        return LaserScan(
            header=Header(seq, stamp, lidar.frame_id),
            angle_min=profile.angle_min,
            angle_max=profile.angle_max,
            angle_increment=profile.angle_increment,
            time_increment=apart,
            scan_time=profile.scan_time,
            range_min=profile.range_min,
            range_max=profile.range_max,
            ranges=measured(ranges, range_min=profile.range_min, range_max=profile.range_max),
            intensities=np.empty(0, dtype=np.float32),
        )

    def _disturbed(
        self, ranges: npt.NDArray[np.float32], lidar: _Lidar, seq: int
    ) -> npt.NDArray[np.float32]:
        profile = lidar.mount.profile
        random = np.random.Generator(
            np.random.Philox(
                key=[self.seed & 0xFFFFFFFFFFFFFFFF, lidar.key], counter=[0, 0, 0, seq]
            )
        )
        noisy = ranges + random.normal(0.0, profile.range_accuracy, len(ranges))
        if profile.range_resolution > 0.0:
            noisy = np.round(noisy / profile.range_resolution) * profile.range_resolution
        # A return is never behind the lidar.
        return np.maximum(noisy, 0.0).astype(np.float32)


def _mounted(robot: str, index: int, mount: LidarMount) -> _Lidar:
    profile = mount.profile
    elevations = profile.elevations
    level = elevations[np.argmin(np.abs(elevations))]
    default = f"{robot}/laser" if index == 0 else f"{robot}/laser_{index}"
    return _Lidar(
        mount=mount,
        frame_id=mount.frame_id or default,
        key=zlib.crc32(f"{robot}/{index}".encode()),
        place=pose_matrix(
            mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
        ),
        beams=sensor_beams(profile.bearings, [level]),
    )


def _on_the_way(
    lidar: _Lidar,
    beams: npt.NDArray[np.intp],
    before: Matrix,
    after: Matrix,
    shares: npt.NDArray[np.float64],
) -> tuple[Matrix, Matrix]:
    """Return where beams start and go that fire on the way from one pose to another.

    Args:
        lidar: The lidar.
        beams: Which of its beams, shape (m,).
        before: The base frame at the start of the way, shape (4, 4).
        after: The same at its end.
        shares: Which part of the way lies behind each beam, shape (m,).

    Returns:
        Starts [m] and directions, shape (m, 3) each.
    """
    turned = before[:3, :3].T @ after[:3, :3]
    sine = 0.5 * np.array(
        [turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]]
    )
    size = float(np.linalg.norm(sine))
    angles = shares * np.arctan2(size, 0.5 * (np.trace(turned) - 1.0))
    axis = sine / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    mounted = np.tile(lidar.place[:3, 3], (len(beams), 1))
    toward = lidar.beams[0][beams] @ lidar.place[:3, :3].T
    places = before[:3, 3] + shares[:, None] * (after[:3, 3] - before[:3, 3])
    outward = before[:3, :3].T
    return (
        places + _rotated(mounted, axis, angles) @ outward,
        _rotated(toward, axis, angles) @ outward,
    )


def _rotated(
    vectors: npt.NDArray[np.float64],
    axis: npt.NDArray[np.float64],
    angles: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return vectors turned about one axis, each by its own angle, by Rodrigues' formula."""
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along = (vectors @ axis)[:, None] * axis
    return np.asarray(along + cos * (vectors - along) + sin * np.cross(axis, vectors))
