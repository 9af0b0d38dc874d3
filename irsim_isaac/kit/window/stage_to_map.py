"""The panel that makes a map and a world of the open stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.packages import MAPPING, require
from irsim_isaac.kit.window.description import (
    FLOOR,
    Action,
    Field,
    Panel,
    Picture,
    Text,
    Value,
    read_points,
    write_points,
)
from irsim_isaac.kit.window.folders import output_folder, stage_name
from irsim_isaac.kit.window.model import PanelModel
from irsim_isaac.kit.window.picking import Pick
from irsim_isaac.kit.window.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from irsim_isaac.map import Occupancy

__all__ = ["StageToMap"]


class StageToMap(PanelModel):
    """Maps the open stage, shows the map, and writes it with its world.

    Attributes:
        occupancy: The map of the last preview; None before one.
        mapped: What was written last; None before.
    """

    occupancy: Occupancy | None = None
    mapped: MappedStage | None = None
    _pick: Pick | None = None

    def check(self, name: str, value: Value) -> str:
        """Say what is wrong with an end of the band beside the other end."""
        other = {"lowest": "highest", "highest": "lowest"}.get(name)
        if other is None:
            return ""
        band = {**self.values, name: value}
        if float(band["lowest"]) < float(band["highest"]):
            return ""
        title = self.panel.field(other).title.lower()
        side = "less" if name == "lowest" else "more"
        return (
            f"found {float(value):g} m, {side} than the {float(self.values[other]):g} m of "
            f"'{title}' was expected"
        )

    @property
    def seeds(self) -> list[tuple[float, float]]:
        """The points of the free floor [m]."""
        return read_points(self.text("seeds"))

    def pick(self) -> None:
        """Have the next click into the viewport make a seed, or stop waiting for it."""
        if self._pick is not None:
            self._end_pick()
            return
        self._pick = Pick(self._picked)
        self.tell(result="click the free floor in the viewport")

    def _picked(self, point: tuple[float, float, float] | None) -> None:
        """Take up where was clicked [m]."""
        self._end_pick()
        if point is None:
            self.tell(result="nothing is there; pick again")
            return
        text = write_points([*self.seeds, (round(point[0], 3), round(point[1], 3))])
        self.set("seeds", text)

    def _end_pick(self) -> None:
        pick, self._pick = self._pick, None
        if pick is not None:
            pick.close()
        self.tell(result="")

    def clear_seeds(self) -> None:
        """Forget the seeds."""
        self.set("seeds", "")

    async def preview(self) -> Occupancy:
        """Map a copy of the open stage and show the map.

        Returns:
            The map.
        """
        snapshot, task = self._copied(), self.task
        assert task is not None
        occupancy: Occupancy = await task.thread(
            self._build, snapshot, self._options(), task.progress
        )
        self.occupancy = occupancy
        nx, ny = occupancy.shape
        self.tell(
            result=f"{nx} by {ny} cells, {occupancy.width:.1f} by {occupancy.height:.1f} m; "
            f"{len(occupancy.report.omissions)} prims were left out"
        )
        seeds, starts, picture = self.seeds, snapshot.starts(), self.panel.pictures[0]

        def drawn() -> Any:
            from irsim_isaac.kit.window.images import draw_map

            return draw_map(occupancy, picture.width, picture.height, seeds=seeds, robots=starts)

        self.canvases["map"].draw(drawn)
        return occupancy

    async def export(self) -> MappedStage:
        """Write the map and the world of a copy of the open stage.

        Returns:
            What was written.
        """
        snapshot, task = self._copied(), self.task
        assert task is not None
        folder = output_folder(self.text("folder")) / stage_name(open_stage())

        def work() -> MappedStage:
            return map_stage(
                folder, stage=snapshot.stage(), progress=task.progress, **self._options()
            )

        self.mapped = await task.thread(work)
        self.tell(result=f"wrote {self.mapped.map} and {self.mapped.world}")
        self.host.say(self.texts["result"])
        return self.mapped

    def _copied(self) -> Snapshot:
        require(MAPPING, "mapping the stage")
        return take_snapshot(open_stage())

    def _options(self) -> dict[str, Any]:
        return {
            "resolution": self.number("resolution"),
            "height": (self.number("lowest"), self.number("highest")),
            "floor": self.number("floor"),
            "geometry": self.text("geometry"),
            "seeds": self.seeds,
        }

    @staticmethod
    def _build(snapshot: Snapshot, options: dict[str, Any], progress: Any) -> Occupancy:
        from irsim_isaac.stage import build_occupancy

        return build_occupancy(snapshot.stage(), progress=progress, **options)

    def stage_closes(self) -> None:
        """Let go of the stage and of the map of it."""
        super().stage_closes()
        if self._pick is not None:
            self._end_pick()
        self.occupancy = None
        self.tell(result="")


StageToMap.panel = Panel(
    name="map",
    title="Stage to map",
    description="The occupancy map and the IR-SIM world of the open stage.",
    fields=(
        Field(
            "lowest",
            "Band from",
            "number",
            "The least height above the floor that counts as an obstacle.",
            0.1,
            unit="m",
            least=0.0,
            most=100.0,
        ),
        Field(
            "highest",
            "Band to",
            "number",
            "The greatest height above the floor that counts as an obstacle.",
            0.62,
            unit="m",
            least=0.0,
            most=100.0,
        ),
        FLOOR,
        Field(
            "resolution",
            "Resolution",
            "number",
            "The side of a cell of the map.",
            0.05,
            unit="m",
            least=0.005,
            most=5.0,
        ),
        Field(
            "geometry",
            "Geometry",
            "choice",
            "What is mapped: what is drawn, or what is collided with.",
            "visual",
            choices=("visual", "collision"),
        ),
        Field(
            "seeds",
            "Seeds",
            "points",
            "Points of the free floor; where there are any, free is what is reached from them.",
            "",
            unit="m",
            optional=True,
            kept=False,
        ),
        Field(
            "folder",
            "Folder",
            "path",
            "Where maps and worlds are written, in a folder named after the stage.",
            "${omni_documents}/irsim_isaac",
        ),
    ),
    actions=(
        Action(
            "pick",
            "Pick seed",
            "Make a seed of the next click into the viewport; once more to stop waiting.",
            StageToMap.pick,
        ),
        Action("clear_seeds", "Clear seeds", "Forget the seeds.", StageToMap.clear_seeds),
        Action("preview", "Preview", "Map the stage and show the map.", StageToMap.preview),
        Action("export", "Export", "Write the map and the world.", StageToMap.export),
        Action("cancel", "Cancel", "Give up what is being done.", StageToMap.cancel),
    ),
    texts=(Text("result", lines=2),),
    pictures=(Picture("map", "The map: walls, free floor, what is unknown, seeds.", 380, 240),),
)
