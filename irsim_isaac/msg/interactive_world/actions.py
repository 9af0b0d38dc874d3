"""The actions, each a class with its ``Goal``, its ``Result`` and its ``Feedback``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irsim_isaac.msg.geometry import Point
from irsim_isaac.msg.interactive_world.described import flag, many, part, text
from irsim_isaac.msg.interactive_world.segmentation import SegmentedObjectList
from irsim_isaac.msg.message import Message

__all__ = ["DriveAndSearch", "DriveToSurface", "ObjectSearch"]


class DriveToSurface:
    """Drive to where a surface can be reached."""

    ros_type: ClassVar[str] = "interactive_world_msgs/DriveToSurface"

    @dataclass(slots=True, eq=False)
    class Goal(Message):
        """The surface, and which of its places if it has several."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveToSurface_Goal"

        surface: str = text("the name of the surface, or an alias")
        poi: str = text("drive to the place nearest this point of interest; may be blank")
        point: Point = part(Point, "drive to the place nearest this point [m]")

    @dataclass(slots=True, eq=False)
    class Result(Message):
        """Whether it got there."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveToSurface_Result"

        success: bool = flag("whether the robot is there")

    @dataclass(slots=True, eq=False)
    class Feedback(Message):
        """What is being done."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveToSurface_Feedback"

        message: str = text("what is being done")


class DriveAndSearch:
    """Drive to a surface and look for an item on it."""

    ros_type: ClassVar[str] = "interactive_world_msgs/DriveAndSearch"

    @dataclass(slots=True, eq=False)
    class Goal(Message):
        """What to look for, and where."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveAndSearch_Goal"

        item: str = text("what to look for")
        surface: str = text("the surface to look on")

    @dataclass(slots=True, eq=False)
    class Result(Message):
        """What was found."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveAndSearch_Result"

        success: bool = flag("whether the item was found")
        objects: SegmentedObjectList = part(SegmentedObjectList, "what was found of it")

    @dataclass(slots=True, eq=False)
    class Feedback(Message):
        """What is being done."""

        ros_type: ClassVar[str] = "interactive_world_msgs/DriveAndSearch_Feedback"

        message: str = text("what is being done")


class ObjectSearch:
    """Look for an item wherever it may be, the likeliest surface first."""

    ros_type: ClassVar[str] = "interactive_world_msgs/ObjectSearch"

    @dataclass(slots=True, eq=False)
    class Goal(Message):
        """What to look for, and which models tell where."""

        ros_type: ClassVar[str] = "interactive_world_msgs/ObjectSearch_Goal"

        models: list[int] = many(
            "ids of the conditions whose models tell where to look", ros="uint32[]"
        )
        item: str = text("what to look for")

    @dataclass(slots=True, eq=False)
    class Result(Message):
        """Whether it was found."""

        ros_type: ClassVar[str] = "interactive_world_msgs/ObjectSearch_Result"

        success: bool = flag("whether the item was found")

    @dataclass(slots=True, eq=False)
    class Feedback(Message):
        """What is being done."""

        ros_type: ClassVar[str] = "interactive_world_msgs/ObjectSearch_Feedback"

        message: str = text("what is being done")
