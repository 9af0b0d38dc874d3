"""The real simulators mirrored: IR-SIM, PhysX and a bare stage, in any unit and up axis."""

from __future__ import annotations

import math
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pxr")

from irsim_isaac.mirror import DivergenceMonitor, Mirror
from irsim_isaac.msg import Twist, Vector3
from irsim_isaac.recording import read, record
from irsim_isaac.simulators import make
from irsim_isaac.validation import find_object
from tests.simulators.arena import STARTS, robot, write_stage, write_world
from tests.validation.worlds import odometry


@pytest.fixture
def simulator(tmp_path: Path):
    """Make simulators of the arena by name, closed at the end."""
    with ExitStack() as stack:

        def start(name, spec=None, *, unit=1.0, y_up=False, starts=STARTS, **options):
            spec = spec or robot(lidars=False)
            # Importing ir-sim by itself would choose a matplotlib backend and print.
            package = {"physx": "ovphysx", "irsim": "irsim"}.get(name)
            if package is not None and find_spec(package) is None:
                pytest.skip(f"{package} is not installed")
            if name == "irsim":
                room = options.pop("room", True)
                world = write_world(tmp_path / "arena.yaml", [spec], starts=starts, room=room)
                made = make("irsim", world=world, robots=[spec], starts=starts, **options)
            else:
                path = tmp_path / f"arena_{unit}_{y_up}.usda"
                room = options.pop("room", True)
                if not path.exists():
                    write_stage(path, unit=unit, y_up=y_up, crate=room, walls=room)
                made = make(name, stage=path, robots=[spec], starts=starts, **options)
            stack.callback(made.close)
            return made

        yield start


def curve(state):
    t = state.header.stamp
    return {"robot": Twist(Vector3(0.4), Vector3(z=0.6 * math.cos(t)))}


def every_way(state):
    t = state.header.stamp
    return {"robot": Twist(Vector3(0.4, 0.2), Vector3(z=0.6 * math.cos(t)))}


def pose(state, name="robot"):
    item = find_object(state, name).odom.pose.pose
    return np.array((item.position.x, item.position.y, item.orientation.to_yaw()))


def gap(a, b):
    return np.abs(a[:2] - b[:2]).max(), abs(math.remainder(a[2] - b[2], 2 * math.pi))


@pytest.mark.parametrize("direction", ["follow", "lead"])
@pytest.mark.parametrize(
    ("kinematics", "unit", "y_up"),
    [
        *(("diff", *units) for units in ((1.0, False), (0.01, False), (0.01, True))),
        ("omni", 0.01, True),
        ("omni_angular", 1.0, True),
        ("acker", 0.01, True),
    ],
)
def test_ir_sim_and_a_stage_agree_to_rounding_both_ways(
    simulator, kinematics, direction, unit, y_up
):
    spec = robot(kinematics=kinematics, lidars=False)
    left = simulator("irsim", spec)
    right = simulator("stage", spec, unit=unit, y_up=y_up)
    mirror = Mirror(left, right, direction=direction, commands=every_way)
    mirror.start()
    for _ in range(20):
        mirror.run(1)
        assert max(gap(pose(left.read()), pose(right.read()))) < 1e-9
    assert np.hypot(*pose(left.read())[:2]) > 0.3


def digit(value, unit):
    """The distance [m] of a coordinate to the next float32 number in stage units."""
    return unit * float(np.spacing(np.float32(abs(value) / unit)))


EVERY_BASE = [
    *(("diff", "wheels", *units) for units in ((1.0, False), (0.01, False), (1.0, True))),
    *(
        (*base, 0.01, True)
        for base in (
            ("diff", "wheels"),
            ("acker", "wheels"),
            ("omni", "wheels"),
            ("omni_angular", "wheels"),
            ("diff", "body"),
            ("omni_angular", "body"),
        )
    ),
    ("acker", "wheels", 1.0, False),
    ("omni_angular", "wheels", 1.0, False),
    ("acker", "body", 1.0, False),
]
"""Kinematics, what drives it, the stage's unit [m] and whether its y is up."""

AWAY = {"robot": (1.4, -0.9, -0.4)}
"""Farther from both axes than any robot's centre of mass is from its base."""


@pytest.mark.parametrize(("kinematics", "drive_by", "unit", "y_up"), EVERY_BASE)
def test_physx_follows_within_one_float32_digit(simulator, kinematics, drive_by, unit, y_up):
    """Each coordinate to the digit that it has in stage units, each heading to 2e-7 rad."""
    spec = robot(kinematics=kinematics, lidars=False)
    left = simulator("irsim", spec, starts=AWAY)
    right = simulator("physx", spec, starts=AWAY, unit=unit, y_up=y_up, drive_by=drive_by)
    mirror = Mirror(left, right, direction="follow", commands=every_way)
    mirror.start()
    random = np.random.default_rng(5)
    for _ in range(12):
        left.write({"crate": odometry(*random.uniform((-4, -3, -3), (-1, 3, 3)))})
        mirror.run(1)
        here, there = left.read(), right.read()
        for name in ("crate", "robot"):
            wanted, found = pose(here, name), pose(there, name)
            assert name == "crate" or np.abs(wanted[:2]).min() > 0.3
            for axis in range(2):
                assert abs(found[axis] - wanted[axis]) <= digit(wanted[axis], unit)
            assert gap(wanted, found)[1] <= 2e-7
    assert np.hypot(*np.subtract(pose(left.read())[:2], AWAY["robot"][:2])) > 0.3


@pytest.mark.parametrize(
    ("kinematics", "unit", "y_up"), [("diff", 1.0, False), ("acker", 0.01, True)]
)
def test_across_an_axis_a_digit_of_the_centre_of_mass_counts(simulator, kinematics, unit, y_up):
    """PhysX keeps the centre of mass: there is no finer place for a base with wheels."""
    spec = robot(kinematics=kinematics, lidars=False)
    left, right = simulator("irsim", spec), simulator("physx", spec, unit=unit, y_up=y_up)
    lever = {"diff": 0.1, "acker": 0.15}[kinematics]
    mirror = Mirror(left, right, direction="follow", commands=curve)
    mirror.start()
    for _ in range(12):
        mirror.run(1)
        wanted, found = pose(left.read()), pose(right.read())
        for axis in range(2):
            bound = digit(max(abs(wanted[axis]), lever), unit)
            assert abs(found[axis] - wanted[axis]) <= bound
        assert gap(wanted, found)[1] <= 2e-7


@pytest.mark.parametrize(("kinematics", "drive_by", "unit", "y_up"), EVERY_BASE[3:])
def test_physx_leads(simulator, kinematics, drive_by, unit, y_up):
    spec = robot(kinematics=kinematics, lidars=False)
    left = simulator("irsim", spec, starts=AWAY)
    right = simulator("physx", spec, starts=AWAY, unit=unit, y_up=y_up, drive_by=drive_by)
    mirror = Mirror(left, right, direction="lead", commands=every_way)
    mirror.start()
    for _ in range(12):
        mirror.run(1)
        here, there = left.read(), right.read()
        for name in ("robot", "crate"):
            assert max(gap(pose(here, name), pose(there, name))) < 1e-9
    assert np.hypot(*np.subtract(pose(left.read())[:2], AWAY["robot"][:2])) > 0.3


def test_a_crate_that_physx_pushes_is_pushed_in_ir_sim(simulator):
    """The robot is IR-SIM's, the crate PhysX's: each object goes its own way."""
    from irsim_isaac.mirror import Binding

    left, right = simulator("irsim"), simulator("physx")
    bindings = [Binding("robot", "robot"), Binding("crate", "crate", direction="lead")]
    mirror = Mirror(left, right, bindings=bindings, direction="follow", commands=curve)
    mirror.start()
    right.write({"crate": odometry(2.0, -1.0, 0.5)})
    mirror.run(3)
    assert max(gap(pose(left.read(), "crate"), pose(right.read(), "crate"))) < 1e-9
    assert np.abs(pose(left.read(), "crate")[:2] - (2.0, -1.0)).max() < 0.01
    assert gap(pose(left.read()), pose(right.read()))[0] < 1e-6


def test_a_moved_obstacle_is_seen_by_both_lidars_in_the_next_step(simulator):
    """What is teleported on one side changes both scans."""
    spec = robot()
    left, right = simulator("irsim", spec), simulator("stage", spec)
    mirror = Mirror(left, right, direction="follow")
    mirror.start()
    before = [find_object(side.read(), "robot").scan.ranges.copy() for side in (left, right)]
    left.write({"crate": odometry(1.5, 0.0, 0.0)})
    mirror.run(1)
    mirror.run(1)
    for side, old in zip((left, right), before, strict=True):
        new = find_object(side.read(), "robot").scan.ranges
        assert new[len(new) // 2] == pytest.approx(1.2, abs=1e-3)  # the crate's near face
        assert not np.array_equal(new, old)


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker"])
def test_beside_in_open_space_they_move_alike(simulator, kinematics):
    spec = robot(kinematics=kinematics, lidars=False)
    left = simulator("irsim", spec, room=False)
    right = simulator("stage", spec, room=False)

    def command(state):
        t = state.header.stamp
        side = 0.2 if kinematics.startswith("omni") else 0.0
        turn = 0.0 if kinematics == "omni" else 0.4 * math.sin(0.3 * t)
        return {"robot": Twist(Vector3(0.4 * math.cos(0.05 * t), side), Vector3(z=turn))}

    monitor = DivergenceMonitor(position=1e-9, heading=1e-9)
    mirror = Mirror(left, right, commands=command, monitor=monitor)
    mirror.start()
    mirror.run(300)
    assert monitor.count == 0
    assert np.hypot(*pose(left.read())[:2]) > 0.1


@pytest.mark.parametrize(
    ("kind", "direction"), [("stage", "follow"), ("physx", "follow"), ("physx", "lead")]
)
def test_the_same_seed_gives_the_same_recordings_to_the_byte(simulator, tmp_path, kind, direction):
    """Noise is on, and the second run is another pair of simulators."""
    pytest.importorskip("mcap")
    spec = robot()
    for run in ("one", "two"):
        left, right = simulator("irsim", spec, seed=7), simulator(kind, spec, seed=7, noise=True)
        mirror = Mirror(left, right, direction=direction, commands=curve)
        mirror.start(7)
        with (
            record(tmp_path / f"{run}_left.mcap") as a,
            record(tmp_path / f"{run}_right.mcap") as b,
        ):
            for _ in range(15):
                mirror.run(1)
                a.write(mirror.left_state)
                b.write(mirror.right_state)
    for side in ("left", "right"):
        one = (tmp_path / f"one_{side}.mcap").read_bytes()
        assert one == (tmp_path / f"two_{side}.mcap").read_bytes()
        assert len(list(read(tmp_path / f"one_{side}.mcap"))) == 15
