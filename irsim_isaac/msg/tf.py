"""The tree of frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from irsim_isaac.msg.geometry import TransformStamped
from irsim_isaac.msg.message import Message

__all__ = ["TFMessage"]


@dataclass(slots=True, eq=False)
class TFMessage(Message):
    """Transforms between frames, as ``tf2_msgs/TFMessage``."""

    ros_type: ClassVar[str] = "tf2_msgs/TFMessage"

    transforms: list[TransformStamped] = field(default_factory=list)
