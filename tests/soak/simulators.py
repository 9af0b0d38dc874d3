"""Simulators beside each other for 10,000 steps."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from irsim_isaac.robot import Kinematics
from irsim_isaac.simulators import make
from tests.simulators.arena import STARTS, robot, twist, write_stage, write_world
from tests.simulators.conformance import pose_of
from tests.soak.harness import soak

KINEMATICS: tuple[Kinematics, ...] = ("diff", "omni", "omni_angular", "acker")
STEPS = 10_000


@soak("beside_stage_and_irsim", rounds=len(KINEMATICS))
def beside_stage_and_irsim(seed: int) -> dict[str, Any]:
    """The same commands into both, in the open: poses agree to 1e-9."""
    kinematics = KINEMATICS[seed]
    spec = robot(kinematics=kinematics, lidars=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = write_world(folder / "world.yaml", [spec], size=20_000.0, room=False)
        stage = write_stage(folder / "stage.usda", walls=False, crate=False)
        ours = make("stage", stage=stage, robots=[spec], starts=STARTS)
        theirs = make("irsim", world=world, robots=[spec], starts=STARTS)
    random = np.random.default_rng(seed)
    place = turn = 0.0
    for step in range(STEPS):
        if step % 20 == 0:
            command = {"robot": twist(*random.uniform(-1.2, 1.2, 3))}
        (x, y, yaw), (u, v, theta) = (
            pose_of(simulator.step(command)) for simulator in (ours, theirs)
        )
        place = max(place, math.hypot(x - u, y - v))
        turn = max(turn, abs(math.remainder(yaw - theta, 2 * math.pi)))
    assert ours.time == theirs.time == STEPS / 10
    theirs.close()
    assert place <= 1e-9
    assert turn <= 1e-9
    return {"kinematics": kinematics, "steps": STEPS, "position_m": place, "heading_rad": turn}
