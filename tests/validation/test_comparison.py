"""Two runs compared as a whole, with figures that are known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from irsim_isaac.errors import ScenarioError
from irsim_isaac.map import Occupancy
from irsim_isaac.validation import Run, Thresholds, compare, drive
from tests.validation.worlds import ROBOT, Unicycle, states, thing, world


def runs(slip=0.0, steps=30, command=(0.5, 0.0, 0.0), start=(-3.0, 0.0, 0.0)):
    sides = [Unicycle((ROBOT,), {"robot": start}, slip=value) for value in (0.0, slip)]
    return drive(sides, ROBOT, steps=steps, commands=np.tile(command, (steps, 1)))


@pytest.fixture
def room() -> Occupancy:
    cells = np.zeros((82, 62), np.int8)
    cells[[0, -1], :] = cells[:, [0, -1]] = 100
    return Occupancy(cells, 0.1, (-4.1, -3.1, 0.0))


def test_equal_runs_agree_in_everything(room):
    left, right = runs()
    result = compare(left, right, ROBOT, occupancy=room)
    figures = result.figures()
    assert set(figures.values()) == {0.0}
    assert result.parting.time is None
    assert result.explored_overlap == 1.0
    assert result.passed


def test_a_slip_is_measured_to_the_digit():
    left, right = runs(slip=0.2, steps=30)
    result = compare(left, right, ROBOT)
    expected = 0.1 * 0.1 * np.arange(31)  # a tenth of a metre a second slower
    np.testing.assert_allclose(result.ape.translation, expected, atol=1e-12)
    figures = result.figures()
    assert figures["position_final"] == pytest.approx(0.3)
    assert figures["ape_rmse"] == pytest.approx(np.sqrt((expected**2).mean()))
    assert figures["rpe_rmse"] == pytest.approx(0.01)
    assert figures["heading_max"] == 0.0
    assert result.parting.cause.kind == "speed"
    assert figures["explored"] is None


def test_every_threshold_can_be_exceeded_and_kept():
    left, right = runs(slip=0.2)
    measured = {k: v for k, v in compare(left, right, ROBOT).figures().items() if v is not None}
    kept = Thresholds(**measured)
    assert compare(left, right, ROBOT, thresholds=kept).passed
    for name, value in measured.items():
        if value > 0:
            result = compare(left, right, ROBOT, thresholds=Thresholds(**{name: value * 0.99}))
            (exceeded,) = result.exceeded
            assert (exceeded.name, exceeded.value) == (name, value)
            assert str(exceeded).startswith(f"{name} is ")


def test_a_threshold_on_scans_needs_scans():
    plain = states([(0.0, 0.0, 0.0)] * 3)
    run = Run("plain", plain, np.zeros((2, 3)))
    with pytest.raises(ScenarioError, match="'range_mean' needs lidar scans"):
        compare(run, run, ROBOT, thresholds=Thresholds(range_mean=1.0))


def test_contacts_are_compared():
    left, right = runs(slip=0.2, steps=180)
    result = compare(left, right, ROBOT, thresholds=Thresholds(contact_events=0))
    assert [len(side.events) for side in result.contacts] == [1, 1]
    assert result.passed
    assert result.contacts[0].events[0].start < result.contacts[1].events[0].start


def test_obstacles_are_compared_by_name():
    def run(*places):
        return Run(
            "x",
            tuple(
                world(0.1 * index, thing("robot", (0, 0, 0)), *objects)
                for index, objects in enumerate(places)
            ),
            np.zeros((1, 3)),
        )

    def crate(x, name="crate"):
        return thing(name, (x, 0, 0), role="obstacle", number=1)

    left = run([crate(0.0)], [crate(0.5)])
    right = run([crate(0.0)], [crate(0.2), crate(0, "cart")])
    result = compare(left, right, ROBOT)
    assert result.moved == {"crate": 0.3}
    assert result.unmatched == ("cart",)


def test_different_rates_are_matched_one_to_one():
    fast = states([(0.01 * i, 0.0, 0.0) for i in range(101)], step=0.01)
    slow = states([(0.1 * i, 0.0, 0.0) for i in range(11)], step=0.1)
    result = compare(Run("a", fast, np.zeros((0, 3))), Run("b", slow, np.zeros((0, 3))), ROBOT)
    assert result.association.matched == 11
    np.testing.assert_allclose(result.ape.translation, 0, atol=1e-12)


def test_runs_that_do_not_overlap_are_refused():
    left, right = runs(steps=5)
    late = tuple(
        replace(state, header=replace(state.header, stamp=state.header.stamp + 100))
        for state in right.states
    )
    with pytest.raises(ScenarioError, match="0 of at most 6 states found a partner"):
        compare(left, replace(right, states=late), ROBOT)


def test_everything_fits_strict_json(room):
    left, right = runs(slip=0.2, steps=170)
    content = compare(left, right, ROBOT, occupancy=room).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["states"] == {"left": 171, "right": 171, "matched": 171}
    assert content["absolute_pose_error"]["translation"]["max"] == max(
        content["over_time"]["position_error"]
    )
    assert content["explored"]["left"]["share"] == content["over_time"]["left_explored"][-1]
