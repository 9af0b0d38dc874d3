"""The world of the simulator tests: a room, a crate, a robot; as a stage and as an IR-SIM world.

The room is 12 m x 8 m about the origin, its walls are 0.2 m thick and 1 m high. The crate, a
cube of 0.6 m, stands at (3, 2). The robot starts at the origin and looks along x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import (
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from irsim_isaac.robot import Kinematics, LidarMount, RobotSpec

HALF_LENGTH, HALF_WIDTH = 6.0, 4.0
CRATE = (3.0, 2.0)
CRATE_SIZE = 0.6
FRONT = 0.25
LIDAR_HEIGHT = 0.3
STARTS = {"robot": (0.0, 0.0, 0.0)}

PROFILE = LidarProfile.fan(
    "test", 37, -math.pi / 2, math.pi / 2, range_min=0.05, range_max=8.0, range_accuracy=0.02
)


def robot(
    name: str = "robot",
    kinematics: Kinematics = "diff",
    *,
    lidars: bool = True,
    **fields: Any,
) -> RobotSpec:
    """Return the robot of the tests, 0.5 m x 0.4 m."""
    outline = ((-FRONT, -0.2), (FRONT, -0.2), (FRONT, 0.2), (-FRONT, 0.2))
    given: dict[str, Any] = {
        "footprint": outline,
        "wheelbase": 0.3 if kinematics == "acker" else None,
        "lidars": (LidarMount(PROFILE, z=LIDAR_HEIGHT),) if lidars else (),
        **fields,
    }
    return RobotSpec(name, kinematics=kinematics, **given)


def cube(
    stage: Usd.Stage,
    path: str,
    centre: tuple[float, float, float],
    size: tuple[float, float, float],
    *,
    unit: float = 1.0,
    y_up: bool = False,
) -> Usd.Prim:
    """Write a box with a collider, given in metres with z up."""
    shape = UsdGeom.Cube.Define(stage, path)
    shape.CreateSizeAttr(1.0)
    x, y, z = (value / unit for value in centre)
    dx, dy, dz = (value / unit for value in size)
    shape.AddTranslateOp().Set(Gf.Vec3d(x, z, -y) if y_up else Gf.Vec3d(x, y, z))
    shape.AddScaleOp().Set(Gf.Vec3f(dx, dz, dy) if y_up else Gf.Vec3f(dx, dy, dz))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return shape.GetPrim()


def write_stage(
    path: Path,
    *,
    unit: float = 1.0,
    y_up: bool = False,
    crate: bool = True,
    kinematic: bool = False,
    walls: bool = True,
) -> Path:
    """Write the room as a stage of any unit and up axis."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Y" if y_up else "Z")
    UsdGeom.SetStageMetersPerUnit(stage, unit)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/physics")
    units = {"unit": unit, "y_up": y_up}
    cube(stage, "/ground", (0.0, 0.0, -0.5), (60.0, 60.0, 1.0), **units)
    length, width = 2 * HALF_LENGTH, 2 * HALF_WIDTH
    if walls:
        for name, centre, size in (
            ("east", (HALF_LENGTH + 0.1, 0.0, 0.5), (0.2, width + 0.4, 1.0)),
            ("west", (-HALF_LENGTH - 0.1, 0.0, 0.5), (0.2, width + 0.4, 1.0)),
            ("north", (0.0, HALF_WIDTH + 0.1, 0.5), (length + 0.4, 0.2, 1.0)),
            ("south", (0.0, -HALF_WIDTH - 0.1, 0.5), (length + 0.4, 0.2, 1.0)),
        ):
            cube(stage, f"/walls/{name}", centre, size, **units)
    if crate:
        prim = cube(stage, "/crate", (*CRATE, CRATE_SIZE / 2), (CRATE_SIZE,) * 3, **units)
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        body.CreateKinematicEnabledAttr(kinematic)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(5.0)
    stage.Save()
    return path


def write_world(
    path: Path,
    robots: Sequence[RobotSpec],
    *,
    collision_mode: str = "stop",
    starts: dict[str, tuple[float, float, float]] | None = None,
    size: float = 60.0,
    room: bool = True,
    noise: bool = False,
) -> Path:
    """Write the room as a world of IR-SIM."""
    starts = STARTS if starts is None else starts
    x, y = HALF_LENGTH, HALF_WIDTH
    obstacles: list[dict[str, Any]] = []
    if room:
        corners = [[-x, -y], [x, -y], [x, y], [-x, y], [-x, -y]]
        obstacles.append(
            {
                "name": "walls",
                "kinematics": {"name": "static"},
                "shape": {"name": "linestring", "vertices": corners},
                "state": [0.0, 0.0, 0.0],
            }
        )
        obstacles.append(
            {
                "name": "crate",
                "mass": 5.0,
                "shape": {"name": "rectangle", "length": CRATE_SIZE, "width": CRATE_SIZE},
                "state": [*CRATE, 0.0],
            }
        )
    sections = []
    for spec in robots:
        section: dict[str, Any] = {
            "name": spec.name,
            "kinematics": {"name": spec.kinematics},
            "shape": {"name": "polygon", "vertices": [list(p) for p in spec.footprint]},
            "state": list(starts[spec.name]),
            "mass": spec.mass,
        }
        v, w = spec.max_linear_speed, spec.max_angular_speed
        limits = {"diff": [v, w], "omni": [v, v], "omni_angular": [v, v, w]}.get(spec.kinematics)
        if spec.kinematics == "acker":
            section["kinematics"]["wheelbase"] = spec.wheelbase
            section["state"].append(0.0)
            limits = [v, math.atan2(w * spec.wheelbase, v)]
        section["vel_max"] = limits
        section["vel_min"] = [-limit for limit in limits]
        if spec.lidars:
            section["sensors"] = [mount.profile.to_irsim(noise=noise) for mount in spec.lidars]
        sections.append(section)
    content: dict[str, Any] = {
        "world": {
            "width": size,
            "height": size,
            "offset": [-size / 2, -size / 2],
            "step_time": 0.1,
            "collision_mode": collision_mode,
        },
        "robot": sections,
    }
    if obstacles:
        content["obstacle"] = obstacles
    path.write_text(yaml.safe_dump(content))
    return path


def twist(forward: float = 0.0, turn: float = 0.0, left: float = 0.0) -> Twist:
    return Twist(Vector3(forward, left, 0.0), Vector3(0.0, 0.0, turn))


def odometry(
    x: float, y: float, yaw: float = 0.0, *, z: float = 0.0, motion: Twist | None = None
) -> Odometry:
    return Odometry(
        pose=PoseWithCovariance(Pose(Point(x, y, z), Quaternion.from_yaw(yaw))),
        twist=TwistWithCovariance(motion or Twist()),
    )
