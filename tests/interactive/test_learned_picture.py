"""Pictures of learned placements, and the page that shows them."""

from __future__ import annotations

import base64
import io
import math
import re

import numpy as np
import pytest
from PIL import Image

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import Condition, ParsedCondition, Skipped, learn_models
from irsim_isaac.interactive.learned_picture import (
    best_sets,
    draw_learned,
    draw_tasks,
    learned_page,
)
from irsim_isaac.msg import Point
from irsim_isaac.msg import interactive_world as iw

BLUE, ORANGE, WOOD = (31, 111, 214), (228, 87, 46), (240, 229, 214)


def one_set(at: tuple[float, float], turn: float, *, item="Cup", frame="Table", spread=0.02):
    random = np.random.default_rng(3)
    surface = iw.Surface("Table", 2.0, 1.0)
    placements = [
        iw.Placement(position=Point(at[0] + dx, at[1] + dy), rotation=turn)
        for dx, dy in random.normal(0.0, spread, (8, 2))
    ]
    return iw.PlacementSet(iw.Item(item, 0.1, 0.1), iw.Room("Den"), surface, frame, placements)


def learned(*sets):
    return learn_models(iw.TaskTrainingData(list(sets)))


def middle(image: Image.Image, colour: tuple[int, int, int]) -> tuple[float, float]:
    """Return the mean place of a colour, from -1 to 1 along x and, upwards, y of a panel."""
    pixels = np.asarray(image, dtype=int)
    rows, columns = np.nonzero((np.abs(pixels - colour) < 8).all(axis=-1))
    assert len(rows), f"nothing is drawn in {colour}"
    return (columns.mean() - 260.0) / 226.0, (64.0 + 226.0 - rows.mean()) / 226.0


@pytest.mark.parametrize("at", [(0.7, 0.3), (-0.7, 0.3), (0.7, -0.3)])
def test_placements_are_where_they_belong_on_the_furniture(at):
    image = draw_learned(learned(one_set(at, 0.0)).sets)
    assert image.mode == "RGB"
    # 2 m of table are 1 / 0.56 of the panel's half sides.
    x, y = middle(image, BLUE)
    assert (x, y) == pytest.approx((at[0] / 1.12, at[1] / 1.12), abs=0.04)
    assert middle(image, WOOD) == pytest.approx((0.0, 0.0), abs=0.03)


@pytest.mark.parametrize("turn", [0.0, math.pi / 2, math.pi, -math.pi / 2, 0.7])
def test_the_arrow_points_where_items_face(turn):
    image = draw_learned(learned(one_set((0.0, 0.0), turn, spread=1e-3)).sets)
    x, y = middle(image, ORANGE)
    assert math.atan2(y, x) == pytest.approx(turn, abs=0.15) or abs(
        abs(math.atan2(y, x) - turn) - math.tau
    ) == pytest.approx(0.0, abs=0.15)


def test_the_best_frame_of_each_item_is_shown():
    result = learned(
        one_set((0.1, 0.1), 0.0), one_set((0.1, 0.1), 0.0, frame="Plate", spread=0.001),
        one_set((0.1, 0.1), 0.0, item="Fork"),
    )  # fmt: skip
    best = best_sets(result)
    assert [(one.data.item.name, one.data.reference_frame_id) for one in best] == [
        ("Cup", "Plate"), ("Fork", "Table")]  # fmt: skip
    assert draw_learned(best).size == (1040, 538)


def test_tasks_stand_one_below_the_other():
    tasks = [(task("A"), learned(one_set((0.1, 0.1), 0.0))), (task("none"), learned()),
             (task("B"), learned(one_set((0.1, 0.1), 0.0)))]  # fmt: skip
    whole = draw_tasks(tasks)
    assert whole.size == (520, 2 * (538 + 54))
    with pytest.raises(InteractiveError, match="no learned placements"):
        draw_tasks(tasks[1:2])
    with pytest.raises(InteractiveError, match="no learned placements"):
        draw_learned([])


def task(name: str, skipped: tuple[Skipped, ...] = ()) -> ParsedCondition:
    return ParsedCondition(Condition(7, name, 1), iw.TaskTrainingData(), 3, 2, 8, skipped)


def test_a_page_needs_no_other_file_and_shows_names_as_they_are():
    name = "<script>alert('x')</script> & \"Cup\""
    skipped = (Skipped("set 'A' & 'B'", "it has <3 placements"),)
    result = learned(one_set((0.1, 0.1), 0.0, item=name))
    page = learned_page("Study <1>", [(task(name, skipped), result)])
    assert "<script" not in page
    assert "Study &lt;1&gt;" in page
    assert "set &#x27;A&#x27; &amp; &#x27;B&#x27;: it has &lt;3 placements" in page
    assert not re.findall(r"(?:src|href)=['\"](?!data:)", page)
    assert "url(" not in page
    (picture,) = re.findall(r"data:image/png;base64,([\w+/=]+)", page)
    assert Image.open(io.BytesIO(base64.b64decode(picture))).size == (520, 538)
    assert "8 placements in 3 sessions, 2 of them completed" in page
