"""Where studies, observations and models are kept: SQLite, MariaDB, MySQL or PostgreSQL."""

from __future__ import annotations

import html
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local
from typing import Any

from irsim_isaac.errors import StoreError
from irsim_isaac.interactive.database import (
    VERSION,
    engine_of,
    from_datetime,
    migrate,
    reflected,
    sqlalchemy,
    to_datetime,
    told,
    upsert,
    version_of,
)
from irsim_isaac.interactive.observations import Observation
from irsim_isaac.msg.interactive_world import TaskModels

__all__ = ["Appointment", "Condition", "Log", "Slot", "Store", "Study"]

_NAME_LENGTH = 255

_OPENINGS = 6
"""How often an empty database is tried that somebody else fills at the same time."""


@dataclass(frozen=True, slots=True)
class Study:
    """A study of the Robot Management System."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a study: one task."""

    id: int
    name: str
    study_id: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A time in which a condition may be taken."""

    id: int
    condition_id: int


@dataclass(frozen=True, slots=True)
class Appointment:
    """A session; who took part in it is not read."""

    id: int
    slot_id: int


@dataclass(frozen=True, slots=True)
class Log:
    """What was logged in a session.

    Attributes:
        id: What it is called in the store.
        appointment_id: The session.
        label: Such as ``config``, ``place`` or ``completion``.
        entry: What was logged, the escapes of the web application undone.
        created: When [s], UTC; None where nobody knows.
    """

    id: int
    appointment_id: int
    label: str
    entry: str
    created: float | None


class Store:
    """Studies, observations and models, in a database.

    A change is kept whole or not at all. Names are compared in any case. Times are UTC, from
    the given clock.

    Args:
        url: A file of SQLite, or a URL: ``sqlite:///file``, ``mariadb://``, ``mysql://`` or
            ``postgresql://``. No message and no ``repr`` shows its password.
        create: Make the tables and bring them to this version. Without it an old installation
            is left as it is, and can be read.
        clock: The time [s] since 1970, UTC.
        timeout: How long to wait for another writer, and for a connection [s].

    Raises:
        StoreError: The database cannot be reached, or is of a later version.
        MissingPackageError: SQLAlchemy or the driver is not installed.
    """

    def __init__(
        self,
        url: str = "sqlite:///interactive_world.db",
        *,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        timeout: float = 30.0,
    ) -> None:
        sa = sqlalchemy()
        text = url if "://" in url else f"sqlite:///{url}"
        try:
            parsed = sa.engine.make_url(text)
        except sa.exc.ArgumentError:
            raise StoreError("the store's URL cannot be read; expected kind://...") from None
        self._open(parsed, create, clock, timeout)

    @classmethod
    def of_credentials(
        cls,
        *,
        host: str,
        port: int = 0,
        user: str = "",
        password: str = "",
        database: str = "",
        clock: Callable[[], float] = time.time,
        timeout: float = 10.0,
    ) -> Store:
        """Open the MySQL database of a LearnModels request.

        Args:
            host: Its host.
            port: Its port; 0 for the usual one.
            user: Who connects.
            password: That user's password.
            database: Its name.
            clock: The time [s] since 1970, UTC.
            timeout: How long to wait [s].
        """
        store = cls.__new__(cls)
        url = sqlalchemy().engine.URL.create(
            "mysql+pymysql", user or None, password or None, host, port or None, database or None
        )
        store._open(url, False, clock, timeout)
        return store

    def _open(self, url: Any, create: bool, clock: Callable[[], float], timeout: float) -> None:
        self._url = url
        self._clock = clock
        self._current = local()
        self._closed = False
        self._engine = engine_of(url, timeout)
        self._tables: dict[str, Any] = {}
        try:
            if create:
                self._migrate()
            with self._connection() as connection:
                self.version: int = version_of(connection)
                if self.version > VERSION:
                    raise StoreError(
                        f"{self!r}: is of version {self.version}, at most {VERSION} was expected"
                    )
                self._tables = reflected(connection)
        except BaseException:
            # Whoever was refused has no store to close.
            self.close()
            raise

    def _migrate(self) -> None:
        """Bring the tables to this version; who opens an empty database at the same time waits."""
        for left in reversed(range(_OPENINGS)):
            try:
                with self._connection() as connection:
                    migrate(connection)
            except StoreError:
                # MariaDB keeps each table as it is made: the other one may just have made it.
                if not left or not self._reachable():
                    raise
                time.sleep(0.05 * (_OPENINGS - left))
            else:
                return

    def _reachable(self) -> bool:
        try:
            with self._connection() as connection:
                return version_of(connection) <= VERSION
        except StoreError:
            return False

    def __repr__(self) -> str:
        return f"Store({self._url.set(query={}).render_as_string(hide_password=True)!r})"

    def disconnect(self) -> None:
        """Close all connections; what is asked next opens new ones."""
        self._engine.dispose()

    def close(self) -> None:
        """Close all connections; everything asked afterwards is an error, closing again is none."""
        self._closed = True
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep everything that is done inside, or where it raises nothing of it."""
        with self._connection():
            yield

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Give the connection of this thread's transaction, beginning one where there is none."""
        inner = getattr(self._current, "connection", None)
        if inner is not None:
            yield inner
            return
        if self._closed:
            raise StoreError(f"{self!r}: it is closed")
        sa = sqlalchemy()
        first: BaseException | None = None
        try:
            with self._engine.begin() as connection:
                self._current.connection = connection
                try:
                    yield connection
                except BaseException as error:
                    first = error
                    raise
                finally:
                    self._current.connection = None
        except sa.exc.SQLAlchemyError as error:
            # A server that dies while it takes a change back says why before, and not then.
            problem: BaseException = first or error
            if isinstance(problem, sa.exc.SQLAlchemyError):
                problem = StoreError(f"{self!r}: {told(problem, self._url)}")
        else:
            return
        # Raised here, so that no chained exception carries what the driver was given.
        raise problem

    def _table(self, name: str) -> Any:
        try:
            return self._tables[name]
        except KeyError:
            raise StoreError(
                f"{self!r}: has no table '{name}'; open it with create=True to make it"
            ) from None

    # -------------------------------------------------------------- studies

    def studies(self) -> list[Study]:
        """Return all studies by id."""
        return [Study(row.id, row.name) for row in self._rows("studies")]

    def conditions(self, study_id: int) -> list[Condition]:
        """Return the conditions of a study by id.

        Raises:
            StoreError: There is no such study.
        """
        if not self._rows("studies", id=study_id):
            raise StoreError(f"{self!r}: there is no study {study_id}")
        rows = self._rows("conditions", study_id=study_id)
        return [Condition(row.id, row.name, row.study_id) for row in rows]

    def slots(self, condition_id: int) -> list[Slot]:
        """Return the slots of a condition by id."""
        rows = self._rows("slots", condition_id=condition_id)
        return [Slot(row.id, row.condition_id) for row in rows]

    def appointments(self, slot_id: int) -> list[Appointment]:
        """Return the sessions of a slot by id."""
        return [
            Appointment(row.id, row.slot_id) for row in self._rows("appointments", slot_id=slot_id)
        ]

    def logs(self, appointment_id: int) -> list[Log]:
        """Return what was logged in a session, in order."""
        return [
            Log(
                row.id,
                row.appointment_id,
                row.label,
                html.unescape(row.entry),
                from_datetime(getattr(row, "created", None)),
            )
            for row in self._rows("logs", appointment_id=appointment_id)
        ]

    def _rows(self, name: str, **equal: Any) -> Sequence[Any]:
        sa = sqlalchemy()
        table = self._table(name)
        # Who took part is nobody's business here.
        columns = [item for item in table.c if item.name != "user_id"]
        query = sa.select(*columns).order_by(table.c.id)
        for key, value in equal.items():
            query = query.where(table.c[key] == value)
        with self._connection() as connection:
            rows: Sequence[Any] = connection.execute(query).all()
        return rows

    def add_study(self, name: str) -> int:
        """Keep a study and return its id."""
        return self._insert("studies", name=_name(name, 64))

    def add_condition(self, study_id: int, name: str) -> int:
        """Keep a condition of a study and return its id."""
        return self._insert("conditions", study_id=study_id, name=_name(name, 64))

    def add_slot(self, condition_id: int) -> int:
        """Keep a slot of a condition and return its id."""
        return self._insert("slots", condition_id=condition_id)

    def add_appointment(self, slot_id: int) -> int:
        """Keep a session in a slot and return its id."""
        return self._insert("appointments", slot_id=slot_id)

    def add_log(self, appointment_id: int, label: str, entry: str) -> int:
        """Keep what was logged in a session and return its id.

        Args:
            appointment_id: The session.
            label: What kind of entry it is.
            entry: The entry; it is escaped as the web application does.
        """
        return self._insert(
            "logs",
            appointment_id=appointment_id,
            type_id=3,
            label=_name(label),
            entry=html.escape(entry),
        )

    def _insert(self, table_name: str, /, **values: Any) -> int:
        sa = sqlalchemy()
        table = self._table(table_name)
        now = to_datetime(self._clock())
        for key in ("created", "modified"):
            if key in table.c:
                values[key] = now
        for key in ("anonymous", "otf", "parallel", "repeatable"):
            if key in table.c:
                values[key] = False
        with self._connection() as connection:
            return int(
                connection.execute(sa.insert(table).values(**values)).inserted_primary_key[0]
            )

    # -------------------------------------------------------------- observations

    def add_observation(self, seen: Observation) -> int:
        """Keep an observation.

        Args:
            seen: What was seen; without a time it was now.

        Returns:
            What it is called in the store.
        """
        sa = sqlalchemy()
        table = self._table("swms")
        values = {
            "surface": _name(seen.surface),
            "surface_frame_id": _name(seen.surface_frame_id, blank=True),
            "placement_surface_frame_id": _name(seen.placement_surface_frame_id, blank=True),
            "item": _name(seen.item),
            "item_conf": _finite("the confidence", seen.confidence),
            "x": _finite("x", seen.x),
            "y": _finite("y", seen.y),
            "z": _finite("z", seen.z),
            "theta": _finite("theta", seen.theta),
            "time": to_datetime(self._clock() if seen.time is None else seen.time),
            "item_key": seen.item.casefold(),
            "surface_key": seen.surface.casefold(),
        }
        if seen.removed is not None:
            values["removed"] = to_datetime(seen.removed)
        values = {key: value for key, value in values.items() if key in table.c}
        with self._connection() as connection:
            return int(
                connection.execute(sa.insert(table).values(**values)).inserted_primary_key[0]
            )

    def observations(
        self,
        *,
        item: str = "",
        surface: str = "",
        surface_frame_id: str = "",
        placement_surface_frame_id: str = "",
        removed: bool | None = False,
    ) -> list[Observation]:
        """Return what was seen, newest first.

        Args:
            item: The item; blank matches every one.
            surface: The surface.
            surface_frame_id: The frame of the surface.
            placement_surface_frame_id: The frame of the part.
            removed: What is still there, what is gone, or with None both.
        """
        sa = sqlalchemy()
        table = self._table("swms")
        query = sa.select(table).order_by(table.c.time.desc(), table.c.id.desc())
        for key, name in (("item_key", item), ("surface_key", surface)):
            if name and key in table.c:
                query = query.where(table.c[key] == name.casefold())
        with self._connection() as connection:
            rows = connection.execute(query).all()
        wanted = {
            "item": item,
            "surface": surface,
            "surface_frame_id": surface_frame_id,
            "placement_surface_frame_id": placement_surface_frame_id,
        }
        found = [_observation(row) for row in rows]
        return [
            seen
            for seen in found
            if (removed is None or (seen.removed is not None) == removed)
            and all(
                not text or getattr(seen, key).casefold() == text.casefold()
                for key, text in wanted.items()
            )
        ]

    def set_removed(self, ids: Sequence[int], *, at: float | None = None) -> int:
        """Keep that what was seen is gone.

        Args:
            ids: The observations; those that are unknown or gone already stay as they are.
            at: When [s], UTC; now unless told.

        Returns:
            How many are gone now that were there before.

        Raises:
            StoreError: The store is of an old installation that cannot keep it.
        """
        if not ids:
            return 0
        sa = sqlalchemy()
        table = self._table("swms")
        if "removed" not in table.c:
            raise StoreError(
                f"{self!r}: its observations have no column 'removed'; open it with create=True"
            )
        when = to_datetime(self._clock() if at is None else at)
        # A zero date of an old installation is before every date there is.
        open_rows = sa.or_(table.c.removed.is_(None), table.c.removed < to_datetime(1.0))
        with self._connection() as connection:
            result = connection.execute(
                sa.update(table)
                .where(table.c.id.in_([int(number) for number in ids]), open_rows)
                .values(removed=when)
            )
            return int(result.rowcount)

    # -------------------------------------------------------------- models

    def save_models(self, condition_id: int, models: TaskModels) -> None:
        """Keep what was learned for a condition, in place of what was kept before.

        Args:
            condition_id: The condition.
            models: The models; every number is finite.

        Raises:
            StoreError: There is no such condition, or a number is not finite.
        """
        table = self._table("iwmodels")
        content = models.to_dict()
        try:
            text = json.dumps(content, allow_nan=False)
        except ValueError:
            raise StoreError(
                f"the models of condition {condition_id} hold a number that is not finite"
            ) from None
        now = to_datetime(self._clock())
        values = {"condition_id": condition_id, "value": text, "created": now, "modified": now}
        values = {key: value for key, value in values.items() if key in table.c}
        with self._connection() as connection:
            if not self._rows("conditions", id=condition_id):
                raise StoreError(f"{self!r}: there is no condition {condition_id}")
            upsert(connection, table, "condition_id", values, {"created"})

    def load_models(self, condition_id: int) -> TaskModels:
        """Return what was learned for a condition.

        Raises:
            StoreError: Nothing was, or what is kept is no such models.
        """
        rows = self._rows("iwmodels", condition_id=condition_id)
        if not rows:
            raise StoreError(f"{self!r}: nothing is learned for condition {condition_id}")
        where = f"{self!r}: the models of condition {condition_id}"
        content: Any = rows[0].value
        # The old endpoint's answers hold the models as text within text.
        for _ in range(3):
            if isinstance(content, str):
                try:
                    content = json.loads(content, parse_constant=_refuse)
                except ValueError as error:
                    raise StoreError(f"{where} are no JSON: {error}") from None
            if isinstance(content, Mapping) and "Iwmodel" in content:
                content = content["Iwmodel"]
            if isinstance(content, Mapping) and "value" in content and "models" not in content:
                content = content["value"]
        if not isinstance(content, Mapping):
            raise StoreError(f"{where}: found {type(content).__name__}, expected models")
        try:
            models = TaskModels.from_dict(content)
        except (TypeError, ValueError) as error:
            raise StoreError(f"{where}: {error}") from None
        if not _all_finite(models.to_dict()):
            raise StoreError(f"{where} hold a number that is not finite")
        return models

    # -------------------------------------------------------------- dumps

    def read_dump(self, text: str) -> dict[str, int]:
        """Take over the rows of a dump of an old database, all or none.

        Args:
            text: What ``mysqldump`` wrote; rows of other tables are counted, not taken, and who
                took part in a session is not taken either. Zero dates become no date.

        Returns:
            The number of rows of each table of the dump; those not taken have a minus.

        Raises:
            StoreError: A statement cannot be read, or a row does not fit.
        """
        from irsim_isaac.interactive.dump import dump_rows

        sa = sqlalchemy()
        rows: dict[str, list[dict[str, Any]]] = {}
        for name, row in dump_rows(text):
            rows.setdefault(name, []).append(row)
        counts: dict[str, int] = {}
        with self._connection() as connection:
            for name, table in self._tables.items():
                kept = [_fitting(table, row) for row in rows.get(name, ())]
                for row in kept:
                    connection.execute(sa.insert(table).values(**row))
                if name in rows:
                    counts[name] = len(kept)
            self._continue_ids(connection)
        for name, left in rows.items():
            counts.setdefault(name, -len(left))
        return counts

    def _continue_ids(self, connection: Any) -> None:
        """Let PostgreSQL's sequences go on after ids that were given."""
        if connection.dialect.name != "postgresql":
            return
        sa = sqlalchemy()
        for name, table in self._tables.items():
            highest = connection.execute(sa.select(sa.func.max(table.c.id))).scalar()
            if highest:
                sequence = sa.func.pg_get_serial_sequence(name, "id")
                connection.execute(sa.select(sa.func.setval(sequence, highest)))


def _refuse(constant: str) -> None:
    raise ValueError(f"found {constant}, which is no number")


def _all_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_all_finite, value.values()))
    return all(map(_all_finite, value)) if isinstance(value, list) else True


def _finite(what: str, value: float) -> float:
    if not math.isfinite(value):
        raise StoreError(f"{what} is {value}, a finite number was expected")
    return float(value)


def _name(text: str, length: int = _NAME_LENGTH, *, blank: bool = False) -> str:
    if "\0" in text or len(text) > length or not (text or blank):
        raise StoreError(
            f"a name has {len(text)} characters, 1 to {length} without a zero byte were expected"
        )
    return text


def _observation(row: Any) -> Observation:
    return Observation(
        row.surface,
        row.item,
        float(row.x),
        float(row.y),
        float(row.z),
        float(row.theta),
        float(row.item_conf),
        str(getattr(row, "surface_frame_id", "") or ""),
        str(row.placement_surface_frame_id),
        from_datetime(row.time),
        from_datetime(getattr(row, "removed", None)),
        int(row.id),
    )


def _fitting(table: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a table takes of a dumped row, as its columns want it."""
    from irsim_isaac.interactive.dump import to_column

    values: dict[str, Any] = {}
    for column in table.c:
        if column.name == "user_id" or column.name not in row:
            continue
        values[column.name] = to_column(row[column.name], column)
    if table.name == "swms":
        values.setdefault("surface_frame_id", "")
        values["item_key"] = str(values["item"]).casefold()
        values["surface_key"] = str(values["surface"]).casefold()
    return {key: value for key, value in values.items() if key in table.c}
