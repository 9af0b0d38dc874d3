"""Scenarios are read strictly, and errors name the file, the key and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation import Scenario, find_scenario, load_scenario

GOOD = {
    "stage": "hall.usda",
    "left": "irsim",
    "right": {"simulator": "physx", "options": {"sub_steps": 6}},
    "commands": [[1.0, 0.5, 0.0], [0.3, 0.0, 0.4]],
}


def write(folder: Path, **changes) -> Path:
    content = {**GOOD, **changes}
    path = folder / "drive.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
    return path


def test_paths_are_seen_from_the_scenario(tmp_path):
    scenario = load_scenario(write(tmp_path, stage="../halls/a.usda"))
    assert scenario.stage_path == tmp_path.parent / "halls" / "a.usda"
    assert scenario.title == "drive"
    assert scenario.right.options == {"sub_steps": 6}
    assert scenario.left.simulator == "irsim"


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, 13),
        ({"duration": 4.0}, 40),
        ({"step_time": 0.02}, 65),
        ({"commands": None, "way_points": {"points": [[1, 1]]}, "duration": 2.5}, 25),
    ],
)
def test_steps(tmp_path, changes, steps):
    assert load_scenario(write(tmp_path, **changes)).steps == steps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rigth": "physx"}, r"the key 'rigth' is unknown; did you mean 'right'\?"),
        (
            {"robot": {"beginn": [0, 0, 0]}},
            r"the key 'robot.beginn' is unknown; known are: spec, name, start, overrides",
        ),
        ({"thresholds": {"ape_rms": 1}}, r"'thresholds.ape_rms' is unknown; did you mean"),
        ({"way_points": {"points": [[0, 0]], "sped": 1}, "commands": None}, r"mean 'speed'\?"),
        ({"stage": None}, "the key 'stage' is missing"),
        ({"robot": {"start": [0, 0]}}, r"the key 'robot.start.2' is missing"),
        ({"robot": {"start": [0, 0, "north"]}}, r"'robot.start.2': .* found 'north'"),
        ({"map": {"resolution": 0}}, r"'map.resolution': .* greater than 0, found 0"),
        (
            {"map": {"height": [0.6, 0.1]}},
            r"'map.height' goes from low to high, found \[0.6, 0.1\]",
        ),
        (
            {"commands": [[0.25, 1, 0]]},
            r"'commands.0' .* found 0.25 s; 0.2 s and 0.3 s are the near",
        ),
        ({"duration": 0.55}, r"'duration' is to last a whole number of steps of 0.1 s"),
        ({"duration": 1.0}, r"'commands' last 1.3 s, longer than the 'duration' of 1 s"),
        ({"commands": None}, "either 'commands' or 'way_points' is expected, found neither"),
        ({"way_points": {"points": [[0, 0]]}}, "is expected, found both"),
        ({"commands": None, "way_points": {"points": [[1, 1]]}}, "'way_points' need a 'duration'"),
        ({"commands": [[1.0, float("nan"), 0.0]]}, r"'commands.0.1': .* finite number, found nan"),
        ({"thresholds": {"ape_rmse": -1}}, r"'thresholds.ape_rmse': .* greater than or equal to 0"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, changes, message):
    with pytest.raises(ScenarioError, match=message) as error:
        load_scenario(write(tmp_path, **changes))
    assert "drive.yaml: " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a scenario is a mapping of keys, found NoneType"),
        (b"- a\n- b\n", "found list"),
        (b"a: [1\n", "no YAML: .* line 2"),
        (b"a: !!python/object/apply:os.getcwd []\n", "no YAML"),
        (b"\xff\xfe\x00", "in UTF-8 is expected"),
    ],
)
def test_what_is_no_scenario_is_refused(tmp_path, content, message):
    path = tmp_path / "drive.yaml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=message) as error:
        load_scenario(path)
    assert "\n" not in str(error.value)


def test_bundled_scenarios_are_found_by_name_and_are_good():
    path = find_scenario("warehouse")
    scenario = load_scenario(path)
    assert isinstance(scenario, Scenario)
    assert scenario.stage_path.is_file()
    assert (scenario.left.simulator, scenario.right.simulator) == ("irsim", "physx")


def test_a_scenario_that_is_not_there_is_told_with_those_that_are(tmp_path):
    with pytest.raises(ScenarioError, match=r"'nowhere' does not exist; .* one of: .*warehouse"):
        find_scenario("nowhere")
    with pytest.raises(ScenarioError, match="is a folder"):
        find_scenario(tmp_path)
