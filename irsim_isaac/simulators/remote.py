"""Any simulator, in another process."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, runtime_checkable

from irsim_isaac import __version__
from irsim_isaac.clock import Seconds, exact_seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Odometry, Twist, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.simulators.base import robots_by_name
from irsim_isaac.simulators.protocol import Drive, OnStep, StartPose
from irsim_isaac.simulators.server_process import ServerProcess
from irsim_isaac.simulators.tables import ArrayReader, ArrayWriter, fingerprint, table
from irsim_isaac.simulators.wire import (
    COPIED,
    NO_SESSION,
    SIZE_LIMIT,
    DamagedMessageError,
    Envelope,
    Kind,
    compose,
    import_msgpack,
    import_zmq,
    is_local,
    pack_values,
    parse,
    unpack,
    unpack_values,
)

__all__ = ["RemoteSimulator", "Resumable"]

_LINES_KEPT = 200
_LOOK = 0.25
"""Between two looks at the server's process while an answer is awaited [s]."""

_LOOK_WHEN_CUT = 0.02
_GOODBYE = 2.0
_LOG = logging.getLogger(__name__)

_BROKEN = (ValueError, TypeError, IndexError, OverflowError)
"""What a table that is none raises."""


@runtime_checkable
class Resumable(Protocol):
    """A simulator that may be lost, and taken up again from a state of it."""

    @property
    def fault(self) -> str | None:
        """Why it is lost; None while it is not."""
        ...

    def resume(self, state: WorldState) -> WorldState:
        """Begin anew where a state says, and return the state that this led to."""
        ...


class _Link:
    """What must be let go of: the process, the socket, the context."""

    def __init__(self) -> None:
        self.process: ServerProcess | None = None
        self.socket: Any = None
        self.monitor: Any = None
        self.poller: Any = None
        self.context: Any = None

    def cut(self, *, kill: bool = False) -> None:
        if self.context is not None:
            if self.monitor is not None:
                self.socket.disable_monitor()
                self.monitor.close(linger=0)
            if self.socket is not None:
                self.socket.close(linger=0)
            self.context.term()
            self.socket = self.monitor = self.context = self.poller = None
        if self.process is not None:
            if kill:
                self.process.kill()
            else:
                self.process.stop()
            self.process = None


class RemoteSimulator:
    """A simulator in another process, behind the same protocol.

    Without an address it starts a server for itself with the interpreter that is given, watches
    it and ends it. With an address it attaches to a server that runs, and makes a simulator
    there or takes the one that is there.

    Every call ends in an answer or in a ``SimulatorError``. What the simulator refuses is raised
    here as it is there, and it goes on. A connection that is cut is made again and what was
    asked is done once. When the server ends, falls silent or says what it must not, the simulator
    is lost: ``fault`` says why, every call raises it, and :meth:`resume` begins anew.

    Args:
        simulator: The name of the simulator to make; None to take the one of a server that
            runs.
        address: The server to attach to, ``tcp://HOST:PORT`` or ``ipc://PATH``; None to start
            one.
        token: What the server at the address wants to be told; needed for another machine.
        python: The interpreter for the server, a path or a command; None for this one.
        imports: Modules that the server imports first, such as one that registers a simulator.
        environment: Set in the server's environment beside this one's.
        timeout: How long an answer may take [s].
        start_timeout: How long the server and the simulator may each take to start [s].
        reconnect: How long a cut connection may take to come back [s].
        heartbeat: Between two signs of life on an idle connection [s]; after five without one
            it counts as cut.
        size_limit: Bytes of a message at most, in either direction.
        stage: As :func:`make` takes it; so are the following ones.
        world: The path of the IR-SIM world.
        robots: The robots that take commands.
        starts: Where each robot starts.
        step_time: The length of a step [s].
        seed: The seed of everything random.
        **options: What the simulator takes besides.

    Raises:
        MissingPackageError: pyzmq or msgpack is not installed here.
        SimulatorError: No server can be started or reached, it refuses, or the simulator
            cannot be made.
    """

    def __init__(
        self,
        *,
        simulator: str | None = None,
        address: str | None = None,
        token: str | None = None,
        python: str | os.PathLike[str] | Sequence[str] | None = None,
        imports: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        start_timeout: float = 120.0,
        reconnect: float = 10.0,
        heartbeat: float = 1.0,
        size_limit: int = SIZE_LIMIT,
        stage: str | os.PathLike[str] | None = None,
        world: str | os.PathLike[str] | None = None,
        robots: Sequence[RobotSpec] = (),
        starts: Mapping[str, StartPose] | None = None,
        step_time: Seconds = 0.1,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self._zmq = import_zmq()
        import_msgpack()
        self.on_step: OnStep | None = None
        self._name = f"remote {simulator or address}"
        if simulator is None and address is None:
            raise SimulatorError(
                "remote: neither a simulator to make nor an address to attach to was given"
            )
        if address is not None and not is_local(address) and not token:
            raise SimulatorError(
                f"{self._name}: the address {address} is of another machine; a token was expected"
            )
        given = {"stage": stage, "world": world, "robots": robots, "starts": starts, **options}
        told = [name for name, value in given.items() if value]
        if simulator is None and told:
            raise SimulatorError(
                f"{self._name}: '{told[0]}' was given, which is for a simulator to make; the one "
                "at the address is made already"
            )
        for what, value in (("timeout", timeout), ("start_timeout", start_timeout)):
            if not value > 0:
                raise SimulatorError(f"{self._name}: {what} is {value} s, more than 0 is expected")
        self._simulator = simulator
        self._address, self._token = address, token
        self._python, self._environment = python, dict(environment or {})
        self._timeout, self._start_timeout = timeout, start_timeout
        self._reconnect, self._heartbeat = reconnect, heartbeat
        self._limit = size_limit
        self._making = b""
        if simulator is not None:
            making = {
                "stage": stage,
                "world": world,
                "robots": tuple(robots),
                "starts": dict(starts or {}),
                "step_time": step_time,
                "seed": seed,
                **options,
            }
            self._making = pack_values((simulator, making, list(imports)))
        self._busy = threading.Lock()
        self._closed = False
        self._fault: str | None = None
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._link = _Link()
        self._finalizer = weakref.finalize(self, self._link.cut)
        self._stopping = False
        self._begin()

    # -------------------------------------------------------------- the protocol

    @property
    def name(self) -> str:
        """The name of the simulator over there."""
        return self._described_name

    @property
    def time(self) -> float:
        """The time since the start [s], as it was said last."""
        return self._stamp(round(self._time / self._step_time))

    @property
    def step_time(self) -> float:
        """The length of a step [s]."""
        return self._step_time

    @property
    def robots(self) -> Mapping[str, RobotSpec]:
        """The robots that take commands, by name."""
        return self._robots

    @property
    def drive(self) -> Drive:
        """Whether it is stepped or runs by itself."""
        return self._drive

    def reset(self, seed: int | None = None) -> WorldState:
        """Go back to the start.

        Args:
            seed: The seed of everything random; None for the seed it was made with.
        """
        with self._using():
            state = self._state(self._ask("reset", seed))
            self._ahead = 0
            return state

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step with all robots.

        Args:
            commands: A twist for each robot by name; a robot without one is to stand still.

        Raises:
            SimulatorError: A command is bad, the simulator refuses, is closed or is lost.
        """
        with self._using():
            return self._shifted(self._state(self._tell("step", "command", Twist, commands)))

    def read(self) -> WorldState:
        """Return the present state."""
        with self._using():
            return self._shifted(self._state(self._ask("read")))

    def write(self, updates: Mapping[str, Odometry]) -> None:
        """Place objects; all of them or, when one update is bad, none.

        Args:
            updates: Pose and velocity for each object by name.

        Raises:
            SimulatorError: An update is bad, the simulator refuses, is closed or is lost.
        """
        with self._using():
            self._tell("write", "update", Odometry, updates)

    def run(self, *, steps: int | None = None) -> int:
        """Let a simulator that runs by itself run, calling ``on_step`` with its states.

        States that come faster than they are taken are left out over there.

        Args:
            steps: How many steps at most; None until it ends or :meth:`stop` is called.

        Returns:
            How many steps it made.

        Raises:
            SimulatorError: It is stepped, is closed or is lost.
        """
        with self._using():
            self._stopping = False
            return int(self._ask("run", steps, event=self._event, patience=None)[2])

    def stop(self) -> None:
        """Let :meth:`run` end; to be called by ``on_step``."""
        self._stopping = True

    def close(self) -> None:
        """Let go of everything; closing twice is no error."""
        if self._closed:
            return
        self._closed = True
        if self._fault is None and self._link.socket is not None:
            try:
                self._exchange(Kind.BYE, "closing", None, _GOODBYE)
            except SimulatorError as error:
                _LOG.info("%s", error)
        self._finalizer()

    # -------------------------------------------------------------- being lost

    @property
    def fault(self) -> str | None:
        """Why the simulator is lost; None while it is not."""
        return self._fault

    @property
    def process_id(self) -> int | None:
        """The id of the server's process; None where it was not started here."""
        process = self._link.process
        return None if process is None else process.process_id

    @property
    def logs(self) -> tuple[str, ...]:
        """What the other side printed or warned of last, line by line."""
        process = self._link.process
        return (*self._lines, *(process.lines if process is not None else ()))

    def resume(self, state: WorldState) -> WorldState:
        """Begin anew where a state says.

        The server is started again, or attached to again, and the simulator made again. Objects
        that are elsewhere than the state says are written there, and time goes on from the
        state's. A recording is played up to the state instead.

        Args:
            state: The last whole state.

        Returns:
            The state that this led to. It differs from the one given in what cannot be written,
            such as noise.

        Raises:
            SimulatorError: It cannot be begun anew, or an object cannot be placed.
        """
        with self._using(lost=True):
            self._let_go("it is resumed")
            self._begin()
            fresh = self._state(self._ask("read"))
            missing = state.header.seq - fresh.header.seq
            if self._plays:
                for _ in range(missing):
                    fresh = self._state(self._tell("step", "command", Twist, {}))
                return fresh
            there = {item.name: item.odom for item in fresh.objects}
            moved = {
                item.name: item.odom
                for item in state.objects
                if item.name not in there
                or item.odom.pose != there[item.name].pose
                or item.odom.twist != there[item.name].twist
            }
            if moved:
                self._tell("write", "update", Odometry, moved)
            self._ahead = missing
            return self._shifted(self._state(self._ask("read")))

    # -------------------------------------------------------------- beginning

    def _begin(self) -> None:
        self._fault = None
        self._count = 0
        self._ahead = 0
        self._time = 0.0
        self._session = NO_SESSION
        try:
            self._connect()
            if self._making:
                self._ask("make", self._making, patience=self._start_timeout)
            content = unpack_values(self._ask("describe")[2])
            self._described_name = str(content["name"])
            self._step_time = float(content["step_time"])
            self._step = exact_seconds(self._step_time)
            self._drive: Drive = content["drive"]
            self._robots = robots_by_name(content["robots"])
            self._plays = bool(content["plays"])
        except (KeyError, *_BROKEN) as error:
            self._lose(f"the server describes its simulator wrongly: {error!r}")
        except BaseException:
            self._let_go("it was not begun")
            raise

    def _connect(self) -> None:
        link, zmq = self._link, self._zmq
        address, token, patience = self._address, self._token, self._timeout
        if address is None:
            arguments = ["--size-limit", str(self._limit), "--heartbeat", str(self._heartbeat)]
            link.process = ServerProcess(
                self._python,
                arguments=arguments,
                environment=self._environment,
                start_timeout=self._start_timeout,
            )
            address, token = link.process.address, link.process.token
            patience = self._start_timeout
        link.context = zmq.Context()
        link.socket = link.context.socket(zmq.DEALER)
        milliseconds = max(1, round(1000 * self._heartbeat))
        for option, value in (
            # Of its own, so that the server knows it again after a cut.
            (zmq.ROUTING_ID, b"c" + secrets.token_bytes(15)),
            (zmq.LINGER, 0),
            (zmq.MAXMSGSIZE, self._limit),
            (zmq.HEARTBEAT_IVL, milliseconds),
            (zmq.HEARTBEAT_TIMEOUT, 5 * milliseconds),
            (zmq.RECONNECT_IVL, 20),
            (zmq.RECONNECT_IVL_MAX, 500),
        ):
            link.socket.setsockopt(option, value)
        link.socket.copy_threshold = COPIED
        cuts = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED
        link.monitor = link.socket.get_monitor_socket(cuts)
        link.poller = zmq.Poller()
        link.poller.register(link.socket, zmq.POLLIN)
        link.poller.register(link.monitor, zmq.POLLIN)
        try:
            link.socket.connect(address)
        except zmq.ZMQError as error:
            raise SimulatorError(f"{self._name}: {address} cannot be reached: {error}") from error
        greeting = (__version__, fingerprint(), token or "", secrets.token_bytes(16))
        answer = self._exchange(Kind.HELLO, f"reaching {address}", greeting, patience)
        self._session = answer.session

    # -------------------------------------------------------------- asking

    @contextmanager
    def _using(self, *, lost: bool = False) -> Iterator[None]:
        if self._closed:
            raise SimulatorError(f"{self._name}: it is closed")
        if self._fault is not None and not lost:
            raise SimulatorError(f"{self._name}: it is lost: {self._fault}")
        if not self._busy.acquire(blocking=False):
            raise SimulatorError(
                f"{self._name}: used from two threads at once; one call at a time was expected"
            )
        try:
            yield
        finally:
            self._busy.release()

    def _tell(
        self, operation: str, what: str, cls: type, told: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Have something done with messages by name and return what was answered."""
        writer = ArrayWriter()
        try:
            packed = table(cls).pack(list(told.values()), writer)
        except (AttributeError, *_BROKEN) as error:
            name, message = _misfit(cls, told)
            raise SimulatorError(
                f"{self._name}: the {what} for '{name}' is no {cls.__name__}: {message!r:.200}"
            ) from error
        return self._ask(operation, tuple(map(str, told)), packed, writer=writer)

    def _ask(
        self,
        operation: str,
        *arguments: Any,
        writer: ArrayWriter | None = None,
        event: Callable[[Envelope], None] | None = None,
        patience: float | None = 0.0,
    ) -> tuple[Any, ...]:
        """Have something done over there and return what was answered.

        Returns:
            The answer's envelope, the time there, and the result.
        """
        answer = self._exchange(
            Kind.ASK,
            operation,
            (operation, *arguments),
            self._timeout if patience == 0.0 else patience,
            writer=writer,
            event=event,
        )
        try:
            now, notes, result = unpack(answer.body)
            self._time = float(now)
            self._lines.extend(map(str, notes))
        except (DamagedMessageError, *_BROKEN) as error:
            self._lose(f"the answer to {operation} is damaged: {error}")
        if answer.kind is Kind.FAILED:
            raise SimulatorError(str(result))
        return answer, now, result

    def _exchange(
        self,
        kind: Kind,
        operation: str,
        body: Any,
        patience: float | None,
        *,
        writer: ArrayWriter | None = None,
        event: Callable[[Envelope], None] | None = None,
    ) -> Envelope:
        count = self._count + (kind is not Kind.HELLO)
        try:
            frames = compose(kind, self._session, count, body, writer, limit=self._limit)
        except SimulatorError as error:
            raise SimulatorError(f"{self._name}: {operation}: {error}") from error
        self._count = count
        self._link.socket.send_multipart(frames, copy=False)
        return self._await(frames, count, operation, patience, event)

    def _await(
        self,
        frames: list[Any],
        count: int,
        operation: str,
        patience: float | None,
        event: Callable[[Envelope], None] | None,
    ) -> Envelope:
        """Return the answer to what was sent, sending it again after a cut."""
        link, zmq = self._link, self._zmq
        end = None if patience is None else time.monotonic() + patience
        cut_since: float | None = None
        while True:
            look = _LOOK if cut_since is None else _LOOK_WHEN_CUT
            if end is not None:
                look = max(0.0, min(look, end - time.monotonic()))
            ready = dict(link.poller.poll(1000 * look))
            if link.socket in ready:
                message = self._received(operation)
                if message.kind is Kind.REFUSED:
                    text = str(unpack(message.body))
                    self._lose(f"{operation}: the server refuses: {text}")
                if message.kind is Kind.EVENT and message.count == count and event is not None:
                    event(message)
                    continue
                if message.kind in (Kind.TAKEN, Kind.EVENT):
                    continue
                if message.kind is not Kind.WELCOME and message.session != self._session:
                    self._lose(f"{operation}: an answer of another session came")
                if message.count > count:
                    self._lose(
                        f"{operation}: the answer to request {message.count} came before that to "
                        f"request {count}"
                    )
                if message.count == count:
                    return message
                # Of a request that was given up, or answered twice.
                continue
            if link.monitor in ready:
                happened = self._happened()
                if happened == zmq.EVENT_DISCONNECTED:
                    cut_since = cut_since or time.monotonic()
                elif happened == zmq.EVENT_HANDSHAKE_SUCCEEDED and cut_since is not None:
                    cut_since = None
                    link.socket.send_multipart(frames, copy=False)
                continue
            if link.process is not None and link.process.ended:
                self._lose(f"{operation}: the server process {link.process.ending()}")
            now = time.monotonic()
            if cut_since is not None and now - cut_since > self._reconnect:
                self._lose(
                    f"{operation}: the connection was cut and did not come back within "
                    f"{self._reconnect:g} s"
                )
            if end is not None and now >= end:
                alive = "" if link.process is None else "; the server process is alive"
                self._lose(f"{operation}: no answer within {patience:g} s{alive}")

    def _received(self, operation: str) -> Envelope:
        parts = self._link.socket.recv_multipart(copy=False)
        try:
            return parse([part.buffer for part in parts], limit=self._limit)
        except DamagedMessageError as error:
            self._lose(f"{operation}: {error}")

    def _happened(self) -> int:
        from zmq.utils.monitor import recv_monitor_message

        return int(recv_monitor_message(self._link.monitor)["event"])

    def _event(self, message: Envelope) -> None:
        """Take a state of a simulator that runs, and let the next one come."""
        if self._stopping:
            return
        state = self._state((message, None, unpack(message.body)))
        self._time = state.header.stamp
        state = self._shifted(state)
        if self.on_step is not None:
            self.on_step(state)
        kind = Kind.STOP if self._stopping else Kind.TAKEN
        answer = compose(kind, self._session, message.count)
        self._link.socket.send_multipart(answer, copy=False)

    def _state(self, answer: tuple[Any, ...]) -> WorldState:
        envelope, _, packed = answer
        reader = ArrayReader(envelope.gathered, envelope.arrays)
        try:
            (state,) = table(WorldState).unpack(packed, reader)
            reader.finish()
        except _BROKEN as error:
            self._lose(f"a state that cannot be read: {error}")
        return state  # type: ignore[no-any-return]

    # -------------------------------------------------------------- losing

    def _lose(self, text: str) -> NoReturn:
        """Give the server up and say why."""
        self._let_go(text)
        raise SimulatorError(f"{self._name}: {text}")

    def _let_go(self, text: str) -> None:
        if self._fault is None:
            self._fault = text
        process = self._link.process
        self._link.cut(kill=True)
        if process is not None:
            self._lines.extend(process.lines)

    # -------------------------------------------------------------- time

    def _stamp(self, count: int) -> float:
        return float((self._ahead + count) * self._step)

    def _shifted(self, state: WorldState) -> WorldState:
        """Take a state to the time that goes on from before the server was lost."""
        if self._ahead:
            stamp = self._stamp(state.header.seq)
            late = float(self._ahead * self._step)
            here = state.header.stamp
            headers = [state.header]
            for item in state.objects:
                headers += [item.header, item.odom.header]
                headers += [scan.header for scan in item.scans]
            for header in headers:
                header.stamp = stamp if header.stamp == here else header.stamp + late
                header.seq += self._ahead
        return state


def _misfit(cls: type, told: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the first message that has no place in a table, and its name."""
    for name, message in told.items():
        try:
            table(cls).pack([message], ArrayWriter())
        except (AttributeError, *_BROKEN):
            return name, message
    return next(iter(told.items()))
