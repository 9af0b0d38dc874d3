"""The engine inside Isaac Sim does what PhysX does outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Usd, UsdPhysics

from irsim_isaac.errors import SimulatorError
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.engine import BodyState, PhysxEngine
from irsim_isaac.simulators.overlay import add_contact_report, ensure_physics_scene
from irsim_isaac.stage.wheeled import add_wheeled_robot
from tests.kit.host import ROOT, Kit
from tests.kit.physics import WARM_UP_STEPS

pytest.importorskip("ovphysx")

DT = 1.0 / 120.0
CRATE = "/World/Crate"


@dataclass
class Pair:
    """The same stage in Isaac Sim and in PhysX alone, after the same warm-up."""

    kit: Kit
    inside: Any
    outside: PhysxEngine
    robot: Any

    def assert_same(self, tolerance: float = 0.0) -> None:
        for links in (False, True):
            here, there = self.inside.bodies(links=links), self.outside.bodies(links=links)
            assert here.keys() == there.keys()
            for path, state in here.items():
                for name in ("position", "quaternion", "linear", "angular"):
                    off = np.abs(getattr(state, name) - getattr(there[path], name)).max()
                    assert off <= tolerance, (path, name, off)

    def step(self, count: int) -> None:
        for _ in range(count):
            self.inside.step(DT)
            self.outside.step(DT)


@pytest.fixture
def pair(headless: Kit, tmp_path: Path) -> Iterator[Pair]:
    stage = headless.open_stage(ROOT / "data" / "warehouse.usda")
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        ensure_physics_scene(stage, simulator="isaac")
        robot = add_wheeled_robot(
            stage, RobotSpec("rover", footprint=0.25), (0.0, -1.0, 0.3), "/robots/rover"
        )
        for prim in stage.Traverse():
            if prim.HasAPI(UsdPhysics.RigidBodyAPI):
                add_contact_report(prim)
    isaac = headless.module("irsim_isaac.kit.versions").isaac_sim()
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        isaac.set_physics_step_time(DT)
    stage.Flatten(addSourceFileComment=False).Export(str(tmp_path / "flat.usda"))
    timeline = headless.module("omni.timeline").get_timeline_interface()
    timeline.play()
    timeline.commit()
    inside = headless.module("irsim_isaac.kit.engine").IsaacEngine(isaac, stage)
    outside = PhysxEngine(tmp_path / "flat.usda")
    for _ in range(WARM_UP_STEPS):
        outside.step(DT)
    yield Pair(headless, inside, outside, robot)
    inside.close()
    outside.close()


def test_a_driven_robot_moves_the_same(pair: Pair) -> None:
    targets = dict(zip(pair.robot.joints, (300.0, 360.0), strict=True))
    pair.assert_same()
    for engine in (pair.inside, pair.outside):
        engine.set_joints("jointVelocityTarget", targets)
    pair.step(40)
    pair.assert_same()
    assert np.linalg.norm(pair.inside.bodies(links=True)[pair.robot.base].linear) > 0.3
    inside = pair.inside.joint_values(pair.robot.joints)
    assert inside == pytest.approx(pair.outside.joint_values(pair.robot.joints), rel=1e-6)
    assert min(inside) > 50.0


def test_bodies_and_robots_are_placed_the_same(pair: Pair) -> None:
    turned = np.array([0.0, 0.0, np.sin(0.4), np.cos(0.4)])
    crate = BodyState(np.array([2.0, 1.0, 0.6]), turned, np.array([1.0, 0, 0]), np.zeros(3))
    rover = BodyState(
        np.array([-2.0, 1.0, 0.0]), turned, np.array([0.2, 0, 0]), np.array([0, 0, 0.5])
    )
    for engine in (pair.inside, pair.outside):
        engine.place_body(CRATE, crate)
        engine.place_articulation(pair.robot.base, rover)
        engine.set_joints("jointVelocity", dict.fromkeys(pair.robot.joints, 100.0))
        engine.update_links()
    # Pose and velocity are written one after the other: the pose is rounded once more.
    pair.assert_same(1e-6)
    assert np.allclose(
        pair.inside.bodies(links=True)[pair.robot.base].position, [-2, 1, 0], atol=1e-6
    )


def test_contacts_are_told_by_both_bodies_the_same(pair: Pair) -> None:
    at = pair.inside.bodies(links=False)[CRATE].position
    onto = BodyState(
        at + np.array([0.0, 0.0, 0.3]), np.array([0, 0, 0, 1.0]), np.zeros(3), np.zeros(3)
    )
    for engine in (pair.inside, pair.outside):
        engine.place_articulation(pair.robot.base, onto)
        engine.update_links()
    pair.step(30)
    here, there = pair.inside.contacts(), pair.outside.contacts()
    touching = {path: points for path, points in there.items() if points}
    assert here.keys() == touching.keys()
    assert CRATE in here
    for path, points in touching.items():

        def key(point: Any) -> tuple[float, ...]:
            return (*np.round(point.point, 4), round(point.separation, 6))

        for mine, theirs in zip(sorted(here[path], key=key), sorted(points, key=key), strict=True):
            assert mine.other == theirs.other
            assert np.allclose(mine.point, theirs.point, atol=1e-6)
            assert np.allclose(mine.normal, theirs.normal, atol=1e-6)
            assert mine.force == pytest.approx(theirs.force, rel=1e-5, abs=1e-6)
            assert mine.separation == theirs.separation


def test_a_physics_step_of_another_length_is_refused(pair: Pair) -> None:
    with pytest.raises(SimulatorError, match=r"the physics step is 0\.00833333 s, 0\.1 s"):
        pair.inside.step(0.1)


def test_what_is_no_joint_or_root_is_named(pair: Pair) -> None:
    with pytest.raises(SimulatorError, match="/World/Crate is no joint of an articulation"):
        pair.inside.set_joints("jointPosition", {CRATE: 1.0})
    with pytest.raises(SimulatorError, match="/World/Crate carries no articulation root"):
        pair.inside.place_articulation(
            CRATE, BodyState(np.zeros(3), np.array([0, 0, 0, 1.0]), np.zeros(3), np.zeros(3))
        )
