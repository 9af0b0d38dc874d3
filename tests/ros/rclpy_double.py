"""Message classes shaped like those that rosidl generates for rclpy.

They take what the real ones take and refuse what the real ones refuse: unknown keywords,
integers for floats, numbers out of range, arrays of another type or length.
"""

from __future__ import annotations

import array
import math
import sys
import types
from collections import UserList
from collections.abc import Sequence, Set

import numpy as np
from rosbags.interfaces import Nodetype

INTEGERS = {
    "int8": (-(2**7), "b"),
    "uint8": (0, "B"),
    "int32": (-(2**31), "i"),
    "uint32": (0, "I"),
    "int64": (-(2**63), "q"),
}
TYPECODES = {"float32": "f", "float64": "d", **{name: code for name, (_, code) in INTEGERS.items()}}


def check_primitive(kind, value):
    if kind == "string":
        assert isinstance(value, str)
    elif kind == "bool":
        assert isinstance(value, bool)
    elif kind in {"float32", "float64"}:
        assert isinstance(value, float), f"{value!r} must be of type float"
        limit = 3.402823466e38 if kind == "float32" else 1.7976931348623157e308
        assert not -math.inf < value < -limit
        assert not limit < value < math.inf
    else:
        assert isinstance(value, int)
        low = INTEGERS[kind][0]
        bits = int(kind.removeprefix("u").removeprefix("int"))
        assert low <= value < low + 2**bits


def default(node, classes):
    kind, what = node
    if kind == Nodetype.BASE:
        name = what[0]
        return {"string": "", "bool": False, "float32": 0.0, "float64": 0.0}.get(name, 0)
    if kind == Nodetype.NAME:
        return classes[what]()
    if kind == Nodetype.ARRAY:
        return np.zeros(what[1], what[0][1][0])
    inner = what[0]
    if inner[0] == Nodetype.BASE and inner[1][0] in TYPECODES:
        return array.array(TYPECODES[inner[1][0]])
    return []


def check(node, value, classes):
    """Check a value as a generated setter does, and return what it stores."""
    kind, what = node
    if kind == Nodetype.BASE:
        check_primitive(what[0], value)
        return value
    if kind == Nodetype.NAME:
        assert isinstance(value, classes[what])
        return value
    inner = what[0]
    if kind == Nodetype.ARRAY:
        if isinstance(value, np.ndarray):
            assert value.dtype == np.dtype(inner[1][0])
            assert value.size == what[1]
            return value
        assert len(value) == what[1]
        return np.array(value, inner[1][0])
    code = TYPECODES.get(inner[1][0]) if inner[0] == Nodetype.BASE else None
    if isinstance(value, array.array):
        assert value.typecode == code
        return value
    assert isinstance(value, (Sequence, Set, UserList))
    assert not isinstance(value, (str, UserList))
    for item in value:
        check(inner, item, classes)
    return array.array(code, value) if code else value


def make_class(package, leaf, entries, classes):
    """Return a class with a checked property for each field, as rosidl writes them."""
    names = [name for name, _ in entries]

    def __init__(self, **values):
        assert all("_" + key in self.__slots__ for key in values), (
            f"Invalid arguments passed to constructor: {', '.join(values.keys() - set(names))}"
        )
        for name, node in entries:
            setattr(self, name, values.get(name, default(node, classes)))

    def field(name, node):
        def get(self):
            return getattr(self, "_" + name)

        def put(self, value):
            setattr(self, "_" + name, check(node, value, classes))

        return property(get, put)

    fields = {name: str(node) for name, node in entries}
    return type(
        leaf,
        (),
        {
            "__slots__": ["_" + name for name in names],
            "__init__": __init__,
            "__module__": f"{package}.msg._{leaf.lower()}",
            "_fields_and_field_types": fields,
            "get_fields_and_field_types": classmethod(lambda cls: dict(fields)),
            **{name: field(name, node) for name, node in entries},
        },
    )


def install(monkeypatch, store, names):
    """Put packages of such classes where ``import nav_msgs.msg`` finds them."""
    classes = {}

    def add(name):
        if name in classes:
            return
        _, entries = store.fielddefs[name]
        for _, node in entries:
            inner = node[1][0] if node[0] in {Nodetype.ARRAY, Nodetype.SEQUENCE} else node
            if inner[0] == Nodetype.NAME:
                add(inner[1])
        package, _, leaf = name.split("/")
        classes[name] = make_class(package, leaf, entries, classes)

    for name in names:
        add(name)
    for name, cls in classes.items():
        package, _, leaf = name.split("/")
        if f"{package}.msg" not in sys.modules or not hasattr(sys.modules[package], "_double"):
            top, module = types.ModuleType(package), types.ModuleType(f"{package}.msg")
            top.msg, top._double = module, True
            monkeypatch.setitem(sys.modules, package, top)
            monkeypatch.setitem(sys.modules, f"{package}.msg", module)
        setattr(sys.modules[f"{package}.msg"], leaf, cls)
    return classes
