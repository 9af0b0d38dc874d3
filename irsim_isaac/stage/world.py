"""A stage as an IR-SIM world: obstacles, robots with their lidars, and a file that IR-SIM runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import shapely
import yaml
from PIL import Image

from irsim_isaac import __version__
from irsim_isaac.errors import StageError
from irsim_isaac.files import write_bytes, write_text
from irsim_isaac.map import CELL_LIMIT, BuildReport, Occupancy, Omission
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.stage.geometry import Geometry, Source, read_geometry
from irsim_isaac.stage.names import BOUNDS_ATTRIBUTE
from irsim_isaac.stage.obstacles import LowObject, Obstacle, Ring, merged_obstacles, read_obstacles
from irsim_isaac.stage.occupancy import build_occupancy, check_bounds
from irsim_isaac.stage.opening import stage_overrides
from irsim_isaac.stage.provenance import geometry_digest
from irsim_isaac.stage.robots import robot_goals, robot_specs, robot_starts
from irsim_isaac.stage.units import assumed_units
from irsim_isaac.stage.usd import Usd

__all__ = ["Mode", "ObstacleForm", "World", "build_world", "map_world"]

Mode: TypeAlias = Literal["band", "lidar"]
"""Which heights make an obstacle: the whole band, or the plane of the lidar alone."""

ObstacleForm: TypeAlias = Literal["polygons", "map", "both"]
"""How standing obstacles are written: as polygons, as the image of a grid, or both."""

Pose: TypeAlias = tuple[float, float, float]
Unknown: TypeAlias = Literal["free", "occupied", "keep"]

_MARGIN = 0.5
"""Kept free round the outermost obstacle and robot [m]."""

_STEP = 0.1
"""Worlds begin and end on whole multiples of this [m] where no grid says otherwise."""


@dataclass(frozen=True, slots=True)
class World:
    """What an IR-SIM world file says.

    Attributes:
        width: Along x [m].
        height: Along y [m].
        offset: x and y of the corner with least x and y [m].
        step_time: Of one step [s].
        obstacles: What stands and what is pushed about.
        robots: The robots.
        starts: Where each robot starts: x, y [m] and yaw [rad] by name.
        goals: Where robots are to go, by name, one or several each.
        grid: The occupancy that is written as an image; None for none.
        unknown: What an unknown cell of the grid becomes in the image: white, black, or the
            grey of map files, which IR-SIM takes for free.
        fog_resolution: The side of a cell of IR-SIM's fog [m]; None for no fog.
        low: What stands on the floor below the band: no obstacle, and yet not empty ground.
        report: What was left out, warnings and the parameters of the build.
    """

    width: float
    height: float
    offset: tuple[float, float] = (0.0, 0.0)
    step_time: float = 0.1
    obstacles: tuple[Obstacle, ...] = ()
    robots: tuple[RobotSpec, ...] = ()
    starts: Mapping[str, Pose] = field(default_factory=dict)
    goals: Mapping[str, tuple[Pose, ...]] = field(default_factory=dict)
    grid: Occupancy | None = None
    unknown: Unknown = "occupied"
    fog_resolution: float | None = None
    low: tuple[LowObject, ...] = ()
    report: BuildReport = field(default_factory=BuildReport)

    def to_irsim(self, *, image: str = "map.png", wrapped: bool = False) -> dict[str, Any]:
        """Return the content of the world file.

        Args:
            image: The path of the grid's image, where there is a grid.
            wrapped: Put all under the key ``irsim``, so that the file has room for others.
        """
        world: dict[str, Any] = {
            "width": self.width,
            "height": self.height,
            "offset": list(self.offset),
            "step_time": self.step_time,
            "sample_time": self.step_time,
            "collision_mode": "contact",
        }
        if self.grid is not None:
            world["obstacle_map"] = image
        if self.fog_resolution is not None:
            world["fog_map"] = True
            world["fog_map_resolution"] = self.fog_resolution
        content: dict[str, Any] = {"world": world}
        if self.robots:
            content["robot"] = [self._robot(spec) for spec in self.robots]
        sections = [section for item in self.obstacles for section in _obstacle_sections(item)]
        if sections:
            content["obstacle"] = sections
        content["custom"] = {"irsim_isaac": self._custom()}
        return {"irsim": content} if wrapped else content

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        wrapped: bool = False,
        image: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write ``world.yaml``, and ``map.png`` where the world has a grid.

        Args:
            directory: The folder to write to; it is made when missing.
            wrapped: Put all under the key ``irsim``, so that one file serves another simulator
                as well.
            image: By which path the world names its image; without it the absolute one, since
                IR-SIM looks in the working folder and beside the running script, not beside
                the world file.

        Returns:
            The path of ``world.yaml``.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        written = folder / "map.png"
        if self.grid is not None:
            write_bytes(written, _grid_image(self.grid, self.unknown))
        name = os.fspath(image if image is not None else written.resolve())
        path = folder / "world.yaml"
        write_text(path, _dump(self.to_irsim(image=name, wrapped=wrapped)))
        return path

    def _robot(self, spec: RobotSpec) -> dict[str, Any]:
        section: dict[str, Any] = {
            "name": spec.name,
            "kinematics": {"name": spec.kinematics},
            "shape": _robot_shape(spec),
            "state": [*self.starts[spec.name]],
            "mass": spec.mass,
        }
        v, w = spec.max_linear_speed, spec.max_angular_speed
        dv, dw = spec.max_linear_acceleration, spec.max_angular_acceleration
        if spec.kinematics == "diff":
            limits, rates = [v, w], [dv, dw]
        elif spec.kinematics == "omni":
            limits, rates = [v, v], [dv, dv]
        elif spec.kinematics == "omni_angular":
            limits, rates = [v, v, w], [dv, dv, dw]
        else:
            section["kinematics"]["wheelbase"] = spec.wheelbase
            section["state"].append(0.0)
            steer = math.atan2(w * (spec.wheelbase or 0.0), v)
            limits, rates = [v, round(steer, 9)], [dv, math.inf]
        section["vel_max"] = limits
        section["vel_min"] = [-limit for limit in limits]
        if all(map(math.isfinite, rates)):
            section["acce"] = rates
        goals = self.goals.get(spec.name, ())
        if goals:
            # One list more than one would think: IR-SIM takes the outer one for one of objects.
            way = [list(goal) for goal in goals]
            section["goal"] = [way] if len(way) > 1 else way[0]
        if spec.lidars:
            section["sensors"] = [_lidar(mount) for mount in spec.lidars]
        return section

    def _custom(self) -> dict[str, Any]:
        """Return what IR-SIM hands back untouched: where all of this came from."""
        prims = {item.name: item.prim_path for item in self.obstacles if item.prim_path}
        labels = {item.name: item.label for item in self.obstacles if item.label}
        heights = {item.name: item.height for item in self.obstacles if item.height}
        custom: dict[str, Any] = {
            "version": __version__,
            **{key: _plain(value) for key, value in self.report.parameters.items()},
        }
        robots = {spec.name: _beyond_irsim(spec) for spec in self.robots}
        for key, value in (
            ("prims", prims),
            ("labels", labels),
            ("heights", heights),
            ("robots", robots),
        ):
            if value:
                custom[key] = value
        return custom


def build_world(
    stage: Usd.Stage,
    *,
    robots: Sequence[RobotSpec] | None = None,
    starts: Mapping[str, Pose] | None = None,
    goals: Mapping[str, Sequence[Pose]] | None = None,
    occupancy: Occupancy | None = None,
    obstacles: ObstacleForm = "polygons",
    mode: Mode = "band",
    height: tuple[float, float] = (0.1, 0.62),
    lidar_height: float | None = None,
    floor: float = 0.0,
    bounds: tuple[float, float, float, float] | None = None,
    geometry: Source | Geometry = "visual",
    seeds: Sequence[tuple[float, float]] = (),
    tolerance: float = 0.005,
    merge: bool = False,
    step_time: float = 0.1,
    fog_resolution: float | None = None,
    unknown: Unknown = "occupied",
    progress: Callable[[int, int, str], None] | None = None,
) -> World:
    """Turn a stage into an IR-SIM world.

    Args:
        stage: The stage.
        robots: The robots; without them those of ``robot_specs``.
        starts: Where robots start, by name; without one, where the stage says.
        goals: Where robots are to go, by name; without one, where the stage says.
        occupancy: The grid to write as the map's image, whose bounds are the world's; built
            from the stage where one is needed and none is given.
        obstacles: How standing obstacles are written. What can be pushed about is always an
            object.
        mode: ``"band"`` takes all that lies in the height band, which is what stops a robot;
            ``"lidar"`` takes what a lidar sees in its plane.
        height: The band above the floor [m].
        lidar_height: The plane above the floor [m] for ``"lidar"``; without it that of the
            first lidar of the first robot.
        floor: The height of the floor [m].
        bounds: x_min, y_min, x_max, y_max [m]; without them those of the grid, else what the
            attribute ``irsim:bounds`` of the stage's default prim says, else of what is in the
            band.
        geometry: Which surfaces to read, or surfaces that were read.
        seeds: Places [m] known to be inside rooms; those where robots start are taken too.
        tolerance: How far a simplified outline may lie from the exact one [m].
        merge: Join standing obstacles that overlap or touch; fewer edges, fewer names.
        step_time: Of one step [s].
        fog_resolution: The side of a cell of IR-SIM's fog [m]; None for no fog.
        unknown: What an unknown cell becomes in the map's image.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The world.

    Raises:
        StageError: A robot has no start, or the parameters do not fit together.
    """
    specs = tuple(robot_specs(stage) if robots is None else robots)
    places = {**robot_starts(stage), **(starts or {})}
    _check_starts(specs, places)
    _check_times_and_fog(step_time, fog_resolution)
    if bounds is not None:
        check_bounds(bounds)
    band = height if mode == "band" else _lidar_plane(specs, lidar_height)
    surfaces = (
        read_geometry(stage, source=geometry, progress=progress)
        if isinstance(geometry, str)
        else geometry
    )
    inside = [*seeds, *(places[spec.name][:2] for spec in specs)]
    found = read_obstacles(
        stage,
        surfaces,
        height=band,
        floor=floor,
        tolerance=tolerance,
        seeds=inside,
        skip=[spec.prim_path for spec in specs if spec.prim_path],
        progress=progress,
    )
    warnings = [*surfaces.warnings, *found.warnings, *_lidar_warnings(specs)]
    if found.low:
        shown = ", ".join(f"{low.name} ({low.top:.2f} m)" for low in found.low[:5])
        warnings.append(
            f"below {band[0]:g} m stand {len(found.low)} on the floor that are no obstacles: "
            f"{shown}{', ...' if len(found.low) > 5 else ''}"
        )
    grid = occupancy
    if obstacles != "polygons" and grid is None:
        grid = build_occupancy(
            stage,
            height=band if mode == "band" else band[0],
            mode=mode,
            floor=floor,
            bounds=bounds,
            geometry=surfaces,
        )
    told = bounds or _told_bounds(stage)
    if bounds is None and grid is not None:
        extent = _grid_bounds(grid)
    elif told is not None:
        extent = told
    else:
        where = f"{stage.GetRootLayer().identifier}: {band[0]:g} m to {band[1]:g} m above the floor"
        extent = _bounds(found.obstacles, places, specs, where, assumed_units(stage))
    _check_fog_cells(extent, fog_resolution)
    kept, outside = _within(found.obstacles, extent)
    if merge:
        kept = merged_obstacles(kept)
    if obstacles == "map":
        kept = tuple(item for item in kept if item.moving)
    x_min, y_min, x_max, y_max = extent
    parameters: dict[str, object] = {
        "mode": mode,
        "height": list(band),
        "floor": floor,
        "tolerance": tolerance,
        "geometry": geometry if isinstance(geometry, str) else "given",
        "stage": stage.GetRootLayer().realPath or stage.GetRootLayer().identifier,
        "digest": geometry_digest(surfaces),
    }
    if merge:
        parameters["merge"] = True
    overrides = stage_overrides(stage)
    if overrides:
        parameters["opened_with"] = overrides
    if found.low:
        parameters["low"] = {low.name: round(low.top, 4) for low in found.low}
    return World(
        width=round(x_max - x_min, 9),
        height=round(y_max - y_min, 9),
        offset=(round(x_min, 9) + 0.0, round(y_min, 9) + 0.0),
        step_time=step_time,
        obstacles=kept,
        robots=specs,
        starts={spec.name: places[spec.name] for spec in specs},
        goals={name: tuple(way) for name, way in {**robot_goals(stage), **(goals or {})}.items()},
        grid=grid if obstacles != "polygons" else None,
        unknown=unknown,
        fog_resolution=fog_resolution,
        low=found.low,
        report=BuildReport(
            omissions=(*surfaces.omissions, *found.omissions, *outside),
            warnings=tuple(warnings),
            parameters=parameters,
        ),
    )


def map_world(
    occupancy: Occupancy,
    *,
    robots: Sequence[RobotSpec] = (),
    starts: Mapping[str, Pose] | None = None,
    goals: Mapping[str, Sequence[Pose]] | None = None,
    step_time: float = 0.1,
    fog_resolution: float | None = None,
    unknown: Unknown = "occupied",
) -> World:
    """Turn a map into an IR-SIM world whose obstacles are the image of its cells.

    Args:
        occupancy: The map; its origin becomes the world's offset.
        robots: The robots.
        starts: Where they start, by name.
        goals: Where they are to go, by name.
        step_time: Of one step [s].
        fog_resolution: The side of a cell of IR-SIM's fog [m]; None for no fog.
        unknown: What an unknown cell becomes.

    Raises:
        StageError: The map has a yaw, a robot has no start, or a number makes no sense.
    """
    places = dict(starts or {})
    _check_starts(robots, places)
    _check_times_and_fog(step_time, fog_resolution)
    extent = _grid_bounds(occupancy)
    _check_fog_cells(extent, fog_resolution)
    x_min, y_min, x_max, y_max = extent
    return World(
        width=round(x_max - x_min, 9),
        height=round(y_max - y_min, 9),
        offset=(x_min, y_min),
        step_time=step_time,
        robots=tuple(robots),
        starts=places,
        goals={name: tuple(way) for name, way in (goals or {}).items()},
        grid=occupancy,
        unknown=unknown,
        fog_resolution=fog_resolution,
        report=BuildReport(
            omissions=occupancy.report.omissions,
            warnings=occupancy.report.warnings,
            parameters=dict(occupancy.report.parameters),
        ),
    )


def _check_starts(specs: Sequence[RobotSpec], places: Mapping[str, Pose]) -> None:
    for spec in specs:
        if spec.name not in places:
            raise StageError(
                f"robot '{spec.name}' has no start; starts are given for: "
                f"{', '.join(places) or 'none'}"
            )
        if not all(map(math.isfinite, places[spec.name])):
            raise StageError(
                f"the start of robot '{spec.name}' is {tuple(places[spec.name])}, finite x, y [m] "
                "and yaw [rad] were expected"
            )


def _check_times_and_fog(step_time: float, fog_resolution: float | None) -> None:
    if not (math.isfinite(step_time) and step_time > 0.0):
        raise StageError(f"step_time is {step_time}, a positive number of seconds was expected")
    if fog_resolution is not None and not (math.isfinite(fog_resolution) and fog_resolution > 0.0):
        raise StageError(
            f"fog_resolution is {fog_resolution}, a positive number of metres was expected"
        )


def _check_fog_cells(
    extent: tuple[float, float, float, float], fog_resolution: float | None
) -> None:
    """Refuse a fog that IR-SIM would begin to allocate and never finish."""
    if fog_resolution is None:
        return
    x_min, y_min, x_max, y_max = extent
    cells = (x_max - x_min) / fog_resolution * (y_max - y_min) / fog_resolution
    if cells > CELL_LIMIT:
        raise StageError(
            f"the fog has {cells:.3g} cells of {fog_resolution:g} m, at most {CELL_LIMIT:,} are "
            "allowed; choose a coarser fog_resolution"
        )


def _lidar_plane(specs: Sequence[RobotSpec], lidar_height: float | None) -> tuple[float, float]:
    if lidar_height is None:
        mounts = [mount for spec in specs for mount in spec.lidars]
        if not mounts:
            raise StageError(
                "mode 'lidar' needs a lidar below a robot's start, or lidar_height; found neither"
            )
        lidar_height = mounts[0].z
    return lidar_height, lidar_height


def _lidar_warnings(specs: Sequence[RobotSpec]) -> list[str]:
    warnings = []
    for spec in specs:
        for mount in spec.lidars:
            if abs(mount.roll) > 1e-6 or abs(mount.pitch) > 1e-6:
                warnings.append(
                    f"the lidar '{mount.name}' of '{spec.name}' is tilted; IR-SIM's is level"
                )
            if len(mount.profile.elevations) > 1:
                warnings.append(
                    f"the lidar '{mount.name}' of '{spec.name}' has "
                    f"{len(mount.profile.elevations)} rings; IR-SIM's has the horizontal one"
                )
    return warnings


def _grid_bounds(grid: Occupancy) -> tuple[float, float, float, float]:
    x, y, yaw = grid.origin
    if yaw != 0.0:
        raise StageError(
            f"the grid is turned by {yaw:g} rad, IR-SIM's maps have none: resample it first"
        )
    return x, y, x + grid.width, y + grid.height


def _told_bounds(stage: Usd.Stage) -> tuple[float, float, float, float] | None:
    prim = stage.GetDefaultPrim()
    attribute = prim.GetAttribute(BOUNDS_ATTRIBUTE) if prim else None
    if attribute is None or not attribute.HasAuthoredValue():
        return None
    x_min, y_min, x_max, y_max = (float(value) for value in attribute.Get())
    check_bounds((x_min, y_min, x_max, y_max))
    return x_min, y_min, x_max, y_max


def _bounds(
    obstacles: Sequence[Obstacle],
    places: Mapping[str, Pose],
    specs: Sequence[RobotSpec],
    where: str,
    assumed: str,
) -> tuple[float, float, float, float]:
    shapes = [item.outline() for item in obstacles]
    shapes += [shapely.Point(places[spec.name][:2]) for spec in specs]
    if not shapes:
        raise StageError(
            f"{where} there is no obstacle, and no robot either: the world has no extent; give "
            f"bounds, or another height{assumed}"
        )
    low_x, low_y, high_x, high_y = shapely.union_all(shapes).bounds
    return (
        math.floor((low_x - _MARGIN) / _STEP) * _STEP,
        math.floor((low_y - _MARGIN) / _STEP) * _STEP,
        math.ceil((high_x + _MARGIN) / _STEP) * _STEP,
        math.ceil((high_y + _MARGIN) / _STEP) * _STEP,
    )


def _within(
    obstacles: Sequence[Obstacle], extent: tuple[float, float, float, float]
) -> tuple[tuple[Obstacle, ...], list[Omission]]:
    frame = shapely.box(*extent)
    kept, outside = [], []
    for item in obstacles:
        if shapely.intersects(frame, item.outline()) or shapely.intersects(frame, item.area()):
            kept.append(item)
        else:
            outside.append(Omission(item.prim_path, "out of bounds", "lies outside the bounds"))
    return tuple(kept), outside


def _beyond_irsim(spec: RobotSpec) -> dict[str, Any]:
    """Return what a robot is beyond what IR-SIM has a word for."""
    told: dict[str, Any] = {
        "height": spec.height,
        "wheel_radius": spec.wheel_radius,
        "track": spec.track,
    }
    if spec.prim_path is not None:
        told["prim"] = spec.prim_path
    if spec.lidars:
        told["lidars"] = [
            {"name": mount.name, "profile": mount.profile.name, "z": mount.z}
            for mount in spec.lidars
        ]
    return told


def _robot_shape(spec: RobotSpec) -> dict[str, Any]:
    if isinstance(spec.footprint, tuple):
        return {"name": "polygon", "vertices": [list(point) for point in spec.footprint]}
    return {"name": "circle", "radius": float(spec.footprint)}


def _lidar(mount: LidarMount) -> dict[str, Any]:
    section = mount.profile.to_irsim()
    middle = float(section["offset"][2])
    section["offset"] = [mount.x, mount.y, mount.yaw + middle]
    return section


def _obstacle_sections(item: Obstacle) -> list[dict[str, Any]]:
    """Return an obstacle as IR-SIM objects: one for its area, one for each of its lines."""
    shapes: list[dict[str, Any]] = []
    if item.radius is not None:
        shapes.append({"name": "circle", "radius": item.radius})
    if len(item.polygons) == 1:
        shapes.append(_polygon(item.polygons[0]))
    elif item.polygons:
        shapes.append({"name": "compound", "parts": [_polygon(ring) for ring in item.polygons]})
    shapes += [
        {"name": "linestring", "vertices": [list(point) for point in line]} for line in item.lines
    ]
    sections = []
    for number, shape in enumerate(shapes):
        section: dict[str, Any] = {
            "name": item.name if number == 0 else f"{item.name}_{number + 1}",
            "shape": shape,
            "state": list(item.pose),
        }
        if item.mass is None:
            section["kinematics"] = {"name": "static"}
        else:
            section["mass"] = item.mass
            if item.friction is not None:
                section["friction"] = item.friction
            if any(item.velocity):
                section["velocity"] = list(item.velocity)
        sections.append(section)
    return sections


def _polygon(ring: Ring) -> dict[str, Any]:
    return {"name": "polygon", "vertices": [list(point) for point in ring]}


def _grid_image(grid: Occupancy, unknown: Unknown) -> bytes:
    """Return a grid as the PNG whose cells IR-SIM reads back: black is occupied."""
    import io

    shades = np.full(grid.cells.shape, 255, dtype=np.uint8)
    shades[grid.cells > 50] = 0
    shades[grid.cells < 0] = {"free": 255, "occupied": 0, "keep": 205}[unknown]
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(shades.T[::-1]), mode="L").save(file, format="PNG")
    return file.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


class _Dumper(yaml.SafeDumper):
    """Writes lists of numbers on one line, everything else a line an entry."""


def _represent_list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    flat = all(
        isinstance(value, (int, float, str))
        or (isinstance(value, list) and all(isinstance(entry, float) for entry in value))
        for value in values
    )
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


_Dumper.add_representer(list, _represent_list)


def _dump(content: Mapping[str, Any]) -> str:
    return yaml.dump(dict(content), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
