"""What was left out while a grid was built, and with which parameters it was built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["BuildReport", "Omission"]


@dataclass(frozen=True, slots=True)
class Omission:
    """One thing that was left out.

    Attributes:
        where: A prim path, a file, or a key.
        kind: A short word to count by, such as ``"invisible"``.
        reason: A sentence for people.
    """

    where: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What happened while a grid was built.

    Attributes:
        omissions: Everything that was left out, with its reason.
        warnings: What the user should know although nothing was left out.
        parameters: The parameters that the grid was built with.
    """

    omissions: tuple[Omission, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)

    def count(self, kind: str) -> int:
        """Return how many omissions are of one kind."""
        return sum(omission.kind == kind for omission in self.omissions)
