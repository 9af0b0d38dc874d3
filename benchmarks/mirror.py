"""What a mirror costs beside the simulators that it keeps in step."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, benchmark
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.mirror import Mirror
from irsim_isaac.msg import Twist, Vector3, WorldState
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators import make

ROBOTS = 100

STAGE = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def Cube "Pillar"
{
    double size = 1
    double3 xformOp:translate = (-5, -5, 0.5)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"""


class Timed:
    """A simulator whose own time is taken."""

    def __init__(self, simulator: Any) -> None:
        self._simulator = simulator
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._simulator, name)

    def _timed(self, name: str, *arguments: Any) -> Any:
        begin = time.perf_counter()
        try:
            return getattr(self._simulator, name)(*arguments)
        finally:
            self.seconds += time.perf_counter() - begin

    def reset(self, seed: int | None = None) -> WorldState:
        """Go back to the start."""
        return self._timed("reset", seed)

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step."""
        return self._timed("step", commands)

    def read(self) -> WorldState:
        """Return the present state."""
        return self._timed("read")

    def write(self, updates: Any) -> None:
        """Place objects."""
        self._timed("write", updates)


def _robots(lidar: LidarProfile | None) -> list[RobotSpec]:
    lidars = () if lidar is None else (LidarMount(profile=lidar, z=0.35),)
    return [RobotSpec(name=f"robot_{index}", lidars=lidars) for index in range(ROBOTS)]


def _measure(folder: Path, direction: str, lidar: LidarProfile | None, steps: int) -> tuple:
    """Return the mirror's time of a step, and both simulators' own, medians [s]."""
    robots = _robots(lidar)
    starts = {
        spec.name: (2.0 * (index % 10), 2.0 * (index // 10), 0.1 * index)
        for index, spec in enumerate(robots)
    }
    command = {spec.name: Twist(Vector3(0.3), Vector3(z=0.35)) for spec in robots}
    sides = [
        Timed(
            make(
                "stage",
                stage=folder / "stage.usda",
                robots=robots,
                starts=starts,
                collisions=False,
            )
        )
        for _ in range(2)
    ]
    mirror = Mirror(*sides, direction=direction, commands=lambda state: command)
    mirror.start()
    mirror.run(3)
    outside, own = [], []
    for _ in range(steps):
        before = sides[0].seconds + sides[1].seconds
        begin = time.perf_counter()
        mirror.run(1)
        whole = time.perf_counter() - begin
        own.append(sides[0].seconds + sides[1].seconds - before)
        outside.append(whole - own[-1])
    for side in sides:
        side.close()
    return statistics.median(outside), statistics.median(own)


@benchmark("mirror_overhead_100")
def mirror_overhead_100() -> Iterable[Row]:
    profile = LidarProfile.full_turn("round", 360)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stage.usda").write_text(STAGE)
        for direction in ("follow", "lead", "beside"):
            outside, _ = _measure(folder, direction, None, 60)
            yield Row(
                name=f"mirror_overhead_100/{direction}",
                value=1e6 * outside / ROBOTS,
                unit="us a robot-step",
                note="outside the simulators' own step, read and write; at most 10",
            )
        outside, own = _measure(folder, "follow", profile, 15)
        yield Row(
            name="mirror_overhead_100/lidar_360",
            value=100 * outside / own,
            unit="% of the simulators' own time",
            note="with a lidar of 360 beams on each robot; at most 3",
        )
