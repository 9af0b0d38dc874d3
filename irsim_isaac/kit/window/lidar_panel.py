"""The panel that shows a lidar while it turns, and publishes its scans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from irsim_isaac.errors import SimulatorError, StageError
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.window.description import Action, Field, Panel, Picture, Text, Value
from irsim_isaac.kit.window.lidars import is_lidar, is_playing, lidar_paths
from irsim_isaac.kit.window.model import PanelModel

if TYPE_CHECKING:
    from irsim_isaac.kit.lidar import RtxLidar
    from irsim_isaac.kit.window.host import Host
    from irsim_isaac.kit.window.scan_publisher import ScanPublisher
    from irsim_isaac.msg import LaserScan

__all__ = ["PRIM", "Lidar", "LidarChoice"]

_TOPIC = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")


class LidarChoice(PanelModel):
    """A panel that has a field for a lidar of the open stage."""

    _found: tuple[str, ...] = ()

    def choices(self, name: str) -> tuple[str, ...]:
        """Return the lidars that were found last."""
        return self._found if name == "prim" else super().choices(name)

    def find(self) -> tuple[str, ...]:
        """Look for the lidars of the open stage, and take the first where none is chosen.

        Returns:
            Their paths.

        Raises:
            StageError: No stage is open, or it has no lidar.
        """
        self._found = lidar_paths(open_stage())
        if not self._found:
            raise StageError("the open stage has no OmniLidar prim")
        if self.values["prim"] not in self._found:
            self.set("prim", self._found[0])
        return self._found

    def chosen(self) -> str:
        """Return the path of the chosen lidar; the first of the stage where none is.

        Raises:
            StageError: No stage is open, or it has no lidar.
            SimulatorError: What is chosen is no lidar of the open stage.
        """
        stage = open_stage()
        if not self.values["prim"]:
            self.find()
        path = self.text("prim")
        if not is_lidar(stage, path):
            found = ", ".join(lidar_paths(stage)) or "none"
            raise SimulatorError(f"{path} is no OmniLidar of the open stage; it has: {found}")
        return path

    def stage_closes(self) -> None:
        """Forget the lidars of the stage."""
        super().stage_closes()
        self._found = ()


PRIM = Field(
    "prim",
    "Lidar",
    "prim",
    "The OmniLidar prim; where it is empty, the first of the stage.",
    "",
    optional=True,
    kept=False,
)


class Lidar(LidarChoice):
    """Reads a lidar frame by frame.

    Attributes:
        lidar: The lidar that is read; None for none.
        publisher: Publishes its scans; None while none are.
    """

    lidar: RtxLidar | None = None
    publisher: ScanPublisher | None = None
    _path = ""
    _scan: LaserScan | None = None

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._published = 0

    def check(self, name: str, value: Value) -> str:
        """Say what is wrong with a topic."""
        if name != "topic" or _TOPIC.fullmatch(str(value)):
            return ""
        return f"found '{value}', a topic of ROS such as /scan was expected"

    def start(self) -> RtxLidar:
        """Read the chosen lidar from now on.

        Returns:
            The lidar.
        """
        from irsim_isaac.kit.lidar import RtxLidar

        path = self.chosen()
        self.stop()
        self.lidar = RtxLidar(path)
        self._path = path
        self.refresh()
        return self.lidar

    def stop(self) -> None:
        """Read no longer, and publish no longer."""
        self.stop_publishing()
        lidar, self.lidar, self._scan = self.lidar, None, None
        if lidar is not None:
            lidar.close()
        self.tell(state="not reading", counts="")

    def publish(self) -> None:
        """Publish the scans of the lidar that is read, which is begun where it is not."""
        from irsim_isaac.kit.window.scan_publisher import ScanPublisher

        if self.publisher is not None:
            self.stop_publishing()
        publisher = ScanPublisher(self.text("topic"))
        try:
            if self.lidar is None:
                self.start()
        except BaseException:
            publisher.close()
            raise
        self.publisher = publisher
        self._published = 0
        self.refresh()

    def stop_publishing(self) -> None:
        """Publish no longer."""
        publisher, self.publisher = self.publisher, None
        if publisher is not None:
            publisher.close()

    def watch(self) -> None:
        """Take up the frame of the lidar, and show and publish the scan that it completed."""
        if self.lidar is None:
            return
        if not is_lidar(open_stage(), self._path):
            self.stop()
            self.canvases["scan"].clear()
            self.fail(SimulatorError(f"the lidar {self._path} is not on the stage any more"))
            return
        scan = self.lidar.poll()
        if scan is None:
            return
        self._scan = scan
        if self.publisher is not None:
            self.publisher.publish(scan)
            self._published += 1
        picture, reach = self.panel.pictures[0], self.number("reach")

        def drawn() -> Any:
            from irsim_isaac.kit.window.images import draw_scan

            return draw_scan(scan, picture.width, picture.height, reach=reach)

        self.canvases["scan"].draw(drawn)

    def refresh(self) -> None:
        """Tell what came of the frames."""
        if self.lidar is None:
            self.texts["state"] = self.texts["state"] or "not reading"
            return
        state = f"reading {self._path}"
        if not is_playing():
            state = f"{state}; the simulation does not play, so no frame comes"
        if self.publisher is not None:
            state = f"{state}; {self._published} scans on {self.publisher.topic}"
        counts = self.lidar.counts
        told = (
            f"{counts.scans} scans of {counts.polls} frames; {counts.missing} missing, "
            f"{counts.bad} bad, {counts.empty} empty, {counts.repeated} repeated"
        )
        if self._scan is not None:
            told = f"{told}; {len(self._scan.ranges)} beams at {self._scan.header.stamp:.2f} s"
        self.tell(state=state, counts=told)

    def stage_closes(self) -> None:
        """Let go of the lidar."""
        super().stage_closes()
        self.stop()


Lidar.panel = Panel(
    name="lidar",
    title="Lidar",
    description="A lidar of the stage while it turns.",
    fields=(
        PRIM,
        Field(
            "reach",
            "Plot to",
            "number",
            "The range at the edge of the plot; 0 for what the lidar sees.",
            0.0,
            unit="m",
            least=0.0,
            most=1000.0,
        ),
        Field("topic", "Topic", "text", "The topic that scans are published on.", "/scan"),
    ),
    actions=(
        Action("find", "Find lidars", "Look for the lidars of the open stage.", Lidar.find),
        Action("start", "Read", "Read the chosen lidar.", Lidar.start),
        Action("stop", "Stop", "Read no longer.", Lidar.stop),
        Action("publish", "Publish", "Publish its scans as sensor_msgs/LaserScan.", Lidar.publish),
        Action("stop_publishing", "Stop publishing", "Publish no longer.", Lidar.stop_publishing),
    ),
    texts=(Text("state"), Text("counts", lines=2)),
    pictures=(Picture("scan", "The last scan: forward is up, left is left.", 380, 260),),
)
