"""The pictures of the panels, as arrays: a map, a scan, fog, and how far robots are apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from irsim_isaac.kit.window.canvas import Rgba

if TYPE_CHECKING:
    from irsim_isaac.map import FogMap, Occupancy
    from irsim_isaac.msg import LaserScan

__all__ = ["CURVES", "draw_curves", "draw_fog", "draw_map", "draw_scan", "font"]

BACK = (31, 33, 36, 255)
GRID = (58, 62, 67, 255)
INK = (190, 195, 201, 255)
FAINT = (122, 128, 135, 255)
FREE = (232, 234, 236, 255)
WALL = (38, 44, 52, 255)
UNKNOWN = (148, 153, 160, 255)
GREEN = (118, 185, 0, 255)
ORANGE = (255, 152, 48, 255)
FOG = (70, 76, 84, 255)
SEEN = (214, 228, 190, 255)

CURVES = ((118, 185, 0), (73, 166, 230), (255, 152, 48), (214, 106, 214), (232, 206, 66))
"""The colours of curves, in order."""

_SHARP = 2
"""Lines are drawn larger by this and made smaller, which smooths them."""

Colour = tuple[int, int, int, int]


def font(size: float) -> Any:
    """Return the letters that pictures are written in."""
    return ImageFont.load_default(size)


def draw_map(
    occupancy: Occupancy,
    width: int,
    height: int,
    *,
    seeds: Sequence[tuple[float, float]] = (),
    robots: Mapping[str, tuple[float, float, float]] | None = None,
) -> Rgba:
    """Draw a map with its seeds and robots.

    Args:
        occupancy: The map.
        width: Pixels.
        height: Pixels.
        seeds: Points [m].
        robots: x, y [m] and yaw [rad] of robots by name.
    """
    palette = np.array([UNKNOWN, FREE, WALL], dtype=np.uint8)
    kinds = np.where(occupancy.cells < 0, 0, np.where(occupancy.cells >= 50, 2, 1))
    image, place = _fitted(palette[kinds], width, height)
    draw = ImageDraw.Draw(image)
    for x, y in seeds:
        column, row = place(*occupancy.world_to_cell(x, y))
        draw.ellipse((column - 4, row - 4, column + 4, row + 4), fill=GREEN, outline=WALL)
    for name, (x, y, yaw) in (robots or {}).items():
        column, row = place(*occupancy.world_to_cell(x, y))
        _draw_arrow(draw, column, row, yaw + occupancy.origin[2], 8.0)
        draw.text((column + 10, row - 6), name, fill=ORANGE, font=font(11))
    return _array(image)


def draw_fog(
    fog: FogMap,
    occupancy: Occupancy,
    width: int,
    height: int,
    *,
    at: tuple[float, float, float] | None = None,
) -> Rgba:
    """Draw what has been seen of a map.

    Args:
        fog: What has been seen, over the cells of the map.
        occupancy: The map.
        width: Pixels.
        height: Pixels.
        at: Where the lidar is: x, y [m] and yaw [rad].
    """
    palette = np.array([FOG, SEEN, WALL], dtype=np.uint8)
    kinds = fog.explored.astype(np.intp)
    kinds[(occupancy.cells >= 50) & fog.explored] = 2
    image, place = _fitted(palette[kinds], width, height)
    if at is not None:
        column, row = place(*occupancy.world_to_cell(at[0], at[1]))
        _draw_arrow(ImageDraw.Draw(image), column, row, at[2], 8.0)
    return _array(image)


def draw_scan(scan: LaserScan | None, width: int, height: int, *, reach: float = 0.0) -> Rgba:
    """Draw a scan around its lidar: forward is up, left is left.

    Args:
        scan: The scan; None for none yet.
        width: Pixels.
        height: Pixels.
        reach: The range at the edge [m]; 0 for what the lidar reaches or sees.
    """
    image = Image.new("RGBA", (width * _SHARP, height * _SHARP), BACK)
    draw = ImageDraw.Draw(image)
    cx, cy = width * _SHARP / 2, height * _SHARP / 2
    radius = min(cx, cy) - 10 * _SHARP
    ranges = np.zeros(0) if scan is None else np.asarray(scan.ranges, dtype=np.float64)
    met = np.isfinite(ranges) & (ranges > 0)
    if not reach > 0:
        reach = _round_up(float(ranges[met].max()) if met.any() else 10.0)
    rings = 4
    for ring in range(1, rings + 1):
        r = radius * ring / rings
        draw.ellipse((cx - r, cy - r, cx + r, cy + r), outline=GRID, width=_SHARP)
    for spoke in range(12):
        angle = spoke * math.pi / 6
        end = (cx + radius * math.cos(angle), cy + radius * math.sin(angle))
        draw.line((cx, cy, *end), fill=GRID, width=1)
    if scan is not None:
        bearings = scan.angle_min + np.arange(ranges.size) * scan.angle_increment
        shown = met & (ranges <= reach)
        scale = radius / reach
        columns = cx - ranges[shown] * np.sin(bearings[shown]) * scale
        rows = cy - ranges[shown] * np.cos(bearings[shown]) * scale
        _put(image, columns, rows, GREEN, _SHARP + 1)
        draw = ImageDraw.Draw(image)
    _draw_arrow(draw, cx, cy, math.pi / 2, 7.0 * _SHARP)
    image = image.resize((width, height), Image.Resampling.BOX)
    draw = ImageDraw.Draw(image)
    letters = font(10)
    for ring in range(1, rings + 1):
        x = width / 2 + 3
        y = height / 2 - (radius / _SHARP) * ring / rings + 1
        draw.text((x, y), f"{reach * ring / rings:g} m", fill=FAINT, font=letters)
    if scan is None:
        draw.text((8, 6), "no scan yet", fill=FAINT, font=font(12))
    return _array(image)


def draw_curves(
    times: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    width: int,
    height: int,
    *,
    limit: float | None = None,
    unit: str = "m",
) -> Rgba:
    """Draw values over time.

    Args:
        times: The time of each value [s], rising.
        curves: Values by name, as many as there are times.
        width: Pixels.
        height: Pixels.
        limit: A value that is marked.
        unit: The unit of the values.
    """
    image = Image.new("RGBA", (width * _SHARP, height * _SHARP), BACK)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = (side * _SHARP for side in (46, 10, width - 10, height - 20))
    stamps = np.asarray(times, dtype=np.float64)
    highest = max(
        (float(np.nanmax(values)) for values in curves.values() if len(values)), default=0.0
    )
    highest = _round_up(max(highest, limit or 0.0, 1e-6))
    begin, end = (float(stamps[0]), float(stamps[-1])) if stamps.size else (0.0, 1.0)
    end = max(end, begin + 1e-6)
    for part in range(5):
        y = bottom - (bottom - top) * part / 4
        draw.line((left, y, right, y), fill=GRID, width=_SHARP)
    if limit is not None and limit <= highest:
        y = bottom - (bottom - top) * limit / highest
        draw.line((left, y, right, y), fill=ORANGE, width=_SHARP)
    for values, colour in zip(curves.values(), _colours(len(curves)), strict=True):
        if len(values) > 1:
            columns = left + (stamps - begin) / (end - begin) * (right - left)
            rows = bottom - np.asarray(values, dtype=np.float64) / highest * (bottom - top)
            draw.line(
                np.stack([columns, rows], axis=1).ravel().tolist(), fill=colour, width=2 * _SHARP
            )
    image = image.resize((width, height), Image.Resampling.BOX)
    draw = ImageDraw.Draw(image)
    letters = font(10)
    for part in (0, 2, 4):
        y = (bottom - (bottom - top) * part / 4) / _SHARP
        text = f"{highest * part / 4:.3g} {unit}"
        draw.text((left / _SHARP - 4, y), text, fill=FAINT, font=letters, anchor="rm")
    draw.text((left / _SHARP, height - 15), f"{begin:.1f} s", fill=FAINT, font=letters)
    draw.text((width - 10, height - 15), f"{end:.1f} s", fill=FAINT, font=letters, anchor="ra")
    x = left / _SHARP + 8
    for name, colour in zip(curves, _colours(len(curves)), strict=True):
        draw.rectangle((x, 13, x + 8, 21), fill=colour)
        draw.text((x + 12, 11), name, fill=INK, font=letters)
        x += 24 + draw.textlength(name, font=letters)
    return _array(image)


def _colours(count: int) -> list[tuple[int, int, int]]:
    return [CURVES[index % len(CURVES)] for index in range(count)]


def _fitted(pixels: npt.NDArray[np.uint8], width: int, height: int) -> tuple[Image.Image, Any]:
    """Fit a coloured grid, shape (nx, ny, 4), into a picture, y up.

    Returns:
        The picture, and a function that takes a cell to the pixel in the middle of it.
    """
    nx, ny = pixels.shape[:2]
    scale = min(width / nx, height / ny)
    columns, rows = max(1, round(nx * scale)), max(1, round(ny * scale))
    grid = Image.fromarray(np.ascontiguousarray(pixels[:, ::-1].transpose(1, 0, 2)), "RGBA")
    resampling = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    image = Image.new("RGBA", (width, height), BACK)
    left, top = (width - columns) // 2, (height - rows) // 2
    image.paste(grid.resize((columns, rows), resampling), (left, top))

    def place(ix: int, iy: int) -> tuple[float, float]:
        return left + (ix + 0.5) * columns / nx, top + rows - (iy + 0.5) * rows / ny

    return image, place


def _put(
    image: Image.Image,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    colour: Colour,
    size: int,
) -> None:
    """Put a dot at each place, all at once."""
    pixels = np.array(image)
    height, width = pixels.shape[:2]
    for down in range(size):
        for right in range(size):
            x = np.rint(columns - size / 2).astype(np.intp) + right
            y = np.rint(rows - size / 2).astype(np.intp) + down
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            pixels[y[inside], x[inside]] = colour
    image.paste(Image.fromarray(pixels, "RGBA"))


def _draw_arrow(
    draw: ImageDraw.ImageDraw, column: float, row: float, yaw: float, size: float
) -> None:
    """Draw a robot that looks along its yaw, y up."""
    corners = [
        (column + size * reach * math.cos(yaw + turn), row - size * reach * math.sin(yaw + turn))
        for turn, reach in ((0.0, 1.3), (2.5, 1.0), (math.pi, 0.5), (-2.5, 1.0))
    ]
    draw.polygon(corners, fill=ORANGE, outline=WALL)


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 5, 8, 10, 20, ... that is not less."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 4, 5, 8, 10) if power * step >= value * (1 - 1e-9))


def _array(image: Image.Image) -> Rgba:
    return np.ascontiguousarray(np.asarray(image, dtype=np.uint8))
