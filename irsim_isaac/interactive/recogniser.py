"""What a robot's camera sees of the items of a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Header, Point, Pose, Quaternion, WorldState
from irsim_isaac.msg.interactive_world import (
    ItemPlace,
    PointCloud2,
    SegmentedObject,
    WorldModel,
    from_matrix,
    to_matrix,
)

if TYPE_CHECKING:
    from pxr import Usd

    from irsim_isaac.robot import RobotSpec

__all__ = ["Camera", "Recogniser", "Sighting", "StageRecogniser", "View"]

Place: TypeAlias = tuple[float, float, float]
"""x, y, z in the world [m]."""

_SAMPLES = 64
"""Points on an item that are looked for."""

_TOUCHING = 0.005
"""What is nearer than this to a point, on the way to it, does not hide it [m]."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera on a mast that turns to what is looked at; simulators know nothing of either.

    Attributes:
        x: Forward of the robot's base [m].
        z: Above the floor [m].
        width: Of the field of view [rad].
        height: Of the field of view [rad].
        near: The nearest that is recognised [m].
        far: The farthest that is recognised [m].
        pan: How far it turns to either side [rad].
        tilt: How far it turns up and down [rad].
    """

    x: float = 0.0
    z: float = 1.25
    width: float = math.radians(60.0)
    height: float = math.radians(46.0)
    near: float = 0.2
    far: float = 2.5
    pan: float = math.radians(80.0)
    tilt: float = math.radians(80.0)


@dataclass(frozen=True, slots=True)
class Sighting:
    """An item that was seen.

    Attributes:
        item: What it was recognised as.
        frame_id: Its frame in the world.
        standing: Where it touches what it stands on.
        size: Along its x, its y and up [m].
        confidence: The share of it that was in view, from 0 to 1.
    """

    item: str
    frame_id: str
    standing: Pose
    size: tuple[float, float, float]
    confidence: float

    def segmented(self, fixed_frame: str) -> SegmentedObject:
        """Return it as the message of a recogniser."""
        at = self.standing.position
        middle = Point(at.x, at.y, at.z + self.size[2] / 2.0)
        return SegmentedObject(
            self.item,
            self.confidence,
            True,
            PointCloud2(Header(0, 0.0, fixed_frame)),
            middle,
            middle,
            *self.size,
            self.standing.orientation,
        )


@dataclass(frozen=True, slots=True)
class View:
    """One look.

    Attributes:
        position: Where the camera was [m].
        direction: Where it looked, a unit vector.
        seen: The items that were recognised.
        clear: Of the places that were asked about: whether each was in view and not hidden.
    """

    position: Place
    direction: Place
    seen: tuple[Sighting, ...]
    clear: tuple[bool, ...] = ()


class Recogniser(Protocol):
    """Recognises items from where a robot is."""

    def look(self, state: WorldState, at: Place, *, expected: Sequence[Place] = ()) -> View:
        """Look at a place.

        Args:
            state: Where everything is now.
            at: What the camera turns to [m].
            expected: Places where something is thought to be [m].
        """
        ...


class StageRecogniser:
    """Recognises the items of a stage by rays at its meshes.

    An item is recognised where enough of its surface is in the field of view, in range, and not
    behind something else. An item does not hide itself, and what it stands on hides it only from
    below. Items move with the rigid bodies that they are; a body moves as its object has moved
    since the reference state, so that simulators that move outlines in the plane do as well.

    Args:
        stage: The stage.
        model: Its world.
        robots: All robots by name; those that the stage has not are seen as their footprints.
        robot: The one with the camera, which does not see itself.
        reference: The state in which everything is where the stage has it.
        camera: The camera.
        least_visible: The share of an item that must be in view, from 0 to 1.
        miss_rate: The share of looks in which an item that is in view is not recognised.
        seed: Of the misses.

    Raises:
        InteractiveError: There is no such robot.
    """

    def __init__(
        self,
        stage: Usd.Stage,
        model: WorldModel,
        *,
        robots: Sequence[RobotSpec],
        robot: str,
        reference: WorldState,
        camera: Camera | None = None,
        least_visible: float = 0.25,
        miss_rate: float = 0.0,
        seed: int = 0,
    ) -> None:
        from irsim_isaac.simulators.scene import SceneBody, find_bodies, ray_caster
        from irsim_isaac.stage import Geometry, read_geometry

        named = {spec.name: spec for spec in robots}
        if robot not in named:
            raise InteractiveError(
                f"no robot '{robot}' can look; there are {', '.join(named) or 'none'}"
            )
        self.camera = camera or Camera()
        self._model, self._robot = model, robot
        self._least, self._miss_rate, self._seed = least_visible, miss_rate, seed
        roots = [spec.prim_path for spec in robots if spec.prim_path]
        whole = read_geometry(stage)
        parts = tuple(
            part for part in whole.parts if not any(_within(part.path, root) for root in roots)
        )
        bodies = find_bodies(stage, roots)
        self._moved_by: dict[str, str] = {}
        for item in model.items:
            body = next((body for body in bodies if _within(item.path, body.path)), None)
            if body is None:
                # What stands is made a body of its own, so that it does not hide itself.
                body = SceneBody(f"item {item.frame_id}", item.path, to_matrix(item.pose), True)
                bodies.append(body)
            self._moved_by[item.frame_id] = body.name
        self._start = {body.name: body.pose for body in bodies}
        self._points = {
            item.frame_id: _sampled(
                [(p.points, p.triangles) for p in parts if _within(p.path, item.path)]
            )
            for item in model.items
        }
        others = {name: spec for name, spec in named.items() if name != robot}
        self._others = tuple(others)
        self._caster = ray_caster(
            Geometry(parts, whole.omissions, whole.warnings, whole.units),
            robots=others,
            robot_roots={},
            starts={},
            bodies=bodies,
        )
        self._reference = {
            item.name: np.linalg.inv(to_matrix(item.odom.pose.pose))
            for item in reference.objects
            if item.name in self._start
        }

    def items(self, state: WorldState) -> tuple[ItemPlace, ...]:
        """Return all items where they are in a state, seen or not."""
        moves = self._moves(state)
        return tuple(
            _moved(item, moves.get(self._moved_by[item.frame_id])) for item in self._model.items
        )

    def body_of(self, frame_id: str) -> str:
        """Return the object that moves an item.

        Raises:
            InteractiveError: There is no such item.
        """
        try:
            return self._moved_by[frame_id]
        except KeyError:
            raise InteractiveError(
                f"there is no item '{frame_id}'; there are {', '.join(self._moved_by) or 'none'}"
            ) from None

    def look(self, state: WorldState, at: Place, *, expected: Sequence[Place] = ()) -> View:
        """Look at a place; see ``Recogniser``."""
        moves = self._moves(state)
        self._caster.move({name: move @ self._start[name] for name, move in moves.items()})
        poses = {item.name: to_matrix(item.odom.pose.pose) for item in state.objects}
        self._caster.move({name: poses[name] for name in self._others if name in poses})
        eye, axes = self._aimed(poses[self._robot], np.asarray(at, dtype=np.float64))
        seen = []
        for index, item in enumerate(self._model.items):
            move = moves.get(self._moved_by[item.frame_id], np.eye(4))
            points = self._points[item.frame_id]
            if not len(points):
                continue
            points = points @ move[:3, :3].T + move[:3, 3]
            share = float(self._in_view(eye, axes, points, self._moved_by[item.frame_id]).mean())
            if share < self._least or share == 0.0 or self._missed(index, state.header.seq):
                continue
            place = _moved(item, move)
            tall = 0.0 if item.top is None or item.bottom is None else item.top - item.bottom
            size = (item.width, item.height, tall)
            seen.append(Sighting(item.name, item.frame_id, place.standing, size, share))
        # Just above what it stands on, because the place itself lies in it.
        places = np.asarray(expected, dtype=np.float64).reshape(-1, 3) + np.array([0.0, 0.0, 0.01])
        clear = self._in_view(eye, axes, places, None)
        return View(
            (float(eye[0]), float(eye[1]), float(eye[2])),
            (float(axes[0, 0]), float(axes[1, 0]), float(axes[2, 0])),
            tuple(seen),
            tuple(bool(value) for value in clear),
        )

    def _moves(self, state: WorldState) -> dict[str, NDArray[np.float64]]:
        """Return how far each body has moved since the reference."""
        return {
            item.name: to_matrix(item.odom.pose.pose) @ self._reference[item.name]
            for item in state.objects
            if item.name in self._reference
        }

    def _aimed(
        self, base: NDArray[np.float64], at: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the camera is and its axes forward, left and up, as columns."""
        camera = self.camera
        yaw = math.atan2(base[1, 0], base[0, 0])
        # The mast is upright, however the robot leans.
        eye = base[:3, 3] + (camera.x * math.cos(yaw), camera.x * math.sin(yaw), camera.z)
        way = at - eye
        pan = math.remainder(math.atan2(way[1], way[0]) - yaw, 2.0 * math.pi)
        pan = max(-camera.pan, min(camera.pan, pan)) + yaw
        tilt = math.atan2(way[2], math.hypot(way[0], way[1]))
        tilt = max(-camera.tilt, min(camera.tilt, tilt))
        c, s, up, flat = math.cos(pan), math.sin(pan), math.sin(tilt), math.cos(tilt)
        axes = np.array([[c * flat, -s, -c * up], [s * flat, c, -s * up], [up, 0.0, flat]])
        return eye, axes

    def _in_view(
        self,
        eye: NDArray[np.float64],
        axes: NDArray[np.float64],
        points: NDArray[np.float64],
        own: str | None,
    ) -> NDArray[np.bool_]:
        """Return which points are in the field of view, in range and not hidden."""
        if not len(points):
            return np.zeros(0, dtype=bool)
        camera = self.camera
        ways = points - eye
        distance = np.linalg.norm(ways, axis=1)
        forward, left, up = (ways @ axes).T
        inside: NDArray[np.bool_] = (
            (distance >= camera.near)
            & (distance <= camera.far)
            & (forward > 0.0)
            & (np.abs(np.arctan2(left, forward)) <= camera.width / 2.0)
            & (np.abs(np.arctan2(up, forward)) <= camera.height / 2.0)
        )
        if inside.any():
            reached = self._caster.cast(
                np.broadcast_to(eye, (int(inside.sum()), 3)),
                ways[inside] / distance[inside, None],
                range_max=camera.far,
                own=own,
            )
            inside[inside] = reached >= distance[inside] - _TOUCHING
        return inside

    def _missed(self, index: int, count: int) -> bool:
        if self._miss_rate <= 0.0:
            return False
        return bool(np.random.default_rng((self._seed, count, index)).random() < self._miss_rate)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _sampled(
    pieces: Sequence[tuple[NDArray[np.float64], NDArray[np.int32]]],
) -> NDArray[np.float64]:
    """Return points spread evenly over triangles, the same ones each time, shape (n, 3)."""
    if not pieces:
        return np.zeros((0, 3))
    corners = np.concatenate([points[triangles] for points, triangles in pieces])
    edges = corners[:, 1:] - corners[:, :1]
    areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    if not areas.sum() > 0.0:
        return corners.reshape(-1, 3)
    random = np.random.default_rng(0)
    upto = np.cumsum(areas) / areas.sum()
    chosen = np.minimum(
        np.searchsorted(upto, (np.arange(_SAMPLES) + 0.5) / _SAMPLES), len(areas) - 1
    )
    u, v = random.random((2, _SAMPLES))
    u, v = np.where(u + v > 1.0, (1.0 - u, 1.0 - v), (u, v))
    points: NDArray[np.float64] = (
        corners[chosen, 0] + u[:, None] * edges[chosen, 0] + v[:, None] * edges[chosen, 1]
    )
    return points


def _moved(item: ItemPlace, move: NDArray[np.float64] | None) -> ItemPlace:
    """Return an item after a motion; its height stays what it was when it stood."""
    if move is None:
        return item
    matrix = move @ to_matrix(item.pose)
    rise = float(matrix[2, 3]) - item.pose.position.z
    pose = from_matrix(matrix)
    turn = pose.orientation
    at = pose.position
    return ItemPlace(
        item.name,
        item.frame_id,
        Pose(at, Quaternion(turn.x, turn.y, turn.z, turn.w)),
        item.width,
        item.height,
        None if item.bottom is None else item.bottom + rise,
        None if item.top is None else item.top + rise,
        item.path,
    )
