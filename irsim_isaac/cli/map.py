"""``irsim-isaac map``: a stage as a map that ROS reads."""

from __future__ import annotations

import json
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
    StageFile,
    StageUnit,
    Strict,
    Surfaces,
    UpAxis,
    Variants,
    WrittenAsJson,
    check_choice,
    open_as_told,
    read_place,
)

if TYPE_CHECKING:
    from irsim_isaac.map import Occupancy

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("map")(map_stage)


def map_stage(
    stage: StageFile,
    output: OutputFolder,
    resolution: Annotated[float, typer.Option(help="The side of a cell [m].")] = 0.05,
    height: HeightBand = (0.1, 0.62),
    lidar_height: Annotated[
        float | None,
        typer.Option(help="Map what a lidar at this height above the floor sees [m], no band."),
    ] = None,
    floor: Annotated[
        list[float] | None,
        typer.Option(help="The height of the floor [m]; given again, one map a floor."),
    ] = None,
    bounds: Bounds = None,
    geometry: Surfaces = "visual",
    solid: Annotated[
        str, typer.Option(help="The inside of closed meshes: unknown or occupied.")
    ] = "unknown",
    seed: Annotated[
        list[str] | None,
        typer.Option(help="A free point 'x,y' [m]; what none of them reaches is unknown."),
    ] = None,
    root: Annotated[str, typer.Option(help="Only what lies at or below this prim.")] = "/",
    include: Annotated[
        list[str] | None, typer.Option(help="Only prims that match this path glob.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="No prims that match this path glob.")
    ] = None,
    moving: Annotated[
        bool, typer.Option("--moving", help="Keep what rigid bodies and articulations move.")
    ] = False,
    time: Annotated[
        float | None, typer.Option(help="The time to read an animated stage at [s].")
    ] = None,
    variant: Variants = None,
    meters_per_unit: StageUnit = None,
    up_axis: UpAxis = None,
    no_payloads: NoPayloads = False,
    fix_units: FixUnits = False,
    strict: Strict = False,
    json_output: WrittenAsJson = False,
) -> None:
    """Write a stage as an occupancy map: map.yaml and map.png, as ROS reads them."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.files import writing_directory
    from irsim_isaac.stage import build_floors

    check_choice("--geometry", geometry, ("visual", "collision", "both"))
    check_choice("--solid", solid, ("unknown", "occupied"))
    opened = open_as_told(
        stage,
        meters_per_unit=meters_per_unit,
        up_axis=up_axis,
        variants=variant,
        no_payloads=no_payloads,
        fix_units=fix_units,
        strict=strict,
    )
    floors = floor or [0.0]
    with drawn_progress() as progress:
        made = build_floors(
            opened,
            floors,
            resolution=resolution,
            height=height if lidar_height is None else lidar_height,
            bounds=bounds,
            geometry=geometry,
            mode="band" if lidar_height is None else "lidar",
            solid=solid,
            seeds=[read_place("--seed", text) for text in seed or ()],
            root=root,
            include=include or (),
            exclude=exclude or (),
            static_only=not moving,
            time=time,
            progress=progress,
        )
    names = [""] if len(floors) == 1 else [f"floor_{level:g}" for level in floors]
    with writing_directory(output) as folder:
        for occupancy, name in zip(made, names, strict=True):
            occupancy.save_ros(folder / name)
    summaries = [
        _summary(occupancy, output / name / "map.yaml")
        for occupancy, name in zip(made, names, strict=True)
    ]
    if json_output:
        typer.echo(json.dumps(summaries[0] if len(summaries) == 1 else summaries, indent=2))
    else:
        for summary in summaries:
            _tell(summary)


def _summary(occupancy: Occupancy, path: Path) -> dict[str, Any]:
    nx, ny = occupancy.shape
    return {
        "map": str(path),
        "shape": [nx, ny],
        "resolution": occupancy.resolution,
        "origin": list(occupancy.origin),
        "occupied": int((occupancy.cells == 100).sum()),
        "free": int((occupancy.cells == 0).sum()),
        "unknown": int((occupancy.cells == -1).sum()),
        "omissions": omission_rows(occupancy.report),
        "warnings": list(occupancy.report.warnings),
    }


def _tell(summary: dict[str, Any]) -> None:
    nx, ny = summary["shape"]
    x, y, _ = summary["origin"]
    typer.echo(
        f"{summary['map']}: {nx} x {ny} cells of {summary['resolution']:g} m from ({x:g}, {y:g}), "
        f"{summary['occupied']} occupied, {summary['free']} free, {summary['unknown']} unknown"
    )
    count_omissions(summary)
