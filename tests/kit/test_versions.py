from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from tests.kit.host import Kit

STAGE = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)

def PhysicsScene "PhysicsScene" {}

def Xform "World"
{
    def Cube "crate" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI",
                              "SemanticsLabelsAPI:class"]
    )
    {
        double size = 1
        double3 xformOp:translate = (1, 2, 5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        token[] semantics:labels:class = ["crate", "box"]
    }

    def Cube "ball" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
    )
    {
        double size = 1
        double3 xformOp:translate = (4, 2, 9)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"""


@pytest.fixture
def stage(headless: Kit, tmp_path: Path) -> Any:
    path = tmp_path / "stage.usda"
    path.write_text(STAGE)
    return headless.open_stage(path)


@pytest.fixture
def isaac(headless: Kit, stage: Any) -> Any:
    return headless.module("irsim_isaac.kit.versions").isaac_sim()


def play(kit: Kit) -> None:
    timeline = kit.module("omni.timeline").get_timeline_interface()
    timeline.play()
    timeline.commit()


def test_the_module_is_chosen_by_the_version(headless: Kit, isaac: Any) -> None:
    expected = {"5_1": ("5.1.0", "IsaacSim51"), "6": ("6.0.1", "IsaacSim6")}[headless.release]
    assert (isaac.version, type(isaac).__name__) == expected


@pytest.mark.parametrize("version", ["4.5.0", "5.0.0", "7.0.0"])
def test_other_versions_are_refused_by_name(headless: Kit, version: str) -> None:
    headless.module("isaacsim.core.version").core = version
    versions = headless.module("irsim_isaac.kit.versions")
    with pytest.raises(SimulatorError, match=f"Isaac Sim {version} is not supported; 5.1 or 6.x"):
        versions.isaac_sim()


def test_outside_isaac_sim_it_says_so() -> None:
    from irsim_isaac.kit.versions import isaac_sim

    with pytest.raises(SimulatorError, match="not Isaac Sim's process"):
        isaac_sim()


@pytest.mark.parametrize("rate", [60, 93, 99, 120, 186, 1000])
def test_a_physics_step_is_set_to_its_rate_exactly(
    headless: Kit, isaac: Any, stage: Any, rate: int
) -> None:
    isaac.set_physics_step_time(1.0 / rate)
    scene = stage.GetPrimAtPath("/PhysicsScene")
    assert scene.GetAttribute("physxScene:timeStepsPerSecond").Get() == rate
    assert isaac.physics_step_time() == 1.0 / rate


def test_a_step_callback_is_told_the_length_and_outlives_its_owner(
    headless: Kit, isaac: Any
) -> None:
    class Owner:
        def stepped(self, seconds: float) -> None:
            lengths.append(seconds)

    lengths: list[float] = []
    play(headless)
    undo = isaac.on_physics_step(Owner().stepped)
    gc.collect()
    for _ in range(3):
        isaac.step()
    assert lengths == [1 / 60] * 3
    undo()
    isaac.step()
    assert len(lengths) == 3
    assert headless.registered()["physics steps"] == []


def test_timeline_events_call_back_until_they_are_undone(headless: Kit, isaac: Any) -> None:
    heard: list[str] = []
    undos = [
        isaac.on_timeline(event, lambda event=event: heard.append(event))
        for event in ("play", "pause", "stop")
    ]
    before = headless.registered()
    timeline = headless.module("omni.timeline").get_timeline_interface()
    for told in (timeline.play, timeline.pause, timeline.stop):
        told()
        timeline.commit()
    assert heard == ["play", "pause", "stop"]
    for undo in undos:
        undo()
    gc.collect()
    after = headless.registered()
    assert before != after
    assert (after["observers"], after["timeline"]) == ([], [])
    timeline.play()
    timeline.commit()
    assert len(heard) == 3


def test_bodies_fall_and_are_placed_one_by_one(headless: Kit, isaac: Any) -> None:
    play(headless)
    bodies = isaac.bodies(["/World/ball", "/World/crate"])
    for _ in range(10):
        isaac.step()
    positions, quaternions = bodies.poses()
    linear, angular = bodies.velocities()
    assert positions.shape == (2, 3) and quaternions.shape == (2, 4)
    assert np.allclose(quaternions, [[1, 0, 0, 0]] * 2)
    assert np.allclose(positions[:, :2], [[4, 2], [1, 2]])
    assert (linear[:, 2] < -1.0).all()
    assert np.allclose(angular, 0.0)
    assert np.array_equal(bodies.mass_centres(), np.zeros((2, 3)))
    turned = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    bodies.set_pose(1, np.array([7.0, 8.0, 9.0]), turned)
    bodies.set_velocity(1, np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0]))
    moved, rotated = bodies.poses()
    assert np.array_equal(moved[0], positions[0])
    assert np.allclose(moved[1], [7, 8, 9])
    assert np.allclose(rotated[1], turned, atol=1e-6)
    linear, angular = bodies.velocities()
    assert np.allclose(linear[1], [1, 0, 0])
    assert np.allclose(angular[1], [0, 0, 2])


def test_labels_are_read_by_taxonomy(isaac: Any, stage: Any) -> None:
    assert isaac.labels(stage.GetPrimAtPath("/World/crate")) == {"class": ["crate", "box"]}
    assert isaac.labels(stage.GetPrimAtPath("/World/ball")) == {}


def test_without_replicator_a_lidar_names_the_extension(
    headless: Kit, isaac: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "isaacsim.sensors.experimental.rtx", None)
    monkeypatch.setitem(sys.modules, "omni.replicator.core", None)
    with pytest.raises(SimulatorError, match=r"omni\.replicator\.core, which is not enabled"):
        isaac.frames("/World/lidar")
