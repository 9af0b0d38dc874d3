"""What a lidar sees and physics does not touch, and the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irsim_isaac.stage.geometry import Progress, read_geometry
from irsim_isaac.stage.usd import Usd

__all__ = ["Consistency", "compare_sources"]


@dataclass(frozen=True, slots=True)
class Consistency:
    """Where the stage of a lidar and the stage of physics are not one.

    Attributes:
        seen_only: Prims that a lidar sees and a robot drives through.
        touched_only: Prims that stop a robot and that no lidar sees.
    """

    seen_only: tuple[str, ...]
    touched_only: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether a lidar sees exactly what physics touches."""
        return not self.seen_only and not self.touched_only


def compare_sources(
    stage: Usd.Stage,
    *,
    root: str = "/",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    time: float | None = None,
    time_code: float | None = None,
    progress: Progress | None = None,
) -> Consistency:
    """Compare visual and collision geometry prim by prim.

    A plane that is infinite to physics counts as touched. A collider that stands in for a
    visual mesh as a prim of its own is named, as is that mesh: only their paths are compared.

    Args:
        stage: An open stage.
        root: Only what lies at or below this prim.
        include: Only prims at or below a match of one of these path globs.
        exclude: No prims at or below a match of one of these path globs.
        time: The time [s] to read the stage at.
        time_code: The same in time codes.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The paths, in the order of the stage.
    """
    read = read_geometry(
        stage,
        source="both",
        root=root,
        include=include,
        exclude=exclude,
        time=time,
        time_code=time_code,
        progress=progress,
    )
    seen = {part.path: None for part in read.parts if part.source == "visual"}
    touched = {part.path: None for part in read.parts if part.source == "collision"}
    touched |= {item.where: None for item in read.omissions if item.kind == "infinite plane"}
    planes = {item.where for item in read.omissions if item.kind == "infinite plane"}
    return Consistency(
        tuple(path for path in seen if path not in touched),
        tuple(path for path in touched if path not in seen and path not in planes),
    )
