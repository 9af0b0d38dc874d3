"""Random stages of colliders, and the cells that PhysX and a map decide differently."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.stage import build_occupancy, open_stage
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
        cells = build_occupancy(
            open_stage(path),
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
    wrong = decided & (ours != inner)
    return int(decided.sum()), int((~decided).sum()), index[wrong]
