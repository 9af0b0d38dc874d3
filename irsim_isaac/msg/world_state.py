"""What a simulator is at a moment: its objects, their motion, scans and contacts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from irsim_isaac.msg.geometry import Point, Vector3
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.laser_scan import LaserScan
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.odometry import Odometry

__all__ = ["ContactState", "ObjectState", "WorldState"]


@dataclass(slots=True, eq=False)
class ContactState(Message):
    """One contact of an object in the last step.

    Attributes:
        other_id: The id of the partner; -1 for none.
        other: The name of the partner.
        point: Where they touch, in the world frame [m].
        normal: Points from the partner toward the object, of unit length.
        depth: The overlap that was pushed apart [m]; zero or negative for a resting contact.
        force: Along the normal [N].
    """

    ros_type: ClassVar[str] = "irsim_msgs/ContactState"

    other_id: int = -1
    other: str = ""
    point: Point = field(default_factory=Point)
    normal: Vector3 = field(default_factory=Vector3)
    depth: float = 0.0
    force: float = 0.0


@dataclass(slots=True, eq=False)
class ObjectState(Message):
    """One object at a moment.

    ``scan`` is the first of ``scans``, the same object. ``contact_force`` [N] is the sum over
    ``contacts``; ``contact_time`` and ``air_time`` [s] tell how long the object has been
    touching and free.
    """

    ros_type: ClassVar[str] = "irsim_msgs/ObjectState"

    header: Header
    id: int
    name: str
    role: str
    kinematics: str | None
    shape: str
    odom: Odometry
    scan: LaserScan | None
    goal: NDArray[Any] | None
    static: bool
    arrive: bool
    collision: bool
    collision_ids: list[int] = field(default_factory=list)
    scans: list[LaserScan] = field(default_factory=list)
    contact_force: Vector3 = field(default_factory=Vector3)
    contact_time: float = 0.0
    air_time: float = 0.0
    contacts: list[ContactState] = field(default_factory=list)

    @property
    def sensors(self) -> list[LaserScan]:
        """A new list of ``scans``, under the name that older code reads."""
        return list(self.scans)


@dataclass(slots=True, eq=False)
class WorldState(Message):
    """A whole simulator at a moment."""

    ros_type: ClassVar[str] = "irsim_msgs/WorldState"

    header: Header
    name: str
    status: str
    step_time: float
    objects: list[ObjectState] = field(default_factory=list)

    @property
    def robots(self) -> list[ObjectState]:
        """The objects whose role is ``robot``, in order."""
        return [state for state in self.objects if state.role == "robot"]

    @property
    def obstacles(self) -> list[ObjectState]:
        """The objects whose role is ``obstacle``, in order."""
        return [state for state in self.objects if state.role == "obstacle"]
