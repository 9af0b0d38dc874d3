"""The list of what is used of Isaac Sim is what the code uses: by its syntax trees."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from irsim_isaac.kit.api_list import ApiName, parse_signature, read_api_list
from tests.kit.host import ROOT

KIT = ROOT / "irsim_isaac" / "kit"
MODULES = [*sorted(KIT.rglob("*.py")), *sorted((ROOT / "standalone").glob("*.py"))]
FOREIGN = ("omni", "carb", "isaacsim", "pxr.PhysicsSchemaTools")
PXR = {("omni.usd", "get_context().get_stage")}
"""What gives objects of pxr, which are no part of this list."""


def is_foreign(name: str) -> bool:
    return any(name == root or name.startswith(root + ".") for root in FOREIGN)


@dataclass
class Call:
    """A call of something foreign: what it is, and how it is given its arguments."""

    name: tuple[str, str]
    positional: int
    keywords: set[str]
    where: str


@dataclass
class Uses:
    """Everything foreign that a module names and calls."""

    names: set[tuple[str, str]] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)


class Walker(ast.NodeVisitor):
    """Follows what is imported through names, attributes, calls and assignments."""

    def __init__(self, path: Path, uses: Uses) -> None:
        self._path = path
        self._uses = uses
        self._modules: set[str] = set()
        self._scopes: list[dict[str, tuple[str, str]]] = [{}]
        self._own: dict[str, tuple[str, str]] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if is_foreign(alias.name):
                self._modules.add(alias.name)
                if alias.asname:
                    self._scopes[-1][alias.asname] = (alias.name, "")
                else:
                    root = alias.name.split(".")[0]
                    self._scopes[-1][root] = (root, "")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name
            module = node.module or ""
            if is_foreign(f"{module}.{alias.name}") and not is_foreign(module):
                self._modules.add(f"{module}.{alias.name}")
                self._scopes[-1][bound] = (f"{module}.{alias.name}", "")
            elif is_foreign(module):
                self._modules.add(module)
                self._scopes[-1][bound] = (module, alias.name)
                self._uses.names.add((module, alias.name))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        # What is derived from something foreign has its methods.
        for base in node.bases:
            found = self._resolve(base)
            if found:
                self._scopes[-1][node.name] = found
        before, self._own = self._own, {}
        # What the methods keep on the object is known to all of them.
        for _ in range(2):
            self.generic_visit(node)
        self._own = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scopes.append({})
        self.generic_visit(node)
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        found = self._resolve(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                if found:
                    self._scopes[-1][target.id] = found
                else:
                    self._scopes[-1].pop(target.id, None)
            elif isinstance(target, ast.Tuple) and found:
                for index, item in enumerate(target.elts):
                    if isinstance(item, ast.Name):
                        self._scopes[-1][item.id] = (found[0], f"{found[1]}[{index}]")
            elif (
                found
                and isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
            ):
                self._own[target.attr] = found

    def visit_For(self, node: ast.For) -> None:
        found = self._resolve(node.iter)
        if found and isinstance(node.target, ast.Name):
            self._scopes[-1][node.target.id] = (found[0], f"{found[1]}[]")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        found = self._resolve(node)
        if found and found[1] and not found[1].endswith((")", "]")):
            self._uses.names.add(found)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        found = self._resolve(node.func)
        if found and found[1]:
            self._uses.names.add(found)
            self._uses.calls.append(
                Call(
                    found,
                    len(node.args),
                    {item.arg for item in node.keywords if item.arg},
                    f"{self._path.name}:{node.lineno}",
                )
            )

    def _resolve(self, node: ast.expr) -> tuple[str, str] | None:
        """Return the module and the name in it that an expression is, if it is foreign."""
        if isinstance(node, ast.Name):
            return next(
                (scope[node.id] for scope in reversed(self._scopes) if node.id in scope), None
            )
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                return self._own.get(node.attr)
            base = self._resolve(node.value)
            if base is None:
                return None
            module, name = base
            if not name and any(
                item == f"{module}.{node.attr}" or item.startswith(f"{module}.{node.attr}.")
                for item in self._modules
            ):
                return (f"{module}.{node.attr}", "")
            return (module, f"{name}.{node.attr}" if name else node.attr)
        if isinstance(node, ast.Call):
            base = self._resolve(node.func)
            if base is None or not base[1]:
                return None
            if base in PXR:
                return None
            # What a class makes is told by the class, what a function returns by the call.
            if base[1].rsplit(".", 1)[-1][:1].isupper():
                return base
            return (base[0], f"{base[1]}({'...' if node.args or node.keywords else ''})")
        if isinstance(node, ast.Subscript):
            base = self._resolve(node.value)
            return (base[0], f"{base[1]}[]") if base and base[1] else None
        return None


def used() -> Uses:
    uses = Uses()
    for path in MODULES:
        Walker(path, uses).visit(ast.parse(path.read_text()))
    return uses


@pytest.fixture(scope="module")
def uses() -> Uses:
    return used()


@pytest.fixture(scope="module")
def listed() -> dict[tuple[str, str], list[ApiName]]:
    found: dict[tuple[str, str], list[ApiName]] = {}
    for entry in read_api_list():
        found.setdefault((entry.module, entry.name), []).append(entry)
    return found


def version_of(where: str) -> str:
    """Return the version that a file is for; empty for both."""
    return {"isaac_5_1.py": "5.1", "isaac_6.py": "6"}.get(where.split(":", maxsplit=1)[0], "")


def test_what_is_used_is_listed_and_what_is_listed_is_used(
    uses: Uses, listed: dict[tuple[str, str], list[ApiName]]
) -> None:
    assert sorted(uses.names - set(listed)) == []
    assert sorted(set(listed) - uses.names) == []


def test_each_name_is_listed_once_a_version(
    listed: dict[tuple[str, str], list[ApiName]],
) -> None:
    for name, entries in listed.items():
        versions = [version for entry in entries for version in entry.versions]
        assert sorted(versions) == sorted(set(versions)), name
        assert set(versions) <= {"5.1", "6"} and versions, name
        assert all(entry.read_in for entry in entries), name


def test_every_call_fits_the_signature_that_is_listed(
    uses: Uses, listed: dict[tuple[str, str], list[ApiName]]
) -> None:
    called = set()
    for call in uses.calls:
        version = version_of(call.where)
        entries = [entry for entry in listed[call.name] if not version or version in entry.versions]
        assert entries, f"{call.where}: {call.name} is not in {version}"
        for entry in entries:
            where = f"{call.where}: {call.name} of {entry.versions}"
            assert entry.parameters is not None, f"{where} is listed as not called"
            names = [item.name for item in entry.parameters]
            positional = [item.name for item in entry.parameters if not item.keyword_only]
            assert call.positional <= len(positional), where
            assert call.keywords <= set(names), where
            given = set(positional[: call.positional]) | call.keywords
            required = {item.name for item in entry.parameters if item.required}
            assert required <= given, f"{where} needs {required - given}"
            called.add((call.name, entry.versions))
    signed = {
        (name, entry.versions)
        for name, entries in listed.items()
        for entry in entries
        if entry.parameters is not None
    }
    handed_on = ("omni.kit.actions.core", "get_action_registry().deregister_action")
    assert {name for name, _ in signed - called} <= {handed_on}


def test_each_version_module_uses_what_its_version_has(
    listed: dict[tuple[str, str], list[ApiName]],
) -> None:
    for file in ("isaac_5_1.py", "isaac_6.py"):
        uses = Uses()
        path = KIT / "versions" / file
        Walker(path, uses).visit(ast.parse(path.read_text()))
        assert uses.names
        for name in uses.names:
            assert any(version_of(file) in entry.versions for entry in listed[name]), name


def test_a_signature_is_read_as_python_reads_it() -> None:
    parameters = parse_signature("(path, order=0, *, name, index=None)")
    assert [(item.name, item.keyword_only, item.required) for item in parameters] == [
        ("path", False, True),
        ("order", False, False),
        ("name", True, True),
        ("index", True, False),
    ]
