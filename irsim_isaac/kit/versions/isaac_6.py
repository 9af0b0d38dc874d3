"""Isaac Sim 6.x: Warp arrays, keyword-only arguments, step callbacks of (dt, context)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import carb.eventdispatcher
import isaacsim.core.experimental.utils.semantics as semantics_utils
import numpy as np
import numpy.typing as npt
import omni.timeline
from isaacsim.core.experimental.prims import Articulation, RigidPrim
from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.versions.generic_model_output import (
    AnnotatorFrames,
    WriterFrames,
    as_bytes,
    copied,
)
from irsim_isaac.kit.versions.interface import (
    Floats,
    Frames,
    FrameSource,
    JointAttribute,
    TimelineEvent,
    Undo,
    whole_rate_step,
)

__all__ = ["IsaacSim6"]

_OUTPUT = "generic-model-output"


def _floats(array: Any) -> Floats:
    return np.asarray(array.numpy(), dtype=np.float64)


def _row(values: Floats) -> npt.NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32).reshape(1, -1)


class _Bodies:
    def __init__(self, paths: Sequence[str]) -> None:
        self._prims = RigidPrim(list(paths))

    def poses(self) -> tuple[Floats, Floats]:
        positions, orientations = self._prims.get_world_poses()
        return _floats(positions), _floats(orientations)

    def velocities(self) -> tuple[Floats, Floats]:
        linear, angular = self._prims.get_velocities()
        return _floats(linear), _floats(angular)

    def mass_centres(self) -> Floats:
        positions, _ = self._prims.get_coms()
        return _floats(positions).reshape(-1, 3)

    def set_pose(self, index: int, position: Floats, quaternion: Floats) -> None:
        self._prims.set_world_poses(
            positions=_row(position), orientations=_row(quaternion), indices=[index]
        )

    def set_velocity(self, index: int, linear: Floats, angular: Floats) -> None:
        self._prims.set_velocities(
            linear_velocities=_row(linear), angular_velocities=_row(angular), indices=[index]
        )


class _Articulation:
    def __init__(self, path: str) -> None:
        self._prim = Articulation(path)

    def set_pose(self, position: Floats, quaternion: Floats) -> None:
        self._prim.set_world_poses(positions=_row(position), orientations=_row(quaternion))

    def set_velocity(self, linear: Floats, angular: Floats) -> None:
        self._prim.set_velocities(linear_velocities=_row(linear), angular_velocities=_row(angular))

    def joint_positions(self, names: Sequence[str]) -> Floats:
        indices = self._prim.get_dof_indices(list(names))
        return _floats(self._prim.get_dof_positions(dof_indices=indices)).reshape(-1)

    def set_joints(self, attribute: JointAttribute, names: Sequence[str], values: Floats) -> None:
        indices = self._prim.get_dof_indices(list(names))
        if attribute == "position":
            self._prim.set_dof_positions(_row(values), dof_indices=indices)
        elif attribute == "velocity":
            self._prim.set_dof_velocities(_row(values), dof_indices=indices)
        elif attribute == "position_target":
            self._prim.set_dof_position_targets(_row(values), dof_indices=indices)
        else:
            self._prim.set_dof_velocity_targets(_row(values), dof_indices=indices)


class _LidarFrames:
    dropped = 0

    def __init__(self, path: str) -> None:
        from isaacsim.sensors.experimental.rtx import LidarSensor

        self._sensor = LidarSensor(path, annotators=[_OUTPUT])

    def read(self) -> list[npt.NDArray[np.uint8]]:
        data, _ = self._sensor.get_data(_OUTPUT)
        return copied(as_bytes(data))

    def close(self) -> None:
        self._sensor.detach_annotators([_OUTPUT])
        # The sensor lets go of its render product when it is collected.
        self._sensor = None


class IsaacSim6:
    """Isaac Sim 6.x in this process.

    Args:
        version: Its version.
    """

    def __init__(self, version: str) -> None:
        self._version = version

    @property
    def version(self) -> str:
        """Its version."""
        return self._version

    def on_physics_step(self, callback: Callable[[float], None]) -> Undo:
        """Call back after each physics step with its length [s]."""

        # A bound method would be held weakly, a plain function is held.
        def stepped(dt: float, context: Any) -> None:
            callback(dt)

        uid = SimulationManager.register_callback(
            stepped, event=SimulationEvent.PHYSICS_POST_STEP, order=0
        )

        def undo() -> None:
            SimulationManager.deregister_callback(uid)

        return undo

    def on_timeline(self, event: TimelineEvent, callback: Callable[[], None]) -> Undo:
        """Call back when the simulation is played, paused or stopped."""
        names = {
            "play": omni.timeline.GLOBAL_EVENT_PLAY,
            "pause": omni.timeline.GLOBAL_EVENT_PAUSE,
            "stop": omni.timeline.GLOBAL_EVENT_STOP,
        }
        guards = [
            carb.eventdispatcher.get_eventdispatcher().observe_event(
                event_name=names[event],
                on_event=lambda _: callback(),
                observer_name=f"irsim_isaac.on_{event}",
            )
        ]
        return guards.clear

    def physics_step_time(self) -> float:
        """Return the length of a physics step [s]."""
        return float(SimulationManager.get_physics_dt())

    def set_physics_step_time(self, seconds: float) -> None:
        """Set the length of a physics step [s]."""
        SimulationManager.setup_simulation(dt=whole_rate_step(seconds))

    def simulation_time(self) -> float:
        """Return the time since the simulation was played [s]."""
        return float(SimulationManager.get_simulation_time())

    def step(self) -> None:
        """Take one physics step and show it to the renderer."""
        SimulationManager.step(steps=1, update_fabric=SimulationManager.is_fabric_enabled())

    def update_links(self) -> None:
        """Bring the links of articulations to where their roots and joints have been put."""
        SimulationManager.get_physics_simulation_view().update_articulations_kinematic()

    def bodies(self, paths: Sequence[str]) -> _Bodies:
        """Return rigid bodies by path."""
        return _Bodies(paths)

    def articulation(self, path: str) -> _Articulation:
        """Return a robot by the path of its root."""
        return _Articulation(path)

    def frames(self, path: str, source: FrameSource = "auto") -> Frames:
        """Return the output of a lidar: by its sensor, or by Replicator where that is off."""
        if source == "writer":
            return WriterFrames(path)
        if source == "annotator":
            return AnnotatorFrames(path)
        try:
            return _LidarFrames(path)
        except ImportError as error:
            if source == "sensor":
                raise SimulatorError(
                    "reading a lidar by its sensor needs the extension "
                    "isaacsim.sensors.experimental.rtx, which is not enabled"
                ) from error
            return AnnotatorFrames(path)

    def labels(self, prim: Any) -> Mapping[str, Sequence[str]]:
        """Return the semantic labels of a prim by taxonomy."""
        labels: Mapping[str, Sequence[str]] = semantics_utils.get_labels(prim)
        return labels
