"""The files that travel with the package: ``config/`` and ``data/``.

In a clone and in Kit they lie beside the package, in a wheel inside it.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["resource"]

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """Return the path of a file or folder that travels with the package.

    Args:
        name: The path below the extension folder, such as ``"data/warehouse.usda"``.

    Returns:
        The absolute path.

    Raises:
        FileNotFoundError: Neither the wheel nor the extension folder holds it.
    """
    for root in (_PACKAGE, _PACKAGE.parent):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(
        f"'{name}' does not travel with the package: looked in {_PACKAGE} and {_PACKAGE.parent}"
    )
