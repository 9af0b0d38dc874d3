"""Kit's ``pxr.PhysicsSchemaTools``: prim paths as whole numbers and back."""

from __future__ import annotations

from pxr import Sdf

_paths: list[str] = [""]


def sdfPathToInt(path: str) -> int:
    if path not in _paths:
        _paths.append(path)
    return _paths.index(path)


def intToSdfPath(number: int) -> Sdf.Path:
    return Sdf.Path(_paths[number])
