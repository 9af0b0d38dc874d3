"""Rooms and doors of a map: where free floor is cut by narrow openings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.map import Occupancy, Omission
from irsim_isaac.map.outline import outline

__all__ = ["FoundDoor", "FoundRoom", "RoomPlan", "find_rooms"]

_SLIVER = 1e-6
_THICK = 0.4
"""What is thicker than this and stands alone is furniture, what is thinner a piece of wall [m]."""

_CORRIDOR = 0.6
"""What is narrower is no corridor [m]."""

_NARROWEST = 0.4
"""What is narrower is a gap between things and no door [m]."""

_FURNITURE = 6.0
"""What stands alone and is larger than this is no furniture [m2]."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundRoom:
    """A room that was found in a map.

    Attributes:
        area: The free floor [m2]: the number of its cells times the area of a cell.
        cells: The number of its free cells.
        outline: Its floor in the world [m], furniture that stands alone included.
    """

    area: float
    cells: int
    outline: shapely.Polygon


@dataclass(frozen=True, slots=True)
class FoundDoor:
    """An opening between two rooms.

    Attributes:
        rooms: The numbers of the rooms on its sides, the lesser first.
        position: Its middle (x, y) in the world [m].
        yaw: The direction from the first room into the second [rad].
        width: The clear width [m].
    """

    rooms: tuple[int, int]
    position: tuple[float, float]
    yaw: float
    width: float


@dataclass(frozen=True, slots=True, eq=False)
class RoomPlan:
    """The rooms of a map.

    Attributes:
        rooms: The rooms, from the lowest and leftmost on.
        doors: The openings between them.
        labels: The number of the room of each cell, -1 for none, int32, shape (nx, ny).
        omissions: Free floor that is in no room, and why.
    """

    rooms: tuple[FoundRoom, ...]
    doors: tuple[FoundDoor, ...]
    labels: NDArray[np.int32]
    omissions: tuple[Omission, ...]


def find_rooms(
    occupancy: Occupancy, *, door_width: float = 1.0, least_area: float = 1.5
) -> RoomPlan:
    """Cut the free floor of a map into rooms where it is no wider than a door.

    Furniture that stands alone does not cut a room. Floor that is open to the edge of the map
    along more than a door's width is outside of the building, unless there is nothing else.

    Args:
        occupancy: The map.
        door_width: The widest opening that separates two rooms [m]; a corridor must be wider.
        least_area: The least floor of a room [m2]; less belongs to the room beside it.

    Returns:
        The rooms, their doors and which cell is in which room.

    Raises:
        StageError: A parameter makes no sense.
    """
    if not (door_width > 0.0 and least_area >= 0.0):
        raise StageError(
            f"door_width is {door_width}, least_area {least_area}; positive lengths were expected"
        )
    free = occupancy.cells == 0
    shape = _area(free) if free.any() else shapely.MultiPolygon()
    floor, _ = _without_furniture(shape, occupancy.resolution)
    # Half the widest opening, and a hair more so that an opening of just this width is closed.
    radius = (door_width / 2.0 + 1e-3) / occupancy.resolution
    least = least_area / occupancy.resolution**2
    cores = _opened(floor, radius, least)
    edge = _edge(free.shape)
    pieces = _parts(floor.difference(shapely.union_all(cores))) if cores else _parts(floor)
    # A passage too narrow for a core and yet as large as a room is a corridor.
    corridors = [
        piece
        for piece in pieces
        if piece.area >= least
        and not piece.buffer(-_CORRIDOR / 2.0 / occupancy.resolution, join_style="mitre").is_empty
    ]
    first = len(cores)
    cores += corridors
    pieces = [piece for piece in pieces if not any(piece is other for other in corridors)]
    outside = {
        index for index, core in enumerate(cores) if core.intersection(edge).length > 2.0 * radius
    }
    if len(outside) == len(cores):
        outside = set()
    owners, doors = _share(pieces, cores, _NARROWEST / occupancy.resolution)
    areas = [
        shapely.union_all([core, *(piece for piece, own in owners if own == index)])
        for index, core in enumerate(cores)
    ]
    order = sorted(
        (index for index in range(len(cores)) if index not in outside),
        key=lambda index: (round(areas[index].bounds[1], 6), round(areas[index].bounds[0], 6)),
    )
    numbers = {index: number for number, index in enumerate(order)}
    labels = _labels(free, [areas[index] for index in order], _doorways(doors, numbers))
    omissions = _omissions(free, labels, [areas[index] for index in sorted(outside)], occupancy)
    counts = np.bincount(labels[labels >= 0], minlength=len(order))
    rooms = tuple(
        FoundRoom(
            float(counts[number]) * occupancy.resolution**2,
            int(counts[number]),
            _placed(_largest(areas[index]), occupancy),
        )
        for number, index in enumerate(order)
    )
    return RoomPlan(
        rooms,
        tuple(
            door
            for door in (
                *(_door(piece, pair, cores, numbers, occupancy) for piece, pair in doors),
                *_corridor_doors(cores, first, numbers, occupancy),
            )
            if door is not None
        ),
        labels,
        omissions,
    )


def _area(free: NDArray[np.bool_]) -> shapely.Geometry:
    """Return the union of cells, in cells."""
    corners, rings = outline(free)
    starts = np.flatnonzero(np.diff(rings, prepend=-1))
    loops = [
        corners[start:end].astype(np.float64)
        for start, end in zip(starts, [*starts[1:], len(rings)], strict=True)
    ]
    lines = shapely.linestrings(
        np.concatenate(loops), indices=np.repeat(np.arange(len(loops)), [len(x) for x in loops])
    )
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(shapely.node(
        shapely.multilinestrings(lines)))))  # fmt: skip
    inside = shapely.get_coordinates(shapely.point_on_surface(faces))
    ix, iy = np.floor(inside).astype(int).T
    return shapely.union_all(faces[free[ix, iy]])


def _without_furniture(
    floor: shapely.Geometry, resolution: float
) -> tuple[shapely.Geometry, list[shapely.Polygon]]:
    """Fill the holes that are things, and keep those that are walls."""
    filled, things = [], []
    for polygon in _parts(floor):
        holes = []
        for ring in polygon.interiors:
            hole = shapely.Polygon(ring)
            thick = not hole.buffer(-_THICK / 2.0 / resolution + _SLIVER).is_empty
            if thick and hole.area * resolution**2 <= _FURNITURE:
                things.append(hole)
            else:
                holes.append(ring)
        filled.append(shapely.Polygon(polygon.exterior, holes))
    return shapely.union_all(filled) if filled else shapely.MultiPolygon(), things


def _opened(floor: shapely.Geometry, radius: float, least: float) -> list[shapely.Geometry]:
    """Return the pieces that a square of the given half side can reach."""
    found = []
    for core in _parts(floor.buffer(-radius, join_style="mitre")):
        grown = core.buffer(radius, join_style="mitre").intersection(floor)
        grown = _largest(shapely.set_precision(grown, _SLIVER))
        if grown.area >= least:
            found.append(grown)
    return found


def _parts(area: shapely.Geometry) -> list[shapely.Polygon]:
    return [
        part
        for part in shapely.get_parts(shapely.set_precision(area, _SLIVER))
        if part.geom_type == "Polygon" and part.area > 1e-3
    ]


def _largest(area: shapely.Geometry) -> shapely.Polygon:
    parts = _parts(area)
    return max(parts, key=lambda part: part.area) if parts else shapely.Polygon()


def _edge(shape: tuple[int, ...]) -> shapely.Geometry:
    return shapely.box(0, 0, shape[0], shape[1]).exterior


def _share(
    pieces: list[shapely.Polygon], cores: list[shapely.Geometry], narrowest: float
) -> tuple[list[tuple[shapely.Polygon, int]], list[tuple[shapely.Polygon, tuple[int, int]]]]:
    """Give the narrow pieces to the rooms that they touch; those between two are doorways."""
    owners: list[tuple[shapely.Polygon, int]] = []
    doors: list[tuple[shapely.Polygon, tuple[int, int]]] = []
    for piece in pieces:
        contacts = {
            index: shared
            for index, core in enumerate(cores)
            if (shared := _contact(piece, core)) > 0.5
        }
        beside = sorted(contacts, key=lambda index: (-contacts[index], index))
        if not beside:
            continue
        others = [index for index in beside[1:] if contacts[index] >= narrowest]
        if not others:
            owners.append((piece, beside[0]))
        else:
            for other in others:
                doors.append((piece, (min(beside[0], other), max(beside[0], other))))
    return owners, doors


def _contact(piece: shapely.Polygon, core: shapely.Geometry) -> float:
    """Return the length along which two areas touch."""
    if not piece.intersects(core.buffer(_SLIVER * 10.0)):
        return 0.0
    return float(piece.boundary.intersection(core.buffer(_SLIVER * 10.0)).length)


def _doorways(
    doors: list[tuple[shapely.Polygon, tuple[int, int]]], numbers: dict[int, int]
) -> list[tuple[shapely.Polygon, tuple[int, ...]]]:
    return [
        (piece, tuple(numbers[index] for index in pair if index in numbers))
        for piece, pair in doors
    ]


def _labels(
    free: NDArray[np.bool_],
    areas: list[shapely.Geometry],
    doorways: list[tuple[shapely.Polygon, tuple[int, ...]]],
) -> NDArray[np.int32]:
    labels = np.full(free.shape, -1, np.int32)
    for number, area in enumerate(areas):
        _paint(labels, area, free, lambda x, y, number=number: np.full(len(x), number))  # type: ignore[misc]  # bound at once

    for piece, beside in doorways:
        if not beside:
            continue

        def nearest(
            x: NDArray[np.float64], y: NDArray[np.float64], beside: tuple[int, ...] = beside
        ) -> NDArray[np.int64]:
            points = shapely.points(x, y)
            distances = [shapely.distance(points, areas[number]) for number in beside]
            best: NDArray[np.int64] = np.argmin(distances, axis=0)
            return np.array(beside, np.int64)[best]

        _paint(labels, piece, free & (labels < 0), nearest)
    return labels


def _paint(
    labels: NDArray[np.int32], area: shapely.Geometry, where: NDArray[np.bool_], number: object
) -> None:
    """Number the cells whose middle lies in an area."""
    if area.is_empty:
        return
    x0, y0, x1, y1 = area.bounds
    nx, ny = labels.shape
    ix = slice(max(0, math.floor(x0)), min(nx, math.ceil(x1)))
    iy = slice(max(0, math.floor(y0)), min(ny, math.ceil(y1)))
    xs, ys = np.nonzero(where[ix, iy])
    xs, ys = xs + ix.start, ys + iy.start
    shapely.prepare(area)
    inside = shapely.contains_xy(area, xs + 0.5, ys + 0.5)
    xs, ys = xs[inside], ys[inside]
    if len(xs):
        labels[xs, ys] = number(xs + 0.5, ys + 0.5)  # type: ignore[operator]  # a function


def _omissions(
    free: NDArray[np.bool_],
    labels: NDArray[np.int32],
    outside: list[shapely.Geometry],
    occupancy: Occupancy,
) -> tuple[Omission, ...]:
    square = occupancy.resolution**2
    found = []
    for area in outside:
        x, y = occupancy.cell_to_world(*map(int, area.representative_point().coords[0]))
        found.append(
            Omission(
                f"({x:.2f}, {y:.2f})",
                "outside",
                f"{area.area * square:.2f} m2 of free floor are open to the edge of the map",
            )
        )
    rest = int((free & (labels < 0)).sum()) * square - sum(area.area for area in outside) * square
    if rest > square / 2.0:
        found.append(
            Omission("the map", "nook", f"{rest:.2f} m2 of free floor are too small for a room")
        )
    return tuple(found)


def _placed(area: shapely.Polygon, occupancy: Occupancy) -> shapely.Polygon:
    """Take an area from cells to the world."""
    x, y, yaw = occupancy.origin
    c, s = math.cos(yaw) * occupancy.resolution, math.sin(yaw) * occupancy.resolution
    turn = np.array([[c, s], [-s, c]])
    return shapely.transform(area, lambda points: points @ turn + (x, y))


def _door(
    piece: shapely.Polygon,
    pair: tuple[int, int],
    cores: list[shapely.Geometry],
    numbers: dict[int, int],
    occupancy: Occupancy,
) -> FoundDoor | None:
    if not (pair[0] in numbers and pair[1] in numbers):
        return None
    first, second = sorted(pair, key=lambda index: numbers[index])
    near = cores[first].buffer(_SLIVER * 10.0)
    far = cores[second].buffer(_SLIVER * 10.0)
    sides = [piece.boundary.intersection(near), piece.boundary.intersection(far)]
    width = min(side.length for side in sides) * occupancy.resolution
    middles = [_placed(side.centroid, occupancy) for side in sides]
    (x0, y0), (x1, y1) = ((point.x, point.y) for point in middles)
    return FoundDoor(
        (numbers[first], numbers[second]),
        ((x0 + x1) / 2.0, (y0 + y1) / 2.0),
        math.atan2(y1 - y0, x1 - x0),
        # The boundary of the buffer adds hairs at both ends.
        round(width, 4),
    )


def _corridor_doors(
    cores: list[shapely.Geometry], first: int, numbers: dict[int, int], occupancy: Occupancy
) -> list[FoundDoor]:
    """Return where corridors, numbered from ``first`` on, open straight into rooms."""
    found = []
    for corridor in range(first, len(cores)):
        for room in range(first):
            if corridor not in numbers or room not in numbers:
                continue
            near = cores[room].buffer(_SLIVER * 10.0)
            shared = shapely.line_merge(cores[corridor].boundary.intersection(near))
            for line in shapely.get_parts(shared):
                width = line.length * occupancy.resolution
                if line.geom_type != "LineString" or width < _NARROWEST:
                    continue
                (x0, y0), (x1, y1) = line.coords[0], line.coords[-1]
                middle = line.interpolate(0.5, normalized=True)
                way = np.array([y1 - y0, x0 - x1]) / max(math.hypot(x1 - x0, y1 - y0), 1e-9)
                ahead = shapely.Point(middle.x + way[0] / 4.0, middle.y + way[1] / 4.0)
                a, b = sorted((room, corridor), key=lambda index: numbers[index])
                if ahead.distance(cores[b]) > ahead.distance(cores[a]):
                    way = -way
                at = _placed(middle, occupancy)
                found.append(
                    FoundDoor(
                        (numbers[a], numbers[b]),
                        (at.x, at.y),
                        math.atan2(way[1], way[0]) + occupancy.origin[2],
                        round(width, 4),
                    )
                )
    return found
