"""Isaac Sim 5.1: arrays of the active backend, step callbacks of (dt)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import omni.kit.app
import omni.timeline
from isaacsim.core.prims import Articulation, RigidPrim
from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager
from isaacsim.core.utils.semantics import get_labels

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.versions.generic_model_output import AnnotatorFrames, WriterFrames
from irsim_isaac.kit.versions.interface import (
    Floats,
    Frames,
    FrameSource,
    JointAttribute,
    TimelineEvent,
    Undo,
    whole_rate_step,
)

__all__ = ["IsaacSim51"]

_FABRIC = "omni.physx.fabric"


def _floats(array: Any) -> Floats:
    """Return an array of numpy, Warp or torch as numbers of our own."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    if not isinstance(array, np.ndarray) and hasattr(array, "numpy"):
        array = array.numpy()
    return np.array(array, dtype=np.float64)


def _row(values: Floats) -> npt.NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32).reshape(1, -1)


class _Bodies:
    def __init__(self, paths: Sequence[str]) -> None:
        # Setting the usual ops would rewrite prims that are not ours.
        self._prims = RigidPrim(list(paths), reset_xform_properties=False)
        self._prims.initialize()

    def poses(self) -> tuple[Floats, Floats]:
        positions, orientations = self._prims.get_world_poses()
        return _floats(positions), _floats(orientations)

    def velocities(self) -> tuple[Floats, Floats]:
        velocities = _floats(self._prims.get_velocities())
        return velocities[:, :3], velocities[:, 3:]

    def mass_centres(self) -> Floats:
        positions, _ = self._prims.get_coms()
        return _floats(positions).reshape(-1, 3)

    def set_pose(self, index: int, position: Floats, quaternion: Floats) -> None:
        self._prims.set_world_poses(_row(position), _row(quaternion), indices=np.array([index]))

    def set_velocity(self, index: int, linear: Floats, angular: Floats) -> None:
        velocities = _row(np.concatenate([linear, angular]))
        self._prims.set_velocities(velocities, indices=np.array([index]))


class _Articulation:
    def __init__(self, path: str) -> None:
        self._prim = Articulation(path, reset_xform_properties=False)
        self._prim.initialize()

    def _indices(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.array([self._prim.get_dof_index(name) for name in names])

    def set_pose(self, position: Floats, quaternion: Floats) -> None:
        self._prim.set_world_poses(_row(position), _row(quaternion))

    def set_velocity(self, linear: Floats, angular: Floats) -> None:
        self._prim.set_velocities(_row(np.concatenate([linear, angular])))

    def joint_positions(self, names: Sequence[str]) -> Floats:
        indices = self._indices(names)
        return _floats(self._prim.get_joint_positions(joint_indices=indices)).reshape(-1)

    def set_joints(self, attribute: JointAttribute, names: Sequence[str], values: Floats) -> None:
        indices = self._indices(names)
        if attribute == "position":
            self._prim.set_joint_positions(_row(values), joint_indices=indices)
        elif attribute == "velocity":
            self._prim.set_joint_velocities(_row(values), joint_indices=indices)
        elif attribute == "position_target":
            self._prim.set_joint_position_targets(_row(values), joint_indices=indices)
        else:
            self._prim.set_joint_velocity_targets(_row(values), joint_indices=indices)


class IsaacSim51:
    """Isaac Sim 5.1 in this process.

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
        def stepped(dt: float) -> None:
            callback(dt)

        uid = SimulationManager.register_callback(stepped, IsaacEvents.POST_PHYSICS_STEP, order=0)

        def undo() -> None:
            SimulationManager.deregister_callback(uid)

        return undo

    def on_timeline(self, event: TimelineEvent, callback: Callable[[], None]) -> Undo:
        """Call back when the simulation is played, paused or stopped."""
        types = {
            "play": omni.timeline.TimelineEventType.PLAY,
            "pause": omni.timeline.TimelineEventType.PAUSE,
            "stop": omni.timeline.TimelineEventType.STOP,
        }
        stream = omni.timeline.get_timeline_interface().get_timeline_event_stream()
        subscriptions = [
            stream.create_subscription_to_pop_by_type(int(types[event]), lambda _: callback())
        ]
        return subscriptions.clear

    def physics_step_time(self) -> float:
        """Return the length of a physics step [s]."""
        return float(SimulationManager.get_physics_dt())

    def set_physics_step_time(self, seconds: float) -> None:
        """Set the length of a physics step [s]."""
        SimulationManager.set_physics_dt(whole_rate_step(seconds))

    def simulation_time(self) -> float:
        """Return the time since the simulation was played [s]."""
        return float(SimulationManager.get_simulation_time())

    def step(self) -> None:
        """Take one physics step and show it to the renderer."""
        SimulationManager.step(render=False)
        if omni.kit.app.get_app().get_extension_manager().is_extension_enabled(_FABRIC):
            from omni.physxfabric import get_physx_fabric_interface

            get_physx_fabric_interface().update(
                SimulationManager.get_simulation_time(), SimulationManager.get_physics_dt()
            )

    def update_links(self) -> None:
        """Bring the links of articulations to where their roots and joints have been put."""
        SimulationManager.get_physics_sim_view().update_articulations_kinematic()

    def bodies(self, paths: Sequence[str]) -> _Bodies:
        """Return rigid bodies by path."""
        return _Bodies(paths)

    def articulation(self, path: str) -> _Articulation:
        """Return a robot by the path of its root."""
        return _Articulation(path)

    def frames(self, path: str, source: FrameSource = "auto") -> Frames:
        """Return the output of a lidar."""
        if source == "sensor":
            raise SimulatorError(
                f"Isaac Sim {self._version} has no sensor to read a lidar by; 'annotator' or "
                "'writer' was expected"
            )
        return WriterFrames(path) if source == "writer" else AnnotatorFrames(path)

    def labels(self, prim: Any) -> Mapping[str, Sequence[str]]:
        """Return the semantic labels of a prim by taxonomy."""
        labels: Mapping[str, Sequence[str]] = get_labels(prim)
        return labels
