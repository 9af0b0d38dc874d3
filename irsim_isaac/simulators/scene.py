"""What the simulators that own a stage take from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import shapely

from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar.ray_casting import MovingBody, RayCaster
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.poses import Matrix, heading, inverse, planar_matrix, pose_of

if TYPE_CHECKING:
    from pxr import Usd

    from irsim_isaac.stage import Geometry

__all__ = [
    "SceneBody",
    "body_outlines",
    "find_bodies",
    "footprint_polygon",
    "loose_instances",
    "placed",
    "ray_caster",
    "start_poses",
]

Piece: TypeAlias = "tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]"
"""A mesh: its points, shape (n, 3), and its triangles, shape (m, 3)."""

_CIRCLE_QUARTER = 16
"""Segments in a quarter of a round footprint: as many as IR-SIM uses."""


@dataclass(frozen=True, slots=True)
class SceneBody:
    """A rigid body of the stage that may move.

    Attributes:
        name: Its name.
        path: Its prim path.
        pose: Where it starts, in metres with z up, shape (4, 4).
        kinematic: Whether physics leaves it where it is put.
    """

    name: str
    path: str
    pose: Matrix
    kinematic: bool


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def find_bodies(stage: Usd.Stage, robot_roots: Sequence[str]) -> list[SceneBody]:
    """Return the rigid bodies of a stage that belong to no robot and are no instances.

    Args:
        stage: The stage.
        robot_roots: The prims that hold the robots.
    """
    from irsim_isaac.stage.names import NAME_ATTRIBUTE, object_names
    from irsim_isaac.stage.units import stage_units
    from irsim_isaac.stage.usd import Usd, UsdGeom, UsdPhysics

    units = stage_units(stage)
    cache = UsdGeom.XformCache()
    found = []
    prims = iter(Usd.PrimRange.Stage(stage))
    for prim in prims:
        path = str(prim.GetPath())
        if prim.IsA(UsdGeom.PointInstancer):
            # What lies below are its prototypes, which stand nowhere themselves.
            prims.PruneChildren()
            continue
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            continue
        if any(_within(path, root) for root in robot_roots):
            continue
        api = UsdPhysics.RigidBodyAPI(prim)
        if api.GetRigidBodyEnabledAttr().Get() is False:
            continue
        position, quaternion = units.pose(cache.GetLocalToWorldTransform(prim))
        found.append((path, position, quaternion, bool(api.GetKinematicEnabledAttr().Get())))
    names = object_names(item[0] for item in found)
    for path in names:
        told = stage.GetPrimAtPath(path).GetAttribute(NAME_ATTRIBUTE)
        if told.HasAuthoredValue():
            names[path] = str(told.Get())
    return [
        SceneBody(names[path], path, pose_of(position, quaternion), kinematic)
        for path, position, quaternion, kinematic in found
    ]


def loose_instances(stage: Usd.Stage) -> tuple[str, ...]:
    """Return the PointInstancers of a stage whose instances are rigid bodies."""
    from irsim_isaac.stage.usd import Usd, UsdGeom, UsdPhysics

    found = []
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.PointInstancer):
            continue
        prototypes = UsdGeom.PointInstancer(prim).GetPrototypesRel().GetTargets()
        roots = [stage.GetPrimAtPath(path) for path in prototypes]
        if any(
            below.HasAPI(UsdPhysics.RigidBodyAPI)
            for root in roots
            if root
            for below in Usd.PrimRange(root)
        ):
            found.append(str(prim.GetPath()))
    return tuple(found)


def footprint_polygon(spec: RobotSpec) -> shapely.Polygon:
    """Return a robot's footprint in its base frame; a round one as IR-SIM's 64-gon."""
    if isinstance(spec.footprint, tuple):
        return shapely.Polygon(spec.footprint)
    return shapely.Point(0.0, 0.0).buffer(float(spec.footprint), quad_segs=_CIRCLE_QUARTER)


def _prism(spec: RobotSpec) -> MovingBody:
    """Return the body of a robot that the stage has not: its footprint, raised."""
    outline = np.array(footprint_polygon(spec).exterior.coords)[:-1]
    count = len(outline)
    points = np.concatenate(
        [np.column_stack([outline, np.full(count, height)]) for height in (0.0, spec.height)]
    )
    here = np.arange(count)
    there = (here + 1) % count
    walls = np.concatenate(
        [
            np.column_stack([here, there, there + count]),
            np.column_stack([here, there + count, here + count]),
        ]
    )
    return MovingBody(spec.name, points, walls.astype(np.int32))


def ray_caster(
    geometry: Geometry,
    *,
    robots: Mapping[str, RobotSpec],
    robot_roots: Mapping[str, str],
    starts: Mapping[str, Matrix],
    bodies: Sequence[SceneBody],
) -> RayCaster:
    """Return what the lidars see: the stage, its bodies and the robots.

    A robot that the stage holds is seen as it looks there, another one as its footprint
    raised to its height.

    Args:
        geometry: The visual geometry of the stage, in metres with z up.
        robots: The robots by name.
        robot_roots: The prim that holds a robot, for those that the stage has.
        starts: Where the geometry has the base frames of those robots, shape (4, 4) each.
        bodies: The other bodies that may move.
    """
    movers: dict[str, tuple[str, Matrix]] = {
        name: (root, starts[name]) for name, root in robot_roots.items()
    }
    movers |= {body.name: (body.path, body.pose) for body in bodies}
    taken, fixed = _sorted_parts(geometry, {name: root for name, (root, _) in movers.items()})
    moving = []
    for name, pieces in taken.items():
        points, triangles = _joined(pieces)
        back = inverse(movers[name][1])
        moving.append(MovingBody(name, points @ back[:3, :3].T + back[:3, 3], triangles))
    moving += [_prism(spec) for name, spec in robots.items() if name not in robot_roots]
    caster = RayCaster(*_joined(fixed), bodies=moving)
    caster.move({name: pose for name, (_, pose) in movers.items()})
    return caster


def _sorted_parts(
    geometry: Geometry, roots: Mapping[str, str]
) -> tuple[dict[str, list[Piece]], list[Piece]]:
    """Return the meshes that move with each object, and those that stand."""
    taken: dict[str, list[Piece]] = {name: [] for name in roots}
    fixed: list[Piece] = []
    # The deepest prim that holds a part is what it moves with.
    deepest_first = sorted(roots.items(), key=lambda item: -len(item[1]))
    for part in geometry.parts:
        owner = next((name for name, root in deepest_first if _within(part.path, root)), None)
        target = fixed if owner is None else taken[owner]
        target.append((part.points, part.triangles))
    return taken, fixed


def _joined(
    pieces: Sequence[Piece],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return several meshes as one."""
    if not pieces:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32)
    counts = np.cumsum([0] + [len(points) for points, _ in pieces])
    return (
        np.concatenate([points for points, _ in pieces]),
        np.concatenate(
            [faces + offset for (_, faces), offset in zip(pieces, counts, strict=False)]
        ).astype(np.int32),
    )


def body_outlines(
    geometry: Geometry, bodies: Sequence[SceneBody], *, height: tuple[float, float]
) -> dict[str, shapely.Polygon]:
    """Return what each body covers, seen from above, in its own planar frame.

    It is the convex hull of what lies in the band of heights.

    Args:
        geometry: The geometry of the stage, in metres with z up.
        bodies: The bodies.
        height: The lower and the upper end of the band [m].
    """
    taken, _ = _sorted_parts(geometry, {body.name: body.path for body in bodies})
    outlines = {}
    for body in bodies:
        points, triangles = _joined(taken[body.name])
        corners = points[triangles]
        meets = (corners[..., 2].max(axis=1) > height[0]) & (
            corners[..., 2].min(axis=1) < height[1]
        )
        hull = shapely.MultiPoint(corners[meets].reshape(-1, 3)[:, :2]).convex_hull
        if hull.geom_type == "Polygon":
            flat = planar_matrix(body.pose[0, 3], body.pose[1, 3], heading(body.pose))
            outlines[body.name] = placed(hull, inverse(flat))
    return outlines


def placed(outline: shapely.Polygon, pose: Matrix) -> shapely.Polygon:
    """Return an outline in the frame outside of its own.

    Args:
        outline: In its own planar frame.
        pose: Where that frame lies, shape (4, 4).
    """
    turn, place = pose[:2, :2], pose[:2, 3]
    return shapely.transform(outline, lambda points: points @ turn.T + place)


def start_poses(
    robots: Mapping[str, RobotSpec],
    starts: Mapping[str, tuple[float, float, float]],
    standing: Mapping[str, Matrix],
    *,
    floor: float,
    simulator: str,
) -> dict[str, Matrix]:
    """Return where each robot's base starts, shape (4, 4) each.

    Args:
        robots: The robots by name.
        starts: Where robots start: x, y [m], yaw [rad].
        standing: Where the stage has the robots that it holds.
        floor: The height of the ground [m].
        simulator: The simulator's name, for messages.

    Raises:
        SimulatorError: A start is of no robot, is not finite, or is missing.
    """
    for name, start in starts.items():
        if name not in robots:
            raise SimulatorError(
                f"{simulator}: a start for '{name}', which is no robot of it; "
                f"its robots: {', '.join(robots) or 'none'}"
            )
        if len(start) != 3 or not all(map(math.isfinite, start)):
            raise SimulatorError(
                f"{simulator}: the start of '{name}' must be x, y and yaw, finite; found {start!r}"
            )
    poses = {}
    for name in robots:
        if name in starts:
            poses[name] = planar_matrix(*starts[name], z=floor)
        elif name in standing:
            poses[name] = standing[name]
        else:
            raise SimulatorError(
                f"{simulator}: robot '{name}' has no start, and the stage does not hold it"
            )
    return poses
