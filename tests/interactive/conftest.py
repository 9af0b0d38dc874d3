"""Stores in every kind of database, and a small world."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interactive import servers

sqlalchemy = pytest.importorskip("sqlalchemy")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    with servers.mariadb() as server:
        yield server.url


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with servers.postgresql() as server:
        yield server.url


def new_database(template: str, administration: str) -> str:
    """Make a database and return its URL."""
    name = f"iw_{next(_numbers)}"
    engine = sqlalchemy.create_engine(
        template.format(database=administration), isolation_level="AUTOCOMMIT"
    )
    for attempt in range(50):
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            break
        except sqlalchemy.exc.OperationalError:
            # The socket is there a moment before the server takes connections.
            if attempt == 49:
                raise
            time.sleep(0.1)
    engine.dispose()
    return template.format(database=name)


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    template = request.getfixturevalue(request.param)
    return new_database(template, "mysql" if request.param == "mariadb" else "postgres")


@pytest.fixture
def clock() -> Callable[[], float]:
    """A clock that is a second later each time."""
    ticks = itertools.count(1_700_000_000)
    return lambda: next(ticks) + 0.25
