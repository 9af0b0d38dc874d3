"""PhysX on the CPU: the engine of Isaac Sim, on the stage itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from irsim_isaac.clock import Seconds, exact_seconds, sub_step_count
from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import (
    ContactState,
    Header,
    LaserScan,
    ObjectState,
    Odometry,
    Point,
    Vector3,
    WorldState,
)
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.base import SteppedSimulator
from irsim_isaac.simulators.drives import (
    DrivenBody,
    FixedRoot,
    HolonomicBase,
    RobotDrive,
    StageFrame,
    WheeledBase,
    WheelJoint,
    find_slides,
    find_wheels,
    write_driven_body,
)
from irsim_isaac.simulators.engine import ContactPoint, PhysxEngine
from irsim_isaac.simulators.motion import REST, PlanarTwist, checked_update, limited
from irsim_isaac.simulators.overlay import (
    add_contact_report,
    ensure_physics_scene,
    keep_wheels_to_the_ground,
    open_overlay,
)
from irsim_isaac.simulators.poses import Matrix, Motion, body_odometry, inverse, odometry_motion
from irsim_isaac.simulators.protocol import StartPose
from irsim_isaac.simulators.scanning import LidarRig, ScanMode
from irsim_isaac.simulators.scene import (
    SceneBody,
    find_bodies,
    footprint_polygon,
    loose_instances,
    ray_caster,
    start_poses,
)

__all__ = ["PhysxSimulator"]

_STEEP = 0.7
"""A contact whose normal leans to the vertical by more than this cosine holds a body up."""

_ORIGIN = np.zeros(3)

_CORRECTIONS = (1.0, 1.0, *(0.5,) * 10)
"""By how much of what it was off an object is written again, time after time.

Two are enough for eight objects of ten; the halves end what would swing to and fro between the
two float32 numbers beside the one that is wanted.
"""

_NOTHING = 1e-12
"""What is nothing beside the rounding of float64 [m]."""

_TURN = np.array([4e-7, 4e-7, 1.9e-7])
"""How far an orientation of four float32 numbers may be off [rad]: in roll, pitch, heading."""


@dataclass(slots=True)
class _Touch:
    """What an object touched in the last step, and for how long it has or has not."""

    contacts: list[ContactState] = field(default_factory=list)
    contact_time: float = 0.0
    air_time: float = 0.0


class PhysxSimulator(SteppedSimulator):
    """PhysX through ``ovphysx``, without a GPU and without Isaac Sim.

    The stage stays as it is: what is added lies in a layer over it. A robot that the stage holds
    (with ``prim_path`` and ``joints``) is driven by its own joints; another one is added, as a
    wheeled articulation or, with ``drive_by="body"``, as one body that is given its velocity.
    Every rigid body of the stage is an obstacle that moves.

    A robot and an obstacle that touch something beside what holds them up have contacts, and
    their ``collision`` is set. Lidars see the visual meshes, the robot's own excepted.

    Args:
        stage: The path of the USD stage.
        robots: The robots.
        starts: Where they start: x, y [m], yaw [rad]; needed for those that the stage has not.
        step_time: The length of a step [s].
        seed: The seed of the lidars' noise; PhysX has no chance in it.
        sub_step: The length of a step of the solver [s], of which a step is a whole multiple.
        drive_by: How robots that are added move.
        floor: The height of the ground under robots that are added [m].
        noise: Whether lidars have the noise of their profiles.
        scans: Whether the beams of a scan are cast at once, or each when it fires.

    Raises:
        MissingPackageError: ``ovphysx``, its schemas or ``usd-core`` are not installed.
        StageError: The stage cannot be opened.
        SimulatorError: A robot cannot be placed or driven, or PhysX cannot load the stage.
    """

    _KIND: ClassVar[str] = "physx"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the stage is not told, one sentence each."""
        return self._warnings

    def __init__(
        self,
        *,
        stage: str | os.PathLike[str],
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, StartPose] | None = None,
        step_time: Seconds = 0.1,
        seed: int = 0,
        sub_step: Seconds = "1/60",
        drive_by: Literal["wheels", "body"] = "wheels",
        floor: float = 0.0,
        noise: bool = False,
        scans: ScanMode = "snapshot",
    ) -> None:
        super().__init__(self._KIND, robots, step_time=step_time, seed=seed)
        if drive_by not in ("wheels", "body"):
            raise SimulatorError(f"physx: drive_by must be 'wheels' or 'body', found {drive_by!r}")
        self._sub_steps = sub_step_count(step_time, sub_step)
        self._sub_step = float(exact_seconds(sub_step))
        self._floor = floor
        self._drive_by = drive_by
        self._rig = LidarRig(self._robots, noise=noise, seed=seed, mode=scans)
        self._engine: PhysxEngine | None = None
        try:
            self._prepare(stage, dict(starts or {}))
            self._restart(seed)
        except BaseException:
            self._release()
            raise

    def _prepare(self, path: str | os.PathLike[str], starts: Mapping[str, StartPose]) -> None:
        """Write the overlay, and take from the stage what is needed of it."""
        from irsim_isaac.stage import read_geometry, stage_units

        stage = self._open(path)
        self._frame = StageFrame(stage_units(stage))
        self._drives: dict[str, RobotDrive] = {}
        standing: dict[str, Matrix] = {}
        for name, spec in self._robots.items():
            if spec.prim_path is not None:
                find = find_slides if spec.kinematics.startswith("omni") else find_wheels
                self._drives[name], standing[name] = find(stage, spec, self._frame)
        self._starts = start_poses(
            self._robots, starts, standing, floor=self._floor, simulator=self._name
        )
        self._moved = {name for name in standing if name in starts}
        roots = {name: str(self._robots[name].prim_path) for name in standing}
        for name, spec in self._robots.items():
            if name not in standing:
                roots[name] = self._add_robot(stage, spec, starts[name])
        added = [root for name, root in roots.items() if name not in standing]
        if added:
            low = min(self._robots[name].wheel_radius for name in roots if name not in standing)
            units = stage_units(stage)
            keep_wheels_to_the_ground(
                stage,
                added,
                height=(self._floor + 0.5 * low) / units.meters_per_unit,
                up="XYZ".index(units.up_axis),
            )
        ensure_physics_scene(stage, simulator=self._name)
        self._bodies = find_bodies(stage, list(roots.values()))
        self._warnings = tuple(
            f"the instances of {path} are rigid bodies: PhysX moves them, but they are not told "
            "as objects, and lidars see them where they started"
            for path in loose_instances(stage)
        )
        taken = [body.name for body in self._bodies if body.name in self._robots]
        if taken:
            raise SimulatorError(f"physx: a robot and a body of the stage are named '{taken[0]}'")
        self._report_contacts(stage, list(roots.values()))
        self._roots = roots
        self._written(stage)
        places = {name: standing.get(name, self._starts[name]) for name in roots}
        self._caster = ray_caster(
            read_geometry(stage),
            robots=self._robots,
            robot_roots=roots,
            starts=places,
            bodies=self._bodies,
        )
        self._owners = [(root, name) for name, root in roots.items()]
        self._owners += [(body.path, body.name) for body in self._bodies]
        # The deepest prim that holds a collider is what it belongs to.
        self._owners.sort(key=lambda item: -len(item[0]))
        self._ids = {name: index for index, name in enumerate(self._names())}
        self._paths = {name: drive.base for name, drive in self._drives.items()}
        self._paths |= {body.name: body.path for body in self._bodies}

    def _open(self, path: str | os.PathLike[str]) -> Any:
        """Return the stage to add to; what is authored goes to a layer of our own."""
        return open_overlay(path)

    def _written(self, stage: Any) -> None:
        """Keep what was added to the stage."""
        self._overlay: str = stage.GetRootLayer().ExportToString()

    def _start_engine(self) -> PhysxEngine:
        """Return the engine with the stage at its start."""
        # PhysX takes a file alone, and all of it at once: it is there while that reads it, so
        # that nothing is left of a process that is killed later.
        with tempfile.TemporaryDirectory(prefix="irsim_isaac_physx_") as folder:
            path = Path(folder) / "overlay.usda"
            path.write_text(self._overlay, encoding="utf-8")
            return PhysxEngine(path, meters=self._frame.meters)

    def _names(self) -> list[str]:
        return [*self._robots, *(body.name for body in self._bodies)]

    def _add_robot(self, stage: Any, spec: RobotSpec, start: StartPose) -> str:
        """Write a robot that the stage has not; return the prim that holds it."""
        from irsim_isaac.stage import stage_units
        from irsim_isaac.stage.usd import Tf
        from irsim_isaac.stage.wheeled import add_wheeled_robot

        path = f"/irsim_isaac_robots/{Tf.MakeValidIdentifier(spec.name)}"
        if self._drive_by == "body":
            outline = np.array(footprint_polygon(spec).exterior.coords)[:-1]
            base = write_driven_body(
                stage, spec, self._starts[spec.name], path, stage_units(stage), outline
            )
            self._drives[spec.name] = DrivenBody(spec, base, self._frame)
            return path
        written = add_wheeled_robot(stage, spec, start, path, floor=self._floor)
        joints = written.joints
        if spec.kinematics in ("omni", "omni_angular"):
            root = FixedRoot(f"{written.root}/joints/world_joint", np.eye(4))
            self._drives[spec.name] = HolonomicBase(
                spec, written.base, joints, self._starts[spec.name], self._frame, root
            )
            return written.root
        wheels = [WheelJoint(joint) for joint in joints]
        self._drives[spec.name] = WheeledBase(
            spec,
            written.base,
            written.base,
            (wheels[0], wheels[1]),
            (wheels[2], wheels[3]) if len(wheels) > 3 else None,
        )
        return written.root

    def _report_contacts(self, stage: Any, roots: Sequence[str]) -> None:
        from irsim_isaac.stage.usd import Usd, UsdPhysics

        for body in self._bodies:
            add_contact_report(stage.GetPrimAtPath(body.path))
        for root in roots:
            for prim in Usd.PrimRange(stage.GetPrimAtPath(root)):
                if prim.HasAPI(UsdPhysics.RigidBodyAPI):
                    add_contact_report(prim)

    def _opened(self) -> PhysxEngine:
        if self._engine is None:
            raise SimulatorError("physx: it is closed")
        return self._engine

    def _restart(self, seed: int) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = self._start_engine()
        for drive in self._drives.values():
            drive.restart()
        self._rig.seed = seed
        self._centres = self._engine.mass_centres
        self._before = dict.fromkeys(self._robots, REST)
        self._touches = {name: _Touch() for name in self._names()}
        self._gathered = 0
        self._motions = self._read_motions()
        self._settle({name: Motion(self._starts[name], _ORIGIN, _ORIGIN) for name in self._moved})
        self._rig.restart()
        self._rig.place(self._base_poses())

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        engine = self._opened()
        for name, command in commands.items():
            twist = limited(self._robots[name], command, self._before[name], self.step_time)
            self._before[name] = twist
            self._drives[name].command(engine, twist)
        watched = {name: drive for name, drive in self._drives.items() if drive.watches}
        touched: dict[str, list[tuple[int, ContactPoint]]] = {}
        for count in range(self._sub_steps):
            if watched:
                motions = self._read_motions()
                elapsed = (count + 0.5) * self._sub_step
                for name, drive in watched.items():
                    drive.sub_step(engine, elapsed, motions[name])
            engine.step(self._sub_step)
            self._gather(engine, touched)
        self._keep_contacts(touched)
        self._refresh()
        self._rig.turn(
            self._base_poses(),
            self._caster,
            time=self._clock.time + self._clock.step,
            step=self._clock.step,
        )

    def _base_poses(self) -> dict[str, Matrix]:
        return {name: self._motions[name].pose for name in self._robots}

    def _gather(
        self, engine: PhysxEngine, touched: dict[str, list[tuple[int, ContactPoint]]]
    ) -> None:
        """Add what the last step of the solver found to what each object touched."""
        self._gathered += 1
        for path, points in engine.contacts().items():
            owner = self._owner(path)
            if owner is not None:
                touched.setdefault(owner, []).extend((self._gathered, point) for point in points)

    def _owner(self, path: str) -> str | None:
        """Return the object that a prim belongs to."""
        for root, name in self._owners:
            if path == root or path.startswith(f"{root}/"):
                return name
        return None

    def _keep_contacts(self, touched: Mapping[str, list[tuple[int, ContactPoint]]]) -> None:
        """Make the contact states of the step of what its steps of the solver found."""
        for name, touch in self._touches.items():
            partners: dict[str, list[tuple[int, ContactPoint]]] = {}
            for count, contact in touched.get(name, ()):
                other = self._owner(contact.other)
                if other == name or contact.force <= 0.0:
                    continue
                upward = abs(self._frame.direction(contact.normal)[2])
                if upward > _STEEP and other is None:
                    continue
                partners.setdefault(other or contact.other, []).append((count, contact))
            touch.contacts = [
                self._contact(partner, points) for partner, points in partners.items()
            ]
            if touch.contacts:
                touch.contact_time += self.step_time
                touch.air_time = 0.0
            else:
                touch.air_time += self.step_time
                touch.contact_time = 0.0

    def _contact(self, partner: str, points: Sequence[tuple[int, ContactPoint]]) -> ContactState:
        """Return one contact for all points that an object shares with a partner.

        Its force is the mean over the step, its place is where they touched last.
        """
        last = max(count for count, _ in points)
        ends = [contact for count, contact in points if count == last]
        forces = np.array([contact.force for contact in ends])
        where = self._frame.point(
            forces @ np.array([contact.point for contact in ends]) / forces.sum()
        )
        pushes = sum((contact.force * contact.normal for _, contact in points), np.zeros(3))
        # A force in stage units has one length in it.
        push = self._frame.direction(pushes) * self._frame.meters / self._sub_steps
        force = float(np.linalg.norm(push))
        normal = push / force if force > 0.0 else np.array([0.0, 0.0, 1.0])
        gap = min(contact.separation for contact in ends) * self._frame.meters
        known = partner in self._ids
        return ContactState(
            other_id=self._ids[partner] if known else -1,
            other=partner if known else partner.rsplit("/", 1)[-1],
            point=Point(*(float(value) for value in where)),
            normal=Vector3(*(float(value) for value in normal)),
            depth=-gap,
            force=force,
        )

    def _read_motions(self) -> dict[str, Motion]:
        """Return the base frame of each robot and each body, and how they move."""
        engine = self._opened()
        states = engine.bodies(links=False)
        self._alone = set(states)
        if any(not drive.alone for drive in self._drives.values()) or any(
            body.path not in states for body in self._bodies
        ):
            states |= engine.bodies(links=True)
        motions = {}
        for name, drive in self._drives.items():
            body = self._frame.motion(states[drive.base], self._centre(drive.base))
            pose = body.pose @ drive.offset
            arm = pose[:3, 3] - body.pose[:3, 3]
            motions[name] = Motion(pose, body.linear + np.cross(body.angular, arm), body.angular)
        for item in self._bodies:
            # What PhysX does not simulate, such as the prototype of an instancer, stands.
            motions[item.name] = (
                self._frame.motion(states[item.path], self._centre(item.path))
                if item.path in states
                else Motion(item.pose, _ORIGIN, _ORIGIN)
            )
        return motions

    def _centre(self, path: str) -> npt.NDArray[np.float64]:
        return self._centres.get(path, _ORIGIN)

    def _refresh(self, motions: dict[str, Motion] | None = None) -> None:
        """Take in where everything is now, and let the lidars know.

        Args:
            motions: What has just been read; None to read it.
        """
        self._motions = self._read_motions() if motions is None else motions
        self._caster.move({name: motion.pose for name, motion in self._motions.items()})

    def _scans_of(self, name: str, motion: Motion, stamp: float, seq: int) -> list[LaserScan]:
        """Return the scans of a robot now."""
        return self._rig.scans(name, motion.pose, self._caster, stamp=stamp, seq=seq)

    def _capture(self) -> WorldState:
        stamp, seq = self._clock.stamp, self._clock.count
        objects = []
        for name in self._names():
            motion, touch = self._motions[name], self._touches[name]
            spec = self._robots.get(name)
            scans = self._scans_of(name, motion, stamp, seq) if spec is not None else []
            total = sum(
                (
                    contact.force * np.array([contact.normal.x, contact.normal.y, contact.normal.z])
                    for contact in touch.contacts
                ),
                np.zeros(3),
            )
            objects.append(
                ObjectState(
                    header=Header(seq, stamp, "world"),
                    id=self._ids[name],
                    name=name,
                    role="robot" if spec is not None else "obstacle",
                    kinematics=spec.kinematics if spec is not None else None,
                    shape=_shape(spec),
                    odom=body_odometry(name, stamp, seq, motion),
                    scan=scans[0] if scans else None,
                    goal=None,
                    static=False,
                    arrive=False,
                    collision=bool(touch.contacts),
                    collision_ids=[
                        contact.other_id for contact in touch.contacts if contact.other_id >= 0
                    ],
                    scans=scans,
                    contact_force=Vector3(*(float(value) for value in total)),
                    contact_time=touch.contact_time,
                    air_time=touch.air_time,
                    contacts=list(touch.contacts),
                )
            )
        return WorldState(
            header=Header(seq, stamp, "world"),
            name=self._name,
            status="Collision" if any(item.collision for item in objects) else "Running",
            step_time=self.step_time,
            objects=objects,
        )

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        kinematic = {body.name: body for body in self._bodies}
        for name, update in updates.items():
            if name not in self._ids:
                raise SimulatorError(
                    f"physx: an update of '{name}', which is no object of it; "
                    f"its objects: {', '.join(self._ids) or 'none'}"
                )
            checked_update(name, update, self._name)
            drive = self._drives.get(name)
            if isinstance(drive, HolonomicBase):
                drive.check(odometry_motion(update))
            if name in kinematic and kinematic[name].path not in self._alone:
                raise SimulatorError(
                    f"physx: an update of '{name}', which is a part of an articulation or is not "
                    "simulated; only bodies that stand alone can be placed"
                )
        if updates:
            self._settle({name: odometry_motion(update) for name, update in updates.items()})
            self._rig.place(self._base_poses())

    def _settle(self, wanted: Mapping[str, Motion]) -> None:
        """Put objects somewhere so that they are found there, to the last float32 digit.

        PhysX keeps where the centre of mass is, and works out from it where the frame is: what
        is written is rounded on both ways. It is read, and written again by what it was off.
        """
        bodies = {body.name: body for body in self._bodies}
        goals = {
            name: self._drives[name].reach(motion.pose) if name in self._drives else motion.pose
            for name, motion in wanted.items()
        }
        aims = dict(wanted)
        nearest: dict[str, tuple[float, Motion]] = {}
        for gain in _CORRECTIONS:
            for name, aim in aims.items():
                self._put(name, aim, bodies.get(name))
            found = self._read_motions()
            again = {}
            for name, aim in aims.items():
                off = self._off(name, goals[name], found[name].pose)
                if off <= 1.0:
                    continue
                if name not in nearest or off < nearest[name][0]:
                    nearest[name] = off, aim
                pose = _corrected(aim.pose, goals[name], found[name].pose, gain)
                again[name] = Motion(pose, aim.linear, aim.angular)
            aims = again
            if not aims:
                break
        for name in aims:
            self._put(name, nearest[name][1], bodies.get(name))
        self._refresh(None if aims else found)

    def _off(self, name: str, wanted: Matrix, found: Matrix) -> float:
        """Return how far from its place an object is found; at most 1 is as near as can be.

        That is one float32 digit of each coordinate in stage units, or half a digit of what
        PhysX keeps instead, where that is more.
        """
        drive = self._drives.get(name)
        path, offset = self._paths[name], np.eye(4) if drive is None else drive.offset
        link = wanted @ inverse(offset)
        centre = link[:3, :3] @ (self._centre(path) * self._frame.meters) + link[:3, 3]
        units = [self._frame.stage_point(part) for part in (wanted[:3, 3], link[:3, 3], centre)]
        digits = np.spacing(np.abs(units).astype(np.float32)).astype(np.float64)
        allowed = np.maximum(digits[0], 0.5 * np.maximum(digits[1], digits[2]))
        allowed = np.maximum(allowed, _NOTHING / self._frame.meters)
        away = np.abs(self._frame.stage_point(found[:3, 3]) - units[0])
        turned = np.abs(_turn(wanted, found))
        return max(float((away / allowed).max()), float((turned / _TURN).max()))

    def _put(self, name: str, motion: Motion, body: SceneBody | None = None) -> None:
        """Put an object's frame somewhere."""
        engine = self._opened()
        if body is not None:
            state = self._frame.state(motion, self._centre(body.path))
            engine.place_body(body.path, state, kinematic=body.kinematic)
            return
        drive = self._drives[name]
        pose = motion.pose @ inverse(drive.offset)
        arm = pose[:3, 3] - motion.pose[:3, 3]
        link = Motion(pose, motion.linear + np.cross(motion.angular, arm), motion.angular)
        drive.place(engine, self._frame.state(link, self._centre(drive.base)), motion)

    def _release(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _turn(wanted: Matrix, found: Matrix) -> npt.NDArray[np.float64]:
    """Return the small turn [rad] from one pose to another in the world, shape (3,)."""
    rest = wanted[:3, :3] @ found[:3, :3].T
    return 0.5 * np.array(
        [rest[2, 1] - rest[1, 2], rest[0, 2] - rest[2, 0], rest[1, 0] - rest[0, 1]]
    )


def _corrected(aim: Matrix, wanted: Matrix, found: Matrix, gain: float) -> Matrix:
    """Return where to aim next, having aimed at a pose and found another than was wanted."""
    pose: Matrix = aim.copy()
    pose[:3, 3] += gain * (wanted[:3, 3] - found[:3, 3])
    turn = _turn(wanted, found)
    if (np.abs(turn) <= _TURN).all():
        # Turned as well as it can be: another quaternion would shift the position again.
        return pose
    x, y, z = gain * turn
    pose[:3, :3] += np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ aim[:3, :3]
    return pose


def _shape(spec: RobotSpec | None) -> str:
    if spec is None:
        return "mesh"
    return "polygon" if isinstance(spec.footprint, tuple) else "circle"
