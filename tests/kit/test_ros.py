from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from irsim_isaac.errors import MissingPackageError
from irsim_isaac.kit.ros import RosPublisher
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.map import from_occupancy_grid
from irsim_isaac.msg import ros
from irsim_isaac.msg.ros import from_native
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators import Simulator, make
from irsim_isaac.stage import build_occupancy, open_stage
from tests.kit import rclpy_node
from tests.kit.host import Kit
from tests.simulators.arena import twist, write_stage

rosbags = pytest.importorskip("rosbags.typesys")

from tests.ros import rclpy_double  # noqa: E402  # needs rosbags

PROFILE = LidarProfile.full_turn("scanner", 90, range_max=8.0)
ROVER = RobotSpec(
    "rover",
    footprint=0.25,
    lidars=(
        LidarMount(PROFILE, x=0.1, z=0.3),
        LidarMount(PROFILE, "rear", x=-0.2, z=0.3, yaw=math.pi),
    ),
)
OPTIONS = {"robots": [ROVER], "starts": {"rover": (0.5, -0.5, 0.3)}}


@pytest.fixture(scope="module")
def messages() -> Iterator[None]:
    """The message classes of ROS 2, as a double."""
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for name, text in ros.DEFINITIONS.items():
        store.register(rosbags.get_types_from_msg(text, name.replace("/", "/msg/")))
    names = [name.replace("/", "/msg/") for name in ros.ROS_TYPES.values()]
    names.append("builtin_interfaces/msg/Time")
    with pytest.MonkeyPatch.context() as patch:
        rclpy_double.install(patch, store, names)
        yield


@pytest.fixture
def rclpy(messages: None, monkeypatch: pytest.MonkeyPatch) -> rclpy_node.Rclpy:
    return rclpy_node.install(monkeypatch)


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    path = tmp_path / "stage.usda"
    write_stage(path)
    return path


@pytest.fixture
def sides(headless: Kit, stage: Path) -> Iterator[dict[str, Simulator]]:
    """The live Isaac Sim and the kinematic simulator on the same stage."""
    pytest.importorskip("ovphysx")
    headless.enable()
    made = {
        "isaac": make("isaac", stage=stage, lidar="rays", **OPTIONS),
        "stage": make("stage", stage=stage, **OPTIONS),
    }
    yield made
    for simulator in made.values():
        simulator.close()


def test_both_robots_are_published_with_their_frames(
    rclpy: rclpy_node.Rclpy, sides: dict[str, Simulator]
) -> None:
    publisher = RosPublisher({name: side.robots for name, side in sides.items()})
    for _ in range(3):
        states = {name: side.step({"rover": twist(0.5, 0.2)}) for name, side in sides.items()}
        for name, state in states.items():
            publisher.publish(name, state)
    (node,) = rclpy.nodes
    assert set(node.topics) == {
        *("/tf", "/tf_static", "/clock"),
        *(f"{side}/rover/{topic}" for side in sides for topic in ("odom", "scan", "scan_rear")),
    }
    for name, state in states.items():
        sent = from_native(node.topics[f"{name}/rover/odom"].published[-1])
        odom = state.robots[0].odom
        assert sent.child_frame_id == f"{name}/rover/base_link"
        assert sent.header.frame_id == "world"
        assert sent.pose.to_dict() == odom.pose.to_dict()
        assert sent.twist.to_dict() == odom.twist.to_dict()
        for topic, scan in zip(("scan", "scan_rear"), state.robots[0].scans, strict=True):
            native = node.topics[f"{name}/rover/{topic}"].published[-1]
            assert native.header.frame_id == f"{name}/{scan.header.frame_id}"
            assert np.array_equal(np.array(native.ranges), scan.ranges, equal_nan=True)
            assert native.angle_increment > 0.0
            assert len(native.ranges) == 1 + round(
                (native.angle_max - native.angle_min) / native.angle_increment
            )
    assert [len(node.topics[topic].published) for topic in ("/tf", "/tf_static")] == [6, 1]
    clocks = [from_native(item).clock for item in node.topics["/clock"].published]
    assert clocks == pytest.approx([0.1, 0.2, 0.3])
    publisher.close()
    publisher.close()
    assert node.destroyed
    assert not rclpy.running


def test_the_frames_of_scans_hang_on_their_robots(
    rclpy: rclpy_node.Rclpy, sides: dict[str, Simulator]
) -> None:
    publisher = RosPublisher({"isaac": sides["isaac"].robots})
    state = sides["isaac"].read()
    publisher.publish("isaac", state)
    (node,) = rclpy.nodes
    latched = node.topics["/tf_static"]
    assert latched.qos.durability is rclpy_node.DurabilityPolicy.TRANSIENT_LOCAL
    mounts = {item.child_frame_id: item for item in from_native(latched.published[0]).transforms}
    scans = {f"isaac/{scan.header.frame_id}" for scan in state.robots[0].scans}
    assert set(mounts) == scans
    for mount, item in zip(ROVER.lidars, mounts.values(), strict=True):
        assert item.header.frame_id == "isaac/rover/base_link"
        at = item.transform.translation
        assert (at.x, at.y, at.z) == (mount.x, mount.y, mount.z)
        assert abs(item.transform.rotation.to_yaw()) == pytest.approx(mount.yaw)
    (moved,) = from_native(node.topics["/tf"].published[0]).transforms
    assert (moved.header.frame_id, moved.child_frame_id) == ("world", "isaac/rover/base_link")
    assert moved.transform.translation.x == state.robots[0].odom.pose.pose.position.x
    publisher.close()


def test_the_map_is_kept_for_who_comes_later(rclpy: rclpy_node.Rclpy, stage: Path) -> None:
    occupancy = build_occupancy(open_stage(stage), resolution=0.2)
    publisher = RosPublisher({"": {}})
    publisher.publish_map(occupancy, stamp=1.5)
    (topic,) = rclpy.nodes[0].topics.values()
    assert topic.topic == "/map"
    assert topic.qos.durability is rclpy_node.DurabilityPolicy.TRANSIENT_LOCAL
    grid = from_occupancy_grid(from_native(topic.published[0]))
    assert np.array_equal(grid.cells, occupancy.cells)
    publisher.close()


def test_a_ros_that_runs_already_is_left_running(rclpy: rclpy_node.Rclpy) -> None:
    rclpy.init()
    RosPublisher({"": {}}).close()
    assert rclpy.running


def test_without_ros_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(MissingPackageError, match="the ROS package 'rclpy' cannot be imported"):
        RosPublisher({})
