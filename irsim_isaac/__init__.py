"""The bridge between NVIDIA Isaac Sim and IR-SIM.

Each room of the package is imported by its own name (``irsim_isaac.msg``,
``irsim_isaac.map``, ...); importing this module alone loads nothing else.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
