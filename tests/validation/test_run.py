"""Scenarios in the real simulators, a recording among them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pxr")

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation import (
    check_start,
    find_scenario,
    load_scenario,
    prepare,
    validate,
    write_recordings,
)
from tests.cli.halls import write_hall, write_scenario
from tests.simulators.arena import write_stage

IRSIM = pytest.mark.skipif(find_spec("irsim") is None, reason="ir-sim is not installed")
PHYSX = pytest.mark.skipif(find_spec("ovphysx") is None, reason="ovphysx is not installed")


def run(folder: Path, **changes):
    write_hall(folder)
    scenario = load_scenario(write_scenario(folder, **changes))
    return validate(scenario, folder / "out")


@IRSIM
def test_ir_sim_and_a_bare_stage_drive_and_see_alike(tmp_path):
    result = run(tmp_path, left="irsim", right="stage").comparison
    assert result.figures()["position_max"] < 1e-9
    assert result.figures()["heading_max"] < 1e-9
    assert result.parting.time is None
    # One casts at the boxes, the other at their outlines, both in float32.
    assert result.scans.statistics.median < 1e-6
    assert result.figures()["hit_mismatch"] == 0.0
    assert result.explored_overlap > 0.99


@IRSIM
@PHYSX
def test_ir_sim_beside_physx(tmp_path):
    write_stage(tmp_path / "arena.usda")
    result = run(
        tmp_path,
        stage="arena.usda",
        robot={"spec": "drum.yaml", "start": [0.0, 0.0, 0.0]},
        left="irsim",
        right="physx",
    ).comparison
    figures = result.figures()
    assert 0.0 < figures["position_max"] < 0.1
    assert figures["contact_events"] == 0.0
    assert figures["range_mean"] < 0.2
    assert abs(result.left.length - result.right.length) < 0.1


def test_a_recording_stands_in_for_the_simulator_that_was_recorded(tmp_path):
    pytest.importorskip("mcap")
    first = run(tmp_path, left="stage", right="stage")
    write_recordings(first, tmp_path / "kept")
    again = run(
        tmp_path,
        left={"simulator": "recorded", "options": {"recording": str(tmp_path / "kept/left.mcap")}},
        right="stage",
    )
    assert again.comparison.figures()["position_max"] == 0.0
    assert again.comparison.scans.statistics.max == 0.0


def test_the_demo_starts_where_its_stage_says():
    for name in ("warehouse", "warehouse_kinematic"):
        ground = prepare(load_scenario(find_scenario(name)))
        assert ground.start == pytest.approx((-8.0, -4.0, 0.0))
        assert ground.robot.lidars[0].profile.beam_count == 3200
        check_start(ground.occupancy, ground.world, ground.robot, ground.start)
        with pytest.raises(ScenarioError, match="inside the obstacle 'Crate'"):
            check_start(ground.occupancy, ground.world, ground.robot, (0.8, -2.6, 0.3))


def test_a_robot_that_touches_a_wall_may_start(tmp_path):
    write_hall(tmp_path)
    ground = prepare(load_scenario(write_scenario(tmp_path)))
    radius = ground.robot.footprint
    touching = (-4.0 + radius, 0.0, 0.0)
    check_start(ground.occupancy, ground.world, ground.robot, touching)
    with pytest.raises(ScenarioError, match="inside the obstacle 'West'"):
        check_start(ground.occupancy, ground.world, ground.robot, (touching[0] - 0.01, 0.0, 0.0))


def test_steps_of_both_sides_are_those_of_the_scenario(tmp_path):
    result = run(tmp_path, step_time=0.05)
    for side in (result.left, result.right):
        stamps = [state.header.stamp for state in side.states]
        np.testing.assert_array_equal(stamps, np.arange(41) / 20)
    assert result.left.commands.shape == (40, 3)
    np.testing.assert_array_equal(result.left.commands[:20], [(0.2, 0.0, 0.0)] * 20)
    np.testing.assert_array_equal(result.left.commands[20:], [(0.2, 0.0, 0.4)] * 20)
