"""The process of a server that a client started for itself."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import irsim_isaac
from irsim_isaac.errors import SimulatorError
from irsim_isaac.simulators.wire import ANNOUNCEMENT

__all__ = ["ServerProcess"]

_LINES_KEPT = 200
_LINE = 65536
_GRACE = 3.0
_LOG = logging.getLogger(__name__)


class ServerProcess:
    """A server that lives as long as whoever started it, and no longer.

    What it prints is kept and logged. It ends when its input ends, so that it outlives neither
    a crash nor a kill of this process.

    Args:
        python: The interpreter, or the command that is one, such as Isaac Sim's ``python.sh``.
        arguments: Further arguments of the server.
        environment: Set beside this process's own environment.
        start_timeout: How long it may take to start [s].

    Attributes:
        address: Where it listens.
        token: What a client must know.

    Raises:
        SimulatorError: It does not start.
    """

    def __init__(
        self,
        python: str | os.PathLike[str] | Sequence[str] | None = None,
        *,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        start_timeout: float = 120.0,
    ) -> None:
        if python is None or isinstance(python, (str, os.PathLike)):
            python = [os.fspath(python or sys.executable)]
        module = "irsim_isaac.simulators.server"
        self._command = [*python, "-m", module, "--child", *arguments]
        self._environment = _environment(environment or {})
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._started = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self.token = secrets.token_urlsafe(24)
        self.address = ""
        # The thread that starts it lives as long as it does: Linux counts the end of that very
        # thread as the end of the parent.
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        try:
            self._started.wait(start_timeout)
        except BaseException:
            self.kill()
            raise
        if not self.address:
            text = f"the server process {self._told(start_timeout)}"
            self.kill()
            raise SimulatorError(text)

    @property
    def process_id(self) -> int | None:
        """The id of the process, of the shell where the interpreter is a script."""
        return None if self._process is None else self._process.pid

    @property
    def lines(self) -> tuple[str, ...]:
        """What it printed last, line by line."""
        return tuple(self._lines)

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process is None or self._process.poll() is not None

    def ending(self) -> str:
        """Return how it ended and what it said last, as a part of a sentence."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return "is alive"
        # What it wrote at its end may still be on its way.
        self._thread.join(0.5)
        how = f"ended with {code}"
        if code < 0:
            names = {item.value: item.name for item in signal.Signals}
            how = f"was ended by {names.get(-code, f'signal {-code}')}"
        return how + self._last_words()

    def stop(self) -> None:
        """End it: by the end of its input, and if that takes too long, by force."""
        process = self._process
        if process is None:
            return
        self._end_input(process)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self) -> None:
        """End it and all that it started, at once."""
        process = self._process
        if process is None:
            return
        if os.name == "posix":
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # nothing is left of it
        else:
            process.kill()
        process.wait()
        self._end_input(process)
        self._thread.join(1.0)

    @staticmethod
    def _end_input(process: subprocess.Popen[bytes]) -> None:
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                pass  # it is gone already

    def _live(self) -> None:
        try:
            # A session of its own, so that Ctrl-C reaches it through its client alone.
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            self._error = error
            self._started.set()
            return
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{self.token}\n".encode())
            process.stdin.flush()
        except OSError:
            pass  # it ended at once, and its output says why
        with process.stdout as output:
            for line in iter(lambda: output.readline(_LINE), b""):
                self._read(line.decode(errors="replace").rstrip())
        process.wait()
        self._started.set()

    def _read(self, line: str) -> None:
        _, found, address = line.partition(ANNOUNCEMENT)
        if found and not self.address:
            self.address = address
            self._started.set()
            return
        self._lines.append(line)
        _LOG.info("server %s: %s", self.process_id, line)

    def _told(self, start_timeout: float) -> str:
        """Return why it has not started."""
        if self._error is not None:
            return f"cannot be started: {self._error}"
        if self.ended:
            return self.ending()
        return f"has not started within {start_timeout:g} s{self._last_words()}"

    def _last_words(self) -> str:
        lines = [line for line in self._lines if line.strip()][-5:]
        return f"; it said last: {' | '.join(lines)}" if lines else " and said nothing"


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the process, in which this very package is found.

    From a folder of installed packages nothing is lent: they are of another interpreter.
    """
    environment = {**os.environ, **given}
    environment.setdefault("PYTHONUNBUFFERED", "1")
    root = Path(irsim_isaac.__file__).resolve().parents[1]
    if (root / "pyproject.toml").is_file():
        before = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(root), *([before] if before else [])])
    return environment
