"""Opening a stage, with overrides that touch no file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from irsim_isaac.errors import StageError
from irsim_isaac.stage.metrics import fix_metrics
from irsim_isaac.stage.usd import Sdf, Tf, Usd, UsdGeom, UsdUtils

__all__ = ["open_stage", "stage_overrides"]


def open_stage(
    path: str | os.PathLike[str],
    *,
    meters_per_unit: float | None = None,
    up_axis: Literal["Y", "Z"] | None = None,
    variants: Mapping[str, str] | None = None,
    payloads: Literal["all", "none"] = "all",
    fix_units: bool = False,
    strict: bool = False,
) -> Usd.Stage:
    """Open a USD file.

    Overrides are written to the session layer: the file stays as it is.

    Args:
        path: A ``.usd``, ``.usda``, ``.usdc`` or ``.usdz`` file.
        meters_per_unit: The length of a stage unit [m], in place of what the file says.
        up_axis: The up axis, in place of what the file says.
        variants: Variant selections, ``"/prim/path:variant_set"`` to the variant's name.
        payloads: Whether payloads are loaded; unloaded ones are named in reports.
        fix_units: Scale and turn what references and payloads bring in from layers in other
            units or with another up axis, by ops of the session layer.
        strict: Refuse a stage whose composition has errors, such as a missing reference.

    Returns:
        The stage.

    Raises:
        StageError: The file is missing, is no USD, or an override does not fit.
    """
    name = os.fspath(path)
    if "://" not in name and not Path(name).is_file():
        found = "a folder" if Path(name).is_dir() else "nothing"
        raise StageError(f"{name}: {found} is there, a USD file was expected")
    # USD says every composition error on stderr; the stage keeps them, and reports name them.
    quiet = UsdUtils.CoalescingDiagnosticDelegate()
    load = Usd.Stage.LoadAll if payloads == "all" else Usd.Stage.LoadNone
    try:
        stage = Usd.Stage.Open(name, load)
    except Tf.ErrorException as error:
        raise StageError(f"{name}: {_one_line(error)}; a USD file was expected") from error
    finally:
        del quiet
    for layer in stage.GetUsedLayers():
        # USD itself never comes back from the samples of such a layer.
        if layer.timeCodesPerSecond == 0.0 or not math.isfinite(layer.timeCodesPerSecond):
            raise StageError(
                f"{layer.identifier}: timeCodesPerSecond is {layer.timeCodesPerSecond:g}, "
                "a number other than zero was expected"
            )
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        _override_units(stage, name, meters_per_unit, up_axis)
        for place, variant in (variants or {}).items():
            _select_variant(stage, name, place, variant)
    if fix_units:
        fix_metrics(stage)
    if strict and (errors := stage.GetCompositionErrors()):
        raise StageError(f"{name}: {_one_line(errors[0])} (one of {len(errors)})")
    return stage


def stage_overrides(stage: Usd.Stage) -> dict[str, object]:
    """Return what ``open_stage`` was told beside the file, as keywords for it."""
    layer = stage.GetSessionLayer()
    root = layer.pseudoRoot
    found: dict[str, object] = {}
    if root.HasInfo("metersPerUnit"):
        found["meters_per_unit"] = float(root.GetInfo("metersPerUnit"))
    if root.HasInfo("upAxis"):
        found["up_axis"] = str(root.GetInfo("upAxis"))
    variants: dict[str, str] = {}
    fixed = False
    stack = list(root.nameChildren)
    while stack:
        spec = stack.pop()
        for name, choice in dict(spec.variantSelections).items():
            variants[f"{spec.path}:{name}"] = str(choice)
        fixed = fixed or any("unitsResolve" in prop.name for prop in spec.properties)
        stack.extend(spec.nameChildren)
    if variants:
        found["variants"] = dict(sorted(variants.items()))
    if fixed:
        found["fix_units"] = True
    return found


def _override_units(
    stage: Usd.Stage, name: str, meters_per_unit: float | None, up_axis: str | None
) -> None:
    if meters_per_unit is not None:
        if not math.isfinite(meters_per_unit) or meters_per_unit <= 0.0:
            raise StageError(
                f"{name}: meters_per_unit is {meters_per_unit}, a positive length was expected"
            )
        UsdGeom.SetStageMetersPerUnit(stage, meters_per_unit)
    if up_axis is not None:
        if up_axis not in ("Y", "Z"):
            raise StageError(f"{name}: up_axis is '{up_axis}', 'Y' or 'Z' was expected")
        UsdGeom.SetStageUpAxis(stage, up_axis)


def _select_variant(stage: Usd.Stage, name: str, place: str, variant: str) -> None:
    path, _, set_name = place.rpartition(":")
    prim = stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
    if not prim:
        raise StageError(
            f"{name}: no prim at '{path}' (from '{place}'); '/prim/path:variant_set' was expected"
        )
    variant_sets = prim.GetVariantSets()
    if set_name not in variant_sets.GetNames():
        raise StageError(
            f"{name}: {path} has no variant set '{set_name}'; it has {variant_sets.GetNames()}"
        )
    known = variant_sets.GetVariantSet(set_name).GetVariantNames()
    if variant not in known:
        raise StageError(
            f"{name}: {path} has no variant '{variant}' in '{set_name}'; it has {known}"
        )
    variant_sets.SetSelection(set_name, variant)


def _one_line(error: object) -> str:
    """Return what USD has to say, without where in USD's own source it said it."""
    said = getattr(error, "args", ())
    text = " ".join(str(getattr(part, "commentary", part)) for part in said) or str(error)
    return " ".join(text.split())
