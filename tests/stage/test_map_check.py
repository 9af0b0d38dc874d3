"""Maps against their stages, floors, and what lidar and physics disagree about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy, load_ros_map
from irsim_isaac.resources import resource
from irsim_isaac.stage import (
    build_floors,
    build_occupancy,
    check_map,
    compare_sources,
    open_stage,
    read_geometry,
    stage_overrides,
    survey_stage,
)
from tests.stage.builders import add_box, add_cube, add_mesh, new_stage


def room() -> Usd.Stage:
    stage = new_stage()
    add_box(stage, "/Wall", (0, 0, 0), (6, 0.2, 2))
    add_cube(stage, "/Crate", (2, 2, 0.5))
    return stage


def saved(occupancy: Occupancy, folder: Path) -> Occupancy:
    return load_ros_map(occupancy.save_ros(folder))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"resolution": 0.1, "height": (0.2, 0.4), "floor": 0.05, "bounds": (-1, -1, 7, 3)},
        {"mode": "lidar", "height": 0.3, "exclude": ["/Crate"]},
        {"seeds": [(4.0, 1.0)], "bounds": (-1, -1, 7, 3), "solid": "occupied"},
    ],
)
def test_a_map_read_back_is_its_stage(tmp_path: Path, options: dict[str, object]) -> None:
    made = build_occupancy(room(), **options)  # type: ignore[arg-type]
    result = check_map(saved(made, tmp_path), room())
    assert result.good
    assert result.digest == result.recorded
    assert result.area is None


def moved(stage: Usd.Stage) -> None:
    UsdGeom.Xformable(stage.GetPrimAtPath("/Crate")).GetOrderedXformOps()[0].Set((2, 2.5, 0.5))


def under_the_band(stage: Usd.Stage) -> None:
    add_cube(stage, "/Crate/Mat", (0, 0, -0.45), (0.5, 0.5, 0.01))


def farther(stage: Usd.Stage) -> None:
    add_cube(stage, "/Far", (20, 2, 0.5))


@pytest.mark.parametrize(
    ("change", "cells"),
    [(moved, 400), (under_the_band, 0), (farther, -1)],
)
def test_a_changed_stage_is_told_with_the_cells(
    tmp_path: Path, change: Callable[[Usd.Stage], None], cells: int
) -> None:
    bounds = (-1, -1, 7, 4) if change is not farther else None
    old = saved(build_occupancy(room(), bounds=bounds), tmp_path)
    stage = room()
    change(stage)
    result = check_map(old, stage)
    assert not result.good
    assert not result.same_stage
    assert result.changed_cells == cells
    if cells > 0:
        assert result.area == pytest.approx((1.5, 1.5, 2.5, 3.0))


def test_what_a_body_moves_is_no_change(tmp_path: Path) -> None:
    old = saved(build_occupancy(room()), tmp_path)
    stage = room()
    box = add_cube(stage, "/Loose", (4, 2, 0.5))
    UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
    assert check_map(old, stage).good


def test_an_edited_image_is_told(tmp_path: Path) -> None:
    made = build_occupancy(room())
    cells = made.cells.copy()
    cells[3, 40] = 100
    edited = Occupancy(cells, made.resolution, made.origin, made.report)
    result = check_map(saved(edited, tmp_path), room())
    assert result.same_stage
    assert result.changed_cells == 1


def test_a_map_of_elsewhere_says_nothing_of_a_stage() -> None:
    with pytest.raises(StageError, match="does not say from which stage"):
        check_map(Occupancy(np.zeros((3, 3), np.int8), 1.0), room())
    given = build_occupancy(room(), geometry=read_geometry(room()))
    with pytest.raises(StageError, match="surfaces that were given"):
        check_map(given, room())


def test_overrides_are_kept_with_the_map(tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(
        '#usda 1.0\ndef Xform "D" (\n variants = { string state = "open" }\n'
        ' prepend variantSets = "state"\n) {\n variantSet "state" = {\n'
        '  "open" {\n  }\n  "closed" {\n def Cube "c" {}\n  }\n }\n}\n'
    )
    overrides = {"meters_per_unit": 1.0, "up_axis": "Z", "variants": {"/D:state": "closed"}}
    stage = open_stage(path, **overrides)  # type: ignore[arg-type]
    assert stage_overrides(stage) == overrides
    made = saved(build_occupancy(stage), tmp_path / "map")
    assert made.report.parameters["opened_with"] == overrides


def two_floors() -> Usd.Stage:
    stage = new_stage()
    add_cube(stage, "/Low", (1, 5, 0.5))
    add_cube(stage, "/High", (5, 5, 3.5))
    slope = [(0, 0, 0), (8, 0, 3), (8, 2, 3), (0, 2, 0)]
    add_mesh(stage, "/Ramp", slope, [[0, 1, 2, 3]])
    ladder = [(9, 0, 0), (9.2, 0, 3), (9.2, 1, 3), (9, 1, 0)]
    add_mesh(stage, "/Ladder", ladder, [[0, 1, 2, 3]])
    return stage


def test_each_floor_has_its_own_map_and_names_its_ramps() -> None:
    options = {"resolution": 0.25, "bounds": (0, 0, 10, 6)}
    low, high = build_floors(two_floors(), [0.0, 3.0], **options)
    assert low == build_occupancy(two_floors(), floor=0.0, **options)
    assert high == build_occupancy(two_floors(), floor=3.0, **options)
    assert low.cells[4, 20] == 100 != high.cells[4, 20]
    assert high.cells[20, 20] == 100 != low.cells[20, 20]
    for made in (low, high):
        (warning,) = made.report.warnings
        assert warning.startswith("/Ramp is a ramp from the floor at 0 m to the floor at 3 m")


def test_floors_that_do_not_rise_are_refused() -> None:
    for floors in ([], [3.0, 0.0], [1.0, 1.0]):
        with pytest.raises(StageError, match="rising heights"):
            build_floors(two_floors(), floors)


def test_what_one_sees_and_the_other_does_not_touch_is_named() -> None:
    stage = new_stage()
    both = add_cube(stage, "/Both", (0, 0, 0.5))
    add_cube(stage, "/Glassless", (3, 0, 0.5))
    ghost = add_cube(stage, "/Ghost", (6, 0, 0.5))
    ghost.CreateVisibilityAttr("invisible")
    ground = UsdGeom.Plane.Define(stage, "/Ground")
    for prim in (both, ghost, ground):
        UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    found = compare_sources(stage)
    assert found.seen_only == ("/Glassless",)
    assert found.touched_only == ("/Ghost",)
    assert not found.good
    assert compare_sources(stage, exclude=["/G*"]).good


def test_the_survey_of_the_demo_stage_is_right() -> None:
    survey = survey_stage(open_stage(resource("data/warehouse.usda")))
    assert (survey.meters_per_unit, survey.up_axis) == (1.0, "Z")
    assert survey.prims["OmniLidar"] == 1
    assert survey.prims["PhysicsScene"] == 1
    assert len(survey.bodies) == 1
    assert len(survey.lidars) == 1
    assert survey.consistency.good
    assert survey.problems == ()


def test_the_survey_names_what_is_wrong() -> None:
    stage = new_stage(meters_per_unit=0.5)
    UsdGeom.Mesh.Define(stage, "/Empty")
    survey = survey_stage(stage)
    told = " ".join(survey.problems)
    for words in ("/Empty a mesh without points", "nothing in it is visible",
                  "nothing in it collides", "neither a metre nor a centimetre"):  # fmt: skip
        assert words in told
    assert survey.size is None
