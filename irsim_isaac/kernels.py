"""Running Warp kernels as a guest.

Warp's configuration belongs to the host process (Isaac Sim sets it for everybody), so it is
never changed here. What Warp says when it starts or builds a kernel is kept from the terminal,
where commands write their results.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import warp as wp

__all__ = ["launch", "start"]

_built: set[tuple[Any, str]] = set()


@contextlib.contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """Send what native code writes to the error stream nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


@functools.cache
def start() -> None:
    """Start Warp, as its first array or kernel would, but say nothing.

    Without a GPU's driver its native part complains on the error stream, which is no error here.
    """
    with contextlib.redirect_stdout(io.StringIO()), _native_stderr_closed():
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
    start()
    key = (kernel, device)
    if key in _built:
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=device)
        return
    with contextlib.redirect_stdout(io.StringIO()):
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=device)
    _built.add(key)
