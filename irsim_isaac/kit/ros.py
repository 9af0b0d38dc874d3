"""Robots of both simulators as ROS 2 says them, where there is rclpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irsim_isaac.lidar.ray_casting import pose_matrix
from irsim_isaac.msg import (
    Clock,
    Header,
    LaserScan,
    Message,
    Odometry,
    Quaternion,
    TFMessage,
    Transform,
    TransformStamped,
    Vector3,
    WorldState,
)
from irsim_isaac.msg.ros import MissingRosError, to_native
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.poses import quaternion_of

if TYPE_CHECKING:
    from irsim_isaac.map import Occupancy

__all__ = ["RosPublisher"]

_NODE = "irsim_isaac"
_WORLD = "world"


class RosPublisher:
    """Publishes the states of one or several simulators from one node.

    Each robot has ``{side}/{robot}/odom`` and ``{side}/{robot}/scan`` (``scan_{lidar}`` for each
    lidar after the first), and its frames are ``{side}/{robot}/...`` under ``world``. ``/tf``,
    ``/tf_static``, ``/clock`` and ``/map`` are shared; the time of ``/clock`` is that of the first
    side. Scans keep the values of REP 117.

    Args:
        sides: The robots of each simulator by its name; an empty name adds no prefix.
        node_name: The name of the node.

    Raises:
        MissingRosError: There is no rclpy.
    """

    def __init__(
        self, sides: Mapping[str, Mapping[str, RobotSpec]], *, node_name: str = _NODE
    ) -> None:
        try:
            import rclpy
            from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
        except ImportError as error:
            raise MissingRosError("rclpy") from error
        self._sides = {name: dict(robots) for name, robots in sides.items()}
        self._clock_side = next(iter(self._sides), "")
        self._ours = not rclpy.ok()
        if self._ours:
            rclpy.init()
        self._node = rclpy.create_node(node_name)
        self._publishers: dict[str, Any] = {}
        # Who subscribes later still gets the last one.
        self._latched = QoSProfile(
            depth=1,
            durability=DurabilityPolicy.TRANSIENT_LOCAL,
            reliability=ReliabilityPolicy.RELIABLE,
        )
        self._static_sent = False

    def publish(self, side: str, state: WorldState) -> None:
        """Publish the robots of one simulator.

        Args:
            side: The simulator's name.
            state: Its state.
        """
        prefix = f"{side}/" if side else ""
        if not self._static_sent:
            self._send("/tf_static", TFMessage(self._mounts()), latched=True)
            self._static_sent = True
        transforms = []
        robots = self._sides[side]
        for robot in state.robots:
            if robot.name not in robots:
                continue
            odom = _under(robot.odom, prefix)
            self._send(f"{prefix}{robot.name}/odom", odom)
            transforms.append(_transform(odom))
            for index, scan in enumerate(robot.scans):
                name = "scan" if index == 0 else f"scan_{robots[robot.name].lidars[index].name}"
                self._send(f"{prefix}{robot.name}/{name}", _scan_under(scan, prefix))
        self._send("/tf", TFMessage(transforms))
        if side == self._clock_side:
            self._send("/clock", Clock(state.header.stamp))

    def publish_map(self, occupancy: Occupancy, *, stamp: float = 0.0) -> None:
        """Publish the map that both simulators stand on; who comes later gets it too.

        Args:
            occupancy: The map.
            stamp: Its time [s].
        """
        from irsim_isaac.map import to_occupancy_grid

        grid = to_occupancy_grid(occupancy, stamp=stamp, frame_id=_WORLD)
        self._send("/map", grid, latched=True)

    def close(self) -> None:
        """Destroy the node, and shut ROS down if this has started it; twice is no error."""
        if self._node is None:
            return
        import rclpy

        self._node.destroy_node()
        self._node = None
        self._publishers = {}
        if self._ours and rclpy.ok():
            rclpy.shutdown()

    def _send(self, topic: str, message: Message, *, latched: bool = False) -> None:
        native = to_native(message)
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(
                type(native), topic, self._latched if latched else 10
            )
        self._publishers[topic].publish(native)

    def _mounts(self) -> list[TransformStamped]:
        """Return where each lidar sits on its robot."""
        found = []
        for side, robots in self._sides.items():
            prefix = f"{side}/" if side else ""
            for name, robot in robots.items():
                for index, mount in enumerate(robot.lidars):
                    own = f"{name}/laser" if index == 0 else f"{name}/laser_{index}"
                    turn = pose_matrix(roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw)
                    found.append(
                        TransformStamped(
                            Header(0, 0.0, f"{prefix}{name}/base_link"),
                            f"{prefix}{mount.frame_id or own}",
                            Transform(
                                Vector3(mount.x, mount.y, mount.z),
                                Quaternion(*quaternion_of(turn[:3, :3])),
                            ),
                        )
                    )
        return found


def _under(odom: Odometry, prefix: str) -> Odometry:
    return replace(odom, child_frame_id=f"{prefix}{odom.child_frame_id}")


def _scan_under(scan: LaserScan, prefix: str) -> LaserScan:
    header = scan.header
    return replace(scan, header=Header(header.seq, header.stamp, f"{prefix}{header.frame_id}"))


def _transform(odom: Odometry) -> TransformStamped:
    at = odom.pose.pose
    return TransformStamped(
        odom.header,
        odom.child_frame_id,
        Transform(Vector3(at.position.x, at.position.y, at.position.z), at.orientation),
    )
