"""GenericModelOutput out of a render product, by way of Replicator."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac import __version__
from irsim_isaac.errors import SimulatorError

__all__ = ["AnnotatorFrames", "WriterFrames", "as_bytes", "copied"]

_OUTPUT = "GenericModelOutput"
_SIZE_OFFSET = 16
_SIZE_BYTES = 8

_FRAMES_KEPT = 64
"""Frames that wait to be read at most."""


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


def copied(frame: npt.NDArray[np.uint8] | None) -> list[npt.NDArray[np.uint8]]:
    """Return a frame as ours: Isaac Sim writes its next one into the same memory."""
    return [] if frame is None else [np.array(frame)]


def _from_address(address: int) -> npt.NDArray[np.uint8] | None:
    if address == 0:
        return None
    stated = ctypes.string_at(address + _SIZE_OFFSET, _SIZE_BYTES)
    size = int.from_bytes(stated, "little")
    if size == 0:
        return None
    return np.frombuffer(ctypes.string_at(address, size), dtype=np.uint8)


class AnnotatorFrames:
    """The last frame of one lidar, by an annotator on a render product of its own.

    Args:
        path: The OmniLidar prim.

    Raises:
        SimulatorError: Replicator is not enabled, or keeps the output on the GPU.
    """

    dropped = 0

    def __init__(self, path: str) -> None:
        try:
            import omni.replicator.core as rep
        except ImportError as error:
            raise SimulatorError(_NO_REPLICATOR) from error
        _require_output_on_cpu()

        self._product = rep.create.render_product(
            path, resolution=(1, 1), render_vars=[_OUTPUT, "RtxSensorMetadata"]
        )
        self._annotator = rep.AnnotatorRegistry.get_annotator(_OUTPUT)
        self._annotator.attach([self._product.path])

    def read(self) -> list[npt.NDArray[np.uint8]]:
        """Return the last frame, if there is one."""
        return copied(as_bytes(self._annotator.get_data()))

    def close(self) -> None:
        """Detach from the lidar and let go of the render product."""
        self._annotator.detach([self._product.path])
        self._product.destroy()


class WriterFrames:
    """Every frame of one lidar, by a writer on a render product of its own.

    Isaac Sim calls it with each frame that it renders, however seldom it is read.

    Args:
        path: The OmniLidar prim.

    Raises:
        SimulatorError: Replicator is not enabled, or keeps the output on the GPU.
    """

    def __init__(self, path: str) -> None:
        try:
            import omni.replicator.core as rep
        except ImportError as error:
            raise SimulatorError(_NO_REPLICATOR) from error
        _require_output_on_cpu()

        waiting: deque[npt.NDArray[np.uint8]] = deque(maxlen=_FRAMES_KEPT)
        written = [0]

        class FrameWriter(rep.Writer):  # type: ignore[misc]  # Isaac Sim has no types
            """Keeps what it is given."""

            def __init__(self) -> None:
                self.version = __version__
                self.data_structure = "renderProduct"
                self.annotators = [rep.AnnotatorRegistry.get_annotator(_OUTPUT)]

            def write(self, data: dict[str, Any]) -> None:
                for outputs in data.get("renderProducts", {}).values():
                    frames = copied(as_bytes(outputs.get(_OUTPUT)))
                    waiting.extend(frames)
                    written[0] += len(frames)

            def write_metadata(self) -> None:
                """Write none: there is no file."""

        self._waiting, self._written = waiting, written
        self._read = 0
        self._product = rep.create.render_product(
            path, resolution=(1, 1), render_vars=[_OUTPUT, "RtxSensorMetadata"]
        )
        self._writer = FrameWriter()
        self._writer.attach([self._product.path])

    @property
    def dropped(self) -> int:
        """How many frames were let go of because too many were waiting."""
        return self._written[0] - self._read - len(self._waiting)

    def read(self) -> list[npt.NDArray[np.uint8]]:
        """Return every frame since the last reading."""
        frames = []
        while self._waiting:
            frames.append(self._waiting.popleft())
        self._read += len(frames)
        return frames

    def close(self) -> None:
        """Detach from the lidar and let go of the render product."""
        self._writer.detach()
        self._product.destroy()


def _require_output_on_cpu() -> None:
    import carb.settings

    if carb.settings.get_settings().get_as_bool(_ON_GPU):
        raise SimulatorError(
            f"the lidar output is kept on the GPU; set {_ON_GPU} to false before it starts"
        )


_NO_REPLICATOR = "reading a lidar needs the extension omni.replicator.core, which is not enabled"
_ON_GPU = "/app/sensors/nv/lidar/outputBufferOnGPU"
