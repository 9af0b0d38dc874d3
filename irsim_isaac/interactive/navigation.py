"""Driving a robot to a pose: IR-SIM's planners on a map, and following what they find."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError, MissingPackageError
from irsim_isaac.interactive.path_following import PathFollower
from irsim_isaac.interactive.simulation import Simulation

if TYPE_CHECKING:
    import shapely

    from irsim_isaac.map import Map, Occupancy
    from irsim_isaac.robot import RobotSpec

__all__ = [
    "Arrival",
    "Navigator",
    "PathNavigator",
    "Planner",
    "Stand",
    "plan_path",
    "stands_around",
]

Planner: TypeAlias = Literal["astar", "jps"]
"""IR-SIM's planners on grids."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a robot is to stand.

    Attributes:
        x: In the world [m].
        y: In the world [m].
        yaw: Where it is to look [rad].
        name: What the place is called.
    """

    x: float
    y: float
    yaw: float = 0.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a drive ended.

    Attributes:
        end: ``"arrived"``; ``"unreachable"``, no path leads there; ``"stuck"``, the robot did
            not get on; ``"late"``, its time ran out.
        text: The same as a sentence.
    """

    end: Literal["arrived", "unreachable", "stuck", "late"]
    text: str

    @property
    def there(self) -> bool:
        """Whether the robot is where it was to be."""
        return self.end == "arrived"


class Navigator(Protocol):
    """Drives one robot."""

    async def drive(self, stand: Stand, *, check: Callable[[], None], time_limit: float) -> Arrival:
        """Drive somewhere.

        Args:
            stand: Where to.
            check: Called at every step; what it raises ends the drive, the robot standing.
            time_limit: How long it may take [s].
        """
        ...

    async def rest(self, duration: float, *, check: Callable[[], None]) -> None:
        """Stand still for some time [s], at least one step."""
        ...


def plan_path(
    occupancy: Occupancy,
    start: tuple[float, float],
    goal: tuple[float, float],
    *,
    radius: float,
    clearance: float = 0.05,
    planner: Planner = "astar",
) -> NDArray[np.float64] | None:
    """Find a path with one of IR-SIM's planners on a ``Map``, and take its needless corners out.

    The map is searched with cells twice as wide and with some clearance first, and then with
    less of both, so that a narrow gap is only taken where there is no other way.

    Args:
        occupancy: The map; unknown cells are not driven on.
        start: x, y [m].
        goal: x, y [m].
        radius: Of the robot [m].
        clearance: What is kept free beside it where there is room [m].
        planner: Which planner.

    Returns:
        The corners of the path from the start to the goal [m], shape (n, 2); None where there
        is none.

    Raises:
        MissingPackageError: ``ir-sim`` is not installed.
    """
    from irsim_isaac.map import Occupancy, inflate

    if math.dist(start, goal) < 1e-6:
        return np.array([start, goal], dtype=np.float64)
    blocked = _blocked(occupancy)
    for margin, coarse in ((clearance, 2), (clearance, 1), (0.0, 1)):
        grown = inflate(blocked, radius + margin)
        # A robot that stands nearer to something than it would be led may still drive away.
        cells = _opened_at(grown, blocked, start, radius + margin)
        free = Occupancy(cells, blocked.resolution, blocked.origin).to_map()
        searched = _halved(cells, blocked) if coarse == 2 else free
        # IR-SIM's planners visit everything before they say that there is no way.
        if not _connected(searched, start, goal):
            continue
        found = _search(searched, start, goal, planner)
        if found is not None:
            return _shortened(np.array([start, *found[1:-1].tolist(), goal]), free)
    return None


def _blocked(occupancy: Occupancy) -> Occupancy:
    from irsim_isaac.map import Occupancy

    cells = np.where(occupancy.cells == 0, np.int8(0), np.int8(100))
    return Occupancy(cells, occupancy.resolution, occupancy.origin)


def _opened_at(
    grown: Occupancy, blocked: Occupancy, place: tuple[float, float], radius: float
) -> NDArray[np.int8]:
    cells: NDArray[np.int8] = grown.cells.copy()
    nx, ny = cells.shape
    x, y = blocked.cell_to_world(np.arange(nx)[:, None], np.arange(ny)[None, :])
    near = np.hypot(x - place[0], y - place[1]) <= radius + blocked.resolution
    cells[near & (blocked.cells == 0)] = 0
    return cells


def _halved(cells: NDArray[np.int8], occupancy: Occupancy) -> Map:
    """Return the map with cells of twice the side, occupied where any part of them is."""
    from irsim_isaac.map import Occupancy

    nx, ny = (-(-side // 2) for side in cells.shape)
    whole = np.full((2 * nx, 2 * ny), 100, np.int8)
    whole[: cells.shape[0], : cells.shape[1]] = cells
    coarse = whole.reshape(nx, 2, ny, 2).max(axis=(1, 3))
    return Occupancy(coarse, 2.0 * occupancy.resolution, occupancy.origin).to_map()


def _connected(searched: Map, start: tuple[float, float], goal: tuple[float, float]) -> bool:
    """Tell whether a planner's nodes lead from the start to the goal.

    The nodes lie on the corners of the cells, and one is free where the four cells about it are.
    """
    from irsim_isaac.map import Occupancy, reachable_cells

    cells: NDArray[np.int8] = np.asarray(searched.grid, dtype=np.int8)
    nodes: NDArray[np.int8] = np.full(cells.shape, 100, np.int8)
    nodes[1:, 1:] = np.maximum(
        np.maximum(cells[1:, 1:], cells[:-1, 1:]), np.maximum(cells[1:, :-1], cells[:-1, :-1])
    )
    side = searched.width / cells.shape[0]
    x, y = searched.world_offset
    lattice = Occupancy(nodes, side, (x - side / 2.0, y - side / 2.0, 0.0))
    first, last = lattice.world_to_cell(*start), lattice.world_to_cell(*goal)
    for ix, iy in (first, last):
        if not (0 <= ix < nodes.shape[0] and 0 <= iy < nodes.shape[1]):
            return False
    # Where a robot stands, it may stand.
    nodes[first] = 0
    return bool(reachable_cells(lattice, start)[last])


def _search(
    searched: Map, start: tuple[float, float], goal: tuple[float, float], planner: Planner
) -> NDArray[np.float64] | None:
    """Return the path of a planner from the start to the goal; None where it found none."""
    make = _planner(planner)
    # IR-SIM's planners print what they find.
    with contextlib.redirect_stdout(io.StringIO()) as said:
        found = make(searched).planning(
            np.array(start).reshape(2, 1), np.array(goal).reshape(2, 1), show_animation=False
        )
    points: NDArray[np.float64] = np.asarray(found, dtype=np.float64).reshape(2, -1).T[::-1]
    if "Find goal" not in said.getvalue() or len(points) < 2:
        return None
    return points


def _planner(name: Planner) -> Any:
    try:
        # The simulator imports IR-SIM without letting it choose a backend of matplotlib.
        from irsim_isaac.simulators.irsim import _import_irsim

        _import_irsim()
        from irsim.lib.path_planners import AStarPlanner, JPSPlanner
    except ImportError as error:
        raise MissingPackageError("irsim", "irsim") from error
    return {"astar": AStarPlanner, "jps": JPSPlanner}[name]


def _shortened(points: NDArray[np.float64], free: Map) -> NDArray[np.float64]:
    """Return a path without the corners that can be cut in free space."""
    kept = [0]
    while kept[-1] < len(points) - 1:
        here = kept[-1]
        # The farthest in sight, found from the end on.
        kept.append(
            next(
                (
                    there
                    for there in range(len(points) - 1, here + 1, -1)
                    if not free.is_collision(_strip(points[here], points[there]))
                ),
                here + 1,
            )
        )
    return points[kept]


def _strip(start: NDArray[np.float64], end: NDArray[np.float64]) -> shapely.Polygon:
    """Return a line with a width: one without may run between two occupied cells."""
    import shapely

    return shapely.LineString([start, end]).buffer(0.01, cap_style="flat")


class PathNavigator:
    """Plans on a map and follows the path with a robot of a simulation.

    Args:
        simulation: What is stepped.
        robot: The robot's name.
        occupancy: The map that is planned on.
        planner: Which of IR-SIM's planners.
        speed: Forward [m/s]; None for the robot's greatest.
        clearance: What is kept free beside the robot where there is room [m].
        tolerance: How near to a place is near enough [m].
        heading_tolerance: How near to a heading is near enough [rad].
        stuck_after: How long a robot may get no farther [s].
        stuck_within: What counts as getting farther [m].
        on_path: Called with each path before it is driven [m], shape (n, 2).

    Raises:
        InteractiveError: The simulation has no such robot.
    """

    def __init__(
        self,
        simulation: Simulation,
        robot: str,
        occupancy: Occupancy,
        *,
        planner: Planner = "astar",
        speed: float | None = None,
        clearance: float = 0.05,
        tolerance: float = 0.05,
        heading_tolerance: float = 0.05,
        stuck_after: float = 4.0,
        stuck_within: float = 0.03,
        on_path: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> None:
        robots = simulation.simulator.robots
        if robot not in robots:
            raise InteractiveError(
                f"the simulator '{simulation.simulator.name}' has no robot '{robot}'; "
                f"it has {', '.join(robots) or 'none'}"
            )
        self._simulation, self._name, self._occupancy = simulation, robot, occupancy
        self._spec = robots[robot]
        self._planner, self._speed, self._clearance = planner, speed, clearance
        self._tolerance, self._heading_tolerance = tolerance, heading_tolerance
        self._stuck = stuck_after, stuck_within
        self._on_path = on_path

    async def drive(self, stand: Stand, *, check: Callable[[], None], time_limit: float) -> Arrival:
        """Drive somewhere; see ``Navigator``."""
        check()
        at = self._odometry().pose.pose.position
        path = plan_path(
            self._occupancy,
            (at.x, at.y),
            (stand.x, stand.y),
            radius=_radius(self._spec),
            clearance=self._clearance,
            planner=self._planner,
        )
        where = stand.name or f"({stand.x:.2f}, {stand.y:.2f})"
        if path is None:
            return Arrival("unreachable", f"no path leads to {where}")
        if self._on_path is not None:
            self._on_path(path)
        follower = PathFollower(
            path,
            self._spec,
            heading=stand.yaw,
            speed=self._speed,
            tolerance=self._tolerance,
            heading_tolerance=self._heading_tolerance,
        )
        try:
            arrival = await self._follow(follower, where, check, time_limit)
        except InteractiveError:
            await self._simulation.step()
            raise
        # However the drive ended, the robot stands when somebody else has the turn.
        await self._simulation.step()
        return arrival

    async def _follow(
        self, follower: PathFollower, where: str, check: Callable[[], None], time_limit: float
    ) -> Arrival:
        begin = progressed = self._simulation.time
        best = math.inf
        patience, least = self._stuck
        while True:
            check()
            twist = follower.command(self._odometry())
            if follower.arrived:
                return Arrival("arrived", f"at {where}")
            now = self._simulation.time
            if follower.remaining < best - least:
                best, progressed = follower.remaining, now
            elif now - progressed > patience:
                return Arrival("stuck", f"stuck on the way to {where}")
            if now - begin > time_limit:
                return Arrival("late", f"not at {where} within {time_limit:g} s")
            await self._simulation.step({self._name: twist})

    async def rest(self, duration: float, *, check: Callable[[], None]) -> None:
        """Stand still; see ``Navigator``."""
        for _ in range(max(1, round(duration / self._simulation.simulator.step_time))):
            check()
            await self._simulation.step()

    def _odometry(self) -> Any:
        state = self._simulation.state
        return next(item.odom for item in state.objects if item.name == self._name)


def _radius(spec: RobotSpec) -> float:
    """Return how far a robot reaches from its base frame [m]."""
    if isinstance(spec.footprint, tuple):
        return max(math.hypot(*corner) for corner in spec.footprint)
    return float(spec.footprint)


def stands_around(
    corners: Sequence[tuple[float, float]], distance: float
) -> list[tuple[float, float, float]]:
    """Return places before the four sides of a rectangle: x, y [m] and the heading to it [rad].

    Args:
        corners: Of the rectangle, one after the other [m].
        distance: From its sides [m].
    """
    middle = np.mean(corners, axis=0)
    stands = []
    for first, second in zip(corners, (*corners[1:], corners[0]), strict=True):
        side = (np.array(first) + np.array(second)) / 2.0
        outward = side - middle
        length = float(np.hypot(*outward))
        place = side + outward / max(length, 1e-9) * distance
        stands.append((float(place[0]), float(place[1]), math.atan2(-outward[1], -outward[0])))
    return stands
