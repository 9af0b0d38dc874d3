"""``irsim-isaac stage``: a world of IR-SIM as a USD stage."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irsim_isaac.cli.omissions import omission_rows
from irsim_isaac.cli.options import WrittenAsJson

if TYPE_CHECKING:
    from irsim_isaac.stage.world import World

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("stage")(stage)


def stage(
    world: Annotated[
        Path, typer.Argument(help="The world, a YAML file of IR-SIM; or a map of ROS.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The USD file to write.")],
    height: Annotated[
        float, typer.Option(help="The height of obstacles that say nothing of theirs [m].")
    ] = 1.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For what the world scatters at random.")
    ] = None,
    json_output: WrittenAsJson = False,
) -> None:
    """Raise a world of IR-SIM, or a map, to a USD stage with colliders, robots and labels."""
    from irsim_isaac.files import writing
    from irsim_isaac.stage.scene import world_to_stage

    if output.suffix not in (".usd", ".usda", ".usdc"):
        raise typer.BadParameter(f"-o is '{output}', a .usd, .usda or .usdc file was expected")
    read = _read(world, seed)
    made = world_to_stage(read, obstacle_height=height)
    with writing(output) as temporary:
        made.GetRootLayer().Export(str(temporary))
    omissions = omission_rows(read.report)
    if json_output:
        summary = {
            "stage": str(output),
            "obstacles": len(read.obstacles),
            "robots": [spec.name for spec in read.robots],
            "omissions": omissions,
        }
        typer.echo(json.dumps(summary, indent=2))
        return
    typer.echo(f"{output}: {len(read.obstacles)} obstacles, {len(read.robots)} robots")
    for omission in omissions:
        typer.echo(f"left out: {omission['where']} {omission['reason']}")


def _read(path: Path, seed: int | None) -> World:
    """Read a world of IR-SIM, or a map of ROS, which names its image."""
    import yaml

    from irsim_isaac.map import load_ros_map
    from irsim_isaac.stage.world import map_world
    from irsim_isaac.stage.world_file import read_world

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        content = None
    if isinstance(content, dict) and "image" in content and "resolution" in content:
        with warnings.catch_warnings():
            # What a map's thresholds make of its greys is told by the commands for maps.
            warnings.simplefilter("ignore")
            return map_world(load_ros_map(path))
    return read_world(path, seed=seed)
