"""The robots of a stage: where they start, what they are, what they carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.articulations import find_articulations, measure_robot
from irsim_isaac.stage.lidar import lidar_profile
from irsim_isaac.stage.names import GOAL_ATTRIBUTE, NAME_ATTRIBUTE, ROBOT_ATTRIBUTE
from irsim_isaac.stage.poses import planar_pose, pose_matrix, roll_pitch_yaw
from irsim_isaac.stage.robot_files import load_robot
from irsim_isaac.stage.units import stage_units
from irsim_isaac.stage.usd import Usd

__all__ = [
    "lidar_mounts",
    "robot_goals",
    "robot_specs",
    "robot_starts",
    "start_pose",
]

Pose: TypeAlias = tuple[float, float, float]


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
    """Return the robots of a stage: one for each start, one for each articulation on wheels.

    A start is a prim with the attribute ``irsim:robot``, which names a file of ``load_robot``, and
    perhaps ``irsim:name``, what the robot is called. An articulation is measured, and its
    ``prim_path`` is set. The OmniLidar prims below either are the robot's lidars, in the place
    of those in its file.

    Args:
        stage: The stage.
        robot: A robot, or the name of one, in the place of what the starts say.

    Raises:
        StageError: A robot is unknown, or two have one name.
    """
    specs = tuple(spec for spec, _ in _robots(stage, robot))
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise StageError(
                f"{stage.GetRootLayer().identifier}: two robots are called '{name}'; "
                f"give one of their prims the attribute {NAME_ATTRIBUTE}"
            )
    return specs


def robot_starts(stage: Usd.Stage) -> Mapping[str, Pose]:
    """Return where the robots of ``robot_specs`` start: x, y [m] and yaw [rad] by name.

    Of an articulation that is the base frame: between its driven wheels, which need not be the
    origin of one of its prims.
    """
    return {spec.name: start for spec, start in _robots(stage, None)}


def robot_goals(stage: Usd.Stage) -> Mapping[str, tuple[Pose, ...]]:
    """Return where robots are to go: x, y [m] and yaw [rad], by name, in the stage's order.

    A goal is a prim with the attribute ``irsim:goal_of``, the name of its robot.
    """
    goals: dict[str, tuple[Pose, ...]] = {}
    for prim in stage.Traverse():
        attribute = prim.GetAttribute(GOAL_ATTRIBUTE)
        if attribute.HasAuthoredValue():
            name = str(attribute.Get())
            goals[name] = (*goals.get(name, ()), planar_pose(stage, prim))
    return goals


def _robots(stage: Usd.Stage, robot: RobotSpec | str | None) -> list[tuple[RobotSpec, Pose]]:
    units = stage_units(stage)
    found = []
    for prim in _starts(stage):
        if isinstance(robot, RobotSpec):
            spec = robot
        else:
            spec = load_robot(robot or str(prim.GetAttribute(ROBOT_ATTRIBUTE).Get()))
        lidars = _mounts(stage, prim, pose_matrix(units, prim))
        name = prim.GetAttribute(NAME_ATTRIBUTE)
        spec = replace(
            spec,
            name=str(name.Get()) if name.HasAuthoredValue() else spec.name,
            lidars=lidars or spec.lidars,
        )
        found.append((spec, planar_pose(stage, prim)))
    for articulation in find_articulations(stage):
        measured = measure_robot(stage, articulation)
        if measured is None:
            continue
        spec, frame = measured
        root = stage.GetPrimAtPath(articulation.root)
        yaw = round(math.atan2(frame[1, 0], frame[0, 0]), 12) + 0.0
        x, y = (round(float(value), 9) + 0.0 for value in frame[:2, 3])
        found.append((replace(spec, lidars=_mounts(stage, root, frame)), (x, y, yaw)))
    return found


def _starts(stage: Usd.Stage) -> list[Usd.Prim]:
    return [
        prim
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
        if prim.GetAttribute(ROBOT_ATTRIBUTE).HasAuthoredValue()
    ]


def lidar_mounts(stage: Usd.Stage, base: Usd.Prim) -> tuple[LidarMount, ...]:
    """Return the OmniLidar prims below a robot's base, and where they sit on it.

    Args:
        stage: The stage.
        base: The prim whose frame is the base frame.
    """
    return _mounts(stage, base, pose_matrix(stage_units(stage), base))


def _mounts(stage: Usd.Stage, root: Usd.Prim, frame: NDArray[np.float64]) -> tuple[LidarMount, ...]:
    units = stage_units(stage)
    back = np.linalg.inv(frame)
    mounts = []
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
        if prim.GetTypeName() != "OmniLidar":
            continue
        pose = back @ pose_matrix(units, prim)
        x, y, z = (round(float(value), 9) + 0.0 for value in pose[:3, 3])
        roll, pitch, yaw = (round(angle, 12) + 0.0 for angle in roll_pitch_yaw(pose[:3, :3]))
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
