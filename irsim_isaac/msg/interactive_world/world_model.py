"""What is where in a world: rooms, the surfaces in them, what can be put on them, and items.

These are plain values: a stage or a file gives them, services answer from them. The messages of
the contract know no frames, aliases and parts of surfaces; :meth:`WorldModel.configuration`
gives the messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irsim_isaac.msg.geometry import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world.things import (
    Configuration,
    Item,
    PointOfInterest,
    Room,
    Surface,
)
from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = [
    "Door",
    "ItemPlace",
    "NavGoal",
    "PlacementSurface",
    "PoiPlace",
    "RoomPlace",
    "SurfacePlace",
    "WorldModel",
    "from_matrix",
    "to_matrix",
]


@dataclass(frozen=True, slots=True)
class NavGoal:
    """Where a robot stands to reach a part of a surface.

    Attributes:
        frame_id: Its frame.
        pose: In the frame of the room of the surface.
        yaw_offset: What is added to the heading of the frame [rad]; a quarter turn in worlds of
            the original software.
        name: What it is called; blank is its frame.
    """

    frame_id: str
    pose: Pose = field(default_factory=Pose)
    yaw_offset: float = 0.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class PlacementSurface:
    """A level part of a surface that items stand on.

    Attributes:
        frame_id: Its frame.
        pose: In the frame of the surface.
        name: What it is called; blank is its frame.
        width: Along its x [m], 0 where nobody said.
        height: Along its y [m], 0 where nobody said.
        nav_goal: Where a robot stands to reach it.
    """

    frame_id: str
    pose: Pose = field(default_factory=Pose)
    name: str = ""
    width: float = 0.0
    height: float = 0.0
    nav_goal: NavGoal | None = None


@dataclass(frozen=True, slots=True)
class PoiPlace:
    """A point of interest at a surface.

    Attributes:
        name: What it is called; several may share a name.
        frame_id: Its frame.
        pose: In the frame of the surface.
        width: Along its x [m].
        height: Along its y [m].
    """

    name: str
    frame_id: str
    pose: Pose = field(default_factory=Pose)
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class SurfacePlace:
    """A piece of furniture that items are put on.

    Attributes:
        name: What it is called.
        frame_id: Its frame; the origin is the middle of its rectangle.
        pose: In the frame of its room.
        width: Along its x [m].
        height: Along its y [m].
        aliases: What else it is called.
        placements: The parts that items stand on.
        pois: Its points of interest.
        path: The prim it was read from, blank for none.
    """

    name: str
    frame_id: str
    pose: Pose = field(default_factory=Pose)
    width: float = 0.0
    height: float = 0.0
    aliases: tuple[str, ...] = ()
    placements: tuple[PlacementSurface, ...] = ()
    pois: tuple[PoiPlace, ...] = ()
    path: str = ""

    def is_called(self, name: str) -> bool:
        """Tell whether this is the surface's name or one of its aliases, in any case."""
        wanted = name.casefold()
        return any(wanted == own.casefold() for own in (self.name, *self.aliases))


@dataclass(frozen=True, slots=True)
class RoomPlace:
    """A room.

    Attributes:
        name: What it is called; blank is the world outside all rooms.
        frame_id: Its frame.
        pose: In the world.
        width: Along its x [m].
        height: Along its y [m].
        surfaces: The surfaces in it.
        outline: Corners (x, y) in the world [m], where the room was found in a map.
        area: The free floor [m2], where there was a map to count in.
        path: The prim it was read from, blank for none.
    """

    name: str
    frame_id: str
    pose: Pose = field(default_factory=Pose)
    width: float = 0.0
    height: float = 0.0
    surfaces: tuple[SurfacePlace, ...] = ()
    outline: tuple[tuple[float, float], ...] = ()
    area: float | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Door:
    """An opening between two rooms.

    Attributes:
        rooms: The frames of the rooms on its sides.
        position: The middle of the opening (x, y) in the world [m].
        yaw: The direction from the first room into the second [rad].
        width: The clear width [m].
    """

    rooms: tuple[str, str]
    position: tuple[float, float]
    yaw: float
    width: float


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """An item and where it is.

    Attributes:
        name: What it is called; several may share a name.
        frame_id: Its frame.
        pose: In the world.
        width: Along its x [m].
        height: Along its y [m].
        bottom: The height of its lowest point over the world's floor [m], None where unknown.
        top: The height of its highest point [m], None where unknown.
        path: The prim it was read from, blank for none.
    """

    name: str
    frame_id: str
    pose: Pose = field(default_factory=Pose)
    width: float = 0.0
    height: float = 0.0
    bottom: float | None = None
    top: float | None = None
    path: str = ""

    @property
    def standing(self) -> Pose:
        """Where the item touches what it stands on: its pose lowered to its lowest point."""
        at = self.pose.position
        z = at.z if self.bottom is None else self.bottom
        return Pose(Point(at.x, at.y, z), self.pose.orientation)


@dataclass(frozen=True, slots=True)
class WorldModel:
    """What is where in a world.

    Attributes:
        rooms: The rooms, in order; the first of several answers is the first in order.
        items: The items.
        doors: The openings between rooms, where they were found in a map.
        task: What is to be done in this world.
        fixed_frame: The frame of the world.
        omissions: What could not be read: where, a short word, and a sentence.
    """

    rooms: tuple[RoomPlace, ...] = ()
    items: tuple[ItemPlace, ...] = ()
    doors: tuple[Door, ...] = ()
    task: str = ""
    fixed_frame: str = "map"
    omissions: tuple[tuple[str, str, str], ...] = ()

    def surfaces(self) -> Iterator[tuple[RoomPlace, SurfacePlace]]:
        """Yield every surface with its room, in order."""
        for room in self.rooms:
            for surface in room.surfaces:
                yield room, surface

    def find(self, name: str) -> list[tuple[RoomPlace, SurfacePlace]]:
        """Return the surfaces of a name or alias, in any case: the first of each room.

        Args:
            name: What is looked for.
        """
        found = []
        for room in self.rooms:
            surface = next((item for item in room.surfaces if item.is_called(name)), None)
            if surface is not None:
                found.append((room, surface))
        return found

    def frames(self) -> dict[str, NDArray[np.float64]]:
        """Return where each frame lies in the world, as matrices of shape (4, 4)."""
        frames = {self.fixed_frame: np.eye(4)}
        for item in self.items:
            frames.setdefault(item.frame_id, to_matrix(item.pose))
        for room in self.rooms:
            in_room = to_matrix(room.pose)
            frames.setdefault(room.frame_id, in_room)
            for surface in room.surfaces:
                on_surface = in_room @ to_matrix(surface.pose)
                frames[surface.frame_id] = on_surface
                for part in surface.placements:
                    frames[part.frame_id] = on_surface @ to_matrix(part.pose)
                    if part.nav_goal is not None:
                        frames[part.nav_goal.frame_id] = in_room @ to_matrix(part.nav_goal.pose)
                for poi in surface.pois:
                    frames[poi.frame_id] = on_surface @ to_matrix(poi.pose)
        return frames

    def configuration(self) -> Configuration:
        """Return the world as the contract's message; items that share a name are one."""
        items: dict[str, Item] = {}
        for item in self.items:
            items.setdefault(item.name, Item(item.name, item.width, item.height))
        return Configuration(
            self.task,
            list(items.values()),
            [
                Room(
                    room.name,
                    room.width,
                    room.height,
                    room.pose,
                    [
                        Surface(
                            surface.name,
                            surface.width,
                            surface.height,
                            surface.pose,
                            [
                                PointOfInterest(poi.name, poi.width, poi.height, poi.pose)
                                for poi in surface.pois
                            ],
                        )
                        for surface in room.surfaces
                    ],
                )
                for room in self.rooms
            ],
        )


def to_matrix(pose: Pose) -> NDArray[np.float64]:
    """Return a pose as a matrix for column vectors, shape (4, 4).

    Args:
        pose: The pose; its quaternion need not be normalised.

    Raises:
        ValueError: The quaternion is zero, or a value is not finite.
    """
    at, turn = pose.position, pose.orientation
    values = np.array([turn.x, turn.y, turn.z, turn.w])
    norm = float(np.linalg.norm(values))
    if not np.isfinite([at.x, at.y, at.z, norm]).all() or norm < 1e-12:
        raise ValueError(f"the pose {pose} is not finite or its quaternion is zero")
    x, y, z, w = values / norm
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    matrix[:3, 3] = at.x, at.y, at.z
    return matrix


def from_matrix(matrix: NDArray[np.float64]) -> Pose:
    """Return the pose of a rigid matrix for column vectors; w of its quaternion is not negative.

    Args:
        matrix: Shape (4, 4).
    """
    r = matrix[:3, :3]
    # Four times the squares of w, x, y, z; the largest of them divides without loss.
    squares = np.array(
        [
            1.0 + r[0, 0] + r[1, 1] + r[2, 2],
            1.0 + r[0, 0] - r[1, 1] - r[2, 2],
            1.0 - r[0, 0] + r[1, 1] - r[2, 2],
            1.0 - r[0, 0] - r[1, 1] + r[2, 2],
        ]
    )
    products = np.array(
        [
            [squares[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], squares[1], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], squares[2], r[1, 2] + r[2, 1]],
            [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[3]],
        ]
    )
    row = products[int(np.argmax(squares))]
    w, x, y, z = (float(value) for value in row / np.linalg.norm(row) * (1 if row[0] >= 0 else -1))
    px, py, pz = (float(value) for value in matrix[:3, 3])
    return Pose(Point(px, py, pz), Quaternion(x, y, z, w))
