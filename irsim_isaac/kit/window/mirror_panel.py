"""The panel that mirrors the open stage and an IR-SIM beside it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from irsim_isaac.errors import MirrorError, StageError
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.window.description import Action, Field, Panel, Picture, Text
from irsim_isaac.kit.window.model import PanelModel

if TYPE_CHECKING:
    from irsim_isaac.kit.live_mirror import LiveMirror
    from irsim_isaac.kit.window.host import Host
    from irsim_isaac.mirror import Direction

__all__ = ["MirrorPanel"]

_KEPT = 600
"""Points of the curves that are kept: a minute of ten a second."""


class MirrorPanel(PanelModel):
    """Starts, watches and ends the live mirror of the extension."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._times: deque[float] = deque(maxlen=_KEPT)
        self._apart: dict[str, deque[float]] = {}
        self._told = ("", "")

    @property
    def mirror(self) -> LiveMirror:
        """The live mirror.

        Raises:
            MirrorError: This application has none.
        """
        if self.host.mirror is None:
            raise MirrorError("the extension is not running, so there is no mirror")
        return self.host.mirror

    def find(self) -> tuple[str, ...]:
        """Look for the robots that the open stage and IR-SIM would share.

        Returns:
            Their names.

        Raises:
            StageError: No stage is open, or it has no robot.
        """
        from irsim_isaac.stage import robot_specs, robot_starts

        stage = open_stage()
        starts = robot_starts(stage)
        lines = []
        for spec in robot_specs(stage):
            x, y, yaw = starts[spec.name]
            lines.append(f"{spec.name}: {spec.prim_path or 'added'} at {x:.2f}, {y:.2f}, {yaw:.2f}")
        if not lines:
            raise StageError("the open stage has no robot and no robot start to mirror")
        self.tell(bindings="\n".join(lines))
        return tuple(line.split(":", maxsplit=1)[0] for line in lines)

    async def start(self) -> None:
        """Start IR-SIM beside the open stage and keep both in step."""
        task = self.task
        assert task is not None
        self._forget()
        await self.mirror.start_async(
            cast("Direction", self.text("direction")), progress=task.progress
        )
        self._tell_bindings()

    def stop(self) -> None:
        """End the mirror and IR-SIM's process; what is being started is given up."""
        self.cancel()
        self.mirror.stop()

    async def resume(self) -> None:
        """Start a lost IR-SIM again at its last whole state and go on."""
        await self.mirror.resume_async()

    def make_python(self) -> Any:
        """Make the Python that IR-SIM runs in; pressing this is the yes."""
        if self.host.make_python is None:
            raise MirrorError("the extension is not running, so it can make no Python")
        return self.host.make_python()

    def _tell_bindings(self) -> None:
        bound = self.mirror.bindings
        self.tell(bindings="\n".join(f"{item.left} = {item.right}" for item in bound))

    def _forget(self) -> None:
        self._times.clear()
        self._apart.clear()
        self._told = ("", "")
        self.canvases["apart"].clear()
        self.tell(bindings="", divergence="")

    def refresh(self) -> None:
        """Tell how the mirror is and how far its objects are apart."""
        mirror = self.host.mirror
        if mirror is None:
            self.tell(state="not running", process="")
            return
        state = mirror.busy or mirror.state
        if mirror.state == "running":
            counts = mirror.counts
            state = f"running, {mirror.direction}: {counts.steps} steps, {counts.writes} writes"
        if mirror.error:
            state = f"{state}: {mirror.error}"
        process = mirror.process_id
        self.tell(state=state, process="not running" if process is None else f"process {process}")
        if mirror.state == "running":
            self._watch_apart(mirror)

    def _watch_apart(self, mirror: LiveMirror) -> None:
        """Keep how far objects are apart now, and draw it over time."""
        monitor = mirror.divergence
        if not monitor.present:
            return
        at = mirror.isaac_state.header.stamp
        if self._times and at <= self._times[-1]:
            return
        self._times.append(at)
        for name, difference in monitor.present.items():
            if name not in self._apart:
                blank = [float("nan")] * (len(self._times) - 1)
                self._apart[name] = deque(blank, maxlen=_KEPT)
            self._apart[name].append(difference.position)
        lines = [
            f"{name}: {difference.position:.3f} m, {difference.heading:.3f} rad (at most "
            f"{monitor.greatest[name][0]:.3f} m, {monitor.greatest[name][1]:.3f} rad)"
            for name, difference in monitor.present.items()
        ]
        self.tell(divergence="\n".join(lines))
        times = list(self._times)
        curves = {
            name: list(values) for name, values in self._apart.items() if len(values) == len(times)
        }
        picture, limit = self.panel.pictures[0], monitor.position

        def drawn() -> Any:
            from irsim_isaac.kit.window.images import draw_curves

            return draw_curves(times, curves, picture.width, picture.height, limit=limit)

        self.canvases["apart"].draw(drawn)

    def stage_closes(self) -> None:
        """Give up what is being started; the mirror itself stops with its stage."""
        super().stage_closes()
        self._forget()


MirrorPanel.panel = Panel(
    name="mirror",
    title="Mirror",
    description="The open stage and an IR-SIM in a process of its own, kept in step.",
    fields=(
        Field(
            "direction",
            "Direction",
            "choice",
            "Who moves whom: Isaac Sim follows IR-SIM, leads it, or both get the same commands.",
            "follow",
            choices=("follow", "lead", "beside"),
        ),
    ),
    actions=(
        Action("find", "Find robots", "Look for robots that both would share.", MirrorPanel.find),
        Action("start", "Start", "Start IR-SIM and keep both in step.", MirrorPanel.start),
        Action("stop", "Stop", "End the mirror and IR-SIM's process.", MirrorPanel.stop),
        Action("resume", "Resume", "Take up an IR-SIM that was lost.", MirrorPanel.resume),
        Action(
            "make_python",
            "Make Python",
            "Make the Python that IR-SIM runs in, with pip.",
            MirrorPanel.make_python,
        ),
    ),
    texts=(
        Text("state", "State", lines=2),
        Text("process", "IR-SIM"),
        Text("bindings", "Bindings", lines=3),
        Text("divergence", "Apart", lines=3),
    ),
    pictures=(
        Picture("apart", "How far objects are from their other selves over time.", 380, 150),
    ),
)
