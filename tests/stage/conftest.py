"""What the tests of stages share."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def irsim() -> ModuleType:
    """The real IR-SIM, kept from choosing a matplotlib backend for the whole process."""
    matplotlib = pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib, "use", lambda *_args, **_options: None)
        return pytest.importorskip("irsim")
