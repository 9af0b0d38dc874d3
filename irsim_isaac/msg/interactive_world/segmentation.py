"""What a recogniser sees on a surface: the part of ``rail_manipulation_msgs`` that is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from irsim_isaac.msg.geometry import Point, Quaternion
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.interactive_world.described import ROS, SAYS, flag, many, number, part, text
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = ["PointCloud2", "PointField", "SegmentedObject", "SegmentedObjectList"]


def _no_bytes() -> NDArray[np.uint8]:
    return np.zeros(0, np.uint8)


@dataclass(slots=True, eq=False)
class PointField(Message):
    """One value of each point of a cloud, as ``sensor_msgs/PointField``."""

    ros_type: ClassVar[str] = "sensor_msgs/PointField"

    name: str = text("such as x")
    offset: int = field(default=0, metadata={ROS: "uint32", SAYS: "from the start of a point"})
    datatype: int = field(default=0, metadata={ROS: "uint8", SAYS: "the number of its type"})
    count: int = field(default=0, metadata={ROS: "uint32", SAYS: "how many of them"})


@dataclass(slots=True, eq=False)
class PointCloud2(Message):
    """A cloud of points, as ``sensor_msgs/PointCloud2``; its header tells an object's frame."""

    ros_type: ClassVar[str] = "sensor_msgs/PointCloud2"

    header: Header = part(Header, "the frame and the time")
    height: int = field(default=0, metadata={ROS: "uint32", SAYS: "rows"})
    width: int = field(default=0, metadata={ROS: "uint32", SAYS: "points in a row"})
    fields: list[PointField] = many("the values of each point")
    is_bigendian: bool = flag("whether bytes run from high to low")
    point_step: int = field(default=0, metadata={ROS: "uint32", SAYS: "bytes of a point"})
    row_step: int = field(default=0, metadata={ROS: "uint32", SAYS: "bytes of a row"})
    data: NDArray[np.uint8] = field(
        default_factory=_no_bytes, metadata={ROS: "uint8[]", SAYS: "the points"}
    )
    is_dense: bool = flag("whether no point is invalid")


@dataclass(slots=True, eq=False)
class SegmentedObject(Message):
    """One object on a surface, recognised or not."""

    ros_type: ClassVar[str] = "rail_manipulation_msgs/SegmentedObject"

    name: str = text("what it was recognised as")
    confidence: float = number("how sure that is, from 0 to 1")
    recognized: bool = flag("whether it was recognised")
    point_cloud: PointCloud2 = part(PointCloud2, "its points, in the frame of all else")
    centroid: Point = part(Point, "the mean of its points [m]")
    center: Point = part(Point, "the middle of its bounding box [m]")
    width: float = number("along x [m]")
    depth: float = number("along y [m]")
    height: float = number("along z [m]")
    orientation: Quaternion = part(Quaternion, "of the object")


@dataclass(slots=True, eq=False)
class SegmentedObjectList(Message):
    """The objects that were seen at one time."""

    ros_type: ClassVar[str] = "rail_manipulation_msgs/SegmentedObjectList"

    header: Header = part(Header, "the frame and the time")
    cleared: bool = flag("whether this only says that what was known is forgotten")
    objects: list[SegmentedObject] = many("the objects")
