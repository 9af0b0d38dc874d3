"""Whether two worlds are one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from irsim_isaac.msg import Pose
from irsim_isaac.msg.interactive_world import WorldModel, to_matrix


def assert_same(a: Any, b: Any, *, tolerance: float = 1e-9, where: str = "world") -> None:
    """Compare all but where prims were and what could not be read; lengths to 1e-9 m."""
    if isinstance(a, Pose):
        assert np.allclose(to_matrix(a), to_matrix(b), rtol=0.0, atol=tolerance), where
    elif dataclasses.is_dataclass(a):
        assert type(a) is type(b), where
        for item in dataclasses.fields(a):
            if item.name in ("path", "omissions"):
                continue
            assert_same(
                getattr(a, item.name),
                getattr(b, item.name),
                tolerance=tolerance,
                where=f"{where}.{item.name}",
            )
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, tolerance=tolerance, where=f"{where}[{index}]")
    elif isinstance(a, float):
        assert math.isclose(a, b, rel_tol=0.0, abs_tol=tolerance), (where, a, b)
    else:
        assert a == b, (where, a, b)


def assert_same_world(a: WorldModel, b: WorldModel) -> None:
    assert_same(a, b)
