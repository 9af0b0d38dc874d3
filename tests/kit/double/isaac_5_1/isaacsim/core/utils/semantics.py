"""Semantic labels of a prim."""

from pxr import Usd, UsdSemantics


def get_labels(prim: Usd.Prim) -> dict[str, list[str]]:
    taxonomies = UsdSemantics.LabelsAPI.GetDirectTaxonomies(prim)
    return {
        str(taxonomy): list(UsdSemantics.LabelsAPI(prim, taxonomy).GetLabelsAttr().Get() or [])
        for taxonomy in taxonomies
    }
