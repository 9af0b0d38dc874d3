"""What importing maps brings along, and what is said where an extra is missing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from irsim_isaac.errors import MissingPackageError
from irsim_isaac.map import FogMap, ObstacleMap, PerlinGridGenerator

_IMPORT = """
import sys
import irsim_isaac.map
fog = irsim_isaac.map.FogMap()
fog.reveal_from_lidar([5, 5, 0], [0.0], [1.0])
assert fog.explored_count == 11, fog.explored_count
heavy = {"matplotlib", "irsim", "scipy", "pxr"} & set(sys.modules)
assert not heavy, heavy
"""


def test_maps_bring_no_heavy_package_and_print_nothing() -> None:
    """Import and reveal without matplotlib, IR-SIM, scipy or a word on stdout."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_missing_extras_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say which extra brings matplotlib and IR-SIM."""
    for name in ("matplotlib", "matplotlib.pyplot", "irsim", "irsim.world", "irsim.world.map"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match=r"irsim-isaac\[irsim\]"):
        PerlinGridGenerator(3, 3).preview()
    with pytest.raises(MissingPackageError, match=r"irsim-isaac\[irsim\]"):
        ObstacleMap(grid_map=np.full((2, 2), 100)).to_irsim()


def test_an_unknown_keyword_is_refused_by_name() -> None:
    """Refuse a misspelt option of a map."""
    with pytest.raises(TypeError, match="resolutoin"):
        FogMap(resolutoin=0.1)  # type: ignore[call-arg]
