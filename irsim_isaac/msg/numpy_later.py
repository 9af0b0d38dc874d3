"""numpy, imported when it is first used.

Importing numpy takes five times as long as importing all message classes; whoever only names
them, as a command line that prints its help does, need not wait for it.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["NDArray", "np"]


class _Later(ModuleType):
    """Becomes a copy of numpy's names with the first that is asked for."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        self.__dict__.update(
            {key: item for key, item in vars(numpy).items() if not key.startswith("__")}
        )
        # numpy makes some of its names when they are asked for, which a plain module is told by
        # a function of its own; a Python-level hook on the class would slow down every look-up.
        self.__dict__["__getattr__"] = numpy.__getattr__
        self.__class__ = ModuleType  # type: ignore[assignment]
        return value


class _ArrayLater:
    """Stands for ``numpy.typing.NDArray`` in annotations, which are evaluated when needed."""

    def __getitem__(self, scalar: Any) -> Any:
        from numpy.typing import NDArray as Array

        return Array[scalar]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = _Later("numpy")
    NDArray = _ArrayLater()
