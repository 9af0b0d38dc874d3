"""A map of colliders beside PhysX itself."""

from __future__ import annotations

import pytest

pytest.importorskip("ovphysx", reason="PhysX is not installed")

from tests.stage.colliders import disagreeing_cells


@pytest.mark.parametrize("seed", [1000, 1001, 1002, 1003])
def test_a_map_of_colliders_is_what_physx_touches(seed: int) -> None:
    compared, near, wrong = disagreeing_cells(seed)
    assert compared > 3500
    assert near < 100
    assert wrong.tolist() == []
