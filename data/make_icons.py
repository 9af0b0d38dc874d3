"""Draw the extension's icon and preview: ``python data/make_icons.py``.

A lidar sweeps a small map: cells it has seen are light, walls it has hit are green.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw

FOLDER = Path(__file__).resolve().parent

UNSEEN = (24, 29, 36)
SEEN = (62, 74, 89)
HIT = (118, 185, 0)
WALL = (40, 48, 58)
BEAM = (118, 185, 0)
ROBOT = (245, 247, 250)

_OVERSAMPLED = 4

_PLAN = (
    "################",
    "#......#.......#",
    "#......#.......#",
    "#......#...##..#",
    "#..........##..#",
    "#..............#",
    "####..##.......#",
    "#..............#",
    "#..............#",
    "#....##....#...#",
    "#....##....#...#",
    "#..........#...#",
    "#..............#",
    "#...####.......#",
    "#..............#",
    "################",
)
"""The icon's map, 16 x 16 cells."""

_WIDE_PLAN = tuple(row[:-1] + row[1:] for row in _PLAN)
"""Two rooms side by side for the preview."""


def _is_wall(plan: tuple[str, ...], column: int, row: int) -> bool:
    return plan[row][column] == "#"


def _beams(
    plan: tuple[str, ...], x: float, y: float, count: int
) -> Iterator[tuple[float, float, int, int, list[tuple[int, int]]]]:
    """Give the end, the cell hit and the cells crossed of each beam, in cells."""
    for beam in range(count):
        angle = math.tau * beam / count
        forward, left = math.cos(angle), math.sin(angle)
        crossed: list[tuple[int, int]] = []
        steps = 0
        while True:
            steps += 1
            end_x, end_y = x + forward * steps / 64, y + left * steps / 64
            cell = (int(end_x), int(end_y))
            if _is_wall(plan, *cell):
                yield end_x, end_y, *cell, crossed
                break
            if not crossed or crossed[-1] != cell:
                crossed.append(cell)


def _draw(plan: tuple[str, ...], size: tuple[int, int], robot: tuple[float, float]) -> Image.Image:
    width, height = size[0] * _OVERSAMPLED, size[1] * _OVERSAMPLED
    cell = width / len(plan[0])
    top = (height - cell * len(plan)) / 2
    image = Image.new("RGB", (width, height), UNSEEN)
    draw = ImageDraw.Draw(image)

    def square(column: int, row: int, colour: tuple[int, int, int]) -> None:
        left, upper = column * cell, top + row * cell
        gap = cell / 24
        draw.rectangle(
            (left + gap, upper + gap, left + cell - gap, upper + cell - gap), fill=colour
        )

    beams = list(_beams(plan, *robot, 240))
    seen = {crossed for *_, cells in beams for crossed in cells}
    hit = {(column, row) for _, _, column, row, _ in beams}
    for row, line in enumerate(plan):
        for column, character in enumerate(line):
            if character == "#":
                square(column, row, HIT if (column, row) in hit else WALL)
            elif (column, row) in seen:
                square(column, row, SEEN)
    centre = (robot[0] * cell, top + robot[1] * cell)
    for end_x, end_y, *_ in beams[::10]:
        draw.line((*centre, end_x * cell, top + end_y * cell), fill=BEAM, width=int(cell / 20))
    radius = cell * 0.75
    draw.ellipse(
        (centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius),
        fill=ROBOT,
    )
    nose = (centre[0] + radius * 0.85, centre[1])
    draw.line((*centre, *nose), fill=UNSEEN, width=int(cell / 5))
    return image.resize(size, Image.Resampling.LANCZOS)


def icon() -> Image.Image:
    """Draw the icon of the extension manager, 256 x 256 pixels."""
    return _draw(_PLAN, (256, 256), (8.5, 7.5))


def preview() -> Image.Image:
    """Draw the preview picture of the extension manager, 960 x 496 pixels."""
    return _draw(_WIDE_PLAN, (960, 496), (8.5, 7.5))


if __name__ == "__main__":
    icon().save(FOLDER / "icon.png", optimize=True)
    preview().save(FOLDER / "preview.png", optimize=True)
