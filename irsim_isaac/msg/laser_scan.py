"""One turn of a planar lidar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.msg.header import Header
from irsim_isaac.msg.message import Message

__all__ = ["LaserScan"]


@dataclass(slots=True, eq=False)
class LaserScan(Message):
    """The fields of ``sensor_msgs/LaserScan``: angles [rad], times [s], ranges [m].

    Angles run counter-clockwise and the stamp is that of the first ray. ``ranges`` and
    ``intensities`` are float32 of shape (N,), as in ROS; without intensities, shape (0,).
    """

    ros_type: ClassVar[str] = "sensor_msgs/LaserScan"

    header: Header
    angle_min: float
    angle_max: float
    angle_increment: float
    time_increment: float
    scan_time: float
    range_min: float
    range_max: float
    ranges: NDArray[np.float32]
    intensities: NDArray[np.float32]
