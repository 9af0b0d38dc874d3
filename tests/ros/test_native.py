"""Native messages: rclpy's classes as a double, and the real ROS 1 classes where installed."""

from __future__ import annotations

import importlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac import msg
from irsim_isaac.msg import ros
from tests.msg.strategies import family
from tests.ros.test_bytes import NARROW_FAMILY, STAMPS, to_nanoseconds, without_seq

rosbags = pytest.importorskip("rosbags.typesys")

from tests.ros import rclpy_double  # noqa: E402  # needs rosbags

DEBIAN = Path("/usr/lib/python3/dist-packages")
ROS1_PACKAGES = (
    "genpy", "genmsg", "std_msgs", "geometry_msgs", "nav_msgs", "sensor_msgs", "tf2_msgs",
    "rosgraph_msgs",
)  # fmt: skip


@pytest.fixture(scope="module")
def ros2():
    """The double, in place of ROS 2."""
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for name, text in ros.DEFINITIONS.items():
        store.register(rosbags.get_types_from_msg(text, name.replace("/", "/msg/")))
    names = [name.replace("/", "/msg/") for name in ros.ROS_TYPES.values()]
    names.append("builtin_interfaces/msg/Time")
    with pytest.MonkeyPatch.context() as patch:
        yield rclpy_double.install(patch, store, names)


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in ros.ROS_TYPES])
@settings(max_examples=10)
@given(data=st.data())
def test_rclpy_takes_and_gives_every_message(ros2, cls, data):
    message = data.draw(NARROW_FAMILY[cls])
    native = ros.to_native(message)
    assert type(native) is ros2[ros.ROS_TYPES[cls].replace("/", "/msg/")]
    again = ros.from_native(native)
    assert type(again) is cls
    if cls in {msg.ObjectState, msg.WorldState}:
        assert again == message
    else:
        told = to_nanoseconds(without_seq(message.to_dict()))
        assert repr(to_nanoseconds(again.to_dict())) == repr(told)


def test_rclpy_takes_whole_numbers_as_floats(ros2):
    assert ros.from_native(ros.to_native(msg.Point(1, np.float32(2.0), -0.0))) == msg.Point(1, 2)
    with pytest.raises(TypeError, match=r"Point\.x: found '1', expected float"):
        ros.to_native(msg.Point("1"))


def test_the_double_refuses_what_rclpy_refuses(ros2):
    """Without this, the tests above would show nothing."""
    point = ros2["geometry_msgs/msg/Point"]
    for wrong in ({"x": 1}, {"w": 1.0}):
        with pytest.raises(AssertionError):
            point(**wrong)
    with pytest.raises(AssertionError):
        ros2["geometry_msgs/msg/PoseWithCovariance"](covariance=np.zeros(35))
    with pytest.raises(AssertionError):
        ros2["sensor_msgs/msg/LaserScan"](ranges=[np.float32(1.0)])


def test_an_odometry_of_rclpy_is_adopted(ros2):
    native = ros2["nav_msgs/msg/Odometry"]()
    native.pose.pose.position.x = 2.0
    adopted = msg.Odometry.from_msg(native)
    assert adopted.pose.pose.position == msg.Point(2.0)


def test_without_ros_the_error_says_what_to_do(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "std_msgs"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "dist-packages" not in entry])
    with pytest.raises(ros.MissingRosError, match="'std_msgs' cannot be imported; source a ROS"):
        ros.to_native(msg.Header())


@pytest.mark.parametrize("thing", [3, object(), msg.Point()])
def test_what_is_no_ros_message_is_refused(thing):
    with pytest.raises(TypeError, match="expected one of geometry_msgs/Point"):
        ros.from_native(thing)


# ------------------------------------------------------------------ ROS 1


@pytest.fixture(scope="module")
def ros1():
    """Debian's own ROS 1 message classes."""
    missing = [name for name in ROS1_PACKAGES if not (DEBIAN / name).is_dir()]
    if missing:
        pytest.skip(f"Debian's ROS 1 packages are absent: {', '.join(missing)}")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(sys.modules):
            if name.partition(".")[0] in ROS1_PACKAGES:
                patch.delitem(sys.modules, name)
        patch.setattr(sys, "path", [*sys.path, str(DEBIAN)])
        yield importlib.import_module("genpy")
        for name in list(sys.modules):
            if name.partition(".")[0] in ROS1_PACKAGES:
                patch.delitem(sys.modules, name)


STANDARD = [cls for cls, name in ros.ROS_TYPES.items() if not name.startswith("irsim_msgs/")]
ROS1_FAMILY = family(number=st.floats(width=32), stamps=STAMPS.filter(lambda stamp: stamp < 2**32))


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in STANDARD])
@settings(max_examples=10)
@given(data=st.data())
def test_the_real_ros1_classes_take_and_give_every_message(ros1, cls, data):
    message = data.draw(ROS1_FAMILY[cls])
    native = ros.to_native(message)
    assert native._type == ros.ROS_TYPES[cls]
    stream = io.BytesIO()
    native.serialize(stream)
    assert stream.getvalue() == ros.to_ros1(message), "the real serialiser writes our bytes"
    read = type(native)()
    read.deserialize(stream.getvalue())
    again = ros.from_native(read)
    assert repr(to_nanoseconds(again.to_dict())) == repr(to_nanoseconds(message.to_dict()))


def test_an_odometry_of_ros1_is_adopted(ros1):
    native = importlib.import_module("nav_msgs.msg").Odometry()
    native.pose.pose.orientation.w = 1.0
    native.twist.twist.linear.x = 0.5
    assert msg.Odometry.from_msg(native).twist.twist.linear == msg.Vector3(0.5)
