"""What a stranger types: one clear line, exit code 2, and nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

from irsim_isaac.cli import main
from irsim_isaac.resources import resource
from irsim_isaac.stage import read_world

pytest.importorskip("pxr")

STAGE = str(resource("data/warehouse.usda"))
UNITLESS = """#usda 1.0

def Cube "Pillar"
{
    double size = 1
    double3 xformOp:translate = (3, 2, 0.5)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"""
POSITIVE = "a positive number of "


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a file, a folder, a text, a list and a stage without units."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    Path("folder").mkdir()
    Path("folder.png").mkdir()
    Path("text.txt").write_text("a stage, believe me")
    Path("list.yaml").write_text("[1, 2]")
    Path("unitless.usda").write_text(UNITLESS)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("map STAGE -o out --time nan", "time is nan, a finite number"),
        ("map STAGE -o out --seed nan,1", "'x,y' in metres"),
        ("map STAGE -o file/out", "file is a file, a folder was expected"),
        ("map STAGE -o /proc/out", "'/proc': No such file or directory"),
        ("map unitless.usda -o out", "metersPerUnit is not authored, 0.01 m a unit is assumed"),
        ("world unitless.usda -o out", "metersPerUnit is not authored, 0.01 m a unit is assumed"),
        ("world STAGE -o out --start nan 0 0", "the start of robot 'carrier' is (nan, 0.0, 0.0)"),
        ("world STAGE -o out --floor nan", "floor is nan, a finite height"),
        ("world STAGE -o out --bounds 1 1 0 0", "(x_min, y_min, x_max, y_max) was expected"),
        ("world STAGE -o out --tolerance -1", "tolerance is -1.0, no negative number"),
        ("world STAGE -o out --tolerance nan", "tolerance is nan"),
        ("world STAGE -o out --step-time 0", f"step_time is 0.0, {POSITIVE}seconds"),
        ("world STAGE -o out --step-time nan", f"step_time is nan, {POSITIVE}seconds"),
        ("world STAGE -o out --fog -1", f"fog_resolution is -1.0, {POSITIVE}metres"),
        ("world STAGE -o out --fog nan", f"fog_resolution is nan, {POSITIVE}metres"),
        ("world STAGE -o out --fog 1e-9", "choose a coarser fog_resolution"),
        ("world STAGE -o out --lidar-height 0.3", "--lidar-height is for --mode lidar"),
        ("world STAGE -o out --robot text.txt", "keys and values of a robot were expected"),
        ("world STAGE -o out --robot list.yaml", "expected, found list"),
        ("world STAGE -o out --variant door", "'/prim/path:set=name'"),
        ("world list.yaml -o out", "keys and values were expected, found list"),
        ("show STAGE -o out.png --size 1000000", "1000000 px, 64 to 5000 were expected"),
        ("show STAGE -o folder.png", "'folder.png': a folder is there, a file was to be written"),
        ("show STAGE -o file/out.png", "file is a file, a folder was expected"),
        ("rooms STAGE --resolution -1", f"resolution is -1.0, {POSITIVE}metres"),
        ("rooms STAGE --height 1 0", "height is (1.0, 0.0), two rising numbers"),
        ("stage WORLD -o out.usda --seed -1", "'--seed'"),
        ("check folder STAGE", "neither map.yaml nor world.yaml is in this folder"),
        ("scan nothing.bin -o out.jsonl", "nothing.bin: nothing is there"),
        ("scan file -o out.jsonl --profile list.yaml", "keys and values of a lidar were expected"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(folder, capsys, line, words):
    before = sorted(folder.rglob("*"))
    world = str(Path(__file__).parents[1] / "stage" / "worlds" / "shapes.yaml")
    names = {"STAGE": STAGE, "WORLD": world}
    assert main([names.get(word, word) for word in line.split()]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", ["map", "world", "show", "rooms"])
def test_a_stage_without_units_can_be_told_its_own(folder, command):
    """Make of it what the same stage with units of its own gives."""
    told = Path("told.usda")
    told.write_text(
        UNITLESS.replace("#usda 1.0", '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)')
    )
    target = "out.png" if command in ("show", "rooms") else "out"
    options = ["--meters-per-unit", "1", "--up-axis", "Z"]
    assert main([command, "unitless.usda", "-o", target, *options]) == 0
    assert main([command, str(told), "-o", f"by-{target}"]) == 0
    if target == "out.png":
        assert Path("out.png").read_bytes() == Path("by-out.png").read_bytes()
        return
    if command == "map":
        assert Path("out/map.png").read_bytes() == Path("by-out/map.png").read_bytes()
    else:
        ours, theirs = (read_world(f"{name}/world.yaml") for name in ("out", "by-out"))
        assert (ours.width, ours.height, ours.offset) == (2.0, 2.0, (2.0, 1.0))
        assert [item.outline() for item in ours.obstacles] == [
            item.outline() for item in theirs.obstacles
        ]
    assert main(["check", "out", "unitless.usda"]) == 0
    assert Path("unitless.usda").read_text() == UNITLESS
