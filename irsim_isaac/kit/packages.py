"""The packages that Isaac Sim's Python may lack, and how they are installed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from irsim_isaac.errors import MissingPackageError

__all__ = [
    "COMMANDS",
    "MAPPING",
    "REMOTE",
    "REQUIREMENTS",
    "VALIDATING",
    "MissingInIsaacSimError",
    "install",
    "install_command",
    "missing",
    "require",
]

REQUIREMENTS = {
    "msgpack": "msgpack>=1.0",
    "pydantic": "pydantic>=2.6",
    "rich": "rich>=13.0",
    "shapely": "shapely>=2.0",
    "typer": "typer>=0.12",
    "zmq": "pyzmq>=26.0",
}
"""What Isaac Sim 5.1 and 6.x do not bring, by import name: the requirement that pip takes."""

MAPPING = ("shapely",)
"""What mapping a stage and writing its world need."""

VALIDATING = ("shapely", "pydantic")
"""What comparing two simulators needs."""

REMOTE = ("zmq", "msgpack")
"""What a simulator in another process needs."""

COMMANDS = ("shapely", "pydantic", "typer", "rich")
"""What the command line needs."""


class MissingInIsaacSimError(MissingPackageError):
    """Isaac Sim's Python lacks packages; the message holds the line that installs them."""

    def __init__(self, packages: tuple[str, ...], what: str) -> None:
        ImportError.__init__(
            self,
            f"{what} needs {_listed(packages)}, which Isaac Sim's Python lacks; install with: "
            f"{install_command(packages)}",
        )
        self.package = packages[0]
        self.packages = packages
        self.extra = ""


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def missing(packages: Iterable[str] = REQUIREMENTS) -> tuple[str, ...]:
    """Return those of the packages that cannot be imported, by import name; imports none."""
    return tuple(name for name in packages if find_spec(name) is None)


def python_launcher() -> str:
    """Return Isaac Sim's own Python launcher, with its path where the process knows it."""
    name = "python.bat" if sys.platform == "win32" else "python.sh"
    root = os.environ.get("ISAAC_PATH")
    return str(Path(root) / name) if root else name


def install_arguments(packages: Iterable[str]) -> list[str]:
    """Return the command that installs packages into Isaac Sim's Python, as arguments."""
    return [python_launcher(), "-m", "pip", "install", *(REQUIREMENTS[name] for name in packages)]


def install_command(packages: Iterable[str]) -> str:
    """Return the line that installs packages into Isaac Sim's Python, ready for a terminal.

    Args:
        packages: Import names out of ``REQUIREMENTS``.
    """
    arguments = install_arguments(packages)
    if sys.platform == "win32":
        return subprocess.list2cmdline(arguments)
    return shlex.join(arguments)


def install(packages: Iterable[str]) -> str:
    """Install packages into Isaac Sim's Python; call it only after the user has said yes.

    Args:
        packages: Import names out of ``REQUIREMENTS``.

    Returns:
        What pip said last.

    Raises:
        MissingInIsaacSimError: They could not be installed; the message ends with what pip said.
    """
    chosen = tuple(packages)
    try:
        done = subprocess.run(
            install_arguments(chosen), capture_output=True, text=True, check=False, timeout=600.0
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingInIsaacSimError(
            chosen, f"installing failed ({error}); what is wanted"
        ) from None
    said = (done.stdout + done.stderr).strip().splitlines()
    last = said[-1] if said else "pip said nothing"
    if done.returncode:
        raise MissingInIsaacSimError(chosen, f"installing failed ({last}); what is wanted")
    return last


def require(packages: Iterable[str], what: str) -> None:
    """Refuse to go on without packages.

    Args:
        packages: Import names out of ``REQUIREMENTS``.
        what: What needs them, the start of the message.

    Raises:
        MissingInIsaacSimError: One or more cannot be imported.
    """
    absent = missing(packages)
    if absent:
        raise MissingInIsaacSimError(absent, what)
