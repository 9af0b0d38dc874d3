"""Grids as nav_msgs/OccupancyGrid: row-major from the corner, x fastest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import Occupancy, from_occupancy_grid, to_occupancy_grid
from irsim_isaac.msg import MapMetaData, OccupancyGrid, Pose, Quaternion


@settings(max_examples=60)
@given(
    cells=hnp.arrays(
        np.int8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.integers(-1, 100),
    ),
    resolution=st.floats(0.001, 100),
    x=st.floats(-1e6, 1e6),
    y=st.floats(-1e6, 1e6),
    yaw=st.floats(-3.1, 3.1),
)
def test_there_and_back(cells: Any, resolution: float, x: float, y: float, yaw: float) -> None:
    """Keep every cell and the place."""
    grid = Occupancy(cells, resolution, (x, y, yaw))
    again = from_occupancy_grid(to_occupancy_grid(grid))
    assert np.array_equal(again.cells, cells)
    # What went through single precision comes back as its shortest decimal.
    narrow = np.float32(resolution)
    assert again.resolution == (float(str(narrow)) if float(narrow) == resolution else resolution)
    assert again.origin[:2] == (x, y)
    assert math.isclose(again.origin[2], yaw, abs_tol=1e-12)


def test_data_runs_along_x_first() -> None:
    """Put cell (ix, iy) at iy * width + ix, and name frame and time."""
    cells = np.array([[0, 100, -1], [1, 2, 3]], dtype=np.int8)
    message = to_occupancy_grid(Occupancy(cells, 0.5), stamp=2.5, frame_id="floor")
    assert message.data.tolist() == [0, 1, 100, 2, -1, 3]
    assert (message.info.width, message.info.height) == (2, 3)
    assert (message.header.frame_id, message.header.stamp) == ("floor", 2.5)
    assert message.data[2 * message.info.width + 0] == cells[0, 2]


def test_a_resolution_from_single_precision_is_the_decimal_that_was_meant() -> None:
    """Read 0.05 m of a ROS message as 0.05 m."""
    message = to_occupancy_grid(Occupancy(np.zeros((2, 2), np.int8), 0.05))
    message.info.resolution = float(np.float32(0.05))
    assert from_occupancy_grid(message).resolution == 0.05


def _message(**changes: Any) -> OccupancyGrid:
    info = {"resolution": 1.0, "width": 2, "height": 2, "origin": Pose()}
    data = changes.pop("data", np.zeros(4, np.int8))
    return OccupancyGrid(info=MapMetaData(**{**info, **changes}), data=data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 3}, "3 x 2 were announced"),
        ({"width": 0, "data": np.zeros(0, np.int8)}, "0 x 2"),
        ({"data": np.array([0, 0, 0, 101])}, "-1 to 100"),
        ({"data": np.array([0, 0, 0, -2])}, "-1 to 100"),
        ({"origin": Pose(orientation=Quaternion(0.5, 0.5, 0.5, 0.5))}, "rolled or pitched"),
        ({"resolution": 0.0}, "resolution"),
    ],
)
def test_what_is_no_map_is_refused(changes: dict[str, Any], message: str) -> None:
    """Say what does not fit."""
    with pytest.raises(MapFormatError, match=message):
        from_occupancy_grid(_message(**changes))
