"""A picture of the window, drawn from the same description without Isaac Sim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PIL import Image, ImageDraw

from irsim_isaac.kit.window.description import Field
from irsim_isaac.kit.window.images import font
from irsim_isaac.kit.window.model import PanelModel

__all__ = ["CAPTION", "draw_window"]

CAPTION = "Drawing, not a screenshot: made from the description that the window is made from."

_WIDTH = 420
_PAD = 10
_LABEL = 92
_ROW = 24
_BUTTONS = 3
_GAP = 14

_DESK = (24, 25, 27)
_WINDOW = (52, 53, 55)
_BAR = (38, 39, 41)
_HEAD = (66, 68, 71)
_BOX = (31, 32, 34)
_EDGE = (82, 84, 88)
_BUTTON = (78, 81, 85)
_INK = (216, 219, 223)
_FAINT = (150, 154, 160)
_WRONG = (255, 108, 76)
_GREEN = (118, 185, 0)


class _Sheet:
    """A panel on paper: everything is drawn below what was drawn before.

    Args:
        scale: Pixels of the picture for each pixel of the window.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.y = 0.0
        self.image = Image.new("RGB", (round(_WIDTH * scale), round(2400 * scale)), _WINDOW)
        self.draw = ImageDraw.Draw(self.image)

    def cropped(self) -> Image.Image:
        """Return what was drawn on."""
        return self.image.crop((0, 0, self.image.width, round(self.y * self.scale)))

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: tuple[int, int, int],
        edge: tuple[int, int, int] | None = None,
    ) -> None:
        """Draw a box with round corners."""
        s = self.scale
        self.draw.rounded_rectangle(
            (x * s, y * s, (x + width) * s - 1, (y + height) * s - 1),
            radius=3 * s,
            fill=fill,
            outline=edge,
            width=max(1, round(s)),
        )

    def write(
        self,
        x: float,
        y: float,
        text: str,
        colour: tuple[int, int, int] = _INK,
        size: float = 12.0,
        anchor: str = "la",
    ) -> None:
        """Write one line."""
        s = self.scale
        self.draw.text((x * s, y * s), text, fill=colour, font=font(size * s), anchor=anchor)

    def fitted(self, text: str, width: float, size: float = 12.0) -> str:
        """Return a text, cut where it is wider than its place."""
        letters = font(size * self.scale)
        if self.draw.textlength(text, font=letters) <= width * self.scale:
            return text
        while text and self.draw.textlength(f"{text}…", font=letters) > width * self.scale:
            text = text[:-1]
        return f"{text}…"

    def wrapped(self, text: str, width: float, size: float = 12.0) -> list[str]:
        """Return a text as lines that fit."""
        letters = font(size * self.scale)
        lines = []
        for paragraph in text.splitlines():
            line = ""
            for word in paragraph.split(" "):
                longer = f"{line} {word}" if line else word
                if line and self.draw.textlength(longer, font=letters) > width * self.scale:
                    lines.append(line)
                    longer = word
                line = longer
            lines.append(line)
        return lines

    def paragraph(
        self,
        x: float,
        text: str,
        width: float,
        colour: tuple[int, int, int] = _INK,
        size: float = 12.0,
    ) -> None:
        """Write a text over as many lines as it needs."""
        for line in self.wrapped(text, width, size):
            self.write(x, self.y, line, colour, size)
            self.y += size + 4


def draw_window(
    models: Iterable[PanelModel], *, columns: int = 3, scale: float = 1.5
) -> Image.Image:
    """Draw the panels of the window side by side.

    Args:
        models: The panels, with the values, texts and pictures that they have.
        columns: How many columns; the window itself has one.
        scale: Pixels of the picture for each pixel of the window.

    Returns:
        The picture, RGB, with a caption that says what it is.
    """
    sheets = [_panel(model, scale) for model in models]
    stacks = _stacked(sheets, columns)
    gap = round(_GAP * scale)
    inner = round(6 * scale)
    bar, foot = round(30 * scale), round(30 * scale)
    width = len(stacks) * (sheets[0].width + gap) + gap
    tallest = max(sum(sheet.height + inner for sheet in stack) for stack in stacks)
    image = Image.new("RGB", (width, bar + tallest + foot + 2 * gap), _DESK)
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle(
        (gap // 2, gap // 2, width - gap // 2, bar + tallest + gap + gap // 2),
        radius=6 * scale,
        fill=_WINDOW,
        outline=_EDGE,
    )
    draw.rounded_rectangle(
        (gap // 2, gap // 2, width - gap // 2, gap // 2 + bar), radius=6 * scale, fill=_BAR
    )
    title = font(13 * scale)
    draw.text((gap + 4 * scale, gap // 2 + bar / 2), "IR-SIM Bridge", _INK, title, anchor="lm")
    cross = (width - 2 * gap, gap // 2 + bar / 2)
    for side in (-1, 1):
        draw.line(
            (
                cross[0] - 4 * scale,
                cross[1] - side * 4 * scale,
                cross[0] + 4 * scale,
                cross[1] + side * 4 * scale,
            ),
            fill=_FAINT,
            width=max(1, round(1.5 * scale)),
        )
    for column, stack in enumerate(stacks):
        y = gap + bar
        for sheet in stack:
            image.paste(sheet, (gap + column * (sheet.width + gap), y))
            y += sheet.height + inner
    draw.text((width / 2, image.height - foot / 2), CAPTION, _FAINT, font(12 * scale), anchor="mm")
    return image


def _stacked(sheets: Sequence[Image.Image], columns: int) -> list[list[Image.Image]]:
    """Return panels in columns of about the same height, in order."""
    best: list[list[Image.Image]] = []
    least = float("inf")
    heights = [sheet.height for sheet in sheets]
    for limit in range(max(heights), sum(heights) + 8, 8):
        stacks: list[list[Image.Image]] = [[]]
        for sheet in sheets:
            if sum(item.height for item in stacks[-1]) + sheet.height > limit and stacks[-1]:
                stacks.append([])
            stacks[-1].append(sheet)
        tallest = max(sum(item.height for item in stack) for stack in stacks)
        if len(stacks) <= columns and tallest < least:
            best, least = stacks, tallest
    return best


def _panel(model: PanelModel, scale: float) -> Image.Image:
    """Draw one panel."""
    sheet = _Sheet(scale)
    panel = model.panel
    sheet.box(0, 0, _WIDTH, 26, _HEAD)
    middle = 13 * scale
    sheet.draw.polygon(
        [
            (10 * scale, middle - 3 * scale),
            (20 * scale, middle - 3 * scale),
            (15 * scale, middle + 4 * scale),
        ],
        fill=_INK,
    )
    sheet.write(28, 13, panel.title, size=13, anchor="lm")
    sheet.y = 33
    sheet.paragraph(_PAD, panel.description, _WIDTH - 2 * _PAD, _FAINT, 11)
    sheet.y += 3
    for field in panel.fields:
        _field(sheet, model, field)
    sheet.y += 3
    _buttons(sheet, model)
    _progress(sheet, model)
    _texts(sheet, model)
    _pictures(sheet, model)
    sheet.y += 5
    return sheet.cropped()


def _field(sheet: _Sheet, model: PanelModel, field: Field) -> None:
    value = model.values[field.name]
    middle = sheet.y + _ROW / 2 - 1
    sheet.write(_PAD, middle, field.title, size=12, anchor="lm")
    left = _PAD + _LABEL
    room = _WIDTH - left - _PAD - (24 if field.unit else 0)
    if field.kind == "flag":
        sheet.box(left, sheet.y + 3, 16, 16, _BOX, _EDGE)
        if value:
            s = sheet.scale
            x, y = (left + 3) * s, (sheet.y + 11) * s
            points = [(x, y), (x + 4 * s, y + 4 * s), (x + 10 * s, y - 5 * s)]
            sheet.draw.line(points, fill=_GREEN, width=round(2 * s), joint="curve")
    else:
        sheet.box(left, sheet.y, room, _ROW - 3, _BOX)
        text = f"{value:.10g}" if isinstance(value, float) else str(value)
        if field.kind == "prim" and not text:
            text = "the first of the stage"
        sheet.write(left + 6, middle, sheet.fitted(text, room - 26), size=12, anchor="lm")
        if field.kind in ("choice", "prim"):
            s, x, y = sheet.scale, left + room - 12, middle
            sheet.draw.polygon(
                [((x - 4) * s, (y - 2) * s), ((x + 4) * s, (y - 2) * s), (x * s, (y + 3) * s)],
                fill=_FAINT,
            )
    if field.unit:
        sheet.write(_WIDTH - _PAD - 18, middle, field.unit, _FAINT, 12, "lm")
    sheet.y += _ROW
    message = model.messages.get(field.name, "")
    if message:
        sheet.paragraph(left, message, _WIDTH - left - _PAD, _WRONG, 11)


def _buttons(sheet: _Sheet, model: PanelModel) -> None:
    actions = model.panel.actions
    for start in range(0, len(actions), _BUTTONS):
        row = actions[start : start + _BUTTONS]
        wide = (_WIDTH - 2 * _PAD - 4 * (len(row) - 1)) / len(row)
        for place, action in enumerate(row):
            x = _PAD + place * (wide + 4)
            sheet.box(x, sheet.y, wide, 23, _BUTTON)
            sheet.write(x + wide / 2, sheet.y + 11, action.title, size=12, anchor="mm")
        sheet.y += 27


def _progress(sheet: _Sheet, model: PanelModel) -> None:
    task = model.running
    if task is None:
        return
    wide = _WIDTH - 2 * _PAD
    sheet.box(_PAD, sheet.y, wide, 14, _BOX)
    if task.part > 0.02:
        sheet.box(_PAD, sheet.y, wide * task.part, 14, _GREEN)
    sheet.y += 17
    sheet.paragraph(_PAD, task.what, wide, _FAINT, 11)


def _texts(sheet: _Sheet, model: PanelModel) -> None:
    for text in model.panel.texts:
        told = model.texts[text.name]
        left = _PAD
        if text.title:
            sheet.write(_PAD, sheet.y, text.title, _FAINT, 12)
            left = _PAD + _LABEL
        if not told:
            sheet.y += 16 if text.title else 0
            continue
        sheet.paragraph(left, told, _WIDTH - left - _PAD, _INK, 12)
    if model.error:
        sheet.paragraph(_PAD, model.error, _WIDTH - 2 * _PAD - 60, _WRONG, 12)


def _pictures(sheet: _Sheet, model: PanelModel) -> None:
    s = sheet.scale
    for canvas in model.canvases.values():
        picture = canvas.picture
        sheet.y += 4
        left = (_WIDTH - picture.width) / 2
        if canvas.image is None:
            sheet.box(left, sheet.y, picture.width, picture.height, _BOX)
        else:
            drawn = Image.fromarray(canvas.image, "RGBA").convert("RGB")
            size = (round(picture.width * s), round(picture.height * s))
            drawn = drawn.resize(size, Image.Resampling.LANCZOS)
            sheet.image.paste(drawn, (round(left * s), round(sheet.y * s)))
        sheet.y += picture.height + 4
