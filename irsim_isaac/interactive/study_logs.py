"""What a session of a study logged: its configuration and its placements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    Configuration,
    Item,
    PointOfInterest,
    Room,
    Surface,
)

__all__ = ["LevelPose", "LoggedPlacement", "read_configuration", "read_placement", "wrapped"]

_SEAM = 1e-9
"""How near half a turn is half a turn [rad]: composing poses must not turn one way into the
other."""


def wrapped(angle: float) -> float:
    """Return an angle in (-pi, pi]; what is within rounding of -pi is pi."""
    inside = math.remainder(angle, math.tau)
    return math.pi if inside < -math.pi + _SEAM else inside


@dataclass(frozen=True, slots=True)
class LevelPose:
    """A pose that is turned about z alone.

    Attributes:
        x: [m].
        y: [m].
        z: [m].
        yaw: [rad].
    """

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw: float = 0.0

    def __matmul__(self, other: LevelPose) -> LevelPose:
        """Return a pose in this one's frame as this one's parent sees it."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return LevelPose(
            self.x + c * other.x - s * other.y,
            self.y + s * other.x + c * other.y,
            self.z + other.z,
            wrapped(self.yaw + other.yaw),
        )

    def seen(self, other: LevelPose) -> LevelPose:
        """Return a pose of the same parent in this one's frame."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        dx, dy = other.x - self.x, other.y - self.y
        return LevelPose(
            c * dx + s * dy, c * dy - s * dx, other.z - self.z, wrapped(other.yaw - self.yaw)
        )

    def distance(self, other: LevelPose) -> float:
        """Return how far apart two origins are [m]."""
        return math.dist((self.x, self.y, self.z), (other.x, other.y, other.z))

    def message(self) -> Pose:
        """Return it as a message."""
        return Pose(Point(self.x, self.y, self.z), Quaternion.from_yaw(self.yaw))


@dataclass(frozen=True, slots=True)
class LoggedPlacement:
    """An item that was put down.

    Attributes:
        room: The name of the room.
        furniture: The name of the piece of furniture.
        furniture_pose: Where that stood, in its room.
        item: The name of the item.
        pose: Where it was put, in the frame of the furniture.
    """

    room: str
    furniture: str
    furniture_pose: LevelPose
    item: str
    pose: LevelPose


def read_configuration(entry: str) -> Configuration:
    """Read the entry of a log that says what the session's world was.

    Args:
        entry: JSON.

    Raises:
        InteractiveError: It is not the JSON of a configuration.
    """
    root = _object(_parsed(entry), "config")
    task = root.get("task", "")
    if not isinstance(task, str):
        raise InteractiveError(f"config.task: found {task!r}, expected a text")
    items = [
        Item(_name(value, where), *_size(value, where))
        for value, where in _objects(root, "objects", "config")
    ]
    rooms = []
    for room, in_room in _objects(root, "rooms", "config"):
        surfaces = []
        for piece, in_piece in _objects(room, "furniture", in_room):
            pois = [
                PointOfInterest(_name(poi, where), *_size(poi, where), _pose(poi, where).message())
                for poi, where in _objects(piece, "poi", in_piece, optional=True)
            ]
            surfaces.append(
                Surface(
                    _name(piece, in_piece),
                    *_size(piece, in_piece),
                    _pose(piece, in_piece).message(),
                    pois,
                )
            )
        rooms.append(
            Room(_name(room, in_room), *_size(room, in_room), _pose(room, in_room).message(),
                 surfaces)
        )  # fmt: skip
    return Configuration(task, items, rooms)


def read_placement(entry: str) -> LoggedPlacement:
    """Read the entry of a log that says where an item was put.

    Args:
        entry: JSON: a room that holds a piece of furniture that holds a surface that holds an
            object, each with its pose in the one before.

    Raises:
        InteractiveError: It is not the JSON of a placement.
    """
    room = _object(_parsed(entry), "place")
    furniture = _object(room.get("furniture"), "place.furniture")
    surface = _object(furniture.get("surface"), "place.furniture.surface")
    thing = _object(surface.get("object"), "place.furniture.surface.object")
    return LoggedPlacement(
        _name(room, "place"),
        _name(furniture, "place.furniture"),
        _pose(furniture, "place.furniture"),
        _name(thing, "place.furniture.surface.object"),
        _pose(surface, "place.furniture.surface") @ _pose(thing, "place.furniture.surface.object"),
    )


def _parsed(entry: str) -> Any:
    try:
        return json.loads(entry)
    except (ValueError, RecursionError) as error:
        raise InteractiveError(f"the entry is no JSON: {error}") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InteractiveError(f"{where}: found {_told(value)}, expected an object")
    return value


def _objects(
    parent: Mapping[str, Any], key: str, where: str, *, optional: bool = False
) -> list[tuple[Mapping[str, Any], str]]:
    values = parent.get(key, [] if optional else None)
    if not isinstance(values, list):
        raise InteractiveError(f"{where}.{key}: found {_told(values)}, expected a list")
    return [
        (_object(value, f"{where}.{key}[{index}]"), f"{where}.{key}[{index}]")
        for index, value in enumerate(values)
    ]


def _name(value: Mapping[str, Any], where: str) -> str:
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InteractiveError(f"{where}.name: found {_told(name)}, expected a name")
    return name


def _number(value: Mapping[str, Any], key: str, where: str) -> float:
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InteractiveError(f"{where}.{key}: found {_told(number)}, expected a number")
    try:
        finite = float(number)
    except OverflowError:
        finite = math.inf
    if not math.isfinite(finite):
        raise InteractiveError(f"{where}.{key}: found {finite}, expected a finite number")
    return finite


def _size(value: Mapping[str, Any], where: str) -> tuple[float, float]:
    return _number(value, "width", where), _number(value, "height", where)


def _pose(value: Mapping[str, Any], where: str) -> LevelPose:
    position = _object(value.get("position"), f"{where}.position")
    x, y, z = (_number(position, axis, f"{where}.position") for axis in "xyz")
    return LevelPose(x, y, z, wrapped(_number(value, "rotation", where)))


def _told(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
