"""``irsim-isaac check``: whether a map still is what its stage gives."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irsim_isaac.cli.exit_codes import EXCEEDED

if TYPE_CHECKING:
    from irsim_isaac.stage import MapCheck

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("check")(check)


def check(
    map_file: Annotated[
        Path, typer.Argument(metavar="MAP", help="The map, its YAML file or its folder.")
    ],
    stage: Annotated[Path, typer.Argument(help="The stage, a USD file.")],
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON.")
    ] = False,
) -> None:
    """Say whether a map still is that stage; exit with 1 where it is not."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.errors import StageError
    from irsim_isaac.map import load_ros_map
    from irsim_isaac.stage import check_map, open_stage

    path = map_file / "map.yaml" if map_file.is_dir() else map_file
    occupancy = load_ros_map(path)
    with_options = occupancy.report.parameters.get("opened_with") or {}
    if not isinstance(with_options, dict):
        raise StageError(f"{path}: opened_with is {with_options!r}, keys and values were expected")
    opened = open_stage(stage, **with_options)
    with drawn_progress() as progress:
        result = check_map(occupancy, opened, progress=progress)
    if json_output:
        typer.echo(json.dumps({**asdict(result), "good": result.good}, indent=2))
    elif result.good:
        typer.echo(f"{path} is what {stage} gives")
    else:
        typer.echo(f"{path} is not what {stage} gives: {_told(result)}")
    if not result.good:
        raise typer.Exit(EXCEEDED)


def _told(result: MapCheck) -> str:
    if result.changed_cells < 0:
        return "a map of it has another size or place"
    if result.area is not None:
        x0, y0, x1, y1 = result.area
        return (
            f"{result.changed_cells} cells differ, all between ({x0:g}, {y0:g}) and "
            f"({x1:g}, {y1:g}) m"
        )
    return "its surfaces have changed, the cells are the same"
