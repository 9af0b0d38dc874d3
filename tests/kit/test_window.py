"""The window on the double, for both versions: every action, and what may happen meanwhile."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from irsim_isaac.errors import (
    InteractiveError,
    IrsimIsaacError,
    SimulatorError,
    StageError,
    StoreError,
)
from tests.kit.host import DOUBLE, ROOT, Kit, hosted
from tests.kit.window_session import LIDAR, STAGE, Session

pytest.importorskip("ovphysx")

FLAT = ROOT / "data" / "flat.usda"


@pytest.fixture(params=["5_1", "6"], ids=["5.1", "6"])
def window(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """An application of each Isaac Sim with a window."""
    with hosted(request.param, window=True, documents=tmp_path / "documents") as host:
        yield Session(host)


# ---------------------------------------------------------------------- the window itself


def test_the_menu_opens_and_closes_it_and_is_ticked_while_it_is_open(window: Session) -> None:
    window.start()
    ui = window.kit.module("omni.ui")
    entry = window.kit.module("omni.kit.menu.utils").entry("Tools/Robotics/IR-SIM Bridge")
    assert entry.ticked and not entry.ticked_fn()
    opened = window.open()
    assert opened.title == "IR-SIM Bridge"
    assert opened.docked_in == ("Property", ui.DockPolicy.CURRENT_WINDOW_IS_ACTIVE)
    assert entry.ticked_fn()
    window.execute("show_window")
    assert ui.windows == [] and not entry.ticked_fn()
    assert ui.Workspace.show_window("IR-SIM Bridge", True)
    assert len(ui.windows) == 1
    # By its own cross: it goes with the next frame.
    ui.windows[0].visible = False
    assert not entry.ticked_fn()
    window.app.update()
    assert ui.windows == []


def test_every_part_of_the_description_is_drawn(window: Session) -> None:
    window.start().open()
    for name, model in window.bridge.panels.items():
        panel = model.panel
        assert panel.description in window.labels(name)
        for field in panel.fields:
            assert field.title in window.labels(name)
            assert field.description in window.field(name, field.name).tooltip
            assert field.limits in window.field(name, field.name).tooltip
        for action in panel.actions:
            assert window.button(name, action.title).tooltip == action.description
        assert len(window.widgets(name, "ImageWithProvider")) == len(panel.pictures)


def test_opening_and_closing_it_twenty_times_leaves_nothing(window: Session) -> None:
    window.start()
    ui = window.kit.module("omni.ui")
    before = window.kit.registered()
    window.open()
    window.execute("show_window")
    awake = window.kit.registered()
    assert len(awake["observers"]) == len(before["observers"]) + 1
    seen = []
    for _ in range(20):
        window.open()
        seen.append(weakref.ref(window.extension.wiring.window))
        window.app.update()
        window.execute("show_window")
        assert ui.windows == []
        assert window.kit.registered() == awake
    gc.collect()
    assert [item() for item in seen] == [None] * 20
    assert window.bridge.on_look is None


def test_twenty_hot_reloads_with_it_open_leave_nothing(window: Session) -> None:
    before, threads = window.kit.registered(), threading.active_count()
    ui = window.kit.module("omni.ui")
    for _ in range(20):
        window.start(None)
        window.open()
        window.app.update()
        window.kit.disable()
        assert window.kit.registered() == before
        assert ui.windows == []
        assert ui.Workspace.show_window_fns == {}
    assert threading.active_count() == threads


def test_disabling_in_the_middle_of_everything_leaves_nothing(window: Session) -> None:
    before, threads = window.kit.registered(), set(threading.enumerate())

    async def run() -> None:
        window.start().open()
        session = window.kit.module("omni.usd").get_context().get_stage().GetSessionLayer()
        window.execute("lidar_start")
        await window.done(window.execute("fog_start"))
        window.timeline("play")
        await window.until(lambda: window.panel("fog").coverage > 0.1)
        tasks = [window.execute(name) for name in ("map_preview", "world_read", "doctor_run")]
        window.execute("map_pick")
        await window.frame()
        window.kit.disable()
        assert window.kit.registered() == before
        assert list(session.subLayerPaths) == []
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        viewport = window.kit.module("omni.kit.viewport.utility").get_active_viewport_window()
        assert viewport.viewport_api.scene_views == []

    # Threads of the loop's executor end with it, once their work has seen that it is not wanted.
    asyncio.run(run())
    assert set(threading.enumerate()) <= threads
    assert window.kit.module("omni.ui").windows == []


def test_an_application_without_windows_has_the_actions_and_no_window(headless: Kit) -> None:
    headless.enable()
    actions = {action.id for action in headless.registered()["actions"]}
    assert {"map_preview", "lidar_start", "mirror_start", "fog_start", "doctor_run"} <= actions
    assert "show_window" not in actions
    assert not any(name.startswith("omni.ui") for name in sys.modules)
    session = Session(headless)
    session.execute("map_pick")
    assert "no stage is open" in headless.log[-1][1]
    headless.open_stage(STAGE)
    session.execute("map_pick")
    assert "there is no viewport in this application" in headless.log[-1][1]


def test_importing_the_panels_loads_no_widget_and_no_heavy_package(tmp_path: Path) -> None:
    program = f"""
import sys
for name in ("shapely", "pydantic", "zmq", "msgpack", "plotly", "jinja2", "rclpy", "sqlalchemy",
             "omni.ui", "omni.kit.viewport"):
    sys.modules[name] = None
sys.path[:0] = [{str(ROOT)!r}, {str(DOUBLE / "common")!r}, {str(DOUBLE / "isaac_6")!r}]
import irsim_isaac.kit.window, irsim_isaac.kit.window.drawing, irsim_isaac.kit.window.omni_ui
print(sorted(name for name in sys.modules if name.startswith(("omni", "isaacsim", "pxr"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == ["omni.kit.viewport", "omni.ui"]


# ---------------------------------------------------------------------- fields


def test_a_field_refuses_what_it_does_not_take_and_shows_the_value_before(window: Session) -> None:
    window.start().open()
    field = window.field("map", "resolution")
    assert field.model.get_value_as_string() == "0.05"
    for text in ("abc", "", "0", "-1", "nan", "inf", "7", "0,05"):
        field.type(text)
        assert field.model.get_value_as_string() == "0.05"
        (message,) = window.panel("map").messages.values()
        assert message.startswith("Resolution: found ")
        assert message.endswith("0.005 to 5 m was expected")
        assert message in window.labels("map")
    field.type(" 0.1 ")
    assert window.panel("map").values["resolution"] == 0.1
    assert window.panel("map").messages == {}
    window.app.update()
    assert not any("was expected" in text for text in window.labels("map"))


def test_a_band_upside_down_is_refused_at_the_field(window: Session) -> None:
    window.start().open()
    window.field("map", "highest").type("0.05")
    assert window.panel("map").values["highest"] == 0.62
    assert window.panel("map").messages["highest"] == (
        "Band to: found 0.05 m, more than the 0.1 m of 'band from' was expected"
    )
    window.field("map", "lowest").type("0.62")
    assert "less than the 0.62 m of 'band to'" in window.panel("map").messages["lowest"]


def test_boxes_of_choices_and_flags_follow_the_model_and_lead_it(window: Session) -> None:
    window.start().open()
    box = window.field("map", "geometry")
    assert (box.choices, box.shown) == (["visual", "collision"], "visual")
    box.choose("collision")
    assert window.panel("map").values["geometry"] == "collision"
    window.panel("map").set("geometry", "visual")
    window.app.update()
    assert box.shown == "visual"
    lidars = window.field("lidar", "prim")
    assert lidars.choices == ["the first of the stage"]
    window.button("lidar", "Find lidars").call_clicked_fn()
    window.app.update()
    assert (lidars.choices, lidars.shown) == (["the first of the stage", LIDAR], LIDAR)
    lidars.choose("the first of the stage")
    assert window.panel("lidar").values["prim"] == ""
    flag = window.field("fog", "overlay")
    flag.model.set_value(False)
    assert window.panel("fog").values["overlay"] is False
    window.panel("fog").set("overlay", True)
    window.app.update()
    assert flag.model.get_value_as_bool() is True


def test_a_bad_value_of_an_action_is_told_and_nothing_is_done(window: Session) -> None:
    window.start()
    error = window.kit.module("irsim_isaac.kit.window").FieldError
    assert window.execute("map_preview", resolution="much") is None
    status, text, buttons = window.shown[-1]
    assert status == 0
    assert text == "Resolution: found 'much', 0.005 to 5 m was expected"
    assert [button.text for button in buttons] == ["Copy", "Dismiss"]
    buttons[0].handler()
    assert window.kit.module("omni.kit.clipboard").paste() == text
    assert window.panel("map").task is None
    with pytest.raises(error, match="Stage to map has no field 'colour'; it has: lowest, highest"):
        window.bridge.act("map", "preview", colour="red")
    with pytest.raises(error, match="Stage to map has no action 'paint'"):
        window.bridge.act("map", "paint")
    with pytest.raises(error, match="no panel is named 'maps'; found: map, lidar"):
        window.bridge.act("maps", "preview")


def test_values_are_kept_between_runs_and_bad_ones_are_mended(tmp_path: Path) -> None:
    def settings(kit: Kit) -> dict[str, object]:
        values = kit.module("carb.settings").get_settings()._values
        return {key: value for key, value in values.items() if key.startswith("/persistent/")}

    with hosted("6", window=True, documents=tmp_path) as kit:
        session = Session(kit).start()
        session.open()
        session.field("map", "resolution").type("0.2")
        session.field("map", "seeds").type("1, 2")
        session.field("fog", "overlay").model.set_value(False)
        session.field("mirror", "direction").choose("lead")
        kept = settings(kit)
    root = "/persistent/exts/irsim_isaac/window"
    assert kept == {
        f"{root}/map/resolution": 0.2,
        f"{root}/fog/overlay": False,
        f"{root}/mirror/direction": "lead",
    }
    kept[f"{root}/fog/opacity"] = "thick"
    with hosted("6", window=True, documents=tmp_path) as kit:
        for key, value in kept.items():
            kit.module("carb.settings").get_settings().set(key, value)
        session = Session(kit).start()
        assert session.panel("map").values["resolution"] == 0.2
        assert session.panel("fog").values["overlay"] is False
        assert session.panel("mirror").values["direction"] == "lead"
        assert session.panel("fog").values["opacity"] == 0.6
        assert any(level == "warn" and "'thick'" in text for level, text in kit.log)


def test_what_the_settings_say_is_where_a_field_begins(tmp_path: Path) -> None:
    with hosted("6", window=True, documents=tmp_path) as kit:
        kit.module("carb.settings").get_settings().set(
            "/exts/irsim_isaac/window/map/resolution", 0.25
        )
        assert Session(kit).start().panel("map").values["resolution"] == 0.25


# ---------------------------------------------------------------------- stage to map


def test_the_stage_is_mapped_shown_and_written(window: Session, tmp_path: Path) -> None:
    async def run() -> None:
        window.start().open()
        written = window.kit.module("omni.usd").get_context().get_stage().GetRootLayer()
        before = written.ExportToString()
        (image,) = window.widgets("map", "ImageWithProvider")
        blank = image.provider.pixels
        window.field("map", "resolution").type("0.1")
        window.button("map", "Preview").call_clicked_fn()
        await window.done(window.panel("map").task.asyncio)
        await window.until(lambda: image.provider.images == 2)
        assert not np.array_equal(image.provider.pixels, blank)
        assert image.provider.pixels.shape == (240, 380, 4)
        occupancy = window.panel("map").occupancy
        assert occupancy.resolution == 0.1
        window.button("map", "Export").call_clicked_fn()
        mapped = await window.done(window.panel("map").task.asyncio)
        assert mapped.directory == tmp_path / "documents" / "irsim_isaac" / "warehouse"
        assert yaml.safe_load(mapped.map.read_text())["resolution"] == 0.1
        assert yaml.safe_load(mapped.world.read_text())["world"]
        load = window.kit.module("irsim_isaac.map").load_ros_map
        assert load(mapped.map).shape == occupancy.shape
        assert written.ExportToString() == before

    asyncio.run(run())


def test_seeds_are_picked_in_the_viewport(window: Session) -> None:
    viewport = window.kit.module("omni.kit.viewport.utility").get_active_viewport_window()
    api = viewport.viewport_api

    def screen() -> object:
        (view,) = api.scene_views
        (screen,) = view.scene.children
        return screen

    window.start().open()
    panel = window.panel("map")
    window.button("map", "Pick seed").call_clicked_fn()
    screen().click(0.5, -0.5)
    assert panel.seeds == []
    api.answer()
    assert panel.seeds == [(4.0, -2.25)]
    assert api.scene_views == [] and viewport.frames["irsim_isaac.pick"].children == []
    window.app.update()
    assert window.field("map", "seeds").model.get_value_as_string() == "4, -2.25"
    # Nothing under the click, a click beside the picture, and waiting no longer.
    api.met = ("", None)
    window.execute("map_pick")
    screen().click(0.0, 0.0)
    api.answer()
    window.execute("map_pick")
    screen().click(3.0, 0.0)
    window.execute("map_pick")
    window.execute("map_pick")
    assert api.scene_views == [] and len(panel.seeds) == 1
    # The answer to a click comes when nobody waits any more.
    window.execute("map_pick")
    screen().click(0.0, 0.0)
    window.kit.module("omni.usd").get_context().close_stage()
    api.met = None
    api.answer()
    assert api.scene_views == [] and len(panel.seeds) == 1
    window.execute("map_clear_seeds")
    assert panel.seeds == []


def test_a_seed_in_a_wall_is_told_by_the_map(window: Session) -> None:
    async def run() -> None:
        window.start()
        task = window.execute("map_preview", seeds="0, 0; 50, 50", resolution=0.2)
        with pytest.raises(StageError):
            await window.done(task)
        await window.frame()
        assert window.shown[-1][0] == 0
        assert window.panel("map").error == window.shown[-1][1]

    asyncio.run(run())


@pytest.mark.parametrize("action", ["map_preview", "map_export", "fog_start", "world_read"])
def test_without_a_stage_it_is_told(window: Session, action: str, tmp_path: Path) -> None:
    async def run() -> None:
        window.start(None)
        with pytest.raises(StageError, match="no stage is open in Isaac Sim"):
            await window.done(window.execute(action))
        await window.frame()
        assert "no stage is open in Isaac Sim" in window.shown[-1][1]

    asyncio.run(run())
    assert not (tmp_path / "documents").exists()


@pytest.mark.parametrize("action", ["map_preview", "map_export", "fog_start", "world_read"])
def test_closing_the_stage_in_the_middle_gives_it_up(window: Session, action: str) -> None:
    async def run() -> None:
        window.start().open()
        task = window.execute(action)
        await window.frame()
        window.kit.module("omni.usd").get_context().close_stage()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(5):
            await window.frame()
        name = action.split("_", maxsplit=1)[0]
        assert window.panel(name).running is None
        assert all(status == 1 for status, _, _ in window.shown)
        # And it can be done again on another stage.
        window.kit.open_stage(STAGE)
        await window.done(window.execute(action))

    asyncio.run(run())


def test_what_is_being_made_is_of_the_stage_as_it_was_begun(window: Session) -> None:
    async def run() -> None:
        stage = window.start().kit.module("omni.usd").get_context().get_stage()
        window.timeline("play")
        whole = await window.done(window.execute("map_preview", resolution=0.1))
        task = window.execute("map_preview")
        await window.frame()
        window.timeline("stop")
        assert stage.RemovePrim("/World/ShelfA")
        assert await window.done(task) == whole
        assert await window.done(window.execute("map_preview")) != whole
        # A lidar that goes while its fog is made is missed.
        task = window.execute("fog_start")
        await window.frame()
        assert stage.RemovePrim(LIDAR)
        with pytest.raises(SimulatorError, match=f"the lidar {LIDAR} is not on the stage any more"):
            await window.done(task)
        assert not stage.GetPrimAtPath("/irsim_isaac_fog")

    asyncio.run(run())


def test_a_panel_does_one_thing_at_a_time_and_can_be_cancelled(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        busy = window.kit.module("irsim_isaac.kit.window").PanelBusyError
        task = window.execute("map_preview")
        await window.frame()
        with pytest.raises(busy, match="Stage to map is busy"):
            window.bridge.act("map", "export")
        bar, *_ = window.widgets("map", "ProgressBar")
        await window.frame()
        assert 0.0 <= bar.model.get_value_as_float() <= 1.0
        window.button("map", "Cancel").call_clicked_fn()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert window.panel("map").occupancy is None
        await window.done(window.execute("map_preview", resolution=0.2))

    asyncio.run(run())


# ---------------------------------------------------------------------- lidar


def test_a_lidar_is_read_and_plotted_until_it_is_stopped(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        panel = window.panel("lidar")
        (image,) = window.widgets("lidar", "ImageWithProvider")
        window.button("lidar", "Read").call_clicked_fn()
        assert "the simulation does not play" in panel.texts["state"]
        window.timeline("play")
        await window.until(lambda: image.provider.images >= 3)
        assert panel.values["prim"] == LIDAR
        assert panel.texts["state"] == f"reading {LIDAR}"
        green = (image.provider.pixels[..., :3] == (118, 185, 0)).all(axis=-1)
        assert green.sum() > 100
        window.timeline("stop")
        await window.until(lambda: "does not play" in panel.texts["state"])
        window.timeline("play")
        shown = image.provider.images
        await window.until(lambda: image.provider.images > shown)
        window.button("lidar", "Stop").call_clicked_fn()
        assert panel.lidar is None
        assert window.kit.registered()["annotators"] == []
        window.button("lidar", "Stop").call_clicked_fn()

    asyncio.run(run())


def test_a_deleted_lidar_ends_the_reading_and_is_told(window: Session) -> None:
    async def run() -> None:
        window.start()
        window.execute("lidar_start")
        await window.done(window.execute("fog_start"))
        window.timeline("play")
        await window.until(lambda: window.panel("lidar").canvases["scan"].image is not None)
        stage = window.kit.module("omni.usd").get_context().get_stage()
        window.timeline("stop")
        assert stage.RemovePrim(LIDAR)
        await window.frame()
        for name in ("lidar", "fog"):
            assert window.panel(name).error == f"the lidar {LIDAR} is not on the stage any more"
        assert window.panel("lidar").lidar is None
        assert list(stage.GetSessionLayer().subLayerPaths) == []
        with pytest.raises(SimulatorError, match=f"{LIDAR} is no OmniLidar of the open stage"):
            window.bridge.act("lidar", "start")
        with pytest.raises(StageError, match="the open stage has no OmniLidar prim"):
            window.bridge.act("lidar", "find")

    asyncio.run(run())


def test_closing_the_stage_lets_go_of_the_lidar_and_the_fog(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        window.execute("lidar_start")
        await window.done(window.execute("fog_start"))
        window.timeline("play")
        await window.until(lambda: window.panel("fog").coverage > 0.1)
        window.kit.module("omni.usd").get_context().close_stage()
        for _ in range(5):
            await window.frame()
        assert window.panel("lidar").lidar is None
        assert window.panel("fog").fog is None
        assert window.kit.registered()["annotators"] == []
        assert window.kit.registered()["render products"] == []
        assert all(status == 1 for status, _, _ in window.shown)
        with pytest.raises(StageError, match="no stage is open"):
            window.bridge.act("lidar", "start")
        with pytest.raises(SimulatorError, match="there is no fog yet"):
            window.bridge.act("fog", "reset")

    asyncio.run(run())


# ---------------------------------------------------------------------- fog


def test_fog_lies_on_the_ground_and_is_lifted(window: Session) -> None:
    from pxr import UsdGeom

    async def run() -> None:
        window.start().open()
        panel = window.panel("fog")
        stage = window.kit.module("omni.usd").get_context().get_stage()
        written = stage.GetRootLayer().ExportToString()
        window.button("fog", "Start").call_clicked_fn()
        await window.done(panel.task.asyncio)
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/irsim_isaac_fog"))
        await window.until(lambda: mesh.GetPointsAttr().Get())
        area = covered(mesh)
        assert area == pytest.approx(panel.free_area, rel=1e-4)
        window.timeline("play")
        await window.until(lambda: panel.coverage > 0.3)
        await window.until(lambda: covered(mesh) < 0.75 * area)
        points = np.array(mesh.GetPointsAttr().Get())
        assert np.allclose(points[:, 2], 0.01)
        assert panel.texts["coverage"].endswith("of free floor has been seen")
        (image,) = window.widgets("fog", "ImageWithProvider")
        await window.until(lambda: image.provider.images >= 2)
        window.timeline("stop")
        window.button("fog", "Cover again").call_clicked_fn()
        assert panel.coverage == 0.0
        await window.until(lambda: covered(mesh) == pytest.approx(area, rel=1e-4))
        window.button("fog", "Stop").call_clicked_fn()
        assert not stage.GetPrimAtPath("/irsim_isaac_fog")
        assert list(stage.GetSessionLayer().subLayerPaths) == []
        assert stage.GetRootLayer().ExportToString() == written

    asyncio.run(run())


def covered(mesh: object) -> float:
    """Return the area of a mesh of rectangles [m^2]."""
    corners = np.array(mesh.GetPointsAttr().Get()).reshape(-1, 4, 3)
    sides = corners[:, 2, :2] - corners[:, 0, :2]
    return float(np.prod(sides, axis=1).sum())


def test_a_deleted_fog_is_told(window: Session) -> None:
    async def run() -> None:
        window.start()
        await window.done(window.execute("fog_start"))
        stage = window.kit.module("omni.usd").get_context().get_stage()
        layers = stage.GetSessionLayer().subLayerPaths
        for identifier in list(layers):
            layers.remove(identifier)
        window.execute("fog_reset")
        await window.until(lambda: window.panel("fog").error)
        assert "the fog was deleted from the stage" in window.panel("fog").error

    asyncio.run(run())


def test_a_lidar_on_a_robot_lifts_the_fog_where_the_robot_is(window: Session) -> None:
    from irsim_isaac.msg import Twist, Vector3
    from irsim_isaac.simulators import make
    from irsim_isaac.stage import robot_specs, robot_starts

    stage = window.start().kit.module("omni.usd").get_context().get_stage()
    simulator = make(
        "isaac",
        robots=robot_specs(stage),
        starts=robot_starts(stage),
        lidar="rays",
        drive_by="body",
    )
    name = next(iter(simulator.robots))
    for _ in range(30):
        state = simulator.step({name: Twist(Vector3(0.5, 0.0, 0.0), Vector3(0.0, 0.0, 0.3))})
    body = next(
        path
        for path in map(str, (item.GetPath() for item in stage.Traverse()))
        if path.startswith("/irsim_isaac_robots") and path.endswith("base_link")
    )
    lidars = window.kit.module("irsim_isaac.kit.window.lidars")
    versions = window.kit.module("irsim_isaac.kit.versions")
    live = lidars.LivePose(versions.isaac_sim(), stage, body)
    at = state.objects[0].odom.pose.pose
    x, y, yaw = live.read()
    assert (x, y) == pytest.approx((at.position.x, at.position.y), abs=0.02)
    assert yaw == pytest.approx(at.orientation.to_yaw(), abs=0.02)
    live.close()
    simulator.close()


# ---------------------------------------------------------------------- doctor, world


def test_the_doctor_checks_a_few_names_a_frame_and_finds_nothing_wrong(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        with pytest.raises(IrsimIsaacError, match="nothing was checked yet"):
            window.bridge.act("doctor", "copy")
        window.button("doctor", "Check").call_clicked_fn()
        checks = await window.done(window.panel("doctor").task.asyncio)
        assert [str(check) for check in checks if not check.passed] == []
        assert len(checks) > 150
        assert window.panel("doctor").texts["result"] == f"{len(checks)} passed, 0 failed"
        window.button("doctor", "Copy").call_clicked_fn()
        report = window.kit.module("omni.kit.clipboard").paste().splitlines()
        assert len(report) == len(checks) + 1
        assert report[0].startswith("irsim_isaac ")

    asyncio.run(run())


def test_the_doctor_tells_of_a_name_that_is_gone(
    window: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        window.start()
        monkeypatch.delattr(window.kit.module("omni.ui"), "ProgressBar")
        await window.done(window.execute("doctor_run"))
        assert "1 failed" in window.panel("doctor").texts["result"]
        assert "FAIL  omni.ui.ProgressBar" in window.panel("doctor").texts["failures"]

    asyncio.run(run())


def test_rooms_that_nobody_labelled_are_found(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        world = await window.done(window.execute("world_read", door_width=1.0))
        assert len(world.rooms) == 2
        assert window.panel("world").texts["result"].startswith("2 rooms, 0 surfaces, 0 items")
        await window.frame()
        assert "room_1: no surface\nroom_2: no surface" in window.labels("world")

    asyncio.run(run())


def test_the_flat_is_read_and_surfaces_are_ranked_by_what_was_seen(
    window: Session, tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy")
    from irsim_isaac.interactive import Observation, Store

    async def run() -> None:
        window.start(FLAT).open()
        window.field("world", "item").type("mug")
        window.button("world", "Where to look").call_clicked_fn()
        ranked = await window.done(window.panel("world").task.asyncio)
        surfaces = [surface.name for _, surface in window.panel("world").world.surfaces()]
        assert [entry.name for entry in ranked] == surfaces
        assert len(surfaces) > 10
        with Store(str(tmp_path / "seen.db")) as store:
            store.add_observation(Observation(surfaces[4], "mug"))
        window.field("world", "store").type(str(tmp_path / "seen.db"))
        window.button("world", "Where to look").call_clicked_fn()
        ranked = await window.done(window.panel("world").task.asyncio)
        assert ranked[0].name == surfaces[4] and ranked[0].score > ranked[1].score
        await window.frame()
        told = window.panel("world").texts["ranking"]
        assert told in window.labels("world")
        assert told.startswith(f"1. {surfaces[4]} (") and told.endswith(" more")
        ranked = await window.done(window.execute("world_find", strategy="models"))
        assert ranked == ()
        assert "no surface is known" in window.panel("world").texts["ranking"]

    asyncio.run(run())


def test_what_a_study_placed_is_learned(window: Session, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from irsim_isaac.interactive import Store
    from tests.interactive.studies import crowd, new_condition

    path = tmp_path / "study.db"
    with Store(str(path)) as store:
        study, condition = new_condition(store)
        crowd(store, condition, np.random.default_rng(1), noise=0.0, sessions=4)

    async def run() -> None:
        window.start().open()
        window.field("world", "store").type(str(path))
        window.field("world", "study").type(str(study))
        window.button("world", "Learn").call_clicked_fn()
        count = await window.done(window.panel("world").task.asyncio)
        assert count > 0
        with Store(str(path)) as store:
            assert len(store.load_models(condition).models) == count
        with pytest.raises(StoreError):
            await window.done(window.execute("world_learn", study=study + 1))

    asyncio.run(run())


@pytest.mark.parametrize("action", ["learn", "find"])
def test_a_store_that_is_not_there_and_nothing_to_look_for_are_told(
    window: Session, action: str
) -> None:
    async def run() -> None:
        window.start(FLAT)
        with pytest.raises(InteractiveError, match=r"is named, .* was expected"):
            await window.done(window.execute(f"world_{action}"))
        with pytest.raises(InteractiveError, match=r"there is no store at /nowhere/iw\.db"):
            await window.done(window.execute(f"world_{action}", item="mug", store="/nowhere/iw.db"))
        assert window.panel("world").values["store"] == "/nowhere/iw.db"

    asyncio.run(run())


# ---------------------------------------------------------------------- frames


def test_what_goes_wrong_in_a_frame_is_told_once_and_let_go_of(window: Session) -> None:
    async def run() -> None:
        window.start()
        window.execute("lidar_start")
        await window.frame()
        window.kit.module("irsim_isaac.kit.lidar").close_lidars()
        for _ in range(5):
            await window.frame()
        assert [text for _, text, _ in window.shown] == [
            f"lidar {LIDAR}: it is closed, or its stage is"
        ]
        assert window.panel("lidar").lidar is None
        window.execute("lidar_start")
        await window.frame()
        assert window.panel("lidar").error == ""

    asyncio.run(run())


def test_the_fog_on_the_ground_is_no_part_of_a_map(window: Session) -> None:
    async def run() -> None:
        window.start()
        before = await window.done(window.execute("map_preview", lowest=0.005, resolution=0.2))
        await window.done(window.execute("fog_start"))
        stage = window.kit.module("omni.usd").get_context().get_stage()
        points = stage.GetPrimAtPath("/irsim_isaac_fog").GetAttribute("points")
        await window.until(points.Get)
        assert await window.done(window.execute("map_preview")) == before

    asyncio.run(run())
