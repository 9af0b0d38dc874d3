"""An occupancy grid of Perlin noise, the same as IR-SIM's for the same seed.

The parameters are those of GCOPTER's map generator (ZJU-FAST-Lab).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map.grid_map_generator_base import GridMapGenerator
from irsim_isaac.map.limits import CELL_LIMIT, check_cell_count

__all__ = ["PerlinGridGenerator", "generate_perlin_noise"]

_PERIOD = 256
_DIAGONAL = 1.0 / np.sqrt(2)
_GRADIENT_X = np.array([1, -1, 0, 0, _DIAGONAL, -_DIAGONAL, _DIAGONAL, -_DIAGONAL])
_GRADIENT_Y = np.array([0, 0, 1, -1, _DIAGONAL, _DIAGONAL, -_DIAGONAL, -_DIAGONAL])

_Array = npt.NDArray[Any]


def _check(fractal: int, attenuation: float) -> None:
    if fractal < 1:
        raise MapFormatError(f"fractal must be >= 1 (got {fractal})")
    if not attenuation > 0:
        raise MapFormatError(f"attenuation must be > 0 (got {attenuation})")


def _axis(count: int, frequency: float) -> tuple[_Array, _Array, _Array]:
    """Return lattice indices, distances to the lattice, and faded distances along one axis."""
    along = np.arange(count, dtype=np.float64) * frequency
    below = np.floor(along)
    distance = along - below
    fade = distance * distance * distance * (distance * (distance * 6 - 15) + 10)
    return (np.trunc(along) % _PERIOD).astype(np.intp), distance, fade


def _octave(width: int, height: int, frequency: float, table: _Array) -> _Array:
    """Return one layer of noise, about -1 to 1, shape (width, height)."""
    xi, xf, u = _axis(width, frequency)
    yi, yf, v = _axis(height, frequency)
    xf, u = xf[:, None], u[:, None]

    def corner(right: int, up: int) -> _Array:
        kind = table[table[xi + right][:, None] + (yi + up)] % 8
        dot: _Array = _GRADIENT_X[kind] * (xf - right) + _GRADIENT_Y[kind] * (yf - up)
        return dot

    low = corner(0, 0)
    low = low + u * (corner(1, 0) - low)
    high = corner(0, 1)
    high = high + u * (corner(1, 1) - high)
    noise: _Array = low + v * (high - low)
    return noise


def generate_perlin_noise(
    width: int,
    height: int,
    complexity: float = 0.142857,
    fractal: int = 1,
    attenuation: float = 0.5,
    seed: int | None = None,
) -> npt.NDArray[np.float64]:
    """Return Perlin noise.

    Args:
        width: Cells along x.
        height: Cells along y.
        complexity: Lattice points a cell; the noise repeats after 256 lattice points.
        fractal: Layers, each of twice the frequency of the one before.
        attenuation: Layer k weighs ``attenuation / (k + 1)``; it cancels out of the mean.
        seed: For the same noise again.

    Returns:
        0 to 1, float64, shape (width, height).

    Raises:
        MapFormatError: A parameter is out of its range.
    """
    _check(fractal, attenuation)
    check_cell_count(width, height, CELL_LIMIT, "the Perlin grid")
    order = np.arange(_PERIOD, dtype=np.int32)
    np.random.default_rng(seed).shuffle(order)
    table = np.concatenate([order, order])
    noise = np.zeros((width, height), dtype=np.float64)
    whole = 0.0
    for layer in range(fractal):
        weight = attenuation / (layer + 1)
        noise += weight * _octave(width, height, complexity * 2**layer, table)
        whole += weight
    noise /= whole
    noise += 1
    noise /= 2
    return np.clip(noise, 0, 1, out=noise)


class PerlinGridGenerator(GridMapGenerator):
    """Perlin noise, the highest part of which is occupied.

    Args:
        width: Cells along x.
        height: Cells along y.
        complexity: Lattice points a cell.
        fill: The part of the cells that is occupied, 0 to 1.
        fractal: Layers of noise, at least 1.
        attenuation: How the layers' weights fall, more than 0.
        seed: For the same grid again.

    Raises:
        MapFormatError: A parameter is out of its range.
    """

    name = "perlin"
    yaml_param_names = ("complexity", "fill", "fractal", "attenuation", "seed")
    width: int
    height: int
    complexity: float
    fill: float
    fractal: int
    attenuation: float
    seed: int | None

    def __init__(
        self,
        width: int,
        height: int,
        complexity: float = 0.142857,
        fill: float = 0.38,
        fractal: int = 1,
        attenuation: float = 0.5,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        _check(fractal, attenuation)
        if not 0 <= fill <= 1:
            raise MapFormatError(f"fill must be 0 to 1 (got {fill})")
        if not math.isfinite(complexity):
            raise MapFormatError(f"complexity must be finite (got {complexity})")
        if width < 1 or height < 1:
            raise MapFormatError(f"at least one cell each way is needed (got {width} x {height})")
        self.width = width
        self.height = height
        self.complexity = complexity
        self.fill = fill
        self.fractal = fractal
        self.attenuation = attenuation
        self.seed = seed

    def _build_grid(self) -> npt.NDArray[np.float64]:
        noise = generate_perlin_noise(
            self.width, self.height, self.complexity, self.fractal, self.attenuation, self.seed
        )
        rank = min(int((1.0 - self.fill) * noise.size), noise.size - 1)
        threshold = np.partition(noise, rank, axis=None)[rank]
        return np.where(noise > threshold, 100.0, 0.0)

    def preview(self, title: str = "Perlin 2D Map", cmap: str = "gray_r") -> None:
        """Show the grid in a window of matplotlib.

        Args:
            title: Above the grid.
            cmap: The colour map's name.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        super().preview(title=title, cmap=cmap)
