"""What a map or a world says it was made with, checked: its file may have been edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from irsim_isaac.errors import StageError

__all__ = ["MapParameters", "WorldFrame", "WorldParameters", "opening_of", "read_parameters"]


class MapParameters(BaseModel):
    """The options of ``build_occupancy`` that a map records; those it has not are not set."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    resolution: float = 0.05
    height: float | tuple[float, float] = (0.1, 0.62)
    floor: float = 0.0
    bounds: tuple[float, float, float, float] | None = None
    geometry: Literal["visual", "collision", "both"] = "visual"
    mode: Literal["band", "lidar"] = "band"
    solid: Literal["unknown", "occupied"] = "unknown"
    seeds: tuple[tuple[float, float], ...] = ()
    root: str = "/"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    static_only: bool = True
    include_invisible: bool = False
    include_guides: bool = False
    time: float | None = None
    time_code: float | None = None
    keep_shells: bool = False


class WorldParameters(BaseModel):
    """The options of ``build_world`` that a world records."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    mode: Literal["band", "lidar"]
    height: tuple[float, float]
    floor: float
    tolerance: float
    geometry: Literal["visual", "collision", "both"]
    merge: bool = False


class WorldFrame(BaseModel):
    """Where a world lies."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    offset: tuple[float, float]
    width: float
    height: float


class _Opening(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    meters_per_unit: float | None = None
    up_axis: Literal["Y", "Z"] | None = None
    variants: dict[str, str] = {}
    fix_units: bool = False


_Kind = TypeVar("_Kind", bound=BaseModel)


def read_parameters(kind: type[_Kind], content: object, where: str) -> _Kind:
    """Return what a file says, as one of the kinds of this module.

    Args:
        kind: The kind.
        content: What the file has in the place.
        where: The file and the place, for errors.

    Raises:
        StageError: It is not what was written there.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join([where, *(str(step) for step in first["loc"])])
        raise StageError(f"{key}: {first['msg']}, found {first['input']!r}") from error


def opening_of(parameters: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the keywords for ``open_stage`` that a map or a world was made with.

    Args:
        parameters: What it was made with.
        where: Its file, for errors.

    Raises:
        StageError: They are none.
    """
    content = parameters.get("opened_with") or {}
    return read_parameters(_Opening, content, f"{where}: opened_with").model_dump(
        exclude_unset=True
    )
