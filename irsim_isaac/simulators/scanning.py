"""The lidars of robots in a scene of triangles."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from irsim_isaac.lidar.ray_casting import RayCaster, measured, pose_matrix, sensor_beams
from irsim_isaac.msg import Header, LaserScan
from irsim_isaac.robot import LidarMount, RobotSpec

__all__ = ["LidarRig"]


@dataclass(frozen=True, slots=True)
class _Lidar:
    """A lidar that is mounted: what it is, and what is computed once for it."""

    mount: LidarMount
    frame_id: str
    key: int
    place: npt.NDArray[np.float64]
    beams: npt.NDArray[np.float64]


class LidarRig:
    """All lidars of all robots.

    A scan is a snapshot: every beam is cast from where the lidar is at the stamp. Of a lidar
    with several rings the scan is that of the ring nearest to the horizontal. Noise depends on
    the seed, the robot, the lidar and the count of steps alone, so that reading twice or in
    another order gives the same scan.

    Args:
        robots: The robots by name.
        noise: Whether distances get the noise of ``range_accuracy`` and the steps of
            ``range_resolution`` of their profiles.
        seed: The seed of the noise.
    """

    def __init__(self, robots: Mapping[str, RobotSpec], *, noise: bool, seed: int) -> None:
        self._noise = noise
        self.seed = seed
        self._lidars = {
            name: [_mounted(name, index, mount) for index, mount in enumerate(robot.lidars)]
            for name, robot in robots.items()
        }

    def scans(
        self,
        robot: str,
        base: npt.NDArray[np.float64],
        caster: RayCaster,
        *,
        stamp: float,
        seq: int,
    ) -> list[LaserScan]:
        """Return a scan of each lidar of a robot.

        Args:
            robot: The robot's name, which is also that of its body in the scene.
            base: The pose of its base frame, shape (4, 4).
            caster: The scene.
            stamp: The time [s].
            seq: The count of steps.
        """
        return [self._scan(lidar, robot, base, caster, stamp, seq) for lidar in self._lidars[robot]]

    def _scan(
        self,
        lidar: _Lidar,
        robot: str,
        base: npt.NDArray[np.float64],
        caster: RayCaster,
        stamp: float,
        seq: int,
    ) -> LaserScan:
        profile = lidar.mount.profile
        own = robot if robot in caster.bodies else None
        # A little farther than the lidar reaches: noise may bring a return into its range.
        reach = profile.range_max + (4.0 * profile.range_accuracy if self._noise else 0.0)
        ranges = caster.scan(lidar.beams, base @ lidar.place, range_max=reach, own=own)[0]
        if self._noise:
            ranges = self._disturbed(ranges, lidar, seq)
        return LaserScan(
            header=Header(seq, stamp, lidar.frame_id),
            angle_min=profile.angle_min,
            angle_max=profile.angle_max,
            angle_increment=profile.angle_increment,
            time_increment=0.0,
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
