"""A recording behind the protocol."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import WorldState
from irsim_isaac.recording import record
from irsim_isaac.simulators import RecordedSimulator, Simulator, make
from tests.simulators.arena import STARTS, odometry, robot, twist, write_world
from tests.simulators.conformance import Conformance, digest, pose_of

STEPS = 20


def play(folder: Path, *, step_time: Any = 0.1, steps: int = STEPS) -> list[WorldState]:
    """Drive the robot on a curve and return the states, the start first."""
    world = write_world(folder / "world.yaml", [robot()])
    simulator = make("irsim", world=world, starts=STARTS, step_time=step_time)
    states = [simulator.read()]
    states += [simulator.step({"robot": twist(0.4, 0.6)}) for _ in range(steps)]
    simulator.close()
    return states


class TestRecorded(Conformance):
    def make(self, folder: Path, *, step_time: Any = 0.1, **options: Any) -> Simulator:
        path = folder / f"run_{str(step_time).replace('/', '_')}.jsonl"
        if not path.exists():
            with record(path) as recorder:
                for state in play(folder, step_time=step_time):
                    recorder.write(state)
        options.pop("noise", None)
        return make("recorded", recording=path, robots=[robot()], step_time=step_time, **options)


def test_it_says_again_what_was_said(tmp_path: Path) -> None:
    states = play(tmp_path)
    simulator = RecordedSimulator(recording=states)
    assert digest(simulator.read()) == digest(states[0])
    for state in states[1:]:
        assert digest(simulator.step({"robot": twist(-1.0)})) == digest(state)
    assert simulator.duration == simulator.time == 2.0
    with pytest.raises(SimulatorError, match=r"ends after 2 s; there is no state at 2\.1 s"):
        simulator.step({})


def test_its_robots_are_those_of_the_states(tmp_path: Path) -> None:
    spec = RecordedSimulator(recording=play(tmp_path, steps=1)).robots["robot"]
    assert spec.kinematics == "diff"
    assert spec.lidars[0].profile.beam_count == robot().lidars[0].profile.beam_count
    with pytest.raises(SimulatorError, match="no robot 'other'"):
        RecordedSimulator(recording=play(tmp_path, steps=1), robots=[robot("other")])


def test_it_cannot_be_written_to(tmp_path: Path) -> None:
    simulator = RecordedSimulator(recording=play(tmp_path, steps=2))
    before = digest(simulator.read())
    with pytest.raises(SimulatorError, match="cannot be written"):
        simulator.write({"robot": odometry(1.0, 1.0)})
    assert digest(simulator.read()) == before


def test_a_coarser_step_takes_every_second_state(tmp_path: Path) -> None:
    states = play(tmp_path, steps=6)
    simulator = RecordedSimulator(recording=states, step_time=0.2)
    for count, state in enumerate(states[2::2], start=1):
        found = simulator.step({})
        assert pose_of(found) == pose_of(state)
        assert (found.header.seq, found.header.stamp) == (count, state.header.stamp)


def test_what_lies_between_is_refused_or_interpolated(tmp_path: Path) -> None:
    """Half-way in time is half-way on the straight line and half-way through the turn."""
    states = play(tmp_path, steps=6)
    exact = RecordedSimulator(recording=states, step_time=0.05)
    with pytest.raises(SimulatorError, match=r"no state 0\.05 s after its start"):
        exact.step({})
    assert exact.time == 0.0
    smooth = RecordedSimulator(recording=states, step_time=0.05, between="interpolate")
    for index in range(12):
        found = pose_of(smooth.step({}))
        before, after = pose_of(states[(index + 1) // 2]), pose_of(states[(index + 2) // 2])
        middle = [(a + b) / 2 for a, b in zip(before, after, strict=True)]
        assert found == pytest.approx(middle, abs=1e-12)


def test_a_scan_keeps_its_age(tmp_path: Path) -> None:
    smooth = RecordedSimulator(
        recording=play(tmp_path, steps=2), step_time="1/40", between="interpolate"
    )
    stamps = [smooth.step({}).objects[0].scans[0].header.stamp for _ in range(5)]
    assert stamps == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.1], abs=1e-12)


def test_time_starts_at_the_first_state(tmp_path: Path) -> None:
    states = play(tmp_path, steps=4)[2:]
    simulator = RecordedSimulator(recording=states)
    assert simulator.read().header.stamp == 0.0
    assert simulator.step({}).header.stamp == 0.1
    assert pose_of(simulator.read()) == pose_of(states[1])


@pytest.mark.parametrize(
    ("order", "message"), [([], "no state"), ([0, 2, 1], "rising stamps"), ([0, 1, 1], "rising")]
)
def test_a_recording_out_of_order_is_refused(
    tmp_path: Path, order: list[int], message: str
) -> None:
    states = play(tmp_path, steps=2)
    with pytest.raises(SimulatorError, match=message):
        RecordedSimulator(recording=[states[index] for index in order])


class Wall:
    """A clock on the wall on which only waiting takes time."""

    def __init__(self) -> None:
        self.time = 5.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def test_in_real_time_it_runs_by_itself(tmp_path: Path) -> None:
    states = play(tmp_path, steps=8)
    simulator = RecordedSimulator(recording=states, drive="runs", pace=2.0)
    wall, seen = Wall(), []
    assert simulator.drive == "runs"
    simulator.on_step = lambda state: seen.append((wall.time, digest(state)))
    with pytest.raises(SimulatorError, match="cannot be stepped"):
        simulator.step({})
    assert simulator.run(now=wall.now, sleep=wall.sleep) == 8
    assert [text for _, text in seen] == [digest(state) for state in states[1:]]
    times = [moment - 5.0 for moment, _ in seen]
    assert times == pytest.approx([0.05 * count for count in range(1, 9)], abs=1e-9)
    assert simulator.run(now=wall.now, sleep=wall.sleep) == 0
    simulator.reset()
    assert simulator.run(steps=3, now=wall.now, sleep=wall.sleep) == 3


def test_a_late_player_catches_up_and_can_be_stopped(tmp_path: Path) -> None:
    """A follower that takes long delays no later step, and none is lost."""
    simulator = RecordedSimulator(recording=play(tmp_path, steps=8), drive="runs")
    wall, counts = Wall(), []

    def follow(state: WorldState) -> None:
        counts.append(state.header.seq)
        assert simulator.read().header.seq == state.header.seq
        if state.header.seq == 2:
            wall.time += 0.25
        if state.header.seq == 6:
            simulator.stop()

    simulator.on_step = follow
    assert simulator.run(now=wall.now, sleep=wall.sleep) == 6
    assert counts == [1, 2, 3, 4, 5, 6]
    assert math.isclose(wall.time - 5.0, 0.6, abs_tol=1e-9)


def test_a_stepped_one_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="does not run by itself"):
        RecordedSimulator(recording=play(tmp_path, steps=1)).run()
