"""The live Isaac Sim behind the protocol, on the double of each version."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import Twist, Vector3, WorldState
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators import Simulator, make, names
from irsim_isaac.simulators.server import SimulatorServer
from tests.kit.host import ROOT, Kit, hosted
from tests.simulators.arena import CRATE_SIZE, STARTS, robot, twist, write_stage
from tests.simulators.conformance import Build, Conformance, digest

pytest.importorskip("ovphysx")


class _Isaac(Conformance):
    settles = 0.05
    follows = 0.05
    places = 1e-6
    crate_height = CRATE_SIZE / 2
    release: ClassVar[str]

    @pytest.fixture(autouse=True)
    def host(self, tmp_path: Path) -> Iterator[Kit]:
        with hosted(self.release, window=False, documents=tmp_path) as kit:
            kit.enable()
            yield kit

    def make(self, folder: Path, **options: Any) -> Simulator:
        path = folder / "stage.usda"
        if not path.exists():
            write_stage(path)
        options = {"robots": [robot()], "starts": STARTS, "lidar": "rays"} | options
        return make("isaac", stage=path, **options)

    def test_one_seed_gives_one_run(self, build: Build) -> None:
        """As for the others, one after the other: there is one live simulation."""
        commands = [{"robot": twist(0.4, 0.3)}, {}, {"robot": twist(-0.2, 0.5)}] * 4
        runs = []
        simulator = build(seed=5, noise=True)
        for seed in (None, 5, 6):
            worlds = [simulator.reset(seed)]
            worlds += [simulator.step(command) for command in commands]
            runs.append([digest(world) for world in worlds])
        second = build(seed=5, noise=True)
        worlds = [second.reset()]
        worlds += [second.step(command) for command in commands]
        assert runs[0] == runs[1] == [digest(world) for world in worlds]
        assert runs[0] != runs[2]

    def test_two_at_once_do_not_disturb_each_other(self, build: Build) -> None:
        """There is one live simulation: making another one closes the one before."""
        first = build()
        second = build()
        with pytest.raises(SimulatorError, match="isaac: it is closed"):
            first.step({})
        assert second.step({}).header.seq == 1


class TestIsaac51(_Isaac):
    release = "5_1"


class TestIsaac6(_Isaac):
    release = "6"


def test_it_is_known_by_its_name_while_the_extension_runs(headless: Kit) -> None:
    assert "isaac" not in names()
    headless.enable()
    assert "isaac" in names()
    headless.disable()
    assert "isaac" not in names()


STAGE = ROOT / "data" / "warehouse.usda"
# Wheel speeds of these are whole numbers of rad/s: degrees outside, radians inside, no rounding.
ROVER = RobotSpec(
    "rover",
    footprint=0.25,
    wheel_radius=0.125,
    track=0.5,
    lidars=(LidarMount(LidarProfile.full_turn("scanner", 360, range_max=12.0), z=0.35),),
)
OPTIONS: dict[str, Any] = {
    "stage": STAGE,
    "robots": [ROVER],
    "starts": {"rover": (-1.5, -2.6, 0.0)},
    "step_time": 0.1,
}


def numbers(value: Any) -> Iterator[float]:
    """Give every number of a message in a fixed order."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from numbers(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def drive(simulator: Simulator, steps: int) -> list[WorldState]:
    """Drive past the crate and into it."""
    worlds = [simulator.read()]
    for count in range(steps):
        command: Twist = twist(0.625, 0.0) if count % 20 < 14 else twist(0.3125, 0.25)
        worlds.append(simulator.step({"rover": command}))
    return worlds


def test_the_recording_is_the_one_without_isaac_sim(headless: Kit) -> None:
    """Poses, velocities, contacts and scans, while the robot pushes the crate."""
    headless.enable()
    without = make("physx", **OPTIONS)
    inside = make("isaac", lidar="rays", **OPTIONS)
    # Inside, everything was put back to its start after the warm-up, which rounds its pose.
    without.write({item.name: item.odom for item in inside.read().objects})
    try:
        expected, found = drive(without, 60), drive(inside, 60)
    finally:
        without.close()
        inside.close()
    assert any(item.collision for world in expected for item in world.objects)
    for count, (one, other) in enumerate(zip(expected, found, strict=True)):
        ours = np.array(list(numbers(other.to_dict())))
        theirs = np.array(list(numbers(one.to_dict())))
        assert ours.shape == theirs.shape
        # Contact forces come as impulses of a step.
        assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-6), count
        for mine, its in zip(other.objects, one.objects, strict=True):
            assert mine.odom.to_dict() == its.odom.to_dict(), count
            assert mine.name == its.name


@pytest.mark.parametrize(
    ("kinematics", "command"),
    [
        ("acker", twist(0.5, 0.25)),
        ("omni", Twist(Vector3(0.4, 0.25, 0.0), Vector3())),
        ("omni_angular", Twist(Vector3(0.3, 0.2, 0.0), Vector3(0.0, 0.0, 0.5))),
    ],
)
def test_every_kind_of_drive_goes_as_without_isaac_sim(
    headless: Kit, tmp_path: Path, kinematics: Any, command: Twist
) -> None:
    headless.enable()
    write_stage(tmp_path / "stage.usda")
    options: dict[str, Any] = {
        "stage": tmp_path / "stage.usda",
        "robots": [robot(kinematics=kinematics, lidars=False)],
        "starts": {"robot": (-2.0, -1.0, 0.5)},
    }
    found = []
    for simulator in (make("physx", **options), make("isaac", **options)):
        for _ in range(20):
            state = simulator.step({"robot": command})
        at = state.robots[0].odom.pose.pose
        found.append((at.position.x, at.position.y, at.orientation.to_yaw()))
        simulator.close()
    assert np.allclose(found[0], found[1], atol=2e-3)
    assert np.hypot(found[1][0] + 2.0, found[1][1] + 1.0) > 0.5


def test_a_stopped_or_closed_simulation_is_named(headless: Kit, tmp_path: Path) -> None:
    headless.enable()
    write_stage(tmp_path / "stage.usda")
    simulator = make(
        "isaac", stage=tmp_path / "stage.usda", robots=[robot(lidars=False)], starts=STARTS
    )
    headless.module("irsim_isaac.kit.application").stop()
    for call in (simulator.read, lambda: simulator.step({})):
        with pytest.raises(SimulatorError, match="the simulation is stopped"):
            call()
    assert simulator.reset().header.seq == 0
    headless.module("omni.usd").get_context().close_stage()
    with pytest.raises(SimulatorError, match="the stage that it was made on is closed"):
        simulator.reset()
    simulator.close()


def _deleted(stage: Any) -> None:
    assert stage.RemovePrim("/crate")


def _robot_deactivated(stage: Any) -> None:
    """As Isaac Sim's window deletes what another layer defines."""
    assert stage.GetPrimAtPath("/irsim_isaac_robots/robot").SetActive(False)


def _reparented(stage: Any) -> None:
    from pxr import Usd

    stage.DefinePrim("/store", "Xform")
    editor = Usd.NamespaceEditor(stage)
    assert editor.MovePrimAtPath("/crate", "/store/crate")
    assert editor.ApplyEdits()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_deleted, "/crate, the prim of 'crate', has left the stage"),
        (_reparented, "/crate, the prim of 'crate', has left the stage"),
        (_robot_deactivated, "robot, the prim of 'robot', has left the stage"),
        (None, "the stage that it was made on is closed"),
    ],
    ids=["deleted", "reparented", "robot deactivated", "stage closed"],
)
def test_what_happens_to_the_stage_is_told_in_another_process(
    headless: Kit, tmp_path: Path, spoil: Any, message: str
) -> None:
    """Served from here, it tells its client what became of the stage in the midst of a run."""
    pytest.importorskip("zmq")
    pytest.importorskip("msgpack")
    headless.enable()
    write_stage(tmp_path / "stage.usda")
    simulator = make(
        "isaac", stage=tmp_path / "stage.usda", robots=[robot(lidars=False)], starts=STARTS
    )
    server = SimulatorServer(simulator)
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.address],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert client.stdin is not None and client.stdout is not None

    def heard() -> str:
        """Return the next line of the client, which is served until it comes."""
        assert client.stdout is not None
        while not select.select([client.stdout], [], [], 0.0)[0]:
            server.poll(0.02)
        return client.stdout.readline().strip()

    try:
        assert heard() == "3 robot crate"
        context = headless.module("omni.usd").get_context()
        context.close_stage() if spoil is None else spoil(context.get_stage())
        client.stdin.write("\n")
        client.stdin.flush()
        for _ in ("step", "read", "write"):
            assert message in heard()
        assert heard() == "not lost"
        while client.poll() is None:
            server.poll(0.02)
    finally:
        client.kill()
        client.communicate()
        server.close()
        simulator.close()


CLIENT = """
import sys
from irsim_isaac.errors import SimulatorError
from irsim_isaac.simulators import make
remote = make("remote", address=sys.argv[1])
for _ in range(3):
    state = remote.step({})
print(state.header.seq, *(item.name for item in state.objects), flush=True)
sys.stdin.readline()
update = {"crate": state.objects[1].odom}
for call in (lambda: remote.step({}), remote.read, lambda: remote.write(update)):
    try:
        call()
    except SimulatorError as error:
        print(error, flush=True)
print("lost" if remote.fault else "not lost", flush=True)
remote.close()
"""


def test_a_physics_step_that_does_not_fit_is_refused(headless: Kit, tmp_path: Path) -> None:
    headless.enable()
    write_stage(tmp_path / "stage.usda")
    before = headless.registered()["observers"]
    with pytest.raises(SimulatorError, match="not a whole multiple of the sub-step"):
        make(
            "isaac",
            stage=tmp_path / "stage.usda",
            robots=[robot(lidars=False)],
            starts=STARTS,
            sub_step="1/64",
        )
    assert headless.registered()["observers"] == before
    stage = headless.module("omni.usd").get_context().get_stage()
    assert not stage.GetSessionLayer().subLayerPaths


class Running:
    """A simulator that runs by itself, taken from step to step by the application's frames."""

    def __init__(self, kit: Kit, **options: Any) -> None:
        self.simulator = make("isaac", drive="runs", sub_step="1/60", **options)
        self.worlds: list[WorldState] = []
        self.told: list[dict[str, Twist]] = []
        self.simulator.on_step = self._stepped
        self._app = kit.module("omni.kit.app").get_app()

    def _stepped(self, world: WorldState) -> None:
        self.worlds.append(world)
        if self.told:
            self.simulator.command(self.told.pop(0))

    def run(self, commands: list[dict[str, Twist]]) -> list[WorldState]:
        self.simulator.command(commands[0])
        self.told = commands[1:]
        while len(self.worlds) < len(commands):
            self._app.update()
        return self.worlds


@pytest.mark.parametrize(
    ("kinematics", "command"),
    [
        ("diff", twist(0.5, 0.4)),
        ("acker", twist(0.5, 0.25)),
        ("omni", Twist(Vector3(0.4, 0.25, 0.0), Vector3())),
        ("omni_angular", Twist(Vector3(0.3, 0.2, 0.0), Vector3(0.0, 0.0, 0.5))),
    ],
)
@pytest.mark.parametrize("drive_by", ["wheels", "body"])
def test_what_runs_is_commanded_as_what_is_stepped(
    headless: Kit, tmp_path: Path, kinematics: Any, command: Twist, drive_by: Any
) -> None:
    headless.enable()
    write_stage(tmp_path / "stage.usda")
    options: dict[str, Any] = {
        "stage": tmp_path / "stage.usda",
        "robots": [robot(kinematics=kinematics, lidars=False)],
        "starts": {"robot": (-2.0, -1.0, 0.5)},
        "drive_by": drive_by,
    }
    commands = [{"robot": command}] * 4 + [{"robot": Twist()}] + [{"robot": command}] * 3
    stepped = make("isaac", **options)
    expected = [stepped.step(given) for given in commands]
    stepped.close()
    running = Running(headless, **options)
    found = running.run(commands)
    assert [world.to_dict() for world in found] == [world.to_dict() for world in expected]
    running.simulator.close()


def test_a_robot_that_was_never_commanded_is_left_to_others(headless: Kit) -> None:
    """Whatever drives it in the window goes on to do so."""
    headless.enable()
    running = Running(
        headless, **{**OPTIONS, "robots": [ROVER], "lidar": "rays", "step_time": "1/60"}
    )
    engine = running.simulator._engine
    (root,) = (root for root in engine._articulations)
    wheels = [path for path in engine._chain_of if "wheel" in path][:2]
    app = headless.module("omni.kit.app").get_app()
    engine.set_joints("jointVelocityTarget", dict.fromkeys(wheels, 180.0))
    for _ in range(30):
        app.update()
    assert root
    assert running.worlds[-1].robots[0].odom.twist.twist.linear.x > 0.1
    with pytest.raises(SimulatorError, match="'ghost'"):
        running.simulator.command({"ghost": twist(1.0)})
    headless.module("irsim_isaac.kit.application").stop()
    with pytest.raises(SimulatorError, match="the simulation is stopped"):
        running.simulator.command({"rover": twist(1.0)})
    running.simulator.close()
    stepped = make("isaac", **OPTIONS, lidar="rays")
    with pytest.raises(SimulatorError, match=r"it is stepped; commands are given to step\(\)"):
        stepped.command({"rover": twist(1.0)})
    stepped.close()


def test_beams_of_a_turn_are_cast_when_they_fire_while_it_runs(headless: Kit) -> None:
    """As when it is stepped, and as outside of Isaac Sim."""
    headless.enable()
    options = {**OPTIONS, "lidar": "rays", "scans": "revolution", "step_time": "1/30"}
    commands = [{"rover": twist(0.625, 0.5)}] * 24
    stepped = make("isaac", **options)
    expected = [stepped.step(given) for given in commands]
    stepped.close()
    running = Running(headless, **options)
    found = running.run(commands)
    running.simulator.close()
    snapshot = make("isaac", **{**options, "scans": "snapshot"})
    instants = [snapshot.step(given) for given in commands]
    snapshot.close()
    # No turn is over in the first steps; then each has one, stamped with its first beam.
    assert found[0].robots[0].scans == []
    scans = [world.robots[0].scans[0] for world in found if world.robots[0].scans]
    assert len({scan.header.seq for scan in scans}) >= 3
    assert [world.to_dict() for world in found] == [world.to_dict() for world in expected]
    last, instant = found[-1].robots[0].scans[0], instants[-1].robots[0].scans[0]
    assert last.header.stamp < instant.header.stamp
    assert not np.allclose(last.ranges, instant.ranges, atol=1e-3, equal_nan=True)
    with pytest.raises(SimulatorError, match="scans must be 'snapshot' or 'revolution'"):
        make("isaac", **{**options, "scans": "slowly"})
