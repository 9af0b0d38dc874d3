"""Casts from float32 that C++ leaves open, as g++ compiles them for x86-64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["size_t_index", "uint8_of"]

_SIZE_T_END = np.float32(2.0**64)
_INT32_END = np.float32(2.0**31)


def size_t_index(values: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.intp]:
    """Cast to ``size_t`` and clamp to the last index.

    What lies above -1 is cut off towards zero; what lies below wraps to a huge number and
    not-a-number becomes 2^63, both beyond the last index; 2^64 and more become 0.

    Args:
        values: float32, shape (N,).
        count: One more than the last index.

    Returns:
        Shape (N,).
    """
    inside = (values > -1.0) & (values < count)
    if inside.all():
        return values.astype(np.intp)
    indices = np.full(values.shape, count - 1, dtype=np.intp)
    indices[inside] = values[inside].astype(np.intp)
    indices[values >= _SIZE_T_END] = 0
    return indices


def uint8_of(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Cast to ``uint8_t``: cut off towards zero to an int32, of which the low byte stays.

    What no int32 holds, not-a-number included, becomes 0.

    Args:
        values: float32, shape (N,).
    """
    held = (values >= -_INT32_END) & (values < _INT32_END)
    whole = np.where(held, values, np.float32(0.0)).astype(np.int64)
    return (whole & 0xFF).astype(np.uint8)
