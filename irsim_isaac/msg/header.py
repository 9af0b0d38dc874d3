"""When and in which frame a message was made, and the time of a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irsim_isaac.msg.message import Message

__all__ = ["Clock", "Header"]


@dataclass(slots=True, eq=False)
class Header(Message):
    """Version-neutral metadata shared by all messages.

    Attributes:
        seq: The count of the step that the message tells of.
        stamp: Simulation time [s].
        frame_id: The frame that positions are given in.
    """

    ros_type: ClassVar[str] = "std_msgs/Header"

    seq: int = 0
    stamp: float = 0.0
    frame_id: str = "world"


@dataclass(slots=True, eq=False)
class Clock(Message):
    """The time of a simulator, as ``rosgraph_msgs/Clock``.

    Attributes:
        clock: Simulation time [s].
    """

    ros_type: ClassVar[str] = "rosgraph_msgs/Clock"

    clock: float = 0.0
