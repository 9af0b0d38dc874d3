"""Two simulators are kept in step, whatever one of them does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from irsim_isaac.clock import PacedClock
from irsim_isaac.errors import MirrorError, SimulatorError
from irsim_isaac.mirror import Binding, DivergenceMonitor, Mirror, Policy
from irsim_isaac.msg import Quaternion, Twist, Vector3
from irsim_isaac.robot import RobotSpec
from tests.validation.worlds import Unicycle, thing, world

A, B = RobotSpec(name="a"), RobotSpec(name="b")
STARTS = {"a": (0.0, 0.0, 0.0), "b": (-1.0, 1.0, 2.0)}
FRAME = (3.0, -2.0, 0.7)


def simulator(robots=(A, B), *, starts=None, step_time=0.1, slip=0.0, name="unicycle"):
    return Unicycle(tuple(robots), starts or STARTS, step_time, slip=slip, name=name, half=(99, 99))


def twist(v=0.5, w=0.3):
    return Twist(linear=Vector3(x=v), angular=Vector3(z=w))


def curves(state):
    return {"a": twist(0.5, 0.3), "b": twist(0.4, -0.2)}


def gaps(mirror):
    """Distance and angle of each bound pair as both simulators tell it now."""
    left, right = mirror.left.read(), mirror.right.read()
    here = {item.name: item for item in left.objects}
    there = {item.name: item for item in right.objects}
    for item in mirror.bindings:
        a = here[item.left].odom.pose.pose
        x, y, yaw = item.left_pose(there[item.right].odom)
        yield math.hypot(a.position.x - x, a.position.y - y)
        yield abs(math.remainder(a.orientation.to_yaw() - yaw, 2 * math.pi))


@pytest.mark.parametrize("direction", ["follow", "lead"])
def test_every_pose_agrees_after_each_step(direction):
    bindings = [Binding("a", "b", frame=FRAME), Binding("b", "a", base=(0.2, 0.1, 1.0))]
    mirror = Mirror(
        simulator(), simulator(), bindings=bindings, direction=direction, commands=curves
    )
    mirror.start()
    assert max(gaps(mirror)) < 1e-9
    for _ in range(200):
        mirror.run(1)
        assert max(gaps(mirror)) < 1e-9
        assert mirror.left.time == mirror.right.time
    moved = mirror.left.read().objects[0].odom.pose.pose.position
    assert math.hypot(moved.x, moved.y) > 0.3
    assert (mirror.counts.steps, mirror.counts.writes) == (200, 2 * 201)


def test_beside_gives_both_the_same_commands_and_moves_neither():
    mirror = Mirror(simulator(), simulator(), commands=curves, monitor=DivergenceMonitor())
    mirror.start()
    mirror.run(300)
    assert max(gaps(mirror)) == 0.0
    assert mirror.counts.writes == 0
    assert mirror.monitor.count == 0


def test_the_monitor_tells_once_when_and_by_how_much_they_part():
    seen = []
    monitor = DivergenceMonitor(position=0.05, callbacks=[seen.append])
    mirror = Mirror(
        simulator((A,)),
        simulator((A,), slip=0.2),
        commands=lambda state: {"a": twist(0.5, 0.0)},
        monitor=monitor,
    )
    mirror.start()
    mirror.run(20)
    (event,) = seen
    assert event.name == "a"
    assert event.time == pytest.approx(0.6)
    assert event.difference.position == pytest.approx(0.06)
    assert monitor.apart == {"a"}
    assert monitor.greatest["a"][0] == pytest.approx(0.2)


def test_each_object_may_go_its_own_way():
    bindings = [Binding("a", "a"), Binding("b", "b", direction="lead")]
    starts = {"a": (5.0, 5.0, 1.0), "b": (7.0, 7.0, 1.0)}
    mirror = Mirror(
        simulator(),
        simulator(starts=starts),
        bindings=bindings,
        direction="follow",
        commands=curves,
    )
    mirror.start()
    mirror.run(50)
    assert max(gaps(mirror)) < 1e-9
    places = {item.name: item.odom.pose.pose.position for item in mirror.left.read().objects}
    assert math.hypot(places["a"].x, places["a"].y) < 3.0  # drives on the left from its own start
    assert math.hypot(places["b"].x - 7, places["b"].y - 7) < 3.0  # and b from the right's


class Refusing(Unicycle):
    refuse = False

    def write(self, updates):
        if self.refuse:
            raise SimulatorError("no")
        super().write(updates)


def test_what_one_side_refuses_is_taken_back_on_the_other():
    left = Refusing((A, B), STARTS, half=(99, 99))
    right = simulator(starts={"a": (5.0, 5.0, 1.0), "b": (7.0, 7.0, 1.0)})
    bindings = [Binding("a", "a"), Binding("b", "b", direction="lead")]
    mirror = Mirror(left, right, bindings=bindings, direction="follow", commands=curves)
    mirror.start()
    mirror.run(3)
    left.refuse = True
    before = dict(right.poses)
    with pytest.raises(SimulatorError, match="no"):
        mirror.run(1)
    assert right.poses["a"] == pytest.approx(before["a"])


class Changing(Unicycle):
    """Its objects come, go, lean and stand still as told."""

    def read(self):
        state = super().read()
        kept = [item for item in state.objects if item.name not in getattr(self, "gone", ())]
        kept += [thing(name, (0, 0, 0), number=99) for name in getattr(self, "came", ())]
        return replace(state, objects=kept)


def changing(**options):
    return Changing((A, B), options.pop("starts", STARTS), half=(99, 99), **options)


def test_new_objects_are_counted_and_ignored_or_an_error():
    left = changing()
    mirror = Mirror(left, simulator(), direction="follow")
    mirror.start()
    left.came = ("late",)
    mirror.run(5)
    assert mirror.counts.new == {"late"}
    strict = Mirror(left := changing(), simulator(), direction="follow", policy=Policy(new="error"))
    strict.start()
    left.came = ("late",)
    with pytest.raises(MirrorError, match="'late' was not there at the start"):
        strict.run(1)


@pytest.mark.parametrize("parking", [None, (50.0, -20.0)])
def test_objects_whose_driver_vanished_are_parked(parking):
    left, right = changing(), simulator()
    mirror = Mirror(
        left, right, direction="follow", commands=curves, policy=Policy(parking=parking)
    )
    mirror.start()
    mirror.run(5)
    last = dict(right.poses)
    left.gone = ("a", "b")
    mirror.run(5)
    assert mirror.counts.vanished == {"a", "b"}
    if parking is None:
        assert right.poses == {name: pytest.approx(pose) for name, pose in last.items()}
    else:
        places = {(round(x, 9), round(y, 9)) for x, y, _ in right.poses.values()}
        assert places == {(50.0, -20.0), (50.0, -18.0)}


def test_a_vanished_object_may_be_an_error():
    left = changing()
    mirror = Mirror(left, simulator(), direction="follow", policy=Policy(vanished="error"))
    mirror.start()
    left.gone = ("b",)
    with pytest.raises(MirrorError, match="the left simulator has no object 'b' any more"):
        mirror.run(1)


def test_a_follower_that_loses_an_object_does_not_move_the_leader():
    left, right = simulator(), changing()
    mirror = Mirror(left, right, direction="follow", policy=Policy(parking=(50.0, 0.0)))
    mirror.start()
    right.gone = ("b",)
    mirror.run(3)
    assert left.poses["b"] == pytest.approx(STARTS["b"])
    assert mirror.counts.vanished == {"b"}


def test_standing_objects_are_checked_once_for_drift():
    def hall(x):
        made = Changing((A,), STARTS, half=(99, 99))
        original = made.read
        made.read = lambda: replace(
            original(), objects=[*original().objects, thing("wall", (x, 0, 0), role="obstacle")]
        )
        return made

    mirror = Mirror(hall(2.0), hall(2.25), direction="follow")
    mirror.start()
    mirror.run(3)
    assert mirror.counts.drifted == {"wall": pytest.approx(0.25)}
    assert mirror.counts.writes == 4  # the robot alone, at the start and after each step
    strict = Mirror(hall(2.0), hall(2.25), direction="follow", policy=Policy(drift="error"))
    with pytest.raises(MirrorError, match=r"'wall' stands 0.25 m from its other self"):
        strict.start()


def test_a_body_that_fell_over_has_no_heading_to_give():
    class Fallen(Unicycle):
        lean = 0.0

        def read(self):
            state = super().read()
            for item in state.objects:
                item.odom.pose.pose.orientation = Quaternion(
                    x=math.sin(self.lean / 2), w=math.cos(self.lean / 2)
                )
            return state

    def pair(policy):
        left, right = simulator((A,)), Fallen((A,), STARTS, half=(99, 99))
        mirror = Mirror(left, right, direction="lead", policy=policy)
        mirror.start()
        right.lean = math.radians(75)
        return left, right, mirror

    left, right, mirror = pair(Policy())
    right.poses["a"] = (4.0, 4.0, 0.0)
    mirror.run(2)
    assert left.poses["a"] == pytest.approx(STARTS["a"])
    assert mirror.counts.held == 2
    *_, strict = pair(Policy(tilted="error"))
    with pytest.raises(MirrorError, match=r"'a' leans 75.0 degrees, at most 60.0"):
        strict.run(1)


def test_tenths_against_sixtieths_take_six_sub_steps_and_never_drift():
    mirror = Mirror(simulator((A,)), simulator((A,), step_time=1 / 60), direction="follow")
    mirror.start()
    mirror.run(10_000)
    assert mirror.right.clock.count == 60_000
    assert mirror.right.clock.time == mirror.left.clock.time == 1000


def test_a_follower_with_the_longer_step_is_stepped_when_it_is_due():
    mirror = Mirror(simulator((A,), step_time=1 / 60), simulator((A,)), direction="follow")
    mirror.start()
    counts = []
    for _ in range(18):
        mirror.run(1)
        counts.append(mirror.right.clock.count)
    assert counts == [0] * 5 + [1] * 6 + [2] * 6 + [3]


def test_steps_that_do_not_fit_are_refused():
    with pytest.raises(MirrorError, match=r"\(0.1 s\) and 'unicycle' \(0.03 s\) do not fit"):
        Mirror(simulator(), simulator(step_time=0.03))


def test_states_that_come_again_are_left_and_skipped_ones_made_up_for():
    leader = simulator((A,))
    mirror = Mirror(leader, simulator((A,)), direction="follow")
    mirror.start()
    state = leader.step({})
    mirror.advance(state)
    mirror.advance(state)
    assert (mirror.counts.repeated, mirror.counts.steps) == (1, 1)
    for _ in range(4):
        state = leader.step({"a": twist()})
    mirror.advance(state)
    assert mirror.counts.skipped == 3
    assert mirror.right.clock.count == 5
    assert max(gaps(mirror)) < 1e-9


def test_time_that_goes_back_starts_the_follower_again():
    leader, follower = simulator((A,)), simulator((A,))
    mirror = Mirror(leader, follower, direction="follow")
    mirror.start()
    for _ in range(5):
        mirror.advance(leader.step({"a": twist()}))
    mirror.advance(leader.reset())
    assert mirror.counts.backwards == 1
    assert follower.clock.count == 0
    for count in range(1, 4):
        mirror.advance(leader.step({"a": twist()}))
        assert follower.clock.count == count
        assert max(gaps(mirror)) < 1e-9


class Running(Unicycle):
    """Goes on by itself: each tick is a step that it tells of."""

    def tick(self, count=1):
        for _ in range(count):
            state = self.step({"a": twist()})
        if self.on_step is not None:
            self.on_step(state)


def test_a_leader_that_runs_is_followed_one_step_a_call():
    leader = Running((A,), STARTS, half=(99, 99), drive="runs")
    follower = simulator((A,))
    mirror = Mirror(leader, follower, direction="follow")
    mirror.start()
    mirror.connect()
    for count in range(1, 6):
        leader.tick()
        assert follower.clock.count == count
        assert max(gaps(mirror)) < 1e-9
    leader.tick(3)  # two steps go unseen: one is made up for at once, the rest later
    assert (follower.clock.count, mirror.counts.late, mirror.counts.skipped) == (6, 1, 2)
    assert max(gaps(mirror)) < 1e-9
    with pytest.raises(MirrorError, match="runs by itself; connect"):
        mirror.run(1)


def test_a_leader_that_pauses_is_waited_for():
    """Nothing moves while it stands still, and it goes on without a step lost or made up."""
    leader = Running((A,), STARTS, half=(99, 99), drive="runs")
    follower = simulator((A,))
    wall = [0.0]
    clock = PacedClock(0.1, now=lambda: wall[0])
    mirror = Mirror(leader, follower, direction="follow")
    mirror.start()
    mirror.connect()
    for seconds, paused in ((0.5, False), (60.0, True), (0.5, False), (0.0, True), (1.0, False)):
        (clock.pause if paused else clock.resume)()
        before = follower.poses["a"]
        for _ in range(10):
            wall[0] += seconds / 10
            for _ in range(clock.due()):
                leader.tick()
        assert (follower.poses["a"] == before) == paused
        assert max(gaps(mirror)) < 1e-9
    assert follower.clock.count == leader.clock.count == mirror.counts.steps == 20
    assert (mirror.counts.skipped, mirror.counts.late, mirror.counts.repeated) == (0, 0, 0)


def test_a_running_follower_is_refused():
    with pytest.raises(MirrorError, match="the follower 'unicycle' runs by itself"):
        Mirror(simulator(), Running((A, B), STARTS, drive="runs"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "both"}, "direction is 'both'"),
        ({"bindings": [Binding("a", "x")]}, "the right simulator has no object 'x'"),
        ({"bindings": [Binding("x", "a")]}, "the left simulator has no object 'x'"),
    ],
)
def test_what_cannot_be_mirrored_is_named(options, message):
    with pytest.raises(MirrorError, match=message):
        Mirror(simulator(), simulator(), **options).start()


def test_a_command_for_what_is_not_bound_is_refused():
    mirror = Mirror(simulator(), simulator(), commands=lambda state: {"c": twist()})
    mirror.start()
    with pytest.raises(MirrorError, match="a command for 'c', which is bound to nothing"):
        mirror.run(1)


def test_nothing_runs_before_the_start():
    with pytest.raises(MirrorError, match="not been started"):
        Mirror(simulator(), simulator()).run(1)


def test_a_state_of_now_is_not_touched_by_what_comes():
    mirror = Mirror(simulator((A,)), simulator((A,)), direction="follow", commands=lambda s: {})
    mirror.start()
    first = mirror.left_state
    stamp = first.header.stamp
    mirror.run(3)
    assert first.header.stamp == stamp
    assert isinstance(world(0.0), type(first))
