"""The services, each a class with its ``Request`` and its ``Response``.

Fields that only version 0.0.12 has follow those of the public contract and may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from irsim_isaac.msg.geometry import PoseStamped
from irsim_isaac.msg.interactive_world.described import (
    flag,
    many,
    number,
    part,
    secret,
    text,
    whole,
)
from irsim_isaac.msg.interactive_world.things import TaskModels, TaskTrainingData
from irsim_isaac.msg.message import Message

__all__ = [
    "FindObservations",
    "FindSurface",
    "GetSurfaces",
    "LearnModels",
    "LoadModels",
    "Parse",
    "SetObservationsRemoved",
    "StoreObservation",
    "TransformToSurfaceFrame",
]

R = TypeVar("R", bound="LearnModels.Request")


class FindSurface:
    """Which surface a pose is on."""

    ros_type: ClassVar[str] = "interactive_world_msgs/FindSurface"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The pose that is asked about."""

        ros_type: ClassVar[str] = "interactive_world_msgs/FindSurface_Request"

        pose: PoseStamped = part(PoseStamped, "the pose, in any frame of the world")

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """The surface; texts are blank where there is none."""

        ros_type: ClassVar[str] = "interactive_world_msgs/FindSurface_Response"

        surface: str = text("the name of the surface, blank for none")
        frame_id: str = text("the frame of the surface, blank for none")
        surface_frame_id: str = text("the frame of the surface, as 0.0.12 calls it", extra=True)
        placement_surface_frame_id: str = text(
            "the frame of the part that items stand on", extra=True
        )


class TransformToSurfaceFrame:
    """A pose, told in the frame of a surface."""

    ros_type: ClassVar[str] = "interactive_world_msgs/TransformToSurfaceFrame"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The pose and the surface."""

        ros_type: ClassVar[str] = "interactive_world_msgs/TransformToSurfaceFrame_Request"

        pose: PoseStamped = part(PoseStamped, "the pose, in any frame of the world")
        surface: str = text("the name of the surface, or an alias")

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """The pose in the frame of the surface."""

        ros_type: ClassVar[str] = "interactive_world_msgs/TransformToSurfaceFrame_Response"

        pose: PoseStamped = part(PoseStamped, "the pose in the frame of the surface")


class Parse:
    """Read a study out of the store, and learn from it."""

    ros_type: ClassVar[str] = "interactive_world_msgs/Parse"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The study."""

        ros_type: ClassVar[str] = "interactive_world_msgs/Parse_Request"

        study_id: int = whole("the id of the study")

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """Nothing: an answer is a success."""

        ros_type: ClassVar[str] = "interactive_world_msgs/Parse_Response"


class LearnModels:
    """Learn where items belong, and keep what was learned."""

    ros_type: ClassVar[str] = "interactive_world_msgs/LearnModels"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The placements, and a database that is not connected to unless the server allows it.

        Neither a ``repr`` nor an error shows where the database is and who may use it.
        """

        ros_type: ClassVar[str] = "interactive_world_msgs/LearnModels_Request"

        host: str = secret("", "the host of a database; ignored unless the server allows it")
        port: int = secret(0, "its port", ros="int32")
        user: str = secret("", "who connects to it")
        password: str = secret("", "the password of that user")
        database: str = secret("", "the name of the database")
        condition_id: int = whole("the id of the condition that is learned")
        data: TaskTrainingData = part(TaskTrainingData, "the placements to learn from")

        @classmethod
        def from_dict(cls: type[R], data: Mapping[str, Any]) -> R:
            """Return the message of a dictionary; errors do not repeat credentials."""
            try:
                return super(LearnModels.Request, cls).from_dict(data)
            except (TypeError, ValueError) as error:
                problem = _discreet(error)
            raise problem

        @classmethod
        def from_json(cls: type[R], text: str | bytes) -> R:
            """Return the message of a JSON text; errors do not repeat credentials."""
            try:
                return super(LearnModels.Request, cls).from_json(text)
            except (TypeError, ValueError) as error:
                problem = _discreet(error)
            raise problem

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """Nothing: an answer is a success."""

        ros_type: ClassVar[str] = "interactive_world_msgs/LearnModels_Response"


def _discreet(error: Exception) -> Exception:
    """Return an error that tells where the problem is, not what was found there."""
    where = str(error).partition(":")[0]
    if where.rpartition(".")[2] in ("host", "port", "user", "password", "database"):
        return type(error)(f"{where}: not of the type that the field has")
    if not where.startswith("Request"):
        return ValueError("Request: the text is not the JSON of a LearnModels request")
    return type(error)(str(error))


class LoadModels:
    """The models that were learned for a condition."""

    ros_type: ClassVar[str] = "interactive_world_msgs/LoadModels"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The condition."""

        ros_type: ClassVar[str] = "interactive_world_msgs/LoadModels_Request"

        condition_id: int = whole("the id of the condition")

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """The models."""

        ros_type: ClassVar[str] = "interactive_world_msgs/LoadModels_Response"

        models: TaskModels = part(TaskModels, "what was learned")


class StoreObservation:
    """Keep that an item was seen on a surface."""

    ros_type: ClassVar[str] = "interactive_world_msgs/StoreObservation"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """What was seen where, in the frame of the surface."""

        ros_type: ClassVar[str] = "interactive_world_msgs/StoreObservation_Request"

        surface: str = text("the name of the surface")
        placement_surface_frame_id: str = text("the frame of the part that it stands on")
        item: str = text("what was seen")
        item_conf: float = number("how sure that is")
        x: float = number("[m]")
        y: float = number("[m]")
        z: float = number("[m]")
        theta: float = number("about z [rad]")
        surface_frame_id: str = text("the frame of the surface", extra=True)

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """Nothing: an answer says that it is kept."""

        ros_type: ClassVar[str] = "interactive_world_msgs/StoreObservation_Response"


class FindObservations:
    """What was seen where and when."""

    ros_type: ClassVar[str] = "interactive_world_msgs/FindObservations"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """What the observations must match; what is blank matches everything."""

        ros_type: ClassVar[str] = "interactive_world_msgs/FindObservations_Request"

        item: str = text("the item")
        surface: str = text("the surface", extra=True)
        surface_frame_id: str = text("the frame of the surface", extra=True)
        placement_surface_frame_id: str = text("the frame of the part", extra=True)
        removed: bool = flag("those that are gone instead of those still there", extra=True)

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """The observations, newest first, one entry of each list for each."""

        ros_type: ClassVar[str] = "interactive_world_msgs/FindObservations_Response"

        surfaces: list[str] = many("the names of the surfaces")
        placement_surface_frame_ids: list[str] = many("the frames of the parts")
        item_confs: list[float] = many("how sure the recogniser was")
        xs: list[float] = many("[m]")
        ys: list[float] = many("[m]")
        zs: list[float] = many("[m]")
        thetas: list[float] = many("about z [rad]")
        times: list[float] = many("when they were seen [s], UTC", ros="time[]")
        ids: list[int] = many("what they are called in the store", ros="uint32[]", extra=True)
        surface_frame_ids: list[str] = many("the frames of the surfaces", extra=True)
        items: list[str] = many("what was seen", extra=True)
        removals: list[float] = many(
            "when they were gone [s], UTC; 0 for what is still there", ros="time[]", extra=True
        )


class SetObservationsRemoved:
    """Say that what was seen is gone; of version 0.0.12."""

    ros_type: ClassVar[str] = "interactive_world_msgs/SetObservationsRemoved"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """The observations."""

        ros_type: ClassVar[str] = "interactive_world_msgs/SetObservationsRemoved_Request"

        ids: list[int] = many("what they are called in the store", ros="uint32[]")

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """Nothing: an answer says that it is kept."""

        ros_type: ClassVar[str] = "interactive_world_msgs/SetObservationsRemoved_Response"


class GetSurfaces:
    """The names of all surfaces; of version 0.0.12."""

    ros_type: ClassVar[str] = "interactive_world_msgs/GetSurfaces"

    @dataclass(slots=True, eq=False)
    class Request(Message):
        """Nothing to tell."""

        ros_type: ClassVar[str] = "interactive_world_msgs/GetSurfaces_Request"

    @dataclass(slots=True, eq=False)
    class Response(Message):
        """The names."""

        ros_type: ClassVar[str] = "interactive_world_msgs/GetSurfaces_Response"

        surfaces: list[str] = many("in the order of the world")
