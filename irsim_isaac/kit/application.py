"""The application of Isaac Sim: its timeline, its stage, and starting it from a script."""

from __future__ import annotations

import os
from pathlib import Path

from irsim_isaac.errors import StageError
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.versions import Undo

__all__ = [
    "SIMULATOR",
    "open_file",
    "pause",
    "play",
    "play_from_start",
    "register_simulator",
    "stop",
]

SIMULATOR = "isaac"
"""The name under which the live Isaac Sim is made as a simulator."""

_IRSIM = "irsim"

_LOADING_FRAMES = 10_000


def register_simulator() -> Undo:
    """Make the live Isaac Sim known to ``simulators.make``, and IR-SIM beside it.

    In this process "irsim" is IR-SIM in a process of its own from now on, whoever asks for it:
    its imports, threads and prints do not go with Isaac Sim's.

    Returns:
        A function that makes it unknown again and closes what was left open of it.
    """
    from irsim_isaac.kit.irsim_process import start_irsim
    from irsim_isaac.kit.lidar import close_lidars
    from irsim_isaac.kit.simulator import IsaacSimulator, close_simulator
    from irsim_isaac.simulators import IrsimSimulator, register, unregister

    # After a hot reload the class is another one.
    register(SIMULATOR, IsaacSimulator, replace=True)
    register(_IRSIM, start_irsim, replace=True)

    def forget() -> None:
        unregister(SIMULATOR)
        register(_IRSIM, IrsimSimulator, replace=True)
        close_simulator()
        close_lidars()

    return forget


def open_file(path: str | os.PathLike[str], *, frames: int = _LOADING_FRAMES) -> None:
    """Open a stage in Isaac Sim, unless it is the one that is open, and wait for its assets.

    Args:
        path: A file, or an address that Isaac Sim can open.
        frames: How many frames to wait for them at most.

    Raises:
        StageError: It cannot be opened, or was still loading then.
    """
    import omni.kit.app
    import omni.usd

    context = omni.usd.get_context()
    stage = context.get_stage()
    address = os.fspath(path)
    if stage is not None and _same(stage.GetRootLayer().realPath, address):
        return
    if not context.open_stage(address):
        raise StageError(f"Isaac Sim cannot open '{address}' as a stage")
    for _ in range(frames):
        if context.get_stage_loading_status()[2] == 0:
            return
        omni.kit.app.get_app().update()
    raise StageError(f"'{address}' was still loading after {frames} frames")


def stop() -> None:
    """Stop the simulation and have it take effect at once."""
    import omni.timeline

    timeline = omni.timeline.get_timeline_interface()
    timeline.stop()
    timeline.commit()


def pause() -> None:
    """Pause the simulation from the next frame on, which a step of physics may ask for too."""
    import omni.timeline

    omni.timeline.get_timeline_interface().pause()


def play() -> None:
    """Go on with the simulation, or play it from its start where it is stopped."""
    import omni.timeline

    timeline = omni.timeline.get_timeline_interface()
    timeline.play()
    timeline.commit()


def play_from_start() -> None:
    """Play the simulation of the open stage from its start.

    Raises:
        StageError: No stage is open.
    """
    open_stage()
    stop()
    play()


def _same(real: str, address: str) -> bool:
    return bool(real) and Path(real) == Path(os.path.realpath(address))
