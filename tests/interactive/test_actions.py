"""The three actions: what they answer, what they keep, and how each of them ends."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest

pytest.importorskip("pxr")
pytest.importorskip("sqlalchemy")

from irsim_isaac.errors import StoreError
from irsim_isaac.interactive import Observation, PathNavigator
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import Point
from irsim_isaac.msg.interactive_world import (
    DriveAndSearch,
    DriveToSurface,
    Item,
    Model,
    ObjectSearch,
    Placement,
    Room,
    Surface,
    TaskModels,
)
from tests.interactive import flats


@pytest.fixture
def flat():
    with flats.opened(collisions=False) as opened:
        yield opened


def do(action, goal, *, act=None, **options):
    """Send a goal, let something act beside it, and return it when it has ended."""

    async def main():
        handle = action.send(goal, **options)
        if act is not None:
            await act(handle)
        return await asyncio.wait_for(handle.finished(), 60.0)

    return asyncio.run(main())


def cut_off(occupancy, x, y):
    """Return a map with a square of a metre about a place full."""
    cells = occupancy.cells.copy()
    ix, iy = occupancy.world_to_cell(x, y)
    reach = round(0.5 / occupancy.resolution)
    cells[max(0, ix - reach) : ix + reach, max(0, iy - reach) : iy + reach] = 100
    return Occupancy(cells, occupancy.resolution, occupancy.origin)


def robot_of(flat):
    return next(item for item in flat.simulation.state.objects if item.name == flats.ROBOT)


def assert_stands(flat):
    twist = robot_of(flat).odom.twist.twist
    assert (twist.linear.x, twist.linear.y, twist.angular.z) == (0.0, 0.0, 0.0)


# ------------------------------------------------------------------ driving to a surface


@pytest.mark.parametrize(
    ("goal", "stand"),
    [
        (DriveToSurface.Goal("stove"), "Nav_StoveTop"),
        (DriveToSurface.Goal("COUCH"), "Nav_SofaSeat"),
        # Nearest the world's origin, where no point is given.
        (DriveToSurface.Goal("Kitchen Counter"), "Nav_CounterLeft"),
        (DriveToSurface.Goal("Kitchen Counter", "sink"), "Nav_CounterSink"),
        (DriveToSurface.Goal("Kitchen Counter", "", Point(7.0, 1.0, 0.0)), "Nav_CounterMiddle"),
        # A point of interest beats a point, and one that is not there is passed over.
        (DriveToSurface.Goal("Counter", "Sink", Point(6.0, 1.0, 0.0)), "Nav_CounterSink"),
        (DriveToSurface.Goal("Counter", "Bell", Point(7.0, 1.0, 0.0)), "Nav_CounterMiddle"),
        (DriveToSurface.Goal("Dining Table", "chair"), "Nav_DiningTableWest"),
    ],
)
def test_the_nearest_place_of_a_surface_is_driven_to(flat, goal, stand):
    drive, _, _ = flat.actions()
    handle = do(drive, goal)
    assert (handle.status, handle.result.success) == ("succeeded", True)
    assert flat.navigator.stands == [stand]
    assert [text for _, text in handle.feedback] == [f"driving to {stand}"]
    frame = flat.model.frames()[stand]
    place = robot_of(flat).odom.pose.pose
    assert (place.position.x, place.position.y) == pytest.approx(tuple(frame[:2, 3]), abs=1e-9)
    assert place.orientation.to_yaw() == pytest.approx(math.atan2(frame[1, 0], frame[0, 0]))


def test_a_surface_that_is_not_there_is_an_answer(flat):
    drive, _, _ = flat.actions()
    handle = do(drive, DriveToSurface.Goal("Piano"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert handle.text == "there is no surface 'Piano'"
    assert flat.simulation.time == 0.0


def test_a_surface_without_a_way_to_it_is_an_answer():
    with flats.opened(leap=False) as flat:
        for place in ((2.85, 4.0), (7.6, 4.0)):
            flat.occupancy = cut_off(flat.occupancy, *place)
        flat.navigator = PathNavigator(flat.simulation, flats.ROBOT, flat.occupancy)
        drive, _, _ = flat.actions()
        handle = do(drive, DriveToSurface.Goal("Stove"))
        assert (handle.status, handle.result.success) == ("succeeded", False)
        assert handle.text == "no path leads to Nav_StoveTop"
        # It has not moved, and has not used up its time.
        assert flat.simulation.time <= 0.2


def test_a_robot_that_is_stuck_says_so_within_seconds():
    with flats.opened(leap=False) as flat:
        # A book on its edge in the hall, of which the map knows nothing.
        flat.put("Book", 1.6, 4.5, 0.45)
        drive, _, _ = flat.actions()
        handle = do(drive, DriveToSurface.Goal("Sofa"))
        assert (handle.status, handle.result.success) == ("succeeded", False)
        assert handle.text == "stuck on the way to Nav_SofaSeat"
        place = robot_of(flat).odom.pose.pose.position
        assert math.hypot(place.x - 1.6, place.y - 4.5) < 0.4
        assert flat.simulation.time < 12.0
        assert_stands(flat)


def test_a_drive_that_takes_too_long_is_an_answer():
    with flats.opened(leap=False) as flat:
        drive, _, _ = flat.actions(drive={"drive_time": 5.0})
        handle = do(drive, DriveToSurface.Goal("Sofa"))
        assert (handle.status, handle.result.success) == ("succeeded", False)
        assert handle.text == "not at Nav_SofaSeat within 5 s"
        assert 5.0 < flat.simulation.time < 5.5
        assert_stands(flat)


def test_a_drive_that_is_called_off_ends_with_the_robot_standing():
    with flats.opened(leap=False) as flat:
        drive, _, _ = flat.actions()

        async def act(handle):
            while flat.simulation.time < 3.0:
                await asyncio.sleep(0)
            moving = robot_of(flat).odom.twist.twist.linear.x
            assert moving > 0.1
            assert handle.cancel()

        handle = do(drive, DriveToSurface.Goal("Sofa"), act=act)
        assert (handle.status, handle.result.success) == ("canceled", False)
        assert flat.simulation.time <= 3.3
        assert_stands(flat)


def test_the_real_time_guards_a_drive():
    ticks = iter(range(10_000))
    with flats.opened(leap=False) as flat:
        drive, _, _ = flat.actions(wall_clock=lambda: float(next(ticks)), drive={"wall_limit": 20})
        handle = do(drive, DriveToSurface.Goal("Sofa"))
        assert (handle.status, handle.out_of_time) == ("aborted", True)
        assert handle.text == "DriveToSurface: its 20 s of real time are up"
        assert_stands(flat)


def test_drives_take_turns(flat):
    """Two goals at once: the second waits, and can be called off while it does."""
    drive, _, _ = flat.actions()

    async def main():
        first = drive.send(DriveToSurface.Goal("Sofa"))
        second = drive.send(DriveToSurface.Goal("Stove"))
        third = drive.send(DriveToSurface.Goal("Bed"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (first.state, second.state, third.state) == ("driving", "waiting", "waiting")
        third.cancel()
        for handle in (first, second, third):
            await asyncio.wait_for(handle.finished(), 10.0)
        return first.status, second.status, third.status

    assert asyncio.run(main()) == ("succeeded", "succeeded", "canceled")
    assert flat.navigator.stands == ["Nav_SofaSeat", "Nav_StoveTop"]


# ------------------------------------------------------------------ looking on a surface


def test_an_item_on_the_surface_is_found_at_its_first_part(flat):
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("CUP", "counter"))
    assert (handle.status, handle.result.success) == ("succeeded", True)
    assert flat.navigator.stands == ["Nav_CounterLeft"]
    (cup,) = handle.result.objects.objects
    assert (cup.name, cup.recognized) == ("cup", True)
    assert (cup.center.x, cup.center.y, cup.center.z) == pytest.approx((6.6, 0.4, 0.95), abs=1e-6)
    assert handle.result.objects.header.frame_id == "map"
    assert handle.result.objects.header.stamp == flat.simulation.time
    states = [state for _, state in handle.states]
    assert states == ["waiting", "driving", "looking", "succeeded"]
    assert handle.text == "the cup is on Kitchen Counter"


def test_what_is_seen_is_kept_in_the_frame_of_its_surface(flat):
    _, look, _ = flat.actions()
    do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
    (row,) = flat.store.observations()
    assert (row.item, row.surface) == ("cup", "Kitchen Counter")
    assert (row.surface_frame_id, row.placement_surface_frame_id) == (
        "KitchenCounter", "CounterLeft"
    )  # fmt: skip
    assert (row.x, row.y, row.z) == pytest.approx((-0.65, 0.07, 0.9), abs=1e-6)
    assert row.theta == pytest.approx(math.radians(20.0), abs=1e-6)
    assert row.time == pytest.approx(flat.now(), abs=1e-5)
    # The dining table has two items, seen from either end.
    do(look, DriveAndSearch.Goal("nothing", "Dining Table"))
    rows = flat.store.observations(surface="Dining Table")
    assert {row.item for row in rows} == {"plate", "glass"}
    assert {row.surface_frame_id for row in rows} == {"DiningTable"}


def test_an_item_that_is_not_there_is_an_answer_after_all_parts(flat):
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("teapot", "Kitchen Counter"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert handle.result.objects.objects == []
    assert flat.navigator.stands == ["Nav_CounterLeft", "Nav_CounterMiddle", "Nav_CounterSink"]
    assert handle.text == "no teapot on Kitchen Counter"


def test_a_surface_to_look_on_that_is_not_there_is_an_answer(flat):
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("cup", "Piano"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert flat.simulation.time == 0.0


def test_a_part_that_cannot_be_reached_is_passed_over(flat):
    flat.navigator.unreachable = {"Nav_CounterLeft", "Nav_CounterMiddle"}
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("teapot", "Kitchen Counter"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert flat.navigator.stands[-1] == "Nav_CounterSink"
    assert "no path leads to Nav_CounterLeft" in handle.text
    assert [state for _, state in handle.states].count("looking") == 1


def test_a_surface_of_which_no_part_can_be_reached_is_an_answer(flat):
    flat.navigator.unreachable = {f"Nav_Counter{side}" for side in ("Left", "Middle", "Sink")}
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert flat.store.observations() == []


def test_a_nameless_item_aborts(flat):
    _, look, search = flat.actions()
    for handle in (
        do(look, DriveAndSearch.Goal(" ", "Sofa")),
        do(search, ObjectSearch.Goal([], "")),
    ):
        assert (handle.status, handle.text) == (
            "aborted", "the item is blank, a name was expected"
        )  # fmt: skip


def test_what_is_gone_is_closed_where_its_place_was_seen(flat):
    def seen(item, x, part="CounterLeft", surface="Kitchen Counter", frame="KitchenCounter"):
        return flat.store.add_observation(
            Observation(surface, item, x, 0.0, 0.9, surface_frame_id=frame,
                        placement_surface_frame_id=part)
        )  # fmt: skip

    bowl = seen("bowl", -0.9)
    cup = seen("cup", -0.6)
    # In no view of this part: below the board, and far along it.
    hidden = flat.store.add_observation(
        Observation("Kitchen Counter", "pan", -0.85, 0.0, 0.4, surface_frame_id="KitchenCounter",
                    placement_surface_frame_id="CounterLeft")
    )  # fmt: skip
    elsewhere = seen("jug", 0.7, "CounterSink")
    other = seen("vase", 0.0, "SofaSeat", "Sofa", "Sofa")
    _, look, _ = flat.actions()
    do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
    left = {row.id for row in flat.store.observations()}
    assert bowl not in left
    assert {cup, hidden, elsewhere, other} <= left
    (gone,) = flat.store.observations(removed=True)
    assert (gone.id, gone.item) == (bowl, "bowl")
    # The store counts microseconds.
    assert gone.removed == pytest.approx(flat.now(), abs=1e-5)
    # A part that is empty now is cleared as well.
    do(look, DriveAndSearch.Goal("teapot", "Kitchen Counter"))
    assert elsewhere not in {row.id for row in flat.store.observations()}


def test_an_item_that_moved_within_its_surface_is_not_closed(flat):
    number = flat.store.add_observation(
        Observation("Kitchen Counter", "cup", -1.0, 0.1, 0.9, surface_frame_id="KitchenCounter",
                    placement_surface_frame_id="CounterLeft")
    )  # fmt: skip
    _, look, _ = flat.actions()
    do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
    assert number in {row.id for row in flat.store.observations()}


def test_without_keeping_nothing_is_stored(flat):
    _, look, _ = flat.actions(look={"keep": False})
    flat.store.close()
    handle = do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
    assert (handle.status, handle.result.success) == ("succeeded", True)


def test_a_look_that_cannot_be_kept_is_kept_not_at_all(flat, monkeypatch):
    """The second of two sightings fails: the first is not there either."""
    stored = flat.services.store_observation

    def failing(request):
        if request.item == "glass":
            raise StoreError("the disk is full")
        return stored(request)

    monkeypatch.setattr(flat.services, "store_observation", failing)
    _, look, _ = flat.actions()
    handle = do(look, DriveAndSearch.Goal("nothing", "Dining Table"))
    assert (handle.status, handle.text) == ("aborted", "the disk is full")
    assert [row.item for row in flat.store.observations()] in ([], ["plate"])


# ------------------------------------------------------------------ looking everywhere


def history(flat, *rows):
    for surface, ago, gone in rows:
        flat.store.add_observation(
            Observation(surface, "cup", 0.0, 0.0, 0.0, time=flat.now() - ago,
                        removed=None if gone is None else flat.now() - gone)
        )  # fmt: skip


def test_the_search_goes_by_the_ranking_and_stops_at_the_first_find(flat):
    history(flat, ("Sofa", 100.0, None), ("Kitchen Counter", 5000.0, 4000.0),
            ("Bed", 200.0, 100.0))  # fmt: skip
    ranked = []
    _, _, search = flat.actions(on_ranking=ranked.extend)
    handle = do(search, ObjectSearch.Goal([], "cup"))
    assert (handle.status, handle.result.success) == ("succeeded", True)
    assert [child.goal.surface for child in handle.children] == [
        entry.name for entry in ranked[: len(handle.children)]
    ]
    assert handle.children[0].goal.surface == "Sofa"
    assert handle.children[1].goal.surface == "Bed"
    assert handle.children[-1].goal.surface == "Kitchen Counter"
    assert [child.result.success for child in handle.children[:-1]] == [False] * (
        len(handle.children) - 1
    )
    assert handle.text == "the cup is on Kitchen Counter"
    told = [text for _, text in handle.feedback]
    assert told[0] == "asking where the cup was seen"
    assert "searching Sofa" in told
    assert "not on Sofa: no cup on Sofa" in told
    assert told[-1] == "the cup is on Kitchen Counter"


def test_an_empty_store_has_everything_searched_in_the_order_of_the_world(flat):
    _, _, search = flat.actions()
    handle = do(search, ObjectSearch.Goal([], "cup"))
    names = [surface.name for _, surface in flat.model.surfaces()]
    searched = [child.goal.surface for child in handle.children]
    assert searched == names[: names.index("Kitchen Counter") + 1]
    assert handle.result.success


def test_an_unknown_item_is_on_none_of_all_surfaces(flat):
    _, _, search = flat.actions()
    handle = do(search, ObjectSearch.Goal([], "teapot"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert handle.text == "the teapot is on none of 15 surfaces"
    assert len(handle.children) == 15


def test_a_search_of_a_world_that_cannot_be_reached_ends(flat):
    flat.navigator.unreachable = {
        part.nav_goal.frame_id for _, s in flat.model.surfaces() for part in s.placements
    }
    _, _, search = flat.actions()
    handle = do(search, ObjectSearch.Goal([], "cup"))
    assert (handle.status, handle.result.success) == ("succeeded", False)
    assert len(handle.children) == 15


def test_a_surface_that_takes_too_long_is_called_off_and_the_next_has_its_turn(flat):
    history(flat, ("Sofa", 100.0, None), ("Kitchen Counter", 200.0, 100.0))
    flat.navigator.slow["Nav_SofaSeat"] = 40
    _, _, search = flat.actions(surface_time=2.0)
    handle = do(search, ObjectSearch.Goal([], "cup"))
    first, second = handle.children
    assert (first.goal.surface, first.status, first.out_of_time) == ("Sofa", "aborted", True)
    assert (second.goal.surface, second.status) == ("Kitchen Counter", "succeeded")
    assert handle.result.success


def test_a_search_that_takes_too_long_aborts_within_a_step(flat):
    flat.navigator.steps = 10
    _, _, search = flat.actions(time_limit=2.5)
    handle = do(search, ObjectSearch.Goal([], "teapot"))
    assert (handle.status, handle.out_of_time) == ("aborted", True)
    assert handle.text == "ObjectSearch: its 2.5 s of simulated time are up"
    assert 2.5 < flat.simulation.time <= 2.5 + 2 * flat.simulation.simulator.step_time
    assert all(child.done for child in handle.children)


def test_a_search_that_is_called_off_while_driving_ends_with_its_children():
    with flats.opened(leap=False) as flat:
        _, _, search = flat.actions()

        async def act(handle):
            while not handle.children or flat.simulation.time < 3.0:
                await asyncio.sleep(0)
            (child,) = handle.children
            assert (child.state, child.status) == ("driving", "executing")
            assert handle.cancel()
            assert (handle.status, child.status) == ("canceling", "canceling")

        handle = do(search, ObjectSearch.Goal([], "cup"), act=act)
        (child,) = handle.children
        assert (handle.status, child.status) == ("canceled", "canceled")
        assert not handle.result.success
        assert flat.simulation.time <= 3.3
        assert_stands(flat)


def test_a_closed_store_aborts_before_anything_moves(flat):
    _, _, search = flat.actions()
    flat.store.close()
    handle = do(search, ObjectSearch.Goal([], "cup"))
    assert handle.status == "aborted"
    assert "it is closed" in handle.text
    assert flat.simulation.time == 0.0


def test_a_store_that_closes_in_the_middle_aborts(flat):
    _, _, search = flat.actions()
    flat.navigator.on_step = lambda name: flat.store.close()
    handle = do(search, ObjectSearch.Goal([], "cup"))
    assert handle.status == "aborted"
    assert "it is closed" in handle.text
    assert [child.status for child in handle.children] == ["aborted"]


def test_models_that_nobody_learned_abort(flat):
    _, _, search = flat.actions()
    handle = do(search, ObjectSearch.Goal([7], "cup"))
    assert handle.status == "aborted"
    assert "nothing is learned for condition 7" in handle.text


# ------------------------------------------------------------------ the whole of it


@pytest.mark.parametrize("name", ["flat", "flat_cm_y_up"])
def test_a_moved_cup_is_found_where_it_is_now(name):
    """Seen, moved, searched for by a real drive: on the old surface first, then on the new."""
    with flats.opened(name, leap=False, start=(6.45, 1.6, -math.pi / 2)) as flat:
        _, look, search = flat.actions()
        first = do(look, DriveAndSearch.Goal("cup", "Kitchen Counter"))
        assert first.result.success
        flat.clock[0] += 600.0
        cup = next(o for o in flat.simulation.state.objects if o.name == "Cup")
        z = cup.odom.pose.pose.position.z
        flat.put("Cup", 9.4, 2.8, z - 0.9 + 0.74)
        history(flat, ("Kitchen Table", 3000.0, 2000.0))
        begin = flat.simulation.time
        handle = do(search, ObjectSearch.Goal([], "cup"))
        assert (handle.status, handle.result.success) == ("succeeded", True)
        assert [child.goal.surface for child in handle.children] == [
            "Kitchen Counter", "Kitchen Table"
        ]  # fmt: skip
        (found,) = handle.children[-1].result.objects.objects
        assert (found.center.x, found.center.y, found.center.z) == pytest.approx(
            (9.4, 2.8, 0.79), abs=1e-6
        )
        rows = flat.store.observations(item="cup", removed=None)
        assert (rows[0].surface, rows[0].removed) == ("Kitchen Table", None)
        assert [row.surface for row in rows if row.removed is not None] == [
            "Kitchen Counter", "Kitchen Table"
        ]  # fmt: skip
        assert flat.simulation.time - begin < 40.0
        place = robot_of(flat).odom.pose.pose.position
        assert np.hypot(place.x - 8.4, place.y - 2.75) < 0.06
        assert not robot_of(flat).collision


def learned(surface, value, *, item="cup", reference="DiningTable"):
    return Model(
        Placement(
            Item(item), Room("Kitchen"), Surface(surface), reference, Point(0.1, 0.2, 0.0), 0.0
        ),
        value,
    )


def test_models_of_several_conditions_tell_where_to_look_first(flat):
    """Never seen: the models say where it belongs, by aliases too; the least value first."""
    study = flat.store.add_study("flat")
    first, second = (flat.store.add_condition(study, f"Task {n}") for n in (1, 2))
    flat.store.save_models(first, TaskModels([learned("Writing Desk", 2.0), learned("Bed", 0.5)]))
    flat.store.save_models(
        second, TaskModels([learned("Counter", 1.0), learned("Sofa", 0.1, item="book")])
    )
    _, _, search = flat.actions()
    handle = do(search, ObjectSearch.Goal([first, second], "cup"))
    assert [child.goal.surface for child in handle.children] == ["Bed", "Kitchen Counter"]
    assert handle.result.success
    # Only what the first condition knows.
    handle = do(search, ObjectSearch.Goal([first], "teapot"))
    assert len(handle.children) == 15


@pytest.mark.parametrize(("stays", "first"), [(6.9, "Kitchen Counter"), (6.92, "Hall Table")])
def test_an_unseen_surface_outranks_one_whose_sighting_is_older_than_its_stay(flat, stays, first):
    """At ln 1000 = 6.9078 mean stays the two are alike."""
    history(flat, ("Kitchen Counter", 100.0 * stays, 100.0 * stays - 100.0))
    _, _, search = flat.actions(strategy="temporal")
    handle = do(search, ObjectSearch.Goal([], "cup"))
    assert handle.children[0].goal.surface == first
