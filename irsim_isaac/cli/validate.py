"""``irsim-isaac validate``: two simulators, the same commands, and where they disagree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("validate")(validate)


def validate(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    left: Annotated[
        str | None, typer.Option(help="The left simulator, in place of the scenario's.")
    ] = None,
    right: Annotated[
        str | None, typer.Option(help="The right simulator, in place of the scenario's.")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Drive two simulators through a scenario and report where they disagree."""
