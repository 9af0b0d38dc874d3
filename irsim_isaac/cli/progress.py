"""Drawing progress for every command: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "drawn_progress"]

Progress = Callable[[int, int, str], None]


def _unseen(done: int, total: int, what: str) -> None:
    """Draw nothing."""


@contextmanager
def drawn_progress() -> Iterator[Progress]:
    """Give the call-back ``progress(done, total, what)`` that the rooms take.

    On a terminal each ``what`` is a bar on stderr, wiped when the block ends; in a pipe or
    a log nothing is drawn.
    """
    if not sys.stderr.isatty():
        yield _unseen
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def draw(done: int, total: int, what: str) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield draw
