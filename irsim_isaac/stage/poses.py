"""Where prims stand, in metres with z up, for column vectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.stage.units import StageUnits, stage_units
from irsim_isaac.stage.usd import Gf, Usd, UsdGeom

__all__ = ["local_to_world", "planar_pose", "pose_matrix", "roll_pitch_yaw"]


def planar_pose(stage: Usd.Stage, prim: Usd.Prim) -> tuple[float, float, float]:
    """Return where a prim stands: x, y [m] and the heading of its x axis [rad], z up.

    Args:
        stage: The stage.
        prim: A prim of it.
    """
    (x, y, _), (qx, qy, qz, qw) = stage_units(stage).pose(local_to_world(prim))
    yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
    return round(x, 9) + 0.0, round(y, 9) + 0.0, round(yaw, 12) + 0.0


def local_to_world(prim: Usd.Prim) -> Gf.Matrix4d:
    """Return a prim's transform to the stage, also of a type whose schema is not installed.

    Outside Isaac Sim nobody knows that an OmniLidar can be placed, and USD takes its transform
    for the identity.

    Args:
        prim: A prim.
    """
    matrix = Gf.Matrix4d(1.0)
    while prim and not prim.IsPseudoRoot():
        xform = UsdGeom.Xformable(prim)
        if xform:
            return matrix * xform.ComputeLocalToWorldTransform(Usd.TimeCode.Default())
        order = prim.GetAttribute("xformOpOrder").Get() or ()
        for name in reversed(order):
            if name == "!resetXformStack!":
                continue
            inverse = name.startswith("!invert!")
            op = UsdGeom.XformOp(prim.GetAttribute(name.removeprefix("!invert!")), inverse)
            matrix = matrix * op.GetOpTransform(Usd.TimeCode.Default())
        if "!resetXformStack!" in order:
            break
        prim = prim.GetParent()
    return matrix


def pose_matrix(units: StageUnits, prim: Usd.Prim) -> NDArray[np.float64]:
    """Return a prim's pose, its scale taken out, shape (4, 4).

    Args:
        units: The units of its stage.
        prim: The prim.
    """
    position, (x, y, z, w) = units.pose(local_to_world(prim))
    pose = np.eye(4)
    pose[:3, :3] = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    pose[:3, 3] = position
    return pose


def roll_pitch_yaw(rotation: NDArray[np.float64]) -> tuple[float, float, float]:
    """Split a rotation into turns about the fixed x, y and z axes [rad], in that order.

    Args:
        rotation: Shape (3, 3).
    """
    pitch = math.asin(max(-1.0, min(1.0, -float(rotation[2, 0]))))
    if abs(rotation[2, 0]) > 1.0 - 1e-12:
        # Looking straight up or down, roll and yaw turn about one axis: all of it is yaw.
        return 0.0, pitch, math.atan2(-float(rotation[0, 1]), float(rotation[1, 1]))
    roll = math.atan2(float(rotation[2, 1]), float(rotation[2, 2]))
    yaw = math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))
    return roll, pitch, yaw
