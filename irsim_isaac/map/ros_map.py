"""Map files as ROS's map server (nav2) reads and writes them."""

from __future__ import annotations

import ast
import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import yaml

from irsim_isaac.errors import MapFormatError
from irsim_isaac.files import write_text
from irsim_isaac.map.image import read_grey, write_grey
from irsim_isaac.map.limits import CELL_LIMIT
from irsim_isaac.map.occupancy import FREE, OCCUPIED, UNKNOWN, Occupancy
from irsim_isaac.map.report import BuildReport

__all__ = ["MapMode", "load_ros_map", "save_ros_map"]

MapMode: TypeAlias = Literal["trinary", "scale", "raw"]
"""How grey becomes occupancy: three classes, shades between them, or the value itself."""

_MODES = ("trinary", "scale", "raw")
_OCCUPIED_THRESHOLD = 0.65
_FREE_THRESHOLD = 0.196
_GREY_UNKNOWN = 205
_GREY_FREE = 254
_BLOCK = 256
_OWN_KEY = "irsim_isaac"
_FILE_KEY = "map_file"


@dataclass(frozen=True, slots=True)
class _Header:
    """What a map file says beside its image."""

    image: Path
    resolution: float
    origin: tuple[float, float, float]
    negate: bool
    occupied_threshold: float
    free_threshold: float
    mode: str
    warnings: tuple[str, ...]
    built: Mapping[str, object]


def load_ros_map(path: str | os.PathLike[str], *, limit: int = CELL_LIMIT) -> Occupancy:
    """Read a map file by nav2's rules.

    Args:
        path: The YAML file; ``~/`` is the home folder.
        limit: The most cells allowed; they are counted before they are read. A PGM needs two
            bytes a cell while it is read, a PNG up to three, the finished grid one.

    Returns:
        The grid; its report has the file's thresholds under ``parameters["map_file"]``, and a
        warning for what other readers would not accept.

    Raises:
        FileNotFoundError: The YAML file or its image is missing.
        MapFormatError: A key is missing or wrong, or the image is unreadable or too large.
    """
    file = Path(path).expanduser()
    header = _read_header(file)
    grey, opacity = read_grey(header.image, limit=limit)
    table = _table(header)
    notes = list(header.warnings)
    if header.mode != "raw" and table[_GREY_UNKNOWN] == FREE and not header.negate:
        share = 1 - _GREY_UNKNOWN / 255
        if header.free_threshold >= share and (grey == _GREY_UNKNOWN).any():
            notes.append(
                f"{file}: grey 205, which map savers write for unknown, reads as free, because "
                f"free_thresh is {header.free_threshold} and (255 - 205) / 255 = {share:.5f}; "
                "0.196 keeps it unknown"
            )
    cells = _to_cells(grey, table, None if header.mode == "raw" else opacity)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    parameters = dict(header.built)
    parameters[_FILE_KEY] = {
        "image": str(header.image),
        "mode": header.mode,
        "negate": header.negate,
        "occupied_thresh": header.occupied_threshold,
        "free_thresh": header.free_threshold,
    }
    report = BuildReport(warnings=tuple(notes), parameters=parameters)
    return Occupancy(cells, header.resolution, header.origin, report)


def _read_header(file: Path) -> _Header:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise MapFormatError(f"{file} is no YAML: {error}") from error
    except UnicodeDecodeError as error:
        raise MapFormatError(f"{file} is no text, the map's YAML file was expected") from error
    if not isinstance(content, dict):
        raise MapFormatError(
            f"{file}: keys and values were expected, found {type(content).__name__}"
        )
    for key in ("image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh"):
        if key not in content:
            raise MapFormatError(f"{file}: the key '{key}' is missing")
    notes: list[str] = []
    mode = str(content.get("mode", "trinary")).lower()
    if mode not in _MODES:
        raise MapFormatError(
            f"{file}: mode is {content['mode']!r}, one of {', '.join(_MODES)} was expected"
        )
    occupied = _number(file, content, "occupied_thresh")
    free = _number(file, content, "free_thresh")
    if not 0 <= free < occupied <= 1:
        raise MapFormatError(
            f"{file}: free_thresh is {free} and occupied_thresh {occupied}; "
            "0 <= free_thresh < occupied_thresh <= 1 was expected"
        )
    resolution = _number(file, content, "resolution")
    if resolution <= 0:
        raise MapFormatError(f"{file}: resolution is {resolution}, more than 0 m was expected")
    built = content.get(_OWN_KEY)
    return _Header(
        image=_image_path(file, content["image"]),
        resolution=resolution,
        origin=_origin(file, content["origin"], notes),
        negate=_truth(file, content["negate"]),
        occupied_threshold=occupied,
        free_threshold=free,
        mode=mode,
        warnings=tuple(notes),
        built=built if isinstance(built, dict) else {},
    )


def _number(file: Path, content: Mapping[str, Any], key: str) -> float:
    value = content[key]
    # PyYAML takes 1e-3 for a word, YAML 1.2 and nav2 for a number.
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MapFormatError(f"{file}: {key} is {content[key]!r}, a number was expected")
    return float(value)


def _truth(file: Path, value: object) -> bool:
    words = {"0": False, "1": True, "false": False, "true": True}
    if isinstance(value, bool | int):
        return bool(value)
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise MapFormatError(f"{file}: negate is {value!r}, 0, 1, false or true was expected")


def _origin(file: Path, value: object, notes: list[str]) -> tuple[float, float, float]:
    numbers = value
    if isinstance(value, str) and value.lstrip().startswith("("):
        try:
            numbers = list(ast.literal_eval(value.strip()))
        except (ValueError, SyntaxError, TypeError):
            numbers = None
        else:
            notes.append(
                f"{file}: origin is the text '{value}', a Python tuple as MobilityGen writes it; "
                "it was read, but nav2 refuses the file: write [x, y, yaw]"
            )
    if not isinstance(numbers, list) or len(numbers) != 3:
        raise MapFormatError(
            f"{file}: origin is {value!r}, three numbers [x, y, yaw] were expected"
        )
    read = [_number(file, {"origin": number}, "origin") for number in numbers]
    return read[0], read[1], read[2]


def _image_path(file: Path, value: object) -> Path:
    if not isinstance(value, str) or not value:
        raise MapFormatError(f"{file}: image is {value!r}, the name of a file was expected")
    image = file.parent / value
    if not image.exists() and value.startswith("~"):
        image = Path(value).expanduser()
    if not image.is_file():
        raise FileNotFoundError(f"{file}: the image '{value}' is not at {image}")
    return image


def _table(header: _Header) -> npt.NDArray[np.int8]:
    """Return the occupancy of each of the 256 grey values."""
    grey = np.arange(256)
    if header.mode == "raw":
        return np.where(grey <= OCCUPIED, grey, UNKNOWN).astype(np.int8)
    share = (grey if header.negate else 255 - grey) / 255
    table = np.full(256, float(UNKNOWN))
    if header.mode == "scale":
        span = header.occupied_threshold - header.free_threshold
        table = np.rint((share - header.free_threshold) / span * 100)
    table[share >= header.occupied_threshold] = OCCUPIED
    table[share <= header.free_threshold] = FREE
    return table.astype(np.int8)


def _to_cells(
    grey: npt.NDArray[np.uint8],
    table: npt.NDArray[np.int8],
    opacity: npt.NDArray[np.uint8] | None,
) -> npt.NDArray[np.int8]:
    """Return image rows from the top as cells ``[ix, iy]``.

    Block by block, so that rows and columns of a block are in the cache together.
    """
    rows, columns = grey.shape
    translation = table.tobytes()
    cells = np.empty((columns, rows), dtype=np.int8)
    for top in range(0, rows, _BLOCK):
        for left in range(0, columns, _BLOCK):
            part = np.s_[top : top + _BLOCK, left : left + _BLOCK]
            pixels = grey[part]
            looked_up = pixels.tobytes().translate(translation)
            block = np.frombuffer(looked_up, dtype=np.int8).reshape(pixels.shape)
            if opacity is not None:
                block = np.where(opacity[part] < 255, np.int8(UNKNOWN), block)
            low = rows - top - pixels.shape[0]
            cells[left : left + pixels.shape[1], low : rows - top] = block[::-1].T
    return cells


def _text(value: float) -> str:
    """Return the shortest text that reads back as the same number, in YAML 1.1 and 1.2."""
    text = repr(float(value))
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)


def save_ros_map(
    occupancy: Occupancy,
    path: str | os.PathLike[str],
    *,
    mode: MapMode = "trinary",
    image_format: Literal["png", "pgm", "bmp"] = "png",
) -> Path:
    """Write a map file and its image by nav2's rules.

    In mode ``trinary`` cells up to 20 are free (254), from 65 on occupied (0), and the others
    unknown (205). The modes ``scale`` (with PNG) and ``raw`` keep every value. What the grid's
    report says of its building is written under the key ``irsim_isaac``, which map servers
    ignore.

    Args:
        occupancy: The grid.
        path: The YAML file; the image lies beside it under the same name.
        mode: How occupancy becomes grey.
        image_format: The image's format.

    Returns:
        The path of the YAML file.

    Raises:
        MapFormatError: The mode or the format is unknown, or they do not go together.
    """
    file = Path(path).expanduser()
    if mode not in _MODES:
        raise MapFormatError(f"mode={mode!r}: expected one of {', '.join(_MODES)}")
    if image_format not in ("png", "pgm", "bmp"):
        raise MapFormatError(f"image_format={image_format!r}: expected png, pgm or bmp")
    cells = occupancy.cells
    opacity = None
    occupied, free = _OCCUPIED_THRESHOLD, _FREE_THRESHOLD
    value = np.arange(-128, 128)
    if mode == "trinary":
        grey = np.full(256, _GREY_UNKNOWN)
        grey[(value >= 0) & (value <= round(free * 100))] = _GREY_FREE
        grey[value >= round(occupied * 100)] = 0
    elif mode == "raw":
        grey = np.where(value >= 0, value, 255)
    else:
        if image_format != "png" and (cells < 0).any():
            raise MapFormatError(
                f"mode 'scale' marks unknown cells by transparency, which {image_format} has not: "
                "use png"
            )
        occupied, free = 1.0, 0.0
        grey = np.where(value >= 0, np.rint((100 - value) * 2.55), 127)
        opacity = np.where(cells.T[::-1] < 0, np.uint8(0), np.uint8(255))
        if image_format != "png":
            opacity = None
    # Cells are looked up by their byte: 0 to 127, then -128 to -1.
    lookup = np.roll(grey, 128).astype(np.uint8).tobytes()
    pixels = np.frombuffer(cells.tobytes().translate(lookup), dtype=np.uint8)
    image = file.with_suffix(f".{image_format}")
    write_grey(image, pixels.reshape(cells.shape).T[::-1], opacity)
    if occupancy.origin[2]:
        warnings.warn(
            f"{file}: the origin's yaw is {occupancy.origin[2]} rad; nav2's costmaps and AMCL "
            "ignore it",
            stacklevel=2,
        )
    origin = ", ".join(map(_text, occupancy.origin))
    text = (
        f"image: {_quoted(image.name)}\n"
        f"mode: {mode}\n"
        f"resolution: {_text(occupancy.resolution)}\n"
        f"origin: [{origin}]\n"
        "negate: 0\n"
        f"occupied_thresh: {_text(occupied)}\n"
        f"free_thresh: {_text(free)}\n"
    )
    built = {
        str(key): _plain(entry)
        for key, entry in occupancy.report.parameters.items()
        if key != _FILE_KEY
    }
    if built:
        text += yaml.safe_dump({_OWN_KEY: built}, sort_keys=True, allow_unicode=True)
    write_text(file, text)
    return file


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else "'" + name.replace("'", "''") + "'"


def _plain(value: object) -> object:
    """Return what YAML can hold: numbers, words, lists and mappings."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list | set | frozenset | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
