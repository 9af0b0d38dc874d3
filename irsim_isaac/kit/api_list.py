"""The list of everything that the extension uses of Isaac Sim: ``docs/kit_api.md``, read."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irsim_isaac.resources import resource

__all__ = ["ApiName", "Parameter", "disagreement", "parse_signature", "read_api_list"]

_LIST = "docs/kit_api.md"
_MODULE = re.compile(r"^### `([\w.]+)`")
_ROW = re.compile(
    r"^\| `(?P<name>[^`]*)` \| (?P<what>.*?) \| (?P<versions>.*?) \| (?P<read>.*?) \|$"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a call.

    Attributes:
        name: Its name.
        keyword_only: Whether it follows a bare ``*``.
        required: Whether it has no default.
    """

    name: str
    keyword_only: bool
    required: bool


@dataclass(frozen=True, slots=True)
class ApiName:
    """A name of Isaac Sim.

    Attributes:
        module: Where it is imported from.
        name: The name in its module, such as ``get_context().get_stage``; ``Class.method`` for
            a method of an object that was made by calling the class.
        parameters: Those of its parameters that are used, or that it requires; None for what is
            not called.
        versions: ``"5.1"`` and ``"6"``, whichever have it.
        needs_window: Whether it may be missing in an application without a window.
        read_in: The public file that tells of it.
    """

    module: str
    name: str
    parameters: tuple[Parameter, ...] | None
    versions: tuple[str, ...]
    needs_window: bool
    read_in: str


def parse_signature(text: str) -> tuple[Parameter, ...]:
    """Return the parameters of a signature such as ``(path, *, indices=None)``."""
    (function,) = ast.parse(f"def call{text}: ...").body
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = len(arguments.defaults)
    found = [
        Parameter(item.arg, False, index < len(positional) - optional)
        for index, item in enumerate(positional)
    ]
    found += [
        Parameter(item.arg, True, default is None)
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return tuple(found)


def read_api_list(path: Path | None = None) -> tuple[ApiName, ...]:
    """Return the names that the list holds.

    Args:
        path: The list; that of the package where None.

    Raises:
        FileNotFoundError: The list does not travel with this installation.
    """
    text = (resource(_LIST) if path is None else path).read_text(encoding="utf-8")
    found = []
    module = ""
    for line in text.splitlines():
        heading = _MODULE.match(line)
        if heading:
            module = heading[1]
        row = _ROW.match(line)
        if row:
            what = row["what"].strip("`")
            found.append(
                ApiName(
                    module=module,
                    name=row["name"],
                    parameters=parse_signature(what) if what.startswith("(") else None,
                    versions=tuple(re.findall(r"[\d.]+", row["versions"])),
                    needs_window="window" in row["versions"],
                    read_in=row["read"],
                )
            )
    return tuple(found)


def disagreement(entry: ApiName, found: Any) -> str:
    """Say in what an object differs from what the list says of it.

    What the list names must be there and be given the same way; what is there besides must
    have a default. Functions of C++ that do not tell their parameters agree with anything.

    Args:
        entry: What the list says.
        found: The object.

    Returns:
        What differs; empty where nothing does.
    """
    if entry.parameters is None:
        return ""
    if not callable(found):
        return f"is a {type(found).__name__} and cannot be called"
    try:
        given = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return ""
    if given and given[0].name in ("self", "cls") and not inspect.ismethod(found):
        given = given[1:]
    named = {item.name: item for item in given}
    open_ended = any(item.kind is item.VAR_KEYWORD for item in given)
    listed = {item.name for item in entry.parameters}
    places = [item.name for item in given if item.kind is item.POSITIONAL_OR_KEYWORD]
    for place, parameter in enumerate(entry.parameters):
        there = named.get(parameter.name)
        if there is None:
            if not (open_ended and not parameter.required):
                return f"has no parameter '{parameter.name}'"
        elif parameter.keyword_only:
            if there.kind not in (there.KEYWORD_ONLY, there.POSITIONAL_OR_KEYWORD):
                return f"does not take '{parameter.name}' by name"
        elif parameter.required and (place >= len(places) or places[place] != parameter.name):
            return f"does not take '{parameter.name}' in place {place + 1}"
    for item in given:
        by_name = item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
        if by_name and item.default is item.empty and item.name not in listed:
            return f"requires '{item.name}', which is not given"
    return ""
