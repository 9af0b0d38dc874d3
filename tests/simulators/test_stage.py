"""Kinematic motion on a stage behind the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irsim_isaac.simulators import Simulator, make
from tests.simulators.arena import CRATE_SIZE, STARTS, robot, write_stage
from tests.simulators.conformance import DrivenConformance


class TestStage(DrivenConformance):
    crate_height = CRATE_SIZE / 2

    def make(self, folder: Path, **options: Any) -> Simulator:
        path = folder / "stage.usda"
        if not path.exists():
            write_stage(path)
        options = {"robots": [robot()], "starts": STARTS} | options
        return make("stage", stage=path, **options)
