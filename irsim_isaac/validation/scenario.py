"""A scenario: a stage, a robot, two simulators, what to drive, and what may differ."""

from __future__ import annotations

import difflib
import os
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from irsim_isaac.clock import exact_seconds
from irsim_isaac.errors import MirrorError, ScenarioError
from irsim_isaac.mirror import Binding, Direction, Policy, bindings_from_config
from irsim_isaac.resources import resource

__all__ = [
    "Divergence",
    "MapSettings",
    "MirrorSettings",
    "RobotChoice",
    "Scenario",
    "SimulatorChoice",
    "Thresholds",
    "WayPoints",
    "find_scenario",
    "load_scenario",
    "read_mapping",
]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulatorChoice(_Section):
    """One side: the name of a simulator, and what that one takes besides.

    Attributes:
        simulator: A name that ``irsim_isaac.simulators.make`` knows.
        options: Passed to it as they are.
    """

    simulator: str
    options: dict[str, Any] = {}


class RobotChoice(_Section):
    """The robot that is driven.

    Attributes:
        spec: A name in ``config/robots`` or the path of such a file, relative to the scenario;
            None for the robot that the stage has.
        name: What it is called; None for the name in its file or stage.
        start: x, y [m] and yaw [rad]; None for where the stage puts it.
        overrides: Fields of the ``RobotSpec`` that this scenario has otherwise; not its lidars.
    """

    spec: str | None = None
    name: str | None = None
    start: tuple[Finite, Finite, Finite] | None = None
    overrides: dict[str, Any] = {}


class WayPoints(_Section):
    """A path that a pure-pursuit controller follows, one controller in each simulator.

    Attributes:
        points: The corners of the path [m], from the first after the start to the goal.
        speed: Forward [m/s].
        look_ahead: How far along the path the controller aims [m].
        tolerance: How near the goal is near enough [m].
    """

    points: Annotated[list[tuple[Finite, Finite]], Field(min_length=1)]
    speed: Positive = 0.5
    look_ahead: Positive = 0.6
    tolerance: Positive = 0.1


class MapSettings(_Section):
    """How the stage becomes a map; as ``irsim_isaac.stage.build_occupancy`` takes them.

    Attributes:
        resolution: The side of a cell [m].
        height: The band of heights above the floor that is mapped [m].
        floor: The height of the floor [m].
        geometry: Which geometry of the stage is mapped.
        bounds: x_min, y_min, x_max, y_max [m]; None for all of the stage.
    """

    resolution: Positive = 0.05
    height: tuple[Finite, Finite] = (0.1, 0.62)
    floor: Finite = 0.0
    geometry: Literal["visual", "collision", "both"] = "visual"
    bounds: tuple[Finite, Finite, Finite, Finite] | None = None


class Divergence(_Section):
    """From when on the two sides count as apart.

    Attributes:
        position: Distance between the two robots [m].
        heading: Angle between their headings [rad].
        speed: Difference of forward speeds that is told as a cause [m/s].
        turn_rate: Difference of turn rates that is told as a cause [rad/s].
        range: Median difference of ranges, both robots still together, that is told as a
            cause [m].
    """

    position: Positive = 0.05
    heading: Positive = 0.05
    speed: Positive = 0.05
    turn_rate: Positive = 0.05
    range: Positive = 0.05


class Thresholds(_Section):
    """The most that may differ; what is left out is measured and not judged.

    Attributes:
        position_max: Greatest distance between the robots [m].
        position_final: Distance between them at the end [m].
        heading_max: Greatest angle between their headings [rad].
        ape_rmse: Absolute pose error, translation, not aligned [m].
        ape_rotation_rmse: Absolute pose error, rotation, not aligned [rad].
        rpe_rmse: Relative pose error, translation, a step [m].
        rpe_rotation_rmse: Relative pose error, rotation, a step [rad].
        range_mean: Mean absolute difference of ranges where both sides hit [m].
        hit_mismatch: Share of the bearings at which only one side hits, from 0 to 1.
        contact_events: Difference of the numbers of contact events.
        explored: Difference of the shares of the reachable area explored, from 0 to 1.
    """

    position_max: Limit | None = None
    position_final: Limit | None = None
    heading_max: Limit | None = None
    ape_rmse: Limit | None = None
    ape_rotation_rmse: Limit | None = None
    rpe_rmse: Limit | None = None
    rpe_rotation_rmse: Limit | None = None
    range_mean: Limit | None = None
    hit_mismatch: Limit | None = None
    contact_events: Limit | None = None
    explored: Limit | None = None


class MirrorSettings(_Section):
    """How the two simulators are kept in step by ``irsim-isaac mirror``.

    Attributes:
        direction: Who moves whom.
        bindings: Which object is which: the fields of ``irsim_isaac.mirror.Binding``; None to
            bind by name.
        new: An object that was not there at the start is ignored, or an error.
        vanished: An object that is not there any more is parked, or an error.
        parking: Where objects are parked: x, y [m]; None to leave them where they were last.
        tilted: A body beyond its tilt limit leaves its other self where it is, or is an error.
        drift: A standing object that stands elsewhere on the other side is noted, or an error.
        drift_tolerance: How far standing objects may be apart [m].
    """

    direction: Direction = "beside"
    bindings: list[dict[str, Any]] | None = None
    new: Literal["ignore", "error"] = "ignore"
    vanished: Literal["park", "error"] = "park"
    parking: tuple[Finite, Finite] | None = None
    tilted: Literal["hold", "error"] = "hold"
    drift: Literal["note", "error"] = "note"
    drift_tolerance: Limit = 1e-3

    @field_validator("bindings")
    @classmethod
    def _readable(cls, rows: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        try:
            bindings_from_config(rows or ())
        except MirrorError as error:
            raise ValueError(f"'mirror.bindings': {error}") from error
        return rows

    @property
    def bound(self) -> tuple[Binding, ...] | None:
        """The bindings; None to bind by name."""
        return None if self.bindings is None else bindings_from_config(self.bindings)

    @property
    def policy(self) -> Policy:
        """What to do with what is not as it should be."""
        return Policy(
            new=self.new,
            vanished=self.vanished,
            parking=self.parking,
            tilted=self.tilted,
            drift=self.drift,
            drift_tolerance=self.drift_tolerance,
        )


def _choice(value: Any) -> Any:
    return {"simulator": value} if isinstance(value, str) else value


def _exact(value: float) -> float:
    exact_seconds(value)
    return value


Time = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_exact)]


class Scenario(_Section):
    """Everything that one validation needs.

    Attributes:
        name: What it is called in reports; None for the name of its file.
        stage: The USD stage, relative to the scenario's file.
        robot: The robot that is driven.
        left: The left simulator.
        right: The right simulator.
        step_time: The length of a step of both [s].
        commands: (duration [s], forward [m/s], counter-clockwise [rad/s]) one after the other,
            each a whole number of steps.
        way_points: A path, in place of commands.
        duration: How long both are driven [s]; None for as long as the commands.
        thresholds: What may differ.
        divergence: From when on they count as apart.
        map: How the stage becomes a map.
        mirror: How both are kept in step where they are mirrored.
        min_matched: The least share of states that must find their partner in time.
        seed: Of everything random.
        file: The file that it was read from.
    """

    name: str | None = None
    stage: str
    robot: RobotChoice = RobotChoice()
    left: SimulatorChoice
    right: SimulatorChoice
    step_time: Time = 0.1
    commands: Annotated[list[tuple[Time, Finite, Finite]], Field(min_length=1)] | None = None
    way_points: WayPoints | None = None
    duration: Time | None = None
    thresholds: Thresholds = Thresholds()
    divergence: Divergence = Divergence()
    map: MapSettings = MapSettings()
    mirror: MirrorSettings = MirrorSettings()
    min_matched: Annotated[float, Field(gt=0, le=1)] = 0.9
    seed: int = 0
    file: Path | None = Field(default=None, exclude=True)

    @field_validator("left", "right", mode="before")
    @classmethod
    def _named_choice(cls, value: Any) -> Any:
        return _choice(value)

    @model_validator(mode="after")
    def _whole(self) -> Scenario:
        if (self.commands is None) == (self.way_points is None):
            found = "both" if self.commands is not None else "neither"
            raise ValueError(f"either 'commands' or 'way_points' is expected, found {found}")
        if self.way_points is not None and self.duration is None:
            raise ValueError("'way_points' need a 'duration'")
        step = exact_seconds(self.step_time)
        for index, (duration, _, _) in enumerate(self.commands or ()):
            _whole_steps(duration, step, f"commands.{index}")
        if self.duration is not None:
            _whole_steps(self.duration, step, "duration")
            driven = sum((exact_seconds(item[0]) for item in self.commands or ()), Fraction(0))
            if driven > exact_seconds(self.duration):
                raise ValueError(
                    f"'commands' last {float(driven):g} s, longer than the "
                    f"'duration' of {self.duration:g} s"
                )
        low, high = self.map.height
        if low >= high:
            raise ValueError(f"'map.height' goes from low to high, found [{low:g}, {high:g}]")
        return self

    @property
    def title(self) -> str:
        """What the scenario is called."""
        return self.name or (self.file.stem if self.file is not None else "scenario")

    @property
    def stage_path(self) -> Path:
        """Where the stage lies."""
        return self.resolve(self.stage)

    @property
    def steps(self) -> int:
        """How many steps both simulators are driven."""
        if self.duration is not None:
            total = exact_seconds(self.duration)
        else:
            total = sum((exact_seconds(item[0]) for item in self.commands or ()), Fraction(0))
        return int(total / exact_seconds(self.step_time))

    def with_simulators(self, left: str | None, right: str | None) -> Scenario:
        """Return the scenario with other simulators; where a name stays, its options stay."""
        update = {}
        for key, name in (("left", left), ("right", right)):
            if name is not None and name != getattr(self, key).simulator:
                update[key] = SimulatorChoice(simulator=name)
        return self.model_copy(update=update)

    def resolve(self, path: str) -> Path:
        """Return a path that the scenario names, as seen from its file."""
        base = self.file.parent if self.file is not None else Path()
        return Path(os.path.normpath(base / path))


def _whole_steps(duration: float, step: Fraction, key: str) -> None:
    count = exact_seconds(duration) / step
    if count.denominator != 1:
        raise ValueError(
            f"'{key}' is to last a whole number of steps of {float(step):g} s, found "
            f"{duration:g} s; {float(int(count) * step):g} s and "
            f"{float((int(count) + 1) * step):g} s are the nearest"
        )


def find_scenario(name: str | os.PathLike[str]) -> Path:
    """Return a scenario's path: a file, or one of ``config/scenarios`` by its name.

    Raises:
        ScenarioError: There is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    try:
        folder = resource("config/scenarios")
    except FileNotFoundError:
        known = {}
    else:
        known = {item.stem: item for item in sorted(folder.glob("*.yaml"))}
    if str(name) in known:
        return known[str(name)]
    what = "is a folder" if path.is_dir() else "does not exist"
    raise ScenarioError(
        f"the scenario '{name}' {what}; a YAML file is expected, or one of: "
        f"{', '.join(known) or 'none'}"
    )


def read_mapping(file: Path) -> dict[str, Any]:
    """Return the keys and values of a scenario's file, not checked yet.

    Args:
        file: A YAML file.

    Raises:
        ScenarioError: The file is missing, or holds no mapping in YAML.
    """
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError(
            f"the scenario '{file}' does not exist; a YAML file is expected"
        ) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: a text file in UTF-8 is expected: {error}") from error
    except yaml.YAMLError as error:
        raise ScenarioError(f"{file}: no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ScenarioError(
            f"{file}: a scenario is a mapping of keys, found {type(content).__name__}"
        )
    return content


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario.

    Args:
        path: A YAML file.

    Returns:
        The scenario, its values checked.

    Raises:
        ScenarioError: The file is missing or no YAML, or a key or value is not what is
            expected; it names the file and the key.
    """
    file = Path(path)
    content = read_mapping(file)
    try:
        scenario = Scenario.model_validate(content)
    except ValidationError as error:
        raise ScenarioError(f"{file}: {_told(error)}") from error
    return scenario.model_copy(update={"file": file})


def _told(error: ValidationError) -> str:
    return "; ".join(_one(item) for item in error.errors(include_url=False))


def _one(item: Any) -> str:
    location = item["loc"]
    key = ".".join(str(part) for part in location)
    if item["type"] == "missing":
        return f"the key '{key}' is missing"
    if item["type"] == "extra_forbidden":
        expected = _keys(location[:-1])
        near = difflib.get_close_matches(str(location[-1]), expected, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(expected)}"
        return f"the key '{key}' is unknown; {hint}"
    if item["type"] == "value_error":
        return str(item["ctx"]["error"])
    message = item["msg"][0].lower() + item["msg"][1:]
    return f"the key '{key}': {message}, found {item['input']!r}"


def _keys(location: tuple[Any, ...]) -> list[str]:
    """Return the keys that a section of a scenario has."""
    section: type[BaseModel] = Scenario
    for part in location:
        field = section.model_fields.get(str(part))
        kinds = [field.annotation] if field is not None else []
        kinds += list(getattr(kinds[0], "__args__", ())) if kinds else []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                section = kind
                break
        else:
            return []
    return [name for name in section.model_fields if name != "file"]
