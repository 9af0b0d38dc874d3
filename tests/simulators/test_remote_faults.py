"""What goes wrong between two processes ends in an answer or in an error that says what."""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.errors import MissingPackageError, SimulatorError
from irsim_isaac.mirror import Mirror
from irsim_isaac.msg import WorldState
from irsim_isaac.simulators import RemoteSimulator, make
from irsim_isaac.simulators.server import SimulatorServer
from irsim_isaac.simulators.server_process import ServerProcess
from tests.simulators import faulty
from tests.simulators.arena import odometry, twist
from tests.simulators.conformance import digest, pose_of, state_of
from tests.simulators.conftest import Servers, alive, children, until
from tests.simulators.proxies import CableProxy, MessageProxy

zmq = pytest.importorskip("zmq")
pytest.importorskip("msgpack")

FAULTY = {"imports": ["tests.simulators.faulty"]}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def begin(servers: Servers) -> Iterator[Callable[..., RemoteSimulator]]:
    """Return a function that makes the faulty simulator in a process that tests share."""
    made: list[RemoteSimulator] = []

    def start(**options: Any) -> RemoteSimulator:
        made.append(servers.make("faulty", **FAULTY, **options))
        return made[-1]

    yield start
    for simulator in made:
        simulator.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Return a server that a test may speak to in its own way."""
    process = ServerProcess()
    yield process
    process.kill()


def attach(server: ServerProcess, address: str | None = None, **options: Any) -> RemoteSimulator:
    given = {"simulator": "faulty", "token": server.token, **FAULTY, **options}
    return RemoteSimulator(address=address or server.address, **given)


# ------------------------------------------------------------------ faults of the simulator


@pytest.mark.parametrize("fault", ["nan", "inf"])
def test_a_state_that_is_not_finite_arrives_and_moves_nothing(begin: Any, fault: str) -> None:
    """It is told as it is, to the bit, and the other simulator stays where it was."""
    remote = begin(fault=fault, at=3)
    follower = faulty.Faulty()
    mirror = Mirror(remote, follower, direction="follow", commands=lambda _: {"robot": twist(0.5)})
    mirror.start()
    mirror.run(2)
    before = pose_of(follower.read())
    with pytest.raises(SimulatorError, match="'robot'"):
        mirror.run(1)
    found = state_of(remote.read(), "robot").odom.pose.pose.position.x
    assert math.isnan(found) if fault == "nan" else found == math.inf
    assert pose_of(follower.read()) == before


@pytest.mark.parametrize("fault", ["deletes", "reparents"])
def test_an_object_that_goes_in_mid_run_is_counted(begin: Any, fault: str) -> None:
    remote = begin(fault=fault, at=3)
    mirror = Mirror(remote, faulty.Faulty(), direction="follow")
    mirror.start()
    mirror.run(6)
    assert mirror.counts.vanished == {"crate"}
    assert mirror.counts.new == ({"Moved_crate"} if fault == "reparents" else set())
    with pytest.raises(SimulatorError, match="nobody"):
        remote.write({"nobody": odometry(0.0, 0.0)})


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raises", "ZeroDivisionError: a fault of the simulator"),
        ("is closed", "faulty: the stage was closed"),
        ("says nonsense", "AttributeError"),
    ],
)
def test_what_the_simulator_raises_is_raised_here(begin: Any, fault: str, message: str) -> None:
    """The server lives on, and so does the connection."""
    remote = begin(fault=fault, at=2)
    remote.step({"robot": twist(0.5)})
    for _ in range(2):
        with pytest.raises(SimulatorError, match=message):
            remote.step({})
    assert remote.fault is None
    assert remote.reset().header.seq == 0


def test_what_cannot_be_made_says_why(begin: Any) -> None:
    with pytest.raises(SimulatorError, match="StageError: no such stage"):
        begin(fault="refuses to begin")
    with pytest.raises(SimulatorError, match="no option 'colour'"):
        begin(colour="red")
    with pytest.raises(SimulatorError, match=r"function.* cannot be sent"):
        begin(fault=print)
    with pytest.raises(SimulatorError, match="no simulator is named 'nothing'"):
        make("remote", simulator="nothing", address=None)
    with pytest.raises(SimulatorError, match=r"neither a simulator .* nor an address"):
        make("remote")


@pytest.mark.parametrize(
    ("fault", "message"),
    [("exits", "ended with 7; it said last: .*about to exit"), ("leaves", "ended with 3")],
)
def test_a_server_that_ends_is_named(fault: str, message: str, no_orphans: None) -> None:
    remote = RemoteSimulator(simulator="faulty", fault=fault, at=2, **FAULTY)
    remote.step({})
    with pytest.raises(SimulatorError, match=message):
        remote.step({})
    assert remote.fault is not None
    for call in (remote.read, remote.reset, lambda: remote.step({}), lambda: remote.write({})):
        with pytest.raises(SimulatorError, match="it is lost"):
            call()
    remote.close()
    with pytest.raises(SimulatorError, match="closed"):
        remote.read()


def test_a_slow_one_is_given_up(no_orphans: None) -> None:
    """A step that takes too long is an error in time, and its process goes."""
    remote = RemoteSimulator(simulator="faulty", fault="sleeps", at=2, timeout=1.0, **FAULTY)
    process = remote.process_id
    assert process is not None
    remote.step({})
    start = time.monotonic()
    with pytest.raises(SimulatorError, match=r"step: no answer within 1 s; .* is alive"):
        remote.step({})
    assert time.monotonic() - start < 4.0
    assert until(lambda: not alive(process))
    remote.close()


def test_a_frozen_server_is_noticed_by_its_silence(no_orphans: None) -> None:
    """Long before an answer is due; and though it hears no word, it goes."""
    remote = RemoteSimulator(
        simulator="faulty", heartbeat=0.1, reconnect=0.5, timeout=60.0, **FAULTY
    )
    last = remote.step({"robot": twist(0.5)})
    process = remote.process_id or 0
    os.kill(process, signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(SimulatorError, match=r"step: .* cut and did not come back within 0\.5"):
        remote.step({})
    assert time.monotonic() - start < 20.0
    assert until(lambda: not alive(process))
    assert pose_of(remote.resume(last)) == pose_of(last)
    remote.close()


# ------------------------------------------------------------------ processes


def test_whatever_signal_ends_a_server_is_told(no_orphans: None) -> None:
    """Ctrl-C and a request to end are ends in order; each can be taken up again."""
    remote = RemoteSimulator(simulator="faulty", **FAULTY)
    last = remote.step({"robot": twist(0.5)})
    for number, how in (
        (signal.SIGINT, "ended with 0"),
        (signal.SIGTERM, "ended with 0"),
        (signal.SIGHUP, "was ended by SIGHUP"),
        (signal.SIGKILL, "was ended by SIGKILL"),
    ):
        process = remote.process_id or 0
        os.kill(process, number)
        assert until(lambda: not alive(process))  # noqa: B023  # called at once
        with pytest.raises(SimulatorError, match=f"the server process {how}"):
            remote.step({})
        assert pose_of(remote.resume(last)) == pose_of(last)
    remote.close()


def test_it_is_taken_up_again_where_it_was(tmp_path: Path, no_orphans: None) -> None:
    remote = RemoteSimulator(simulator="faulty", step_time="1/30", **FAULTY)
    for _ in range(7):
        last = remote.step({"robot": twist(0.5, 0.3)})
    remote.write({"crate": odometry(2.0, 3.0, 1.0)})
    last = remote.read()
    process = remote.process_id
    assert process is not None
    os.kill(process, signal.SIGKILL)
    with pytest.raises(SimulatorError, match="read: the server process was ended by SIGKILL"):
        remote.read()
    found = remote.resume(last)
    assert pose_of(found) == pytest.approx(pose_of(last), abs=1e-12)
    assert pose_of(found, "crate") == pytest.approx((2.0, 3.0, 1.0), abs=1e-12)
    assert remote.time == found.header.stamp == 7 / 30
    assert remote.step({}).objects[0].scans[0].header.stamp == remote.time == 8 / 30
    assert remote.reset().header.stamp == remote.time == 0.0
    assert not alive(process)
    remote.close()


def test_a_recording_is_played_up_to_where_it_was(tmp_path: Path, no_orphans: None) -> None:
    simulator = faulty.Faulty()
    states = [simulator.read()]
    states += [simulator.step({"robot": twist(0.5, 0.3)}) for _ in range(6)]
    remote = RemoteSimulator(simulator="recorded", recording=states, step_time=None)
    for _ in range(4):
        last = remote.step({})
    os.kill(remote.process_id or 0, signal.SIGKILL)
    with pytest.raises(SimulatorError, match="SIGKILL"):
        remote.step({})
    assert digest(remote.resume(last)) == digest(last)
    assert digest(remote.step({})) == digest(states[5])
    remote.close()


PARENTS = """
import os, pty, signal, sys, time
from irsim_isaac.simulators import RemoteSimulator

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)

def fail():
    raise RuntimeError("a bug")

def fork():
    if os.fork() == 0:
        time.sleep(12)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)

def wait():
    time.sleep(30)

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def end():
    pass

def live(say, ending):
    remote = RemoteSimulator(simulator="faulty", imports=["tests.simulators.faulty"])
    os.write(say, f"{remote.process_id}\\n".encode())
    os.close(say)
    ending()

def begin(ending):
    hear, say = os.pipe()
    terminal = None
    if ending is wait:
        process, terminal = pty.fork()
    else:
        process = os.fork()
    if process:
        os.close(say)
        return os.fdopen(hear), terminal
    os.close(hear)
    if ending is not wait:
        os.setpgid(0, 0)
    live(say, ending)
    sys.exit(0)

begun = {ending.__name__: begin(ending) for ending in (kill, interrupt, fail, end, fork, wait)}
for name, (lines, terminal) in begun.items():
    print(name, lines.readline().strip(), flush=True)
    if terminal is not None:
        os.close(terminal)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc")
def test_the_server_ends_with_its_client() -> None:
    """However the client ends: killed, by Ctrl-C, with its terminal, by an error, at its end.

    And also when it is killed and a fork of it still holds the server's input.
    """
    parents = subprocess.Popen(
        [sys.executable, "-c", PARENTS],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert parents.stdout is not None
    servers = dict(parents.stdout.readline().split() for _ in range(6))
    assert set(servers) == {"kill", "interrupt", "wait", "fail", "end", "fork"}
    for how, server in servers.items():
        assert until(lambda: not alive(int(server))), how  # noqa: B023  # called at once
    parents.stdout.close()
    parents.wait()


def test_letting_go_of_it_ends_the_server(no_orphans: None) -> None:
    remote = RemoteSimulator(simulator="faulty", **FAULTY)
    process = remote.process_id
    assert process in children(os.getpid())
    del remote


def test_another_interpreter_may_be_a_script(tmp_path: Path, no_orphans: None) -> None:
    """As Isaac Sim's is: a shell that runs Python and says things of its own."""
    script = tmp_path / "python.sh"
    script.write_text(f'#!/bin/sh\necho "starting"\n{sys.executable} "$@"\nexit $?\n')
    script.chmod(0o755)
    remote = RemoteSimulator(simulator="faulty", python=script, **FAULTY)
    assert "starting" in remote.logs
    inner = children(remote.process_id or 0)
    assert len(inner) == 1
    remote.step({})
    remote.close()
    assert until(lambda: not alive(inner[0]))


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("/no/such/python", "cannot be started: .*No such file"),
        ([sys.executable, "-c", "print('not a server')"], "ended with 0; it said last: not a"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "has not started within 1 s"),
    ],
)
def test_an_interpreter_that_does_not_serve_is_named(
    python: Any, message: str, no_orphans: None
) -> None:
    with pytest.raises(SimulatorError, match=message):
        RemoteSimulator(simulator="faulty", python=python, start_timeout=1.0)


def test_what_the_other_side_says_is_surfaced(caplog: Any, no_orphans: None) -> None:
    with caplog.at_level(logging.INFO, "irsim_isaac"):
        remote = RemoteSimulator(simulator="faulty", fault="raises", **FAULTY)
        with pytest.raises(SimulatorError, match="ZeroDivisionError"):
            remote.step({})
        assert until(lambda: any("ZeroDivisionError" in line for line in remote.logs))
        assert until(lambda: "ZeroDivisionError" in caplog.text)
        remote.close()


def test_without_the_packages_it_says_which_extra(monkeypatch: Any) -> None:
    for package in ("zmq", "msgpack"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingPackageError, match=r"irsim-isaac\[remote\]"):
            RemoteSimulator(simulator="stage")
        monkeypatch.undo()


# ------------------------------------------------------------------ the connection


def test_a_cut_connection_comes_back_and_nothing_is_done_twice(server: ServerProcess) -> None:
    """Cut before, during and after what is said: the run is that of an unbroken one."""
    expected = faulty.Faulty(beams=20000)
    with CableProxy(server.address) as cable:
        remote = attach(server, cable.address, beams=20000)
        for step in range(60):
            delay = (step % 6) * 0.001
            if step % 3 == 0:
                cut = threading.Timer(delay, cable.cut)
                cut.start()
                if step % 2:
                    cut.join()
            command = {"robot": twist(0.1 * (step % 7), 0.2)}
            assert remote.step(command) == expected.step(command)
        assert cable.cuts >= 20
        assert remote.time == expected.time
        remote.close()


def test_a_connection_that_stays_cut_is_given_up(server: ServerProcess) -> None:
    with CableProxy(server.address) as cable:
        remote = attach(server, cable.address, reconnect=0.5)
        remote.step({})
        cable.refusing = True
        cable.cut()
        with pytest.raises(SimulatorError, match=r"step: .* cut and did not come back within 0\.5"):
            remote.step({})
        cable.refusing = False
        assert remote.resume(faulty.Faulty().step({})).header.seq == 1
        remote.close()


ENVELOPE = 43


def _cut_short(frames: list[bytes]) -> list[list[bytes]]:
    return [[*frames[:-1], frames[-1][: len(frames[-1]) // 2]]]


def _lacks_a_frame(frames: list[bytes]) -> list[list[bytes]]:
    return [frames[:-1]]


def _envelope_cut(frames: list[bytes]) -> list[list[bytes]]:
    return [[frames[0][:20], *frames[1:]]]


def _of_version_2(frames: list[bytes]) -> list[list[bytes]]:
    return [[frames[0][:4] + b"\0\2" + frames[0][6:], *frames[1:]]]


def _of_something_else(frames: list[bytes]) -> list[list[bytes]]:
    return [[b"HTTP" + frames[0][4:], *frames[1:]]]


def _garbled(frames: list[bytes]) -> list[list[bytes]]:
    return [[frames[0], bytes(255 - byte for byte in frames[1]), *frames[2:]]]


def _too_early(frames: list[bytes]) -> list[list[bytes]]:
    count = int.from_bytes(frames[0][23:31], "big") + 1
    return [[frames[0][:23] + count.to_bytes(8, "big") + frames[0][31:], *frames[1:]]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_cut_short, "its envelope says"),
        (_lacks_a_frame, "its envelope says"),
        (_envelope_cut, "a message without envelope"),
        (_of_version_2, "version 2; this end speaks version 1"),
        (_of_something_else, "begins with b'HTTP'"),
        (_garbled, "damaged"),
        (_too_early, "came before"),
    ],
)
def test_a_spoilt_answer_is_refused(server: ServerProcess, spoil: Any, message: str) -> None:
    """It becomes no state, and the simulator can be taken up again."""
    with MessageProxy(server.address, lambda frames: [frames]) as proxy:
        remote = attach(server, proxy.address)
        last = remote.step({"robot": twist(0.5)})
        proxy.change = spoil
        with pytest.raises(SimulatorError, match=message):
            remote.step({"robot": twist(0.5)})
        assert remote.fault is not None
        proxy.change = lambda frames: [frames]
        assert pose_of(_resumed(remote, last)) == pose_of(last)
        remote.close()


def _resumed(remote: RemoteSimulator, last: WorldState) -> WorldState:
    """Resume, giving the server the time to see that the old client is gone."""
    end = time.monotonic() + 5.0
    while True:
        try:
            return remote.resume(last)
        except SimulatorError:
            if time.monotonic() > end:
                raise


def test_answers_that_come_late_or_twice_are_passed_over(server: ServerProcess) -> None:
    kept: list[list[bytes]] = []

    def shuffle(frames: list[bytes]) -> list[list[bytes]]:
        """Put every answer before this one in front, and send this one twice."""
        kept.append(frames)
        return [*kept[-3:], frames]

    expected = faulty.Faulty()
    with MessageProxy(server.address, lambda frames: [frames]) as proxy:
        remote = attach(server, proxy.address)
        proxy.change = shuffle
        for step in range(10):
            command = {"robot": twist(0.1 * step)}
            assert remote.step(command) == expected.step(command)
        remote.close()


def test_what_is_too_large_is_refused_at_either_end() -> None:
    server = ServerProcess(arguments=["--size-limit", "100000"])
    remote = attach(server, beams=50000, size_limit=100000)
    with pytest.raises(SimulatorError, match=r"a message of \d+ bytes; at most 100000"):
        remote.read()
    assert remote.fault is None
    with pytest.raises(SimulatorError, match=r"write: a message of \d+ bytes; at most 100000"):
        remote.write({"x" * 100001: odometry(0.0, 0.0)})
    remote.close()
    # A server that takes more sends what its client does not.
    wide = ServerProcess()
    remote = attach(wide, beams=50000, size_limit=100000, reconnect=1.0, timeout=5.0)
    with pytest.raises(SimulatorError, match="read: "):
        remote.read()
    assert remote.fault is not None
    remote.close()
    for process in (server, wide):
        process.kill()


def _raw(address: str) -> Any:
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    socket.rcvtimeo = 3000
    socket.connect(address)
    return socket


def test_the_server_lives_through_what_anybody_says(server: ServerProcess) -> None:
    """Nonsense is answered with a refusal or dropped, and the client that is served is not hurt."""
    remote = attach(server)
    before = digest(remote.step({"robot": twist(0.5)}))
    header = b"ISIR" + b"\0\1"
    for frames in (
        [b""],
        [b"x" * 1000],
        [b"y" * ENVELOPE, b"\xc0"],
        [header + b"\x01" + bytes(36), b"\xc1"],
        [header + b"\x01" + bytes(24) + (1).to_bytes(4, "big") + (1).to_bytes(8, "big"), b"\xc0"],
        [header + b"\x04" + bytes(24) + (1).to_bytes(4, "big") + (1).to_bytes(8, "big"), b"\xc0"],
        [header + b"\xff" + bytes(24) + (1).to_bytes(4, "big") + (1).to_bytes(8, "big"), b"\xc0"],
    ):
        socket = _raw(server.address)
        socket.send_multipart(frames)
        kind = socket.recv_multipart()[0][6]
        assert kind in (3, 6)
        socket.close()
    assert digest(remote.read()) == before
    remote.close()


def test_wrong_tokens_versions_and_seconds_are_turned_away(server: ServerProcess) -> None:
    with pytest.raises(SimulatorError, match="the server refuses: the token is wrong"):
        attach(server, token="guess")
    with pytest.raises(SimulatorError, match="the server refuses: the token is wrong"):
        attach(server, token=None)
    remote = attach(server)
    with pytest.raises(SimulatorError, match="another client is being served"):
        attach(server)
    remote.step({})
    remote.close()


def test_a_server_of_another_version_or_other_messages_is_turned_away(
    server: ServerProcess, monkeypatch: Any
) -> None:
    with (
        MessageProxy(server.address, _of_version_2) as proxy,
        pytest.raises(SimulatorError, match="version 2; this end speaks version 1"),
    ):
        attach(server, proxy.address)
    monkeypatch.setattr("irsim_isaac.simulators.remote.fingerprint", lambda: 1)
    with pytest.raises(SimulatorError, match="its messages have other fields"):
        attach(server)


def test_where_nobody_answers_is_named() -> None:
    start = time.monotonic()
    with pytest.raises(SimulatorError, match=r"reaching tcp://127.0.0.1:9: no answer within 0\.5"):
        RemoteSimulator(address="tcp://127.0.0.1:9", timeout=0.5)
    assert time.monotonic() - start < 5.0
    with pytest.raises(SimulatorError, match="'noise' was given"):
        RemoteSimulator(address="tcp://127.0.0.1:9", noise=True)
    for address in ("127.0.0.1:5000", "udp://127.0.0.1:1", "tcp://127.0.0.1"):
        with pytest.raises(SimulatorError, match="'tcp://HOST:PORT'"):
            RemoteSimulator(address=address)


def test_other_machines_need_a_token() -> None:
    with pytest.raises(SimulatorError, match="a token was expected"):
        RemoteSimulator(address="tcp://192.0.2.1:5000")
    for listen in ("tcp://0.0.0.0:*", "tcp://*:*", "tcp://192.0.2.1:5000"):
        with pytest.raises(SimulatorError, match="a token was expected"):
            SimulatorServer(listen=listen)


# ------------------------------------------------------------------ servers that run


def test_a_server_on_the_command_line_serves_one_after_another(tmp_path: Path) -> None:
    """Each client finds the simulator as the one before left it."""
    token = tmp_path / "token"
    token.write_text("of the tests\n")
    command = [sys.executable, "-m", "irsim_isaac.simulators.server"]
    command += ["--simulator", "faulty", "--import", "tests.simulators.faulty"]
    command += ["--token-file", str(token), "--option", "beams=5", "--step-time", "1/4"]
    server = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    assert server.stdout is not None
    address = server.stdout.readline().split()[-1]
    for client in range(3):
        remote = make("remote", address=address, token="of the tests")
        assert remote.name == "faulty"
        assert remote.read().header.seq == client
        assert remote.step({}).objects[0].scans[0].ranges.shape == (5,)
        assert remote.time == (client + 1) / 4
        remote.close()
    with pytest.raises(SimulatorError, match="serves 'faulty' and makes no other"):
        make("remote", simulator="stage", address=address, token="of the tests")
    server.send_signal(signal.SIGINT)
    assert server.wait(10) == 0
    server.stdout.close()


def test_one_that_runs_by_itself_tells_its_steps_here(servers: Servers) -> None:
    simulator = faulty.Faulty()
    states = [simulator.read()]
    states += [simulator.step({"robot": twist(0.5, 0.3)}) for _ in range(12)]
    remote = servers.make("recorded", recording=states, step_time=None, drive="runs", pace=20.0)
    assert remote.drive == "runs"
    seen: list[WorldState] = []
    remote.on_step = seen.append
    with pytest.raises(SimulatorError, match="cannot be stepped"):
        remote.step({})
    assert remote.run(steps=5) == 5
    assert [digest(state) for state in seen] == [digest(state) for state in states[1:6]]

    def stop_at_eight(state: WorldState) -> None:
        seen.append(state)
        if state.header.seq == 8:
            remote.stop()

    remote.on_step = stop_at_eight
    assert 3 <= remote.run() <= 7
    assert seen[-1].header.seq == 8
    assert remote.read().header.seq >= 8
    remote.close()


def test_a_client_that_is_slow_misses_states_and_none_wait_for_it(servers: Servers) -> None:
    simulator = faulty.Faulty()
    states = [simulator.read()]
    states += [simulator.step({"robot": twist(0.5, 0.3)}) for _ in range(60)]
    remote = servers.make("recorded", recording=states, step_time=None, drive="runs", pace=200.0)
    seen: list[WorldState] = []

    def dawdle(state: WorldState) -> None:
        seen.append(state)
        time.sleep(0.02)

    remote.on_step = dawdle
    assert remote.run() == 60
    counts = [state.header.seq for state in seen]
    assert counts == sorted(set(counts))
    assert 8 <= len(counts) < 60
    assert [digest(state) for state in seen] == [digest(states[count]) for count in counts]
    remote.close()


@pytest.fixture
def within() -> Iterator[Callable[[Any], RemoteSimulator]]:
    """Return a function that serves a simulator from a thread of this process."""
    ends: list[Callable[[], None]] = []

    def serve(simulator: Any) -> RemoteSimulator:
        server = SimulatorServer(simulator)
        thread = threading.Thread(target=server.serve)
        thread.start()
        remote = RemoteSimulator(address=server.address)
        ends.extend([server.close, thread.join, server.stop, remote.close])
        return remote

    yield serve
    while ends:
        ends.pop()()


def test_what_a_server_elsewhere_warns_of_is_surfaced(within: Any) -> None:
    simulator = faulty.Faulty()
    advance = simulator._advance

    def warn(commands: Any) -> None:
        logging.getLogger("of.a.simulator").warning("the battery is low")
        advance(commands)

    simulator._advance = warn  # type: ignore[method-assign]
    remote = within(simulator)
    assert remote.logs == ()
    remote.step({})
    assert remote.logs == ("WARNING: the battery is low",)


def test_two_threads_do_not_meet_in_it(begin: Any) -> None:
    remote = begin(fault="sleeps", at=1, timeout=1.0)
    errors: list[BaseException] = []

    def step() -> None:
        try:
            remote.step({})
        except SimulatorError as error:
            errors.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    time.sleep(0.2)
    with pytest.raises(SimulatorError, match="two threads at once"):
        remote.read()
    thread.join()
    assert "no answer within 1 s" in str(errors[0])
