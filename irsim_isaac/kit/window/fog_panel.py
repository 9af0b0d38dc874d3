"""The panel that lays fog over the floor, which a lidar lifts."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.packages import MAPPING, require
from irsim_isaac.kit.versions import isaac_sim
from irsim_isaac.kit.window.description import FLOOR, Action, Field, Panel, Picture, Text
from irsim_isaac.kit.window.fog_overlay import FogOverlay, rectangles
from irsim_isaac.kit.window.lidar_panel import PRIM, LidarChoice
from irsim_isaac.kit.window.lidars import LivePose, is_lidar, is_playing
from irsim_isaac.kit.window.snapshot import take_snapshot

if TYPE_CHECKING:
    from irsim_isaac.kit.lidar import RtxLidar
    from irsim_isaac.map import FogMap, Occupancy

__all__ = ["Fog"]

_PERIOD = 0.5
"""Between two changes of the fog on the stage [s]."""


class Fog(LidarChoice):
    """Fog over the free floor of the open stage.

    Attributes:
        fog: What has been seen; None before a start.
        occupancy: The map under it; None before a start.
    """

    fog: FogMap | None = None
    occupancy: Occupancy | None = None
    _free: Any = None
    _lidar: RtxLidar | None = None
    _path = ""
    _pose: LivePose | None = None
    _at: tuple[float, float, float] | None = None
    _overlay: FogOverlay | None = None
    _sheet: Future[Any] | None = None
    _changed = False
    _shown = float("-inf")

    @property
    def coverage(self) -> float:
        """The part of the free floor that has been seen, 0 to 1."""
        if self.fog is None:
            return 0.0
        return float(self.fog.reachable_ratio(self._free))

    @property
    def free_area(self) -> float:
        """The area of the free floor [m^2]."""
        if self.fog is None:
            return 0.0
        return float(self._free.mean()) * self.fog.width * self.fog.height

    async def start(self) -> FogMap:
        """Map the stage, lay fog over its floor, and have the chosen lidar lift it.

        Returns:
            What has been seen, which goes on.
        """
        from irsim_isaac.kit.lidar import RtxLidar
        from irsim_isaac.map.resampling import straighten

        require(MAPPING, "fog over the stage")
        path = self.chosen()
        stage = open_stage()
        snapshot, task = take_snapshot(stage), self.task
        assert task is not None
        self.stop()
        resolution, floor = self.number("resolution"), self.number("floor")

        def build() -> Occupancy:
            from irsim_isaac.stage import build_occupancy

            return straighten(
                build_occupancy(
                    snapshot.stage(), resolution=resolution, floor=floor, progress=task.progress
                )
            )

        occupancy: Occupancy = await task.thread(build)
        if open_stage() is not stage or not is_lidar(stage, path):
            raise SimulatorError(f"the lidar {path} is not on the stage any more")
        free = (occupancy.cells >= 0) & (occupancy.cells < 50)
        if not free.any():
            raise SimulatorError("the map of the stage has no free floor to lay fog over")
        self.occupancy, self.fog, self._free = occupancy, occupancy.to_fog_map(), free
        try:
            self._path = path
            self._lidar = RtxLidar(path)
            self._pose = LivePose(isaac_sim(), stage, path)
            if self.values["overlay"]:
                self._overlay = FogOverlay(stage, floor=floor, opacity=self.number("opacity"))
        except BaseException:
            self.stop()
            raise
        self._changed = True
        self.refresh()
        return self.fog

    def stop(self) -> None:
        """Take the fog off the stage; what has been seen stays to be read."""
        lidar, self._lidar = self._lidar, None
        pose, self._pose = self._pose, None
        overlay, self._overlay = self._overlay, None
        self._sheet = None
        if lidar is not None:
            lidar.close()
        if pose is not None:
            pose.close()
        if overlay is not None:
            overlay.remove()
        self.tell(state="no fog" if self.fog is None else "stopped")

    def reset(self) -> None:
        """Cover the whole floor with fog again.

        Raises:
            SimulatorError: There is no fog yet.
        """
        if self.fog is None:
            raise SimulatorError("there is no fog yet; start it first")
        self.fog.reset()
        self._changed = True
        self.refresh()

    def watch(self) -> None:
        """Lift the fog by what the frame has brought, and show it now and then."""
        if self._lidar is None or self._pose is None or self.fog is None:
            return
        if not is_lidar(open_stage(), self._path):
            self.stop()
            self.fail(SimulatorError(f"the lidar {self._path} is not on the stage any more"))
            return
        scan = self._lidar.poll()
        # What still comes of before a stop is not to lift fog that has been laid since.
        if scan is not None and is_playing():
            self._at = self._pose.read()
            self.fog.reveal_from_scan(scan, self._at)
            self._changed = True
        self._show()

    def _show(self) -> None:
        """Bring the fog on the stage up to date: prepared on the thread, set here."""
        overlay = self._overlay
        if self._sheet is not None and self._sheet.done():
            sheet, self._sheet = self._sheet.result(), None
            if overlay is not None:
                if overlay.shown:
                    overlay.show(sheet)
                else:
                    self.fail(SimulatorError("the fog was deleted from the stage; start it again"))
                    self.stop()
                    return
        now = self.host.clock()
        if not self._changed or self._sheet is not None or now - self._shown < _PERIOD:
            return
        self._changed = False
        self._shown = now
        assert self.fog is not None and self.occupancy is not None
        fog, covered = self.fog, self._free & ~self.fog.explored
        if overlay is not None:
            self._sheet = self.host.thread.submit(lambda: overlay.prepare(rectangles(fog, covered)))
        occupancy, at, picture = self.occupancy, self._at, self.panel.pictures[0]
        seen = fog.union(fog)

        def drawn() -> Any:
            from irsim_isaac.kit.window.images import draw_fog

            return draw_fog(seen, occupancy, picture.width, picture.height, at=at)

        self.canvases["fog"].draw(drawn)

    def refresh(self) -> None:
        """Tell how much has been seen."""
        if self.fog is None:
            self.tell(state=self.texts["state"] or "no fog", coverage="")
            return
        if self._lidar is not None:
            state = f"lifted by {self._path}"
            if not is_playing():
                state = f"{state}; the simulation does not play, so no frame comes"
            self.tell(state=state)
        self.tell(
            coverage=f"{100.0 * self.coverage:.1f} % of {self.free_area:.1f} m^2 of free floor has "
            "been seen"
        )

    def stage_closes(self) -> None:
        """Let go of the stage and forget what has been seen of it."""
        super().stage_closes()
        self.stop()
        self.fog = self.occupancy = self._free = self._at = None
        self.tell(state="no fog", coverage="")


Fog.panel = Panel(
    name="fog",
    title="Fog",
    description="Fog over the floor, which a lidar lifts where it has seen.",
    fields=(
        PRIM,
        Field(
            "resolution",
            "Resolution",
            "number",
            "The side of a cell of the fog.",
            0.1,
            unit="m",
            least=0.01,
            most=5.0,
        ),
        FLOOR,
        Field(
            "overlay",
            "On the ground",
            "flag",
            "Whether the fog is shown in the viewport, in a layer that is never saved.",
            True,
        ),
        Field(
            "opacity",
            "Opacity",
            "number",
            "How dense the fog on the ground is.",
            0.6,
            least=0.0,
            most=1.0,
        ),
    ),
    actions=(
        Action("find", "Find lidars", "Look for the lidars of the open stage.", Fog.find),
        Action("start", "Start", "Lay fog over the floor.", Fog.start),
        Action("stop", "Stop", "Take the fog off the stage.", Fog.stop),
        Action("reset", "Cover again", "Cover the whole floor with fog again.", Fog.reset),
        Action("cancel", "Cancel", "Give up what is being done.", Fog.cancel),
    ),
    texts=(Text("state"), Text("coverage", "Coverage")),
    pictures=(Picture("fog", "What has been seen of the map.", 380, 240),),
)
