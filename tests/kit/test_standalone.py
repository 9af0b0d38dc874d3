from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from irsim_isaac.map import load_ros_map
from tests.kit.host import ROOT, Kit

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
