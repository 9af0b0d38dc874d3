"""Lidar profiles as files of this project: YAML, angles in degrees as data sheets give them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.emitters import EmitterState

if TYPE_CHECKING:
    from irsim_isaac.lidar.profile import LidarProfile

__all__ = ["profile_fields", "profile_text"]

_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Emitters(BaseModel):
    """One firing pattern of a profile file."""

    model_config = ConfigDict(extra="forbid")

    azimuth_deg: list[_Finite]
    elevation_deg: list[_Finite]
    fire_time_ns: list[_Finite] = []
    channel: list[int] = []
    others: dict[str, Any] = {}


class _ProfileFile(BaseModel):
    """The keys of a profile file."""

    model_config = ConfigDict(extra="forbid")

    name: str
    scan_type: Literal["rotary", "solid_state"] = "rotary"
    scan_rate_hz: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    beams: Annotated[int, Field(ge=1)]
    window_deg: tuple[_Finite, _Finite] | None = None
    bearings_rad: tuple[_Finite, _Finite] | None = None
    rings_deg: list[_Finite] = [0.0]
    rings_rad: list[_Finite] | None = None
    range_m: tuple[_Finite, _Finite]
    range_accuracy_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    range_resolution_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    max_returns: Annotated[int, Field(ge=1)] = 1
    clockwise: bool = False
    gaps: list[Annotated[int, Field(ge=0)]] = []
    firing_interval_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    firing_rate_hz: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    emitters: list[_Emitters] = []
    attributes: dict[str, Any] = {}


def _frozen(value: Any) -> Any:
    """Return what YAML read as the tuples that a profile holds."""
    if isinstance(value, list):
        return tuple(_frozen(entry) for entry in value)
    return value


def _thawed(value: Any) -> Any:
    """Return tuples as the lists that YAML writes."""
    if isinstance(value, tuple):
        return [_thawed(entry) for entry in value]
    return value


def profile_fields(text: str, where: str) -> dict[str, Any]:
    """Return the fields of a profile from the text of a file.

    Args:
        text: The text.
        where: The file, for errors.

    Raises:
        ScanError: It is not such a file; the message names each wrong key.
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScanError(f"{where}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ScanError(
            f"{where}: keys and values of a lidar were expected, found {type(found).__name__}"
        )
    try:
        content = _ProfileFile.model_validate(found)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'file'}: {problem['msg']}"
            for problem in error.errors()
        )
        raise ScanError(f"{where}: {problems}") from error
    if content.bearings_rad is not None:
        first, increment = content.bearings_rad
    elif content.window_deg is not None:
        first, last = (math.radians(angle) for angle in content.window_deg)
        increment = (last - first) / max(content.beams - 1, 1)
    else:
        first, increment = -math.pi, 2.0 * math.pi / content.beams
    rings = content.rings_rad or [math.radians(ring) for ring in content.rings_deg]
    return {
        "name": content.name,
        "beam_count": content.beams,
        "angle_min": first,
        "angle_increment": increment,
        "range_min": content.range_m[0],
        "range_max": content.range_m[1],
        "scan_rate": content.scan_rate_hz,
        "scan_type": content.scan_type,
        "clockwise": content.clockwise,
        "range_accuracy": content.range_accuracy_m,
        "range_resolution": content.range_resolution_m,
        "max_returns": content.max_returns,
        "rings": tuple(rings),
        "firing_interval": content.firing_interval_s,
        "gaps": tuple(content.gaps),
        "firing_rate": content.firing_rate_hz,
        "emitters": tuple(
            EmitterState(
                tuple(state.azimuth_deg),
                tuple(state.elevation_deg),
                tuple(state.fire_time_ns),
                tuple(state.channel),
                tuple((key, _frozen(value)) for key, value in state.others.items()),
            )
            for state in content.emitters
        ),
        "attributes": tuple((key, _frozen(value)) for key, value in content.attributes.items()),
    }


def profile_text(profile: LidarProfile) -> str:
    """Return a profile as the text of a file, such that reading it gives the same profile."""
    content: dict[str, Any] = {
        "name": profile.name,
        "scan_type": profile.scan_type,
        "scan_rate_hz": profile.scan_rate,
        "beams": profile.beam_count,
    }
    first, increment = profile.angle_min, profile.angle_increment
    window = [round(math.degrees(angle), 9) for angle in (first, profile.angle_max)]
    low, high = (math.radians(angle) for angle in window)
    if first == -math.pi and increment == 2.0 * math.pi / profile.beam_count:
        pass
    elif low == first and (high - low) / max(profile.beam_count - 1, 1) == increment:
        content["window_deg"] = window
    else:
        content["bearings_rad"] = [first, increment]
    degrees = [round(math.degrees(ring), 9) for ring in profile.rings]
    if tuple(math.radians(ring) for ring in degrees) != profile.rings:
        content["rings_rad"] = list(profile.rings)
    elif degrees != [0.0]:
        content["rings_deg"] = degrees
    content["range_m"] = [profile.range_min, profile.range_max]
    optional = {
        "range_accuracy_m": profile.range_accuracy,
        "range_resolution_m": profile.range_resolution,
        "max_returns": profile.max_returns,
        "clockwise": profile.clockwise,
        "gaps": list(profile.gaps),
        "firing_interval_s": profile.firing_interval,
        "firing_rate_hz": profile.firing_rate,
    }
    defaults = {name: _ProfileFile.model_fields[name].default for name in optional}
    content.update({k: v for k, v in optional.items() if v != defaults[k]})
    if profile.emitters:
        content["emitters"] = [
            {
                "azimuth_deg": list(state.azimuths),
                "elevation_deg": list(state.elevations),
                "fire_time_ns": list(state.fire_times),
                "channel": list(state.channels),
                "others": {key: _thawed(value) for key, value in state.others},
            }
            for state in profile.emitters
        ]
    if profile.attributes:
        content["attributes"] = {key: _thawed(value) for key, value in profile.attributes}
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=96)
