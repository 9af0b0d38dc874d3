"""Lidar profiles in the words of Isaac Sim: ``OmniLidar`` attributes and lidar JSON.

Both become the keyword arguments of a ``LidarProfile`` and are made from one. What a profile
has no field for is kept as it came in its ``attributes``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar.emitters import EmitterState, fit_fan

if TYPE_CHECKING:
    from irsim_isaac.lidar.profile import LidarProfile

__all__ = [
    "Release",
    "fields_from_isaac_json",
    "fields_from_omni_lidar",
    "isaac_json_of",
    "omni_lidar_of",
]

Release: TypeAlias = Literal["5", "6"]
"""The main version of Isaac Sim whose attribute names are meant."""

_CORE = "omni:sensor:Core:"
_TICK_RATE = "omni:sensor:tickRate"
_STATE = re.compile(r"emitterState:(s\d+):(\w+)")
# What only the JSON says, so that it is not written to a prim that has no such attribute.
_JSON_ONLY = "json:"
_FIRING = {"5": "reportRateBaseHz", "6": "patternFiringRateHz"}

_JSON_TO_OMNI = {
    "minDistBetweenEchos": "minDistBetweenEchosM",
    "minReflectanceRange": "minReflectionRangeM",
    "wavelengthNm": "waveLengthNm",
    "startAzimuthDeg": "validStartAzimuthDeg",
    "endAzimuthDeg": "validEndAzimuthDeg",
}
_OMNI_TO_JSON = {omni: name for name, omni in _JSON_TO_OMNI.items()}
_JSON_NAMES_ONLY = frozenset(
    {
        "effectiveApertureSize",
        "emitterStateCount",
        "focusDistM",
        "intensityProcessing",
        "rangeCount",
        "rangeOffset",
        "ranges",
        "rayType",
        "stateResolutionStep",
        "upElevationDeg",
        "downElevationDeg",
    }
)
_MODELLED = frozenset(
    {
        "scanType",
        "scanRateBaseHz",
        "patternFiringRateHz",
        "reportRateBaseHz",
        "nearRangeM",
        "farRangeM",
        "rangeAccuracyM",
        "rangeResolutionM",
        "maxReturns",
    }
)


def _plain(value: Any) -> Any:
    """Return a value of USD, numpy or JSON as Python's own, sequences as tuples."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, Mapping):
        return tuple((str(key), _plain(entry)) for key, entry in value.items())
    try:
        return tuple(_plain(entry) for entry in value)
    except TypeError:
        return str(value)


def _number(source: Mapping[str, Any], key: str, where: str, default: float | None = None) -> float:
    value = source.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        found = "missing" if value is None else repr(value)
        raise ScanError(f"{where}: {key} is {found}, expected a number")
    return float(value)


def _numbers(source: Mapping[str, Any], key: str, where: str) -> tuple[float, ...]:
    value = source.get(key, ())
    if not isinstance(value, tuple) or not all(
        isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in value
    ):
        raise ScanError(f"{where}: {key} is {value!r}, expected a list of numbers")
    return tuple(float(entry) for entry in value)


def _emitter_state(source: Mapping[str, Any], where: str) -> EmitterState:
    """Read one firing pattern."""
    known = ("azimuthDeg", "elevationDeg", "fireTimeNs", "channelId")
    azimuths = _numbers(source, "azimuthDeg", where)
    elevations = _numbers(source, "elevationDeg", where) or (0.0,) * len(azimuths)
    try:
        return EmitterState(
            azimuths=azimuths,
            elevations=elevations,
            fire_times=_numbers(source, "fireTimeNs", where),
            channels=tuple(int(entry) for entry in _numbers(source, "channelId", where)),
            others=tuple((key, value) for key, value in source.items() if key not in known),
        )
    except ScanError as error:
        raise ScanError(f"{where}: {error}") from error


def _valid_window(core: Mapping[str, Any], where: str) -> tuple[float, float]:
    """Return the start and span of the azimuths [deg] that a rotary sensor measures."""
    start = _number(core, "validStartAzimuthDeg", where, 0.0)
    end = _number(core, "validEndAzimuthDeg", where, 360.0)
    span = (end - start) % 360.0
    return start, span if span else 360.0


def _fields(
    core: Mapping[str, Any], states: tuple[EmitterState, ...], where: str
) -> dict[str, Any]:
    """Return the fields of a profile from plain attributes under their ``OmniLidar`` names."""
    scan_type = str(core.get("scanType", "ROTARY")).replace("_", "").upper()
    if scan_type not in ("ROTARY", "SOLIDSTATE"):
        raise ScanError(
            f"{where}: scanType is '{core['scanType']}', expected 'ROTARY' or 'SOLID_STATE'"
        )
    scan_rate = _number(core, "scanRateBaseHz", where)
    firing = core.get("patternFiringRateHz", core.get("reportRateBaseHz", 0.0))
    firing_rate = _number({"patternFiringRateHz": firing}, "patternFiringRateHz", where)
    if scan_rate <= 0.0:
        raise ScanError(f"{where}: scanRateBaseHz is {scan_rate}, expected more than 0")
    clockwise = str(core.get("rotationDirection", "CCW")).upper() == "CW"
    kept = {key: value for key, value in core.items() if key not in _MODELLED}
    fields: dict[str, Any] = {
        "range_min": _number(core, "nearRangeM", where, 0.3),
        "range_max": _number(core, "farRangeM", where, 200.0),
        "scan_rate": scan_rate,
        "range_accuracy": _number(core, "rangeAccuracyM", where, 0.0),
        "range_resolution": _number(core, "rangeResolutionM", where, 0.0),
        "max_returns": int(_number(core, "maxReturns", where, 1.0)),
        "emitters": states,
        "clockwise": clockwise,
    }
    if states:
        heights = sorted({height for state in states for height in state.elevations})
        fields["rings"] = tuple(math.radians(height) for height in heights)
    if scan_type == "SOLIDSTATE":
        if not states:
            raise ScanError(f"{where}: a solid-state lidar has no emitterState with azimuthDeg")
        fan = fit_fan(states)
        fields.update(
            scan_type="solid_state",
            angle_min=fan.angle_min,
            angle_increment=fan.angle_increment,
            beam_count=fan.beam_count,
            firing_interval=fan.firing_interval,
            gaps=fan.gaps,
            firing_rate=0.0 if firing_rate == scan_rate else firing_rate,
        )
        if fan.firing_interval:
            fields["clockwise"] = fan.clockwise
    else:
        if firing_rate <= 0.0:
            raise ScanError(f"{where}: patternFiringRateHz is {firing_rate}, expected more than 0")
        turn = round(firing_rate / scan_rate)
        if turn < 1:
            raise ScanError(
                f"{where}: {firing_rate} firings a second give no beam in a scan of {scan_rate} Hz"
            )
        start, span = _valid_window(core, where)
        increment = 2.0 * math.pi / turn
        first, count = 0, turn
        if span < 360.0:
            # From -180 degrees, so that the middle of the window lies in (-180, 180].
            centre = (start + span / 2.0 + 180.0) % 360.0 or 360.0
            low = (centre - span / 2.0) * turn / 360.0
            first = math.ceil(low - 1e-6)
            count = math.floor(low + span * turn / 360.0 + 1e-6) - first + 1
            kept.pop("validStartAzimuthDeg", None)
            kept.pop("validEndAzimuthDeg", None)
        fields.update(
            scan_type="rotary",
            angle_min=-math.pi + first * increment,
            angle_increment=increment,
            beam_count=count,
            firing_rate=0.0 if firing_rate == turn * scan_rate else firing_rate,
        )
    if fields["clockwise"] == clockwise:
        kept.pop("rotationDirection", None)
    fields["attributes"] = tuple(sorted(kept.items()))
    return fields


def fields_from_omni_lidar(attributes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a profile from the attributes of an ``OmniLidar`` prim.

    Args:
        attributes: Values by full attribute name, such as ``omni:sensor:Core:nearRangeM``.
        where: What is read, for errors.
    """
    core: dict[str, Any] = {}
    emitters: dict[str, dict[str, Any]] = {}
    for name, value in attributes.items():
        if value is None or not name.startswith("omni:sensor:") or name == _TICK_RATE:
            continue
        short = name.removeprefix(_CORE)
        match = _STATE.fullmatch(short)
        if match:
            emitters.setdefault(match[1], {})[match[2]] = _plain(value)
        else:
            core[short] = _plain(value)
    states = tuple(
        _emitter_state(emitters[key], f"{where}: emitterState:{key}")
        for key in sorted(emitters)
        if emitters[key].get("azimuthDeg")
    )
    return _fields(core, states, where)


def fields_from_isaac_json(content: Any, where: str) -> dict[str, Any]:
    """Return the fields of a profile from the content of an Isaac Sim lidar JSON file.

    Args:
        content: The file's content; comments are left out.
        where: What is read, for errors.
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("profile"), Mapping):
        raise ScanError(f"{where}: expected an object with an object 'profile'")
    core: dict[str, Any] = {}
    for name, value in content["profile"].items():
        if name == "emitterStates" or "comment" in name.lower():
            continue
        key = _JSON_TO_OMNI.get(name, name)
        core[_JSON_ONLY + name if name in _JSON_NAMES_ONLY else key] = _plain(value)
    listed = content["profile"].get("emitterStates", [])
    if not isinstance(listed, list) or not all(isinstance(state, Mapping) for state in listed):
        raise ScanError(f"{where}: emitterStates is not a list of objects")
    states = tuple(
        _emitter_state(
            {k: _plain(v) for k, v in state.items() if "comment" not in k.lower()},
            f"{where}: emitterStates[{index}]",
        )
        for index, state in enumerate(listed)
    )
    fields = _fields(core, states, where)
    fields["name"] = str(content.get("name", where))
    return fields


def _core_of(profile: LidarProfile, release: Release) -> dict[str, Any]:
    """Return the attributes of a profile but for its emitters, under their short names."""
    solid = profile.scan_type == "solid_state"
    turn = round(2.0 * math.pi / profile.angle_increment)
    rate = profile.scan_rate
    core: dict[str, Any] = dict(profile.attributes)
    core.update(
        scanType="SOLID_STATE" if solid else "ROTARY",
        scanRateBaseHz=rate,
        nearRangeM=profile.range_min,
        farRangeM=profile.range_max,
        rangeAccuracyM=profile.range_accuracy,
        rangeResolutionM=profile.range_resolution,
        maxReturns=profile.max_returns,
    )
    core.setdefault("rotationDirection", "CW" if profile.clockwise else "CCW")
    core[_FIRING[release]] = profile.firing_rate or (rate if solid else turn * rate)
    if not solid and not profile.full_circle:
        core["validStartAzimuthDeg"] = math.degrees(profile.angle_min) % 360.0
        core["validEndAzimuthDeg"] = math.degrees(profile.angle_max) % 360.0
    return core


def _states_of(profile: LidarProfile) -> tuple[EmitterState, ...]:
    """Return the firing patterns of a profile, made from its beams where it has none."""
    if profile.emitters:
        return profile.emitters
    rings = [math.degrees(ring) for ring in profile.rings]
    if profile.scan_type == "rotary":
        return (EmitterState((0.0,) * len(rings), tuple(rings), (0.0,) * len(rings)),)
    last = profile.beam_count - 1
    beams = sorted(set(range(profile.beam_count)).difference(profile.gaps))
    bearings = [math.degrees(profile.bearings[beam]) for beam in beams]
    step = profile.firing_interval * 1e9
    times = [step * (last - beam if profile.clockwise else beam) for beam in beams]
    return (
        EmitterState(
            tuple(bearings * len(rings)),
            tuple(ring for ring in rings for _ in bearings),
            tuple(times * len(rings)),
        ),
    )


def omni_lidar_of(profile: LidarProfile, release: Release) -> dict[str, Any]:
    """Return a profile as the attributes of an ``OmniLidar`` prim.

    The tick rate equals the scan rate, as Isaac Sim demands. Frequencies that the schema holds
    as whole numbers are whole numbers where they are.

    Args:
        profile: The profile.
        release: Whose attribute names to use.

    Returns:
        Values by full attribute name, lists for arrays.
    """
    written: dict[str, Any] = {_TICK_RATE: profile.scan_rate}
    for name, value in _core_of(profile, release).items():
        if name.startswith(_JSON_ONLY):
            continue
        full = name if name.startswith("omni:") else _CORE + name
        whole = name.endswith("Hz") and isinstance(value, float) and value.is_integer()
        listed = list(value) if isinstance(value, tuple) else value
        written[full] = int(value) if whole else listed
    for index, state in enumerate(_states_of(profile), start=1):
        prefix = f"{_CORE}emitterState:s{index:03d}:"
        written[prefix + "azimuthDeg"] = list(state.azimuths)
        written[prefix + "elevationDeg"] = list(state.elevations)
        if state.fire_times:
            written[prefix + "fireTimeNs"] = [_whole(time) for time in state.fire_times]
        if state.channels:
            written[prefix + "channelId"] = list(state.channels)
        for name, value in state.others:
            written[prefix + name] = list(value) if isinstance(value, tuple) else value
    return written


def _whole(value: float) -> float:
    """Return a number as an int where it is whole."""
    return int(value) if value.is_integer() else value


def _json_value(value: Any) -> Any:
    """Return a kept value as JSON has it: pairs become objects, tuples lists."""
    if isinstance(value, tuple):
        if value and all(
            isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
            for entry in value
        ):
            return {key: _json_value(entry) for key, entry in value}
        return [_json_value(entry) for entry in value]
    return value


def isaac_json_of(profile: LidarProfile) -> dict[str, Any]:
    """Return a profile as the content of an Isaac Sim lidar JSON file."""
    states = []
    for state in _states_of(profile):
        entry: dict[str, Any] = {
            "azimuthDeg": list(state.azimuths),
            "elevationDeg": list(state.elevations),
        }
        if state.fire_times:
            entry["fireTimeNs"] = [_whole(time) for time in state.fire_times]
        if state.channels:
            entry["channelId"] = list(state.channels)
        entry.update((name, _json_value(value)) for name, value in state.others)
        states.append(entry)
    core = _core_of(profile, "5")
    core["scanType"] = "solidState" if profile.scan_type == "solid_state" else "rotary"
    content: dict[str, Any] = {}
    for name, value in core.items():
        key = name.removeprefix(_JSON_ONLY)
        content[_OMNI_TO_JSON.get(key, key)] = _json_value(value)
    content["emitterStateCount"] = len(states)
    content["emitterStates"] = states
    return {"class": "sensor", "type": "lidar", "name": profile.name, "profile": content}
