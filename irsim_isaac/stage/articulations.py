"""Robots that stand in a stage as articulations, told by their joints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from irsim_isaac.robot import Footprint, Kinematics, RobotSpec
from irsim_isaac.stage.geometry import Geometry, read_geometry
from irsim_isaac.stage.names import NAME_ATTRIBUTE
from irsim_isaac.stage.poses import local_to_world, pose_matrix
from irsim_isaac.stage.units import StageUnits, stage_units
from irsim_isaac.stage.usd import Gf, Usd, UsdPhysics

__all__ = ["Articulation", "Joint", "described", "find_articulations", "measure_robot"]

_LEVEL = math.cos(math.radians(80.0))
"""An axis whose upward share is less than this lies flat; more than its complement, upright."""

_ROLLERS = 4
"""A wheel that carries this many loose joints of its own is an omni wheel."""

_ROUND = 1e-2
"""A footprint whose outline is this near a circle about the base [share of its radius] is one."""

_OUTLINE_TOLERANCE = 0.005

_SURFACE = 2e-5
"""How far the corners of round shapes may lie outside when wheels are measured [m]."""


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint of an articulation.

    Attributes:
        path: Its prim path.
        kind: ``"revolute"``, ``"prismatic"`` or another word of USD's.
        parent: The body that it hangs on; empty for the world.
        child: The body that it carries.
        axis: Its axis in the world, z up, shape (3,).
        anchor: Where it sits in the world [m], shape (3,).
        driven: Whether it has a drive that does something.
        speed: The greatest speed [rad/s or m/s], inf where none is said.
    """

    path: str
    kind: str
    parent: str
    child: str
    axis: NDArray[np.float64]
    anchor: NDArray[np.float64]
    driven: bool
    speed: float = math.inf

    @property
    def flat(self) -> bool:
        """Whether its axis lies flat, as that of a wheel."""
        return abs(float(self.axis[2])) < _LEVEL

    @property
    def upright(self) -> bool:
        """Whether its axis stands upright, as that of a steering."""
        return abs(float(self.axis[2])) > math.sqrt(1.0 - _LEVEL**2)


@dataclass(frozen=True, slots=True)
class Articulation:
    """An articulation of a stage.

    Attributes:
        root: The prim that holds all of it.
        base: The body that everything hangs on.
        links: Its bodies.
        joints: Its joints, without those to the world.
        fixed: Whether one of its bodies is fixed to the world.
    """

    root: str
    base: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...] = ()
    fixed: bool = False


def find_articulations(stage: Usd.Stage) -> tuple[Articulation, ...]:
    """Return the articulations of a stage, in its order.

    Args:
        stage: The stage.
    """
    roots = []
    joints = []
    units = stage_units(stage)
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            roots.append(prim)
        if prim.IsA(UsdPhysics.Joint):
            joint = _joint(stage, units, prim)
            if joint is not None:
                joints.append(joint)
    found = []
    for prim in roots:
        seed = _seed(prim)
        if not seed:
            continue
        links, own = _connected(seed, joints)
        inner = tuple(joint for joint in own if joint.parent)
        found.append(
            Articulation(
                root=_common_root([*links, str(prim.GetPath())]),
                base=_base(links, inner),
                links=tuple(sorted(links)),
                joints=inner,
                fixed=any(not joint.parent and joint.kind == "PhysicsFixedJoint" for joint in own),
            )
        )
    return tuple(found)


def _seed(prim: Usd.Prim) -> str:
    """Return one body of the articulation whose root API is on a prim."""
    if prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return str(prim.GetPath())
    if prim.IsA(UsdPhysics.Joint):
        for relation in (
            UsdPhysics.Joint(prim).GetBody1Rel(),
            UsdPhysics.Joint(prim).GetBody0Rel(),
        ):
            for target in relation.GetTargets():
                return str(target)
    for below in Usd.PrimRange(prim, Usd.TraverseInstanceProxies()):
        if below.HasAPI(UsdPhysics.RigidBodyAPI):
            return str(below.GetPath())
    return ""


def _connected(seed: str, joints: Sequence[Joint]) -> tuple[set[str], list[Joint]]:
    links, own = {seed}, []
    waiting = list(joints)
    grown = True
    while grown:
        grown = False
        for joint in list(waiting):
            ends = {end for end in (joint.parent, joint.child) if end}
            if ends & links:
                links |= ends
                own.append(joint)
                waiting.remove(joint)
                grown = True
    order = {joint.path: number for number, joint in enumerate(joints)}
    return links, sorted(own, key=lambda joint: order[joint.path])


def _common_root(paths: Sequence[str]) -> str:
    split = [path.strip("/").split("/") for path in paths]
    common = []
    for names in zip(*split, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/" + "/".join(common)


def _base(links: set[str], joints: Sequence[Joint]) -> str:
    """Return the body that carries the others and is carried by none, or carries the most."""
    carried = {joint.child for joint in joints}
    prismatic = {joint.child for joint in joints if joint.kind == "prismatic"}
    if prismatic:
        # A holonomic base slides on a chain of carriers and is the last of it.
        last = [joint.child for joint in joints if joint.child not in {j.parent for j in joints}]
        if len(last) == 1:
            return last[0]
    counts = {link: sum(joint.parent == link for joint in joints) for link in links}
    free = [link for link in sorted(links) if link not in carried] or sorted(links)
    return max(free, key=lambda link: counts[link])


def _joint(stage: Usd.Stage, units: StageUnits, prim: Usd.Prim) -> Joint | None:
    joint = UsdPhysics.Joint(prim)
    if joint.GetJointEnabledAttr().Get() is False:
        return None
    first = [str(path) for path in joint.GetBody0Rel().GetTargets()]
    second = [str(path) for path in joint.GetBody1Rel().GetTargets()]
    if not second:
        first, second = [], first
    if not second:
        return None
    kind = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic"}.get(
        str(prim.GetTypeName()), str(prim.GetTypeName())
    )
    body = stage.GetPrimAtPath(second[0])
    if not body:
        return None
    matrix = local_to_world(body)
    place = joint.GetLocalPos1Attr().Get() or Gf.Vec3f(0.0)
    turn = joint.GetLocalRot1Attr().Get() or Gf.Quatf(1.0)
    axis = Gf.Vec3d(0.0)
    name = prim.GetAttribute("physics:axis").Get() or "X"
    axis["XYZ".index(str(name))] = 1.0
    axis = Gf.Rotation(Gf.Quatd(turn)).TransformDir(axis)
    axis = matrix.TransformDir(axis)
    anchor = units.point(*matrix.Transform(Gf.Vec3d(place)))
    along = np.array(axis) @ units.rotation
    size = float(np.linalg.norm(along))
    return Joint(
        path=str(prim.GetPath()),
        kind=kind,
        parent=first[0] if first else "",
        child=second[0],
        axis=along / size if size else along,
        anchor=np.array(anchor),
        driven=_driven(prim),
        speed=_speed(prim, units),
    )


def _driven(prim: Usd.Prim) -> bool:
    for name in ("angular", "linear"):
        if not prim.HasAPI(UsdPhysics.DriveAPI, name):
            continue
        drive = UsdPhysics.DriveAPI(prim, name)
        if (drive.GetDampingAttr().Get() or 0.0) or (drive.GetStiffnessAttr().Get() or 0.0):
            return True
    return False


def _speed(prim: Usd.Prim, units: StageUnits) -> float:
    attribute = prim.GetAttribute("physxJoint:maxJointVelocity")
    value = attribute.Get() if attribute else None
    if value is None or not math.isfinite(float(value)) or float(value) > 1e5:
        return math.inf
    if prim.GetTypeName() == "PhysicsPrismaticJoint":
        return float(value) * units.meters_per_unit
    return math.radians(float(value))


@dataclass(frozen=True, slots=True)
class _Drive:
    """What the joints tell of how a robot moves."""

    kinematics: Kinematics
    joints: tuple[Joint, ...]
    wheels: tuple[Joint, ...]
    fronts: tuple[Joint, ...] = ()


def measure_robot(
    stage: Usd.Stage, articulation: Articulation, *, geometry: Geometry | None = None
) -> tuple[RobotSpec, NDArray[np.float64]] | None:
    """Return what an articulation is as a robot on wheels, and where its base frame lies.

    Two or more driven wheels whose axes lie flat and side by side make a differential robot;
    with steered wheels it is an Ackermann one; wheels in several directions, or with rollers,
    or two prismatic joints that lie flat, make an omnidirectional one. Attributes ``irsim:...``
    on its root, as ``add_wheeled_robot`` writes them, win over what is measured.

    Args:
        stage: The stage.
        articulation: The articulation.
        geometry: Its surfaces, where they were read; else those of its root are read.

    Returns:
        The robot and the pose of its base frame in metres with z up, for column vectors, shape
        (4, 4); None where it has neither wheels nor a sliding base.
    """
    drive = _drive(articulation)
    if drive is None:
        return None
    if geometry is None:
        geometry = read_geometry(stage, root=articulation.root, tolerance=_SURFACE)
    points = {link: _points(geometry, articulation, link) for link in articulation.links}
    units = stage_units(stage)
    body = pose_matrix(units, stage.GetPrimAtPath(articulation.base))
    frame, radius, track, wheelbase = _measure(drive, points, body)
    everything = [cloud for cloud in points.values() if len(cloud)]
    cloud = np.concatenate(everything) if everything else np.zeros((0, 3))
    local = (cloud - frame[:3, 3]) @ frame[:3, :3]
    prim = stage.GetPrimAtPath(articulation.root)
    spec = RobotSpec(
        name=str(prim.GetName()),
        prim_path=articulation.root,
        kinematics=drive.kinematics,
        footprint=_footprint(local),
        height=round(float(local[:, 2].max()), 6) if len(local) else 0.3,
        wheel_radius=radius,
        track=track,
        wheelbase=wheelbase,
        mass=_mass(stage, articulation),
        joints=tuple(joint.path.rsplit("/", 1)[-1] for joint in _in_order(drive, frame)),
    )
    told = _told(prim, _with_speeds(spec, drive))
    # The ground lies below the axle by the radius that counts in the end.
    frame[2, 3] += spec.wheel_radius - told.wheel_radius if drive.wheels else 0.0
    return told, frame


def _drive(articulation: Articulation) -> _Drive | None:
    joints = articulation.joints
    sliding = [j for j in joints if j.kind == "prismatic" and j.flat and j.driven]
    if len(sliding) >= 2 and abs(float(sliding[0].axis @ sliding[1].axis)) < 0.1:
        turning = [
            j
            for j in joints
            if j.kind == "revolute"
            and j.upright
            and j.driven
            and (j.parent == sliding[1].child or j.child == sliding[0].parent)
        ]
        kinematics: Kinematics = "omni_angular" if turning else "omni"
        return _Drive(kinematics, (*sliding[:2], *turning[:1]), ())
    wheels = [j for j in joints if j.kind == "revolute" and j.flat]
    on_base = [j for j in wheels if j.parent == articulation.base]
    driven = [j for j in on_base if j.driven] or [j for j in wheels if j.driven] or on_base
    if len(driven) < 2:
        return None
    steers = [
        j
        for j in joints
        if j.kind == "revolute"
        and j.upright
        and j.driven
        and j.parent == articulation.base
        and any(w.parent == j.child for w in wheels)
    ]
    if steers:
        steered = [w for w in wheels if w.parent in {j.child for j in steers}]
        rears = [w for w in on_base if w.driven] or on_base or driven
        sides = _left_then_right(rears)
        return _Drive("acker", (*sides, *_left_then_right(steers)), tuple(rears), tuple(steered))
    first = driven[0].axis
    across = [w for w in driven if abs(float(w.axis @ first)) < 0.9]
    rolling = [w for w in driven if sum(j.parent == w.child for j in joints) >= _ROLLERS]
    if across or rolling:
        return _Drive("omni_angular", tuple(driven), tuple(driven))
    return _Drive("diff", tuple(_left_then_right(driven)), tuple(driven))


def _left_then_right(joints: Sequence[Joint]) -> list[Joint]:
    """Order joints in pairs, left before right, where their names say so.

    A base need not look along its x axis; then the names alone tell which way is ahead.
    """
    lefts = [j for j in joints if "left" in j.path.rsplit("/", 1)[-1].lower()]
    rights = [j for j in joints if "right" in j.path.rsplit("/", 1)[-1].lower()]
    if len(lefts) == len(rights) and len(lefts) + len(rights) == len(joints):
        pairs = list(zip(lefts, rights, strict=True))
        return [joint for pair in pairs for joint in pair]
    return list(joints)


def _in_order(drive: _Drive, frame: NDArray[np.float64]) -> list[Joint]:
    """Order wheels, then steering, in pairs: left before right, the foremost pair first."""
    if drive.kinematics not in ("diff", "acker"):
        return list(drive.joints)
    wheels = [joint for joint in drive.joints if joint.flat]
    steering = [joint for joint in drive.joints if not joint.flat]
    result: list[Joint] = []
    for group in (wheels, steering):
        placed = [((joint.anchor - frame[:3, 3]) @ frame[:3, :3], joint) for joint in group]
        lefts = sorted((-at[0], joint.path, joint) for at, joint in placed if at[1] > 0.0)
        rights = sorted((-at[0], joint.path, joint) for at, joint in placed if at[1] <= 0.0)
        if len(lefts) != len(rights):
            return list(drive.joints)
        result += [joint for pair in zip(lefts, rights, strict=True) for _, _, joint in pair]
    return result


def _points(geometry: Geometry, articulation: Articulation, link: str) -> NDArray[np.float64]:
    """Return the vertices of what moves with a link, shape (n, 3)."""
    deeper = [other for other in articulation.links if other.startswith(f"{link}/")]
    clouds = [
        part.points
        for part in geometry.parts
        if (part.path == link or part.path.startswith(f"{link}/"))
        and not any(part.path == other or part.path.startswith(f"{other}/") for other in deeper)
    ]
    return np.concatenate(clouds) if clouds else np.zeros((0, 3))


def _measure(
    drive: _Drive, points: dict[str, NDArray[np.float64]], body: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, float, float | None]:
    """Return the base frame, the wheel radius, the track and the wheelbase."""
    forward = np.array([body[0, 0], body[1, 0], 0.0])
    if not drive.wheels:
        frame = _upright_frame(forward, body[:3, 3])
        return frame, 0.1, 0.4, None
    axle = drive.wheels[0].axis * np.array([1.0, 1.0, 0.0])
    across = np.cross(axle / np.linalg.norm(axle), [0.0, 0.0, 1.0])
    if drive.kinematics != "omni_angular" and np.linalg.norm(forward) > 0.0:
        # Straight ahead is square to the axle, on the side to which the body looks.
        ahead = across if float(across @ forward) >= 0.0 else -across
        if abs(float(across @ forward)) < 0.1 * float(np.linalg.norm(forward)):
            ahead = _ahead_by_sides(drive, across)
    else:
        ahead = forward
    anchors = np.array([wheel.anchor for wheel in drive.wheels])
    radii = [
        _wheel_radius(points.get(wheel.child, np.zeros((0, 3))), wheel) for wheel in drive.wheels
    ]
    known = [radius for radius in radii if radius > 0.0]
    radius = round(float(np.mean(known)), 6) if known else 0.1
    middle = anchors.mean(axis=0)
    frame = _upright_frame(ahead, np.array([middle[0], middle[1], middle[2] - radius]))
    sides = (anchors - middle) @ frame[:3, 1]
    left, right = sides[sides > 0.0], sides[sides <= 0.0]
    track = float(left.mean() - right.mean()) if len(left) and len(right) else 0.0
    wheelbase = None
    along = (anchors - middle) @ frame[:3, 0]
    if drive.fronts:
        fronts = np.array([wheel.anchor for wheel in drive.fronts])
        wheelbase = round(float(((fronts - middle) @ frame[:3, 0]).mean()), 6)
    elif np.ptp(along) > radius:
        wheelbase = round(float(np.ptp(along)), 6)
    return frame, radius, round(track, 6), wheelbase


def _ahead_by_sides(drive: _Drive, across: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which way is ahead when the body looks along the axle: the left wheel tells."""
    left = np.cross([0.0, 0.0, 1.0], across)
    first = drive.joints[0].anchor - drive.joints[1].anchor
    return across if float(first @ left) >= 0.0 else -across


def _upright_frame(
    forward: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64]:
    size = float(np.linalg.norm(forward))
    x = forward / size if size else np.array([1.0, 0.0, 0.0])
    frame = np.eye(4)
    frame[:3, 0] = x
    frame[:3, 1] = np.cross([0.0, 0.0, 1.0], x)
    frame[:3, 3] = origin
    return frame


def _wheel_radius(cloud: NDArray[np.float64], wheel: Joint) -> float:
    """Return how far from its axis the surface of a wheel reaches [m]; zero without one."""
    if not len(cloud):
        return 0.0
    arm = cloud - wheel.anchor
    arm = arm - np.outer(arm @ wheel.axis, wheel.axis)
    # The corners of a tessellated tyre lie on the tyre or a little outside; the mean of the
    # outermost ones is the better radius.
    distance = np.linalg.norm(arm, axis=1)
    outer = distance[distance > 0.98 * distance.max()]
    return float(outer.mean())


def _footprint(local: NDArray[np.float64]) -> Footprint:
    """Return the convex outline of a robot's vertices in its base frame, a radius if round."""
    if len(local) < 3:
        return 0.25
    hull = shapely.MultiPoint(local[:, :2]).convex_hull
    if hull.geom_type != "Polygon":
        return 0.25
    corners = np.array(hull.exterior.coords)[:-1]
    reach = np.linalg.norm(corners, axis=1)
    inner = shapely.Point(0.0, 0.0).distance(hull.exterior)
    if len(corners) >= 12 and reach.max() - inner <= 2.0 * _ROUND * reach.max():
        return round(float(reach.max()), 6)
    hull = shapely.simplify(hull, _OUTLINE_TOLERANCE)
    corners = np.array(shapely.geometry.polygon.orient(hull).exterior.coords)[:-1]
    return tuple((round(float(x), 6) + 0.0, round(float(y), 6) + 0.0) for x, y in corners)


def _mass(stage: Usd.Stage, articulation: Articulation) -> float:
    unit = float(UsdPhysics.GetStageKilogramsPerUnit(stage))
    total = 0.0
    for link in articulation.links:
        prim = stage.GetPrimAtPath(link)
        for below in Usd.PrimRange(prim, Usd.TraverseInstanceProxies()):
            if str(below.GetPath()) != link and below.HasAPI(UsdPhysics.RigidBodyAPI):
                continue
            if below.HasAPI(UsdPhysics.MassAPI):
                total += float(UsdPhysics.MassAPI(below).GetMassAttr().Get() or 0.0)
                break
    return round(total * unit, 6) or 20.0


def _with_speeds(spec: RobotSpec, drive: _Drive) -> RobotSpec:
    limits = [joint.speed for joint in drive.joints if math.isfinite(joint.speed)]
    if not limits or not drive.wheels:
        return spec
    v = min(limits) * spec.wheel_radius
    if spec.kinematics == "diff" and spec.track > 0.0:
        return replace(
            spec, max_linear_speed=round(v, 6), max_angular_speed=round(2.0 * v / spec.track, 6)
        )
    return replace(spec, max_linear_speed=round(v, 6))


_NUMBERS = (
    "height",
    "wheel_radius",
    "track",
    "wheelbase",
    "mass",
    "max_linear_speed",
    "max_angular_speed",
    "max_linear_acceleration",
    "max_angular_acceleration",
)


def _told(prim: Usd.Prim, spec: RobotSpec) -> RobotSpec:
    """Return a robot with what the attributes of its prim say of it."""
    changes: dict[str, Any] = {}
    name = prim.GetAttribute(NAME_ATTRIBUTE)
    if name.HasAuthoredValue():
        changes["name"] = str(name.Get())
    kinematics = prim.GetAttribute("irsim:kinematics")
    if kinematics.HasAuthoredValue():
        changes["kinematics"] = str(kinematics.Get())
    for key in _NUMBERS:
        attribute = prim.GetAttribute(f"irsim:{key}")
        if attribute.HasAuthoredValue():
            changes[key] = float(attribute.Get())
    radius = prim.GetAttribute("irsim:radius")
    outline = prim.GetAttribute("irsim:footprint")
    if radius.HasAuthoredValue():
        changes["footprint"] = float(radius.Get())
    elif outline.HasAuthoredValue():
        changes["footprint"] = tuple((float(x), float(y)) for x, y in outline.Get())
    return replace(spec, **changes)


def described(spec: RobotSpec) -> Iterable[tuple[str, str, Any]]:
    """Return the attributes that say exactly what a robot is: name, USD type, value."""
    yield "irsim:kinematics", "token", spec.kinematics
    for key in _NUMBERS:
        value = getattr(spec, key)
        if value is not None and math.isfinite(value):
            yield f"irsim:{key}", "double", float(value)
    if isinstance(spec.footprint, tuple):
        yield "irsim:footprint", "double2[]", [Gf.Vec2d(x, y) for x, y in spec.footprint]
    else:
        yield "irsim:radius", "double", float(spec.footprint)
