"""What the stepped simulators of this room have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from irsim_isaac.clock import Seconds, SteppedClock
from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Odometry, Twist, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.motion import PlanarTwist, checked_commands
from irsim_isaac.simulators.protocol import Drive, OnStep

__all__ = ["SteppedSimulator", "robots_by_name"]


def robots_by_name(robots: Sequence[RobotSpec]) -> Mapping[str, RobotSpec]:
    """Return robots by their names, in order.

    Raises:
        SimulatorError: Two of them have one name, or a car has no wheelbase.
    """
    named: dict[str, RobotSpec] = {}
    for robot in robots:
        if robot.name in named:
            raise SimulatorError(f"two robots are named '{robot.name}'; names must be unique")
        if robot.kinematics == "acker" and not (robot.wheelbase and robot.wheelbase > 0.0):
            raise SimulatorError(
                f"robot '{robot.name}' is a car and needs a wheelbase of more than 0 m, "
                f"found {robot.wheelbase}"
            )
        named[robot.name] = robot
    return MappingProxyType(named)


class SteppedSimulator(ABC):
    """A simulator that goes on by one step when it is told to.

    Subclasses start, move, capture and place; this class keeps the time and holds the rules
    of the protocol: commands and updates are checked before anything moves, one call at a
    time, and none after closing.

    Args:
        name: The simulator's name.
        robots: The robots that take commands.
        step_time: The length of a step [s].
        seed: The seed of everything random.
    """

    def __init__(
        self, name: str, robots: Sequence[RobotSpec], *, step_time: Seconds, seed: int
    ) -> None:
        self.on_step: OnStep | None = None
        self._name = name
        self._robots = robots_by_name(robots)
        self._clock = SteppedClock(step_time)
        self._seed = seed
        self._busy = threading.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        """The simulator's name in reports."""
        return self._name

    @property
    def time(self) -> float:
        """The time since the start [s]."""
        return self._clock.stamp

    @property
    def step_time(self) -> float:
        """The length of a step [s]."""
        return float(self._clock.step)

    @property
    def robots(self) -> Mapping[str, RobotSpec]:
        """The robots that take commands, by name."""
        return self._robots

    @property
    def drive(self) -> Drive:
        """Always ``"step"``."""
        return "step"

    def reset(self, seed: int | None = None) -> WorldState:
        """Go back to the start.

        Args:
            seed: The seed of everything random; None for the seed it was made with.
        """
        with self._using():
            self._clock.reset()
            self._restart(self._seed if seed is None else seed)
            return self._capture()

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step with all robots.

        Args:
            commands: A twist for each robot by name; a robot without one is to stand still.

        Raises:
            SimulatorError: A name is unknown, a value is not finite, or it is closed.
        """
        with self._using():
            checked = checked_commands(commands, self._robots, self._name)
            self._advance(checked)
            self._clock.advance()
            return self._capture()

    def read(self) -> WorldState:
        """Return the present state."""
        with self._using():
            return self._capture()

    def write(self, updates: Mapping[str, Odometry]) -> None:
        """Place objects; all of them or, when one update is bad, none.

        Args:
            updates: Pose and velocity for each object by name.

        Raises:
            SimulatorError: An update is bad, or it is closed.
        """
        with self._using():
            self._place(updates)

    def close(self) -> None:
        """Let go of everything; closing twice is no error."""
        if not self._closed:
            self._closed = True
            self._release()

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Refuse a closed simulator and a second caller at the same time."""
        if self._closed:
            raise SimulatorError(f"{self._name}: it is closed")
        if not self._busy.acquire(blocking=False):
            raise SimulatorError(
                f"{self._name}: used from two threads at once; one call at a time was expected"
            )
        try:
            yield
        finally:
            self._busy.release()

    @abstractmethod
    def _restart(self, seed: int) -> None:
        """Put everything back to the start."""

    @abstractmethod
    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        """Move everything by one step; the clock goes on afterwards."""

    @abstractmethod
    def _capture(self) -> WorldState:
        """Return a copy of the present state, stamped by the clock."""

    @abstractmethod
    def _place(self, updates: Mapping[str, Odometry]) -> None:
        """Check every update, then apply them."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of everything; called once."""
