"""A picture of a search: the rooms, the drive, where it looked, and where it found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from irsim_isaac.interactive.recogniser import Camera, View
from irsim_isaac.map import Occupancy
from irsim_isaac.msg.interactive_world import ItemPlace, WorldModel

if TYPE_CHECKING:
    from irsim_isaac.interactive.search import Look, SearchOutcome

__all__ = ["draw_search"]

_SMOOTH = 2

Colour = tuple[int, int, int, int]

_INK: Colour = (40, 40, 45, 255)
_PAPER: Colour = (255, 255, 255, 235)
_BEFORE: Colour = (120, 125, 140, 255)
_DRIVE: Colour = (25, 95, 200, 255)
_SEEN_BEFORE: Colour = (120, 125, 140, 45)
_LOOKED: Colour = (230, 140, 20, 60)
_LOOKED_EDGE: Colour = (200, 115, 5, 200)
_FOUND: Colour = (20, 150, 70, 90)
_FOUND_EDGE: Colour = (10, 120, 50, 255)
_MOVED: Colour = (190, 30, 110, 255)


def draw_search(
    outcome: SearchOutcome,
    model: WorldModel,
    occupancy: Occupancy,
    *,
    items: Sequence[ItemPlace] = (),
    camera: Camera | None = None,
    size: int = 1600,
) -> Image.Image:
    """Draw a search over its world, y up, with a legend below.

    Args:
        outcome: The search.
        model: The world.
        occupancy: Its map.
        items: Where the items are in the end; where the world has them unless told.
        camera: What looked; its field of view is drawn.
        size: The longer side of the map [px].

    Returns:
        The picture, RGB.
    """
    # The rooms' picture is part of the stage's room, which opens USD.
    from irsim_isaac.stage.room_picture import draw_rooms

    shown = replace(model, items=tuple(items) or model.items)
    base = draw_rooms(shown, occupancy, size=size).convert("RGBA")
    pen = _Pen.over(base, occupancy)
    track, begin = outcome.track, outcome.search_begins
    if begin > 0:
        pen.line(track[: begin + 1], _BEFORE, 3.0)
    pen.line(track[begin:], _DRIVE, 3.5)
    pen.arrows(track[begin:], _DRIVE)
    seen = camera or Camera()
    for look in outcome.looks:
        fill, edge = (
            (_SEEN_BEFORE, _BEFORE)
            if not look.searching
            else (_FOUND, _FOUND_EDGE)
            if look.found
            else (_LOOKED, _LOOKED_EDGE)
        )
        pen.area(_fan(look.view, seen, look.at), fill, edge)
    for move in outcome.moves:
        pen.dashes(move.start[:2], move.end[:2], _MOVED)
    if len(track):
        pen.disc(tuple(track[0]), 9.0, _BEFORE, "S")
    for number, places in enumerate(_places(outcome.looks), start=1):
        colour = _FOUND_EDGE if places[-1].found else _LOOKED_EDGE
        pen.disc(places[0].view.position[:2], 11.0, colour, str(number))
    if outcome.position is not None:
        pen.ring(outcome.position[:2], 15.0, _FOUND_EDGE)
        pen.text(outcome.position[:2], outcome.item, _FOUND_EDGE)
    drawn = Image.alpha_composite(base, pen.finished())
    return _with_legend(drawn, outcome)


def _places(looks: Sequence[Look]) -> list[list[Look]]:
    """Return the looks of the search, those at one part together."""
    groups: list[list[Look]] = []
    for look in looks:
        if not look.searching:
            continue
        if groups and groups[-1][-1].part == look.part:
            groups[-1].append(look)
        else:
            groups.append([look])
    return groups


def _fan(view: View, camera: Camera, at: tuple[float, float]) -> NDArray[np.float64]:
    """Return the field of view as far as what was looked at, seen from above [m]."""
    x, y, _ = view.position
    reach = min(camera.far, math.dist((x, y), at) + 0.35)
    middle = math.atan2(view.direction[1], view.direction[0])
    turns = middle + np.linspace(-0.5, 0.5, 13) * camera.width
    rim = np.column_stack([x + reach * np.cos(turns), y + reach * np.sin(turns)])
    return np.concatenate([[(x, y)], rim])


class _Pen:
    """Draws in the coordinates of a world on a layer over a picture of it."""

    def __init__(self, size: tuple[int, int], scale: float, corner: tuple[float, float]) -> None:
        self._size = size
        self._layer = Image.new("RGBA", (size[0] * _SMOOTH, size[1] * _SMOOTH), (255, 255, 255, 0))
        self._scale, self._corner = scale * _SMOOTH, corner
        self._thick = _SMOOTH * max(size) / 1600.0

    @classmethod
    def over(cls, picture: Image.Image, occupancy: Occupancy) -> _Pen:
        nx, ny = occupancy.shape
        corners = np.array(
            [occupancy.cell_to_world(ix, iy, at="corner") for ix in (0, nx) for iy in (0, ny)]
        )
        low, high = corners.min(axis=0), corners.max(axis=0)
        scale = max(picture.size) / float(max(high - low))
        return cls(picture.size, scale, (float(low[0]), float(high[1])))

    def finished(self) -> Image.Image:
        return self._layer.resize(self._size, Image.Resampling.LANCZOS)

    def _at(self, points: Any) -> list[tuple[float, float]]:
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        x = (places[:, 0] - self._corner[0]) * self._scale
        y = (self._corner[1] - places[:, 1]) * self._scale
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def _draw(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self._layer, "RGBA")

    def line(self, points: NDArray[np.float64], colour: Colour, width: float) -> None:
        if len(points) > 1:
            pixels = round(width * self._thick)
            self._draw().line(self._at(points), fill=colour, width=pixels, joint="curve")

    def arrows(self, points: NDArray[np.float64], colour: Colour, every: float = 1.5) -> None:
        """Draw heads of arrows along a line, one every so many metres."""
        if len(points) < 2:
            return
        steps = np.hypot(*np.diff(points, axis=0).T)
        along = np.concatenate(([0.0], np.cumsum(steps)))
        for distance in np.arange(every / 2.0, along[-1], every):
            tip = np.array([np.interp(distance, along, axis) for axis in points.T])
            tail = np.array([np.interp(distance - 0.1, along, axis) for axis in points.T])
            way = tip - tail
            if not np.hypot(*way) > 1e-3:
                continue
            way /= np.hypot(*way)
            side = np.array([-way[1], way[0]])
            head = [tip + 0.09 * way, tip - 0.06 * way + 0.075 * side,
                    tip - 0.06 * way - 0.075 * side]  # fmt: skip
            self._draw().polygon(self._at(head), fill=colour)

    def area(self, points: NDArray[np.float64], fill: Colour, edge: Colour) -> None:
        layer = Image.new("RGBA", self._layer.size, (255, 255, 255, 0))
        draw = ImageDraw.Draw(layer)
        draw.polygon(self._at(points), fill=fill)
        places = self._at(points)
        draw.line([*places, places[0]], fill=edge, width=max(1, round(self._thick)))
        self._layer = Image.alpha_composite(self._layer, layer)

    def dashes(self, start: Any, end: Any, colour: Colour) -> None:
        """Draw a dashed arrow."""
        first, last = np.array(start), np.array(end)
        length = float(np.hypot(*(last - first)))
        count = max(1, round(length / 0.24))
        for index in range(count):
            piece = [first + (last - first) * (index + part) / count for part in (0.0, 0.55)]
            self.line(np.array(piece), colour, 2.5)
        if length > 0.2:
            self.arrows(np.array([last - (last - first) / length * 0.2, last]), colour, 0.3)

    def disc(self, at: Any, radius: float, colour: Colour, text: str) -> None:
        ((x, y),) = self._at([at])
        r = radius * self._thick
        draw = self._draw()
        draw.ellipse(
            [x - r, y - r, x + r, y + r],
            fill=colour,
            outline=_PAPER,
            width=max(1, round(1.5 * self._thick)),
        )
        font = ImageFont.load_default(size=1.25 * r)
        draw.text((x, y), text, fill=(255, 255, 255, 255), font=font, anchor="mm")

    def text(self, at: Any, text: str, colour: Colour) -> None:
        ((x, y),) = self._at([at])
        ImageDraw.Draw(self._layer, "RGBA").text(
            (x + 22.0 * self._thick, y),
            text,
            fill=colour,
            font=ImageFont.load_default(size=20.0 * self._thick),
            anchor="lm",
            stroke_width=round(2.0 * self._thick),
            stroke_fill=_PAPER,
        )

    def ring(self, at: Any, radius: float, colour: Colour) -> None:
        ((x, y),) = self._at([at])
        r = radius * self._thick
        self._draw().ellipse(
            [x - r, y - r, x + r, y + r], outline=colour, width=round(4 * self._thick)
        )


def _with_legend(picture: Image.Image, outcome: SearchOutcome) -> Image.Image:
    """Return the picture with what it shows and what came out below it."""
    width = picture.size[0]
    unit = max(9.0, width / 95.0)
    entries: list[tuple[str, Colour]] = [("drive of the search", _DRIVE)]
    if outcome.search_begins > 0:
        entries.append(("before it", _BEFORE))
    entries += [("looked here, in this order", _LOOKED_EDGE)]
    if outcome.found:
        entries.append((f"found the {outcome.item}", _FOUND_EDGE))
    if outcome.moves:
        entries.append(("moved by the simulation", _MOVED))
    height = round(unit * 5.2)
    whole = Image.new("RGB", (width, picture.size[1] + height), _PAPER[:3])
    whole.paste(picture.convert("RGB"), (0, 0))
    draw = ImageDraw.Draw(whole)
    font = ImageFont.load_default(size=unit * 1.15)
    y = picture.size[1] + unit * 0.9
    told = (
        f"{outcome.scenario}, {outcome.simulator}: {outcome.text}; searched "
        f"{', '.join(outcome.searched) or 'nowhere'} in {outcome.duration:.0f} s, "
        f"{outcome.distance:.1f} m driven"
    )
    draw.text((unit, y), _fitting(told, font, width - 2.0 * unit), fill=_INK[:3], font=font)
    x, y = unit, y + unit * 2.0
    for text, colour in entries:
        draw.rectangle([x, y + unit * 0.25, x + unit * 1.4, y + unit * 1.15], fill=colour[:3])
        draw.text((x + unit * 1.9, y), text, fill=_INK[:3], font=font)
        x += unit * 3.6 + font.getlength(text)
    return whole


def _fitting(text: str, font: Any, width: float) -> str:
    """Return as much of a text as fits, with dots for the rest."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}...") > width:
        text = text[:-1]
    return f"{text}..."
