"""What every simulator must do, whatever moves its robots.

A test module gives a class that inherits ``Conformance`` and says how to build its simulator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import ObjectState, Quaternion, Twist, Vector3, WorldState
from irsim_isaac.simulators import Simulator
from tests.simulators.arena import (
    CRATE,
    CRATE_SIZE,
    FRONT,
    HALF_LENGTH,
    HALF_WIDTH,
    PROFILE,
    odometry,
    twist,
)

Build = Callable[..., Simulator]


def state_of(world: WorldState, name: str) -> ObjectState:
    """Return the object of a name."""
    return next(item for item in world.objects if item.name == name)


def pose_of(world: WorldState, name: str = "robot") -> tuple[float, float, float]:
    """Return x, y and yaw of an object."""
    pose = state_of(world, name).odom.pose.pose
    return pose.position.x, pose.position.y, pose.orientation.to_yaw()


def digest(world: WorldState) -> str:
    """Return everything that a state says, as text."""
    return json.dumps(world.to_dict(), sort_keys=True)


class Conformance:
    """What a recording does as well: the room with its ``crate`` and its ``robot``."""

    sees: ClassVar[float] = 1e-5
    """How exactly a lidar measures [m]."""

    @pytest.fixture
    def build(self, tmp_path: Any) -> Iterator[Build]:
        """Return a function that makes the simulator; all of them are closed at the end."""
        made: list[Simulator] = []

        def make(**options: Any) -> Simulator:
            made.append(self.make(tmp_path, **options))
            return made[-1]

        yield make
        for simulator in made:
            simulator.close()

    def make(self, folder: Any, **options: Any) -> Simulator:
        raise AssertionError("a conformance class says how to make its simulator")

    def test_it_is_a_simulator(self, build: Build) -> None:
        simulator = build()
        assert isinstance(simulator, Simulator)
        assert simulator.drive == "step"
        assert simulator.name
        assert list(simulator.robots) == ["robot"]
        assert simulator.robots["robot"].kinematics == "diff"
        assert simulator.on_step is None

    def test_robots_cannot_be_added_behind_its_back(self, build: Build) -> None:
        simulator = build()
        with pytest.raises(TypeError):
            simulator.robots["other"] = simulator.robots["robot"]  # type: ignore[index]

    @pytest.mark.parametrize("step_time", [0.1, "1/30"])
    def test_time_is_a_whole_count_of_steps(self, build: Build, step_time: Any) -> None:
        """Stamps are the floats nearest to count times step, everywhere in the state."""
        simulator = build(step_time=step_time)
        step = Fraction(str(step_time))
        assert simulator.step_time == float(step)
        assert simulator.time == 0.0
        for count in range(1, 8):
            world = simulator.step({})
            stamp = float(count * step)
            assert simulator.time == stamp
            headers = [world.header]
            for item in world.objects:
                headers += [item.header, item.odom.header]
                headers += [scan.header for scan in item.scans]
            assert {(header.seq, header.stamp) for header in headers} == {(count, stamp)}
            assert world.step_time == float(step)

    def test_a_state_names_its_frames(self, build: Build) -> None:
        world = build().read()
        robot = state_of(world, "robot")
        assert robot.role == "robot"
        assert robot.odom.header.frame_id == "world"
        assert robot.odom.child_frame_id == "robot/base_link"
        assert [scan.header.frame_id for scan in robot.scans] == ["robot/laser"]
        assert robot.scan is robot.scans[0]
        assert state_of(world, "crate").role == "obstacle"
        assert len({item.id for item in world.objects}) == len(world.objects)

    @pytest.mark.parametrize(
        "commands",
        [
            {"robot": twist(0.5), "nobody": twist(0.5)},
            {"robot": twist(math.nan)},
            {"robot": twist(0.5, math.inf)},
            {"robot": (0.5, 0.0)},
        ],
    )
    def test_a_bad_command_moves_nothing(self, build: Build, commands: Any) -> None:
        simulator = build()
        before = digest(simulator.step({"robot": twist(0.2)}))
        with pytest.raises(SimulatorError):
            simulator.step(commands)
        assert digest(simulator.read()) == before

    def test_reading_changes_nothing(self, build: Build) -> None:
        simulator = build()
        world = simulator.step({"robot": twist(0.3, 0.1)})
        assert digest(simulator.read()) == digest(world) == digest(simulator.read())

    def test_states_are_copies(self, build: Build) -> None:
        """Neither what is done to a state nor what the simulator does next reaches the other."""
        simulator = build()
        first = simulator.step({"robot": twist(0.3)})
        kept = digest(first)
        second = simulator.read()
        state_of(second, "robot").scans[0].ranges[:] = 0.0
        state_of(second, "robot").odom.pose.pose.position.x = 99.0
        second.objects.clear()
        assert digest(simulator.read()) == kept
        simulator.step({"robot": twist(0.3, 0.3)})
        simulator.reset()
        assert digest(first) == kept

    def test_scans_are_counter_clockwise_and_in_metres(self, build: Build) -> None:
        """The walls of the room are where they are, and a miss is +inf."""
        scan = state_of(build().read(), "robot").scans[0]
        assert (scan.range_min, scan.range_max) == (PROFILE.range_min, PROFILE.range_max)
        assert scan.angle_min == pytest.approx(PROFILE.angle_min, abs=1e-12)
        assert scan.angle_increment == pytest.approx(PROFILE.angle_increment, abs=1e-12)
        assert scan.ranges.dtype == np.float32
        assert scan.ranges.shape == (PROFILE.beam_count,)
        bearings = PROFILE.bearings
        with np.errstate(divide="ignore"):
            along = np.where(np.cos(bearings) > 1e-12, HALF_LENGTH / np.cos(bearings), np.inf)
            across = HALF_WIDTH / np.abs(np.sin(bearings))
        expected = np.minimum(along, across)
        # The crate hides the wall behind it, left of forward.
        near = np.hypot(*CRATE)
        hidden = np.abs(bearings - math.atan2(CRATE[1], CRATE[0])) < CRATE_SIZE / near
        np.testing.assert_allclose(scan.ranges[~hidden], expected[~hidden], atol=self.sees)
        middle = np.argmin(np.abs(bearings - math.atan2(CRATE[1], CRATE[0])))
        assert abs(scan.ranges[middle] - near) < CRATE_SIZE
        assert scan.ranges[middle] < expected[middle] - CRATE_SIZE

    def test_reset_goes_back(self, build: Build) -> None:
        simulator = build()
        start = digest(simulator.read())
        simulator.step({"robot": twist(0.5, 0.5)})
        simulator.step({})
        assert digest(simulator.reset()) == start
        assert simulator.time == 0.0

    def test_two_at_once_do_not_disturb_each_other(self, build: Build) -> None:
        alone = build(seed=1, noise=True)
        expected = [digest(alone.step({"robot": twist(0.3, 0.2)})) for _ in range(6)]
        first, second = build(seed=1, noise=True), build(seed=2, noise=True)
        found = []
        for _ in range(6):
            second.step({"robot": twist(-0.1)})
            found.append(digest(first.step({"robot": twist(0.3, 0.2)})))
        assert found == expected

    def test_a_closed_one_says_so(self, build: Build) -> None:
        simulator = build()
        simulator.close()
        simulator.close()
        for call in (
            lambda: simulator.step({}),
            simulator.read,
            simulator.reset,
            lambda: simulator.write({}),
        ):
            with pytest.raises(SimulatorError, match="closed"):
                call()

    def test_it_prints_nothing(self, build: Build, capfd: Any) -> None:
        simulator = build()
        simulator.step({"robot": twist(5.0)})
        simulator.reset()
        simulator.close()
        assert capfd.readouterr().out == ""


class DrivenConformance(Conformance):
    """What obeys commands and can be written to: ``robot`` drives, ``crate`` can be placed."""

    settles: ClassVar[float] = 0.0
    """How far a robot may still go after it was told to stand [m]."""

    follows: ClassVar[float] = 1e-9
    """How far, of the way that it was told, a robot may be off after a metre [m]."""

    places: ClassVar[float] = 1e-9
    """How exactly it takes what is written [m, rad]."""

    crate_height: ClassVar[float] = 0.0

    def test_robots_start_where_they_are_told(self, build: Build) -> None:
        simulator = build(starts={"robot": (-2.0, 1.0, 2.0)})
        assert pose_of(simulator.read()) == pytest.approx((-2.0, 1.0, 2.0), abs=1e-6)
        simulator.step({"robot": twist(0.5)})
        assert pose_of(simulator.reset()) == pytest.approx((-2.0, 1.0, 2.0), abs=1e-6)

    def test_forward_is_along_the_heading(self, build: Build) -> None:
        simulator = build(starts={"robot": (0.0, 0.0, math.pi / 2)})
        for _ in range(20):
            world = simulator.step({"robot": twist(0.5)})
        x, y, yaw = pose_of(world)
        assert math.hypot(x, y - 1.0) <= self.follows
        assert yaw == pytest.approx(math.pi / 2, abs=max(self.follows, 1e-9))
        speed = state_of(world, "robot").odom.twist.twist.linear
        assert (speed.x, speed.y) == pytest.approx((0.5, 0.0), abs=max(self.follows, 1e-9))

    def test_a_positive_turn_is_counter_clockwise(self, build: Build) -> None:
        simulator = build()
        for _ in range(10):
            world = simulator.step({"robot": twist(0.0, 0.5)})
        assert pose_of(world)[2] == pytest.approx(0.5, abs=max(2 * self.follows, 1e-9))
        turn = state_of(world, "robot").odom.twist.twist.angular.z
        assert turn == pytest.approx(0.5, abs=max(self.follows, 1e-9))

    def test_no_command_is_zero_velocity(self, build: Build) -> None:
        simulator = build()
        for _ in range(5):
            before = simulator.step({"robot": twist(0.5, 0.2)})
        for _ in range(10):
            after = simulator.step({})
        assert math.dist(pose_of(before)[:2], pose_of(after)[:2]) <= self.settles
        speed = state_of(after, "robot").odom.twist.twist
        assert (speed.linear.x, speed.angular.z) == pytest.approx(
            (0.0, 0.0), abs=max(self.settles, 1e-12)
        )

    def test_what_is_out_of_reach_is_infinite(self, build: Build) -> None:
        """From the west end, the east wall is farther than the lidar reaches."""
        simulator = build(starts={"robot": (-5.0, 0.0, 0.0)})
        ranges = state_of(simulator.read(), "robot").scans[0].ranges
        assert ranges[PROFILE.beam_count // 2] == math.inf
        assert not np.isnan(ranges).any()

    def test_a_written_robot_is_there(self, build: Build) -> None:
        simulator = build()
        simulator.step({"robot": twist(0.2)})
        time = simulator.time
        simulator.write({"robot": odometry(-1.5, -2.0, -0.5)})
        assert simulator.time == time
        world = simulator.read()
        assert pose_of(world) == pytest.approx((-1.5, -2.0, -0.5), abs=self.places)
        middle = state_of(world, "robot").scans[0].ranges[PROFILE.beam_count // 2]
        assert middle == pytest.approx((HALF_WIDTH - 2.0) / math.sin(0.5), abs=1e-4)

    def test_a_written_obstacle_is_seen(self, build: Build) -> None:
        """What is put before the lidar is measured in the next scan."""
        simulator = build()
        middle = PROFILE.beam_count // 2
        before = state_of(simulator.read(), "robot").scans[0].ranges[middle]
        assert before == pytest.approx(HALF_LENGTH, abs=self.sees)
        simulator.write({"crate": odometry(2.0, 0.0, z=self.crate_height)})
        world = simulator.read()
        assert pose_of(world, "crate")[:2] == pytest.approx((2.0, 0.0), abs=self.places)
        after = state_of(world, "robot").scans[0].ranges[middle]
        assert after == pytest.approx(2.0 - CRATE_SIZE / 2, abs=1e-4)

    @pytest.mark.parametrize("case", ["unknown", "infinite", "no yaw", "no odometry"])
    def test_a_bad_update_places_nothing(self, build: Build, case: str) -> None:
        bad: Any = odometry(1.0, 1.0)
        if case == "infinite":
            bad = odometry(math.inf, 1.0)
        elif case == "no yaw":
            bad.pose.pose.orientation = Quaternion(0.0, 0.0, 0.0, 0.0)
        elif case == "no odometry":
            bad = Twist(Vector3(1.0))
        name = "nobody" if case == "unknown" else "crate"
        simulator = build()
        before = digest(simulator.read())
        with pytest.raises(SimulatorError, match=name):
            simulator.write({"robot": odometry(1.0, 1.0), name: bad})
        assert digest(simulator.read()) == before

    def test_driving_into_a_wall_is_a_collision(self, build: Build) -> None:
        simulator = build(starts={"robot": (HALF_LENGTH - 1.0, -1.0, 0.0)})
        assert not state_of(simulator.read(), "robot").collision
        collided = False
        for _ in range(30):
            world = simulator.step({"robot": twist(0.5)})
            collided = collided or state_of(world, "robot").collision
        assert collided
        assert pose_of(world)[0] < HALF_LENGTH - FRONT + 0.1

    def test_one_seed_gives_one_run(self, build: Build) -> None:
        """Two runs of one simulator, and one of a second one, agree to the last bit."""
        commands = [{"robot": twist(0.4, 0.3)}, {}, {"robot": twist(-0.2, 0.5)}] * 4
        first, second = build(seed=5, noise=True), build(seed=5, noise=True)
        runs = []
        for simulator, seed in ((first, None), (second, None), (first, 5), (first, 6)):
            worlds = [simulator.reset(seed)]
            worlds += [simulator.step(command) for command in commands]
            runs.append([digest(world) for world in worlds])
        assert runs[0] == runs[1] == runs[2]
        assert runs[0] != runs[3]

    def test_reset_undoes_what_was_written(self, build: Build) -> None:
        simulator = build()
        start = digest(simulator.read())
        kept = simulator.step({"robot": twist(0.5, 0.5)})
        before = digest(kept)
        simulator.write({"crate": odometry(-2.0, 0.0, z=self.crate_height)})
        simulator.write({"robot": odometry(1.0, 1.0)})
        simulator.step({})
        assert digest(kept) == before
        assert digest(simulator.reset()) == start
