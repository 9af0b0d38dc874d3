"""Kinematic motion on a USD stage, without physics."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import shapely

from irsim_isaac.clock import Seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Header, ObjectState, Odometry, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.base import SteppedSimulator
from irsim_isaac.simulators.drives import StageFrame, find_wheels
from irsim_isaac.simulators.motion import (
    REST,
    PlanarPose,
    PlanarTwist,
    base_odometry,
    body_twist,
    checked_update,
    integrate,
    limited,
    wrapped,
)
from irsim_isaac.simulators.poses import (
    Matrix,
    Motion,
    body_odometry,
    heading,
    odometry_motion,
    planar_matrix,
)
from irsim_isaac.simulators.protocol import StartPose
from irsim_isaac.simulators.scanning import LidarRig, ScanMode
from irsim_isaac.simulators.scene import (
    body_outlines,
    find_bodies,
    footprint_polygon,
    placed,
    ray_caster,
    start_poses,
)

if TYPE_CHECKING:
    from pxr import Usd

    from irsim_isaac.map import Occupancy

__all__ = ["StageSimulator"]


class StageSimulator(SteppedSimulator):
    """Robots that move exactly as they are told, on a USD stage.

    Each step is the explicit Euler step of IR-SIM, so that the two agree to rounding where
    nothing is in the way. The way of a step is walked in sub-steps of at most half a cell; a
    robot stops, for this step, at the last place where its footprint meets neither an occupied
    cell of the stage's map nor another robot or body, and its ``collision`` is set. It may drive
    away again.

    Rigid bodies of the stage are obstacles that stay where they are written; for collisions a
    body is the convex hull, seen from above, of what lies in the band of heights. Robots stay
    on the floor: of what is written their height, roll and pitch are left out. Lidars see the
    visual meshes, the robot's own excepted.

    Args:
        stage: The path of the USD stage.
        robots: The robots.
        starts: Where they start: x, y [m], yaw [rad]; needed for those that the stage has not.
        step_time: The length of a step [s].
        seed: The seed of the lidars' noise.
        collisions: Whether robots stop at what is in their way.
        resolution: The cell size of the map [m].
        height: The band of heights above the floor that counts for collisions [m].
        floor: The height of the ground [m].
        noise: Whether lidars have the noise of their profiles.
        scans: Whether the beams of a scan are cast at once, or each when it fires.

    Raises:
        MissingPackageError: ``usd-core`` is not installed.
        StageError: The stage cannot be opened or mapped.
        SimulatorError: A robot cannot be placed.
    """

    def __init__(
        self,
        *,
        stage: str | os.PathLike[str],
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, StartPose] | None = None,
        step_time: Seconds = 0.1,
        seed: int = 0,
        collisions: bool = True,
        resolution: float = 0.05,
        height: tuple[float, float] = (0.1, 0.62),
        floor: float = 0.0,
        noise: bool = False,
        scans: ScanMode = "snapshot",
    ) -> None:
        from irsim_isaac.stage import open_stage, read_geometry

        super().__init__("stage", robots, step_time=step_time, seed=seed)
        opened = open_stage(stage)
        standing = {
            name: _standing(opened, spec)
            for name, spec in self._robots.items()
            if spec.prim_path is not None
        }
        self._floor = floor
        places = start_poses(
            self._robots, dict(starts or {}), standing, floor=floor, simulator=self._name
        )
        self._start = {
            name: PlanarPose(float(pose[0, 3]), float(pose[1, 3]), heading(pose))
            for name, pose in places.items()
        }
        roots = {name: str(self._robots[name].prim_path) for name in standing}
        self._bodies = {body.name: body for body in find_bodies(opened, list(roots.values()))}
        taken = [name for name in self._bodies if name in self._robots]
        if taken:
            raise SimulatorError(f"stage: a robot and a body of the stage are named '{taken[0]}'")
        geometry = read_geometry(opened)
        band = (floor + height[0], floor + height[1])
        self._footprints = {name: footprint_polygon(spec) for name, spec in self._robots.items()}
        self._outlines = body_outlines(geometry, list(self._bodies.values()), height=band)
        self._reach = {
            name: float(np.hypot(*np.array(outline.exterior.coords).T).max())
            for name, outline in (self._footprints | self._outlines).items()
        }
        self._resolution = resolution
        self._collisions = collisions
        self._map = None
        still = read_geometry(opened, static_only=True, exclude=sorted(roots.values()))
        if collisions and any(_stands(part.points, band) for part in still.parts):
            from irsim_isaac.stage import build_occupancy

            occupancy = build_occupancy(
                opened, resolution=resolution, height=height, floor=floor, geometry=still
            )
            self._map = occupancy.to_map()
            self._extent = shapely.box(*_map_extent(occupancy))
        self._caster = ray_caster(
            geometry,
            robots=self._robots,
            robot_roots=roots,
            starts=standing,
            bodies=list(self._bodies.values()),
        )
        self._rig = LidarRig(self._robots, noise=noise, seed=seed, mode=scans)
        self._ids = {name: index for index, name in enumerate([*self._robots, *self._bodies])}
        self._restart(seed)

    def _restart(self, seed: int) -> None:
        self._rig.seed = seed
        self._poses = dict(self._start)
        self._motions = dict.fromkeys(self._robots, REST)
        self._places = {
            name: Motion(body.pose, np.zeros(3), np.zeros(3)) for name, body in self._bodies.items()
        }
        self._touching: dict[str, list[int]] = {}
        self._refresh()
        self._rig.restart()
        self._rig.place(self._frames)
        for name in self._robots:
            met = self._meets(name, self._poses[name])
            if met is not None:
                self._touching[name] = met

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        self._touching = {}
        for name, command in commands.items():
            spec, before = self._robots[name], self._poses[name]
            motion = limited(spec, command, self._motions[name], self.step_time)
            after = integrate(spec, before, motion, self.step_time)
            reached, met = self._walk(name, before, after)
            self._poses[name] = reached
            self._motions[name] = motion
            # Who moves after it meets it where it is now.
            self._areas[name] = placed(
                self._footprints[name], planar_matrix(reached.x, reached.y, reached.yaw)
            )
            self._centres[name] = (reached.x, reached.y)
            if met is not None:
                known = self._touching.setdefault(name, [])
                known += [other for other in met if other not in known]
                self._motions[name] = REST
                for other in met:
                    partners = self._touching.setdefault(self._name_of(other), [])
                    if self._ids[name] not in partners:
                        partners.append(self._ids[name])
        self._refresh()
        self._rig.turn(
            self._frames,
            self._caster,
            time=self._clock.time + self._clock.step,
            step=self._clock.step,
        )

    def _name_of(self, number: int) -> str:
        return next(name for name, index in self._ids.items() if index == number)

    def _walk(
        self, name: str, before: PlanarPose, after: PlanarPose
    ) -> tuple[PlanarPose, list[int] | None]:
        """Go toward a pose; return how far it went, and what it met there, if anything."""
        if not self._collisions:
            return after, None
        turn = wrapped(after.yaw - before.yaw)
        way = math.hypot(after.x - before.x, after.y - before.y) + abs(turn) * self._reach[name]
        if way == 0.0:
            return after, None
        count = max(1, math.ceil(way / (0.5 * self._resolution)))
        last = before
        for step in range(1, count + 1):
            part = step / count
            # The end itself, not what interpolation makes of it.
            here = (
                after
                if step == count
                else PlanarPose(
                    before.x + part * (after.x - before.x),
                    before.y + part * (after.y - before.y),
                    before.yaw + part * turn,
                    after.steer,
                )
            )
            met = self._meets(name, here)
            if met is not None:
                return last._replace(yaw=wrapped(last.yaw), steer=after.steer), met
            last = here
        return after, None

    def _meets(self, name: str, pose: PlanarPose) -> list[int] | None:
        """Return the ids of what a robot meets at a pose; the map has none; None for nothing."""
        if not self._collisions:
            return None
        outline = placed(self._footprints[name], planar_matrix(pose.x, pose.y, pose.yaw))
        met = [
            self._ids[other]
            for other, area in self._areas.items()
            if other != name
            and math.dist((pose.x, pose.y), self._centres[other])
            <= self._reach[name] + self._reach[other]
            and shapely.intersects(outline, area)
            and not shapely.touches(outline, area)
        ]
        if met or self._meets_map(outline):
            return met
        return None

    def _meets_map(self, outline: shapely.Polygon) -> bool:
        """Tell whether a footprint meets an occupied cell; there is nothing beyond the map."""
        if self._map is None or not shapely.intersects(outline, self._extent):
            return False
        if not shapely.covers(self._extent, outline):
            outline = shapely.intersection(outline, self._extent)
        return outline.area > 0.0 and bool(self._map.is_collision(outline))

    def _refresh(self) -> None:
        """Bring what lidars and footprints meet to where everything is now."""
        self._frames = {
            name: planar_matrix(pose.x, pose.y, pose.yaw, z=self._floor)
            for name, pose in self._poses.items()
        }
        bodies = {name: motion.pose for name, motion in self._places.items()}
        self._caster.move(self._frames | bodies)
        self._areas = {
            name: placed(outline, self._frames[name]) for name, outline in self._footprints.items()
        }
        self._centres = {name: (pose.x, pose.y) for name, pose in self._poses.items()}
        for name, outline in self._outlines.items():
            pose = bodies[name]
            self._centres[name] = (float(pose[0, 3]), float(pose[1, 3]))
            self._areas[name] = placed(
                outline, planar_matrix(pose[0, 3], pose[1, 3], heading(pose))
            )

    def _capture(self) -> WorldState:
        stamp, seq = self._clock.stamp, self._clock.count
        objects = []
        for name, spec in self._robots.items():
            pose = self._poses[name]
            scans = self._rig.scans(name, self._frames[name], self._caster, stamp=stamp, seq=seq)
            objects.append(
                ObjectState(
                    header=Header(seq, stamp, "world"),
                    id=self._ids[name],
                    name=name,
                    role="robot",
                    kinematics=spec.kinematics,
                    shape="polygon" if isinstance(spec.footprint, tuple) else "circle",
                    odom=base_odometry(
                        name,
                        stamp,
                        seq,
                        pose,
                        body_twist(spec, pose, self._motions[name]),
                        z=self._floor,
                    ),
                    scan=scans[0] if scans else None,
                    goal=None,
                    static=False,
                    arrive=False,
                    collision=name in self._touching,
                    collision_ids=list(self._touching.get(name, ())),
                    scans=scans,
                )
            )
        for name in self._bodies:
            objects.append(
                ObjectState(
                    header=Header(seq, stamp, "world"),
                    id=self._ids[name],
                    name=name,
                    role="obstacle",
                    kinematics=None,
                    shape="mesh",
                    odom=body_odometry(name, stamp, seq, self._places[name]),
                    scan=None,
                    goal=None,
                    static=False,
                    arrive=False,
                    collision=name in self._touching,
                    collision_ids=list(self._touching.get(name, ())),
                )
            )
        return WorldState(
            header=Header(seq, stamp, "world"),
            name=self._name,
            status="Collision" if self._touching else "Running",
            step_time=self.step_time,
            objects=objects,
        )

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        checked = {}
        for name, update in updates.items():
            if name not in self._ids:
                raise SimulatorError(
                    f"stage: an update of '{name}', which is no object of it; "
                    f"its objects: {', '.join(self._ids) or 'none'}"
                )
            checked[name] = checked_update(name, update, self._name)
        for name, (pose, twist) in checked.items():
            if name in self._robots:
                self._poses[name] = pose._replace(steer=self._poses[name].steer)
                self._motions[name] = twist
            else:
                self._places[name] = odometry_motion(updates[name])
        if checked:
            self._refresh()
            self._rig.place(self._frames)

    def _release(self) -> None:
        """Nothing to let go of: the stage was only read."""


def _stands(points: npt.NDArray[np.float64], band: tuple[float, float]) -> bool:
    """Tell whether something lies in a band of heights."""
    return bool(points[:, 2].max() > band[0] and points[:, 2].min() < band[1])


def _map_extent(occupancy: Occupancy) -> tuple[float, float, float, float]:
    """Return the least and the greatest x and y of a map that is not turned [m]."""
    x, y, _ = occupancy.origin
    width, height = (count * occupancy.resolution for count in occupancy.cells.shape)
    # A hair inside, so that the rounded edge of a footprint cut off there is no way out.
    hair = 1e-9
    return x + hair, y + hair, x + width - hair, y + height - hair


def _standing(stage: Usd.Stage, spec: RobotSpec) -> Matrix:
    """Return where the stage has the base frame of a robot that it holds, shape (4, 4)."""
    from irsim_isaac.stage import stage_units
    from irsim_isaac.stage.robots import start_pose

    if spec.joints:
        return find_wheels(stage, spec, StageFrame(stage_units(stage)))[1]
    return planar_matrix(*start_pose(stage, str(spec.prim_path)))
