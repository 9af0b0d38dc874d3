"""Actions by name: sent to in this process, or over ROS 2."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.goals import Action, GoalHandle
from irsim_isaac.msg import Message

__all__ = ["ActionRegistry"]


class ActionRegistry:
    """The actions of a world, by name."""

    def __init__(self) -> None:
        self._actions: dict[str, Action[Any, Any]] = {}

    def add(self, name: str, action: Action[Any, Any]) -> None:
        """Add an action.

        Args:
            name: What it is called, such as ``object_search``.
            action: The action.

        Raises:
            InteractiveError: There is an action of this name.
        """
        if name in self._actions:
            raise InteractiveError(f"there is an action '{name}' already")
        self._actions[name] = action

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def __getitem__(self, name: str) -> Action[Any, Any]:
        try:
            return self._actions[name]
        except KeyError:
            raise InteractiveError(
                f"there is no action '{name}'; there are {', '.join(self._actions) or 'none'}"
            ) from None

    def serve(
        self,
        node: Any,
        loop: asyncio.AbstractEventLoop,
        *,
        prefix: str = "",
        callback_group: Any = None,
    ) -> list[Any]:
        """Answer all actions on a node of rclpy that another thread spins.

        Args:
            node: The node.
            loop: The event loop that the actions run in; its thread is the simulator's.
            prefix: What stands before the name of each.
            callback_group: The node's group that they belong to.

        Returns:
            The action servers.

        Raises:
            MissingRosError: No sourced ROS has the interfaces.
        """
        from irsim_isaac.msg.ros import serve_action

        return [
            serve_action(
                node,
                action.kind,
                prefix + name,
                _beginner(action, loop),
                callback_group=callback_group,
            )
            for name, action in self._actions.items()
        ]


def _beginner(
    action: Action[Any, Any], loop: asyncio.AbstractEventLoop
) -> Callable[[Any, Callable[[Message], None]], _GoalElsewhere]:
    def begin(goal: Any, publish: Callable[[Message], None]) -> _GoalElsewhere:
        async def send() -> GoalHandle[Any, Any]:
            return action.send(goal, on_feedback=lambda text: publish(action.kind.Feedback(text)))

        return _GoalElsewhere(action, loop, asyncio.run_coroutine_threadsafe(send(), loop))

    return begin


class _GoalElsewhere:
    """A goal in the event loop of another thread."""

    def __init__(
        self,
        action: Action[Any, Any],
        loop: asyncio.AbstractEventLoop,
        sent: Future[GoalHandle[Any, Any]],
    ) -> None:
        self._action, self._loop, self._sent = action, loop, sent

    @property
    def _handle(self) -> GoalHandle[Any, Any] | None:
        if not self._sent.done() or self._sent.cancelled() or self._sent.exception():
            return None
        return self._sent.result()

    @property
    def done(self) -> bool:
        """Whether it has ended, or never will because its loop has."""
        handle = self._handle
        if handle is not None and handle.done:
            return True
        return self._loop.is_closed() or (self._sent.done() and handle is None)

    @property
    def status(self) -> str:
        """How it ended."""
        handle = self._handle
        return handle.status if handle is not None and handle.done else "aborted"

    @property
    def result(self) -> Message:
        """What came out."""
        handle = self._handle
        result: Message = self._action.kind.Result() if handle is None else handle.result
        return result

    @property
    def text(self) -> str:
        """Why it ended as it did."""
        handle = self._handle
        return "the event loop ended" if handle is None else handle.text

    def cancel(self) -> None:
        """Call it off, in the thread of its loop."""

        def call_off() -> None:
            handle = self._handle
            if handle is not None:
                handle.cancel()

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call_off)
