"""What a lidar measures: its beams, its reach and its timing.

A profile is read from an ``OmniLidar`` prim's attributes, from an Isaac Sim lidar JSON file,
from the parameters of an IR-SIM ``lidar2d`` or from a file in ``config/lidars/``, and written
to each of them.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import ScanError
from irsim_isaac.files import write_text
from irsim_isaac.lidar.emitters import EmitterState
from irsim_isaac.lidar.omni_lidar import (
    Release,
    fields_from_isaac_json,
    fields_from_omni_lidar,
    isaac_json_of,
    omni_lidar_of,
)
from irsim_isaac.lidar.profile_file import profile_fields, profile_text
from irsim_isaac.resources import resource

__all__ = ["LidarProfile", "lidar_profiles"]

ScanType: TypeAlias = Literal["rotary", "solid_state"]

_TURN = 2.0 * math.pi
_DEGREE = _TURN / 360


@dataclass(frozen=True, slots=True)
class LidarProfile:
    """A lidar, as every simulator and every file is told of it.

    The beams of a scan are ``angle_min + k * angle_increment`` for k from 0 to
    ``beam_count - 1``, counter-clockwise whichever way the sensor turns.

    Attributes:
        name: The name of the model.
        beam_count: The number of beams in a scan.
        angle_min: The bearing of the first beam [rad].
        angle_increment: From one beam to the next [rad], positive.
        range_min: The nearest distance measured [m].
        range_max: The farthest distance measured [m].
        scan_rate: Whole scans a second [Hz].
        scan_type: ``rotary`` turns; ``solid_state`` fires a list of emitters.
        clockwise: Whether the beams are measured clockwise, seen from above.
        range_accuracy: Standard deviation of a distance [m].
        range_resolution: Step of a distance [m]; zero where it is not quantised.
        max_returns: Returns measured for one beam at most.
        rings: The elevations of the rings [rad], lowest first; ``(0.0,)`` for a planar lidar.
        firing_interval: Of a solid-state sensor, between the firings of neighbouring beams
            [s]; zero where all fire at once.
        gaps: The beams that the sensor does not measure, because its emitters are not evenly
            spaced: NaN in every scan.
        firing_rate: Firings of the pattern a second [Hz], for writing it back; zero where it
            follows from the beams and the scan rate.
        emitters: The firing patterns as the source gave them; empty where it gave none.
        attributes: What else the source said, as pairs of name and value, so that writing it
            back loses nothing.
    """

    name: str = "lidar"
    beam_count: int = 360
    angle_min: float = -math.pi
    angle_increment: float = _DEGREE
    range_min: float = 0.05
    range_max: float = 30.0
    scan_rate: float = 10.0
    scan_type: ScanType = "rotary"
    clockwise: bool = False
    range_accuracy: float = 0.0
    range_resolution: float = 0.0
    max_returns: int = 1
    rings: tuple[float, ...] = (0.0,)
    firing_interval: float = 0.0
    gaps: tuple[int, ...] = ()
    firing_rate: float = 0.0
    emitters: tuple[EmitterState, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        where = f"lidar profile '{self.name}'"
        if self.beam_count < 1 or self.beam_count != int(self.beam_count):
            raise ScanError(f"{where}: {self.beam_count} beams, at least 1 was expected")
        for name in ("angle_min", "angle_increment", "range_min", "range_max", "scan_rate"):
            if not math.isfinite(getattr(self, name)):
                raise ScanError(f"{where}: {name} is {getattr(self, name)}, expected a number")
        if self.angle_increment <= 0.0:
            raise ScanError(
                f"{where}: angle_increment is {self.angle_increment}, expected more than 0"
            )
        if (self.beam_count - 1) * self.angle_increment > _TURN * (1.0 + 1e-9):
            raise ScanError(
                f"{where}: {self.beam_count} beams {math.degrees(self.angle_increment)} degrees "
                "apart span more than a turn"
            )
        if not 0.0 <= self.range_min < self.range_max:
            raise ScanError(
                f"{where}: range_min {self.range_min} and range_max {self.range_max}, "
                "expected 0 <= range_min < range_max"
            )
        if self.scan_rate <= 0.0:
            raise ScanError(f"{where}: scan_rate is {self.scan_rate}, expected more than 0")
        if self.scan_type not in ("rotary", "solid_state"):
            raise ScanError(
                f"{where}: scan_type is '{self.scan_type}', expected 'rotary' or 'solid_state'"
            )
        if not all(0 <= beam < self.beam_count for beam in self.gaps):
            raise ScanError(f"{where}: gaps names beams beyond the {self.beam_count} there are")
        if not self.rings:
            raise ScanError(f"{where}: it has no ring, expected at least one elevation")

    @classmethod
    def full_turn(cls, name: str, beam_count: int, **fields: Any) -> LidarProfile:
        """Return a profile whose beams are spread over a full circle, the first at -pi.

        Args:
            name: The name of the model.
            beam_count: The number of beams in a turn.
            **fields: Further fields of the profile.
        """
        _check_count(name, beam_count)
        return cls(
            name=name,
            beam_count=beam_count,
            angle_min=-math.pi,
            angle_increment=_TURN / beam_count,
            **fields,
        )

    @classmethod
    def fan(
        cls, name: str, beam_count: int, angle_min: float, angle_max: float, **fields: Any
    ) -> LidarProfile:
        """Return a profile whose beams are spread between two bearings, both included.

        Args:
            name: The name of the model.
            beam_count: The number of beams.
            angle_min: The bearing of the first beam [rad].
            angle_max: The bearing of the last beam [rad].
            **fields: Further fields of the profile.
        """
        _check_count(name, beam_count)
        increment = (angle_max - angle_min) / (beam_count - 1) if beam_count > 1 else _DEGREE
        return cls(
            name=name,
            beam_count=beam_count,
            angle_min=angle_min,
            angle_increment=increment,
            **fields,
        )

    @property
    def angle_max(self) -> float:
        """The bearing of the last beam [rad]."""
        return self.angle_min + (self.beam_count - 1) * self.angle_increment

    @property
    def scan_time(self) -> float:
        """From one scan to the next [s]."""
        return 1.0 / self.scan_rate

    @property
    def time_increment(self) -> float:
        """From a beam to the next one in the scan [s].

        Zero for a sensor that fires all beams at once, negative for one that measures
        clockwise, because the beams of a scan are then measured from the last to the first.
        """
        if self.scan_type == "solid_state":
            increment = self.firing_interval
        else:
            increment = self.scan_time * (self.angle_increment / _TURN)
        return -increment if self.clockwise and increment else increment

    @property
    def full_circle(self) -> bool:
        """Whether the beam after the last one is the first one again."""
        return math.isclose(self.beam_count * self.angle_increment, _TURN, rel_tol=1e-9)

    @property
    def bearings(self) -> npt.NDArray[np.float64]:
        """The bearings of the beams [rad], shape (N,)."""
        return self.angle_min + np.arange(self.beam_count, dtype=np.float64) * self.angle_increment

    @property
    def elevations(self) -> npt.NDArray[np.float64]:
        """The elevations of the rings [rad], shape (rings,)."""
        return np.array(self.rings, dtype=np.float64)

    @classmethod
    def from_irsim(cls, parameters: Mapping[str, Any], *, name: str = "lidar2d") -> LidarProfile:
        """Read the parameters of an IR-SIM ``lidar2d``.

        The heading of ``offset`` turns the window of the beams; its x and y say where the
        lidar sits and belong to the robot.

        Args:
            parameters: The sensor's section, with IR-SIM's names and defaults.
            name: The name of the profile.

        Raises:
            ScanError: A parameter is not what it must be.
        """
        where = f"lidar2d parameters of '{name}'"
        span = min(_number(parameters, "angle_range", where, math.pi), _TURN)
        count = _whole(parameters, "number", where, 100)
        offset = parameters.get("offset", (0.0, 0.0, 0.0))
        if not isinstance(offset, (list, tuple, np.ndarray)) or len(offset) != 3:
            raise ScanError(f"{where}: offset is {offset!r}, expected [x, y, heading]")
        centre = float(offset[2])
        scan_time = _number(parameters, "scan_time", where, 0.1)
        if scan_time <= 0.0:
            raise ScanError(f"{where}: scan_time is {scan_time}, expected more than 0")
        noise = bool(parameters.get("noise", False))
        return cls.fan(
            name,
            count,
            centre - span / 2.0,
            centre + span / 2.0,
            range_min=_number(parameters, "range_min", where, 0.0),
            range_max=_number(parameters, "range_max", where, 10.0),
            scan_rate=1.0 / scan_time,
            scan_type="solid_state",
            range_accuracy=_number(parameters, "std", where, 0.2 if noise else 0.0),
        )

    def to_irsim(self, *, noise: bool = False) -> dict[str, Any]:
        """Return the section of an IR-SIM ``lidar2d`` that has the same beams.

        IR-SIM's window is symmetric about the sensor's heading, so the middle of ours is the
        heading of ``offset``: add the place where the lidar sits.

        Args:
            noise: Whether IR-SIM is to add noise of ``range_accuracy``.
        """
        return {
            "name": "lidar2d",
            "range_min": self.range_min,
            "range_max": self.range_max,
            "angle_range": (self.beam_count - 1) * self.angle_increment,
            "number": self.beam_count,
            "scan_time": self.scan_time,
            "noise": noise,
            "std": self.range_accuracy,
            "offset": [0.0, 0.0, (self.angle_min + self.angle_max) / 2.0],
        }

    @classmethod
    def from_omni_lidar(
        cls, attributes: Mapping[str, Any], *, name: str = "OmniLidar", where: str = ""
    ) -> LidarProfile:
        """Read the attributes of an ``OmniLidar`` prim, with the names of Isaac Sim 5 or 6.

        Args:
            attributes: Values by full name, such as ``omni:sensor:Core:nearRangeM``.
            name: The name of the profile.
            where: What is read, for errors, such as the path of the prim.

        Raises:
            ScanError: An attribute is missing or is not what it must be.
        """
        fields = fields_from_omni_lidar(attributes, where or f"OmniLidar '{name}'")
        return cls(**{"name": name} | fields)

    def to_omni_lidar(self, *, release: Release = "6") -> dict[str, Any]:
        """Return the attributes of an ``OmniLidar`` prim, by full name.

        Args:
            release: The main version of Isaac Sim whose names are meant.
        """
        return omni_lidar_of(self, release)

    @classmethod
    def from_isaac_json(cls, path: str | os.PathLike[str]) -> LidarProfile:
        """Read an Isaac Sim lidar JSON file.

        Args:
            path: The file.

        Raises:
            ScanError: The file is not such a profile.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ScanError(f"{path}: not a readable JSON file: {error}") from error
        return cls(**fields_from_isaac_json(content, str(path)))

    def to_isaac_json(self) -> dict[str, Any]:
        """Return the content of an Isaac Sim lidar JSON file."""
        return isaac_json_of(self)

    @classmethod
    def load(cls, source: str | os.PathLike[str]) -> LidarProfile:
        """Read a profile that travels with the package, or a profile file.

        Args:
            source: A name that ``lidar_profiles`` lists, or the path of a ``.yaml`` file of
                this project or of a ``.json`` file of Isaac Sim.

        Raises:
            ScanError: There is no such profile, or it is not what it must be.
        """
        path = Path(source)
        if path.suffix.lower() == ".json":
            return cls.from_isaac_json(path)
        if not path.exists() and path.suffix == "":
            names = lidar_profiles()
            if path.name not in names:
                raise ScanError(f"no lidar profile '{source}'; there are: {', '.join(names)}")
            path = resource(f"config/lidars/{path.name}.yaml")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScanError(f"{path}: not a readable lidar profile: {error}") from error
        return cls(**profile_fields(text, str(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile as a ``.yaml`` file of this project, or as Isaac Sim's ``.json``.

        Args:
            path: The file to write.
        """
        if Path(path).suffix.lower() == ".json":
            write_text(path, json.dumps(self.to_isaac_json(), indent=2) + "\n")
        else:
            write_text(path, profile_text(self))


def lidar_profiles() -> tuple[str, ...]:
    """Return the names of the lidar profiles that travel with the package."""
    return tuple(sorted(path.stem for path in resource("config/lidars").glob("*.yaml")))


def _check_count(name: str, beam_count: int) -> None:
    if beam_count < 1:
        raise ScanError(f"lidar profile '{name}': {beam_count} beams, at least 1 was expected")


def _number(source: Mapping[str, Any], key: str, where: str, default: float | None = None) -> float:
    """Return a number of a mapping, or say what stands there instead."""
    value = source.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ScanError(f"{where}: {key} is {value!r}, expected a number")
    return float(value)


def _whole(source: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    """Return a whole number of a mapping, or say what stands there instead."""
    value = _number(source, key, where, default)
    if not value.is_integer():
        raise ScanError(f"{where}: {key} is {value!r}, expected a whole number")
    return int(value)
