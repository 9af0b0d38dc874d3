"""Layers that are in other units, or with another up axis, than the stage that uses them.

References do not convert units: what lies in a layer in centimetres arrives in a stage in
metres a hundred times too large. Isaac Sim's asset browser adds ops named ``unitsResolve``
when it drops such an asset; a stage that was put together elsewhere has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irsim_isaac.stage.usd import Gf, Pcp, Usd, UsdGeom

__all__ = ["MetricDifference", "fix_metrics", "metric_differences"]

_RESOLVE = "unitsResolve"


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A layer whose lengths or axes mean something else than where it is used.

    Attributes:
        layer: The layer's identifier.
        prim: Where it comes into the stage; ``/`` for a sublayer.
        scale: How much larger than meant its lengths arrive.
        found: Its own unit [m] and up axis; None where it says none.
        expected: Those of the layer that brings it in.
        fixable: Whether ops on the prim can make up for it.
    """

    layer: str
    prim: str
    scale: float
    found: tuple[float | None, str | None]
    expected: tuple[float | None, str | None]
    fixable: bool

    def __str__(self) -> str:
        return (
            f"{self.layer}, which {self.prim} brings in, is in {_told(self.found)}; "
            f"{_told(self.expected)} was expected there"
        )


def _told(metrics: tuple[float | None, str | None]) -> str:
    unit = "units of no stated length" if metrics[0] is None else f"units of {metrics[0]:g} m"
    return unit + (" with no stated up axis" if metrics[1] is None else f" with {metrics[1]} up")


def metric_differences(stage: Usd.Stage) -> tuple[MetricDifference, ...]:
    """Find the layers that a stage takes from without converting.

    Args:
        stage: An open stage.

    Returns:
        One entry for each place where such a layer comes in; none where ops named
        ``unitsResolve`` make up for it.
    """
    own = _metrics(stage.GetRootLayer())
    root_layers = set(stage.GetLayerStack())
    others = [layer for layer in stage.GetUsedLayers() if layer not in root_layers]
    found = [
        MetricDifference(layer.identifier, "/", *_compare(_metrics(layer), own), fixable=False)
        for layer in stage.GetLayerStack(includeSessionLayers=False)
        if _differ(_metrics(layer), own)
    ]
    # Asking every prim where it comes from is slow, and nearly all stages agree with themselves.
    units = {unit for unit, _ in map(_metrics, (stage.GetRootLayer(), *others))} - {None}
    axes = {axis for _, axis in map(_metrics, (stage.GetRootLayer(), *others))} - {None}
    if len(units) > 1 or len(axes) > 1:
        found += _referenced(stage)
    return tuple(found)


def fix_metrics(stage: Usd.Stage) -> tuple[MetricDifference, ...]:
    """Add the ops that make up for other units and axes, in the session layer.

    Args:
        stage: An open stage.

    Returns:
        What could not be made up for.
    """
    left = []
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for difference in metric_differences(stage):
            if not difference.fixable:
                left.append(difference)
                continue
            xform = UsdGeom.Xformable(stage.GetPrimAtPath(difference.prim))
            if difference.scale != 1.0:
                factor = 1.0 / difference.scale
                op = xform.AddScaleOp(UsdGeom.XformOp.PrecisionDouble, _RESOLVE)
                op.Set(Gf.Vec3d(factor, factor, factor))
            turn = _turn(difference.found[1], difference.expected[1])
            if turn:
                op = xform.AddRotateXOp(UsdGeom.XformOp.PrecisionDouble, _RESOLVE)
                op.Set(turn)
    return tuple(left)


def _turn(found: str | None, expected: str | None) -> float:
    """Return the turn about x [degrees] that brings one up axis to another."""
    if found is None or expected is None or found == expected:
        return 0.0
    return 90.0 if found == "Y" else -90.0


def _metrics(layer: Any) -> tuple[float | None, str | None]:
    root = layer.pseudoRoot
    unit = float(root.GetInfo("metersPerUnit")) if root.HasInfo("metersPerUnit") else None
    axis = str(root.GetInfo("upAxis")) if root.HasInfo("upAxis") else None
    return unit, axis


def _differ(
    found: tuple[float | None, str | None], expected: tuple[float | None, str | None]
) -> bool:
    return any(
        a is not None and b is not None and a != b for a, b in zip(found, expected, strict=True)
    )


def _compare(
    found: tuple[float | None, str | None], expected: tuple[float | None, str | None]
) -> tuple[float, tuple[float | None, str | None], tuple[float | None, str | None]]:
    scale = 1.0
    if found[0] is not None and expected[0] is not None:
        # A layer's unit becomes the user's: what measured found[0] now measures expected[0].
        scale = expected[0] / found[0]
    return scale, found, expected


def _referenced(stage: Usd.Stage) -> Iterator[MetricDifference]:
    for prim in stage.TraverseAll():
        if not (prim.HasAuthoredReferences() or prim.HasAuthoredPayloads()):
            continue
        movable = prim.IsA(UsdGeom.Xformable)
        order = UsdGeom.Xformable(prim).GetXformOpOrderAttr().Get() if movable else ()
        if any(_RESOLVE in name for name in order or ()):
            continue
        for arc in Usd.PrimCompositionQuery(prim).GetCompositionArcs():
            if arc.GetArcType() not in (Pcp.ArcTypeReference, Pcp.ArcTypePayload):
                continue
            if arc.IsAncestral():
                continue
            layer = arc.GetTargetLayer()
            found, expected = _metrics(layer), _metrics(arc.GetIntroducingLayer())
            if _differ(found, expected):
                yield MetricDifference(
                    layer.identifier,
                    str(prim.GetPath()),
                    *_compare(found, expected),
                    fixable=movable,
                )
