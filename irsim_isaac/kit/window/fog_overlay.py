"""Fog on the ground of the open stage, in a layer that goes without a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.kit.layer import OwnLayer

if TYPE_CHECKING:
    from irsim_isaac.map import FogMap

__all__ = ["PATH", "FogOverlay", "rectangles"]

PATH = "/irsim_isaac_fog"
"""The prim that shows the fog."""

_ABOVE = 0.01
"""How far it lies above the floor [m], so that the floor does not shine through."""

_GREY = (0.16, 0.18, 0.21)


def rectangles(fog: FogMap, cells: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return cells as rectangles, one for each run of cells along y.

    Args:
        fog: Says where the cells lie.
        cells: Which cells, shape (nx, ny).

    Returns:
        The least x and y and the greatest x and y of each [m], shape (N, 4).
    """
    nx, ny = cells.shape
    edges = np.diff(np.pad(cells, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    columns, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    side_x, side_y = fog.width / nx, fog.height / ny
    x, y = fog.world_offset
    return np.stack(
        [
            x + columns * side_x,
            y + begins * side_y,
            x + (columns + 1) * side_x,
            y + ends * side_y,
        ],
        axis=1,
    )


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What a mesh of rectangles holds."""

    points: Any
    counts: Any
    indices: Any


class FogOverlay:
    """A flat mesh over the cells that nobody has seen.

    Args:
        stage: The open stage.
        floor: The height of the floor [m].
        opacity: 0 to 1.
    """

    def __init__(self, stage: Any, *, floor: float = 0.0, opacity: float = 0.6) -> None:
        from irsim_isaac.stage import stage_units
        from irsim_isaac.stage.usd import UsdGeom, Vt

        units = stage_units(stage)
        self._floor = floor + _ABOVE
        self._matrix = units.rotation.T / units.meters_per_unit
        self._stage = stage
        self._layer = OwnLayer(stage)
        with self._layer.editing():
            mesh = UsdGeom.Mesh.Define(stage, PATH)
            mesh.CreateDoubleSidedAttr(True)
            mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
            mesh.CreateDisplayColorAttr(Vt.Vec3fArray([_GREY]))
            mesh.CreateDisplayOpacityAttr(Vt.FloatArray([opacity]))

    def prepare(self, found: npt.NDArray[np.float64]) -> _Sheet:
        """Make the mesh of rectangles; on any thread.

        Args:
            found: From ``rectangles``.
        """
        from irsim_isaac.stage.usd import Vt

        count = len(found)
        corners = np.empty((count, 4, 3))
        corners[:, :, 0] = found[:, [0, 2, 2, 0]]
        corners[:, :, 1] = found[:, [1, 1, 3, 3]]
        corners[:, :, 2] = self._floor
        points = (corners.reshape(-1, 3) @ self._matrix).astype(np.float32)
        return _Sheet(
            Vt.Vec3fArray.FromNumpy(points),
            Vt.IntArray.FromNumpy(np.full(count, 4, dtype=np.int32)),
            Vt.IntArray.FromNumpy(np.arange(4 * count, dtype=np.int32)),
        )

    def show(self, sheet: _Sheet) -> None:
        """Show a mesh that was prepared.

        Args:
            sheet: From ``prepare``.
        """
        from irsim_isaac.stage.usd import Sdf, UsdGeom

        mesh = UsdGeom.Mesh(self._stage.GetPrimAtPath(PATH))
        with self._layer.editing(), Sdf.ChangeBlock():
            mesh.GetPointsAttr().Set(sheet.points)
            mesh.GetFaceVertexCountsAttr().Set(sheet.counts)
            mesh.GetFaceVertexIndicesAttr().Set(sheet.indices)

    @property
    def shown(self) -> bool:
        """Whether the prim is there; somebody may have deleted it."""
        return bool(self._stage.GetPrimAtPath(PATH))

    def remove(self) -> None:
        """Take the fog off the stage; twice is no error."""
        self._layer.remove()
