"""What has been seen of a world: a grid of explored cells over it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from irsim_isaac.errors import MapFormatError
from irsim_isaac.kernels import launch, start
from irsim_isaac.map.grid_map import Map
from irsim_isaac.map.limits import CELL_LIMIT, cells_along, check_cell_count
from irsim_isaac.map.traversal import FRACTION_BITS, REACH, reveal_beams

if TYPE_CHECKING:
    from irsim_isaac.msg import LaserScan
    from irsim_isaac.robot import LidarMount

__all__ = ["FogMap"]

_BAND = 64
_FARTHEST = 1e12
"""Beams are no longer than this [m], far beyond where they are cut, so that nothing overflows."""
_PRECISE = 2.0**30
"""Headings [rad] and places in cells are no greater, or their last digits no longer tell beams
and cells apart."""


class FogMap(Map):
    """A world under fog, which lidar beams lift cell by cell.

    Args:
        width: Along x [m].
        height: Along y [m].
        resolution: The side of a cell [m]; the grid has a whole number of cells, so theirs may
            differ slightly.
        world_offset: The world's least x and y [m].
        device: The Warp device that walks the beams.

    Raises:
        MapFormatError: The resolution is not positive and finite, or asks for more cells than
            the limit.
    """

    def __init__(
        self,
        width: float = 10,
        height: float = 10,
        resolution: float = 0.1,
        world_offset: tuple[float, float] | list[float] | None = None,
        *,
        device: str = "cpu",
    ) -> None:
        resolution = float(resolution)
        if not (math.isfinite(resolution) and resolution > 0):
            raise MapFormatError(
                f"FogMap resolution is {resolution} m: it must be positive and finite."
            )
        for name, length in (("width", width), ("height", height)):
            if not (math.isfinite(length) and length > 0):
                raise MapFormatError(f"FogMap {name} is {length} m: it must be positive and finite")
        nx = cells_along(width, resolution, "FogMap width")
        ny = cells_along(height, resolution, "FogMap height")
        check_cell_count(nx, ny, CELL_LIMIT, "the fog map")
        super().__init__(
            width=width, height=height, resolution=resolution, world_offset=world_offset
        )
        self.device = device
        self._cells = np.zeros((nx, ny), dtype=np.bool_)
        self._wrapped: Any = None
        self._shared = False
        bands = -(-nx // _BAND)
        self._band_counts = np.zeros(bands, dtype=np.int64)
        self._stale = np.zeros(bands, dtype=np.bool_)
        self._left_out: dict[str, int] = {}
        self._im: Any = None
        self._drawn = -1
        self._rgba: npt.NDArray[np.float64] | None = None

    @property
    def explored(self) -> npt.NDArray[np.bool_]:
        """Which cells have been seen, bool, shape (nx, ny); it may be written to."""
        self._shared = True
        return self._cells

    @explored.setter
    def explored(self, cells: npt.ArrayLike) -> None:
        given = np.asarray(cells, dtype=np.bool_)
        if given.shape != self._cells.shape:
            raise MapFormatError(
                f"explored has shape {given.shape}, the fog map's {self._cells.shape} was expected"
            )
        if given is not self._cells:
            self._cells[:] = given
        self._stale[:] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Cells along x and y."""
        nx, ny = self._cells.shape
        return nx, ny

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many beams revealed nothing, by reason, since the last reset."""
        return dict(self._left_out)

    @property
    def explored_count(self) -> int:
        """How many cells have been seen.

        Only bands of rows that beams have touched since the last count are counted again;
        all of them once ``explored`` has been handed out, since it may be written to.
        """
        stale = range(len(self._stale)) if self._shared else np.flatnonzero(self._stale).tolist()
        for band in stale:
            rows = self._cells[band * _BAND : (band + 1) * _BAND]
            self._band_counts[band] = np.count_nonzero(rows)
        self._stale[:] = False
        return int(self._band_counts.sum())

    @property
    def explored_ratio(self) -> float:
        """The part of the world that has been seen, 0 to 1."""
        return self.explored_count / self._cells.size

    @property
    def explored_area(self) -> float:
        """How much of the world has been seen [m^2]."""
        return self.explored_ratio * self.width * self.height

    def reachable_ratio(self, reachable: npt.ArrayLike) -> float:
        """Return the part of the cells that can be reached that has been seen, 0 to 1.

        Cells that cannot be reached do not count, so all of it can be attained.

        Args:
            reachable: From ``reachable_cells`` over the same grid, bool, shape (nx, ny).

        Raises:
            MapFormatError: It has another shape, or no cell can be reached.
        """
        cells = np.asarray(reachable, dtype=np.bool_)
        if cells.shape != self._cells.shape:
            raise MapFormatError(
                f"the reachable cells have shape {cells.shape}, the fog map's "
                f"{self._cells.shape} was expected"
            )
        count = np.count_nonzero(cells)
        if not count:
            raise MapFormatError("no cell can be reached, so no part of them can have been seen")
        return np.count_nonzero(self._cells & cells) / count

    def union(self, other: FogMap) -> FogMap:
        """Return a new fog map of what either has seen.

        Args:
            other: A fog map over the same cells.

        Raises:
            MapFormatError: It lies over other cells.
        """
        return self._combined(self._cells | self._same(other))

    def difference(self, other: FogMap) -> FogMap:
        """Return a new fog map of what this one has seen and the other has not.

        Args:
            other: A fog map over the same cells.

        Raises:
            MapFormatError: It lies over other cells.
        """
        return self._combined(self._cells & ~self._same(other))

    def _same(self, other: FogMap) -> npt.NDArray[np.bool_]:
        mine = (self.shape, self.width, self.height, self.world_offset)
        theirs = (other.shape, other.width, other.height, other.world_offset)
        if mine != theirs:
            raise MapFormatError(
                f"the fog maps lie over other cells: shape, width, height and offset are {mine} "
                f"and {theirs}"
            )
        return other._cells

    def _combined(self, cells: npt.NDArray[np.bool_]) -> FogMap:
        made = FogMap(
            self.width, self.height, self.resolution, self.world_offset, device=self.device
        )
        made._cells[:] = cells
        made._stale[:] = True
        return made

    def reset(self) -> None:
        """Cover the whole world with fog again."""
        self._cells[:] = False
        self._band_counts[:] = 0
        self._stale[:] = False
        self._left_out.clear()
        self._drawn = -1

    def reveal_from_lidar(
        self,
        origin: npt.ArrayLike,
        angles: npt.ArrayLike,
        ranges: npt.ArrayLike,
        *,
        range_max: float | None = None,
    ) -> None:
        """Reveal the cells along each beam, its ends included.

        A cell counts when the beam runs in it for a positive length. Ranges follow REP 117:
        NaN, -inf and negative ones reveal nothing, +inf reveals up to ``range_max``. Beams that
        reveal nothing are counted in ``left_out``.

        Args:
            origin: The lidar's x, y [m] and, optionally, heading [rad] in the world.
            angles: The beams' bearings [rad] in the lidar's frame, shape (N,).
            ranges: What they measured [m], shape (N,).
            range_max: How far the lidar sees [m], for +inf.

        Raises:
            MapFormatError: The origin is no x and y, angles and ranges differ in number, or
                ``range_max`` is no distance.
        """
        x, y, heading = _pose(origin)
        if range_max is not None and not range_max > 0:
            raise MapFormatError(f"range_max is {range_max}, more than 0 m was expected")
        bearings = np.asarray(angles, dtype=np.float64).ravel()
        lengths = np.asarray(ranges, dtype=np.float64).ravel()
        if bearings.size == 0 or lengths.size == 0:
            return
        if bearings.size != lengths.size and 1 not in (bearings.size, lengths.size):
            raise MapFormatError(
                f"{bearings.size} angles and {lengths.size} ranges: as many of each were expected"
            )
        bearings, lengths = np.broadcast_arrays(bearings, lengths)
        self._reveal(x, y, heading + bearings, lengths, range_max)

    def _reveal(
        self,
        x: float,
        y: float,
        headings: npt.NDArray[np.floating[Any]],
        lengths: npt.NDArray[np.floating[Any]],
        range_max: float | None,
    ) -> None:
        usable = lengths > 0
        if not (usable.all() and np.isfinite(lengths.max())):
            lengths, usable = self._sort_out(lengths, range_max)
        with np.errstate(invalid="ignore"):
            posed = np.abs(headings) <= _PRECISE
        if not (posed.all() and self._is_precise(x, y)):
            posed &= self._is_precise(x, y)
            finite = np.isfinite(headings) & (math.isfinite(x) and math.isfinite(y))
            self._leave_out("pose is not finite", int(np.count_nonzero(usable & ~finite)))
            self._leave_out("pose is too large", int(np.count_nonzero(usable & finite & ~posed)))
            usable = usable & posed
        if not usable.all():
            headings, lengths = headings[usable], lengths[usable]
        if not lengths.size:
            return
        ends = self._ends(x, y, headings, lengths)
        nx, ny = self._cells.shape
        cells = self._wrap()
        beams = wp.array(ends, dtype=wp.int64, device=self.device, copy=False)
        launch(reveal_beams, len(lengths), [beams, cells, nx, ny], device=self.device)
        if not cells.device.is_cpu:
            self._cells[:] = cells.numpy().view(np.bool_).reshape(nx, ny)
        columns = ends.reshape(-1, 4)[:, 0::2] >> FRACTION_BITS
        first = max(0, int(columns.min()))
        behind = min(nx, int(columns.max()) + 1)
        if first < behind:
            self._stale[first // _BAND : (behind - 1) // _BAND + 1] = True

    def _is_precise(self, x: float, y: float) -> bool:
        """Tell whether a place in the world is finite and near enough to tell cells apart."""
        (nx, ny), (ox, oy) = self._cells.shape, self.world_offset
        u, v = (x - ox) * (nx / self.width), (y - oy) * (ny / self.height)
        return abs(u) <= _PRECISE and abs(v) <= _PRECISE

    def _sort_out(
        self, lengths: npt.NDArray[np.floating[Any]], range_max: float | None
    ) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.bool_]]:
        """Return the ranges with +inf replaced, and which of them reveal anything."""
        far = lengths == math.inf
        self._leave_out("NaN", int(np.count_nonzero(np.isnan(lengths))))
        self._leave_out("-inf", int(np.count_nonzero(lengths == -math.inf)))
        self._leave_out("negative", int(np.count_nonzero((lengths < 0) & (lengths > -math.inf))))
        self._leave_out("zero", int(np.count_nonzero(lengths == 0)))
        usable = lengths > 0
        if far.any():
            if range_max is None or range_max == math.inf:
                self._leave_out("+inf without range_max", int(np.count_nonzero(far)))
                usable = usable & ~far
            else:
                lengths = np.where(far, float(range_max), lengths)
        return lengths, usable

    def _leave_out(self, reason: str, count: int) -> None:
        if count:
            self._left_out[reason] = self._left_out.get(reason, 0) + count

    def _ends(
        self,
        x: float,
        y: float,
        headings: npt.NDArray[np.floating[Any]],
        lengths: npt.NDArray[np.floating[Any]],
    ) -> npt.NDArray[np.int64]:
        """Return the ends of beams, x0, y0, x1, y1 each, in 2^-32 of a cell, shape (4 N,)."""
        nx, ny = self._cells.shape
        rx, ry = self.width / nx, self.height / ny
        ox, oy = self.world_offset
        lengths = np.minimum(lengths, _FARTHEST)
        ends = np.empty((len(lengths), 4))
        ends[:, 0] = (x - ox) / rx
        ends[:, 1] = (y - oy) / ry
        ends[:, 2] = (x + lengths * np.cos(headings) - ox) / rx
        ends[:, 3] = (y + lengths * np.sin(headings) - oy) / ry
        if np.abs(ends).max() > REACH:
            ends = _cut(ends)
        ends *= 2.0**FRACTION_BITS
        return np.rint(ends).astype(np.int64).ravel()

    def _wrap(self) -> Any:
        """Return the cells as a flat Warp array, over the same memory where they are on the CPU."""
        flat = self._cells.view(np.uint8).reshape(-1)
        if self._wrapped is None:
            start()
            self._wrapped = wp.array(flat, dtype=wp.uint8, device=self.device, copy=False)
        elif not self._wrapped.device.is_cpu:
            self._wrapped.assign(flat)
        return self._wrapped

    def reveal_from_scan(
        self,
        scan: LaserScan,
        pose: tuple[float, float, float] = (0.0, 0.0, 0.0),
        mount: LidarMount | None = None,
    ) -> None:
        """Reveal what a scan saw.

        Ranges follow REP 117; a finite range of ``range_max`` or more is a miss, as IR-SIM
        writes it, and reveals up to ``range_max``. Finite ranges below ``range_min`` reveal
        nothing. A tilted or upturned lidar reveals what lies below or above its beams.

        Args:
            scan: The scan.
            pose: The base's x, y [m] and yaw [rad] in the world.
            mount: Where the lidar sits on the base; at its origin unless told.
        """
        ranges = np.asarray(scan.ranges, dtype=np.float64).ravel()
        angles = scan.angle_min + np.arange(ranges.size) * scan.angle_increment
        x, y, yaw = (float(value) for value in pose)
        if mount is not None:
            x += math.cos(yaw) * mount.x - math.sin(yaw) * mount.y
            y += math.sin(yaw) * mount.x + math.cos(yaw) * mount.y
        far = ranges >= float(np.float32(scan.range_max))
        ranges = np.where(far, scan.range_max, ranges)
        near = (ranges >= 0) & (ranges < float(np.float32(scan.range_min)))
        if near.any():
            self._leave_out("below range_min", int(np.count_nonzero(near)))
            angles, ranges = angles[~near], ranges[~near]
        if not ranges.size:
            return
        if mount is None or not (mount.roll or mount.pitch):
            turned = yaw + (0.0 if mount is None else mount.yaw)
            self._reveal(x, y, turned + angles, ranges, None)
            return
        forward, left = np.cos(angles), np.sin(angles)
        up = left * math.sin(mount.roll)
        left = left * math.cos(mount.roll)
        forward = forward * math.cos(mount.pitch) + up * math.sin(mount.pitch)
        headings = yaw + mount.yaw + np.arctan2(left, forward)
        self._reveal(x, y, headings, ranges * np.hypot(forward, left), None)

    def reveal_fov(self, origin: npt.ArrayLike, fov: float, fov_radius: float) -> None:
        """Reveal the cells whose centres lie in a sector, whatever stands between.

        Args:
            origin: x, y [m] and, optionally, heading [rad] in the world.
            fov: The sector's whole angle [rad]; 2 pi or more is a disc.
            fov_radius: Its radius [m].

        Raises:
            MapFormatError: The origin is no x and y, or a number is not finite or so large that
                cells cannot be told apart.
        """
        x, y, heading = _pose(origin)
        radius = float(fov_radius)
        if not all(map(math.isfinite, (x, y, heading, fov, radius))):
            raise MapFormatError(
                f"a sector at {[x, y, heading]} of {fov} rad and {radius} m: finite numbers were "
                "expected"
            )
        if not (self._is_precise(x, y) and abs(heading) <= _PRECISE):
            raise MapFormatError(
                f"a sector at {[x, y, heading]}: numbers so large do not tell cells apart"
            )
        if radius <= 0 or fov <= 0:
            return
        radius = min(radius, _FARTHEST)
        nx, ny = self._cells.shape
        rx, ry = self.width / nx, self.height / ny
        ox, oy = self.world_offset
        i0, i1 = max(0, int((x - radius - ox) / rx)), min(nx, int((x + radius - ox) / rx) + 1)
        j0, j1 = max(0, int((y - radius - oy) / ry)), min(ny, int((y + radius - oy) / ry) + 1)
        if i0 >= i1 or j0 >= j1:
            return
        dx = ((ox + (np.arange(i0, i1) + 0.5) * rx) - x)[:, None]
        dy = ((oy + (np.arange(j0, j1) + 0.5) * ry) - y)[None, :]
        squared = dx * dx + dy * dy
        inside = squared <= radius * radius
        if fov < 2 * math.pi:
            ahead = dx * math.cos(heading) + dy * math.sin(heading)
            # The angle to the heading is at most fov / 2; a square keeps the root out of it.
            least = math.cos(0.5 * fov)
            beyond = ahead * ahead >= least * least * squared
            inside &= (ahead >= 0) & beyond if least >= 0 else (ahead >= 0) | ~beyond
        self._cells[i0:i1, j0:j1] |= inside
        self._stale[i0 // _BAND : (i1 - 1) // _BAND + 1] = True

    def to_rgba(
        self,
        color: tuple[float, float, float] = (0.78, 0.78, 0.80),
        alpha: float = 1.0,
    ) -> npt.NDArray[np.float64]:
        """Return an image of the fog.

        Args:
            color: Red, green and blue of the fog, 0 to 1.
            alpha: Its opacity, 0 to 1; explored cells have none.

        Returns:
            float64, shape (nx, ny, 4); its first two axes are swapped for ``imshow``. The same
            array every time.
        """
        if self._rgba is None:
            self._rgba = np.empty((*self._cells.shape, 4))
        if not np.array_equal(self._rgba[0, 0, :3], color):
            self._rgba[..., :3] = color
        self._rgba[..., 3] = np.where(self._cells, 0.0, alpha)
        return self._rgba

    def _init_plot(self, ax: Any, zorder: int = 2, **kwargs: Any) -> None:
        """Draw the fog on axes, above obstacles and below robots, as IR-SIM asks it to."""
        if self._im is not None:
            self._step_plot()
            return
        ox, oy = self.world_offset
        self._im = ax.imshow(
            self.to_rgba().transpose(1, 0, 2),
            origin="lower",
            extent=(ox, ox + self.width, oy, oy + self.height),
            zorder=zorder,
            **kwargs,
        )
        self._drawn = self.explored_count

    def _step_plot(self) -> None:
        """Draw the fog again if any of it was lifted since it was drawn."""
        if self._im is None:
            return
        count = self.explored_count
        if count == self._drawn and not self._shared:
            return
        self._im.set_data(self.to_rgba().transpose(1, 0, 2))
        self._drawn = count

    def plot_clear(self) -> None:
        """Take the fog off the axes."""
        if self._im is not None:
            self._im.remove()
            self._im = None


def _pose(origin: npt.ArrayLike) -> tuple[float, float, float]:
    """Return x, y and heading; the heading is 0 where there is none."""
    pose = np.asarray(origin, dtype=np.float64).ravel().tolist()
    if len(pose) < 2:
        raise MapFormatError(f"the origin is {origin!r}, [x, y] or [x, y, heading] was expected")
    return pose[0], pose[1], pose[2] if len(pose) > 2 else 0.0


def _cut(ends: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cut beams, shape (N, 4) in cells, to the square of REACH cells about the grid's corner.

    Beams that miss the square become a point outside every grid.
    """
    start, way = ends[:, :2], ends[:, 2:] - ends[:, :2]
    enter, leave = np.zeros(len(ends)), np.ones(len(ends))
    for axis in (0, 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            first = (-REACH - start[:, axis]) / way[:, axis]
            second = (REACH - start[:, axis]) / way[:, axis]
        still = way[:, axis] == 0
        outside = np.abs(start[:, axis]) > REACH
        first = np.where(still, np.where(outside, np.inf, -np.inf), first)
        second = np.where(still, np.inf, second)
        enter = np.maximum(enter, np.minimum(first, second))
        leave = np.minimum(leave, np.maximum(first, second))
    missed = enter > leave
    cut = np.empty_like(ends)
    cut[:, :2] = np.where((enter > 0)[:, None], start + enter[:, None] * way, start)
    cut[:, 2:] = np.where((leave < 1)[:, None], start + leave[:, None] * way, ends[:, 2:])
    cut[missed] = -1.0
    return cut
