"""The rows in what ``mysqldump`` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from irsim_isaac.errors import StoreError

__all__ = ["dump_rows", "to_column"]

_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a"}

_TOKEN = re.compile(
    r"""\s+
    | --[^\n]*(?:\n|$) | \#[^\n]*(?:\n|$) | /\*.*?\*/
    | (?P<text>(?:_[a-z0-9]+\s*)?'(?:[^'\\]|\\.|'')*')
    | (?P<double>"(?:[^"\\]|\\.|"")*")
    | `(?P<name>(?:[^`]|``)*)`
    | (?P<hex>0x[0-9A-Fa-f]+)
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<word>[A-Za-z_@][A-Za-z0-9_@.]*)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def dump_rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row that a dump inserts: the table and its values by column.

    Args:
        text: The dump. Values are text, numbers or None, escapes undone.

    Raises:
        StoreError: A statement cannot be read.
    """
    columns: dict[str, list[str]] = {}
    for statement in _statements(text):
        words = [value.upper() for kind, value in statement[:3] if kind == "word"]
        if words[:2] == ["CREATE", "TABLE"]:
            name, listed = _created(statement)
            columns[name] = listed
        elif words[:2] == ["INSERT", "INTO"] or words[:1] == ["REPLACE"]:
            yield from _inserted(statement, columns)


def _statements(text: str) -> Iterator[list[tuple[str, Any]]]:
    """Yield the tokens of each statement."""
    tokens: list[tuple[str, Any]] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        value: Any = match.group(kind)
        if kind == "mark" and value == ";":
            if tokens:
                yield tokens
            tokens = []
            continue
        if kind == "mark" and value in "'\"`":
            line = text.count("\n", 0, match.start()) + 1
            raise StoreError(f"the dump, line {line}: a quote is not closed")
        if kind in ("text", "double"):
            value = _unquoted(value[value.index("'" if kind == "text" else '"') :])
            kind = "text"
        elif kind == "name":
            value = value.replace("``", "`")
        elif kind == "number":
            value = float(value) if re.search(r"[.eE]", value) else int(value)
        tokens.append((kind, value))
    if tokens:
        yield tokens


def _unquoted(text: str) -> str:
    quote, inner = text[0], text[1:-1]
    return re.sub(
        rf"\\(.)|{quote}{quote}",
        lambda match: (
            quote if match.group(1) is None else _ESCAPES.get(match.group(1), match.group(1))
        ),
        inner,
        flags=re.DOTALL,
    )


def _created(statement: list[tuple[str, Any]]) -> tuple[str, list[str]]:
    """Return the table of a CREATE statement and its columns in order."""
    names = [index for index, (kind, _) in enumerate(statement) if kind == "name"]
    if not names:
        raise StoreError("the dump: a CREATE TABLE names no table in backquotes")
    name = str(statement[names[0]][1])
    columns, depth, fresh = [], 0, False
    for kind, value in statement[names[0] + 1 :]:
        if kind == "mark" and value in "()":
            depth += 1 if value == "(" else -1
            fresh = value == "(" and depth == 1
        elif kind == "mark" and value == ",":
            fresh = depth == 1
        else:
            # KEY and CONSTRAINT begin with a word, columns with their quoted name.
            if fresh and kind == "name":
                columns.append(str(value))
            fresh = False
    return name, columns


def _inserted(
    statement: list[tuple[str, Any]], columns: dict[str, list[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    at = next((i for i, (kind, _) in enumerate(statement) if kind == "name"), None)
    start = next(
        (i for i, (kind, value) in enumerate(statement)
         if kind == "word" and value.upper() == "VALUES"), None
    )  # fmt: skip
    if at is None or start is None:
        raise StoreError("the dump: an INSERT without a table in backquotes or without values")
    table = str(statement[at][1])
    listed = [str(value) for kind, value in statement[at + 1 : start] if kind == "name"]
    listed = listed or columns.get(table, [])
    row: list[Any] = []
    depth = 0
    for kind, value in statement[start + 1 :]:
        if kind == "mark" and value == "(":
            depth, row = depth + 1, []
        elif kind == "mark" and value == ")":
            depth -= 1
            if len(row) != len(listed):
                raise StoreError(
                    f"the dump: a row of '{table}' has {len(row)} values, {len(listed)} columns "
                    "were expected"
                )
            yield table, dict(zip(listed, row, strict=True))
        elif kind == "word":
            row.append({"NULL": None, "TRUE": 1, "FALSE": 0}.get(value.upper(), value))
        elif kind == "hex":
            row.append(bytes.fromhex(value[2:]).decode("utf-8", "replace"))
        elif kind != "mark":
            row.append(value)
    if depth:
        raise StoreError(f"the dump: a row of '{table}' is not closed")


def to_column(value: Any, column: Any) -> Any:
    """Return a dumped value as a column wants it; zero dates become None.

    Args:
        value: Text, a number or None.
        column: The column.

    Raises:
        StoreError: It is no such value.
    """
    if value is None:
        return None
    kind = column.type.python_type
    try:
        if kind in (datetime, date):
            text = str(value)
            if text.startswith("0000-00-00"):
                return datetime(1970, 1, 1) if not column.nullable else None
            return kind.fromisoformat(text)
        return kind(value)
    except ValueError:
        raise StoreError(
            f"the dump: found {value!r:.60} in '{column.name}', expected a {kind.__name__}"
        ) from None
