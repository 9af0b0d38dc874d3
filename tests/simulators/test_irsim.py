"""IR-SIM behind the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irsim_isaac.simulators import Simulator, make
from tests.simulators.arena import STARTS, robot, write_world
from tests.simulators.conformance import DrivenConformance


class TestIrsim(DrivenConformance):
    follows = 1e-9

    def make(self, folder: Path, *, noise: bool = False, **options: Any) -> Simulator:
        world = write_world(folder / "world.yaml", [robot()], noise=noise)
        return make("irsim", world=world, **({"starts": STARTS} | options))
