"""What a stage is: a short answer to what is in it and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.stage.consistency import Consistency, compare_sources
from irsim_isaac.stage.geometry import Progress, read_geometry
from irsim_isaac.stage.robots import robot_specs
from irsim_isaac.stage.units import stage_units
from irsim_isaac.stage.usd import Usd, UsdGeom

__all__ = ["StageSurvey", "survey_stage"]

_LIDARS = ("OmniLidar", "IsaacRtxLidarSensor", "Lidar", "RangeSensor")


@dataclass(frozen=True, slots=True)
class StageSurvey:
    """What a stage holds.

    Attributes:
        meters_per_unit: The length of a unit [m].
        up_axis: ``"Y"`` or ``"Z"``.
        prims: How many prims there are of each type, instances included.
        triangles: Of all visible surfaces.
        size: (x, y, z) of the box that holds them [m], None where there are none.
        colliders: Prims that physics touches.
        bodies: Prims that physics moves.
        payloads: Prims with a payload, and how many of them are not loaded.
        robots: Their names.
        lidars: Their prims.
        consistency: What a lidar sees and physics does not touch, and the reverse.
        omissions: How many prims do not count, by the reason's kind.
        problems: What is wrong or had to be assumed, one sentence each.
    """

    meters_per_unit: float
    up_axis: str
    prims: dict[str, int]
    triangles: int
    size: tuple[float, float, float] | None
    colliders: int
    bodies: tuple[str, ...]
    payloads: tuple[int, int]
    robots: tuple[str, ...]
    lidars: tuple[str, ...]
    consistency: Consistency
    omissions: dict[str, int]
    problems: tuple[str, ...]


def survey_stage(stage: Usd.Stage, *, progress: Progress | None = None) -> StageSurvey:
    """Look through a stage.

    Args:
        stage: An open stage.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        What it holds.

    Raises:
        StageError: Its units are nonsense.
    """
    units = stage_units(stage)
    prims: Counter[str] = Counter()
    bodies, lidars = [], []
    payloads = unloaded = 0
    for prim in Usd.PrimRange(
        stage.GetPseudoRoot(), Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)
    ):
        if prim.IsPseudoRoot() or not prim.IsActive() or prim.IsAbstract():
            continue
        kind = str(prim.GetTypeName())
        prims[kind or "untyped"] += 1
        if kind in _LIDARS:
            lidars.append(str(prim.GetPath()))
        if prim.HasAuthoredPayloads():
            payloads += 1
            unloaded += not prim.IsLoaded()
        if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas():
            bodies.append(str(prim.GetPath()))
    visual = read_geometry(stage, progress=progress)
    touched = read_geometry(stage, source="collision", progress=progress)
    problems = list(visual.warnings)
    problems += [
        f"{item.where} {item.reason}"
        for item in visual.omissions
        if item.kind in ("broken", "composition", "unloaded", "empty")
    ]
    robots: tuple[str, ...] = ()
    try:
        robots = tuple(spec.name for spec in robot_specs(stage))
    except IrsimIsaacError as error:
        problems.append(str(error))
    size = None
    if visual.parts:
        low = [min(float(part.points[:, axis].min()) for part in visual.parts) for axis in range(3)]
        high = [
            max(float(part.points[:, axis].max()) for part in visual.parts) for axis in range(3)
        ]
        size = (high[0] - low[0], high[1] - low[1], high[2] - low[2])
    else:
        problems.append("nothing in it is visible, so a map of it needs geometry='collision'")
    if not touched.parts:
        problems.append("nothing in it collides, so physics lets everything through")
    if not prims["PhysicsScene"] and touched.parts:
        problems.append("it has colliders but no PhysicsScene")
    if UsdGeom.GetStageMetersPerUnit(stage) not in (1.0, 0.01):
        problems.append(f"its unit of {units.meters_per_unit:g} m is neither a metre nor a "
                        "centimetre")  # fmt: skip
    return StageSurvey(
        units.meters_per_unit,
        units.up_axis,
        dict(sorted(prims.items())),
        visual.triangle_count,
        size,
        len({part.path for part in touched.parts}),
        tuple(bodies),
        (payloads, unloaded),
        robots,
        tuple(lidars),
        compare_sources(stage, progress=progress),
        dict(sorted(Counter(item.kind for item in visual.omissions).items())),
        tuple(problems),
    )
