"""The commands of ``irsim-isaac``.

Each command module has one function ``register(app)`` and imports the rooms that it needs
inside its commands, so that ``--help`` and completion are quick.
"""

from __future__ import annotations

from irsim_isaac.cli.app import app, main

__all__ = ["app", "main"]
