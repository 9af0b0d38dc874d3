"""Messages: IR-SIM's own classes and ours, on the same environment."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac import msg

ROBOTS = 100
BEAMS = 1080


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Return an environment of 100 robots whose every beam hits a wall."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import irsim

    columns = math.isqrt(ROBOTS - 1) + 1
    width = 3.0 * columns
    corners = [[0, 0], [width, 0], [width, width], [0, width], [0, 0]]
    world = {
        "world": {"width": width, "height": width, "step_time": 0.1},
        "robot": [
            {
                "name": f"robot_{index}",
                "kinematics": {"name": "diff"},
                "shape": {"name": "circle", "radius": 0.2},
                "state": [
                    1.5 + 3.0 * (index % columns),
                    1.5 + 3.0 * (index // columns),
                    0.1 * index,
                ],
                "sensors": [
                    {
                        "name": "lidar2d",
                        "range_min": 0.01,
                        "range_max": 2.0 * width,
                        "angle_range": 6.28,
                        "number": BEAMS,
                    }
                ],
            }
            for index in range(ROBOTS)
        ],
        "obstacle": [{"shape": {"name": "linestring", "vertices": corners}, "state": [0, 0, 0]}],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.yaml"
        path.write_text(yaml.safe_dump(world))
        env = irsim.make(str(path), display=False, log_level="ERROR")
    env.step()
    ranges = np.array([robot.sensors[0].get_scan()["ranges"] for robot in env.robot_list])
    assert ranges.shape == (ROBOTS, BEAMS)
    assert (ranges < 2.0 * width).all(), "every beam is a hit"
    return env


def _peer() -> tuple[Any, str]:
    from importlib.metadata import version

    import irsim.msg

    return irsim.msg, f"ir-sim {version('ir-sim')}"


@benchmark("worldstate_from_env_100x1080")
def from_env() -> Iterator[Row]:
    env = _environment()
    real, name = _peer()
    for use_inf, bar, row in (
        (False, 1.25, "worldstate_from_env_100x1080"),
        (True, 1.1, "worldstate_from_env_100x1080/use_inf"),
    ):
        yield compare(
            row,
            lambda use_inf=use_inf: msg.WorldState.from_env(env, use_inf=use_inf),
            lambda use_inf=use_inf: real.WorldState.from_env(env, use_inf=use_inf),
            peer_name=name,
            bar=bar,
            runs=25,
        )


def _states() -> tuple[Any, Any, str]:
    env = _environment()
    real, name = _peer()
    return msg.WorldState.from_env(env), real.WorldState.from_env(env), name


@benchmark("worldstate_to_dict_100x1080")
def to_dict() -> Iterator[Row]:
    ours, theirs, name = _states()
    yield compare(
        "worldstate_to_dict_100x1080",
        ours.to_dict,
        theirs.to_dict,
        peer_name=name,
        bar=2.5,
        runs=15,
        note="both give values that share no list",
    )


def _spoil(state: Any, kinds: tuple[float, ...]) -> None:
    """Make every second beam of every scan one that is not finite, the kinds in turn."""
    for item in state.objects:
        if item.scan is not None:
            for index, kind in enumerate(kinds):
                item.scan.ranges[2 * index :: 2 * len(kinds)] = kind


def _json_rows(bar: float, suffix: str) -> Iterator[Row]:
    for scene, kinds in (
        ("", ()),
        ("/half_non_finite", (math.inf,)),
        ("/half_non_finite_mixed", (math.inf, -math.inf, math.nan)),
    ):
        ours, theirs, name = _states()
        for state in (ours, theirs):
            _spoil(state, kinds)
        yield compare(
            f"worldstate_json_100x1080{suffix}{scene}",
            ours.to_json,
            lambda theirs=theirs: json.dumps(theirs.to_dict()),
            peer_name=name,
            bar=bar,
            runs=9,
        )


@benchmark("worldstate_json_100x1080")
def to_json() -> Iterator[Row]:
    yield from _json_rows(8.0, "")
    # A process of its own, in which orjson cannot be imported.
    code = (
        "import sys; sys.modules['orjson'] = None; import json; "
        "from benchmarks.messages import _json_rows; "
        "print(json.dumps([row.to_dict() for row in _json_rows(1.2, '/without_orjson')]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    for row in json.loads(result.stdout.splitlines()[-1]):
        yield Row(**row)


@benchmark("odometry_round_trip")
def odometry_round_trip() -> Iterator[Row]:
    env = _environment()
    real, name = _peer()

    def work(module: Any) -> None:
        for robot in env.robot_list:
            module.Odometry.from_object(robot).to_state_velocity(robot)

    yield compare(
        "odometry_round_trip",
        lambda: work(msg),
        lambda: work(real),
        peer_name=name,
        bar=1.0,
        runs=25,
        note="100 robots",
    )


@benchmark("mcap_write")
def mcap_write() -> Iterator[Row]:
    import time

    from irsim_isaac.recording import record

    rng = np.random.default_rng(0)
    states = [_random_state(rng, count) for count in range(100)]
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for run in range(6):
            start = time.perf_counter()
            with record(Path(folder) / f"{run}.mcap") as recorder:
                for state in states:
                    recorder.write(state)
            best = max(best, 10.0 / (time.perf_counter() - start))
    yield Row(
        name="mcap_write",
        value=best,
        unit="times real time",
        note="10 robots, 1080 beams, 10 Hz, all topics, zstd; bar 100; best of 6",
    )


def _random_state(rng: np.random.Generator, count: int) -> msg.WorldState:
    stamp = count * 0.1
    objects = []
    for index in range(10):
        name = f"robot_{index}"
        scan = msg.LaserScan(
            msg.Header(count, stamp, f"{name}/laser"),
            -math.pi,
            math.pi,
            math.tau / (BEAMS - 1),
            0.0,
            0.1,
            0.01,
            30.0,
            rng.random(BEAMS).astype(np.float32) * 30,
            np.zeros(0, np.float32),
        )
        objects.append(
            msg.ObjectState(
                msg.Header(count, stamp),
                index,
                name,
                "robot",
                "diff",
                "circle",
                msg.Odometry(msg.Header(count, stamp), f"{name}/base_link"),
                scan,
                rng.random((3, 1)),
                False,
                False,
                False,
                scans=[scan],
            )
        )
    return msg.WorldState(msg.Header(count, stamp), "world", "Running", 0.1, objects)


@benchmark("message_import")
def message_import() -> Iterator[Row]:
    _, name = _peer()

    def run(module: str) -> None:
        subprocess.run(
            [sys.executable, "-c", f"from {module} import WorldState"],
            check=True,
            capture_output=True,
        )

    yield compare(
        "message_import",
        lambda: run("irsim_isaac.msg"),
        lambda: run("irsim.msg"),
        peer_name=name,
        bar=5.0,
        runs=7,
        note="whole processes, the start of Python included",
    )
