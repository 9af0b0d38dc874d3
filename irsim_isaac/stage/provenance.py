"""What a map or a world was made from, so that one can tell whether it still is."""

from __future__ import annotations

import hashlib

import numpy as np

from irsim_isaac.stage.geometry import Geometry

__all__ = ["geometry_digest"]


def geometry_digest(geometry: Geometry) -> str:
    """Return a digest of the surfaces of a stage as they were composed.

    It does not depend on files, formats and layers: what stands in the same place under the
    same name has the same digest, to a tenth of a micrometre.

    Args:
        geometry: The surfaces, in metres with z up.

    Returns:
        ``sha256:`` and 64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for part in sorted(geometry.parts, key=lambda part: (part.path, part.source)):
        head = f"{part.path}\n{part.solid}\n{part.source}\n{part.body or ''}\n"
        digest.update(head.encode())
        digest.update(np.rint(part.points * 1e7).astype("<i8").tobytes())
        digest.update(np.ascontiguousarray(part.triangles, dtype="<i4").tobytes())
    return f"sha256:{digest.hexdigest()}"
