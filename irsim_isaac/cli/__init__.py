"""The commands of ``irsim-isaac``.

Each command module has one function ``register(app)`` and imports the rooms that it needs
inside its commands, so that ``--help`` and completion are quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments after the program's name; None takes those of the process.

    Returns:
        0 when all is good, 1 when thresholds were exceeded, 2 on bad input, a full disk or
        an interrupt.
    """
    # The commands are imported in here, so that an interrupt is told in one line from the start.
    try:
        from irsim_isaac.cli.app import run

        return run(argv)
    except KeyboardInterrupt:
        print("irsim-isaac: interrupted; what was not complete was not written", file=sys.stderr)
        return 2
