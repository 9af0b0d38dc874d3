"""Driving simulators side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from irsim_isaac.errors import ScenarioError
from irsim_isaac.msg import Odometry, Twist, Vector3, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators import Simulator
from irsim_isaac.validation.comparison import Run
from irsim_isaac.validation.pursuit import PurePursuit
from irsim_isaac.validation.trajectory import find_object

__all__ = ["Progress", "drive"]

Progress = Callable[[int, int, str], None]


def drive(
    simulators: Sequence[Simulator],
    robot: RobotSpec,
    *,
    steps: int,
    commands: np.ndarray | None = None,
    controllers: Sequence[PurePursuit | None] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Run, ...]:
    """Drive simulators side by side, step by step.

    Args:
        simulators: What is driven.
        robot: The robot in each of them.
        steps: How many steps.
        commands: Forward, left [m/s] and counter-clockwise [rad/s] of each step for all of
            them, shape (steps, 3); None where each has its controller.
        controllers: One for each simulator.
        seed: Of each reset.
        progress: Called with (done, total, what).

    Returns:
        What each did.
    """
    states: list[list[WorldState]] = []
    seconds = [0.0] * len(simulators)
    driven = np.zeros((len(simulators), steps, 3))
    for simulator in simulators:
        if simulator.drive != "step":
            raise ScenarioError(
                f"the simulator '{simulator.name}' runs by itself; a validation steps both sides"
            )
        states.append([simulator.reset(seed)])
    for step in range(steps):
        for side, simulator in enumerate(simulators):
            if commands is not None:
                twist = _twist(commands[step])
            else:
                twist = _next(controllers, side, find_object(states[side][-1], robot.name).odom)
            driven[side, step] = (twist.linear.x, twist.linear.y, twist.angular.z)
            begin = time.perf_counter()
            states[side].append(simulator.step({robot.name: twist}))
            seconds[side] += time.perf_counter() - begin
        if progress is not None:
            progress(step + 1, steps, "driving both simulators")
    return tuple(
        Run(simulator.name, tuple(states[side]), driven[side], seconds[side])
        for side, simulator in enumerate(simulators)
    )


def _twist(row: np.ndarray) -> Twist:
    x, y, turn = row.tolist()
    return Twist(linear=Vector3(x=x, y=y), angular=Vector3(z=turn))


def _next(controllers: Sequence[PurePursuit | None], side: int, odom: Odometry) -> Twist:
    controller = controllers[side] if side < len(controllers) else None
    return Twist() if controller is None else controller.command(odom)
