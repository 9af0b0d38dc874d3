"""A whole session in Isaac Sim, from enabling the extension to disabling it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.mirror import Mirror
from irsim_isaac.msg import WorldState
from irsim_isaac.simulators import make
from irsim_isaac.stage import build_world, open_stage, robot_specs, robot_starts
from tests.kit.host import ROOT, Kit
from tests.kit.test_irsim_process import ended
from tests.simulators.arena import twist

pytest.importorskip("ovphysx")
pytest.importorskip("irsim")

STAGE = ROOT / "data" / "warehouse.usda"
STEPS = 600
COMMANDS = {"carrier": twist(0.6, 0.12)}


def pose(world: WorldState, name: str) -> tuple[float, float, float]:
    state = next(item for item in world.objects if item.name == name)
    at = state.odom.pose.pose
    return at.position.x, at.position.y, at.orientation.to_yaw()


SCANNED = 10
"""How often the lidar is taken into the fog map."""


def planar(world: WorldState) -> list[tuple[float, float, float]]:
    """Return where each object is."""
    return [pose(world, item.name) for item in world.objects]


@pytest.fixture(scope="module")
def without_isaac_sim(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The same mirror with PhysX as it is outside of Isaac Sim: what both sides say, by steps."""
    folder = tmp_path_factory.mktemp("without")
    stage = open_stage(STAGE)
    robots = [replace(robot, lidars=()) for robot in robot_specs(stage)]
    starts = robot_starts(stage)
    build_world(stage, robots=robots).save(folder)
    given = {"robots": robots, "starts": starts, "step_time": "1/60"}
    leader = make("irsim", world=folder / "world.yaml", **given)
    follower = make("physx", stage=STAGE, **given)
    mirror = Mirror(leader, follower, direction="follow", commands=lambda state: COMMANDS)
    mirror.start()
    recording = []
    for _ in range(SCANNED):
        mirror.run(STEPS // SCANNED)
        recording.append((planar(leader.read()), planar(follower.read())))
    follower.close()
    leader.close()
    return recording


def test_a_session_mirrors_ir_sim_maps_by_lidar_and_leaves_nothing(
    headless: Kit, without_isaac_sim: list[Any]
) -> None:
    before = headless.registered()
    headless.enable()
    settings = headless.module("carb.settings").get_settings()
    settings.set("/exts/irsim_isaac/irsim_python", sys.executable)
    stage = headless.open_stage(STAGE)
    session = list(stage.GetSessionLayer().subLayerPaths)
    written = stage.GetRootLayer().ExportToString()

    mirror = headless.module("irsim_isaac.kit").LiveMirror(
        drive="step",
        step_time="1/60",
        lidar="rtx",
        commands=lambda state: COMMANDS,
        timeout=60.0,
    )
    mirror.start("follow")
    assert headless.module("omni.timeline").get_timeline_interface().is_playing()
    number = mirror.process_id
    assert number not in (None, os.getpid())
    (lidar,) = mirror.isaac.lidars["carrier"]
    fog = headless.module("irsim_isaac.map").FogMap(20.4, 12.4, 0.1, (-10.2, -6.2))
    explored, recording = [], []
    for _ in range(SCANNED):
        mirror.run(STEPS // SCANNED)
        here, there = pose(mirror.irsim_state, "carrier"), pose(mirror.isaac.read(), "carrier")
        assert np.allclose(there, here, atol=1e-6)
        recording.append((planar(mirror.irsim.read()), planar(mirror.isaac.read())))
        assert lidar.reveal(fog, here)
        explored.append(fog.explored_ratio)
    assert mirror.counts.steps == STEPS
    assert (mirror.state, mirror.resumptions) == ("running", ())
    assert explored == sorted(explored)
    assert explored[-1] > 0.3
    # The first frame is empty and the second bad; each turn after them is one scan.
    assert (lidar.counts.missing, lidar.counts.bad) == (1, 1)
    assert lidar.counts.scans == pytest.approx(STEPS / 60 * 10, abs=2)
    for (irsim, isaac), (its, physx) in zip(recording, without_isaac_sim, strict=True):
        assert np.allclose(irsim, its, rtol=0.0, atol=1e-6)
        assert np.allclose(isaac, physx, rtol=0.0, atol=1e-6)

    follower = mirror.isaac
    headless.module("irsim_isaac.kit.application").stop()
    assert (mirror.state, mirror.error) == ("stopped", "the simulation was stopped")
    assert ended(number)
    with pytest.raises(SimulatorError, match="isaac: it is closed"):
        follower.read()
    assert stage.GetRootLayer().ExportToString() == written

    headless.open_stage(STAGE)
    mirror.start("lead")
    mirror.run(6)
    assert mirror.counts.steps == 6
    assert mirror.process_id not in (None, number)
    number = mirror.process_id
    live = headless.module("omni.usd").get_context().get_stage()
    headless.disable()
    assert ended(number, 0.1)
    assert list(live.GetSessionLayer().subLayerPaths) == session
    assert not live.GetPrimAtPath("/irsim_isaac_robots")
    assert live.GetRootLayer().ExportToString() == written
    assert headless.registered() == before


def test_a_stopped_and_a_closed_stage_are_named_and_a_new_simulator_goes_on(headless: Kit) -> None:
    headless.enable()
    stage = headless.open_stage(STAGE)
    given = {"robots": robot_specs(stage), "starts": robot_starts(stage), "lidar": "rays"}
    follower = make("isaac", **given)
    headless.module("irsim_isaac.kit.application").stop()
    with pytest.raises(SimulatorError, match=r"the simulation is stopped; reset\(\) plays it"):
        follower.read()
    follower.reset()
    assert follower.step({}).header.seq == 1
    headless.open_stage(STAGE)
    with pytest.raises(SimulatorError, match="the stage that it was made on is closed"):
        follower.step({})
    follower.close()
    again = make("isaac", **given)
    assert again.step({"carrier": twist(0.5)}).header.seq == 1
    again.close()


def test_what_runs_by_itself_tells_of_each_step(headless: Kit) -> None:
    headless.enable()
    stage = headless.open_stage(STAGE)
    simulator = make(
        "isaac",
        robots=robot_specs(stage),
        starts=robot_starts(stage),
        step_time=0.1,
        sub_step="1/60",
        drive="runs",
    )
    heard: list[WorldState] = []
    simulator.on_step = heard.append
    with pytest.raises(SimulatorError, match="it runs by itself and cannot be stepped"):
        simulator.step({})
    app = headless.module("omni.kit.app").get_app()
    for _ in range(30):
        app.update()
    assert [world.header.stamp for world in heard] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    timeline = headless.module("omni.timeline").get_timeline_interface()
    timeline.pause()
    for _ in range(12):
        app.update()
    assert len(heard) == 5
    assert simulator.read().header.stamp == pytest.approx(0.5)
    timeline.play()
    for _ in range(6):
        app.update()
    assert len(heard) == 6
    assert np.isfinite(np.asarray(heard[-1].objects[0].scan.ranges)).any()
    simulator.close()
    app.update()
    assert len(heard) == 6
    assert headless.registered()["physics steps"] == []


def test_a_robot_without_its_lidar_in_the_stage_is_named(headless: Kit) -> None:
    headless.enable()
    with pytest.raises(SimulatorError, match="lidar must be 'rtx' or 'rays', found 'sonar'"):
        make("isaac", stage=STAGE, lidar="sonar")
    with pytest.raises(SimulatorError, match="drive must be 'step' or 'runs', found 'walk'"):
        make("isaac", stage=STAGE, drive="walk")
    assert headless.registered()["annotators"] == []


def test_twenty_reloads_with_everything_left_open_leave_nothing(headless: Kit) -> None:
    before = headless.registered()
    stage = headless.open_stage(STAGE)
    written = stage.GetRootLayer().ExportToString()
    for count in range(20):
        headless.enable()
        lidar = headless.module("irsim_isaac.kit").RtxLidar("/World/RobotStart/Lidar")
        if count % 5 == 0:
            simulator = make(
                "isaac",
                robots=robot_specs(stage),
                starts=robot_starts(stage),
                drive="runs",
                sub_step="1/60",
            )
        assert headless.registered() != before
        headless.disable()
        assert headless.registered() == before
        with pytest.raises(SimulatorError, match="it is closed"):
            lidar.poll()
        with pytest.raises(SimulatorError, match="it is closed"):
            simulator.read()
    assert list(stage.GetSessionLayer().subLayerPaths) == []
    assert stage.GetRootLayer().ExportToString() == written
