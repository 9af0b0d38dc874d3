"""A wall stands in the same metres for everybody who reads its map."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
import yaml
from PIL import Image

from irsim_isaac.cli import main
from irsim_isaac.map import load_ros_map

pytest.importorskip("pxr")

from pxr import Gf, Usd, UsdGeom

THICK = 0.08


def _wall_stage(path, rng):
    """Write a thin wall below a scaled parent in random units, and return its outline [m]."""
    unit, up = float(rng.choice([1.0, 0.01, 0.0254])), str(rng.choice(["Y", "Z"]))
    x, y = (float(value) for value in rng.uniform(-7.0, 7.0, 2))
    length = float(rng.uniform(1.0, 4.0))
    yaw = float(rng.choice([0.0, rng.uniform(0.0, math.pi)]))
    placed = (
        Gf.Matrix4d().SetScale(Gf.Vec3d(length, THICK, 1.0))
        * Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(0, 0, 1), math.degrees(yaw)))
        * Gf.Matrix4d().SetTranslate(Gf.Vec3d(x, y, 0.5))
    )
    if up == "Y":
        placed *= Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(1, 0, 0), -90.0))
    placed *= Gf.Matrix4d().SetScale(1.0 / unit)
    parent = Gf.Matrix4d().SetScale(float(rng.uniform(0.2, 5.0)))
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, unit)
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.Xform.Define(stage, "/Parent").AddTransformOp().Set(parent)
    cube = UsdGeom.Cube.Define(stage, "/Parent/Wall")
    cube.GetSizeAttr().Set(1.0)
    cube.AddTransformOp().Set(placed * parent.GetInverse())
    stage.GetRootLayer().Export(str(path))
    box = shapely.box(-length / 2.0, -THICK / 2.0, length / 2.0, THICK / 2.0)
    turned = shapely.affinity.rotate(box, yaw, origin=(0.0, 0.0), use_radians=True)
    return shapely.affinity.translate(turned, x, y)


def _places(x, y):
    return set(zip(np.round(x, 6).tolist(), np.round(y, 6).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_thin_wall_lies_in_the_same_cells_for_us_for_nav2_and_for_irsim(seed, tmp_path, irsim):
    rng = np.random.default_rng(seed)
    stage = tmp_path / "stage.usda"
    wall = _wall_stage(stage, rng)
    side = float(rng.choice([0.03, 0.05, 0.1]))
    options = ["--resolution", str(side), "--solid", "occupied"]
    assert main(["map", str(stage), "-o", str(tmp_path / "map"), *options]) == 0
    file = tmp_path / "map" / "map.yaml"
    assert main(["world", str(file), "-o", str(tmp_path / "world")]) == 0

    grid = load_ros_map(file)
    ix, iy = np.nonzero(grid.cells == 100)
    ours = _places(grid.origin[0] + (ix + 0.5) * side, grid.origin[1] + (iy + 0.5) * side)

    # By nav2's rules: the lower left pixel's corner lies at the origin, rows run down.
    content = yaml.safe_load(file.read_text())
    shades = np.asarray(Image.open(file.parent / content["image"]).convert("L"), float) / 255.0
    taken = (shades if content["negate"] else 1.0 - shades) > content["occupied_thresh"]
    rows, columns = np.nonzero(taken)
    x, y, _ = content["origin"]
    up = taken.shape[0] - 1 - rows
    assert _places(x + (columns + 0.5) * side, y + (up + 0.5) * side) == ours

    env = irsim.make(str(tmp_path / "world" / "world.yaml"), headless=True, log_level="ERROR")
    try:
        world = env._world
        theirs = np.asarray(world.grid_map) > 50
        dx, dy = world.width / theirs.shape[0], world.height / theirs.shape[1]
        kx, ky = np.nonzero(theirs)
        assert _places(world.offset[0] + (kx + 0.5) * dx, world.offset[1] + (ky + 0.5) * dy) == ours
    finally:
        env.end(0)

    # And by geometry: no cell that the wall is in is missing, none beyond it is there.
    jx, jy = np.indices(grid.shape)
    left, low = grid.origin[0] + jx * side, grid.origin[1] + jy * side
    cells = shapely.box(left, low, left + side, low + side)
    inside = shapely.area(shapely.intersection(cells, wall)) > 1e-3 * side**2
    near = shapely.intersects(cells, wall.buffer(1e-3 * side))
    assert (grid.cells[inside] == 100).all()
    assert (grid.cells[~near] != 100).all()
