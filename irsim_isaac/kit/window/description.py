"""What a panel holds, said once: the window, its drawing and its actions are made from this."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from irsim_isaac.errors import IrsimIsaacError

__all__ = [
    "FLOOR",
    "Action",
    "Field",
    "FieldError",
    "Kind",
    "Panel",
    "Picture",
    "Text",
    "Value",
    "read_points",
    "write_points",
]

Value: TypeAlias = "float | int | bool | str"

Kind: TypeAlias = Literal["number", "whole", "flag", "text", "choice", "prim", "points", "path"]
"""What a field takes: ``"choice"`` is one of the choices that stand here, ``"prim"`` one of those
that the open stage has, ``"points"`` is ``"x, y; x, y"`` [m], ``"path"`` a file or a folder."""

_Named = TypeVar("_Named", "Field", "Action")

_PAIR = re.compile(r"[;\n]+")
_NUMBER = re.compile(r"[,\s]+")


class FieldError(IrsimIsaacError):
    """A value is none that its field takes.

    Args:
        field: The name of the field.
        message: What was found and what was expected.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a panel.

    Attributes:
        name: The name it has in Python, in actions and in settings.
        title: What stands before it.
        kind: What it takes.
        description: The sentence that is shown over it.
        default: Its value where the settings have none.
        unit: The unit behind it; empty for none.
        least: The least number; None for none.
        most: The greatest number; None for none.
        choices: What there is to choose from.
        optional: Whether it may be empty.
        kept: Whether it is a setting, kept between runs.
    """

    name: str
    title: str
    kind: Kind
    description: str
    default: Value
    unit: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    kept: bool = True

    @property
    def limits(self) -> str:
        """What it takes, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.choices:
            return " or ".join(filter(None, [", ".join(self.choices[:-1]), self.choices[-1]]))
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}{unit}"
        if self.least is not None:
            return f"{self.least:g}{unit} or more"
        if self.most is not None:
            return f"{self.most:g}{unit} or less"
        return {
            "number": f"a number{f' of{unit}' if unit else ''}",
            "whole": "a whole number",
            "flag": "yes or no",
            "points": "points as 'x, y; x, y' in metres",
            "prim": "the path of a prim, such as /World/Lidar",
            "path": "a path",
        }.get(self.kind, "a text")

    def take(self, given: object) -> Value:
        """Return the value that was given, as what the field holds.

        Args:
            given: A value, or the text that was typed.

        Raises:
            FieldError: It is none that the field takes.
        """
        if self.kind == "flag":
            if isinstance(given, bool):
                return given
            raise self._refused(given)
        if self.kind in ("number", "whole"):
            return self._number(given)
        if not isinstance(given, str):
            given = str(given)
        text = given.strip()
        if not text:
            if self.optional:
                return ""
            raise self._refused("nothing")
        if self.kind == "choice" and text not in self.choices:
            raise self._refused(f"'{text}'")
        if self.kind == "prim" and not (
            text.startswith("/") and len(text) > 1 and "//" not in text
        ):
            raise self._refused(f"'{text}'")
        if self.kind == "points":
            return write_points(self._points(text))
        return text

    def _number(self, given: object) -> Value:
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise self._refused(given)
        try:
            number = float(given)
        except ValueError:
            raise self._refused(f"'{given}'" if str(given).strip() else "nothing") from None
        whole = self.kind == "whole"
        if not math.isfinite(number) or (whole and number != int(number)):
            raise self._refused(given)
        if (self.least is not None and number < self.least) or (
            self.most is not None and number > self.most
        ):
            raise self._refused(given)
        return int(number) if whole else number

    def _points(self, text: str) -> list[tuple[float, float]]:
        try:
            return read_points(text)
        except ValueError:
            raise self._refused(f"'{text}'") from None

    def _refused(self, given: object) -> FieldError:
        return FieldError(self.name, f"{self.title}: found {given}, {self.limits} was expected")


def read_points(text: str) -> list[tuple[float, float]]:
    """Return the points [m] of a text such as ``"1.0, 2.0; 3.5, -1"``.

    Raises:
        ValueError: It is no such text.
    """
    points = []
    for pair in filter(str.strip, _PAIR.split(text)):
        x, y = (float(number) for number in _NUMBER.split(pair.strip()))
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ValueError(f"({x}, {y}) is no point")
        points.append((x, y))
    return points


def write_points(points: list[tuple[float, float]]) -> str:
    """Return points [m] as the text that ``read_points`` reads."""
    return "; ".join(f"{x:.10g}, {y:.10g}" for x, y in points)


FLOOR = Field(
    "floor",
    "Floor",
    "number",
    "The height of the floor in the stage.",
    0.0,
    unit="m",
    least=-1000.0,
    most=1000.0,
)
"""The height of the floor, for every panel that asks for it."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a panel does: a button, an action of Kit and a call.

    Attributes:
        name: Its name; Kit knows it as ``{panel}_{name}``.
        title: What stands on the button.
        description: The sentence that is shown over it.
        function: Does it, given the model of the panel; a coroutine function does it on a task.
    """

    name: str
    title: str
    description: str
    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Something that a panel tells.

    Attributes:
        name: Its name.
        title: What stands before it; empty for nothing.
        lines: How many lines it has room for.
    """

    name: str
    title: str = ""
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a panel shows.

    Attributes:
        name: Its name.
        description: The sentence that is shown over it.
        width: Pixels.
        height: Pixels.
    """

    name: str
    description: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the window.

    Attributes:
        name: Its name in Python, in actions and in settings.
        title: Its heading.
        description: What it is for, in a sentence.
        fields: Its values, in order.
        actions: Its buttons, in order.
        texts: What it tells, in order.
        pictures: What it shows, in order.
    """

    name: str
    title: str
    description: str
    fields: tuple[Field, ...] = ()
    actions: tuple[Action, ...] = ()
    texts: tuple[Text, ...] = ()
    pictures: tuple[Picture, ...] = ()

    def field(self, name: str) -> Field:
        """Return a field by its name.

        Raises:
            FieldError: The panel has none of that name.
        """
        return _called(name, self.fields, f"{self.title} has no field")

    def action(self, name: str) -> Action:
        """Return an action by its name.

        Raises:
            FieldError: The panel has none of that name.
        """
        return _called(name, self.actions, f"{self.title} has no action")


def _called(name: str, among: Sequence[_Named], refusal: str) -> _Named:
    """Return the one of a name."""
    for one in among:
        if one.name == name:
            return one
    raise FieldError(
        name, f"{refusal} '{name}'; it has: {', '.join(one.name for one in among) or 'none'}"
    )
