"""The command line itself: its commands, its exit codes and how errors are told."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import typer
from typer.main import get_command

from irsim_isaac import __version__
from irsim_isaac.cli import (
    check,
    convert,
    doctor,
    find,
    interfaces,
    learn,
    map,
    mirror,
    rooms,
    scan,
    show,
    stage,
    validate,
    world,
)
from irsim_isaac.cli.exit_codes import BAD_INPUT, GOOD
from irsim_isaac.errors import IrsimIsaacError

__all__ = ["COMMANDS", "app", "run"]

COMMANDS = (
    map,
    check,
    doctor,
    world,
    stage,
    show,
    scan,
    validate,
    mirror,
    convert,
    rooms,
    learn,
    find,
    interfaces,
)
"""The command modules, in the order of the help."""

app = typer.Typer(
    name="irsim-isaac",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in COMMANDS:
    _module.register(app)

# Typer may carry its own copy of click, so the base of its usage errors is taken from Typer.
_UsageError: type[BaseException] = typer.BadParameter.__mro__[1]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"irsim-isaac {__version__}")
        raise typer.Exit(GOOD)


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Isaac Sim stages and their IR-SIM twins: maps, worlds, and where two simulators disagree."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments after the program's name; None takes those of the process.

    Returns:
        0 when all is good, 1 when thresholds were exceeded, 2 on bad input or a full disk.

    Raises:
        KeyboardInterrupt: The user has had enough; ``irsim_isaac.cli.main`` tells it.
    """
    command = get_command(app)
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if "_IRSIM_ISAAC_COMPLETE" in os.environ:
        command.main(arguments, prog_name="irsim-isaac")
    try:
        with command.make_context("irsim-isaac", arguments) as context:
            command.invoke(context)
    except typer.Exit as result:
        return int(result.exit_code)
    except _UsageError as error:
        return _refuse(_usage(error))
    except typer.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        # Whoever read the output has enough; the flush at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except OSError as error:
        return _refuse(_file_error(error))
    except IrsimIsaacError as error:
        return _refuse(str(error))
    return GOOD


def _refuse(message: str) -> int:
    print(f"irsim-isaac: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT


def _usage(error: BaseException) -> str:
    message = str(getattr(error, "message", "") or error)
    context = getattr(error, "ctx", None)
    if hasattr(error, "format_message"):
        message = error.format_message()
    if context is None:
        return message
    return f"{message} (see '{context.command_path} --help')"


def _file_error(error: OSError) -> str:
    """Say what an operating system's error is about, and for a full disk what to do."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        place = f" while writing '{error.filename}'" if error.filename else ""
        return f"no space left{place}; nothing was kept: free some, or name another folder with -o"
    if isinstance(error, IrsimIsaacError) or error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"'{error.filename}': {error.strerror}"
