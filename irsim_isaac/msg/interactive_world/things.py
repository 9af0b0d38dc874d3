"""Rooms, surfaces, points of interest, items, and where items are put."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irsim_isaac.msg.geometry import Point, Pose
from irsim_isaac.msg.interactive_world.described import many, number, part, text
from irsim_isaac.msg.message import Message

__all__ = [
    "Configuration",
    "Item",
    "Model",
    "Placement",
    "PlacementSet",
    "PointOfInterest",
    "Room",
    "Surface",
    "TaskModels",
    "TaskTrainingData",
]


@dataclass(slots=True, eq=False)
class Item(Message):
    """A thing that can be carried, with its size along x and y [m]."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Item"

    name: str = text("what it is called")
    width: float = number("along its x axis [m]")
    height: float = number("along its y axis [m]")


@dataclass(slots=True, eq=False)
class PointOfInterest(Message):
    """A place on or at a piece of furniture, such as a chair at a table."""

    ros_type: ClassVar[str] = "interactive_world_msgs/PointOfInterest"

    name: str = text("what it is called; several may share a name")
    width: float = number("along its x axis [m]")
    height: float = number("along its y axis [m]")
    pose: Pose = part(Pose, "in the frame of its furniture")


@dataclass(slots=True, eq=False)
class Surface(Message):
    """A piece of furniture that items are put on; its origin is the middle of its rectangle."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Surface"

    name: str = text("what it is called")
    width: float = number("along its x axis [m]")
    height: float = number("along its y axis [m]")
    pose: Pose = part(Pose, "in the frame of its room")
    pois: list[PointOfInterest] = many("the points of interest on it")


@dataclass(slots=True, eq=False)
class Room(Message):
    """A room with its surfaces."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Room"

    name: str = text("what it is called")
    width: float = number("along its x axis [m]")
    height: float = number("along its y axis [m]")
    pose: Pose = part(Pose, "in the world")
    surfaces: list[Surface] = many("the surfaces in it")


@dataclass(slots=True, eq=False)
class Configuration(Message):
    """A world for a task: its items and its rooms."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Configuration"

    task: str = text("what is to be done")
    items: list[Item] = many("the items of the task")
    rooms: list[Room] = many("the rooms of the world")


@dataclass(slots=True, eq=False)
class Placement(Message):
    """An item put somewhere, told in a frame of reference."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Placement"

    item: Item = part(Item, "what was put there")
    room: Room = part(Room, "the room it was put in")
    surface: Surface = part(Surface, "the surface it was put on")
    reference_frame_id: str = text("the frame of the position and the rotation")
    position: Point = part(Point, "where it was put [m]")
    rotation: float = number("about z [rad]")


@dataclass(slots=True, eq=False)
class PlacementSet(Message):
    """All placements of one item on one surface in one frame of reference."""

    ros_type: ClassVar[str] = "interactive_world_msgs/PlacementSet"

    item: Item = part(Item, "what was put there")
    room: Room = part(Room, "the room it was put in")
    surface: Surface = part(Surface, "the surface it was put on")
    reference_frame_id: str = text("the frame of all placements")
    placements: list[Placement] = many("the placements")


@dataclass(slots=True, eq=False)
class TaskTrainingData(Message):
    """All placements that a task's models are learned from."""

    ros_type: ClassVar[str] = "interactive_world_msgs/TaskTrainingData"

    data: list[PlacementSet] = many("one set for each item, surface and frame")


@dataclass(slots=True, eq=False)
class Model(Message):
    """Where an item belongs: the mean of a cluster of placements and its spread."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Model"

    placement: Placement = part(Placement, "the mean placement")
    decision_value: float = number("how scattered the placements are; the least is the best")
    sigma_x: float = number("standard deviation of x [m]")
    sigma_y: float = number("standard deviation of y [m]")
    sigma_z: float = number("standard deviation of z [m]")
    sigma_theta: float = number("standard deviation of the rotation [rad]")


@dataclass(slots=True, eq=False)
class TaskModels(Message):
    """The models that were learned for one task."""

    ros_type: ClassVar[str] = "interactive_world_msgs/TaskModels"

    models: list[Model] = many("the models")
