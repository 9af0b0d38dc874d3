"""Arguments and options that several commands have, each declared once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from irsim_isaac.stage.usd import Usd

__all__ = [
    "Bounds",
    "FixUnits",
    "HeightBand",
    "LeftSimulator",
    "NoPayloads",
    "OutputFolder",
    "RightSimulator",
    "ScenarioName",
    "StageFile",
    "StageUnit",
    "Strict",
    "Surfaces",
    "UpAxis",
    "Variants",
    "WrittenAsJson",
    "check_choice",
    "open_as_told",
    "read_place",
]

StageUnit = Annotated[float | None, typer.Option(help="The stage's unit [m], in place of its own.")]

UpAxis = Annotated[
    str | None, typer.Option(help="The stage's up axis, Y or Z, in place of its own.")
]

Variants = Annotated[list[str] | None, typer.Option(help="A variant: '/prim/path:set=name'.")]

NoPayloads = Annotated[bool, typer.Option("--no-payloads", help="Do not load payloads.")]

FixUnits = Annotated[
    bool, typer.Option("--fix-units", help="Scale and turn references from layers in other units.")
]

Strict = Annotated[bool, typer.Option("--strict", help="Refuse a stage with missing references.")]

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


def open_as_told(
    stage: Path,
    *,
    meters_per_unit: float | None,
    up_axis: str | None,
    variants: list[str] | None,
    no_payloads: bool,
    fix_units: bool,
    strict: bool,
) -> Usd.Stage:
    """Open a stage with what the options of that name said of it.

    Args:
        stage: The file.
        meters_per_unit: Of ``--meters-per-unit`` [m].
        up_axis: Of ``--up-axis``.
        variants: Of ``--variant``, each ``/prim/path:set=name``.
        no_payloads: Of ``--no-payloads``.
        fix_units: Of ``--fix-units``.
        strict: Of ``--strict``.

    Raises:
        typer.BadParameter: An option is not what it takes.
        StageError: The stage cannot be opened that way.
    """
    from irsim_isaac.stage import open_stage

    if up_axis is not None:
        check_choice("--up-axis", up_axis, ("Y", "Z"))
    return open_stage(
        stage,
        meters_per_unit=meters_per_unit,
        up_axis=up_axis,  # type: ignore[arg-type]  # checked above
        variants=dict(_variant(text) for text in variants or ()),
        payloads="none" if no_payloads else "all",
        fix_units=fix_units,
        strict=strict,
    )


def _variant(text: str) -> tuple[str, str]:
    place, equals, name = text.partition("=")
    if not equals or ":" not in place:
        raise typer.BadParameter(f"--variant is '{text}', '/prim/path:set=name' was expected")
    return place, name


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
