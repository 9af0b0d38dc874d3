"""What a search needs to be run: the stage, the simulator, the robot, and what happened before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from irsim_isaac.errors import ScenarioError
from irsim_isaac.interactive.navigation import Planner
from irsim_isaac.interactive.ranking import Strategy
from irsim_isaac.interactive.recogniser import Camera
from irsim_isaac.validation import MapSettings, RobotChoice, Scenario, SimulatorChoice
from irsim_isaac.validation.scenario import read_mapping

__all__ = ["CameraSettings", "Event", "SearchScenario", "Seen", "load_search_scenario"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=255)]

_CAMERA = Camera()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CameraSettings(_Section):
    """The camera; the fields of ``Camera``, in metres and radians."""

    x: Finite = _CAMERA.x
    z: Positive = _CAMERA.z
    width: Positive = _CAMERA.width
    height: Positive = _CAMERA.height
    near: NotNegative = _CAMERA.near
    far: Positive = _CAMERA.far
    pan: NotNegative = _CAMERA.pan
    tilt: NotNegative = _CAMERA.tilt

    @property
    def camera(self) -> Camera:
        """The camera itself."""
        return Camera(**self.model_dump())


class Seen(_Section):
    """What was seen long before.

    Attributes:
        item: What.
        surface: Where.
        ago: How long ago [s].
        gone: How long ago it was found to be gone [s]; None where nobody noticed.
    """

    item: Name
    surface: Name
    ago: Positive
    gone: NotNegative | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Seen:
        if self.gone is not None and self.gone > self.ago:
            raise ValueError(f"it was gone {self.gone:g} s ago, before it was seen")
        return self


class Event(_Section):
    """One thing that happens before the search: a look, a move, or a wait.

    Attributes:
        look: The surface that the robot looks at, keeping what it sees.
        move: The item that the simulation puts elsewhere.
        to: The surface that it is put on.
        at: Where on it: x, y from the middle of its first part [m].
        wait: How long nothing happens [s]; only the clock of the store goes on.
    """

    look: Name | None = None
    move: Name | None = None
    to: Name | None = None
    at: tuple[Finite, Finite] = (0.0, 0.0)
    wait: Positive | None = None

    @model_validator(mode="after")
    def _one(self) -> Event:
        given = [key for key in ("look", "move", "wait") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"'look', 'move' or 'wait' is expected, found {' and '.join(given) or 'none'}"
            )
        if (self.move is None) != (self.to is None):
            raise ValueError("'move' and 'to' go together")
        return self


class SearchScenario(_Section):
    """Everything that one search needs.

    Attributes:
        name: What it is called; None for the name of its file.
        stage: The USD stage, relative to the scenario's file.
        simulator: What the robot is driven in.
        robot: The robot.
        step_time: The length of a step [s].
        map: How the stage becomes the map that is planned on.
        camera: What looks.
        miss_rate: The share of looks in which an item that is in view is missed.
        planner: Which of IR-SIM's planners.
        speed: Forward [m/s]; None for the robot's greatest.
        strategy: How surfaces are ranked.
        store: A file of SQLite relative to the scenario's file, or a URL; None for a new one.
        models: The conditions whose models tell where to look.
        drive_time: How long a drive may take [s].
        surface_time: How long the search of a surface may take [s].
        time_limit: How long the search may take [s].
        history: What was seen long before.
        before: What happens before the search.
        seed: Of everything random.
        file: The file that it was read from.
    """

    name: str | None = None
    stage: str
    simulator: SimulatorChoice
    robot: RobotChoice = RobotChoice()
    step_time: Positive = 0.1
    map: MapSettings = MapSettings()
    camera: CameraSettings = CameraSettings()
    miss_rate: Share = 0.0
    planner: Planner = "astar"
    speed: Positive | None = None
    strategy: Strategy = "combined"
    store: str | None = None
    models: list[Annotated[int, Field(ge=0)]] = []
    drive_time: Positive = 60.0
    surface_time: Positive = 120.0
    time_limit: Positive = 1800.0
    history: list[Seen] = []
    before: list[Event] = []
    seed: int = 0
    file: Path | None = Field(default=None, exclude=True)

    @field_validator("simulator", mode="before")
    @classmethod
    def _named_choice(cls, value: Any) -> Any:
        return {"simulator": value} if isinstance(value, str) else value

    @property
    def title(self) -> str:
        """What the scenario is called."""
        return self.name or (self.file.stem if self.file is not None else "search")

    @property
    def drive(self) -> Scenario:
        """The same as a scenario that a simulator can be made for."""
        return Scenario(
            name=self.title,
            stage=self.stage,
            robot=self.robot,
            left=self.simulator,
            right=self.simulator,
            step_time=self.step_time,
            commands=[(self.step_time, 0.0, 0.0)],
            map=self.map,
            seed=self.seed,
        ).model_copy(update={"file": self.file})

    @property
    def store_url(self) -> str | None:
        """The store, as seen from the scenario's file."""
        if self.store is None or "://" in self.store:
            return self.store
        base = self.file.parent if self.file is not None else Path()
        return os.path.normpath(base / self.store)

    def with_simulator(self, name: str | None) -> SearchScenario:
        """Return the scenario with another simulator; where the name stays, options stay."""
        if name is None or name == self.simulator.simulator:
            return self
        return self.model_copy(update={"simulator": SimulatorChoice(simulator=name)})


def load_search_scenario(path: str | os.PathLike[str]) -> SearchScenario:
    """Read a scenario of a search.

    Args:
        path: A YAML file.

    Raises:
        ScenarioError: The file is missing or no YAML, or a key or value is not what is
            expected; it names the file and the key.
    """
    file = Path(path)
    content = read_mapping(file)
    try:
        scenario = SearchScenario.model_validate(content)
    except ValidationError as error:
        raise ScenarioError(f"{file}: {_all_told(error)}") from error
    return scenario.model_copy(update={"file": file})


def _all_told(error: ValidationError) -> str:
    """Say what is wrong in one line; what is unknown together, because it often is much."""
    told = [_told(item) for item in error.errors() if item["type"] != "extra_forbidden"]
    unknown = [
        ".".join(map(str, item["loc"]))
        for item in error.errors()
        if item["type"] == "extra_forbidden"
    ]
    if unknown:
        known = ", ".join(name for name in SearchScenario.model_fields if name != "file")
        told.append(f"unknown: {', '.join(unknown)}; a search has {known}")
    return "; ".join(told)


def _told(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"the key '{key}' is missing; this is to be a scenario of a search"
    if item["type"] == "value_error":
        return f"the key '{key}': {item['ctx']['error']}"
    return f"the key '{key}': {item['msg'][0].lower()}{item['msg'][1:]}, found {item['input']!r}"
