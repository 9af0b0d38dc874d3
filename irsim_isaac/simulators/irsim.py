"""A real IR-SIM environment behind the protocol."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import yaml

from irsim_isaac.clock import Seconds
from irsim_isaac.errors import MissingPackageError, SimulatorError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import Header, ObjectState, Odometry, WorldState
from irsim_isaac.robot import Footprint, LidarMount, RobotSpec
from irsim_isaac.simulators.base import SteppedSimulator, robots_by_name
from irsim_isaac.simulators.motion import PlanarTwist, checked_update, steering_angle
from irsim_isaac.simulators.protocol import StartPose

__all__ = ["IrsimSimulator"]

_KINEMATICS = ("diff", "omni", "omni_angular", "acker")
_SCANNERS = ("lidar2d", "fmcw_lidar2d")
_WARNINGS_KEPT = 100
_NOTHING_PRINTED = 1000
"""A level of logging above every message's own."""


def _import_irsim() -> Any:
    """Import IR-SIM without letting it choose a matplotlib backend for the process."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError("matplotlib", "irsim") from error
    choose = matplotlib.use
    matplotlib.use = lambda *_args, **_options: None
    try:
        import irsim
    except ImportError as error:
        raise MissingPackageError("irsim", "irsim") from error
    finally:
        matplotlib.use = choose
    return irsim


class IrsimSimulator(SteppedSimulator):
    """IR-SIM, stepped by its own kinematics or, with ``step_mode="external"``, by what is written.

    The environment has no window, prints nothing and stamps its states with whole counts of
    exact steps. Commands become the actions of each robot's kinematics; a robot without a
    command is told to stand still. Robots, obstacles and collisions are IR-SIM's own; scans give
    +inf for a miss and -inf for a return that is too close.

    IR-SIM keeps part of its state in its modules, so that environments in two threads disturb
    each other: all of a process are used from one thread, and another is refused.

    Args:
        world: The path of the world YAML.
        robots: What is known of the robots besides; those not given are read from the world.
        starts: Where robots start instead of where the world says.
        step_time: The length of a step [s], in the place of the world's.
        seed: The seed of noise and of random scenes.
        step_mode: ``"internal"``: robots move by their commands; ``"external"``: objects stay
            where they are written, commands are refused, and a step takes sensors, collisions
            and time on.
        trajectory_length: How many past states IR-SIM keeps of each object.

    Raises:
        MissingPackageError: ``ir-sim`` is not installed.
        SimulatorError: The world cannot be loaded, or a robot is not in it.
    """

    _thread: ClassVar[int | None] = None
    _alive: ClassVar[int] = 0

    def __init__(
        self,
        *,
        world: str | os.PathLike[str],
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, StartPose] | None = None,
        step_time: Seconds = 0.1,
        seed: int = 0,
        step_mode: Literal["internal", "external"] = "internal",
        trajectory_length: int = 1000,
    ) -> None:
        if step_mode not in ("internal", "external"):
            raise SimulatorError(
                f"irsim: step_mode must be 'internal' or 'external', found {step_mode!r}"
            )
        if trajectory_length < 0:
            raise SimulatorError(
                f"irsim: trajectory_length must not be negative, found {trajectory_length}"
            )
        self._world = Path(world)
        if not self._world.is_file():
            raise SimulatorError(f"irsim: there is no world file {self._world}")
        super().__init__("irsim", (), step_time=step_time, seed=seed)
        self._external = step_mode == "external"
        self._trajectory_length = trajectory_length
        self._starts = dict(starts or {})
        self._stale = False
        self._warnings: deque[str] = deque(maxlen=_WARNINGS_KEPT)
        self._claim_thread()
        try:
            self._irsim = _import_irsim()
            self._env = self._make(seed)
            self._robots = robots_by_name(self._known_robots(robots))
        except BaseException:
            self._leave_thread()
            raise

    @property
    def warnings(self) -> tuple[str, ...]:
        """What IR-SIM warned of last, the oldest first."""
        return tuple(self._warnings)

    @classmethod
    def _claim_thread(cls) -> None:
        thread = threading.get_ident()
        if cls._alive and cls._thread != thread:
            raise SimulatorError(
                "irsim: another thread of this process runs an IR-SIM environment; they share "
                "state, so all must be used from one thread or each in a process of its own"
            )
        cls._thread = thread
        cls._alive += 1

    @classmethod
    def _leave_thread(cls) -> None:
        cls._alive -= 1

    def _check_thread(self) -> None:
        if threading.get_ident() != self._thread:
            raise SimulatorError(
                "irsim: used from another thread than the one that made it; IR-SIM "
                "environments of a process must all be used from one thread"
            )

    def _make(self, seed: int) -> Any:
        """Return the environment at its start."""
        from loguru import logger

        def keep(message: Any) -> None:
            self._warnings.append(message.record["message"])

        sink = logger.add(keep, level="WARNING")
        try:
            env = self._irsim.make(
                str(self._world),
                headless=True,
                log_level=_NOTHING_PRINTED,
                seed=seed,
                step_mode="external" if self._external else "internal",
            )
        except (
            *(AttributeError, KeyError, TypeError, ValueError, NotImplementedError),
            *(OSError, yaml.YAMLError),
        ) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise SimulatorError(
                f"irsim: {self._world} is no world that IR-SIM can load: {text}"
            ) from error
        finally:
            logger.remove(sink)
        env.world_param.step_time = self.step_time
        env._world.step_time = self.step_time
        self._objects = {item.name: item for item in env.objects}
        unknown = [name for name in self._starts if name not in self._objects]
        if unknown:
            raise SimulatorError(
                f"irsim: a start for '{unknown[0]}', which {self._world} has not; "
                f"it has: {', '.join(self._objects) or 'no objects'}"
            )
        for name, start in self._starts.items():
            item = self._objects[name]
            state = np.zeros(item.state_shape)
            state[:3, 0] = start
            item.set_state(state, init=True)
        if self._starts:
            env.refresh()
        return env

    def _known_robots(self, robots: Sequence[RobotSpec]) -> list[RobotSpec]:
        """Return a spec for each robot of the world, the given ones first choice."""
        given = robots_by_name(robots)
        driven = [item for item in self._env.robot_list if item.kinematics in _KINEMATICS]
        missing = [name for name in given if name not in {item.name for item in driven}]
        if missing:
            names = ", ".join(item.name for item in driven) or "none"
            raise SimulatorError(
                f"irsim: {self._world} has no robot '{missing[0]}'; its robots: {names}"
            )
        for item in driven:
            spec = given.get(item.name)
            if spec is not None and spec.kinematics != item.kinematics:
                raise SimulatorError(
                    f"irsim: robot '{item.name}' is '{item.kinematics}' in {self._world}, "
                    f"'{spec.kinematics}' was expected"
                )
        return [given.get(item.name) or _read_spec(item) for item in driven]

    def _restart(self, seed: int) -> None:
        self._check_thread()
        self._env.end()
        self._env = self._make(seed)
        self._stale = False

    def _advance(self, commands: Mapping[str, PlanarTwist]) -> None:
        self._check_thread()
        if self._external:
            driven = [name for name, command in commands.items() if any(command)]
            if driven:
                raise SimulatorError(
                    f"irsim: a command for '{driven[0]}' in external stepping, where objects "
                    "move by what is written; no command was expected"
                )
            self._env.step()
        else:
            self._env.step({name: self._action(name, commands[name]) for name in self._robots})
        self._stale = False
        self._trim()

    def _action(self, name: str, command: PlanarTwist) -> list[float]:
        """Return IR-SIM's action for a twist."""
        spec, item = self._robots[name], self._objects[name]
        if spec.kinematics == "diff":
            return [command.forward, command.turn]
        if spec.kinematics == "omni":
            return [command.forward, command.left]
        if spec.kinematics == "omni_angular":
            return list(command)
        present = float(item.state[3, 0])
        angle = steering_angle(float(item.kf.wheelbase), command.forward, command.turn, present)
        if item.kf.mode == "steer":
            return [command.forward, angle]
        return [command.forward, (angle - present) / self.step_time]

    def _trim(self) -> None:
        """Keep IR-SIM's lists of past states from growing without end."""
        limit = self._trajectory_length
        for item in self._env.objects:
            if len(item.trajectory) > 2 * limit:
                del item.trajectory[: len(item.trajectory) - limit]

    def _capture(self) -> WorldState:
        self._check_thread()
        if self._stale:
            self._env.refresh()
            self._stale = False
        env, stamp, seq = self._env, self._clock.stamp, self._clock.count
        state = WorldState(
            header=Header(seq, stamp, "world"),
            name=str(env._world.name),
            status=str(env.status),
            step_time=self.step_time,
            objects=[
                ObjectState.from_object(item, stamp=stamp, seq=seq, use_inf=True)
                for item in env.objects
            ],
        )
        for item, source in zip(state.objects, env.objects, strict=True):
            item.collision = item.collision or bool(item.contacts)
            if item.scans and item.name in self._robots:
                _turn_scans(item, source, self._robots[item.name])
        return state

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        self._check_thread()
        placed = []
        for name, update in updates.items():
            item = self._objects.get(name)
            if item is None:
                raise SimulatorError(
                    f"irsim: an update of '{name}', which {self._world} has not; "
                    f"it has: {', '.join(self._objects) or 'no objects'}"
                )
            if item.shape == "map":
                raise SimulatorError(
                    f"irsim: an update of '{name}', which is a map; maps cannot be moved"
                )
            checked_update(name, update, self._name)
            try:
                placed.append((item, *update.to_state_velocity(item)))
            except ValueError as error:
                raise SimulatorError(f"irsim: the update of '{name}': {error}") from error
        for item, state, velocity in placed:
            item.set_state(state)
            item.set_velocity(velocity)
        self._stale = self._stale or bool(placed)

    def _release(self) -> None:
        self._env.end()
        self._objects = {}
        self._leave_thread()


def _turn_scans(state: ObjectState, source: Any, spec: RobotSpec) -> None:
    """Tell the bearings of scans in the frames of the mounts.

    A window of beams that is not symmetric about the mount's heading is written to IR-SIM by
    turning its sensor, whose own bearings are symmetric.
    """
    sensors = [sensor for sensor in source.sensors if sensor.sensor_type in _SCANNERS]
    if len(sensors) != len(spec.lidars):
        return
    for scan, sensor, mount in zip(state.scans, sensors, spec.lidars, strict=True):
        turn = float(sensor.offset[2, 0]) - mount.yaw
        scan.angle_min += turn
        scan.angle_max += turn


def _read_spec(item: Any) -> RobotSpec:
    """Return what IR-SIM knows of one of its robots."""
    footprint: Footprint = float(item.radius)
    if item.shape != "circle":
        footprint = tuple((float(x), float(y)) for x, y in item.original_vertices.T)
    speeds = [float(value) for value in np.ravel(item.vel_max)]
    turns = item.kinematics in ("diff", "omni_angular")
    lidars = tuple(
        LidarMount(
            profile=LidarProfile.fan(
                sensor.sensor_type,
                int(sensor.number),
                float(sensor.angle_min),
                float(sensor.angle_max),
                range_min=float(sensor.range_min),
                range_max=float(sensor.range_max),
                scan_rate=1.0 / float(sensor.scan_time),
                scan_type="solid_state",
                range_accuracy=float(sensor.std) if sensor.noise else 0.0,
            ),
            name=f"lidar_{index}" if index else "lidar",
            x=float(sensor.offset[0, 0]),
            y=float(sensor.offset[1, 0]),
            yaw=float(sensor.offset[2, 0]),
        )
        for index, sensor in enumerate(
            sensor for sensor in item.sensors if sensor.sensor_type in _SCANNERS
        )
    )
    return RobotSpec(
        name=item.name,
        kinematics=item.kinematics,
        footprint=footprint,
        wheelbase=float(item.kf.wheelbase) if item.kinematics == "acker" else None,
        max_linear_speed=speeds[0],
        max_angular_speed=speeds[-1] if turns else 1.0,
        lidars=lidars,
    )
