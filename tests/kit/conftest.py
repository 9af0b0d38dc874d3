"""The Kit double for every test of the extension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.host import Kit, hosted


@pytest.fixture(
    params=[("5_1", True), ("5_1", False), ("6", True), ("6", False)],
    ids=["5.1-window", "5.1-headless", "6-window", "6-headless"],
)
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """An application of each Isaac Sim, with and without a window."""
    release, window = request.param
    with hosted(release, window=window, documents=tmp_path / "documents") as host:
        yield host


@pytest.fixture
def windowed(tmp_path: Path) -> Iterator[Kit]:
    """An application of Isaac Sim 6 with a window."""
    with hosted("6", window=True, documents=tmp_path / "documents") as host:
        yield host


@pytest.fixture(params=["5_1", "6"], ids=["5.1", "6"])
def headless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """An application of each Isaac Sim without a window."""
    with hosted(request.param, window=False, documents=tmp_path / "documents") as host:
        yield host
