"""``irsim-isaac map``: a stage as a map that ROS reads."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from irsim_isaac.map import Occupancy

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("map")(map_stage)


def map_stage(
    stage: Annotated[Path, typer.Argument(help="The stage, a USD file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    resolution: Annotated[float, typer.Option(help="The side of a cell [m].")] = 0.05,
    height: Annotated[
        tuple[float, float], typer.Option(help="The height band above the floor [m].")
    ] = (0.1, 0.62),
    lidar_height: Annotated[
        float | None,
        typer.Option(help="Map what a lidar at this height above the floor sees [m], no band."),
    ] = None,
    floor: Annotated[
        list[float] | None,
        typer.Option(help="The height of the floor [m]; given again, one map a floor."),
    ] = None,
    bounds: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="x_min y_min x_max y_max [m]."),
    ] = None,
    geometry: Annotated[
        str, typer.Option(help="Which surfaces count: visual, collision or both.")
    ] = "visual",
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
    variant: Annotated[
        list[str] | None, typer.Option(help="A variant: '/prim/path:set=name'.")
    ] = None,
    meters_per_unit: Annotated[
        float | None, typer.Option(help="The stage's unit [m], in place of its own.")
    ] = None,
    up_axis: Annotated[
        str | None, typer.Option(help="The stage's up axis, Y or Z, in place of its own.")
    ] = None,
    no_payloads: Annotated[
        bool, typer.Option("--no-payloads", help="Do not load payloads.")
    ] = False,
    fix_units: Annotated[
        bool,
        typer.Option("--fix-units", help="Scale and turn references from layers in other units."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a stage with missing references.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON.")
    ] = False,
) -> None:
    """Write a stage as an occupancy map: map.yaml and map.png, as ROS reads them."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.files import writing_directory
    from irsim_isaac.stage import build_floors, open_stage

    _check("--geometry", geometry, ("visual", "collision", "both"))
    _check("--solid", solid, ("unknown", "occupied"))
    if up_axis is not None:
        _check("--up-axis", up_axis, ("Y", "Z"))
    opened = open_stage(
        stage,
        meters_per_unit=meters_per_unit,
        up_axis=up_axis,  # type: ignore[arg-type]  # checked above
        variants=dict(_split_variant(text) for text in variant or ()),
        payloads="none" if no_payloads else "all",
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
            seeds=[_split_point(text) for text in seed or ()],
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


def _check(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise typer.BadParameter(f"{option} is '{value}', expected {' or '.join(choices)}")


def _split_variant(text: str) -> tuple[str, str]:
    place, equals, name = text.partition("=")
    if not equals or ":" not in place:
        raise typer.BadParameter(f"--variant is '{text}', '/prim/path:set=name' was expected")
    return place, name


def _split_point(text: str) -> tuple[float, float]:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"--seed is '{text}', 'x,y' in metres was expected") from error
    return x, y


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
        "omissions": [
            {"where": entry.where, "kind": entry.kind, "reason": entry.reason}
            for entry in occupancy.report.omissions
        ],
        "warnings": list(occupancy.report.warnings),
    }


def _tell(summary: dict[str, Any]) -> None:
    nx, ny = summary["shape"]
    x, y, _ = summary["origin"]
    typer.echo(
        f"{summary['map']}: {nx} x {ny} cells of {summary['resolution']:g} m from ({x:g}, {y:g}), "
        f"{summary['occupied']} occupied, {summary['free']} free, {summary['unknown']} unknown"
    )
    for warning in summary["warnings"]:
        typer.echo(f"warning: {warning}")
    counts = Counter(omission["kind"] for omission in summary["omissions"])
    for kind, count in sorted(counts.items()):
        typer.echo(f"left out: {count} ({kind}); --json names them")
