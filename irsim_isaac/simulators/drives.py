"""How PhysX moves a robot: by its wheels, by a holonomic base's joints, or as a driven body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import SimulatorError
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.engine import BodyState, PhysxEngine
from irsim_isaac.simulators.motion import PlanarTwist, largest_steering, steering_angle
from irsim_isaac.simulators.poses import (
    Matrix,
    Motion,
    heading,
    inverse,
    planar_matrix,
    pose_of,
    quaternion_of,
)

if TYPE_CHECKING:
    from pxr import Usd

    from irsim_isaac.stage import StageUnits

__all__ = [
    "DrivenBody",
    "FixedRoot",
    "HolonomicBase",
    "RobotDrive",
    "StageFrame",
    "WheeledBase",
    "find_slides",
    "find_wheels",
]


class StageFrame:
    """How the numbers of a stage become metres with z up, and back.

    Args:
        units: The stage's units.
    """

    def __init__(self, units: StageUnits) -> None:
        self.meters = units.meters_per_unit
        self._turn = np.asarray(units.rotation, dtype=np.float64).T

    def motion(self, state: BodyState, centre: npt.NDArray[np.float64]) -> Motion:
        """Return a body's frame and the velocity of its origin.

        Args:
            state: As PhysX has it, its linear velocity that of the centre of mass.
            centre: The centre of mass in the body's frame, in stage units, shape (3,).
        """
        pose = pose_of(self._turn @ state.position * self.meters, state.quaternion)
        pose[:3, :3] = self._turn @ pose[:3, :3]
        angular = self._turn @ state.angular
        arm = pose[:3, :3] @ (centre * self.meters)
        linear = self._turn @ state.linear * self.meters - np.cross(angular, arm)
        return Motion(pose, linear, angular)

    def state(self, motion: Motion, centre: npt.NDArray[np.float64]) -> BodyState:
        """Return a body's state as PhysX has it; the inverse of ``motion``."""
        back = self._turn.T
        arm = motion.pose[:3, :3] @ (centre * self.meters)
        return BodyState(
            back @ motion.pose[:3, 3] / self.meters,
            np.array(quaternion_of(back @ motion.pose[:3, :3])),
            back @ (motion.linear + np.cross(motion.angular, arm)) / self.meters,
            back @ motion.angular,
        )

    def point(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a point of the stage in metres with z up."""
        return np.asarray(self._turn @ values * self.meters)

    def stage_point(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a point in metres with z up in the numbers of the stage."""
        return np.asarray(self._turn.T @ values / self.meters)

    def direction(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a direction of the stage with z up."""
        return np.asarray(self._turn @ values)


class RobotDrive(Protocol):
    """What moves one robot.

    Attributes:
        base: The prim path of the body that the base frame is fixed to.
        offset: The base frame in that body's frame, shape (4, 4).
        alone: Whether that body stands alone, else it is a link of an articulation.
    """

    base: str
    offset: Matrix
    alone: bool

    def command(self, engine: PhysxEngine, twist: PlanarTwist) -> None:
        """Take a command for the next step."""
        ...

    def sub_step(self, engine: PhysxEngine, elapsed: float, body: Motion | None) -> None:
        """Prepare one step of the solver.

        Args:
            engine: PhysX.
            elapsed: From the start of the step to the middle of this step of the solver [s].
            body: How the base's body moves, where ``watches`` asks for it.
        """
        ...

    @property
    def watches(self) -> bool:
        """Whether it must know how its body moves before every step of the solver."""
        ...

    def restart(self) -> None:
        """Forget what it was told and where it was put: the stage is at its start again."""
        ...

    def reach(self, pose: Matrix) -> Matrix:
        """Return where the base comes to stand when it is put at a pose, shape (4, 4)."""
        ...

    def place(self, engine: PhysxEngine, state: BodyState, base: Motion) -> None:
        """Put the robot somewhere.

        Args:
            engine: PhysX.
            state: Of the base's body, as PhysX has it.
            base: The base frame and how it moves.
        """
        ...


@dataclass(frozen=True, slots=True)
class WheelJoint:
    """A driven joint: its path, and 1 or -1 as a positive turn means forward (or left)."""

    path: str
    sign: float = 1.0


class WheeledBase:
    """Two driven wheels, and the two steered ones of a car.

    The wheels get the speeds of the standard differential drive: of a base that goes v and
    turns w, ``(v - w track / 2) / radius`` on the left and ``(v + w track / 2) / radius`` on the
    right. A car's rear wheels get them for the turn that its steering angle makes, and its front
    wheels the two angles whose axes meet on the rear axle.

    Args:
        spec: The robot.
        base: The prim path of the base link.
        root: The prim that carries the articulation root.
        wheels: The joints of the left and the right driven wheel.
        steering: The joints that steer the left and the right front wheel.
        offset: The base frame in the base link's frame, shape (4, 4).
    """

    alone = False
    watches = False

    def __init__(
        self,
        spec: RobotSpec,
        base: str,
        root: str,
        wheels: tuple[WheelJoint, WheelJoint],
        steering: tuple[WheelJoint, WheelJoint] | None = None,
        offset: Matrix | None = None,
    ) -> None:
        if spec.kinematics == "acker" and (steering is None or not spec.wheelbase):
            raise SimulatorError(
                f"physx: robot '{spec.name}' is a car: it needs two steering joints after its "
                f"two driven ones and a wheelbase, found the joints {spec.joints} and "
                f"the wheelbase {spec.wheelbase}"
            )
        self.base = base
        self.offset = np.eye(4) if offset is None else offset
        self._spec = spec
        self._root = root
        self._wheels = wheels
        self._steering = steering
        self._steer = 0.0

    def command(self, engine: PhysxEngine, twist: PlanarTwist) -> None:
        """Set the wheels' speeds, and the steering of a car."""
        spec = self._spec
        turn = twist.turn
        if self._steering is not None and spec.wheelbase:
            self._steer = steering_angle(
                spec.wheelbase, twist.forward, turn, self._steer, limit=largest_steering(spec)
            )
            slope = math.tan(self._steer)
            turn = twist.forward * slope / spec.wheelbase
            angles = {}
            for joint, side in zip(self._steering, (1.0, -1.0), strict=True):
                radius = spec.wheelbase - side * slope * spec.track / 2.0
                angle = math.atan2(slope * spec.wheelbase, radius)
                angles[joint.path] = joint.sign * math.degrees(angle)
            engine.set_joints("jointPositionTarget", angles)
        speeds = {}
        for joint, side in zip(self._wheels, (-1.0, 1.0), strict=True):
            speed = (twist.forward + side * turn * spec.track / 2.0) / spec.wheel_radius
            speeds[joint.path] = joint.sign * math.degrees(speed)
        engine.set_joints("jointVelocityTarget", speeds)

    def sub_step(self, engine: PhysxEngine, elapsed: float, body: Motion | None) -> None:
        """Nothing: the joints keep their targets."""

    def restart(self) -> None:
        """Steer straight on again."""
        self._steer = 0.0

    def reach(self, pose: Matrix) -> Matrix:
        """Return the pose: it can stand anywhere."""
        return pose

    def place(self, engine: PhysxEngine, state: BodyState, base: Motion) -> None:
        """Put the articulation's root there and let the wheels roll with it."""
        engine.place_articulation(self._root, state)
        forward = base.pose[:3, :3].T @ base.linear
        speeds = {}
        for joint, side in zip(self._wheels, (-1.0, 1.0), strict=True):
            speed = forward[0] + side * base.angular[2] * self._spec.track / 2.0
            speeds[joint.path] = joint.sign * math.degrees(speed / self._spec.wheel_radius)
        engine.set_joints("jointVelocity", speeds)
        engine.update_links()


@dataclass(frozen=True, slots=True)
class FixedRoot:
    """The link of an articulation that is fixed to the world.

    Attributes:
        path: The prim that carries the articulation root.
        base: The base frame in that link's frame where all joints are zero, shape (4, 4).
    """

    path: str
    base: Matrix


class HolonomicBase:
    """A base that slides on two prismatic joints and, if it can, turns on a revolute one.

    It is put somewhere by its fixed root, with all joints at zero: a pose that is the sum of
    several joints would be rounded once for each of them, and an angle in degrees more coarsely
    than a quaternion.

    Args:
        spec: The robot.
        base: The prim path of the base link.
        joints: The paths of the joints along x and y of the start pose, and the turning one.
        start: Where the joints are zero: the start pose of the base, shape (4, 4).
        frame: The stage's units.
        root: What it is put by; None where the root cannot be moved: then by its joints.
    """

    alone = False

    def __init__(
        self,
        spec: RobotSpec,
        base: str,
        joints: Sequence[str],
        start: Matrix,
        frame: StageFrame,
        root: FixedRoot | None = None,
    ) -> None:
        self.base = base
        self.offset = np.eye(4)
        self._spec = spec
        self._joints = tuple(joints)
        self._home = start
        self._start = start
        self._frame = frame
        self._meters = frame.meters
        self._root = root
        self._twist = PlanarTwist()

    @property
    def watches(self) -> bool:
        """Always: its joints push along the axes of the start, not along its own."""
        return True

    def check(self, base: Motion) -> None:
        """Refuse to be put where its joints cannot bring it."""
        away = heading(inverse(self._home) @ base.pose)
        if len(self._joints) == 2 and abs(away) > 1e-6:
            raise SimulatorError(
                f"physx: robot '{self._spec.name}' cannot turn: its yaw must stay "
                f"{heading(self._home):g} rad, found {heading(base.pose):g} rad"
            )

    def command(self, engine: PhysxEngine, twist: PlanarTwist) -> None:
        """Keep the command; the joints are told before every step of the solver."""
        self._twist = twist
        if len(self._joints) > 2:
            engine.set_joints("jointVelocityTarget", {self._joints[2]: math.degrees(twist.turn)})

    def sub_step(self, engine: PhysxEngine, elapsed: float, body: Motion | None) -> None:
        """Turn the command from the base's axes to those of the start."""
        yaw = 0.0 if body is None else heading(body.pose) - heading(self._start)
        cos, sin = math.cos(yaw), math.sin(yaw)
        twist = self._twist
        engine.set_joints(
            "jointVelocityTarget",
            {
                self._joints[0]: (cos * twist.forward - sin * twist.left) / self._meters,
                self._joints[1]: (sin * twist.forward + cos * twist.left) / self._meters,
            },
        )

    def restart(self) -> None:
        """Stand at the start again."""
        self._start = self._home
        self._twist = PlanarTwist()

    def reach(self, pose: Matrix) -> Matrix:
        """Return the pose at the height of the start and upright as there.

        Its height, roll and pitch are not its own.
        """
        inward = inverse(self._home) @ pose
        planar = planar_matrix(inward[0, 3], inward[1, 3], heading(inward))
        return np.asarray(self._home @ planar)

    def place(self, engine: PhysxEngine, state: BodyState, base: Motion) -> None:
        """Put the base there with its root, or else with its joints."""
        if self._root is not None:
            self._start = base.pose
            still = np.zeros(3)
            anchor = Motion(base.pose @ inverse(self._root.base), still, still)
            engine.place_articulation(self._root.path, self._frame.state(anchor, still))
        inward = inverse(self._start) @ base.pose
        linear = self._start[:3, :3].T @ base.linear
        places = {
            path: inward[axis, 3] / self._meters for axis, path in enumerate(self._joints[:2])
        }
        speeds = {path: linear[axis] / self._meters for axis, path in enumerate(self._joints[:2])}
        if len(self._joints) > 2:
            places[self._joints[2]] = math.degrees(heading(inward))
            speeds[self._joints[2]] = math.degrees(base.angular[2])
        engine.set_joints("jointPosition", places)
        engine.set_joints("jointVelocity", speeds)
        engine.update_links()


class DrivenBody:
    """A single body that is given its velocity before every step of the solver.

    It falls, tips and is stopped as any other body; only its speed over the ground and its turn
    about the vertical are those of the command.

    Args:
        spec: The robot.
        base: The prim path of the body.
        frame: The stage's units.
    """

    alone = True
    watches = True

    def __init__(self, spec: RobotSpec, base: str, frame: StageFrame) -> None:
        self.base = base
        self.offset = np.eye(4)
        self._spec = spec
        self._frame = frame
        self._twist = PlanarTwist()
        self._steer = 0.0

    def command(self, engine: PhysxEngine, twist: PlanarTwist) -> None:
        """Keep the command, the turn of a car by its steering angle."""
        turn = twist.turn
        if self._spec.kinematics == "acker" and self._spec.wheelbase:
            self._steer = steering_angle(
                self._spec.wheelbase,
                twist.forward,
                turn,
                self._steer,
                limit=largest_steering(self._spec),
            )
            turn = twist.forward * math.tan(self._steer) / self._spec.wheelbase
        self._twist = PlanarTwist(twist.forward, twist.left, turn)

    def sub_step(self, engine: PhysxEngine, elapsed: float, body: Motion | None) -> None:
        """Give the body its velocity."""
        if body is None:
            return
        yaw = heading(body.pose)
        cos, sin = math.cos(yaw), math.sin(yaw)
        twist = self._twist
        linear = np.array(
            [
                cos * twist.forward - sin * twist.left,
                sin * twist.forward + cos * twist.left,
                body.linear[2],
            ]
        )
        angular = np.array([body.angular[0], body.angular[1], twist.turn])
        state = self._frame.state(Motion(body.pose, linear, angular), np.zeros(3))
        engine.set_velocity(self.base, state.linear, state.angular)

    def restart(self) -> None:
        """Stand still and steer straight on again."""
        self._twist = PlanarTwist()
        self._steer = 0.0

    def reach(self, pose: Matrix) -> Matrix:
        """Return the pose: it can stand anywhere."""
        return pose

    def place(self, engine: PhysxEngine, state: BodyState, base: Motion) -> None:
        """Put the body there."""
        engine.place_body(self.base, state)


def find_wheels(stage: Usd.Stage, spec: RobotSpec, frame: StageFrame) -> tuple[WheeledBase, Matrix]:
    """Find the wheels of a robot that the stage holds.

    The base frame is found from the joints: midway between the driven wheels, on the ground
    below them, y toward the left one.

    Args:
        stage: The stage.
        spec: The robot, with its prim path and the names of its joints.
        frame: The stage's units.

    Returns:
        The drive, and where the base frame stands, shape (4, 4).

    Raises:
        SimulatorError: A joint is missing or joins no bodies, or there is no articulation root.
    """
    from irsim_isaac.stage.usd import Gf, Usd, UsdGeom, UsdPhysics

    where = f"robot '{spec.name}' at {spec.prim_path}"
    root = stage.GetPrimAtPath(spec.prim_path or "")
    if not root:
        raise SimulatorError(f"{where}: there is no such prim")
    needed = 4 if spec.kinematics == "acker" else 2
    if len(spec.joints) < needed:
        raise SimulatorError(f"{where}: {needed} driven joints were expected, found {spec.joints}")
    prims = {prim.GetName(): prim for prim in Usd.PrimRange(root)}
    roots = [
        prim
        for prim in (*_ancestors(root), *Usd.PrimRange(root))
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    if not roots:
        raise SimulatorError(f"{where}: no articulation root was found")
    cache = UsdGeom.XformCache()
    joints, centres, axes, base = [], [], [], ""
    for name in spec.joints[:needed]:
        prim = prims.get(name.rsplit("/", 1)[-1])
        joint = UsdPhysics.RevoluteJoint(prim) if prim else None
        if prim is None or not joint:
            raise SimulatorError(f"{where}: it has no revolute joint '{name}'")
        carriers = joint.GetBody0Rel().GetTargets()
        if not carriers:
            raise SimulatorError(f"{where}: the joint '{name}' is on no body")
        base = base or str(carriers[0])
        matrix = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(carriers[0]))
        anchor = Gf.Vec3d(joint.GetLocalPos0Attr().Get())
        turn = Gf.Rotation(Gf.Quatd(joint.GetLocalRot0Attr().Get()))
        axis = {"X": Gf.Vec3d.XAxis(), "Y": Gf.Vec3d.YAxis(), "Z": Gf.Vec3d.ZAxis()}[
            joint.GetAxisAttr().Get()
        ]
        joints.append(str(prim.GetPath()))
        centres.append(frame.point(np.array(matrix.Transform(anchor))))
        axes.append(
            frame.direction(np.array(matrix.TransformDir(turn.TransformDir(axis)).GetNormalized()))
        )
    pose = _base_frame(centres[0], centres[1], spec, where)
    left, up = pose[:3, 1], pose[:3, 2]
    wheels = [
        WheelJoint(path, math.copysign(1.0, axis @ left))
        for path, axis in zip(joints[:2], axes[:2], strict=True)
    ]
    steering = [
        WheelJoint(path, math.copysign(1.0, axis @ up))
        for path, axis in zip(joints[2:], axes[2:], strict=True)
    ]
    drive = WheeledBase(
        spec,
        base,
        str(roots[0].GetPath()),
        (wheels[0], wheels[1]),
        (steering[0], steering[1]) if steering else None,
        inverse(_link_pose(stage, base, frame)) @ pose,
    )
    return drive, pose


def find_slides(
    stage: Usd.Stage, spec: RobotSpec, frame: StageFrame
) -> tuple[HolonomicBase, Matrix]:
    """Find the joints of a robot of the stage that slides along two axes and perhaps turns.

    Args:
        stage: The stage.
        spec: The robot, with its prim path and the names of its joints.
        frame: The stage's units.

    Returns:
        The drive, and where the base frame stands, shape (4, 4).

    Raises:
        SimulatorError: The stage has no such articulation, or it slides along other axes.
    """
    from irsim_isaac.stage.articulations import find_articulations, measure_robot

    where = f"robot '{spec.name}' at {spec.prim_path}"
    for articulation in find_articulations(stage):
        measured = measure_robot(stage, articulation)
        if articulation.root != spec.prim_path or measured is None:
            continue
        pose: Matrix = measured[1]
        paths = {joint.path.rsplit("/", 1)[-1]: joint for joint in articulation.joints}
        joints = [paths[name] for name in spec.joints if name in paths]
        slides = [joint for joint in joints[:2] if joint.kind == "prismatic"]
        if len(slides) < 2 or any(
            float(joint.axis @ pose[:3, axis]) < 1.0 - 1e-6 for axis, joint in enumerate(slides)
        ):
            raise SimulatorError(
                f"{where}: two prismatic joints along its own x and y axes were expected, "
                f"found {spec.joints}"
            )
        drive = HolonomicBase(
            spec,
            articulation.base,
            [joint.path for joint in joints],
            pose,
            frame,
            _fixed_root(stage, articulation.links, pose, frame),
        )
        return drive, pose
    raise SimulatorError(f"{where}: no articulation that slides was found")


def _fixed_root(
    stage: Usd.Stage, links: Sequence[str], pose: Matrix, frame: StageFrame
) -> FixedRoot | None:
    """Return what an articulation is fixed to the world by, where that is its root."""
    from irsim_isaac.stage.usd import UsdPhysics

    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.ArticulationRootAPI) or not prim.IsA(UsdPhysics.FixedJoint):
            continue
        joint = UsdPhysics.Joint(prim)
        ends = [*joint.GetBody0Rel().GetTargets(), *joint.GetBody1Rel().GetTargets()]
        if len(ends) == 1 and str(ends[0]) in links:
            link = _link_pose(stage, str(ends[0]), frame)
            return FixedRoot(str(prim.GetPath()), inverse(link) @ pose)
    return None


def _link_pose(stage: Usd.Stage, path: str, frame: StageFrame) -> Matrix:
    """Return where the stage has a body [m], shape (4, 4), its axes freed of scale."""
    from irsim_isaac.stage.usd import Usd, UsdGeom

    prim = UsdGeom.Xformable(stage.GetPrimAtPath(path))
    link = prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default()).GetOrthonormalized()
    quaternion = link.ExtractRotationQuat()
    still = np.zeros(3)
    turned = np.array([*quaternion.GetImaginary(), quaternion.GetReal()])
    state = BodyState(np.array(link.ExtractTranslation()), turned, still, still)
    return frame.motion(state, still).pose


def _ancestors(prim: Usd.Prim) -> list[Usd.Prim]:
    found = []
    above = prim.GetParent()
    while above and not above.IsPseudoRoot():
        found.append(above)
        above = above.GetParent()
    return found


def _base_frame(
    left: npt.NDArray[np.float64], right: npt.NDArray[np.float64], spec: RobotSpec, where: str
) -> Matrix:
    """Return the base frame between two wheel centres, shape (4, 4)."""
    across = left - right
    length = float(np.hypot(across[0], across[1]))
    if length < 1e-6:
        raise SimulatorError(f"{where}: its wheels stand on one another, a track was expected")
    y = np.array([across[0], across[1], 0.0]) / length
    pose = np.eye(4)
    pose[:3, 0] = [y[1], -y[0], 0.0]
    pose[:3, 1] = y
    pose[:3, 3] = (left + right) / 2.0 - [0.0, 0.0, spec.wheel_radius]
    return pose


def write_driven_body(
    stage: Usd.Stage,
    spec: RobotSpec,
    pose: Matrix,
    path: str,
    units: StageUnits,
    outline: npt.NDArray[np.float64],
) -> str:
    """Write a robot to a stage as one frictionless body, its footprint raised to its height.

    Args:
        stage: The stage; its edit target is written to.
        spec: The robot.
        pose: Where its base starts, shape (4, 4).
        path: The prim path to write it to.
        units: The stage's units.
        outline: The footprint's corners in the base frame [m], shape (n, 2).

    Returns:
        The path of the body.
    """
    from irsim_isaac.stage.usd import Gf, Sdf, UsdGeom, UsdPhysics, UsdShade, Vt

    if stage.GetPrimAtPath(path):
        raise SimulatorError(f"physx: robot '{spec.name}': a prim stands at {path} already")
    frame = StageFrame(units)
    state = frame.state(Motion(pose, np.zeros(3), np.zeros(3)), np.zeros(3))
    base = UsdGeom.Xform.Define(stage, f"{path}/base_link")
    x, y, z, w = (float(value) for value in state.quaternion)
    base.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*state.position.tolist()))
    base.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
    UsdPhysics.RigidBodyAPI.Apply(base.GetPrim())
    mass = UsdPhysics.MassAPI.Apply(base.GetPrim())
    mass.CreateMassAttr(spec.mass / UsdPhysics.GetStageKilogramsPerUnit(stage))
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.0, 0.0, 1e-6))
    count = len(outline)
    corners = [
        (float(px) / frame.meters, float(py) / frame.meters, height / frame.meters)
        for height in (0.0, spec.height)
        for px, py in outline
    ]
    faces = [list(range(count))[::-1], list(range(count, 2 * count))]
    faces += [[i, (i + 1) % count, count + (i + 1) % count, count + i] for i in range(count)]
    hull = UsdGeom.Mesh.Define(stage, f"{path}/base_link/hull")
    hull.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*corner) for corner in corners]))
    hull.CreateFaceVertexCountsAttr([len(face) for face in faces])
    hull.CreateFaceVertexIndicesAttr([index for face in faces for index in face])
    hull.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    UsdPhysics.CollisionAPI.Apply(hull.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(hull.GetPrim()).CreateApproximationAttr(
        UsdPhysics.Tokens.convexHull
    )
    slippery = UsdShade.Material.Define(stage, f"{path}/slippery")
    surface = UsdPhysics.MaterialAPI.Apply(slippery.GetPrim())
    surface.CreateStaticFrictionAttr(0.0)
    surface.CreateDynamicFrictionAttr(0.0)
    slippery.GetPrim().AddAppliedSchema("PhysxMaterialAPI")
    slippery.GetPrim().CreateAttribute(
        "physxMaterial:frictionCombineMode", Sdf.ValueTypeNames.Token, False
    ).Set("min")
    UsdShade.MaterialBindingAPI.Apply(hull.GetPrim()).Bind(slippery, materialPurpose="physics")
    return f"{path}/base_link"
