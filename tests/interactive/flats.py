"""The furnished flat in a simulator, ready for tasks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from irsim_isaac.interactive import (
    Arrival,
    Camera,
    DriveAndSearchAction,
    DriveToSurfaceAction,
    ObjectSearchAction,
    PathNavigator,
    Simulation,
    StageRecogniser,
    Stand,
    Store,
    WorldServices,
)
from irsim_isaac.msg import Odometry, Point, Pose, PoseWithCovariance, Quaternion
from irsim_isaac.resources import resource

ROBOT = "seeker"


@lru_cache(maxsize=2)
def prepared(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the stage, its world, its map and its robot, which carries no lidar here."""
    from irsim_isaac.stage import build_occupancy, open_stage, robot_specs, world_model

    stage = open_stage(resource(f"data/{name}.usda"))
    (spec,) = robot_specs(stage)
    occupancy = build_occupancy(stage, resolution=0.05, height=(0.1, 0.62))
    return stage, world_model(stage), occupancy, replace(spec, lidars=())


class Leaper:
    """A navigator that puts the robot where it is to be after some steps."""

    def __init__(self, simulation: Simulation, *, steps: int = 3) -> None:
        self.simulation, self.steps = simulation, steps
        self.stands: list[str] = []
        self.unreachable: set[str] = set()
        self.slow: dict[str, int] = {}
        self.on_step: Callable[[str], None] = lambda name: None

    async def drive(self, stand: Stand, *, check, time_limit: float) -> Arrival:
        self.stands.append(stand.name)
        if stand.name in self.unreachable:
            return Arrival("unreachable", f"no path leads to {stand.name}")
        for step in range(self.slow.get(stand.name, self.steps)):
            check()
            if step * self.simulation.simulator.step_time > time_limit:
                return Arrival("late", f"not at {stand.name} within {time_limit:g} s")
            await self.simulation.step()
            self.on_step(stand.name)
        self.simulation.write({ROBOT: at(stand.x, stand.y, yaw=stand.yaw)})
        await self.simulation.step()
        return Arrival("arrived", f"at {stand.name}")

    async def rest(self, duration: float, *, check) -> None:
        check()
        await self.simulation.step()


def at(x: float, y: float, z: float = 0.0, *, yaw: float = 0.0) -> Odometry:
    pose = Pose(Point(x, y, z), Quaternion.from_yaw(yaw))
    return Odometry(pose=PoseWithCovariance(pose))


@dataclass
class Flat:
    """What a task in the flat needs."""

    simulation: Simulation
    model: Any
    occupancy: Any
    recogniser: StageRecogniser
    store: Store
    services: WorldServices
    navigator: Any
    clock: list[float]

    def actions(self, *, wall_clock=lambda: 0.0, **options: Any):
        """Return the three actions; options of the search go to the search."""
        look = options.pop("look", {})
        drive = options.pop("drive", {})
        first = DriveToSurfaceAction(
            self.simulation, self.navigator, self.model, wall_clock=wall_clock, **drive
        )
        second = DriveAndSearchAction(
            self.simulation, self.navigator, self.recogniser, self.services,
            wall_clock=wall_clock, **look,
        )  # fmt: skip
        third = ObjectSearchAction(
            self.simulation, second, self.services, now=self.now, wall_clock=wall_clock, **options
        )
        return first, second, third

    def now(self) -> float:
        return self.clock[0] + self.simulation.time

    def put(self, item: str, x: float, y: float, z: float) -> None:
        """Put an item somewhere, as the simulator has it."""
        body = next(o for o in self.simulation.state.objects if o.name == item)
        odom = body.odom
        place = odom.pose.pose
        pose = Pose(Point(x, y, z), place.orientation)
        self.simulation.write({item: Odometry(pose=PoseWithCovariance(pose))})


@contextmanager
def opened(
    name: str = "flat",
    *,
    simulator: str = "stage",
    leap: bool = True,
    robot: dict[str, Any] | None = None,
    camera: Camera | None = None,
    start: tuple[float, float, float] = (0.7, 4.65, 0.0),
    miss_rate: float = 0.0,
    seed: int = 0,
    **options: Any,
):
    """Give the flat in a simulator, with a store in memory."""
    from irsim_isaac.simulators import make

    stage, model, occupancy, spec = prepared(name)
    spec = replace(spec, **(robot or {}))
    made = make(
        simulator, stage=resource(f"data/{name}.usda"), robots=(spec,), starts={ROBOT: start},
        **options,
    )  # fmt: skip
    clock = [1_700_000_000.0]
    try:
        made.reset(0)
        simulation = Simulation(made)
        store = Store("sqlite://", clock=lambda: clock[0] + simulation.time)
        recogniser = StageRecogniser(
            stage, model, robots=(spec,), robot=ROBOT, reference=simulation.state,
            camera=camera, miss_rate=miss_rate, seed=seed,
        )  # fmt: skip
        navigator = Leaper(simulation) if leap else PathNavigator(simulation, ROBOT, occupancy)
        services = WorldServices(model, store)
        yield Flat(simulation, model, occupancy, recogniser, store, services, navigator, clock)
        store.close()
    finally:
        made.close()
