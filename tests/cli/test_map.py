"""``irsim-isaac map``, ``check`` and ``doctor``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from irsim_isaac.cli import main
from irsim_isaac.map import load_ros_map
from irsim_isaac.resources import resource
from irsim_isaac.stage import build_occupancy, open_stage

STAGE = str(resource("data/warehouse.usda"))


def test_map_writes_what_the_library_builds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--resolution", "0.1", "--height", "0.2", "0.5", "--bounds", "-5", "-5", "5", "5"]
    assert main(["map", STAGE, "-o", str(tmp_path / "out"), *options, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["map.png", "map.yaml"]
    expected = build_occupancy(
        open_stage(STAGE), resolution=0.1, height=(0.2, 0.5), bounds=(-5, -5, 5, 5)
    )
    assert load_ros_map(tmp_path / "out" / "map.yaml") == expected
    assert summary["shape"] == [100, 100]
    assert summary["occupied"] == (expected.cells == 100).sum()
    assert {item["kind"] for item in summary["omissions"]} == {"class", "moving"}


def test_map_of_several_floors_writes_one_folder_each(tmp_path: Path) -> None:
    out = tmp_path / "out"
    floors = ["--floor", "0", "--floor", "1", "--bounds", "-5", "-5", "5", "5"]
    assert main(["map", STAGE, "-o", str(out), *floors]) == 0
    for name, floor in (("floor_0", 0.0), ("floor_1", 1.0)):
        expected = build_occupancy(open_stage(STAGE), floor=floor, bounds=(-5, -5, 5, 5))
        assert np.array_equal(load_ros_map(out / name / "map.yaml").cells, expected.cells)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.usda"], "nothing is there, a USD file was expected"),
        ([STAGE, "--height", "5", "6"], "nothing stands 5 to 6 m above the floor"),
        ([STAGE, "--geometry", "smell"], "visual or collision or both"),
        ([STAGE, "--seed", "here"], "'x,y' in metres"),
        ([STAGE, "--seed", "1000,0"], "nearest free point"),
        ([STAGE, "--variant", "door"], "'/prim/path:set=name'"),
        ([STAGE, "--up-axis", "W"], "Y or Z"),
        ([STAGE, "--resolution", "0"], "positive number of metres"),
        ([STAGE, "--resolution", "0.00001"], "cells are allowed"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    out = tmp_path / "out"
    assert main(["map", *arguments, "-o", str(out)]) == 2
    told = capsys.readouterr().err.strip()
    assert words in told
    assert "\n" not in told
    assert list(tmp_path.iterdir()) == []


def test_check_says_whether_a_map_is_its_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["map", STAGE, "-o", str(out), "--bounds", "-5", "-5", "5", "5"]) == 0
    assert main(["check", str(out), STAGE]) == 0
    other = tmp_path / "other.usda"
    text = Path(STAGE).read_text()
    other.write_text(text.replace('def Xform "World"', 'def Cube "New" {}\ndef Xform "World"', 1))
    capsys.readouterr()
    assert main(["check", str(out / "map.yaml"), str(other), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert not result["good"]
    assert result["changed_cells"] > 0


def test_check_of_a_map_that_says_nothing_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["map", STAGE, "-o", str(out)])
    lines = (out / "map.yaml").read_text().split("irsim_isaac:")
    (out / "map.yaml").write_text(lines[0])
    assert main(["check", str(out), STAGE]) == 2
    assert "does not say from which stage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resolution", "fine"),
        ("height", ["low", "high"]),
        ("bounds", 3),
        ("seeds", [1]),
        ("root", None),
        ("exclude", 5),
        ("time", []),
        ("mode", "radar"),
        ("opened_with", {"meters_per_unit": "x"}),
        ("opened_with", {"payload": "all"}),
        ("opened_with", [1]),
    ],
)
def test_check_names_the_key_of_a_file_that_was_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: object
) -> None:
    for command, place in (("map", ("irsim_isaac",)), ("world", ("custom", "irsim_isaac"))):
        out = tmp_path / command
        assert main([command, STAGE, "-o", str(out), "--bounds", "-5", "-5", "5", "5"]) == 0
        file = out / f"{command}.yaml"
        content = yaml.safe_load(file.read_text())
        said = content
        for step in place:
            said = said[step]
        if command == "world" and key not in {*said, "opened_with"}:
            continue
        said[key] = value
        file.write_text(yaml.safe_dump(content))
        capsys.readouterr()
        assert main(["check", str(file), STAGE]) == 2
        told = capsys.readouterr()
        assert f"{key}" in told.err
        assert (told.err.count("\n"), told.out) == (1, "")


def test_doctor_says_what_is_installed_and_what_a_stage_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", STAGE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packages"]["numpy"] == np.__version__
    assert found["stage"]["up_axis"] == "Z"
    assert found["stage"]["consistency"] == {"seen_only": [], "touched_only": []}
    assert main(["doctor"]) == 0
    assert "usd-core" in capsys.readouterr().out
