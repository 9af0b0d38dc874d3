"""The Python of IR-SIM: which it is, how it is made after a yes, and what it sees."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.irsim_process import (
    IRSIM_REQUIREMENTS,
    PYTHON_SETTING,
    IrsimAbsentError,
    environment_folder,
    irsim_python,
    make_environment,
    start_irsim,
)
from irsim_isaac.simulators import IrsimSimulator, make
from tests.kit.host import ROOT, Kit
from tests.simulators.arena import twist

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STAGE = ROOT / "data" / "warehouse.usda"

if sys.platform == "win32":
    pytest.skip("the launcher is a shell script", allow_module_level=True)


def set_python(kit: Kit, value: str) -> None:
    kit.module("carb.settings").get_settings().set(PYTHON_SETTING, value)


PIP = """
import pathlib, shlex, site, sys

here = pathlib.Path(site.getsitepackages()[0])
(here / "installed.txt").write_text(shlex.join(sys.argv[1:]))
(here / "found.pth").write_text("\\n".join({paths!r}))
print("Successfully installed what was wanted")
"""
"""Installs by naming where the packages lie already, and writes down what it was told."""


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An Isaac Sim whose Python makes real environments, with a pip that needs no network."""
    script = tmp_path / "isaac" / "python.sh"
    script.parent.mkdir()
    paths = [path for path in sys.path if path.endswith("site-packages")]
    pip = script.parent / "pip" / "__main__.py"
    pip.parent.mkdir()
    pip.write_text(PIP.format(paths=paths))
    script.write_text(
        "#!/bin/sh\nset -e\n"
        'echo "$@" >> "$0.called"\n'
        f'{shlex.quote(sys.executable)} -m venv --without-pip "$3"\n'
        f'cp -r {shlex.quote(str(pip.parent))} "$3"/lib/python*/site-packages/\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("ISAAC_PATH", str(script.parent))
    return script


def ended(process_id: int, within: float = 10.0) -> bool:
    """Wait for a process to be no more."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_the_setting_names_it(headless: Kit, tmp_path: Path) -> None:
    set_python(headless, sys.executable)
    assert irsim_python() == sys.executable
    (tmp_path / "documents").mkdir()
    link = tmp_path / "documents" / "python"
    link.symlink_to(sys.executable)
    set_python(headless, "${omni_documents}/python")
    assert irsim_python() == str(link)


def test_a_setting_that_names_no_program_is_told_in_one_line(headless: Kit) -> None:
    set_python(headless, "/nowhere/python")
    with pytest.raises(IrsimAbsentError) as caught:
        irsim_python()
    assert str(caught.value) == (
        "the setting /exts/irsim_isaac/irsim_python is '/nowhere/python', which is no program that "
        "can be run; the path of a Python with ir-sim was expected"
    )


def test_without_a_setting_and_an_environment_it_says_what_to_do(headless: Kit) -> None:
    with pytest.raises(IrsimAbsentError) as caught:
        irsim_python()
    text = str(caught.value)
    assert str(environment_folder()) in text
    for what in ("make_irsim_environment", PYTHON_SETTING, "python.sh standalone/make_irsim"):
        assert what in text
    assert "\n" not in text


def test_the_environment_lies_in_the_applications_data(headless: Kit, tmp_path: Path) -> None:
    data = tmp_path / "documents" / "data"
    assert environment_folder() == data / "exts" / "irsim_isaac" / "irsim"
    headless.enable()
    assert environment_folder() == data / "exts" / "irsim_isaac" / "irsim"


def test_it_holds_what_the_package_and_ir_sim_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(IRSIM_REQUIREMENTS) == {
        *project["dependencies"],
        *extras["irsim"],
        *extras["remote"],
    }


def test_it_is_made_by_isaac_sims_python_and_ir_sim_runs_in_it(
    headless: Kit, launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an environment in which every Python but Isaac Sim's would load the wrong packages."""
    pytest.importorskip("irsim")
    from irsim_isaac.stage import build_world, robot_specs

    poison = tmp_path / "kit"
    poison.mkdir()
    (poison / "numpy.py").write_text("raise SystemExit('this is the numpy of Isaac Sim')")
    heard: list[tuple[int, int, str]] = []
    python = make_environment(progress=lambda *told: heard.append(told))
    assert [done for done, _, _ in heard] == [0, 1, 2, 3]
    assert str(python) == irsim_python()
    assert launcher.with_suffix(".sh.called").read_text() == f"-m venv {environment_folder()}\n"
    (installed,) = environment_folder().rglob("installed.txt")
    assert shlex.split(installed.read_text()) == [
        *("install", "--disable-pip-version-check"),
        *IRSIM_REQUIREMENTS,
    ]
    monkeypatch.setenv("PYTHONPATH", str(poison))
    monkeypatch.setenv("PYTHONHOME", str(poison))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(poison))
    stage = headless.open_stage(STAGE)
    build_world(stage, robots=robot_specs(stage)).save(tmp_path / "world")
    irsim = start_irsim(tmp_path / "world" / "world.yaml", folder=tmp_path)
    try:
        assert irsim.step({}).header.seq == 1
        process = Path(f"/proc/{irsim.process_id}/environ")
        if process.exists():
            assert str(poison) not in process.read_text()
        number = irsim.process_id
    finally:
        irsim.close()
    assert number is not None and ended(number)


def test_the_package_alone_is_lent_from_among_others(
    headless: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed among Isaac Sim's packages, IR-SIM's Python is shown this one and no other."""
    import irsim_isaac
    from irsim_isaac.kit import irsim_process

    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "irsim_isaac").symlink_to(ROOT / "irsim_isaac")
    (packages / "numpy.py").write_text("")
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        "irsim_isaac.simulators.RemoteSimulator", lambda **options: given.update(options)
    )
    monkeypatch.setattr(Path, "resolve", lambda path: path.absolute())
    monkeypatch.setattr(irsim_isaac, "__file__", str(packages / "irsim_isaac" / "__init__.py"))
    irsim_process.start_irsim("world.yaml", folder=tmp_path / "own", python="python")
    lent = Path(given["environment"]["PYTHONPATH"])
    assert lent == tmp_path / "own" / "package"
    assert [path.name for path in lent.iterdir()] == ["irsim_isaac"]
    assert (lent / "irsim_isaac" / "errors.py").is_file()


def test_in_isaac_sim_every_ir_sim_runs_in_a_process_of_its_own(
    headless: Kit, tmp_path: Path
) -> None:
    """Whoever asks for it by its name: a scenario, a command, a script."""
    pytest.importorskip("irsim")
    from irsim_isaac.stage import build_world, robot_specs

    headless.enable()
    set_python(headless, sys.executable)
    stage = headless.open_stage(STAGE)
    build_world(stage, robots=robot_specs(stage)).save(tmp_path)
    simulator = make(
        "irsim",
        stage=STAGE,
        world=tmp_path / "world.yaml",
        robots=robot_specs(stage),
        starts={"carrier": (-7.0, -4.0, 0.5)},
        step_mode="external",
    )
    number = simulator.process_id
    assert number not in (None, os.getpid())
    assert simulator.read().robots[0].odom.pose.pose.position.x == pytest.approx(-7.0)
    with pytest.raises(SimulatorError, match="a command for 'carrier' in external stepping"):
        simulator.step({"carrier": twist(1.0)})
    simulator.close()
    assert ended(number)
    headless.disable()
    here = make("irsim", world=tmp_path / "world.yaml")
    assert type(here) is IrsimSimulator
    here.close()


def test_one_that_was_made_for_another_version_is_not_used(headless: Kit, launcher: Path) -> None:
    make_environment()
    (environment_folder() / "irsim_isaac.txt").write_text("numpy>=1.26\n")
    with pytest.raises(IrsimAbsentError, match="made for another version of irsim_isaac"):
        irsim_python()
    make_environment()
    assert irsim_python()


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("echo no space left >&2; exit 1", "making the environment failed (no space left)"),
        ("exit 3", "making the environment failed (it said nothing)"),
    ],
)
def test_what_fails_is_told_and_nothing_is_left(
    headless: Kit, launcher: Path, broken: str, expected: str
) -> None:
    launcher.write_text(f'#!/bin/sh\nmkdir -p "$3"; touch "$3/pyvenv.cfg"\n{broken}\n')
    with pytest.raises(IrsimAbsentError) as caught:
        make_environment()
    assert str(caught.value).startswith(expected)
    assert f"{launcher} -m venv" in str(caught.value)
    assert not environment_folder().exists()


def test_the_line_that_says_what_pip_lacked_is_told(headless: Kit, launcher: Path) -> None:
    (launcher.parent / "pip" / "__main__.py").write_text(
        "import sys\nprint('ERROR: No matching distribution found for ir-sim')\n"
        "print('a hint that says less')\nsys.exit(1)\n"
    )
    with pytest.raises(IrsimAbsentError, match=r"\(ERROR: No matching distribution found for ir"):
        make_environment()
    assert not environment_folder().exists()


def test_a_folder_of_others_is_left_alone(headless: Kit, launcher: Path) -> None:
    folder = environment_folder()
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("three years of work")
    with pytest.raises(IrsimAbsentError, match="which holds something else; an empty folder"):
        make_environment()
    assert (folder / "thesis.txt").read_text() == "three years of work"


def slow(launcher: Path) -> None:
    """Let the making take a minute, and write down which process it is."""
    launcher.write_text('#!/bin/sh\necho $$ > "$0.pid"\nmkdir -p "$3"\nsleep 60 & wait\n')


async def process_of(launcher: Path) -> int:
    path = launcher.with_suffix(".sh.pid")
    for _ in range(200):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        await asyncio.sleep(0.02)
    raise AssertionError("it was never begun")


def test_it_can_be_broken_off(headless: Kit, launcher: Path) -> None:
    slow(launcher)
    given_up = threading.Event()

    async def run() -> int:
        making = asyncio.get_running_loop().run_in_executor(
            None, lambda: make_environment(cancelled=given_up)
        )
        number = await process_of(launcher)
        given_up.set()
        with pytest.raises(IrsimAbsentError, match="making the environment was broken off"):
            await making
        return number

    assert ended(asyncio.run(run()))
    assert not environment_folder().exists()


def test_nothing_is_made_before_a_yes_and_then_it_is(windowed: Kit, launcher: Path) -> None:
    async def run() -> None:
        windowed.enable()
        windowed.open_stage(STAGE)
        shown = windowed.module("omni.kit.notification_manager").shown
        registry = windowed.module("omni.kit.actions.core").get_action_registry()
        assert registry.execute_action("irsim_isaac", "start_mirror", "lead")
        await until(lambda: bool(shown))
        ((status, text, buttons),) = shown
        assert status == 0
        assert text.startswith("IR-SIM has no Python yet")
        assert [button.text for button in buttons] == ["Make it now", "Not now"]
        buttons[1].handler()
        await asyncio.sleep(0.05)
        assert not environment_folder().exists()
        assert not launcher.with_suffix(".sh.called").exists()
        buttons[0].handler()
        await until(lambda: len(shown) > 2)
        assert shown[1][1].startswith(f"making IR-SIM's Python in {environment_folder()}")
        assert [button.text for button in shown[1][2]] == ["Cancel"]
        assert re.fullmatch(r"made .*/bin/python; IR-SIM can be started now", shown[2][1])
        assert irsim_python()

    asyncio.run(run())


@pytest.mark.parametrize("way", ["button", "action", "disable"])
def test_making_is_broken_off_by_the_user_and_by_the_end(
    windowed: Kit, launcher: Path, way: str
) -> None:
    slow(launcher)

    async def run() -> int:
        windowed.enable()
        shown = windowed.module("omni.kit.notification_manager").shown
        registry = windowed.module("omni.kit.actions.core").get_action_registry()
        registry.execute_action("irsim_isaac", "make_irsim_environment")
        number = await process_of(launcher)
        if way == "button":
            shown[0][2][0].handler()
        elif way == "action":
            registry.execute_action("irsim_isaac", "cancel_irsim_environment")
        else:
            windowed.disable()
            assert ended(number, 0.1)
        if way != "disable":
            await until(lambda: len(shown) > 1)
            assert "was broken off" in shown[1][1]
        await asyncio.sleep(0)
        return number

    assert ended(asyncio.run(run()))
    assert not environment_folder().exists()


async def until(done: Any, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
