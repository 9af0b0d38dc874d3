"""``irsim-isaac learn``: what it prints, writes, keeps and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from irsim_isaac.cli import main
from irsim_isaac.interactive import Store, learn_models, parse_study
from irsim_isaac.msg.interactive_world import Model
from tests.interactive.studies import crowd, new_condition

pytest.importorskip("sqlalchemy")


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "study.db"
    with Store(str(path)) as opened:
        study, condition = new_condition(opened)
        opened.add_condition(study, "Nobody came")
        with opened.transaction():
            crowd(opened, condition, np.random.default_rng(2), noise=0.1, sessions=8)
    assert (study, condition) == (1, 1)
    return path


def expected(path, **options) -> list[Model]:
    with Store(str(path)) as opened:
        parsed = parse_study(opened, 1)[0]
    return learn_models(parsed.training, **options).models.models


def test_models_are_printed_and_kept(store, capsys):
    assert main(["learn", "1", str(store), "--seed", "3"]) == 0
    out = capsys.readouterr().out
    models = expected(store, seed=3)
    assert "Interactive World Task 0 (condition 1): " in out
    for model in models:
        line = f"{model.decision_value:8.4f}  {model.placement.item.name} by "
        assert line + model.placement.reference_frame_id in out
    assert out.rstrip().endswith("kept in the store")
    with Store(str(store)) as opened:
        assert opened.load_models(1).models == models


def test_json_tells_all_and_nothing_else(store, capsys):
    before = store.read_bytes()
    assert main(["learn", "1", str(store), "--json", "--no-keep", "--most", "2"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert [Model.from_dict(model) for model in first["models"]] == expected(store, most=2)
    assert (first["condition_id"], first["sessions"], first["completed"]) == (1, 8, 8)
    assert (second["name"], second["models"], second["placements"]) == ("Nobody came", [], 0)
    assert store.read_bytes() == before


def test_pictures_and_pages_are_written(store, tmp_path, capsys):
    png, page = tmp_path / "learned.png", tmp_path / "learned.html"
    for path in (png, page):
        assert main(["learn", "1", str(store), "--no-keep", "-o", str(path)]) == 0
        assert f"{path}: written" in capsys.readouterr().out
    assert Image.open(png).width > 500
    assert page.read_text().startswith("<!doctype html>")
    assert "Nobody came" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["7"], "there is no study 7"),
        (["1", "--clusters", "many"], "--clusters is 'many'"),
        (["1", "--clusters", "0"], "clusters is 0"),
        (["1", "--most", "0"], "most is 0"),
        (["1", "--least-share", "2"], "least share is 2"),
        (["1", "-o", "x.pdf"], ".png or .html"),
    ],
)
def test_what_cannot_be_done_is_told(store, arguments, told, capsys):
    study, *options = arguments
    before = store.read_bytes()
    assert main(["learn", study, str(store), *options]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert store.read_bytes() == before


def test_a_store_that_is_not_there_is_not_made(tmp_path, capsys):
    assert main(["learn", "1", str(tmp_path / "nothing.db")]) == 2
    assert "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "nothing.db").exists()


def test_a_study_without_placements_is_told(tmp_path, capsys):
    path = tmp_path / "s.db"
    with Store(str(path)) as opened:
        _, condition = new_condition(opened)
        slot = opened.add_slot(condition)
    assert main(["learn", "1", str(path)]) == 2
    assert f"nothing to learn from: slot {slot}: nobody took it" in capsys.readouterr().err
