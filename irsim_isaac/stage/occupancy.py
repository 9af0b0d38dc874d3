"""A stage to the grid of what is occupied, free and unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac import __version__
from irsim_isaac.errors import MapFormatError, StageError
from irsim_isaac.map import BuildReport, Occupancy, Omission
from irsim_isaac.map.limits import CELL_LIMIT
from irsim_isaac.map.reachability import reachable_cells
from irsim_isaac.stage.geometry import Geometry, Part, Progress, Source, read_geometry
from irsim_isaac.stage.opening import stage_overrides
from irsim_isaac.stage.provenance import geometry_digest
from irsim_isaac.stage.rasterization import CLOSED, FILLED, SHEET, rasterize
from irsim_isaac.stage.units import assumed_units
from irsim_isaac.stage.usd import Usd

__all__ = ["Bounds", "build_occupancy", "without_shells"]

Bounds: TypeAlias = tuple[float, float, float, float]
"""(x_min, y_min, x_max, y_max) [m]."""

READING = (
    "root", "include", "exclude", "include_invisible", "include_guides", "time", "time_code",
)  # fmt: skip
"""The options that say what is read."""

_KINDS = {"sheet": SHEET, "closed": CLOSED, "filled": FILLED}
_TIE = 1e-4
_SHELL_SIZE = 50.0
_SHELL_RATIO = 10.0
_SHELL_HEIGHT = 0.2


def build_occupancy(
    stage: Usd.Stage,
    *,
    resolution: float = 0.05,
    height: float | tuple[float, float] = (0.1, 0.62),
    floor: float = 0.0,
    bounds: Bounds | None = None,
    geometry: Source | Geometry = "visual",
    mode: Literal["band", "lidar"] = "band",
    solid: Literal["unknown", "occupied"] = "unknown",
    seeds: Sequence[tuple[float, float]] = (),
    root: str = "/",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    static_only: bool = True,
    include_invisible: bool = False,
    include_guides: bool = False,
    time: float | None = None,
    time_code: float | None = None,
    keep_shells: bool = False,
    cell_limit: int = CELL_LIMIT,
    progress: Progress | None = None,
) -> Occupancy:
    """Draw what stands in a band of heights into a grid.

    A cell is occupied when a surface meets its open square within the band, the ends of the
    band included. Coordinates within 1e-4 of a cell of a cell edge lie on it, heights within
    1e-6 m of the band's ends lie on them: there a sheet occupies both neighbours, a solid the
    inner one. The inside of implicit shapes and of convex, box and sphere colliders is
    occupied, that of closed meshes unknown. Cells lie on whole multiples of the resolution.

    Round shapes are drawn by a polygon around them whose corners lie at most a hundredth of a
    cell outside: every cell that the outline of a cylinder crosses is occupied.

    Args:
        stage: An open stage.
        resolution: The side of a cell [m].
        height: The ends of the band above the floor [m]; one number for ``mode="lidar"``.
        floor: The height of the floor [m], in the world with z up.
        bounds: (x_min, y_min, x_max, y_max) [m], rounded outwards to whole cells; what stands
            in the band unless told.
        geometry: Which surfaces count, as ``read_geometry`` names them, or surfaces read
            before, in which case the options of reading are not used.
        mode: ``"band"``, or ``"lidar"``: what a lidar at one height sees, the slice through
            the visual geometry.
        solid: What the inside of a closed mesh becomes.
        seeds: Points (x, y) [m]: free is what is reached from one of them side by side, all
            else that is not occupied is unknown.
        root: Only what lies at or below this prim.
        include: Only prims at or below a match of one of these path globs.
        exclude: No prims at or below a match of one of these path globs.
        static_only: Leave out what a rigid body or an articulation moves.
        include_invisible: Count invisible prims as if they were visible.
        include_guides: Count prims of purpose guide as well.
        time: The time [s] to read the stage at.
        time_code: The same in time codes.
        keep_shells: Keep prims that enclose everything else at more than ten times its size,
            such as sky domes, which are left out otherwise.
        cell_limit: The most cells.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The grid; its report names every prim left out, and why.

    Raises:
        StageError: A parameter makes no sense, nothing stands in the band and no bounds are
            given, the grid has more cells than the limit, or a seed is not on free ground.
    """
    band = _band(height, floor, mode)
    if not (math.isfinite(resolution) and resolution > 0.0):
        raise StageError(f"resolution is {resolution}, a positive number of metres was expected")
    if solid not in ("unknown", "occupied"):
        raise StageError(f"solid is '{solid}', 'unknown' or 'occupied' was expected")
    if mode == "lidar" and isinstance(geometry, str) and geometry != "visual":
        raise StageError(f"a lidar sees visual geometry, geometry='{geometry}' was given")
    if isinstance(geometry, Geometry):
        read = geometry
    else:
        read = read_geometry(
            stage,
            source=geometry,
            root=root,
            include=include,
            exclude=exclude,
            static_only=static_only,
            include_invisible=include_invisible,
            include_guides=include_guides,
            time=time,
            time_code=time_code,
            tolerance=min(resolution / 100.0, 5e-4),
            finest=min(resolution / 1000.0, 2e-5),
            progress=progress,
        )
    parts, moving = _standing(read.parts, static_only)
    surfaces = _Surfaces.of(parts, band)
    omissions = [*read.omissions, *moving]
    if not keep_shells:
        surfaces, shells = surfaces.without_shells()
        omissions += shells
    where = stage.GetRootLayer().identifier
    if bounds is None and not surfaces.parts:
        nothing = _nothing(surfaces, band, floor, where, omissions)
        raise StageError(nothing + assumed_units(stage))
    corner, shape = _grid(surfaces, resolution, bounds)
    if shape[0] * shape[1] > cell_limit:
        raise StageError(
            f"{where}: a grid of {shape[0]} x {shape[1]} cells of {resolution:g} m was asked "
            f"for, at most {cell_limit:,} cells are allowed; give bounds, a coarser resolution "
            "or a higher cell_limit"
        )
    if progress is not None:
        progress(0, 1, "drawing surfaces")
    cells = rasterize(
        *surfaces.arrays(),
        resolution=resolution,
        corner=corner,
        shape=shape,
        band=band,
        inside=-1 if solid == "unknown" else 100,
    )
    if progress is not None:
        progress(1, 1, "drawing surfaces")
    if bounds is None:
        cells, corner = _crop(cells, corner)
    origin = (round(corner[0] * resolution, 9), round(corner[1] * resolution, 9), 0.0)
    if seeds:
        cells = _flood(cells, resolution, origin, seeds, where)
    parameters: dict[str, object] = {
        "version": __version__,
        "stage": stage.GetRootLayer().realPath or where,
        "digest": geometry_digest(Geometry(tuple(parts))),
        "resolution": resolution,
        "height": height if isinstance(height, (int, float)) else list(height),
        "floor": floor,
        "bounds": None if bounds is None else list(bounds),
        "geometry": geometry if isinstance(geometry, str) else "given",
        "mode": mode,
        "solid": solid,
        "seeds": [[float(value) for value in seed] for seed in seeds],
        "root": root,
        "include": list(include),
        "exclude": list(exclude),
        "static_only": static_only,
        "include_invisible": include_invisible,
        "include_guides": include_guides,
        "time": time,
        "time_code": time_code,
        "keep_shells": keep_shells,
        "opened_with": stage_overrides(stage),
    }
    report = BuildReport(tuple(omissions), read.warnings, parameters)
    return Occupancy(cells, resolution, origin, report)


def without_shells(
    parts: Sequence[Part], band: tuple[float, float]
) -> tuple[list[Part], list[Omission]]:
    """Leave out what encloses all else in a band of heights at a far larger scale.

    Args:
        parts: The parts of a stage.
        band: The ends of the band in the world [m].

    Returns:
        The other parts, also those that do not reach into the band, and what was left out.
    """
    _, shells = _Surfaces.of(list(parts), band).without_shells()
    paths = {shell.where for shell in shells}
    return [part for part in parts if part.path not in paths], shells


def _band(height: float | tuple[float, float], floor: float, mode: str) -> tuple[float, float]:
    """Return the ends of the band in the world, checked."""
    if mode not in ("band", "lidar"):
        raise StageError(f"mode is '{mode}', 'band' or 'lidar' was expected")
    if not math.isfinite(floor):
        raise StageError(f"floor is {floor}, a finite height was expected")
    if isinstance(height, (int, float)):
        if mode != "lidar":
            raise StageError(f"height is {height}, a pair (low, high) was expected for a band")
        if not math.isfinite(height):
            raise StageError(f"height is {height}, a finite number of metres was expected")
        return floor + height, floor + height
    if mode == "lidar":
        raise StageError(f"height is {height}, one number was expected for mode 'lidar'")
    if len(height) != 2 or not all(map(math.isfinite, height)) or height[0] >= height[1]:
        raise StageError(f"height is {height}, two rising numbers of metres were expected")
    return floor + height[0], floor + height[1]


def _standing(parts: Sequence[Part], static_only: bool) -> tuple[list[Part], list[Omission]]:
    if not static_only:
        return list(parts), []
    moving = [
        Omission(part.path, "moving", f"is moved by {part.body}")
        for part in parts
        if part.body is not None
    ]
    return [part for part in parts if part.body is None], moving


@dataclass(frozen=True, slots=True)
class _Surfaces:
    """The parts that reach into the band, and the boxes that hold them."""

    parts: list[Part]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    all_heights: tuple[float, float] | None

    @classmethod
    def of(cls, parts: list[Part], band: tuple[float, float]) -> _Surfaces:
        """Keep the parts that reach into the band."""
        if not parts:
            return cls([], np.empty((0, 3)), np.empty((0, 3)), None)
        lows = np.array([part.points.min(axis=0) for part in parts])
        highs = np.array([part.points.max(axis=0) for part in parts])
        kept = np.flatnonzero((lows[:, 2] <= band[1] + 1e-6) & (highs[:, 2] >= band[0] - 1e-6))
        return cls(
            [parts[index] for index in kept],
            lows[kept],
            highs[kept],
            (float(lows[:, 2].min()), float(highs[:, 2].max())),
        )

    def without_shells(self) -> tuple[_Surfaces, list[Omission]]:
        """Leave out what encloses everything else at a far larger scale, such as a sky dome."""
        sizes = (self.highs - self.lows)[:, :2].max(axis=1) if self.parts else np.empty(0)
        order = np.argsort(sizes, kind="stable")
        shells: list[int] = []
        while len(order) > 1:
            largest, rest = int(order[-1]), order[:-1]
            low, high = self.lows[rest, :2].min(axis=0), self.highs[rest, :2].max(axis=0)
            encloses = (self.lows[largest, :2] <= low).all()
            encloses &= (self.highs[largest, :2] >= high).all()
            tall = self.highs[largest, 2] - self.lows[largest, 2] >= _SHELL_HEIGHT * sizes[largest]
            far = sizes[largest] > max(_SHELL_SIZE, _SHELL_RATIO * float((high - low).max()))
            if not (encloses and tall and far):
                break
            shells.append(largest)
            order = rest
        kept = np.setdiff1d(np.arange(len(self.parts)), shells)
        omissions = [
            Omission(
                self.parts[index].path,
                "shell",
                f"is {sizes[index]:.6g} m wide and encloses everything else",
            )
            for index in shells
        ]
        surfaces = _Surfaces(
            [self.parts[index] for index in kept],
            self.lows[kept],
            self.highs[kept],
            self.all_heights,
        )
        return surfaces, omissions

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int8]]:
        """Return all vertices, triangles numbered through, and the kind of each triangle."""
        if not self.parts:
            return np.empty((0, 3)), np.empty((0, 3), np.int32), np.empty(0, np.int8)
        points = np.concatenate([part.points for part in self.parts])
        triangles = np.concatenate([part.triangles for part in self.parts])
        vertex_counts = np.array([len(part.points) for part in self.parts])
        triangle_counts = np.array([len(part.triangles) for part in self.parts])
        offsets = np.concatenate([[0], np.cumsum(vertex_counts)[:-1]]).astype(np.int32)
        kinds = np.array([_KINDS[part.solid] for part in self.parts], dtype=np.int8)
        triangles += np.repeat(offsets, triangle_counts)[:, None]
        return points, triangles, np.repeat(kinds, triangle_counts)


def _grid(
    surfaces: _Surfaces,
    resolution: float,
    bounds: Bounds | None,
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the corner in cells from zero, and the cells along x and y."""
    if bounds is not None:
        check_bounds(bounds)
        low, high = np.array(bounds[:2]), np.array(bounds[2:])
        margin = 0
    else:
        low, high = surfaces.lows[:, :2].min(axis=0), surfaces.highs[:, :2].max(axis=0)
        margin = 1
    first = np.floor(low / resolution + _TIE).astype(np.int64) - margin
    last = np.ceil(high / resolution - _TIE).astype(np.int64) + margin
    last = np.maximum(last, first + 1)
    corner = int(first[0]), int(first[1])
    return corner, (int(last[0]) - corner[0], int(last[1]) - corner[1])


def check_bounds(bounds: Sequence[float]) -> None:
    """Refuse what is no x_min, y_min, x_max, y_max [m]."""
    if len(bounds) != 4 or not all(map(math.isfinite, bounds)):
        raise StageError(f"bounds are {bounds}, four finite numbers of metres were expected")
    if bounds[0] >= bounds[2] or bounds[1] >= bounds[3]:
        raise StageError(f"bounds are {bounds}, (x_min, y_min, x_max, y_max) was expected")


def _nothing(
    surfaces: _Surfaces,
    band: tuple[float, float],
    floor: float,
    where: str,
    omissions: Sequence[Omission],
) -> str:
    """Say why there is nothing to draw."""
    expected = f"{band[0] - floor:g} to {band[1] - floor:g} m above the floor at {floor:g} m"
    if surfaces.all_heights is not None:
        low, high = surfaces.all_heights
        return (
            f"{where}: nothing stands {expected}; what the stage holds lies between "
            f"{low:.6g} and {high:.6g} m"
        )
    if not omissions:
        return f"{where}: the stage holds no geometry, something {expected} was expected"
    kinds: dict[str, int] = {}
    for omission in omissions:
        kinds[omission.kind] = kinds.get(omission.kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return (
        f"{where}: no prim counts, something {expected} was expected; left out: {told}, "
        f"such as {omissions[0].where}, which {omissions[0].reason}"
    )


def _flood(
    cells: NDArray[np.int8],
    resolution: float,
    origin: tuple[float, float, float],
    seeds: Sequence[tuple[float, float]],
    where: str,
) -> NDArray[np.int8]:
    """Free what is reached from the seeds, and leave the rest unknown."""
    passable = Occupancy(np.where(cells == 100, 100, 0).astype(np.int8), resolution, origin)
    reached = np.zeros(cells.shape, dtype=bool)
    for seed in seeds:
        ix, iy = passable.world_to_cell(*seed)
        inside = 0 <= ix < cells.shape[0] and 0 <= iy < cells.shape[1]
        if inside and reached[ix, iy]:
            continue
        try:
            reached |= reachable_cells(passable, seed)
        except MapFormatError as error:
            raise StageError(f"{where}: the seed {seed}: {error}") from error
    return np.where(reached, 0, np.where(cells == 100, 100, -1)).astype(np.int8)


def _crop(
    cells: NDArray[np.int8], corner: tuple[int, int]
) -> tuple[NDArray[np.int8], tuple[int, int]]:
    """Cut the rim of free cells off."""
    taken = cells != 0
    columns = np.flatnonzero(taken.any(axis=1))
    rows = np.flatnonzero(taken.any(axis=0))
    if not len(columns):
        return cells, corner
    x0, x1, y0, y1 = columns[0], columns[-1] + 1, rows[0], rows[-1] + 1
    cut = np.ascontiguousarray(cells[x0:x1, y0:y1])
    return cut, (corner[0] + int(x0), corner[1] + int(y0))
