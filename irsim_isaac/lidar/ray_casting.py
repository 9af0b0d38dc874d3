"""Lidar rays against triangle meshes.

What never moves is one mesh, built once; of a large one, planar scans are cast at the layer of
its triangles that they can meet. Each body that moves is a mesh of its own, built once too: rays
are taken into its frame. A tree over the boxes around the bodies, refitted when one moves, says
which of them a ray may meet; a sensor's own body is left out there, before any of its triangles
is looked at. The scene is float32 about a centre of its own, so that one far from the origin keeps
its precision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import warp as wp

from irsim_isaac.errors import ScanError
from irsim_isaac.kernels import launch, start

__all__ = ["MovingBody", "RayCaster", "measured", "pose_matrix", "sensor_beams"]

if TYPE_CHECKING:
    Vectors: TypeAlias = Any
    Matrices: TypeAlias = Any
    Floats: TypeAlias = Any
    Meshes: TypeAlias = Any
else:
    Vectors = wp.array(dtype=wp.vec3)
    Matrices = wp.array(dtype=wp.mat33)
    Floats = wp.array(dtype=wp.float32)
    Meshes = wp.array(dtype=wp.uint64)

wp.set_module_options({"enable_backward": False})

_LEAF = 2
"""Triangles in a leaf of the tree: fewer boxes to visit without testing many triangles."""

_LARGE = 50_000
"""Triangles of a scene from which on a layer of it is worth a tree of its own."""

_LAYER = 0.2
"""How far up and down the beams of a planar scan may reach altogether [m]."""

_MARGIN = 0.01
"""How much higher and lower a layer is [m], so that it serves a lidar that trembles."""

_LAYERS_KEPT = 8

Extent: TypeAlias = tuple[list[float], list[float]]
"""The least and the greatest of each part of the directions of a sensor's beams."""

_NOBODY = -1

_FLAT = 1e-9
"""The determinant of a pose from which on it has no inverse."""

_ROOM = 1e-4
"""How much room a box has around a body [m]: a flat one is still met by rays along it."""

_MISS = math.inf


@wp.func
def _nearest(
    fixed: wp.uint64,
    boxes: wp.uint64,
    meshes: Meshes,
    inward: Matrices,
    places: Vectors,
    own: int,
    start: wp.vec3,
    direction: wp.vec3,
    reach: float,
) -> float:
    nearest = float(_MISS)
    limit = reach
    if fixed != wp.uint64(0):
        hit = wp.mesh_query_ray(fixed, start, direction, limit)
        if hit.result:
            nearest = hit.t
            limit = hit.t
    if boxes != wp.uint64(0):
        query = wp.bvh_query_ray(boxes, start, direction)
        body = wp.int32(0)
        while wp.bvh_query_next(query, body):
            if body != own:
                turn = inward[body]
                inside = wp.mesh_query_ray(
                    meshes[body], turn * (start - places[body]), turn * direction, limit
                )
                if inside.result:
                    nearest = inside.t
                    limit = inside.t
    return nearest


@wp.kernel(enable_backward=False)
def _scan_kernel(
    fixed: wp.uint64,
    boxes: wp.uint64,
    meshes: Meshes,
    inward: Matrices,
    places: Vectors,
    own: int,
    position: wp.vec3,
    rotation: wp.mat33,
    beams: Vectors,
    reach: float,
    ranges: Floats,
) -> None:
    beam = wp.tid()
    ranges[beam] = _nearest(
        fixed, boxes, meshes, inward, places, own, position, rotation * beams[beam], reach
    )


@wp.kernel(enable_backward=False)
def _ray_kernel(
    fixed: wp.uint64,
    boxes: wp.uint64,
    meshes: Meshes,
    inward: Matrices,
    places: Vectors,
    own: int,
    starts: Vectors,
    directions: Vectors,
    reach: float,
    ranges: Floats,
) -> None:
    ray = wp.tid()
    ranges[ray] = _nearest(
        fixed, boxes, meshes, inward, places, own, starts[ray], directions[ray], reach
    )


@dataclass(frozen=True, slots=True)
class MovingBody:
    """A body that moves as a whole.

    Attributes:
        name: Its name.
        points: Its vertices [m] in its own frame, shape (n, 3).
        triangles: Vertex indices, shape (m, 3).
    """

    name: str
    points: npt.NDArray[np.float64]
    triangles: npt.NDArray[np.int32]


def pose_matrix(
    x: float = 0.0,
    y: float = 0.0,
    z: float = 0.0,
    *,
    roll: float = 0.0,
    pitch: float = 0.0,
    yaw: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Return a pose as a matrix of shape (4, 4) that takes points of its frame to the outside.

    Args:
        x: [m].
        y: [m].
        z: [m].
        roll: About x [rad], applied first.
        pitch: About y [rad], applied second.
        yaw: About z [rad], applied last.
    """
    (cr, cp, cy), (sr, sp, sy) = np.cos((roll, pitch, yaw)), np.sin((roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y],
            [-sp, cp * sr, cp * cr, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def sensor_beams(
    bearings: npt.ArrayLike, elevations: npt.ArrayLike = (0.0,)
) -> npt.NDArray[np.float64]:
    """Return the directions of a lidar's beams in its frame.

    Args:
        bearings: Counter-clockwise from forward [rad], shape (N,).
        elevations: Up from the plane [rad], shape (rings,).

    Returns:
        Unit vectors, shape (rings, N, 3).
    """
    bearing = np.asarray(bearings, dtype=np.float64)[None, :]
    elevation = np.asarray(elevations, dtype=np.float64)[:, None]
    flat = np.cos(elevation)
    up = np.broadcast_to(np.sin(elevation), (elevation.shape[0], bearing.shape[1]))
    return np.stack([flat * np.cos(bearing), flat * np.sin(bearing), up], axis=-1)


def measured(
    ranges: npt.NDArray[np.float32], *, range_min: float, range_max: float
) -> npt.NDArray[np.float32]:
    """Return ranges as REP 117 has them.

    Args:
        ranges: Distances [m], +inf where nothing was met.
        range_min: The nearest distance that is measured [m].
        range_max: The farthest distance that is measured [m].

    Returns:
        The same with +inf beyond ``range_max`` and -inf nearer than ``range_min``.
    """
    kept = np.where(ranges > np.float32(range_max), np.float32(np.inf), ranges)
    kept[ranges < np.float32(range_min)] = -np.inf
    return kept


class RayCaster:
    """Casts rays at a scene of triangles, some of which move.

    Args:
        points: The vertices of what never moves [m], shape (n, 3).
        triangles: Its vertex indices, shape (m, 3).
        bodies: What moves; each starts with its frame at the world's.
        device: A Warp device name.

    Raises:
        ScanError: A shape is wrong, an index points nowhere, a point is not finite, or two
            bodies have one name.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        triangles: npt.ArrayLike,
        *,
        bodies: Sequence[MovingBody] = (),
        device: str = "cpu",
    ) -> None:
        start()
        self._device = device
        fixed_points, fixed_triangles = _checked_mesh(points, triangles, "the scene")
        self._centre = (
            (fixed_points.min(axis=0) + fixed_points.max(axis=0)) / 2.0
            if len(fixed_points)
            else np.zeros(3)
        )
        self._points = fixed_points - self._centre
        self._triangles = fixed_triangles
        self._fixed = self._mesh(self._points, fixed_triangles)
        self._heights: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
        self._layers: dict[tuple[float, float], Any] = {}
        self._index = {body.name: index for index, body in enumerate(bodies)}
        if len(self._index) != len(bodies):
            raise ScanError("two moving bodies have one name; names must be unique")
        self._poses = np.tile(np.eye(4), (len(bodies), 1, 1))
        self._beams: dict[int, tuple[npt.NDArray[np.float64], Any, Any, Extent]] = {}
        meshes = [_checked_mesh(body.points, body.triangles, body.name) for body in bodies]
        # A body without a triangle has no box in the tree.
        self._solid = [index for index, (_, faces) in enumerate(meshes) if len(faces)]
        names = list(self._index)
        self._number = dict.fromkeys(names, _NOBODY)
        self._number |= {names[index]: number for number, index in enumerate(self._solid)}
        self._add_bodies([meshes[index] for index in self._solid])

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies that move."""
        return tuple(self._index)

    def move(self, poses: Mapping[str, npt.ArrayLike]) -> None:
        """Place moving bodies; the tree over their boxes is refitted.

        Args:
            poses: The pose of each body by name, shape (4, 4); the others stay.

        Raises:
            ScanError: A body is unknown, or a pose is no finite matrix of that shape or flattens
                the body.
        """
        placed = {}
        for name, pose in poses.items():
            if name not in self._index:
                raise ScanError(
                    f"no body that moves is named '{name}'; there are: "
                    f"{', '.join(self._index) or 'none'}"
                )
            matrix = np.asarray(pose, dtype=np.float64)
            if (
                matrix.shape != (4, 4)
                or not np.isfinite(matrix).all()
                or abs(np.linalg.det(matrix[:3, :3])) < _FLAT
            ):
                raise ScanError(
                    f"the pose of '{name}' must be a finite matrix of shape (4, 4) that does not "
                    f"flatten the body, found {matrix!r}"
                )
            placed[self._index[name]] = matrix
        for index, matrix in placed.items():
            self._poses[index] = matrix
        if placed and self._boxes is not None:
            self._carry()
            self._boxes.refit()

    def scan(
        self,
        beams: npt.NDArray[np.float64],
        pose: npt.ArrayLike,
        *,
        range_max: float,
        own: str | None = None,
    ) -> npt.NDArray[np.float32]:
        """Cast the beams of a sensor from where it is.

        Args:
            beams: Directions in the sensor's frame, shape (rings, N, 3), as ``sensor_beams``
                gives them. The same array again is not copied again.
            pose: The sensor's pose, shape (4, 4).
            range_max: How far to look [m].
            own: The moving body that carries the sensor and is not seen by it.

        Returns:
            The distance to the first surface [m], float32 of shape (rings, N); +inf where
            there is none within ``range_max``.
        """
        matrix = np.asarray(pose, dtype=np.float64)
        directions, buffer = self._sensor(beams)
        scene = self._scene(own)
        if len(self._triangles) > _LARGE:
            layer = self._layer(beams, matrix, range_max)
            if layer is not None:
                scene[0] = layer.id
        launch(
            _scan_kernel,
            len(directions),
            [
                *scene,
                wp.vec3(*(matrix[:3, 3] - self._centre)),
                wp.mat33(*matrix[:3, :3].ravel()),
                directions,
                float(range_max),
                buffer,
            ],
            device=self._device,
        )
        ranges: npt.NDArray[np.float32] = buffer.numpy().reshape(beams.shape[:-1]).copy()
        return ranges

    def cast(
        self,
        starts: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        range_max: float,
        own: str | None = None,
    ) -> npt.NDArray[np.float32]:
        """Cast rays.

        Args:
            starts: Where each starts [m], shape (R, 3).
            directions: Where each goes, unit vectors of shape (R, 3).
            range_max: How far to look [m].
            own: The moving body that is not seen.

        Returns:
            The distance to the first surface [m], float32 of shape (R,); +inf where there is
            none within ``range_max``.
        """
        origin = np.asarray(starts, dtype=np.float64).reshape(-1, 3) - self._centre
        toward = np.asarray(directions, dtype=np.float64).reshape(-1, 3)
        if len(origin) != len(toward):
            raise ScanError(f"{len(origin)} starts and {len(toward)} directions of rays")
        ranges = wp.empty(len(origin), dtype=wp.float32, device=self._device)
        if len(origin):
            launch(
                _ray_kernel,
                len(origin),
                [
                    *self._scene(own),
                    self._array(origin.astype(np.float32), wp.vec3),
                    self._array(toward.astype(np.float32), wp.vec3),
                    float(range_max),
                    ranges,
                ],
                device=self._device,
            )
        result: npt.NDArray[np.float32] = ranges.numpy().copy()
        return result

    def _array(self, values: npt.NDArray[Any], dtype: Any) -> Any:
        return wp.array(values, dtype=dtype, device=self._device)

    def _mesh(
        self,
        points: npt.NDArray[np.float64],
        triangles: npt.NDArray[np.int32],
    ) -> Any | None:
        if not len(triangles):
            return None
        arrays = {
            "points": self._array(points.astype(np.float32), wp.vec3),
            "indices": self._array(np.ascontiguousarray(triangles).ravel(), wp.int32),
        }
        try:
            return wp.Mesh(**arrays, bvh_constructor="sah", bvh_leaf_size=_LEAF)
        except TypeError:
            # The Warp of Isaac Sim 5 chooses its own leaves.
            return wp.Mesh(**arrays)

    def _layer(
        self, beams: npt.NDArray[np.float64], pose: npt.NDArray[np.float64], range_max: float
    ) -> Any | None:
        """Return a mesh of every triangle that a scan can meet, where that is a thin layer."""
        least, greatest = self._beams[id(beams)][3]
        here = float(pose[2, 3] - self._centre[2])
        low = high = here
        # No beam rises faster than its parts along the axes at most do together.
        for share, small, large in zip(pose[2, :3].tolist(), least, greatest, strict=True):
            low += range_max * min(0.0, share * small, share * large)
            high += range_max * max(0.0, share * small, share * large)
        if not high - low <= _LAYER:
            return None
        for (bottom, top), mesh in self._layers.items():
            if bottom <= low and high <= top:
                return mesh
        if self._heights is None:
            corners = self._points[:, 2][self._triangles]
            self._heights = corners.min(axis=1), corners.max(axis=1)
        bottom, top = low - _MARGIN, high + _MARGIN
        met = (self._heights[0] <= top) & (self._heights[1] >= bottom)
        if len(self._layers) == _LAYERS_KEPT:
            self._layers.pop(next(iter(self._layers)))
        # Where nothing lies in the layer, one triangle of the scene stands for it.
        chosen = self._triangles[met] if met.any() else self._triangles[:1]
        mesh = self._mesh(*_used(self._points, chosen))
        self._layers[bottom, top] = mesh
        return mesh

    def _add_bodies(
        self, meshes: Sequence[tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]]
    ) -> None:
        """Build the meshes of bodies in their own frames and the tree over their boxes."""
        count = len(meshes)
        self._meshes: list[Any] = [self._mesh(*_used(*mesh)) for mesh in meshes]
        numbers = np.array([mesh.id for mesh in self._meshes], dtype=np.uint64)
        corners = [points[faces].reshape(-1, 3) for points, faces in meshes]
        self._least = np.array([part.min(axis=0) for part in corners]).reshape(count, 3)
        self._greatest = np.array([part.max(axis=0) for part in corners]).reshape(count, 3)
        self._ids = self._array(numbers, wp.uint64)
        self._inward = wp.zeros(count, dtype=wp.mat33, device=self._device)
        self._places, self._lowers, self._uppers = (
            wp.zeros(count, dtype=wp.vec3, device=self._device) for _ in range(3)
        )
        self._boxes: Any = None
        if count:
            self._carry()
            self._boxes = wp.Bvh(self._lowers, self._uppers)

    def _carry(self) -> None:
        """Take the bodies' frames and the boxes around them to where the bodies are."""
        poses = self._poses[self._solid]
        turns, places = poses[:, :3, :3], poses[:, :3, 3] - self._centre
        middles = np.einsum("bij,bj->bi", turns, (self._least + self._greatest) / 2.0) + places
        halves = (self._greatest - self._least) / 2.0
        # To float32, a box may lose some of its last digit.
        room = _ROOM + 1e-6 * np.abs(middles)
        wide = np.einsum("bij,bj->bi", np.abs(turns), halves) + room
        self._inward.assign(np.linalg.inv(turns).astype(np.float32))
        self._places.assign(places.astype(np.float32))
        self._lowers.assign((middles - wide).astype(np.float32))
        self._uppers.assign((middles + wide).astype(np.float32))

    def _scene(self, own: str | None) -> list[Any]:
        if own is not None and own not in self._index:
            raise ScanError(
                f"no body that moves is named '{own}'; there are: "
                f"{', '.join(self._index) or 'none'}"
            )
        return [
            self._fixed.id if self._fixed is not None else wp.uint64(0),
            self._boxes.id if self._boxes is not None else wp.uint64(0),
            self._ids,
            self._inward,
            self._places,
            _NOBODY if own is None else self._number[own],
        ]

    def _sensor(self, beams: npt.NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the device arrays of a sensor's beams and of its ranges."""
        known = self._beams.get(id(beams))
        if known is None:
            directions = self._array(
                np.ascontiguousarray(beams, dtype=np.float32).reshape(-1, 3), wp.vec3
            )
            buffer = wp.empty(directions.shape[0], dtype=wp.float32, device=self._device)
            # The beams are kept with them, so that their id stays theirs.
            flat = beams.reshape(-1, 3)
            extent = (flat.min(axis=0).tolist(), flat.max(axis=0).tolist())
            known = (beams, directions, buffer, extent)
            self._beams[id(beams)] = known
        return known[1], known[2]


def _used(
    points: npt.NDArray[np.float64], triangles: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return a mesh without the points that it does not use."""
    used, renumbered = np.unique(triangles, return_inverse=True)
    return points[used], renumbered.reshape(-1, 3).astype(np.int32)


def _checked_mesh(
    points: npt.ArrayLike, triangles: npt.ArrayLike, what: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    vertices = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    faces = np.asarray(triangles, dtype=np.int32).reshape(-1, 3)
    if not np.isfinite(vertices).all():
        raise ScanError(f"{what}: a vertex is not finite")
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise ScanError(
            f"{what}: a triangle names vertex {int(faces.max())} of {len(vertices)} vertices"
        )
    return vertices, faces
