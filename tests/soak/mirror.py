"""A mirror for a million steps: its memory does not grow and its clocks do not drift."""

from __future__ import annotations

import gc
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from irsim_isaac.lidar import LidarProfile
from irsim_isaac.mirror import Mirror
from irsim_isaac.msg import ObjectState, Twist, Vector3
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators import make
from tests.simulators.arena import write_stage
from tests.soak.harness import soak

ROBOTS = 10
ROUNDS = 100
GROWTH = 1.01
PROFILE = LidarProfile.full_turn("round", 360, range_max=12.0)


def resident() -> int:
    """Return the memory of this process [bytes]."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@dataclass
class Run:
    """One mirror that goes on from round to round, as long as the process lives."""

    lidars: bool
    mirror: Mirror | None = None
    steps: int = 0
    baseline: int | None = None
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def start(self) -> Mirror:
        mounts = (LidarMount(PROFILE, z=0.45),) if self.lidars else ()
        robots = [RobotSpec(name=f"robot_{k}", lidars=mounts) for k in range(ROBOTS)]
        starts = {spec.name: (k - 4.5, 0.3 * k - 1.5, 0.6 * k) for k, spec in enumerate(robots)}
        with tempfile.TemporaryDirectory() as name:
            stage = write_stage(Path(name) / "stage.usda")
            sides = [
                make("stage", stage=stage, robots=robots, starts=starts, collisions=False)
                for _ in range(2)
            ]
        self.mirror = Mirror(*sides, direction="follow")
        self.mirror.start(0)
        return self.mirror

    def go(self, steps: int) -> dict[str, Any]:
        """Drive on, and hold memory, clocks and poses to what they must be."""
        mirror = self.mirror or self.start()
        turns = self.random.uniform(-0.5, 0.5, ROBOTS)
        command = {
            f"robot_{k}": Twist(Vector3(0.5), Vector3(z=float(turn)))
            for k, turn in enumerate(turns)
        }
        mirror.commands = lambda state: command
        for part in (steps // 10, steps - steps // 10):
            mirror.run(part)
            self.steps += part
            memory = resident()
            if self.baseline is None:
                self.baseline = memory
        assert memory <= GROWTH * self.baseline, (memory, self.baseline)
        expected = float(Fraction(self.steps, 10))
        assert mirror.left.time == mirror.right.time == expected
        here, there = (
            np.array([_pose(item) for item in side.read().robots])
            for side in (mirror.left, mirror.right)
        )
        assert np.abs(here - there).max() < 1e-9
        assert mirror.counts.steps == self.steps
        return {"steps": self.steps, "time_s": expected, "memory_mb": memory / 1e6}


def _pose(item: ObjectState) -> tuple[float, float, float]:
    pose = item.odom.pose.pose
    return pose.position.x, pose.position.y, pose.orientation.to_yaw()


_plain, _scanning = Run(lidars=False), Run(lidars=True)


@soak("mirror_million", rounds=ROUNDS)
def mirror_million(seed: int) -> dict[str, Any]:
    """Ten robots without lidar: a million steps in all."""
    return _plain.go(1_000_000 // ROUNDS)


@soak("mirror_lidar", rounds=ROUNDS)
def mirror_lidar(seed: int) -> dict[str, Any]:
    """Ten robots with a lidar of 360 beams: ten thousand steps in all."""
    return _scanning.go(10_000 // ROUNDS)
