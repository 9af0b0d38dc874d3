"""Importing the package: silent, a guest, and possible without what is optional."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "irsim_isaac"

OPTIONAL = (
    "pxr",
    "irsim",
    "ovphysx",
    "orjson",
    "mcap",
    "rosbags",
    "plotly",
    "jinja2",
    "zmq",
    "msgpack",
    "sqlalchemy",
    "sklearn",
    "scipy",
    "matplotlib",
    "zstandard",
    "omni",
    "carb",
    "isaacsim",
    "rclpy",
)
WITHOUT_EXTRAS = (
    "irsim_isaac.msg",
    "irsim_isaac.recording",
    "irsim_isaac.lidar",
    "irsim_isaac.clock",
    "irsim_isaac.robot",
    "irsim_isaac.map",
    "irsim_isaac.simulators",
    "irsim_isaac.validation",
    "irsim_isaac.cli",
)

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError("No module named %r" % name, name=name)

sys.meta_path.insert(0, Blocked())
"""


def _run(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("room", WITHOUT_EXTRAS)
def test_a_room_imports_without_any_extra_and_says_nothing(room: str) -> None:
    result = _run(BLOCK.format(blocked=set(OPTIONAL)) + f"import {room}")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_stage_room_without_usd_names_the_extra() -> None:
    code = BLOCK.format(blocked={"pxr"}) + "import irsim_isaac.stage"
    result = _run(code)
    assert result.returncode != 0
    assert "irsim-isaac[usd]" in result.stderr.splitlines()[-1]


def test_importing_every_room_changes_nothing_of_the_host() -> None:
    code = """
import json, sys
import warp as wp
def config():
    return {k: repr(v) for k, v in vars(wp.config).items() if not k.startswith("_")}
before = config()
import irsim_isaac.msg, irsim_isaac.recording, irsim_isaac.lidar, irsim_isaac.map
import irsim_isaac.stage, irsim_isaac.simulators, irsim_isaac.validation, irsim_isaac.cli
assert config() == before, "Warp's configuration changed"
heavy = sorted({"matplotlib", "irsim", "omni", "ovphysx", "loguru"} & set(sys.modules))
print(json.dumps(heavy))
"""
    pytest.importorskip("pxr")
    result = _run(code)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == []
    assert result.stderr == ""


def test_resources_are_found_beside_the_package_and_inside_it(tmp_path: Path) -> None:
    for place in (tmp_path / "clone", tmp_path / "wheel"):
        shutil.copytree(
            PACKAGE, place / "irsim_isaac", ignore=shutil.ignore_patterns("__pycache__")
        )
    for home in (tmp_path / "clone", tmp_path / "wheel" / "irsim_isaac"):
        (home / "config").mkdir()
        (home / "config" / "here.yaml").write_text("")
        place = home if home.name == "clone" else home.parent
        result = _run(
            f"import sys; sys.path.insert(0, {str(place)!r})\n"
            "from irsim_isaac.resources import resource; print(resource('config/here.yaml'))\n"
            "try: resource('config/absent.yaml')\n"
            "except FileNotFoundError as error: print('config/absent.yaml' in str(error))"
        )
        assert result.stdout.split() == [str(home / "config" / "here.yaml"), "True"], result.stderr
