"""Reading studies: what was logged becomes placements in every frame."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError, StoreError
from irsim_isaac.interactive import Store, parse_study
from irsim_isaac.interactive.study_logs import LevelPose, wrapped
from irsim_isaac.msg.interactive_world import PlacementSet, TaskTrainingData
from tests.interactive.studies import (
    TABLE,
    configuration,
    new_condition,
    piece,
    placed,
    placement,
    session,
    sized,
)

sqlalchemy = pytest.importorskip("sqlalchemy")

CONFIG = ("config", configuration())


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "study.db")) as opened:
        yield opened


def parsed(store: Store, study: int, **options):
    (condition,) = parse_study(store, study, **options)
    return condition


def find(training: TaskTrainingData, item: str, frame: str) -> PlacementSet:
    (found,) = [one for one in training.data
                if (one.item.name, one.reference_frame_id) == (item, frame)]  # fmt: skip
    return found


def told(one: PlacementSet) -> list[tuple[float, float, float, float]]:
    return [(p.position.x, p.position.y, p.position.z, p.rotation) for p in one.placements]


def about(*numbers: float):
    return pytest.approx(numbers, abs=1e-12)


def test_the_worked_case_on_every_database(url):
    with Store(url) as store:
        study, condition = new_condition(store)
        session(store, condition, CONFIG, ("place", placement("Plate", 0.8, -0.4)),
                ("place", placement("Cup", 0.9, -0.4)))  # fmt: skip
        result = parsed(store, study)
    data = result.training
    assert told(find(data, "Plate", TABLE)) == [about(0.8, -0.4, 0.705, 0.0)]
    assert told(find(data, "Plate", "chair")) == [about(0.0, -0.28, 0.265, math.pi)]
    assert told(find(data, "Cup", "Plate")) == [about(0.1, 0.0, 0.0, 0.0)]
    assert told(find(data, "Plate", "Cup")) == [about(-0.1, 0.0, 0.0, 0.0)]
    assert [(one.item.name, one.reference_frame_id) for one in data.data] == [
        ("Plate", TABLE), ("Plate", "chair"), ("Plate", "Cup"),
        ("Cup", TABLE), ("Cup", "chair"), ("Cup", "Plate"),
    ]  # fmt: skip
    assert (result.sessions, result.completed, result.placements) == (1, 0, 2)
    assert result.skipped == ()


def test_sets_carry_what_the_configuration_knows(store):
    study, condition = new_condition(store)
    session(store, condition, CONFIG, ("place", placement("Plate", 0.8, -0.4)),
            ("place", placement("Cup", 0.9, -0.4)))  # fmt: skip
    data = parsed(store, study).training
    by_chair = find(data, "Plate", "chair")
    assert (by_chair.item.width, by_chair.room.name, by_chair.surface.name) == (
        0.149, "Dining Room", TABLE)  # fmt: skip
    assert (by_chair.room.pose.position.x, by_chair.surface.width) == (2.925, 2.39)
    assert [poi.name for poi in by_chair.surface.pois] == ["chair"] * 8
    by_plate = find(data, "Cup", "Plate")
    assert (by_plate.item.name, by_plate.room.name, by_plate.surface.name) == ("Cup", "", "")
    for one in data.data:
        for each in one.placements:
            assert (each.item, each.room, each.surface, each.reference_frame_id) == (
                one.item, one.room, one.surface, one.reference_frame_id)  # fmt: skip


def test_the_surface_of_a_placement_has_a_pose_of_its_own(store):
    study, condition = new_condition(store)
    top = placed(0.5, 0.25, 0.7, math.pi / 2)
    session(store, condition, CONFIG,
            ("place", placement("Cup", 0.1, 0.2, math.pi, z=0.01, surface=top)))  # fmt: skip
    (there,) = told(find(parsed(store, study).training, "Cup", TABLE))
    assert there == about(0.5 - 0.2, 0.25 + 0.1, 0.71, -math.pi / 2)


@pytest.mark.parametrize(("x", "seen"), [(0.0, 0.5), (0.125, -0.375), (-0.125, 0.375)])
def test_the_nearest_instance_counts_and_the_first_of_equals(store, x, seen):
    spots = [sized("spot", 0.1, 0.1, **placed(at, 0.0, 0.7)) for at in (-0.5, 0.5)]
    world = configuration(Kitchen=[piece("Bar", 2.0, 0.5, placed(0.0, 0.0), spots)])
    study, condition = new_condition(store)
    put = placement("Vase", x, 0.0, room="Kitchen", furniture="Bar",
                    surface=placed(0.0, 0.0, 0.75))  # fmt: skip
    session(store, condition, ("config", world), ("place", put))
    (there,) = told(find(parsed(store, study).training, "Vase", "spot"))
    assert there == about(seen, 0.0, 0.05, 0.0)


def test_other_items_count_before_and_after_on_the_same_furniture_only(store):
    study, condition = new_condition(store)
    elsewhere = {"room": "Living Room", "furniture": "TV", "at": placed(0.0, 1.5)}
    session(
        store, condition, CONFIG,
        ("place", placement("Cup", 0.0, 0.0)),
        ("place", placement("Plate", 1.0, 0.0)),
        ("place", placement("Plate", 0.25, 0.0)),
        ("place", placement("Plate", 0.1, 0.0, **elsewhere)),
    )  # fmt: skip
    session(store, condition, CONFIG, ("place", placement("Fork", 0.0, 0.0)), CONFIG)
    data = parsed(store, study).training
    assert told(find(data, "Cup", "Plate")) == [about(-0.25, 0.0, 0.0, 0.0)]
    assert told(find(data, "Plate", "Cup")) == [
        about(1.0, 0.0, 0.0, 0.0), about(0.25, 0.0, 0.0, 0.0),
    ]  # fmt: skip
    assert {one.reference_frame_id for one in data.data if one.item.name == "Fork"} == {
        TABLE, "chair"}  # fmt: skip


def test_pieces_of_one_name_are_told_apart_by_where_they_stand(store):
    left, right = placed(-1.0, 0.0), placed(1.0, 0.0)
    world = configuration(
        Kitchen=[
            piece("Counter", 1.08, 0.82, left, [sized("sink", 0.1, 0.1, **placed(0.5, 0.0))]),
            piece("Counter", 0.9, 0.82, right),
        ]
    )
    study, condition = new_condition(store)
    session(
        store, condition, ("config", world),
        ("place", placement("Plate", 0.1, 0.0, room="Kitchen", furniture="Counter", at=left)),
        ("place", placement("Cup", 0.2, 0.0, room="Kitchen", furniture="Counter", at=right)),
        ("place", placement("Fork", 0.3, 0.0, room="Kitchen", furniture="Counter", at=left)),
    )  # fmt: skip
    data = parsed(store, study).training
    pairs = {(one.item.name, one.reference_frame_id) for one in data.data}
    assert pairs == {
        ("Plate", "Counter"), ("Plate", "sink"), ("Plate", "Fork"), ("Cup", "Counter"),
        ("Fork", "Counter"), ("Fork", "sink"), ("Fork", "Plate"),
    }  # fmt: skip
    assert find(data, "Cup", "Counter").surface.width == 0.9


def test_a_quarter_to_the_left_is_not_one_to_the_right(store):
    study, condition = new_condition(store)
    turns = (-math.pi / 2, math.pi / 2, -2.5, 3.5, -math.pi, 0.0)
    session(store, condition, CONFIG,
            *(("place", placement("Cup", 0.0, 0.0, turn)) for turn in turns))  # fmt: skip
    signed = find(parsed(store, study).training, "Cup", TABLE)
    assert [p.rotation for p in signed.placements] == pytest.approx(
        [-math.pi / 2, math.pi / 2, -2.5, 3.5 - math.tau, math.pi, 0.0])  # fmt: skip
    lost = find(parsed(store, study, unsigned_yaw=True).training, "Cup", TABLE)
    assert [p.rotation for p in lost.placements] == pytest.approx(
        [math.pi / 2, math.pi / 2, math.tau - 2.5, 3.5, math.pi, 0.0])  # fmt: skip


def test_sessions_need_not_be_completed_nor_begin_with_the_configuration(store):
    study, condition = new_condition(store)
    session(store, condition, ("place", placement("Cup", 0.1, 0.0)), CONFIG)
    session(store, condition, CONFIG, ("place", placement("Cup", 0.2, 0.0)),
            ("completion", {"completion": "12.9876"}))  # fmt: skip
    result = parsed(store, study)
    one = find(result.training, "Cup", TABLE)
    assert [p.position.x for p in one.placements] == about(0.1, 0.2)
    assert one.item.width == 0.061
    assert (result.sessions, result.completed) == (2, 1)


@pytest.mark.parametrize(("small", "kept"), [(4, False), (5, True)])
def test_a_set_of_five_percent_is_kept(store, small, kept):
    study, condition = new_condition(store)
    session(store, condition, CONFIG,
            *(("place", placement("Cup", 0.01 * k, 0.0)) for k in range(100 - small)),
            *(("place", placement("Plate", 0.01 * k, 0.0, room="Living Room", furniture="TV",
                                  at=placed(0.0, 1.5))) for k in range(small)))  # fmt: skip
    result = parsed(store, study)
    assert result.placements == 100
    sets = {(one.item.name, one.reference_frame_id) for one in result.training.data}
    assert (("Plate", "TV") in sets) == kept
    dropped = [(left.where, left.reason) for left in result.skipped]
    wanted = ("set 'Plate' by 'TV' on 'TV' in 'Living Room'",
              "it has 4 of 100 placements, at least 5 were expected")  # fmt: skip
    assert dropped == ([] if kept else [wanted])
    assert ("Plate", "TV") in {
        (one.item.name, one.reference_frame_id)
        for one in parsed(store, study, least_share=0.0).training.data
    }


def test_what_cannot_be_used_is_told(store):
    study, condition = new_condition(store)
    good = ("place", placement("Cup", 0.1, 0.0))
    first = session(store, condition, CONFIG, good, ("place", "{oops"), ("place", "[]"),
                    ("score", "7"), ("place", placement("Bowl", 0.0, 0.0)),
                    ("place", placement("Cup", 0.0, 0.0, room="Garage")),
                    ("place", placement("Cup", 0.0, 0.0, furniture="Shelf")),
                    ("config", {"objects": 3}), ("config", configuration({"Cup": (1.0, 2.0)})),
                    ("place", '{"name": "Dining Room", "furniture": {"name": "x", "position": '
                              '{"x": NaN, "y": 0, "z": 0}, "rotation": 0, "surface": '
                              '{"object": {"name": "Cup"}}}}'))  # fmt: skip
    second = session(store, condition, CONFIG)
    third = session(store, condition, good, good)
    crowded = store.add_slot(condition)
    for _ in range(2):
        store.add_appointment(crowded)
    empty = store.add_slot(condition)
    result = parsed(store, study)
    start = store.logs(first)[0].id
    reasons = [(left.where, left.reason) for left in result.skipped]
    log = f"session {first}, log "
    assert reasons == [
        (f"{log}{start + 2}", "the entry is no JSON: Expecting property name enclosed in double "
                              "quotes: line 1 column 2 (char 1)"),
        (f"{log}{start + 3}", "place: found [], expected an object"),
        (f"{log}{start + 4}", "place: found 7, expected an object"),
        (f"{log}{start + 8}", "config.objects: found 3, expected a list"),
        (f"{log}{start + 9}", "the session has another configuration already, which counts"),
        (f"{log}{start + 10}", "place.furniture.position.x: found nan, expected a finite number"),
        (f"{log}{start + 5}", "the configuration has no item 'Bowl'"),
        (f"{log}{start + 6}", "the configuration has no room 'Garage'"),
        (f"{log}{start + 7}", "the room 'Dining Room' has no furniture 'Shelf'"),
        (f"session {second}", "it logged 1 things, more than one was expected"),
        (f"session {third}", "it has no configuration, so 2 placements are lost"),
        (f"slot {crowded}", "it has 2 sessions, one was expected"),
        (f"slot {empty}", "nobody took it"),
    ]  # fmt: skip
    assert told(find(result.training, "Cup", TABLE)) == [about(0.1, 0.0, 0.705, 0.0)]
    assert (result.sessions, result.placements) == (1, 10)
    with pytest.raises(InteractiveError, match=rf"condition {condition}, {log}{start + 2}: .*JSON"):
        parse_study(store, study, strict=True)


def test_old_rows_with_escapes_and_without_dates_are_read(url):
    with Store(url) as store:
        study, condition = new_condition(store)
        name = "O'Brien's <\"cup\"> & saucer; DROP TABLE logs"
        number = session(store, condition, ("config", configuration({name: (0.1, 0.1)})),
                         ("place", placement(name, 0.1, 0.2)))  # fmt: skip
        engine = sqlalchemy.create_engine(store._url)
        with engine.begin() as connection:
            for table in ("studies", "conditions", "slots", "appointments", "logs"):
                connection.exec_driver_sql(f"UPDATE {table} SET modified = NULL, created = NULL")
            raw = connection.exec_driver_sql("SELECT entry FROM logs ORDER BY id").scalars().all()
        engine.dispose()
        assert all("&quot;" in entry and '"' not in entry for entry in raw)
        assert {log.created for log in store.logs(number)} == {None}
    with Store(url, create=False) as store:
        assert told(find(parsed(store, study).training, name, TABLE)) == [
            about(0.1, 0.2, 0.705, 0.0)]  # fmt: skip


def test_conditions_come_apart_and_unknown_studies_are_refused(store):
    study, first = new_condition(store)
    second = store.add_condition(study, "Interactive World Task 1")
    session(store, first, CONFIG, ("place", placement("Cup", 0.1, 0.0)))
    session(store, second, CONFIG, ("place", placement("Plate", 0.1, 0.0)))
    one, other = parse_study(store, study)
    assert (one.condition.id, other.condition.id) == (first, second)
    assert {entry.item.name for entry in one.training.data} == {"Cup"}
    assert {entry.item.name for entry in other.training.data} == {"Plate"}
    with pytest.raises(StoreError, match="no study 99"):
        parse_study(store, 99)
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(InteractiveError, match="least share"):
            parse_study(store, study, least_share=share)


def test_each_log_is_read_once(store, monkeypatch):
    study, condition = new_condition(store)
    for _ in range(5):
        session(store, condition, CONFIG, *(("place", placement("Cup", 0.1, 0.0)),) * 20)
    read = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text: read.append(text) or loads(text))
    parsed(store, study)
    assert len(read) == 5 * 21


numbers = st.floats(-100.0, 100.0)
level_poses = st.builds(LevelPose, numbers, numbers, numbers, st.floats(-7.0, 7.0).map(wrapped))


@given(level_poses, level_poses)
def test_a_pose_seen_from_another_comes_back(a, b):
    back = a @ a.seen(b)
    assert (back.x, back.y, back.z) == pytest.approx((b.x, b.y, b.z), abs=1e-9)
    assert abs(wrapped(back.yaw - b.yaw)) < 1e-9
    assert -math.pi < back.yaw <= math.pi


def test_facing_backwards_is_one_way_whatever_rounding_does():
    for k in range(-8, 9):
        for off in (0.0, 1e-15, -1e-15):
            assert wrapped(math.pi * (2 * k + 1) + off) == pytest.approx(math.pi)
