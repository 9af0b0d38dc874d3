"""Recorded frames: files of ``GenericModelOutput`` buffers, one after another.

The profile of the lidar may lie beside them: ``lidar.yaml`` or ``lidar.json`` in a folder of
frames, or a file that has the name of the file of frames but for its suffix.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from irsim_isaac.errors import ScanError
from irsim_isaac.files import writing
from irsim_isaac.lidar.generic_model_output import GenericModelOutput
from irsim_isaac.lidar.profile import LidarProfile, lidar_profiles

__all__ = ["frame_files", "profile_beside", "read_frames", "write_frames"]

_PROFILES = (".yaml", ".json")


def frame_files(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the files of a recording of frames, in the order of their names.

    Args:
        path: A file, or a folder of such files and no others but profiles.

    Raises:
        ScanError: There is no such file, or the folder is empty.
    """
    place = Path(path)
    if place.is_file():
        return (place,)
    if not place.is_dir():
        raise ScanError(f"{place}: no such file or folder of lidar frames")
    files = tuple(
        sorted(
            entry
            for entry in place.iterdir()
            if entry.is_file() and entry.name[0] != "." and entry.suffix not in _PROFILES
        )
    )
    if not files:
        raise ScanError(f"{place}: the folder holds no file of lidar frames")
    return files


def read_frames(path: str | os.PathLike[str]) -> Iterator[GenericModelOutput]:
    """Give the frames of a file, or of the files of a folder, one after another.

    The buffers lie end to end, each as long as its own ``sizeInBytes`` says. Files are mapped,
    not loaded.

    Args:
        path: The file, or the folder.

    Yields:
        The frames, empty ones included.

    Raises:
        ScanError: What stands at some byte is not a frame; the message names file and byte.
    """
    for file in frame_files(path):
        size = file.stat().st_size
        if size == 0:
            raise ScanError(f"{file}: the file is empty, expected lidar frames")
        content = np.memmap(file, dtype=np.uint8, mode="r")
        position = 0
        while position < size:
            try:
                frame = GenericModelOutput.from_buffer(content[position:])
            except ScanError as error:
                raise ScanError(f"{file} at byte {position}: {error}") from error
            yield frame
            position += int(content[position + 16 : position + 24].view("<u8")[0])


def profile_beside(path: str | os.PathLike[str]) -> LidarProfile:
    """Return the profile of the lidar that frames came from, which lies beside them.

    Args:
        path: The file or folder of frames.

    Raises:
        ScanError: There is none, or it is not what it must be.
    """
    place = Path(path)
    if not place.exists():
        raise ScanError(f"{place}: nothing is there, recorded frames were expected")
    stem = place / "lidar" if place.is_dir() else place.with_suffix("")
    found = [stem.with_name(stem.name + suffix) for suffix in _PROFILES]
    for file in found:
        if file.is_file():
            return LidarProfile.load(file)
    raise ScanError(
        f"{place}: which lidar is it? There is neither {found[0]} nor {found[1]}, so give a "
        f"profile: a file, or one of {', '.join(lidar_profiles())}"
    )


def write_frames(
    path: str | os.PathLike[str],
    frames: Iterable[GenericModelOutput],
    *,
    profile: LidarProfile | None = None,
) -> None:
    """Write frames to a file that ``read_frames`` reads, whole or not at all.

    Args:
        path: The file.
        frames: What it is to hold.
        profile: The lidar, to be written beside it.
    """
    if profile is not None:
        profile.save(Path(path).with_suffix(".yaml"))
    with writing(path) as temporary, temporary.open("wb") as stream:
        for frame in frames:
            stream.write(frame.to_bytes())
