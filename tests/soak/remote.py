"""Mirrors whose simulators are killed while they run."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from irsim_isaac.mirror import RESUMED, Mirror, Policy
from irsim_isaac.msg import Twist, Vector3, WorldState
from irsim_isaac.recording import read, record
from irsim_isaac.simulators import RemoteSimulator, Simulator, make
from tests.simulators.arena import robot, write_stage, write_world
from tests.simulators.conftest import children, until
from tests.soak.harness import soak

STEPS = 60
FOLLOWER_KILLS, LEADER_KILLS = 3, 2
PLACES = range(1, STEPS - 2, 3)
"""The steps in which a kill may fall: each one is met before the next."""

SIMULATORS = ("stage", "irsim", "faulty")


def _mirrored(
    path: Path, left: Simulator, right: Simulator, before: Callable[[int], None]
) -> Mirror:
    """Run a mirror over a curve and record both sides."""

    def curve(state: WorldState) -> dict[str, Twist]:
        turn = 0.4 if state.header.seq < STEPS // 2 else -0.4
        return {"robot": Twist(Vector3(0.3), Vector3(z=turn))}

    policy = Policy(lost="resume", resumptions=30)
    mirror = Mirror(left, right, direction="follow", policy=policy, commands=curve)
    mirror.start(1)
    with record(path) as recorder:
        for step in range(STEPS):
            before(step)
            mirror.run(1)
            recorder.write(mirror.left_state, source="left")
            recorder.write(mirror.right_state, source="right")
    return mirror


class _Killer:
    """Kills the server of a simulator in chosen steps, at the start of them or in the midst."""

    def __init__(self, remote: RemoteSimulator, steps: list[int], delays: list[float]) -> None:
        self._remote = remote
        self._plan = dict(zip(steps, delays, strict=True))
        self._under_way: threading.Timer | None = None
        self.processes: set[int] = set()

    def __call__(self, step: int) -> None:
        if self._under_way is not None:
            # It falls into the step before or between the two, whichever is longer.
            self._under_way.join()
        if step not in self._plan:
            return
        process = self._remote.process_id
        assert process is not None
        self.processes.add(process)
        delay = self._plan[step]
        if delay < 0.005:
            os.kill(process, signal.SIGKILL)
        else:
            kill = (process, signal.SIGKILL)
            self._under_way = threading.Timer(delay - 0.005, os.kill, kill)
            self._under_way.start()


def _options(name: str, folder: Path, *, noise: bool) -> dict[str, Any]:
    """Return what makes the simulator of the room."""
    specs = {"robots": [robot()], "starts": {"robot": (-2.0, 0.0, 0.0)}}
    if name == "irsim":
        world = write_world(folder / f"world_{noise}.yaml", [robot()], noise=noise)
        return {"world": world, **specs}
    if name == "stage":
        stage = folder / "stage.usda"
        return {"stage": stage if stage.exists() else write_stage(stage), "noise": noise, **specs}
    return {"imports": ["tests.simulators.faulty"], "noise": noise, **specs}


def _local(name: str, options: dict[str, Any]) -> Simulator:
    import tests.simulators.faulty  # noqa: F401  # registers itself

    return make(name, **{key: value for key, value in options.items() if key != "imports"})


def _states(path: Path, source: str) -> list[WorldState]:
    return list(read(path, source=source))


@soak("kills", rounds=20)
def kills(seed: int) -> dict[str, Any]:
    """Kill a noise-free follower three times, then a noisy leader twice."""
    random = np.random.default_rng(seed)
    name = SIMULATORS[seed % len(SIMULATORS)]
    before = set(children(os.getpid()))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        unbroken, resumed = folder / "unbroken.jsonl", folder / "resumed.jsonl"
        quiet, noisy = (_options(name, folder, noise=noise) for noise in (False, True))

        sides = _local(name, quiet), _local(name, quiet)
        _mirrored(unbroken, *sides, lambda step: None)
        follower = RemoteSimulator(simulator=name, **quiet)
        steps = sorted(random.choice(PLACES, FOLLOWER_KILLS, replace=False).tolist())
        killer = _Killer(follower, steps, random.uniform(0.0, 0.02, FOLLOWER_KILLS).tolist())
        mirror = _mirrored(resumed, sides[0], follower, killer)
        follower.close()
        exact = [item.exact for item in mirror.resumptions]
        assert all(exact), (seed, mirror.resumptions)
        assert len(killer.processes) == len(exact) == FOLLOWER_KILLS
        assert resumed.read_bytes() == unbroken.read_bytes(), seed

        leader = RemoteSimulator(simulator=name, **noisy)
        steps = sorted(random.choice(PLACES, LEADER_KILLS, replace=False).tolist())
        killer = _Killer(leader, steps, random.uniform(0.0, 0.02, LEADER_KILLS).tolist())
        mirror = _mirrored(resumed, leader, sides[1], killer)
        leader.close()
        assert len(killer.processes) == len(mirror.resumptions) == LEADER_KILLS
        marked = _check_marked(resumed, mirror)
        for side in sides:
            side.close()
    assert until(lambda: set(children(os.getpid())) <= before), "an orphan"
    return {
        "simulator": name,
        "kills": FOLLOWER_KILLS + LEADER_KILLS,
        "resumed_exactly": len(exact),
        "resumed_marked": marked,
    }


def _check_marked(path: Path, mirror: Mirror) -> int:
    """Check the recording of a run that cannot be as an unbroken one."""
    left, right = _states(path, "left"), _states(path, "right")
    for states in (left, right):
        assert [state.header.seq for state in states] == list(range(1, STEPS + 1))
        for state in states:
            position = next(item for item in state.objects if item.name == "robot").odom.pose.pose
            assert np.isfinite([position.position.x, position.position.y]).all()
    marks = [state.header.stamp for state in left if state.status == RESUMED]
    assert not any(item.exact for item in mirror.resumptions)
    assert len(marks) == len(mirror.resumptions)
    for mark, resumption in zip(marks, mirror.resumptions, strict=True):
        assert 0.0 < mark - resumption.time < 0.15
    # From one step to the next nothing jumps: the robot goes on where it was.
    way = np.array([[item.x, item.y] for item in map(_position, left)])
    assert np.hypot(*np.diff(way, axis=0).T).max() < 0.05
    return len(marks)


def _position(state: WorldState) -> Any:
    return next(item for item in state.objects if item.name == "robot").odom.pose.pose.position
