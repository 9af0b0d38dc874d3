"""A picture of rooms, doors, surfaces, points of interest and items over the map."""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray
from PIL import Image

from irsim_isaac.map import Occupancy
from irsim_isaac.msg.interactive_world import RoomPlace, WorldModel
from irsim_isaac.stage.picture import _Canvas
from irsim_isaac.stage.world import World

__all__ = ["draw_rooms"]

_ROOMS = ((110, 170, 230), (240, 180, 90), (130, 200, 130), (220, 130, 170), (170, 150, 220))
_SURFACE = ((150, 110, 70, 170), (90, 60, 30, 255))
_POI = ((230, 200, 60, 150), (160, 130, 10, 255))
_DOOR = (200, 40, 60, 255)
_ITEM = (30, 150, 60, 255)
_INK = (40, 40, 45, 255)


def draw_rooms(model: WorldModel, occupancy: Occupancy, *, size: int = 1600) -> Image.Image:
    """Draw a world over its map, y up.

    Args:
        model: The world.
        occupancy: The map.
        size: The longer side of the picture [px].

    Returns:
        The picture, RGB.
    """
    nx, ny = occupancy.shape
    corners = np.array([occupancy.cell_to_world(ix, iy, at="corner")
                        for ix in (0, nx) for iy in (0, ny)])  # fmt: skip
    low, high = corners.min(axis=0), corners.max(axis=0)
    world = World(
        width=float(high[0] - low[0]),
        height=float(high[1] - low[1]),
        offset=(float(low[0]), float(low[1])),
        grid=occupancy,
    )
    canvas = _Canvas.of(world, size)
    canvas.grid(occupancy.cells, occupancy.resolution, occupancy.origin)
    frames = model.frames()
    named = [room for room in model.rooms if room.name]
    areas = [_floor(room, frames[room.frame_id]) for room in named]
    for index, area in enumerate(areas):
        colour = _ROOMS[index % len(_ROOMS)]
        canvas.area(area, (*colour, 90), (*colour, 255))
    for door in model.doors:
        x, y = door.position
        across = door.yaw + math.pi / 2.0
        dx, dy = math.cos(across) * door.width / 2.0, math.sin(across) * door.width / 2.0
        canvas.line(shapely.LineString([(x - dx, y - dy), (x + dx, y + dy)]), _DOOR)
    texts = []
    for _, surface in model.surfaces():
        shape = _rectangle(frames[surface.frame_id], surface.width, surface.height)
        canvas.area(shape, *_SURFACE)
        texts.append((shape.centroid, surface.name))
        for poi in surface.pois:
            canvas.area(_rectangle(frames[poi.frame_id], poi.width, poi.height), *_POI)
            texts.append((shapely.Point(frames[poi.frame_id][:2, 3]), poi.name))
    for item in model.items:
        at = item.pose.position
        canvas.dot((at.x, at.y), _ITEM)
        canvas.text(shapely.Point(at.x, at.y), item.name, _ITEM, above=True)
    for point, text in texts:
        canvas.text(point, text, _INK)
    for room, area in zip(named, areas, strict=True):
        told = room.name if room.area is None else f"{room.name} ({room.area:.1f} m2)"
        canvas.text(area.centroid, told, _INK, above=True)
    canvas.scale_bar()
    return canvas.finished()


def _floor(room: RoomPlace, frame: NDArray[np.float64]) -> shapely.Polygon:
    if room.outline:
        return shapely.Polygon(room.outline)
    return _rectangle(frame, room.width, room.height)


def _rectangle(frame: NDArray[np.float64], width: float, height: float) -> shapely.Polygon:
    """Return a rectangle about a frame's origin, seen from above."""
    half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (width / 2.0, height / 2.0)
    local = np.column_stack([half, np.zeros(4), np.ones(4)])
    return shapely.Polygon((local @ frame.T)[:, :2])
