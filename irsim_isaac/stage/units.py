"""A stage's units and up axis, and the quaternions of USD.

Everything that leaves this room is in metres, right-handed, with z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.stage.usd import Gf, Usd, UsdGeom

__all__ = ["StageUnits", "assumed_units", "gf_quaternion", "quaternion_xyzw", "stage_units"]

_TO_Z_UP = {
    "Z": np.eye(3),
    # A quarter turn about x: the stage's y becomes z, its -z becomes y.
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}


@dataclass(frozen=True, slots=True)
class StageUnits:
    """How the lengths and axes of a stage become metres with z up.

    Attributes:
        meters_per_unit: The length of one stage unit [m].
        up_axis: ``"Y"`` or ``"Z"``.
        warnings: What had to be assumed, one sentence each.
    """

    meters_per_unit: float
    up_axis: str
    warnings: tuple[str, ...] = ()

    @property
    def rotation(self) -> NDArray[np.float64]:
        """The turn that brings the up axis to z, for row vectors, shape (3, 3)."""
        return _TO_Z_UP[self.up_axis]

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The 4 x 4 matrix for row vectors that takes stage coordinates to metres, z up."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation * self.meters_per_unit
        return matrix

    def point(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Take a point of the stage to metres with z up."""
        return tuple(float(v) for v in np.array([x, y, z]) @ self.matrix[:3, :3])  # type: ignore[return-value]  # three

    def stage_point(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Take a point in metres with z up to the stage's own coordinates."""
        values = np.array([x, y, z]) @ self.rotation.T / self.meters_per_unit
        return float(values[0]), float(values[1]), float(values[2])

    def pose(
        self, matrix: Any
    ) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
        """Split a prim's local-to-world ``Gf.Matrix4d`` into a position and a quaternion.

        Args:
            matrix: What ``ComputeLocalToWorldTransform`` gave; its scale is taken out.

        Returns:
            The position [m] with z up and the quaternion x, y, z, w of the frame whose axes
            are the prim's own.
        """
        position = np.array(matrix.ExtractTranslation()) @ self.matrix[:3, :3]
        turned = Gf.Matrix4d(matrix)
        turned.Orthonormalize(False)
        rotation = np.eye(4)
        rotation[:3, :3] = np.array(turned)[:3, :3] @ self.rotation
        quaternion = quaternion_xyzw(Gf.Matrix4d(rotation.tolist()).ExtractRotationQuat())
        return (float(position[0]), float(position[1]), float(position[2])), quaternion


def stage_units(stage: Usd.Stage) -> StageUnits:
    """Read a stage's units and up axis, session layer first.

    Args:
        stage: An open stage.

    Returns:
        The units; what was not authored is USD's fallback, with a warning.

    Raises:
        StageError: The length of a unit is not a positive number, or the up axis is neither Y
            nor Z.
    """
    where = stage.GetRootLayer().identifier
    meters = float(UsdGeom.GetStageMetersPerUnit(stage))
    axis = str(UsdGeom.GetStageUpAxis(stage))
    if not math.isfinite(meters) or meters <= 0.0:
        raise StageError(
            f"{where}: metersPerUnit is {meters:g}, a positive length was expected; "
            "override it with meters_per_unit"
        )
    if axis not in _TO_Z_UP:
        raise StageError(
            f"{where}: upAxis is '{axis}', 'Y' or 'Z' was expected; override it with up_axis"
        )
    warnings = []
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        warnings.append(
            f"{where}: metersPerUnit is not authored, {meters:g} m a unit is assumed "
            "as USD does; override it with meters_per_unit"
        )
    if not stage.HasAuthoredMetadata("upAxis"):
        warnings.append(
            f"{where}: upAxis is not authored, {axis} up is assumed as USD does; "
            "override it with up_axis"
        )
    return StageUnits(meters, axis, tuple(warnings))


def assumed_units(stage: Usd.Stage) -> str:
    """Return what had to be assumed of a stage's units, as the end of an error; empty for nothing.

    Where a stage says nothing of its units, a wrong guess is the likeliest reason why nothing of
    it is where it was expected.
    """
    where = f"{stage.GetRootLayer().identifier}: "
    return "".join(f"; {text.removeprefix(where)}" for text in stage_units(stage).warnings)


def quaternion_xyzw(quaternion: Any) -> tuple[float, float, float, float]:
    """Return a ``Gf.Quat`` as x, y, z, w."""
    imaginary = quaternion.GetImaginary()
    return (
        float(imaginary[0]),
        float(imaginary[1]),
        float(imaginary[2]),
        float(quaternion.GetReal()),
    )


def gf_quaternion(x: float, y: float, z: float, w: float) -> Any:
    """Return x, y, z, w as a ``Gf.Quatd``."""
    return Gf.Quatd(w, Gf.Vec3d(x, y, z))
