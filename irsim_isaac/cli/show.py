"""``irsim-isaac show``: a picture of a stage, a world or a map."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irsim_isaac.cli.options import (
    FixUnits,
    NoPayloads,
    StageUnit,
    Strict,
    UpAxis,
    Variants,
    check_choice,
    open_as_told,
    read_place,
)

if TYPE_CHECKING:
    from irsim_isaac.stage.usd import Usd
    from irsim_isaac.stage.world import World

__all__ = ["register"]

_STAGES = (".usd", ".usda", ".usdc", ".usdz")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("show")(show)


def show(
    source: Annotated[Path, typer.Argument(help="A USD stage, an IR-SIM world or a ROS map.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture, a .png file.")],
    mode: Annotated[
        str, typer.Option(help="Of a stage: all in the height band, or what a lidar sees.")
    ] = "band",
    height: Annotated[
        tuple[float, float], typer.Option(help="Of a stage: the height band [m].")
    ] = (0.1, 0.62),
    grid: Annotated[bool, typer.Option(help="Of a stage: draw its map below.")] = True,
    resolution: Annotated[float, typer.Option(help="The side of a cell of that map [m].")] = 0.05,
    seed: Annotated[
        list[str] | None, typer.Option(help="A place 'x,y' [m] that is marked, such as a seed.")
    ] = None,
    size: Annotated[int, typer.Option(help="The longer side of the picture [px].")] = 1600,
    names: Annotated[bool, typer.Option(help="Name obstacles and robots.")] = True,
    variant: Variants = None,
    meters_per_unit: StageUnit = None,
    up_axis: UpAxis = None,
    no_payloads: NoPayloads = False,
    fix_units: FixUnits = False,
    strict: Strict = False,
) -> None:
    """Draw a stage, a world or a map from above."""
    from irsim_isaac.files import writing
    from irsim_isaac.stage.picture import draw_world

    if output.suffix.lower() != ".png":
        raise typer.BadParameter(f"-o is '{output}', a .png file was expected")
    check_choice("--mode", mode, ("band", "lidar"))
    places = [read_place("--seed", text) for text in seed or ()]
    if source.suffix.lower() in _STAGES:
        opened = open_as_told(
            source,
            meters_per_unit=meters_per_unit,
            up_axis=up_axis,
            variants=variant,
            no_payloads=no_payloads,
            fix_units=fix_units,
            strict=strict,
        )
        world = _stage_world(opened, mode, height, resolution if grid else None)
    else:
        world = _file_world(source)
    picture = draw_world(world, seeds=places, size=size, names=names)
    with writing(output) as temporary:
        picture.save(temporary, format="PNG")
    typer.echo(f"{output}: {picture.width} x {picture.height} pixels")


def _stage_world(
    stage: Usd.Stage, mode: str, height: tuple[float, float], resolution: float | None
) -> World:
    from dataclasses import replace

    from irsim_isaac.stage.occupancy import build_occupancy
    from irsim_isaac.stage.world import build_world

    world = build_world(
        stage,
        mode=mode,  # type: ignore[arg-type]  # checked above
        height=height,
    )
    if resolution is None:
        return world
    x, y = world.offset
    bounds = (x, y, x + world.width, y + world.height)
    return replace(
        world,
        grid=build_occupancy(stage, resolution=resolution, height=height, bounds=bounds),
    )


def _file_world(source: Path) -> World:
    """Read a world of IR-SIM or a map of ROS, told apart by their keys."""
    import yaml

    from irsim_isaac.errors import StageError
    from irsim_isaac.map import load_ros_map
    from irsim_isaac.stage.world import World
    from irsim_isaac.stage.world_file import read_world

    try:
        content = yaml.safe_load(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise StageError(
            f"{source}: {error.strerror}; a USD stage, an IR-SIM world or a ROS map was expected"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise StageError(
            f"{source}: neither USD nor YAML: {' '.join(str(error).split())}"
        ) from error
    if isinstance(content, dict) and "image" in content and "resolution" in content:
        with warnings.catch_warnings():
            # What a map's thresholds make of its greys shows in the picture.
            warnings.simplefilter("ignore")
            grid = load_ros_map(source)
        x, y, _ = grid.origin
        return World(width=grid.width, height=grid.height, offset=(x, y), grid=grid)
    return read_world(source)
