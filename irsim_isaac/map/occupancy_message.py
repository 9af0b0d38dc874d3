"""Grids to and from ``nav_msgs/OccupancyGrid``."""

from __future__ import annotations

import numpy as np

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.limits import CELL_LIMIT, check_cell_count
from irsim_isaac.map.occupancy import OCCUPIED, UNKNOWN, Occupancy
from irsim_isaac.msg import Header, MapMetaData, OccupancyGrid, Point, Pose, Quaternion

__all__ = ["from_occupancy_grid", "to_occupancy_grid"]

_LEVEL = 1e-6


def to_occupancy_grid(
    occupancy: Occupancy, *, stamp: float = 0.0, frame_id: str = "map"
) -> OccupancyGrid:
    """Return a grid as a message: row-major, x fastest, from the corner of cell (0, 0).

    Args:
        occupancy: The grid.
        stamp: The time of the map [s].
        frame_id: The frame that its origin is given in.
    """
    nx, ny = occupancy.shape
    x, y, yaw = occupancy.origin
    return OccupancyGrid(
        header=Header(stamp=stamp, frame_id=frame_id),
        info=MapMetaData(
            map_load_time=stamp,
            resolution=occupancy.resolution,
            width=nx,
            height=ny,
            origin=Pose(Point(x, y, 0.0), Quaternion.from_yaw(yaw)),
        ),
        data=np.ascontiguousarray(occupancy.cells.T).ravel(),
    )


def from_occupancy_grid(message: OccupancyGrid) -> Occupancy:
    """Return the grid of a message.

    A resolution that went through ROS's single precision is taken as the shortest decimal that
    has that precision, so 0.05 m stays 0.05 m.

    Args:
        message: The message.

    Raises:
        MapFormatError: The sizes do not fit the data, a value is out of range, or the origin is
            rolled or pitched.
    """
    info = message.info
    data = np.asarray(message.data)
    width, height = int(info.width), int(info.height)
    if width < 1 or height < 1 or data.size != width * height:
        raise MapFormatError(
            f"the OccupancyGrid has {data.size} cells, {width} x {height} were announced"
        )
    check_cell_count(width, height, CELL_LIMIT, "the OccupancyGrid")
    if data.min() < UNKNOWN or data.max() > OCCUPIED:
        raise MapFormatError(
            f"the OccupancyGrid's cells run from {data.min()} to {data.max()}, "
            "-1 to 100 was expected"
        )
    turn = info.origin.orientation
    if abs(turn.x) > _LEVEL or abs(turn.y) > _LEVEL:
        raise MapFormatError(
            f"the OccupancyGrid's origin is rolled or pitched (quaternion {turn.x}, {turn.y}, "
            f"{turn.z}, {turn.w}): a level map was expected"
        )
    resolution = float(info.resolution)
    if float(np.float32(resolution)) == resolution:
        resolution = float(str(np.float32(resolution)))
    place = info.origin.position
    cells = np.ascontiguousarray(data.reshape(height, width).T).astype(np.int8)
    return Occupancy(cells, resolution, (place.x, place.y, turn.to_yaw()))
