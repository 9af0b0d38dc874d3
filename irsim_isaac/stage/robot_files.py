"""Robots that travel with the package, and the YAML that describes one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from irsim_isaac.errors import StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.resources import resource
from irsim_isaac.robot import Footprint, LidarMount, RobotSpec

__all__ = ["load_robot", "robot_names"]

_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Limit = Annotated[float, Field(gt=0.0)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Point = tuple[_Number, _Number]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Circle(_Section):
    radius: _Positive


class _Rectangle(_Section):
    length: _Positive
    width: _Positive
    center: _Point = (0.0, 0.0)


class _Polygon(_Section):
    vertices: Annotated[tuple[_Point, ...], Field(min_length=3)]


class _Mount(_Section):
    profile: str
    name: str = "lidar"
    frame_id: str = ""
    x: _Number = 0.0
    y: _Number = 0.0
    z: _Number = 0.0
    roll: _Number = 0.0
    pitch: _Number = 0.0
    yaw: _Number = 0.0


class _Robot(_Section):
    name: str
    source: str = ""
    kinematics: Literal["diff", "omni", "omni_angular", "acker"] = "diff"
    footprint: _Circle | _Rectangle | _Polygon
    height: _Positive
    wheel_radius: _Positive
    track: _Positive
    wheelbase: _Positive | None = None
    mass: _Positive
    max_linear_speed: _Limit
    max_angular_speed: _Limit
    max_linear_acceleration: _Limit = float("inf")
    max_angular_acceleration: _Limit = float("inf")
    lidars: tuple[_Mount, ...] = ()


def robot_names() -> tuple[str, ...]:
    """Return the names of the robots that travel with the package."""
    return tuple(sorted(path.stem for path in resource("config/robots").glob("*.yaml")))


def load_robot(source: str | os.PathLike[str]) -> RobotSpec:
    """Read a robot from a file.

    Args:
        source: A name that ``robot_names`` lists, or the path of such a YAML file.

    Raises:
        StageError: There is no such robot, or the file is not what it must be.
    """
    path = Path(source)
    if path.suffix == "" and not path.exists():
        names = robot_names()
        if os.fspath(source) not in names:
            raise StageError(f"there is no robot '{source}'; there are: {', '.join(names)}")
        path = resource(f"config/robots/{source}.yaml")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StageError(f"{path}: {error.strerror}, a robot file was expected") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise StageError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise StageError(
            f"{path}: keys and values of a robot were expected, found {type(content).__name__}"
        )
    try:
        robot = _Robot.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"]) or "the file"
        raise StageError(f"{path}: {key}: {first['msg']}") from error
    if robot.kinematics == "acker" and robot.wheelbase is None:
        raise StageError(f"{path}: wheelbase: an 'acker' robot needs one")
    return RobotSpec(
        name=robot.name,
        kinematics=robot.kinematics,
        footprint=_footprint(robot.footprint),
        height=robot.height,
        wheel_radius=robot.wheel_radius,
        track=robot.track,
        wheelbase=robot.wheelbase,
        mass=robot.mass,
        max_linear_speed=robot.max_linear_speed,
        max_angular_speed=robot.max_angular_speed,
        max_linear_acceleration=robot.max_linear_acceleration,
        max_angular_acceleration=robot.max_angular_acceleration,
        lidars=tuple(
            LidarMount(
                profile=LidarProfile.load(mount.profile),
                name=mount.name,
                frame_id=mount.frame_id,
                x=mount.x,
                y=mount.y,
                z=mount.z,
                roll=mount.roll,
                pitch=mount.pitch,
                yaw=mount.yaw,
            )
            for mount in robot.lidars
        ),
    )


def _footprint(shape: _Circle | _Rectangle | _Polygon) -> Footprint:
    if isinstance(shape, _Circle):
        return shape.radius
    if isinstance(shape, _Polygon):
        return shape.vertices
    x, y = shape.center
    a, b = shape.length / 2.0, shape.width / 2.0
    corners = ((x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b))
    return tuple((round(px, 9), round(py, 9)) for px, py in corners)
