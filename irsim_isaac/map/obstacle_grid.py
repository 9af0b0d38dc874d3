"""From what a world file says of its obstacle map to an occupancy grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.grid_map_generator_base import GridMapGenerator
from irsim_isaac.map.image_map_generator import ImageGridGenerator
from irsim_isaac.map.limits import CELL_LIMIT, cells_along, check_cell_count
from irsim_isaac.map.occupancy import resolve_unknown

__all__ = ["build_grid_from_generator", "resolve_obstacle_map"]


def resolve_obstacle_map(
    obstacle_map: str | npt.NDArray[Any] | dict[str, Any] | None = None,
    world_width: float | None = None,
    world_height: float | None = None,
) -> npt.NDArray[np.float64] | None:
    """Return the grid that an ``obstacle_map`` of a world stands for.

    Args:
        obstacle_map: None, a grid, the path of an image, or a mapping with a generator's
            ``name``, its ``resolution`` [m] (an image: its ``path``) and its parameters.
        world_width: Along x [m]; needed by every generator but an image.
        world_height: Along y [m]; likewise.

    Returns:
        None, or occupancy 0 to 100, float64, shape (nx, ny); a float64 grid is returned as it is.

    Raises:
        TypeError: It is something else.
        MapFormatError: A key is missing or wrong, or a cell is NaN.
        FileNotFoundError: The image is missing.
    """
    if obstacle_map is None:
        return None
    if isinstance(obstacle_map, np.ndarray):
        return resolve_unknown(np.asarray(obstacle_map, dtype=np.float64), "keep")
    if isinstance(obstacle_map, str):
        obstacle_map = {"name": "image", "path": obstacle_map}
    if not isinstance(obstacle_map, dict) or not obstacle_map.get("name"):
        raise TypeError(
            f"obstacle_map must be None, an array, the path of an image, or a mapping with a "
            f"generator's 'name', not {obstacle_map!r:.80}"
        )
    if obstacle_map["name"] == "image":
        path = obstacle_map.get("path")
        if not path:
            raise MapFormatError("the obstacle_map generator 'image' requires 'path'")
        return ImageGridGenerator(path=path).generate().grid
    if world_width is None or world_height is None:
        raise MapFormatError(
            f"the obstacle_map generator {obstacle_map['name']!r} needs world_width and "
            "world_height"
        )
    return build_grid_from_generator(obstacle_map, world_width, world_height)


def build_grid_from_generator(
    spec: Mapping[str, Any], world_width: float, world_height: float
) -> npt.NDArray[np.float64]:
    """Return the grid that a registered generator makes for a world.

    Args:
        spec: The generator's ``name``, the ``resolution`` [m] of its cells and its parameters;
            keys that the generator does not name are let through.
        world_width: Along x [m].
        world_height: Along y [m].

    Returns:
        Occupancy 0 to 100, float64, shape (nx, ny).

    Raises:
        MapFormatError: The name is unknown, or the resolution is missing or absurd.
    """
    name = spec.get("name")
    if not name or name not in GridMapGenerator.registry:
        known = ", ".join(GridMapGenerator.registry)
        raise MapFormatError(f"Unknown or missing generator name: {name!r}. Known: {known}")
    given = spec.get("resolution")
    if given is None:
        raise MapFormatError(f"the obstacle_map generator {name!r} needs 'resolution' [m]")
    resolution = float(given)
    if not (math.isfinite(resolution) and resolution > 0):
        raise MapFormatError(f"resolution is {given}, more than 0 m was expected")
    nx = cells_along(world_width, resolution, "world_width")
    ny = cells_along(world_height, resolution, "world_height")
    check_cell_count(nx, ny, CELL_LIMIT, f"the obstacle map {name!r}")
    generator = GridMapGenerator.registry[name]
    parameters = {key: value for key, value in spec.items() if key in generator.yaml_param_names}
    made = generator(**parameters, width=nx, height=ny).generate().grid
    return np.asarray(made, dtype=np.float64)
