"""Contacts are counted where they begin, also at the start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import ScenarioError
from irsim_isaac.validation import ContactTimeline, contact_starts
from tests.validation.worlds import states, thing, world

REST = (0.0, 0.0, 0.0)


def test_touching_at_the_start_counts():
    touches = [("a",), ("a",), ("a",), (), ("b",)]
    timeline = ContactTimeline.from_states(states([REST] * 5, touches=touches), "robot")
    assert len(timeline.events) == 2
    first, second = timeline.events
    assert (first.start, first.end, first.others) == (0.0, 0.2, ("a",))
    assert (second.start, second.end, second.others) == (0.4, 0.4, ("b",))
    assert first.max_force == 5.0


def test_one_event_names_all_that_was_touched():
    touches = [(), ("a",), ("a", "b"), ("b",), ()]
    (event,) = ContactTimeline.from_states(states([REST] * 5, touches=touches), "robot").events
    assert event.others == ("a", "b")
    assert event.max_force == 10.0


def test_partners_are_found_by_id_where_no_contact_is_reported():
    robot = thing("robot", REST, number=1)
    robot.collision, robot.collision_ids = True, [7]
    state = world(0.0, robot, thing("crate", REST, role="obstacle", number=7))
    (event,) = ContactTimeline.from_states([state], "robot").events
    assert event.others == ("crate",)


def test_a_robot_that_is_not_there_is_named():
    with pytest.raises(ScenarioError, match="no object 'nobody'; it has: robot"):
        ContactTimeline.from_states(states([REST]), "nobody")


@given(st.lists(st.booleans(), max_size=40))
def test_starts_are_the_rising_edges(flags):
    expected = [i for i, flag in enumerate(flags) if flag and (i == 0 or not flags[i - 1])]
    np.testing.assert_array_equal(contact_starts(flags), expected)
