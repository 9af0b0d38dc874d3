"""The extension inside Isaac Sim, and what a script in its Python calls.

Importing this room loads nothing of Omniverse, so that it can be imported anywhere; what needs
Isaac Sim says so when it is called. What needs more packages than Isaac Sim brings is loaded when
it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irsim_isaac.kit.mapping import MappedStage, map_stage, open_stage
from irsim_isaac.kit.packages import MissingInIsaacSimError, install_command, missing

if TYPE_CHECKING:
    from irsim_isaac.kit.lidar import LidarCounts, RtxLidar
    from irsim_isaac.kit.live_mirror import LiveMirror
    from irsim_isaac.kit.ros import RosPublisher
    from irsim_isaac.kit.simulator import IsaacSimulator

__all__ = [
    "IsaacSimulator",
    "LidarCounts",
    "LiveMirror",
    "MappedStage",
    "MissingInIsaacSimError",
    "RosPublisher",
    "RtxLidar",
    "install_command",
    "map_stage",
    "missing",
    "open_stage",
]

_LATER = {
    "IsaacSimulator": "simulator",
    "LidarCounts": "lidar",
    "LiveMirror": "live_mirror",
    "RosPublisher": "ros",
    "RtxLidar": "lidar",
}


def __getattr__(name: str) -> Any:
    """Load what is not loaded with the room."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
