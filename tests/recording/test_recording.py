"""Recordings of every form, read back as what was written."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac import msg
from irsim_isaac.cli import main
from irsim_isaac.errors import RecordingError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.recording import convert, entries, read, record, sources
from irsim_isaac.robot import LidarMount, RobotSpec
from tests.msg.strategies import family
from tests.recording.states import world_states

pytest.importorskip("mcap")
FORMS = [".mcap", ".jsonl", ".tum"]
GRID = msg.OccupancyGrid(
    msg.Header(0, 0.5, "world"), msg.MapMetaData(0.0, 0.5, 2, 1), np.array([-1, 100], np.int8)
)


def write(path, states, **options):
    with record(path, **options) as recorder:
        for state in states:
            recorder.write(state)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_the_same_states_come_back(tmp_path, form):
    states = world_states(30)
    path = write(tmp_path / f"run{form}", states, robot="r1")
    assert list(read(path)) == states
    assert sources(path) == ("",)


@settings(max_examples=15)
@given(states=st.lists(family()[msg.WorldState], max_size=3))
@pytest.mark.parametrize("form", [".mcap", ".jsonl"])
def test_any_states_come_back(tmp_path_factory, form, states):
    for k, state in enumerate(states):
        state.header.seq, state.header.stamp = k, k * 0.3
        for item in state.objects:
            for scan in (item.scan, *item.scans):
                if scan is not None:  # sensor_msgs/LaserScan is stamped in nanoseconds
                    scan.header.stamp = 0.5
                    for name in scan.__slots__[1:8]:
                        setattr(scan, name, float(np.float32(0.25)))
            item.odom.header.stamp = 0.25
    path = write(tmp_path_factory.mktemp("any") / f"run{form}", states)
    if states:
        assert list(read(path)) == states


def test_two_simulators_in_one_file(tmp_path):
    left, right = world_states(5), world_states(5, seed=1)
    path = tmp_path / "both.mcap"
    with record(path) as recorder:
        for one, other in zip(left, right, strict=True):
            recorder.write(one, source="left")
            recorder.write(other, source="right")
        recorder.write_map(GRID, source="left")
        recorder.write_map(GRID, source="right", kind="fog")
    assert list(read(path, source="left")) == left
    assert list(read(path, source="right")) == right
    assert sources(path) == ("left", "right")
    kinds = [(entry.source, entry.kind) for entry in entries(path)]
    assert kinds[-2:] == [("left", "map"), ("right", "fog")]
    with pytest.raises(RecordingError, match="holds the sources 'left', 'right'"):
        list(read(path))
    with pytest.raises(RecordingError, match="no source 'up'; sources found: 'left', 'right'"):
        list(read(path, source="up"))


@pytest.mark.parametrize("start", FORMS)
@pytest.mark.parametrize("end", FORMS)
def test_converting_keeps_the_states(tmp_path, capsys, start, end):
    states = world_states(4)
    first = write(tmp_path / f"in{start}", states, robot="r0")
    code = main(["convert", str(first), str(tmp_path / f"out{end}"), "--robot", "r0"])
    assert code == 0, capsys.readouterr().err
    assert list(read(tmp_path / f"out{end}")) == states


def test_converting_counts_what_the_form_cannot_hold(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    with record(path) as recorder:
        for state in world_states(3):
            recorder.write(state, source="left")
        recorder.write_map(GRID, source="left")
    assert convert(path, tmp_path / "run.tum", source="left", robot="r0") == {"map": 1}
    assert main(["convert", str(path), str(tmp_path / "b.tum"), "--robot", "r1"]) == 0
    assert "left out: 1 map" in capsys.readouterr().err
    assert main(["convert", str(path), str(tmp_path / "c.tum")]) == 2
    told = capsys.readouterr().err
    assert "c.tum: robots found: r0, r1; expected one, or to be told which" in told
    assert not (tmp_path / "c.tum").exists()
    assert convert(path, tmp_path / "d.mcap") == {}
    assert [entry.kind for entry in entries(tmp_path / "d.mcap")] == ["state"] * 3 + ["map"]


def test_a_plain_trajectory_is_read_as_poses(tmp_path):
    path = tmp_path / "truth.tum"
    path.write_text("# made by a motion capture\n0.5 1 2 3 0 0 0 1\n1.0 1.5 2 3 0 0 1 0\n")
    states = list(read(path))
    assert [state.header.stamp for state in states] == [0.5, 1.0]
    assert states[1].robots[0].name == "truth"
    assert states[1].robots[0].odom.pose.pose == msg.Pose(
        msg.Point(1.5, 2.0, 3.0), msg.Quaternion(0.0, 0.0, 1.0, 0.0)
    )


def test_a_trajectory_is_what_evo_reads(tmp_path):
    """Rows of eight numbers, all else in comments."""
    states = world_states(6)
    path = write(tmp_path / "run.tum", states, robot="r1")
    rows = np.loadtxt(path)
    pose = [state.objects[1].odom.pose.pose for state in states]
    expected = [
        [
            s.header.stamp,
            p.position.x,
            p.position.y,
            0.0,
            0.0,
            0.0,
            p.orientation.z,
            p.orientation.w,
        ]
        for s, p in zip(states, pose, strict=True)
    ]
    assert np.array_equal(rows, expected)
    bare = write(tmp_path / "bare.tum", states, robot="r1", whole=False)
    assert np.array_equal(np.loadtxt(bare), rows)
    assert len(bare.read_text().splitlines()) == 7


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("form", FORMS)
def test_states_out_of_order_are_refused_and_not_written(tmp_path, form):
    states = world_states(3)
    with record(tmp_path / f"run{form}", robot="r0") as recorder:
        recorder.write(states[1])
        with pytest.raises(RecordingError, match=r"found the state at 0\.0 s, count 0, after"):
            recorder.write(states[0])
        recorder.write(states[2])
    assert list(read(tmp_path / f"run{form}")) == states[1:]


@pytest.mark.parametrize("form", FORMS)
def test_a_state_that_cannot_be_written_leaves_nothing(tmp_path, form):
    states = world_states(3)
    bad = copy.deepcopy(states[1])
    bad.objects[-1].name = {1}
    with record(tmp_path / f"run{form}", robot="r0") as recorder:
        recorder.write(states[0])
        with pytest.raises(RecordingError, match=rf"run{form}: .*(found \{{1\}})"):
            recorder.write(bad)
        recorder.write(states[2])
    assert list(read(tmp_path / f"run{form}")) == [states[0], states[2]]


def _reordered_mcap(path, states):
    """Write with the library itself what our recorder refuses to."""
    from mcap.writer import Writer

    from irsim_isaac.msg.ros import definition, to_cdr

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        schema = writer.register_schema(
            "irsim_msgs/msg/WorldState", "ros2msg", definition(msg.WorldState).encode()
        )
        channel = writer.register_channel("/world_state", "cdr", schema)
        for state in states:
            writer.add_message(channel, 0, to_cdr(state), 0)
        writer.finish()


@pytest.mark.parametrize("form", FORMS)
def test_a_reordered_recording_gives_what_precedes(tmp_path, form):
    states = world_states(4)
    path = tmp_path / f"run{form}"
    swapped = [states[0], states[2], states[1], states[3]]
    if form == ".mcap":
        _reordered_mcap(path, swapped)
    else:
        write(path, states, robot="r0")
        lines = path.read_text().splitlines(keepends=True)
        size = {".jsonl": 1, ".tum": 2}[form]
        groups = [lines[1 + size * k : 1 + size * (k + 1)] for k in range(4)]
        groups[1], groups[2] = groups[2], groups[1]
        path.write_text("".join([lines[0], *(line for group in groups for line in group)]))
    got = []
    with pytest.raises(RecordingError, match=r"run.*, (byte|line) \d+: found the state at 0\.1 s"):
        got.extend(_kept(path, got))
    assert got == [states[0], states[2]]


def _kept(path, got):
    for state in read(path):
        got.append(state)
    return []


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_cut_recording_gives_every_whole_message(tmp_path_factory, form, data):
    states = world_states(12, beams=31)
    folder = tmp_path_factory.mktemp("cut")
    whole = write(folder / f"whole{form}", states, robot="r0", chunk_size=4000).read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    path = folder / f"run{form}"
    path.write_bytes(whole[:cut])
    got = []
    at_a_line = form != ".mcap" and whole[:cut].endswith(b"\n") and not (
        form == ".tum" and whole[:cut].splitlines()[-1].startswith(b"#!")
    )  # fmt: skip
    if at_a_line:
        _kept(path, got)
    else:
        with pytest.raises(RecordingError, match=rf"run{form}, ?(byte|line)? ?|run{form}: "):
            _kept(path, got)
    assert got == states[: len(got)]
    if form != ".mcap":
        lines = whole[:cut].count(b"\n") - 1
        assert len(got) == max(0, lines // {".jsonl": 1, ".tum": 2}[form])
    if got:
        assert list(read(path, damage="accept")) == got


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.mcap", b"", "byte 0: found b'', expected an MCAP file"),
        ("a.mcap", b"PK\x03\x04 nothing", "byte 0: found b'PK"),
        ("a.jsonl", b"", "line 1: the file is empty"),
        ("a.jsonl", b'{"a": 1}\n', r"line 1: found b'\{\"a\": 1\}"),
        ("a.jsonl", b"\x89MCAP0\r\n", "line 1: not JSON"),
        ("a.tum", b"", "line 1: the file is empty"),
        ("a.tum", b"0 1 2\n", "line 1: found '0 1 2', expected eight numbers"),
        ("a.tum", b"\xff\xfe\n", "line 1: not text"),
        ("a.bag", b"", r"found the suffix '\.bag', expected \.mcap, \.jsonl, \.tum"),
    ],
)
def test_foreign_files_are_refused(tmp_path, name, content, text):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=text):
        list(read(path))
    with pytest.raises(RecordingError, match=text):
        list(read(path, damage="accept"))


def test_an_mcap_of_others_is_refused_with_its_topics(tmp_path):
    from mcap.writer import Writer

    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/chatter", "cdr", schema)
        writer.add_message(channel, 0, b"\0\1\0\0\1\0\0\0\0", 0)
        writer.finish()
    with pytest.raises(RecordingError, match=r"no topic 'world_state' .* topics found: /chatter"):
        list(read(path))


def _records(data):
    """Yield the place and the opcode of each record of an MCAP file."""
    offset = 8
    while offset < len(data) - 8:
        yield offset, data[offset]
        offset += 9 + int.from_bytes(data[offset + 1 : offset + 9], "little")


def test_a_damaged_chunk_is_named_and_what_precedes_is_given(tmp_path):
    states = world_states(30)
    path = write(tmp_path / "run.mcap", states, chunk_size=4000)
    data = bytearray(path.read_bytes())
    place = [offset for offset, opcode in _records(data) if opcode == 6][-3]
    data[place + 100 : place + 108] = bytes(8)
    path.write_bytes(data)
    got = []
    with pytest.raises(RecordingError, match=r"run\.mcap, byte \d+: "):
        _kept(path, got)
    assert 0 < len(got) < 30
    assert got == states[: len(got)]


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.mcap")


@pytest.mark.parametrize("source", ["a/b", "a b", " "])
def test_a_source_is_a_name(tmp_path, source):
    with record(tmp_path / "run.jsonl") as recorder, pytest.raises(RecordingError, match="a name"):
        recorder.write(world_states(1)[0], source=source)


def test_a_closed_recording_takes_nothing(tmp_path):
    recorder = record(tmp_path / "run.jsonl")
    recorder.close()
    recorder.close()
    with pytest.raises(RecordingError, match=r"run\.jsonl: the recording is closed"):
        recorder.write(world_states(1)[0])


def test_mcap_refuses_times_before_zero(tmp_path):
    state = world_states(1)[0]
    state.header.stamp = -1.0
    with record(tmp_path / "run.mcap") as recorder:
        with pytest.raises(RecordingError, match=r"found the time -1\.0 s"):
            recorder.write(state)
        state.header.stamp = math.nan
        with pytest.raises(RecordingError, match="is nan, expected a finite time"):
            recorder.write(state)


# ------------------------------------------------------------------ other readers


@pytest.fixture(scope="module")
def mcap_file(tmp_path_factory):
    profile = LidarProfile.from_irsim({"number": 19, "range_max": 9.0, "angle_range": 3.0})
    mount = LidarMount(profile, x=0.2, z=0.5, yaw=math.pi / 2)
    states = world_states(8)
    path = tmp_path_factory.mktemp("readers") / "run.mcap"
    with record(path, robots=[RobotSpec("r0", lidars=(mount,))]) as recorder:
        for state in states:
            recorder.write(state, source="left")
        recorder.write_map(GRID)
    return path, states


def test_mcap_reads_it(mcap_file):
    from mcap.reader import make_reader

    path, states = mcap_file
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        assert {chunk.compression for chunk in summary.chunk_indexes} == {"zstd"}
        times = {}
        for _, channel, message in reader.iter_messages():
            assert channel.message_encoding == "cdr"
            times.setdefault(channel.topic, []).append(message.log_time)
    stamps = [round(state.header.stamp * 1e9) for state in states]
    for topic in ("/left/world_state", "/left/r0/odom", "/left/r1/scan", "/tf",
                  "/left/r0/contacts"):  # fmt: skip
        assert times[topic] == stamps
    assert times["/map"] == [500_000_000]
    assert times["/tf_static"] == [0]
    assert "/left/wall/odom" not in times


def test_mcap_ros2_support_decodes_it(mcap_file):
    reader = pytest.importorskip("mcap_ros2.reader")
    path, states = mcap_file
    scans = [row.ros_msg for row in reader.read_ros2_messages(str(path), topics=["/left/r0/scan"])]
    for scan, state in zip(scans, states, strict=True):
        assert scan.header.frame_id == "left/r0/laser"
        assert np.array_equal(np.array(scan.ranges, np.float32), state.objects[0].scan.ranges)
    static = next(reader.read_ros2_messages(str(path), topics=["/tf_static"])).ros_msg
    transform = static.transforms[0]
    assert transform.header.frame_id == "left/r0/base_link"
    assert transform.child_frame_id == "left/r0/laser"
    assert transform.transform.translation.x == 0.2
    assert transform.transform.rotation.z == pytest.approx(math.sqrt(0.5))
    moving = next(reader.read_ros2_messages(str(path), topics=["/tf"])).ros_msg
    assert [item.child_frame_id for item in moving.transforms] == [
        "left/r0/base_link", "left/r1/base_link"
    ]  # fmt: skip
    worlds = [
        row.ros_msg for row in reader.read_ros2_messages(str(path), topics=["/left/world_state"])
    ]
    assert [world.stamp for world in worlds] == [state.header.stamp for state in states]


def test_rosbags_reads_it(mcap_file):
    highlevel = pytest.importorskip("rosbags.highlevel")
    path, states = mcap_file
    with highlevel.AnyReader([path]) as reader:
        found = [
            reader.deserialize(data, connection.msgtype)
            for connection, _, data in reader.messages()
            if connection.topic == "/left/r1/odom"
        ]
    assert [odom.pose.pose.position.x for odom in found] == [
        state.objects[1].odom.pose.pose.position.x for state in states
    ]
