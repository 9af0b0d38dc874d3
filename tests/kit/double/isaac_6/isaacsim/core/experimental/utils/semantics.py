"""Semantic labels of a prim."""

import omni.usd
from pxr import Usd, UsdSemantics


def get_labels(prim: str | Usd.Prim, *, include_descendants: bool = False) -> dict[str, list[str]]:
    if isinstance(prim, str):
        prim = omni.usd.get_context().get_stage().GetPrimAtPath(prim)
    found: dict[str, list[str]] = {}
    for item in Usd.PrimRange(prim) if include_descendants else [prim]:
        for taxonomy in UsdSemantics.LabelsAPI.GetDirectTaxonomies(item):
            labels = UsdSemantics.LabelsAPI(item, taxonomy).GetLabelsAttr().Get() or []
            found.setdefault(str(taxonomy), []).extend(labels)
    return found
