"""The command end to end: good, exceeded, and everything that may be wrong with its input."""

from __future__ import annotations

import builtins
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from irsim_isaac import simulators
from irsim_isaac.cli import main
from irsim_isaac.map import load_ros_map
from tests.cli.halls import stage_text, write_hall, write_scenario
from tests.validation.worlds import unicycle

pytest.importorskip("pxr")
pytest.importorskip("plotly")

RUN = "import sys; from irsim_isaac.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def hall(tmp_path) -> Iterator[Path]:
    write_hall(tmp_path)
    simulators.register("unicycle", unicycle, replace=True)
    yield tmp_path
    simulators.unregister("unicycle")


def left_behind(folder: Path) -> list[str]:
    """What lies in a folder besides the stage and the scenario."""
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".usda", ".yaml"))


def refused(capsys, arguments) -> str:
    """Run a command that must refuse: exit 2 and one line, which is returned."""
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err
    return said.err


def test_a_whole_validation(hall, capsys):
    path = write_scenario(hall, thresholds={"position_max": 1.0})
    assert main(["validate", str(path), "-o", str(hall / "out")]) == 0
    shown = capsys.readouterr()
    assert "position error, rmse" in shown.out
    assert str(hall / "out" / "report.html") in shown.out
    assert shown.err == ""
    out = hall / "out"
    assert {item.name for item in out.iterdir()} >= {
        "map", "world", "overview.png", "report.html", "report.json"
    }  # fmt: skip
    assert left_behind(hall) == ["out"]
    grid = load_ros_map(out / "map" / "map.yaml")
    assert grid.cells[grid.world_to_cell(2.0, 1.5)] == 100
    assert grid.cells[grid.world_to_cell(0.0, 0.0)] == 0
    world = yaml.safe_load((out / "world" / "world.yaml").read_text())
    assert [robot["name"] for robot in world["robot"]] == ["drum"]
    report = json.loads((out / "report.json").read_text())
    assert report["comparison"]["figures"]["position_max"] == 0.0
    assert report["comparison"]["states"] == {"left": 21, "right": 21, "matched": 21}
    assert Image.open(out / "overview.png").width > 1000


def test_what_is_seen_and_not_touched_is_told(hall, capsys):
    """What the lidar sees is not what stops the robot."""
    stage = (hall / "hall.usda").read_text()
    solid = 'def Cube "Pillar" (prepend apiSchemas = ["PhysicsCollisionAPI"])'
    stage = stage.replace('def Cube "Pillar"', solid)
    hidden = solid.replace("Pillar", "Ghost") + "\n{\n    double size = 0.5\n"
    hidden += '    double3 xformOp:translate = (-2, 2, 0.3)\n    token visibility = "invisible"\n'
    hidden += '    uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n'
    (hall / "hall.usda").write_text(stage.rstrip()[:-1] + hidden + "}\n")
    assert main(["validate", str(write_scenario(hall)), "-o", str(hall / "out"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["stage"]
    assert told["seen_only"] == [f"/World/{name}" for name in ("South", "North", "West", "East")]
    assert told["touched_only"] == ["/World/Ghost"]
    page = (hall / "out" / "report.html").read_text()
    assert "no lidar sees (1 " in page and "/World/Ghost" in page


def test_the_page_needs_no_other_file_and_no_network(hall, capsys):
    path = write_scenario(hall)
    assert main(["validate", str(path), "-o", str(hall / "out")]) == 0
    page = (hall / "out" / "report.html").read_text()
    head, _, body = page.partition("</script>")
    assert "plotly.js v" in head[:20_000]
    for outside in ('src="http', "src='http", 'href="http', "@import", "url(http"):
        assert outside not in body
    assert body.count('id="figure-') == 4


def test_a_constant_bias_is_told_with_and_without_alignment(hall, capsys):
    """Alignment would hide it: both numbers are shown, and the one that is judged is the raw."""

    def shifted(*, robots, starts, step_time):
        moved = {name: (x + 0.1, y, yaw) for name, (x, y, yaw) in starts.items()}
        return unicycle(robots=robots, starts=moved, step_time=step_time)

    simulators.register("shifted", shifted, replace=True)
    path = write_scenario(hall, right={"simulator": "shifted"})
    try:
        assert main(["validate", str(path), "-o", str(hall / "out")]) == 0
    finally:
        simulators.unregister("shifted")
    error = json.loads((hall / "out" / "report.json").read_text())["comparison"][
        "absolute_pose_error"
    ]
    raw, aligned = error["translation"]["rmse"], error["aligned"]["translation"]["rmse"]
    assert raw == pytest.approx(0.1, abs=1e-3)
    assert aligned < 2e-3
    row = next(line for line in capsys.readouterr().out.splitlines() if "aligned" in line)
    shown = [float(number) for number in re.findall(r"([\d.]+) mm", row)]
    assert shown[0] == pytest.approx(1e3 * raw, rel=1e-2)
    assert re.search(r"aligned [\d.]+ (mm|µm)", row)
    page = (hall / "out" / "report.html").read_text()
    assert "absolute, aligned" in page


def test_a_robot_without_lidar_is_validated_without_scans(hall, capsys):
    robot = {"spec": "turtlebot4", "start": [-3.0, -2.0, 0.0]}
    path = write_scenario(hall, robot=robot, name="<b>Hall & more</b>")
    assert main(["validate", str(path), "-o", str(hall / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["comparison"]["scans"] is report["comparison"]["explored"] is None
    page = (hall / "out" / "report.html").read_text()
    assert "&lt;b&gt;Hall &amp; more&lt;/b&gt;" in page
    assert "<b>Hall" not in page
    shutil.rmtree(hall / "out")
    path = write_scenario(hall, robot=robot, thresholds={"range_mean": 0.1})
    assert "'range_mean' needs lidar scans" in refused(
        capsys, ["validate", path, "-o", hall / "out"]
    )


def test_two_runs_give_the_same_report(hall, capsys):
    path = write_scenario(hall)
    for name in ("one", "two"):
        assert main(["validate", str(path), "-o", str(hall / name)]) == 0
    for file in ("report.json", "overview.png", "map/map.png", "map/map.yaml"):
        assert (hall / "one" / file).read_bytes() == (hall / "two" / file).read_bytes(), file


def test_exceeded_thresholds_exit_with_one_and_are_told(hall, capsys):
    path = write_scenario(
        hall,
        right={"simulator": "unicycle", "options": {"slip": 0.5}},
        thresholds={"position_max": 0.05, "heading_max": 1.0},
    )
    assert main(["validate", str(path), "-o", str(hall / "out"), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (exceeded,) = report["comparison"]["exceeded"]
    assert exceeded["name"] == "position_max"
    assert exceeded["value"] > exceeded["limit"] == 0.05
    assert report == json.loads((hall / "out" / "report.json").read_text())
    assert report["comparison"]["first_divergence"]["cause"]["kind"] == "speed"
    assert main(["validate", str(path), "-o", str(hall / "out")]) == 1
    assert "exceeded: position_max is " in capsys.readouterr().out


def test_another_simulator_may_be_named(hall, capsys):
    path = write_scenario(hall)
    arguments = ["validate", str(path), "-o", str(hall / "out"), "--right", "unicycle", "--json"]
    assert main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["comparison"]["right"] == "unicycle"
    assert report["scenario"]["right"]["simulator"] == "unicycle"


def test_way_points_are_followed_on_each_side(hall, capsys):
    path = write_scenario(
        hall,
        commands=None,
        way_points={"points": [[0.0, -2.0], [0.5, 0.0]], "speed": 0.3},
        duration=30.0,
        right={"simulator": "unicycle", "options": {"slip": 0.3}},
    )
    assert main(["validate", str(path), "-o", str(hall / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    for side in ("left", "right"):
        end = report["comparison"]["over_time"][side][-1]
        assert np.hypot(end[0] - 0.5, end[1]) < 0.15, side


def test_other_files_of_the_folder_stay(hall, capsys):
    out = hall / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert main(["validate", str(write_scenario(hall)), "-o", str(out)]) == 0
    assert main(["validate", str(write_scenario(hall)), "-o", str(out)]) == 0
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rigth": "x"}, "the key 'rigth' is unknown; did you mean 'right'?"),
        ({"stage": "none.usda"}, "none.usda"),
        ({"left": "gazebo"}, "no simulator is named 'gazebo'; there are: "),
        ({"left": {"simulator": "stage", "options": {"warp": 9}}}, "takes no option 'warp'"),
        ({"robot": {"spec": "herbie", "start": [0, 0, 0]}}, "no robot 'herbie'"),
        ({"robot": {"spec": "drum.yaml"}}, "no 'robot.start'"),
        ({"robot": {"start": [0, 0, 0]}}, "no 'robot.spec', and hall.usda has no robot either"),
        (
            {"robot": {"spec": "drum.yaml", "start": [0, 0, 0], "overrides": {"mas": 1}}},
            "'robot.overrides.mas' is unknown; did you mean 'mass'?",
        ),
        (
            {"robot": {"spec": "drum.yaml", "start": [0, 0, 0], "overrides": {"mass": -1}}},
            "'robot.overrides.mass': a number above 0 is expected, found -1",
        ),
        (
            {"robot": {"spec": "drum.yaml", "start": [2.1, 1.5, 0.0]}},
            "starts at (2.1, 1.5) inside the obstacle 'Pillar'; a start in free space is expected, "
            "such as (",
        ),
        (
            {"robot": {"spec": "drum.yaml", "start": [30.0, 0.0, 0.0]}},
            "starts at (30, 0), outside the map",
        ),
        ({"map": {"height": [5.0, 6.0]}}, "5"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_one_line(hall, capsys, changes, message):
    path = write_scenario(hall, **changes)
    line = refused(capsys, ["validate", path, "-o", hall / "out"])
    assert message in line
    assert left_behind(hall) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a stage at all\n", "hall.usda"),
        (b"", "hall.usda"),
        (b"#usda 1.0\ndef Xform {{{\n", "hall.usda"),
        (b'#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n', "hall.usda"),
        (stage_text({}).encode(), "hall.usda"),
    ],
    ids=["text", "nothing", "broken", "empty", "no-geometry"],
)
def test_what_is_wrong_with_a_stage_is_one_line(hall, capsys, content, message):
    (hall / "hall.usda").write_bytes(content)
    line = refused(capsys, ["validate", write_scenario(hall), "-o", hall / "out"])
    assert message in line
    assert left_behind(hall) == []


@pytest.mark.parametrize(("package", "extra"), [("plotly", "report"), ("jinja2", "report")])
def test_a_missing_package_names_its_extra(hall, capsys, monkeypatch, package, extra):
    real = builtins.__import__

    def blocked(name, *arguments, **options):
        if name.split(".")[0] == package:
            raise ImportError(f"No module named '{name}'", name=name)
        return real(name, *arguments, **options)

    for name in [key for key in sys.modules if key.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", blocked)
    line = refused(capsys, ["validate", write_scenario(hall), "-o", hall / "out"])
    assert f"'{package}' is not installed" in line
    assert f"irsim-isaac[{extra}]" in line
    assert left_behind(hall) == []


def test_a_missing_usd_is_told_by_the_command(hall):
    program = (
        "import sys; sys.modules['pxr'] = None\n"
        "from irsim_isaac.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "validate", write_scenario(hall), "-o", hall / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert "irsim-isaac[usd]" in result.stderr
    assert left_behind(hall) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(hall, capsys, monkeypatch):
    (hall / "out").mkdir()
    (hall / "out" / "report.json").write_text("old")

    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    path = write_scenario(hall)
    monkeypatch.setattr(Path, "write_bytes", full)
    line = refused(capsys, ["validate", path, "-o", hall / "out"])
    assert "no space left while writing" in line
    assert left_behind(hall) == ["out"]
    assert [item.name for item in (hall / "out").iterdir()] == ["report.json"]
    assert (hall / "out" / "report.json").read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="limits of file sizes are POSIX's")
def test_a_file_that_does_not_fit_is_one_line_and_leaves_nothing(hall):
    program = (
        "import resource, shutil, sys; from irsim_isaac.cli import main\n"
        "main([*sys.argv[1:], '--json'])  # kernels are compiled while there is room\n"
        "shutil.rmtree(sys.argv[-1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "sys.stdout.flush(); print('full'); sys.exit(main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "validate", write_scenario(hall), "-o", hall / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert result.stdout.endswith("full\n")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "no space left" in result.stderr
    assert left_behind(hall) == []


@pytest.mark.skipif(os.name == "nt", reason="the signal is POSIX's")
def test_an_interrupt_is_one_line_and_leaves_nothing(hall):
    path = write_scenario(hall, commands=[[2000.0, 0.0, 0.1]])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "validate", path, "-o", hall / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while (
        not list(hall.glob(".out-*/world/world.yaml"))
        and process.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert out == ""
    assert err == "irsim-isaac: interrupted; what was not complete was not written\n"
    assert left_behind(hall) == []


def test_an_output_that_is_a_file_is_refused(hall, capsys):
    (hall / "out").write_text("")
    line = refused(capsys, ["validate", write_scenario(hall), "-o", hall / "out"])
    assert "out is a file, a folder was expected" in line
