from __future__ import annotations

import re
import shlex
import sys

import pytest

from irsim_isaac.errors import IrsimIsaacError, MissingPackageError
from irsim_isaac.kit import MissingInIsaacSimError, install_command, missing
from irsim_isaac.kit import packages as kit_packages
from tests.kit.host import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture
def without_shapely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)


def test_the_requirements_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = {*project["dependencies"], *project["optional-dependencies"]["remote"]}
    assert set(kit_packages.REQUIREMENTS.values()) <= stated


def test_what_is_not_named_as_missing_comes_with_isaac_sim() -> None:
    brought = {"numpy", "warp-lang", "pyyaml", "pillow"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split("[><=]", line)[0] for line in project["dependencies"]}
    named = {re.split("[><=]", line)[0] for line in kit_packages.REQUIREMENTS.values()}
    assert needed - brought <= named


def test_everything_is_there_when_nothing_is_missing() -> None:
    assert missing() == ()
    kit_packages.require(kit_packages.COMMANDS, "a command")


@pytest.mark.usefixtures("without_shapely")
def test_a_missing_package_is_named_without_importing_any() -> None:
    assert missing() == ("shapely",)


@pytest.mark.usefixtures("without_shapely")
def test_the_error_is_the_packages_own_and_holds_the_line_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ISAAC_PATH", "/isaac sim")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(MissingPackageError) as caught:
        kit_packages.require(("shapely",), "mapping the stage")
    assert isinstance(caught.value, MissingInIsaacSimError | IrsimIsaacError)
    assert caught.value.packages == ("shapely",)
    assert str(caught.value) == (
        "mapping the stage needs 'shapely', which Isaac Sim's Python lacks; install with: "
        "'/isaac sim/python.sh' -m pip install 'shapely>=2.0'"
    )


def test_a_shell_reads_the_line_as_the_command_that_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ISAAC_PATH", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    line = install_command(["shapely", "zmq"])
    assert shlex.split(line) == [
        *("python.sh", "-m", "pip", "install"),
        *("shapely>=2.0", "pyzmq>=26.0"),
    ]


def test_windows_has_its_own_launcher_and_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISAAC_PATH", raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert install_command(["shapely"]) == "python.bat -m pip install shapely>=2.0"
