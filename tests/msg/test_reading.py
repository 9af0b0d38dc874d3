"""What the readers of objects refuse, and where they are right and IR-SIM is not."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from irsim_isaac import msg


def an_object(**changes):
    values = {
        "state": np.array([[1.0], [2.0], [0.5]]),
        "velocity": np.array([[0.5], [0.1]]),
        "vel_shape": (2, 1),
        "kinematics": "diff",
        "name": "r",
    }
    return SimpleNamespace(**{**values, **changes})


def without(obj, name):
    return SimpleNamespace(**{key: value for key, value in vars(obj).items() if key != name})


@pytest.mark.parametrize("name", ["state", "velocity", "kinematics", "name"])
def test_a_missing_attribute_is_named(name):
    with pytest.raises(TypeError, match=f"no odometry of a SimpleNamespace: .*'{name}'"):
        msg.Odometry.from_object(without(an_object(), name))


@pytest.mark.parametrize("name", ["state", "vel_shape", "kinematics"])
def test_a_target_without_an_attribute_is_named(name):
    odometry = msg.Odometry()
    with pytest.raises(TypeError, match=f"a SimpleNamespace takes no odometry: .*'{name}'"):
        odometry.to_state_velocity(without(an_object(), name))


@pytest.mark.parametrize("cls", [msg.ObjectState, msg.WorldState, msg.LaserScan, msg.ContactState])
def test_every_reader_says_what_it_was_given(cls):
    read = {
        msg.ObjectState: msg.ObjectState.from_object,
        msg.WorldState: msg.WorldState.from_env,
        msg.LaserScan: msg.LaserScan.from_sensor,
        msg.ContactState: msg.ContactState.from_report,
    }[cls]
    with pytest.raises(TypeError, match="of a SimpleNamespace: "):
        read(SimpleNamespace())


def test_a_scan_without_a_key_is_named():
    sensor = SimpleNamespace(sensor_type="lidar2d", get_scan=lambda: {"ranges": [1.0]})
    with pytest.raises(TypeError, match="the scan of a SimpleNamespace lacks 'angle_min'"):
        msg.LaserScan.from_sensor(sensor)


def test_values_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"yaw is inf, expected a finite angle"):
        msg.Quaternion.from_yaw(math.inf)
    with pytest.raises(ValueError, match=r"object 'r' has the state \[1\.0\], expected x and y"):
        msg.Odometry.from_object(an_object(state=[1.0]))
    with pytest.raises(ValueError, match=r"orientation must be non-zero .*w=0\.0\)"):
        msg.Quaternion(w=0.0).to_yaw()
    with pytest.raises(ValueError, match=r"orientation must be finite .*w=nan\)"):
        msg.Quaternion(w=math.nan).to_yaw()
    for state, text in (
        (np.zeros((2, 1)), r"shape \(2, 1\), expected a column of at least three state values"),
        (np.zeros(3), r"shape \(3,\), expected a column"),
    ):
        with pytest.raises(ValueError, match=text):
            msg.Odometry().to_state_velocity(an_object(state=state))
    car = an_object(kinematics="acker")
    with pytest.raises(
        ValueError, match="object 'r' has 3 state values; a car needs a steering state value"
    ):
        msg.Odometry().to_state_velocity(car)
    car = an_object(kinematics="acker", state=np.ones((4, 1)), wheelbase=0.0)
    with pytest.raises(ValueError, match=r"wheelbase 0\.0, expected a number that is not zero"):
        msg.Odometry.from_object(car)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pose.pose.position.x", math.nan),
        ("pose.pose.orientation.z", math.inf),
        ("twist.twist.angular.z", -math.inf),
    ],
)
def test_what_is_not_finite_is_named_and_nothing_changes(path, value):
    odometry = msg.Odometry()
    *way, last = path.split(".")
    part = odometry
    for name in way:
        part = getattr(part, name)
    setattr(part, last, value)
    with pytest.raises(ValueError, match=rf"found {path} = {value}"):
        msg.Odometry.from_msg(odometry)
    obj = an_object()
    with pytest.raises(ValueError, match=r"must be finite|must all be finite"):
        odometry.to_state_velocity(obj)
    assert np.array_equal(obj.state, an_object().state)


@pytest.mark.parametrize("thing", [{}, 3, SimpleNamespace(pose=1)])
def test_what_is_no_odometry_is_refused(thing):
    with pytest.raises(
        TypeError,
        match=f"found a {type(thing).__name__}, expected a ROS-compatible nav_msgs/Odometry",
    ):
        msg.Odometry.from_msg(thing)


def test_misses_are_told_as_rep_117_says():
    scan = {
        "angle_min": 0.0, "angle_max": 1.0, "angle_increment": 0.2, "time_increment": 0.0,
        "scan_time": 0.1, "range_min": 0.1, "range_max": 10.0,
        "ranges": np.array([10.0, 0.05, math.nan, 3.0, 10.0, 12.0]),
        "valid": np.array([False, False, False, True, True, False]),
    }  # fmt: skip
    sensor = SimpleNamespace(sensor_type="lidar2d", get_scan=lambda: scan)
    ranges = msg.LaserScan.from_sensor(sensor, use_inf=True).ranges
    expected = np.array([math.inf, -math.inf, math.nan, 3.0, 10.0, math.inf], np.float32)
    assert np.array_equal(ranges, expected, equal_nan=True)
    assert scan["ranges"][0] == 10.0
    scan["ranges"] = scan["ranges"].reshape(2, 3)
    ranges = msg.LaserScan.from_sensor(sensor, use_inf=True).ranges
    assert np.array_equal(ranges, expected.reshape(2, 3), equal_nan=True)


def test_a_pushed_body_keeps_its_velocity():
    """The velocity of a passive body is a world-frame one; in odometry it is the body's."""
    velocity = np.array([[0.0], [1.0], [0.2]])
    crate = an_object(
        kinematics=None, velocity=velocity, vel_shape=(3, 1),
        state=np.array([[0.0], [0.0], [math.pi / 2]]),
    )  # fmt: skip
    for kinematics in (None, "static"):
        crate.kinematics = kinematics
        odometry = msg.Odometry.from_object(crate)
        assert odometry.twist.twist.linear.x == pytest.approx(1.0)
        assert odometry.twist.twist.angular.z == 0.2
        np.testing.assert_allclose(odometry.to_state_velocity(crate)[1], velocity, atol=1e-12)


def test_a_car_that_stands_keeps_its_steering():
    car = an_object(
        kinematics="acker", state=np.array([[0.0], [0.0], [0.0], [0.3]]), wheelbase=1.0,
        velocity=np.array([[0.0], [0.3]]),
    )  # fmt: skip
    state, velocity = msg.Odometry.from_object(car).to_state_velocity(car)
    assert state[3, 0] == 0.3
    assert velocity[1, 0] == 0.3


def test_scans_are_copies():
    scan = {
        "angle_min": 0.0, "angle_max": 1.0, "angle_increment": 1.0, "time_increment": 0.0,
        "scan_time": 0.1, "range_min": 0.1, "range_max": 10.0,
        "ranges": np.ones(2, np.float32),
    }  # fmt: skip
    message = msg.LaserScan.from_sensor(
        SimpleNamespace(sensor_type="lidar2d", get_scan=lambda: scan)
    )
    scan["ranges"][:] = 5.0
    assert message.ranges.tolist() == [1.0, 1.0]
    assert message.header.frame_id == "lidar2d"
    assert message.intensities.shape == (0,)
