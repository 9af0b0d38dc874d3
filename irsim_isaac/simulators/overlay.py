"""A stage with a layer of our own over it; the file itself stays as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irsim_isaac.errors import SimulatorError

if TYPE_CHECKING:
    from pxr import Usd

__all__ = [
    "add_contact_report",
    "ensure_physics_scene",
    "keep_wheels_to_the_ground",
    "open_overlay",
]


def open_overlay(path: str | os.PathLike[str]) -> Usd.Stage:
    """Return a stage whose root layer is new, lies in no file, and has the file below it.

    What is authored goes to the new layer.

    Args:
        path: The USD file.

    Raises:
        StageError: The file is missing or no USD.
    """
    from irsim_isaac.stage import open_stage
    from irsim_isaac.stage.usd import Sdf, Usd

    below = open_stage(path)
    under = below.GetRootLayer()
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Absolute, as the new layer lies nowhere; the names inside the file are its own matter.
    layer.subLayerPaths.append(Path(under.realPath).as_posix())
    # Units, axes and time of a stage are those of its root layer alone.
    for key in under.pseudoRoot.ListInfoKeys():
        if key not in ("subLayers", "subLayerOffsets", "documentation", "primChildren"):
            layer.pseudoRoot.SetInfo(key, under.pseudoRoot.GetInfo(key))
    return Usd.Stage.Open(layer)


def ensure_physics_scene(stage: Usd.Stage, *, simulator: str) -> str:
    """Return the path of the stage's physics scene, one of our own where it has none.

    Its bodies are kept awake, its results the same in every run, and its solver is the one
    that the stage asks for, else PGS.
    """
    from irsim_isaac.stage.usd import Sdf, UsdPhysics

    scenes = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Scene)]
    if len(scenes) > 1:
        found = ", ".join(str(prim.GetPath()) for prim in scenes)
        raise SimulatorError(f"{simulator}: the stage has several physics scenes: {found}")
    if scenes:
        prim = scenes[0]
    else:
        prim = UsdPhysics.Scene.Define(stage, "/irsim_isaac_physics_scene").GetPrim()
    prim.AddAppliedSchema("PhysxSceneAPI")
    for name in (
        # Bodies that sleep report no contacts.
        "physxScene:disableSleeping",
        "physxScene:enableEnhancedDeterminism",
    ):
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Bool, False).Set(True)
    solver = prim.GetAttribute("physxScene:solverType")
    if not (solver and solver.HasAuthoredValue()):
        # The other solver, TGS, now and then throws a robot aside in its first step: it takes
        # wheels that just touch the ground for wheels that are pressed into it.
        prim.CreateAttribute("physxScene:solverType", Sdf.ValueTypeNames.Token, False).Set("PGS")
    return str(prim.GetPath())


def keep_wheels_to_the_ground(
    stage: Usd.Stage, robots: Sequence[str], *, height: float, up: int
) -> None:
    """Let the balls that wheels touch the ground with pass what stands on it.

    They are wider than the wheels; what a robot runs into is for its body to meet.

    Args:
        stage: The stage.
        robots: The prims that hold the robots whose wheels are written with such balls.
        height: What rises above this [stage units] is no ground.
        up: The axis that points up, 1 or 2.
    """
    from irsim_isaac.stage.usd import Usd, UsdGeom, UsdPhysics

    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), UsdGeom.Imageable.GetOrderedPurposeTokens())
    balls, standing = [], []
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.CollisionAPI):
            continue
        path = str(prim.GetPath())
        if prim.GetName() == "contact" and any(path.startswith(f"{root}/") for root in robots):
            balls.append(prim)
        elif cache.ComputeWorldBound(prim).ComputeAlignedRange().GetMax()[up] > height:
            standing.append(path)
    for ball in balls:
        home = next(root for root in robots if str(ball.GetPath()).startswith(f"{root}/"))
        others = [path for path in standing if not path.startswith(f"{home}/")]
        others += [str(other.GetPath()) for other in balls if other != ball]
        UsdPhysics.FilteredPairsAPI.Apply(ball).CreateFilteredPairsRel().SetTargets(others)


def add_contact_report(prim: Any) -> None:
    """Have PhysX report what a body touches, however softly."""
    from irsim_isaac.stage.usd import Sdf

    prim.AddAppliedSchema("PhysxContactReportAPI")
    prim.CreateAttribute("physxContactReport:threshold", Sdf.ValueTypeNames.Float, False).Set(0.0)
