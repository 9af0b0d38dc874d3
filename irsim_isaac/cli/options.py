"""Arguments and options that several commands have, each declared once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Bounds",
    "HeightBand",
    "LeftSimulator",
    "OutputFolder",
    "RightSimulator",
    "ScenarioName",
    "StageFile",
    "Surfaces",
    "WrittenAsJson",
    "check_choice",
    "read_place",
]

StageFile = Annotated[Path, typer.Argument(help="The stage, a USD file.")]

OutputFolder = Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")]

HeightBand = Annotated[
    tuple[float, float], typer.Option(help="The height band above the floor [m].")
]

Bounds = Annotated[
    tuple[float, float, float, float] | None, typer.Option(help="x_min y_min x_max y_max [m].")
]

Surfaces = Annotated[str, typer.Option(help="Which surfaces count: visual, collision or both.")]

WrittenAsJson = Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")]

ScenarioName = Annotated[str, typer.Argument(help="A scenario: a YAML file, or a bundled name.")]

LeftSimulator = Annotated[
    str | None, typer.Option(help="The left simulator, in place of the scenario's.")
]

RightSimulator = Annotated[
    str | None, typer.Option(help="The right simulator, in place of the scenario's.")
]


def check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of those that an option takes.

    Args:
        option: As it is typed, such as ``--mode``.
        value: What was typed after it.
        choices: What is taken.

    Raises:
        typer.BadParameter: The value is none of them.
    """
    if value not in choices:
        raise typer.BadParameter(f"{option} is '{value}', expected {' or '.join(choices)}")


def read_place(option: str, text: str) -> tuple[float, float]:
    """Return a place that was typed as ``x,y`` [m].

    Args:
        option: As it is typed, such as ``--seed``.
        text: What was typed after it.

    Raises:
        typer.BadParameter: It is no two finite numbers.
    """
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise typer.BadParameter(f"{option} is '{text}', two numbers 'x,y' in metres were expected")
    return x, y
