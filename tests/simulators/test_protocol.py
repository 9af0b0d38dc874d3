"""Making simulators by name, and the rules that they share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Odometry, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators import Simulator, make, names, register
from irsim_isaac.simulators.base import SteppedSimulator
from irsim_isaac.simulators.motion import PlanarTwist
from irsim_isaac.simulators.protocol import _factories
from tests.simulators.arena import robot, twist


class Waiting(SteppedSimulator):
    """A simulator whose step waits until it is let go."""

    def __init__(
        self,
        *,
        robots: tuple[RobotSpec, ...] = (),
        step_time: float = 0.1,
        speed: float = 1.0,
        level: int,
    ) -> None:
        super().__init__("waiting", robots, step_time=step_time, seed=0)
        self.speed = speed
        self.level = level
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.released = 0

    def _restart(self, seed: int) -> None:
        self.begun.clear()

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        self.begun.set()
        assert self.go_on.wait(10.0)

    def _capture(self) -> WorldState:
        from irsim_isaac.msg import Header

        return WorldState(Header(self._clock.count, self._clock.stamp), "", "", self.step_time)

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        raise AssertionError("nothing is written in these tests")

    def _release(self) -> None:
        self.released += 1


@pytest.fixture
def waiting() -> Iterator[str]:
    register("waiting", Waiting)
    yield "waiting"
    del _factories["waiting"]


def test_the_simulators_of_the_package_are_known() -> None:
    assert {"irsim", "physx", "recorded", "stage"} <= set(names())


def test_a_name_is_taken_once(waiting: str) -> None:
    with pytest.raises(SimulatorError, match="'waiting' is registered already"):
        register(waiting, Waiting)
    register(waiting, Waiting, replace=True)
    assert waiting in names()


def test_a_factory_gets_what_it_names(waiting: str, tmp_path: Path) -> None:
    """Stage and world are for those that take them; options are checked by their names."""
    made: Any = make(
        waiting, stage=tmp_path / "x.usda", world="y.yaml", robots=[robot()], level=3, speed=2.0
    )
    assert isinstance(made, Simulator)
    assert (made.speed, made.level, list(made.robots)) == (2.0, 3, ["robot"])
    with pytest.raises(SimulatorError, match="no option 'velocity'; it takes: speed, level"):
        make(waiting, level=1, velocity=3)
    with pytest.raises(SimulatorError, match="needs 'level'"):
        make(waiting)


def test_two_threads_do_not_use_it_at_once(waiting: str) -> None:
    simulator: Any = make(waiting, robots=[robot()], level=1)
    thread = threading.Thread(target=simulator.step, args=({"robot": twist(0.1)},))
    thread.start()
    assert simulator.begun.wait(10.0)
    with pytest.raises(SimulatorError, match="two threads at once"):
        simulator.read()
    simulator.go_on.set()
    thread.join()
    assert simulator.read().header.seq == 1


def test_it_is_released_once(waiting: str) -> None:
    simulator: Any = make(waiting, level=1)
    simulator.close()
    simulator.close()
    assert simulator.released == 1


def test_a_step_that_fails_takes_no_time(waiting: str) -> None:
    simulator: Any = make(waiting, robots=[robot()], level=1)
    with pytest.raises(SimulatorError):
        simulator.step({"other": twist()})
    assert simulator.time == 0.0
    assert not simulator.begun.is_set()
