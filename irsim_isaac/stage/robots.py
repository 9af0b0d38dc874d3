"""The robots of a stage: where they start, what they are, what they carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.lidar import lidar_profile
from irsim_isaac.stage.obstacles import NAME_ATTRIBUTE, ROBOT_ATTRIBUTE, planar_pose
from irsim_isaac.stage.robot_files import load_robot
from irsim_isaac.stage.units import StageUnits, stage_units
from irsim_isaac.stage.usd import Gf, Usd, UsdGeom

__all__ = ["lidar_mounts", "robot_specs", "robot_starts", "start_pose"]


def start_pose(stage: Usd.Stage, path: str) -> tuple[float, float, float]:
    """Return where a prim stands: x, y [m] and the heading of its x axis [rad], z up.

    Args:
        stage: The stage.
        path: The prim.

    Raises:
        StageError: There is no such prim.
    """
    prim = stage.GetPrimAtPath(path) if path.startswith("/") else None
    if not prim:
        raise StageError(
            f"{stage.GetRootLayer().identifier}: there is no prim at '{path}', "
            "a robot's start was expected"
        )
    return planar_pose(stage, prim)


def robot_specs(
    stage: Usd.Stage,
    *,
    robot: RobotSpec | str | None = None,
) -> tuple[RobotSpec, ...]:
    """Return the robots of a stage, one for each prim that says it is a robot's start.

    A start is a prim with the attribute ``irsim:robot``, which names a file of ``load_robot``, and
    perhaps ``irsim:name``, what the robot is called. The OmniLidar prims below it are the
    robot's lidars, in the place of those in its file.

    Args:
        stage: The stage.
        robot: A robot, or the name of one, in the place of what the starts say.

    Raises:
        StageError: A robot is unknown, or two have one name.
    """
    specs = tuple(_started(stage, prim, robot) for prim in _starts(stage))
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise StageError(
                f"{stage.GetRootLayer().identifier}: two robots are called '{name}'; "
                f"give one of their starts the attribute {NAME_ATTRIBUTE}"
            )
    return specs


def robot_starts(stage: Usd.Stage) -> Mapping[str, tuple[float, float, float]]:
    """Return where the robots of ``robot_specs`` start: x, y [m] and yaw [rad] by name."""
    return {_name(prim, None): planar_pose(stage, prim) for prim in _starts(stage)}


def _starts(stage: Usd.Stage) -> list[Usd.Prim]:
    return [
        prim
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
        if prim.GetAttribute(ROBOT_ATTRIBUTE).HasAuthoredValue()
    ]


def _started(stage: Usd.Stage, prim: Usd.Prim, robot: RobotSpec | str | None) -> RobotSpec:
    if isinstance(robot, RobotSpec):
        spec = robot
    else:
        spec = load_robot(robot or str(prim.GetAttribute(ROBOT_ATTRIBUTE).Get()))
    lidars = lidar_mounts(stage, prim)
    return replace(spec, name=_name(prim, spec), lidars=lidars or spec.lidars)


def _name(prim: Usd.Prim, spec: RobotSpec | None) -> str:
    attribute = prim.GetAttribute(NAME_ATTRIBUTE)
    if attribute.HasAuthoredValue():
        return str(attribute.Get())
    if spec is None:
        spec = load_robot(str(prim.GetAttribute(ROBOT_ATTRIBUTE).Get()))
    return spec.name


def lidar_mounts(stage: Usd.Stage, base: Usd.Prim) -> tuple[LidarMount, ...]:
    """Return the OmniLidar prims below a robot's base, and where they sit on it.

    Args:
        stage: The stage.
        base: The prim whose frame is the base frame.
    """
    units = stage_units(stage)
    back = np.linalg.inv(_pose_matrix(units, base))
    mounts = []
    for prim in Usd.PrimRange(base, Usd.TraverseInstanceProxies()):
        if prim.GetTypeName() != "OmniLidar":
            continue
        # A frame on the base: first its own turn, then where it sits.
        pose = back @ _pose_matrix(units, prim)
        x, y, z = (round(float(value), 9) + 0.0 for value in pose[:3, 3])
        roll, pitch, yaw = (round(angle, 12) + 0.0 for angle in _roll_pitch_yaw(pose[:3, :3]))
        mounts.append(
            LidarMount(
                profile=lidar_profile(prim),
                name=str(prim.GetName()),
                x=x,
                y=y,
                z=z,
                roll=roll,
                pitch=pitch,
                yaw=yaw,
            )
        )
    return tuple(mounts)


def _pose_matrix(units: StageUnits, prim: Usd.Prim) -> NDArray[np.float64]:
    """Return a prim's pose in metres with z up, for column vectors, shape (4, 4)."""
    position, (x, y, z, w) = units.pose(local_to_world(prim))
    pose = np.eye(4)
    pose[:3, :3] = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    pose[:3, 3] = position
    return pose


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


def _roll_pitch_yaw(rotation: NDArray[np.float64]) -> tuple[float, float, float]:
    """Split a rotation for column vectors into turns about the fixed x, y and z axes."""
    pitch = math.asin(max(-1.0, min(1.0, -float(rotation[2, 0]))))
    if abs(rotation[2, 0]) > 1.0 - 1e-12:
        # Looking straight up or down, roll and yaw turn about one axis: all of it is yaw.
        return 0.0, pitch, math.atan2(-float(rotation[0, 1]), float(rotation[1, 1]))
    roll = math.atan2(float(rotation[2, 1]), float(rotation[2, 2]))
    yaw = math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))
    return roll, pitch, yaw
