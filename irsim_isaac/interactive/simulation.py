"""A simulator that several tasks share: who drives takes turns, and all see every state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Odometry, Twist, WorldState

if TYPE_CHECKING:
    from irsim_isaac.simulators import Simulator

__all__ = ["Simulation"]


class Simulation:
    """Steps a simulator for tasks that run in one event loop.

    A task takes the turn, steps as long as it needs, and gives the turn back; the others wait,
    and can still be cancelled while they do. Everything happens in the thread of the loop.

    Args:
        simulator: What is stepped.

    Raises:
        InteractiveError: The simulator runs by itself.
    """

    def __init__(self, simulator: Simulator) -> None:
        if simulator.drive != "step":
            raise InteractiveError(
                f"the simulator '{simulator.name}' runs by itself; one that is stepped was expected"
            )
        self.simulator = simulator
        self.state = simulator.read()
        self._listeners: list[Callable[[WorldState], None]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._taken = False

    @property
    def time(self) -> float:
        """The simulated time [s]."""
        return self.simulator.time

    def listen(self, listener: Callable[[WorldState], None]) -> None:
        """Have a function called with every state from now on."""
        self._listeners.append(listener)

    def write(self, updates: Mapping[str, Odometry]) -> None:
        """Place objects, as ``Simulator.write`` does."""
        self.simulator.write(updates)
        self.state = self.simulator.read()

    async def step(self, commands: Mapping[str, Twist] | None = None) -> WorldState:
        """Go on by one step; who calls this has the turn.

        Args:
            commands: A twist for each robot; a robot without one stands still.
        """
        self.state = self.simulator.step(commands or {})
        for listener in self._listeners:
            listener(self.state)
        self._wake()
        await asyncio.sleep(0)
        return self.state

    @asynccontextmanager
    async def turn(self, check: Callable[[], None]) -> AsyncIterator[None]:
        """Hold the turn for the length of a block.

        Args:
            check: Called after each step of others while waiting; what it raises ends the wait.
        """
        while self._taken:
            check()
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        check()
        self._taken = True
        try:
            yield
        finally:
            self._taken = False
            self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
