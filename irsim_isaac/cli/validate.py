"""``irsim-isaac validate``: two simulators, one drive, and where they disagree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irsim_isaac.cli.exit_codes import EXCEEDED
from irsim_isaac.cli.options import LeftSimulator, OutputFolder, RightSimulator, ScenarioName
from irsim_isaac.cli.progress import drawn_progress

if TYPE_CHECKING:
    from irsim_isaac.validation import Scenario, Validation

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("validate")(validate)


def validate(
    scenario: ScenarioName,
    output: OutputFolder,
    left: LeftSimulator = None,
    right: RightSimulator = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Drive two simulators through a scenario and report where they disagree."""
    from irsim_isaac.kit.script import running_application
    from irsim_isaac.validation import find_scenario, load_scenario

    chosen = load_scenario(find_scenario(scenario))
    with running_application({left or chosen.left.simulator, right or chosen.right.simulator}):
        _validate(chosen, output, left, right, json_output)


def _validate(
    scenario: Scenario, output: Path, left: str | None, right: str | None, json_output: bool
) -> None:
    from irsim_isaac.files import writing_directory
    from irsim_isaac.validation import (
        require_report_packages,
        validate,
        write_recordings,
        write_report,
    )

    require_report_packages()
    with writing_directory(output) as folder:
        with drawn_progress() as progress:
            result = validate(scenario, folder, left=left, right=right, progress=progress)
        left_out = write_recordings(result, folder)
        content = write_report(result, folder, left_out=left_out)
    if json_output:
        typer.echo(json.dumps(content, allow_nan=False))
    else:
        _print(result, output)
    if not result.comparison.passed:
        raise typer.Exit(EXCEEDED)


def _print(result: Validation, output: Path) -> None:
    """Print the table of differences, the verdict and where the report lies."""
    from rich.console import Console
    from rich.table import Table

    from irsim_isaac.validation import differences

    table = Table(
        title=f"{result.scenario.title}: {result.left.name} beside {result.right.name}",
        title_justify="left",
    )
    for heading in ("difference", "value", "note"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for row in differences(result):
        table.add_row(*row)
    console = Console()
    console.print(table)
    for item in result.comparison.exceeded:
        console.print(f"exceeded: {item}", markup=False, highlight=False)
    # Paths are printed whole, however narrow the terminal.
    typer.echo(f"{result.seconds:.1f} s; report: {output / 'report.html'}")
