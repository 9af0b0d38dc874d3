"""What the camera sees: field of view, range, what hides what, and misses by seed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pxr")
pytest.importorskip("sqlalchemy")

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import Camera, StageRecogniser
from irsim_isaac.resources import resource
from irsim_isaac.simulators import make
from tests.interactive import flats

CUP = (6.6, 0.4, 0.9)
BEFORE_THE_CUP = (6.45, 1.1, -math.pi / 2.0)


@pytest.fixture
def flat():
    with flats.opened(collisions=False) as opened:
        yield opened


def seen(flat, stand, target, *, recogniser=None, expected=()):
    flat.simulation.write({flats.ROBOT: flats.at(*stand[:2], yaw=stand[2])})
    recogniser = recogniser or flat.recogniser
    return recogniser.look(flat.simulation.state, target, expected=expected)


def names(view):
    return {sighting.item for sighting in view.seen}


@pytest.mark.parametrize("name", ["flat", "flat_cm_y_up"])
def test_an_item_before_the_camera_is_seen_where_it_is(name):
    with flats.opened(name) as flat:
        view = seen(flat, BEFORE_THE_CUP, CUP)
        (cup,) = view.seen
        assert (cup.item, cup.frame_id) == ("cup", "Cup")
        assert cup.confidence == pytest.approx(1.0, abs=0.1)
        place = cup.standing.position
        assert (place.x, place.y, place.z) == pytest.approx(CUP, abs=1e-6)
        assert cup.standing.orientation.to_yaw() == pytest.approx(math.radians(20.0), abs=1e-6)
        assert cup.size == pytest.approx((0.09, 0.09, 0.1), abs=2e-3)
        assert view.position == pytest.approx((6.45, 1.1, 1.25), abs=1e-9)
        message = cup.segmented("map")
        assert (message.name, message.recognized) == ("cup", True)
        assert message.centroid.z - message.height / 2.0 == pytest.approx(0.9, abs=1e-6)
        assert message.point_cloud.header.frame_id == "map"


def test_a_wall_hides(flat):
    # From the living room, the wall to the kitchen lies between.
    assert names(seen(flat, (5.2, 0.6, 0.0), CUP)) == set()


def test_what_is_out_of_range_or_behind_is_not_seen(flat):
    assert names(seen(flat, (6.5, 3.1, -math.pi / 2.0), CUP)) == set()
    far = flats.prepared("flat")
    eyes = StageRecogniser(
        far[0], flat.model, robots=(far[3],), robot=flats.ROBOT,
        reference=flat.simulation.state, camera=Camera(far=4.0),
    )  # fmt: skip
    assert names(seen(flat, (6.5, 3.1, -math.pi / 2.0), CUP, recogniser=eyes)) == {"cup"}
    # The camera turns by 80 degrees to either side and no farther.
    assert names(seen(flat, (6.45, 1.1, math.pi / 2.0), CUP)) == set()
    assert names(seen(flat, (6.45, 1.1, 0.0), CUP)) == {"cup"}


def test_the_edge_of_the_field_of_view_is_where_it_is_said_to_be(flat):
    """A slender item is passed by the edge within the angle that it covers."""
    distance = math.hypot(6.6 - 6.6, 1.4 - 0.4)
    half = flat.recogniser.camera.width / 2.0
    # The ground distance to the aim sets the angle; tilt widens a level field of view.
    for turn, expected in ((half - 0.12, {"cup"}), (half + 0.2, set())):
        aim = (6.6 - distance * math.tan(turn), 0.4, 1.25)
        assert names(seen(flat, (6.6, 1.4, -math.pi / 2.0), aim)) == expected


def test_the_board_that_an_item_stands_on_hides_it_from_below(flat):
    """The camera at a height of 0.5 m looks at the underside of the dining table."""
    low = Camera(z=0.5, near=0.05)
    stage, model, _, spec = flats.prepared("flat")
    eyes = StageRecogniser(
        stage, model, robots=(spec,), robot=flats.ROBOT, reference=flat.simulation.state,
        camera=low,
    )  # fmt: skip
    under = (3.0, 2.0, 0.0)
    assert names(seen(flat, under, (3.75, 2.1, 0.74), recogniser=eyes)) == set()
    assert "plate" in names(seen(flat, under, (3.75, 2.1, 0.74)))


def test_one_item_hides_another_but_none_itself(flat):
    """A cup behind a bundle of others in one line is hidden as far as they cover it."""
    stand = (6.6, 1.3, -math.pi / 2.0)
    alone = seen(flat, stand, CUP).seen[0].confidence
    # The plate, stood on its rim before the cup, covers it.
    eye = np.array([6.6, 1.3, 1.25])
    between = eye + 0.75 * (np.array([6.6, 0.4, 0.95]) - eye)
    body = next(o for o in flat.simulation.state.objects if o.name == "Plate").odom
    upright = flats.at(*between)
    upright.pose.pose.orientation = type(body.pose.pose.orientation)(
        math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)
    )
    flat.simulation.write({"Plate": upright})
    view = seen(flat, stand, CUP)
    assert "cup" not in names(view)
    assert "plate" in names(view)
    flat.put("Plate", 3.75, 2.1, 0.74)
    assert alone > 0.9


@pytest.mark.parametrize("name", ["flat", "flat_cm_y_up"])
def test_items_are_seen_where_the_simulator_has_moved_them(name):
    with flats.opened(name) as flat:
        start = next(o for o in flat.simulation.state.objects if o.name == "Cup").odom
        z = start.pose.pose.position.z
        flat.put("Cup", 8.3, 8.3, z - 0.9 + 0.74)
        assert names(seen(flat, BEFORE_THE_CUP, CUP)) == set()
        view = seen(flat, (8.05, 7.55, math.pi / 2.0), (8.25, 8.37, 0.74))
        (cup,) = view.seen
        place = cup.standing.position
        assert (place.x, place.y, place.z) == pytest.approx((8.3, 8.3, 0.74), abs=1e-6)
        moved = next(i for i in flat.recogniser.items(flat.simulation.state) if i.name == "cup")
        assert moved.bottom == pytest.approx(0.74, abs=1e-6)


def test_places_are_clear_where_they_are_in_view_and_nothing_hides_them(flat):
    hidden, behind, far = (7.0, 0.4, 0.5), (6.6, 2.5, 0.74), (4.4, 1.85, 0.74)
    view = seen(flat, BEFORE_THE_CUP, CUP, expected=[(6.4, 0.5, 0.9), hidden, behind, far])
    assert view.clear == (True, False, False, False)
    assert seen(flat, BEFORE_THE_CUP, CUP).clear == ()


def test_misses_are_of_the_rate_and_of_the_seed(flat):
    stage, model, _, spec = flats.prepared("flat")

    def looks(seed, rate=0.3):
        eyes = StageRecogniser(
            stage, model, robots=(spec,), robot=flats.ROBOT, reference=flat.simulation.state,
            miss_rate=rate, seed=seed,
        )  # fmt: skip
        flat.simulation.simulator.reset(0)
        flat.simulation.write({flats.ROBOT: flats.at(*BEFORE_THE_CUP[:2], yaw=BEFORE_THE_CUP[2])})
        found = []
        state = flat.simulation.state
        for count in range(200):
            state.header.seq = count
            found.append(bool(eyes.look(state, CUP).seen))
        return found

    first = looks(1)
    assert first == looks(1)
    assert first != looks(2)
    assert 0.6 < np.mean(first) < 0.8
    assert not any(looks(1, 1.0))
    assert all(looks(1, 0.0))


def test_another_robot_hides():
    stage, model, _, spec = flats.prepared("flat")
    tall = replace(spec, name="tall", height=1.5)
    simulator = make(
        "stage", stage=resource("data/flat.usda"), robots=(spec, tall), collisions=False,
        starts={flats.ROBOT: (6.6, 2.0, -math.pi / 2.0), "tall": (7.5, 2.5, 0.0)},
    )  # fmt: skip
    state = simulator.read()
    eyes = StageRecogniser(stage, model, robots=(spec, tall), robot=flats.ROBOT, reference=state)
    assert names(eyes.look(state, CUP)) == {"cup"}
    simulator.write({"tall": flats.at(6.6, 1.3)})
    assert names(eyes.look(simulator.read(), CUP)) == set()
    simulator.close()


def test_names_that_are_not_there_are_refused(flat):
    stage, model, _, spec = flats.prepared("flat")
    with pytest.raises(InteractiveError, match="no robot 'nobody' can look; there are seeker"):
        StageRecogniser(
            stage, model, robots=(spec,), robot="nobody", reference=flat.simulation.state
        )
    with pytest.raises(InteractiveError, match="no item 'Spoon'; there are Cup, Glass"):
        flat.recogniser.body_of("Spoon")
    assert flat.recogniser.body_of("Cup") == "Cup"
