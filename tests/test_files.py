"""Whole files and whole folders, or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from irsim_isaac.files import write_bytes, write_text, writing, writing_directory


def test_a_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    target = tmp_path / "map.yaml"
    write_text(target, "old\n")
    with pytest.raises(RuntimeError), writing(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_bytes() == b"old\n"
    assert list(tmp_path.iterdir()) == [target]


def test_the_temporary_name_keeps_the_suffix_and_the_folder(tmp_path: Path) -> None:
    with writing(tmp_path / "deep" / "scene.usda") as temporary:
        assert temporary.suffix == ".usda"
        assert temporary.parent == tmp_path / "deep"
        temporary.write_text("whole")
    assert (tmp_path / "deep" / "scene.usda").read_text() == "whole"


def test_a_written_file_has_the_mode_of_a_plainly_opened_one(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    write_bytes(tmp_path / "ours", b"")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    os.chmod(plain, 0o640)
    write_bytes(plain, b"again")
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640


def test_a_failed_folder_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writing_directory(tmp_path / "out") as temporary:
        (temporary / "report.html").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_replaces_what_it_wrote_and_keeps_the_rest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "map").mkdir(parents=True)
    (out / "map" / "stale.png").write_text("old")
    (out / "notes.txt").write_text("mine")
    with writing_directory(out) as temporary:
        (temporary / "map").mkdir()
        (temporary / "map" / "map.png").write_text("new")
        (temporary / "report.json").write_text("{}")
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()) == [
        "map/map.png",
        "notes.txt",
        "report.json",
    ]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"), writing_directory(tmp_path / "out"):
        pass
