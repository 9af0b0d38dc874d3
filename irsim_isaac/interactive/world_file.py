"""Worlds as YAML: ours, and the lists of rooms of the original software."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from irsim_isaac.errors import InteractiveError
from irsim_isaac.files import write_text
from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    Door,
    ItemPlace,
    NavGoal,
    PlacementSurface,
    PoiPlace,
    RoomPlace,
    SurfacePlace,
    WorldModel,
    from_matrix,
    to_matrix,
)

__all__ = ["read_world_model", "write_world_model"]

Frames = Mapping[str, Pose] | Callable[[str], Pose]


def read_world_model(
    path: str | os.PathLike[str],
    *,
    frames: Mapping[str, Pose] | Callable[[str], Pose] | None = None,
) -> WorldModel:
    """Read a world from YAML.

    A mapping is ours: every object has its ``pose`` in its parent's frame. Where poses are
    missing, and in the original software's list of rooms, they come from ``frames``.

    Args:
        path: The file.
        frames: Where each frame lies in the fixed frame, or a function that tells and raises
            KeyError for a frame that it does not know. A file may bring its own as ``frames``.

    Returns:
        The world.

    Raises:
        InteractiveError: The file is missing, no YAML, or not a world; the key is named.
    """
    source = Path(path)
    try:
        content = yaml.safe_load(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InteractiveError(f"{source}: {error.strerror}; a world file was expected") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InteractiveError(f"{source}: no YAML: {' '.join(str(error).split())}") from error
    return _Reader(str(source), frames).read(content)


class _Reader:
    def __init__(self, source: str, frames: Frames | None) -> None:
        self.source = source
        self.frames = frames
        self.legacy = False

    def fail(self, where: str, found: object, expected: str) -> InteractiveError:
        return InteractiveError(f"{self.source}: {where}: found {found!r:.80}, expected {expected}")

    def read(self, content: Any) -> WorldModel:
        if isinstance(content, list):
            self.legacy = True
            content = {"rooms": content}
        if not isinstance(content, dict):
            raise self.fail("the root", content, "a mapping, or a list of rooms")
        if self.frames is None and "frames" in content:
            table = self.mapping(content["frames"], "frames")
            self.frames = {
                name: self.pose_value(value, f"frames.{name}") for name, value in table.items()
            }
        fixed = content.get("fixed_frame", content.get("fixed_frame_id", "map"))
        self.legacy = self.legacy or "fixed_frame_id" in content
        rooms = [
            self.room(entry, f"rooms[{index}]")
            for index, entry in enumerate(self.sequence(content.get("rooms"), "rooms"))
        ]
        return WorldModel(
            tuple(rooms),
            tuple(
                self.item(entry, f"items[{index}]")
                for index, entry in enumerate(self.sequence(content.get("items"), "items"))
            ),
            tuple(
                self.door(entry, f"doors[{index}]")
                for index, entry in enumerate(self.sequence(content.get("doors"), "doors"))
            ),
            str(content.get("task") or ""),
            str(fixed),
        )

    def room(self, entry: Any, where: str) -> RoomPlace:
        data = self.mapping(entry, where)
        frame = self.text(data, "frame_id", where)
        world = self.pose(data, where, np.eye(4))
        width, height = self.size(data, where)
        area = data.get("area")
        return RoomPlace(
            self.text(data, "name", where),
            frame,
            from_matrix(world),
            width,
            height,
            tuple(
                self.surface(item, f"{where}.surfaces[{index}]", world)
                for index, item in enumerate(self.sequence(data.get("surfaces"), where))
            ),
            tuple(
                (self.number(corner[0], where), self.number(corner[1], where))
                for corner in self.sequence(data.get("outline"), f"{where}.outline")
            ),
            None if area is None else self.number(area, f"{where}.area"),
        )

    def surface(self, entry: Any, where: str, room: Any) -> SurfacePlace:
        data = self.mapping(entry, where)
        pose = self.pose(data, where, room)
        world = room @ pose
        width, height = self.size(data, where)
        aliases = self.sequence(data.get("aliases"), f"{where}.aliases")
        return SurfacePlace(
            self.text(data, "name", where),
            self.text(data, "frame_id", where),
            from_matrix(pose),
            width,
            height,
            tuple(str(alias) for alias in aliases),
            tuple(
                self.placement(item, f"{where}.placement_surfaces[{index}]", world, room)
                for index, item in enumerate(self.sequence(data.get("placement_surfaces"), where))
            ),
            tuple(
                self.poi(item, f"{where}.pois[{index}]", world)
                for index, item in enumerate(self.sequence(data.get("pois"), where))
            ),
        )

    def placement(self, entry: Any, where: str, surface: Any, room: Any) -> PlacementSurface:
        data = self.mapping(entry, where)
        width, height = self.size(data, where)
        return PlacementSurface(
            self.text(data, "frame_id", where),
            from_matrix(self.pose(data, where, surface)),
            str(data.get("name") or ""),
            width,
            height,
            self.nav_goal(data, where, room),
        )

    def nav_goal(self, data: Mapping[str, Any], where: str, room: Any) -> NavGoal | None:
        if data.get("nav_frame_id"):
            # There a robot faces along the y axis of the frame.
            entry: Mapping[str, Any] = {
                "frame_id": data["nav_frame_id"],
                "yaw_offset": math.pi / 2.0,
            }
        elif data.get("nav_goal"):
            entry = self.mapping(data["nav_goal"], f"{where}.nav_goal")
        else:
            return None
        return NavGoal(
            self.text(entry, "frame_id", where),
            from_matrix(self.pose(entry, f"{where}.nav_goal", room)),
            self.number(entry.get("yaw_offset", 0.0), f"{where}.nav_goal.yaw_offset"),
            str(entry.get("name") or ""),
        )

    def poi(self, entry: Any, where: str, surface: Any) -> PoiPlace:
        data = self.mapping(entry, where)
        width, height = self.size(data, where)
        return PoiPlace(
            self.text(data, "name", where),
            self.text(data, "frame_id", where),
            from_matrix(self.pose(data, where, surface)),
            width,
            height,
        )

    def item(self, entry: Any, where: str) -> ItemPlace:
        data = self.mapping(entry, where)
        width, height = self.size(data, where)
        pose = from_matrix(self.pose(data, where, np.eye(4)))
        bottom, top = (
            None if data.get(key) is None else self.number(data[key], f"{where}.{key}")
            for key in ("bottom", "top")
        )
        return ItemPlace(
            self.text(data, "name", where),
            str(data.get("frame_id") or data["name"]),
            pose,
            width,
            height,
            bottom,
            top,
        )

    def door(self, entry: Any, where: str) -> Door:
        data = self.mapping(entry, where)
        beside, at = data.get("rooms"), data.get("position")
        if not (isinstance(beside, list) and len(beside) == 2):
            raise self.fail(f"{where}.rooms", beside, "the frames of two rooms")
        if not (isinstance(at, list) and len(at) == 2):
            raise self.fail(f"{where}.position", at, "x and y in metres")
        return Door(
            (str(beside[0]), str(beside[1])),
            (self.number(at[0], where), self.number(at[1], where)),
            self.number(data.get("yaw", 0.0), f"{where}.yaw"),
            self.number(data.get("width", 0.0), f"{where}.width"),
        )

    def size(self, data: Mapping[str, Any], where: str) -> tuple[float, float]:
        """Return width and height along y; the successor's files say depth for that."""
        width = self.number(data.get("width", 0.0), f"{where}.width")
        along_y = data.get("depth", data.get("height", 0.0))
        height = self.number(along_y, f"{where}.height")
        if width < 0.0 or height < 0.0:
            raise self.fail(where, (width, height), "lengths that are not negative")
        return width, height

    def pose(self, data: Mapping[str, Any], where: str, parent: Any) -> Any:
        """Return an object's pose in its parent's frame, as a matrix."""
        if "pose" in data:
            return to_matrix(self.pose_value(data["pose"], f"{where}.pose"))
        frame = str(data.get("frame_id"))
        if self.frames is None:
            if not self.legacy and data.get("name") == "":
                return np.eye(4)
            raise self.fail(where, frame, "a pose, or frames that tell where its frame is")
        try:
            found = self.frames(frame) if callable(self.frames) else self.frames[frame]
        except KeyError:
            raise self.fail(where, frame, "a frame that is known") from None
        return np.linalg.inv(parent) @ to_matrix(found)

    def pose_value(self, value: Any, where: str) -> Pose:
        data = self.mapping(value, where)
        xyz = data.get("xyz", [0.0, 0.0, 0.0])
        if not (isinstance(xyz, list) and len(xyz) == 3):
            raise self.fail(f"{where}.xyz", xyz, "three numbers of metres")
        position = Point(*(self.number(part, f"{where}.xyz") for part in xyz))
        if "quaternion" not in data:
            yaw = self.number(data.get("yaw", 0.0), f"{where}.yaw")
            return Pose(position, Quaternion.from_yaw(yaw))
        turn = data["quaternion"]
        if not (isinstance(turn, list) and len(turn) == 4):
            raise self.fail(f"{where}.quaternion", turn, "x, y, z, w")
        pose = Pose(position, Quaternion(*(self.number(part, where) for part in turn)))
        try:
            to_matrix(pose)
        except ValueError as error:
            raise self.fail(f"{where}.quaternion", turn, "a turn, not zero") from error
        return pose

    def mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(where, value, "a mapping")
        return value

    def sequence(self, value: Any, where: str) -> Sequence[Any]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.fail(where, value, "a list")
        return value

    def text(self, data: Mapping[str, Any], key: str, where: str) -> str:
        value = data.get(key)
        if not isinstance(value, str):
            raise self.fail(f"{where}.{key}", value, "text")
        return value

    def number(self, value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(where, value, "a number")
        if not math.isfinite(value):
            raise self.fail(where, value, "a finite number")
        return float(value)


def write_world_model(model: WorldModel, path: str | os.PathLike[str]) -> None:
    """Write a world as YAML that :func:`read_world_model` reads back without loss.

    Args:
        model: The world; where its prims were and what could not be read is not written.
        path: The file.
    """
    content: dict[str, Any] = {"fixed_frame": model.fixed_frame, "task": model.task}
    content["rooms"] = [_room(room) for room in model.rooms]
    content["items"] = [
        _slim(
            name=item.name,
            frame_id=item.frame_id,
            pose=_pose(item.pose),
            width=item.width,
            height=item.height,
            bottom=item.bottom,
            top=item.top,
        )
        for item in model.items
    ]
    content["doors"] = [
        {
            "rooms": list(door.rooms),
            "position": list(door.position),
            "yaw": door.yaw,
            "width": door.width,
        }
        for door in model.doors
    ]
    write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _room(room: RoomPlace) -> dict[str, Any]:
    return _slim(
        name=room.name,
        frame_id=room.frame_id,
        pose=_pose(room.pose),
        width=room.width,
        height=room.height,
        outline=[list(corner) for corner in room.outline] or None,
        area=room.area,
        surfaces=[
            _slim(
                name=surface.name,
                frame_id=surface.frame_id,
                pose=_pose(surface.pose),
                width=surface.width,
                height=surface.height,
                aliases=list(surface.aliases) or None,
                placement_surfaces=[_placement(part) for part in surface.placements] or None,
                pois=[
                    _slim(
                        name=poi.name,
                        frame_id=poi.frame_id,
                        pose=_pose(poi.pose),
                        width=poi.width,
                        height=poi.height,
                    )
                    for poi in surface.pois
                ]
                or None,
            )
            for surface in room.surfaces
        ]
        or None,
    )


def _placement(part: PlacementSurface) -> dict[str, Any]:
    goal = part.nav_goal
    return _slim(
        name=part.name or None,
        frame_id=part.frame_id,
        pose=_pose(part.pose),
        width=part.width,
        height=part.height,
        nav_goal=None
        if goal is None
        else _slim(
            name=goal.name or None,
            frame_id=goal.frame_id,
            pose=_pose(goal.pose),
            yaw_offset=goal.yaw_offset,
        ),
    )


def _slim(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _pose(pose: Pose) -> dict[str, Any]:
    at, turn = pose.position, pose.orientation
    told: dict[str, Any] = {"xyz": [at.x, at.y, at.z]}
    if turn.x == 0.0 and turn.y == 0.0:
        told["yaw"] = turn.to_yaw()
    else:
        told["quaternion"] = [turn.x, turn.y, turn.z, turn.w]
    return told
