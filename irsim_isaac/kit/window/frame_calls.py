"""Calls from other threads that are done with the frames, one a frame."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from typing import Any, TypeVar

from irsim_isaac.kit.window.task import GivenUpError

__all__ = ["FrameCalls", "OnFrames"]

R = TypeVar("R")

_LOOK = 0.2
"""Between two looks at whether a call is still wanted [s]."""


class FrameCalls:
    """Takes calls of one thread to the frames of the application."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]]
        self._waiting = queue.SimpleQueue()
        self._closed = False

    def call(self, function: Callable[[], R]) -> R:
        """Have something done with the next frame, and wait for it.

        Raises:
            GivenUpError: No frame will do it any more.
        """
        if self._closed:
            raise GivenUpError("the validation was cancelled")
        future: Future[R] = Future()
        self._waiting.put((function, future))
        while True:
            try:
                return future.result(_LOOK)
            except NotYetError:
                if future.done():
                    raise
                if self._closed:
                    raise GivenUpError("the validation was cancelled") from None

    def take(self) -> None:
        """Do what waits for this frame; on the thread of the frames."""
        try:
            function, future = self._waiting.get_nowait()
        except queue.Empty:
            return
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    def close(self) -> None:
        """Do nothing more: whoever waits is told so."""
        self._closed = True
        while not self._waiting.empty():
            self._waiting.get_nowait()[1].set_exception(
                GivenUpError("the validation was cancelled")
            )


class OnFrames:
    """A simulator whose every call is done with a frame.

    Args:
        calls: Does them.
        make: Makes the simulator, with a frame.
    """

    def __init__(self, calls: FrameCalls, make: Callable[[], Any]) -> None:
        self._calls = calls
        self._simulator = calls.call(make)

    def __getattr__(self, name: str) -> Any:
        """Return what the simulator has, its methods such that a frame does them."""
        simulator, calls = self._simulator, self._calls
        found = getattr(simulator, name)
        if not callable(found):
            return found
        return lambda *given, **named: calls.call(lambda: found(*given, **named))

    def close(self) -> None:
        """Close the simulator with a frame; where none comes, who gave up closes it."""
        try:
            self._calls.call(self._simulator.close)
        except GivenUpError:
            return
