"""The order of a search: by what was seen, by what was learned, and by both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import Observation, mean_stay, persistence, rank_surfaces
from irsim_isaac.msg import Point
from irsim_isaac.msg.interactive_world import (
    Item,
    Model,
    Placement,
    RoomPlace,
    Surface,
    SurfacePlace,
    WorldModel,
)
from tests.interactive.worlds import kitchen

NOW = 1_700_000_000.0
MINUTE = 60.0


def seen(
    surface: str, minutes_ago: float, gone: float | None = None, item: str = "cup"
) -> Observation:
    """Return a sighting, gone so many minutes ago or still there."""
    removed = None if gone is None else NOW - gone * MINUTE
    return Observation(surface, item, time=NOW - minutes_ago * MINUTE, removed=removed)


def model(item: str, surface: str, value: float, reference: str = "") -> Model:
    placement = Placement(
        item=Item(item),
        surface=Surface(surface),
        reference_frame_id=reference or surface,
        position=Point(0.1, 0.2, 0.0),
    )
    return Model(placement, value)


def world(*names: str) -> WorldModel:
    return WorldModel(
        (RoomPlace("Room", "room", surfaces=tuple(SurfacePlace(n, n) for n in names)),)
    )


def order(*arguments, **options) -> list[str]:
    return [entry.name for entry in rank_surfaces(*arguments, **options)]


class TestPersistence:
    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([seen("t", 5.0)], math.exp(-1.0)),
            ([seen("t", 600.0)], math.exp(-1.0)),
            ([seen("t", 60.0, gone=30.0)], math.exp(-2.0)),
            ([seen("t", 30.0), seen("t", 10.0)], math.exp(-0.5)),
            ([seen("t", 120.0, gone=60.0), seen("t", 30.0)], math.exp(-30.0 / 45.0)),
        ],
    )
    def test_is_the_exponential_of_time_over_mean_stay(self, rows, expected):
        assert persistence(rows, NOW) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        ("rows", "printed"),
        [
            ([seen("t", 7.0)], "0.36787944"),
            ([seen("t", 60.0, gone=30.0)], "0.13533528"),
            ([seen("t", 30.0), seen("t", 10.0)], "0.60653066"),
            ([seen("t", 120.0, gone=60.0), seen("t", 30.0)], "0.51341712"),
        ],
    )
    def test_has_the_published_digits(self, rows, printed):
        assert f"{persistence(rows, NOW):.8f}" == printed

    def test_of_what_was_gone_at_once_is_nothing(self):
        assert persistence([seen("t", 5.0, gone=5.0)], NOW) == 0.0

    def test_of_what_is_seen_now_is_certain(self):
        assert persistence([seen("t", 0.0)], NOW) == 1.0
        assert persistence([seen("t", 0.0), seen("t", 50.0, gone=10.0)], NOW) == 1.0

    @given(
        st.lists(st.tuples(st.floats(0.001, 1e4), st.floats(0.0, 1.0), st.booleans()), min_size=1),
        st.floats(0.01, 100.0),
    )
    def test_knows_no_unit_of_time(self, rows, unit):
        def sightings(scale: float) -> list[Observation]:
            return [
                Observation(
                    "t",
                    "c",
                    time=-age * scale,
                    removed=-age * part * scale if gone else None,
                )
                for age, part, gone in rows
            ]

        one, other = persistence(sightings(1.0), 0.0), persistence(sightings(unit), 0.0)
        assert 0.0 <= one <= 1.0
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12)

    def test_mean_stay_takes_what_is_there_until_now(self):
        assert mean_stay([seen("t", 120.0, gone=60.0), seen("t", 30.0)], NOW) == 45.0 * MINUTE

    def test_a_clock_may_be_a_little_ahead(self):
        assert persistence([Observation("t", "c", time=NOW + 0.5)], NOW) == 1.0

    @pytest.mark.parametrize(
        ("rows", "told"),
        [
            ([], "no observations"),
            ([Observation("t", "c", time=NOW + 2.0)], "clocks differ"),
            ([Observation("t", "c", time=math.nan)], "clocks differ"),
            ([Observation("t", "c")], "tells no time"),
            ([Observation("t", "c", time=NOW - 5.0, removed=NOW - 6.0)], "later time"),
            ([Observation("t", "c", time=NOW - 5.0, removed=math.inf)], "later time"),
        ],
    )
    def test_refuses_times_that_cannot_be(self, rows, told):
        with pytest.raises(InteractiveError, match=told):
            persistence(rows, NOW)


class TestTemporal:
    def test_every_surface_has_its_turn(self):
        ranked = rank_surfaces("cup", kitchen(), [seen("Kitchen Counter", 9.0)], [], NOW,
                               strategy="temporal")  # fmt: skip
        assert [(entry.name, entry.score) for entry in ranked] == [
            ("Kitchen Counter", pytest.approx(math.exp(-1.0))),
            ("Kitchen Table", 0.001),
            ("Coffee Table", 0.001),
        ]

    @pytest.mark.parametrize(("stays", "first"), [(6.907, "B"), (6.908, "A")])
    def test_what_was_never_seen_overtakes_at_the_logarithm_of_a_thousand(self, stays, first):
        # It stayed for one minute and was seen so many minutes ago.
        rows = [seen("B", stays, gone=stays - 1.0)]
        assert order("cup", world("A", "B"), rows, [], NOW, strategy="temporal")[0] == first

    def test_the_crossing_is_at_6_9078(self):
        assert f"{math.log(1000.0):.4f}" == "6.9078"

    def test_equals_keep_the_order_of_the_world(self):
        rows = [seen("C", 5.0), seen("A", 5.0)]
        assert order("cup", world("B", "C", "A"), rows, [], NOW, strategy="temporal") == [
            "C", "A", "B",
        ]  # fmt: skip

    def test_what_only_was_seen_comes_by_name(self):
        rows = [seen("y", 5.0), seen("x", 5.0)]
        ranked = rank_surfaces("cup", world("A"), rows, [], NOW, strategy="temporal")
        assert [entry.name for entry in ranked] == ["x", "y", "A"]
        assert "the world has no such surface" in ranked[0].why
        assert "no such" not in ranked[2].why

    def test_names_and_aliases_are_one_in_any_case(self):
        rows = [seen("DINING TABLE", 30.0), seen("kitchen table", 10.0)]
        ranked = rank_surfaces("CUP", kitchen(), rows, [], NOW, strategy="temporal")
        assert ranked[0].name == "Kitchen Table"
        assert ranked[0].score == pytest.approx(math.exp(-0.5))
        assert len(ranked) == 3

    def test_a_name_comes_before_an_alias(self):
        # "Coffee Table" is called COUNTER too, and comes after the counter that is an alias.
        ranked = order("cup", kitchen(), [seen("counter", 1.0)], [], NOW, strategy="temporal")
        assert ranked[0] == "Kitchen Counter"

    def test_other_items_do_not_count(self):
        rows = [seen("B", 1.0, item="fork")]
        assert order("cup", world("A", "B"), rows, [], NOW, strategy="temporal") == ["A", "B"]

    def test_surfaces_of_a_name_are_searched_once(self):
        assert order("cup", world("A", "B", "a"), [], [], NOW, strategy="temporal") == ["A", "B"]


class TestRecency:
    def test_adds_up_the_years_of_all_sightings(self):
        rows = [seen("A", 5.0), seen("B", 900.0), seen("B", 800.0, gone=700.0)]
        ranked = rank_surfaces("cup", world("A", "B", "C"), rows, [], NOW, strategy="recency")
        assert [entry.name for entry in ranked] == ["B", "A"]
        assert ranked[1].score == (NOW - 300.0) / 31_557_600.0
        expected = (2.0 * NOW - 1700.0 * MINUTE) / 31_557_600.0
        assert ranked[0].score == pytest.approx(expected, rel=1e-15)

    def test_knows_nothing_without_sightings(self):
        assert rank_surfaces("cup", world("A"), [], [], NOW, strategy="recency") == ()


class TestModels:
    MODELS = (
        model("Cup", "B", 2.0),
        model("Cup", "B", 1.5, "plate"),
        model("fork", "A", 3.0, "CUP"),
        model("spoon", "C", 0.1, "fork"),
        model("cup", "", 0.01, "plate"),
    )

    def test_the_least_decision_value_is_first(self):
        ranked = rank_surfaces("cup", world("A", "B", "C"), [], self.MODELS, NOW, strategy="models")
        assert [(entry.name, entry.score) for entry in ranked] == [("B", -1.5), ("A", -3.0)]

    def test_the_sum_favours_few_frames(self):
        ranked = rank_surfaces("cup", world("A", "B", "C"), [], self.MODELS, NOW,
                               strategy="models", combine="sum")  # fmt: skip
        assert [(entry.name, entry.score) for entry in ranked] == [("A", -3.0), ("B", -3.5)]

    def test_names_of_a_study_are_resolved(self):
        learned = [model("cup", "Dining Table with Chairs", 1.0)]
        assert order("cup", kitchen(), [], learned, NOW, strategy="models") == ["Kitchen Table"]

    @pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
    def test_refuses_values_that_cannot_be(self, value):
        with pytest.raises(InteractiveError, match="decision value"):
            rank_surfaces("cup", world("A"), [], [model("cup", "A", value)], NOW)


class TestCombined:
    def test_models_speak_where_nothing_was_seen(self):
        learned = [model("cup", "C", 1.0), model("cup", "B", 4.0), model("cup", "D", 0.0)]
        rows = [seen("D", 1e6, gone=1e6 - 1.0), seen("A", 10.0)]
        ranked = rank_surfaces("cup", world("E", "D", "C", "B", "A"), rows, learned, NOW)
        assert [(entry.name, entry.score) for entry in ranked] == [
            ("A", pytest.approx(math.exp(-1.0))),
            ("C", 0.05),
            ("B", pytest.approx(0.001 + 0.049 * (1.0 / 5.0) / (1.0 / 2.0), rel=1e-12)),
            ("E", 0.001),
            ("D", 0.001),
        ]

    def test_a_fresh_sighting_beats_every_model(self):
        learned = [model("cup", "A", 0.0)]
        assert order("cup", world("A", "B"), [seen("B", 10.0)], learned, NOW) == ["B", "A"]

    def test_a_stale_one_does_not(self):
        learned = [model("cup", "A", 0.0)]
        # exp(-3) is 0.0498, less than 0.05.
        rows = [seen("B", 3.0, gone=2.0)]
        assert order("cup", world("A", "B"), rows, learned, NOW) == ["A", "B"]
        rows = [seen("B", 2.99, gone=1.99)]
        assert order("cup", world("A", "B"), rows, learned, NOW) == ["B", "A"]

    @given(st.data())
    def test_every_surface_is_ranked_once_by_falling_scores_within_bounds(self, data):
        names = ["A", "B", "C", "D", "E", "F"]
        sightings = st.tuples(
            st.sampled_from(names), st.floats(0.0, 1e5), st.none() | st.floats(0.0, 1.0)
        )
        rows = [
            seen(surface, age, None if part is None else age * part)
            for surface, age, part in data.draw(st.lists(sightings, max_size=8))
        ]
        likes = st.tuples(st.sampled_from(names), st.floats(0.0, 1e6))
        learned = [model("cup", *like) for like in data.draw(st.lists(likes, max_size=8))]
        ranked = rank_surfaces("cup", world(*names), rows, learned, NOW)
        scores = np.array([entry.score for entry in ranked])
        assert sorted(entry.name for entry in ranked) == names
        assert (np.diff(scores) <= 0.0).all()
        assert scores.min() >= 0.001
        assert scores.max() <= 1.0
        shuffled = data.draw(st.permutations(rows))
        assert rank_surfaces("cup", world(*names), shuffled, learned, NOW) == ranked


@pytest.mark.parametrize("options", [{"strategy": "luck"}, {"combine": "max"}])
def test_refuses_what_it_does_not_know(options):
    with pytest.raises(InteractiveError, match="was expected"):
        rank_surfaces("cup", world("A"), [], [], NOW, **options)
