"""The panels that have an IR-SIM beside Isaac Sim, and those that talk to ROS and a browser."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from irsim_isaac.errors import (
    IrsimIsaacError,
    MirrorError,
    MissingPackageError,
    ScenarioError,
    StageError,
)
from tests.kit import rclpy_node
from tests.kit.host import hosted
from tests.kit.window_session import STAGE, Session

pytest.importorskip("ovphysx")
pytest.importorskip("irsim")
rosbags = pytest.importorskip("rosbags.typesys")

from irsim_isaac.msg import ros  # noqa: E402  # after what it needs
from tests.ros import rclpy_double  # noqa: E402  # needs rosbags
from tests.simulators.arena import write_stage  # noqa: E402  # needs pxr

if sys.platform == "win32":
    pytest.skip("processes are killed by signals", allow_module_level=True)


@pytest.fixture(params=["5_1", "6"], ids=["5.1", "6"])
def window(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """An application of each Isaac Sim with a window and a Python for IR-SIM."""
    with hosted(request.param, window=True, documents=tmp_path / "documents") as host:
        settings = host.module("carb.settings").get_settings()
        settings.set("/exts/irsim_isaac/irsim_python", sys.executable)
        yield Session(host)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# ---------------------------------------------------------------------- mirror


def test_ir_sim_is_started_watched_killed_resumed_and_stopped(window: Session) -> None:
    async def run() -> None:
        window.start().open()
        panel, mirror = window.panel("mirror"), window.extension.mirror
        window.button("mirror", "Find robots").call_clicked_fn()
        assert panel.texts["bindings"].startswith("carrier: ")
        window.button("mirror", "Start").call_clicked_fn()
        await window.until(lambda: panel.texts["state"] == "starting IR-SIM")
        await window.done(panel.task.asyncio)
        assert "carrier = carrier" in panel.texts["bindings"]
        (image,) = window.widgets("mirror", "ImageWithProvider")
        await window.until(lambda: image.provider.images >= 4)
        assert panel.texts["state"].startswith("running, follow: ")
        assert panel.texts["process"] == f"process {mirror.process_id}"
        assert "carrier: 0.0" in panel.texts["divergence"]
        first = mirror.process_id
        os.kill(first, signal.SIGKILL)
        await window.until(lambda: panel.texts["state"].startswith("lost: "))
        window.button("mirror", "Resume").call_clicked_fn()
        await window.done(panel.task.asyncio)
        steps = mirror.counts.steps
        await window.until(lambda: mirror.counts.steps > steps + 5)
        assert mirror.process_id != first
        second = mirror.process_id
        window.button("mirror", "Stop").call_clicked_fn()
        await window.until(lambda: panel.texts["state"] == "stopped")
        await window.until(lambda: not alive(second))
        assert panel.texts["process"] == "not running"
        window.button("mirror", "Stop").call_clicked_fn()

    asyncio.run(run())


@pytest.mark.parametrize("end", ["close", "stop"])
def test_a_closed_stage_and_a_stopped_timeline_end_the_mirror(window: Session, end: str) -> None:
    async def run() -> None:
        window.start()
        panel = window.panel("mirror")
        await window.done(window.execute("mirror_start", direction="lead"))
        await window.until(lambda: panel.texts["state"].startswith("running, lead: "))
        process = window.extension.mirror.process_id
        if end == "close":
            window.kit.module("omni.usd").get_context().close_stage()
        else:
            window.timeline("stop")
        reason = {"close": "the stage was closed", "stop": "the simulation was stopped"}[end]
        await window.until(lambda: panel.texts["state"] == f"stopped: {reason}")
        await window.until(lambda: not alive(process))

    asyncio.run(run())


def test_starting_can_be_given_up(window: Session) -> None:
    async def run() -> None:
        window.start()
        task = window.execute("mirror_start")
        await window.frame()
        window.execute("mirror_stop")
        with pytest.raises((asyncio.CancelledError, IrsimIsaacError)):
            await task
        assert window.extension.mirror.state == "stopped"
        await window.done(window.execute("mirror_start"))
        assert window.extension.mirror.state == "running"

    asyncio.run(run())


def test_what_cannot_be_mirrored_is_told(window: Session) -> None:
    async def run() -> None:
        window.start(None)
        with pytest.raises(StageError, match="no stage is open"):
            await window.done(window.execute("mirror_start"))
        with pytest.raises(StageError, match="no stage is open"):
            window.bridge.act("mirror", "find")
        with pytest.raises(MirrorError, match="one that has lost IR-SIM was expected"):
            await window.done(window.execute("mirror_resume"))
        assert window.execute("mirror_start", direction="sideways") is None
        assert window.shown[-1][1] == (
            "Direction: found 'sideways', follow, lead or beside was expected"
        )
        settings = window.kit.module("carb.settings").get_settings()
        settings.set("/exts/irsim_isaac/irsim_python", "/nowhere/python")
        window.kit.open_stage(STAGE)
        with pytest.raises(IrsimIsaacError, match="'/nowhere/python', which is no program"):
            await window.done(window.execute("mirror_start"))

    asyncio.run(run())


# ---------------------------------------------------------------------- validate


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A short drive through a room."""
    write_stage(tmp_path / "room.usda")
    path = tmp_path / "short.yaml"
    path.write_text(
        """
name: Short drive
stage: room.usda
robot: {spec: differential, name: robot, start: [0.0, 0.0, 0.0]}
left: irsim
right: stage
step_time: 0.1
duration: 1.0
way_points: {points: [[1.5, 0.2], [3.0, -1.0]], speed: 0.6, look_ahead: 0.7}
map: {resolution: 0.1, height: [0.1, 0.62]}
thresholds: {position_max: 1.0, heading_max: 1.0}
seed: 1
"""
    )
    return path


@pytest.mark.parametrize("right", ["isaac", "as written"])
def test_a_scenario_runs_beside_ir_sim_and_its_report_opens(
    window: Session,
    scenario: Path,
    right: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        window.start(scenario.with_name("room.usda")).open()
        panel = window.panel("validate")
        window.field("validate", "scenario").type(str(scenario))
        window.field("validate", "right").choose(right)
        window.button("validate", "Open report").call_clicked_fn()
        assert "there is no report yet" in window.shown[-1][1]
        window.button("validate", "Run").call_clicked_fn()
        result = await window.done(panel.task.asyncio)
        assert result.comparison.passed
        assert len(result.left.states) == len(result.right.states) == 11
        folder = tmp_path / "documents" / "irsim_isaac" / "validation" / "short_drive"
        assert panel.report == folder / "report.html"
        assert json.loads((folder / "report.json").read_text())
        assert panel.texts["result"].startswith("Short drive, irsim beside ")
        opened: list[str] = []
        monkeypatch.setattr(webbrowser, "open", opened.append)
        window.button("validate", "Open report").call_clicked_fn()
        assert opened == [panel.report.as_uri()]
        panel.report.unlink()
        with pytest.raises(ScenarioError, match="is gone"):
            window.bridge.act("validate", "open_report")
        settings = window.kit.module("carb.settings").get_settings()
        assert settings.get("/app/player/playSimulations") is not False
        assert "Isaac Sim" not in window.kit.module("irsim_isaac.simulators").names()

    asyncio.run(run())


@pytest.mark.parametrize("end", ["cancel", "close", "stop", "kill"])
def test_a_validation_is_broken_off(window: Session, scenario: Path, end: str) -> None:
    async def run() -> None:
        window.start(scenario.with_name("room.usda")).open()
        scenario.write_text(scenario.read_text().replace("duration: 1.0", "duration: 600.0"))
        panel = window.panel("validate")
        # Other tests keep servers of their own running.
        others = children()
        left = "irsim" if end == "kill" else "stage"
        task = window.execute("validate_run", scenario=str(scenario), left=left)
        await window.until(lambda: "driving" in panel.task.what)
        if end == "cancel":
            window.button("validate", "Cancel").call_clicked_fn()
        elif end == "close":
            window.kit.module("omni.usd").get_context().close_stage()
        elif end == "stop":
            window.timeline("stop")
        else:
            for child in children() - others:
                os.kill(child, signal.SIGKILL)
        await window.until(task.done)
        if end in ("cancel", "close"):
            assert task.cancelled()
        else:
            assert isinstance(task.exception(), IrsimIsaacError)
            await window.frame()
            assert window.shown[-1][0] == 0
        await window.until(lambda: not children() - others)
        assert panel.report is None
        settings = window.kit.module("carb.settings").get_settings()
        assert settings.get("/app/player/playSimulations") is not False

    asyncio.run(run())


def children() -> set[int]:
    """Return the processes that this one has started and that have not ended."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(status.parent.name))
    return found


def test_a_scenario_that_cannot_run_is_told(window: Session, scenario: Path) -> None:
    async def run() -> None:
        window.start(None)
        with pytest.raises(ScenarioError, match="'nowhere' does not exist"):
            await window.done(window.execute("validate_run", scenario="nowhere"))
        with pytest.raises(StageError, match="no stage is open"):
            await window.done(window.execute("validate_run", scenario=str(scenario)))
        window.kit.module("omni.usd").get_context().new_stage()
        with pytest.raises(ScenarioError, match=r"room\.usda; open that stage first"):
            await window.done(window.execute("validate_run"))
        window.kit.open_stage(STAGE)
        await window.done(window.execute("mirror_start"))
        with pytest.raises(ScenarioError, match="the mirror has the live simulation; stop it"):
            await window.done(window.execute("validate_run"))

    asyncio.run(run())


# ---------------------------------------------------------------------- ROS 2


@pytest.fixture
def rclpy(monkeypatch: pytest.MonkeyPatch) -> rclpy_node.Rclpy:
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for name, text in ros.DEFINITIONS.items():
        store.register(rosbags.get_types_from_msg(text, name.replace("/", "/msg/")))
    names = [name.replace("/", "/msg/") for name in ros.ROS_TYPES.values()]
    names.append("builtin_interfaces/msg/Time")
    rclpy_double.install(monkeypatch, store, names)
    return rclpy_node.install(monkeypatch)


def test_scans_are_published_while_the_lidar_is_read(
    window: Session, rclpy: rclpy_node.Rclpy
) -> None:
    async def run() -> None:
        window.start().open()
        panel = window.panel("lidar")
        field = window.field("lidar", "topic")
        field.type("no topic!")
        assert field.model.get_value_as_string() == "/scan"
        assert panel.messages["topic"].endswith("a topic of ROS such as /scan was expected")
        field.type("/front/scan")
        window.button("lidar", "Publish").call_clicked_fn()
        window.timeline("play")
        (node,) = rclpy.nodes
        await window.until(lambda: "/front/scan" in node.topics)
        await window.until(lambda: len(node.topics["/front/scan"].published) >= 3)
        message = node.topics["/front/scan"].published[0]
        assert len(message.ranges) == 3200 and message.header.frame_id == "Lidar"
        await window.until(lambda: "scans on /front/scan" in panel.texts["state"])
        window.button("lidar", "Stop publishing").call_clicked_fn()
        assert node.destroyed and not rclpy.running
        assert panel.lidar is not None
        window.execute("lidar_publish")
        window.execute("lidar_publish")
        assert len(rclpy.nodes) == 3
        window.kit.module("omni.usd").get_context().close_stage()
        assert all(item.destroyed for item in rclpy.nodes)

    asyncio.run(run())


def test_without_ros_publishing_is_told_and_nothing_is_read(
    window: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rclpy", None)
    window.start()
    with pytest.raises(MissingPackageError, match="the ROS package 'rclpy' cannot be imported"):
        window.bridge.act("lidar", "publish")
    assert window.panel("lidar").lidar is None
