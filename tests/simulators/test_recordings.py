"""Two runs with one seed are one recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.recording import read, record
from irsim_isaac.simulators import make
from tests.simulators.arena import STARTS, robot, twist, write_stage, write_world
from tests.simulators.conformance import digest

COMMANDS = [{"robot": twist(0.5, 0.4)}, {"robot": twist(0.3, -0.6)}, {}] * 5


@pytest.mark.parametrize("suffix", [".jsonl", ".mcap"])
@pytest.mark.parametrize("kind", ["irsim", "stage", "physx"])
def test_two_runs_are_the_same_byte_for_byte(tmp_path: Path, kind: str, suffix: str) -> None:
    """With noise; and another seed is another recording."""
    if kind == "physx":
        pytest.importorskip("ovphysx")
    options: dict[str, Any] = {"robots": [robot()], "starts": STARTS}
    if kind == "irsim":
        options["world"] = write_world(tmp_path / "world.yaml", [robot()], noise=True)
    else:
        options |= {"stage": write_stage(tmp_path / "stage.usda"), "noise": True}
    written = []
    for run, seed in enumerate((4, 4, 5)):
        simulator = make(kind, seed=seed, **options)
        path = tmp_path / f"run{run}{suffix}"
        states = [simulator.read(), *(simulator.step(command) for command in COMMANDS)]
        with record(path, robots=simulator.robots) as recorder:
            for state in states:
                recorder.write(state)
        simulator.close()
        written.append(path.read_bytes())
        assert len(list(read(path))) == len(states)
    assert written[0] == written[1]
    assert written[0] != written[2]
    if suffix == ".jsonl":
        assert [digest(state) for state in read(path)] == [digest(state) for state in states]
