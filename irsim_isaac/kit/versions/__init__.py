"""One small interface to Isaac Sim, and the module of each version that has it."""

from __future__ import annotations

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.versions.interface import (
    Articulation,
    Bodies,
    Frames,
    FrameSource,
    IsaacSim,
    TimelineEvent,
    Undo,
)

__all__ = [
    "Articulation",
    "Bodies",
    "FrameSource",
    "Frames",
    "IsaacSim",
    "TimelineEvent",
    "Undo",
    "installed_version",
    "isaac_sim",
]


def installed_version() -> str:
    """Return the version of the Isaac Sim of this process, such as ``"6.0.1"``.

    Raises:
        SimulatorError: This is not Isaac Sim's process.
    """
    try:
        from isaacsim.core.version import get_version
    except ImportError as error:
        raise SimulatorError(
            "this is not Isaac Sim's process: there is no isaacsim.core.version"
        ) from error
    return str(get_version()[0])


def isaac_sim() -> IsaacSim:
    """Return the interface to the Isaac Sim of this process.

    Raises:
        SimulatorError: This is not Isaac Sim's process, or its version is not supported.
    """
    version = installed_version()
    release = version.split(".")
    if release[0] == "6":
        from irsim_isaac.kit.versions.isaac_6 import IsaacSim6

        return IsaacSim6(version)
    if release[:2] == ["5", "1"]:
        from irsim_isaac.kit.versions.isaac_5_1 import IsaacSim51

        return IsaacSim51(version)
    raise SimulatorError(f"Isaac Sim {version} is not supported; 5.1 or 6.x was expected")
