"""The live simulation and a real IR-SIM in a real process beside it, killed and resumed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from irsim_isaac.errors import (
    IrsimIsaacError,
    MirrorError,
    MissingPackageError,
    SimulatorError,
    StageError,
)
from irsim_isaac.mirror import Binding
from irsim_isaac.msg import Twist, WorldState
from irsim_isaac.simulators import RemoteSimulator, make
from tests.kit.host import ROOT, Kit
from tests.kit.test_irsim_process import ended, until
from tests.simulators.arena import twist

pytest.importorskip("ovphysx")
pytest.importorskip("irsim")

if sys.platform == "win32":
    pytest.skip("processes are killed by signals", allow_module_level=True)

STAGE = ROOT / "data" / "warehouse.usda"


def curve(state: WorldState) -> dict[str, Twist]:
    """Command by the time alone, so that each step has its own."""
    return {"carrier": twist(0.5 + 0.1 * (state.header.seq % 7), 0.02 * (state.header.seq % 11))}


class Session:
    """An Isaac Sim with the demo stage and a Python for IR-SIM."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        kit.enable()
        settings = kit.module("carb.settings").get_settings()
        settings.set("/exts/irsim_isaac/irsim_python", sys.executable)
        kit.open_stage(STAGE)
        self.app = kit.module("omni.kit.app").get_app()
        self.timeline = kit.module("omni.timeline").get_timeline_interface()

    def mirror(self, **options: Any) -> Any:
        # A loaded machine is no hung IR-SIM.
        given = {"commands": curve, "timeout": 60.0, **options}
        return self.kit.module("irsim_isaac.kit").LiveMirror(**given)

    def frames(self, count: int) -> None:
        for _ in range(count):
            self.app.update()


@pytest.fixture
def session(headless: Kit) -> Session:
    return Session(headless)


@pytest.fixture
def seen(windowed: Kit) -> Session:
    return Session(windowed)


def numbers(state: WorldState) -> Iterator[float]:
    for item in state.objects:
        pose, velocity = item.odom.pose.pose, item.odom.twist.twist
        yield from (pose.position.x, pose.position.y, pose.orientation.to_yaw())
        yield from (velocity.linear.x, velocity.linear.y, velocity.angular.z)


def said(mirror: Any) -> list[float]:
    """Return where everything is on both sides, and how it moves there."""
    return [*numbers(mirror.irsim_state), *numbers(mirror.isaac_state)]


def kill(mirror: Any) -> None:
    os.kill(mirror.process_id, signal.SIGKILL)


def record(session: Session, mirror: Any, count: int) -> list[Any]:
    """Take steps one by one and return what both sides said after each."""
    found = []
    for _ in range(count):
        if mirror.isaac.drive == "runs":
            session.frames(1)
        else:
            mirror.run(1)
        found.append(said(mirror))
    return found


on_6 = pytest.mark.parametrize("headless", ["6"], indirect=True)
"""For what is the same in every version: each of these tests starts IR-SIM."""


@pytest.mark.parametrize(
    ("headless", "direction", "drive"),
    [
        ("5_1", "follow", "runs"),
        ("6", "lead", "runs"),
        ("6", "beside", "step"),
    ],
    indirect=["headless"],
)
def test_a_killed_ir_sim_is_shown_and_resumed_as_if_nothing_had_happened(
    session: Session, drive: Any, direction: Any
) -> None:
    mirror = session.mirror(drive=drive)
    mirror.start(direction)
    assert (mirror.state, mirror.error, mirror.busy) == ("running", "", "")
    expected = record(session, mirror, 24)
    first = mirror.process_id
    changes: list[tuple[str, str]] = []
    mirror.on_change = lambda: changes.append((mirror.state, mirror.busy))
    mirror.start(direction)
    assert ended(first)
    found = record(session, mirror, 9)
    kill(mirror)
    if drive == "step":
        with pytest.raises(SimulatorError, match="was ended by SIGKILL"):
            mirror.run(1)
    else:
        session.frames(1)
    assert mirror.state == "lost"
    assert "the server process was ended by SIGKILL" in mirror.error
    assert "\n" not in mirror.error
    if drive == "runs":
        # Nothing moves while it is lost.
        at = mirror.isaac.read().to_dict()
        session.frames(3)
        assert mirror.isaac.read().to_dict() == at
    assert mirror.counts.steps == 9
    mirror.resume()
    assert mirror.state == "running"
    if drive == "step":
        mirror.run(1)
    found.append(said(mirror))
    found += record(session, mirror, 14)
    assert mirror.counts.steps == 24
    assert (mirror.counts.skipped, mirror.counts.late, mirror.counts.repeated) == (0, 0, 0)
    assert np.allclose(np.array(found), np.array(expected), rtol=0.0, atol=1e-9)
    (resumption,) = mirror.resumptions
    assert resumption.side == "left"
    assert resumption.time == pytest.approx(9 / 60, abs=0.02)
    assert changes[0] == ("stopped", "")
    assert ("stopped", "starting IR-SIM") in changes
    assert changes[-4:] == [
        ("lost", ""),
        ("lost", "starting IR-SIM again"),
        ("lost", ""),
        ("running", ""),
    ]
    mirror.close()


@on_6
@pytest.mark.parametrize("direction", ["follow", "lead", "beside"])
def test_what_runs_by_itself_goes_as_what_is_stepped(session: Session, direction: Any) -> None:
    """Commands, speeds and times: one and the same run, whoever takes the steps."""
    runs = []
    for drive in ("step", "runs"):
        mirror = session.mirror(drive=drive, step_time="1/30")
        mirror.start(direction)
        if drive == "runs":
            session.frames(40)
        else:
            mirror.run(20)
        assert mirror.counts.steps == 20
        runs.append([*numbers(mirror.irsim.read()), *numbers(mirror.isaac.read())])
        apart = mirror.divergence.greatest["carrier"][0]
        assert apart < 1e-6 if direction != "beside" else 1e-6 < apart < 0.1
        mirror.close()
    assert np.allclose(runs[0], runs[1], rtol=0.0, atol=1e-5 if direction == "follow" else 1e-9)


@on_6
def test_no_frame_takes_more_than_one_step_of_ir_sim(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = [0]
    step = RemoteSimulator.step

    def counted(simulator: Any, commands: Any) -> WorldState:
        steps[-1] += 1
        return step(simulator, commands)

    monkeypatch.setattr(RemoteSimulator, "step", counted)
    mirror = session.mirror()
    mirror.start("lead")
    for count in range(12):
        steps.append(0)
        session.frames(1)
        if count == 5:
            kill(mirror)
        if mirror.state == "lost":
            steps.append(0)
            mirror.resume()
    assert mirror.counts.steps == 12
    assert max(steps) == 1
    mirror.close()


def test_a_loss_is_shown_while_nothing_moves_and_the_button_resumes(
    seen: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen.kit.module("irsim_isaac.kit.live_mirror"), "_LOOK", 0.0)
    shown = seen.kit.module("omni.kit.notification_manager").shown

    async def run() -> None:
        mirror = seen.mirror()
        await mirror.start_async("follow")
        seen.frames(5)
        seen.timeline.pause()
        seen.frames(2)
        kill(mirror)
        assert ended(mirror.process_id)
        seen.frames(1)
        assert mirror.state == "lost"
        ((status, text, buttons),) = shown
        assert status == 0
        assert text.startswith("IR-SIM is lost, the simulation is paused: ")
        assert [button.text for button in buttons] == ["Resume", "Stop"]
        assert seen.kit.log[-1] == ("error", f"[irsim_isaac] {text}")
        buttons[0].handler()
        buttons[0].handler()
        await until(lambda: mirror.state == "running")
        assert seen.timeline.is_playing()
        seen.frames(5)
        assert mirror.counts.steps == 10
        kill(mirror)
        seen.frames(1)
        assert len(shown) == 2
        shown[1][2][1].handler()
        assert (mirror.state, mirror.error, mirror.process_id) == ("stopped", "", None)
        mirror.close()

    asyncio.run(run())


@on_6
def test_the_window_goes_on_while_ir_sim_is_started_and_resumed(session: Session) -> None:
    async def run() -> None:
        mirror = session.mirror()
        told: list[str] = []

        async def frames(task: asyncio.Task[None]) -> int:
            count = 0
            while not task.done():
                session.frames(1)
                count += 1
                await asyncio.sleep(0.005)
            await task
            return count

        starting = asyncio.ensure_future(
            mirror.start_async("follow", progress=lambda done, total, what: told.append(what))
        )
        await asyncio.sleep(0)
        assert mirror.busy == "starting IR-SIM"
        with pytest.raises(MirrorError, match="the mirror is busy starting IR-SIM"):
            mirror.start("lead")
        assert await frames(starting) > 10
        assert told[-1] == "starting IR-SIM"
        assert mirror.state == "running"
        kill(mirror)
        session.frames(1)
        resuming = asyncio.ensure_future(mirror.resume_async())
        assert await frames(resuming) > 10
        assert mirror.state == "running"
        mirror.close()

    asyncio.run(run())


@on_6
@pytest.mark.parametrize("way", ["cancel", "stop", "disable", "stage"])
def test_a_start_that_is_given_up_leaves_no_process(
    session: Session, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    going_on = threading.Event()
    begin = RemoteSimulator._begin

    def noted(simulator: Any) -> None:
        begin(simulator)
        begun.append(simulator.process_id)
        going_on.wait(30.0)

    monkeypatch.setattr(RemoteSimulator, "_begin", noted)

    async def run() -> None:
        mirror = session.mirror()
        starting = asyncio.ensure_future(mirror.start_async("follow"))
        await until(lambda: begun or starting.done())
        going_on.set()
        if way == "cancel":
            starting.cancel()
        elif way == "stop":
            mirror.stop()
        elif way == "disable":
            session.kit.disable()
            assert ended(begun[0], 0.1)
        else:
            session.kit.open_stage(STAGE)
        with pytest.raises((asyncio.CancelledError, IrsimIsaacError)):
            await starting
        assert mirror.state == "stopped"
        assert mirror.busy == ""
        mirror.close()

    asyncio.run(run())
    (number,) = begun
    assert ended(number)


@pytest.mark.parametrize(
    ("headless", "way", "reason", "lost"),
    [
        ("6", "stop", "", False),
        ("6", "stop", "", True),
        ("6", "close stage", "the stage was closed", False),
        ("6", "open stage", "the stage was closed", False),
        ("5_1", "stop timeline", "the simulation was stopped", False),
        ("6", "stop timeline", "the simulation was stopped", False),
        ("5_1", "disable", "", False),
        ("6", "disable", "", True),
    ],
    indirect=["headless"],
)
def test_however_it_ends_the_process_has_ended_too(
    session: Session, way: str, reason: str, lost: bool
) -> None:
    before = session.kit.registered()
    mirror = session.mirror()
    mirror.start("follow")
    session.frames(3)
    number = mirror.process_id
    if lost:
        kill(mirror)
        session.frames(1)
        assert mirror.state == "lost"
    {
        "stop": mirror.stop,
        "close stage": session.kit.module("omni.usd").get_context().close_stage,
        "open stage": lambda: session.kit.open_stage(STAGE),
        "stop timeline": lambda: session.kit.module("irsim_isaac.kit.application").stop(),
        "disable": session.kit.disable,
    }[way]()
    assert ended(number)
    assert (mirror.state, mirror.error, mirror.process_id) == ("stopped", reason, None)
    assert mirror.counts.steps == 3
    if way != "close stage":
        session.frames(2)
    with pytest.raises(MirrorError, match="the mirror is stopped; one that has lost IR-SIM"):
        mirror.resume()
    if way != "disable":
        assert session.kit.registered() == before
    stage = session.kit.module("omni.usd").get_context().get_stage()
    if stage is not None:
        assert list(stage.GetSessionLayer().subLayerPaths) == []
    mirror.close()


def test_what_cannot_go_on_stops_after_the_step_and_says_why(seen: Session) -> None:
    mirror = seen.mirror(commands={"nobody": twist(1.0)})
    mirror.start("follow")
    number = mirror.process_id
    seen.frames(1)
    assert mirror.state == "stopped"
    assert mirror.error.startswith("a command for 'nobody', which is bound to nothing")
    ((_, text, buttons),) = seen.kit.module("omni.kit.notification_manager").shown
    assert (text, buttons) == (mirror.error, [])
    seen.frames(1)
    assert ended(number)
    assert seen.kit.registered()["physics steps"] == []
    # It can be started again.
    mirror.commands = None
    mirror.start("lead")
    seen.frames(2)
    assert mirror.counts.steps == 2
    mirror.close()


@on_6
@pytest.mark.parametrize("drive", ["runs", "step"])
def test_both_sides_are_told_after_each_step(session: Session, drive: Any) -> None:
    """As ROS 2 publishes both robots."""
    mirror = session.mirror(drive=drive)
    told: list[tuple[float, float]] = []
    mirror.on_step = lambda irsim, isaac: told.append((irsim.header.stamp, isaac.header.stamp))
    mirror.start("follow")
    if drive == "runs":
        session.frames(5)
    else:
        mirror.run(5)
    assert told == [(stamp, stamp) for stamp, _ in told]
    assert [stamp for stamp, _ in told] == pytest.approx([count / 60 for count in range(1, 6)])
    mirror.close()


@on_6
def test_another_live_simulator_ends_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.kit.module("irsim_isaac.kit.live_mirror"), "_LOOK", 0.0)
    mirror = session.mirror()
    mirror.start("follow")
    number = mirror.process_id
    other = make("isaac", lidar="rays")
    session.frames(1)
    assert (mirror.state, ended(number)) == ("stopped", True)
    other.close()
    mirror.close()


@on_6
def test_bindings_are_told_and_may_go_their_own_ways(session: Session) -> None:
    mirror = session.mirror()
    mirror.start("follow")
    assert [item.left for item in mirror.bindings] == ["carrier", "Crate"]
    assert {item.direction for item in mirror.bindings} == {None}
    given = [Binding("carrier", "carrier"), Binding("Crate", "Crate", direction="lead")]
    mirror.start("follow", bindings=given)
    session.frames(4)
    assert mirror.direction == "follow"
    assert mirror.counts.writes == 2 * 5
    mirror.start("follow", bindings=[Binding("carrier", "carrier")])
    session.frames(4)
    assert mirror.counts.writes == 5
    with pytest.raises(MirrorError, match="has no object 'Shelf', which is bound"):
        mirror.start("follow", bindings=[Binding("carrier", "Shelf")])
    assert (mirror.state, mirror.process_id) == ("stopped", None)
    mirror.close()


@pytest.mark.parametrize(
    ("spoil", "error", "expected"),
    [
        (
            lambda kit: kit.module("omni.usd").get_context().close_stage(),
            StageError,
            "no stage is open in Isaac Sim",
        ),
        (
            lambda kit: kit.module("omni.usd").get_context().new_stage(),
            SimulatorError,
            "holds no robot and no robot start pose",
        ),
        (
            lambda kit: (
                kit.module("carb.settings").get_settings().set("/exts/irsim_isaac/irsim_python", "")
            ),
            SimulatorError,
            "IR-SIM has no Python yet",
        ),
        (
            lambda kit: (
                kit.module("carb.settings")
                .get_settings()
                .set("/exts/irsim_isaac/irsim_python", "/bin/false")
            ),
            SimulatorError,
            "remote irsim: the server process ended with 1|the server process ended with 1",
        ),
    ],
    ids=["no stage", "no robot", "no Python", "no Python at all"],
)
@on_6
def test_what_cannot_be_started_is_told_in_one_line(
    session: Session, spoil: Callable[[Kit], None], error: type[Exception], expected: str
) -> None:
    spoil(session.kit)
    before = session.kit.registered()
    mirror = session.mirror()
    with pytest.raises(error, match=expected) as caught:
        mirror.start("follow")
    assert "\n" not in str(caught.value)
    assert (mirror.state, mirror.busy, mirror.process_id) == ("stopped", "", None)
    assert session.kit.registered() == before
    mirror.close()


@on_6
def test_missing_packages_and_bad_directions_are_told(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = session.mirror()
    with pytest.raises(MirrorError, match="direction is 'sideways'; 'follow', 'lead' or 'beside'"):
        mirror.start("sideways")
    with pytest.raises(MirrorError, match="the mirror has not been started"):
        mirror.run(1)
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'pyzmq>=26\.0'"):
        mirror.start("follow")


def test_the_actions_start_resume_and_stop_it(seen: Session) -> None:
    registry = seen.kit.module("omni.kit.actions.core").get_action_registry()
    (extension,) = seen.kit.extensions

    def act(name: str, *given: Any) -> Any:
        return registry.execute_action("irsim_isaac", name, *given)

    async def run() -> None:
        mirror = extension.mirror
        assert act("start_mirror", "lead")
        assert not act("start_mirror", "lead")
        await until(lambda: mirror.state == "running")
        seen.frames(3)
        number = mirror.process_id
        kill(mirror)
        seen.frames(1)
        assert mirror.state == "lost"
        assert act("resume_mirror")
        await until(lambda: mirror.state == "running")
        seen.frames(3)
        assert mirror.counts.steps == 7
        assert mirror.direction == "lead"
        number = mirror.process_id
        act("stop_mirror")
        assert ended(number)
        assert act("resume_mirror")
        shown = seen.kit.module("omni.kit.notification_manager").shown
        await until(lambda: len(shown) > 1)
        assert shown[1][1].startswith("the mirror is stopped; one that has lost IR-SIM")

    asyncio.run(run())
