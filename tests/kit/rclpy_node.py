"""A node of rclpy: what it publishes is kept by topic, with the quality of service."""

from __future__ import annotations

import enum
import sys
import types
from dataclasses import dataclass, field
from typing import Any

import pytest


class DurabilityPolicy(enum.Enum):
    TRANSIENT_LOCAL = 1
    VOLATILE = 2


class ReliabilityPolicy(enum.Enum):
    RELIABLE = 1
    BEST_EFFORT = 2


@dataclass
class QoSProfile:
    depth: int
    durability: DurabilityPolicy = DurabilityPolicy.VOLATILE
    reliability: ReliabilityPolicy = ReliabilityPolicy.RELIABLE


@dataclass
class Publisher:
    kind: type
    topic: str
    qos: Any
    published: list[Any] = field(default_factory=list)

    def publish(self, message: Any) -> None:
        assert type(message) is self.kind
        self.published.append(message)


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.topics: dict[str, Publisher] = {}
        self.destroyed = False

    def create_publisher(self, kind: type, topic: str, qos: Any) -> Publisher:
        assert topic not in self.topics
        self.topics[topic] = Publisher(kind, topic, qos)
        return self.topics[topic]

    def destroy_node(self) -> None:
        self.destroyed = True


class Rclpy(types.ModuleType):
    """The module, with every node that was made of it."""

    def __init__(self) -> None:
        super().__init__("rclpy")
        self.running = False
        self.nodes: list[Node] = []

    def ok(self) -> bool:
        return self.running

    def init(self) -> None:
        assert not self.running
        self.running = True

    def shutdown(self) -> None:
        assert self.running
        self.running = False

    def create_node(self, name: str) -> Node:
        assert self.running
        self.nodes.append(Node(name))
        return self.nodes[-1]


def install(patch: pytest.MonkeyPatch) -> Rclpy:
    """Put the module where ``import rclpy`` finds it."""
    rclpy = Rclpy()
    qos = types.ModuleType("rclpy.qos")
    qos.DurabilityPolicy = DurabilityPolicy  # type: ignore[attr-defined]
    qos.QoSProfile = QoSProfile  # type: ignore[attr-defined]
    qos.ReliabilityPolicy = ReliabilityPolicy  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "rclpy", rclpy)
    patch.setitem(sys.modules, "rclpy.qos", qos)
    return rclpy
