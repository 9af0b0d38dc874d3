"""The live Isaac Sim as a simulator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np

from irsim_isaac.clock import Seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.application import open_file, play_from_start, stop
from irsim_isaac.kit.engine import IsaacEngine
from irsim_isaac.kit.events import kept, on_stage
from irsim_isaac.kit.layer import OwnLayer
from irsim_isaac.kit.lidar import RtxLidar
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.versions import Undo, isaac_sim
from irsim_isaac.msg import LaserScan, Odometry, Twist, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators import Drive, StartPose
from irsim_isaac.simulators.drives import Motion  # type: ignore[attr-defined]  # no public name
from irsim_isaac.simulators.motion import PlanarTwist, checked_commands, limited
from irsim_isaac.simulators.physx import PhysxSimulator
from irsim_isaac.simulators.scanning import ScanMode

__all__ = ["IsaacSimulator", "close_simulator"]

_SUB_STEP = "1/60"
_FRAME_RATE = 60.0

_NO_MOTION = np.zeros(3)

_live: list[IsaacSimulator] = []
"""The simulator that holds the live simulation, if one does."""


def close_simulator() -> None:
    """Close the simulator that holds the live simulation, if one does."""
    while _live:
        _live.pop().close()


class IsaacSimulator(PhysxSimulator):
    """The stage that is open in Isaac Sim, 5.1 or 6.x.

    It is PhysX as outside of Isaac Sim, with the same robots, commands and states; only the
    engine is the live one. What is added to the stage lies in a layer under its session layer
    and goes with ``close``.

    With ``drive="step"`` it is stepped, as a script without a window does: physics steps are
    taken one by one, and frames are rendered between them where a robot has a lidar. With
    ``drive="runs"`` the application plays the simulation, ``on_step`` is called after each
    step, and ``command`` says what robots do. Being made and being reset stop the simulation and
    play it from the start. There is one live simulation: making another simulator of it closes
    the one before.

    Args:
        stage: A USD file to open first; None for the stage that is open.
        robots: The robots.
        starts: Where they start: x, y [m], yaw [rad]; needed for those that the stage has not.
        step_time: The length of a step [s].
        seed: The seed of the lidars' noise where they cast rays.
        sub_step: The length of a physics step [s]; None for 1/60 where it is stepped and for
            the stage's own where it runs.
        drive_by: How robots that are added move: by their wheels, or as one body.
        floor: The height of the ground under robots that are added [m].
        noise: Whether lidars that cast rays have the noise of their profiles.
        drive: Whether it is stepped or runs by itself.
        lidar: Whether scans come from the RTX lidars, or from rays on the visual meshes as
            outside of Isaac Sim, which needs no frames.
        scans: Whether rays of a scan are cast at once, or each when it fires. RTX lidars turn by
            themselves.

    Raises:
        StageError: No stage is open, or the file cannot be opened.
        SimulatorError: This is not Isaac Sim 5.1 or 6.x, or a robot cannot be placed or driven.
    """

    _KIND: ClassVar[str] = "isaac"

    def __init__(
        self,
        *,
        stage: str | os.PathLike[str] | None = None,
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, StartPose] | None = None,
        step_time: Seconds = 0.1,
        seed: int = 0,
        sub_step: Seconds | None = None,
        drive_by: Literal["wheels", "body"] = "wheels",
        floor: float = 0.0,
        noise: bool = False,
        drive: Drive = "step",
        lidar: Literal["rtx", "rays"] = "rtx",
        scans: ScanMode = "snapshot",
    ) -> None:
        if drive not in ("step", "runs"):
            raise SimulatorError(f"isaac: drive must be 'step' or 'runs', found {drive!r}")
        if lidar not in ("rtx", "rays"):
            raise SimulatorError(f"isaac: lidar must be 'rtx' or 'rays', found {lidar!r}")
        self._isaac = isaac_sim()
        close_simulator()
        self._drive_kind = drive
        self._with_rtx = lidar == "rtx" and any(robot.lidars for robot in robots)
        self._live: Any = None
        self._layer: OwnLayer | None = None
        self._lidars: dict[str, list[RtxLidar]] = {}
        self._guards: list[Undo] = []
        self._step_count = 0
        self._touched: dict[str, list[Any]] = {}
        self._starting = False
        self._telling = False
        self._commanded: dict[str, PlanarTwist] = {}
        if stage is not None:
            open_file(stage)
        if sub_step is None:
            sub_step = _SUB_STEP if drive == "step" else self._isaac.physics_step_time()
        super().__init__(
            stage="",
            robots=robots,
            starts=starts,
            step_time=step_time,
            seed=seed,
            sub_step=sub_step,
            drive_by=drive_by,
            floor=floor,
            noise=noise,
            scans=scans,
        )
        self._guards += [
            on_stage("CLOSING", self._lose_stage),
            self._isaac.on_timeline("stop", self._lose_engine),
        ]
        _live.append(self)
        if drive == "runs":
            self._guards.append(kept(lambda: self._isaac.on_physics_step(self._stepped)))

    @property
    def drive(self) -> Drive:
        """``"step"`` or ``"runs"``, as it was made."""
        return self._drive_kind

    @property
    def lidars(self) -> Mapping[str, Sequence[RtxLidar]]:
        """The RTX lidars of each robot, in the order of its mounts."""
        return dict(self._lidars)

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step with all robots.

        Args:
            commands: A twist for each robot by name; a robot without one is to stand still.

        Raises:
            SimulatorError: It runs by itself, a name is unknown, a value is not finite, or the
                simulation is stopped or its stage closed.
        """
        if self._drive_kind == "runs":
            raise SimulatorError("isaac: it runs by itself and cannot be stepped")
        return super().step(commands)

    def command(self, commands: Mapping[str, Twist]) -> None:
        """Say what robots do from the next step on, until they are told something else.

        It is for a simulator that runs by itself. Robots that have never been told anything are
        left to whatever else drives them.

        Args:
            commands: A twist for each robot by name.

        Raises:
            SimulatorError: It is stepped, a name is unknown, a value is not finite, or the
                simulation is stopped or its stage closed.
        """
        if self._drive_kind != "runs":
            raise SimulatorError("isaac: it is stepped; commands are given to step()")
        with self._using():
            self._opened()
            checked = checked_commands(commands, self._robots, self._name)
            self._commanded |= {name: checked[name] for name in commands}
            if not self._telling:
                self._drive_on()

    def _prepare(self, path: str | os.PathLike[str], starts: Mapping[str, StartPose]) -> None:
        stop()
        self._live = open_stage()
        self._layer = OwnLayer(self._live)
        with self._layer.editing():
            super()._prepare(path, starts)

    def _open(self, path: str | os.PathLike[str]) -> Any:
        """Return the live stage; the layer of our own is its edit target by now."""
        return self._live

    def _written(self, stage: Any) -> None:
        """Set the physics step and take up the lidars, once everything is in the layer."""
        self._isaac.set_physics_step_time(self._sub_step)
        found = self._isaac.physics_step_time()
        if abs(found - self._sub_step) > 1e-6 * self._sub_step:
            raise SimulatorError(
                f"isaac: the physics step is {found:g} s, but {self._sub_step:g} s was asked for"
            )
        if self._with_rtx:
            for name, spec in self._robots.items():
                self._lidars[name] = self._mounted(stage, name, spec)

    def _mounted(self, stage: Any, name: str, spec: RobotSpec) -> list[RtxLidar]:
        """Return the lidars of a robot; those of one that the stage has are found by name."""
        root = self._roots[name]
        prims = {
            str(prim.GetName()): str(prim.GetPath())
            for prim in stage.Traverse()
            if prim.GetTypeName() == "OmniLidar" and str(prim.GetPath()).startswith(f"{root}/")
        }
        lidars = []
        for index, mount in enumerate(spec.lidars):
            if mount.name not in prims:
                raise SimulatorError(
                    f"isaac: robot '{name}' at {root} has no lidar '{mount.name}'; it has: "
                    f"{', '.join(prims) or 'none'}"
                )
            frame = mount.frame_id or (f"{name}/laser_{index}" if index else f"{name}/laser")
            lidars.append(
                RtxLidar(prims[mount.name], isaac=self._isaac, frame_id=frame, mount=mount)
            )
        return lidars

    def _start_engine(self) -> Any:
        if self._live is None or self._layer is None:
            raise SimulatorError("isaac: the stage that it was made on is closed")
        self._starting = True
        try:
            play_from_start()
        finally:
            self._starting = False
        self._step_count = 0
        self._touched = {}
        self._commanded = {}
        frames = 0
        if self._with_rtx and self._drive_kind == "step":
            frames = max(1, round(1.0 / (_FRAME_RATE * self._sub_step)))
        with self._layer.editing():
            return IsaacEngine(self._isaac, self._live, render_every=frames, rendered=self._poll)

    def _restart(self, seed: int) -> None:
        super()._restart(seed)
        # Isaac Sim has taken warm-up steps, in which everything has moved a little.
        engine = self._opened()
        for body in self._bodies:
            if not engine.is_link(body.path):
                self._put(body.name, Motion(body.pose, _NO_MOTION, _NO_MOTION), body)
        for name in self._robots:
            engine.rest_joints(self._roots[name])
            self._put(name, Motion(self._starts[name], _NO_MOTION, _NO_MOTION))
        self._refresh()
        self._rig.place(self._base_poses())

    def _opened(self) -> Any:
        if self._engine is None and self._live is None:
            raise SimulatorError("isaac: the stage that it was made on is closed")
        if self._engine is None:
            raise SimulatorError("isaac: the simulation is stopped; reset() plays it again")
        return self._engine

    @contextmanager
    def _using(self) -> Iterator[None]:
        with super()._using():
            if self._live is not None:
                self._check_prims()
            yield

    def _check_prims(self) -> None:
        """Refuse to go on without a prim: the physics lets go of all when one is deleted."""
        prims = {**self._roots, **{body.name: body.path for body in self._bodies}}
        for name, path in prims.items():
            prim = self._live.GetPrimAtPath(path)
            # What our own layer says of a prim stays there when the prim goes.
            if not (prim and prim.IsDefined() and prim.IsActive()):
                raise SimulatorError(f"isaac: {path}, the prim of '{name}', has left the stage")

    def _capture(self) -> WorldState:
        self._opened()
        return super()._capture()

    def _place(self, updates: Mapping[str, Odometry]) -> None:
        self._opened()
        super()._place(updates)

    def _settle(self, wanted: Mapping[str, Motion]) -> None:
        """Put objects somewhere; once, where a frame of the window waits for it."""
        if self._drive_kind == "step":
            super()._settle(wanted)
            return
        bodies = {body.name: body for body in self._bodies}
        for name, motion in wanted.items():
            self._put(name, motion, bodies.get(name))
        self._refresh()

    def _scans_of(self, name: str, motion: Motion, stamp: float, seq: int) -> list[LaserScan]:
        if not self._with_rtx:
            return super()._scans_of(name, motion, stamp, seq)
        return [lidar.scan or lidar.unmeasured(stamp) for lidar in self._lidars[name]]

    def _poll(self) -> None:
        for lidars in self._lidars.values():
            for lidar in lidars:
                lidar.poll()

    def _stepped(self, seconds: float) -> None:
        """Take up a physics step that the application has taken."""
        engine = self._engine
        if not isinstance(engine, IsaacEngine) or self._starting or self._closed:
            return
        engine.changed()
        self._poll()
        self._gather(engine, self._touched)
        self._step_count += 1
        if self._step_count % self._sub_steps == 0:
            self._tell_step()
        # Who was told may have closed it.
        if self._engine is engine:
            self._drive_on()

    def _tell_step(self) -> None:
        """Take in and tell of a whole step that the application has taken."""
        self._keep_contacts(self._touched)
        self._touched = {}
        self._clock.advance()
        self._refresh()
        self._rig.turn(
            self._base_poses(), self._caster, time=self._clock.time, step=self._clock.step
        )
        if self.on_step is not None:
            self._telling = True
            try:
                self.on_step(self._capture())
            finally:
                self._telling = False

    def _drive_on(self) -> None:
        """Have the robots that were commanded drive in the next physics step."""
        engine = self._opened()
        within = self._step_count % self._sub_steps
        if within == 0:
            for name, command in self._commanded.items():
                twist = limited(self._robots[name], command, self._before[name], self.step_time)
                self._before[name] = twist
                self._drives[name].command(engine, twist)
        watched = [name for name in self._commanded if self._drives[name].watches]
        if watched:
            motions = self._read_motions()
            elapsed = (within + 0.5) * self._sub_step
            for name in watched:
                self._drives[name].sub_step(engine, elapsed, motions[name])

    def _lose_engine(self) -> None:
        """The simulation was stopped: its prims are no longer those of the physics."""
        if self._engine is not None and not self._starting:
            self._engine.close()
            self._engine = None

    def _lose_stage(self) -> None:
        """The stage closes: nothing of it may be held."""
        self._lose_engine()
        self._live = None
        self._layer = None

    def _release(self) -> None:
        if self in _live:
            _live.remove(self)
        while self._guards:
            self._guards.pop()()
        for lidars in self._lidars.values():
            for lidar in lidars:
                lidar.close()
        self._lidars = {}
        super()._release()
        if self._live is not None:
            stop()
        if self._layer is not None:
            self._layer.remove()
        self._live = None
        self._layer = None
