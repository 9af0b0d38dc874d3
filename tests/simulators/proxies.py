"""What stands between a client and its server in the tests, and spoils what they say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import zmq


class CableProxy:
    """A connection that can be cut, and refused for a while."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.refusing = False
        self.cuts = 0
        self.passed = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> CableProxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Break what is connected, in the middle of whatever is under way."""
        self.cuts += 1
        for end in self._open:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(4096):
                sink.sendall(data)
                self.passed += len(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


Change = Callable[[list[bytes]], list[list[bytes]]]


class MessageProxy:
    """Passes whole messages on; those of the server as ``change`` makes them."""

    def __init__(self, address: str, change: Change) -> None:
        self._context = zmq.Context()
        self._near = self._context.socket(zmq.ROUTER)
        port = self._near.bind_to_random_port("tcp://127.0.0.1")
        self.address = f"tcp://127.0.0.1:{port}"
        self._far = self._context.socket(zmq.DEALER)
        self._far.connect(address)
        for end in (self._near, self._far):
            end.linger = 0
        self.change = change
        self._ending = False
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    def __enter__(self) -> MessageProxy:
        return self

    def __exit__(self, *_: Any) -> None:
        self._ending = True
        self._thread.join()
        self._near.close()
        self._far.close()
        self._context.term()

    def _carry(self) -> None:
        poller = zmq.Poller()
        poller.register(self._near, zmq.POLLIN)
        poller.register(self._far, zmq.POLLIN)
        client = b""
        while not self._ending:
            ready = dict(poller.poll(20))
            if self._near in ready:
                client, *frames = self._near.recv_multipart()
                self._far.send_multipart(frames)
            if self._far in ready:
                for frames in self.change(self._far.recv_multipart()):
                    self._near.send_multipart([client, *frames])
