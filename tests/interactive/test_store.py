"""Stores: one suite on SQLite, a real MariaDB and a real PostgreSQL."""

from __future__ import annotations

import dataclasses
import logging
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from irsim_isaac.errors import StoreError
from irsim_isaac.interactive import Observation, Store
from irsim_isaac.msg import Point
from irsim_isaac.msg.interactive_world import Item, Model, Placement, TaskModels
from tests.interactive import servers
from tests.interactive.conftest import new_database

sqlalchemy = pytest.importorskip("sqlalchemy")

HOSTILE = [
    "O'Brien's \"cup\"; DROP TABLE swms; --",
    "a\\'); DELETE FROM swms WHERE ('1'='1",
    "Straße ☕ 😀",
    "%_`:name {0} $1",
]


@pytest.fixture
def store(url, clock):
    with Store(url, clock=clock) as opened:
        yield opened


def models(value: float, name: str = "Cup") -> TaskModels:
    placement = Placement(Item(name, 0.1, 0.2), position=Point(value, 0.1 + 0.2, 0.0))
    return TaskModels([Model(placement, 1.0 / 3.0, 0.1, 0.2, 0.0, 0.3)])


def condition(store: Store) -> int:
    return store.add_condition(store.add_study("Study"), "Interactive World Task 1")


def test_observations_come_back_exactly_and_newest_first(store):
    seen = [
        Observation(name, name[::-1], 0.1 * i, -1e-17, 1e9 / 3.0, math.pi, 1 / 3, "f", "p;'")
        for i, name in enumerate(HOSTILE)
    ]
    ids = [store.add_observation(entry) for entry in seen]
    assert len(set(ids)) == len(ids)
    expected = [
        dataclasses.replace(entry, id=ids[i], time=1_700_000_000.25 + i)
        for i, entry in enumerate(seen)
    ]
    assert store.observations() == expected[::-1]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_compared_in_any_case(store, name):
    store.add_observation(Observation(name, name))
    store.add_observation(Observation("Other", "other"))
    for text in (name, name.upper(), name.lower()):
        assert [seen.item for seen in store.observations(item=text)] == [name]
        assert [seen.surface for seen in store.observations(surface=text)] == [name]
    assert store.observations(item=name + "x") == []


def test_removing_closes_what_is_open_and_only_that(store):
    ids = [store.add_observation(Observation("Table", f"cup {i}")) for i in range(3)]
    assert store.set_removed([]) == 0
    assert store.set_removed([ids[0], 999_999]) == 1
    first = store.observations(removed=True)
    assert [seen.id for seen in first] == [ids[0]]
    assert store.set_removed(ids[:2]) == 1
    closed = {seen.id: seen.removed for seen in store.observations(removed=True)}
    assert closed[ids[0]] == first[0].removed < closed[ids[1]]
    assert [seen.id for seen in store.observations()] == [ids[2]]
    assert len(store.observations(removed=None)) == 3


def test_models_are_replaced_in_one_row(store):
    number = condition(store)
    with pytest.raises(StoreError, match="nothing is learned"):
        store.load_models(number)
    store.save_models(number, models(1.0))
    store.save_models(number, models(0.1 + 0.7, HOSTILE[0]))
    assert store.load_models(number) == models(0.1 + 0.7, HOSTILE[0])
    assert len(store._rows("iwmodels")) == 1


def test_models_of_no_condition_or_no_number_are_refused(store):
    with pytest.raises(StoreError, match="no condition 4711"):
        store.save_models(4711, models(1.0))
    number = condition(store)
    with pytest.raises(StoreError, match="not finite"):
        store.save_models(number, models(math.nan))


def test_studies_hang_together(store):
    study = store.add_study("It's a study; really")
    number = store.add_condition(study, "Task")
    slot = store.add_slot(number)
    session = store.add_appointment(slot)
    entries = ['{"name": "Cup & \'Saucer\'"}', '{"a": "<b>"}']
    for text in entries:
        store.add_log(session, "place", text)
    assert [entry.name for entry in store.studies()] == ["It's a study; really"]
    assert [entry.id for entry in store.conditions(study)] == [number]
    assert [entry.id for entry in store.slots(number)] == [slot]
    assert [entry.id for entry in store.appointments(slot)] == [session]
    assert [log.entry for log in store.logs(session)] == entries
    with pytest.raises(StoreError, match="no study 99"):
        store.conditions(99)


def test_a_transaction_is_whole_or_nothing(store):
    with store.transaction():
        store.add_observation(Observation("Table", "kept"))
        store.add_observation(Observation("Table", "kept too"))
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.add_observation(Observation("Table", "lost"))
        1 / 0  # noqa: B018  # the interruption
    assert {seen.item for seen in store.observations()} == {"kept", "kept too"}


def test_two_writers_lose_nothing(url, clock):
    with Store(url) as first:
        number = condition(first)
    problems = []

    def write(name: str) -> None:
        try:
            with Store(url) as store:
                for index in range(25):
                    with store.transaction():
                        store.add_observation(Observation(name, f"{name} {index}"))
                        store.save_models(number, models(float(index), name))
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("A", "B")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    with Store(url) as store:
        items = sorted(seen.item for seen in store.observations())
        assert items == sorted(f"{name} {index}" for name in "AB" for index in range(25))
        assert store.load_models(number).models[0].placement.position.x == 24.0


KILLED = """
import sys, time
from irsim_isaac.interactive import Observation, Store
store = Store(sys.argv[1])
store.add_observation(Observation("Table", "before"))
with store.transaction():
    for index in range(20):
        store.add_observation(Observation("Table", f"within {index}"))
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_kill_in_mid_transaction_leaves_nothing_half_written(url):
    Store(url).close()
    process = subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with Store(url) as store:
        assert [seen.item for seen in store.observations()] == ["before"]
        store.add_observation(Observation("Table", "after"))
        assert [seen.item for seen in store.observations()] == ["after", "before"]


@dataclasses.dataclass
class Narrow:
    """A database whose room can be taken away and given back."""

    url: str
    fill: Callable[[Store], None]
    free: Callable[[], None]


def limit_pages(store: Store) -> None:
    def limit(connection, record):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    sqlalchemy.event.listen(store._engine, "connect", limit)


@pytest.fixture(
    params=["sqlite disk", "sqlite pages", "mariadb disk", "mariadb files", "postgresql disk",
            "postgresql files"]
)  # fmt: skip
def narrow(request, tmp_path) -> Iterator[Narrow]:
    """Full disks where one can be mounted, and the nearest that needs no leave."""
    kind, room = request.param.split()
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path / 'store.db'}"
        if room == "pages":
            yield Narrow(url, limit_pages, lambda: None)
            return
        with servers.disk(tmp_path, 8_000_000):
            yield Narrow(url, lambda _: servers.fill(tmp_path), lambda: servers.free(tmp_path))
        return
    with getattr(servers, kind)(room) as server:
        url = new_database(server.url, "mysql" if kind == "mariadb" else "postgres")
        yield Narrow(url, lambda _: server.fill(), server.free)


def test_a_full_disk_keeps_what_was_there(narrow):
    with Store(narrow.url) as store:
        number = condition(store)
        store.save_models(number, models(1.0))
        for index in range(10):
            store.add_observation(Observation("Table", f"early {index}"))
        early = store.observations()
        # The limits are those of connections made later.
        store.disconnect()
        narrow.fill(store)
        full = "is full|disk is full|No space left|wrote only"
        with pytest.raises(StoreError, match=full), store.transaction():
            store.save_models(number, models(2.0))
            for _ in range(20_000):
                store.add_observation(Observation("Table" + "☕" * 200, "late" * 50))
        # MariaDB's server does not outlive a full disk: it is the disk that is mended first.
        narrow.free()
        store.disconnect()
        assert store.observations(removed=None) == early
        assert store.load_models(number) == models(1.0)
    with Store(narrow.url) as store:
        assert store.observations(removed=None) == early
        store.add_observation(Observation("Table", "after"))
        store.save_models(number, models(3.0))
        assert store.observations()[1:] == early
        assert store.load_models(number) == models(3.0)


def test_models_that_do_not_fit_leave_the_old_ones(tmp_path):
    with Store(str(tmp_path / "store.db")) as store:
        number = condition(store)
        store.save_models(number, models(1.0))
        store.disconnect()
        limit_pages(store)
        with pytest.raises(StoreError, match="full"):
            store.save_models(number, TaskModels(models(2.0).models * 5000))
        assert store.load_models(number) == models(1.0)


@pytest.mark.parametrize(
    ("kind", "admin", "which", "lose"),
    [
        ("mariadb", "mysql", "SELECT CONNECTION_ID()", "KILL {}"),
        ("postgresql", "postgres", "SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})"),
    ],
)
def test_a_lost_connection_does_not_hide_why_a_change_was_given_up(
    request, kind, admin, which, lose
):
    url = new_database(request.getfixturevalue(kind), admin)
    other = sqlalchemy.create_engine(url)
    with Store(url) as store:
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.add_observation(Observation("Table", "lost"))
            with store._connection() as connection, other.connect() as killer:
                number = connection.exec_driver_sql(which).scalar()
                killer.exec_driver_sql(lose.format(number))
            1 / 0  # noqa: B018  # the interruption
        with pytest.raises(StoreError), store.transaction():
            with store._connection() as connection, other.connect() as killer:
                number = connection.exec_driver_sql(which).scalar()
                killer.exec_driver_sql(lose.format(number))
            store.add_observation(Observation("Table", "lost too"))
        assert store.observations() == []
    other.dispose()


def test_opening_again_changes_nothing(url, clock):
    with Store(url, clock=clock) as store:
        store.add_observation(Observation("Table", "cup"))
        before = store.observations()
    with Store(url, clock=clock) as store:
        assert store.version == 2
        assert store.observations() == before


def test_several_open_an_empty_database_at_once(url):
    problems = []
    together = threading.Barrier(3)

    def opened(name: str) -> None:
        together.wait()
        try:
            with Store(url) as store:
                store.add_observation(Observation("Table", name))
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=opened, args=(name,)) for name in "ABC"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    with Store(url) as store:
        assert sorted(seen.item for seen in store.observations()) == ["A", "B", "C"]
        with store._connection() as connection:
            rows = connection.exec_driver_sql("SELECT version FROM irsim_isaac_version").all()
    assert {tuple(row) for row in rows} == {(2,)}


def test_a_later_version_is_refused(url):
    with Store(url) as store, store._connection() as connection:
        connection.exec_driver_sql("UPDATE irsim_isaac_version SET version = 99")
    for create in (True, False):
        with pytest.raises(StoreError, match="version 99"):
            Store(url, create=create)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_none_are_refused(store, bad):
    with pytest.raises(StoreError, match="finite"):
        store.add_observation(Observation("Table", "cup", x=bad))
    with pytest.raises(StoreError, match="characters"):
        store.add_observation(Observation("Table", "x" * 300))
    assert store.observations(removed=None) == []


@pytest.mark.parametrize(
    "secret_url",
    [
        "mysql+pymysql://ros:s3cr3t@127.0.0.1:1/rms",
        "postgresql+psycopg://ros:s3cr3t@127.0.0.1:1/rms",
        "oracle://ros:s3cr3t@host/rms",
        "://s3cr3t",
    ],
)
def test_no_error_shows_a_password(secret_url, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreError) as caught:
        Store(secret_url, timeout=1.0)
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cr3t" not in f"{error!r}{error}"
        error = error.__cause__
    assert "s3cr3t" not in caplog.text


def test_a_wrong_password_shows_nowhere(mariadb, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "s3cr3t"
    bad = mariadb.format(database="mysql").replace("root@", f"nobody:{secret}@")
    with pytest.raises(StoreError) as caught:
        Store(bad, create=False)
    assert "denied" in str(caught.value).lower()
    assert secret not in f"{caught.value!r}{caught.value}{caplog.text}"


@pytest.mark.parametrize(
    "value",
    [
        '{"models": [{"decision_value": 2, "placement": {"item": {"name": "Cup"}}}]}',
        '{"Iwmodel": {"id": "1", "value": "{\\"models\\": [{\\"decision_value\\": 2.0, '
        '\\"placement\\": {\\"item\\": {\\"name\\": \\"Cup\\"}}}]}"}}',
        '"{\\"models\\": [{\\"decision_value\\": 2.0, \\"placement\\": {\\"item\\": '
        '{\\"name\\": \\"Cup\\"}}}]}"',
    ],
)
def test_old_forms_of_models_are_read(tmp_path, value):
    with Store(str(tmp_path / "store.db")) as store:
        store._insert("iwmodels", condition_id=condition(store), value=value)
        (model,) = store.load_models(1).models
        assert (model.placement.item.name, model.decision_value) == ("Cup", 2.0)


@pytest.mark.parametrize(
    "value", ["", "[1]", '{"models": 3}', '{"models": [{"sigma_x": NaN}]}', "{"]
)
def test_what_is_no_model_is_refused(tmp_path, value):
    with Store(str(tmp_path / "store.db")) as store:
        store._insert("iwmodels", condition_id=condition(store), value=value)
        with pytest.raises(StoreError, match="models of condition 1"):
            store.load_models(1)


def test_a_closed_store_refuses_and_a_disconnected_one_connects_again(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.add_observation(Observation("Table", "cup"))
    store.disconnect()
    assert len(store.observations()) == 1
    store.close()
    store.close()
    for ask in (store.observations, store.studies, lambda: store.set_removed([1])):
        with pytest.raises(StoreError, match="it is closed"):
            ask()
