from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.kit.host import DOUBLE, ROOT, Kit

STAGE = ROOT / "data" / "warehouse.usda"
ENTRY = "Tools/Robotics/IR-SIM: map the stage"
WINDOW = "Tools/Robotics/IR-SIM Bridge"


def test_it_registers_its_actions_and_where_there_is_a_menu_its_entries(kit: Kit) -> None:
    kit.enable()
    actions = kit.registered()["actions"]
    assert {action.extension_id for action in actions} == {"irsim_isaac"}
    panels = kit.module("irsim_isaac.kit.window").PANELS
    buttons = [f"{kind.panel.name}_{item.name}" for kind in panels for item in kind.panel.actions]
    assert [action.id for action in actions] == [
        "map_stage",
        "install_packages",
        "make_irsim_environment",
        "cancel_irsim_environment",
        "start_mirror",
        "stop_mirror",
        "resume_mirror",
        *buttons,
        *(["show_window"] if kit.window else []),
    ]
    if kit.window:
        menus = kit.module("omni.kit.menu.utils")
        for name, action in ((ENTRY, "map_stage"), (WINDOW, "show_window")):
            assert menus.entry(name).onclick_action == ("irsim_isaac", action)
        assert len(kit.registered()["menus"]) == 2


def test_twenty_starts_and_stops_leave_nothing_registered(kit: Kit) -> None:
    before = kit.registered()
    for _ in range(20):
        kit.enable()
        assert kit.registered() != before
        kit.disable()
        assert kit.registered() == before


def test_a_start_that_fails_half_way_leaves_nothing(
    windowed: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = windowed.registered()

    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("no menus today")

    monkeypatch.setattr(windowed.module("omni.kit.menu.utils"), "add_menu_items", refuse)
    with pytest.raises(RuntimeError, match="no menus today"):
        windowed.enable()
    assert windowed.registered() == before


def test_starting_imports_nothing_that_isaac_sim_does_not_bring(tmp_path: Path) -> None:
    program = f"""
import sys

for name in ("shapely", "pydantic", "typer", "rich", "zmq", "msgpack", "sqlalchemy", "orjson",
             "mcap", "rosbags", "irsim", "ovphysx", "ovstage", "plotly", "jinja2"):
    sys.modules[name] = None
sys.path[:0] = [{str(ROOT)!r}, {str(DOUBLE / "common")!r}, {str(DOUBLE / "isaac_6")!r}]
import carb, omni.ext
from irsim_isaac.kit.extension import Extension
extension = Extension()
extension.on_startup("irsim_isaac-0.1.0")
extension.on_shutdown()
print([line for line in carb.lines if line[0] != "info"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    ((level, text),) = eval(done.stdout)
    assert level == "warn"
    assert "python.sh -m pip install" in text or "python.bat -m pip install" in text
    for name in ("shapely", "pydantic", "typer", "rich", "pyzmq", "msgpack"):
        assert name in text


def test_the_action_maps_the_open_stage(kit: Kit, tmp_path: Path) -> None:
    kit.enable()
    kit.module("omni.usd").get_context().open_stage(str(STAGE))
    registry = kit.module("omni.kit.actions.core").get_action_registry()
    mapped = registry.execute_action(
        "irsim_isaac", "map_stage", tmp_path / "out", resolution=0.2, height=(0.1, 0.62)
    )
    described = yaml.safe_load(mapped.map.read_text())
    assert mapped.map == tmp_path / "out" / "map" / "map.yaml"
    assert described["resolution"] == 0.2
    assert (mapped.map.parent / described["image"]).is_file()
    assert mapped.world == tmp_path / "out" / "world" / "world.yaml"
    assert yaml.safe_load(mapped.world.read_text())["world"]
    assert [level for level, _ in kit.log] == ["info"]


def test_the_menu_entry_writes_beside_the_documents_and_says_so(
    windowed: Kit, tmp_path: Path
) -> None:
    windowed.enable()
    windowed.module("omni.usd").get_context().open_stage(str(STAGE))
    windowed.module("omni.kit.menu.utils").click(ENTRY)
    written = tmp_path / "documents" / "irsim_isaac" / "warehouse"
    assert (written / "map" / "map.png").is_file()
    assert (written / "world" / "world.yaml").is_file()
    ((status, text, _),) = windowed.module("omni.kit.notification_manager").shown
    assert status == 1
    assert str(written) in text


def test_without_a_stage_the_action_says_so_and_writes_nothing(kit: Kit, tmp_path: Path) -> None:
    kit.enable()
    registry = kit.module("omni.kit.actions.core").get_action_registry()
    assert registry.execute_action("irsim_isaac", "map_stage", tmp_path / "out") is None
    ((level, text),) = kit.log
    assert level == "error"
    assert "no stage is open in Isaac Sim" in text
    assert not (tmp_path / "out").exists()


def test_without_shapely_the_action_names_the_line_to_run(
    windowed: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windowed.enable()
    windowed.module("omni.usd").get_context().open_stage(str(STAGE))
    monkeypatch.setitem(sys.modules, "shapely", None)
    registry = windowed.module("omni.kit.actions.core").get_action_registry()
    assert registry.execute_action("irsim_isaac", "map_stage", tmp_path / "out") is None
    ((status, text, _),) = windowed.module("omni.kit.notification_manager").shown
    assert status == 0
    assert "-m pip install 'shapely>=2.0'" in text
    assert not (tmp_path / "out").exists()


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launcher of Isaac Sim's Python that writes down what it was called with."""
    if sys.platform == "win32":
        pytest.skip("the launcher is a shell script")
    script = tmp_path / "isaac" / "python.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho "$@" > "$0.called"\necho installed what was wanted\n')
    script.chmod(0o755)
    monkeypatch.setenv("ISAAC_PATH", str(script.parent))
    return script


def test_nothing_is_installed_before_a_yes_and_then_what_is_missing(
    windowed: Kit, launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    monkeypatch.setitem(sys.modules, "rich", None)

    async def run() -> None:
        windowed.enable()
        shown = windowed.module("omni.kit.notification_manager").shown
        ((_, text, buttons),) = shown
        assert f"{launcher} -m pip install 'rich>=13.0' 'shapely>=2.0'" in text
        assert [button.text for button in buttons] == ["Install now", "Not now"]
        buttons[1].handler()
        await asyncio.sleep(0.05)
        assert not (launcher.parent / "python.sh.called").exists()
        buttons[0].handler()
        for _ in range(100):
            await asyncio.sleep(0.05)
            if len(shown) > 1:
                break
        assert shown[-1][:2] == (1, "installed what was wanted")

    asyncio.run(run())
    called = (launcher.parent / "python.sh.called").read_text()
    assert called == "-m pip install rich>=13.0 shapely>=2.0\n"


def test_an_installation_that_fails_says_why(
    headless: Kit, launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher.write_text("#!/bin/sh\necho no space left on device >&2\nexit 1\n")
    monkeypatch.setitem(sys.modules, "shapely", None)

    async def run() -> None:
        headless.enable()
        registry = headless.module("omni.kit.actions.core").get_action_registry()
        registry.execute_action("irsim_isaac", "install_packages")
        for _ in range(100):
            await asyncio.sleep(0.05)
            if headless.log[-1][0] == "error":
                break

    asyncio.run(run())
    assert "no space left on device" in headless.log[-1][1]


def test_stopping_while_installing_leaves_no_task(
    headless: Kit, launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)

    async def run() -> None:
        headless.enable()
        registry = headless.module("omni.kit.actions.core").get_action_registry()
        registry.execute_action("irsim_isaac", "install_packages")
        await asyncio.sleep(0)
        headless.disable()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
