"""A recording process killed at random moments."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest

from irsim_isaac.errors import RecordingError
from irsim_isaac.recording import read
from tests.recording.states import world_states

pytest.importorskip("mcap")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

ROUNDS = 50
STATES = 120

# One process forks a child a round, so that a round costs no imports. A child says each state
# that it has written with a byte in a pipe; it is killed after a random part of a whole run.
KILLER = f"""
import os, random, signal, sys, time
from irsim_isaac.recording import record
from tests.recording.states import world_states

folder = sys.argv[1]
states = world_states({STATES})
chance = random.Random(7)

def run(path, told):
    with record(path, chunk_size=12_000) as recorder:
        for state in states:
            recorder.write(state)
            os.write(told, b".")

null = os.open(os.devnull, os.O_WRONLY)
run(folder + "/warm.mcap", null)
start = time.perf_counter()
run(folder + "/whole.mcap", null)
whole = time.perf_counter() - start
for index in range({ROUNDS}):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        run(f"{{folder}}/{{index}}.mcap", writing)
        os.write(writing, b"!")
        signal.pause()
    os.close(writing)
    time.sleep(chance.random() * whole * 1.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = b""
    while data := os.read(reading, 4096):
        told += data
    os.close(reading)
    print(index, told.count(b"."), int(b"!" in told), flush=True)
"""


def states_in_whole_chunks(data):
    """Count, with the mcap library, the states of each chunk that lies whole in a file."""
    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, Chunk, Message
    from mcap.stream_reader import breakup_chunk

    counts = []
    topics = {}
    offset = 8
    while offset + 9 <= len(data):
        end = offset + 9 + int.from_bytes(data[offset + 1 : offset + 9], "little")
        if end > len(data):
            break
        if data[offset] == 6:
            chunk = Chunk.read(ReadDataStream(io.BytesIO(data[offset + 9 : end])))
            records = breakup_chunk(chunk, validate_crc=True)
            topics |= {item.id: item.topic for item in records if isinstance(item, Channel)}
            counts.append(
                sum(
                    isinstance(item, Message) and topics[item.channel_id] == "/world_state"
                    for item in records
                )
            )
        offset = end
    return counts


def test_a_killed_recording_gives_every_whole_chunk(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path)], check=True, capture_output=True, text=True
    )
    states = world_states(STATES)
    whole = states_in_whole_chunks((tmp_path / "whole.mcap").read_bytes())
    assert sum(whole) == STATES
    rows = [list(map(int, line.split())) for line in result.stdout.splitlines()]
    assert len(rows) == ROUNDS
    seen = set()
    for index, written, finished in rows:
        path = tmp_path / f"{index}.mcap"
        data = path.read_bytes() if path.exists() else b""
        expected = states_in_whole_chunks(data)
        assert expected == whole[: len(expected)], "nothing that was written is lost"
        assert finished or written <= sum(whole[: len(expected) + 1])
        if not data:
            continue
        got = []
        try:
            for state in read(path):
                got.append(state)
            assert finished
        except RecordingError as error:
            assert not finished
            assert re.search(r"byte \d+: (found b''|the recording is cut off)", str(error))
        assert got == states[: sum(expected)]
        seen.add(len(expected))
    assert len(seen) > 5, "the kills fell at different moments"
