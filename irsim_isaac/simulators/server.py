"""``python -m irsim_isaac.simulators.server``: a simulator for a client in another process."""

from __future__ import annotations

import argparse
import ctypes
import hmac
import importlib
import json
import logging
import os
import secrets
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from irsim_isaac import __version__
from irsim_isaac.errors import IrsimIsaacError, SimulatorError
from irsim_isaac.msg import Odometry, Twist, WorldState
from irsim_isaac.simulators.protocol import Simulator, make
from irsim_isaac.simulators.recorded import RecordedSimulator
from irsim_isaac.simulators.tables import ArrayReader, ArrayWriter, fingerprint, table
from irsim_isaac.simulators.wire import (
    ANNOUNCEMENT,
    COPIED,
    LOOPBACK,
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

__all__ = ["SimulatorServer", "main"]

_EVENTS_AHEAD = 8
"""States that a running simulator is ahead of its client at most; more are left out."""

_NOTES_KEPT = 100
_GRACE = 2.0
_LINGER = 500
"""How long a last answer may take to leave when the server closes [ms]."""

_PARENT_LOOK = 0.5
_PR_SET_PDEATHSIG = 1

_TAKING_MESSAGES = ("step", "write")

Answer = tuple[Any, ArrayWriter | None]


class _Notes(logging.Handler):
    """Keeps what is logged until it is fetched."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: deque[str] = deque(maxlen=_NOTES_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname}: {record.getMessage()}")

    def fetch(self) -> tuple[str, ...]:
        lines = tuple(self.lines)
        self.lines.clear()
        return lines


class _Session:
    """One client's turn."""

    def __init__(self, client: bytes, greeting: bytes, welcome: list[Any], number: bytes) -> None:
        self.client = client
        self.greeting = greeting
        self.welcome = welcome
        self.number = number
        self.count = 0
        self.reply: list[Any] = []


class SimulatorServer:
    """Serves one simulator to one client at a time, all on the thread that polls it.

    A request that comes again, as after a cut of the connection, is not done again: its answer
    is sent again.

    Args:
        simulator: What to serve; None to let each client make its own.
        listen: The address, ``tcp://HOST:PORT`` (``*`` for any free port) or ``ipc://PATH``.
        token: What a client must know; needed where others than this machine can come.
        size_limit: Bytes of a message at most.
        heartbeat: Between two signs of life on an idle connection [s].

    Raises:
        MissingPackageError: pyzmq or msgpack is not installed.
        SimulatorError: The address cannot be had, or is open to others without a token.
    """

    def __init__(
        self,
        simulator: Simulator | None = None,
        *,
        listen: str = LOOPBACK,
        token: str | None = None,
        size_limit: int = SIZE_LIMIT,
        heartbeat: float = 1.0,
    ) -> None:
        self._zmq = import_zmq()
        import_msgpack()
        if not is_local(listen) and not token:
            raise SimulatorError(
                f"the address {listen} can be reached from other machines; a token was expected"
            )
        self._token = token
        self._limit = size_limit
        self._given = simulator
        self._simulator = simulator
        self._session: _Session | None = None
        self._stopped = False
        self._running: int | None = None
        self._ahead = 0
        self._notes = _Notes()
        logging.getLogger().addHandler(self._notes)
        self._operations: dict[str, Callable[..., Answer]] = {
            "make": self._make,
            "describe": self._describe,
            "reset": self._reset,
            "step": self._step,
            "read": self._read,
            "write": self._write,
            "run": self._run,
        }
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.ROUTER)
        milliseconds = max(1, round(1000 * heartbeat))
        for option, value in (
            (self._zmq.LINGER, _LINGER),
            (self._zmq.ROUTER_MANDATORY, 1),
            (self._zmq.ROUTER_HANDOVER, 1),
            (self._zmq.MAXMSGSIZE, size_limit),
            (self._zmq.HEARTBEAT_IVL, milliseconds),
            (self._zmq.HEARTBEAT_TIMEOUT, 5 * milliseconds),
        ):
            self._socket.setsockopt(option, value)
        self._socket.copy_threshold = COPIED
        try:
            self._socket.bind(listen)
        except self._zmq.ZMQError as error:
            self.close()
            raise SimulatorError(f"the address {listen} cannot be had: {error}") from error
        self.address: str = self._socket.getsockopt_string(self._zmq.LAST_ENDPOINT)

    def poll(self, timeout: float = 0.0) -> bool:
        """Do what clients ask.

        Args:
            timeout: How long to wait for a request [s].

        Returns:
            Whether there was one.
        """
        if not self._socket.poll(round(1000 * timeout)):
            return False
        while True:
            try:
                frames = self._socket.recv_multipart(self._zmq.NOBLOCK, copy=False)
            except self._zmq.Again:
                return True
            self._take(frames[0].bytes, [frame.buffer for frame in frames[1:]])

    def serve(self) -> None:
        """Do what clients ask until :meth:`stop`."""
        while not self._stopped:
            self.poll(0.1)

    def stop(self) -> None:
        """Let :meth:`serve` end after the present request; may be called from any thread."""
        self._stopped = True

    def close(self) -> None:
        """Let go of the address, and of the simulator that a client made."""
        logging.getLogger().removeHandler(self._notes)
        self._end_session()
        self._socket.close()
        self._context.term()

    # -------------------------------------------------------------- messages

    def _take(self, client: bytes, frames: list[Any]) -> None:
        try:
            message = parse(frames, limit=self._limit)
            if message.kind is Kind.HELLO:
                self._greet(client, message)
                return
            session = self._session
            if session is None or session.number != message.session or session.client != client:
                self._say(client, self._failure(message, "the server does not know this session"))
                return
            if message.kind is Kind.BYE:
                self._say(client, compose(Kind.BYE, session.number, message.count))
                self._end_session()
            elif message.kind is Kind.TAKEN:
                self._ahead -= 1
            elif message.kind is Kind.STOP:
                self._stop_running()
            elif message.kind is Kind.ASK:
                self._asked(session, message)
            else:
                raise DamagedMessageError(f"a {message.kind.name}, which only a server sends")
        except DamagedMessageError as error:
            logging.getLogger(__name__).warning("from a client: %s", error)
            self._say(client, compose(Kind.REFUSED, NO_SESSION, 0, str(error)))

    def _say(self, client: bytes, frames: list[Any]) -> bool:
        """Send, unless the client is gone; it asks again when it comes back."""
        try:
            self._socket.send_multipart([client, *frames], copy=False)
        except self._zmq.ZMQError as error:
            if error.errno != self._zmq.EHOSTUNREACH:
                raise
            return False
        return True

    def _greet(self, client: bytes, message: Envelope) -> None:
        body = unpack(message.body)
        if not isinstance(body, tuple) or [type(item) for item in body] != [str, int, str, bytes]:
            raise DamagedMessageError("a greeting that says something else")
        version, layout, token, greeting = body
        session = self._session
        if session is not None and session.client == client and session.greeting == greeting:
            self._say(client, session.welcome)
            return
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            refusal = "the token is wrong"
        elif layout != fingerprint():
            refusal = (
                f"the server is irsim_isaac {__version__} and its messages have other fields "
                f"than those of the client, irsim_isaac {version}"
            )
        elif session is not None and session.client != client and self._reaches(session):
            refusal = "another client is being served"
        else:
            self._end_session()
            number = secrets.token_bytes(16)
            welcome = compose(Kind.WELCOME, number, 0, __version__)
            self._session = _Session(client, greeting, welcome, number)
            self._say(client, welcome)
            return
        self._say(client, compose(Kind.REFUSED, NO_SESSION, 0, refusal))

    def _reaches(self, session: _Session) -> bool:
        """Return whether the client of a session is still connected."""
        return self._say(session.client, compose(Kind.TAKEN, session.number, 0))

    def _end_session(self) -> None:
        self._session = None
        self._running = None
        if self._simulator is not self._given and self._simulator is not None:
            self._simulator.close()
            self._simulator = self._given

    def _failure(self, message: Envelope, text: str) -> list[Any]:
        return compose(Kind.FAILED, message.session, message.count, (0.0, (), text))

    def _asked(self, session: _Session, message: Envelope) -> None:
        if message.count == session.count and session.reply:
            self._say(session.client, session.reply)
            return
        if message.count != session.count + 1:
            text = f"request {message.count} came after {session.count}; they must come in order"
            self._say(session.client, self._failure(message, text))
            return
        if self._running is not None:
            self._say(session.client, self._failure(message, "the simulator is running"))
            return
        session.count = message.count
        session.reply = []
        try:
            session.reply = self._answer(session, message)
        except IrsimIsaacError as error:
            kind = "" if isinstance(error, SimulatorError) else f"{type(error).__name__}: "
            session.reply = self._failed(session, f"{kind}{error}")
        except Exception as error:  # a fault of a simulator is an answer, and the server lives on
            traceback.print_exc()
            session.reply = self._failed(session, f"{type(error).__name__}: {error}")
        self._say(session.client, session.reply)

    def _answer(self, session: _Session, message: Envelope) -> list[Any]:
        body = unpack(message.body)
        reader = ArrayReader(message.gathered, message.arrays)
        if not isinstance(body, tuple) or not body or body[0] not in self._operations:
            raise DamagedMessageError(f"no operation: {body!r:.80}")
        operation, *arguments = body
        if operation in _TAKING_MESSAGES:
            arguments.append(reader)
        result, writer = self._operations[operation](*arguments)
        time_now = 0.0 if self._simulator is None else self._simulator.time
        body = (time_now, self._notes.fetch(), result)
        return compose(Kind.ANSWER, session.number, session.count, body, writer, limit=self._limit)

    def _failed(self, session: _Session, text: str) -> list[Any]:
        time_now = 0.0 if self._simulator is None else self._simulator.time
        body = (time_now, self._notes.fetch(), text)
        return compose(Kind.FAILED, session.number, session.count, body)

    # -------------------------------------------------------------- operations

    def _served(self) -> Simulator:
        if self._simulator is None:
            raise SimulatorError("the server has no simulator yet")
        return self._simulator

    def _make(self, packed: Any) -> Answer:
        if self._given is not None:
            raise SimulatorError(
                f"the server serves '{self._given.name}' and makes no other simulator"
            )
        name, options, imports = unpack_values(packed)
        for module in imports:
            importlib.import_module(module)
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None
        self._simulator = make(name, **options)
        return None, None

    def _describe(self) -> Answer:
        simulator = self._served()
        content = {
            "name": simulator.name,
            "step_time": simulator.step_time,
            "drive": simulator.drive,
            "robots": list(simulator.robots.values()),
            "plays": isinstance(simulator, RecordedSimulator),
        }
        return pack_values(content), None

    def _reset(self, seed: int | None) -> Answer:
        return self._told(self._served().reset(seed))

    def _read(self) -> Answer:
        return self._told(self._served().read())

    def _step(self, names: Any, commands: Any, reader: ArrayReader) -> Answer:
        return self._told(self._served().step(_by_name(Twist, names, commands, reader)))

    def _write(self, names: Any, updates: Any, reader: ArrayReader) -> Answer:
        self._served().write(_by_name(Odometry, names, updates, reader))
        return None, None

    def _told(self, state: WorldState) -> Answer:
        writer = ArrayWriter()
        return table(WorldState).pack([state], writer), writer

    def _run(self, steps: int | None) -> Answer:
        """Let a simulator that runs by itself run, and send each state."""
        simulator = self._served()
        if simulator.drive != "runs":
            raise SimulatorError(f"{simulator.name}: it is stepped and does not run by itself")
        session = self._session
        self._running = None if session is None else session.count
        self._ahead = 0
        simulator.on_step = self._on_step
        play = getattr(simulator, "run", None)
        try:
            if play is not None:
                return play(steps=steps), None
            seen = 0
            while self._running is not None and not self._stopped and seen != steps:
                seen += self.poll(0.1)
            return seen, None
        finally:
            self._running = None

    def _on_step(self, state: WorldState) -> None:
        session = self._session
        if session is None or self._running is None:
            return
        self.poll()
        if self._running is None or self._ahead >= _EVENTS_AHEAD:
            return
        result, writer = self._told(state)
        frames = compose(
            Kind.EVENT, session.number, self._running, result, writer, limit=self._limit
        )
        self._ahead += 1
        if not self._say(session.client, frames):
            self._stop_running()

    def _stop_running(self) -> None:
        self._running = None
        stop = getattr(self._simulator, "stop", None)
        if stop is not None:
            stop()


def _by_name(cls: type, names: Any, packed: Any, reader: ArrayReader) -> dict[str, Any]:
    """Return the messages of a table by their names."""
    messages = table(cls).unpack(packed, reader)
    reader.finish()
    return dict(zip(names, messages, strict=True))


# ------------------------------------------------------------------ the process


def _end_with_parent(server: SimulatorServer, parent: int) -> None:
    """End this process when the one that started it is gone, whatever became of it."""

    def end() -> None:
        server.stop()
        time.sleep(_GRACE)
        os._exit(1)

    def watch_input() -> None:
        # Past the buffer, whose lock the interpreter wants when it ends.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        end()

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOK)
        end()

    if sys.platform == "linux":
        # The kernel's own word, for when the interpreter is too busy to look.
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        except (OSError, AttributeError):
            pass
    for watch in (watch_input, watch_parent):
        threading.Thread(target=watch, daemon=True).start()


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m irsim_isaac.simulators.server")
    parser.add_argument("--listen", default=LOOPBACK, help="tcp://HOST:PORT or ipc://PATH")
    parser.add_argument(
        "--token-file", help="the file with the token; else IRSIM_ISAAC_TOKEN, else none"
    )
    parser.add_argument("--simulator", help="its name; without it, clients make their own")
    parser.add_argument("--stage", help="the path of the USD stage")
    parser.add_argument("--world", help="the path of the IR-SIM world")
    parser.add_argument("--step-time", default="0.1", help="seconds, such as 0.1 or 1/60")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=JSON", help="of the simulator"
    )
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="import it first, as one that registers simulators",
    )
    parser.add_argument("--size-limit", type=int, default=SIZE_LIMIT, metavar="BYTES")
    parser.add_argument("--heartbeat", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _options(pairs: Sequence[str]) -> dict[str, Any]:
    options = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            options[name] = json.loads(text)
        except ValueError as error:
            raise SimulatorError(
                f"--option {pair}: NAME=JSON was expected, such as noise=true"
            ) from error
    return options


def _token(path: str | None) -> str | None:
    if path is None:
        return os.environ.get("IRSIM_ISAAC_TOKEN") or None
    with open(path, encoding="utf-8") as file:
        return file.read().strip() or None


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client, the parent or a signal ends it.

    Args:
        argv: The arguments; None takes those of the process.

    Returns:
        0, or 2 where it cannot serve.
    """
    parent = os.getppid()
    told = _arguments().parse_args(argv)
    simulator = None
    try:
        # A child's token comes where other users of the machine cannot read it.
        token = sys.stdin.readline().strip() if told.child else _token(told.token_file)
        for module in told.imports:
            importlib.import_module(module)
        if told.simulator:
            simulator = make(
                told.simulator,
                stage=told.stage,
                world=told.world,
                step_time=told.step_time,
                seed=told.seed,
                **_options(told.option),
            )
        server = SimulatorServer(
            simulator,
            listen=told.listen,
            token=token,
            size_limit=told.size_limit,
            heartbeat=told.heartbeat,
        )
    except (IrsimIsaacError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if told.child:
        _end_with_parent(server, parent)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    print(f"{ANNOUNCEMENT}{server.address}", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
        if simulator is not None:
            simulator.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
