"""``irsim-isaac find``: what it prints, writes and exits with, on both flats and in PhysX."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("pxr")
pytest.importorskip("sqlalchemy")

from PIL import Image

from irsim_isaac.cli.app import run
from irsim_isaac.errors import ScenarioError
from irsim_isaac.interactive import Observation, Store, load_search_scenario
from irsim_isaac.recording import read
from irsim_isaac.resources import resource
from irsim_isaac.simulators import names

SHORT = {
    "stage": str(resource("data/flat.usda")),
    "simulator": "stage",
    "robot": {"start": [6.45, 1.6, -math.pi / 2.0]},
    "history": [{"item": "cup", "surface": "Kitchen Table", "ago": 4000, "gone": 2000}],
    "before": [
        {"look": "Kitchen Counter"},
        {"move": "cup", "to": "Kitchen Table", "at": [0.05, 0.05]},
        {"wait": 600},
    ],
    "seed": 1,
}


@pytest.fixture
def scenario(tmp_path):
    def write(**changes) -> str:
        content = {**SHORT, **changes}
        path = tmp_path / "scenario.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
        return str(path)

    return write


def searched(capsys, *arguments: str) -> tuple[int, dict]:
    code = run([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert err == ""
    return code, json.loads(out)


@pytest.mark.parametrize("simulator", ["stage", "physx"])
def test_a_cup_that_the_simulation_moved_is_found_in_both_flats(
    simulator, scenario, tmp_path, capsys
):
    if simulator == "physx":
        pytest.importorskip("ovphysx")
    results = []
    for name in ("flat", "flat_cm_y_up"):
        folder = tmp_path / name
        path = scenario(
            stage=str(resource(f"data/{name}.usda")),
            simulator={"simulator": simulator, "options": {"sub_step": 0.025}}
            if simulator == "physx"
            else simulator,
        )
        code, result = searched(
            capsys, "find", "cup", path, "-o", str(folder), "--recording", "jsonl"
        )
        assert code == 0
        assert (result["status"], result["found"]) == ("succeeded", True)
        assert result["surface"] == result["truth"] == "Kitchen Table"
        assert result["searched"] == ["Kitchen Counter", "Kitchen Table"]
        (move,) = result["moves"]
        assert (move["from"], move["to"]) == ("Kitchen Counter", "Kitchen Table")
        assert result["position"] == pytest.approx(move["end"], abs=0.01)
        assert result["position"] == pytest.approx((9.4, 2.8, 0.74), abs=0.02)
        assert json.loads((folder / "search.json").read_text()) == result
        check_recording(folder / "drive.jsonl", result)
        check_picture(folder / "search.png")
        with Store(str(folder / "observations.db")) as store:
            rows = store.observations(item="cup")
            assert [row.surface for row in rows] == ["Kitchen Table"]
        results.append(result)
    first, second = results
    # In PhysX, the last digits of float32 differ between metres and centimetres.
    assert first["position"] == pytest.approx(second["position"], abs=0.01)
    assert first["distance"] == pytest.approx(second["distance"], abs=0.05)
    assert first["duration"] == pytest.approx(second["duration"], abs=1.0)
    assert [look["seen"] for look in first["looks"]] == [look["seen"] for look in second["looks"]]


def check_recording(path: Path, result: dict) -> None:
    """The recording shows the drive: from the counter to the kitchen table, and the cup's move."""
    states = list(read(path))
    stamps = np.array([state.header.stamp for state in states])
    assert np.all(np.diff(stamps) > 0.0)
    assert stamps[0] == 0.0
    assert stamps[-1] == pytest.approx(result["looks"][-1]["time"], abs=0.11)

    def track(name):
        places = [
            next(item for item in state.objects if item.name == name).odom.pose.pose.position
            for state in states
        ]
        return np.array([(place.x, place.y) for place in places])

    robot, cup = track("seeker"), track("Cup")
    assert robot[0] == pytest.approx((6.45, 1.6), abs=0.01)
    assert robot[-1] == pytest.approx((8.4, 2.75), abs=0.08)
    assert np.hypot(*np.diff(robot, axis=0).T).max() < 0.05
    jumps = np.hypot(*np.diff(cup, axis=0).T)
    assert (jumps > 1.0).sum() == 1
    begins = stamps[int(jumps.argmax()) + 1]
    assert begins == pytest.approx(result["moves"][0]["time"] - 1.5, abs=0.15)


def check_picture(path: Path) -> None:
    """The colours of the drive, of a look and of the find are in it."""
    pixels = np.asarray(Image.open(path).convert("RGB")).reshape(-1, 3).astype(int)
    assert len(pixels) > 1_000_000
    for colour in ((25, 95, 200), (200, 115, 5), (10, 120, 50), (190, 30, 110)):
        assert (np.abs(pixels - colour).max(axis=1) <= 3).sum() > 100, colour


def test_a_terminal_is_told_a_short_story(scenario, tmp_path, capsys):
    pytest.importorskip("mcap")
    code = run(["find", "CUP", scenario(), "-o", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "the cup went from Kitchen Counter to Kitchen Table" in lines[0]
    assert lines[1].startswith("likeliest: Kitchen Counter 0.368, Kitchen Table")
    assert lines[2] == "searched Kitchen Counter: not there"
    assert lines[3] == "found the CUP on Kitchen Table at (9.40, 2.80, 0.74)"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "drive.mcap", "search.png", "search.json", "observations.db", "world"
    }  # fmt: skip


def test_ir_sim_drives_the_robot_as_well(scenario, tmp_path, capsys):
    """Items on furniture are no objects there: they stay where the stage has them."""
    # Importing IR-SIM as it is would choose a backend of matplotlib, and print which.
    if find_spec("irsim") is None:
        pytest.skip("IR-SIM is not installed")
    path = scenario(simulator="irsim", history=None, before=None, strategy="recency")
    with Store(str(tmp_path / "mine.db")) as store:
        store.add_observation(Observation("Kitchen Counter", "cup"))
    arguments = ("find", "cup", path, "-o", str(tmp_path / "out"), "--recording", "jsonl")
    code, result = searched(capsys, *arguments, "--store", str(tmp_path / "mine.db"))
    assert (code, result["simulator"], result["surface"]) == (0, "irsim", "Kitchen Counter")
    assert result["position"] == pytest.approx((6.6, 0.4, 0.9), abs=1e-6)
    scenario(simulator="irsim")
    assert run([*arguments]) == 2
    assert "'irsim' has no object 'Cup' and cannot move the cup" in capsys.readouterr().err


def test_what_is_nowhere_exits_with_one(scenario, tmp_path, capsys):
    path = scenario(
        history=[{"item": "teapot", "surface": "Stove", "ago": 100}], before=None,
        strategy="recency",
    )  # fmt: skip
    code, result = searched(
        capsys, "find", "teapot", path, "-o", str(tmp_path / "out"), "--recording", "jsonl"
    )
    assert code == 1
    assert (result["status"], result["found"], result["surface"]) == ("succeeded", False, "")
    assert result["text"] == "the teapot is on none of 1 surfaces"
    assert result["searched"] == ["Stove"]


def test_a_search_that_takes_too_long_exits_with_two(scenario, tmp_path, capsys):
    path = scenario(before=None, time_limit=1.0)
    code, result = searched(
        capsys, "find", "cup", path, "-o", str(tmp_path / "out"), "--recording", "jsonl"
    )
    assert code == 2
    assert (result["status"], result["text"]) == (
        "aborted", "ObjectSearch: its 1 s of simulated time are up"
    )  # fmt: skip


def test_a_store_of_ones_own_is_kept_and_asked(scenario, tmp_path, capsys):
    url = str(tmp_path / "mine.db")
    with Store(url) as store:
        store.add_observation(Observation("Kitchen Counter", "cup"))
    path = scenario(history=None, before=None)
    code, result = searched(
        capsys, "find", "cup", path, "-o", str(tmp_path / "out"), "--store", url,
        "--recording", "jsonl",
    )  # fmt: skip
    assert (code, result["searched"]) == (0, ["Kitchen Counter"])
    with Store(url) as store:
        assert len(store.observations(item="cup")) == 2
    assert not (tmp_path / "out" / "observations.db").exists()


@pytest.mark.parametrize(
    ("changes", "item", "said"),
    [
        ({}, "cap", "nothing is known of an item 'cap'; did you mean 'cup'?"),
        ({"history": [{"item": "cup", "surface": "Piano", "ago": 1}]}, "cup", "surface 'Piano'"),
        ({"before": [{"move": "cup", "to": "Piano"}]}, "cup", "the surface 'Piano', which is none"),
        ({"before": [{"move": "fork", "to": "Desk"}]}, "cup", "the item 'fork', which is none"),
        (
            {"before": [{"move": "cup", "to": "Desk", "at": [3.0, 0.0]}]}, "cup",
            "the cup was put on Desk and came to rest on no surface",
        ),
        ({"simulator": "nothing"}, "cup", "no simulator is named 'nothing'"),
        ({"models": [3]}, "cup", "nothing is learned for condition 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(
    changes, item, said, scenario, tmp_path, capsys
):
    out = tmp_path / "out"
    assert run(["find", item, scenario(**changes), "-o", str(out), "--recording", "jsonl"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recording", "tum"], "mcap or jsonl was expected"),
        (["--strategy", "luck"], "one of combined, temporal, recency, models was expected"),
    ],
)
def test_options_are_checked(arguments, said, scenario, tmp_path, capsys):
    assert run(["find", "cup", scenario(), "-o", str(tmp_path / "out"), *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"speed": 0}, "the key 'speed': input should be greater than 0, found 0"),
        ({"sped": 1}, "unknown: sped; a search has name, stage"),
        ({"camera": {"fare": 2}}, "unknown: camera.fare; a search has"),
        ({"stage": None}, "the key 'stage' is missing"),
        ({"before": [{}]}, "'look', 'move' or 'wait' is expected, found none"),
        ({"before": [{"look": "Sofa", "wait": 3}]}, "expected, found look and wait"),
        ({"before": [{"move": "cup"}]}, "'move' and 'to' go together"),
        (
            {"history": [{"item": "cup", "surface": "Sofa", "ago": 1, "gone": 2}]},
            "it was gone 2 s ago, before it was seen",
        ),
    ],
)
def test_scenarios_are_checked_key_by_key(changes, said, scenario):
    path = scenario(**changes)
    with pytest.raises(ScenarioError) as error:
        load_search_scenario(path)
    assert said in str(error.value)
    assert str(error.value).startswith(path)


def test_files_that_are_no_scenarios_are_refused(tmp_path):
    for content, said in ((b"\xff", "UTF-8"), (b"a: [", "no YAML"), (b"- 1", "found list")):
        (tmp_path / "x.yaml").write_bytes(content)
        with pytest.raises(ScenarioError, match=said):
            load_search_scenario(tmp_path / "x.yaml")
    with pytest.raises(ScenarioError, match="does not exist"):
        load_search_scenario(tmp_path / "y.yaml")


@pytest.mark.parametrize("name", ["flat", "flat_cm_y_up"])
def test_the_bundled_scenarios_are_whole(name):
    loaded = load_search_scenario(resource(f"config/scenarios/{name}.yaml"))
    assert loaded.drive.stage_path == resource(f"data/{name}.usda")
    assert loaded.simulator.simulator in names()
    assert [event.look or event.to for event in loaded.before[:2]] == ["Kitchen Counter", "Desk"]


def test_a_terminal_sees_the_ranking_and_the_story_as_they_come(scenario, tmp_path):
    """On a terminal stderr is live; nothing of it goes into the pipe that stdout is."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    path = scenario(history=None, before=None, strategy="combined")
    with Store(str(tmp_path / "mine.db")) as store:
        store.add_observation(Observation("Kitchen Counter", "cup"))
    program = "import sys; from irsim_isaac.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [
            sys.executable, "-c", program, "find", "cup", path, "-o", str(tmp_path / "out"),
            "--recording", "jsonl", "--json", "--store", str(tmp_path / "mine.db"),
        ],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.stdout is not None
    with process.stdout as out:
        result = json.loads(out.read())
    assert (process.wait(), result["found"]) == (0, True)
    assert b"searching the cup" in shown
    assert b"> Kitchen Counter" in shown
    assert b"searching Kitchen Counter" in shown
