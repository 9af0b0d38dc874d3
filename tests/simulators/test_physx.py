"""PhysX behind the protocol."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from irsim_isaac.errors import MissingPackageError, SimulatorError, StageError
from irsim_isaac.msg import Odometry, Twist
from irsim_isaac.robot import Kinematics, RobotSpec
from irsim_isaac.simulators import Simulator, make
from irsim_isaac.stage import open_stage
from irsim_isaac.stage.wheeled import add_wheeled_robot
from tests.simulators.arena import (
    CRATE,
    CRATE_SIZE,
    FRONT,
    HALF_LENGTH,
    HALF_WIDTH,
    PROFILE,
    STARTS,
    cube,
    odometry,
    robot,
    twist,
    write_stage,
)
from tests.simulators.conformance import DrivenConformance, pose_of, state_of

pytest.importorskip("ovphysx")

SIDE = 0.2
Start = Callable[..., Simulator]
UNITS = [(1.0, False), (0.01, False), (0.01, True)]


class TestPhysx(DrivenConformance):
    settles = 0.05
    follows = 0.05
    places = 1e-6
    crate_height = CRATE_SIZE / 2

    def make(self, folder: Path, **options: Any) -> Simulator:
        path = folder / "stage.usda"
        if not path.exists():
            write_stage(path)
        options = {"robots": [robot()], "starts": STARTS} | options
        return make("physx", stage=path, **options)


@pytest.fixture
def start() -> Iterator[Callable[..., Simulator]]:
    """Return ``make`` for PhysX; what it made is closed at the end."""
    made: list[Simulator] = []

    def begin(**options: Any) -> Simulator:
        made.append(make("physx", **options))
        return made[-1]

    yield begin
    for simulator in made:
        simulator.close()


def on_the_curve(spec: RobotSpec, command: Twist, seconds: float) -> tuple[float, float, float]:
    """Return where an ideal base is, on the circle of its twist from the origin."""
    v, u, w = command.linear.x, command.linear.y, command.angular.z
    if not spec.kinematics.startswith("omni"):
        u = 0.0
    if spec.kinematics == "omni":
        w = 0.0
    yaw = w * seconds
    if abs(w) < 1e-9:
        return v * seconds, u * seconds, 0.0
    sin, cos = math.sin(yaw) / w, (1.0 - math.cos(yaw)) / w
    return v * sin - u * cos, v * cos + u * sin, yaw


@pytest.mark.parametrize("drive_by", ["wheels", "body"])
@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker"])
def test_every_kinematics_follows_its_twist(
    tmp_path: Path, start: Start, kinematics: Kinematics, drive_by: str
) -> None:
    """Wheels slip a little and need a moment to start; the speeds are those that were told."""
    spec = robot(kinematics=kinematics)
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[spec],
        starts=STARTS,
        drive_by=drive_by,
    )
    command = twist(0.5, 0.3, 0.2)
    for _ in range(30):
        world = simulator.step({"robot": command})
    item = state_of(world, "robot")
    expected = on_the_curve(spec, command, 3.0)
    off = np.subtract(pose_of(world), expected)
    assert np.hypot(off[0], off[1]) < 0.05 * 1.5
    assert abs(off[2]) < 0.05
    found = item.odom.twist.twist
    left = 0.2 if kinematics.startswith("omni") else 0.0
    turn = 0.0 if kinematics == "omni" else 0.3
    assert (found.linear.x, found.linear.y) == pytest.approx((0.5, left), abs=0.01)
    assert found.angular.z == pytest.approx(turn, abs=0.01)
    assert item.odom.pose.pose.position.z == pytest.approx(0.0, abs=2e-3)
    assert not item.contacts


@pytest.mark.parametrize(("unit", "y_up"), UNITS)
def test_units_and_axes_change_little(
    tmp_path: Path, start: Start, unit: float, y_up: bool
) -> None:
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", unit=unit, y_up=y_up),
        robots=[robot()],
        starts={"robot": (-2.0, -1.0, 0.5)},
    )
    world = simulator.read()
    assert pose_of(world) == pytest.approx((-2.0, -1.0, 0.5), abs=1e-6)
    assert pose_of(world, "crate")[:2] == pytest.approx(CRATE, abs=1e-6)
    for _ in range(20):
        world = simulator.step({"robot": twist(0.5)})
    expected = (-2.0 + math.cos(0.5), -1.0 + math.sin(0.5), 0.5)
    assert pose_of(world) == pytest.approx(expected, abs=0.05)
    assert state_of(world, "crate").odom.pose.pose.position.z == pytest.approx(0.3, abs=1e-3)


def digit(value: float, unit: float) -> float:
    """Return how far it is [m] to the next float32 number in stage units."""
    return unit * float(np.spacing(np.float32(abs(value) / unit)))


@pytest.mark.parametrize(
    ("kinematics", "drive_by", "unit", "y_up"),
    [
        ("diff", "wheels", 1.0, False),
        ("diff", "wheels", 0.01, True),
        ("acker", "wheels", 0.01, False),
        ("acker", "wheels", 1.0, False),
        ("omni_angular", "wheels", 1.0, False),
        ("omni_angular", "wheels", 0.01, True),
        ("diff", "body", 0.01, True),
    ],
)
def test_what_is_written_is_there_to_the_last_digit(
    tmp_path: Path, start: Start, kinematics: Kinematics, drive_by: str, unit: float, y_up: bool
) -> None:
    """Every coordinate to one float32 digit in stage units, headings to 2e-7 rad.

    The crate's mass lies beside its origin, and what is there is what PhysX steps on from.
    """
    path = write_stage(tmp_path / "stage.usda", unit=unit, y_up=y_up)
    stage = Usd.Stage.Open(str(path))
    mass = UsdPhysics.MassAPI(stage.GetPrimAtPath("/crate"))
    mass.CreateCenterOfMassAttr((0.2, 0.1, 0.1))
    stage.Save()
    simulator = start(
        stage=path, robots=[robot(kinematics=kinematics)], starts=STARTS, drive_by=drive_by
    )
    random = np.random.default_rng(3)
    for _ in range(12):
        x, y, yaw = random.uniform((-4, -3, -3), (-0.3, -0.3, 3))
        a, b, turn = random.uniform((0.5, 0.5, -3), (2, 2, 3))
        simulator.write(
            {
                "robot": odometry(x, y, yaw, motion=twist(0.3, 0.2)),
                "crate": odometry(a, b, turn, z=0.5, motion=twist(0.1)),
            }
        )
        world = simulator.read()
        for name, told in (("robot", (x, y, yaw)), ("crate", (a, b, turn))):
            found = pose_of(world, name)
            for value, wanted in zip(found[:2], told[:2], strict=True):
                assert abs(value - wanted) <= digit(wanted, unit)
            assert abs(math.remainder(found[2] - told[2], 2 * math.pi)) <= 2e-7
        speed = state_of(world, "robot").odom.twist.twist
        assert (speed.linear.x, speed.angular.z) == pytest.approx((0.3, 0.2), abs=1e-5)
    world = simulator.step({"robot": twist(0.3, 0.2)})
    assert pose_of(world) == pytest.approx(
        (x + 0.03 * math.cos(yaw), y + 0.03 * math.sin(yaw), yaw + 0.02), abs=0.02
    )


@pytest.mark.parametrize("drive_by", ["wheels", "body"])
def test_a_car_steers_straight_on_after_a_reset(
    tmp_path: Path, start: Start, drive_by: str
) -> None:
    """A car that stands keeps its angle, but not that of the run before."""
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot(kinematics="acker")],
        starts=STARTS,
        drive_by=drive_by,
    )
    runs = []
    for _ in range(2):
        simulator.reset()
        simulator.step({})
        runs.append([pose_of(simulator.step({"robot": twist(0.4, 0.6)})) for _ in range(3)])
    assert runs[0] == runs[1]


def test_a_sliding_base_that_was_moved_drives_as_before(tmp_path: Path, start: Start) -> None:
    """It is moved with its rails, and a reset takes these back."""
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[robot(kinematics="omni_angular")],
        starts={"robot": (1.0, -1.0, 0.5)},
    )

    def drive() -> list[tuple[float, float, float]]:
        told = {"robot": twist(0.3, 0.2, 0.1)}
        return [pose_of(simulator.step(told)) for _ in range(5)]

    at_first = drive()
    simulator.write({"robot": odometry(-2.0, 1.5, -2.0)})
    moved = drive()
    for old, new in zip(at_first, moved, strict=True):
        way = np.subtract(old, (1.0, -1.0, 0.5))
        cos, sin = math.cos(-2.5), math.sin(-2.5)
        expected = (
            -2.0 + cos * way[0] - sin * way[1],
            1.5 + sin * way[0] + cos * way[1],
            -2.0 + way[2],
        )
        assert new == pytest.approx(expected, abs=2e-4)
    simulator.reset()
    assert drive() == at_first


def test_a_holonomic_base_that_cannot_turn_is_not_turned(tmp_path: Path, start: Start) -> None:
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot(kinematics="omni")],
        starts={"robot": (0.0, 0.0, 0.5)},
    )
    before = pose_of(simulator.read(), "crate")
    with pytest.raises(SimulatorError, match=r"cannot turn: its yaw must stay 0\.5 rad"):
        simulator.write({"crate": odometry(-1.0, 1.0), "robot": odometry(1.0, 1.0, 0.7)})
    assert pose_of(simulator.read(), "crate") == before
    simulator.write({"robot": odometry(1.0, 1.0, 0.5)})
    assert pose_of(simulator.read()) == pytest.approx((1.0, 1.0, 0.5), abs=1e-6)


def test_pushing_a_crate_is_a_contact_of_both(tmp_path: Path, start: Start) -> None:
    """Force, place and direction of the push, and for how long it has lasted."""
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda"),
        robots=[robot()],
        starts={"robot": (CRATE[0] - 1.0, CRATE[1], 0.0)},
    )
    worlds = [simulator.step({"robot": twist(0.5)}) for _ in range(30)]
    pushing = [state_of(world, "robot") for world in worlds]
    flags = [item.collision for item in pushing]
    first = flags.index(True)
    gap = CRATE[0] - CRATE_SIZE / 2 - FRONT - (CRATE[0] - 1.0)
    assert abs(first * 0.1 - gap / 0.5) < 0.3
    for count in range(first):
        assert pushing[count].air_time == pytest.approx((count + 1) * 0.1)
        assert pushing[count].contact_time == 0.0
    last, crate = pushing[-1], state_of(worlds[-1], "crate")
    assert pose_of(worlds[-1], "crate")[0] > CRATE[0] + 0.2
    assert last.collision
    assert last.collision_ids == [crate.id]
    assert crate.collision_ids == [last.id]
    assert last.air_time == 0.0
    assert last.contact_time > 0.5
    (contact,) = last.contacts
    assert (contact.other, contact.other_id) == ("crate", crate.id)
    assert (contact.normal.x, contact.normal.y) == pytest.approx((-1.0, 0.0), abs=0.05)
    face = pose_of(worlds[-1], "crate")[0] - CRATE_SIZE / 2
    assert contact.point.x == pytest.approx(face, abs=0.01)
    # What moves a crate of 5 kg over the ground: its friction, 0.5 of its weight.
    mean = np.mean([item.contact_force.x for item in pushing[-8:]])
    assert mean == pytest.approx(-0.5 * 5.0 * 9.81, rel=0.35)
    (answer,) = crate.contacts
    assert answer.normal.x == pytest.approx(1.0, abs=0.05)


def test_a_kinematic_crate_is_not_pushed_but_can_be_moved(tmp_path: Path, start: Start) -> None:
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", kinematic=True),
        robots=[robot()],
        starts={"robot": (CRATE[0] - 1.0, CRATE[1], 0.0)},
    )
    for _ in range(25):
        world = simulator.step({"robot": twist(0.5)})
    assert pose_of(world, "crate")[:2] == pytest.approx(CRATE, abs=1e-6)
    assert state_of(world, "robot").collision
    assert pose_of(world)[0] < CRATE[0] - CRATE_SIZE / 2 - FRONT + 0.02
    simulator.write({"crate": odometry(-3.0, -3.0, z=CRATE_SIZE / 2)})
    for _ in range(10):
        world = simulator.step({"robot": twist(0.5)})
    assert pose_of(world, "crate")[:2] == pytest.approx((-3.0, -3.0), abs=1e-6)
    assert not state_of(world, "robot").collision
    assert pose_of(world)[0] > CRATE[0] - CRATE_SIZE / 2 - FRONT + 0.2


def test_robots_meet_each_other(tmp_path: Path, start: Start) -> None:
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[robot("a"), robot("b")],
        starts={"a": (-1.0, 0.0, 0.0), "b": (1.0, 0.0, math.pi)},
    )
    for _ in range(30):
        world = simulator.step({"a": twist(0.4), "b": twist(0.4)})
    a, b = state_of(world, "a"), state_of(world, "b")
    assert a.collision_ids == [b.id]
    assert b.collision_ids == [a.id]
    assert pose_of(world, "b")[0] - pose_of(world, "a")[0] == pytest.approx(2 * FRONT, abs=0.03)
    ahead = PROFILE.beam_count // 2
    assert a.scans[0].ranges[ahead] == pytest.approx(FRONT, abs=0.03)


@pytest.mark.parametrize("kinematics", ["diff", "acker"])
def test_driving_along_a_wall_touches_nothing(
    tmp_path: Path, start: Start, kinematics: Kinematics
) -> None:
    """The balls that wheels touch the ground with are wider than the robot; walls pass them."""
    simulator = start(
        stage=write_stage(tmp_path / "stage.usda", crate=False),
        robots=[robot(kinematics=kinematics)],
        starts={"robot": (-2.0, HALF_WIDTH - SIDE - 0.03, 0.0)},
    )
    for _ in range(30):
        world = simulator.step({"robot": twist(0.5)})
        assert not state_of(world, "robot").collision
    assert pose_of(world)[:2] == pytest.approx((-0.5, HALF_WIDTH - SIDE - 0.03), abs=0.04)
    for _ in range(20):
        world = simulator.step({"robot": twist(0.5, 0.6)})
    (contact,) = state_of(world, "robot").contacts
    assert (contact.other, contact.other_id) == ("north", -1)
    assert contact.normal.y == pytest.approx(-1.0, abs=0.01)


@pytest.mark.parametrize(("unit", "y_up"), UNITS)
@pytest.mark.parametrize("kinematics", ["diff", "acker", "omni_angular"])
def test_a_robot_that_the_stage_holds_is_driven_by_its_joints(
    tmp_path: Path, start: Start, kinematics: Kinematics, unit: float, y_up: bool
) -> None:
    path = write_stage(tmp_path / "stage.usda", unit=unit, y_up=y_up)
    stage = open_stage(path)
    written = add_wheeled_robot(stage, robot(kinematics=kinematics), (-1.0, -2.0, 0.7), "/own")
    stage.GetRootLayer().Save()
    simulator = start(stage=path, robots=[written.spec])
    world = simulator.read()
    assert pose_of(world) == pytest.approx((-1.0, -2.0, 0.7), abs=1e-6)
    assert [item.name for item in world.objects] == ["robot", "crate"]
    for _ in range(20):
        world = simulator.step({"robot": twist(0.5)})
    expected = (-1.0 + math.cos(0.7), -2.0 + math.sin(0.7), 0.7)
    assert pose_of(world) == pytest.approx(expected, abs=0.05)
    moved = start(stage=path, robots=[written.spec], starts={"robot": (1.0, 1.0, -0.4)})
    assert pose_of(moved.read()) == pytest.approx((1.0, 1.0, -0.4), abs=2e-7)
    moved.step({"robot": twist(0.5)})
    assert pose_of(moved.reset()) == pytest.approx((1.0, 1.0, -0.4), abs=2e-7)


def test_the_stage_stays_as_it_is_and_nothing_lies_about(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is left even while it runs, so that none is left of a process that is killed."""
    aside = tmp_path / "temporary"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    path = write_stage(tmp_path / "stage.usda")
    before = path.read_bytes()
    simulator = start(stage=path, robots=[robot()], starts=STARTS)
    assert list(aside.iterdir()) == []
    first = pose_of(simulator.step({"robot": twist(0.5)}))
    simulator.reset()
    assert pose_of(simulator.step({"robot": twist(0.5)})) == first
    assert list(aside.iterdir()) == []
    simulator.close()
    with pytest.raises(SimulatorError, match="has no start"):
        start(stage=path, robots=[robot()])
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path, aside]
    assert list(aside.iterdir()) == []


def test_a_stage_without_a_physics_scene_gets_one(tmp_path: Path, start: Start) -> None:
    path = write_stage(tmp_path / "stage.usda")
    stage = Usd.Stage.Open(str(path))
    stage.RemovePrim("/physics")
    stage.Save()
    simulator = start(stage=path, robots=[robot()], starts=STARTS)
    for _ in range(10):
        world = simulator.step({"robot": twist(0.5)})
    assert pose_of(world)[0] == pytest.approx(0.5, abs=0.05)


def test_a_body_falls_and_comes_to_rest(tmp_path: Path, start: Start) -> None:
    """Physics is on: what is put into the air drops, and what it rests on is no collision."""
    simulator = start(stage=write_stage(tmp_path / "stage.usda"), robots=[])
    simulator.write({"crate": odometry(0.0, 0.0, z=1.0)})
    first = simulator.step({})
    drop = 1.0 - state_of(first, "crate").odom.pose.pose.position.z
    assert drop == pytest.approx(0.5 * 9.81 * 0.01, rel=0.25)
    for _ in range(30):
        world = simulator.step({})
    crate = state_of(world, "crate")
    assert crate.odom.pose.pose.position.z == pytest.approx(CRATE_SIZE / 2, abs=2e-3)
    assert not crate.collision
    assert crate.air_time == pytest.approx(3.1)


def test_steps_are_whole_numbers_of_sub_steps(tmp_path: Path, start: Start) -> None:
    path = write_stage(tmp_path / "stage.usda")
    with pytest.raises(SimulatorError, match="not a whole multiple"):
        start(stage=path, robots=[robot()], starts=STARTS, step_time=0.03)
    simulator = start(
        stage=path, robots=[robot()], starts=STARTS, step_time="1/30", sub_step="1/240"
    )
    for _ in range(30):
        world = simulator.step({"robot": twist(0.5)})
    assert world.header.stamp == 1.0
    assert pose_of(world)[0] == pytest.approx(0.5, abs=0.05)


def test_stages_of_two_units_are_not_open_at_once(tmp_path: Path, start: Start) -> None:
    """PhysX has one unit of length for a process; one after the other they work."""
    metres = write_stage(tmp_path / "metres.usda")
    centimetres = write_stage(tmp_path / "centimetres.usda", unit=0.01)
    first = start(stage=metres, robots=[robot()], starts=STARTS)
    second = start(stage=metres, robots=[robot()], starts=STARTS)
    with pytest.raises(SimulatorError, match=r"units of 0\.01 m while another .* of 1 m"):
        start(stage=centimetres, robots=[robot()], starts=STARTS)
    first.close()
    second.close()
    third = start(stage=centimetres, robots=[robot()], starts=STARTS)
    assert pose_of(third.read()) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_what_is_missing_is_named(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_stage(tmp_path / "stage.usda")
    two = write_stage(tmp_path / "two.usda")
    stage = Usd.Stage.Open(str(two))
    UsdPhysics.Scene.Define(stage, "/second")
    stage.Save()
    bare = write_stage(tmp_path / "bare.usda")
    stage = Usd.Stage.Open(str(bare))
    UsdGeom.Xform.Define(stage, "/mower")
    stage.Save()
    good: dict[str, Any] = {"stage": path, "robots": [robot()], "starts": STARTS}
    mower = replace(robot("mower"), prim_path="/mower", joints=("left", "right"))
    for options, error, message in (
        ({"stage": tmp_path / "none.usda"}, StageError, "none.usda"),
        ({"stage": two}, SimulatorError, "several physics scenes: /physics, /second"),
        ({"starts": {}}, SimulatorError, "robot 'robot' has no start"),
        ({"drive_by": "magic"}, SimulatorError, "drive_by"),
        ({"stage": bare, "robots": [mower], "starts": {}}, SimulatorError, "articulation root"),
        (
            {"stage": bare, "robots": [replace(mower, joints=())], "starts": {}},
            SimulatorError,
            "2 driven joints were expected",
        ),
        (
            {"robots": [robot("crate")], "starts": {"crate": (0.0, 0.0, 0.0)}},
            SimulatorError,
            "named 'crate'",
        ),
        ({"solver": "TGS"}, SimulatorError, "no option 'solver'"),
    ):
        with pytest.raises(error, match=message):
            start(**good | options)
    monkeypatch.setitem(sys.modules, "ovphysx", None)
    with pytest.raises(MissingPackageError, match="physx"):
        start(**good)


def test_low_things_are_driven_over_and_high_ones_are_not(tmp_path: Path, start: Start) -> None:
    """A plate of 1 cm lifts the wheels; a block of 20 cm stops the body."""
    path = write_stage(tmp_path / "stage.usda", crate=False)
    stage = Usd.Stage.Open(str(path))
    cube(stage, "/plate", (1.0, 0.0, 0.005), (0.6, 1.0, 0.01))
    cube(stage, "/block", (3.0, 0.0, 0.1), (0.4, 1.0, 0.2))
    stage.Save()
    simulator = start(stage=path, robots=[robot()], starts=STARTS)
    heights = []
    for _ in range(70):
        world = simulator.step({"robot": twist(0.5)})
        heights.append(state_of(world, "robot").odom.pose.pose.position.z)
    assert max(heights) == pytest.approx(0.01, abs=5e-3)
    assert pose_of(world)[0] == pytest.approx(2.8 - FRONT, abs=0.05)
    assert [contact.other for contact in state_of(world, "robot").contacts] == ["block"]
    assert HALF_LENGTH > pose_of(world)[0]


def test_odometry_is_a_message_of_the_whole_body(tmp_path: Path, start: Start) -> None:
    """A body that tumbles is told with its roll, pitch and height, and put back so."""
    simulator = start(stage=write_stage(tmp_path / "stage.usda"), robots=[])
    update: Odometry = odometry(0.0, 0.0, z=2.0)
    update.pose.pose.orientation.x, update.pose.pose.orientation.w = math.sin(0.2), math.cos(0.2)
    simulator.write({"crate": update})
    found = state_of(simulator.read(), "crate").odom
    assert found.pose.pose.position.z == 2.0
    assert found.pose.pose.orientation.x == pytest.approx(math.sin(0.2), abs=1e-7)
    simulator.step({})
    told = state_of(simulator.step({}), "crate").odom
    simulator.write({"crate": told})
    again = state_of(simulator.read(), "crate").odom
    for part in ("linear", "angular"):
        one, other = getattr(told.twist.twist, part), getattr(again.twist.twist, part)
        assert (one.x, one.y, one.z) == pytest.approx((other.x, other.y, other.z), abs=1e-5)


def test_a_door_is_told_but_not_placed(tmp_path: Path, start: Start) -> None:
    """The links of other articulations are obstacles that only physics moves."""
    path = write_stage(tmp_path / "stage.usda", crate=False)
    stage = Usd.Stage.Open(str(path))
    frame = UsdGeom.Xform.Define(stage, "/door")
    UsdPhysics.ArticulationRootAPI.Apply(frame.GetPrim())
    post = cube(stage, "/door/post", (2.0, 0.0, 0.5), (0.1, 0.1, 1.0))
    leaf = cube(stage, "/door/leaf", (2.0, 0.5, 0.5), (0.05, 0.8, 0.9))
    for prim in (post, leaf):
        UsdPhysics.RigidBodyAPI.Apply(prim)
    fixed = UsdPhysics.FixedJoint.Define(stage, "/door/fixed")
    fixed.CreateBody1Rel().SetTargets(["/door/post"])
    fixed.CreateLocalPos0Attr((2.0, 0.0, 0.5))
    hinge = UsdPhysics.RevoluteJoint.Define(stage, "/door/hinge")
    hinge.CreateAxisAttr("Z")
    hinge.CreateBody0Rel().SetTargets(["/door/post"])
    hinge.CreateBody1Rel().SetTargets(["/door/leaf"])
    # In the frames of the two, which the size of each stretches.
    hinge.CreateLocalPos0Attr((0.0, 1.0, 0.0))
    hinge.CreateLocalPos1Attr((0.0, -0.5, 0.0))
    stage.Save()
    for drive_by in ("body", "wheels"):
        simulator = start(
            stage=path,
            robots=[robot()],
            starts={"robot": (0.5, 0.7, 0.0)},
            drive_by=drive_by,
        )
        world = simulator.read()
        assert {item.name for item in world.objects} == {"robot", "post", "leaf"}
        assert pose_of(world, "leaf")[:2] == pytest.approx((2.0, 0.5), abs=1e-3)
        with pytest.raises(SimulatorError, match="'leaf', which is a part of an articulation"):
            simulator.write({"robot": odometry(0.0, 0.0), "leaf": odometry(3.0, 3.0)})
        assert pose_of(simulator.read())[:2] == pytest.approx((0.5, 0.7), abs=1e-6)
        touched = False
        for _ in range(40):
            world = simulator.step({"robot": twist(0.6)})
            touched = touched or "leaf" in [
                contact.other for contact in state_of(world, "robot").contacts
            ]
        assert touched
        # Pushed on its far side, the leaf has swung open and the post still stands.
        assert pose_of(world, "leaf")[0] > 2.05
        assert pose_of(world, "post")[:2] == pytest.approx((2.0, 0.0), abs=1e-3)
        simulator.close()


def test_instances_that_move_are_warned_of(tmp_path: Path, start: Start) -> None:
    path = write_stage(tmp_path / "stage.usda", crate=False)
    stage = Usd.Stage.Open(str(path))
    instancer = UsdGeom.PointInstancer.Define(stage, "/boxes")
    prototype = cube(stage, "/boxes/box", (0.0, 0.0, 0.0), (0.2, 0.2, 0.2))
    UsdPhysics.RigidBodyAPI.Apply(prototype)
    instancer.CreatePrototypesRel().SetTargets(["/boxes/box"])
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(2.0, 2.0, 0.1), (3.0, 2.0, 0.1)])
    stage.Save()
    simulator: Any = start(stage=path, robots=[robot()], starts=STARTS)
    assert [item.name for item in simulator.step({}).objects] == ["robot"]
    (warning,) = simulator.warnings
    assert warning.startswith("the instances of /boxes are rigid bodies")
    assert start(stage=write_stage(tmp_path / "none.usda")).warnings == ()
