"""Maps beside IR-SIM's own: fog, collision, outlines, planning, coarser grids and map files."""

from __future__ import annotations

import contextlib
import io
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from shapely.geometry import LineString, Point

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac.map import (
    FogMap,
    Map,
    ObstacleMap,
    Occupancy,
    downsample_occupancy_grid,
    load_ros_map,
    save_ros_map,
)

PEER = "ir-sim 2.12.0"
CELL = 0.05


def _irsim() -> Any:
    """Import IR-SIM's maps; it prints about window systems when there is none."""
    with contextlib.redirect_stdout(io.StringIO()):
        import irsim.world.map as peer
    return peer


def _rooms(count: int = 1000, across: int = 20, up: int = 10) -> npt.NDArray[np.float64]:
    """Return closed rooms with walls of one cell; its true outline has 4 * rooms + 4 segments."""
    grid = np.zeros((count, count))
    grid[np.rint(np.linspace(0, count - 1, across + 1)).astype(int), :] = 100
    grid[:, np.rint(np.linspace(0, count - 1, up + 1)).astype(int)] = 100
    return grid


def _scan(beams: int, reach: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    random = np.random.default_rng(7)
    angles = np.linspace(-math.pi, math.pi, beams, endpoint=False)
    return angles, random.uniform(0.3 * reach, reach, beams)


@benchmark("fog_reveal_1080x30m")
def fog_reveal() -> Iterator[Row]:
    peer = _irsim()
    angles, ranges = _scan(1080, 30.0)
    poses = {
        "generic": ((50.1234, 49.8765, 0.4321), 15.0),
        "lattice": ((50.0, 50.0, 0.0), 5.0),
        "leaving": ((5.1234, 4.8765, 0.4321), 5.0),
    }
    for scene, (pose, bar) in poses.items():
        ours = FogMap(100, 100, CELL)
        theirs = peer.FogMap(100, 100, CELL)

        def clear(ours: Any = ours, theirs: Any = theirs) -> None:
            ours.reset()
            theirs.reset()

        yield compare(
            f"fog_reveal_1080x30m/{scene}",
            lambda fog=ours, pose=pose: fog.reveal_from_lidar(pose, angles, ranges),
            lambda fog=theirs, pose=pose: fog.reveal_from_lidar(pose, angles, ranges),
            peer_name=PEER,
            bar=bar,
            setup=clear,
        )


_MEMORY = """
import sys
import numpy as np
from irsim_isaac.map import FogMap

def kilobytes(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key))

size, beams, reach = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
fog = FogMap(size, size, 0.05)
fog.explored[:] = True
pose = (size / 2 + 0.0123, size / 2 - 0.0321, 0.4321)
fog.reveal_from_lidar(pose, [0.0], [1.0])
angles = np.linspace(-np.pi, np.pi, beams, endpoint=False)
ranges = np.random.default_rng(7).uniform(0.3 * reach, reach, beams)
before = kilobytes("VmRSS")
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
fog.reveal_from_lidar(pose, angles, ranges)
print("added", (kilobytes("VmHWM") - before) / 1024)
"""


def _added_megabytes(reach: float) -> float:
    """Return by how much the peak of a fresh process grows in one call; on Linux alone."""
    command = [sys.executable, "-c", _MEMORY, "100" if reach <= 10 else "220", "100000", str(reach)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("added "))
    return float(line.removeprefix("added "))


@benchmark("fog_reveal_100k_x_100m")
def fog_many_beams() -> Iterator[Row]:
    peer = _irsim()
    angles, ranges = _scan(100_000, 10.0)
    pose = (50.1234, 49.8765, 0.4321)
    ours, theirs = FogMap(100, 100, CELL), peer.FogMap(100, 100, CELL)
    yield compare(
        "fog_reveal_100k_x_100m/10m",
        lambda: ours.reveal_from_lidar(pose, angles, ranges),
        lambda: theirs.reveal_from_lidar(pose, angles, ranges),
        peer_name=PEER,
        bar=40.0,
        runs=1,
    )
    for reach in (10.0, 100.0) if sys.platform == "linux" else ():
        yield Row(
            name=f"fog_reveal_100k_x_100m/memory_{reach:.0f}m",
            value=_added_megabytes(reach),
            unit="MB added by the call",
            note="at most 64",
        )


def _both(grid: npt.NDArray[np.float64], resolution: float = CELL) -> tuple[Any, Any]:
    width, height = (count * resolution for count in grid.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            Map(width, height, resolution, grid=grid),
            _irsim().Map(width, height, resolution, grid=grid),
        )


def _asked(map_: Any, geometries: list[Any]) -> Callable[[], list[bool]]:
    return lambda: [map_.is_collision(geometry) for geometry in geometries]


@benchmark("is_collision_disc")
def collision_disc() -> Iterator[Row]:
    random = np.random.default_rng(11)
    rooms = _rooms(1000, 20, 10)
    crowded = (random.random((1000, 1000)) < 0.3) * 100.0
    scenes = {"free": (np.zeros_like(rooms), 3.0), "rooms": (rooms, 2.0), "hits": (crowded, 0.6)}
    for scene, (grid, bar) in scenes.items():
        discs = [Point(x, y).buffer(0.25) for x, y in random.uniform(0.3, 49.7, (400, 2))]
        ours, theirs = _both(grid)
        yield compare(
            f"is_collision_disc/{scene}",
            _asked(ours, discs),
            _asked(theirs, discs),
            peer_name=PEER,
            bar=bar,
            note=f"{sum(map(ours.is_collision, discs))} of 400 hit",
        )


def _diagonal_corridor(count: int = 1000) -> npt.NDArray[np.float64]:
    """Return a grid with a fifth of its cells occupied, none of them near its diagonal."""
    random = np.random.default_rng(5)
    grid = (random.random((count, count)) < 0.2) * 100.0
    i, j = np.ogrid[:count, :count]
    grid[np.abs(i - j) < 12] = 0
    return grid


@benchmark("is_collision_98k_cells")
def collision_many_cells() -> Iterator[Row]:
    grid = _diagonal_corridor()[:710, :710].copy()
    ours, theirs = _both(grid)
    line = LineString([(0.2, 0.2), (35.2, 35.2)])
    corridor = line.buffer(0.2, cap_style="flat")
    for name, geometry in (("line", line), ("corridor", corridor)):
        yield compare(
            f"is_collision_98k_cells/{name}",
            lambda geometry=geometry: ours.is_collision(geometry),
            lambda geometry=geometry: theirs.is_collision(geometry),
            peer_name=PEER,
            bar=150.0,
            runs=3,
            note=f"{int((grid > 50).sum())} occupied cells, answer {ours.is_collision(geometry)}",
        )


@benchmark("obstacle_map_rooms_1000")
def obstacle_map() -> Iterator[Row]:
    peer = _irsim()
    random = (np.random.default_rng(3).random((1000, 1000)) < 0.05) * 100.0
    sides = np.array([[CELL], [CELL]])
    for scene, grid, bar in (("rooms", _rooms(), 300.0), ("random", random, 15.0)):
        centres = (np.array(np.nonzero(grid > 50)) + 0.5) * CELL
        shape = {"name": "map", "points": centres, "reso": sides}
        options: dict[str, Any] = {"grid_map": grid, "grid_reso": sides, "world_offset": [0, 0]}
        made = ObstacleMap(shape, **options)
        segments = sum(len(line.coords) - 1 for line in made.linestrings)
        yield compare(
            f"obstacle_map_rooms_1000/{scene}",
            lambda shape=shape, options=options: ObstacleMap(shape, **options),
            lambda shape=shape, options=options: peer.ObstacleMap(shape, **options),
            peer_name=PEER,
            bar=bar,
            runs=3,
            note=f"{int((grid > 50).sum())} occupied cells, {segments} segments",
        )


class _Recording:
    """A map that keeps what it is asked."""

    def __init__(self, map_: Any) -> None:
        self._map = map_
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._map, name)

    def is_collision(self, geometry: Any) -> bool:
        self.asked.append(geometry)
        return bool(self._map.is_collision(geometry))


@benchmark("astar_200_collision")
def astar() -> Iterator[Row]:
    peer = _irsim()
    with contextlib.redirect_stdout(io.StringIO()):
        from irsim.lib.path_planners import AStarPlanner
    grid = peer.PerlinGridGenerator(200, 200, fill=0.2, seed=4).generate().grid
    grid[:30, :30] = grid[-30:, -30:] = 0
    ours, theirs = _both(grid, 0.1)
    recording = _Recording(theirs)
    start, goal = np.array([[1.0], [1.0]]), np.array([[19.0], [19.0]])

    def plan(map_: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            return AStarPlanner(map_).planning(start, goal, show_animation=False)

    plan(recording)
    asked = recording.asked
    answers = _asked(ours, asked)(), _asked(theirs, asked)()
    differing = sum(a != b for a, b in zip(*answers, strict=True))
    yield compare(
        "astar_200_collision/is_collision",
        _asked(ours, asked),
        _asked(theirs, asked),
        peer_name=PEER,
        bar=1.5,
        runs=2,
        note=f"{len(asked)} calls, {differing} answers differ: the exact square against the disc",
    )
    same = np.array_equal(plan(ours), plan(theirs))
    yield compare(
        "astar_200_collision/whole_run",
        lambda: plan(ours),
        lambda: plan(theirs),
        peer_name=PEER,
        bar=1.0,
        runs=1,
        note="same path" if same else "another path",
    )


class _Robot:
    """What sampling planners read of a robot."""

    original_geometry = Point(0, 0).buffer(0.2)
    radius = 0.2


@benchmark("planner_runs")
def planners() -> Iterator[Row]:
    with contextlib.redirect_stdout(io.StringIO()):
        from irsim.lib import path_planners
        from irsim.util.random import set_seed
    grid = np.zeros((40, 40))
    grid[12, :30] = grid[26, 10:] = 100
    ours, theirs = _both(grid, 0.25)
    column = (np.array([[1.0], [1.0], [0.0]]), np.array([[9.0], [9.0], [0.0]]))
    row = ([1.0, 1.0, 0.0], [9.0, 9.0, 0.0])
    kinds: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "AStar": (path_planners.AStarPlanner, (column[0][:2], column[1][:2])),
        "JPS": (path_planners.JPSPlanner, (column[0][:2], column[1][:2])),
        "RRT": (lambda map_: path_planners.RRT(map_, _Robot(), max_iter=2000), row),
        "RRTStar": (lambda map_: path_planners.RRTStar(map_, _Robot(), max_iter=1000), row),
        "PRM": (lambda map_: path_planners.PRMPlanner(map_, 0.2, n_sample=200), column),
    }

    def plan(name: str, map_: Any) -> Any:
        make, ends = kinds[name]
        set_seed(3)
        options = {"rng": np.random.default_rng(3)} if name == "PRM" else {}
        with contextlib.redirect_stdout(io.StringIO()):
            return make(map_).planning(*ends, show_animation=False, **options)

    for name in kinds:
        found = [plan(name, map_) is not None for map_ in (ours, theirs)]
        yield compare(
            f"planner_runs/{name}",
            lambda name=name: plan(name, ours),
            lambda name=name: plan(name, theirs),
            peer_name=PEER,
            runs=5,
            note=f"whole runs; a path found on ours: {found[0]}, on the peer's: {found[1]}",
        )


@benchmark("downsample_4000_to_2000")
def coarser() -> Iterator[Row]:
    with contextlib.redirect_stdout(io.StringIO()):
        from irsim.world.map import _downsample_occupancy_grid
    grid = (np.random.default_rng(2).random((4000, 4000)) < 0.05) * 100.0
    part = grid[:, :400]
    for name, target, bar in (("whole_factor", 0.1, 200.0), ("other_factor", 0.11, 40.0)):
        yield compare(
            f"downsample_4000_to_2000/{name}",
            lambda target=target: downsample_occupancy_grid(grid, 200.0, 200.0, target),
            lambda target=target: _downsample_occupancy_grid(part, 200.0, 20.0, target),
            peer_name=PEER,
            bar=bar,
            runs=3,
            scale=10.0,
            note="the peer on a tenth of the columns, its time multiplied by 10",
        )


def _plain_load(path: Path) -> npt.NDArray[np.int8]:
    """Read a map file in the plainest way, in ``grid[ix, iy]`` order."""
    import yaml
    from PIL import Image

    header = yaml.safe_load(path.read_text())
    pixels = np.array(Image.open(path.parent / header["image"]))
    share = (255 - pixels) / 255
    cells = np.full(pixels.shape, -1, dtype=np.int8)
    cells[share >= header["occupied_thresh"]] = 100
    cells[share <= header["free_thresh"]] = 0
    return np.ascontiguousarray(cells[::-1].T)


@benchmark("ros_map_load_4000")
def map_file() -> Iterator[Row]:
    random = np.random.default_rng(1)
    cells = np.repeat(np.repeat(random.choice([0, 100, -1], (80, 80)), 50, 0), 50, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.yaml"
        for image_format in ("pgm", "png"):
            save_ros_map(Occupancy(cells.astype(np.int8), CELL), path, image_format=image_format)
            assert np.array_equal(load_ros_map(path).cells, _plain_load(path))
            yield compare(
                f"ros_map_load_4000/{image_format}",
                lambda: load_ros_map(path),
                lambda: _plain_load(path),
                peer_name="PIL and numpy, the plainest way",
                bar=2.0,
                runs=5,
            )
