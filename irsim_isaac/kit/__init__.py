"""The extension inside Isaac Sim, and what a script in its Python calls.

Importing this room loads nothing of Omniverse, so that it can be imported anywhere; what needs
Isaac Sim says so when it is called.
"""

from __future__ import annotations

from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.packages import MissingInIsaacSimError, install_command, missing

__all__ = [
    "MappedStage",
    "MissingInIsaacSimError",
    "install_command",
    "map_stage",
    "missing",
    "open_stage",
]
