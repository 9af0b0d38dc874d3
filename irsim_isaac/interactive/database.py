"""The one module that imports SQLAlchemy: tables, migrations and what each database wants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from types import ModuleType
from typing import Any

from irsim_isaac.errors import MissingPackageError, StoreError

__all__ = [
    "VERSION",
    "VERSION_TABLE",
    "engine_of",
    "from_datetime",
    "migrate",
    "reflected",
    "sqlalchemy",
    "tables",
    "to_datetime",
    "told",
    "upsert",
    "version_of",
]

VERSION = 2
"""The version of the tables that this package writes."""

VERSION_TABLE = "irsim_isaac_version"

_EPOCH = datetime(1970, 1, 1)
_DRIVERS = {"pymysql": "pymysql", "psycopg": "psycopg"}


@lru_cache(maxsize=1)
def sqlalchemy() -> ModuleType:
    """Return SQLAlchemy.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        import sqlalchemy as package
    except ImportError as error:
        raise MissingPackageError("sqlalchemy", "store") from error
    return package


def to_datetime(seconds: float) -> datetime:
    """Return seconds since 1970 as a time of UTC that carries no zone, to the microsecond."""
    return datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None)


def from_datetime(value: Any) -> float | None:
    """Return a time that a database gave as seconds since 1970; None for none and zero dates."""
    if value is None or isinstance(value, str):
        # The driver of MariaDB hands out what is no date as text: 0000-00-00 00:00:00.
        return None
    if value.tzinfo is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    seconds = (value - _EPOCH).total_seconds()
    return seconds if seconds > 0.0 else None


def told(error: Any, url: Any) -> str:
    """Return what a database complains about, in one line and without a password."""
    cause = getattr(error, "orig", None) or error
    arguments = getattr(cause, "args", ())
    text = " ".join(str(part) for part in arguments) or str(cause)
    text = " ".join(text.split())
    secrets = [url.password, *(str(value) for value in url.query.values())]
    for secret in secrets:
        if secret:
            text = text.replace(str(secret), "***")
    return text[:300]


@lru_cache(maxsize=1)
def tables() -> Any:
    """Return the metadata of the tables as they are made anew.

    Names and columns are those of the Robot Management System; beside them the observations
    have keys for comparing names in any case.
    """
    sa = sqlalchemy()
    from sqlalchemy.dialects import mysql

    meta = sa.MetaData()
    # DATETIME(6) and not TIMESTAMP: it is what was written, in every session's time zone.
    time = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    long_text = sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")
    identity = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    options = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin",
               "mariadb_engine": "InnoDB", "mariadb_charset": "utf8mb4",
               "mariadb_collate": "utf8mb4_bin"}  # fmt: skip

    def column(name: str, kind: Any, *rules: Any, **more: Any) -> Any:
        return sa.Column(name, kind, *rules, **more)

    def stamped() -> list[Any]:
        return [column("created", time), column("modified", time)]

    def owner(name: str, target: str, kind: Any, **more: Any) -> Any:
        rule = sa.ForeignKey(f"{target}.id", ondelete="CASCADE", onupdate="CASCADE")
        return column(name, kind, rule, nullable=False, **more)

    sa.Table(
        "studies", meta,
        column("id", sa.Integer, primary_key=True, autoincrement=True),
        column("name", sa.String(64), nullable=False),
        column("start", sa.Date), column("end", sa.Date), column("length", sa.Integer),
        *(column(name, sa.Boolean, nullable=False, default=False)
          for name in ("anonymous", "otf", "parallel", "repeatable")),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "conditions", meta,
        column("id", sa.Integer, primary_key=True, autoincrement=True),
        column("name", sa.String(64), nullable=False),
        owner("study_id", "studies", sa.Integer, index=True),
        column("iface_id", sa.Integer), column("environment_id", sa.Integer),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "slots", meta,
        column("id", sa.Integer, primary_key=True, autoincrement=True),
        owner("condition_id", "conditions", sa.Integer, index=True),
        column("start", time), column("end", time),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "appointments", meta,
        column("id", identity, primary_key=True, autoincrement=True),
        column("user_id", sa.Integer),
        owner("slot_id", "slots", sa.Integer, index=True),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "logs", meta,
        column("id", identity, primary_key=True, autoincrement=True),
        owner("appointment_id", "appointments", identity, index=True),
        column("type_id", sa.Integer), column("label", sa.String(255), nullable=False),
        column("entry", long_text, nullable=False),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "iwmodels", meta,
        column("id", sa.Integer, primary_key=True, autoincrement=True),
        owner("condition_id", "conditions", sa.Integer, unique=True),
        column("value", long_text, nullable=False),
        *stamped(), **options,
    )  # fmt: skip
    sa.Table(
        "swms", meta,
        column("id", sa.Integer, primary_key=True, autoincrement=True),
        *(column(name, sa.String(255), nullable=False)
          for name in ("surface", "surface_frame_id", "placement_surface_frame_id", "item")),
        *(column(name, sa.Double, nullable=False)
          for name in ("item_conf", "x", "y", "z", "theta")),
        column("time", time, nullable=False, index=True), column("removed", time),
        column("item_key", sa.String(255), index=True),
        column("surface_key", sa.String(255), index=True), **options,
    )  # fmt: skip
    return meta


def engine_of(url: Any, timeout: float) -> Any:
    """Return an engine whose transactions are whole and whose times are UTC.

    Args:
        url: A SQLAlchemy URL.
        timeout: How long to wait for another writer, and for a connection [s].

    Raises:
        StoreError: The database is of no kind that is known.
        MissingPackageError: Its driver is not installed.
    """
    sa = sqlalchemy()
    kind = url.get_backend_name()
    options: dict[str, Any] = {"hide_parameters": True}
    if kind == "sqlite":
        options["connect_args"] = {"timeout": timeout}
    elif kind in ("mysql", "mariadb"):
        if "+" not in url.drivername:
            url = url.set(drivername=f"{kind}+pymysql")
        options |= {
            "pool_pre_ping": True,
            "isolation_level": "READ COMMITTED",
            "connect_args": {
                "connect_timeout": max(1, int(timeout)),
                "charset": "utf8mb4",
                "init_command": "SET time_zone = '+00:00'",
            },
        }
    elif kind == "postgresql":
        if "+" not in url.drivername:
            url = url.set(drivername="postgresql+psycopg")
        options |= {
            "pool_pre_ping": True,
            "connect_args": {"connect_timeout": max(1, int(timeout)), "options": "-c timezone=UTC"},
        }
    else:
        raise StoreError(f"the store is a '{kind}', expected sqlite, mariadb, mysql or postgresql")
    try:
        engine = sa.create_engine(url, **options)
    except ImportError as error:
        driver = str(error.name or url.get_driver_name())
        raise MissingPackageError(_DRIVERS.get(driver, driver), "store") from None
    if kind == "sqlite":
        _whole_transactions(engine)
    return engine


def _whole_transactions(engine: Any) -> None:
    """Let SQLite take the lock when a transaction begins, so that two writers wait in line."""
    sa = sqlalchemy()

    @sa.event.listens_for(engine, "connect")  # type: ignore[untyped-decorator,unused-ignore]  # SQLAlchemy's
    def connected(connection: Any, record: Any) -> None:
        del record
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @sa.event.listens_for(engine, "begin")  # type: ignore[untyped-decorator,unused-ignore]  # SQLAlchemy's
    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def reflected(connection: Any) -> dict[str, Any]:
    """Return our tables that a database has, each with those of our columns that it has."""
    sa = sqlalchemy()
    inspector = sa.inspect(connection)
    names = set(inspector.get_table_names())
    found: dict[str, Any] = {}
    meta = sa.MetaData()
    for name, table in tables().tables.items():
        if name not in names:
            continue
        present = {entry["name"] for entry in inspector.get_columns(name)}
        columns = [
            sa.Column(item.name, item.type, primary_key=item.primary_key)
            for item in table.columns
            if item.name in present
        ]
        found[name] = sa.Table(name, meta, *columns)
    return found


def _version_table() -> Any:
    sa = sqlalchemy()
    return sa.Table(VERSION_TABLE, sa.MetaData(), sa.Column("version", sa.Integer))


def version_of(connection: Any) -> int:
    """Return the version of the tables of a database, 0 where it never had one."""
    sa = sqlalchemy()
    if VERSION_TABLE not in sa.inspect(connection).get_table_names():
        return 0
    value = connection.execute(sa.select(sa.func.max(_version_table().c.version))).scalar()
    return int(value or 0)


def migrate(connection: Any) -> Sequence[int]:
    """Bring the tables of a database to this package's version, whatever they are.

    Args:
        connection: A connection in a transaction.

    Returns:
        The versions that it went through.
    """
    sa = sqlalchemy()
    before = version_of(connection)
    if before > VERSION:
        raise StoreError(
            f"the store is of version {before}, at most {VERSION} was expected; update irsim_isaac"
        )
    done = []
    for version, step in ((1, _make_missing), (2, _complete_observations)):
        if version > before:
            step(connection)
            done.append(version)
    if done:
        table = _version_table()
        table.create(connection, checkfirst=True)
        connection.execute(sa.delete(table))
        connection.execute(sa.insert(table).values(version=VERSION))
    return done


def _make_missing(connection: Any) -> None:
    """Make the tables that are not there, those of an old installation left as they are."""
    tables().create_all(connection, checkfirst=True)


def _complete_observations(connection: Any) -> None:
    """Add what old observations lack, and write their keys."""
    sa = sqlalchemy()
    wanted = tables().tables["swms"]
    present = {entry["name"] for entry in sa.inspect(connection).get_columns("swms")}
    quote = connection.dialect.identifier_preparer.quote
    for name in ("surface_frame_id", "removed", "item_key", "surface_key"):
        if name in present:
            continue
        kind = wanted.c[name].type.compile(connection.dialect)
        rule = " NOT NULL DEFAULT ''" if name == "surface_frame_id" else ""
        connection.exec_driver_sql(f"ALTER TABLE swms ADD COLUMN {quote(name)} {kind}{rule}")
    rows = connection.execute(
        sa.select(wanted.c.id, wanted.c.item, wanted.c.surface).where(wanted.c.item_key.is_(None))
    ).all()
    for row in rows:
        connection.execute(
            sa.update(wanted)
            .where(wanted.c.id == row.id)
            .values(item_key=row.item.casefold(), surface_key=row.surface.casefold())
        )


def upsert(connection: Any, table: Any, key: str, values: dict[str, Any], once: set[str]) -> None:
    """Insert a row or, where one has its key, update that, in one statement.

    Args:
        connection: A connection in a transaction.
        table: The table.
        key: The unique column.
        values: What the row is to hold.
        once: The columns that an update leaves as they are.
    """
    kind = connection.dialect.name
    later = {name: value for name, value in values.items() if name not in once | {key}}
    if kind in ("mysql", "mariadb"):
        from sqlalchemy.dialects.mysql import insert as mysql_insert

        connection.execute(mysql_insert(table).values(**values).on_duplicate_key_update(**later))
        return
    if kind == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]  # same shape
    statement = insert(table).values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=[key], set_=later))
