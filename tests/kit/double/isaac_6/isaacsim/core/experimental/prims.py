"""Prims of 6.x: Warp arrays, quaternions wxyz, keyword-only arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import omni.usd
import warp as wp
from omni.physx import world

from tests.kit.physics import authored_pose

_NOT_VALID = "The physics tensor entity is not valid"


def _rows(values: Any, width: int) -> np.ndarray:
    array = values.numpy() if isinstance(values, wp.array) else np.asarray(values)
    return np.asarray(array, dtype=np.float64).reshape(-1, width)


def _warp(values: Any) -> wp.array:
    return wp.array(np.asarray(values, dtype=np.float32), dtype=wp.float32, device="cpu")


class _Prims:
    def __init__(self, paths: str | list[str], reset_xform_op_properties: bool) -> None:
        self.paths = [paths] if isinstance(paths, str) else list(paths)
        assert not reset_xform_op_properties, "the prims of the stage would be rewritten"
        stage = omni.usd.get_context().get_stage()
        for path in self.paths:
            if not stage.GetPrimAtPath(path):
                raise ValueError(f"No prims found matching the specified path {path}")

    def _chosen(self, indices: Any) -> list[str]:
        return self.paths if indices is None else [self.paths[int(i)] for i in indices]


class RigidPrim(_Prims):
    def __init__(
        self,
        paths: str | list[str],
        *,
        resolve_paths: bool = True,
        positions: Any = None,
        translations: Any = None,
        orientations: Any = None,
        scales: Any = None,
        reset_xform_op_properties: bool = False,
        masses: Any = None,
        densities: Any = None,
        contact_filter_paths: Any = None,
        max_contact_count: int = 0,
    ) -> None:
        super().__init__(paths, reset_xform_op_properties)
        stage = omni.usd.get_context().get_stage()
        for path in self.paths:
            stage.GetPrimAtPath(path).AddAppliedSchema("PhysxRigidBodyAPI")

    def get_world_poses(self, *, indices: Any = None) -> tuple[wp.array, wp.array]:
        if not world.valid:
            stage = omni.usd.get_context().get_stage()
            poses = [authored_pose(stage, path) for path in self._chosen(indices)]
        else:
            bodies = world.bodies()
            poses = [
                (list(bodies[p].position), list(bodies[p].quaternion[[3, 0, 1, 2]]))
                for p in self._chosen(indices)
            ]
        return _warp([pose[0] for pose in poses]), _warp([pose[1] for pose in poses])

    def set_world_poses(
        self, positions: Any = None, orientations: Any = None, *, indices: Any = None
    ) -> None:
        assert positions is not None or orientations is not None
        for path, position, turned in zip(
            self._chosen(indices), _rows(positions, 3), _rows(orientations, 4), strict=True
        ):
            world.place(path, position, turned[[1, 2, 3, 0]])

    def get_velocities(self, *, indices: Any = None) -> tuple[wp.array, wp.array]:
        assert world.valid, _NOT_VALID
        bodies = world.bodies()
        chosen = self._chosen(indices)
        return (
            _warp([bodies[path].linear for path in chosen]),
            _warp([bodies[path].angular for path in chosen]),
        )

    def get_coms(self, *, indices: Any = None) -> tuple[wp.array, wp.array]:
        chosen = self._chosen(indices)
        return (
            _warp([world.mass_centre(path) for path in chosen]),
            _warp(np.tile([1, 0, 0, 0], (len(chosen), 1))),
        )

    def set_velocities(
        self, linear_velocities: Any = None, angular_velocities: Any = None, *, indices: Any = None
    ) -> None:
        assert world.valid, _NOT_VALID
        for path, linear, angular in zip(
            self._chosen(indices),
            _rows(linear_velocities, 3),
            _rows(angular_velocities, 3),
            strict=True,
        ):
            world.set_velocity(path, linear, angular)


class Articulation(_Prims):
    def __init__(
        self,
        paths: str | list[str],
        *,
        resolve_paths: bool = True,
        positions: Any = None,
        translations: Any = None,
        orientations: Any = None,
        scales: Any = None,
        reset_xform_op_properties: bool = False,
        enable_residual_reports: bool = False,
    ) -> None:
        super().__init__(paths, reset_xform_op_properties)
        assert world.valid, _NOT_VALID
        (path,) = self.paths
        self._root = world.root_of(path)
        self._joints = world.joints(path)

    @property
    def dof_names(self) -> list[str]:
        return list(self._joints)

    def get_dof_indices(self, names: str | list[str]) -> wp.array:
        wanted = [names] if isinstance(names, str) else names
        return wp.array(
            [self.dof_names.index(name) for name in wanted], dtype=wp.int32, device="cpu"
        )

    def _named(self, dof_indices: Any) -> list[Any]:
        joints = list(self._joints.values())
        return joints if dof_indices is None else [joints[int(i)] for i in dof_indices.numpy()]

    def get_dof_positions(self, *, indices: Any = None, dof_indices: Any = None) -> wp.array:
        assert world.valid, _NOT_VALID
        return _warp(world.joint_positions(self._named(dof_indices)).reshape(1, -1))

    def set_dof_positions(
        self, positions: Any, *, indices: Any = None, dof_indices: Any = None
    ) -> None:
        world.set_joints("jointPosition", self._named(dof_indices), positions)

    def set_dof_velocities(
        self, velocities: Any, *, indices: Any = None, dof_indices: Any = None
    ) -> None:
        world.set_joints("jointVelocity", self._named(dof_indices), velocities)

    def set_dof_velocity_targets(
        self, velocities: Any, *, indices: Any = None, dof_indices: Any = None
    ) -> None:
        world.set_joints("jointVelocityTarget", self._named(dof_indices), velocities)

    def set_dof_position_targets(
        self, positions: Any, *, indices: Any = None, dof_indices: Any = None
    ) -> None:
        world.set_joints("jointPositionTarget", self._named(dof_indices), positions)

    def set_world_poses(
        self, positions: Any = None, orientations: Any = None, *, indices: Any = None
    ) -> None:
        assert positions is not None or orientations is not None
        world.place(self._root, _rows(positions, 3)[0], _rows(orientations, 4)[0][[1, 2, 3, 0]])

    def set_velocities(
        self, linear_velocities: Any = None, angular_velocities: Any = None, *, indices: Any = None
    ) -> None:
        assert world.valid, _NOT_VALID
        world.set_velocity(
            self._root, _rows(linear_velocities, 3)[0], _rows(angular_velocities, 3)[0]
        )
