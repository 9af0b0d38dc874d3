"""Rooms, surfaces and items of a stage by their labels, and back as a layer to lay over it.

A prim's role is its own label in the taxonomy ``iw``: ``world``, ``room``, ``surface``,
``placement_surface``, ``poi``, ``nav_goal``, ``item`` or ``door``. What is called how, and how
large it is, stands in custom attributes ``irsim:iw:...`` [m] and is measured where it does not.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.files import writing
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    Door,
    ItemPlace,
    NavGoal,
    PlacementSurface,
    PoiPlace,
    RoomPlace,
    SurfacePlace,
    WorldModel,
    from_matrix,
    to_matrix,
)
from irsim_isaac.stage.geometry import Geometry, Part, read_geometry
from irsim_isaac.stage.labels import add_labels, labelled
from irsim_isaac.stage.occupancy import build_occupancy
from irsim_isaac.stage.poses import local_to_world
from irsim_isaac.stage.room_finding import RoomPlan, find_rooms
from irsim_isaac.stage.units import StageUnits, gf_quaternion, stage_units
from irsim_isaac.stage.usd import Gf, Sdf, Tf, Usd, UsdGeom, Vt

__all__ = [
    "ItemRelation",
    "item_relations",
    "room_map",
    "world_model",
    "world_model_to_stage",
]

TAXONOMY = "iw"
"""The taxonomy of the roles; apart from ``class``, which feeds segmentation and inherits."""

_ROLES = ("world", "room", "surface", "placement_surface", "poi", "nav_goal", "item", "door")
_PREFIX = "irsim:iw:"
_VERSION = 1
_OFF_CENTRE = 1e-3

Matrix = NDArray[np.float64]
Box = tuple[NDArray[np.float64], NDArray[np.float64]]


def world_model(
    stage: Usd.Stage,
    *,
    occupancy: Occupancy | None = None,
    door_width: float = 1.0,
    resolution: float = 0.05,
    height: tuple[float, float] = (0.1, 1.8),
    strict: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> WorldModel:
    """Read the rooms, surfaces, points of interest and items of a stage.

    Poses are rigid: scale and shear of prims and their parents are taken out, and in a stage
    with y up a prim's own y axis is up as well. Sizes that nobody wrote are measured along the
    prim's own axes. Where no room is labelled, rooms and doors are found in the map.

    Args:
        stage: An open stage.
        occupancy: A map of the stage; without one, it is built where no room is labelled.
            With one, the free floor of labelled rooms is counted.
        door_width: The widest opening that separates two rooms of the map [m].
        resolution: The side of a cell of a map that is built [m].
        height: The height band of a map that is built [m].
        strict: Refuse what is otherwise mended and told in the omissions.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The world; its omissions say what could not be read, and why.

    Raises:
        StageError: Two different things have one frame, a point of interest or part of a
            surface is on no surface, a number makes no sense, or, with ``strict``, anything is
            not as it should be.
    """
    _check_map(resolution, height)
    reader = _Reader(stage, strict, progress)
    model = reader.read()
    if model is None:
        model = WorldModel()
    authored = any(room.name for room in model.rooms)
    omissions = list(reader.omissions)
    if not authored:
        try:
            grid = occupancy or room_map(
                stage, resolution=resolution, height=height, progress=progress
            )
        except StageError as error:
            omissions.append(("the map", "no rooms", str(error)))
        else:
            plan = find_rooms(grid, door_width=door_width)
            model = _with_found_rooms(model, plan)
            omissions += [(entry.where, entry.kind, entry.reason) for entry in plan.omissions]
    elif occupancy is not None:
        model = replace(model, rooms=tuple(_counted(room, occupancy) for room in model.rooms))
    if strict and omissions:
        where, _, reason = omissions[0]
        raise StageError(f"{where}: {reason} (one of {len(omissions)})")
    return replace(model, omissions=tuple(omissions))


def _check_map(resolution: float, height: tuple[float, float]) -> None:
    """Refuse what makes no map of any stage; that one stage gives none is an omission."""
    if not (math.isfinite(resolution) and resolution > 0.0):
        raise StageError(f"resolution is {resolution}, a positive number of metres was expected")
    if not (all(map(math.isfinite, height)) and height[0] < height[1]):
        raise StageError(f"height is {height}, two rising numbers of metres were expected")


def room_map(
    stage: Usd.Stage,
    *,
    resolution: float = 0.05,
    height: tuple[float, float] = (0.1, 1.8),
    progress: Callable[[int, int, str], None] | None = None,
) -> Occupancy:
    """Map a stage without what is labelled as furniture or item.

    Args:
        stage: An open stage.
        resolution: The side of a cell [m].
        height: The height band [m]; its upper end is below the lintels of doors.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The map; what is free is floor that furniture may stand on.

    Raises:
        StageError: Nothing stands in the band.
    """
    away = [
        str(prim.GetPath())
        for prim, own in labelled(stage, TAXONOMY)
        if {"surface", "item", "poi"} & set(own)
    ]
    return build_occupancy(
        stage, resolution=resolution, height=height, exclude=away, progress=progress
    )


# ------------------------------------------------------------------ reading


@dataclass(slots=True)
class _Labelled:
    """A prim with a role."""

    prim: Usd.Prim
    role: str
    name: str
    frame_id: str
    matrix: Matrix
    width: float | None
    height: float | None

    @property
    def path(self) -> str:
        return str(self.prim.GetPath())


class _Reader:
    def __init__(
        self,
        stage: Usd.Stage,
        strict: bool,
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        self.stage = stage
        self.units = stage_units(stage)
        self.strict = strict
        self.progress = progress
        self.omissions: list[tuple[str, str, str]] = []
        self.found: dict[str, _Labelled] = {}
        self._geometry: Geometry | None = None

    @property
    def geometry(self) -> Geometry:
        """The surfaces of the stage, read when something is to be measured."""
        if self._geometry is None:
            self._geometry = read_geometry(self.stage, progress=self.progress)
        return self._geometry

    def read(self) -> WorldModel | None:
        self.collect()
        if not self.found:
            return None
        self.check_frames()
        world = next((entry for entry in self.found.values() if entry.role == "world"), None)
        rooms = self.rooms()
        return WorldModel(
            rooms=tuple(rooms),
            items=tuple(self.item(e) for e in self.found.values() if e.role == "item"),
            doors=tuple(self.door(e) for e in self.found.values() if e.role == "door"),
            task="" if world is None else str(_attribute(world.prim, "task", "")),
            fixed_frame="map"
            if world is None
            else str(_attribute(world.prim, "fixedFrame", "map")),
        )

    def omit(self, where: str, kind: str, reason: str) -> None:
        self.omissions.append((where, kind, reason))

    def collect(self) -> None:
        pending: list[tuple[Usd.Prim, str]] = []
        for prim, own in labelled(self.stage, TAXONOMY):
            path = str(prim.GetPath())
            roles = [role for role in own if role in _ROLES]
            for role in own:
                if role not in _ROLES:
                    self.omit(path, "role", f"has the role '{role}', expected {', '.join(_ROLES)}")
            if len(roles) > 1:
                raise StageError(f"{path}: has the roles {', '.join(roles)}, one was expected")
            if not roles:
                continue
            if not prim.IsActive():
                self.omit(path, "inactive", f"the {roles[0]} '{self.name(prim)}' is not active")
                continue
            if not prim.IsLoaded():
                self.omit(path, "unloaded", f"the payload of the {roles[0]} is not loaded")
            pending.append((prim, roles[0]))
        leaves = Counter(prim.GetName() for prim, _ in pending)
        for prim, role in pending:
            path = str(prim.GetPath())
            told = _attribute(prim, "frameId", "")
            short = prim.GetName() if leaves[prim.GetName()] == 1 else path
            matrix = self.matrix(prim, path)
            if matrix is None:
                continue
            self.found[path] = _Labelled(
                prim,
                role,
                self.name(prim),
                str(told or short),
                matrix,
                self.length(prim, "width"),
                self.length(prim, "height"),
            )

    def name(self, prim: Usd.Prim) -> str:
        return str(_attribute(prim, "name", prim.GetName()))

    def length(self, prim: Usd.Prim, key: str) -> float | None:
        value = _attribute(prim, key, None)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0.0:
            raise StageError(
                f"{prim.GetPath()}: {_PREFIX}{key} is {value}, a length in metres was expected"
            )
        return float(value)

    def matrix(self, prim: Usd.Prim, path: str) -> Matrix | None:
        """Return the rigid pose of a prim in the world, its axes turned with the stage's."""
        rows = np.array(local_to_world(prim))
        turn = self.units.rotation
        # Both ends of the transform are turned: what is level in the stage is level here.
        linear = (turn.T @ rows[:3, :3] @ turn).T
        if not np.isfinite(rows).all() or abs(np.linalg.det(linear)) < 1e-18:
            self.omit(path, "pose", "its transform is not finite or squeezes it flat")
            return None
        if np.linalg.det(linear) < 0.0:
            self.omit(path, "mirrored", "its transform mirrors it, which no pose can say")
            return None
        left, _, right = np.linalg.svd(linear)
        matrix = np.eye(4)
        matrix[:3, :3] = left @ right
        matrix[:3, 3] = rows[3, :3] @ turn * self.units.meters_per_unit
        return matrix

    def check_frames(self) -> None:
        seen: dict[str, _Labelled] = {}
        for entry in self.found.values():
            if entry.role in ("world", "door"):
                continue
            other = seen.setdefault(entry.frame_id, entry)
            if other is entry:
                continue
            if {other.role, entry.role} == {"room"} and np.allclose(
                other.matrix, entry.matrix, rtol=0.0, atol=1e-9
            ):
                continue  # rooms of the original software share the frame of their building
            raise StageError(
                f"{entry.path}: its frame is '{entry.frame_id}', which is that of {other.path}"
            )

    def above(self, entry: _Labelled, *roles: str) -> _Labelled | None:
        """Return the nearest ancestor with one of the roles."""
        prim = entry.prim.GetParent()
        while prim and not prim.IsPseudoRoot():
            found = self.found.get(str(prim.GetPath()))
            if found is not None and found.role in roles:
                return found
            prim = prim.GetParent()
        return None

    def box(self, entry: _Labelled) -> Box | None:
        """Return the least and greatest coordinates of what a prim shows, in its own frame."""
        inner = [
            path
            for path, other in self.found.items()
            if path.startswith(entry.path + "/") and other.role in ("poi", "item", "nav_goal")
        ]
        points = [
            part.points
            for part in self.geometry.parts
            if _below(part.path, entry.path)
            and not (entry.role == "surface" and any(_below(part.path, path) for path in inner))
        ]
        if not points:
            return None
        cloud = np.concatenate(points)
        local = (cloud - entry.matrix[:3, 3]) @ entry.matrix[:3, :3]
        return local.min(axis=0), local.max(axis=0)

    def size(self, entry: _Labelled) -> tuple[float, float, Box | None]:
        """Return the width and height of a prim, written or measured."""
        if entry.width is not None and entry.height is not None:
            return entry.width, entry.height, None
        box = self.box(entry)
        if box is None:
            self.omit(
                entry.path, "size", f"the {entry.role} has no size written and shows no surface"
            )
            return entry.width or 0.0, entry.height or 0.0, None
        x, y, _ = box[1] - box[0]
        return (
            float(x) if entry.width is None else entry.width,
            float(y) if entry.height is None else entry.height,
            box,
        )

    def centred(self, entry: _Labelled, box: Box | None) -> Matrix:
        """Move a measured prim's frame to the middle of its rectangle."""
        if box is None:
            return entry.matrix
        middle = (box[0] + box[1]) / 2.0
        if math.hypot(middle[0], middle[1]) <= _OFF_CENTRE:
            return entry.matrix
        self.omit(
            entry.path,
            "off centre",
            f"its origin is {middle[0]:.3f}, {middle[1]:.3f} m from the middle of its box, "
            "where its frame was moved to",
        )
        moved: Matrix = entry.matrix.copy()
        moved[:3, 3] += entry.matrix[:3, :2] @ middle[:2]
        return moved

    def rooms(self) -> list[RoomPlace]:
        surfaces: dict[str, list[_Labelled]] = {}
        parts: dict[str, list[_Labelled]] = {}
        for entry in self.found.values():
            if entry.role == "surface":
                room = self.above(entry, "room")
                surfaces.setdefault("" if room is None else room.path, []).append(entry)
            elif entry.role in ("poi", "placement_surface"):
                surface = self.above(entry, "surface")
                if surface is None:
                    raise StageError(
                        f"{entry.path}: the {entry.role} is below no surface, one was expected"
                    )
                parts.setdefault(surface.path, []).append(entry)
        rooms = []
        used: set[str] = set()
        for entry in self.found.values():
            if entry.role != "room":
                continue
            width, height, box = self.size(entry)
            matrix = self.centred(entry, box)
            outline = _attribute(entry.prim, "outline", None)
            area = _attribute(entry.prim, "area", None)
            rooms.append(
                RoomPlace(
                    entry.name,
                    entry.frame_id,
                    from_matrix(matrix),
                    width,
                    height,
                    tuple(
                        self.surface(surface, matrix, parts.get(surface.path, ()), used)
                        for surface in surfaces.get(entry.path, ())
                    ),
                    tuple((float(x), float(y)) for x, y in outline or ()),
                    None if area is None else float(area),
                    entry.path,
                )
            )
        if "" in surfaces:
            fixed = next((e for e in self.found.values() if e.role == "world"), None)
            frame = "map" if fixed is None else str(_attribute(fixed.prim, "fixedFrame", "map"))
            rooms.append(
                RoomPlace(
                    "",
                    frame,
                    surfaces=tuple(
                        self.surface(surface, np.eye(4), parts.get(surface.path, ()), used)
                        for surface in surfaces[""]
                    ),
                )
            )
        for entry in self.found.values():
            if entry.role == "nav_goal" and entry.path not in used:
                self.omit(entry.path, "nav goal", "no part of a surface names it as its goal")
        return rooms

    def surface(
        self, entry: _Labelled, room: Matrix, parts: Sequence[_Labelled], used: set[str]
    ) -> SurfacePlace:
        width, height, box = self.size(entry)
        matrix = self.centred(entry, box)
        if matrix[2, 2] < math.cos(math.radians(30.0)):
            self.omit(entry.path, "tilted", "its z axis is not up, so little would stay on it")
        placements = [
            self.placement(part, matrix, room, used)
            for part in parts
            if part.role == "placement_surface"
        ]
        if not placements:
            measured = box if box is not None else self.box(entry)
            if measured is not None:
                middle = (measured[0] + measured[1]) / 2.0
                top = np.eye(4)
                top[:3, 3] = middle[0], middle[1], measured[1][2]
                top = np.linalg.inv(matrix) @ entry.matrix @ top
                placements = [
                    PlacementSurface(
                        f"{entry.frame_id}/top", from_matrix(top), "top", width, height
                    )
                ]
        aliases = _attribute(entry.prim, "aliases", ())
        return SurfacePlace(
            entry.name,
            entry.frame_id,
            from_matrix(np.linalg.inv(room) @ matrix),
            width,
            height,
            tuple(str(alias) for alias in aliases),
            tuple(placements),
            tuple(self.poi(part, matrix) for part in parts if part.role == "poi"),
            entry.path,
        )

    def poi(self, entry: _Labelled, surface: Matrix) -> PoiPlace:
        width, height, box = self.size(entry)
        matrix = self.centred(entry, box)
        pose = from_matrix(np.linalg.inv(surface) @ matrix)
        return PoiPlace(entry.name, entry.frame_id, pose, width, height)

    def placement(
        self, entry: _Labelled, surface: Matrix, room: Matrix, used: set[str]
    ) -> PlacementSurface:
        goal = None
        relation = entry.prim.GetRelationship(_PREFIX + "navGoal")
        for target in relation.GetTargets() if relation else ():
            nav = self.found.get(str(target))
            if nav is None or nav.role != "nav_goal":
                self.omit(entry.path, "nav goal", f"its goal {target} is no nav_goal")
                continue
            used.add(nav.path)
            goal = NavGoal(
                nav.frame_id,
                from_matrix(np.linalg.inv(room) @ nav.matrix),
                float(_attribute(nav.prim, "yawOffset", 0.0)),
                nav.name,
            )
        return PlacementSurface(
            entry.frame_id,
            from_matrix(np.linalg.inv(surface) @ entry.matrix),
            entry.name,
            entry.width or 0.0,
            entry.height or 0.0,
            goal,
        )

    def item(self, entry: _Labelled) -> ItemPlace:
        surface = self.above(entry, "surface")
        if surface is not None:
            self.omit(entry.path, "nested", f"is a child of {surface.path} and would move with it")
        width, height, _ = self.size(entry)
        points = [part.points for part in self.geometry.parts if _below(part.path, entry.path)]
        bottom = top = None
        if points:
            heights = np.concatenate(points)[:, 2]
            bottom, top = float(heights.min()), float(heights.max())
        elif _attribute(entry.prim, "bottom", None) is not None:
            # Heights without a shape are kept relative to the origin, so that they move along.
            z = float(entry.matrix[2, 3])
            bottom = z + float(_attribute(entry.prim, "bottom", 0.0))
            top = z + float(_attribute(entry.prim, "top", 0.0))
        return ItemPlace(
            entry.name,
            entry.frame_id,
            from_matrix(entry.matrix),
            width,
            height,
            bottom,
            top,
            entry.path,
        )

    def door(self, entry: _Labelled) -> Door:
        beside = [str(frame) for frame in _attribute(entry.prim, "rooms", ("", ""))]
        turn = entry.matrix[:2, :2]
        return Door(
            (beside[0], beside[1]),
            (float(entry.matrix[0, 3]), float(entry.matrix[1, 3])),
            math.atan2(turn[1, 0], turn[0, 0]),
            entry.width or 0.0,
        )


def _attribute(prim: Usd.Prim, key: str, default: Any) -> Any:
    attribute = prim.GetAttribute(_PREFIX + key)
    if not attribute or not attribute.HasAuthoredValue():
        return default
    value = attribute.Get()
    return default if value is None else value


def _below(path: str, root: str) -> bool:
    """Tell whether a path, also that of an instance in brackets, is at or below a prim."""
    return path == root or path.startswith((root + "/", root + "["))


# ------------------------------------------------------------------ rooms of a map


def _counted(room: RoomPlace, occupancy: Occupancy) -> RoomPlace:
    """Count the free floor in a room's rectangle."""
    if not room.name or room.width <= 0.0 or room.height <= 0.0:
        return room
    ix, iy = np.nonzero(occupancy.cells == 0)
    x, y = occupancy.cell_to_world(ix, iy)
    matrix = to_matrix(room.pose)
    yaw = math.atan2(matrix[1, 0], matrix[0, 0])
    dx, dy = x - matrix[0, 3], y - matrix[1, 3]
    across = np.abs(math.cos(yaw) * dx + math.sin(yaw) * dy) <= room.width / 2.0
    along = np.abs(math.cos(yaw) * dy - math.sin(yaw) * dx) <= room.height / 2.0
    return replace(room, area=float((across & along).sum()) * occupancy.resolution**2)


def _with_found_rooms(model: WorldModel, plan: RoomPlan) -> WorldModel:
    """Put the rooms of a map into a world, and the surfaces into their rooms."""
    loose = [surface for room in model.rooms for surface in room.surfaces]
    held: dict[int, list[SurfacePlace]] = {}
    rest = []
    origins = []
    for number, room in enumerate(plan.rooms):
        x0, y0, x1, y1 = room.outline.bounds
        origins.append(((x0 + x1) / 2.0, (y0 + y1) / 2.0, x1 - x0, y1 - y0))
        held[number] = []
    for surface in loose:
        at = surface.pose.position
        spot = shapely.Point(at.x, at.y)
        owner = next(
            (n for n, room in enumerate(plan.rooms) if room.outline.buffer(0.1).contains(spot)),
            None,
        )
        if owner is None:
            rest.append(surface)
            continue
        cx, cy, _, _ = origins[owner]
        held[owner].append(_shifted(surface, -cx, -cy))
    rooms = [
        RoomPlace(
            f"room_{number + 1}",
            f"room_{number + 1}",
            Pose(Point(cx, cy, 0.0)),
            width,
            height,
            tuple(held[number]),
            tuple((float(x), float(y)) for x, y in plan.rooms[number].outline.exterior.coords[:-1]),
            plan.rooms[number].area,
        )
        for number, (cx, cy, width, height) in enumerate(origins)
    ]
    doors = tuple(
        Door(
            (rooms[door.rooms[0]].frame_id, rooms[door.rooms[1]].frame_id),
            door.position,
            door.yaw,
            door.width,
        )
        for door in plan.doors
    )
    outside = [replace(room, surfaces=tuple(rest)) for room in model.rooms if rest][:1]
    return replace(model, rooms=(*rooms, *outside), doors=doors)


def _shifted(surface: SurfacePlace, dx: float, dy: float) -> SurfacePlace:
    """Move a surface, and where one stands to reach it, from the world into a room."""

    def moved(pose: Pose) -> Pose:
        at = pose.position
        return Pose(Point(at.x + dx, at.y + dy, at.z), pose.orientation)

    return replace(
        surface,
        pose=moved(surface.pose),
        placements=tuple(
            replace(part, nav_goal=replace(part.nav_goal, pose=moved(part.nav_goal.pose)))
            if part.nav_goal is not None
            else part
            for part in surface.placements
        ),
    )


# ------------------------------------------------------------------ items


@dataclass(frozen=True, slots=True)
class ItemRelation:
    """How an item is with a surface.

    Attributes:
        item: The frame of the item.
        kind: ``"on"`` stands on a part or on the top; ``"inside"`` is enclosed by the
            furniture, also on a shelf of it; ``"under"`` is below the top and not enclosed.
        surface: The frame of the surface.
        placement: The frame of the part that it stands on, blank for none.
    """

    item: str
    kind: Literal["on", "inside", "under"]
    surface: str
    placement: str = ""


def item_relations(
    stage: Usd.Stage, model: WorldModel, *, tolerance: float = 0.1
) -> tuple[ItemRelation, ...]:
    """Say which item is on, inside or under which surface.

    An item is inside where rays from its middle to the four sides of the furniture meet at
    least three walls of it, so a cupboard with an open door counts and a table does not.

    Args:
        stage: The stage that the model was read from.
        model: The world.
        tolerance: How far from a part an item may stand on it [m].

    Returns:
        One relation for each item that is within a surface's rectangle, in the order of items.
    """
    geometry = read_geometry(stage)
    frames = model.frames()
    relations = []
    for item in model.items:
        at = item.pose.position
        bottom = at.z if item.bottom is None else item.bottom
        middle = bottom if item.top is None else (bottom + item.top) / 2.0
        for _, surface in model.surfaces():
            local = np.linalg.inv(frames[surface.frame_id]) @ (at.x, at.y, bottom, 1.0)
            if abs(local[0]) > surface.width / 2.0 or abs(local[1]) > surface.height / 2.0:
                continue
            parts = [
                part
                for part in geometry.parts
                if surface.path
                and _below(part.path, surface.path)
                and not _below(part.path, item.path or "/none")
            ]
            relation = _relation(item, surface, frames, (at.x, at.y, bottom, middle), parts,
                                 tolerance)  # fmt: skip
            if relation is not None:
                relations.append(relation)
                break
    return tuple(relations)


def _relation(
    item: ItemPlace,
    surface: SurfacePlace,
    frames: Mapping[str, Matrix],
    place: tuple[float, float, float, float],
    parts: Sequence[Part],
    tolerance: float,
) -> ItemRelation | None:
    x, y, bottom, middle = place
    near = [
        (abs(frames[part.frame_id][2, 3] - bottom), index, part.frame_id)
        for index, part in enumerate(surface.placements)
    ]
    best = min(near, default=(math.inf, 0, ""))
    placement = best[2] if best[0] <= tolerance else ""
    top = max((float(part.points[:, 2].max()) for part in parts), default=-math.inf)
    if middle >= top or not parts:
        return ItemRelation(item.frame_id, "on", surface.frame_id, placement) if placement else None
    if _walls_around(np.array([x, y, middle]), frames[surface.frame_id], parts) >= 3:
        return ItemRelation(item.frame_id, "inside", surface.frame_id, placement)
    if placement:
        return ItemRelation(item.frame_id, "on", surface.frame_id, placement)
    return ItemRelation(item.frame_id, "under", surface.frame_id)


def _walls_around(point: NDArray[np.float64], frame: Matrix, parts: Sequence[Part]) -> int:
    """Return how many of four level directions meet a triangle."""
    corners = np.concatenate([part.points[part.triangles] for part in parts])
    count = 0
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        way = frame[:3, axis] * sign
        edge1, edge2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        across = np.cross(way, edge2)
        det = np.einsum("ij,ij->i", edge1, across)
        safe = np.where(np.abs(det) < 1e-12, np.inf, det)
        offset = point - corners[:, 0]
        u = np.einsum("ij,ij->i", offset, across) / safe
        turned = np.cross(offset, edge1)
        v = turned @ way / safe
        distance = np.einsum("ij,ij->i", edge2, turned) / safe
        hit = np.isfinite(safe) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0)
        count += bool(hit.any())
    return count


# ------------------------------------------------------------------ writing


def world_model_to_stage(
    model: WorldModel,
    path: str | os.PathLike[str] | None = None,
    *,
    meters_per_unit: float = 1.0,
    up_axis: Literal["Y", "Z"] = "Z",
) -> Usd.Stage:
    """Write a world as a layer of its own, to be laid over a stage as a sublayer.

    Nothing in it shows: it holds frames, labels and attributes below ``/World/IW``. Reading it
    gives the same world.

    Args:
        model: The world.
        path: Where the layer is saved; only in memory unless told.
        meters_per_unit: The unit of the stage that it is to lie over [m].
        up_axis: Its up axis.

    Returns:
        The layer as a stage.
    """
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters_per_unit)
    UsdGeom.SetStageUpAxis(stage, up_axis)
    writer = _Writer(stage, stage_units(stage))
    writer.write(model)
    if path is not None:
        with writing(path) as temporary:
            stage.GetRootLayer().Export(str(temporary))
    return stage


@dataclass(slots=True)
class _Writer:
    stage: Usd.Stage
    units: StageUnits
    taken: set[str] = field(default_factory=set)

    def write(self, model: WorldModel) -> None:
        top = UsdGeom.Xform.Define(self.stage, "/World").GetPrim()
        Usd.ModelAPI(top).SetKind("group")
        self.stage.SetDefaultPrim(top)
        world = self.prim("/World", "IW", "world", Pose(), "assembly")
        _author(world, "version", Sdf.ValueTypeNames.Int, _VERSION)
        _author(world, "fixedFrame", Sdf.ValueTypeNames.String, model.fixed_frame)
        _author(world, "task", Sdf.ValueTypeNames.String, model.task)
        root = str(world.GetPath())
        for room in model.rooms:
            self.room(root, room)
        if model.items:
            items = UsdGeom.Xform.Define(self.stage, f"{root}/Items").GetPrim()
            Usd.ModelAPI(items).SetKind("group")
            for item in model.items:
                self.item(f"{root}/Items", item)
        for door in model.doors:
            pose = Pose(Point(*door.position, 0.0), Quaternion.from_yaw(door.yaw))
            prim = self.prim(root, f"Door_{'_'.join(door.rooms)}", "door", pose, None)
            _author(prim, "rooms", Sdf.ValueTypeNames.StringArray, Vt.StringArray(list(door.rooms)))
            _author(prim, "width", Sdf.ValueTypeNames.Double, door.width)

    def room(self, root: str, room: RoomPlace) -> None:
        folder = root
        if room.name:
            prim = self.prim(root, room.name, "room", room.pose, "group")
            self.describe(prim, room.name, room.frame_id, room.width, room.height)
            if room.outline:
                corners = Vt.Vec2dArray([Gf.Vec2d(x, y) for x, y in room.outline])
                _author(prim, "outline", Sdf.ValueTypeNames.Double2Array, corners)
            if room.area is not None:
                _author(prim, "area", Sdf.ValueTypeNames.Double, room.area)
            folder = str(prim.GetPath())
        goals: dict[str, str] = {}
        for surface in room.surfaces:
            self.surface(folder, surface, goals)

    def surface(self, folder: str, surface: SurfacePlace, goals: dict[str, str]) -> None:
        prim = self.prim(folder, surface.name, "surface", surface.pose, "component")
        self.describe(prim, surface.name, surface.frame_id, surface.width, surface.height)
        if surface.aliases:
            aliases = Vt.StringArray(list(surface.aliases))
            _author(prim, "aliases", Sdf.ValueTypeNames.StringArray, aliases)
        own = str(prim.GetPath())
        for part in surface.placements:
            name = part.name or part.frame_id
            placed = self.prim(own, name, "placement_surface", part.pose, "subcomponent")
            UsdGeom.Imageable(placed).CreatePurposeAttr(UsdGeom.Tokens.guide)
            self.describe(placed, part.name, part.frame_id, part.width, part.height)
            goal = part.nav_goal
            if goal is None:
                continue
            if goal.frame_id not in goals:
                nav = self.prim(
                    folder, f"Nav_{goal.name or goal.frame_id}", "nav_goal", goal.pose, None
                )
                _author(nav, "name", Sdf.ValueTypeNames.String, goal.name)
                _author(nav, "frameId", Sdf.ValueTypeNames.String, goal.frame_id)
                _author(nav, "yawOffset", Sdf.ValueTypeNames.Double, goal.yaw_offset)
                goals[goal.frame_id] = str(nav.GetPath())
            relation = placed.CreateRelationship(_PREFIX + "navGoal", custom=True)
            relation.SetTargets([goals[goal.frame_id]])
        for poi in surface.pois:
            placed = self.prim(own, poi.name, "poi", poi.pose, "subcomponent")
            self.describe(placed, poi.name, poi.frame_id, poi.width, poi.height)

    def item(self, folder: str, item: ItemPlace) -> None:
        prim = self.prim(folder, item.name, "item", item.pose, "component")
        add_labels(prim, "class", [item.name.casefold()])
        self.describe(prim, item.name, item.frame_id, item.width, item.height)
        if item.bottom is not None and item.top is not None:
            z = item.pose.position.z
            _author(prim, "bottom", Sdf.ValueTypeNames.Double, item.bottom - z)
            _author(prim, "top", Sdf.ValueTypeNames.Double, item.top - z)

    def prim(self, folder: str, name: str, role: str, pose: Pose, kind: str | None) -> Usd.Prim:
        """Define a frame below another, under a name of its own."""
        base = Tf.MakeValidIdentifier(name or role)
        path, count = f"{folder}/{base}", 1
        while path in self.taken:
            count += 1
            path = f"{folder}/{base}_{count}"
        self.taken.add(path)
        xform = UsdGeom.Xform.Define(self.stage, path)
        prim = xform.GetPrim()
        add_labels(prim, TAXONOMY, [role])
        if kind is not None:
            Usd.ModelAPI(prim).SetKind(kind)
        matrix = to_matrix(pose)
        place = self.units.stage_point(*(float(value) for value in matrix[:3, 3]))
        turn = self.units.rotation
        own = from_matrix(_turned(matrix, turn)).orientation
        xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*place))
        xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(
            gf_quaternion(own.x, own.y, own.z, own.w)
        )
        return prim

    def describe(
        self, prim: Usd.Prim, name: str, frame_id: str, width: float, height: float
    ) -> None:
        _author(prim, "name", Sdf.ValueTypeNames.String, name)
        _author(prim, "frameId", Sdf.ValueTypeNames.String, frame_id)
        _author(prim, "width", Sdf.ValueTypeNames.Double, width)
        _author(prim, "height", Sdf.ValueTypeNames.Double, height)


def _turned(matrix: Matrix, turn: NDArray[np.float64]) -> Matrix:
    """Take a turn of the world with z up to the axes of the stage."""
    rotation = np.eye(4)
    rotation[:3, :3] = turn @ matrix[:3, :3] @ turn.T
    return rotation


def _author(prim: Usd.Prim, key: str, kind: Any, value: Any) -> None:
    prim.CreateAttribute(_PREFIX + key, kind, True).Set(value)
