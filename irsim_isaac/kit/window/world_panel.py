"""The panel that shows the rooms, surfaces and items of the open stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.packages import MAPPING, require
from irsim_isaac.kit.window.description import Action, Field, Panel, Text
from irsim_isaac.kit.window.model import PanelModel
from irsim_isaac.kit.window.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from irsim_isaac.msg.interactive_world import WorldModel

__all__ = ["World"]

_ROWS = 10


class World(PanelModel):
    """Reads what is where on the open stage.

    Attributes:
        world: What was read last; None before.
    """

    world: WorldModel | None = None

    async def read(self) -> WorldModel:
        """Read the rooms, surfaces and items of a copy of the open stage.

        Returns:
            The world.
        """
        require(MAPPING, "reading rooms, surfaces and items")
        snapshot, task = take_snapshot(open_stage()), self.task
        assert task is not None
        world: WorldModel = await task.thread(
            _read, snapshot, self.number("door_width"), task.progress
        )
        self.world = world
        surfaces = sum(len(room.surfaces) for room in world.rooms)
        rooms = sum(bool(room.name) for room in world.rooms)
        self.tell(
            result=f"{rooms} rooms, {surfaces} surfaces, {len(world.items)} items, "
            f"{len(world.doors)} doors; {len(world.omissions)} were mended or left out",
            rooms=_listed(world),
        )
        return world

    def stage_closes(self) -> None:
        """Forget what was on the stage."""
        super().stage_closes()
        self.world = None
        self.tell(result="", rooms="")


def _read(snapshot: Snapshot, door_width: float, progress: Any) -> WorldModel:
    from irsim_isaac.stage import world_model

    return world_model(snapshot.stage(), door_width=door_width, progress=progress)


def _listed(world: WorldModel) -> str:
    """Return a line for each room."""
    lines = []
    for room in world.rooms:
        names = ", ".join(surface.name for surface in room.surfaces) or "no surface"
        lines.append(f"{room.name or 'no room'}: {names}")
    if len(lines) > _ROWS:
        lines[_ROWS - 1 :] = [f"and {len(lines) - _ROWS + 1} more"]
    return "\n".join(lines)


World.panel = Panel(
    name="world",
    title="World",
    description="The rooms, surfaces and items of the open stage.",
    fields=(
        Field(
            "door_width",
            "Door width",
            "number",
            "The widest opening that separates two rooms that are found in the map.",
            1.0,
            unit="m",
            least=0.3,
            most=5.0,
        ),
    ),
    actions=(
        Action("read", "Read", "Read the rooms, surfaces and items of the stage.", World.read),
        Action("cancel", "Cancel", "Give up what is being done.", World.cancel),
    ),
    texts=(Text("result", lines=2), Text("rooms", lines=6)),
)
