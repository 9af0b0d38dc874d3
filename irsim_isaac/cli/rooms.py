"""``irsim-isaac rooms``: the rooms, surfaces and items of a stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from irsim_isaac.cli.options import (
    FixUnits,
    NoPayloads,
    StageFile,
    StageUnit,
    UpAxis,
    Variants,
    open_as_told,
)

if TYPE_CHECKING:
    from irsim_isaac.msg.interactive_world import WorldModel
    from irsim_isaac.stage import ItemRelation

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("rooms")(rooms)


def rooms(
    stage: StageFile,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A .png picture, a .yaml world or a .usda layer."),
    ] = None,
    resolution: Annotated[float, typer.Option(help="The side of a cell of the map [m].")] = 0.05,
    height: Annotated[tuple[float, float], typer.Option(help="The height band of the map [m].")] = (
        0.1,
        1.8,
    ),
    door_width: Annotated[
        float, typer.Option(help="The widest opening that separates two rooms [m].")
    ] = 1.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what cannot be read as it is.")
    ] = False,
    variant: Variants = None,
    meters_per_unit: StageUnit = None,
    up_axis: UpAxis = None,
    no_payloads: NoPayloads = False,
    fix_units: FixUnits = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print the world as JSON.")] = False,
) -> None:
    """Tell the rooms, surfaces and items of a stage: by its labels, else by its map."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.errors import StageError
    from irsim_isaac.files import writing
    from irsim_isaac.interactive import write_world_model
    from irsim_isaac.stage import (
        item_relations,
        room_map,
        stage_units,
        world_model,
        world_model_to_stage,
    )
    from irsim_isaac.stage.room_picture import draw_rooms

    kinds = (".png", ".yaml", ".yml", ".usda", ".usdc", ".usd")
    if output is not None and output.suffix.lower() not in kinds:
        raise typer.BadParameter(f"-o is '{output}', expected a file of {', '.join(kinds)}")
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
        try:
            occupancy = room_map(opened, resolution=resolution, height=height, progress=progress)
        except StageError:
            occupancy = None  # the world's omissions say why
        model = world_model(
            opened,
            occupancy=occupancy,
            door_width=door_width,
            resolution=resolution,
            height=height,
            strict=strict,
            progress=progress,
        )
    relations = item_relations(opened, model)
    if output is not None:
        suffix = output.suffix.lower()
        if suffix == ".png":
            if occupancy is None:
                raise StageError(f"{stage}: nothing stands from {height[0]} to {height[1]} m, so "
                                 "there is no map to draw; give another --height")  # fmt: skip
            with writing(output) as temporary:
                draw_rooms(model, occupancy).save(temporary, format="PNG")
        elif suffix in (".yaml", ".yml"):
            write_world_model(model, output)
        else:
            # In the units of the stage, because it is to lie over it.
            units = stage_units(opened)
            world_model_to_stage(
                model,
                output,
                meters_per_unit=units.meters_per_unit,
                up_axis=units.up_axis,  # type: ignore[arg-type]  # checked when it was read
            )
    if json_output:
        typer.echo(json.dumps(_summary(model, relations), indent=2))
    else:
        _tell(model, relations)
        if output is not None:
            typer.echo(f"{output}: written")


def _summary(model: WorldModel, relations: tuple[ItemRelation, ...]) -> dict[str, Any]:
    kinds = {relation.item: relation for relation in relations}
    return {
        "task": model.task,
        "fixed_frame": model.fixed_frame,
        "rooms": [
            {
                "name": room.name,
                "frame_id": room.frame_id,
                "width": room.width,
                "height": room.height,
                "area": room.area,
                "pose": room.pose.to_dict(),
                "surfaces": [
                    {
                        "name": surface.name,
                        "aliases": list(surface.aliases),
                        "frame_id": surface.frame_id,
                        "width": surface.width,
                        "height": surface.height,
                        "pose": surface.pose.to_dict(),
                        "placement_surfaces": [part.frame_id for part in surface.placements],
                        "pois": [poi.name for poi in surface.pois],
                    }
                    for surface in room.surfaces
                ],
            }
            for room in model.rooms
        ],
        "doors": [
            {
                "rooms": list(door.rooms),
                "position": list(door.position),
                "yaw": door.yaw,
                "width": door.width,
            }
            for door in model.doors
        ],
        "items": [
            {
                "name": item.name,
                "frame_id": item.frame_id,
                "pose": item.pose.to_dict(),
                "relation": kinds[item.frame_id].kind if item.frame_id in kinds else None,
                "surface": kinds[item.frame_id].surface if item.frame_id in kinds else None,
            }
            for item in model.items
        ],
        "omissions": [
            {"where": where, "kind": kind, "reason": reason}
            for where, kind, reason in model.omissions
        ],
    }


def _tell(model: WorldModel, relations: tuple[ItemRelation, ...]) -> None:
    for room in model.rooms:
        area = "" if room.area is None else f", {room.area:.2f} m2 of free floor"
        size = f"{room.width:.2f} x {room.height:.2f} m" if room.name else "outside all rooms"
        typer.echo(f"{room.name or '(none)'}: {size}{area}")
        for surface in room.surfaces:
            pois = f", with {', '.join(poi.name for poi in surface.pois)}" if surface.pois else ""
            typer.echo(f"  {surface.name}: {surface.width:.2f} x {surface.height:.2f} m{pois}")
    for door in model.doors:
        typer.echo(f"door: {door.rooms[0]} to {door.rooms[1]}, {door.width:.2f} m wide")
    kinds = {relation.item: relation for relation in relations}
    for item in model.items:
        relation = kinds.get(item.frame_id)
        told = "on no surface" if relation is None else f"{relation.kind} {relation.surface}"
        typer.echo(f"item {item.name}: {told}")
    for where, _, reason in model.omissions:
        typer.echo(f"left out: {where}: {reason}")
