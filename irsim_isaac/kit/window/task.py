"""Work that takes longer than a frame: with its progress, and given up when that is wanted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from irsim_isaac.errors import IrsimIsaacError

__all__ = ["GivenUpError", "Task"]

P = ParamSpec("P")
R = TypeVar("R")


class GivenUpError(IrsimIsaacError):
    """Work was broken off because that was asked for."""


class Task:
    """One piece of work.

    Attributes:
        title: What is done, as on its button.
        asyncio: The task that does it; None before it has begun.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.asyncio: asyncio.Task[Any] | None = None
        self._given_up = threading.Event()
        # Set as one, because it is told on another thread.
        self._progress = (0, 0, "")

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.asyncio is not None and self.asyncio.done()

    @property
    def part(self) -> float:
        """How much is done, 0 to 1."""
        done, total, _ = self._progress
        return min(1.0, done / total) if total else 0.0

    @property
    def what(self) -> str:
        """What is being done now."""
        return self._progress[2] or self.title

    def progress(self, done: int, total: int, what: str) -> None:
        """Tell how far it is; on any thread.

        Raises:
            GivenUpError: It is not wanted any more.
        """
        self._progress = (done, total, what)
        if self._given_up.is_set():
            raise GivenUpError(f"{self.title} was cancelled")

    async def thread(self, work: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        """Do a part of it on another thread, so that frames go on, and return what came of it.

        When it is cancelled nobody waits: the thread ends at its next progress.
        """
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(None, lambda: work(*args, **options))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._given_up.set()
            running.add_done_callback(_look_away)
            raise

    def cancel(self) -> None:
        """Give it up: what runs on a thread ends at its next progress."""
        self._given_up.set()
        if self.asyncio is not None:
            self.asyncio.cancel()


def _look_away(future: asyncio.Future[Any]) -> None:
    """Take in how something ended that nobody waits for."""
    if not future.cancelled():
        future.exception()
