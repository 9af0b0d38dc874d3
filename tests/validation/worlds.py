"""States and simulators to validate on, by the protocol and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irsim_isaac.clock import SteppedClock
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import (
    ContactState,
    Header,
    LaserScan,
    ObjectState,
    Odometry,
    Point,
    Quaternion,
    Twist,
    Vector3,
    WorldState,
)
from irsim_isaac.robot import LidarMount, RobotSpec

PROFILE = LidarProfile.full_turn("round", 72, range_min=0.05, range_max=30.0)
ROBOT = RobotSpec(name="robot", lidars=(LidarMount(profile=PROFILE),))


def odometry(x: float, y: float, yaw: float, twist=(0.0, 0.0, 0.0)) -> Odometry:
    message = Odometry()
    message.pose.pose.position = Point(x, y, 0.0)
    message.pose.pose.orientation = Quaternion.from_yaw(yaw)
    message.twist.twist.linear = Vector3(twist[0], twist[1], 0.0)
    message.twist.twist.angular = Vector3(0.0, 0.0, twist[2])
    return message


def thing(name: str, pose, *, role="robot", number=0, scan=None, touches=(), twist=(0, 0, 0)):
    return ObjectState(
        header=Header(),
        id=number,
        name=name,
        role=role,
        kinematics="diff" if role == "robot" else None,
        shape="circle",
        odom=odometry(*pose, twist),
        scan=scan,
        goal=None,
        static=role != "robot",
        arrive=False,
        collision=bool(touches),
        scans=[] if scan is None else [scan],
        contacts=[ContactState(other=other, force=5.0) for other in touches],
        contact_force=Vector3(5.0 * len(touches), 0.0, 0.0),
    )


def world(time: float, *objects: ObjectState) -> WorldState:
    return WorldState(Header(stamp=time), "test", "Running", 0.1, list(objects))


def states(poses, *, step=0.1, touches=None, scans=None, twists=None, name="robot"):
    """One state a pose, ``step`` apart."""
    return tuple(
        world(
            index * step,
            thing(
                name,
                pose,
                touches=touches[index] if touches else (),
                scan=scans[index] if scans else None,
                twist=twists[index] if twists else (0.0, 0.0, 0.0),
            ),
        )
        for index, pose in enumerate(poses)
    )


def room_scan(pose, half: tuple[float, float], profile: LidarProfile = PROFILE) -> LaserScan:
    """What a lidar at a pose sees of a rectangular room about the origin."""
    angles = profile.bearings + pose[2]
    with np.errstate(divide="ignore"):
        x = (np.copysign(half[0], np.cos(angles)) - pose[0]) / np.cos(angles)
        y = (np.copysign(half[1], np.sin(angles)) - pose[1]) / np.sin(angles)
    ranges = np.minimum(np.abs(x), np.abs(y)).astype(np.float32)
    return LaserScan(
        header=Header(),
        angle_min=profile.angle_min,
        angle_max=profile.angle_max,
        angle_increment=profile.angle_increment,
        time_increment=profile.time_increment,
        scan_time=profile.scan_time,
        range_min=profile.range_min,
        range_max=profile.range_max,
        ranges=ranges,
        intensities=np.zeros(0, np.float32),
    )


@dataclass
class Unicycle:
    """A robot in a rectangular room that turns and drives exactly, or with a slip."""

    robot_specs: tuple[RobotSpec, ...]
    starts: Mapping[str, tuple[float, float, float]]
    step_time: float = 0.1
    seed: int = 0
    slip: float = 0.0
    half: tuple[float, float] = (4.0, 3.0)
    name: str = "unicycle"
    drive: str = "step"
    on_step: Any = None
    closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.robots = {spec.name: spec for spec in self.robot_specs}
        self.clock = SteppedClock(self.step_time)
        self.reset()

    @property
    def time(self) -> float:
        return self.clock.stamp

    def reset(self, seed: int | None = None) -> WorldState:
        self.clock.reset()
        self.poses = {name: tuple(self.starts[name]) for name in self.robots}
        self.twists = dict.fromkeys(self.robots, (0.0, 0.0, 0.0))
        self.touching: dict[str, tuple[str, ...]] = dict.fromkeys(self.robots, ())
        return self.read()

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        for name, spec in self.robots.items():
            twist = commands.get(name, Twist())
            v, w = twist.linear.x * (1 - self.slip), twist.angular.z
            x, y, yaw = self.poses[name]
            half_turn = w * self.step_time / 2
            chord = v * self.step_time * (math.sin(half_turn) / half_turn if half_turn else 1.0)
            x, y = x + chord * math.cos(yaw + half_turn), y + chord * math.sin(yaw + half_turn)
            inner = [side - spec.footprint for side in self.half]
            touching = abs(x) > inner[0] or abs(y) > inner[1]
            self.touching[name] = ("wall",) if touching else ()
            x, y = (float(np.clip(p, -i, i)) for p, i in zip((x, y), inner, strict=True))
            self.poses[name] = (x, y, yaw + w * self.step_time)
            self.twists[name] = (v, 0.0, w)
        self.clock.advance()
        return self.read()

    def read(self) -> WorldState:
        return world(
            self.time,
            *(
                thing(
                    name,
                    self.poses[name],
                    number=index,
                    twist=self.twists[name],
                    touches=self.touching[name],
                    scan=room_scan(self.poses[name], self.half),
                )
                for index, name in enumerate(self.robots)
            ),
        )

    def write(self, updates: Mapping[str, Odometry]) -> None:
        for name, odom in updates.items():
            pose = odom.pose.pose
            self.poses[name] = (pose.position.x, pose.position.y, pose.orientation.to_yaw())

    def close(self) -> None:
        self.closed = True


def unicycle(*, robots, starts, step_time=0.1, seed=0, slip=0.0, half=(4.0, 3.0)) -> Unicycle:
    """The factory that tests register."""
    return Unicycle(tuple(robots), starts, step_time, seed, slip, tuple(half))
