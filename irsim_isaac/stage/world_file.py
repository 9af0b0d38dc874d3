"""Reading IR-SIM's world files."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import yaml

from irsim_isaac.errors import IrsimIsaacError, StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.map import BuildReport, Occupancy, Omission
from irsim_isaac.robot import Footprint, Kinematics, LidarMount, RobotSpec
from irsim_isaac.stage.footprints import simple_polygons
from irsim_isaac.stage.obstacles import Obstacle, Ring, placed
from irsim_isaac.stage.world import Pose, World

__all__ = ["read_world"]

_SECTIONS = ("world", "gui", "robot", "obstacle", "custom")
_KINEMATICS: tuple[Kinematics, ...] = ("diff", "omni", "omni_angular", "acker")
_READ = {
    "world": {
        "width", "height", "offset", "step_time", "obstacle_map", "mdownsample", "fog_map",
        "fog_map_resolution", "sample_time",
    },
    "robot": {
        "name", "number", "distribution", "kinematics", "shape", "state", "goal", "vel_max", "acce",
        "mass", "sensors",
    },
    "obstacle": {
        "name", "number", "distribution", "kinematics", "shape", "state", "velocity", "mass",
        "friction", "static",
    },
}  # fmt: skip
"""The keys that a stage has a place for; what else a file says is named in the report."""

_FARTHEST = 1e9
"""No length or place of a world is farther [m]; what is, is a slip of the keyboard."""

_MOST = 100_000
"""The most objects of one group."""

_UNREADABLE = (
    AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError,
    shapely.errors.ShapelyError,
)  # fmt: skip
"""What becomes of a value of another kind than IR-SIM's, wherever it is used."""

_PER_OBJECT = ("mass", "friction", "inertia", "restitution")


def read_world(path: str | os.PathLike[str], *, seed: int | None = None) -> World:
    """Read a world file of IR-SIM.

    Shapes, states, numbers of objects and their manual and circular distributions, goals,
    sensors, map images and generated maps mean what they mean to IR-SIM. What has no place
    in a stage (behaviours, plots, the graphical interface) is named in the report.

    Args:
        path: The YAML file; its sections may stand under the key ``irsim``.
        seed: For random shapes and distributions, drawn by numpy and not as IR-SIM draws them;
            without one they are refused.

    Returns:
        The world.

    Raises:
        StageError: The file is missing or is no world.
    """
    file = Path(path)
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise StageError(f"{file}: {error.strerror}, an IR-SIM world was expected") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise StageError(f"{file}: not YAML: {' '.join(str(error).split())}") from error
    if isinstance(content, dict) and isinstance(content.get("irsim"), dict):
        content = content["irsim"]
    if not isinstance(content, dict):
        raise StageError(f"{file}: a mapping with 'world', 'robot', 'obstacle' was expected")
    for key in content:
        if key not in _SECTIONS:
            raise StageError(f"{file}: unknown key '{key}', expected {', '.join(_SECTIONS)}")
    return _Reader(file, content, seed).read()


class _Reader:
    """One world file."""

    def __init__(self, file: Path, content: Mapping[str, Any], seed: int | None) -> None:
        self.file = file
        self.content = content
        self.rng = None if seed is None else np.random.default_rng(seed)
        self.omissions: list[Omission] = []
        self.names: set[str] = set()
        world = content.get("world") or {}
        if not isinstance(world, dict):
            raise self.fail("world", f"found {world!r}, expected a mapping")
        self.world = world
        self.width = self.positive(world, "width", "world", 10.0)
        self.height = self.positive(world, "height", "world", 10.0)
        with self.reading("world.offset"):
            x, y = (world.get("offset") or [0.0, 0.0])[:2]
            self.offset = (_metres(x), _metres(y))
        custom = content.get("custom")
        own = custom.get("irsim_isaac") if isinstance(custom, dict) else None
        self.own: Mapping[str, Any] = own if isinstance(own, dict) else {}

    def fail(self, where: str, what: str) -> StageError:
        return StageError(f"{self.file}: {where}: {what}")

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """Tell of a value that is of another kind than IR-SIM's by the place that it is in."""
        try:
            yield
        except StageError:
            raise
        except IrsimIsaacError as error:
            raise self.fail(where, str(error)) from error
        except _UNREADABLE as error:
            told = " ".join(str(error).split())
            raise self.fail(where, f"a value cannot be read: {told}") from error

    def told(self, key: str, name: str) -> Any:
        """Return what this project wrote of an object beyond IR-SIM's own keys, or None."""
        section = self.own.get(key)
        return section.get(name) if isinstance(section, dict) else None

    def number(self, section: Mapping[str, Any], key: str, where: str, default: float) -> float:
        value = section.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(f"{where}.{key}", f"found {value!r}, expected a number")
        with self.reading(f"{where}.{key}"):
            return _metres(value)

    def positive(self, section: Mapping[str, Any], key: str, where: str, default: float) -> float:
        value = self.number(section, key, where, default)
        if value <= 0.0:
            raise self.fail(f"{where}.{key}", f"found {value:g}, expected a positive number")
        return value

    def read(self) -> World:
        robots: list[RobotSpec] = []
        starts: dict[str, Pose] = {}
        goals: dict[str, tuple[Pose, ...]] = {}
        obstacles: list[Obstacle] = []
        for role in ("robot", "obstacle"):
            groups = self.content.get(role) or []
            for number, group in enumerate(groups if isinstance(groups, list) else [groups]):
                where = f"{role}[{number}]"
                if not isinstance(group, dict):
                    raise self.fail(where, f"found {group!r}, expected a mapping")
                self.name_unread(group, role, where)
                with self.reading(where):
                    for item in self.expand(group, where):
                        name = self.name(item, role)
                        kinematics = self.kinematics(item, where)
                        if role == "robot" and kinematics is not None:
                            robots.append(self.robot(item, name, kinematics, where))
                            starts[name] = _pose(item["state"])
                            goal = self.goals(item, where)
                            if goal:
                                goals[name] = goal
                        else:
                            obstacles.append(self.obstacle(item, name, where))
        self.name_unread(self.world, "world", "world")
        with self.reading("world.obstacle_map"):
            grid = self.grid()
        fog = None
        if self.world.get("fog_map"):
            fallback = grid.resolution if grid is not None else 0.1
            fog = self.positive(self.world, "fog_map_resolution", "world", fallback)
        if self.content.get("gui"):
            self.omissions.append(Omission("gui", "interface", "a stage has no place for it"))
        return World(
            width=self.width,
            height=self.height,
            offset=self.offset,
            step_time=self.positive(self.world, "step_time", "world", 0.1),
            obstacles=tuple(obstacles),
            robots=tuple(robots),
            starts=starts,
            goals=goals,
            grid=grid,
            fog_resolution=fog,
            report=BuildReport(
                omissions=tuple(self.omissions), parameters={"world": str(self.file)}
            ),
        )

    def name_unread(self, section: Mapping[str, Any], kind: str, where: str) -> None:
        """Name what a section says and a stage has no place for."""
        self.omissions += [
            Omission(f"{where}.{key}", "unread", "a stage has no place for it")
            for key in section
            if key not in _READ[kind]
            and not (key == "collision_mode" and section[key] == "contact")
        ]

    def name(self, item: Mapping[str, Any], role: str) -> str:
        given = item.get("name")
        name = str(given) if given else f"{role}_{len(self.names)}"
        count = 1
        base = name
        while name in self.names:
            count += 1
            name = f"{base}_{count}"
        self.names.add(name)
        return name

    def expand(self, group: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
        """Return the objects of a group, each with its own values."""
        number = group.get("number", 1)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MOST:
            raise self.fail(f"{where}.number", f"found {number!r}, expected 0 to {_MOST:,}")
        states, goals = self.states(group, number, where)
        items = []
        for index in range(number):
            item = {
                key: _one_of(value, index, per_object=key in _PER_OBJECT)
                for key, value in group.items()
                if key not in ("number", "distribution", "state", "goal", "sensors")
            }
            sensors = group.get("sensors") or []
            item["sensors"] = _one_of(sensors, index) if _nested(sensors) else sensors
            item["state"], item["goal"] = states[index], goals[index]
            items.append(item)
        return items

    def states(
        self, group: Mapping[str, Any], number: int, where: str
    ) -> tuple[list[Any], list[Any]]:
        distribution = group.get("distribution") or {"name": "manual"}
        kind = distribution.get("name")
        if kind == "manual":
            state, goal = group.get("state", [1, 1, 0]), group.get("goal")
            return (
                [_one_of(state, index) for index in range(number)],
                [_one_of(goal, index) for index in range(number)],
            )
        middle = (self.offset[0] + self.width / 2.0, self.offset[1] + self.height / 2.0)
        if kind == "circle":
            center = distribution.get("center", middle)
            radius = _metres(distribution.get("radius", min(self.width, self.height) / 2.0 - 0.5))
            angles = [2.0 * math.pi * index / number for index in range(number)]
            around = [(math.cos(angle) * radius, math.sin(angle) * radius) for angle in angles]
            cx, cy = _metres(center[0]), _metres(center[1])
            return (
                [[cx + x, cy + y, a - math.pi] for (x, y), a in zip(around, angles, strict=True)],
                [[cx - x, cy - y, a - math.pi] for (x, y), a in zip(around, angles, strict=True)],
            )
        if kind == "random":
            low = distribution.get(
                "range_low", [self.offset[0] + 0.5, self.offset[1] + 0.5, -math.pi]
            )
            high = distribution.get(
                "range_high",
                [
                    self.offset[0] + self.width - 0.5,
                    self.offset[1] + self.height - 0.5,
                    math.pi,
                ],
            )
            apart = float(distribution.get("min_distance", 1.0))
            return (
                self.scattered(low, high, number, apart, where),
                self.scattered(low, high, number, apart, where),
            )
        raise self.fail(f"{where}.distribution", f"'{kind}', expected manual, circle or random")

    def scattered(
        self, low: Sequence[float], high: Sequence[float], number: int, apart: float, where: str
    ) -> list[list[float]]:
        if self.rng is None:
            raise self.fail(where, "is scattered at random: give a seed, or states")
        found: list[list[float]] = []
        for _ in range(1000 * number):
            if len(found) == number:
                break
            place = self.rng.uniform(low, high).tolist()
            if all(math.dist(place[:2], other[:2]) >= apart for other in found):
                found.append(place)
        if len(found) < number:
            raise self.fail(where, f"{number} places {apart:g} m apart do not fit its range")
        return found

    def kinematics(self, item: Mapping[str, Any], where: str) -> Kinematics | None:
        section = item.get("kinematics") or {}
        name = section.get("name")
        if name is None or str(name).lower() == "static":
            return None
        for known in _KINEMATICS:
            if str(name).lower() == known:
                return known
        raise self.fail(f"{where}.kinematics", f"'{name}', expected {', '.join(_KINEMATICS)}")

    def goals(self, item: Mapping[str, Any], where: str) -> tuple[Pose, ...]:
        goal = item.get("goal")
        if goal is None:
            return ()
        try:
            return tuple(_pose(entry) for entry in (goal if _nested(goal) else [goal]))
        except (TypeError, ValueError, IndexError) as error:
            raise self.fail(f"{where}.goal", f"found {goal!r}, expected x, y, yaw") from error

    def robot(
        self, item: Mapping[str, Any], name: str, kinematics: Kinematics, where: str
    ) -> RobotSpec:
        area, radius, lines = self.shape(item.get("shape"), where)
        if lines:
            raise self.fail(f"{where}.shape", "a robot is an area, found a line")
        footprint: Footprint
        if radius is not None:
            footprint = radius
            half = radius
        else:
            hull = area if area.geom_type == "Polygon" else shapely.convex_hull(area)
            if area.geom_type != "Polygon" or hull.interiors:
                self.omissions.append(Omission(name, "shape", "its pieces became their hull"))
                hull = shapely.convex_hull(area)
            footprint = tuple((float(x), float(y)) for x, y in np.array(hull.exterior.coords)[:-1])
            _, low_y, _, high_y = hull.bounds
            half = min(high_y, -low_y) if low_y < 0.0 < high_y else (high_y - low_y) / 2.0
        section = item.get("kinematics") or {}
        wheelbase = None
        if kinematics == "acker":
            wheelbase = (
                section.get("wheelbase") or (item.get("shape") or {}).get("wheelbase") or 1.0
            )
            wheelbase = float(wheelbase)
        limits = item.get("vel_max") or [1.0, 1.0]
        rates = item.get("acce") or [math.inf, math.inf]
        v = abs(float(limits[0])) or 1.0
        second = abs(float(limits[-1])) or 1.0
        w = second if kinematics != "omni" else 1.0
        if kinematics == "acker" and wheelbase:
            w = v * math.tan(min(second, 1.5)) / wheelbase
        told = self.told("robots", name) or {}
        return RobotSpec(
            name=name,
            kinematics=kinematics,
            footprint=footprint,
            height=float(told.get("height", 0.3)),
            wheel_radius=float(told.get("wheel_radius", round(min(0.1, 0.4 * half), 6))),
            track=float(told.get("track", round(1.6 * half, 6))),
            wheelbase=wheelbase,
            mass=float(item.get("mass") or 20.0),
            max_linear_speed=v,
            max_angular_speed=w,
            max_linear_acceleration=float(rates[0]),
            max_angular_acceleration=math.inf if kinematics == "acker" else float(rates[-1]),
            lidars=self.lidars(item, name, told.get("lidars") or []),
        )

    def lidars(
        self, item: Mapping[str, Any], name: str, told: Sequence[Mapping[str, Any]]
    ) -> tuple[LidarMount, ...]:
        mounts: list[LidarMount] = []
        for sensor in item.get("sensors") or []:
            kind = sensor.get("name") or sensor.get("type")
            if kind not in ("lidar2d", "fmcw_lidar2d"):
                self.omissions.append(Omission(f"{name}.{kind}", "sensor", "is no lidar"))
                continue
            own = told[len(mounts)] if len(mounts) < len(told) else {}
            label = str(own.get("name", f"lidar_{len(mounts) + 1}" if mounts else "lidar"))
            profile = LidarProfile.from_irsim(sensor, name=str(own.get("profile", label)))
            x, y, _ = sensor.get("offset") or [0.0, 0.0, 0.0]
            z = float(own.get("z", 0.35))
            mounts.append(LidarMount(profile, name=label, x=float(x), y=float(y), z=z))
        return tuple(mounts)

    def obstacle(self, item: Mapping[str, Any], name: str, where: str) -> Obstacle:
        area, radius, lines = self.shape(item.get("shape"), where)
        pose = _pose(item["state"])
        mass = item.get("mass")
        driven = self.kinematics(item, where) is not None
        finite = mass is not None and math.isfinite(float(mass))
        moves = (driven or finite) and not item.get("static")
        if driven:
            self.omissions.append(
                Omission(f"{name}.kinematics", "behavior", "an obstacle is pushed, not driven")
            )
        velocity = [float(value) for value in item.get("velocity") or []]
        velocity += [0.0] * (3 - len(velocity))
        friction = item.get("friction")
        return Obstacle(
            name=name,
            polygons=tuple(_ring(piece) for piece in simple_polygons(area)),
            lines=lines,
            radius=radius,
            pose=pose,
            mass=(float(mass) if finite and mass is not None else 1.0) if moves else None,
            height=float(self.told("heights", name) or 0.0),
            label=str(self.told("labels", name) or ""),
            velocity=(velocity[0], velocity[1], velocity[2]) if moves else (0.0, 0.0, 0.0),
            friction=None if friction is None else float(friction),
        )

    def shape(
        self, shape: Any, where: str
    ) -> tuple[shapely.Geometry, float | None, tuple[Ring, ...]]:
        """Return an area, or the radius of a disc about the origin, or lines."""
        where = f"{where}.shape"
        if shape is None:
            return shapely.Polygon(), 1.0, ()
        if not isinstance(shape, dict):
            raise self.fail(where, f"found {shape!r}, expected a mapping")
        kind = str(shape.get("name", "circle")).lower()
        if shape.get("random_shape"):
            raise self.fail(where, "a random shape has no footprint to write; give its vertices")
        if kind == "circle":
            radius = self.number(shape, "radius", where, 0.2)
            x, y = (_metres(value) for value in shape.get("center") or (0.0, 0.0))
            x += self.number(shape, "wheelbase", where, 0.0) / 2.0
            if x == 0.0 and y == 0.0:
                return shapely.Polygon(), radius, ()
            return shapely.Point(x, y).buffer(radius, quad_segs=16), None, ()
        if kind == "rectangle":
            length = self.number(shape, "length", where, 1.0)
            width = self.number(shape, "width", where, 1.0)
            ahead = self.number(shape, "wheelbase", where, 0.0) / 2.0
            return (
                shapely.box(ahead - length / 2.0, -width / 2.0, ahead + length / 2.0, width / 2.0),
                None,
                (),
            )
        if kind in ("polygon", "linestring"):
            square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
            vertices = shape.get("vertices", square if kind == "polygon" else ())
            try:
                ring = tuple((_metres(x), _metres(y)) for x, y in vertices)
                if kind == "linestring":
                    return shapely.Polygon(), None, (ring,)
                polygon = shapely.Polygon(ring)
            except (TypeError, ValueError) as error:
                raise self.fail(f"{where}.vertices", " ".join(str(error).split())) from error
            if not polygon.is_valid:
                # What IR-SIM does with an invalid polygon.
                self.omissions.append(Omission(where, "shape", "crosses itself; its bounding box"))
                polygon = shapely.envelope(shapely.make_valid(polygon))
            return polygon, None, ()
        if kind == "compound":
            areas = []
            for number, part in enumerate(shape.get("parts") or []):
                own, disc, lines = self.shape(part, f"{where}.parts[{number}]")
                if lines:
                    raise self.fail(f"{where}.parts[{number}]", "a line is no part of a compound")
                if disc is not None:
                    own = shapely.Point(0.0, 0.0).buffer(disc, quad_segs=16)
                areas.append(placed(own, _pose(part.get("pose") or [0.0, 0.0, 0.0])))
            if not areas:
                raise self.fail(f"{where}.parts", "a compound needs a part")
            return shapely.union_all(areas), None, ()
        raise self.fail(
            where, f"'{kind}', expected circle, rectangle, polygon, linestring or compound"
        )

    def grid(self) -> Occupancy | None:
        """Return the occupancy of the world's map."""
        source = self.world.get("obstacle_map")
        if source is None:
            return None
        spec = {"name": "image", "path": source} if isinstance(source, str) else source
        if not isinstance(spec, dict) or not spec.get("name"):
            raise self.fail("world.obstacle_map", f"found {source!r}, expected a path or a name")
        from irsim_isaac.map import build_grid_from_generator, resolve_obstacle_map

        if spec["name"] == "image":
            image = Path(str(spec.get("path")))
            beside = self.file.parent / image
            if not image.is_absolute() and beside.is_file():
                image = beside
            if not image.is_file():
                raise self.fail("world.obstacle_map", f"there is no image '{image}'")
            values = resolve_obstacle_map({"name": "image", "path": str(image)})
        else:
            values = build_grid_from_generator(
                spec, world_width=self.width, world_height=self.height
            )
        step = int(self.world.get("mdownsample", 1))
        occupied = np.asarray(values)[::step, ::step] > 50
        nx, ny = occupied.shape
        resolution = self.width / nx
        if abs(resolution - self.height / ny) > 1e-6 * resolution:
            warnings.warn(
                f"{self.file}: the cells of its map are {resolution:g} m by "
                f"{self.height / ny:g} m; they are taken as squares",
                stacklevel=2,
            )
        return Occupancy(
            np.where(occupied, 100, 0).astype(np.int8), resolution, (*self.offset, 0.0)
        )


def _nested(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _one_of(value: Any, index: int, *, per_object: bool = False) -> Any:
    """Return an object's own value: its entry of a list of values, else the value for all."""
    if not isinstance(value, list) or not value:
        return value
    numbers = all(isinstance(entry, (int, float)) for entry in value)
    if numbers and not per_object:
        return value
    return value[min(index, len(value) - 1)]


def _metres(value: Any) -> float:
    number = float(value)
    if not abs(number) <= _FARTHEST:
        raise ValueError(f"found {number}, expected a number of at most {_FARTHEST:g}")
    return number


def _pose(state: Sequence[float]) -> Pose:
    values = [_metres(value) for value in state[:3]] + [0.0] * (3 - len(state[:3]))
    return values[0], values[1], values[2]


def _ring(polygon: shapely.Polygon) -> Ring:
    return tuple((float(x), float(y)) for x, y in np.array(polygon.exterior.coords)[:-1])
