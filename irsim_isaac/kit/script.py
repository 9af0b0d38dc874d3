"""Isaac Sim for a script or a command: its application without a window, started and closed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.application import SIMULATOR, register_simulator
from irsim_isaac.kit.packages import MAPPING, require
from irsim_isaac.kit.versions import isaac_sim

__all__ = ["EXTENSIONS", "enable_extensions", "running_application"]

EXTENSIONS = {
    "5": (
        "isaacsim.core.prims",
        "isaacsim.core.simulation_manager",
        "isaacsim.core.utils",
        "omni.physx.fabric",
        "omni.replicator.core",
    ),
    "6": (
        "isaacsim.core.experimental.prims",
        "isaacsim.core.experimental.utils",
        "isaacsim.core.simulation_manager",
        "isaacsim.sensors.experimental.rtx",
        "omni.physx.fabric",
        "omni.replicator.core",
    ),
}
"""What of Isaac Sim is used live, by the main version."""


def enable_extensions() -> None:
    """Enable what of Isaac Sim is used live, and make "isaac" known as a simulator.

    Raises:
        SimulatorError: This is not Isaac Sim 5.1 or 6.x, or an extension cannot be enabled.
        MissingInIsaacSimError: A package is missing; the message says how to install it.
    """
    import omni.kit.app

    from irsim_isaac.kit.versions import installed_version

    app = omni.kit.app.get_app()
    version = installed_version()
    manager = app.get_extension_manager()
    for name in EXTENSIONS.get(version.split(".", maxsplit=1)[0], ()):
        manager.set_extension_enabled_immediate(name, True)
        if not manager.is_extension_enabled(name):
            raise SimulatorError(f"the extension {name} cannot be enabled in Isaac Sim {version}")
    app.update()
    isaac_sim()
    require(MAPPING, "the live simulator")
    register_simulator()


@contextmanager
def running_application(simulators: Iterable[str]) -> Iterator[None]:
    """Run Isaac Sim without a window for the length of a block, if one of the simulators is it.

    Nothing of ``omni`` or ``pxr`` may have been imported before. Where the application runs
    already, it is left running.

    Args:
        simulators: The names of the simulators that the block makes.

    Raises:
        SimulatorError: One of them is "isaac" and this is not Isaac Sim's Python.
    """
    if SIMULATOR not in simulators or "omni.kit.app" in sys.modules:
        yield
        return
    try:
        from isaacsim import SimulationApp
    except ImportError as error:
        raise SimulatorError(
            f"simulator '{SIMULATOR}' needs Isaac Sim's own Python: run this with python.sh"
        ) from error
    # A fast shutdown would end the process with 0 whatever happened.
    application = SimulationApp({"headless": True, "fast_shutdown": False})
    try:
        enable_extensions()
        yield
    finally:
        application.close()
