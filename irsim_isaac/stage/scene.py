"""An IR-SIM world as a USD stage: raised shapes, robots that PhysX drives, starts and goals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import shapely

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy
from irsim_isaac.robot import RobotSpec
from irsim_isaac.stage.footprints import cells_area, simple_polygons
from irsim_isaac.stage.names import BOUNDS_ATTRIBUTE, GOAL_ATTRIBUTE, NAME_ATTRIBUTE
from irsim_isaac.stage.obstacles import Obstacle, Ring, placed
from irsim_isaac.stage.triangulation import triangulate
from irsim_isaac.stage.usd import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt
from irsim_isaac.stage.wheeled import add_wheeled_robot
from irsim_isaac.stage.world import Pose, World

__all__ = ["grid_polygons", "world_to_stage"]

_GROUND_THICKNESS = 1.0
"""PhysX pushes thin wheels out of a thin wide slab sideways [m]."""

_GROUND_MARGIN = 2.0
_GRAVITY = 9.81


def world_to_stage(world: World, *, obstacle_height: float = 1.0) -> Usd.Stage:
    """Raise an IR-SIM world to a stage, in metres with z up.

    Obstacles become prisms, discs cylinders, lines upright sheets, the occupied cells of the map
    merged prisms, each with a collider and a semantic label; what can be pushed is a rigid body.
    Robots become articulations that PhysX drives, with their lidars as OmniLidar prims. Goals
    are prims without a shape.

    Args:
        world: The world.
        obstacle_height: The height of obstacles that say nothing of theirs [m].

    Returns:
        A stage in memory; ``stage.GetRootLayer().Export(path)`` writes it.
    """
    if not (math.isfinite(obstacle_height) and obstacle_height > 0.0):
        raise StageError(f"obstacle_height is {obstacle_height:g} m, expected more than 0")
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    top = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    stage.SetDefaultPrim(top)
    x, y = world.offset
    top.CreateAttribute(BOUNDS_ATTRIBUTE, Sdf.ValueTypeNames.Double4).Set(
        Gf.Vec4d(x, y, x + world.width, y + world.height)
    )
    scene = UsdPhysics.Scene.Define(stage, "/World/PhysicsScene")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
    scene.CreateGravityMagnitudeAttr(_GRAVITY)
    _ground(stage, world)
    paths = _Paths()
    for obstacle in world.obstacles:
        path = f"/World/Obstacles/{paths.identifier(obstacle.name)}"
        _obstacle(stage, obstacle, path, obstacle.height or obstacle_height)
    if world.grid is not None:
        polygons = grid_polygons(world.grid)
        if polygons:
            path = f"/World/{paths.identifier('Map')}"
            _prisms(stage, path, polygons, obstacle_height)
            _dress(stage.GetPrimAtPath(path), "map", "wall")
    for spec in world.robots:
        _robot(stage, world, spec, f"/World/Robots/{paths.identifier(spec.name)}")
    return stage


class _Paths:
    """Names that USD takes, no two the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def identifier(self, name: str) -> str:
        base = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        if base[0].isdigit():
            base = f"_{base}"
        unique, count = base, 1
        while unique in self._taken:
            count += 1
            unique = f"{base}_{count}"
        self._taken.add(unique)
        return unique


def _ground(stage: Usd.Stage, world: World) -> None:
    cube = UsdGeom.Cube.Define(stage, "/World/Ground")
    cube.CreateSizeAttr(1.0)
    cube.CreateExtentAttr([(-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)])
    x, y = world.offset
    center = Gf.Vec3d(x + world.width / 2.0, y + world.height / 2.0, -_GROUND_THICKNESS / 2.0)
    cube.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(center)
    cube.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(
        Gf.Vec3d(
            world.width + 2.0 * _GROUND_MARGIN,
            world.height + 2.0 * _GROUND_MARGIN,
            _GROUND_THICKNESS,
        )
    )
    cube.CreateDisplayColorAttr([(0.4, 0.4, 0.4)])
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    _label(cube.GetPrim(), "floor")


def _obstacle(stage: Usd.Stage, item: Obstacle, path: str, height: float) -> None:
    frame = UsdGeom.Xform.Define(stage, path)
    x, y, yaw = item.pose
    frame.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(x, y, 0.0))
    frame.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(
        Gf.Quatd(math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0))
    )
    _dress(frame.GetPrim(), item.name, item.label or "obstacle")
    if item.radius is not None:
        _disc(stage, f"{path}/Disc", item.radius, height)
    if item.polygons:
        _prisms(stage, f"{path}/Area", item.polygons, height, moving=item.moving)
    if item.lines:
        _sheets(stage, f"{path}/Lines", item.lines, height)
    if item.mass is not None:
        prim = frame.GetPrim()
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        vx, vy, turning = item.velocity
        if any(item.velocity):
            body.CreateVelocityAttr(Gf.Vec3f(vx, vy, 0.0))
            body.CreateAngularVelocityAttr(Gf.Vec3f(0.0, 0.0, math.degrees(turning)))
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(item.mass)
    if item.friction is not None:
        _friction(stage, path, item.friction)


def _dress(prim: Usd.Prim, name: str, label: str) -> None:
    prim.CreateAttribute(NAME_ATTRIBUTE, Sdf.ValueTypeNames.String).Set(name)
    _label(prim, label)


def _label(prim: Usd.Prim, label: str) -> None:
    # By its name, because older USD does not know the schema; Isaac Sim reads both alike.
    prim.AddAppliedSchema("SemanticsLabelsAPI:class")
    prim.CreateAttribute("semantics:labels:class", Sdf.ValueTypeNames.TokenArray, custom=False).Set(
        [label]
    )


def _friction(stage: Usd.Stage, path: str, friction: float) -> None:
    material = UsdShade.Material.Define(stage, f"{path}/Ground_contact")
    api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    api.CreateStaticFrictionAttr(friction)
    api.CreateDynamicFrictionAttr(friction)
    UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(path)).Bind(
        material, materialPurpose="physics"
    )


def _disc(stage: Usd.Stage, path: str, radius: float, height: float) -> None:
    shape = UsdGeom.Cylinder.Define(stage, path)
    shape.CreateRadiusAttr(radius)
    shape.CreateHeightAttr(height)
    shape.CreateAxisAttr(UsdGeom.Tokens.z)
    shape.CreateExtentAttr([(-radius, -radius, -height / 2.0), (radius, radius, height / 2.0)])
    shape.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(0.0, 0.0, height / 2.0))
    shape.CreateDisplayColorAttr([(0.5, 0.5, 0.55)])
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())


def _prisms(
    stage: Usd.Stage, path: str, rings: Sequence[Ring], height: float, *, moving: bool = False
) -> None:
    """Write polygons raised to a height as one closed mesh of triangles."""
    points: list[tuple[float, float, float]] = []
    triangles: list[tuple[int, int, int]] = []
    for ring in rings:
        first, count = len(points), len(ring)
        points += [(x, y, z) for z in (0.0, height) for x, y in ring]
        flat = np.array([(x, y, 0.0) for x, y in ring])
        cap = triangulate(flat, np.array([count]), np.arange(count))
        for a, b, c in cap.tolist():
            triangles.append((first + a, first + c, first + b))
            triangles.append((first + count + a, first + count + b, first + count + c))
        for i in range(count):
            a, b = first + i, first + (i + 1) % count
            triangles += [(a, b, b + count), (a, b + count, a + count)]
    mesh = _mesh(stage, path, points, triangles)
    approximation = UsdPhysics.Tokens.none
    if moving:
        # PhysX moves convex shapes alone.
        one = len(rings) == 1 and _is_convex(rings[0])
        approximation = (
            UsdPhysics.Tokens.convexHull if one else UsdPhysics.Tokens.convexDecomposition
        )
    UsdPhysics.MeshCollisionAPI.Apply(mesh).CreateApproximationAttr(approximation)


def _is_convex(ring: Ring) -> bool:
    polygon = shapely.Polygon(ring)
    return bool(polygon.convex_hull.area - polygon.area <= 1e-9 * polygon.area)


def _sheets(stage: Usd.Stage, path: str, lines: Sequence[Ring], height: float) -> None:
    """Write lines as upright walls without thickness."""
    points: list[tuple[float, float, float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in lines:
        first, count = len(points), len(line)
        points += [(x, y, z) for z in (0.0, height) for x, y in line]
        for i in range(count - 1):
            a, b = first + i, first + i + 1
            triangles += [(a, b, b + count), (a, b + count, a + count)]
    mesh = _mesh(stage, path, points, triangles)
    UsdPhysics.MeshCollisionAPI.Apply(mesh).CreateApproximationAttr(UsdPhysics.Tokens.none)
    UsdGeom.Mesh(mesh).CreateDoubleSidedAttr(True)


def _mesh(
    stage: Usd.Stage,
    path: str,
    points: Sequence[tuple[float, float, float]],
    triangles: Sequence[tuple[int, int, int]],
) -> Usd.Prim:
    mesh = UsdGeom.Mesh.Define(stage, path)
    corners = np.array(points)
    # Points are single precision; about the middle they lose least.
    middle = np.round((corners.min(axis=0) + corners.max(axis=0)) / 2.0, 3)
    mesh.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*middle.tolist()))
    array = Vt.Vec3fArray.FromNumpy((corners - middle).astype(np.float32))
    mesh.CreatePointsAttr(array)
    mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(array))
    mesh.CreateFaceVertexCountsAttr([3] * len(triangles))
    mesh.CreateFaceVertexIndicesAttr([index for triangle in triangles for index in triangle])
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateDisplayColorAttr([(0.5, 0.5, 0.55)])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    return mesh.GetPrim()


def _robot(stage: Usd.Stage, world: World, spec: RobotSpec, path: str) -> None:
    written = add_wheeled_robot(stage, spec, world.starts[spec.name], path)
    prim = stage.GetPrimAtPath(written.root)
    _dress(prim, spec.name, "robot")
    for number, goal in enumerate(world.goals.get(spec.name, ())):
        _goal(stage, f"/World/Goals/{prim.GetName()}_{number}", spec.name, goal)


def _goal(stage: Usd.Stage, path: str, robot: str, goal: Pose) -> None:
    x, y, yaw = goal
    frame = UsdGeom.Xform.Define(stage, path)
    frame.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(x, y, 0.0))
    frame.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(
        Gf.Quatd(math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0))
    )
    frame.GetPrim().CreateAttribute(GOAL_ATTRIBUTE, Sdf.ValueTypeNames.String).Set(robot)


def grid_polygons(grid: Occupancy) -> list[Ring]:
    """Return the occupied cells of a grid, merged, as simple polygons in the world [m].

    Args:
        grid: The grid; unknown cells are not occupied.
    """
    area = cells_area(np.asarray(grid.cells) > 50)
    x, y, yaw = grid.origin
    rings = []
    for polygon in simple_polygons(area):
        corners = shapely.Polygon(np.array(polygon.exterior.coords) * grid.resolution)
        outline = shapely.get_coordinates(placed(corners, (x, y, yaw)))[:-1]
        rings.append(tuple((float(px), float(py)) for px, py in outline))
    return rings
