"""Commands that read a stage refuse what is none, in one line, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irsim_isaac.cli import main
from tests.cli.halls import stage_text, write_hall

pytest.importorskip("pxr")

COMMANDS = ("map", "world")
STAGES = {
    "text": (b"not a stage at all\n", "bad.usda"),
    "nothing": (b"", "bad.usda"),
    "broken": (b"#usda 1.0\ndef Xform {{{\n", "bad.usda"),
    "empty": (b'#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n', "bad.usda"),
    "no geometry": (stage_text({}).encode(), "bad.usda"),
    "nothing in the band": (stage_text({"Low": (0, 0, 2, 2)}, height=0.05).encode(), "0.1"),
}


def refused(capsys, *arguments) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1, said.err
    return said.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", STAGES)
def test_a_stage_that_is_none_is_refused(tmp_path, capsys, command, kind):
    content, message = STAGES[kind]
    (tmp_path / "bad.usda").write_bytes(content)
    line = refused(capsys, command, tmp_path / "bad.usda", "-o", tmp_path / "out")
    assert message in line
    assert [item.name for item in tmp_path.iterdir()] == ["bad.usda"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stage_that_is_not_there_is_named(tmp_path, capsys, command):
    line = refused(capsys, command, tmp_path / "none.usda", "-o", tmp_path / "out")
    assert "none.usda" in line
    assert list(tmp_path.iterdir()) == []
    folder = refused(capsys, command, tmp_path, "-o", tmp_path / "out")
    assert str(tmp_path) in folder


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_is_a_file_is_refused(tmp_path, capsys, command):
    write_hall(tmp_path)
    (tmp_path / "out").write_text("mine")
    line = refused(capsys, command, tmp_path / "hall.usda", "-o", tmp_path / "out")
    assert "out is a file, a folder was expected" in line
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_usd_names_its_extra(tmp_path, command):
    write_hall(tmp_path)
    program = (
        "import sys; sys.modules['pxr'] = None\n"
        "from irsim_isaac.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, command, tmp_path / "hall.usda", "-o", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "irsim-isaac[usd]" in result.stderr
    assert [item.name for item in tmp_path.iterdir()] == ["hall.usda"]
