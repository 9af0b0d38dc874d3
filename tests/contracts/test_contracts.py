"""The package has what the public contracts name, spelled and defaulted as they say."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
DONE: set[int] = set(json.loads((HERE / "done.json").read_text()))
CONTRACTS = {
    path.stem: json.loads(path.read_text())
    for path in sorted(HERE.glob("*.json"))
    if path.stem != "done"
}


def _entries(kind: str) -> Iterator[Any]:
    for contract, content in CONTRACTS.items():
        for name, entry in content.get(kind, {}).items():
            module = entry.get("module", content["module"])
            yield pytest.param(module, name, entry, id=f"{contract}:{name}")


def _find(module: str, name: str, issue: int) -> Any:
    """Return the named thing, or skip while the issue that owns it is open."""
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except (ModuleNotFoundError, AttributeError) as missing:
        if issue in DONE:
            pytest.fail(f"{module}.{name} is missing, and issue {issue} is done: {missing}")
        pytest.skip(f"pending: {module}.{name} (issue {issue})")


def _signature(function: Any) -> str:
    """Return a signature as the JSON files spell it: names and defaults, no annotations."""
    signature = inspect.signature(function)
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _default(field: dataclasses.Field[Any]) -> str | None:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return None if field.default_factory is dataclasses.MISSING else "*"


@pytest.mark.parametrize(("module", "name", "entry"), list(_entries("classes")))
def test_class_matches_its_contract(module: str, name: str, entry: dict[str, Any]) -> None:
    cls = _find(module, name, entry["issue"])
    bases = {base.__name__ for base in cls.__mro__[1:]}
    assert set(entry.get("bases", [])) <= bases
    if "fields" in entry:
        fields = [[field.name, _default(field)] for field in dataclasses.fields(cls)]
        assert fields == entry["fields"] + entry.get("extras", [])
        assert not hasattr(cls(*[None] * len(fields)), "__dict__"), "slots are part of it"
    for attribute, value in entry.get("attributes", {}).items():
        assert hasattr(cls, attribute) or attribute in inspect.get_annotations(cls)
        if value is not None:
            assert repr(getattr(cls, attribute)) == value
    for method, signature in entry.get("methods", {}).items():
        assert _signature(getattr(cls, method)) == signature, method
    for method, signature in entry.get("classmethods", {}).items():
        bound = inspect.getattr_static(cls, method)
        assert isinstance(bound, classmethod)
        assert _signature(bound.__func__) == signature, method
    for attribute in entry.get("properties", []):
        assert isinstance(inspect.getattr_static(cls, attribute), property), attribute


@pytest.mark.parametrize(("module", "name", "entry"), list(_entries("functions")))
def test_function_matches_its_contract(module: str, name: str, entry: dict[str, Any]) -> None:
    function = _find(module, name, entry["issue"])
    assert _signature(function) == entry["signature"]
