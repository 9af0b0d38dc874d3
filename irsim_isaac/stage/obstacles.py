"""The obstacles of a stage: named footprints, what moves, and what is too low to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import shapely

from irsim_isaac.errors import StageError
from irsim_isaac.map import Omission
from irsim_isaac.stage.articulations import find_articulations
from irsim_isaac.stage.footprints import (
    mesh_footprint,
    raster_footprint,
    simple_polygons,
    simplified,
)
from irsim_isaac.stage.geometry import Geometry, Part
from irsim_isaac.stage.names import NAME_ATTRIBUTE, ROBOT_ATTRIBUTE, object_names
from irsim_isaac.stage.occupancy import without_shells
from irsim_isaac.stage.poses import planar_pose
from irsim_isaac.stage.units import stage_units
from irsim_isaac.stage.usd import Usd, UsdGeom, UsdPhysics

__all__ = [
    "LowObject",
    "Obstacle",
    "Obstacles",
    "Ring",
    "inverse",
    "label_of",
    "merged_obstacles",
    "placed",
    "read_obstacles",
]

Ring: TypeAlias = tuple[tuple[float, float], ...]
"""The vertices [m] of a simple polygon, counter-clockwise, or of a line."""

_TIE = 1e-6
"""What lies this near the ends of the band [m] lies on them, and they belong to it."""

_FINEST = 0.005
"""The finest error that a raster is asked for [m]."""

_ROUND = 7
"""Decimals of a metre that are kept."""

_DENSITY = 200.0
"""Of a moving body that says nothing of its mass [kg/m^3]: a packed crate."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that stands or moves in a robot's way.

    Attributes:
        name: Its name in every simulator.
        prim_path: The prim it was read from; empty where there is none.
        polygons: Simple polygons without holes that touch at most, in its own frame [m].
        lines: Lines without width, in its own frame [m].
        radius: Of a disc about the origin of its own frame [m]; None where it is none.
        pose: Where its own frame lies: x, y [m] and yaw [rad].
        mass: Of a body that is pushed about [kg]; None for one that stands.
        height: From the floor to its top, or to the top of the band [m].
        label: What the stage calls it; empty where it says nothing.
        velocity: What it starts with: x, y [m/s] in the world and turning [rad/s].
        friction: Between it and the ground; None where the stage does not say.
    """

    name: str
    prim_path: str = ""
    polygons: tuple[Ring, ...] = ()
    lines: tuple[Ring, ...] = ()
    radius: float | None = None
    pose: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mass: float | None = None
    height: float = 0.0
    label: str = ""
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    friction: float | None = None

    @property
    def moving(self) -> bool:
        """Whether it can be pushed about."""
        return self.mass is not None

    def area(self) -> shapely.Geometry:
        """Return what it covers of the world, a Polygon or MultiPolygon; lines cover nothing.

        A disc is the polygon of 64 vertices that IR-SIM makes of it.
        """
        pieces = [shapely.Polygon(ring) for ring in self.polygons]
        if self.radius is not None:
            pieces.append(shapely.Point(0.0, 0.0).buffer(self.radius, quad_segs=16))
        return placed(shapely.union_all(pieces), self.pose)

    def outline(self) -> shapely.Geometry:
        """Return its boundary in the world, lines included."""
        lines = [placed(shapely.LineString(line), self.pose) for line in self.lines]
        return shapely.union_all([shapely.boundary(self.area()), *lines])


@dataclass(frozen=True, slots=True)
class LowObject:
    """Something below the band: no obstacle there, and yet the ground is not empty.

    Attributes:
        name: Its name.
        prim_path: Its prim.
        top: The height of its top above the floor [m].
        area: What it covers of the world [m], seen from above.
    """

    name: str
    prim_path: str
    top: float
    area: shapely.Geometry


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What was read from a stage.

    Attributes:
        obstacles: Everything in the band.
        low: What stands on the floor below the band.
        omissions: What was left out, and why.
        warnings: What is less exact than was asked for.
    """

    obstacles: tuple[Obstacle, ...]
    low: tuple[LowObject, ...] = ()
    omissions: tuple[Omission, ...] = ()
    warnings: tuple[str, ...] = ()


def read_obstacles(
    stage: Usd.Stage,
    geometry: Geometry,
    *,
    height: tuple[float, float] = (0.1, 0.62),
    floor: float = 0.0,
    tolerance: float = 0.005,
    seeds: Sequence[tuple[float, float]] = (),
    skip: Sequence[str] = (),
    low_step: float = 0.02,
    heavy: int = 20_000,
    progress: Callable[[int, int, str], None] | None = None,
) -> Obstacles:
    """Read the footprints of everything between two heights, one obstacle a prim or body.

    Footprints are the exact outlines of the meshes between the heights, then simplified; those
    of heavy meshes are taken from a raster. What encloses all else at a far larger scale, such
    as a sky dome, is left out.

    Args:
        stage: The stage, for masses, labels and poses.
        geometry: Its surfaces.
        height: The band above the floor [m]; one height twice for what a lidar sees in its plane.
        floor: The height of the floor [m].
        tolerance: How far a simplified outline may lie from the exact one [m].
        seeds: Places [m] that are known to be inside rooms: a closed mesh round one of them is
            a room whose surface alone stands in the way.
        skip: Prims, such as robots, that are left out with all below them.
        heavy: Of more triangles in the band than this, the outline is that of a fine raster.
        low_step: What rises less than this above the floor [m] is part of the floor.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The obstacles, in the order of the stage.

    Raises:
        StageError: The heights, the floor or the tolerance make no sense.
    """
    low, high = height
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise StageError(f"the height band is {low:g} to {high:g} m, the lower end comes first")
    if not math.isfinite(floor):
        raise StageError(f"floor is {floor}, a finite height was expected")
    if not (math.isfinite(tolerance) and tolerance >= 0.0):
        raise StageError(f"tolerance is {tolerance}, no negative number of metres was expected")
    if high > low:
        low, high = low - _TIE, high + _TIE
    low, high = low + floor, high + floor
    named = _named(stage)
    left_out = {*skip, *(path for path, name in named.items() if name is None)}
    # An arm that is screwed to the floor is not pushed about, though its links are bodies.
    anchored = {
        link
        for articulation in find_articulations(stage)
        if articulation.fixed
        for link in articulation.links
    }
    bodies = _bodies(stage, left_out)
    groups: dict[tuple[str, bool], list[Part]] = {}
    inner, shells = without_shells(geometry.parts, (low, high))
    for part in inner:
        if any(path in left_out for path in _ancestry(part.path)):
            continue
        owner, moves = part.path, False
        if part.body is not None and (part.body in bodies or "[" in part.body):
            # What moves an instance of a PointInstancer is its prototype.
            owner = part.body
            moves = not bodies.get(owner, False) and owner not in anchored
        owner = next((path for path in _ancestry(owner) if path in named), owner)
        groups.setdefault((owner, moves), []).append(part)

    found: list[tuple[str, bool, list[Part], shapely.Geometry, shapely.Geometry]] = []
    flat: list[tuple[str, list[Part], float]] = []
    notes: list[str] = []
    for number, ((path, moves), parts) in enumerate(groups.items()):
        if progress is not None:
            progress(number, len(groups), "reading footprints")
        area, lines, error = _footprint(parts, low, high, seeds, tolerance, heavy)
        if error > tolerance:
            notes.append(
                f"{path} has too many triangles for an exact outline: its raster may be off by "
                f"{error:.3g} m"
            )
        if area.is_empty and lines.is_empty:
            top = max(float(part.points[:, 2].max()) for part in parts) - floor
            if low_step < top <= low - floor:
                flat.append((path, parts, top))
            continue
        found.append((path, moves, parts, area, lines))
    if progress is not None:
        progress(len(groups), len(groups), "reading footprints")

    given = {path: name for path, name in named.items() if name}
    # Bodies come first, whether they are in the band or not, as simulators name them alone.
    names = object_names(bodies)
    names |= object_names((path for path, *_ in found if path not in bodies), taken=names.values())
    names |= given
    omissions = shells + [
        Omission(path, "thin", f"its footprint is narrower than {tolerance:g} m")
        for path, _, _, area, lines in found
        if area.is_empty and lines.is_empty
    ]
    obstacles = tuple(
        _obstacle(stage, names[path], path, moves, parts, area, lines, floor, (low, high))
        for path, moves, parts, area, lines in found
        if not (area.is_empty and lines.is_empty)
    )
    low_names = object_names((path for path, *_ in flat), taken=names.values())
    lows = tuple(LowObject(low_names[path], path, top, _shadow(parts)) for path, parts, top in flat)
    return Obstacles(obstacles, lows, tuple(omissions), tuple(notes))


def merged_obstacles(obstacles: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
    """Join standing obstacles that overlap or touch into one each, called as its largest part.

    Args:
        obstacles: The obstacles; what moves, lines, and what touches nothing stay as they are.
    """
    solid = [item for item in obstacles if not item.moving and not item.lines]
    areas = [item.area() for item in solid]
    if not areas:
        return tuple(obstacles)
    joined = shapely.get_parts(shapely.union_all(areas, grid_size=10.0**-_ROUND))
    # Which pieces of the union each obstacle lies in; one of several pieces ties them together.
    tree = shapely.STRtree(joined)
    leader = list(range(len(solid)))
    owner: dict[int, int] = {}

    def first(index: int) -> int:
        while leader[index] != index:
            index = leader[index]
        return index

    for index, area in enumerate(areas):
        for piece in tree.query(shapely.point_on_surface(shapely.get_parts(area)), "intersects")[1]:
            other = owner.setdefault(int(piece), index)
            leader[first(index)] = first(other)
    groups: dict[int, list[int]] = {}
    for index in range(len(solid)):
        groups.setdefault(first(index), []).append(index)
    replaced: dict[str, Obstacle | None] = {}
    for members in groups.values():
        if len(members) == 1:
            continue
        largest = solid[max(members, key=lambda index: areas[index].area)]
        union = shapely.union_all([areas[i] for i in members], grid_size=10.0**-_ROUND)
        back = inverse(largest.pose)
        polygons = tuple(_ring(p.exterior) for p in simple_polygons(placed(union, back)))
        tallest = max(solid[index].height for index in members)
        for index in members:
            replaced[solid[index].name] = None
        replaced[largest.name] = replace(largest, polygons=polygons, radius=None, height=tallest)
    kept = (replaced.get(item.name, item) for item in obstacles)
    return tuple(item for item in kept if item is not None)


def _footprint(
    parts: Sequence[Part],
    low: float,
    high: float,
    seeds: Sequence[tuple[float, float]],
    tolerance: float,
    heavy: int,
) -> tuple[shapely.Geometry, shapely.Geometry, float]:
    """Return what parts cover, their upright lines, and how far the outline may be off [m]."""
    if sum(_crossing(part, low, high) for part in parts) > heavy:
        area, error = raster_footprint(parts, low, high, max(tolerance, _FINEST))
        return area, shapely.MultiLineString(), error
    areas, lines = [], []
    for part in parts:
        area, upright = mesh_footprint(part, low, high)
        if (
            part.solid == "closed"
            and seeds
            and shapely.intersects_xy(area, *np.transpose(seeds)).any()
        ):
            room = Part(part.path, part.points, part.triangles, "sheet", part.body, part.source)
            area, upright = mesh_footprint(room, low, high)
        areas.append(area)
        lines.append(upright)
    if len(parts) == 1:
        return simplified(areas[0], tolerance), lines[0], tolerance
    union = shapely.union_all(areas)
    outside = shapely.difference(shapely.union_all(lines), union)
    return simplified(union, tolerance), outside, tolerance


def _crossing(part: Part, low: float, high: float) -> int:
    """Return how many triangles of a part reach into the band."""
    heights = part.points[:, 2][part.triangles]
    return int(np.sum((heights.max(axis=1) >= low) & (heights.min(axis=1) <= high)))


def _named(stage: Usd.Stage) -> dict[str, str | None]:
    """Return the prims that are one object with all below them, the outermost first.

    Their names are None where a robot starts: what lies below shows the robot.
    """
    found: dict[str, str | None] = {}
    for prim in stage.Traverse():
        if prim.GetAttribute(ROBOT_ATTRIBUTE).HasAuthoredValue():
            found[str(prim.GetPath())] = None
        elif prim.GetAttribute(NAME_ATTRIBUTE).HasAuthoredValue():
            found[str(prim.GetPath())] = str(prim.GetAttribute(NAME_ATTRIBUTE).Get())
    return found


def _ancestry(path: str) -> Iterator[str]:
    """Give the paths of a prim's ancestors from the outermost, and its own at last.

    The PointInstancer of ``/Cartons[3]`` is an ancestor of it.
    """
    for place, letter in enumerate(path):
        if letter in "/[" and place > 0:
            yield path[:place]
    yield path


def _disc(
    stage: Usd.Stage, parts: Sequence[Part], low: float, high: float
) -> tuple[float, tuple[float, float]] | None:
    """Return the radius and centre of what is exactly a disc between two heights, if it is one.

    An upright Cylinder, unless the band misses it, and a Sphere whose equator is in the band.
    """
    if len(parts) != 1 or "[" in parts[0].path:
        return None
    prim = stage.GetPrimAtPath(parts[0].path)
    kind = prim.GetTypeName()
    if kind not in ("Cylinder", "Sphere") or parts[0].solid != "filled":
        return None
    units = stage_units(stage)
    matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
    world = matrix @ units.matrix
    axis = 2 if kind == "Sphere" else "XYZ".index(str(UsdGeom.Cylinder(prim).GetAxisAttr().Get()))
    across = np.delete(world[:3, :3], axis, axis=0)
    stretch = np.linalg.norm(across, axis=1)
    square = abs(stretch[0] - stretch[1]) + abs(float(across[0] @ across[1])) / stretch[0]
    if square > 1e-9 * stretch[0]:
        return None
    if kind == "Cylinder" and np.abs(across[:, 2]).max() > 1e-9 * stretch[0]:
        return None
    if kind == "Sphere" and not low <= world[3, 2] <= high:
        return None
    if (
        kind == "Sphere"
        and abs(float(np.linalg.norm(world[2, :3])) - stretch[0]) > 1e-9 * stretch[0]
    ):
        return None
    radius = float(prim.GetAttribute("radius").Get()) * float(stretch[0])
    return radius, (float(world[3, 0]), float(world[3, 1]))


def _shadow(parts: Sequence[Part]) -> shapely.Geometry:
    """Return what parts cover, seen from above, as the hull of each."""
    return shapely.union_all([shapely.MultiPoint(part.points[:, :2]).convex_hull for part in parts])


def _bodies(stage: Usd.Stage, left_out: Iterable[str]) -> dict[str, bool]:
    """Return the rigid bodies of a stage, and whether physics leaves them where they are put."""
    roots = set(left_out)
    found = {}
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            continue
        path = str(prim.GetPath())
        api = UsdPhysics.RigidBodyAPI(prim)
        if api.GetRigidBodyEnabledAttr().Get() is False:
            continue
        if not any(above in roots for above in _ancestry(path)):
            found[path] = bool(api.GetKinematicEnabledAttr().Get())
    return found


def _obstacle(
    stage: Usd.Stage,
    name: str,
    path: str,
    moves: bool,
    parts: Sequence[Part],
    area: shapely.Geometry,
    lines: shapely.Geometry,
    floor: float,
    band: tuple[float, float],
) -> Obstacle:
    prim = stage.GetPrimAtPath(path.partition("[")[0])
    top = min(max(float(part.points[:, 2].max()) for part in parts), band[1] - _TIE) - floor
    pose = _rounded_centre(area, lines)
    mass, velocity, friction = None, (0.0, 0.0, 0.0), None
    if moves:
        prim = stage.GetPrimAtPath((parts[0].body or path).partition("[")[0])
        mass = _mass(prim, area, top)
        if "[" not in path and prim:
            pose = planar_pose(
                stage, stage.GetPrimAtPath((parts[0].body or path).partition("[")[0])
            )
            velocity = _velocity(stage, prim)
    disc = _disc(stage, parts, *band)
    radius = None
    if disc is not None:
        radius = round(disc[0], _ROUND)
        # IR-SIM's disc is a polygon, so that even its heading counts.
        yaw = pose[2] if moves else planar_pose(stage, stage.GetPrimAtPath(parts[0].path))[2]
        pose = (round(disc[1][0], 9) + 0.0, round(disc[1][1], 9) + 0.0, yaw)
        area = lines = shapely.Polygon()
    back = inverse(pose)
    polygons = tuple(_ring(polygon.exterior) for polygon in simple_polygons(placed(area, back)))
    rest = tuple(
        _ring(line) for line in shapely.get_parts(placed(lines, back)) if not line.is_empty
    )
    return Obstacle(
        name,
        path,
        polygons,
        rest,
        radius,
        pose,
        mass,
        round(top, _ROUND),
        label_of(prim),
        velocity,
        friction,
    )


def _ring(line: shapely.Geometry) -> Ring:
    points = shapely.get_coordinates(line)
    if line.geom_type == "LinearRing":
        points = points[:-1]
    return tuple((round(float(x), _ROUND) + 0.0, round(float(y), _ROUND) + 0.0) for x, y in points)


def _rounded_centre(area: shapely.Geometry, lines: shapely.Geometry) -> tuple[float, float, float]:
    centre = shapely.centroid(lines if area.is_empty else area)
    return round(centre.x, 3) + 0.0, round(centre.y, 3) + 0.0, 0.0


def placed(geometry: shapely.Geometry, pose: tuple[float, float, float]) -> shapely.Geometry:
    """Return a geometry of a frame in the world.

    Args:
        geometry: In the frame [m].
        pose: Where the frame lies: x, y [m] and yaw [rad].
    """
    x, y, yaw = pose
    if yaw == 0.0:
        return shapely.transform(geometry, lambda points: points + np.array([x, y]))
    c, s = math.cos(yaw), math.sin(yaw)
    turn = np.array([[c, s], [-s, c]])
    return shapely.transform(geometry, lambda points: points @ turn + np.array([x, y]))


def inverse(pose: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the pose that takes the world back to a frame: x, y [m] and yaw [rad].

    Args:
        pose: Where the frame lies.
    """
    x, y, yaw = pose
    c, s = math.cos(yaw), math.sin(yaw)
    return -(c * x + s * y), s * x - c * y, -yaw


def _mass(prim: Usd.Prim | None, area: shapely.Geometry, top: float) -> float:
    unit = 1.0
    if prim:
        unit = float(UsdPhysics.GetStageKilogramsPerUnit(prim.GetStage()))
        mass = (
            UsdPhysics.MassAPI(prim).GetMassAttr().Get() if prim.HasAPI(UsdPhysics.MassAPI) else 0
        )
        if mass:
            return float(mass * unit)
    return float(round(max(_DENSITY * area.area * top, 0.1), 3))


def _velocity(stage: Usd.Stage, prim: Usd.Prim) -> tuple[float, float, float]:
    api = UsdPhysics.RigidBodyAPI(prim)
    linear = api.GetVelocityAttr().Get() or (0.0, 0.0, 0.0)
    angular = api.GetAngularVelocityAttr().Get() or (0.0, 0.0, 0.0)
    units = stage_units(stage)
    x, y, _ = units.point(*linear)
    turn = float((np.array(angular) @ units.rotation)[2])
    return x, y, math.radians(turn)


def label_of(prim: Any) -> str:
    """Return the nearest semantic label of a prim or its ancestors, new or old style.

    Args:
        prim: A prim, or None.
    """
    while prim and not prim.IsPseudoRoot():
        for name in prim.GetAuthoredPropertyNames():
            if name.startswith("semantics:labels:"):
                values = prim.GetAttribute(name).Get()
                if values:
                    return str(values[0])
            if name.startswith("semantic:") and name.endswith(":params:semanticData"):
                value = prim.GetAttribute(name).Get()
                if value:
                    return str(value)
        prim = prim.GetParent()
    return ""
