"""The Kit double for every test of the extension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.host import Kit, hosted


@pytest.fixture(params=[True, False], ids=["window", "headless"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """An application of Isaac Sim, with and without a window."""
    with hosted(window=request.param, documents=tmp_path / "documents") as host:
        yield host


@pytest.fixture
def windowed(tmp_path: Path) -> Iterator[Kit]:
    """An application of Isaac Sim with a window."""
    with hosted(window=True, documents=tmp_path / "documents") as host:
        yield host
