"""Writing whole files and whole folders, or nothing.

A file is written to a temporary name beside its target and renamed, so that a full disk or
an interrupt leaves what was there before.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["write_bytes", "write_text", "writing", "writing_directory"]


def _permissions(target: Path, default: int) -> int:
    """Return the mode that a plain ``open`` or ``mkdir`` would have given the target."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return default & ~mask


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"{error.filename} is a file, a folder was expected") from None


@contextmanager
def _told_of(folder: Path) -> Iterator[None]:
    """Name the folder that nothing can be made in, and not what was to be made in passing."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that becomes ``path`` when the block ends well.

    The temporary name keeps the suffix, because image and USD writers choose by it.

    Args:
        path: The file to write; missing folders above it are made.

    Yields:
        The temporary path to write to.

    Raises:
        OSError: Nothing can be written there; it names the file or the folder.
    """
    target = Path(path)
    _make_folder(target.parent)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is there, a file was to be written", path)
    with _told_of(target.parent):
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent
        )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(_permissions(target, 0o666))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file or leave what was there."""
    with writing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole UTF-8 text file, lines ended by a line feed, or leave what was there."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def writing_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder whose entries move into ``path`` when the block ends well.

    Entries that ``path`` holds under the same names are replaced; its other entries stay.

    Args:
        path: The folder to fill; it and missing folders above it are made.

    Yields:
        The temporary folder to write to.
    """
    target = Path(path)
    _make_folder(target.parent)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target} is a file, a folder was expected")
    with _told_of(target.parent):
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
        if not target.exists():
            temporary.chmod(_permissions(target, 0o777))
            temporary.rename(target)
            return
        for entry in sorted(temporary.iterdir()):
            destination = target / entry.name
            if destination.is_dir() and not destination.is_symlink():
                shutil.rmtree(destination)
            entry.replace(destination)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
