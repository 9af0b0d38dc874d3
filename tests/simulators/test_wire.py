"""What is sent is what arrives, to the bit."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import SimulatorError
from irsim_isaac.msg import ContactState, Header, ObjectState, Odometry, Twist, WorldState
from irsim_isaac.simulators.tables import ArrayReader, ArrayWriter, table
from irsim_isaac.simulators.wire import (
    NO_SESSION,
    DamagedMessageError,
    Kind,
    compose,
    is_local,
    pack_values,
    parse,
    unpack,
    unpack_values,
)
from tests.msg.strategies import family
from tests.simulators import faulty
from tests.simulators.arena import robot

pytest.importorskip("msgpack")
FAMILY = family()


def sent(message, *, change=lambda frames: frames):
    """Return a message as the other end makes it."""
    writer = ArrayWriter()
    packed = table(type(message)).pack([message], writer)
    frames = change(compose(Kind.ANSWER, NO_SESSION, 1, packed, writer))
    return received(type(message), [bytearray(frame) for frame in frames])


def received(cls, frames):
    """Return the message that frames tell of."""
    envelope = parse(frames)
    reader = ArrayReader(envelope.gathered, envelope.arrays)
    (found,) = table(cls).unpack(unpack(envelope.body), reader)
    reader.finish()
    return found


def bits(message):
    """Return everything that a message is: classes, types, dtypes, shapes and bits."""
    return repr(_opened(message))


def _opened(value):
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return np.float64(value).tobytes()
    if isinstance(value, list):
        return [_opened(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        fields = [_opened(getattr(value, name)) for name in value.__dataclass_fields__]
        return type(value).__name__, fields
    return value


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize("cls", [WorldState, Odometry, Twist], ids=lambda cls: cls.__name__)
def test_a_message_arrives_as_it_was(cls, data):
    message = data.draw(FAMILY[cls])
    found = sent(message)
    assert bits(found) == bits(message)


@pytest.mark.parametrize("beams", [0, 1, 3, 16383, 16384, 50000])
def test_arrays_of_any_length_arrive_and_may_be_written_to(beams):
    """Short ones are gathered, long ones have a frame each; neither shares memory with another."""
    simulator = faulty.Faulty(robots=(robot("a"), robot("b")), beams=beams)
    state = simulator.read()
    found = sent(state)
    assert bits(found) == bits(state)
    first, second = found.objects[0].scans[0], found.objects[1].scans[0]
    assert found.objects[0].scan is first
    kept = second.ranges.copy()
    first.ranges[:] = -1.0
    np.testing.assert_array_equal(second.ranges, kept)


@pytest.mark.parametrize(("robots", "beams"), [(2, 8), (2, 20000), (40, 1080)])
def test_arrays_are_the_memory_that_came(robots, beams):
    """Nothing is copied on arrival, and what is written later is written there."""
    specs = tuple(robot(f"robot_{number}") for number in range(robots))
    state = faulty.Faulty(robots=specs, beams=beams).read()
    writer = ArrayWriter()
    packed = table(WorldState).pack([state], writer)
    frames = [bytearray(frame) for frame in compose(Kind.ANSWER, NO_SESSION, 1, packed, writer)]
    found = received(WorldState, frames)
    memory = [np.frombuffer(frame, np.uint8) for frame in frames]
    for item in found.robots:
        assert item.scans[0].ranges.flags.writeable
        assert any(np.shares_memory(item.scans[0].ranges, part) for part in memory)
    found.robots[-1].scans[0].ranges[:] = -3.0
    assert sum(np.count_nonzero(part[-4 * beams :].view(np.float32) == -3.0) for part in memory[2:])


@settings(max_examples=40)
@given(st.data(), st.integers(1, 4))
def test_objects_that_have_something_in_common_arrive_as_they_were(data, count):
    """Columns of one value, one length or one shape are told once, and come back whole."""
    item = data.draw(FAMILY[ObjectState])
    others = data.draw(st.lists(FAMILY[ObjectState], max_size=1))
    message = WorldState(Header(), "room", "Running", 0.1, [item] * count + others)
    assert bits(sent(message)) == bits(message)


@pytest.mark.parametrize(
    "change",
    [
        lambda item: setattr(item.header, "seq", True),
        lambda item: setattr(item.header, "stamp", 0),
        lambda item: setattr(item.odom.pose.pose.position, "x", np.float64(-0.0)),
        lambda item: setattr(item.odom.pose, "covariance", -np.zeros(36)),
        lambda item: setattr(item.scans[0], "ranges", np.arange(16.0)[::2]),
        lambda item: setattr(item.scans[0], "ranges", np.arange(16, dtype=np.float32)[::2]),
        lambda item: setattr(item.scans[0], "ranges", np.arange(16, dtype=">f4")),
        lambda item: setattr(item, "goal", np.zeros((2, 0))),
        lambda item: setattr(item, "goal", np.arange(6.0).reshape(2, 3).T),
        lambda item: setattr(item, "scan", None),
        lambda item: setattr(item, "contacts", [ContactState(other="wall")]),
        lambda item: setattr(item, "collision_ids", [1, 2, True]),
    ],
)
@pytest.mark.parametrize("which", [slice(None), slice(1), slice(1, None)], ids=str)
def test_values_that_differ_in_type_alone_stay_what_they_are(change, which):
    state = faulty.Faulty(robots=tuple(robot(name) for name in "abc")).read()
    for item in state.robots[which]:
        change(item)
    assert bits(sent(state)) == bits(state)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3)[:, ::2],
        np.arange(5, dtype=">i2"),
        np.array(3.5),
        np.zeros((0, 3)),
        np.zeros(36),
        -np.zeros(36),
        np.array([True, False]),
        np.full(7, np.nan, np.float16),
    ],
    ids=str,
)
def test_goals_of_any_kind_arrive(array):
    state = faulty.Faulty().read()
    state.objects[0].goal = array
    found = sent(state).objects[0].goal
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [object(), np.array([None]), "text", 2**70])
def test_what_is_no_number_is_not_sent(value):
    state = faulty.Faulty().read()
    state.objects[0].goal = value
    with pytest.raises((SimulatorError, TypeError)):
        sent(state)


@settings(max_examples=150)
@given(st.data())
def test_no_spoilt_message_becomes_a_state(data):
    """Whatever bytes are changed, cut or lost: a state of the right types comes out, or an error.

    Changed numbers are numbers still; what says that a message is whole is its envelope.
    """
    state = faulty.Faulty().read()

    def spoil(frames):
        frames = [bytes(frame) for frame in frames]
        which = data.draw(st.integers(0, len(frames) - 1))
        frame = frames[which]
        how = data.draw(st.sampled_from(["cut", "change", "lose", "twice"]))
        if how == "cut" and frame:
            frames[which] = frame[: data.draw(st.integers(0, len(frame) - 1))]
        elif how == "lose":
            del frames[which]
        elif how == "twice":
            frames.insert(which, frame)
        elif frame:
            at = data.draw(st.integers(0, len(frame) - 1))
            frames[which] = (
                frame[:at] + data.draw(st.binary(min_size=1, max_size=1)) + frame[at + 1 :]
            )
        return frames

    try:
        found = sent(state, change=spoil)
    except (DamagedMessageError, ValueError, TypeError, IndexError, OverflowError):
        return
    assert isinstance(found, WorldState)
    for item in found.objects:
        assert isinstance(item.odom.pose.pose.position.x, (int, float))
        assert all(scan.ranges.dtype == np.float32 for scan in item.scans)


def test_arguments_arrive_with_their_types():
    spec = replace(robot("r"), joints=("left", "right"), prim_path="/World/r")
    given = {
        "robots": (spec,),
        "starts": {"r": (1.0, -0.0, float("inf"))},
        "list": [1, (2, [3, (4,)])],
        "text": "Zürich \udc80",
        "bytes": b"\0\1",
        "nothing": None,
        "yes": True,
        "states": [faulty.Faulty().read()],
    }
    assert unpack_values(pack_values(given)) == given
    found = unpack_values(pack_values([Path("a/b"), Fraction(1, 30), np.float32(0.5), np.int8(3)]))
    assert found == ["a/b", "1/30", 0.5, 3]
    assert [type(value) for value in found] == [str, str, float, int]


@pytest.mark.parametrize("value", [print, object(), {1, 2}, 2**70, lambda: 0])
def test_arguments_that_cannot_be_sent_are_named(value):
    with pytest.raises(SimulatorError, match="cannot be sent"):
        pack_values({"option": value})


def test_no_class_but_the_known_ones_is_made():
    msgpack = pytest.importorskip("msgpack")
    for code, content in ((2, ["Popen", ["true"]]), (2, ["RobotSpec"]), (9, []), (1, 3)):
        packed = msgpack.packb(msgpack.ExtType(code, msgpack.packb(content)))
        with pytest.raises(DamagedMessageError):
            unpack_values(packed)
    with pytest.raises(DamagedMessageError):
        unpack_values(pickle.dumps({"a": 1}))


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("tcp://127.0.0.1:5", True),
        ("tcp://127.9.0.1:*", True),
        ("tcp://[::1]:5", True),
        ("tcp://localhost:5", True),
        ("ipc:///tmp/socket", True),
        ("tcp://0.0.0.0:5", False),
        ("tcp://*:5", False),
        ("tcp://192.0.2.7:5", False),
        ("tcp://localhost.example.org:5", False),
        ("tcp://eth0:5", False),
    ],
)
def test_addresses_of_this_machine(address, local):
    assert is_local(address) is local
