from __future__ import annotations

import ast
import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irsim_isaac.map import load_ros_map
from tests.kit.host import DOUBLE, ROOT, Kit

STAGE = ROOT / "data" / "warehouse.usda"
SCRIPTS = sorted((ROOT / "standalone").glob("*.py"))


def run(script: str, *arguments: str, patch: pytest.MonkeyPatch) -> int:
    """Run a script as ``python.sh`` does and return its exit code."""
    path = ROOT / "standalone" / script
    patch.setattr(sys, "argv", [str(path), *arguments])
    patch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(path), run_name="__main__")
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_nothing_of_omniverse_is_imported_before_the_application_runs(script: Path) -> None:
    started = False
    for node in ast.parse(script.read_text()).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        foreign = [name for name in names if name.split(".")[0] in {"omni", "carb", "pxr"}]
        ours = [name for name in names if name.startswith("irsim_isaac")]
        assert started or not (foreign or ours), names
        started = started or "SimulationApp(" in ast.unparse(node)
    assert started


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_arguments_that_are_kits_are_left_to_kit(script: Path) -> None:
    source = script.read_text()
    assert "parse_known_args()" in source
    assert '"--test"' in source


def test_make_map_writes_map_and_world(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code = run(
        "make_map.py",
        *(str(STAGE), "-o", str(out), "--resolution", "0.25", "--height", "0.2", "0.5"),
        *("--test", "--/renderer/enabled=none"),
        patch=monkeypatch,
    )
    assert code == 0
    (application,) = kit.module("isaacsim").started
    assert application.closed
    assert application.config == {"headless": True, "fast_shutdown": False}
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == [str(out / "map" / "map.yaml"), str(out / "world" / "world.yaml")]
    cells = load_ros_map(out / "map" / "map.yaml").cells
    assert set(np.unique(cells)) >= {0, 100}


@pytest.mark.parametrize("text", ["", "not a stage"], ids=["missing", "no USD"])
def test_make_map_refuses_what_is_no_stage_in_one_line(
    kit: Kit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
) -> None:
    stage = tmp_path / "stage.usda"
    if text:
        stage.write_text(text)
    out = tmp_path / "out"
    assert run("make_map.py", str(stage), "-o", str(out), patch=monkeypatch) == 2
    captured = capsys.readouterr()
    assert captured.err == f"make_map: Isaac Sim cannot open '{stage}' as a stage\n"
    assert not out.exists()
    (application,) = kit.module("isaacsim").started
    assert application.closed


@pytest.mark.parametrize(
    ("headless", "direction"),
    [("5_1", "follow"), ("6", "follow"), ("6", "lead"), ("6", "beside")],
    indirect=["headless"],
)
def test_mirror_robot_moves_isaac_sim_as_ir_sim_drives(
    headless: Kit,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    direction: str,
) -> None:
    pytest.importorskip("ovphysx")
    pytest.importorskip("irsim")
    given = [str(STAGE), "--test", "--direction", direction, "--irsim-python", sys.executable]
    assert run("mirror_robot.py", *given, patch=monkeypatch) == 0
    # Before them stands what Warp prints when a process uses it first.
    *_, first, last = capsys.readouterr().out.splitlines()
    assert last == "20 steps"
    name, apart = first.split(":")[0], float(first.split()[-3])
    assert name == "carrier"
    assert apart < 1e-5 if direction != "beside" else 1e-5 < apart < 0.2
    (application,) = headless.module("isaacsim").started
    assert application.closed


def test_mirror_robot_needs_a_robot(
    headless: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    pytest.importorskip("ovphysx")
    empty = tmp_path / "empty.usda"
    empty.write_text('#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n')
    given = [str(empty), "--irsim-python", sys.executable]
    assert run("mirror_robot.py", *given, patch=monkeypatch) == 2
    assert "holds no robot and no robot start pose" in capfd.readouterr().err


def test_mirror_robot_says_what_ir_sim_needs(
    headless: Kit, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    pytest.importorskip("ovphysx")
    assert run("mirror_robot.py", str(STAGE), patch=monkeypatch) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("mirror_robot: IR-SIM has no Python yet: there is no environment")
    assert "python.sh standalone/make_irsim_environment.py" in line


def test_the_environment_is_not_made_without_a_yes(
    headless: Kit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("ISAAC_PATH", raising=False)
    for given in ([], ["--test"], ["--yes", "--test"]):
        assert run("make_irsim_environment.py", *given, patch=monkeypatch) == 0
        head, venv, pip, attempt = capsys.readouterr().out.splitlines()
        folder = headless.module("irsim_isaac.kit.irsim_process").environment_folder()
        assert head == "nothing was made; with --yes this is run:"
        assert shlex.split(venv) == ["python.sh", "-m", "venv", str(folder)]
        python, *rest = shlex.split(pip)
        assert Path(python).parents[1] == folder
        assert "ir-sim>=2.12,<2.13" in rest
        assert "-c" in shlex.split(attempt)
        assert not folder.exists()


SCENARIO = """name: Side by side
stage: {stage}
left: {{simulator: stage}}
right: {{simulator: physx}}
step_time: 0.1
commands: [[0.5, 0.5, 0.0], [0.5, 0.3, 0.3]]
map: {{resolution: 0.2, height: [0.1, 0.62]}}
"""


def test_validate_puts_the_live_simulator_beside_another(
    headless: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ovphysx")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO.format(stage=STAGE))
    out = tmp_path / "out"
    assert run("validate.py", str(scenario), "-o", str(out), patch=monkeypatch) == 0
    report = json.loads((out / "report.json").read_text())
    assert "isaac" in json.dumps(report)
    assert (out / "report.html").is_file()


def test_validate_names_what_it_lacks(
    headless: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    code = run("validate.py", "warehouse", "-o", str(tmp_path / "out"), patch=monkeypatch)
    assert code == 2
    assert "-m pip install 'pydantic>=2.6'" in capfd.readouterr().err


def test_the_command_starts_the_application_before_any_import_of_usd(tmp_path: Path) -> None:
    """In a process of its own, where the double refuses what was imported too early."""
    pytest.importorskip("ovphysx")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO.format(stage=STAGE))
    program = f"""
import sys
sys.path[:0] = [{str(DOUBLE / "common")!r}, {str(DOUBLE / "isaac_6")!r}]
import isaacsim
from irsim_isaac.cli import main
code = main(["validate", {str(scenario)!r}, "-o", {str(tmp_path / "out")!r}, "--right", "isaac"])
(application,) = isaacsim.started
assert application.closed and application.config["headless"]
sys.exit(code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_outside_isaac_sim_the_command_says_what_it_needs(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO.format(stage=STAGE))
    command = "import sys; from irsim_isaac.cli import main; sys.exit(main(sys.argv[1:]))"
    given = ["validate", str(scenario), "-o", str(tmp_path / "out"), "--right", "isaac"]
    done = subprocess.run(
        [sys.executable, "-c", command, *given],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "irsim-isaac: simulator 'isaac' needs Isaac Sim's own Python: run this with python.sh\n"
    )
    assert not (tmp_path / "out").exists()
