"""A stage with a layer of our own over it; the file itself stays as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irsim_isaac.errors import SimulatorError

if TYPE_CHECKING:
    from pxr import Usd

__all__ = ["add_contact_report", "ensure_physics_scene", "open_overlay"]


def open_overlay(path: str | os.PathLike[str], folder: Path) -> Usd.Stage:
    """Return a stage whose root layer is new and has the file below it.

    What is authored goes to the new layer, ``folder / "overlay.usda"``; saving the stage's
    root layer writes it.

    Args:
        path: The USD file.
        folder: Where the new layer is to lie.

    Raises:
        StageError: The file is missing or no USD.
    """
    from irsim_isaac.stage import open_stage
    from irsim_isaac.stage.usd import Sdf, Usd

    below = open_stage(path)
    under = below.GetRootLayer()
    layer = Sdf.Layer.CreateNew(str(folder / "overlay.usda"))
    # Absolute, as the new layer lies elsewhere; the names inside the file are its own matter.
    layer.subLayerPaths.append(Path(under.realPath).as_posix())
    # Units, axes and time of a stage are those of its root layer alone.
    for key in under.pseudoRoot.ListInfoKeys():
        if key not in ("subLayers", "subLayerOffsets", "documentation", "primChildren"):
            layer.pseudoRoot.SetInfo(key, under.pseudoRoot.GetInfo(key))
    return Usd.Stage.Open(layer)


def ensure_physics_scene(stage: Usd.Stage, *, simulator: str) -> str:
    """Return the path of the stage's physics scene, one of our own where it has none.

    Its bodies are kept awake, and its results the same in every run.
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
    return str(prim.GetPath())


def add_contact_report(prim: Any) -> None:
    """Have PhysX report what a body touches, however softly."""
    from irsim_isaac.stage.usd import Sdf

    prim.AddAppliedSchema("PhysxContactReportAPI")
    prim.CreateAttribute("physxContactReport:threshold", Sdf.ValueTypeNames.Float, False).Set(0.0)
