"""``irsim-isaac world``: a stage as a world that IR-SIM runs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from irsim_isaac.cli.omissions import count_omissions, omission_rows
from irsim_isaac.cli.options import (
    Bounds,
    FixUnits,
    HeightBand,
    NoPayloads,
    OutputFolder,
    StageUnit,
    Strict,
    Surfaces,
    UpAxis,
    Variants,
    WrittenAsJson,
    check_choice,
    open_as_told,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from irsim_isaac.robot import RobotSpec
    from irsim_isaac.stage.world import World

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("world")(world)


def world(
    stage: Annotated[Path, typer.Argument(help="The stage, a USD file; or a map of ROS, YAML.")],
    output: OutputFolder,
    robot: Annotated[
        str | None,
        typer.Option(help="A robot's name or file, in place of what the stage's starts say."),
    ] = None,
    start: Annotated[
        tuple[float, float, float] | None,
        typer.Option(help="x y yaw [m, rad]: where --robot starts, whatever the stage says."),
    ] = None,
    obstacles: Annotated[
        str, typer.Option(help="How standing obstacles are written: polygons, map or both.")
    ] = "polygons",
    mode: Annotated[
        str, typer.Option(help="What is an obstacle: all in the height band, or what a lidar sees.")
    ] = "band",
    height: HeightBand = (0.1, 0.62),
    lidar_height: Annotated[
        float | None, typer.Option(help="The lidar's plane above the floor [m].")
    ] = None,
    floor: Annotated[float, typer.Option(help="The height of the floor [m].")] = 0.0,
    bounds: Bounds = None,
    geometry: Surfaces = "visual",
    tolerance: Annotated[
        float, typer.Option(help="How far simplified outlines may be off [m].")
    ] = 0.005,
    merge: Annotated[
        bool, typer.Option(help="Join standing obstacles that overlap or touch.")
    ] = False,
    step_time: Annotated[float, typer.Option(help="The step of the world [s].")] = 0.1,
    fog: Annotated[
        float | None, typer.Option(help="The side of a cell of IR-SIM's fog [m]; none without.")
    ] = None,
    unknown: Annotated[
        str, typer.Option(help="Unknown cells of a map: free, occupied or keep (grey).")
    ] = "occupied",
    wrapped: Annotated[
        bool, typer.Option(help="Put all under the key 'irsim', for a file that others share.")
    ] = False,
    variant: Variants = None,
    meters_per_unit: StageUnit = None,
    up_axis: UpAxis = None,
    no_payloads: NoPayloads = False,
    fix_units: FixUnits = False,
    strict: Strict = False,
    json_output: WrittenAsJson = False,
) -> None:
    """Write a stage, or a map, as an IR-SIM world: obstacles, robots and their lidars."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.files import writing_directory
    from irsim_isaac.map import load_ros_map
    from irsim_isaac.stage.world import build_world, map_world

    check_choice("--obstacles", obstacles, ("polygons", "map", "both"))
    check_choice("--mode", mode, ("band", "lidar"))
    if lidar_height is not None and mode != "lidar":
        raise typer.BadParameter(f"--lidar-height is for --mode lidar, --mode is '{mode}'")
    check_choice("--geometry", geometry, ("visual", "collision", "both"))
    check_choice("--unknown", unknown, ("free", "occupied", "keep"))
    if stage.suffix in (".yaml", ".yml"):
        with warnings.catch_warnings():
            # The report has them too, and is told below.
            warnings.simplefilter("ignore")
            grid = load_ros_map(stage)
        made = map_world(
            grid,
            step_time=step_time,
            fog_resolution=fog,
            unknown=unknown,  # type: ignore[arg-type]  # checked above
        )
    else:
        opened = open_as_told(
            stage,
            meters_per_unit=meters_per_unit,
            up_axis=up_axis,
            variants=variant,
            no_payloads=no_payloads,
            fix_units=fix_units,
            strict=strict,
        )
        with drawn_progress() as progress:
            specs, starts = _robots(opened, robot, start)
            made = build_world(
                opened,
                robots=specs,
                starts=starts,
                obstacles=obstacles,  # type: ignore[arg-type]  # checked above
                mode=mode,  # type: ignore[arg-type]  # checked above
                height=height,
                lidar_height=lidar_height,
                floor=floor,
                bounds=bounds,
                geometry=geometry,  # type: ignore[arg-type]  # checked above
                tolerance=tolerance,
                merge=merge,
                step_time=step_time,
                fog_resolution=fog,
                unknown=unknown,  # type: ignore[arg-type]  # checked above
                progress=progress,
            )
    with writing_directory(output) as folder:
        # The image is named by where it will lie, not by the folder that is renamed.
        made.save(folder, wrapped=wrapped, image=(output / "map.png").resolve())
    summary = _summary(made, output / "world.yaml")
    if json_output:
        typer.echo(json.dumps(summary, indent=2))
    else:
        _tell(summary)


def _robots(
    stage: Any, robot: str | None, start: tuple[float, float, float] | None
) -> tuple[Sequence[RobotSpec], dict[str, tuple[float, float, float]]]:
    """Return the robots of a stage, or the one that was asked for, and where they start."""
    from irsim_isaac.stage.robot_files import load_robot
    from irsim_isaac.stage.robots import robot_specs

    specs = robot_specs(stage, robot=robot)
    if not specs and robot is not None:
        specs = (load_robot(robot),)
        if start is None:
            raise typer.BadParameter(
                f"--robot is '{robot}', and no prim of the stage says where a robot starts "
                "(attribute 'irsim:robot'): give --start x y yaw"
            )
    if start is None:
        return specs, {}
    if len(specs) != 1:
        raise typer.BadParameter(
            f"--start was given and the stage has {len(specs)} robots, one was expected; "
            "name one with --robot"
        )
    return specs, {specs[0].name: start}


def _summary(made: World, path: Path) -> dict[str, Any]:
    return {
        "world": str(path),
        "width": made.width,
        "height": made.height,
        "offset": list(made.offset),
        "obstacles": len(made.obstacles),
        "moving": [item.name for item in made.obstacles if item.moving],
        "vertices": sum(
            len(ring) for item in made.obstacles for ring in (*item.polygons, *item.lines)
        ),
        "robots": [spec.name for spec in made.robots],
        "omissions": omission_rows(made.report),
        "warnings": list(made.report.warnings),
    }


def _tell(summary: dict[str, Any]) -> None:
    typer.echo(
        f"{summary['world']}: {summary['width']:g} m x {summary['height']:g} m, "
        f"{summary['obstacles']} obstacles with {summary['vertices']} vertices, "
        f"{len(summary['moving'])} of them moving, {len(summary['robots'])} robots"
    )
    count_omissions(summary)
