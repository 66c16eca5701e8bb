"""Lines: plain connections between a loop and its actors.

Dask's own messages to an actor go through the scheduler and the event loops of three processes. A
message and its answer take milliseconds of CPU for each worker, in passes that have some ten. A
line takes a tenth of that. It is for clusters whose connections are plain TCP, if their workers can
be reached from where the loop is; otherwise messages go Dask's way.

Whoever calls must know a key, which only Dask's own messages tell.
"""

from __future__ import annotations

import hmac
import pickle
import secrets
import socket
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

_LENGTH = struct.Struct("<Q")
_CONNECTING = 1.0  # seconds to reach a worker
_CALLED = 30.0  # seconds in which somebody must have called
_SENDING = 60.0  # seconds in which a message must have gone


class Number(NamedTuple):
    """Where to call, and the key to be told there."""

    host: str
    port: int
    key: bytes


def listen(actor: Any) -> Number | None:
    """Let this worker answer calls for the actor, by one line; None if it has no plain TCP.

    The line does not keep the actor alive.
    """
    import distributed

    scheme, _, rest = distributed.get_worker().address.partition("://")
    if scheme != "tcp":
        return None
    host, key = rest.rpartition(":")[0].strip("[]"), secrets.token_bytes(32)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        door = socket.create_server((host, 0), family=family)
    except OSError:  # the address is another one outside
        return None
    number, given = Number(host, door.getsockname()[1], key), (door, key, weakref.ref(actor))
    threading.Thread(target=_serve, args=given, daemon=True, name="line to an actor").start()
    return number


def _serve(door: socket.socket, key: bytes, actor: Callable[[], Any]) -> None:
    with suppress(OSError), door:
        door.settimeout(_CALLED)
        line, _ = door.accept()
        door.close()
        with line:
            _set_up(line)
            told = bytearray(len(key))
            line.settimeout(_CALLED)
            _fill(line, told)
            if not hmac.compare_digest(told, key):
                return
            send(line, b"")
            line.settimeout(None)
            while True:
                method, arguments = pickle.loads(receive(line))
                asked = actor()
                if asked is None:
                    return
                answer = getattr(asked, method)(*arguments)
                del asked
                send(line, answer)


def call(number: Number) -> socket.socket:
    """Return the line to an actor; raise OSError if there is none."""
    line = socket.create_connection(number[:2], timeout=_CONNECTING)
    try:
        _set_up(line)
        line.sendall(number.key)
        receive(line)
    except BaseException:
        line.close()
        raise
    return line


def send(line: socket.socket, message: bytes) -> None:
    """Send a message; raise OSError if nobody takes it."""
    before = line.gettimeout()
    line.settimeout(_SENDING)
    line.sendall(_LENGTH.pack(len(message)) + message)
    line.settimeout(before)


def receive(line: socket.socket, waits: Callable[[], bool] = lambda: False) -> bytearray:
    """Return a message; raise OSError if none comes.

    Whenever the time of the line is over, `waits` tells whether to wait on.
    """
    length = bytearray(_LENGTH.size)
    _fill(line, length, waits)
    message = bytearray(_LENGTH.unpack(length)[0])
    _fill(line, message, waits)
    return message


def _fill(
    line: socket.socket, message: bytearray, waits: Callable[[], bool] = lambda: False
) -> None:
    left = memoryview(message)
    while left:
        try:
            n_bytes = line.recv_into(left)
        except TimeoutError:
            if not waits():
                raise
            continue
        if not n_bytes:
            raise ConnectionResetError("The other side has gone.")
        left = left[n_bytes:]


def _set_up(line: socket.socket) -> None:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # answers do not wait for more
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a host that is gone is noticed
