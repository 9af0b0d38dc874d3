"""Worlds of public stages in the real IR-SIM, and what a lidar sees in them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely

pytest.importorskip("pxr")

from irsim_isaac.errors import StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.lidar.ray_casting import RayCaster
from irsim_isaac.resources import resource
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.geometry import read_geometry
from irsim_isaac.stage.opening import open_stage
from irsim_isaac.stage.world import build_world

CELL = 0.05
BEAMS = 180
POSES = 100


def test_the_worlds_of_all_public_stages_load_and_step(shared, irsim, tmp_path):
    loaded = 0
    for file in sorted((shared / "usd").rglob("*.usd*")):
        try:
            stage = open_stage(file)
            geometry = read_geometry(stage)
        except StageError:
            continue
        if not geometry.parts:
            continue
        heights = np.concatenate([part.points[:, 2] for part in geometry.parts])
        low, high = float(heights.min()), float(heights.max())
        if high - low < 1e-3:
            low, high = low - 0.01, high + 0.01
        world = build_world(stage, robots=(), geometry=geometry, height=(low, high))
        env = irsim.make(str(world.save(tmp_path)), headless=True, log_level="ERROR")
        try:
            sections = [
                len(item.lines) + bool(item.polygons or item.radius) for item in world.obstacles
            ]
            assert len(env.obstacle_list) == sum(sections) > 0, file
            for _ in range(100):
                env.step()
            assert env.world_param.count == 100
        finally:
            env.end(0)
        loaded += 1
    assert loaded > 90


def _free_places(world, rng: np.random.Generator) -> np.ndarray:
    """Return places that are at least two cells away from every obstacle, with headings."""
    blocked = shapely.union_all(
        [piece for item in world.obstacles for piece in (item.area(), item.outline())]
    ).buffer(2.0 * CELL)
    x, y = world.offset
    places = rng.uniform((x, y, -math.pi), (x + world.width, y + world.height, math.pi), (4000, 3))
    return places[~shapely.contains_xy(blocked, places[:, 0], places[:, 1])][:POSES]


@pytest.mark.parametrize("name", ["warehouse", "pegasus/BoxWithCylinders.usd"])
def test_a_lidar_in_the_world_agrees_with_rays_on_the_meshes(
    name, request, irsim, tmp_path, record_property
):
    """Within a cell, save where a beam grazes an edge and the next one flies past it."""
    if name == "warehouse":
        file, height = resource("data/warehouse.usda"), 0.28
    else:
        file, height = Path(request.getfixturevalue("shared")) / "usd" / name, 0.4
    stage = open_stage(file)
    profile = LidarProfile.full_turn("even", BEAMS, range_min=0.0, range_max=20.0)
    spec = RobotSpec("r", footprint=0.01, lidars=(LidarMount(profile, z=height),))
    world = build_world(stage, robots=[spec], starts={"r": (0.0, 0.0, 0.0)}, mode="lidar")
    places = _free_places(world, np.random.default_rng(3))
    assert len(places) == POSES
    env = irsim.make(str(world.save(tmp_path)), headless=True, step_mode="external")
    seen = np.empty((POSES, BEAMS))
    try:
        for row, place in enumerate(places):
            env.robot.set_state(place.tolist())
            env.robot.set_velocity([0.0, 0.0])
            env.step()
            seen[row] = env.robot.lidar.range_data
    finally:
        env.end(0)

    parts = read_geometry(stage, tolerance=1e-3).parts
    counts = np.cumsum([0, *(len(part.points) for part in parts)])[:-1]
    caster = RayCaster(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.triangles + first for part, first in zip(parts, counts, strict=True)]),
    )

    def cast(turn: float) -> np.ndarray:
        angles = (places[:, 2:] + profile.bearings + turn).ravel()
        ways = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
        starts = np.repeat(np.column_stack([places[:, :2], np.full(POSES, height)]), BEAMS, axis=0)
        ranges = caster.cast(starts, ways, range_max=20.0).reshape(POSES, BEAMS)
        return np.minimum(ranges, 20.0)

    truth = cast(0.0)
    apart = np.abs(seen - truth) > CELL
    beside = np.stack([cast(turn) for turn in (-5e-4, -1e-4, 1e-4, 5e-4)])
    grazing = np.ptp(np.concatenate([beside, truth[None]]), axis=0) > CELL
    record_property("share_of_beams_apart_at_silhouettes", float(apart.mean()))
    assert not (apart & ~grazing).any()
    assert apart.mean() < 0.002
