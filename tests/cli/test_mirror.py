"""The command that keeps two simulators in step."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from irsim_isaac import simulators
from irsim_isaac.cli import main
from tests.cli.halls import write_hall, write_scenario
from tests.validation.worlds import unicycle

pytest.importorskip("pxr")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


@pytest.fixture
def hall(tmp_path):
    write_hall(tmp_path)
    simulators.register("unicycle", unicycle, replace=True)
    yield tmp_path
    simulators.unregister("unicycle")


@pytest.mark.parametrize("direction", ["follow", "lead"])
def test_mirrored_robots_agree(hall, capsys, direction):
    path = write_scenario(hall, right={"simulator": "unicycle", "options": {"slip": 0.5}})
    assert main(["mirror", str(path), "--direction", direction, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    drum = content["objects"]["drum"]
    assert drum["position_max"] < 1e-9
    assert drum["heading_max"] < 1e-9
    assert content["counts"]["steps"] == 20
    assert content["counts"]["writes"] == 21
    # The side that leads moves by its own laws: with slip it goes half as far.
    assert (drum["left"][0] > -2.7) == (direction == "follow")


def test_beside_tells_how_far_they_part_and_exits_with_one(hall, capsys):
    path = write_scenario(
        hall,
        right={"simulator": "unicycle", "options": {"slip": 0.5}},
        thresholds={"position_max": 0.05},
    )
    assert main(["mirror", str(path)]) == 1
    said = capsys.readouterr()
    assert "exceeded: position_max of drum is 0.1" in said.out
    assert "20 steps, 0 objects moved" in said.out
    assert said.err == ""
    assert main(["mirror", str(path), "--steps", "3"]) == 0
    assert "3 steps" in capsys.readouterr().out


def test_on_a_terminal_the_table_lives(hall):
    """It is drawn anew as the time goes on, on standard error, and the last one stays."""
    terminal, end = os.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    path = write_scenario(hall)
    code = (
        "import sys; from irsim_isaac import simulators; from irsim_isaac.cli import main; "
        "from tests.validation.worlds import unicycle; "
        "simulators.register('unicycle', unicycle); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "mirror", str(path), "--direction", "follow"]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        command, stderr=end, stdout=subprocess.PIPE, env=environment, cwd=Path(__file__).parents[2]
    ) as process:
        os.close(end)
        drawn = bytearray()
        # Linux tells the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 4096):
                drawn += part
        kept = process.stdout.read().decode()
    os.close(terminal)
    assert process.returncode == 0
    times = re.findall(r"→ \S+, (\d\.\d\d) s", drawn.decode())
    # How often depends on how fast it goes; the first and the last are always seen.
    assert {"0.00", "2.00"} <= set(times)
    assert times == sorted(times)
    assert "apart [m]" in drawn.decode()
    assert "apart [m]" in kept
    assert "turned [rad]" in kept
    assert "2.00 s" in kept
    assert "drum" in kept
    assert "20 steps, 21 objects moved" in kept


def test_the_scenario_says_the_bindings_and_the_way(hall, capsys):
    path = write_scenario(
        hall,
        mirror={"direction": "follow", "bindings": [{"left": "drum", "frame": [1.0, 2.0, 0.5]}]},
        right={"simulator": "unicycle", "options": {"half": [9.0, 9.0]}},
    )
    assert main(["mirror", str(path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["direction"] == "follow"
    assert content["objects"]["drum"]["position_max"] < 1e-9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bindings": [{"left": "drum", "frmae": [0, 0, 0]}]}, "the key 'frmae' is unknown"),
        ({"bindings": [{"left": "nobody"}]}, "the left simulator has no object 'nobody'"),
        ({"direktion": "lead"}, "'mirror.direktion' is unknown; did you mean 'direction'?"),
    ],
)
def test_a_mirror_that_cannot_be_is_one_line(hall, capsys, settings, message):
    assert main(["mirror", str(write_scenario(hall, mirror=settings))]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert message in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--direction", "both"], "--direction is 'both', follow, lead or beside was expected"),
        (["--left", "gazebo"], "no simulator is named 'gazebo'"),
        (["--steps", "0"], "steps"),
    ],
)
def test_bad_input_is_one_line(hall, capsys, arguments, message):
    assert main(["mirror", str(write_scenario(hall)), *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
