"""The same objects, sensors and environments into IR-SIM's own classes and into ours."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irsim_isaac import msg
from tests.msg.strategies import texts

real = pytest.importorskip("irsim.msg")

numbers = st.floats(-1e3, 1e3)
KINEMATICS = ["diff", "omni", "omni_angular", "acker", "custom", None]


@st.composite
def stand_ins(draw, kinematics=None, mode="steer"):
    """What from_object reads, with as few rows as IR-SIM allows."""
    kinematics = draw(st.sampled_from(KINEMATICS)) if kinematics is None else kinematics
    rows = draw(st.integers(2, 4))
    state = draw(hnp.arrays(np.float64, (rows, 1), elements=numbers))
    velocity = draw(hnp.arrays(np.float64, (draw(st.integers(0, 4)), 1), elements=numbers))
    if draw(st.booleans()):
        state, velocity = state.ravel().tolist(), velocity.ravel().tolist()
    wheelbase = draw(st.floats(0.1, 4.0))
    contact = SimpleNamespace(
        force=draw(hnp.arrays(np.float64, (2, 1), elements=numbers)),
        contact_time=draw(numbers),
        air_time=draw(numbers),
        reports=draw(st.lists(reports(), max_size=2)),
    )
    goals = st.none() | hnp.arrays(np.float64, (3, 1), elements=numbers)
    return SimpleNamespace(
        state=state,
        velocity=velocity,
        kinematics=kinematics,
        name=draw(texts),
        wheelbase=wheelbase,
        kf=SimpleNamespace(mode=mode, wheelbase=wheelbase),
        sensors=draw(st.lists(sensors(), max_size=3)),
        id=draw(st.integers(0, 99)),
        role=draw(st.sampled_from(["robot", "obstacle"])),
        shape="circle",
        goal=draw(goals),
        static=draw(st.booleans()),
        arrive=draw(st.booleans()),
        collision=draw(st.booleans()),
        collision_obj=[SimpleNamespace(id=number) for number in draw(st.sets(st.integers(0, 9)))],
        contact=contact,
    )


@st.composite
def reports(draw):
    return SimpleNamespace(
        other=SimpleNamespace(id=draw(st.integers(0, 99)), name=draw(texts)),
        point=draw(hnp.arrays(np.float64, 2, elements=numbers)),
        normal=draw(hnp.arrays(np.float64, 2, elements=numbers)),
        depth=draw(numbers),
        force=draw(numbers),
    )


@st.composite
def sensors(draw):
    size = draw(st.integers(0, 9))
    elements = st.floats(0, 30, width=32) | st.just(math.inf) | st.just(math.nan)
    scan = {
        "angle_min": draw(numbers),
        "angle_max": draw(numbers),
        "angle_increment": draw(numbers),
        "time_increment": 0.0,
        "scan_time": draw(numbers),
        "range_min": 0.1,
        "range_max": 10,
        "ranges": draw(hnp.arrays(np.float64, size, elements=elements)),
    }
    if draw(st.booleans()):
        scan["intensities"] = draw(st.none() | hnp.arrays(np.float64, size, elements=numbers))
    if draw(st.booleans()):
        scan["valid"] = draw(hnp.arrays(bool, size))
    kind = draw(st.sampled_from(["lidar2d", "fmcw_lidar2d", "camera"]))
    return SimpleNamespace(get_scan=lambda: scan, sensor_type=kind)


def same(ours, theirs):
    """Compare dictionaries bit for bit; repr tells -0.0 from 0.0 and nan from a number."""
    assert repr(ours.to_dict()) == repr(theirs.to_dict())


@settings(max_examples=120)
@given(stand_ins(), st.floats(0, 100), st.integers(0, 999))
def test_odometry_of_an_object(obj, stamp, seq):
    same(
        msg.Odometry.from_object(obj, stamp=stamp, seq=seq, frame_id="odom"),
        real.Odometry.from_object(obj, stamp=stamp, seq=seq, frame_id="odom"),
    )


@settings(max_examples=80)
@given(stand_ins(), st.booleans())
def test_state_of_an_object(obj, use_inf):
    ours = msg.ObjectState.from_object(obj, stamp=1.5, seq=3, use_inf=use_inf)
    theirs = real.ObjectState.from_object(obj, stamp=1.5, seq=3, use_inf=use_inf)
    if use_inf:
        _tell_nan_as_ours(ours, theirs)
    same(ours, theirs)
    assert [scan.to_dict() for scan in ours.sensors] == ours.to_dict()["scans"] or any(
        np.isnan(scan.ranges).any() for scan in ours.scans
    )


def _tell_nan_as_ours(ours, theirs):
    """The listed difference: what was not measured stays NaN, where IR-SIM says -inf."""
    for mine, other in zip(ours.scans, theirs.scans, strict=True):
        lost = np.isnan(mine.ranges)
        assert np.isin(other.ranges[lost], [-np.inf, np.nan]).all() or lost.any()
        other.ranges[lost] = np.nan


@settings(max_examples=50)
@given(stand_ins(), st.sampled_from([3, 5, 10]))
def test_state_of_an_environment(obj, count):
    env = SimpleNamespace(
        world_param=SimpleNamespace(count=count),
        time=count * 0.5,
        step_time=0.5,
        status="Running",
        _world=SimpleNamespace(name="w"),
        objects=[obj, obj],
    )
    ours = msg.WorldState.from_env(env, "map")
    theirs = real.WorldState.from_env(env, "map")
    same(ours, theirs)
    for name in ("robots", "obstacles"):
        assert len(getattr(ours, name)) == len(getattr(theirs, name))


@settings(max_examples=50)
@given(sensors(), st.none() | texts)
def test_scan_of_a_sensor(sensor, frame):
    same(
        msg.LaserScan.from_sensor(sensor, frame_id=frame),
        real.LaserScan.from_sensor(sensor, frame_id=frame),
    )


@settings(max_examples=50)
@given(reports())
def test_contact_of_a_report(report):
    same(msg.ContactState.from_report(report), real.ContactState.from_report(report))


@settings(max_examples=80)
@given(st.lists(numbers, min_size=4, max_size=4), st.floats(-100, 100))
def test_quaternions(values, yaw):
    same(msg.Quaternion.from_yaw(yaw), real.Quaternion.from_yaw(yaw))
    assume(np.hypot.reduce(values) > 1e-9)
    assert msg.Quaternion(*values).to_yaw() == real.Quaternion(*values).to_yaw()


@st.composite
def targets(draw, kinematics, rows=None):
    rows = rows or draw(st.integers(3, 6))
    size = draw(st.integers(1, 4)) if kinematics == "custom" else draw(st.integers(2, 3))
    return SimpleNamespace(
        state=draw(hnp.arrays(np.float64, (rows, 1), elements=numbers)),
        velocity=draw(hnp.arrays(np.float64, (size, 1), elements=numbers)),
        vel_shape=(size, 1),
        kinematics=kinematics,
        name="r",
        wheelbase=0.5,
        kf=SimpleNamespace(mode="steer", wheelbase=0.5),
    )


@st.composite
def odometries(draw):
    def pair(values):
        return [
            module.Odometry(
                pose=module.PoseWithCovariance(
                    module.Pose(module.Point(*values[:3]), module.Quaternion.from_yaw(values[3]))
                ),
                twist=module.TwistWithCovariance(
                    module.Twist(module.Vector3(*values[4:6]), module.Vector3(0.0, 0.0, values[6]))
                ),
            )
            for module in (msg, real)
        ]

    return pair(draw(st.lists(numbers, min_size=7, max_size=7)))


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "custom", "acker"])
@settings(max_examples=60)
@given(data=st.data(), odometry=odometries())
def test_odometry_onto_an_object(kinematics, data, odometry):
    target = data.draw(targets(kinematics, rows=4 if kinematics == "acker" else None))
    before = copy.deepcopy(target)
    ours, theirs = (item.to_state_velocity(target) for item in odometry)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        assert np.array_equal(mine, other)
    assert np.array_equal(target.state, before.state)
    assert np.array_equal(target.velocity, before.velocity)


@settings(max_examples=60)
@given(odometries())
def test_any_message_shaped_like_odometry_is_adopted(odometry):
    ours, theirs = odometry
    same(msg.Odometry.from_msg(theirs), real.Odometry.from_msg(ours))


WORLD = {
    "world": {"height": 20, "width": 20, "step_time": 0.1, "collision_mode": "contact"},
    "robot": [
        {
            "kinematics": {"name": name, **extra},
            "shape": shape,
            "state": [3.0 * index + 2, 5.0, 0.3, *rest],
            "goal": [3.0 * index + 2, 15.0, 0.0],
            "behavior": {"name": "dash"},
            "name": f"{name}_{index}",
            "sensors": [
                {"name": "lidar2d", "range_max": 8, "number": 61, "angle_range": 3.0},
                {"name": "lidar2d", "range_max": 4, "number": 7, "offset": [0.1, 0, 0.2]},
            ][: index + 1],
        }
        for index, (name, extra, shape, rest) in enumerate(
            [
                ("diff", {}, {"name": "circle", "radius": 0.3}, []),
                ("omni", {}, {"name": "circle", "radius": 0.3}, []),
                ("omni_angular", {}, {"name": "circle", "radius": 0.3}, []),
                (
                    "acker",
                    {"mode": "steer"},
                    {"name": "rectangle", "length": 1.0, "width": 0.5, "wheelbase": 0.6},
                    [0.1],
                ),
                (
                    "acker",
                    {"mode": "angular"},
                    {"name": "rectangle", "length": 1.0, "width": 0.5, "wheelbase": 0.6},
                    [0.1],
                ),
            ]
        )
    ],
    "obstacle": [
        {
            "shape": {"name": "rectangle", "length": 1.0, "width": 1.0},
            "state": [5.2, 6.0, 0.4],
            "mass": 2.0,
            "name": "crate",
        },
        {"shape": {"name": "circle", "radius": 1.0}, "state": [10.0, 10.0], "name": "pillar"},
        {
            "kinematics": {"name": "static"},
            "shape": {"name": "circle", "radius": 0.5},
            "state": [1.0, 18.0],
            "name": "post",
        },
    ],
}


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return a function that makes IR-SIM environments of a world, closed at the end."""
    import irsim

    monkeypatch.setenv("MPLBACKEND", "Agg")
    made = []

    def make(world=WORLD):
        path = tmp_path / f"world_{len(made)}.yaml"
        path.write_text(yaml.safe_dump(world))
        made.append(irsim.make(str(path), display=False, log_level="ERROR"))
        return made[-1]

    yield make
    for env in made:
        env.end(0)


def _restamp(value, stamp):
    """The listed difference: IR-SIM's clock is rounded to hundredths of a second."""
    if isinstance(value, dict):
        return {
            key: stamp if key == "stamp" else _restamp(item, stamp) for key, item in value.items()
        }
    return [_restamp(item, stamp) for item in value] if isinstance(value, list) else value


def test_a_real_environment_step_by_step(environment):
    env = environment()
    crate = next(obj for obj in env.objects if obj.name == "crate")
    crate.set_velocity(np.array([[0.5], [0.2], [0.3]]))
    for count in range(25):
        ours = msg.WorldState.from_env(env, use_inf=True)
        theirs = _restamp(env.get_msg(use_inf=True).to_dict(), count * 0.1)
        assert repr(ours.to_dict()) == repr(theirs)
        assert msg.WorldState.from_json(ours.to_json()) == ours
        if not count:
            moving = next(item for item in ours.objects if item.name == "crate").odom.twist.twist
            assert moving.linear.x != 0.5, "a pushed body's velocity is told in its own frame"
        env.step()


def test_stamps_are_counted_and_never_rounded(environment):
    world = copy.deepcopy(WORLD)
    world["world"]["step_time"] = 1 / 240
    env = environment(world)
    stamps = []
    for _ in range(8):
        stamps.append(msg.WorldState.from_env(env).header.stamp)
        env.step()
    assert stamps == [count * (1 / 240) for count in range(8)]


def test_a_car_turns_by_the_wheelbase_that_it_drives_with(environment):
    world = copy.deepcopy(WORLD)
    car = world["robot"][3]
    car["kinematics"]["wheelbase"] = 0.4
    world["robot"] = [car]
    world["world"]["collision_mode"] = "stop"
    for shape in (car["shape"], {"name": "circle", "radius": 0.4}):
        car["shape"] = shape
        del car["sensors"][1:]
        env = environment(world)
        before = env.robot.state.copy()
        env.step([np.array([[0.5], [0.1]])], [0])
        turned = float(env.robot.state[2, 0] - before[2, 0])
        env.robot.set_velocity(np.array([[0.5], [0.1]]))
        rate = msg.WorldState.from_env(env).robots[0].odom.twist.twist.angular.z
        assert rate == pytest.approx(0.5 * math.tan(0.1) / 0.4)
        assert turned == pytest.approx(0.1 * rate, rel=1e-6)


@pytest.mark.parametrize("kinematics", ["diff", "omni", "omni_angular", "acker", "static", None])
@pytest.mark.parametrize("mode", ["steer", "angular"])
@settings(max_examples=30)
@given(data=st.data())
def test_an_object_gets_its_own_state_and_velocity_back(kinematics, mode, data):
    rows, size = (
        (4, 2) if kinematics == "acker" else (3, 2 if kinematics in {"diff", "omni"} else 3)
    )
    angles = st.floats(-1.4, 1.4)
    state = data.draw(hnp.arrays(np.float64, (rows, 1), elements=angles))
    velocity = data.draw(hnp.arrays(np.float64, (size, 1), elements=angles))
    if kinematics == "acker":
        assume(abs(velocity[0, 0]) > 1e-9 or velocity[0, 0] == 0.0)
        if mode == "steer":
            velocity[1, 0] = state[3, 0]
    obj = SimpleNamespace(
        state=state,
        velocity=velocity,
        vel_shape=(size, 1),
        kinematics=kinematics,
        name="o",
        wheelbase=2.0,
        kf=SimpleNamespace(mode=mode, wheelbase=0.5),
    )
    got = msg.Odometry.from_object(obj).to_state_velocity(obj)
    np.testing.assert_allclose(got[0], state, atol=1e-9)
    np.testing.assert_allclose(got[1], velocity, atol=1e-9)


# ------------------------------------------------------------------ driving


def test_a_state_of_ours_drives_a_real_environment(environment):
    leader, follower = environment(), environment()
    for _ in range(10):
        leader.step()
    crate = next(obj for obj in leader.objects if obj.name == "crate")
    crate.set_velocity(np.array([[0.5], [0.2], [0.3]]))
    state = msg.WorldState.from_env(leader)
    assert msg.drive(follower, state) == len(state.objects)
    for ours, theirs in zip(leader.objects, follower.objects, strict=True):
        np.testing.assert_allclose(theirs.state[:3], ours.state[:3], atol=1e-12)
    crates = [next(obj for obj in env.objects if obj.name == "crate") for env in (leader, follower)]
    np.testing.assert_allclose(crates[1].velocity, crates[0].velocity, atol=1e-12)
    again = msg.WorldState.from_env(follower)
    for ours, theirs in zip(state.robots, again.robots, strict=True):
        np.testing.assert_allclose(theirs.scan.ranges, ours.scan.ranges, atol=1e-6)


def test_driving_equals_irsims_own_receiving(environment):
    leader, ours, theirs = environment(), environment(), environment()
    for _ in range(5):
        leader.step()
    robots = [
        {"name": obj.name, "odom": msg.Odometry.from_object(obj)} for obj in leader.robot_list[:3]
    ]
    msg.drive(ours, {row["name"]: row["odom"] for row in robots})
    for row in robots:
        theirs.receive_msg(row["odom"], object_name=row["name"])
    for mine, other in zip(ours.objects, theirs.objects, strict=True):
        assert np.array_equal(mine.state, other.state)
        assert np.array_equal(mine.velocity, other.velocity)


def _snapshot(env):
    return [(obj.state.copy(), obj.velocity.copy()) for obj in env.objects]


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (lambda s: setattr(s.objects[-1].odom.pose.pose.position, "x", math.nan), ValueError,
         r"'post': odometry values must all be finite, found pose\.pose\.position\.x = nan"),
        (lambda s: setattr(s.objects[-1].odom.pose.pose.orientation, "w", 0.0) or
         setattr(s.objects[-1].odom.pose.pose.orientation, "z", 0.0), ValueError,
         r"'post': the orientation must be non-zero"),
        (lambda s: (setattr(s.objects[-1], "name", "nobody"), setattr(s.objects[-1], "id", 99)),
         ValueError, r"no object is named 'nobody' or has the id 99"),
        (lambda s: s.objects.append(s.objects[0]), ValueError, r"'diff_0' is met twice"),
        (lambda s: setattr(s.objects[-1].odom, "pose", None), TypeError, r"'post': "),
    ],
)  # fmt: skip
def test_driving_is_all_or_nothing(environment, spoil, error, text):
    env = environment()
    state = msg.WorldState.from_env(env)
    for item in state.objects:
        item.odom.pose.pose.position.x += 1.0
    spoil(state)
    before = _snapshot(env)
    with pytest.raises(error, match=text):
        msg.drive(env, state)
    for then, now in zip(before, _snapshot(env), strict=True):
        assert np.array_equal(then[0], now[0])
        assert np.array_equal(then[1], now[1])


def test_what_was_applied_is_taken_back(environment):
    env = environment()
    state = msg.WorldState.from_env(env)
    for item in state.objects:
        item.odom.pose.pose.position.x += 1.0

    class BrokenError(Exception):
        pass

    def fail(*_):
        raise BrokenError

    before = _snapshot(env)
    env.objects[3].set_velocity, kept = fail, env.objects[3].set_velocity
    with pytest.raises(BrokenError):
        msg.drive(env, state)
    env.objects[3].set_velocity = kept
    for then, now in zip(before, _snapshot(env), strict=True):
        assert np.array_equal(then[0], now[0])


def test_driving_takes_nothing_else(environment):
    env = environment()
    with pytest.raises(TypeError, match="found a int, expected a WorldState"):
        msg.drive(env, 3)
    with pytest.raises(TypeError, match="'diff_0': found 3, expected an Odometry"):
        msg.drive(env, {"diff_0": 3})
