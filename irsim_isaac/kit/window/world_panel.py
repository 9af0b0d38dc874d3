"""The panel that shows the rooms, surfaces and items of the open stage, and says where to look."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from irsim_isaac.errors import InteractiveError
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.packages import MAPPING, require
from irsim_isaac.kit.window.description import Action, Field, Panel, Text
from irsim_isaac.kit.window.folders import output_folder
from irsim_isaac.kit.window.model import PanelModel
from irsim_isaac.kit.window.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from irsim_isaac.interactive import RankedSurface, Strategy
    from irsim_isaac.msg.interactive_world import WorldModel

__all__ = ["World"]

_ROWS = 10
_RANKS = 5


class World(PanelModel):
    """Reads what is where on the open stage, learns where items belong, and ranks surfaces.

    Attributes:
        world: What was read last; None before.
        ranking: Where to look for the item that was asked for last, the best first.
    """

    world: WorldModel | None = None
    ranking: tuple[RankedSurface, ...] = ()

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

    async def learn(self) -> int:
        """Learn where items belong from the sessions of the study, and keep that in the store.

        Returns:
            How many models were learned.
        """
        if not self.values["store"]:
            raise InteractiveError("no store is named, the database of the study was expected")
        url, task = self._url(), self.task
        assert task is not None
        learned, skipped = await task.thread(
            _learned, url, int(self.values["study"]), task.progress
        )
        self.tell(result=f"learned {learned} models; {skipped} things were left out")
        self.host.say(self.texts["result"])
        return learned

    async def find(self) -> tuple[RankedSurface, ...]:
        """Rank the surfaces to look for the item on, by what the store has seen and learned.

        Returns:
            The surfaces, the most promising first.
        """
        item = self.text("item")
        if not item:
            raise InteractiveError("no item is named, what to look for was expected")
        url, task = self._url(), self.task
        assert task is not None
        world = self.world or await self.read()
        self.ranking = await task.thread(
            _ranked, world, url, item, cast("Strategy", self.text("strategy"))
        )
        lines = [
            f"{place}. {entry.name} ({entry.score:.3g}): {entry.why}"
            for place, entry in enumerate(self.ranking[:_RANKS], 1)
        ]
        if len(self.ranking) > _RANKS:
            lines.append(f"and {len(self.ranking) - _RANKS} more")
        self.tell(ranking="\n".join(lines) or f"no surface is known to have held '{item}'")
        return self.ranking

    def _url(self) -> str:
        """Return the store, which must be there; blank for none."""
        text = self.text("store")
        if not text or "://" in text:
            return text
        path = output_folder(text)
        if not path.is_file():
            raise InteractiveError(f"there is no store at {path}")
        return str(path)

    def stage_closes(self) -> None:
        """Forget what was on the stage."""
        super().stage_closes()
        self.world = None
        self.ranking = ()
        self.tell(result="", rooms="", ranking="")


def _read(snapshot: Snapshot, door_width: float, progress: Any) -> WorldModel:
    from irsim_isaac.stage import world_model

    return world_model(snapshot.stage(), door_width=door_width, progress=progress)


def _learned(url: str, study: int, progress: Any) -> tuple[int, int]:
    """Learn the models of every condition of a study and keep them; on any thread.

    Returns:
        How many models, and how many things that were left out.
    """
    from irsim_isaac.interactive import Store, learn_models, parse_study

    with Store(url) as store:
        progress(0, 1, "reading the sessions")
        conditions = parse_study(store, study)
        count = skipped = 0
        for done, parsed in enumerate(conditions):
            progress(done, len(conditions), f"learning '{parsed.condition.name}'")
            learned = learn_models(parsed.training)
            store.save_models(parsed.condition.id, learned.models)
            count += len(learned.models.models)
            skipped += len(parsed.skipped) + len(learned.skipped)
    return count, skipped


def _ranked(
    world: WorldModel, url: str, item: str, strategy: Strategy
) -> tuple[RankedSurface, ...]:
    """Rank the surfaces of a world by what a store knows; on any thread."""
    from irsim_isaac.interactive import Store, rank_surfaces

    if not url:
        return rank_surfaces(item, world, [], [], time.time(), strategy=strategy)
    with Store(url, create=False) as store:
        models = [
            model
            for study in store.studies()
            for condition in store.conditions(study.id)
            for model in _models(store, condition.id)
        ]
        seen = store.observations(item=item, removed=None)
        return rank_surfaces(item, world, seen, models, time.time(), strategy=strategy)


def _models(store: Any, condition: int) -> list[Any]:
    """Return what was learned for a condition; nothing where nothing was."""
    from irsim_isaac.errors import StoreError

    try:
        return list(store.load_models(condition).models)
    except StoreError:
        return []


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
        Field(
            "store",
            "Store",
            "path",
            "The database of observations and models: a file of SQLite, or a URL.",
            "",
            optional=True,
        ),
        Field(
            "study",
            "Study",
            "whole",
            "The number of the study in the store whose sessions are learned from.",
            1,
            least=1,
        ),
        Field("item", "Item", "text", "What to look for.", "", optional=True, kept=False),
        Field(
            "strategy",
            "Strategy",
            "choice",
            "By what surfaces are ranked: what was seen and learned, or one of them alone.",
            "combined",
            choices=("combined", "temporal", "recency", "models"),
        ),
    ),
    actions=(
        Action("read", "Read", "Read the rooms, surfaces and items of the stage.", World.read),
        Action("learn", "Learn", "Learn where items belong from the study.", World.learn),
        Action("find", "Where to look", "Rank the surfaces to look on.", World.find),
        Action("cancel", "Cancel", "Give up what is being done.", World.cancel),
    ),
    texts=(Text("result", lines=2), Text("rooms", lines=6), Text("ranking", lines=6)),
)
