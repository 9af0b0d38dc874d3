"""Mapping the stage that is open in Isaac Sim."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irsim_isaac.errors import StageError
from irsim_isaac.kit.packages import MAPPING, require

if TYPE_CHECKING:
    from irsim_isaac.map import BuildReport

__all__ = ["MappedStage", "map_stage", "open_stage"]


@dataclass(frozen=True, slots=True)
class MappedStage:
    """What mapping the open stage has written.

    Attributes:
        directory: The folder of both.
        map: The ROS map file, ``map/map.yaml``.
        world: The IR-SIM world, ``world/world.yaml``.
        report: What was left out of the map, and why.
    """

    directory: Path
    map: Path
    world: Path
    report: BuildReport


def open_stage() -> Any:
    """Return the stage that is open in Isaac Sim.

    Raises:
        StageError: None is open, or this is not Isaac Sim's process.
    """
    try:
        import omni.usd
    except ImportError as error:
        raise StageError(
            "no stage is open: this is not Isaac Sim's process (there is no omni.usd)"
        ) from error
    stage = omni.usd.get_context().get_stage()
    if stage is None:
        raise StageError("no stage is open in Isaac Sim; open one with File > Open first")
    return stage


def map_stage(
    directory: str | os.PathLike[str],
    *,
    resolution: float = 0.05,
    height: tuple[float, float] = (0.1, 0.62),
    floor: float = 0.0,
    bounds: tuple[float, float, float, float] | None = None,
    geometry: Literal["visual", "collision"] = "visual",
    seeds: Sequence[tuple[float, float]] = (),
    stage: Any = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> MappedStage:
    """Map the stage that is open in Isaac Sim and write its map and its IR-SIM world.

    The stage is read as it is written in USD; poses that a playing simulation keeps to itself
    are not in it. Both are written whole or not at all.

    Args:
        directory: The folder to write ``map/`` and ``world/`` into.
        resolution: The size of a cell [m].
        height: The band of heights above the floor that counts [m].
        floor: The height of the floor in the stage [m].
        bounds: The area as (x_min, y_min, x_max, y_max) [m]; None for all that is there.
        geometry: What is drawn, or what is collided with.
        seeds: Points (x, y) [m] of the free floor; where there are any, free is what is reached
            from one of them.
        stage: What is mapped in the place of the stage that is open, such as a copy of it.
        progress: Called with (done, total, what).

    Returns:
        Where they are, and what was left out.

    Raises:
        StageError: No stage is open, or nothing of it lies in the band.
        MissingInIsaacSimError: A package is missing; the message says how to install it.
    """
    stage = open_stage() if stage is None else stage
    require(MAPPING, "mapping the stage")
    from irsim_isaac.files import writing_directory
    from irsim_isaac.stage import build_occupancy, build_world

    occupancy = build_occupancy(
        stage,
        resolution=resolution,
        height=height,
        floor=floor,
        bounds=bounds,
        geometry=geometry,
        seeds=seeds,
        progress=progress,
    )
    world = build_world(
        stage,
        occupancy=occupancy,
        height=height,
        floor=floor,
        bounds=bounds,
        geometry=geometry,
        progress=progress,
    )
    target = Path(directory)
    with writing_directory(target) as temporary:
        occupancy.save_ros(temporary / "map")
        world.save(temporary / "world")
    return MappedStage(
        directory=target,
        map=target / "map" / "map.yaml",
        world=target / "world" / "world.yaml",
        report=occupancy.report,
    )
