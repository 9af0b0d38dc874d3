"""Equality, dictionaries and JSON of every message class."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irsim_isaac import msg
from tests.msg.strategies import family

FAMILY = family()
CLASSES = [pytest.param(cls, id=cls.__name__) for cls in FAMILY]


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def lists_of(value):
    """Yield every list and dictionary below a value."""
    if isinstance(value, (list, dict)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from lists_of(item)


@pytest.mark.parametrize("cls", CLASSES)
@settings(max_examples=25)
@given(data=st.data())
def test_a_message_survives_its_dictionary(cls, data):
    message = data.draw(FAMILY[cls])
    plain = message.to_dict()
    again = cls.from_dict(plain)
    assert again == message
    assert repr(again.to_dict()) == repr(plain), "bit for bit, signs of zero included"
    assert list(plain) == list(cls.__slots__)
    containers = [id(item) for item in lists_of(plain)]
    assert len(containers) == len(set(containers)), "no list is shared"


@pytest.mark.parametrize("cls", CLASSES)
@settings(max_examples=25)
@given(data=st.data())
def test_a_message_survives_its_json(cls, data):
    message = data.draw(FAMILY[cls])
    text = message.to_json()
    json.loads(text, parse_constant=refuse)
    again = cls.from_json(text)
    assert again == message
    assert repr(again.to_dict()) == repr(message.to_dict())
    assert cls.from_json(text.encode()) == message


@settings(max_examples=40)
@given(data=st.data())
def test_messages_copy_pickle_and_compare(data):
    state = data.draw(FAMILY[msg.WorldState])
    assert copy.deepcopy(state) == state
    assert pickle.loads(pickle.dumps(state)) == state
    assert state != msg.Header()
    other = copy.deepcopy(state)
    other.header.seq += 1
    assert other != state


@settings(max_examples=200)
@given(hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)))
def test_ranges_keep_every_bit_in_json(ranges):
    scan = msg.LaserScan(msg.Header(), *[0.0] * 7, ranges, np.zeros(0, np.float32))
    again = msg.LaserScan.from_json(scan.to_json()).ranges
    assert again.dtype == np.float32
    finite = ~np.isnan(ranges)
    assert np.array_equal(again[finite].view(np.uint32), ranges[finite].view(np.uint32))
    assert np.array_equal(np.isnan(again), np.isnan(ranges))


def test_float32_is_printed_as_float32():
    ranges = np.array([0.1, 1 / 3, 16777216.0, 1e-3], np.float32)
    scan = msg.LaserScan(msg.Header(), *[0.0] * 7, ranges, np.zeros(0, np.float32))
    assert json.loads(scan.to_json())["ranges"] == [0.1, 0.33333334, 16777216.0, 0.001]


def test_numbers_that_are_not_finite_are_strings_in_the_text_alone():
    ranges = np.array([math.inf, 1.0, -math.inf, math.nan], np.float32)
    scan = msg.LaserScan(
        msg.Header(stamp=math.nan), *[0.0] * 6, math.inf, ranges, np.zeros(0, np.float32)
    )
    told = json.loads(scan.to_json(), parse_constant=refuse)
    assert told["ranges"] == ["inf", 1.0, "-inf", "nan"]
    assert told["range_max"] == "inf"
    assert told["header"]["stamp"] == "nan"
    assert scan.to_dict()["range_max"] == math.inf
    with pytest.raises(TypeError, match=r"LaserScan\.range_max: found 'inf', expected float"):
        msg.LaserScan.from_dict({**scan.to_dict(), "range_max": "inf"})


def test_the_first_scan_is_one_object_again():
    scan = msg.LaserScan(msg.Header(), *[0.0] * 7, np.ones(3, np.float32), np.zeros(0, np.float32))
    state = _object(scan=scan, scans=[scan])
    for again in (
        msg.ObjectState.from_dict(state.to_dict()),
        msg.ObjectState.from_json(state.to_json()),
    ):
        assert again.scan is again.scans[0]


def _object(**changes):
    values = {
        "header": msg.Header(),
        "id": 1,
        "name": "a",
        "role": "robot",
        "kinematics": None,
        "shape": "circle",
        "odom": msg.Odometry(),
        "scan": None,
        "goal": None,
        "static": False,
        "arrive": False,
        "collision": False,
    }
    return msg.ObjectState(**{**values, **changes})


def test_equality_is_of_values_and_shape():
    narrow = msg.PoseWithCovariance(covariance=np.ones(36, np.float32))
    assert narrow == msg.PoseWithCovariance(covariance=np.ones(36))
    assert narrow != msg.PoseWithCovariance(covariance=np.ones((6, 6)))
    assert narrow != msg.PoseWithCovariance(covariance=[1.0] * 36)
    assert msg.Header(stamp=math.nan) == msg.Header(stamp=math.nan)
    assert msg.Point() != msg.Vector3()
    with pytest.raises(TypeError, match="unhashable"):
        hash(msg.Point())


def test_the_bare_base_tells_nothing():
    assert msg.Message().to_dict() == {}
    assert msg.Message().to_json() == "{}"
    assert msg.Message.from_dict({}) == msg.Message()


def test_odd_values_become_built_in_ones():
    point = msg.Point(np.float32(0.5), np.int64(2), True)
    assert repr(point.to_dict()) == "{'x': 0.5, 'y': 2, 'z': True}"
    assert point.to_json() == '{"x":0.5,"y":2,"z":true}'
    header = msg.Header(frame_id=("a", {np.int64(1): np.float64(2.0)}))
    assert header.to_dict()["frame_id"] == ["a", {"1": 2.0}]
    for method in ("to_dict", "to_json"):
        with pytest.raises(TypeError, match=r"found \{1\} of type set"):
            getattr(msg.Header(frame_id={1}), method)()


@dataclasses.dataclass(slots=True, eq=False)
class Payload(msg.Message):
    """A message of a user, with a field of a kind that no contract names."""

    payload: dict[str, object]
    notes: tuple[str, ...] | None = None
    local: OnlyForTypeCheckers = 0  # noqa: F821  # a name that is not there at run time


@dataclasses.dataclass(slots=True, eq=False)
class Note(msg.Header):
    """A message of a user that adds to one of ours."""

    extra: dict[str, float] = dataclasses.field(default_factory=dict)


def test_messages_of_users_hold_fields_of_any_kind():
    message = Payload({"scalar": np.float32(1.25), "list": [np.inf, {"a": msg.Point(1.0)}]}, ("x",))
    said = {
        "payload": {"scalar": 1.25, "list": [math.inf, {"a": {"x": 1.0, "y": 0.0, "z": 0.0}}]},
        "notes": ["x"],
        "local": 0,
    }
    assert message.to_dict() == said
    assert json.loads(message.to_json(), parse_constant=refuse) == {
        **said,
        "payload": {**said["payload"], "list": ["inf", said["payload"]["list"][1]]},
    }
    note = Note(3, 0.5, "map", {"a": 1.5})
    assert Note.from_dict(note.to_dict()) == note == Note.from_json(note.to_json())
    assert note != msg.Header(3, 0.5, "map")


def test_whole_numbers_of_any_size_survive():
    header = msg.Header(seq=2**80)
    assert msg.Header.from_json(header.to_json()) == header


def test_lone_surrogates_survive():
    header = msg.Header(frame_id="\ud800")
    assert msg.Header.from_json(header.to_json()) == header


@pytest.mark.parametrize(
    ("cls", "data", "error", "text"),
    [
        (msg.Header, [], TypeError, r"Header: found \[\], expected a mapping"),
        (msg.Header, {"seq": 1.0}, TypeError, r"Header\.seq: found 1\.0, expected int"),
        (msg.Header, {"seq": True}, TypeError, r"Header\.seq: found True, expected int"),
        (msg.Header, {"stamp": None}, TypeError, r"Header\.stamp: found None, expected float"),
        (msg.Header, {"stamps": 0.0}, TypeError, r"Header: unknown field 'stamps'"),
        (msg.LaserScan, {}, TypeError, r"LaserScan: missing field 'header'"),
        (
            msg.PoseWithCovariance,
            {"covariance": [0.0, "1"]},
            TypeError,
            r"PoseWithCovariance\.covariance\[1\]: found '1', expected numbers",
        ),
        (
            msg.PoseWithCovariance,
            {"covariance": [[0.0], [1.0, 2.0]]},
            ValueError,
            r"PoseWithCovariance\.covariance: found \[\[0\.0\], \[1\.0, 2\.0\]\]",
        ),
        (
            msg.TFMessage,
            {"transforms": [{}, {"transform": {"rotation": {"w": "1"}}}]},
            TypeError,
            r"TFMessage\.transforms\[1\]\.transform\.rotation\.w: found '1', expected float",
        ),
        (
            msg.OccupancyGrid,
            {"data": [1, 300]},
            ValueError,
            r"OccupancyGrid\.data: found 300, which does not fit int8",
        ),
        (
            msg.OccupancyGrid,
            {"data": [0.5]},
            TypeError,
            r"OccupancyGrid\.data: found \[0\.5\], expected whole numbers",
        ),
    ],
)
def test_bad_dictionaries_are_refused_with_the_place(cls, data, error, text):
    with pytest.raises(error, match=text):
        cls.from_dict(data)


@pytest.mark.parametrize("text", ['{"stamp": NaN}', '{"stamp": Infinity}', "{", "", b"\xff"])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError):
        msg.Header.from_json(text)


WITHOUT_ORJSON = """
import sys
sys.modules["orjson"] = None
import math
import numpy as np
from irsim_isaac import msg
rng = np.random.default_rng(0)
bits = rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
near = np.round(rng.random(20000).astype(np.float32) * 30, rng.integers(0, 5)).astype(np.float32)
odd = np.array([math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-45, 3.4e38], np.float32)
for ranges in (bits, near, odd, near[::2], near.astype(">f4")):
    scan = msg.LaserScan(msg.Header(), *[math.inf] * 7, ranges, np.zeros(0, np.float32))
    text = scan.to_json()
    again = msg.LaserScan.from_json(text)
    assert again == scan
    keep = ~np.isnan(ranges)
    assert np.array_equal(np.signbit(again.ranges)[keep], np.signbit(ranges)[keep])
scan = msg.LaserScan(
    msg.Header(), *[0.0] * 7, np.array([0.1, 1 / 3], np.float32), np.zeros(0, np.float32)
)
assert '"ranges":[0.1,0.33333334]' in scan.to_json()
try:
    msg.Header.from_json('{"stamp": NaN}')
except ValueError as error:
    assert "NaN" in str(error)
else:
    raise AssertionError("NaN is not JSON")
"""


def test_json_is_the_same_without_orjson():
    subprocess.run([sys.executable, "-c", WITHOUT_ORJSON], check=True)
