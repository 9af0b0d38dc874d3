"""What every generator of an occupancy grid has in common, and their registry."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import MissingPackageError
from irsim_isaac.map.image import write_grey

__all__ = ["GridMapGenerator"]


class GridMapGenerator(ABC):
    """A procedure that makes an occupancy grid.

    A subclass with a ``name`` is registered under it when it is defined, in place of one of the
    same name.

    Attributes:
        registry: Every named generator.
        name: What a world file calls it.
        yaml_param_names: The parameters that a world file may set.
    """

    registry: ClassVar[dict[str, type[GridMapGenerator]]] = {}
    name: str = ""
    yaml_param_names: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        self._grid: npt.NDArray[np.float64] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            GridMapGenerator.registry[cls.name] = cls

    @abstractmethod
    def _build_grid(self) -> npt.NDArray[Any]:
        """Return occupancy 0 to 100, shape (nx, ny)."""

    def generate(self) -> GridMapGenerator:
        """Make the grid and return the generator itself."""
        self._grid = np.asarray(self._build_grid(), dtype=np.float64)
        return self

    @property
    def grid(self) -> npt.NDArray[np.float64]:
        """Occupancy 0 to 100, float64, shape (nx, ny); made when it is first asked for.

        Raises:
            RuntimeError: The generator made nothing.
        """
        if self._grid is None:
            self.generate()
        if self._grid is None:
            raise RuntimeError(f"Grid generation failed: {type(self).__name__} made no grid")
        return self._grid

    def save_as_image(self, filepath: str | os.PathLike[str], invert: bool = True) -> None:
        """Write the grid as a grey image, as an image obstacle map of a world reads it.

        The image's columns are x and its rows y, the largest y at the top, so reading it gives
        the grid back: exactly where its values are 0 and 100, else to the nearest of 256 shades.
        Unknown cells are transparent.

        Args:
            filepath: A PNG file.
            invert: Occupied is black, as readers expect; False makes it white.
        """
        shade = np.clip(self.grid, 0, 100) / 100
        grey = np.rint((1 - shade if invert else shade) * 255).astype(np.uint8)
        unknown = self.grid < 0
        opacity = np.where(unknown, np.uint8(0), np.uint8(255)).T[::-1] if unknown.any() else None
        write_grey(filepath, grey.T[::-1], opacity)

    def preview(self, title: str = "Grid Map", cmap: str = "gray_r") -> None:
        """Show the grid in a window of matplotlib.

        Args:
            title: Above the grid.
            cmap: The colour map's name.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingPackageError("matplotlib", "irsim") from error
        _, axes = plt.subplots(figsize=(8, 8))
        image = axes.imshow(self.grid.T, origin="lower", cmap=cmap, vmin=0, vmax=100)
        plt.colorbar(image, label="Occupancy (>50 = obstacle)")
        axes.set(title=title, xlabel="X", ylabel="Y")
        plt.show()
