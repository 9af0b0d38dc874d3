"""Recording and reading, by the suffix of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol

from irsim_isaac.errors import RecordingError
from irsim_isaac.msg import OccupancyGrid, WorldState
from irsim_isaac.recording.entry import Entry, Kind, Order
from irsim_isaac.recording.json_lines import JsonLinesRecorder, read_json_lines
from irsim_isaac.recording.mcap_file import McapRecorder, Robot, read_mcap
from irsim_isaac.recording.tum import TumRecorder, read_tum

__all__ = ["Recorder", "convert", "entries", "read", "record", "sources"]

Damage = Literal["refuse", "accept"]

_READERS: Mapping[str, Callable[[Path], Iterator[Entry]]] = {
    ".mcap": read_mcap,
    ".jsonl": read_json_lines,
    ".tum": read_tum,
}


def _suffix(path: Path) -> str:
    if path.suffix.lower() not in _READERS:
        raise RecordingError(
            f"{path}: found the suffix '{path.suffix}', expected {', '.join(_READERS)}"
        )
    return path.suffix.lower()


class _Format(Protocol):
    def write_state(self, source: str, state: WorldState) -> None: ...

    def write_grid(self, source: str, kind: str, grid: OccupancyGrid) -> None: ...

    def close(self) -> None: ...


class Recorder:
    """A recording that is being written; made by :func:`record`.

    It is closed at the end of its ``with`` block, or by :meth:`close`.
    """

    def __init__(self, path: Path, form: _Format) -> None:
        self.path = path
        self._form: _Format | None = form
        self._order = Order(path)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_form(self) -> _Format:
        if self._form is None:
            raise RecordingError(f"{self.path}: the recording is closed")
        return self._form

    def write(self, state: WorldState, *, source: str = "") -> None:
        """Write a state.

        Args:
            state: The state, no earlier than the one before it of the same source.
            source: The simulator that it came from, as its topics' prefix; empty where there
                is one alone.

        Raises:
            RecordingError: The state is out of order or cannot be written, the source is no
                name, or the recording is closed. Nothing of the state is written.
        """
        self._check(source)
        form = self._open_form()
        try:
            self._order.check(source, state, "at the end")
            form.write_state(source, state)
        except (TypeError, ValueError) as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self._order.remember(source, state)

    def write_map(
        self, grid: OccupancyGrid, *, source: str = "", kind: Literal["map", "fog"] = "map"
    ) -> None:
        """Write a map, or a fog map, at the time of its header.

        Args:
            grid: The map.
            source: As in :meth:`write`.
            kind: What it is.

        Raises:
            RecordingError: The map cannot be written, or the recording is closed.
        """
        self._check(source)
        try:
            self._open_form().write_grid(source, kind, grid)
        except (TypeError, ValueError) as error:
            raise RecordingError(f"{self.path}: {error}") from error

    def _check(self, source: str) -> None:
        if source and ("/" in source or source.split() != [source]):
            raise RecordingError(
                f"{self.path}: found the source '{source}', expected a name without slashes "
                "and blanks"
            )

    def close(self) -> None:
        """Finish the file; a second call does nothing."""
        form, self._form = self._form, None
        if form is not None:
            form.close()


def record(
    path: str | os.PathLike[str],
    *,
    robots: Iterable[Robot] | Mapping[str, Robot] = (),
    robot: str | None = None,
    whole: bool = True,
    chunk_size: int = 1024 * 1024,
    name: Path | None = None,
) -> Recorder:
    """Start a recording, as its suffix says: ``.mcap``, ``.jsonl`` or ``.tum``.

    What is there under the name is overwritten. A recording that is cut off, by a kill or a
    full disk, is readable up to its last whole chunk (MCAP) or line.

    Args:
        path: The file to write; missing folders above it are made.
        robots: The robots, for the places of their lidars in an MCAP's ``/tf_static``.
        robot: The robot whose trajectory a TUM file tells; needed where there are several.
        whole: Keep the whole states in a TUM file's comments.
        chunk_size: Bytes of an MCAP's chunk before compression.
        name: What errors call the file, where ``path`` is not its final name.

    Raises:
        RecordingError: The suffix is none of these.
        MissingPackageError: An MCAP needs the extra ``record``.
    """
    target = Path(path)
    suffix = _suffix(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    form: _Format
    if suffix == ".mcap":
        specs = robots.values() if isinstance(robots, Mapping) else robots
        form = McapRecorder(target, robots=specs, chunk_size=chunk_size)
    elif suffix == ".jsonl":
        form = JsonLinesRecorder(target)
    else:
        form = TumRecorder(target, robot=robot, whole=whole)
    return Recorder(name or target, form)


def entries(path: str | os.PathLike[str], *, damage: Damage = "refuse") -> Iterator[Entry]:
    """Yield everything that a recording holds, in its order.

    Args:
        path: The recording.
        damage: Where the recording is cut off or damaged, ``"refuse"`` raises the error
            after the last whole message; ``"accept"`` ends there.

    Raises:
        RecordingError: The recording is foreign, cut off, damaged or out of order.
        FileNotFoundError: There is no such file.
    """
    target = Path(path)
    reader = _READERS[_suffix(target)]
    if not target.is_file():
        raise FileNotFoundError(2, "there is no such recording", str(target))
    return _guarded(reader(target), damage)


def _guarded(found: Iterator[Entry], damage: Damage) -> Iterator[Entry]:
    any_yet = False
    try:
        for entry in found:
            yield entry
            any_yet = True
    except RecordingError:
        if damage == "refuse" or not any_yet:
            raise


def read(
    path: str | os.PathLike[str], *, source: str | None = None, damage: Damage = "refuse"
) -> Iterator[WorldState]:
    """Yield the states of one source of a recording.

    Args:
        path: The recording.
        source: The simulator; None where the recording has one alone.
        damage: As in :func:`entries`.

    Raises:
        RecordingError: As in :func:`entries`; or the recording has several sources and none
            was named, or none of that name.
        FileNotFoundError: There is no such file.
    """
    return _states(Path(path), entries(path, damage=damage), source)


def _states(path: Path, found: Iterator[Entry], source: str | None) -> Iterator[WorldState]:
    seen: set[str] = set()
    matched = False
    for entry in found:
        if not isinstance(entry.message, WorldState):
            continue
        seen.add(entry.source)
        if source is None and len(seen) > 1:
            names = ", ".join(sorted(repr(name) for name in seen))
            raise RecordingError(f"{path}: holds the sources {names}; expected to be told which")
        if source is None or entry.source == source:
            matched = True
            yield entry.message
    if source is not None and not matched:
        names = ", ".join(sorted(repr(name) for name in seen)) or "none"
        raise RecordingError(f"{path}: holds no source '{source}'; sources found: {names}")


def sources(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the simulators that a recording holds states of, in order of sight.

    Raises:
        RecordingError: As in :func:`entries`.
        FileNotFoundError: There is no such file.
    """
    return tuple(dict.fromkeys(entry.source for entry in entries(path) if entry.kind == "state"))


def convert(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source: str | None = None,
    robot: str | None = None,
    damage: Damage = "refuse",
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[Kind, int]:
    """Write a recording anew in the form that the target's suffix says.

    Args:
        path: The recording.
        target: The recording to write; it appears when it is complete.
        source: The one source to keep; None keeps all.
        robot: The robot of a TUM file.
        damage: As in :func:`entries`.
        progress: Called with the messages written so far, the same number and the word.

    Returns:
        How many messages of each kind were left out because the form cannot hold them.

    Raises:
        RecordingError: As in :func:`entries` and :func:`record`.
    """
    from irsim_isaac.files import writing

    left_out: dict[Kind, int] = {}
    found = entries(path, damage=damage)
    form = _suffix(Path(target))
    done = matched = 0
    with (
        writing(target) as temporary,
        record(temporary, robot=robot, name=Path(target)) as recorder,
    ):
        for entry in found:
            if source is not None and entry.source != source:
                continue
            if isinstance(entry.message, WorldState):
                recorder.write(entry.message, source=entry.source)
                matched += 1
            elif form == ".tum":
                left_out[entry.kind] = left_out.get(entry.kind, 0) + 1
                continue
            else:
                kind: Literal["map", "fog"] = "fog" if entry.kind == "fog" else "map"
                recorder.write_map(entry.message, source=entry.source, kind=kind)
            done += 1
            if progress is not None:
                progress(done, done, "messages")
        if source is not None and not matched:
            raise RecordingError(f"{path}: holds no source '{source}'")
    return left_out
