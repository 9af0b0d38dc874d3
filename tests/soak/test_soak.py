"""Each long test at a hundredth of its length, at least one round."""

from __future__ import annotations

import pytest

from tests.soak.harness import Soak, load


@pytest.mark.soak
@pytest.mark.parametrize("test", load().values(), ids=lambda test: test.name)
def test_a_hundredth_of_each_long_test_passes(test: Soak) -> None:
    for seed in range(max(1, test.rounds // 100)):
        test.function(seed)
