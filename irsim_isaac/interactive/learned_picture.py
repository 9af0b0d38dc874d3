"""Pictures of learned placements, and a page that shows them."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.learner import LearnedModels, LearnedSet
from irsim_isaac.interactive.parser import ParsedCondition
from irsim_isaac.msg.interactive_world import Item

__all__ = ["best_sets", "draw_learned", "draw_tasks", "learned_page"]

Colour = tuple[int, int, int]

_INK: Colour = (28, 35, 48)
_MUTED: Colour = (102, 112, 133)
_PAPER: Colour = (255, 255, 255)
_WOOD: Colour = (240, 229, 214)
_WOOD_EDGE: Colour = (150, 110, 70)
_GRID: Colour = (230, 233, 239)
_OTHER: Colour = (170, 176, 188)
_MEMBER: Colour = (31, 111, 214)
_MEAN: Colour = (228, 87, 46)

_SMOOTH = 2
_PANEL = 520
_HEAD = 64
_MARGIN = 34
_ROW = _HEAD + _PANEL - 2 * _MARGIN + 22
"""The height of a row of panels [px]."""

_LEAST_HALF = 0.05
"""The least half side of what a panel shows [m]."""


def best_sets(learned: LearnedModels) -> list[LearnedSet]:
    """Return the set of the least decision value of each item, in the order of the items."""
    best: dict[str, LearnedSet] = {}
    for one in learned.sets:
        name = one.data.item.name
        if name not in best or _value(one) < _value(best[name]):
            best[name] = one
    return list(best.values())


def draw_learned(sets: Sequence[LearnedSet], *, title: str = "", columns: int = 3) -> Image.Image:
    """Draw sets of placements side by side, each in its frame, x right and y up.

    Each shows what the frame is of, as far as its size is known, all placements with a tick where
    they face, those of the best cluster in colour, their mean with where it faces, and ellipses
    of one and two standard deviations. What lies further off than the best cluster and the
    frame's thing is drawn at the edge, hollow.

    Args:
        sets: What was learned.
        title: What stands above.
        columns: How many stand side by side at most.

    Returns:
        The picture, RGB.

    Raises:
        InteractiveError: There are none.
    """
    if not sets:
        raise InteractiveError("there are no learned placements to draw")
    rows = math.ceil(len(sets) / columns)
    columns = math.ceil(len(sets) / rows)
    top = 54 if title else 0
    size = (columns * _PANEL, top + rows * _ROW)
    image = Image.new("RGB", (size[0] * _SMOOTH, size[1] * _SMOOTH), _PAPER)
    if title:
        draw = ImageDraw.Draw(image)
        font = ImageFont.load_default(size=24 * _SMOOTH)
        told = _fitting(title, font, (size[0] - 2 * _MARGIN) * _SMOOTH)
        draw.text((_MARGIN * _SMOOTH, 14 * _SMOOTH), told, fill=_INK, font=font)
    items = {one.data.item.name: one.data.item for one in sets}
    for index, one in enumerate(sets):
        row, column = divmod(index, columns)
        corner = (column * _PANEL, top + row * _ROW)
        _Panel(image, corner, one, items).draw()
    return image.resize(size, Image.Resampling.LANCZOS)


def draw_tasks(tasks: Sequence[tuple[ParsedCondition, LearnedModels]]) -> Image.Image:
    """Draw the best frame of each item, the tasks one below the other.

    Args:
        tasks: What was parsed and learned for each; those without anything learned are left out.

    Returns:
        The picture, RGB.

    Raises:
        InteractiveError: Nothing was learned for any.
    """
    pictures = [
        draw_learned(best_sets(learned), title=parsed.condition.name)
        for parsed, learned in tasks
        if learned.sets
    ]
    if not pictures:
        raise InteractiveError("there are no learned placements to draw")
    width = max(picture.width for picture in pictures)
    whole = Image.new("RGB", (width, sum(picture.height for picture in pictures)), _PAPER)
    y = 0
    for picture in pictures:
        whole.paste(picture, (0, y))
        y += picture.height
    return whole


def learned_page(title: str, tasks: Sequence[tuple[ParsedCondition, LearnedModels]]) -> str:
    """Return a page of HTML that needs no other file: for each task what was learned.

    Args:
        title: What stands above.
        tasks: What was parsed and learned for each.
    """
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>",
        f"<main><h1>{html.escape(title)}</h1>",
    ]
    for parsed, learned in tasks:
        name = html.escape(parsed.condition.name)
        parts.append(f"<section><h2>{name} <small>condition {parsed.condition.id}</small></h2>")
        parts.append(
            f"<p>{parsed.placements} placements in {parsed.sessions} sessions, "
            f"{parsed.completed} of them completed; {len(learned.sets)} sets learned from.</p>"
        )
        if learned.sets:
            best = best_sets(learned)
            parts.append(_embedded(best, f"{parsed.condition.name}: where the items belong"))
            parts.append(_table(learned))
        parts.append(_left_out(parsed, learned))
        parts.append("</section>")
    parts.append("</main></html>")
    return "\n".join(parts)


def _value(one: LearnedSet) -> float:
    return one.models[0].decision_value


class _Panel:
    """One set, in its frame."""

    def __init__(
        self,
        image: Image.Image,
        corner: tuple[int, int],
        one: LearnedSet,
        items: dict[str, Item],
    ) -> None:
        self._image, self._corner, self._set = image, corner, one
        self._draw = ImageDraw.Draw(image)
        self._points = np.array([(p.position.x, p.position.y) for p in one.data.placements])
        self._turns = [p.rotation for p in one.data.placements]
        self._thing = _thing(one, items)
        cluster = one.clusters[0]
        own = self._points[list(cluster.members)]
        mean, twice = (
            np.array((cluster.x, cluster.y)),
            2.0 * np.array((cluster.sigma_x, cluster.sigma_y)),
        )
        low = np.minimum(own.min(axis=0), mean - twice)
        high = np.maximum(own.max(axis=0), mean + twice)
        if self._thing is not None:
            half = np.array(self._thing) / 2.0
            low, high = np.minimum(low, -half), np.maximum(high, half)
        self._middle = (low + high) / 2.0
        self._half = max(float((high - low).max()) * 0.56, _LEAST_HALF)
        self._side = (_PANEL - 2 * _MARGIN) * _SMOOTH

    def draw(self) -> None:
        """Draw it."""
        self._frame()
        cluster, model = self._set.clusters[0], self._set.models[0]
        members = set(cluster.members)
        reach = self._half * 0.055
        for inside in (False, True):
            for index, (point, turn) in enumerate(zip(self._points, self._turns, strict=True)):
                if (index in members) == inside:
                    self._dot(point, turn, reach, _MEMBER if inside else _OTHER)
        mean = np.array((cluster.x, cluster.y))
        for factor in (1.0, 2.0):
            self._ellipse(mean, cluster.sigma_x * factor, cluster.sigma_y * factor)
        self._arrow(mean, cluster.theta, self._half * 0.22)
        self._words(model.decision_value)

    def _at(self, points: NDArray[np.float64]) -> list[tuple[float, float]]:
        inside = np.clip((points - self._middle) / self._half, -1.0, 1.0)
        x = (self._corner[0] + _MARGIN) * _SMOOTH + (inside[:, 0] + 1.0) / 2.0 * self._side
        y = (self._corner[1] + _HEAD) * _SMOOTH + (1.0 - inside[:, 1]) / 2.0 * self._side
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def _frame(self) -> None:
        if self._thing is not None:
            width, height = self._thing
            corners = np.array([(-1, 1), (1, -1)]) * (width / 2.0, height / 2.0)
            box = self._at(corners)
            self._draw.rectangle(box, fill=_WOOD, outline=_WOOD_EDGE, width=2 * _SMOOTH)
        everything = self._at(np.array([(-1, 1), (1, -1)]) * self._half + self._middle)
        self._draw.rectangle(everything, outline=_GRID, width=_SMOOTH)
        arm = self._half * 0.12
        origin, along, up = self._at(np.array([(0.0, 0.0), (arm, 0.0), (0.0, arm)]))
        self._draw.line([origin, along], fill=(200, 40, 40), width=2 * _SMOOTH)
        self._draw.line([origin, up], fill=(30, 140, 60), width=2 * _SMOOTH)

    def _dot(self, at: NDArray[np.float64], turn: float, reach: float, colour: Colour) -> None:
        tip = at + reach * np.array((math.cos(turn), math.sin(turn)))
        (x, y), end = self._at(np.array([at, tip]))
        r = 3.0 * _SMOOTH
        if np.abs(at - self._middle).max() > self._half:
            self._draw.ellipse(
                [x - r, y - r, x + r, y + r], fill=_PAPER, outline=colour, width=_SMOOTH
            )
            return
        self._draw.line([(x, y), end], fill=colour, width=_SMOOTH)
        self._draw.ellipse([x - r, y - r, x + r, y + r], fill=colour)

    def _ellipse(self, middle: NDArray[np.float64], x: float, y: float) -> None:
        angles = np.linspace(0.0, math.tau, 73)
        rim = middle + np.column_stack((x * np.cos(angles), y * np.sin(angles)))
        self._draw.line(self._at(rim), fill=_MEAN, width=2 * _SMOOTH, joint="curve")

    def _arrow(self, at: NDArray[np.float64], turn: float, length: float) -> None:
        c, s = math.cos(turn), math.sin(turn)
        shape = np.array([(0.0, 0.0), (1.0, 0.0), (0.72, 0.13), (0.72, -0.13)]) * length
        places = self._at(at + shape @ np.array([[c, s], [-s, c]]))
        self._draw.line(places[:2], fill=_MEAN, width=3 * _SMOOTH)
        self._draw.polygon(places[1:], fill=_MEAN)
        x, y = places[0]
        r = 4.5 * _SMOOTH
        self._draw.ellipse([x - r, y - r, x + r, y + r], fill=_MEAN, outline=_PAPER, width=_SMOOTH)

    def _words(self, value: float) -> None:
        data = self._set.data
        x, y = (self._corner[0] + _MARGIN) * _SMOOTH, (self._corner[1] + 10) * _SMOOTH
        large = ImageFont.load_default(size=19 * _SMOOTH)
        small = ImageFont.load_default(size=14 * _SMOOTH)
        head = _fitting(f"{data.item.name} by {data.reference_frame_id}", large, self._side)
        self._draw.text((x, y), head, fill=_INK, font=large)
        where = f"{data.room.name}, " if data.room.name else ""
        cluster = self._set.clusters[0]
        told = (
            f"{where}{len(cluster.members)} of {len(data.placements)} placements, "
            f"decision value {value:.3f}"
        )
        told = _fitting(told, small, self._side)
        self._draw.text((x, y + 27 * _SMOOTH), told, fill=_MUTED, font=small)
        self._scale_bar(small)

    def _scale_bar(self, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> None:
        length = 10.0 ** math.floor(math.log10(self._half))
        x0, y0 = (self._corner[0] + _MARGIN + 10) * _SMOOTH, 0.0
        y0 = (self._corner[1] + _HEAD) * _SMOOTH + self._side - 12 * _SMOOTH
        x1 = x0 + length / (2.0 * self._half) * self._side
        self._draw.line([(x0, y0), (x1, y0)], fill=_INK, width=2 * _SMOOTH)
        told = f"{length:g} m" if length >= 1.0 else f"{length * 100:g} cm"
        self._draw.text((x0, y0 - 4 * _SMOOTH), told, fill=_INK, font=font, anchor="ls")


def _thing(one: LearnedSet, items: dict[str, Item]) -> tuple[float, float] | None:
    """Return the size of what a set's frame is of, or None where nothing told it."""
    data = one.data
    frame = data.reference_frame_id
    if frame == data.surface.name:
        return data.surface.width, data.surface.height
    for poi in data.surface.pois:
        if poi.name == frame:
            return poi.width, poi.height
    return (items[frame].width, items[frame].height) if frame in items else None


def _fitting(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> str:
    """Return as much of a text as fits, with dots for the rest."""
    text = " ".join(text.split())
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}...") > width:
        text = text[:-1]
    return f"{text}..."


def _embedded(sets: Sequence[LearnedSet], alternative: str) -> str:
    buffer = io.BytesIO()
    draw_learned(sets).save(buffer, format="PNG", optimize=True)
    source = base64.b64encode(buffer.getvalue()).decode()
    told = html.escape(alternative, quote=True)
    return (
        f"<figure><img alt='{told}' src='data:image/png;base64,{source}'><figcaption>The best "
        "frame of each item. Brown: what the frame is of, with its x axis red and its y axis "
        "green. Blue: the placements of the best cluster, with where they face; grey: the others, "
        "hollow where they lie further off. Orange: their mean, with ellipses of one "
        "and two standard deviations.</figcaption>"
        "</figure>"
    )


def _table(learned: LearnedModels) -> str:
    rows = []
    best = {id(one) for one in best_sets(learned)}
    order = list(dict.fromkeys(one.data.item.name for one in learned.sets))
    for one in sorted(learned.sets, key=lambda s: (order.index(s.data.item.name), _value(s))):
        for index, (model, cluster) in enumerate(zip(one.models, one.clusters, strict=False)):
            data, at = one.data, model.placement.position
            cells = (
                data.item.name, data.reference_frame_id, data.surface.name, data.room.name,
                f"{model.decision_value:.4f}", f"{len(cluster.members)} / {len(data.placements)}",
                f"{at.x:.3f} ± {model.sigma_x:.3f}", f"{at.y:.3f} ± {model.sigma_y:.3f}",
                f"{round(math.degrees(model.placement.rotation), 1) + 0.0:.1f} ± "
                f"{math.degrees(model.sigma_theta):.1f}",
            )  # fmt: skip
            mark = " class='best'" if id(one) in best and not index else ""
            rows.append(
                f"<tr{mark}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            )
    heads = ("item", "by", "on", "in", "decision value", "placements", "x [m]", "y [m]",
             "rotation [deg]")  # fmt: skip
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _left_out(parsed: ParsedCondition, learned: LearnedModels) -> str:
    left = [*parsed.skipped, *learned.skipped]
    if not left:
        return "<p>Nothing was left out.</p>"
    rows = "".join(f"<li>{html.escape(one.where)}: {html.escape(one.reason)}</li>" for one in left)
    return f"<details><summary>{len(left)} things were left out</summary><ul>{rows}</ul></details>"


_STYLE = """
body{margin:0;background:#f6f7f9;color:#1c2330;font:15px/1.5 Inter,'Segoe UI',Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:24px}
section{background:#fff;border:1px solid #e6e9ef;border-radius:10px;padding:8px 24px 20px;
margin:18px 0}
h1{font-size:24px}h2{font-size:18px}small,figcaption{color:#667085;font-size:13px}
figure{margin:0}img{max-width:100%}
table{border-collapse:collapse;width:100%;font-size:13px;margin-top:14px;
font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;border-bottom:1px solid #e6e9ef;text-align:left;white-space:nowrap}
td:nth-child(n+5),th:nth-child(n+5){text-align:right}
tr.best td{background:#fdf1ec}
"""
