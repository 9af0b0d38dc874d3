"""A grid map as ROS sends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from irsim_isaac.msg.geometry import Pose
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = ["MapMetaData", "OccupancyGrid"]


def _no_cells() -> NDArray[np.int8]:
    return np.zeros(0, np.int8)


@dataclass(slots=True, eq=False)
class MapMetaData(Message):
    """What the cells of a grid are, as ``nav_msgs/MapMetaData``.

    Attributes:
        map_load_time: When the map was loaded [s].
        resolution: The side of a cell [m].
        width: Cells along x.
        height: Cells along y.
        origin: The pose of the corner of cell (0, 0).
    """

    ros_type: ClassVar[str] = "nav_msgs/MapMetaData"

    map_load_time: float = 0.0
    resolution: float = 0.0
    width: int = 0
    height: int = 0
    origin: Pose = field(default_factory=Pose)


@dataclass(slots=True, eq=False)
class OccupancyGrid(Message):
    """A grid map, as ``nav_msgs/OccupancyGrid``.

    Attributes:
        header: The time and the frame of the map.
        info: What its cells are.
        data: Row-major cells, index ``y * width + x``, shape (height * width,): -1 unknown,
            0 free to 100 occupied.
    """

    ros_type: ClassVar[str] = "nav_msgs/OccupancyGrid"

    header: Header = field(default_factory=Header)
    info: MapMetaData = field(default_factory=MapMetaData)
    data: NDArray[np.int8] = field(default_factory=_no_cells)
