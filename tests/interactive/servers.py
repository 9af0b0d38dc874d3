"""Real database servers, started on sockets of their own and stopped again."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

sqlalchemy = pytest.importorskip("sqlalchemy")

Room = Literal["plenty", "disk", "files"]
"""Where a server writes: with plenty of room, on a small disk of its own that can be filled, or
where no disk can be mounted into files that may be kept from growing."""

LEFT = 1_000_000
"""What a filled disk has left [bytes]: enough to begin a transaction, not to end it."""


@contextlib.contextmanager
def disk(folder: Path, size: int) -> Iterator[Path]:
    """Lay a disk of its own under a folder, so that filling it fills nothing else.

    Args:
        folder: An empty folder.
        size: Of the disk [bytes].
    """
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
        check=False, capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no disk can be mounted: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True, capture_output=True)


def fill(folder: Path) -> None:
    """Leave hardly anything of the disk of a folder."""
    free = os.statvfs(folder)
    with (folder / "ballast").open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, free.f_bavail * free.f_frsize - LEFT)


def free(folder: Path) -> None:
    """Give back what was filled."""
    (folder / "ballast").unlink()


@dataclass
class Server:
    """A server that runs.

    Attributes:
        url: What to connect to, with ``{database}`` for the name of one.
    """

    url: str
    _database: str
    _folder: Path
    _socket: Path
    _log: Path
    _command: Sequence[str | Path]
    _runs: dict[str, Any]
    _owner: dict[str, Any]
    _stop_signal: signal.Signals
    _room: Room
    _largest_file: int
    _process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Start it, or start it again on the same folder."""
        # One that crashed leaves its socket, which would look as if it listened already.
        self._socket.unlink(missing_ok=True)
        with self._log.open("ab") as output:
            # Python ignores the signal of a file grown too large, and so is the server to: it is
            # to meet the error, as on a full disk, and not the signal.
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=output, cwd=self._folder,
                restore_signals=False, **self._runs,
            )  # fmt: skip
        for _ in range(300):
            if self._socket.exists():
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        self.stop()
        pytest.skip(f"the server did not start: {self._log.read_text(errors='replace')[-400:]}")

    def stop(self) -> None:
        """Stop it; whoever is connected loses the connection."""
        self._process.send_signal(self._stop_signal)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def fill(self) -> None:
        """Leave no room for what connections made from now on write."""
        if self._room == "disk":
            fill(self._folder)
        else:
            self._limit(str(self._largest_file))

    def free(self) -> None:
        """Make room again, and start it again where it crashed."""
        if self._room == "disk":
            free(self._folder)
        elif self._process.poll() is None:
            self._limit("unlimited")
        # A crash takes a moment to end the process whose client has already lost it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0 if self._room == "disk" else 1.0)
            self.start()
        self._recovered()

    def _recovered(self) -> None:
        """Wait until it answers: it listens before it has mended what a crash left."""
        engine = sqlalchemy.create_engine(self.url.format(database=self._database))
        for left in reversed(range(300)):
            try:
                with engine.connect() as connection:
                    connection.exec_driver_sql("SELECT 1")
                break
            except sqlalchemy.exc.OperationalError:
                if not left:
                    raise
                time.sleep(0.1)
        engine.dispose()

    def _limit(self, size: str) -> None:
        subprocess.run(
            ["prlimit", f"--pid={self._process.pid}", f"--fsize={size}:"],
            check=True, capture_output=True, **self._owner,
        )  # fmt: skip


def _owner(uid: int, gid: int) -> dict[str, Any]:
    """What lets a program be run by an account."""
    return {"user": uid, "group": gid, "extra_groups": []} if os.getuid() == 0 else {}


def _account(name: str) -> tuple[str | None, int, int]:
    """The account to run a server as: a server refuses to be root."""
    if os.getuid() != 0:
        return None, os.getuid(), os.getgid()
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        pytest.skip(f"there is no account '{name}' to run the server as")
    return name, entry.pw_uid, entry.pw_gid


@contextlib.contextmanager
def _folder(uid: int, gid: int, room: Room) -> Iterator[Path]:
    # Sockets have short paths, and pytest's own folders are closed to other accounts.
    folder = Path(tempfile.mkdtemp(prefix="iw-"))
    try:
        with disk(folder, 200_000_000) if room == "disk" else contextlib.nullcontext():
            folder.chmod(0o755)
            os.chown(folder, uid, gid)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def mariadb(room: Room = "plenty") -> Iterator[Server]:
    """Run a MariaDB server; its URL is its administrator's."""
    program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin:" + os.environ.get("PATH", ""))
    install = shutil.which("mariadb-install-db")
    if program is None or install is None:
        pytest.skip("MariaDB's server is not installed (Debian's package mariadb-server)")
    account, uid, gid = _account("mysql")
    with _folder(uid, gid, room) as folder:
        data, place = folder / "data", folder / "s"
        user = [] if account is None else [f"--user={account}"]
        small = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M",
                 "--innodb-data-file-path=ibdata1:5M:autoextend", "--innodb-autoextend-increment=1",
                 "--innodb-temp-data-file-path=ibtmp1:5M:autoextend"]  # fmt: skip
        made = subprocess.run(
            [install, "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", *user, *small],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"MariaDB's data could not be made: {made.stderr.decode()[-400:]}")
        server = Server(
            f"mariadb+pymysql://root@localhost/{{database}}?unix_socket={place}",
            "mysql", folder, place, folder / "log",
            [program, "--no-defaults", f"--datadir={data}", f"--socket={place}",
             "--bind-address=127.0.0.1", f"--port={_free_port()}",
             f"--pid-file={folder / 'pid'}", *user, *small],
            {}, _owner(uid, gid), signal.SIGTERM, room, 16_000_000,
        )  # fmt: skip
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def postgresql(room: Room = "plenty") -> Iterator[Server]:
    """Run a PostgreSQL server; its URL is its administrator's."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not homes:
        pytest.skip("PostgreSQL's server is not installed (Debian's package postgresql)")
    programs = homes[-1].parent
    _, uid, gid = _account("postgres")
    with _folder(uid, gid, room) as folder:
        data = folder / "data"
        # On a full disk the log has a whole part of its own left, so that the table is what
        # does not fit; where files may not grow its parts stay below the limit.
        log_part = 1 if room == "files" else 16
        made = subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "admin", "-N",
             "--locale=C", "-E", "UTF8", f"--wal-segsize={log_part}"],
            capture_output=True, check=False, timeout=120, cwd=folder, **_owner(uid, gid),
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"PostgreSQL's data could not be made: {made.stderr.decode()[-400:]}")
        # SIGINT is the fast shutdown, which does not wait for clients to leave.
        server = Server(
            f"postgresql+psycopg://admin@/{{database}}?host={folder}",
            "postgres", folder, folder / ".s.PGSQL.5432", folder / "log",
            [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
            _owner(uid, gid), _owner(uid, gid), signal.SIGINT, room, 2_000_000,
        )  # fmt: skip
        server.start()
        try:
            yield server
        finally:
            server.stop()
