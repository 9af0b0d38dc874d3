"""Servers that the tests of a module share: starting one takes a second."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.simulators import RemoteSimulator
from irsim_isaac.simulators.server_process import ServerProcess


class Servers:
    """Server processes that serve one client after another."""

    def __init__(self) -> None:
        self._processes: list[ServerProcess] = []

    def make(self, simulator: str, **options: Any) -> RemoteSimulator:
        """Make a simulator in a process that serves nobody."""
        for process in self._processes:
            try:
                return self._attach(process, simulator, **options)
            except SimulatorError as error:
                if "another client is being served" not in str(error):
                    raise
        self._processes.append(ServerProcess())
        return self._attach(self._processes[-1], simulator, **options)

    def _attach(self, process: ServerProcess, simulator: str, **options: Any) -> RemoteSimulator:
        return RemoteSimulator(
            simulator=simulator, address=process.address, token=process.token, **options
        )

    def close(self) -> None:
        for process in self._processes:
            process.kill()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Return servers that are ended with the module."""
    shared = Servers()
    yield shared
    shared.close()


def children(process: int) -> list[int]:
    """Return the living processes that a process started."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        if folder.name.isdigit() and int(fields[1]) == process and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def alive(process: int) -> bool:
    """Return whether a process lives."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[
            0
        ] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], *, seconds: float = 10.0) -> bool:
    """Wait until a condition holds, and return whether it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


@pytest.fixture
def no_orphans() -> Iterator[None]:
    """Check that a test leaves no process behind."""
    before = set(children(os.getpid()))
    yield
    gc.collect()
    assert until(lambda: set(children(os.getpid())) <= before)
