"""The one module that imports ``pxr``: everything else takes its names from here.

Inside Isaac Sim ``pxr`` is Kit's own; elsewhere it comes with the package ``usd-core``.
"""

from __future__ import annotations

from irsim_isaac.errors import MissingPackageError

try:
    from pxr import Gf, Pcp, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, UsdUtils, Vt
except ImportError as error:
    raise MissingPackageError("pxr", "usd") from error

__all__ = ["Gf", "Pcp", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils", "Vt"]
