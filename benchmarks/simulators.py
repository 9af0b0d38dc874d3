"""What a lidar costs in a scene of triangles and on a map, beside Embree and IR-SIM."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac.lidar import GridCaster, MovingBody, RayCaster, pose_matrix, sensor_beams

BEAMS = 1080
_FACES = ((0, 1, 3), (0, 3, 2))


def _sheet(
    corner: np.ndarray, along: np.ndarray, up: np.ndarray, cells: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a rectangle as a grid of triangles."""
    u, v = (np.linspace(0.0, 1.0, count + 1) for count in cells)
    points = corner + u[:, None, None] * along + v[None, :, None] * up
    index = np.arange(points.shape[0] * points.shape[1]).reshape(points.shape[:2])
    quads = np.stack([index[:-1, :-1], index[1:, :-1], index[:-1, 1:], index[1:, 1:]], axis=-1)
    faces = np.concatenate([quads[..., face] for face in _FACES]).reshape(-1, 3)
    return points.reshape(-1, 3), faces


def _joined(sheets: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0] + [len(points) for points, _ in sheets])
    return (
        np.concatenate([points for points, _ in sheets]),
        np.concatenate(
            [faces + offset for (_, faces), offset in zip(sheets, offsets, strict=False)]
        ).astype(np.int32),
    )


def closed_rooms() -> tuple[np.ndarray, np.ndarray]:
    """Return a house of 6 x 6 rooms with doors, floor and ceiling: a million triangles."""
    sheets = []
    side, rooms, height, door = 5.0, 6, 3.0, 1.0
    up = np.array([0.0, 0.0, height])
    whole = side * rooms
    for line in range(rooms + 1):
        for room in range(rooms):
            for axis in (0, 1):
                pieces = [(0.0, side)]
                if 0 < line < rooms:
                    pieces = [(0.0, (side - door) / 2), ((side + door) / 2, side)]
                for start, end in pieces:
                    corner = np.zeros(3)
                    corner[axis] = room * side + start
                    corner[1 - axis] = line * side
                    along = np.zeros(3)
                    along[axis] = end - start
                    sheets.append(_sheet(corner, along, up, (68, 36)))
    for z in (0.0, height):
        corner = np.array([0.0, 0.0, z])
        spread = np.eye(3)[:2] * whole
        sheets.append(_sheet(corner, spread[0], spread[1], (290, 290)))
    return _joined(sheets)


def open_terrain() -> tuple[np.ndarray, np.ndarray]:
    """Return hills under an open sky: a million triangles."""
    points, faces = _sheet(
        np.array([-50.0, -50.0, 0.0]),
        np.array([100.0, 0.0, 0.0]),
        np.array([0.0, 100.0, 0.0]),
        (707, 707),
    )
    x, y = points[:, 0], points[:, 1]
    points[:, 2] = 0.8 * np.sin(x / 3.0) * np.cos(y / 4.0) + 0.3 * np.sin(x * 1.3 + y)
    return points, faces.astype(np.int32)


@benchmark("lidar_1080_1m_triangles")
def lidar_triangles() -> Iterator[Row]:
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    beams = sensor_beams(np.linspace(-math.pi, math.pi, BEAMS, endpoint=False))
    for scene, mesh, place, bar in (
        ("rooms", closed_rooms(), (12.3, 11.9, 0.5), 0.4),
        ("open", open_terrain(), (1.0, 2.0, 0.7), 0.2),
    ):
        points, faces = mesh
        pose = pose_matrix(*place, yaw=0.3)
        caster = RayCaster(points, faces)
        embree = EmbreeScene()
        TriangleMesh(embree, points.astype(np.float32)[faces])
        starts = np.tile(np.float32(place), (BEAMS, 1))
        directions = (beams[0] @ pose[:3, :3].T).astype(np.float32)

        def ours(caster: RayCaster = caster, pose: np.ndarray = pose) -> Any:
            for _ in range(20):
                found = caster.scan(beams, pose, range_max=30.0)
            return found

        def peer(
            embree: Any = embree, starts: np.ndarray = starts, directions: np.ndarray = directions
        ) -> Any:
            for _ in range(20):
                found = embree.run(starts, directions, query="DISTANCE")
            return found

        near = peer()
        near = np.where(near > 30.0, np.inf, near)
        seen = ours()[0]
        both = np.isfinite(near) & np.isfinite(seen)
        if np.abs(near[both] - seen[both]).max() > 1e-3:
            raise AssertionError("the two do not see the same scene")
        yield compare(
            f"lidar_1080_1m_triangles/{scene}",
            ours,
            peer,
            peer_name=f"embreex {version('embreex')}",
            bar=bar,
            note=f"{len(faces)} triangles, 20 scans, one thread each",
        )


def plate(side: float, height: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a level square about the origin, the worst that a lidar at its height can carry."""
    return _sheet(
        np.array([-side / 2, -side / 2, height]),
        np.array([side, 0.0, 0.0]),
        np.array([0.0, side, 0.0]),
        (cells, cells),
    )


@benchmark("lidar_1080_level_with_own_body")
def lidar_level() -> Iterator[Row]:
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    points, faces = closed_rooms()
    place = (12.3, 11.9, 0.5)
    pose = pose_matrix(*place, yaw=0.3)
    body = MovingBody("robot", *plate(0.6, 0.5, 30))
    caster = RayCaster(points, faces, bodies=[body])
    caster.move({"robot": pose_matrix(*place[:2])})
    beams = sensor_beams(np.linspace(-math.pi, math.pi, BEAMS, endpoint=False))
    embree = EmbreeScene()
    TriangleMesh(embree, points.astype(np.float32)[faces])
    starts = np.tile(np.float32(place), (BEAMS, 1))
    directions = (beams[0] @ pose[:3, :3].T).astype(np.float32)

    def ours() -> Any:
        for _ in range(20):
            found = caster.scan(beams, pose, range_max=30.0, own="robot")
        return found

    def peer() -> Any:
        for _ in range(20):
            found = embree.run(starts, directions, query="DISTANCE")
        return found

    if np.abs(ours()[0] - peer()).max() > 1e-3:
        raise AssertionError("the two do not see the same scene")
    yield compare(
        "lidar_1080_level_with_own_body",
        ours,
        peer,
        peer_name=f"embreex {version('embreex')}, which has no such body in its scene",
        bar=0.4,
        note=f"the closed rooms; {len(body.triangles)} triangles of the robot level with its lidar",
    )


def rooms_grid(cells: int = 1000, room: int = 100, door: int = 16) -> np.ndarray:
    """Return walls one cell thick about rooms of 5 m with doors, in cells of 5 cm."""
    grid = np.zeros((cells, cells), dtype=bool)
    for line in range(0, cells, room):
        grid[line, :] = grid[:, line] = True
    for line in range(room, cells, room):
        for middle in range(room // 2, cells, room):
            doorway = slice(middle - door // 2, middle + door // 2)
            grid[line, doorway] = grid[doorway, line] = False
    grid[-1, :] = grid[:, -1] = True
    return grid


@benchmark("lidar_1080_rooms_1000")
def lidar_rooms() -> Iterator[Row]:
    from irsim_isaac.simulators import IrsimSimulator

    grid, resolution = rooms_grid(), 0.05
    size = len(grid) * resolution
    place = (27.3, 26.1, 0.3)
    bearings = np.linspace(-math.pi, math.pi, BEAMS)
    caster = GridCaster(grid, resolution=resolution)
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "map.png"
        Image.fromarray(np.where(grid.T[::-1], 0, 255).astype(np.uint8)).save(image)
        for reach, bar, other in ((10.0, 80.0, 0.00022), (30.0, 300.0, 0.0004)):
            sensor = {
                "name": "lidar2d",
                "range_max": reach,
                "angle_range": 2.0 * math.pi,
                "number": BEAMS,
            }
            robot = {
                "kinematics": {"name": "diff"},
                "shape": {"name": "circle", "radius": 0.2},
                "state": list(place),
                "sensors": [sensor],
            }
            world = {
                "width": size,
                "height": size,
                "obstacle_map": str(image),
            }
            path = Path(folder) / "world.yaml"
            path.write_text(yaml.safe_dump({"world": world, "robot": robot}))
            simulator = IrsimSimulator(world=path)
            item = simulator._env.robot_list[0]

            def peer(item: Any = item) -> Any:
                item.lidar.step(item.state[0:3])
                return item.lidar.range_data

            def ours(reach: float = reach) -> Any:
                return caster.scan(bearings, place, range_max=reach)

            theirs = np.asarray(peer())
            seen = np.minimum(ours(), reach)
            if np.median(np.abs(theirs - seen)) > 1e-4:
                raise AssertionError("the two do not see the same map")
            yield compare(
                f"lidar_1080_rooms_1000/{reach:g} m",
                ours,
                peer,
                peer_name=f"ir-sim {version('ir-sim')}",
                bar=bar,
                runs=9,
                note=f"irsim-x 1.1.4: {other} s a step, measured elsewhere, not in this run",
            )
            simulator.close()
