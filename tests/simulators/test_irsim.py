"""IR-SIM behind the protocol."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.robot import Kinematics
from irsim_isaac.simulators import Simulator, make
from tests.simulators.arena import (
    CRATE,
    HALF_LENGTH,
    PROFILE,
    STARTS,
    odometry,
    robot,
    twist,
    write_world,
)
from tests.simulators.conformance import DrivenConformance, pose_of, state_of


class TestIrsim(DrivenConformance):
    follows = 1e-9

    def make(self, folder: Path, *, noise: bool = False, **options: Any) -> Simulator:
        world = write_world(folder / "world.yaml", [robot()], noise=noise)
        return make("irsim", world=world, **({"starts": STARTS} | options))


def external(folder: Path, **options: Any) -> Simulator:
    world = write_world(folder / "world.yaml", [robot()])
    return make("irsim", world=world, step_mode="external", **options)


def test_external_stepping_keeps_what_is_written(tmp_path: Path) -> None:
    """Another simulator moves the robot; sensors, collisions and time go on with it."""
    simulator = external(tmp_path)
    for count in range(1, 6):
        simulator.write({"robot": odometry(0.5 * count, 0.0, 0.1, motion=twist(0.5, 0.2))})
        world = simulator.step({})
        item = state_of(world, "robot")
        assert world.header.seq == count
        assert pose_of(world) == pytest.approx((0.5 * count, 0.0, 0.1), abs=1e-12)
        assert item.odom.twist.twist.linear.x == 0.5
        assert item.odom.twist.twist.angular.z == 0.2
        wall = (HALF_LENGTH - 0.5 * count) / math.cos(0.1)
        ahead = item.scans[0].ranges[PROFILE.beam_count // 2]
        assert ahead == pytest.approx(wall, abs=1e-5)
    # Without a new update it stays where it was put, whatever velocity it was given.
    assert pose_of(simulator.step({})) == pytest.approx((2.5, 0.0, 0.1), abs=1e-12)
    simulator.write({"robot": odometry(HALF_LENGTH, 0.0)})
    assert state_of(simulator.step({}), "robot").collision
    simulator.close()


def test_external_stepping_takes_no_commands(tmp_path: Path) -> None:
    simulator = external(tmp_path)
    simulator.step({"robot": twist()})
    with pytest.raises(SimulatorError, match="external stepping"):
        simulator.step({"robot": twist(0.1)})
    assert simulator.time == 0.1
    simulator.close()


def test_the_world_is_stepped_at_the_step_asked_for(tmp_path: Path) -> None:
    """The world says 0.1 s; its kinematics take the other step as well."""
    world = write_world(tmp_path / "world.yaml", [robot()])
    simulator = make("irsim", world=world, step_time="1/30")
    for _ in range(30):
        state = simulator.step({"robot": twist(0.6)})
    assert pose_of(state) == pytest.approx((0.6, 0.0, 0.0), abs=1e-12)
    assert state.header.stamp == 1.0
    simulator.close()


def test_past_states_are_not_kept_for_ever(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world.yaml", [robot(lidars=False)])
    simulator = make("irsim", world=world, trajectory_length=5)
    lengths = set()
    for count in range(40):
        simulator.step({"robot": twist(0.1 if count % 2 else -0.1)})
        lengths.add(len(simulator._objects["robot"].trajectory))
    assert max(lengths) <= 10
    simulator.close()


def test_all_environments_are_used_from_one_thread(tmp_path: Path) -> None:
    """IR-SIM's modules hold the state of one environment at a time."""
    world = write_world(tmp_path / "world.yaml", [robot()])
    simulator = make("irsim", world=world)
    errors = []

    def elsewhere(call: Callable[[], object]) -> None:
        try:
            call()
        except SimulatorError as error:
            errors.append(str(error))

    for call in (
        lambda: make("irsim", world=world),
        lambda: simulator.step({}),
        simulator.read,
        simulator.reset,
        lambda: simulator.write({}),
    ):
        thread = threading.Thread(target=elsewhere, args=(call,))
        thread.start()
        thread.join()
    assert len(errors) == 5
    assert all("thread" in error for error in errors)
    simulator.close()
    # With none left, another thread may have its own.
    thread = threading.Thread(target=elsewhere, args=(lambda: make("irsim", world=world).close(),))
    thread.start()
    thread.join()
    assert len(errors) == 5


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker"])
def test_a_twist_becomes_the_action_of_each_kinematics(
    tmp_path: Path, kinematics: Kinematics
) -> None:
    """The odometry after the steps tells the twist that was commanded."""
    spec = robot(kinematics=kinematics, lidars=False)
    simulator = make("irsim", world=write_world(tmp_path / "world.yaml", [spec]))
    for _ in range(3):
        world = simulator.step({"robot": twist(0.4, 0.3, 0.2)})
    found = state_of(world, "robot").odom.twist.twist
    left = 0.2 if kinematics.startswith("omni") else 0.0
    turn = 0.0 if kinematics == "omni" else 0.3
    assert (found.linear.x, found.linear.y, found.angular.z) == pytest.approx(
        (0.4, left, turn), abs=1e-12
    )
    assert simulator.robots["robot"].kinematics == kinematics
    simulator.close()


def test_a_car_keeps_its_steering_when_it_stands(tmp_path: Path) -> None:
    spec = robot(kinematics="acker", lidars=False)
    simulator = make("irsim", world=write_world(tmp_path / "world.yaml", [spec]))
    simulator.step({"robot": twist(-0.4, 0.3)})
    held = float(simulator._objects["robot"].state[3, 0])
    assert held == pytest.approx(math.atan(-0.3 * 0.3 / 0.4))
    simulator.step({})
    assert float(simulator._objects["robot"].state[3, 0]) == held
    simulator.close()


def test_robots_are_read_from_the_world(tmp_path: Path) -> None:
    simulator = make("irsim", world=write_world(tmp_path / "world.yaml", [robot()]))
    spec = simulator.robots["robot"]
    assert np.allclose(sorted(spec.footprint), sorted(robot().footprint))
    assert (spec.max_linear_speed, spec.max_angular_speed) == (1.0, 1.0)
    profile = spec.lidars[0].profile
    np.testing.assert_allclose(profile.bearings, PROFILE.bearings, atol=1e-12)
    assert (profile.range_min, profile.range_max) == (PROFILE.range_min, PROFILE.range_max)
    simulator.close()


def test_a_pushed_crate_has_a_contact(tmp_path: Path) -> None:
    """In IR-SIM's contact mode the robot pushes the crate, and both say so."""
    world = write_world(tmp_path / "world.yaml", [robot()], collision_mode="contact")
    start = (CRATE[0] - 1.0, CRATE[1], 0.0)
    simulator = make("irsim", world=world, starts={"robot": start})
    for _ in range(30):
        state = simulator.step({"robot": twist(0.5)})
    pushing, pushed = state_of(state, "robot"), state_of(state, "crate")
    assert pose_of(state, "crate")[0] > CRATE[0] + 0.1
    assert pushing.collision
    assert pushed.collision
    assert [contact.other for contact in pushing.contacts] == ["crate"]
    assert pushing.contact_time > 0.0
    simulator.close()


BAD_WORLDS = {
    "an unknown key": "word: {width: 10}",
    "no YAML": "world: [",
    "an empty file": "",
    "a shape of no kind": "robot: {kinematics: {name: diff}, shape: {name: blob}}",
}


@pytest.mark.parametrize("content", BAD_WORLDS.values(), ids=BAD_WORLDS.keys())
def test_a_bad_world_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(content)
    with pytest.raises(SimulatorError, match=r"world\.yaml is no world") as raised:
        make("irsim", world=path)
    assert "\n" not in str(raised.value)
    # Nothing is left of it that would keep others out.
    make("irsim", world=write_world(tmp_path / "good.yaml", [robot()])).close()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world.yaml", [robot()])
    for options, message in (
        ({"world": tmp_path / "none.yaml"}, "no world file"),
        ({"world": world, "robots": [robot("other")]}, "no robot 'other'"),
        ({"world": world, "robots": [robot(kinematics="omni")]}, "'omni' was expected"),
        ({"world": world, "starts": {"other": (0.0, 0.0, 0.0)}}, "a start for 'other'"),
        ({"world": world, "step_mode": "sideways"}, "step_mode"),
        ({"world": world, "speed": 3}, "no option 'speed'"),
        ({}, "needs 'world'"),
    ):
        with pytest.raises(SimulatorError, match=message):
            make("irsim", **options)


def test_matplotlib_keeps_the_backend_of_the_host(tmp_path: Path) -> None:
    """IR-SIM chooses a backend when it is imported; here it does not get to."""
    world = write_world(tmp_path / "world.yaml", [robot()])
    code = (
        "import matplotlib; matplotlib.use('svg'); from irsim_isaac.simulators import make; "
        f"make('irsim', world={str(world)!r}).close(); print(matplotlib.get_backend())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.strip().lower() == "svg"
