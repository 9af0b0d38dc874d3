"""Maps of random collider stages beside PhysX's box overlaps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.soak.harness import soak
from tests.stage.colliders import disagreeing_cells


@soak("occupancy_physx", rounds=200)
def occupancy_physx(seed: int) -> dict[str, Any]:
    """Decide every cell twice; cells that touch a surface within 1e-4 m are left out."""
    pytest.importorskip("ovphysx", reason="PhysX is not installed")
    compared, near, wrong = disagreeing_cells(seed)
    assert not len(wrong), f"seed {seed}: {wrong[:5].tolist()} differ"
    return {"compared": compared, "near": near, "differing": len(wrong)}
