"""What a simulator is at a moment: its objects, their motion, scans and contacts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from irsim_isaac.msg.geometry import Point, Vector3
from irsim_isaac.msg.header import Header
from irsim_isaac.msg.laser_scan import LaserScan
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.numpy_later import NDArray, np
from irsim_isaac.msg.odometry import Odometry

__all__ = ["ContactState", "ObjectState", "WorldState"]

_LIDARS = frozenset(("lidar2d", "fmcw_lidar2d"))


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

    @classmethod
    def from_report(cls, report: Any) -> ContactState:
        """Return the contact that a report of IR-SIM tells of.

        Args:
            report: Anything with ``other.id``, ``other.name``, ``point``, ``normal``,
                ``depth`` and ``force``.

        Raises:
            TypeError: An attribute is missing or of the wrong type.
        """
        try:
            other, point, normal = report.other, report.point, report.normal
            return cls(
                int(other.id),
                str(other.name),
                Point(float(point[0]), float(point[1])),
                Vector3(float(normal[0]), float(normal[1])),
                float(report.depth),
                float(report.force),
            )
        except (AttributeError, IndexError) as missing:
            raise TypeError(f"no contact of a {type(report).__name__}: {missing}") from missing


@dataclass(slots=True, eq=False)
class ObjectState(Message):
    """One object at a moment.

    ``scan`` is the first of ``scans``, the same object. ``contact_force`` [N] is the sum over
    ``contacts``; ``contact_time`` and ``air_time`` [s] tell how long the object has been
    touching and free.
    """

    ros_type: ClassVar[str] = "irsim_msgs/ObjectState"
    _shared_fields: ClassVar[tuple[str, str]] = ("scan", "scans")

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

    @classmethod
    def from_object(
        cls,
        obj: Any,
        *,
        stamp: float = 0.0,
        seq: int = 0,
        frame_id: str = "world",
        use_inf: bool = False,
    ) -> ObjectState:
        """Return an object as it is now, sharing no array with it.

        Args:
            obj: An IR-SIM object, or anything with its attributes.
            stamp: The time of the headers [s].
            seq: The count of the headers.
            frame_id: The frame of the pose.
            use_inf: As in :meth:`LaserScan.from_sensor`.

        Raises:
            TypeError: An attribute is missing or of the wrong type.
            ValueError: The state is too short, or the yaw infinite.
        """
        try:
            return cls._of(obj, float(stamp), int(seq), frame_id, use_inf)
        except AttributeError as missing:
            raise TypeError(f"no state of a {type(obj).__name__}: {missing}") from missing

    @classmethod
    def _of(cls, obj: Any, stamp: float, seq: int, frame_id: str, use_inf: bool) -> ObjectState:
        name = str(obj.name)
        kinematics = obj.kinematics
        scans: list[LaserScan] = []
        for sensor in obj.sensors:
            if sensor.sensor_type in _LIDARS:
                frame = f"{name}/laser_{len(scans)}" if scans else f"{name}/laser"
                scans.append(LaserScan._of(sensor, stamp, seq, frame, use_inf))
        goal = obj.goal
        contact = obj.contact
        force = contact.force
        return cls(
            Header(seq, stamp, frame_id),
            int(obj.id),
            name,
            str(obj.role),
            kinematics,
            str(obj.shape),
            Odometry._of(obj, name, kinematics, stamp, seq, frame_id),
            scans[0] if scans else None,
            goal.copy()
            if goal.__class__ is np.ndarray
            else None
            if goal is None
            else np.array(goal),
            bool(obj.static),
            bool(obj.arrive),
            bool(obj.collision),
            [int(other.id) for other in obj.collision_obj],
            scans,
            Vector3(float(force[0, 0]), float(force[1, 0])),
            float(contact.contact_time),
            float(contact.air_time),
            [ContactState.from_report(report) for report in contact.reports],
        )

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

    @classmethod
    def from_env(cls, env: Any, frame_id: str = "world", use_inf: bool = False) -> WorldState:
        """Return an IR-SIM environment as it is now, sharing no array with it.

        The stamp is the count of steps times the step time; the environment's own clock is
        rounded to hundredths of a second.

        Args:
            env: An IR-SIM environment, or anything with its attributes.
            frame_id: The frame of the poses.
            use_inf: As in :meth:`LaserScan.from_sensor`.

        Raises:
            TypeError: An attribute is missing or of the wrong type.
            ValueError: A state is too short, or a yaw infinite.
        """
        try:
            seq = int(env.world_param.count)
            step_time = float(env.step_time)
            stamp = seq * step_time
            return cls(
                Header(seq, stamp, frame_id),
                str(env._world.name),
                str(env.status),
                step_time,
                [ObjectState._of(obj, stamp, seq, frame_id, use_inf) for obj in env.objects],
            )
        except AttributeError as missing:
            raise TypeError(f"no state of a {type(env).__name__}: {missing}") from missing

    @property
    def robots(self) -> list[ObjectState]:
        """The objects whose role is ``robot``, in order."""
        return [state for state in self.objects if state.role == "robot"]

    @property
    def obstacles(self) -> list[ObjectState]:
        """The objects whose role is ``obstacle``, in order."""
        return [state for state in self.objects if state.role == "obstacle"]
