"""Goals of actions: how far they are, how they end, and how they are cancelled."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from irsim_isaac.errors import InteractiveError, IrsimIsaacError
from irsim_isaac.msg import Message

__all__ = ["Action", "GoalCancelled", "GoalHandle", "GoalStatus", "TimeIsUp"]

GoalStatus: TypeAlias = Literal["executing", "canceling", "succeeded", "canceled", "aborted"]
"""As in ROS 2: what was asked for was done (also where the answer is no), was called off, or
could not be done because something is broken."""

Goal = TypeVar("Goal", bound=Message)
Result = TypeVar("Result", bound=Message)


class GoalCancelled(InteractiveError):
    """A goal was called off."""


class TimeIsUp(InteractiveError):
    """A goal took longer than it may."""


class GoalHandle(Generic[Goal, Result]):
    """A goal that was sent to an action.

    Attributes:
        action: The name of the action.
        goal: What was asked for.
        state: What is being done, one word of the action's own states.
        status: How the goal stands.
        result: What came out; as the message begins where the goal did not get to its end.
        text: Why it ended as it did.
        out_of_time: Whether it was aborted because its time was up.
        feedback: What was told on the way, as (simulated time [s], text).
        states: Every state that it was in, as (simulated time [s], state).
        children: The goals that it sent to other actions.
    """

    def __init__(
        self,
        action: str,
        goal: Goal,
        result: Result,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        time_limit: float,
        wall_limit: float,
        on_feedback: Callable[[str], None] | None,
        parent: GoalHandle[Any, Any] | None,
    ) -> None:
        self.action = action
        self.goal = goal
        self.result = result
        self.state = "accepted"
        self.status: GoalStatus = "executing"
        self.text = ""
        self.out_of_time = False
        self.feedback: list[tuple[float, str]] = []
        self.states: list[tuple[float, str]] = []
        self.children: list[GoalHandle[Any, Any]] = []
        self._clock, self._wall_clock = clock, wall_clock
        self._limits = time_limit, wall_limit
        self._ends = clock() + time_limit, wall_clock() + wall_limit
        self._on_feedback = on_feedback
        self._parent = parent
        self._done = asyncio.Event()
        if parent is not None:
            parent.children.append(self)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._done.is_set()

    def cancel(self) -> bool:
        """Call it off, and all that it asked of others; it ends at its next step.

        Returns:
            Whether it was still going on.
        """
        if self.done:
            return False
        self.status = "canceling"
        for child in self.children:
            child.cancel()
        return True

    async def finished(self) -> GoalHandle[Goal, Result]:
        """Wait until it has ended, and return it."""
        await self._done.wait()
        return self

    def check(self) -> None:
        """Go on only where there is time left and nobody called it off.

        Raises:
            GoalCancelled: It was called off.
            TimeIsUp: Its own time, or that of the goal it serves, has run out.
        """
        if self.status == "canceling":
            raise GoalCancelled(f"{self.action}: it was called off")
        for now, end, limit, kind in zip(
            (self._clock(), self._wall_clock()),
            self._ends,
            self._limits,
            ("simulated", "real"),
            strict=True,
        ):
            if now > end:
                raise TimeIsUp(f"{self.action}: its {limit:g} s of {kind} time are up")
        if self._parent is not None:
            self._parent.check()

    def enter(self, state: str) -> None:
        """Note what is being done from now on."""
        self.state = state
        self.states.append((self._clock(), state))

    def tell(self, text: str) -> None:
        """Give feedback."""
        self.feedback.append((self._clock(), text))
        if self._on_feedback is not None:
            self._on_feedback(text)

    def _end(self, status: GoalStatus, text: str | None = None) -> None:
        self.status = status
        if text is not None:
            self.text = text
        self.enter(status)
        self._done.set()


class Action(ABC, Generic[Goal, Result]):
    """Something that takes a while, asked for by goals.

    Args:
        clock: Tells the simulated time [s], which deadlines are in.
        wall_clock: Tells the real time [s], which guards a simulation that hardly goes on.
        time_limit: How long a goal may take unless it says so itself [s].
        wall_limit: How long it may take in real time [s].

    Attributes:
        kind: The class of the action's messages.
    """

    kind: ClassVar[type[Any]]

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float] = time.monotonic,
        time_limit: float = math.inf,
        wall_limit: float = 3600.0,
    ) -> None:
        self._clock, self._wall_clock = clock, wall_clock
        self.time_limit, self.wall_limit = time_limit, wall_limit
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """What the action is called."""
        return self.kind.__name__

    def send(
        self,
        goal: Goal,
        *,
        on_feedback: Callable[[str], None] | None = None,
        parent: GoalHandle[Any, Any] | None = None,
        time_limit: float | None = None,
    ) -> GoalHandle[Goal, Result]:
        """Begin with a goal, in the event loop that runs.

        Args:
            goal: What is asked for.
            on_feedback: Called with every text on the way.
            parent: The goal that this one serves; it ends with it, and counts on its time too.
            time_limit: How long it may take [s], in place of the action's own limit.

        Returns:
            The goal; ``await handle.finished()`` waits for its end.

        Raises:
            InteractiveError: The goal is of another action.
        """
        if not isinstance(goal, self.kind.Goal):
            raise InteractiveError(
                f"{self.name}: found a {type(goal).__qualname__}, expected a "
                f"{self.kind.Goal.__qualname__}"
            )
        handle: GoalHandle[Goal, Result] = GoalHandle(
            self.name,
            goal,
            self.kind.Result(),
            clock=self._clock,
            wall_clock=self._wall_clock,
            time_limit=self.time_limit if time_limit is None else time_limit,
            wall_limit=self.wall_limit,
            on_feedback=on_feedback,
            parent=parent,
        )
        task = asyncio.get_running_loop().create_task(self._run(handle))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return handle

    async def _run(self, handle: GoalHandle[Goal, Result]) -> None:
        status: GoalStatus = "aborted"
        text: str | None = f"{self.name}: it ended by an error of the program"
        try:
            handle.check()
            await self._execute(handle)
            status, text = "succeeded", None
        except GoalCancelled as error:
            status, text = "canceled", str(error)
        except IrsimIsaacError as error:
            text = str(error)
            handle.out_of_time = isinstance(error, TimeIsUp)
        except asyncio.CancelledError:
            text = "the event loop ended"
            raise
        finally:
            for child in handle.children:
                child.cancel()
                await child.finished()
            handle._end(status, text)

    @abstractmethod
    async def _execute(self, handle: GoalHandle[Goal, Result]) -> None:
        """Do what is asked for, and put what came out into the handle's result and text."""
