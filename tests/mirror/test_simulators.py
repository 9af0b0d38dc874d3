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

        def start(name, spec=None, *, unit=1.0, y_up=False, **options):
            spec = spec or robot(lidars=False)
            # Importing ir-sim by itself would choose a matplotlib backend and print.
            package = {"physx": "ovphysx", "irsim": "irsim"}.get(name)
            if package is not None and find_spec(package) is None:
                pytest.skip(f"{package} is not installed")
            if name == "irsim":
                world = write_world(tmp_path / "arena.yaml", [spec], room=options.pop("room", True))
                made = make("irsim", world=world, robots=[spec], starts=STARTS, **options)
            else:
                path = tmp_path / f"arena_{unit}_{y_up}.usda"
                room = options.pop("room", True)
                if not path.exists():
                    write_stage(path, unit=unit, y_up=y_up, crate=room, walls=room)
                made = make(name, stage=path, robots=[spec], starts=STARTS, **options)
            stack.callback(made.close)
            return made

        yield start


def curve(state):
    t = state.header.stamp
    return {"robot": Twist(Vector3(0.4), Vector3(z=0.6 * math.cos(t)))}


def pose(state, name="robot"):
    item = find_object(state, name).odom.pose.pose
    return np.array((item.position.x, item.position.y, item.orientation.to_yaw()))


def gap(a, b):
    return np.abs(a[:2] - b[:2]).max(), abs(math.remainder(a[2] - b[2], 2 * math.pi))


@pytest.mark.parametrize("direction", ["follow", "lead"])
@pytest.mark.parametrize(("unit", "y_up"), [(1.0, False), (0.01, False), (0.01, True)])
def test_ir_sim_and_a_stage_agree_to_rounding_both_ways(simulator, direction, unit, y_up):
    left = simulator("irsim")
    right = simulator("stage", unit=unit, y_up=y_up)
    mirror = Mirror(left, right, direction=direction, commands=curve)
    mirror.start()
    for _ in range(40):
        mirror.run(1)
        assert max(gap(pose(left.read()), pose(right.read()))) < 1e-9
    assert np.hypot(*pose(left.read())[:2]) > 0.5


@pytest.mark.parametrize(("unit", "y_up"), [(1.0, False), (0.01, False), (1.0, True), (0.01, True)])
def test_physx_follows_within_a_float32_rounding(simulator, unit, y_up):
    left = simulator("irsim")
    right = simulator("physx", unit=unit, y_up=y_up)
    mirror = Mirror(left, right, direction="follow", commands=curve)
    mirror.start()
    random = np.random.default_rng(5)
    for _ in range(20):
        left.write({"crate": odometry(*random.uniform((-4, -3, -3), (2, 3, 3)))})
        mirror.run(1)
        here, there = left.read(), right.read()
        # A crate is where its centre of mass is, which is what PhysX keeps: half a grain. A
        # robot's base is beside its centre of mass, by a part of its own size: rounded twice.
        for name, size, grains in (("crate", 0.0, 0.5001), ("robot", 0.5, 1.5)):
            wanted, found = pose(here, name), pose(there, name)
            for axis in range(2):
                value = max(abs(wanted[axis]), size, unit) / unit
                assert abs(found[axis] - wanted[axis]) <= grains * unit * np.spacing(
                    np.float32(value)
                )
            assert gap(wanted, found)[1] <= 2e-7


@pytest.mark.parametrize(("unit", "y_up"), [(1.0, False), (0.01, True)])
def test_physx_leads(simulator, unit, y_up):
    left = simulator("irsim")
    right = simulator("physx", unit=unit, y_up=y_up)
    mirror = Mirror(left, right, direction="lead", commands=curve)
    mirror.start()
    for _ in range(20):
        mirror.run(1)
        assert max(gap(pose(left.read()), pose(right.read()))) < 1e-9
    assert np.hypot(*pose(left.read())[:2]) > 0.3


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


def test_the_same_seed_gives_the_same_recordings_to_the_byte(simulator, tmp_path):
    """Noise is on, and the second run is another pair of simulators."""
    pytest.importorskip("mcap")
    spec = robot()
    for run in ("one", "two"):
        left, right = simulator("irsim", spec, seed=7), simulator("stage", spec, seed=7, noise=True)
        mirror = Mirror(left, right, direction="follow", commands=curve)
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
