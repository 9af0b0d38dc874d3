"""Recordings as JSON lines: one message a line, for reading with anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irsim_isaac.errors import RecordingError
from irsim_isaac.msg import OccupancyGrid, WorldState
from irsim_isaac.msg.codec import DecodeError, codec, parse
from irsim_isaac.recording.entry import Entry, Order

__all__ = ["JsonLinesRecorder", "read_json_lines"]

_HEADER = {"format": "irsim_isaac recording", "version": 1}
_KINDS: dict[str, type[WorldState] | type[OccupancyGrid]] = {
    "state": WorldState,
    "map": OccupancyGrid,
    "fog": OccupancyGrid,
}


class JsonLinesRecorder:
    """Writes one JSON object a line, each line at once.

    Args:
        path: The file to write.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._line(json.dumps(_HEADER))

    def _line(self, text: str) -> None:
        self._file.write(text + "\n")
        self._file.flush()

    def _write(self, source: str, kind: str, message: WorldState | OccupancyGrid) -> None:
        self._line(f'{{"source":{json.dumps(source)},"{kind}":{message.to_json()}}}')

    def write_state(self, source: str, state: WorldState) -> None:
        """Write a state."""
        self._write(source, "state", state)

    def write_grid(self, source: str, kind: str, grid: OccupancyGrid) -> None:
        """Write a map or a fog map."""
        self._write(source, kind, grid)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_json_lines(path: Path) -> Iterator[Entry]:
    """Yield what a file of JSON lines holds; after the last whole line, say what is wrong.

    Raises:
        RecordingError: The file is foreign, cut off, damaged or out of order.
    """
    order = Order(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"line {number}"
            if not line.endswith(b"\n"):
                raise RecordingError(f"{path}, {where}: the recording is cut off in the line")
            try:
                content = parse(line)
            except ValueError as error:
                raise RecordingError(f"{path}, {where}: not JSON: {error}") from error
            if number == 1:
                if content != _HEADER:
                    raise RecordingError(
                        f"{path}, {where}: found {line[:60]!r}, expected {json.dumps(_HEADER)}"
                    )
                continue
            yield _entry(path, where, content, line, order)
    if path.stat().st_size == 0:
        raise RecordingError(f"{path}, line 1: the file is empty, expected {json.dumps(_HEADER)}")


def _decode(
    cls: type[WorldState] | type[OccupancyGrid], kind: str, content: Any, line: bytes
) -> Any:
    try:
        return codec(cls).from_dict(content[kind], True)
    except DecodeError:
        # The fast parser turns integers beyond 64 bits into floats.
        return cls.from_json(json.dumps(parse(line, exact=True)[kind]))


def _entry(path: Path, where: str, content: object, line: bytes, order: Order) -> Entry:
    source = content.get("source") if isinstance(content, dict) else None
    kinds = [kind for kind in _KINDS if isinstance(content, dict) and kind in content]
    if not isinstance(content, dict) or not isinstance(source, str) or len(kinds) != 1:
        raise RecordingError(
            f"{path}, {where}: found {line[:60]!r}, expected a source and one of "
            f"{', '.join(_KINDS)}"
        )
    kind = kinds[0]
    try:
        message = _decode(_KINDS[kind], kind, content, line)
    except (TypeError, ValueError) as error:
        raise RecordingError(f"{path}, {where}: {error}") from error
    if isinstance(message, WorldState):
        order.follow(source, message, where)
    return Entry(source, kind, message)  # type: ignore[arg-type]
