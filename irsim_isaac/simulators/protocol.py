"""What every simulator does, and making one by its name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from irsim_isaac.clock import Seconds
from irsim_isaac.errors import SimulatorError
from irsim_isaac.robot import RobotSpec

if TYPE_CHECKING:
    from irsim_isaac.msg import Odometry, Twist, WorldState

__all__ = [
    "Drive",
    "Factory",
    "OnStep",
    "Simulator",
    "StartPose",
    "make",
    "names",
    "register",
    "unregister",
]

Drive: TypeAlias = Literal["step", "runs"]
"""``"step"``: goes on when it is told to; ``"runs"``: goes on by itself."""

StartPose: TypeAlias = tuple[float, float, float]
"""Where a robot starts: x, y [m] and yaw [rad] in the world frame."""

OnStep: TypeAlias = "Callable[[WorldState], None]"
"""What a running simulator calls after each of its steps."""

Factory: TypeAlias = "Callable[..., Simulator]"
"""Makes a simulator from keyword arguments."""

_COMMON = ("stage", "world", "robots", "starts", "step_time", "seed")


@runtime_checkable
class Simulator(Protocol):
    """A world with robots in it that can be driven, read and written.

    Commands and odometry are told by the robot's name. Twists are in the base frame: forward
    and left [m/s], counter-clockwise [rad/s]. Every state handed out is a copy that nothing
    changes afterwards.

    Attributes:
        on_step: For a simulator that runs by itself: called after each of its steps.
    """

    on_step: OnStep | None

    @property
    def name(self) -> str:
        """The simulator's name in reports."""
        ...

    @property
    def time(self) -> float:
        """The time since the start [s]: a whole count of steps."""
        ...

    @property
    def step_time(self) -> float:
        """The length of a step [s]."""
        ...

    @property
    def robots(self) -> Mapping[str, RobotSpec]:
        """The robots that take commands, by name."""
        ...

    @property
    def drive(self) -> Drive:
        """Whether it is stepped or runs by itself."""
        ...

    def reset(self, seed: int | None = None) -> WorldState:
        """Go back to the start.

        Args:
            seed: The seed of everything random; None for the seed it was made with.
        """
        ...

    def step(self, commands: Mapping[str, Twist]) -> WorldState:
        """Go on by one step with all robots.

        Args:
            commands: A twist for each robot by name; a robot without one is to stand still.

        Raises:
            SimulatorError: A name is unknown, a value is not finite, the simulator is closed,
                or it runs by itself. Nothing has moved then.
        """
        ...

    def read(self) -> WorldState:
        """Return the present state."""
        ...

    def write(self, updates: Mapping[str, Odometry]) -> None:
        """Place objects; all of them or, when one update is bad, none.

        Args:
            updates: Pose and velocity for each object by name.

        Raises:
            SimulatorError: A name is unknown, a value is not finite, an orientation defines no
                yaw, an object cannot be placed, or the simulator is closed. Nothing has moved
                then.
        """
        ...

    def close(self) -> None:
        """Let go of everything; closing twice is no error."""
        ...


_factories: dict[str, Factory] = {}


def register(name: str, factory: Factory, *, replace: bool = False) -> None:
    """Make a simulator known by its name.

    Args:
        name: The name to make it by.
        factory: Called by ``make`` with those of its keyword arguments that it names, and
            with the options.
        replace: Whether it may take the place of another of the same name.

    Raises:
        SimulatorError: The name is taken.
    """
    if name in _factories and not replace:
        raise SimulatorError(f"a simulator named '{name}' is registered already")
    _factories[name] = factory


def unregister(name: str) -> None:
    """Forget a simulator; one that is not registered is forgotten already."""
    _factories.pop(name, None)


def names() -> tuple[str, ...]:
    """Return the names of the registered simulators, sorted."""
    return tuple(sorted(_factories))


def make(
    name: str,
    *,
    stage: str | os.PathLike[str] | None = None,
    world: str | os.PathLike[str] | None = None,
    robots: Sequence[RobotSpec] = (),
    starts: Mapping[str, StartPose] | None = None,
    step_time: Seconds = 0.1,
    seed: int = 0,
    **options: Any,
) -> Simulator:
    """Make a simulator by its name.

    Args:
        name: One of ``names()``.
        stage: The path of the USD stage, for simulators that own one.
        world: The path of the IR-SIM world, for simulators that read one.
        robots: The robots that take commands.
        starts: Where each robot starts, by its name.
        step_time: The length of a step [s].
        seed: The seed of everything random.
        **options: What this kind of simulator takes besides.

    Raises:
        SimulatorError: The name or an option is unknown, or something needed is missing.
    """
    factory = _factories.get(name)
    if factory is None:
        raise SimulatorError(
            f"no simulator is named '{name}'; there are: {', '.join(names()) or 'none'}"
        )
    parameters = inspect.signature(factory).parameters
    open_ended = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    known = [key for key in parameters if key not in _COMMON]
    unknown = [key for key in options if key not in known]
    if unknown and not open_ended:
        raise SimulatorError(
            f"simulator '{name}' takes no option {', '.join(map(repr, unknown))}; "
            f"it takes: {', '.join(known) or 'none'}"
        )
    common: dict[str, Any] = {
        "stage": stage,
        "world": world,
        "robots": tuple(robots),
        "starts": dict(starts or {}),
        "step_time": step_time,
        "seed": seed,
    }
    taken = {key: value for key, value in common.items() if open_ended or key in parameters}
    missing = [
        key
        for key, item in parameters.items()
        if item.default is item.empty
        and item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD)
        and taken.get(key) is None
        and key not in options
    ]
    if missing:
        raise SimulatorError(f"simulator '{name}' needs {', '.join(map(repr, missing))}")
    return factory(**taken, **options)
