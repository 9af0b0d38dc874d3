"""The ground that both simulators stand on: the stage's map, its world, and the robot's start."""

from __future__ import annotations

import dataclasses
import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.map import Occupancy
from irsim_isaac.robot import RobotSpec
from irsim_isaac.validation.driving import Progress
from irsim_isaac.validation.scenario import Scenario

if TYPE_CHECKING:
    from irsim_isaac.stage import Consistency, World

__all__ = ["Ground", "check_start", "prepare"]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A stage made ready for a validation.

    Attributes:
        occupancy: The map of the stage.
        world: The IR-SIM world of the stage, the robot in it.
        robot: The robot that is driven.
        start: Where it starts: x, y [m] and yaw [rad].
        consistency: What a lidar sees and no robot touches, and the reverse.
    """

    occupancy: Occupancy
    world: World
    robot: RobotSpec
    start: tuple[float, float, float]
    consistency: Consistency


def prepare(scenario: Scenario, *, progress: Progress | None = None) -> Ground:
    """Read a scenario's stage and put the robot into it.

    Args:
        scenario: What to do.
        progress: Called with (done, total, what).

    Raises:
        StageError: The stage cannot be read, or nothing of it lies in the height band.
        ScenarioError: There is no robot, no start, or the start is not free.
    """
    # Isaac Sim must be running before anything of USD is imported.
    from irsim_isaac.stage import build_occupancy, build_world, compare_sources, open_stage

    stage = open_stage(scenario.stage_path)
    robot, start = _robot(scenario, stage)
    settings = scenario.map
    shared: dict[str, Any] = {
        "height": settings.height,
        "floor": settings.floor,
        "geometry": settings.geometry,
        "progress": progress,
    }
    occupancy = build_occupancy(
        stage, resolution=settings.resolution, bounds=settings.bounds, **shared
    )
    world = build_world(
        stage,
        robots=(robot,),
        starts={robot.name: start},
        occupancy=occupancy,
        step_time=scenario.step_time,
        **shared,
    )
    check_start(occupancy, world, robot, start)
    return Ground(occupancy, world, robot, start, compare_sources(stage))


def _robot(scenario: Scenario, stage: Any) -> tuple[RobotSpec, tuple[float, float, float]]:
    from irsim_isaac.stage import load_robot, robot_specs, robot_starts

    choice = scenario.robot
    source = choice.spec
    if source is not None and source.endswith((".yaml", ".yml")):
        source = str(scenario.resolve(source))
    specs = {spec.name: spec for spec in robot_specs(stage, robot=source)}
    starts = dict(robot_starts(stage))
    if specs:
        name = choice.name if choice.name is not None else next(iter(specs))
        if name not in specs or (choice.name is None and len(specs) > 1):
            found = f"'robot.name: {choice.name}'" if choice.name else "no 'robot.name'"
            raise ScenarioError(
                f"{scenario.file}: {found}; the stage has the robots {', '.join(specs)}, "
                "one of them is expected"
            )
        spec = specs[name]
        start = choice.start or list(starts.values())[list(specs).index(name)]
    else:
        if source is None:
            raise ScenarioError(
                f"{scenario.file}: no 'robot.spec', and {scenario.stage} has no robot either "
                "(a prim with the attribute 'irsim:robot'); one of both is expected"
            )
        if choice.start is None:
            raise ScenarioError(
                f"{scenario.file}: no 'robot.start', and {scenario.stage} says of no prim that "
                "a robot starts there; x, y [m] and yaw [rad] are expected"
            )
        spec, start = load_robot(source), choice.start
        if choice.name is not None:
            spec = dataclasses.replace(spec, name=choice.name)
    return _overridden(spec, choice.overrides, scenario), start


def _overridden(spec: RobotSpec, overrides: dict[str, Any], scenario: Scenario) -> RobotSpec:
    known = [item.name for item in dataclasses.fields(RobotSpec) if item.name != "lidars"]
    for key, value in overrides.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(known)}"
            raise ScenarioError(
                f"{scenario.file}: the key 'robot.overrides.{key}' is unknown; {hint}"
            )
        present = getattr(spec, key)
        if isinstance(present, float) and (
            isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0
        ):
            raise ScenarioError(
                f"{scenario.file}: the key 'robot.overrides.{key}': a number above 0 is "
                f"expected, found {value!r}"
            )
        spec = dataclasses.replace(spec, **{key: _frozen(value)})
    return spec


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def check_start(
    occupancy: Occupancy, world: World, robot: RobotSpec, start: tuple[float, float, float]
) -> None:
    """Refuse a start at which a robot stands in something.

    Args:
        occupancy: The map.
        world: The same as obstacles; a footprint may touch them.
        robot: Its footprint is what stands there.
        start: x, y [m] and yaw [rad].

    Raises:
        ScenarioError: It stands outside the map, in an obstacle, or where the map knows nothing.
    """
    where = f"the robot '{robot.name}' starts at ({start[0]:g}, {start[1]:g})"
    x, y, _ = occupancy.origin
    edges = (x, y, x + occupancy.width, y + occupancy.height)
    outline = _footprint(robot, start)
    if not shapely.box(*edges).contains(outline):
        raise ScenarioError(
            f"{where}, outside the map from ({edges[0]:g}, {edges[1]:g}) to "
            f"({edges[2]:g}, {edges[3]:g}) m"
        )
    ix, iy = occupancy.world_to_cell(start[0], start[1])
    # Shrunk by what touching may round to, because touching is allowed.
    body = outline.buffer(-1e-6)
    overlaps = {
        item.name: item.area().intersection(body).area
        for item in world.obstacles
        if item.area().intersects(body) or item.outline().intersects(body)
    }
    if overlaps:
        worst = max(overlaps, key=lambda name: overlaps[name])
        inside = f"inside the obstacle '{worst}'"
    elif occupancy.cells[ix, iy] != 0:
        state = "occupied" if occupancy.cells[ix, iy] > 50 else "unknown"
        inside = f"where the map's cell ({ix}, {iy}) is {state}"
    else:
        return
    hint = _nearest_start(occupancy, occupancy.cells != 0, robot, start)
    raise ScenarioError(f"{where} {inside}; a start in free space is expected{hint}")


def _footprint(robot: RobotSpec, pose: tuple[float, float, float]) -> Any:
    if isinstance(robot.footprint, tuple):
        points = np.array(robot.footprint, float)
        c, s = math.cos(pose[2]), math.sin(pose[2])
        return shapely.Polygon(points @ np.array([[c, s], [-s, c]]) + np.array(pose[:2]))
    return shapely.Point(pose[:2]).buffer(robot.footprint, quad_segs=32)


def _offsets(
    occupancy: Occupancy, cells: NDArray[np.int64], start: tuple[float, float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = occupancy.cell_to_world(cells[:, 0], cells[:, 1])
    return x - start[0], y - start[1]


def _nearest_start(
    occupancy: Occupancy,
    blocked: NDArray[np.bool_],
    robot: RobotSpec,
    start: tuple[float, float, float],
) -> str:
    """Name the nearest place at which the robot fits however it is turned."""
    if isinstance(robot.footprint, tuple):
        radius = max(math.hypot(*corner) for corner in robot.footprint)
    else:
        radius = robot.footprint
    reach = math.ceil(radius / occupancy.resolution + 0.5)
    side = 2 * reach + 1
    if min(blocked.shape) < side:
        return ""
    # Sums over squares of cells, from sums over all that is below and left of each.
    total = np.zeros((blocked.shape[0] + 1, blocked.shape[1] + 1), np.int64)
    total[1:, 1:] = blocked.cumsum(axis=0).cumsum(axis=1)
    within = total[side:, side:] - total[:-side, side:] - total[side:, :-side]
    free = np.argwhere(within + total[:-side, :-side] == 0) + reach
    if not len(free):
        return ""
    cell = free[np.argmin(np.hypot(*_offsets(occupancy, free, start)))]
    x, y = occupancy.cell_to_world(int(cell[0]), int(cell[1]))
    return f", such as ({x:.2f}, {y:.2f})"
