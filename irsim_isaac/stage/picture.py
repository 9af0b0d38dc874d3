"""A picture of a world from above: map, obstacles with their names, robots, what lidars see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from irsim_isaac.errors import StageError
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.obstacles import placed
from irsim_isaac.stage.world import Pose, World

__all__ = ["draw_world"]

_SMOOTH = 2
"""Pictures are drawn this many times as large and then reduced, which smooths their lines."""

_LARGEST = 5000
"""The longer side of the largest picture [px]; while it is drawn it takes over a gigabyte."""

_FAN_BEAMS = 720

_PAPER = (252, 252, 250)
_FREE = (255, 255, 255)
_UNKNOWN = (205, 205, 205)
_TAKEN = (45, 45, 48)
_STANDING = ((120, 125, 135, 215), (60, 62, 70, 255))
_MOVING = ((240, 150, 50, 215), (170, 90, 10, 255))
_LOW = ((150, 200, 235, 110), (70, 130, 175, 255))
_ROBOT = ((40, 110, 210, 230), (15, 50, 120, 255))
_FAN = ((60, 160, 90, 45), (40, 140, 70, 130))
_GOAL = (200, 40, 60, 255)
_SEED = (30, 150, 60, 255)
_INK = (40, 40, 45, 255)


def draw_world(
    world: World,
    *,
    seeds: Sequence[tuple[float, float]] = (),
    size: int = 1600,
    names: bool = True,
) -> Image.Image:
    """Draw a world as it lies, y up.

    Args:
        world: The world; its grid is drawn below everything else.
        seeds: Places that are known to be free [m].
        size: The longer side of the picture [px].
        names: Whether obstacles and robots are named.

    Returns:
        The picture, RGB.

    Raises:
        StageError: The size is under 64 or over 5000 px.
    """
    if not 64 <= size <= _LARGEST:
        raise StageError(f"the picture's size is {size} px, 64 to {_LARGEST} were expected")
    canvas = _Canvas.of(world, size)
    if world.grid is not None:
        canvas.grid(world.grid.cells, world.grid.resolution, world.grid.origin)
    for low in world.low:
        canvas.area(low.area, *_LOW)
    for item in world.obstacles:
        colours = _MOVING if item.moving else _STANDING
        canvas.area(item.area(), *colours)
        for line in item.lines:
            canvas.line(placed(shapely.LineString(line), item.pose), colours[1])
    segments = _segments(world)
    for spec in world.robots:
        for mount in spec.lidars:
            canvas.area(_fan(world.starts[spec.name], mount, segments), *_FAN)
    for spec in world.robots:
        _draw_robot(canvas, spec, world.starts[spec.name])
        for goal in world.goals.get(spec.name, ()):
            canvas.cross(goal[:2], _GOAL)
    for seed in seeds:
        canvas.dot(seed, _SEED)
    if names:
        for low in world.low:
            canvas.text(low.area.centroid, f"{low.name} ({low.top:.2f} m)", _LOW[1])
        for item in world.obstacles:
            canvas.text(item.outline().centroid, item.name, _INK)
        for spec in world.robots:
            x, y, _ = world.starts[spec.name]
            canvas.text(shapely.Point(x, y), spec.name, _ROBOT[1], above=True)
    canvas.scale_bar()
    return canvas.finished()


def _draw_robot(canvas: _Canvas, spec: RobotSpec, start: Pose) -> None:
    if isinstance(spec.footprint, tuple):
        body = shapely.Polygon(spec.footprint)
    else:
        body = shapely.Point(0.0, 0.0).buffer(float(spec.footprint), quad_segs=16)
    canvas.area(placed(body, start), *_ROBOT)
    ahead = body.bounds[2]
    arrow = shapely.Polygon([(0.0, 0.25 * ahead), (0.0, -0.25 * ahead), (0.9 * ahead, 0.0)])
    canvas.area(placed(arrow, start), (255, 255, 255, 235), (255, 255, 255, 255))


def _segments(world: World) -> NDArray[np.float64]:
    """Return the edges of all obstacles, shape (n, 2, 2)."""
    lines = []
    for item in world.obstacles:
        for line in shapely.get_parts(item.outline()):
            points = shapely.get_coordinates(line)
            lines.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(lines) if lines else np.zeros((0, 2, 2))


def _fan(start: Pose, mount: LidarMount, segments: NDArray[np.float64]) -> shapely.Geometry:
    """Return what a lidar sees of the world at the robot's start."""
    profile = mount.profile
    x, y, yaw = start
    c, s = math.cos(yaw), math.sin(yaw)
    origin = np.array([x + c * mount.x - s * mount.y, y + s * mount.x + c * mount.y])
    count = min(profile.beam_count, _FAN_BEAMS)
    span = profile.angle_max - profile.angle_min
    angles = yaw + mount.yaw + profile.angle_min + np.linspace(0.0, span, count)
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    reach = np.full(count, profile.range_max)
    if len(segments):
        to_start = segments[:, 0] - origin
        along = segments[:, 1] - segments[:, 0]
        across = ways[:, :1] * along[:, 1] - ways[:, 1:] * along[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (to_start[:, 0] * along[:, 1] - to_start[:, 1] * along[:, 0]) / across
            place = (to_start[:, 0] * ways[:, 1:] - to_start[:, 1] * ways[:, :1]) / across
        hit = (distance >= 0.0) & (place >= 0.0) & (place <= 1.0)
        reach = np.minimum(reach, np.where(hit, distance, np.inf).min(axis=1))
    ends = origin + ways * reach[:, None]
    if not profile.full_circle:
        ends = np.concatenate([origin[None], ends])
    return shapely.Polygon(ends)


@dataclass
class _Canvas:
    """A picture with the world's coordinates."""

    image: Image.Image
    scale: float
    corner: tuple[float, float]
    font: Any

    @classmethod
    def of(cls, world: World, size: int) -> _Canvas:
        longer = max(world.width, world.height)
        if not longer > 0.0:
            raise StageError(f"the world is {world.width} m by {world.height} m, nothing to draw")
        scale = _SMOOTH * size / longer
        shape = (
            max(1, math.ceil(world.width * scale)),
            max(1, math.ceil(world.height * scale)),
        )
        image = Image.new("RGB", shape, _PAPER)
        font = ImageFont.load_default(size=_SMOOTH * max(9, size // 110))
        return cls(image, scale, (world.offset[0], world.offset[1] + world.height), font)

    def place(self, points: NDArray[np.float64]) -> list[tuple[float, float]]:
        x = (points[:, 0] - self.corner[0]) * self.scale
        y = (self.corner[1] - points[:, 1]) * self.scale
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def grid(
        self, cells: NDArray[np.int8], resolution: float, origin: tuple[float, float, float]
    ) -> None:
        shades = np.full((*cells.shape, 3), _FREE, dtype=np.uint8)
        shades[cells < 0] = _UNKNOWN
        shades[cells > 50] = _TAKEN
        picture = Image.fromarray(np.ascontiguousarray(shades.transpose(1, 0, 2)[::-1]))
        nx, ny = cells.shape
        # Pixel (u, v) of the canvas to the place, to the cell, to the pixel of the grid.
        x, y, yaw = origin
        c, s = math.cos(yaw) / resolution, math.sin(yaw) / resolution
        dx, dy = self.corner[0] - x, self.corner[1] - y
        step = 1.0 / self.scale
        turn = (
            c * step, -s * step, c * dx + s * dy,
            s * step, c * step, ny - (-s * dx + c * dy),
        )  # fmt: skip
        inside = Image.new("L", (nx, ny), 255)
        mask = inside.transform(self.image.size, Image.Transform.AFFINE, turn, fillcolor=0)
        drawn = picture.transform(self.image.size, Image.Transform.AFFINE, turn)
        self.image.paste(drawn, mask=mask)

    def area(
        self,
        area: shapely.Geometry,
        fill: tuple[int, int, int, int],
        edge: tuple[int, int, int, int],
    ) -> None:
        draw = ImageDraw.Draw(self.image, "RGBA")
        for polygon in shapely.get_parts(area):
            if polygon.geom_type != "Polygon" or polygon.is_empty:
                continue
            if polygon.interiors:
                self._with_holes(polygon, fill)
            else:
                draw.polygon(self.place(shapely.get_coordinates(polygon.exterior)), fill=fill)
            for ring in (polygon.exterior, *polygon.interiors):
                draw.line(self.place(shapely.get_coordinates(ring)), fill=edge, width=_SMOOTH)

    def _with_holes(self, polygon: shapely.Geometry, fill: tuple[int, int, int, int]) -> None:
        mask = Image.new("L", self.image.size, 0)
        draw = ImageDraw.Draw(mask)
        draw.polygon(self.place(shapely.get_coordinates(polygon.exterior)), fill=fill[3])
        for ring in polygon.interiors:
            draw.polygon(self.place(shapely.get_coordinates(ring)), fill=0)
        self.image.paste(Image.new("RGB", self.image.size, fill[:3]), mask=mask)

    def line(self, line: shapely.Geometry, colour: tuple[int, int, int, int]) -> None:
        draw = ImageDraw.Draw(self.image, "RGBA")
        draw.line(self.place(shapely.get_coordinates(line)), fill=colour, width=2 * _SMOOTH)

    def cross(self, at: tuple[float, float], colour: tuple[int, int, int, int]) -> None:
        ((x, y),) = self.place(np.array([at]))
        arm = 7 * _SMOOTH
        draw = ImageDraw.Draw(self.image, "RGBA")
        draw.line([(x - arm, y - arm), (x + arm, y + arm)], fill=colour, width=2 * _SMOOTH)
        draw.line([(x - arm, y + arm), (x + arm, y - arm)], fill=colour, width=2 * _SMOOTH)

    def dot(self, at: tuple[float, float], colour: tuple[int, int, int, int]) -> None:
        ((x, y),) = self.place(np.array([at]))
        r = 5 * _SMOOTH
        ImageDraw.Draw(self.image, "RGBA").ellipse([x - r, y - r, x + r, y + r], fill=colour)

    def text(
        self,
        at: shapely.Geometry,
        text: str,
        colour: tuple[int, int, int, int],
        *,
        above: bool = False,
    ) -> None:
        if at.is_empty:
            return
        ((x, y),) = self.place(np.array([[at.x, at.y]]))
        ImageDraw.Draw(self.image, "RGBA").text(
            (x, y - (10 * _SMOOTH if above else 0)),
            text,
            fill=colour,
            font=self.font,
            anchor="mb" if above else "mm",
            stroke_width=_SMOOTH,
            stroke_fill=(255, 255, 255, 200),
        )

    def scale_bar(self) -> None:
        """Draw a bar of a round length in the lower left corner."""
        width = self.image.size[0] / self.scale
        length = 10.0 ** math.floor(math.log10(width / 4.0))
        length *= max(step for step in (1.0, 2.0, 5.0) if step * length <= width / 4.0)
        x, y = 12 * _SMOOTH, self.image.size[1] - 12 * _SMOOTH
        end = x + length * self.scale
        draw = ImageDraw.Draw(self.image, "RGBA")
        draw.line([(x, y), (end, y)], fill=_INK, width=2 * _SMOOTH)
        for edge in (x, end):
            draw.line([(edge, y - 4 * _SMOOTH), (edge, y + 4 * _SMOOTH)], fill=_INK, width=_SMOOTH)
        draw.text(
            ((x + end) / 2.0, y - 4 * _SMOOTH),
            f"{length:g} m",
            fill=_INK,
            font=self.font,
            anchor="mb",
            stroke_width=_SMOOTH,
            stroke_fill=(255, 255, 255, 200),
        )

    def finished(self) -> Image.Image:
        """Return the picture at its own size."""
        width, height = self.image.size
        smaller = (max(1, width // _SMOOTH), max(1, height // _SMOOTH))
        return self.image.resize(smaller, Image.Resampling.LANCZOS)
