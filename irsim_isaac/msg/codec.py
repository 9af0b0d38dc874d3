"""One compiled function a message class for equality, dictionaries and JSON.

The functions are written from the annotations of the class the first time they are needed,
as ``dataclasses`` writes its constructors: walking the fields anew for every value is what
makes the generic way slow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from json.encoder import encode_basestring_ascii
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from irsim_isaac.msg.numpy_later import NDArray, np

__all__ = ["Codec", "DecodeError", "codec", "parse"]

_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class Codec:
    """The compiled functions of one message class."""

    equal: Callable[[Any, Any], bool]
    to_dict: Callable[[Any], dict[str, Any]]
    to_json: Callable[[Any], str]
    from_dict: Callable[[Any, bool], Any]


class DecodeError(Exception):
    """A value that does not fit, with the path that leads to it built while it rises."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.path = ""

    def within(self, part: str) -> DecodeError:
        """Return the same error, seen from one level further out."""
        self.path = part + self.path
        return self

    def error(self, root: str) -> Exception:
        """Return the error for the caller, with the whole path."""
        return self.kind(f"{root}{self.path}: {self.text}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# ------------------------------------------------------------------ fields


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field holds: a scalar, an array, a message, a list of one of these, or any."""

    name: str
    of: Any = None
    optional: bool = False


def _kind(hint: Any) -> _Kind:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        if len(inner) == 1:
            kind = _kind(inner[0])
            return _Kind(kind.name, kind.of, True)
    elif hint in (bool, int, float, str):
        return _Kind("scalar", hint)
    elif origin is np.ndarray:
        scalar = get_args(get_args(hint)[1])[0]
        return _Kind("array", None if scalar is Any else np.dtype(scalar))
    elif origin is list:
        return _Kind("list", _kind(get_args(hint)[0]))
    elif isinstance(hint, type) and is_dataclass(hint):
        return _Kind("message", hint)
    return _Kind("any")


def _layout(cls: type) -> list[tuple[Field[Any], _Kind]]:
    try:
        hints = get_type_hints(cls)
    except NameError:
        # A class of a user whose annotations name what only a type checker sees.
        hints = {}
    return [(item, _kind(hints.get(item.name))) for item in fields(cls)]


def _shared(cls: type) -> tuple[str, str]:
    """Return the names of a field and of the list whose first entry it is; or empty names."""
    names: tuple[str, str] = getattr(cls, "_shared_fields", ("", ""))
    return names


# ------------------------------------------------------------------ equality


def _is_nan(value: Any) -> Any:
    return value != value  # noqa: PLR0124  # for every type, of arrays element by element


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape):
            return False
        equal = a == b
        return bool(np.all(equal)) or bool(np.all(equal | (_is_nan(a) & _is_nan(b))))
    if isinstance(a, (list, tuple)) and a.__class__ is b.__class__:
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b) or bool(_is_nan(a) and _is_nan(b))


# ------------------------------------------------------------------ dictionaries


def _builtin(value: Any) -> Any:
    """Return a value of any kind as JSON-compatible built-in values."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray):
        return _builtin(value.tolist())
    if isinstance(value, np.generic):
        return _builtin(value.item())
    if isinstance(value, (list, tuple)):
        return [_builtin(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _builtin(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return codec(value.__class__).to_dict(value)
    raise TypeError(
        f"found {_short(value)} of type {type(value).__name__}, expected a value that JSON can say"
    )


def _independent(value: Any) -> Any:
    """Return built-in values that share no list and no dictionary with the given ones."""
    if value.__class__ is dict:
        copy = value.copy()
        for key, item in value.items():
            if item.__class__ in (list, dict):
                copy[key] = _independent(item)
        return copy
    if value.__class__ is not list:
        return value
    if value and value[0].__class__ in (list, dict):
        return [_independent(item) for item in value]
    return value.copy()


# ------------------------------------------------------------------ text


def _text(value: Any) -> str:
    """Return any value as JSON, the slow way."""
    value = _builtin(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'"{float(value)!r}"'
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        items = (f"{encode_basestring_ascii(key)}:{_text(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    return json.dumps(value)


def _orjson() -> Any:
    """Return orjson, or None where it is not installed."""
    try:
        import orjson
    except ImportError:
        return None
    return orjson


def _float32_digits(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the float64 numbers whose shortest text is that of float32 numbers.

    The nearest decimal of seven, eight or nine digits that gives the float32 back is a whole
    number times a power of ten; below 10^22 both are exact, so one rounded operation gives the
    float64 that prints as that decimal. What this does not reach stays the widened float32.
    """
    wide: NDArray[np.float64] = values.astype(np.float64)
    with np.errstate(all="ignore"):
        exponent: NDArray[np.float64] = np.floor(np.log10(np.abs(wide)))
        inside = (exponent > -13.0) & (exponent < 15.0)
        exponent = np.where(inside, exponent, 0.0)
        result: NDArray[np.float64] = wide.copy()
        left: NDArray[np.bool_] = inside
        for digits in (9, 8, 7):
            shift = digits - 1 - exponent
            power = 10.0 ** np.abs(shift)
            rounded = np.where(
                shift >= 0, np.rint(wide * power) / power, np.rint(wide / power) * power
            )
            left = left & (rounded.astype(np.float32) == values)
            np.copyto(result, rounded, where=left)
    return result


def _array_writer() -> Callable[[Any], str]:
    orjson = _orjson()
    names = np.array(['"nan"', '"inf"', '"-inf"'], object)
    zeros = np.zeros(36).tobytes()
    zeros_text = "[" + ",".join(["0.0"] * 36) + "]"

    def non_finite(text: str, values: NDArray[Any]) -> str:
        """Put the strings in the places where orjson wrote null."""
        odd = values[~np.isfinite(values)]
        kinds = (odd == np.inf) + 2 * (odd == -np.inf)
        if not np.ptp(kinds):
            return text.replace("null", str(names[kinds[0]]))
        mixed = [""] * (2 * len(kinds) + 1)
        mixed[::2] = text.split("null")
        mixed[1::2] = names[kinds].tolist()
        return "".join(mixed)

    def plain(values: NDArray[Any]) -> str:
        if values.dtype == np.float32:
            values = _float32_digits(values)
        text = repr(values.tolist()).replace(" ", "")
        if "n" in text:
            text = text.replace("nan", '"nan"').replace("inf", '"inf"').replace('-"inf"', '"-inf"')
        return text

    def write(values: Any) -> str:
        if values.__class__ is not np.ndarray:
            return _text(values)
        kind = values.dtype.kind
        if not values.ndim or kind not in "fiu" or values.dtype.itemsize not in (1, 2, 4, 8):
            return _text(values)
        if values.shape == (36,) and values.dtype == np.float64 and values.tobytes() == zeros:
            return zeros_text
        if orjson is None or not values.dtype.isnative:
            return plain(values)
        if not values.flags.c_contiguous:
            values = np.ascontiguousarray(values)
        text: str = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY).decode("ascii")
        return non_finite(text, values) if kind == "f" and "n" in text else text

    return write


def parse(text: str | bytes, *, exact: bool = False) -> Any:
    """Return what strict JSON text says.

    Args:
        text: JSON, UTF-8 where it is bytes.
        exact: Keep integers of any size.

    Raises:
        ValueError: The text is not JSON.
    """
    orjson = None if exact else _orjson()
    if orjson is not None:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass  # lone surrogates are grammatical, and the standard library reads them

    def refuse(constant: str) -> None:
        raise ValueError(f'found {constant}, which is not JSON; expected "inf", "nan"')

    return json.loads(text, parse_constant=refuse)


# ------------------------------------------------------------------ reading


def _read_scalar(kind: type) -> Callable[[Any, bool], Any]:
    def read(value: Any, text: bool) -> Any:
        if value.__class__ is kind:
            return value
        if kind is float:
            if value.__class__ is int:
                try:
                    return float(value)
                except OverflowError:
                    raise DecodeError(ValueError, f"{_short(value)} is beyond a float") from None
            if text and value.__class__ is str and value in _NON_FINITE:
                return _NON_FINITE[value]
        if isinstance(value, np.generic) and value.item().__class__ is not value.__class__:
            return read(value.item(), text)
        raise DecodeError(TypeError, f"found {_short(value)}, expected {kind.__name__}")

    return read


def _numbers(value: Any, text: bool) -> Any:
    """Return nested lists with numbers alone, strings for non-finite ones resolved."""
    if isinstance(value, (list, tuple)):
        if set(map(type, value)) <= {float, int}:
            return value
        items = []
        for index, item in enumerate(value):
            try:
                items.append(_numbers(item, text))
            except DecodeError as problem:
                raise problem.within(f"[{index}]") from None
        return items
    if isinstance(value, (bool, int, float)):
        return value
    if text and isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    raise DecodeError(TypeError, f"found {_short(value)}, expected numbers")


def _read_array(dtype: np.dtype[Any] | None) -> Callable[[Any, bool], Any]:
    def read(value: Any, text: bool) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        value = _numbers(value, text)
        try:
            array = np.array(value)
        except (ValueError, OverflowError) as error:
            raise DecodeError(ValueError, f"found {_short(value)}: {error}") from None
        if not array.size:
            array = array.astype(np.float64 if dtype is None else dtype)
        if array.dtype.kind not in "fiub" or (dtype is not None and array.dtype.kind == "b"):
            raise DecodeError(ValueError, f"found {_short(value)}, expected numbers of 64 bits")
        if dtype is None or array.dtype == dtype:
            return array
        if dtype.kind == "i" and array.dtype.kind == "f":
            raise DecodeError(TypeError, f"found {_short(value)}, expected whole numbers")
        with np.errstate(over="ignore"):
            narrow = array.astype(dtype)
        fits = np.isfinite(narrow) | ~np.isfinite(array) if dtype.kind == "f" else narrow == array
        if not fits.all():
            worst = array[~fits].ravel()[0].item()
            raise DecodeError(ValueError, f"found {worst!r}, which does not fit {dtype}")
        return narrow

    return read


def _read_list(item: Callable[[Any, bool], Any]) -> Callable[[Any, bool], Any]:
    def read(value: Any, text: bool) -> Any:
        if not isinstance(value, (list, tuple)):
            raise DecodeError(TypeError, f"found {_short(value)}, expected a list")
        result = []
        for index, entry in enumerate(value):
            try:
                result.append(item(entry, text))
            except DecodeError as problem:
                raise problem.within(f"[{index}]") from None
        return result

    return read


def _reader(kind: _Kind) -> Callable[[Any, bool], Any]:
    if kind.name == "scalar":
        return _read_scalar(kind.of)
    if kind.name == "array":
        return _read_array(kind.of)
    if kind.name == "list":
        return _read_list(_reader(kind.of))
    if kind.name == "any":
        return lambda value, text: value
    return codec(kind.of).from_dict


def _compile_from_dict(cls: type) -> Callable[[Any, bool], Any]:
    entries = [
        (
            item.name,
            _reader(kind),
            kind.optional,
            item.default is MISSING and item.default_factory is MISSING,
        )
        for item, kind in _layout(cls)
    ]
    names = frozenset(entry[0] for entry in entries)
    single, many = _shared(cls)

    def from_dict(data: Any, text: bool) -> Any:
        if not isinstance(data, Mapping):
            raise DecodeError(TypeError, f"found {_short(data)}, expected a mapping")
        unknown = data.keys() - names
        if unknown:
            raise DecodeError(TypeError, f"unknown field {min(unknown, key=str)!r}")
        values: dict[str, Any] = {}
        for name, read, optional, required in entries:
            if name not in data:
                if required:
                    raise DecodeError(TypeError, f"missing field {name!r}")
                continue
            value = data[name]
            if value is None and optional:
                values[name] = None
                continue
            try:
                values[name] = read(value, text)
            except DecodeError as problem:
                raise problem.within(f".{name}") from None
        if single and values.get(many) and _same(values[single], values[many][0]):
            values[single] = values[many][0]
        return cls(**values)

    return from_dict


# ------------------------------------------------------------------ writing


class _Source:
    """The source of a function and the names that it refers to."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "builtin": _builtin,
            "independent": _independent,
            "same": _same,
            "text": _text,
            "quoted": encode_basestring_ascii,
            "ndarray": np.ndarray,
        }

    def refer(self, value: Any, hint: str) -> str:
        name = f"{hint}{len(self.names)}"
        self.names[name] = value
        return name

    def build(self, name: str, source: str) -> Any:
        exec(source, self.names)
        return self.names[name]


_SCALARS = {bool: "bool", int: "int", float: "float", str: "str"}


# Calls saved by writing nested messages into the function of the message that holds them.
_INLINED = 4


def _dict_expression(source: _Source, kind: _Kind, value: str, depth: int = 0) -> str:
    """Return an expression for the built-in form of the value that a name or field holds."""
    if kind.name == "scalar":
        return (
            f"(v if (v := {value}).__class__ is {_SCALARS[kind.of]} else builtin(v))"
            if not kind.optional
            else f"(v if (v := {value}) is None or v.__class__ is {_SCALARS[kind.of]}"
            " else builtin(v))"
        )
    if kind.name == "any":
        return f"builtin({value})"
    if kind.name == "array":
        plain = f"(v := {value}).__class__ is ndarray and v.dtype.kind in 'fiub'"
        return f"(v.tolist() if {plain} else builtin(v))"
    if kind.name == "message":
        cls = source.refer(kind.of, "cls")
        if depth < _INLINED and not any(_shared(kind.of)):
            own = f"m{depth + 1}"
            entries = ", ".join(
                f"{item.name!r}: {_dict_expression(source, part, f'{own}.{item.name}', depth + 1)}"
                for item, part in _layout(kind.of)
            )
            return f"({{{entries}}} if ({own} := {value}).__class__ is {cls} else builtin({own}))"
        function = source.refer(codec(kind.of).to_dict, "to_dict")
        return f"({function}(v) if (v := {value}).__class__ is {cls} else builtin(v))"
    inner = _dict_expression(source, kind.of, "w", _INLINED)
    return f"([{inner} for w in v] if (v := {value}).__class__ is list else builtin(v))"


def _compile_to_dict(cls: type) -> Callable[[Any], dict[str, Any]]:
    source = _Source()
    single, many = _shared(cls)
    lines = ["def to_dict(m):"]
    entries = []
    for item, kind in _layout(cls):
        expression = _dict_expression(source, kind, f"m.{item.name}")
        if item.name == single:
            lines += [f"    s = {expression}"]
            expression = "s"
        elif item.name == many:
            inner = _dict_expression(source, kind.of, "w")
            lines += [
                f"    many = m.{many}",
                f"    if many.__class__ is list and many and many[0] is m.{single}:",
                f"        t = [independent(s), *[{inner} for w in many[1:]]]",
                "    else:",
                f"        t = {expression}",
            ]
            expression = "t"
        entries.append(f"{item.name!r}: {expression}")
    lines.append("    return {" + ", ".join(entries) + "}")
    return source.build("to_dict", "\n".join(lines))  # type: ignore[no-any-return]


def _json_expression(source: _Source, kind: _Kind, value: str) -> str:
    if kind.name == "scalar":
        test = f"(v := {value}).__class__ is {_SCALARS[kind.of]}"
        if kind.of is float:
            return f"(repr(v) if {test} and v - v == 0.0 else text(v))"
        if kind.of is str:
            return f"(quoted(v) if {test} else text(v))"
        if kind.of is bool:
            return f"(('true' if v else 'false') if {test} else text(v))"
        return f"(repr(v) if {test} else text(v))"
    if kind.name == "any":
        return f"text({value})"
    if kind.name == "array":
        return f"array({value})"
    if kind.name == "message":
        cls = source.refer(kind.of, "cls")
        function = source.refer(codec(kind.of).to_json, "to_json")
        return f"({function}(v) if (v := {value}).__class__ is {cls} else text(v))"
    inner = _json_expression(source, kind.of, "w")
    return (
        f"('[' + ','.join([{inner} for w in v]) + ']' if (v := {value}).__class__ is list"
        " else text(v))"
    )


def _compile_to_json(cls: type) -> Callable[[Any], str]:
    source = _Source()
    source.names["array"] = _array_writer()
    single, many = _shared(cls)
    lines = ["def to_json(m):"]
    parts: list[str] = []
    for item, kind in _layout(cls):
        expression = _json_expression(source, kind, f"m.{item.name}")
        if item.name == single:
            lines.append(f"    s = {expression}")
            expression = "s"
        elif item.name == many:
            inner = _json_expression(source, kind.of, "w")
            lines += [
                f"    many = m.{many}",
                f"    if many.__class__ is list and many and many[0] is m.{single}:",
                f"        t = '[' + ','.join([s, *[{inner} for w in many[1:]]]) + ']'",
                "    else:",
                f"        t = {expression}",
            ]
            expression = "t"
        parts.append(f"'{',' if parts else '{'}\"{item.name}\":', {expression}")
    if parts:
        lines.append("    return ''.join((" + ", ".join(parts) + ", '}'))")
    else:
        lines.append("    return '{}'")
    return source.build("to_json", "\n".join(lines))  # type: ignore[no-any-return]


def _compile_equal(cls: type) -> Callable[[Any, Any], bool]:
    names = [item.name for item in fields(cls)]
    tests = " and ".join(f"same(a.{name}, b.{name})" for name in names) or "True"
    return _Source().build("equal", f"def equal(a, b):\n    return {tests}")  # type: ignore[no-any-return]


# ------------------------------------------------------------------ registry

_codecs: dict[type, Codec] = {}


def codec(cls: type) -> Codec:
    """Return the compiled functions of a message class, compiling them the first time."""
    found = _codecs.get(cls)
    if found is None:
        if not is_dataclass(cls):
            raise TypeError(f"{cls.__name__} is not a dataclass, so it has no fields to tell")
        found = _codecs[cls] = Codec(
            equal=_compile_equal(cls),
            to_dict=_compile_to_dict(cls),
            to_json=_compile_to_json(cls),
            from_dict=_compile_from_dict(cls),
        )
    return found
