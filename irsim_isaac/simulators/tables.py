"""Messages as tables: a column for each value, all arrays of a column as one.

One pair of functions a class is written from the annotations of the class the first time it is
needed. A table has a row for each message, with the values of the messages in it; listed and
optional messages are in a table of their own. Numbers that are floats and arrays travel as raw
bytes beside the table, so that they come out with the bits that they went in with.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain, islice, repeat
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Odometry, Twist, WorldState

__all__ = ["ArrayReader", "ArrayWriter", "Table", "fingerprint", "table"]

_OWN_FRAME = 65536
"""From this many bytes on, arrays are handed over where they lie instead of being gathered."""

_ALIGNED = 8
_NUMBERS = {
    dtype.str: dtype
    for order in "<>"
    for kind in (
        "b1",
        *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)),
        "f2",
        "f4",
        "f8",
    )
    for dtype in [np.dtype(order + kind)]
}
_COVARIANCE = (36,)
_FLOAT64 = np.dtype("<f8")
_FLOATS = frozenset({float, np.float64})

# What a scalar of an annotation may be: a float may be a whole number, as in the rest of Python.
_SCALARS: dict[type, frozenset[type]] = {
    bool: frozenset({bool}),
    int: frozenset({int, bool}),
    float: frozenset({float, int, bool}),
    str: frozenset({str}),
}
_NONE = frozenset({type(None)})
_FLAGS = frozenset({type(None), bool})


class ArrayWriter:
    """Gathers the arrays of one message.

    Attributes:
        frames: The arrays that are large enough for a frame each, in order.
    """

    __slots__ = ("_parts", "frames")

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.frames: list[Any] = []

    def put(self, arrays: Sequence[Any], declared: np.dtype[Any] | None) -> Any:
        """Take the arrays of a column and return the word that stands for them.

        The word is a length where all are one-dimensional, of that length and of the declared
        dtype; True where they are covariances of zeros; (dtype, shape) where they are alike in
        something else; None where all are None; and a tuple in a tuple, with a word for each,
        where they differ.

        Raises:
            TypeError: One is no array of numbers.
        """
        if len(arrays) == 1:
            return self._one(arrays[0], declared)
        first = arrays[0]
        if _alike(arrays, first):
            return self._word(_joined(arrays), first, declared)
        if all(array is None for array in arrays):
            return None
        return (tuple([self._one(array, declared) for array in arrays]),)

    def put_bytes(self, data: bytes) -> None:
        """Take bytes, a multiple of eight."""
        self._parts.append(data)

    def _one(self, array: Any, declared: np.dtype[Any] | None) -> Any:
        if array is None:
            return None
        array = np.asarray(array)
        if array.nbytes < _OWN_FRAME:
            return self._word(array.tobytes(), array, declared)
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        return self._word(array.data.cast("B"), array, declared)

    def _word(self, data: Any, first: Any, declared: np.dtype[Any] | None) -> Any:
        """Take the bytes of arrays of which one is given."""
        dtype, shape, size = first.dtype, first.shape, len(data)
        # For numpy, None is the dtype float64.
        plain = declared is not None and dtype == declared and len(shape) == 1
        if plain and shape == _COVARIANCE and dtype == _FLOAT64 and data == bytes(size):
            return True
        if dtype.str not in _NUMBERS:
            raise TypeError(f"found an array of {dtype}, expected numbers of 64 bits at most")
        if size >= _OWN_FRAME:
            self.frames.append(data)
        elif size:
            self._parts.append(data)
            if size % _ALIGNED:
                self._parts.append(bytes(-size % _ALIGNED))
        return shape[0] if plain else (dtype.str, shape)

    def gathered(self) -> bytes:
        """Return the bytes of all arrays that have no frame of their own."""
        return b"".join(self._parts)


def _alike(arrays: Sequence[Any], first: Any) -> bool:
    """Return whether arrays have one dtype and one shape and are small enough to be joined."""
    if set(map(type, arrays)) != {np.ndarray} or not first.ndim or first.nbytes >= _OWN_FRAME:
        return False
    count = len(arrays)
    return [array.dtype for array in arrays].count(first.dtype) == count and [
        array.shape for array in arrays
    ].count(first.shape) == count


def _joined(arrays: Sequence[Any]) -> bytes:
    try:
        return b"".join(arrays)
    except (TypeError, ValueError):  # the values of one are apart
        return np.concatenate(arrays).tobytes()


class ArrayReader:
    """Hands out the arrays of one message as views on its memory.

    Args:
        gathered: The gathered arrays; memory that belongs to this message alone.
        frames: The arrays that have a frame each.
    """

    __slots__ = ("_at", "_frames", "_gathered", "_next")

    def __init__(self, gathered: Any, frames: Sequence[Any]) -> None:
        self._gathered = gathered
        self._frames = frames
        self._at = 0
        self._next = 0

    def take(
        self, word: Any, count: int, declared: np.dtype[Any] | None, *, optional: bool = False
    ) -> Sequence[Any]:
        """Return the arrays that a word stands for.

        Args:
            word: What the writer returned.
            count: How many arrays there are.
            declared: The dtype that the writer was told.
            optional: Whether they may be None.

        Raises:
            ValueError: The word or the bytes are none of an ``ArrayWriter``.
        """
        if word.__class__ is int and declared is not None:
            return self._rows(count, (word,), declared)
        if word is True and declared == _FLOAT64:
            return list(np.zeros((count, *_COVARIANCE)))
        if word is None and optional:
            return [None] * count
        if word.__class__ is not tuple:
            raise ValueError(f"an array of {word!r:.80}")
        if len(word) == 1:
            if word[0].__class__ is not tuple or len(word[0]) != count:
                raise ValueError(f"arrays of {word!r:.80}, expected {count}")
            if any(inner.__class__ is tuple and len(inner) == 1 for inner in word[0]):
                raise ValueError(f"arrays in arrays of {word!r:.80}")
            return [self.take(inner, 1, declared, optional=optional)[0] for inner in word[0]]
        code, shape = word
        dtype = _NUMBERS.get(code)
        if dtype is None:
            raise ValueError(f"an array of {code!r:.80}")
        return self._rows(count, shape, dtype)

    def take_bytes(self, size: int) -> Any:
        """Return so many bytes, a multiple of eight.

        Raises:
            ValueError: There are fewer.
        """
        at = self._at
        self._at = at + size
        if self._at > len(self._gathered):
            raise ValueError(f"{len(self._gathered)} bytes of arrays, expected {self._at}")
        return memoryview(self._gathered)[at : self._at]

    def _rows(self, count: int, shape: Any, dtype: np.dtype[Any]) -> Sequence[Any]:
        total = count
        for length in shape:
            if length.__class__ is not int or length < 0:
                raise ValueError(f"an array of the shape {shape!r:.80}")
            total *= length
        size = total * dtype.itemsize
        if not size:
            flat = np.empty(0, dtype)
        elif size >= _OWN_FRAME:
            frame = self._frames[self._next]
            self._next += 1
            if len(frame) != size:
                raise ValueError(f"a frame of {len(frame)} bytes, expected {size}")
            flat = np.frombuffer(frame, dtype)
        else:
            flat = np.frombuffer(self._gathered, dtype, total, self._at)
            self._at += (size + 7) & -_ALIGNED
        if count == 1:
            return [flat.reshape(shape)]
        if not shape:
            raise ValueError(f"{count} arrays without dimensions in one")
        return list(flat.reshape((count, *shape)))

    def finish(self) -> None:
        """Check that nothing is left over.

        Raises:
            ValueError: Bytes or frames are left over, or were too few.
        """
        if self._at != len(self._gathered) or self._next != len(self._frames):
            raise ValueError(
                f"{len(self._gathered)} bytes of arrays and {len(self._frames)} frames, "
                f"expected {self._at} and {self._next}"
            )


# ------------------------------------------------------------------ columns


class _Values:
    """Scalars that are no floats: one value where all are the same, else all of them."""

    def __init__(self, accepted: frozenset[type]) -> None:
        self._accepted = accepted

    def pack(self, column: Sequence[Any], writer: ArrayWriter) -> Any:
        first = column[0]
        # What is equal to a text is that text; numbers of other types are equal, too, and equal
        # floats may have other bits.
        if (
            first.__class__ is not float
            and column.count(first) == len(column)
            and (first.__class__ is str or len(set(map(type, column))) == 1)
        ):
            return first
        return tuple(column)

    def unpack(self, word: Any, count: int, reader: ArrayReader) -> Iterable[Any]:
        if word.__class__ is tuple:
            if len(word) != count or not self._accepted.issuperset(map(type, word)):
                raise ValueError(f"a column of {word!r:.80}")
            return word  # type: ignore[no-any-return]
        if word.__class__ not in self._accepted:
            raise ValueError(f"a column of {word!r:.80}")
        return repeat(word, count)


class _Arrays:
    def __init__(self, declared: np.dtype[Any] | None, optional: bool) -> None:
        self._declared = declared
        self._optional = optional

    def pack(self, column: Sequence[Any], writer: ArrayWriter) -> Any:
        return writer.put(column, self._declared)

    def unpack(self, word: Any, count: int, reader: ArrayReader) -> Iterable[Any]:
        return reader.take(word, count, self._declared, optional=self._optional)


_LENGTHS = _Values(frozenset({int}))


class _Lists:
    """Lists of scalars or messages: their lengths, and all that is in them one after another."""

    def __init__(self, inner: Table | frozenset[type]) -> None:
        self._inner = inner

    def pack(self, column: Sequence[Any], writer: ArrayWriter) -> Any:
        if not any(column):
            return 0, ()
        lengths = _LENGTHS.pack(tuple(map(len, column)), writer)
        content = tuple(chain.from_iterable(column))
        if isinstance(self._inner, Table):
            return lengths, self._inner.pack(content, writer)
        return lengths, content

    def unpack(self, word: Any, count: int, reader: ArrayReader) -> Iterable[Any]:
        lengths, content = word
        if isinstance(self._inner, Table):
            content = self._inner.unpack(content, reader)
        elif content.__class__ is not tuple or not self._inner.issuperset(map(type, content)):
            raise ValueError(f"lists of {content!r:.80}")
        told = list(_LENGTHS.unpack(lengths, count, reader))
        if lengths == 1 and len(content) == count:
            return [[item] for item in content]
        if lengths == 0 and not content:
            return [[] for _ in range(count)]
        if min(told) < 0 or sum(told) != len(content):
            raise ValueError(f"lists of {sum(told)} items in all, found {len(content)}")
        rest = iter(content)
        return [list(islice(rest, length)) for length in told]


class _Messages:
    """Messages that may be None, or, being True, stand elsewhere: the others in a table."""

    def __init__(self, inner: Table) -> None:
        self._inner = inner

    def pack(self, column: Sequence[Any], writer: ArrayWriter) -> Any:
        if set(map(type, column)) <= _FLAGS:
            return _ELSEWHERE.pack(column, writer), ()
        own = [item for item in column if item is not None and item is not True]
        flags = tuple([item if item is None or item is True else False for item in column])
        return _ELSEWHERE.pack(flags, writer), self._inner.pack(own, writer)

    def unpack(self, word: Any, count: int, reader: ArrayReader) -> list[Any]:
        flags, own = word
        content = self._inner.unpack(own, reader)
        told = list(_ELSEWHERE.unpack(flags, count, reader))
        if told.count(False) != len(content):
            raise ValueError(f"{told.count(False)} messages, found {len(content)}")
        rest = iter(content)
        return [next(rest) if flag is False else flag for flag in told]


_ELSEWHERE = _Values(_FLAGS)


class _Present(_Messages):
    """Messages of which none stands elsewhere."""

    def __init__(self, inner: Table, optional: bool) -> None:
        super().__init__(inner)
        self._optional = optional

    def unpack(self, word: Any, count: int, reader: ArrayReader) -> list[Any]:
        found = super().unpack(word, count, reader)
        if True in map(_is_flag, found) or (not self._optional and found.count(None)):
            raise ValueError("a message is missing")
        return found


def _is_flag(item: Any) -> bool:
    return item is True


# ------------------------------------------------------------------ tables


class Table:
    """Both directions of one message class.

    Attributes:
        layout: What the table holds, as text.
    """

    def __init__(self, cls: type) -> None:
        written = _Writing(cls)
        self._cls = cls
        self._split: Callable[[Iterable[Any]], tuple[list[Any], list[Any]]] = written.split
        self._build: Callable[[Iterable[Any], Sequence[Any]], list[Any]] = written.build
        self._columns: list[Any] = written.columns
        self._width = len(written.numbers)
        self._number_row = struct.Struct(f"<{self._width}d")
        self.layout = " ".join(written.layout)
        self._single, self._many = written.shared

    def pack(self, messages: Sequence[Any], writer: ArrayWriter) -> tuple[Any, ...]:
        """Return a table of messages as tuples and plain values.

        Args:
            messages: All of the table's class.
            writer: Takes their arrays and floats.

        Raises:
            AttributeError: A message is none of the class.
            TypeError: A value is none that its field may have.
        """
        count = len(messages)
        if not count:
            return ()
        numbers, rows = self._split(messages)
        kinds = list(map(type, numbers))
        if kinds.count(float) == len(kinds) or _FLOATS.issuperset(kinds):
            writer.put_bytes(struct.pack(f"<{len(numbers)}d", *numbers))
            told: Any = True
        else:
            told = tuple(numbers)
        words = [
            column.pack(values, writer)
            for column, values in zip(self._columns, zip(*rows, strict=True), strict=True)
        ]
        return (count, told, *words)

    def unpack(self, packed: Any, reader: ArrayReader) -> list[Any]:
        """Return the messages of a table.

        Args:
            packed: What :meth:`pack` returned.
            reader: Gives their arrays and floats.

        Raises:
            ValueError: It is no table of the class.
            TypeError: As above.
            IndexError: As above.
            OverflowError: As above.
        """
        if packed == ():
            return []
        if packed.__class__ is not tuple or len(packed) != len(self._columns) + 2:
            raise ValueError(f"no table of {self._cls.__name__}: {packed!r:.80}")
        count, told, *words = packed
        if count.__class__ is not int or count < 1:
            raise ValueError(f"a table of {count!r:.80} messages")
        numbers = self._numbers(told, count, reader)
        columns = [
            column.unpack(word, count, reader)
            for column, word in zip(self._columns, words, strict=True)
        ]
        if self._single:
            # The single one is the first of the many, which are known only now.
            columns[self._single] = [
                many[0] if single is True else single
                for single, many in zip(columns[self._single], columns[self._many], strict=True)
            ]
        return self._build(numbers, columns)

    def _numbers(self, told: Any, count: int, reader: ArrayReader) -> Iterator[tuple[Any, ...]]:
        if told is True:
            return self._number_row.iter_unpack(reader.take_bytes(count * self._number_row.size))
        if (
            told.__class__ is not tuple
            or len(told) != count * self._width
            or not _SCALARS[float].issuperset(map(type, told))
        ):
            raise ValueError(f"numbers of {told!r:.80}")
        return zip(*[iter(told)] * self._width, strict=True)


class _Writing:
    """Writes the two functions of a class that take its messages apart and make them.

    Messages are dataclasses with slots whose constructors do nothing but fill these, so they are
    made without calling the constructors, which would take most of the time.
    """

    def __init__(self, cls: type) -> None:
        self._names: dict[str, Any] = {"blanks": self._blanks}
        self._binds: list[str] = []
        self._values: list[str] = []
        self._makes: list[str] = []
        self._classes: list[type] = []
        self.numbers: list[str] = []
        self.columns: list[Any] = []
        self.layout: list[str] = []
        self.shared = (0, 0)
        made = self._message(cls, "m")
        if not self.numbers:
            raise SimulatorError(f"{cls.__name__} has no number and no table")
        numbers = f"numbers += ({', '.join(self.numbers)},)"
        values = f"rows.append(({''.join(f'{value}, ' for value in self._values)}))"
        self.split = self._function(
            "def split(messages):",
            ["numbers = []", "rows = []", "for m in messages:"],
            [*self._binds, numbers, values],
            "return numbers, rows",
        )
        targets = "".join(f"f{index}, " for index in range(len(self.numbers)))
        others = "".join(f"a{index}, " for index in range(len(self._values)))
        blanks = "".join(f"m{index}, " for index in range(len(self._classes)))
        self.build = self._function(
            "def build(numbers, columns):",
            [
                "made = []",
                f"for ({targets}), {others}{blanks} in zip(numbers, *columns, *blanks()):",
            ],
            [*self._makes, f"made.append({made})"],
            "return made",
        )

    def _function(self, head: str, begin: list[str], body: list[str], end: str) -> Any:
        lines = [*(f"    {line}" for line in begin), *(f"        {line}" for line in body)]
        exec("\n".join([head, *lines, f"    {end}"]), self._names)
        return self._names[head.removeprefix("def ").partition("(")[0]]

    def _blanks(self) -> list[Iterator[Any]]:
        """Return, for each class, messages of it without values."""
        return [map(object.__new__, repeat(cls)) for cls in self._classes]

    def _message(self, cls: type, value: str) -> str:
        """Add the fields of a message and return the name of the one that is made."""
        hints = get_type_hints(cls)
        single, many = getattr(cls, "_shared_fields", ("", ""))
        made = f"m{len(self._classes)}"
        self._classes.append(cls)
        content = {}
        for item in fields(cls):
            access = f"{value}.{item.name}"
            hint = hints[item.name]
            self.layout.append(f"{item.name}:{hint}")
            if item.name != single:
                content[item.name] = self._field(hint, access)
            if item.name == many:
                inner = self._inner(_without_none(hints[single])[0])
                all_of, one = access, f"{value}.{single}"
                content[single] = self._column(
                    f"True if {all_of} and {all_of}[0] is {one} else {one}", _Messages(inner)
                )
                self.shared = (int(content[single][1:]), int(content[many][1:]))
        self._makes += [f"{made}.{name} = {expression}" for name, expression in content.items()]
        return made

    def _column(self, expression: str, column: Any) -> str:
        self._values.append(expression)
        self.columns.append(column)
        return f"a{len(self._values) - 1}"

    def _field(self, hint: Any, access: str) -> str:
        hint, optional = _without_none(hint)
        if hint is float and not optional:
            self.numbers.append(access)
            return f"f{len(self.numbers) - 1}"
        if hint in _SCALARS:
            return self._column(access, _Values(_SCALARS[hint] | (_NONE if optional else set())))
        if get_origin(hint) is np.ndarray:
            scalar = get_args(get_args(hint)[1])[0]
            dtype = None if scalar is Any else np.dtype(np.dtype(scalar).newbyteorder("<").str)
            return self._column(access, _Arrays(dtype, optional))
        if get_origin(hint) is list:
            of = get_args(hint)[0]
            return self._column(access, _Lists(_SCALARS.get(of) or self._inner(of)))
        if optional or getattr(hint, "_shared_fields", None):
            return self._column(access, _Present(self._inner(hint), optional))
        local = f"v{len(self._binds)}"
        self._binds.append(f"{local} = {access}")
        return self._message(hint, local)

    def _inner(self, cls: type) -> Table:
        inner = table(cls)
        self.layout.append(f"({inner.layout})")
        return inner


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return inner[0], True
    return hint, False


_tables: dict[type, Table] = {}


def table(cls: type) -> Table:
    """Return both directions of a message class, writing them the first time.

    Raises:
        SimulatorError: It is no message class.
    """
    found = _tables.get(cls)
    if found is None:
        if not is_dataclass(cls):
            raise SimulatorError(f"{cls.__name__} is no message class and has no table")
        found = _tables[cls] = Table(cls)
    return found


def fingerprint() -> int:
    """Return a number that differs where the tables of the two ends differ."""
    layouts = (table(cls).layout for cls in (WorldState, Odometry, Twist))
    return zlib.crc32("|".join(["tables", *layouts]).encode())
