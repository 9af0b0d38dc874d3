"""What a stage shows at a time, as a state of the world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.msg import (
    Header,
    ObjectState,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
    WorldState,
)
from irsim_isaac.robot import RobotSpec
from irsim_isaac.stage.geometry import read_geometry
from irsim_isaac.stage.names import ROBOT_ATTRIBUTE
from irsim_isaac.stage.obstacles import Obstacle, Obstacles, read_obstacles
from irsim_isaac.stage.poses import local_to_world
from irsim_isaac.stage.robots import robot_specs, robot_starts
from irsim_isaac.stage.units import StageUnits, quaternion_xyzw, stage_units
from irsim_isaac.stage.usd import Gf, Usd, UsdGeom, UsdPhysics

__all__ = ["object_state", "world_state"]


def world_state(
    stage: Usd.Stage,
    *,
    time: float | None = None,
    seq: int = 0,
    step_time: float = 0.0,
    obstacles: Obstacles | None = None,
    frame_id: str = "world",
) -> WorldState:
    """Return a stage at a time as a state: its robots, then its obstacles.

    Poses are in metres with z up, whatever the stage's units and up axis; velocities, of the
    bodies that have one, are in the body's own frame. There are no scans and no contacts in a
    stage.

    Args:
        stage: The stage.
        time: The time on its timeline [s]; None for what holds without one, stamped zero.
        seq: The count of the headers.
        step_time: What the state says of the step [s].
        obstacles: What :func:`read_obstacles` gave, to read it once for many times.
        frame_id: The frame of the poses.

    Raises:
        StageError: A robot of the stage is unknown, or two have one name.
    """
    specs = robot_specs(stage)
    starts = robot_starts(stage)
    places = _robot_prims(stage, specs)
    if obstacles is None:
        skip = [spec.prim_path for spec in specs if spec.prim_path is not None]
        obstacles = read_obstacles(stage, read_geometry(stage), skip=skip)
    header = Header(seq, time or 0.0, frame_id)
    objects = [
        _robot(stage, spec, prim, starts[spec.name], number, header, time)
        for number, (spec, prim) in enumerate(zip(specs, places, strict=True))
    ]
    objects += [
        _obstacle(stage, item, len(specs) + number, header, time)
        for number, item in enumerate(obstacles.obstacles)
    ]
    identifier = stage.GetRootLayer().GetDisplayName()
    return WorldState(_copy(header), identifier, "Running", step_time, objects)


def object_state(
    stage: Usd.Stage,
    name: str,
    *,
    time: float | None = None,
    seq: int = 0,
    obstacles: Obstacles | None = None,
    frame_id: str = "world",
) -> ObjectState:
    """Return one object of :func:`world_state`.

    Args:
        stage: The stage.
        name: The object's name.
        time: As in :func:`world_state`.
        seq: As in :func:`world_state`.
        obstacles: As in :func:`world_state`.
        frame_id: As in :func:`world_state`.

    Raises:
        KeyError: The stage has no object of that name.
    """
    state = world_state(stage, time=time, seq=seq, obstacles=obstacles, frame_id=frame_id)
    for item in state.objects:
        if item.name == name:
            return item
    names = ", ".join(item.name for item in state.objects)
    raise KeyError(f"no object is named '{name}'; objects: {names}")


def _robot_prims(stage: Usd.Stage, specs: tuple[RobotSpec, ...]) -> list[Usd.Prim]:
    """Return the prim of each robot: its own, or where it starts, in the order of the specs."""
    starting = iter(
        prim
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
        if prim.GetAttribute(ROBOT_ATTRIBUTE).HasAuthoredValue()
    )
    return [
        next(starting) if spec.prim_path is None else stage.GetPrimAtPath(spec.prim_path)
        for spec in specs
    ]


def _code(stage: Usd.Stage, time: float | None) -> Usd.TimeCode:
    if time is None:
        return Usd.TimeCode.Default()
    return Usd.TimeCode(time * stage.GetTimeCodesPerSecond())


def _matrix(units: StageUnits, prim: Usd.Prim, code: Usd.TimeCode) -> NDArray[np.float64]:
    """Return a prim's pose at a time, scale taken out, for column vectors, shape (4, 4)."""
    xform = UsdGeom.Xformable(prim)
    placed = xform.ComputeLocalToWorldTransform(code) if xform else local_to_world(prim)
    (x, y, z), (qx, qy, qz, qw) = units.pose(placed)
    matrix = np.eye(4)
    matrix[:3, :3] = np.array(Gf.Matrix3d(Gf.Quatd(qw, qx, qy, qz))).T
    matrix[:3, 3] = x, y, z
    return matrix


def _planar(x: float, y: float, yaw: float) -> NDArray[np.float64]:
    c, s = math.cos(yaw), math.sin(yaw)
    matrix = np.eye(4)
    matrix[:2, :2] = (c, -s), (s, c)
    matrix[:2, 3] = x, y
    return matrix


def _moved(
    stage: Usd.Stage, prim: Usd.Prim, pose: tuple[float, float, float], time: float | None
) -> NDArray[np.float64]:
    """Return where a frame that is fixed to a prim lies at a time.

    Args:
        stage: The stage.
        prim: What carries the frame.
        pose: The frame where no time is given: x, y [m] and yaw [rad].
        time: The time [s], or None.
    """
    frame = _planar(*pose)
    if time is None or not prim:
        return frame
    units = stage_units(stage)
    rest = _matrix(units, prim, Usd.TimeCode.Default())
    now: NDArray[np.float64] = _matrix(units, prim, _code(stage, time)) @ np.linalg.inv(rest)
    return now @ frame


def _velocity(
    stage: Usd.Stage, prim: Usd.Prim, time: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a body's linear [m/s] and angular [rad/s] velocity in the world, z up."""
    zero = np.zeros(3)
    if not prim or not prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return zero, zero
    body, code, units = UsdPhysics.RigidBodyAPI(prim), _code(stage, time), stage_units(stage)
    linear = body.GetVelocityAttr().Get(code) or zero
    turning = body.GetAngularVelocityAttr().Get(code) or zero
    return np.array(units.point(*linear)), np.radians(np.array(turning) @ units.rotation)


def _odometry(
    frame: NDArray[np.float64],
    velocity: tuple[NDArray[np.float64], NDArray[np.float64]],
    name: str,
    header: Header,
) -> Odometry:
    rotation = Gf.Matrix4d(1.0)
    rotation.SetRotateOnly(Gf.Matrix3d(frame[:3, :3].T.tolist()))
    linear, angular = (values @ frame[:3, :3] for values in velocity)
    return Odometry(
        _copy(header),
        f"{name}/base_link",
        PoseWithCovariance(
            Pose(
                Point(*map(float, frame[:3, 3])),
                Quaternion(*quaternion_xyzw(rotation.ExtractRotationQuat())),
            )
        ),
        TwistWithCovariance(Twist(Vector3(*map(float, linear)), Vector3(*map(float, angular)))),
    )


def _copy(header: Header) -> Header:
    return Header(header.seq, header.stamp, header.frame_id)


def _robot(
    stage: Usd.Stage,
    spec: RobotSpec,
    prim: Usd.Prim,
    start: tuple[float, float, float],
    number: int,
    header: Header,
    time: float | None,
) -> ObjectState:
    frame = _moved(stage, prim, start, time)
    shape = "circle" if isinstance(spec.footprint, (int, float)) else "polygon"
    odom = _odometry(frame, _velocity(stage, prim, time), spec.name, header)
    return _state(spec.name, "robot", spec.kinematics, shape, odom, number, header, static=False)


def _obstacle(
    stage: Usd.Stage, item: Obstacle, number: int, header: Header, time: float | None
) -> ObjectState:
    prim: Any = stage.GetPrimAtPath(item.prim_path)
    frame = _moved(stage, prim, item.pose, time)
    shape = "circle" if item.radius is not None else "polygon" if item.polygons else "linestring"
    odom = _odometry(frame, _velocity(stage, prim, time), item.name, header)
    return _state(item.name, "obstacle", None, shape, odom, number, header, static=not item.moving)


def _state(
    name: str,
    role: str,
    kinematics: str | None,
    shape: str,
    odom: Odometry,
    number: int,
    header: Header,
    *,
    static: bool,
) -> ObjectState:
    return ObjectState(
        _copy(header),
        number,
        name,
        role,
        kinematics,
        shape,
        odom,
        None,
        None,
        static,
        False,
        False,
    )
