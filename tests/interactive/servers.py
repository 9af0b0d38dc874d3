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
from collections.abc import Iterator
from pathlib import Path

import pytest


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
def _folder(uid: int, gid: int) -> Iterator[Path]:
    # Sockets have short paths, and pytest's own folders are closed to other accounts.
    folder = Path(tempfile.mkdtemp(prefix="iw-"))
    try:
        folder.chmod(0o755)
        os.chown(folder, uid, gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes], stop: signal.Signals = signal.SIGTERM) -> None:
    # SIGINT is PostgreSQL's fast shutdown, which does not wait for clients to leave.
    process.send_signal(stop)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(ready: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if ready.exists():
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.skip(f"the server did not start: {log.read_text(errors='replace')[-400:]}")


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB server, as the URL of its administrator without a database."""
    server = shutil.which("mariadbd", path="/usr/sbin:/usr/bin:" + os.environ.get("PATH", ""))
    install = shutil.which("mariadb-install-db")
    if server is None or install is None:
        pytest.skip("MariaDB's server is not installed (Debian's package mariadb-server)")
    account, uid, gid = _account("mysql")
    with _folder(uid, gid) as folder:
        data, place, log = folder / "data", folder / "s", folder / "log"
        user = [] if account is None else [f"--user={account}"]
        small = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
        made = subprocess.run(
            [install, "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", *user, *small],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"MariaDB's data could not be made: {made.stderr.decode()[-400:]}")
        process = subprocess.Popen(
            [server, "--no-defaults", f"--datadir={data}", f"--socket={place}",
             "--bind-address=127.0.0.1", f"--port={_free_port()}",
             f"--log-error={log}", f"--pid-file={folder / 'pid'}",
             *user, *small],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _wait(place, process, log)
            yield f"mariadb+pymysql://root@localhost/{{database}}?unix_socket={place}"
        finally:
            _stop(process)


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL server, as the URL of its administrator without a database."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not homes:
        pytest.skip("PostgreSQL's server is not installed (Debian's package postgresql)")
    programs = homes[-1].parent
    account, uid, gid = _account("postgres")
    runs = [] if account is None else ["runuser", "-u", account, "--"]
    with _folder(uid, gid) as folder:
        data, log = folder / "data", folder / "log"
        made = subprocess.run(
            [*runs, programs / "initdb", "-D", data, "-A", "trust", "-U", "admin", "-N",
             "--locale=C", "-E", "UTF8"],
            capture_output=True, check=False, timeout=120, cwd=folder,
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"PostgreSQL's data could not be made: {made.stderr.decode()[-400:]}")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
                stdout=output, stderr=output, cwd=folder, user=uid, group=gid,
                extra_groups=[],
            ) if account else subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
                stdout=output, stderr=output, cwd=folder,
            )  # fmt: skip
        try:
            _wait(folder / ".s.PGSQL.5432", process, log)
            yield f"postgresql+psycopg://admin@/{{database}}?host={folder}"
        finally:
            _stop(process, signal.SIGINT)
