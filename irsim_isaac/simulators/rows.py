"""Messages as flat rows of plain values, their arrays as raw bytes beside.

One function a class and direction is written from the annotations of the class the first time
it is needed. A row is the values of a message and of the messages in it, one after the other;
an optional or listed message is a row of its own. An array is a word in the row and bytes
elsewhere, so that numbers come out with the bits that they went in with.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import Odometry, Twist, WorldState

__all__ = ["ArrayReader", "ArrayWriter", "Rows", "fingerprint", "rows"]

_OWN_FRAME = 65536
"""From this many bytes on, an array is handed over where it lies instead of being gathered."""

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
_PATTERNS_KEPT = 64
_COVARIANCE = (36,)
_ZEROS = bytes(8 * 36)
_FLOAT64 = np.dtype(np.float64)

Row = tuple[Any, ...]


class ArrayWriter:
    """Gathers the arrays of one message.

    Attributes:
        frames: The arrays that are large enough for a frame each, in order.
    """

    __slots__ = ("_parts", "frames")

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.frames: list[Any] = []

    def put(self, array: Any, declared: np.dtype[Any] | None) -> Any:
        """Take an array and return the word that stands for it.

        The word is a count where the array is one-dimensional and of the declared dtype, True
        where it is a covariance of zeros, and (dtype, shape, own frame) otherwise.

        Raises:
            TypeError: It is no array of numbers.
        """
        if array.__class__ is not np.ndarray:
            array = np.asarray(array)
        size = array.nbytes
        # For numpy, None is the dtype float64.
        plain = declared is not None and array.dtype == declared and array.ndim == 1
        if plain and not size:
            return 0
        if plain and size == len(_ZEROS) and declared == _FLOAT64 and array.tobytes() == _ZEROS:
            return True
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        if plain and size < _OWN_FRAME:
            self._append(array, size)
            return len(array)
        if array.dtype.str not in _NUMBERS:
            raise TypeError(f"found an array of {array.dtype}, expected numbers of 64 bits at most")
        if size >= _OWN_FRAME:
            self.frames.append(array.data.cast("B"))
            return (array.dtype.str, array.shape, True)
        self._append(array.tobytes(), size)
        return (array.dtype.str, array.shape, False)

    def _append(self, data: Any, size: int) -> None:
        self._parts.append(data)
        if size % _ALIGNED:
            self._parts.append(bytes(-size % _ALIGNED))

    def gathered(self) -> bytes:
        """Return the bytes of all arrays that have no frame of their own."""
        return b"".join(self._parts)


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

    def take(self, word: Any, declared: np.dtype[Any] | None) -> Any:
        """Return the array that a word stands for.

        Raises:
            ValueError: The word or the bytes are none of an ``ArrayWriter``.
        """
        if word.__class__ is int and declared is not None:
            if word <= 0:
                if word:
                    raise ValueError(f"an array of {word} values")
                return np.empty(0, declared)
            at = self._at
            self._at = at + ((word * declared.itemsize + 7) & -_ALIGNED)
            return np.frombuffer(self._gathered, declared, word, at)
        if word is True:
            return np.zeros(_COVARIANCE)
        code, shape, own = word
        dtype = _NUMBERS.get(code)
        if dtype is None:
            raise ValueError(f"an array of {code!r}")
        count = 1
        for length in shape:
            if length.__class__ is not int or length < 0:
                raise ValueError(f"an array of the shape {shape!r}")
            count *= length
        if own:
            frame = self._frames[self._next]
            self._next += 1
            return np.frombuffer(frame, dtype).reshape(shape)
        if not count:
            return np.empty(shape, dtype)
        at = self._at
        self._at = at + ((count * dtype.itemsize + 7) & -_ALIGNED)
        return np.frombuffer(self._gathered, dtype, count, at).reshape(shape)

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


@dataclass(frozen=True, slots=True)
class Rows:
    """Both directions of one message class.

    Attributes:
        row: Makes a row of a message, putting its arrays into a writer's ``put``.
        message: Makes a message of a row, getting its arrays from a reader's ``take``.
        layout: What the row holds, as text.
    """

    row: Callable[[Any, Callable[..., Any]], Row]
    message: Callable[[Any, Callable[..., Any]], Any]
    layout: str


class _Writing:
    """Writes both functions of a class."""

    def __init__(self, cls: type) -> None:
        self.names: dict[str, Any] = {"many_of": _many_of}
        self.binds: list[str] = []
        self.row: list[str] = []
        self.takes: list[str] = []
        self.accepted: list[frozenset[type]] = []
        self.layout: list[str] = []
        made = self._message(cls, "m")
        count = len(self.row)
        checked = _checker(cls, self.accepted)
        self.names["checked"] = checked
        self._run("def row(m, put):", [*self.binds, f"return ({', '.join(self.row)},)"])
        targets = "".join(f"a{index}, " for index in range(count))
        self._run(
            "def message(row, take):",
            ["checked(row)", f"({targets}) = row", *self.takes, f"return {made}"],
        )

    def done(self) -> Rows:
        return Rows(self.names["row"], self.names["message"], " ".join(self.layout))

    def _run(self, head: str, lines: list[str]) -> None:
        exec("\n    ".join([head, *lines]), self.names)

    def _refer(self, value: Any) -> str:
        name = f"n{len(self.names)}"
        self.names[name] = value
        return name

    def _message(self, cls: type, value: str) -> str:
        """Add the fields of a message and return the expression that makes it again."""
        hints = get_type_hints(cls)
        single, many = getattr(cls, "_shared_fields", ("", ""))
        arguments = []
        last = []
        for item in fields(cls):
            access = f"{value}.{item.name}"
            hint = hints[item.name]
            self.layout.append(f"{item.name}:{hint}")
            if item.name == single:
                arguments.append(self._shared(hint, access, f"{value}.{many}"))
                last.append(arguments[-1])
            else:
                arguments.append(self._field(hint, access))
            if item.name == many:
                # The single one is the first of the many, which are known only now.
                self.takes += [f"if {name} is True: {name} = {arguments[-1]}[0]" for name in last]
        return f"{self._refer(cls)}({', '.join(arguments)})"

    def _leaf(self, expression: str, accepted: set[type]) -> str:
        self.row.append(expression)
        self.accepted.append(frozenset(accepted))
        return f"a{len(self.row) - 1}"

    def _field(self, hint: Any, access: str) -> str:
        hint, optional = _without_none(hint)
        none = {type(None)} if optional else set()
        if hint in _SCALARS:
            return self._leaf(access, _SCALARS[hint] | none)
        if get_origin(hint) is np.ndarray:
            scalar = get_args(get_args(hint)[1])[0]
            dtype = self._refer(None if scalar is Any else np.dtype(scalar))
            put = f"put({access}, {dtype})"
            row = f"(None if {access} is None else {put})" if optional else put
            leaf = self._leaf(row, {int, bool, tuple} | none)
            take = f"take({leaf}, {dtype})"
            self.takes.append(f"{leaf} = {f'None if {leaf} is None else ' * optional}{take}")
            return leaf
        if get_origin(hint) is list:
            return self._list(get_args(hint)[0], access)
        if optional or getattr(hint, "_shared_fields", None):
            inner = self._inner(hint)
            row = f"(None if {access} is None else {inner}.row({access}, put))"
            leaf = self._leaf(row, {tuple} | none)
            self.takes.append(f"{leaf} = None if {leaf} is None else {inner}.message({leaf}, take)")
            return leaf
        local = f"v{len(self.binds)}"
        self.binds.append(f"{local} = {access}")
        return self._message(hint, local)

    def _inner(self, cls: type) -> str:
        inner = rows(cls)
        self.layout.append(f"({inner.layout})")
        return self._refer(inner)

    def _shared(self, hint: Any, access: str, many: str) -> str:
        inner = self._inner(_without_none(hint)[0])
        leaf = self._leaf(
            f"(None if {access} is None else True if {many} and {many}[0] is {access} "
            f"else {inner}.row({access}, put))",
            {tuple, bool, type(None)},
        )
        self.takes.append(f"if {leaf}.__class__ is tuple: {leaf} = {inner}.message({leaf}, take)")
        return leaf

    def _list(self, hint: Any, access: str) -> str:
        if hint in _SCALARS:
            leaf = self._leaf(f"tuple({access})", {tuple})
            self.takes.append(f"{leaf} = many_of({leaf}, {self._refer(_SCALARS[hint])})")
            return leaf
        inner = self._inner(hint)
        function = f"{inner}_row"
        self.names[function] = self.names[inner].row
        leaf = self._leaf(f"tuple([{function}(w, put) for w in {access}])", {tuple})
        back = f"{inner}_message"
        self.names[back] = self.names[inner].message
        self.takes.append(f"{leaf} = [{back}(w, take) for w in {leaf}]")
        return leaf


# What a scalar of an annotation may be: a float may be a whole number, as in the rest of Python.
_SCALARS: dict[type, set[type]] = {
    bool: {bool},
    int: {int, bool},
    float: {float, int, bool},
    str: {str},
}


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return inner[0], True
    return hint, False


def _many_of(values: tuple[Any, ...], accepted: set[type]) -> list[Any]:
    if not accepted.issuperset(map(type, values)):
        raise ValueError(f"a list of {values!r:.80}")
    return list(values)


def _checker(cls: type, accepted: list[frozenset[type]]) -> Callable[[Any], None]:
    """Return the check that a row has the types of its class; each pattern is worked out once."""
    known: set[tuple[type, ...]] = set()

    def checked(row: Any) -> None:
        pattern = tuple(map(type, row))
        if pattern in known:
            return
        if row.__class__ is not tuple or len(row) != len(accepted):
            raise ValueError(f"a row of {len(row)} values for {cls.__name__}")
        for kind, kinds, value in zip(pattern, accepted, row, strict=True):
            if kind not in kinds:
                raise ValueError(f"found {value!r:.80} in a row of {cls.__name__}")
        if len(known) >= _PATTERNS_KEPT:
            known.clear()
        known.add(pattern)

    return checked


_rows: dict[type, Rows] = {}


def rows(cls: type) -> Rows:
    """Return both directions of a message class, writing them the first time.

    Raises:
        SimulatorError: It is no message class.
    """
    found = _rows.get(cls)
    if found is None:
        if not is_dataclass(cls):
            raise SimulatorError(f"{cls.__name__} is no message class and has no row")
        found = _rows[cls] = _Writing(cls).done()
    return found


def fingerprint() -> int:
    """Return a number that differs where the rows of the two ends differ."""
    text = "|".join(rows(cls).layout for cls in (WorldState, Odometry, Twist))
    return zlib.crc32(text.encode())
