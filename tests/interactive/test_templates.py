"""Arranging a table by what was learned."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import build_template
from irsim_isaac.msg import Point, Pose
from irsim_isaac.msg.interactive_world import Item, Model, Placement, WorldModel
from tests.interactive.worlds import at, kitchen


def model(
    item: str, reference: str, value: float, x: float = 0.0, y: float = 0.0, yaw: float = 0.0
):
    placement = Placement(
        item=Item(item), reference_frame_id=reference, position=Point(x, y, 0.0), rotation=yaw
    )
    return Model(placement, value)


TABLE = (
    model("Cup", "Chair", 0.2),
    model("Cup", "Spoon", 0.1),
    model("Cup", "Plate", 0.3),
    model("Cup", "Dining Table", 0.01),
    model("Cup", "Fork", 1.3),
    model("Spoon", "Chair", 1.01),
    model("Spoon", "Fork", 1.63),
)
"""The table of reference frames of the first version of the original's tests."""


def steps(template) -> list[tuple[str, str]]:
    return [(step.item, step.reference) for step in template.steps]


def test_the_least_decision_value_whose_reference_is_there_comes_first():
    template = build_template(TABLE, kitchen())
    assert steps(template) == [("Cup", "Dining Table"), ("Spoon", "Chair")]
    assert template.unplaced == ()


def test_references_are_taken_in_the_order_of_their_values():
    # Only what stands there already can be a reference in an empty world.
    def first(*there: str) -> dict[str, str]:
        placed = {name: at(1.0, 0.0) for name in there}
        return dict(
            steps(build_template(TABLE, WorldModel(), items=["Cup", "Spoon"], placed=placed))
        )

    assert first("Chair", "Plate") == {"Cup": "Chair", "Spoon": "Chair"}
    assert first("Chair", "Plate", "Fork") == {"Cup": "Chair", "Spoon": "Chair"}
    assert first("Plate") == {"Cup": "Plate"}
    assert first("Fork") == {"Cup": "Fork", "Spoon": "Fork"}
    assert first() == {}


def test_an_item_that_was_put_is_a_reference():
    models = (
        model("Fork", "Plate", 0.1, x=-0.2),
        model("Plate", "Chair", 0.5, x=0.0, y=-0.28, yaw=math.pi),
        model("Cup", "Fork", 0.2, y=0.1),
    )
    template = build_template(models, kitchen())
    assert steps(template) == [("Plate", "Chair"), ("Fork", "Plate"), ("Cup", "Fork")]
    # The chair is at (0.6, 0) and looks back, so the plate looks forward again.
    plate, fork, cup = (step.pose for step in template.steps)
    assert values(plate) == pytest.approx([0.6, 0.28, 0.7, 0.0], abs=1e-12)
    assert values(fork) == pytest.approx([0.4, 0.28, 0.7, 0.0], abs=1e-12)
    assert values(cup) == pytest.approx([0.4, 0.38, 0.7, 0.0], abs=1e-12)


def values(pose: Pose) -> list[float]:
    at_ = pose.position
    return [at_.x, at_.y, at_.z, math.remainder(pose.orientation.to_yaw(), 2.0 * math.pi)]


def test_what_can_not_be_put_is_told_and_it_ends():
    models = (
        model("Fork", "Knife", 0.1),
        model("Knife", "Fork", 0.1),
        model("Cup", "Counter", 1.0),
    )
    template = build_template(models, kitchen(), items=["Cup", "Fork", "Knife", "Bowl"])
    assert steps(template) == [("Cup", "Counter")]
    assert [item.item for item in template.unplaced] == ["Bowl", "Fork", "Knife"]
    assert [item.reason for item in template.unplaced] == [
        "no model places it",
        "it is placed by 'Knife', and none of these is there",
        "it is placed by 'Fork', and none of these is there",
    ]


def test_what_stands_already_is_not_put_again():
    models = (model("Plate", "Table", 0.1), model("Cup", "PLATE", 0.2, x=0.1))
    template = build_template(models, kitchen(), placed={"plate": at(2.0, 1.0, 0.9, math.pi / 2.0)})
    assert steps(template) == [("Cup", "PLATE")]
    assert values(template.steps[0].pose) == pytest.approx(
        [2.0, 1.1, 0.9, math.pi / 2.0], abs=1e-12
    )


def test_the_height_is_that_of_the_nearest_part():
    template = build_template([model("cup", "kitchen counter", 0.1, x=0.75)], kitchen())
    assert values(template.steps[0].pose) == pytest.approx([3.75, 0.0, 0.9, 0.0], abs=1e-12)


def test_the_first_of_equals_wins():
    models = [model("cup", "Coffee Table", 0.5), model("cup", "Kitchen Table", 0.5)]
    assert steps(build_template(models, kitchen())) == [("cup", "Coffee Table")]
    assert steps(build_template(models[::-1], kitchen())) == [("cup", "Kitchen Table")]


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1])
def test_refuses_values_that_cannot_be(value):
    with pytest.raises(InteractiveError, match="decision value"):
        build_template([model("cup", "Chair", value)], kitchen())


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.sampled_from(["a", "b", "c", "d", "e", "f", "Kitchen Table", "nowhere"]),
            st.floats(0.0, 10.0),
        )
    )
)
def test_every_item_is_put_once_after_its_reference_or_told(rows):
    models = [model(item, reference, value, 0.1, 0.2, 0.3) for item, reference, value in rows]
    template = build_template(models, kitchen())
    put = [step.item for step in template.steps]
    told = [item.item for item in template.unplaced]
    assert sorted(put + told) == sorted({item for item, _, _ in rows})
    there = {"Kitchen Table"}
    for step in template.steps:
        assert step.reference in there
        least = min(
            value for item, reference, value in rows if reference in there and item not in there
        )
        assert step.model.decision_value == least
        there.add(step.item)
    assert not [row for row in rows if row[0] in told and row[1] in there]
    assert all(np.isfinite(values(step.pose)).all() for step in template.steps)
