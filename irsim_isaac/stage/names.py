"""What the objects of a stage are called in every simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

__all__ = [
    "BOUNDS_ATTRIBUTE",
    "GOAL_ATTRIBUTE",
    "NAME_ATTRIBUTE",
    "ROBOT_ATTRIBUTE",
    "object_names",
]

NAME_ATTRIBUTE = "irsim:name"
"""On any prim: it and all below it are one object, and this is what it is called."""

ROBOT_ATTRIBUTE = "irsim:robot"
"""On the prim where a robot starts: the robot, by a name or path that ``load_robot`` takes."""

BOUNDS_ATTRIBUTE = "irsim:bounds"
"""On the default prim: x_min, y_min, x_max, y_max of the world [m], z up."""

GOAL_ATTRIBUTE = "irsim:goal_of"
"""On a prim without a shape: where the robot of this name is to go."""


def object_names(paths: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a name for each prim path: its leaf where that is unique, else the whole path.

    Slashes and the brackets of a PointInstancer's instances become underscores.

    Args:
        paths: Prim paths, ``/Cartons[3]`` for an instance of a PointInstancer.
        taken: Names that others have already.
    """
    paths = list(dict.fromkeys(paths))
    leaves = {path: _plain(path.rsplit("/", 1)[-1]) for path in paths}
    counts = Counter(leaves.values())
    counts.update(taken)
    return {
        path: leaf if counts[leaf] == 1 else _plain(path.strip("/").replace("/", "_"))
        for path, leaf in leaves.items()
    }


def _plain(text: str) -> str:
    return text.replace("[", "_").replace("]", "")
