"""Reading the grey values and the opacity of map images."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from irsim_isaac.errors import MapFormatError
from irsim_isaac.files import writing
from irsim_isaac.map.limits import check_cell_count

__all__ = ["read_grey", "read_shade", "write_grey"]

_WEIGHTS = np.array([0.2989, 0.5870, 0.1140])
_NUMBER = re.compile(rb"(?:\s+|#[^\n\r]*[\n\r])*(\d+)")
_COMMENT = re.compile(rb"#[^\n\r]*")


def read_grey(
    path: str | os.PathLike[str], *, limit: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8] | None]:
    """Return the grey values of an image and, where it has one, its opacity.

    Colours become grey by their luma (ITU-R BT.601). Deeper images are scaled to 0 to 255.

    Args:
        path: A PGM (P2, P5), PNG, BMP or anything else that Pillow reads.
        limit: The most pixels allowed; they are counted before they are decoded.

    Returns:
        Two uint8 arrays, shape (rows, columns), the first row at the top; the second is None
        where every pixel is opaque.

    Raises:
        FileNotFoundError: There is no such file.
        MapFormatError: It is no image, is damaged, or has too many pixels.
    """
    path = Path(path)
    with path.open("rb") as file:
        magic = file.read(2)
    if magic in (b"P2", b"P5"):
        return _read_pgm(path, limit), None
    with _opened(path, limit) as image:
        return _grey_and_opacity(image)


@contextmanager
def _opened(path: Path, limit: int) -> Iterator[Any]:
    """Give an image whose pixels have been counted; what is wrong with it becomes one error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path)
        with image:
            check_cell_count(image.width, image.height, limit, f"{path}")
            yield image
    except Image.DecompressionBombError as error:
        raise MapFormatError(f"{path} has too many pixels for Pillow: {error}") from error
    except UnidentifiedImageError as error:
        raise MapFormatError(f"{path} is no image that Pillow knows") from error
    except (OSError, SyntaxError) as error:
        raise MapFormatError(f"{path} is a damaged image: {error}") from error


def _grey_and_opacity(
    image: Any,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8] | None]:
    if image.mode.startswith("I"):
        deep = np.asarray(image)
        scaled = (np.clip(deep, 0, 65535).astype(np.uint32) + 128) // 257
        return scaled.astype(np.uint8), None
    opacity = None
    if image.has_transparency_data:
        image = image.convert("LA" if image.mode in ("1", "L", "LA") else "RGBA")
        opacity = np.asarray(image.getchannel("A"))
        if opacity.min() == 255:
            opacity = None
        image = image.convert("L") if image.mode == "LA" else image.convert("RGB").convert("L")
    elif image.mode not in ("L", "RGB"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    if image.mode != "L":
        image = image.convert("L")
    return np.asarray(image), opacity


def _read_pgm(path: Path, limit: int) -> npt.NDArray[np.uint8]:
    data = np.memmap(path, dtype=np.uint8, mode="r")
    head = bytes(data[:4096])
    plain = head[:2] == b"P2"
    at = 2
    numbers = []
    for what in ("width", "height", "largest value"):
        found = _NUMBER.match(head, at)
        if found is None:
            raise MapFormatError(f"{path}: no {what} in the header of the PGM")
        numbers.append(int(found.group(1)))
        at = found.end()
    width, height, largest = numbers
    if not (width and height and 0 < largest < 65536):
        raise MapFormatError(
            f"{path}: {width} x {height} pixels up to {largest}: a PGM has at least one pixel, and "
            "a largest value of 1 to 65535"
        )
    check_cell_count(width, height, limit, f"{path}")
    count = width * height
    if plain:
        words = _COMMENT.sub(b" ", bytes(data[at:])).split()[:count]
        try:
            pixels: npt.NDArray[Any] = np.array(words, dtype=np.uint32)
        except ValueError as error:
            raise MapFormatError(f"{path}: a pixel is no number: {error}") from error
    else:
        kind = np.dtype(">u2" if largest > 255 else "u1")
        body = data[at + 1 : at + 1 + count * kind.itemsize]
        pixels = body[: body.size // kind.itemsize * kind.itemsize].view(kind)
    if pixels.size < count:
        raise MapFormatError(f"{path} ends after {pixels.size} of {count} pixels")
    if largest != 255:
        whole = np.minimum(pixels, largest).astype(np.uint32)
        pixels = ((whole * 510 + largest) // (2 * largest)).astype(np.uint8)
    return pixels.astype(np.uint8, copy=False).reshape(height, width)


def write_grey(
    path: str | os.PathLike[str],
    grey: npt.NDArray[np.uint8],
    opacity: npt.NDArray[np.uint8] | None = None,
) -> None:
    """Write an image whole, or leave what was there.

    Args:
        path: Ends in .png, .pgm or .bmp.
        grey: uint8, shape (rows, columns), the first row at the top.
        opacity: The same shape; for PNG alone.
    """
    if opacity is not None:
        image = Image.fromarray(np.stack([grey, opacity], axis=-1), mode="LA")
    else:
        image = Image.fromarray(np.ascontiguousarray(grey))
    with writing(path) as temporary:
        image.save(temporary)


def read_shade(
    path: str | os.PathLike[str], *, limit: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
    """Return the brightness of an image as IR-SIM weighs it, and its opacity.

    A grey pixel's brightness is its value over the largest that its depth can hold. Colours are
    weighed 0.2989, 0.5870 and 0.1140. PNG values pass through single precision, as matplotlib's
    do, so that grids are the same to the last bit.

    Args:
        path: Anything that Pillow reads, and PGM of any depth.
        limit: The most pixels allowed.

    Returns:
        Two float64 arrays, shape (rows, columns), 0 to 1, the first row at the top; the second
        is None where every pixel is opaque.

    Raises:
        MapFormatError: It is no image, is damaged, or has too many pixels.
    """
    path = Path(path)
    with path.open("rb") as file:
        if file.read(2) in (b"P2", b"P5"):
            return _read_pgm(path, limit) / 255, None
    with _opened(path, limit) as image:
        single = np.float32 if image.format == "PNG" else np.float64
        if image.mode.startswith("I"):
            deep = np.clip(np.asarray(image), 0, 65535)
            return np.divide(deep, 65535, dtype=single).astype(np.float64), None
        opacity = None
        mode = "L" if image.mode in ("1", "L") else "RGB"
        opaque = image
        if image.has_transparency_data:
            opaque, mode = image.convert("RGBA"), "RGB"
            opacity = np.asarray(opaque.getchannel("A")) / 255
            if opacity.min() == 1:
                opacity = None
            elif image.mode in ("1", "L", "LA"):
                mode = "L"
        values = np.divide(np.asarray(opaque.convert(mode)), 255, dtype=single)
    return values.astype(np.float64) if mode == "L" else np.dot(values, _WEIGHTS), opacity
