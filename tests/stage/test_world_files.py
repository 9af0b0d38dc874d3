"""World files that somebody edited: what cannot be read is told with its place."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml

from irsim_isaac.errors import StageError
from irsim_isaac.stage import read_world

WORLD = {
    "world": {"width": 8.0, "height": 6.0, "offset": [-4.0, -3.0], "step_time": 0.1},
    "robot": {
        "kinematics": {"name": "acker", "wheelbase": 0.5},
        "shape": {"name": "rectangle", "length": 0.8, "width": 0.4},
        "state": [1, 1, 0, 0],
        "goal": [2, 2, 0],
        "vel_max": [1, 0.5],
        "sensors": [{"name": "lidar2d", "number": 9, "range_max": 5.0}],
    },
    "obstacle": [
        {"number": 2, "distribution": {"name": "circle", "radius": 2.0}, "mass": 3.0},
        {"shape": {"name": "polygon", "vertices": [[0, 0], [1, 0], [0, 1]]}, "state": [0, 0, 0]},
    ],
}


def _edited(tmp_path: Path, place: tuple[str | int, ...], value: object) -> Path:
    content = yaml.safe_load(yaml.safe_dump(WORLD))
    inner = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path = tmp_path / "world.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_world_itself_is_read(tmp_path):
    world = read_world(_edited(tmp_path, ("world", "width"), 8.0))
    assert (len(world.robots), len(world.obstacles)) == (1, 3)
    assert world.offset == (-4.0, -3.0)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("world",), 3, r"world: found 3, expected a mapping"),
        (("world", "width"), -1, r"world\.width: found -1, expected a positive number"),
        (("world", "height"), math.nan, r"world\.height: .*found nan"),
        (("world", "width"), math.inf, r"world\.width: .*found inf"),
        (("world", "step_time"), 0, r"world\.step_time: found 0, expected a positive number"),
        (("world", "offset"), 3, r"world\.offset: "),
        (("world", "offset"), [1], r"world\.offset: "),
        (("world", "offset"), ["x", 0], r"world\.offset: .*'x'"),
        (("world", "offset"), [1e300, 0], r"world\.offset: .*found 1e\+300"),
        (("world", "mdownsample"), 0, None),
        (("robot", "state"), ["a", 1, 0], r"robot\[0\]: .*'a'"),
        (("robot", "state"), [math.nan, 1, 0], r"robot\[0\]: .*found nan"),
        (("robot", "state"), 5, r"robot\[0\]: "),
        (("robot", "goal"), [math.inf, 0, 0], r"robot\[0\]\.goal: "),
        (("robot", "vel_max"), "fast", r"robot\[0\]: .*'f'"),
        (("robot", "kinematics"), "acker", r"robot\[0\]: "),
        (("robot", "kinematics", "wheelbase"), "long", r"robot\[0\]: .*'long'"),
        (("robot", "shape", "length"), math.nan, r"robot\[0\]\.shape\.length: .*found nan"),
        (("robot", "sensors"), [3], r"robot\[0\]: "),
        (("robot", "sensors", 0, "number"), "many", r"robot\[0\]: "),
        (("obstacle", 0, "number"), 10**9, r"obstacle\[0\]\.number: found 1000000000"),
        (("obstacle", 0, "number"), -1, r"obstacle\[0\]\.number: found -1"),
        (("obstacle", 0, "number"), "two", r"obstacle\[0\]\.number: found 'two'"),
        (("obstacle", 0, "distribution"), "circle", r"obstacle\[0\]: "),
        (("obstacle", 0, "distribution", "radius"), math.nan, r"obstacle\[0\]: .*found nan"),
        (("obstacle", 0, "mass"), "heavy", r"obstacle\[0\]: .*'heavy'"),
        (("obstacle", 1, "shape", "vertices"), 3, r"obstacle\[1\]\.shape\.vertices: "),
        (("obstacle", 1, "shape", "vertices"), [[0, 0], [1, math.inf], [0, 1]], r"found inf"),
        (("obstacle", 1), 7, r"obstacle\[1\]: found 7, expected a mapping"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(tmp_path, place, value, told):
    path = _edited(tmp_path, place, value)
    if told is None:
        # Without a map there is nothing to downsample.
        assert read_world(path).grid is None
        return
    with pytest.raises(StageError, match=told) as caught:
        read_world(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
