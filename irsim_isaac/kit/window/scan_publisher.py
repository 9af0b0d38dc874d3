"""Scans as ROS 2 says them, where there is rclpy."""

from __future__ import annotations

from typing import Any

from irsim_isaac.msg import LaserScan
from irsim_isaac.msg.ros import MissingRosError, to_native

__all__ = ["ScanPublisher"]

_NODE = "irsim_isaac_lidar"


class ScanPublisher:
    """Publishes the scans of one lidar.

    Args:
        topic: The topic.

    Raises:
        MissingRosError: There is no rclpy.
    """

    def __init__(self, topic: str) -> None:
        try:
            import rclpy
        except ImportError as error:
            raise MissingRosError("rclpy") from error
        self.topic = topic
        self._ours = not rclpy.ok()
        if self._ours:
            rclpy.init()
        self._node: Any = rclpy.create_node(_NODE)
        self._publisher: Any = None

    def publish(self, scan: LaserScan) -> None:
        """Publish a scan, with the values of REP 117."""
        native = to_native(scan)
        if self._publisher is None:
            self._publisher = self._node.create_publisher(type(native), self.topic, 10)
        self._publisher.publish(native)

    def close(self) -> None:
        """Destroy the node, and shut ROS down if this has started it; twice is no error."""
        if self._node is None:
            return
        import rclpy

        self._node.destroy_node()
        self._node = self._publisher = None
        if self._ours and rclpy.ok():
            rclpy.shutdown()
