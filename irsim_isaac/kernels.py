"""Running Warp kernels as a guest.

Warp's configuration belongs to the host process (Isaac Sim sets it for everybody), so it is
never changed here. What Warp prints when it starts or builds a kernel is kept from stdout,
where commands write their results.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import warp as wp

__all__ = ["launch", "start"]

_built: set[tuple[Any, str]] = set()


def start() -> None:
    """Start Warp, as its first array or kernel would, but print nothing on stdout."""
    with contextlib.redirect_stdout(io.StringIO()):
        wp.init()


def launch(
    kernel: Any,
    dim: int | tuple[int, ...],
    inputs: Sequence[Any],
    *,
    device: str = "cpu",
) -> None:
    """Launch a Warp kernel; building it the first time prints nothing.

    Args:
        kernel: A function made by ``wp.kernel``.
        dim: The number of threads, one number an axis.
        inputs: The arguments in order: Warp arrays on ``device``, or plain numbers.
        device: A Warp device name; the CPU unless told.
    """
    key = (kernel, device)
    if key in _built:
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=device)
        return
    with contextlib.redirect_stdout(io.StringIO()):
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=device)
    _built.add(key)
