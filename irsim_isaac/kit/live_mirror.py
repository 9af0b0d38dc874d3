"""The live Isaac Sim and an IR-SIM beside it, kept in step."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irsim_isaac.errors import IrsimIsaacError, MirrorError, SimulatorError, StageError
from irsim_isaac.kit.application import pause, play
from irsim_isaac.kit.events import on_stage, on_update
from irsim_isaac.kit.irsim_process import irsim_python, start_irsim
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.menu import notify
from irsim_isaac.kit.packages import MAPPING, REMOTE, require
from irsim_isaac.kit.versions import Undo, isaac_sim

if TYPE_CHECKING:
    from irsim_isaac.clock import Seconds
    from irsim_isaac.kit.simulator import IsaacSimulator
    from irsim_isaac.mirror import (
        Binding,
        Commands,
        Counts,
        Direction,
        DivergenceMonitor,
        Mirror,
        Policy,
        Resumption,
    )
    from irsim_isaac.msg import Twist, WorldState
    from irsim_isaac.robot import RobotSpec
    from irsim_isaac.simulators import Drive, RemoteSimulator

__all__ = ["LiveMirror", "LiveState", "close_mirrors"]

LiveState: TypeAlias = Literal["stopped", "running", "lost"]

Progress: TypeAlias = Callable[[int, int, str], None]

_SUB_STEP = "1/60"
_LOOK = 1.0
"""Between two looks at an IR-SIM that is not asked for anything, as while paused [s]."""

_open_mirrors: weakref.WeakSet[LiveMirror] = weakref.WeakSet()
"""The mirrors that have not been closed."""


def close_mirrors() -> None:
    """Close every live mirror: their processes have ended then."""
    for mirror in list(_open_mirrors):
        mirror.close()


@dataclass(slots=True)
class _Plan:
    """What a start is to make, read off the open stage.

    Attributes:
        stage: The open stage.
        snapshot: A layer with all of it, which nothing else changes.
        robots: Its robots.
        starts: Where they start.
        direction: Who moves whom.
        bindings: Which object is which; None to bind by name.
        step_time: The length of a step [s].
        folder: A folder of our own.
        python: The Python of IR-SIM.
        given_up: Set when the start is not wanted any more.
        kept: Whether the folder is still needed when the start is over.
        making: The IR-SIM that another thread starts.
    """

    stage: Any
    snapshot: Any
    robots: tuple[RobotSpec, ...]
    starts: Mapping[str, tuple[float, float, float]]
    direction: Direction
    bindings: Sequence[Binding] | None
    step_time: Seconds
    folder: Path
    python: str
    given_up: threading.Event = field(default_factory=threading.Event)
    kept: bool = False
    making: Future[RemoteSimulator] | None = None


class LiveMirror:
    """The open stage in Isaac Sim and its IR-SIM twin, kept in step.

    ``start`` writes the IR-SIM world of the open stage, starts IR-SIM in a process of its own and
    plays the stage from its start. IR-SIM is the left simulator and Isaac Sim the right one:
    ``"follow"`` has Isaac Sim go where IR-SIM drives, ``"lead"`` has IR-SIM go where Isaac Sim
    drives, ``"beside"`` gives both the same commands and moves nothing.

    With ``drive="runs"`` the application plays and each of Isaac Sim's steps takes IR-SIM along
    by one; with ``drive="step"``, which is for scripts, ``run`` takes the steps.

    When IR-SIM is lost, as when its process is killed, the state is ``"lost"``, ``error`` says
    why in a line, and in a window a notification does. The simulation is paused then, so that
    ``resume`` goes on from the last whole state as if nothing had happened. When the stage
    closes or the simulation is stopped, the mirror stops.

    Args:
        drive: Whether Isaac Sim runs by itself or is stepped.
        step_time: The length of a step [s]; None for a step of Isaac Sim's physics.
        commands: What to command next, by left names: a function of the state, or one command
            each for good; None to command nothing. It may be set at any time.
        policy: What to do with what is not as it should be.
        lidar: What robots of Isaac Sim scan with: ``"rtx"`` reads their RTX lidars, ``"rays"``
            casts rays, ``"none"`` leaves them blind.
        irsim_lidars: Whether robots of IR-SIM scan too.
        python: The Python of IR-SIM; that of the settings where None.
        timeout: How long a step of IR-SIM may take [s].

    Attributes:
        commands: As given.
        on_change: Called without arguments when the state, the error or what it is busy with
            has changed; None for nothing.
        on_step: Called with IR-SIM's and Isaac Sim's state after each step, as to publish both;
            None for nothing.
    """

    def __init__(
        self,
        *,
        drive: Drive = "runs",
        step_time: Seconds | None = None,
        commands: Commands | Mapping[str, Twist] | None = None,
        policy: Policy | None = None,
        lidar: Literal["rtx", "rays", "none"] = "none",
        irsim_lidars: bool = False,
        python: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.commands = commands
        self.on_change: Callable[[], None] | None = None
        self.on_step: Callable[[WorldState, WorldState], None] | None = None
        self._drive: Drive = drive
        self._step_time = step_time
        self._policy = policy
        self._lidar = lidar
        self._irsim_lidars = irsim_lidars
        self._python = python
        self._timeout = timeout
        self._state: LiveState = "stopped"
        self._error = ""
        self._busy = ""
        self._plan: _Plan | None = None
        self._mirror: Mirror | None = None
        self._irsim: RemoteSimulator | None = None
        self._isaac: IsaacSimulator | None = None
        self._direction: Direction = "follow"
        self._guards: list[Undo] = []
        self._take_in: Callable[[WorldState], None] | None = None
        self._issued: Mapping[str, Twist] = {}
        # Isaac Sim's states that came while IR-SIM was lost: the first of them and the last.
        self._broken: WorldState | None = None
        self._missed: WorldState | None = None
        self._heard = 0.0
        self._in_step = False
        # One thread for all that takes a while with IR-SIM: one thing after the other.
        self._worker = ThreadPoolExecutor(1, "irsim_isaac mirror")
        self._tasks: set[asyncio.Task[None]] = set()
        _open_mirrors.add(self)

    # -------------------------------------------------------------- what is told

    @property
    def state(self) -> LiveState:
        """Whether it is stopped, running, or has lost IR-SIM."""
        return self._state

    @property
    def error(self) -> str:
        """Why it was lost or has stopped by itself, in one line; empty for no reason."""
        return self._error

    @property
    def busy(self) -> str:
        """What it is doing that takes a while, such as starting IR-SIM; empty for nothing."""
        return self._busy

    @property
    def direction(self) -> Direction:
        """Who moves whom."""
        return self._direction

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """Which object is which, those of the last start; empty before the first."""
        if self._mirror is None:
            return ()
        if self._drive == "step":
            return self._mirror.bindings
        # While it runs, each binding is told its way by itself.
        return tuple(replace(item, direction=None) for item in self._mirror.bindings)

    @property
    def counts(self) -> Counts:
        """What has happened since the last start."""
        from irsim_isaac.mirror import Counts

        return Counts() if self._mirror is None else self._mirror.counts

    @property
    def divergence(self) -> DivergenceMonitor:
        """How far objects are apart, since the last start."""
        from irsim_isaac.mirror import DivergenceMonitor

        monitor = None if self._mirror is None else self._mirror.monitor
        return DivergenceMonitor() if monitor is None else monitor

    @property
    def resumptions(self) -> tuple[Resumption, ...]:
        """Each time that IR-SIM was lost and taken up again since the last start."""
        return () if self._mirror is None else tuple(self._mirror.resumptions)

    @property
    def irsim_state(self) -> WorldState:
        """The last state of IR-SIM."""
        return self._started().left_state

    @property
    def isaac_state(self) -> WorldState:
        """The last state of Isaac Sim."""
        return self._started().right_state

    @property
    def irsim(self) -> RemoteSimulator | None:
        """The IR-SIM beside Isaac Sim: its process, what it printed; None while stopped."""
        return self._irsim

    @property
    def isaac(self) -> IsaacSimulator | None:
        """The live simulator; None while stopped."""
        return self._isaac

    @property
    def process_id(self) -> int | None:
        """The id of IR-SIM's process; None where it is not there."""
        return None if self._irsim is None else self._irsim.process_id

    # -------------------------------------------------------------- starting

    def start(
        self,
        direction: Direction = "follow",
        *,
        bindings: Sequence[Binding] | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Start IR-SIM beside the open stage and mirror; one that runs is stopped first.

        This takes seconds; in a window, await ``start_async``.

        Args:
            direction: Who moves whom.
            bindings: Which object is which; None to bind by name.
            seed: The seed of both simulators; None for their own.
            progress: Called with (done, total, what) while the world is made.

        Raises:
            StageError: No stage is open.
            SimulatorError: There is no robot, no Python for IR-SIM, or one side cannot start.
            MirrorError: The steps do not fit, or a bound object is not there.
            MissingInIsaacSimError: A package is missing; the message says how to install it.
        """
        plan = self._planned(direction, bindings)
        try:
            irsim = self._prepared(plan, progress)
            self._begin(plan, irsim, seed)
        finally:
            self._end_plan(plan)

    async def start_async(
        self,
        direction: Direction = "follow",
        *,
        bindings: Sequence[Binding] | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Start as ``start`` does, with the window going on while the world and IR-SIM are made.

        ``progress`` is called on another thread. Cancelling the task gives the start up.
        """
        plan = self._planned(direction, bindings)
        making = plan.making = self._worker.submit(self._prepared, plan, progress)
        try:
            self._begin(plan, await asyncio.wrap_future(making), seed)
        except asyncio.CancelledError:
            plan.given_up.set()
            plan.kept = True
            self._later(lambda: _discard(making, plan.folder))
            raise
        finally:
            self._end_plan(plan)

    def run(self, steps: int) -> None:
        """Take steps; for a mirror that is stepped.

        Args:
            steps: How many; a step that a loss broke off is finished as one of them.

        Raises:
            MirrorError: It is not running, or runs by itself.
            SimulatorError: A side is lost or refuses.
        """
        mirror = self._started()
        if self._state != "running":
            raise MirrorError(f"the mirror is {self._state}; a running one was expected")
        try:
            for _ in range(steps):
                mirror.run(1)
                self._tell_step(mirror)
        except SimulatorError as error:
            if self._irsim is not None and self._irsim.fault is not None:
                self._become("lost", _line(error))
            raise

    def stop(self) -> None:
        """End the mirror, IR-SIM's process and what was added to the stage.

        The process is ended on another thread; ``close`` waits for it.
        """
        if self._plan is not None:
            self._plan.given_up.set()
        self._release("")

    def close(self) -> None:
        """Stop for good: nothing is left of it then, its process has ended; twice is no error."""
        for task in list(self._tasks):
            task.cancel()
        self._tasks.clear()
        self.on_change = None
        plan = self._plan
        self.stop()
        self._worker.shutdown()
        if plan is not None and plan.making is not None:
            # Whoever waits for it may never be asked again.
            _discard(plan.making, plan.folder)
        _open_mirrors.discard(self)

    # -------------------------------------------------------------- being lost

    def resume(self) -> None:
        """Start IR-SIM again at its last whole state, and go on.

        This takes seconds; in a window, await ``resume_async``.

        Raises:
            MirrorError: Nothing is lost.
            SimulatorError: IR-SIM cannot be started again.
        """
        mirror = self._to_resume()
        try:
            self._worker.submit(mirror.resume).result()
        except IrsimIsaacError as error:
            self._become("lost", _line(error))
            raise
        finally:
            self._say("")
        self._go_on(mirror)

    async def resume_async(self) -> None:
        """Resume as ``resume`` does, with the window going on while IR-SIM starts."""
        mirror = self._to_resume()
        try:
            await asyncio.wrap_future(self._worker.submit(mirror.resume))
        except IrsimIsaacError as error:
            if mirror is self._mirror and self._state == "lost":
                self._become("lost", _line(error))
            raise
        finally:
            self._say("")
        self._go_on(mirror)

    def _to_resume(self) -> Mirror:
        if self._state != "lost" or self._mirror is None:
            raise MirrorError(f"the mirror is {self._state}; one that has lost IR-SIM was expected")
        if self._busy:
            raise MirrorError(f"the mirror is busy {self._busy}")
        self._say("starting IR-SIM again")
        return self._mirror

    def _go_on(self, mirror: Mirror) -> None:
        """Go on from where IR-SIM was lost, making up for what came since."""
        if mirror is not self._mirror or self._state != "lost":
            raise MirrorError("the mirror was stopped while IR-SIM was started again")
        self._become("running", "")
        try:
            while self._broken is not None:
                mirror.advance(self._broken)
                self._broken, self._missed = self._missed, None
        except IrsimIsaacError as error:
            self._stumble(error, self._broken)
            raise
        if self._drive == "runs":
            self._heard = time.monotonic()
            play()

    # -------------------------------------------------------------- parts of starting

    def _planned(self, direction: Direction, bindings: Sequence[Binding] | None) -> _Plan:
        """Read the open stage; what is missing is named before anything is begun."""
        if self._busy:
            raise MirrorError(f"the mirror is busy {self._busy}")
        if direction not in ("follow", "lead", "beside"):
            raise MirrorError(
                f"direction is {direction!r}; 'follow', 'lead' or 'beside' was expected"
            )
        stage = open_stage()
        require((*MAPPING, *REMOTE), "mirroring IR-SIM")
        from irsim_isaac.stage import robot_specs, robot_starts

        python = self._python or irsim_python()
        # What a mirror has added to the stage is no robot of it.
        self._release("")
        robots = tuple(robot_specs(stage))
        if not robots:
            raise SimulatorError(
                f"{stage.GetRootLayer().identifier} holds no robot and no robot start pose"
            )
        step_time = self._step_time
        if step_time is None:
            step_time = _SUB_STEP if self._drive == "step" else isaac_sim().physics_step_time()
        self._plan = plan = _Plan(
            stage=stage,
            snapshot=stage.Flatten(),
            robots=robots,
            starts=robot_starts(stage),
            direction=direction,
            bindings=bindings,
            step_time=step_time,
            folder=Path(tempfile.mkdtemp(prefix="irsim_isaac_mirror_")),
            python=python,
        )
        self._direction = direction
        self._say("starting IR-SIM")
        return plan

    def _prepared(self, plan: _Plan, progress: Progress | None) -> RemoteSimulator:
        """Write the world and start IR-SIM with it; on any thread."""
        from irsim_isaac.stage import build_world
        from irsim_isaac.stage.usd import Usd

        def tell(done: int, total: int, what: str) -> None:
            if plan.given_up.is_set():
                raise MirrorError("the mirror was stopped while it was started")
            if progress is not None:
                progress(done, total, what)

        robots = plan.robots
        if not self._irsim_lidars:
            robots = tuple(replace(robot, lidars=()) for robot in robots)
        world = build_world(
            Usd.Stage.Open(plan.snapshot), robots=robots, starts=plan.starts, progress=tell
        )
        path = world.save(plan.folder / "world")
        tell(0, 1, "starting IR-SIM")
        return start_irsim(
            path,
            folder=plan.folder,
            robots=robots,
            step_time=plan.step_time,
            python=plan.python,
            timeout=self._timeout,
        )

    def _begin(self, plan: _Plan, irsim: RemoteSimulator, seed: int | None) -> None:
        """Play the stage and start the mirror of both."""
        from irsim_isaac.kit.simulator import IsaacSimulator

        isaac = None
        try:
            if plan.given_up.is_set():
                raise MirrorError("the mirror was stopped while it was started")
            if open_stage() is not plan.stage:
                raise StageError("another stage was opened while the mirror was started")
            robots = plan.robots
            if self._lidar == "none":
                robots = tuple(replace(robot, lidars=()) for robot in robots)
            isaac = IsaacSimulator(
                robots=robots,
                starts=plan.starts,
                step_time=plan.step_time,
                drive=self._drive,
                lidar="rays" if self._lidar == "rays" else "rtx",
            )
            mirror = self._mirrored(plan, irsim, isaac)
            mirror.start(seed)
        except BaseException:
            plan.kept = True
            self._end_process(irsim, plan.folder)
            if isaac is not None:
                isaac.close()
            raise
        self._mirror, self._irsim, self._isaac = mirror, irsim, isaac
        self._heard = time.monotonic()
        self._guards.append(on_stage("CLOSING", self._stage_closes))
        self._guards.append(isaac_sim().on_timeline("stop", self._simulation_stops))
        if self._drive == "runs":
            self._issued = self._told(mirror.right_state)
            self._command_isaac()
            mirror.connect()
            self._take_in = isaac.on_step
            isaac.on_step = self._stepped
            self._guards.append(on_update(self._look))
        plan.kept = True
        self._guards.append(lambda: self._end_process(irsim, plan.folder))
        self._busy = ""
        self._become("running", "")

    def _mirrored(self, plan: _Plan, irsim: RemoteSimulator, isaac: IsaacSimulator) -> Mirror:
        from irsim_isaac.mirror import DivergenceMonitor, Mirror, bind_by_name

        if self._drive == "step":
            return Mirror(
                irsim,
                isaac,
                bindings=plan.bindings,
                direction=plan.direction,
                policy=self._policy,
                monitor=DivergenceMonitor(),
                commands=self._told,
            )
        bound = plan.bindings
        if bound is None:
            bound = bind_by_name(irsim.read(), isaac.read())
        # What runs by itself sets the pace; each binding goes its own way.
        return Mirror(
            irsim,
            isaac,
            bindings=[replace(item, direction=item.direction or plan.direction) for item in bound],
            direction="lead",
            policy=self._policy,
            monitor=DivergenceMonitor(),
            commands=self._told_before,
        )

    def _end_plan(self, plan: _Plan) -> None:
        """Take away what a start has left when it is over."""
        if self._plan is plan:
            self._plan = None
            self._say("")
        if not plan.kept:
            shutil.rmtree(plan.folder, ignore_errors=True)

    # -------------------------------------------------------------- running

    def _stepped(self, state: WorldState) -> None:
        """Take a step of Isaac Sim in."""
        if self._state != "running" or self._take_in is None:
            if self._state == "lost":
                self._missed = state
            return
        self._in_step = True
        try:
            self._take_in(state)
            self._heard = time.monotonic()
            self._tell_step(self._started())
        except IrsimIsaacError as error:
            self._stumble(error, state)
        finally:
            self._in_step = False

    def _tell_step(self, mirror: Mirror) -> None:
        if self.on_step is not None:
            self.on_step(mirror.left_state, mirror.right_state)

    def _told(self, state: WorldState) -> Mapping[str, Twist]:
        """Return the commands for what comes next."""
        if self.commands is None:
            return {}
        return self.commands(state) if callable(self.commands) else self.commands

    def _told_before(self, state: WorldState) -> Mapping[str, Twist]:
        """Command Isaac Sim for its next step; return what the step behind it was driven by."""
        before, self._issued = self._issued, self._told(state)
        self._command_isaac()
        return before

    def _command_isaac(self) -> None:
        """Give Isaac Sim the commands for its robots that are not moved by IR-SIM's."""
        mirror, isaac = self._mirror, self._isaac
        if mirror is None or isaac is None:
            return
        bound = {item.left: item for item in mirror.bindings}
        mine = {
            bound[name].right: bound[name].twist_to_right(twist)
            for name, twist in self._issued.items()
            if name in bound and bound[name].direction in ("lead", "beside")
        }
        if mine:
            isaac.command(mine)

    def _look(self) -> None:
        """See whether IR-SIM and the live simulation are still there, while nothing moves."""
        if self._state == "stopped":
            self._release(self._error)
            return
        now = time.monotonic()
        if self._state != "running" or now - self._heard < _LOOK:
            return
        irsim, isaac = self._irsim, self._isaac
        if irsim is None or isaac is None:
            return
        self._heard = now
        try:
            irsim.read()
            isaac.read()
        except IrsimIsaacError as error:
            self._stumble(error, None)

    def _stumble(self, error: IrsimIsaacError, state: WorldState | None) -> None:
        """Something went wrong: IR-SIM is lost, or the mirror cannot go on."""
        line = _line(error)
        if self._irsim is None or self._irsim.fault is None:
            self._tell_error(line, {})
            self._release(line)
            return
        if state is not self._broken:
            self._broken, self._missed = state, None
        self._become("lost", line)
        if self._drive == "runs":
            pause()
            self._tell_error(
                f"IR-SIM is lost, the simulation is paused: {line}",
                {"Resume": self._resume_soon, "Stop": self.stop},
            )

    def _tell_error(self, line: str, buttons: Mapping[str, Callable[[], None]]) -> None:
        import carb

        carb.log_error(f"[irsim_isaac] {line}")
        notify(line, warning=True, buttons=buttons)

    def _resume_soon(self) -> None:
        """Resume on a task; the button of the notification."""
        if self._state == "lost" and not self._busy and not self._tasks:
            task = asyncio.ensure_future(self._resume_and_tell())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _resume_and_tell(self) -> None:
        try:
            await self.resume_async()
        except IrsimIsaacError as error:
            self._tell_error(_line(error), {})

    # -------------------------------------------------------------- ending

    def _stage_closes(self) -> None:
        if self._state != "stopped":
            self._release("the stage was closed")

    def _simulation_stops(self) -> None:
        if self._state != "stopped":
            self._release("the simulation was stopped")

    def _release(self, reason: str) -> None:
        """Let go of both sides; within a physics step, with the next update."""
        if self._in_step:
            # PhysX refuses that its callbacks be taken away while it calls them.
            self._become("stopped", reason)
            return
        while self._guards:
            self._guards.pop()()
        isaac, self._isaac = self._isaac, None
        self._irsim = None
        self._take_in = None
        self._broken = self._missed = None
        self._issued = {}
        if isaac is not None:
            isaac.on_step = None
            isaac.close()
        if self._state != "stopped" or reason != self._error:
            self._become("stopped", reason)

    def _end_process(self, irsim: RemoteSimulator, folder: Path) -> None:
        """End IR-SIM's process without waiting for it here."""

        def end() -> None:
            irsim.close()
            shutil.rmtree(folder, ignore_errors=True)

        self._later(end)

    def _later(self, work: Callable[[], None]) -> None:
        """Do something on the other thread, or here where that has ended."""
        try:
            self._worker.submit(work)
        except RuntimeError:
            work()

    # -------------------------------------------------------------- telling

    def _started(self) -> Mirror:
        if self._mirror is None:
            raise MirrorError("the mirror has not been started")
        return self._mirror

    def _become(self, state: LiveState, error: str) -> None:
        self._state, self._error = state, error
        self._changed()

    def _say(self, busy: str) -> None:
        if busy != self._busy:
            self._busy = busy
            self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _discard(making: Future[RemoteSimulator], folder: Path) -> None:
    """End what was started when nobody wanted it any more."""
    if not making.cancelled() and making.exception() is None:
        making.result().close()
    shutil.rmtree(folder, ignore_errors=True)
