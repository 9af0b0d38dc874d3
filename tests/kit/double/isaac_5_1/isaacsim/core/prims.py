"""Prims of 5.1: numpy arrays, quaternions wxyz, nothing before ``initialize``."""

from __future__ import annotations

from typing import Any

import numpy as np
import omni.usd
from omni.physx import world

from tests.kit.physics import authored_pose


class _Prims:
    def __init__(self, prim_paths_expr: str | list[str]) -> None:
        self._paths = [prim_paths_expr] if isinstance(prim_paths_expr, str) else prim_paths_expr
        stage = omni.usd.get_context().get_stage()
        for path in self._paths:
            if not stage.GetPrimAtPath(path):
                raise Exception(f"prim path expression {path} is invalid, a prim doesn't exist")
        self._initialized = False

    def initialize(self, physics_sim_view: Any = None) -> None:
        if not world.valid:
            raise Exception("Failed to create a view: there is no physics simulation view")
        self._initialized = True

    def _chosen(self, indices: Any) -> list[str]:
        return self._paths if indices is None else [self._paths[int(i)] for i in indices]


class RigidPrim(_Prims):
    def __init__(
        self,
        prim_paths_expr: str | list[str],
        name: str = "rigid_prim_view",
        positions: Any = None,
        translations: Any = None,
        orientations: Any = None,
        scales: Any = None,
        visibilities: Any = None,
        reset_xform_properties: bool = True,
    ) -> None:
        super().__init__(prim_paths_expr)
        assert not reset_xform_properties, "the prims of the stage would be rewritten"
        stage = omni.usd.get_context().get_stage()
        for path in self._paths:
            stage.GetPrimAtPath(path).AddAppliedSchema("PhysxRigidBodyAPI")

    def get_world_poses(
        self, indices: Any = None, clone: bool = True, usd: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        if not (self._initialized and world.valid):
            poses = [authored_pose(omni.usd.get_context().get_stage(), p) for p in self._paths]
        else:
            bodies = world.bodies()
            poses = [
                (list(bodies[p].position), list(bodies[p].quaternion[[3, 0, 1, 2]]))
                for p in self._chosen(indices)
            ]
        return (
            np.array([pose[0] for pose in poses], dtype=np.float32),
            np.array([pose[1] for pose in poses], dtype=np.float32),
        )

    def set_world_poses(
        self,
        positions: Any = None,
        orientations: Any = None,
        indices: Any = None,
        usd: bool = True,
    ) -> None:
        for path, position, turned in zip(
            self._chosen(indices), positions, orientations, strict=True
        ):
            world.place(path, position, np.asarray(turned)[[1, 2, 3, 0]])

    def get_velocities(self, indices: Any = None, clone: bool = True) -> np.ndarray:
        assert self._initialized and world.valid
        bodies = world.bodies()
        return np.array(
            [[*bodies[p].linear, *bodies[p].angular] for p in self._chosen(indices)],
            dtype=np.float32,
        )

    def get_coms(self, indices: Any = None, clone: bool = True) -> tuple[np.ndarray, np.ndarray]:
        chosen = self._chosen(indices)
        centres = np.array([[world.mass_centre(path)] for path in chosen], dtype=np.float32)
        return centres, np.tile(np.array([1, 0, 0, 0], np.float32), (len(chosen), 1, 1))

    def set_velocities(self, velocities: Any, indices: Any = None) -> None:
        for path, velocity in zip(self._chosen(indices), velocities, strict=True):
            world.set_velocity(path, velocity[:3], velocity[3:])


class Articulation(_Prims):
    def __init__(
        self,
        prim_paths_expr: str | list[str],
        name: str = "articulation_prim_view",
        positions: Any = None,
        translations: Any = None,
        orientations: Any = None,
        scales: Any = None,
        visibilities: Any = None,
        reset_xform_properties: bool = True,
        enable_residual_reports: bool = False,
    ) -> None:
        super().__init__(prim_paths_expr)
        assert not reset_xform_properties, "the prims of the stage would be rewritten"

    def initialize(self, physics_sim_view: Any = None) -> None:
        super().initialize(physics_sim_view)
        (path,) = self._paths
        self._root = world.root_of(path)
        self._joints = world.joints(path)

    @property
    def dof_names(self) -> list[str]:
        return list(self._joints)

    def get_dof_index(self, dof_name: str) -> int:
        return self.dof_names.index(dof_name)

    def _named(self, joint_indices: Any) -> list[Any]:
        joints = list(self._joints.values())
        return joints if joint_indices is None else [joints[int(i)] for i in joint_indices]

    def get_joint_positions(
        self,
        indices: Any = None,
        joint_indices: Any = None,
        joint_names: Any = None,
        clone: bool = True,
    ) -> np.ndarray:
        return world.joint_positions(self._named(joint_indices)).reshape(1, -1)

    def set_joint_positions(
        self,
        positions: Any,
        indices: Any = None,
        joint_indices: Any = None,
        joint_names: Any = None,
    ) -> None:
        world.set_joints("jointPosition", self._named(joint_indices), positions)

    def set_joint_velocities(
        self,
        velocities: Any,
        indices: Any = None,
        joint_indices: Any = None,
        joint_names: Any = None,
    ) -> None:
        world.set_joints("jointVelocity", self._named(joint_indices), velocities)

    def set_joint_velocity_targets(
        self,
        velocities: Any,
        indices: Any = None,
        joint_indices: Any = None,
        joint_names: Any = None,
    ) -> None:
        world.set_joints("jointVelocityTarget", self._named(joint_indices), velocities)

    def set_joint_position_targets(
        self,
        positions: Any,
        indices: Any = None,
        joint_indices: Any = None,
        joint_names: Any = None,
    ) -> None:
        world.set_joints("jointPositionTarget", self._named(joint_indices), positions)

    def set_world_poses(
        self,
        positions: Any = None,
        orientations: Any = None,
        indices: Any = None,
        usd: bool = True,
    ) -> None:
        world.place(self._root, positions[0], np.asarray(orientations[0])[[1, 2, 3, 0]])

    def set_velocities(self, velocities: Any, indices: Any = None) -> None:
        world.set_velocity(self._root, velocities[0][:3], velocities[0][3:])
