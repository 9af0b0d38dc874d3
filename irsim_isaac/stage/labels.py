"""Semantic labels of prims, in the dialect of USD and in the older one of Isaac Sim.

USD has ``semantics:labels:<taxonomy>``, one list of labels a taxonomy. Isaac Sim up to 4.5 wrote
``semantic:<instance>:params:semanticType`` and ``...:semanticData``, one label an instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from irsim_isaac.stage.usd import Sdf, Usd, Vt

__all__ = ["add_labels", "labelled", "labels"]

_NEW = "semantics:labels:"
_OLD = "semantic:"
_OLD_TYPE = ":params:semanticType"
_OLD_DATA = ":params:semanticData"


def labels(prim: Usd.Prim, taxonomy: str = "class") -> tuple[str, ...]:
    """Return a prim's own labels, not those that it inherits.

    Args:
        prim: The prim.
        taxonomy: What the labels are of, ``semanticType`` in the older dialect.

    Returns:
        The labels of both dialects, each once, USD's first.
    """
    found: dict[str, None] = {}
    for label in _value(prim.GetAttribute(_NEW + taxonomy)) or ():
        found[str(label)] = None
    for name in prim.GetPropertyNames():
        if not (name.startswith(_OLD) and name.endswith(_OLD_TYPE)):
            continue
        if str(_value(prim.GetAttribute(name))) != taxonomy:
            continue
        data = _value(prim.GetAttribute(name.removesuffix(_OLD_TYPE) + _OLD_DATA))
        # The older dialect keeps several labels of one instance in one text.
        for label in str(data or "").split(","):
            if label.strip():
                found[label.strip()] = None
    return tuple(found)


def labelled(stage: Usd.Stage, taxonomy: str) -> Iterator[tuple[Usd.Prim, tuple[str, ...]]]:
    """Yield every prim with labels of its own, depth first, inactive ones included.

    Args:
        stage: The stage.
        taxonomy: What the labels are of.
    """
    every = Usd.TraverseInstanceProxies(Usd.PrimIsDefined & ~Usd.PrimIsAbstract)
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), every):
        if prim.IsPseudoRoot():
            continue
        own = labels(prim, taxonomy)
        if own:
            yield prim, own


def add_labels(prim: Usd.Prim, taxonomy: str, values: Sequence[str]) -> None:
    """Author labels in the dialect of USD, in place of those of this taxonomy.

    Args:
        prim: The prim.
        taxonomy: What the labels are of.
        values: The labels.
    """
    prim.AddAppliedSchema(f"SemanticsLabelsAPI:{taxonomy}")
    attribute = prim.CreateAttribute(
        _NEW + taxonomy, Sdf.ValueTypeNames.TokenArray, False, Sdf.VariabilityVarying
    )
    attribute.Set(Vt.TokenArray(list(values)))


def _value(attribute: Usd.Attribute) -> Any:
    """Return the default, or the first sample of what has none."""
    if not attribute or not attribute.HasAuthoredValue():
        return None
    value = attribute.Get()
    return value if value is not None else attribute.Get(Usd.TimeCode.EarliestTime())
