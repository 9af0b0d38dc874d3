"""Timing two things in turn, and the one row that every benchmark gives."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Row", "benchmark", "compare", "registry"]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure.

    ``ratio`` is always peer over ours, so more is better. A figure without a peer has
    ``value`` and ``unit`` instead. ``bar`` is the least ratio that the project promises.
    """

    name: str
    ours_s: float | None = None
    peer_s: float | None = None
    peer: str | None = None
    ratio: float | None = None
    bar: float | None = None
    value: float | None = None
    unit: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {
            key: getattr(self, key)
            for key in self.__dataclass_fields__
            if getattr(self, key) is not None
        }


Benchmark = Callable[[], Iterable[Row]]
registry: dict[str, Benchmark] = {}


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Register a function that yields the rows of one benchmark."""

    def register(function: Benchmark) -> Benchmark:
        registry[name] = function
        return function

    return register


def compare(
    name: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    *,
    peer_name: str,
    bar: float | None = None,
    runs: int = 7,
    setup: Callable[[], Any] | None = None,
    scale: float = 1.0,
    note: str | None = None,
) -> Row:
    """Time ours and the peer in turn, after one warm-up each, and give the medians.

    Args:
        name: The row's name; scenes of one benchmark are ``name/scene``.
        ours: The work as this project does it.
        peer: The same work as the peer does it.
        peer_name: The peer with its version.
        bar: The least ratio promised.
        runs: How often each is timed.
        setup: Called before each timed call of either side, not timed.
        scale: What the peer's time is multiplied by where it did only a part of the work.
        note: What the reader must know, such as that the peer was scaled.

    Returns:
        The row.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for run in range(runs + 1):
        for side, work in enumerate((ours, peer)):
            if setup is not None:
                setup()
            gc.collect()
            start = time.perf_counter()
            result = work()
            elapsed = time.perf_counter() - start
            del result  # freeing what the caller keeps is not the work
            if run:
                times[side].append(elapsed)
    ours_s = statistics.median(times[0])
    peer_s = statistics.median(times[1]) * scale
    return Row(
        name=name,
        ours_s=ours_s,
        peer_s=peer_s,
        peer=peer_name,
        ratio=peer_s / ours_s,
        bar=bar,
        note=note,
    )
