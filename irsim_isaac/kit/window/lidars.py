"""The lidars of the open stage: which there are, and where one is while the simulation plays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.layer import OwnLayer
from irsim_isaac.kit.versions import Bodies, IsaacSim, Undo

__all__ = ["LivePose", "is_lidar", "is_playing", "lidar_paths"]

_OMNI_LIDAR = "OmniLidar"


def is_lidar(stage: Any, path: str) -> bool:
    """Return whether a stage has a lidar at a path."""
    prim = stage.GetPrimAtPath(path)
    return bool(prim) and prim.GetTypeName() == _OMNI_LIDAR


def lidar_paths(stage: Any) -> tuple[str, ...]:
    """Return the paths of the lidars of a stage."""
    return tuple(
        str(prim.GetPath()) for prim in stage.Traverse() if prim.GetTypeName() == _OMNI_LIDAR
    )


def is_playing() -> bool:
    """Return whether the simulation plays."""
    import omni.timeline

    return bool(omni.timeline.get_timeline_interface().is_playing())


class LivePose:
    """Where a prim is, also while the simulation keeps the poses of bodies to itself.

    Args:
        isaac: The interface to this Isaac Sim.
        stage: The open stage.
        path: The prim.

    Raises:
        SimulatorError: There is no such prim.
    """

    def __init__(self, isaac: IsaacSim, stage: Any, path: str) -> None:
        from irsim_isaac.stage import stage_units

        self._isaac = isaac
        self._stage = stage
        self._units = stage_units(stage)
        self._prim = stage.GetPrimAtPath(path)
        if not self._prim:
            raise SimulatorError(f"the stage has no prim at {path}")
        self._carrier = _carrier(self._prim)
        self._bodies: Bodies | None = None
        # Isaac Sim authors on prims that it gives access to.
        self._layer = OwnLayer(stage)
        self._guards: list[Undo] = [isaac.on_timeline("stop", self._lose)]

    def read(self) -> tuple[float, float, float]:
        """Return x, y [m] and the heading of the prim's x axis [rad]."""
        matrix = _world(self._prim)
        if self._carrier is not None and is_playing():
            local = matrix * _rigid(_world(self._carrier)).GetInverse()
            matrix = local * self._live()
        (x, y, _), (qx, qy, qz, qw) = self._units.pose(matrix)
        yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
        return x, y, yaw

    def close(self) -> None:
        """Let go of the prim; twice is no error."""
        while self._guards:
            self._guards.pop()()
        self._lose()
        self._layer.remove()

    def _lose(self) -> None:
        """The simulation was stopped: its bodies are no longer those of the physics."""
        self._bodies = None

    def _live(self) -> Any:
        """Return where the body that carries the prim is now, in the stage's own units."""
        from irsim_isaac.stage.usd import Gf

        if self._bodies is None:
            with self._layer.editing():
                self._bodies = self._isaac.bodies([str(self._carrier.GetPath())])
        positions, quaternions = self._bodies.poses()
        w, x, y, z = np.asarray(quaternions[0], dtype=np.float64).tolist()
        place = np.asarray(positions[0], dtype=np.float64).tolist()
        return Gf.Matrix4d(
            Gf.Rotation(Gf.Quatd(w, Gf.Vec3d(x, y, z))),
            Gf.Vec3d(*place),
        )


def _carrier(prim: Any) -> Any:
    """Return the rigid body that a prim is, or is fixed to; None for none."""
    from irsim_isaac.stage.usd import UsdPhysics

    while prim and not prim.IsPseudoRoot():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            return prim
        prim = prim.GetParent()
    return None


def _world(prim: Any) -> Any:
    from irsim_isaac.stage.usd import Usd, UsdGeom

    return UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())


def _rigid(matrix: Any) -> Any:
    from irsim_isaac.stage.usd import Gf

    rigid = Gf.Matrix4d(matrix)
    rigid.Orthonormalize(False)
    return rigid
