"""An occupancy grid from an image."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.map.grid_map_generator_base import GridMapGenerator
from irsim_isaac.map.image import read_shade
from irsim_isaac.map.limits import CELL_LIMIT
from irsim_isaac.map.occupancy import UNKNOWN, Unknown, resolve_unknown

__all__ = ["ImageGridGenerator"]


class ImageGridGenerator(GridMapGenerator):
    """Occupancy from the darkness of an image: black is 100, white 0.

    Transparency thins a pixel's darkness; a fully transparent pixel is unknown.

    Args:
        path: The image: a path, or a name beside the running script, in the working folder, or
            among the maps that come with IR-SIM.
        **kwargs: ``unknown``, what unknown cells become ("free" unless told). Others are let
            through, as a world file passes sizes to every generator.
    """

    name = "image"
    yaml_param_names = ("path",)
    path: str

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = path
        self._unknown: Unknown = kwargs.get("unknown", "free")

    def _build_grid(self) -> npt.NDArray[np.float64]:
        file = _find(self.path)
        if file is None:
            raise FileNotFoundError(f"Obstacle map image not found: {self.path}")
        shade, opacity = read_shade(file, limit=CELL_LIMIT)
        occupancy = 100 * (1 - shade)
        if opacity is not None:
            occupancy *= opacity
            occupancy[opacity == 0] = UNKNOWN
            occupancy = resolve_unknown(occupancy, self._unknown)
        return np.ascontiguousarray(occupancy.T[:, ::-1])


def _find(name: str | os.PathLike[str]) -> Path | None:
    """Return where an image lies, in the order that IR-SIM looks, or None."""
    folders = (Path(), Path(sys.path[0]), Path.cwd(), Path(sys.argv[0]).absolute().parent)
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).absolute()
    found = importlib.util.find_spec("irsim")
    for location in (found.submodule_search_locations or []) if found else []:
        maps = Path(location) / "world" / "map"
        for file in sorted(maps.rglob(Path(name).name)) if Path(name).name == str(name) else []:
            return file
    return None
