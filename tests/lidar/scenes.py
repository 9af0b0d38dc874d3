"""Frames for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.lidar import VALID, CoordsType, GenericModelOutput, LidarProfile


def frame(
    x: npt.ArrayLike,
    z: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    *,
    scalar: npt.ArrayLike | None = None,
    flags: npt.ArrayLike | None = None,
    offsets: npt.ArrayLike | None = None,
    stamp: int = 1_000_000_000,
    coords: CoordsType = CoordsType.SPHERICAL,
    **fields: Any,
) -> GenericModelOutput:
    """Return a frame; x, y, z are azimuth, elevation and range, or metres if Cartesian."""
    first = np.asarray(x, dtype=np.float32).reshape(-1)
    count = first.size

    def array(values: npt.ArrayLike | None, default: float, dtype: Any) -> npt.NDArray[Any]:
        chosen = default if values is None else values
        return np.ascontiguousarray(np.broadcast_to(np.asarray(chosen, dtype=dtype), (count,)))

    return GenericModelOutput(
        x=first,
        y=array(y, 0.0, np.float32),
        z=array(z, 0.0, np.float32),
        scalar=array(scalar, 0.5, np.float32),
        flags=array(flags, VALID, np.uint8),
        timeOffsetNs=array(offsets, 0, np.int32),
        timestampNs=stamp,
        elementsCoordsType=coords,
        **fields,
    )


def turning(beam_count: int, **fields: Any) -> LidarProfile:
    """Return a lidar of a full turn that measures from 0.1 to 20 m, ten times a second."""
    return LidarProfile.full_turn(
        "turning", beam_count, **({"range_min": 0.1, "range_max": 20.0} | fields)
    )
