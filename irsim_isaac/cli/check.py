"""``irsim-isaac check``: whether a map or a world still is what its stage gives."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irsim_isaac.cli.exit_codes import EXCEEDED
from irsim_isaac.cli.options import StageFile

if TYPE_CHECKING:
    from irsim_isaac.stage import MapCheck

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("check")(check)


def check(
    map_file: Annotated[
        Path,
        typer.Argument(metavar="MAP", help="A map or a world, its YAML file or its folder."),
    ],
    stage: StageFile,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON.")
    ] = False,
) -> None:
    """Say whether a map or a world still is that stage; exit with 1 where it is not."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.errors import StageError
    from irsim_isaac.map import load_ros_map
    from irsim_isaac.stage import check_map, open_stage
    from irsim_isaac.stage.parameters import opening_of

    path = map_file
    if map_file.is_dir():
        inside = [map_file / "map.yaml", map_file / "world.yaml"]
        there = [entry for entry in inside if entry.is_file()]
        if not there:
            raise StageError(f"{map_file}: neither map.yaml nor world.yaml is in this folder")
        path = there[0]
    if _is_world(path):
        _check_world(path, stage, json_output)
        return
    occupancy = load_ros_map(path)
    opened = open_stage(stage, **opening_of(occupancy.report.parameters, str(path)))
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


def _is_world(path: Path) -> bool:
    """Tell a world of IR-SIM from a map: a map names its image."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return (
        isinstance(content, dict)
        and "image" not in content
        and bool({"world", "irsim", "robot", "obstacle"} & set(content))
    )


def _check_world(path: Path, stage: Path, json_output: bool) -> None:
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.stage import open_stage
    from irsim_isaac.stage.parameters import opening_of
    from irsim_isaac.stage.world_check import check_world, world_provenance

    opened = open_stage(stage, **opening_of(world_provenance(path), str(path)))
    with drawn_progress() as progress:
        result = check_world(path, opened, progress=progress)
    if json_output:
        typer.echo(json.dumps({**asdict(result), "good": result.good}, indent=2))
    elif result.good:
        typer.echo(f"{path} is what {stage} gives")
    else:
        told = ", ".join(result.changed[:5]) + (", ..." if len(result.changed) > 5 else "")
        told = f"otherwise are {told}" if told else "its surfaces have changed, no obstacle has"
        typer.echo(f"{path} is not what {stage} gives: {told}")
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
