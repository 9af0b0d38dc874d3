"""The furnished flat and its twin in centimetres with y up are one flat."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from irsim_isaac.resources import resource

pytest.importorskip("pxr")

from irsim_isaac.stage import (
    build_occupancy,
    build_world,
    find_rooms,
    item_relations,
    open_stage,
    robot_specs,
    robot_starts,
    room_map,
    stage_units,
    world_model,
)

NAMES = ("flat.usda", "flat_cm_y_up.usda")


@pytest.fixture(scope="module")
def twins():
    return [open_stage(resource(f"data/{name}"), strict=True) for name in NAMES]


def test_the_script_reproduces_both_byte_for_byte(tmp_path):
    script = resource("data/make_flat_stages.py")
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == resource(f"data/{name}").read_bytes()
        assert (tmp_path / name).stat().st_size < 200_000


def test_they_have_the_units_that_they_are_called_by(twins):
    assert [(units.meters_per_unit, units.up_axis, units.warnings)
            for units in map(stage_units, twins)] == [(1.0, "Z", ()), (0.01, "Y", ())]  # fmt: skip


def test_robots_and_starts_are_equal(twins):
    assert robot_specs(twins[0]) == robot_specs(twins[1])
    assert robot_starts(twins[0]) == robot_starts(twins[1]) == {"seeker": (0.7, 4.65, 0.0)}
    (mount,) = robot_specs(twins[0])[0].lidars
    assert (mount.x, mount.y, mount.z, mount.roll, mount.pitch) == (0.0, 0.0, 0.22, 0.0, 0.0)


@pytest.mark.parametrize("height", [(0.1, 0.62), (0.1, 1.8), (0.5, 0.9)])
def test_occupancy_is_equal_cell_by_cell(twins, height):
    first, second = (build_occupancy(stage, resolution=0.05, height=height) for stage in twins)
    assert first.origin == second.origin
    assert np.array_equal(first.cells, second.cells)


def test_worlds_have_the_same_obstacles(twins):
    first, second = (build_world(stage, robots=()) for stage in twins)
    assert [item.name for item in first.obstacles] == [item.name for item in second.obstacles]
    assert "Kitchen Counter" in {item.name for item in first.obstacles}
    for one, other in zip(first.obstacles, second.obstacles, strict=True):
        assert one.area().hausdorff_distance(other.area()) < 1e-6
    assert [low.name for low in first.low] == [low.name for low in second.low]


def test_rooms_are_found_without_their_labels(twins):
    first, second = (find_rooms(room_map(stage)) for stage in twins)
    assert np.array_equal(first.labels, second.labels)
    assert len(first.rooms) == 6
    assert first.omissions == ()
    # Everything is connected by six doors of 0.9 m.
    assert {door.rooms for door in first.doors} == {
        (0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (2, 5)
    }  # fmt: skip
    for door in first.doors:
        assert door.width == pytest.approx(0.9, abs=0.051)


def test_world_models_are_equal(twins):
    first, second = map(world_model, twins)
    assert first.omissions == second.omissions == ()
    places, others = first.frames(), second.frames()
    assert list(places) == list(others)
    for frame, matrix in places.items():
        assert np.allclose(matrix, others[frame], rtol=0.0, atol=1e-9), frame
    assert [room.name for room in first.rooms] == [
        "Hall", "Living Room", "Kitchen", "Bedroom", "Bathroom", "Study"
    ]  # fmt: skip
    named = [(surface.name, surface.aliases, surface.width, surface.height,
              [poi.name for poi in surface.pois], [part.frame_id for part in surface.placements])
             for _, surface in first.surfaces()]  # fmt: skip
    assert named == [
        (surface.name, surface.aliases, surface.width, surface.height,
         [poi.name for poi in surface.pois], [part.frame_id for part in surface.placements])
        for _, surface in second.surfaces()
    ]  # fmt: skip
    assert len(named) == 15
    for one, other in zip(first.items, second.items, strict=True):
        assert (one.name, one.frame_id) == (other.name, other.frame_id)
        assert (one.width, one.height, one.bottom, one.top) == pytest.approx(
            (other.width, other.height, other.bottom, other.top), abs=1e-6
        )
    for stage, model in zip(twins, (first, second), strict=True):
        assert [relation.surface for relation in item_relations(stage, model)] == [
            "KitchenCounter", "DiningTable", "CoffeeTable", "DiningTable", "Sofa", "HallTable"
        ]  # fmt: skip


def test_every_part_of_a_surface_has_a_place_before_it(twins):
    model = world_model(twins[0])
    floor = build_occupancy(twins[0], resolution=0.05, height=(0.1, 0.62))
    frames = model.frames()
    for _, surface in model.surfaces():
        for part in surface.placements:
            assert part.nav_goal is not None
            stand = frames[part.nav_goal.frame_id]
            assert floor.cells[floor.world_to_cell(*stand[:2, 3])] == 0
            away = frames[part.frame_id][:2, 3] - stand[:2, 3]
            assert 0.4 < np.hypot(*away) < 1.6
            # It looks at the part, give or take.
            assert away @ stand[:2, 0] > 0.7 * np.hypot(*away), part.frame_id
