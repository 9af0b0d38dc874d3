"""Messages as CDR and ROS 1 bytes, read by us and by rosbags."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac import msg
from irsim_isaac.msg import ros
from tests.msg.strategies import family, floats

rosbags = pytest.importorskip("rosbags.typesys")

STAMPS = st.integers(0, 10**14).map(lambda count: count / 1e6)
NARROW = st.floats(width=32)
FAMILY = family(stamps=STAMPS)
NARROW_FAMILY = family(number=NARROW, stamps=STAMPS)
# Of these the ROS type has float32 fields, or a header that the ROS 2 type leaves seq out of.
FLOAT32 = {msg.LaserScan, msg.MapMetaData, msg.OccupancyGrid}
WHOLE = {msg.ObjectState, msg.WorldState, msg.ContactState}
CLASSES = [pytest.param(cls, id=cls.__name__) for cls in ros.ROS_TYPES]


def without_seq(value):
    """Return a dictionary as ROS 2 headers carry it."""
    if isinstance(value, dict):
        return {key: 0 if key == "seq" else without_seq(item) for key, item in value.items()}
    return [without_seq(item) for item in value] if isinstance(value, list) else value


def to_nanoseconds(value, key=""):
    """Return a dictionary with times rounded to nanoseconds."""
    if isinstance(value, dict):
        return {name: to_nanoseconds(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [to_nanoseconds(item, key) for item in value]
    return round(value * 1e9) if key in {"stamp", "clock", "map_load_time"} else value


@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize("cls", CLASSES)
@settings(max_examples=15)
@given(data=st.data())
def test_bytes_there_and_back(cls, generation, data):
    message = data.draw((NARROW_FAMILY if cls in FLOAT32 else FAMILY)[cls])
    there, back = [(ros.to_ros1, ros.from_ros1), (ros.to_cdr, ros.from_cdr)][generation - 1]
    again = back(cls, there(message))
    if cls in WHOLE:
        assert again == message
        return
    told, got = message.to_dict(), again.to_dict()
    if generation == 2:
        told = without_seq(told)
    assert repr(to_nanoseconds(got)) == repr(to_nanoseconds(told))


@settings(max_examples=20)
@given(family(number=floats)[msg.WorldState])
def test_a_world_state_loses_nothing_not_even_in_its_stamps(state):
    """Stamps of all headers but the first are float64; that one is nanoseconds beside float64."""
    stamp = state.header.stamp
    if not math.isfinite(stamp) or not 0.0 <= stamp < 2**31:
        with pytest.raises(ValueError, match="WorldState: ROS 1 cannot say it"):
            ros.to_ros1(state)
        state.header.stamp = 0.1 + 0.2
    for again in (
        ros.from_cdr(msg.WorldState, ros.to_cdr(state)),
        ros.from_ros1(msg.WorldState, ros.to_ros1(state)),
    ):
        assert again == state
        for ours, theirs in zip(again.objects, state.objects, strict=True):
            assert (ours.scan is not None and bool(ours.scans) and ours.scan is ours.scans[0]) == (
                theirs.scan is not None and bool(theirs.scans) and theirs.scan is theirs.scans[0]
            )


@pytest.fixture(params=[1, 2])
def store(request):
    store = rosbags.get_typestore(
        [rosbags.Stores.ROS1_NOETIC, rosbags.Stores.ROS2_HUMBLE][request.param - 1]
    )
    name = ["deserialize_ros1", "deserialize_cdr"][request.param - 1]
    return getattr(store, name), [ros.to_ros1, ros.to_cdr][request.param - 1]


def test_rosbags_reads_a_laser_scan(store):
    read, write = store
    ranges = np.array([1.5, math.inf, -math.inf, math.nan], np.float32)
    scan = msg.LaserScan(
        msg.Header(7, 12.25, "r/laser"), -1.0, 1.0, 0.5, 0.0, 0.1, 0.25, 30.0, ranges,
        np.zeros(0, np.float32),
    )  # fmt: skip
    got = read(write(scan), "sensor_msgs/msg/LaserScan")
    assert (got.header.stamp.sec, got.header.stamp.nanosec) == (12, 250_000_000)
    assert got.header.frame_id == "r/laser"
    assert (got.angle_min, got.angle_max, got.angle_increment) == (-1.0, 1.0, 0.5)
    assert (got.range_min, got.range_max) == (0.25, 30.0)
    assert got.scan_time == np.float32(0.1)
    assert np.array_equal(got.ranges, ranges, equal_nan=True)
    assert got.intensities.size == 0


def test_rosbags_reads_an_odometry(store):
    read, write = store
    odometry = msg.Odometry(msg.Header(3, 1.5, "world"), "r/base_link")
    odometry.pose.pose.position.x = 0.1
    odometry.pose.covariance[7] = 0.25
    odometry.twist.twist.angular.z = -0.3
    got = read(write(odometry), "nav_msgs/msg/Odometry")
    assert got.child_frame_id == "r/base_link"
    assert got.pose.pose.position.x == 0.1
    assert got.pose.pose.orientation.w == 1.0
    assert got.pose.covariance[7] == 0.25
    assert got.twist.twist.angular.z == -0.3
    # ROS 1 headers carry the number of the message, those of ROS 2 do not.
    expected = odometry.to_dict()
    if not hasattr(got.header, "seq"):
        expected = without_seq(expected)
    assert repr(ros.from_native(got).to_dict()) == repr(expected)


def test_times_round_to_the_nearest_nanosecond():
    assert ros.nanoseconds(0.1 + 0.2) == 300_000_000
    assert ros.nanoseconds(0.9999999999) == 1_000_000_000
    assert ros.nanoseconds(-0.25) == -250_000_000
    assert ros.from_cdr(msg.Clock, ros.to_cdr(msg.Clock(-0.25))) == msg.Clock(-0.25)
    assert ros.from_cdr(msg.Clock, ros.to_cdr(msg.Clock(3 * 0.1))).clock == 0.3


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        (msg.Clock(math.nan), ValueError, "clock is nan"),
        (msg.Clock(-1.0), ValueError, "clock is -1.0, expected a finite time from zero on"),
        (msg.Odometry(child_frame_id=3), TypeError, r"Odometry\.child_frame_id: found 3"),
        (
            msg.PoseWithCovariance(covariance=np.zeros(35)),
            ValueError,
            r"covariance has shape \(35,\), expected \(36,\)",
        ),
        (msg.Point("a"), TypeError, r"Point\.x: found 'a', expected float"),
        (msg.OccupancyGrid(data=np.zeros((2, 2), np.int8)), ValueError, r"data has shape \(2, 2\)"),
        (msg.Message(), TypeError, "found a Message, expected a message with a ROS type"),
    ],
)
def test_what_ros_cannot_say_is_refused(message, error, text):
    with pytest.raises(error, match=text):
        ros.to_ros1(message)


@pytest.mark.parametrize("generation", [1, 2])
def test_bytes_that_end_too_early_are_refused(generation):
    there, back = [(ros.to_ros1, ros.from_ros1), (ros.to_cdr, ros.from_cdr)][generation - 1]
    scan = msg.LaserScan(
        msg.Header(3, 0.3, "r/laser"), *[0.5] * 7, np.ones(5, np.float32), np.ones(2, np.float32)
    )
    state = msg.ObjectState(
        msg.Header(), 1, "r", "robot", "diff", "circle", msg.Odometry(), scan,
        np.ones((3, 1)), False, True, False, [4], [scan], contacts=[msg.ContactState()],
    )  # fmt: skip
    for message in (scan, msg.WorldState(msg.Header(), "w", "on", 0.1, [state])):
        whole = there(message)
        for cut in range(len(whole)):
            with pytest.raises(ValueError, match="bytes, expected a "):
                back(type(message), whole[:cut])
        with pytest.raises(ValueError, match="bytes, expected a "):
            back(type(message), whole + b"\0\0\0\0")


def test_definitions_tell_every_type_they_use():
    text = ros.definition(msg.WorldState)
    blocks = text.split("=" * 80 + "\n")
    named = {block.splitlines()[0].removeprefix("MSG: ") for block in blocks[1:]}
    assert {"std_msgs/Header", "builtin_interfaces/Time", "irsim_msgs/ObjectState",
            "geometry_msgs/PoseWithCovariance"} <= named  # fmt: skip
    assert "time stamp" in ros.definition(msg.Header, 1)


def test_the_table_holds_every_class():
    for cls, name in ros.ROS_TYPES.items():
        assert cls.ros_type == name
    public = {getattr(msg, name) for name in msg.__all__ if isinstance(getattr(msg, name), type)}
    assert public - {msg.Message} == set(ros.ROS_TYPES)
