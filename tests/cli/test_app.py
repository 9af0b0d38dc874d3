"""The frame of the command line: help, version, exit codes, one line for what goes wrong."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
import typer

from irsim_isaac import __version__
from irsim_isaac.cli import main
from irsim_isaac.cli.app import app
from irsim_isaac.cli.progress import drawn_progress
from irsim_isaac.errors import MissingPackageError, StageError


@pytest.fixture
def failing(monkeypatch):
    """Add a command that raises what it is given, for one test."""

    def add(error: BaseException) -> None:
        @app.command("fail-for-a-test")
        def fail() -> None:
            raise error

    before = list(app.registered_commands)
    yield add
    app.registered_commands[:] = before


def test_version_and_help_are_good(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"irsim-isaac {__version__}\n"
    assert main([]) == main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("map", "world", "validate"):
        assert name in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing-like-it"], "No such command 'nothing-like-it'"),
        (["validate"], "Missing argument"),
        (["validate", "a.yaml"], "Missing option '-o'"),
        (["validate", "a.yaml", "-o", "out", "--lef", "irsim"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line(capsys, arguments, message):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("irsim-isaac: ")
    assert message in said.err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StageError("a.usd: it is\nempty"), "a.usd: it is empty"),
        (
            MissingPackageError("pxr", "usd"),
            "'pxr' is not installed; it comes with the extra 'usd'",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.usd"), "'a.usd': No such"),
        (NotADirectoryError("out is a file, a folder was expected"), "out is a file, a folder"),
        (OSError(errno.ENOSPC, "No space left on device", "out/map.png"), "while writing 'out/map"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left; nothing was kept"),
        (KeyboardInterrupt(), "interrupted"),
        (typer.BadParameter("--height is upside down"), "--height is upside down"),
    ],
)
def test_known_errors_are_one_line_and_two(capsys, failing, error, message):
    failing(error)
    assert main(["fail-for-a-test"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err


def test_a_mistake_of_ours_is_not_hidden(failing):
    failing(ZeroDivisionError("ours"))
    with pytest.raises(ZeroDivisionError):
        main(["fail-for-a-test"])


def test_exit_codes_pass_through(failing):
    failing(typer.Exit(1))
    assert main(["fail-for-a-test"]) == 1


def test_a_pipe_that_closes_early_is_no_traceback():
    program = "import sys; from irsim_isaac.cli import main; sys.exit(main(['--help']))"
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", program],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert "Traceback" not in result.stderr


def test_commands_are_known_without_loading_what_they_need():
    program = (
        "import sys; import irsim_isaac.cli; "
        "print([m for m in ('numpy', 'pxr', 'warp', 'irsim', 'plotly', 'shapely', 'pydantic', "
        "'matplotlib') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_progress_is_not_drawn_where_no_one_looks(capfd):
    with drawn_progress() as progress:
        progress(1, 2, "mapping")
    assert capfd.readouterr() == ("", "")


def test_progress_is_drawn_on_a_terminal_and_wiped():
    pty = pytest.importorskip("pty")
    program = (
        "from irsim_isaac.cli.progress import drawn_progress\n"
        "with drawn_progress() as progress:\n"
        "    for i in range(3):\n"
        "        progress(i + 1, 3, 'mapping the hall')\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    assert process.stdout is not None and process.stdout.read() == b""
    assert b"mapping the hall" in shown
    process.stdout.close()
