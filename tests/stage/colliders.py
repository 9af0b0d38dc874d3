"""Random stages of colliders, and the cells that PhysX and a map decide differently."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.stage import Part, build_occupancy, open_stage, read_geometry
from tests.oracles.physx_overlap import PhysxOverlap
from tests.stage.builders import BOX_FACES, add_mesh, box_points, new_stage

SIDE = 6.0
RESOLUTION = 0.1
BAND = (0.2, 0.7)
NEAR = 1e-4
"""Cells whose box comes this near [m] to a surface are for either side to decide."""

# PhysX's bounding sphere of a mesh that is no box need not hold the mesh, so it is no oracle.
_APPROXIMATIONS = ("none", "convexHull", "boundingCube", "boundingSphere")


def random_colliders(seed: int) -> Usd.Stage:
    """Scatter meshes and implicit shapes, turned and stretched, with colliders."""
    rng = np.random.default_rng(seed)
    stage = new_stage()
    UsdPhysics.Scene.Define(stage, "/Physics")
    UsdGeom.Xform.Define(stage, "/World")
    for index in range(int(rng.integers(3, 9))):
        kind = str(rng.choice(["Mesh", "Wedge", "Cube", "Sphere", "Cylinder", "Capsule", "Cone"]))
        path = f"/World/{kind}_{index}"
        size = rng.uniform(0.2, 1.2, 3)
        if kind in ("Mesh", "Wedge"):
            points = box_points(-size / 2, size / 2)
            if kind == "Wedge":
                points[4:] *= [0.3, 0.5, 1.0]
            triangles = np.concatenate([BOX_FACES[:, [0, 1, 2]], BOX_FACES[:, [0, 2, 3]]])
            shape = add_mesh(stage, path, points, triangles)
            api = UsdPhysics.MeshCollisionAPI.Apply(shape.GetPrim())
            known = _APPROXIMATIONS if kind == "Mesh" else _APPROXIMATIONS[:3]
            api.CreateApproximationAttr(str(rng.choice(known)))
        else:
            shape = getattr(UsdGeom, kind).Define(stage, path)
            if kind == "Cube":
                shape.CreateSizeAttr(float(size[0]))
            else:
                shape.CreateRadiusAttr(float(size[0] / 2))
            if kind in ("Cylinder", "Capsule", "Cone"):
                shape.CreateHeightAttr(float(size[1]))
                shape.CreateAxisAttr(str(rng.choice(["X", "Y", "Z"])))
        place = (*rng.uniform(0.8, SIDE - 0.8, 2), rng.uniform(0.0, 0.9))
        shape.AddTranslateOp().Set(Gf.Vec3d(*map(float, place)))
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        shape.AddOrientOp().Set(Gf.Quatf(*map(float, turn)))
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return stage


def disagreeing_cells(seed: int) -> tuple[int, int, NDArray[np.int64]]:
    """Compare a random stage's map with PhysX cell by cell.

    Returns:
        How many cells were compared and how many were too near to a surface to be, and the
        cells that the two decide differently, shape (n, 2).
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "colliders.usda"
        scattered = random_colliders(seed)
        scattered.GetRootLayer().Export(str(path))
        stage = open_stage(path)
        surfaces = read_geometry(stage, source="collision").parts
        cells = build_occupancy(
            stage,
            resolution=RESOLUTION,
            height=BAND,
            bounds=(0.0, 0.0, SIDE, SIDE),
            geometry="collision",
        ).cells
        index = np.argwhere(np.ones(cells.shape, dtype=bool))
        centers = np.column_stack([(index + 0.5) * RESOLUTION, np.full(len(index), sum(BAND) / 2)])
        half = np.array([RESOLUTION / 2, RESOLUTION / 2, (BAND[1] - BAND[0]) / 2])
        with PhysxOverlap(path) as physx:
            larger, smaller = half + NEAR, half - NEAR
            outer = physx.touched(centers, (larger[0], larger[1], larger[2]))
            inner = physx.touched(centers, (smaller[0], smaller[1], smaller[2]))
    decided = outer == inner
    ours = (cells == 100).reshape(-1)
    for number in np.flatnonzero(decided & (ours != inner)):
        # PhysX's own distances are good to some 1e-4 m only; the surfaces themselves say more.
        decided[number] = not touches_surface(surfaces, index[number])
    wrong = decided & (ours != inner)
    return int(decided.sum()), int((~decided).sum()), index[wrong]


def touches_surface(parts: tuple[Part, ...], cell: NDArray[np.int64]) -> bool:
    """Tell whether a surface comes within NEAR of the sides of a cell's box."""
    low = np.array([*(cell * RESOLUTION), BAND[0]]) - NEAR
    high = np.array([*((cell + 1) * RESOLUTION), BAND[1]]) + NEAR
    inside = shapely.box(
        low[0] + 2 * NEAR, low[1] + 2 * NEAR, high[0] - 2 * NEAR, high[1] - 2 * NEAR
    )
    square = shapely.box(low[0], low[1], high[0], high[1])
    for part in parts:
        at = part.points[part.triangles]
        for triangle in at[
            (at.min(axis=1) <= high).all(axis=1) & (at.max(axis=1) >= low).all(axis=1)
        ]:
            piece = clip(triangle, low[2], high[2])
            if not shapely.intersects(piece, square):
                continue
            deep = clip(triangle, low[2] + 2 * NEAR, high[2] - 2 * NEAR)
            if not shapely.intersects(deep, inside):
                return True
    return False


def clip(triangle: NDArray[np.float64], low: float, high: float) -> shapely.Geometry:
    """Cut a triangle at two heights, seen from above."""
    kept = [point[:2] for point in triangle if low <= point[2] <= high]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for level in (low, high):
            p, q = sorted((triangle[a], triangle[b]), key=lambda point: float(point[2]))
            if p[2] < level < q[2]:
                kept.append((p + (level - p[2]) / (q[2] - p[2]) * (q - p))[:2])
    return shapely.convex_hull(shapely.multipoints(kept))
