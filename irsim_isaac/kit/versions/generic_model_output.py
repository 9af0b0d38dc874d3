"""GenericModelOutput out of a render product, by way of Replicator."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import SimulatorError

__all__ = ["ReplicatorFrames", "as_bytes"]

_OUTPUT = "GenericModelOutput"
_SIZE_OFFSET = 16
_SIZE_BYTES = 8


def as_bytes(value: Any) -> npt.NDArray[np.uint8] | None:
    """Return what an annotator gave as bytes, without a copy where that can be.

    Args:
        value: A numpy or Warp array of bytes, an address in the memory of the CPU, or a
            dictionary that holds one of them as ``data``; None, 0 or an empty array for nothing.
    """
    if isinstance(value, dict):
        value = value.get("data")
    if value is None:
        return None
    if isinstance(value, int):
        return _from_address(value)
    array = value if isinstance(value, np.ndarray) else value.numpy()
    if array.size == 0:
        return None
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _from_address(address: int) -> npt.NDArray[np.uint8] | None:
    if address == 0:
        return None
    stated = ctypes.string_at(address + _SIZE_OFFSET, _SIZE_BYTES)
    size = int.from_bytes(stated, "little")
    if size == 0:
        return None
    return np.frombuffer(ctypes.string_at(address, size), dtype=np.uint8)


class ReplicatorFrames:
    """The output of one lidar through an annotator on a render product of its own.

    Args:
        path: The OmniLidar prim.

    Raises:
        SimulatorError: Replicator is not enabled, or keeps the output on the GPU.
    """

    def __init__(self, path: str) -> None:
        try:
            import carb.settings
            import omni.replicator.core as rep
        except ImportError as error:
            raise SimulatorError(
                "reading a lidar needs the extension omni.replicator.core, which is not enabled"
            ) from error
        if carb.settings.get_settings().get_as_bool(_ON_GPU):
            raise SimulatorError(
                f"the lidar output is kept on the GPU; set {_ON_GPU} to false before it starts"
            )
        self._product = rep.create.render_product(
            path, resolution=(1, 1), render_vars=[_OUTPUT, "RtxSensorMetadata"]
        )
        self._annotator = rep.AnnotatorRegistry.get_annotator(_OUTPUT)
        self._annotator.attach([self._product.path])

    def read(self) -> npt.NDArray[np.uint8] | None:
        """Return the bytes of the last frame, or None where there is none yet."""
        return as_bytes(self._annotator.get_data())

    def close(self) -> None:
        """Detach from the lidar and let go of the render product."""
        self._annotator.detach([self._product.path])
        self._product.destroy()


_ON_GPU = "/app/sensors/nv/lidar/outputBufferOnGPU"
