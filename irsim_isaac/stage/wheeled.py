"""A robot as a wheeled articulation that PhysX drives.

Joints and links have the names that robots of their kind have in Isaac Sim, so that what is
written here is told apart again by its joints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import StageError
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.articulations import described
from irsim_isaac.stage.units import stage_units
from irsim_isaac.stage.usd import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

__all__ = ["WheeledRobot", "add_wheeled_robot"]

_DRIVE_DAMPING = 1.0e5
"""Torque of a velocity drive for each rad/s that it lacks [N m s]: the wheel follows at once."""

_STEER_STIFFNESS = 1.0e5
"""Torque of a steering drive for each radian that it lacks [N m]."""

_WHEEL_FRICTION = 1.0
_BODY_FRICTION = 0.3


@dataclass(frozen=True, slots=True)
class WheeledRobot:
    """A robot that was written to a stage.

    Attributes:
        spec: The robot, its ``prim_path`` and ``joints`` as they are in the stage.
        root: The prim that holds the whole robot.
        base: The body whose frame is the base frame: on the ground, x forward, z up.
        joints: The paths of the joints that are driven, in the order of ``spec.joints``:
            left and right wheel of ``diff``; left and right rear wheel, left and right steering
            of ``acker``; the planar x, y and (``omni_angular``) turning joint of the others,
            whose x and y are along the axes of the start pose.
    """

    spec: RobotSpec
    root: str
    base: str
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """How metres with z up become the numbers of a stage."""

    stage: Usd.Stage
    scale: float

    def length(self, value: float) -> float:
        return value * self.scale

    def point(self, x: float, y: float, z: float) -> Gf.Vec3f:
        return Gf.Vec3f(x * self.scale, y * self.scale, z * self.scale)

    def torque(self, value: float) -> float:
        return self.mass(value) * self.scale**2

    def mass(self, value: float) -> float:
        return value / float(UsdPhysics.GetStageKilogramsPerUnit(self.stage))


def add_wheeled_robot(
    stage: Usd.Stage,
    spec: RobotSpec,
    start: tuple[float, float, float],
    path: str,
    *,
    floor: float = 0.0,
    lidars: bool = True,
) -> WheeledRobot:
    """Write a robot to a stage as an articulation on wheels, into the stage's edit target.

    ``diff`` stands on two driven wheels and a frictionless caster behind them, ``acker`` on four
    wheels of which the rear ones drive and the front ones steer. ``omni`` and ``omni_angular``
    slide on two prismatic joints and, the latter, turn on a revolute one, as holonomic bases do
    in Isaac Sim. All drives are velocity drives but the steering, which is a position drive.

    Args:
        stage: The stage; its units and up axis are kept.
        spec: The robot.
        start: Where its base starts: x, y [m] and yaw [rad] in the z-up world.
        path: The prim path to write it to, which must be free.
        floor: The height of the ground [m].
        lidars: Whether to write its lidars too, as OmniLidar prims below the base.

    Returns:
        What was written, with the paths by which it is driven.

    Raises:
        StageError: The path is taken or no prim path.
    """
    if not Sdf.Path.IsValidPathString(path) or not Sdf.Path(path).IsAbsoluteRootOrPrimPath():
        raise StageError(f"robot '{spec.name}': '{path}' is no prim path")
    if stage.GetPrimAtPath(path):
        raise StageError(f"robot '{spec.name}': a prim stands at {path} already")
    units = stage_units(stage)
    frame = _Frame(stage, 1.0 / units.meters_per_unit)
    # From z up to the stage's up axis, for a frame whose own axes stay x forward and z up.
    upright = Gf.Matrix4d(1.0).SetRotateOnly(Gf.Matrix3d(*units.rotation.T.ravel().tolist()))
    turn = upright.ExtractRotationQuat()

    root = UsdGeom.Xform.Define(stage, path)
    x, y, yaw = start
    heading = Gf.Quatd(math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0))
    place = units.stage_point(x, y, floor)
    root.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*place))
    root.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(turn * heading)

    _materials(stage, path)
    if spec.kinematics == "diff":
        names = _differential(frame, spec, path)
    elif spec.kinematics == "acker":
        names = _ackermann(frame, spec, path)
    else:
        names = _holonomic(frame, spec, path)
    for name, kind, value in described(spec):
        _set(root.GetPrim(), name, Sdf.ValueTypeNames.Find(kind), value)
    base = f"{path}/base_link"
    for mount in spec.lidars if lidars else ():
        _lidar(frame, mount, base)
    return WheeledRobot(
        spec=replace(spec, prim_path=path, joints=names),
        root=path,
        base=base,
        joints=tuple(f"{path}/joints/{name}" for name in names),
    )


def _materials(stage: Usd.Stage, path: str) -> None:
    for name, friction, combine in (
        ("rubber", _WHEEL_FRICTION, "max"),
        ("slippery", 0.0, "min"),
        ("plastic", _BODY_FRICTION, "average"),
    ):
        material = UsdShade.Material.Define(stage, f"{path}/materials/{name}")
        api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        api.CreateStaticFrictionAttr(friction)
        api.CreateDynamicFrictionAttr(friction)
        api.CreateRestitutionAttr(0.0)
        prim = material.GetPrim()
        _apply(prim, "PhysxMaterialAPI")
        _set(prim, "physxMaterial:frictionCombineMode", Sdf.ValueTypeNames.Token, combine)


def _apply(prim: Usd.Prim, schema: str) -> None:
    """Apply a schema that only PhysX knows, by its name."""
    prim.AddAppliedSchema(schema)


def _set(prim: Usd.Prim, name: str, kind: Sdf.ValueTypeName, value: object) -> None:
    prim.CreateAttribute(name, kind, custom=False).Set(value)


def _bind(prim: Usd.Prim, material: str) -> None:
    stage = prim.GetStage()
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(
        UsdShade.Material.Get(stage, material), materialPurpose="physics"
    )


def _body(frame: _Frame, path: str, at: tuple[float, float, float], mass: float) -> UsdGeom.Xform:
    xform = UsdGeom.Xform.Define(frame.stage, path)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*frame.point(*at)))
    prim = xform.GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    _apply(prim, "PhysxRigidBodyAPI")
    _set(prim, "physxRigidBody:sleepThreshold", Sdf.ValueTypeNames.Float, 0.0)
    UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(frame.mass(mass))
    return xform


def _outline(spec: RobotSpec) -> npt.NDArray[np.float64]:
    """Return the footprint's vertices, shape (n, 2); of a circle, its bounding square."""
    if isinstance(spec.footprint, tuple):
        return np.array(spec.footprint, dtype=np.float64)
    r = float(spec.footprint)
    return np.array([[-r, -r], [r, -r], [r, r], [-r, r]])


def _hull(frame: _Frame, spec: RobotSpec, base: str, clearance: float) -> None:
    """Write the body of a robot: its footprint extruded from the clearance to its height."""
    stage, path = frame.stage, f"{base}/hull"
    low, high = clearance, max(spec.height, clearance + 0.01)
    if not isinstance(spec.footprint, tuple):
        shape = UsdGeom.Cylinder.Define(stage, path)
        radius, height = frame.length(float(spec.footprint)), frame.length(high - low)
        shape.CreateRadiusAttr(radius)
        shape.CreateHeightAttr(height)
        shape.CreateAxisAttr(UsdGeom.Tokens.z)
        shape.CreateExtentAttr([(-radius, -radius, -height / 2.0), (radius, radius, height / 2.0)])
        shape.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(
            Gf.Vec3d(*frame.point(0.0, 0.0, (low + high) / 2.0))
        )
        gprim = shape
    else:
        outline = _outline(spec)
        count = len(outline)
        points = [frame.point(px, py, z) for z in (low, high) for px, py in outline]
        faces = [list(range(count))[::-1], list(range(count, 2 * count))]
        faces += [[i, (i + 1) % count, count + (i + 1) % count, count + i] for i in range(count)]
        gprim = UsdGeom.Mesh.Define(stage, path)
        gprim.CreatePointsAttr(Vt.Vec3fArray(points))
        gprim.CreateFaceVertexCountsAttr([len(face) for face in faces])
        gprim.CreateFaceVertexIndicesAttr([index for face in faces for index in face])
        gprim.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        gprim.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(gprim.GetPointsAttr().Get()))
        convex = UsdPhysics.MeshCollisionAPI.Apply(gprim.GetPrim())
        convex.CreateApproximationAttr(
            UsdPhysics.Tokens.convexHull
            if _is_convex(outline)
            else UsdPhysics.Tokens.convexDecomposition
        )
    gprim.CreateDisplayColorAttr([(0.2, 0.45, 0.75)])
    UsdPhysics.CollisionAPI.Apply(gprim.GetPrim())
    _bind(gprim.GetPrim(), f"{path.rsplit('/', 2)[0]}/materials/plastic")


def _is_convex(outline: npt.NDArray[np.float64]) -> bool:
    edge = np.roll(outline, -1, axis=0) - outline
    after = np.roll(edge, -1, axis=0)
    return bool(np.all(edge[:, 0] * after[:, 1] - edge[:, 1] * after[:, 0] >= -1e-12))


def _wheel(
    frame: _Frame, path: str, at: tuple[float, float, float], radius: float, mass: float
) -> None:
    body = _body(frame, path, at, mass)
    width = 0.3 * radius
    tyre = UsdGeom.Cylinder.Define(frame.stage, f"{path}/tyre")
    tyre.CreateRadiusAttr(frame.length(radius))
    tyre.CreateHeightAttr(frame.length(width))
    tyre.CreateAxisAttr(UsdGeom.Tokens.y)
    tyre.CreateExtentAttr(
        [frame.point(-radius, -width / 2.0, -radius), frame.point(radius, width / 2.0, radius)]
    )
    tyre.CreateDisplayColorAttr([(0.08, 0.08, 0.08)])
    # What touches the ground is a ball: PhysX computes its contacts exactly, while those of a
    # cylinder on a large box lean by a degree or two and throw the robot aside.
    ball = UsdGeom.Sphere.Define(frame.stage, f"{path}/contact")
    ball.CreateRadiusAttr(frame.length(radius))
    ball.CreateExtentAttr(
        [frame.point(-radius, -radius, -radius), frame.point(radius, radius, radius)]
    )
    ball.CreatePurposeAttr(UsdGeom.Tokens.guide)
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
    _bind(ball.GetPrim(), f"{body.GetPath().GetParentPath()}/materials/rubber")


def _joint(
    frame: _Frame,
    path: str,
    kind: type[UsdPhysics.RevoluteJoint] | type[UsdPhysics.PrismaticJoint],
    axis: str,
    bodies: tuple[str | None, str],
    at: tuple[float, float, float],
) -> Usd.Prim:
    """Write a joint whose anchor is ``at`` in the first body and the origin of the second."""
    joint = kind.Define(frame.stage, path)
    joint.CreateAxisAttr(axis)
    if bodies[0] is not None:
        joint.CreateBody0Rel().SetTargets([bodies[0]])
    joint.CreateBody1Rel().SetTargets([bodies[1]])
    joint.CreateLocalPos0Attr(frame.point(*at))
    joint.CreateLocalPos1Attr(Gf.Vec3f(0.0))
    joint.CreateLocalRot0Attr(Gf.Quatf(1.0))
    joint.CreateLocalRot1Attr(Gf.Quatf(1.0))
    return joint.GetPrim()


def _drive(frame: _Frame, joint: Usd.Prim, *, stiffness: float = 0.0, damping: float) -> None:
    """Give a joint a drive; stiffness and damping are for radians or metres."""
    angular = joint.IsA(UsdPhysics.RevoluteJoint)
    drive = UsdPhysics.DriveAPI.Apply(joint, "angular" if angular else "linear")
    drive.CreateTypeAttr("force")
    if angular:
        degree = math.pi / 180.0
        stiffness, damping = (frame.torque(value * degree) for value in (stiffness, damping))
    else:
        stiffness, damping = frame.mass(stiffness), frame.mass(damping)
    drive.CreateStiffnessAttr(stiffness)
    drive.CreateDampingAttr(damping)
    if stiffness:
        drive.CreateTargetPositionAttr(0.0)
    else:
        drive.CreateTargetVelocityAttr(0.0)


def _articulation(prim: Usd.Prim) -> None:
    UsdPhysics.ArticulationRootAPI.Apply(prim)
    _apply(prim, "PhysxArticulationAPI")
    _set(prim, "physxArticulation:enabledSelfCollisions", Sdf.ValueTypeNames.Bool, False)
    _set(prim, "physxArticulation:sleepThreshold", Sdf.ValueTypeNames.Float, 0.0)
    _set(prim, "physxArticulation:solverPositionIterationCount", Sdf.ValueTypeNames.Int, 32)
    _set(prim, "physxArticulation:solverVelocityIterationCount", Sdf.ValueTypeNames.Int, 4)


def _mass_frame(frame: _Frame, body: Usd.Prim, center: tuple[float, float, float]) -> None:
    UsdPhysics.MassAPI(body).CreateCenterOfMassAttr(frame.point(*center))


def _differential(frame: _Frame, spec: RobotSpec, path: str) -> tuple[str, ...]:
    stage, radius = frame.stage, spec.wheel_radius
    base = f"{path}/base_link"
    wheel_mass = 0.05 * spec.mass
    body = _body(frame, base, (0.0, 0.0, 0.0), spec.mass - 2.0 * wheel_mass)
    _articulation(body.GetPrim())
    _hull(frame, spec, base, 0.5 * radius)

    rear = float(_outline(spec)[:, 0].min())
    ball = min(0.5 * radius, 0.25 * abs(rear))
    behind = rear + ball
    caster = UsdGeom.Sphere.Define(stage, f"{base}/caster")
    caster.CreateRadiusAttr(frame.length(ball))
    caster.CreateExtentAttr([frame.point(-ball, -ball, -ball), frame.point(ball, ball, ball)])
    caster.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(
        Gf.Vec3d(*frame.point(behind, 0.0, ball))
    )
    UsdPhysics.CollisionAPI.Apply(caster.GetPrim())
    _bind(caster.GetPrim(), f"{path}/materials/slippery")
    # A third of the way to the caster, so that braking lifts neither it nor the wheels.
    _mass_frame(frame, body.GetPrim(), (behind / 3.0, 0.0, radius))

    names = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        at = (0.0, sign * spec.track / 2.0, radius)
        _wheel(frame, f"{path}/{side}_wheel", at, radius, wheel_mass)
        names.append(f"{side}_wheel_joint")
        joint = _joint(
            frame,
            f"{path}/joints/{names[-1]}",
            UsdPhysics.RevoluteJoint,
            "Y",
            (base, f"{path}/{side}_wheel"),
            at,
        )
        _drive(frame, joint, damping=_DRIVE_DAMPING)
    return tuple(names)


def _ackermann(frame: _Frame, spec: RobotSpec, path: str) -> tuple[str, ...]:
    radius, base = spec.wheel_radius, f"{path}/base_link"
    if not spec.wheelbase:
        raise StageError(f"robot '{spec.name}': an 'acker' robot needs a wheelbase, it has none")
    wheel_mass, knuckle_mass = 0.04 * spec.mass, 0.03 * spec.mass
    body = _body(frame, base, (0.0, 0.0, 0.0), spec.mass - 4.0 * wheel_mass - 2.0 * knuckle_mass)
    _articulation(body.GetPrim())
    _hull(frame, spec, base, 0.8 * radius)
    _mass_frame(frame, body.GetPrim(), (spec.wheelbase / 2.0, 0.0, radius))

    rears, steers = [], []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        at = (0.0, sign * spec.track / 2.0, radius)
        _wheel(frame, f"{path}/rear_{side}_wheel", at, radius, wheel_mass)
        rears.append(f"rear_{side}_wheel_joint")
        joint = _joint(
            frame,
            f"{path}/joints/{rears[-1]}",
            UsdPhysics.RevoluteJoint,
            "Y",
            (base, f"{path}/rear_{side}_wheel"),
            at,
        )
        _drive(frame, joint, damping=_DRIVE_DAMPING)

        at = (spec.wheelbase, sign * spec.track / 2.0, radius)
        knuckle = f"{path}/{side}_knuckle"
        _body(frame, knuckle, at, knuckle_mass)
        inertia = 0.4 * knuckle_mass * radius**2
        UsdPhysics.MassAPI(frame.stage.GetPrimAtPath(knuckle)).CreateDiagonalInertiaAttr(
            Gf.Vec3f(frame.torque(inertia))
        )
        steers.append(f"{side}_steering_joint")
        joint = _joint(
            frame,
            f"{path}/joints/{steers[-1]}",
            UsdPhysics.RevoluteJoint,
            "Z",
            (base, knuckle),
            at,
        )
        _drive(frame, joint, stiffness=_STEER_STIFFNESS, damping=0.1 * _STEER_STIFFNESS)
        _wheel(frame, f"{path}/front_{side}_wheel", at, radius, wheel_mass)
        _joint(
            frame,
            f"{path}/joints/front_{side}_wheel_joint",
            UsdPhysics.RevoluteJoint,
            "Y",
            (knuckle, f"{path}/front_{side}_wheel"),
            (0.0, 0.0, 0.0),
        )
    return (*rears, *steers)


def _holonomic(frame: _Frame, spec: RobotSpec, path: str) -> tuple[str, ...]:
    base = f"{path}/base_link"
    turns = spec.kinematics == "omni_angular"
    carrier_mass = 0.05 * spec.mass
    chain = ["anchor", "carrier_x"] + (["carrier_y"] if turns else [])
    for name in chain:
        _body(frame, f"{path}/{name}", (0.0, 0.0, 0.0), carrier_mass)
        # A carrier has no shape to take its inertia from.
        inertia = carrier_mass * spec.wheel_radius**2
        UsdPhysics.MassAPI(frame.stage.GetPrimAtPath(f"{path}/{name}")).CreateDiagonalInertiaAttr(
            Gf.Vec3f(frame.torque(inertia))
        )
    _body(frame, base, (0.0, 0.0, 0.0), spec.mass - carrier_mass * len(chain))
    _hull(frame, spec, base, 0.5 * spec.wheel_radius)

    world = UsdPhysics.FixedJoint.Define(frame.stage, f"{path}/joints/world_joint")
    world.CreateBody1Rel().SetTargets([f"{path}/anchor"])
    # On the joint to the world, so that the base is fixed and not merely held.
    _articulation(world.GetPrim())
    pose = UsdGeom.Xformable(frame.stage.GetPrimAtPath(path)).ComputeLocalToWorldTransform(
        Usd.TimeCode.Default()
    )
    world.CreateLocalPos0Attr(Gf.Vec3f(pose.ExtractTranslation()))
    world.CreateLocalRot0Attr(Gf.Quatf(pose.ExtractRotationQuat()))
    world.CreateLocalPos1Attr(Gf.Vec3f(0.0))
    world.CreateLocalRot1Attr(Gf.Quatf(1.0))

    links = [*chain, "base_link"]
    kinds: Sequence[tuple[str, type, str]] = (
        ("planar_x_joint", UsdPhysics.PrismaticJoint, "X"),
        ("planar_y_joint", UsdPhysics.PrismaticJoint, "Y"),
        ("planar_turn_joint", UsdPhysics.RevoluteJoint, "Z"),
    )
    names = []
    for (name, kind, axis), first, second in zip(kinds, links, links[1:], strict=False):
        joint = _joint(
            frame,
            f"{path}/joints/{name}",
            kind,
            axis,
            (f"{path}/{first}", f"{path}/{second}"),
            (0.0, 0.0, 0.0),
        )
        _drive(frame, joint, damping=_DRIVE_DAMPING)
        names.append(name)
    return tuple(names)


def _lidar(frame: _Frame, mount: LidarMount, base: str) -> None:
    """Write a lidar below the base as an OmniLidar prim; its schema is known in Isaac Sim only."""
    prim = frame.stage.DefinePrim(f"{base}/{mount.name}", "OmniLidar")
    _apply(prim, "OmniSensorGenericLidarCoreAPI")
    for name, value in mount.profile.to_omni_lidar().items():
        _set(prim, name, _kind(value), value)
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(
        Gf.Vec3d(*frame.point(mount.x, mount.y, mount.z))
    )
    turn = Gf.Rotation(Gf.Vec3d.XAxis(), math.degrees(mount.roll))
    turn *= Gf.Rotation(Gf.Vec3d.YAxis(), math.degrees(mount.pitch))
    turn *= Gf.Rotation(Gf.Vec3d.ZAxis(), math.degrees(mount.yaw))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(turn.GetQuat()))


def _kind(value: object) -> Sdf.ValueTypeName:
    """Return the type of an OmniLidar attribute from its value."""
    names = Sdf.ValueTypeNames
    if isinstance(value, str):
        return names.Token
    if isinstance(value, bool):
        return names.Bool
    if isinstance(value, int):
        return names.UInt
    if isinstance(value, float):
        return names.Float
    if isinstance(value, Sequence) and value and all(isinstance(item, int) for item in value):
        return names.UIntArray
    return names.FloatArray
