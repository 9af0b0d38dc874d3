"""What another process costs: a step there against an echo of its bytes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.msg import (
    Header,
    LaserScan,
    ObjectState,
    Odometry,
    Point,
    Twist,
    Vector3,
    WorldState,
)
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.simulators import RemoteSimulator, register
from irsim_isaac.simulators.base import SteppedSimulator
from irsim_isaac.simulators.tables import ArrayWriter, table
from irsim_isaac.simulators.wire import NO_SESSION, Kind, compose

ROBOTS, BEAMS = 100, 1080
TRIPS = 20


def _state() -> WorldState:
    random = np.random.default_rng(1)
    objects = []
    for number in range(ROBOTS):
        name = f"robot_{number}"
        header = Header(1, 0.1)
        scan = LaserScan(
            Header(1, 0.1, f"{name}/laser"),
            *(-3.14, 3.14, 0.0058, 0.0, 0.1, 0.05, 30.0),
            random.uniform(0.05, 30.0, BEAMS).astype(np.float32),
            np.zeros(0, np.float32),
        )
        odom = Odometry(Header(1, 0.1), f"{name}/base_link")
        odom.pose.pose.position = Point(*random.uniform(-9.0, 9.0, 2).tolist(), 0.0)
        objects.append(
            ObjectState(
                *(header, number, name, "robot", "diff", "circle", odom, scan),
                goal=np.zeros((3, 1)),
                static=False,
                arrive=False,
                collision=False,
                scans=[scan],
            )
        )
    return WorldState(Header(1, 0.1), "room", "Running", 0.1, objects)


class Prepared(SteppedSimulator):
    """Says one state again and again, so that only the way there and back takes time."""

    def __init__(self, *, step_time: Any = 0.1, seed: int = 0) -> None:
        profile = LidarProfile.full_turn("round", BEAMS)
        robots = [
            RobotSpec(f"robot_{number}", lidars=(LidarMount(profile),)) for number in range(ROBOTS)
        ]
        super().__init__("prepared", robots, step_time=step_time, seed=seed)
        self._state = _state()

    def step(self, commands: Any) -> WorldState:
        """Say the state."""
        return self._state

    def _restart(self, seed: int) -> None: ...

    def _advance(self, commands: Any) -> None: ...

    def _capture(self) -> WorldState:
        return self._state

    def _place(self, updates: Any) -> None: ...

    def _release(self) -> None: ...


register("prepared", Prepared, replace=True)


def _echo(ready: Any, answer: list[bytes] | None) -> None:
    """Send back what comes, or a fixed answer."""
    import zmq

    socket = zmq.Context.instance().socket(zmq.ROUTER)
    ready.send(socket.bind_to_random_port("tcp://127.0.0.1"))
    while True:
        client, *frames = socket.recv_multipart(copy=False)
        if len(frames) == 1 and not len(frames[0]):
            return
        socket.send_multipart([client, *(answer or frames)], copy=False)


class Echo:
    """A process that echoes, and a socket to it."""

    def __init__(self, answer: list[bytes] | None = None) -> None:
        import zmq

        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        self._process = context.Process(target=_echo, args=(there, answer), daemon=True)
        self._process.start()
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.linger = 1000
        self._socket.connect(f"tcp://127.0.0.1:{here.recv()}")

    def trip(self, frames: list[bytes]) -> Any:
        """Send frames and return what comes back."""
        self._socket.send_multipart(frames, copy=False)
        return self._socket.recv_multipart(copy=False)

    def close(self) -> None:
        """End the process."""
        self._socket.send(b"")
        self._process.join()
        self._socket.close()


@benchmark("remote_round_trip")
def remote_round_trip() -> Iterable[Row]:
    import zmq

    writer = ArrayWriter()
    body = (0.1, (), table(WorldState).pack([_state()], writer))
    there_and_back = [bytes(part) for part in compose(Kind.ANSWER, NO_SESSION, 1, body, writer)]
    commands = {f"robot_{number}": Twist(Vector3(0.3), Vector3(z=0.2)) for number in range(ROBOTS)}
    told = ArrayWriter()
    asking = ("step", tuple(commands), table(Twist).pack(list(commands.values()), told))
    asked = [bytes(part) for part in compose(Kind.ASK, NO_SESSION, 1, asking, told)]
    remote = RemoteSimulator(simulator="prepared", imports=["benchmarks.remote"])
    echo, server = Echo(), Echo(there_and_back)
    size = sum(map(len, there_and_back))

    def ours() -> None:
        for _ in range(TRIPS):
            remote.step(commands)

    peer = f"ZeroMQ {zmq.zmq_version()}, tcp, DEALER and ROUTER"
    yield compare(
        "remote_round_trip",
        ours,
        lambda: [echo.trip(there_and_back) for _ in range(TRIPS)],
        peer_name=f"an echo over {peer}",
        bar=1 / 7,
        runs=15,
        note=f"{TRIPS} steps of {ROBOTS} robots with {BEAMS} beams; {size} bytes a state",
    )
    yield compare(
        "remote_round_trip/one_way",
        ours,
        lambda: [server.trip(asked) for _ in range(TRIPS)],
        peer_name=f"the commands' bytes there, the state's back, over {peer}",
        runs=15,
        note="the same bytes in the same direction as ours, half of the echo's",
    )
    for end in (remote, echo, server):
        end.close()
