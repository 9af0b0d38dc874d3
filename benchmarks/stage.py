"""A stage to the grid of what is occupied."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac.stage import build_occupancy, open_stage, read_geometry
from irsim_isaac.stage.rasterization import CLOSED, SHEET, rasterize
from irsim_isaac.stage.shapes import Shape, tessellate

CELLS = 2000
RESOLUTION = 0.05
BAND = (0.1, 0.62)
SIDE = CELLS * RESOLUTION
BOUNDS = (0.0, 0.0, SIDE, SIDE)
NUMPY = f"numpy {np.__version__}, T.min(1); T.max(1)"

Mesh = tuple[NDArray[np.float64], NDArray[np.int32]]


def terrain() -> Mesh:
    """Hills that run in and out of the band: a million triangles on the whole area."""
    count = 708
    x, y = np.meshgrid(np.linspace(0, SIDE, count), np.linspace(0, SIDE, count), indexing="ij")
    noise = np.random.default_rng(1).normal(0.0, 0.02, x.shape)
    z = 0.36 + 0.5 * np.sin(x / 3.0) * np.cos(y / 4.0) + noise
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    corner = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    lower = np.column_stack([corner, corner + count, corner + count + 1])
    upper = np.column_stack([corner, corner + count + 1, corner + 1])
    return points, np.concatenate([lower, upper]).astype(np.int32)


def spheres() -> list[Mesh]:
    """A thousand balls of a thousand triangles each."""
    unit, triangles = tessellate(Shape("sphere", radius=1.0), 32)
    rng = np.random.default_rng(2)
    radii = rng.uniform(0.2, 1.5, 1000)
    centers = np.column_stack([rng.uniform(2, SIDE - 2, (1000, 2)), rng.uniform(0, 0.8, 1000)])
    return [
        (unit * radius + center, triangles) for radius, center in zip(radii, centers, strict=True)
    ]


def joined(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    offsets = np.cumsum([0, *(len(points) for points, _ in meshes[:-1])])
    return (
        np.concatenate([points for points, _ in meshes]),
        np.concatenate(
            [triangles + offset for (_, triangles), offset in zip(meshes, offsets, strict=True)]
        ).astype(np.int32),
    )


def write_meshes(path: Path, meshes: list[Mesh], *, colliders: bool) -> None:
    """Write meshes to a stage in metres with z up."""
    from pxr import Usd, UsdGeom, UsdPhysics, Vt

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    if colliders:
        UsdPhysics.Scene.Define(stage, "/Physics")
    for index, (points, triangles) in enumerate(meshes):
        mesh = UsdGeom.Mesh.Define(stage, f"/World/Mesh_{index}")
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(triangles), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(
            Vt.IntArray.FromNumpy(np.ascontiguousarray(triangles).ravel())
        )
        mesh.CreateSubdivisionSchemeAttr("none")
        if colliders:
            UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    stage.GetRootLayer().Save()


def draw(mesh: Mesh, kinds: NDArray[np.int8]) -> NDArray[np.int8]:
    return rasterize(
        mesh[0],
        mesh[1],
        kinds,
        resolution=RESOLUTION,
        corner=(0, 0),
        shape=(CELLS, CELLS),
        band=BAND,
    )


@benchmark("occupancy_1m_triangles")
def occupancy_1m_triangles() -> Iterator[Row]:
    for scene, mesh in (("terrain", terrain()), ("spheres", joined(spheres()))):
        corners = mesh[0].astype(np.float32)[mesh[1]]
        for name, kind, bar in ((scene, SHEET, 2.0), (f"{scene}_filled", CLOSED, 1 / 0.6)):
            kinds = np.full(len(mesh[1]), kind, dtype=np.int8)
            yield compare(
                f"occupancy_1m_triangles/{name}",
                lambda mesh=mesh, kinds=kinds: draw(mesh, kinds),
                lambda corners=corners: (corners.min(1), corners.max(1)),
                peer_name=NUMPY,
                bar=bar,
                note=f"{len(mesh[1])} triangles",
            )


@benchmark("stage_to_occupancy_1m")
def stage_to_occupancy_1m() -> Iterator[Row]:
    meshes = spheres()
    points, triangles = joined(meshes)
    corners = points.astype(np.float32)[triangles]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spheres.usdc"
        write_meshes(path, meshes, colliders=False)
        stage = open_stage(path)
        yield compare(
            "stage_to_occupancy_1m",
            lambda: build_occupancy(stage, height=BAND, bounds=BOUNDS),
            lambda: (corners.min(1), corners.max(1)),
            peer_name=NUMPY,
            bar=1 / 2.5,
            note=f"{len(meshes)} meshes, {len(triangles)} triangles, opened stage to grid",
        )


@benchmark("occupancy_against_physx")
def occupancy_against_physx() -> Iterator[Row]:
    from tests.oracles.physx_overlap import PhysxOverlap

    mesh = terrain()
    asked = 20_000
    cells = np.random.default_rng(3).integers(0, CELLS, (asked, 2))
    centers = np.column_stack([(cells + 0.5) * RESOLUTION, np.full(asked, sum(BAND) / 2)])
    extent = (RESOLUTION / 2, RESOLUTION / 2, (BAND[1] - BAND[0]) / 2)
    kinds = np.full(len(mesh[1]), SHEET, dtype=np.int8)
    peer = f"ovphysx {metadata.version('ovphysx')}, one box overlap a cell"
    note = f"PhysX asked about {asked} of {CELLS * CELLS} cells, scaled"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "terrain.usdc"
        write_meshes(path, [mesh], colliders=True)
        stage = open_stage(path)
        with PhysxOverlap(path) as physx:
            for name, ours, bar in (
                ("kernel", lambda: draw(mesh, kinds), 300.0),
                (
                    "stage",
                    lambda: build_occupancy(
                        stage, height=BAND, bounds=BOUNDS, geometry="collision"
                    ),
                    150.0,
                ),
            ):
                yield compare(
                    f"occupancy_against_physx/{name}",
                    ours,
                    lambda: physx.touched(centers, extent),
                    peer_name=peer,
                    bar=bar,
                    runs=5,
                    scale=CELLS * CELLS / asked,
                    note=note,
                )


@benchmark("stage_50k_instances")
def stage_50k_instances() -> Iterator[Row]:
    for count in (12_500, 25_000, 50_000):
        for kind in ("references", "point_instancer"):
            seconds, memory = measure_instances(count, kind)
            name = f"{kind}_{count}"
            yield Row(
                f"stage_50k_instances/{name}", value=seconds, unit="s", note="of one processor"
            )
            yield Row(f"stage_50k_instances/{name}/memory", value=memory, unit="MB")


@benchmark("stage_2m_triangles")
def stage_2m_triangles() -> Iterator[Row]:
    lift = np.array([0.0, 0.0, 0.2])
    meshes = [*spheres(), *((points + lift, triangles) for points, triangles in spheres())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spheres.usdc"
        write_meshes(path, meshes, colliders=False)
        seconds, memory = measure(path)
    yield Row("stage_2m_triangles", value=seconds, unit="s", note="of one processor")
    yield Row("stage_2m_triangles/memory", value=memory, unit="MB")


def measure_instances(count: int, kind: str) -> tuple[float, float]:
    """Map a stage of cubes in its own process; return seconds and the peak of memory [MB]."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cubes.usdc"
        write_cubes(path, count, kind)
        return measure(path)


def measure(path: Path) -> tuple[float, float]:
    """Map a stage in a process of its own; return seconds and the peak of memory [MB]."""
    code = "import sys; from benchmarks.stage import time_map; print(*time_map(sys.argv[1]))"
    answer = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = answer.stdout.split()[-2:]
    return float(seconds), float(memory)


def write_cubes(path: Path, count: int, kind: str) -> None:
    """Write a field of equal cubes, a metre apart."""
    from pxr import Gf, Sdf, Usd, UsdGeom, Vt

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    side = 250
    places = np.column_stack(
        [np.arange(count) % side, np.arange(count) // side, np.full(count, 0.3)]
    ).astype(np.float64)
    if kind == "point_instancer":
        instancer = UsdGeom.PointInstancer.Define(stage, "/Field")
        UsdGeom.Cube.Define(stage, "/Field/Cube").CreateSizeAttr(0.5)
        instancer.CreatePrototypesRel().SetTargets(["/Field/Cube"])
        instancer.CreateProtoIndicesAttr(Vt.IntArray.FromNumpy(np.zeros(count, np.int32)))
        instancer.CreatePositionsAttr(Vt.Vec3fArray.FromNumpy(places.astype(np.float32)))
    else:
        stage.CreateClassPrim("/Prototype")
        UsdGeom.Cube.Define(stage, "/Prototype/Cube").CreateSizeAttr(0.5)
        with Sdf.ChangeBlock():
            layer = stage.GetRootLayer()
            for index, place in enumerate(places.tolist()):
                spec = Sdf.CreatePrimInLayer(layer, f"/Field/Cube_{index}")
                spec.specifier, spec.typeName, spec.instanceable = Sdf.SpecifierDef, "Xform", True
                spec.referenceList.Prepend(Sdf.Reference("", "/Prototype"))
                move = Sdf.AttributeSpec(spec, "xformOp:translate", Sdf.ValueTypeNames.Double3)
                move.default = Gf.Vec3d(*place)
                order = Sdf.AttributeSpec(
                    spec, "xformOpOrder", Sdf.ValueTypeNames.TokenArray, Sdf.VariabilityUniform
                )
                order.default = ["xformOp:translate"]
        layer.GetPrimAtPath("/Field").specifier = Sdf.SpecifierDef
    stage.GetRootLayer().Save()


def time_map(path: str) -> tuple[float, float]:
    """Return a processor's seconds from an opened stage to its grid, and the peak [MB]."""
    stage = open_stage(path)
    start = time.process_time()
    occupancy = build_occupancy(stage)
    seconds = time.process_time() - start
    assert (occupancy.cells == 100).any() and len(read_geometry(stage).parts) > 1
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
