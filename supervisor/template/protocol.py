"""The messages between a template and its parent: one message in each packet, with descriptors.

The socket is a SOCK_SEQPACKET pair. The parent sends `Fork`; the template and its forks send the rest. `receive` and
`send` work on blocking and on non-blocking sockets, so a program without a loop can be a parent as well.
"""

from __future__ import annotations

import array
import errno
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKET_BYTES = 32 * 1024
"""Maximum number of bytes of a request in a packet; the kernel takes six times as many."""
DESCRIPTORS = 64
"""Maximum number of descriptors of one request."""
_INT_BYTES = array.array("i").itemsize
_SPACE = socket.CMSG_SPACE((DESCRIPTORS + 1) * _INT_BYTES)


class Fork(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """A request. Its descriptors become 0, 1, 2, 3… of the fork; there are at least three."""

    id: int
    """A number that the parent chooses, and that every answer repeats."""
    entry: str
    """The name of a function of the template."""
    argument: bytes
    """The argument of the function."""
    cwd: bytes
    env: bytes | None
    """The whole environment as the kernel keeps it: `NAME=value` and a zero byte for each variable. None means the
    template's."""
    umask: int | None
    """None means the template's."""


class InMemory(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """Replaces a request that is too long for a packet: the last descriptor is a file in memory with the request."""

    id: int


class Ready(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """The template has imported everything and reads requests."""

    rss: int
    """Resident memory in bytes. Forks share it until they write."""
    anonymous: int
    """Bytes of `rss` that lie in no file."""


class Started(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """The fork exists and leads a session of its own, or is detached. The fork itself sends this, with its pidfd,
    before it does anything else: without this message, it has not run."""

    id: int
    pid: int


class Failed(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """The function was not called. If `Started` came before, `Ended` still comes."""

    id: int
    """0 if the request could not be read."""
    errno: int
    """0 if no system call has failed."""
    reason: str


class Ended(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """The fork has ended, and the template has collected it."""

    id: int
    pid: int
    status: int
    """As from `wait`."""
    user_s: float
    system_s: float
    rss_peak: int
    """Peak memory in bytes. Starts at the size of the template."""


Reply = Ready | Started | Failed | Ended


class Received(NamedTuple):
    """A packet. `data` is empty at the end: the other side has gone."""

    data: bytes
    fds: list[int]
    """Descriptors that the receiver owns from now on; programs do not inherit them."""
    is_whole: bool
    """False if the packet was longer than any message, or if descriptors were lost because too many are open."""


_encoder = msgspec.msgpack.Encoder()
_request_decoder: msgspec.msgpack.Decoder[Fork | InMemory] = msgspec.msgpack.Decoder(Fork | InMemory)
_reply_decoder: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def is_available() -> bool:
    """Whether this system can have templates: Linux 5.3 or later."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")


def environment_block(env: Mapping[str, str]) -> bytes:
    """An environment as `Fork.env`. Raises ValueError for a name or a value that no environment can have."""
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ValueError(f"the environment cannot have the variable {name!r}: an empty name, '=' or a zero byte")
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())


def environment_of(block: bytes) -> dict[bytes, bytes]:
    """The variables of `Fork.env`."""
    return {name: value for entry in block.split(b"\0") if entry for name, _, value in (entry.partition(b"="),)}


def receive(sock: socket.socket) -> Received:
    """Takes the next packet. Raises BlockingIOError if no packet has come yet."""
    try:
        data, ancillary, flags, _ = sock.recvmsg(PACKET_BYTES, _SPACE, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        # The other side has ended before it read all of ours. The kernel says so once, ahead of the packets that are
        # still there.
        data, ancillary, flags, _ = sock.recvmsg(PACKET_BYTES, _SPACE, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % _INT_BYTES])
    return Received(data, fds.tolist(), not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC))


def send(sock: socket.socket, data: bytes, fds: Sequence[int] = ()) -> None:
    """Sends one packet. Raises BlockingIOError, and nothing was sent; ConnectionError if the other side has gone."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([data], rights, socket.MSG_NOSIGNAL)


def send_request(sock: socket.socket, request: Fork, fds: Sequence[int]) -> None:
    """Sends a request, as `send`. The descriptors stay the caller's."""
    data = _encoder.encode(request)
    if len(data) <= PACKET_BYTES:
        send(sock, data, fds)
        return
    memory = os.memfd_create("fork request", os.MFD_CLOEXEC)
    try:
        with open(memory, "wb", closefd=False) as file:
            file.write(data)
        send(sock, _encoder.encode(InMemory(request.id)), [*fds, memory])
    finally:
        os.close(memory)


class RequestError(Exception):
    """Raised if the request of a packet cannot be read; `failed` is the answer to it."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed


def decode_request(received: Received) -> Fork:
    """The request of a packet; closes the descriptor with it, if there is one. Raises `RequestError`."""
    data, fds, is_whole = received
    try:
        request = _request_decoder.decode(data)
        if not is_whole:
            reason = "its descriptors did not arrive: the template has too many files open"
            raise RequestError(Failed(request.id, errno.EMFILE, reason))
        if isinstance(request, InMemory) and fds:
            with open(fds.pop(), "rb") as file:
                file.seek(0)
                request = _request_decoder.decode(file.read())
    except (ValueError, OSError) as error:
        raise RequestError(Failed(0, 0, f"the template cannot read the request: {error}")) from error
    if not isinstance(request, Fork):
        raise RequestError(Failed(request.id, 0, "the request did not come"))
    return request


def encode_reply(reply: Reply) -> bytes:
    return _encoder.encode(reply)


def decode_reply(data: bytes) -> Reply:
    """Raises ValueError."""
    return _reply_decoder.decode(data)
