"""Any simulator in another process, behind the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from irsim_isaac.recording import record
from irsim_isaac.simulators import Simulator
from tests.simulators.arena import CRATE_SIZE, STARTS, robot, write_stage, write_world
from tests.simulators.conformance import Conformance, DrivenConformance
from tests.simulators.conftest import Servers
from tests.simulators.test_recorded import play

pytest.importorskip("zmq")
pytest.importorskip("msgpack")


class Elsewhere:
    """Makes simulators in the processes that the module's tests share."""

    servers: ClassVar[Servers]

    @pytest.fixture(autouse=True)
    def _share(self, servers: Servers) -> None:
        type(self).servers = servers

    def on_stage(self, name: str, folder: Path, options: dict[str, Any]) -> Simulator:
        path = folder / "stage.usda"
        if not path.exists():
            write_stage(path)
        options = {"robots": [robot()], "starts": STARTS} | options
        return self.servers.make(name, stage=path, **options)


class TestRemoteIrsim(Elsewhere, DrivenConformance):
    def make(self, folder: Path, *, noise: bool = False, **options: Any) -> Simulator:
        world = write_world(folder / "world.yaml", [robot()], noise=noise)
        return self.servers.make("irsim", world=world, **({"starts": STARTS} | options))


class TestRemoteStage(Elsewhere, DrivenConformance):
    crate_height = CRATE_SIZE / 2

    def make(self, folder: Path, **options: Any) -> Simulator:
        return self.on_stage("stage", folder, options)


class TestRemotePhysx(Elsewhere, DrivenConformance):
    settles = 0.05
    follows = 0.05
    places = 1e-6
    crate_height = CRATE_SIZE / 2

    @pytest.fixture(autouse=True)
    def _physx(self) -> None:
        pytest.importorskip("ovphysx")

    def make(self, folder: Path, **options: Any) -> Simulator:
        return self.on_stage("physx", folder, options)


class TestRemoteRecorded(Elsewhere, Conformance):
    def make(self, folder: Path, *, step_time: Any = 0.1, **options: Any) -> Simulator:
        path = folder / f"run_{str(step_time).replace('/', '_')}.jsonl"
        if not path.exists():
            with record(path) as recorder:
                for state in play(folder, step_time=step_time):
                    recorder.write(state)
        options.pop("noise", None)
        return self.servers.make(
            "recorded", recording=path, robots=[robot()], step_time=step_time, **options
        )
