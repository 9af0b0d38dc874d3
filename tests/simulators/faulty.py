"""A simulator that goes wrong as it is told; imported by the servers of the tests."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irsim_isaac.errors import SimulatorError, StageError
from irsim_isaac.msg import Header, LaserScan, ObjectState, Odometry, Point, Quaternion, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators import register
from irsim_isaac.simulators.base import SteppedSimulator
from irsim_isaac.simulators.motion import PlanarTwist, checked_update

BEAMS = 16


class Faulty(SteppedSimulator):
    """A robot and a crate on a plane; from step ``at`` on, what ``fault`` says."""

    def __init__(
        self,
        *,
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, tuple[float, float, float]] | None = None,
        step_time: Any = 0.1,
        seed: int = 0,
        fault: str = "",
        at: int = 1,
        noise: bool = False,
        beams: int = BEAMS,
    ) -> None:
        super().__init__("faulty", robots or (RobotSpec("robot"),), step_time=step_time, seed=seed)
        if fault == "refuses to begin":
            raise StageError("no such stage")
        self._start = dict(starts or {})
        self._fault, self._at, self._noise, self._beams = fault, at, noise, beams
        self._restart(seed)

    def _restart(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._odom = {name: Odometry() for name in [*self._robots, "crate"]}
        for name, (x, y, yaw) in self._start.items():
            pose = self._odom[name].pose.pose
            pose.position, pose.orientation = Point(x, y, 0.0), Quaternion.from_yaw(yaw)
        self._ranges = self._measure()

    def _measure(self) -> dict[str, Any]:
        ranges = {}
        for name in self._robots:
            position = self._odom[name].pose.pose.position
            even = 1.0 + np.hypot(position.x, position.y) + np.arange(self._beams)
            if self._noise:
                even = even + self._random.normal(0.0, 0.02, self._beams)
            ranges[name] = even.astype(np.float32)
        return ranges

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        if self._clock.count + 1 >= self._at:
            self._go_wrong()
        for name, command in commands.items():
            odom = self._odom[name]
            position, yaw = odom.pose.pose.position, odom.pose.pose.orientation.to_yaw()
            position.x += command.forward * math.cos(yaw) * self.step_time
            position.y += command.forward * math.sin(yaw) * self.step_time
            odom.pose.pose.orientation = Quaternion.from_yaw(yaw + command.turn * self.step_time)
            odom.twist.twist.linear.x = command.forward
            odom.twist.twist.angular.z = command.turn
        self._ranges = self._measure()

    def _go_wrong(self) -> None:
        if self._fault == "raises":
            raise ZeroDivisionError("a fault of the simulator")
        if self._fault == "is closed":
            raise SimulatorError("faulty: the stage was closed")
        if self._fault == "exits":
            print("about to exit", flush=True)
            os._exit(7)
        if self._fault == "leaves":
            sys.exit(3)
        if self._fault == "sleeps":
            time.sleep(60.0)

    def _capture(self) -> WorldState:
        stamp, seq = self._clock.stamp, self._clock.count
        wrong = self._fault if seq >= self._at else ""
        objects = []
        for number, (name, odom) in enumerate(self._odom.items()):
            if name == "crate" and wrong == "deletes":
                continue
            scans = [] if name == "crate" else [self._scan(name)]
            copy = Odometry.from_dict(odom.to_dict())
            copy.header = Header(seq, stamp)
            if name == "robot" and wrong in ("nan", "inf"):
                copy.pose.pose.position.x = float(wrong)
                copy.pose.pose.orientation.z = float(wrong)
            objects.append(
                ObjectState(
                    header=Header(seq, stamp),
                    id=number,
                    name="Moved_crate" if name == "crate" and wrong == "reparents" else name,
                    role="obstacle" if name == "crate" else "robot",
                    kinematics=None if name == "crate" else "diff",
                    shape="circle",
                    odom=copy,
                    scan=scans[0] if scans else None,
                    goal=None,
                    static=False,
                    arrive=False,
                    collision=False,
                    scans=scans,
                )
            )
        if wrong == "says nonsense":
            return None  # type: ignore[return-value]
        return WorldState(Header(seq, stamp), "plane", "Running", self.step_time, objects)

    def _scan(self, name: str) -> LaserScan:
        stamp, seq = self._clock.stamp, self._clock.count
        ranges = self._ranges[name].copy()
        return LaserScan(
            Header(seq, stamp, f"{name}/laser"),
            *(-1.0, 1.0, 0.1, 0.0, 0.1, 0.0, 30.0),
            ranges,
            np.zeros(0, np.float32),
        )

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        for name, update in updates.items():
            if name not in self._odom:
                raise SimulatorError(f"faulty: an update of '{name}', which there is not")
            checked_update(name, update, self._name)
        for name, update in updates.items():
            self._odom[name] = Odometry.from_dict(update.to_dict())
        if not self._noise:
            self._ranges = self._measure()

    def _release(self) -> None:
        pass


register("faulty", Faulty, replace=True)
