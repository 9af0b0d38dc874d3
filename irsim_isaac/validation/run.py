"""Running a scenario: the stage to a map and a world, both simulators through the same drive."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from irsim_isaac.clock import exact_seconds
from irsim_isaac.msg import Twist, Vector3, WorldState
from irsim_isaac.simulators import Simulator, make
from irsim_isaac.validation.comparison import compare
from irsim_isaac.validation.driving import Progress, drive
from irsim_isaac.validation.ground import Ground, prepare
from irsim_isaac.validation.outcome import Validation, installed_versions
from irsim_isaac.validation.pursuit import PurePursuit
from irsim_isaac.validation.scenario import Scenario, SimulatorChoice
from irsim_isaac.validation.trajectory import find_object

__all__ = ["driver", "make_simulator", "validate"]


def validate(
    scenario: Scenario,
    directory: Path,
    *,
    left: str | None = None,
    right: str | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Run a scenario.

    Args:
        scenario: What to do.
        directory: Where ``map/`` and ``world/`` are written.
        left: The name of a simulator in place of the scenario's left one.
        right: The same for the right one.
        progress: Called with (done, total, what).

    Raises:
        ScenarioError: The robot cannot start where it is to start, or the sides cannot be
            compared.
        StageError: The stage cannot be read.
        SimulatorError: A simulator cannot be made or cannot do what is asked.
        MissingPackageError: A simulator's package is not installed.
    """
    begin = time.perf_counter()
    scenario = scenario.with_simulators(left, right)
    ground = prepare(scenario, progress=progress)
    ground.occupancy.save_ros(directory / "map")
    ground.world.save(directory / "world")
    with ExitStack() as open_simulators:
        sides = []
        for choice in (scenario.left, scenario.right):
            simulator = make_simulator(choice, scenario, ground, directory / "world" / "world.yaml")
            open_simulators.callback(simulator.close)
            sides.append(simulator)
        runs = drive(
            sides,
            ground.robot,
            steps=scenario.steps,
            commands=_commands(scenario),
            controllers=[_controller(scenario, ground) for _ in sides],
            seed=scenario.seed,
            progress=progress,
        )
    runs = tuple(replace(run, name=name) for run, name in zip(runs, _names(scenario), strict=True))
    comparison = compare(
        runs[0],
        runs[1],
        ground.robot,
        occupancy=ground.occupancy,
        thresholds=scenario.thresholds,
        divergence=scenario.divergence,
        min_matched=scenario.min_matched,
    )
    return Validation(
        scenario=scenario,
        robot=ground.robot,
        start=ground.start,
        occupancy=ground.occupancy,
        consistency=ground.consistency,
        left=runs[0],
        right=runs[1],
        comparison=comparison,
        seconds=time.perf_counter() - begin,
        versions=installed_versions(),
    )


def _names(scenario: Scenario) -> tuple[str, str]:
    left, right = scenario.left.simulator, scenario.right.simulator
    return (left, right) if left != right else (f"{left} (left)", f"{right} (right)")


def make_simulator(
    choice: SimulatorChoice, scenario: Scenario, ground: Ground, world: Path
) -> Simulator:
    """Make one side of a scenario.

    Args:
        choice: Which simulator, and its options.
        scenario: Says the stage, the step and the seed.
        ground: Says the robot and its start.
        world: The IR-SIM world file of the stage.
    """
    return make(
        choice.simulator,
        stage=scenario.stage_path,
        world=world,
        robots=(ground.robot,),
        starts={ground.robot.name: ground.start},
        step_time=scenario.step_time,
        seed=scenario.seed,
        **choice.options,
    )


def driver(scenario: Scenario, ground: Ground) -> Callable[[WorldState], dict[str, Twist]]:
    """Return what commands the robot from a state, for one who steps simulators by itself.

    Args:
        scenario: Says the commands or the way points.
        ground: Says the robot and its start.
    """
    rows, controller = _commands(scenario), _controller(scenario, ground)
    name = ground.robot.name

    def command(state: WorldState) -> dict[str, Twist]:
        if controller is not None:
            return {name: controller.command(find_object(state, name).odom)}
        index = round(state.header.stamp / scenario.step_time)
        if rows is None or index >= len(rows):
            return {}
        forward, left, turn = rows[index].tolist()
        return {name: Twist(linear=Vector3(x=forward, y=left), angular=Vector3(z=turn))}

    return command


def _commands(scenario: Scenario) -> np.ndarray | None:
    """Return the command of each step, zero after the last; None for way points."""
    if scenario.commands is None:
        return None
    step = exact_seconds(scenario.step_time)
    rows = np.zeros((scenario.steps, 3))
    index = 0
    for duration, forward, turn in scenario.commands:
        count = int(exact_seconds(duration) / step)
        rows[index : index + count] = (forward, 0.0, turn)
        index += count
    return rows


def _controller(scenario: Scenario, ground: Ground) -> PurePursuit | None:
    path = scenario.way_points
    if path is None:
        return None
    return PurePursuit(
        [ground.start[:2], *path.points],
        ground.robot,
        speed=path.speed,
        look_ahead=path.look_ahead,
        tolerance=path.tolerance,
    )
