"""The client's side of the WebSocket protocol (RFC 6455), as far as Node's inspector needs it: one text message per
request, blocking, always with a deadline."""

from __future__ import annotations

import base64
import os
import socket
import time

LARGEST = 64 * 1024 * 1024
"""Maximum size of one message in bytes."""
HEAD_LIMIT = 64 * 1024
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class WebSocketError(Exception):
    """The server does not answer, or not by the protocol."""


def get(port: int, path: str, timeout_s: float) -> bytes:
    """The body of a page of a server on this machine. Raises `WebSocketError`."""
    with _Connection(port, timeout_s) as connection:
        head = connection.request(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")
        if " 200 " not in head.partition("\r\n")[0]:
            raise WebSocketError(f"the answer to {path} is {head.partition(chr(13))[0]!r}")
        length = next((line[15:] for line in head.casefold().split("\r\n") if line.startswith("content-length:")), "")
        if not length.strip().isdecimal() or int(length) > LARGEST:
            raise WebSocketError(f"the answer to {path} has no length")
        return connection.take(int(length))


class WebSocket:
    """A connection to a server on this machine. Each wait ends at `deadline`, a time of `time.monotonic`."""

    def __init__(self, port: int, path: str, timeout_s: float) -> None:
        """Raises `WebSocketError`."""
        self._connection = _Connection(port, timeout_s)
        try:
            key = base64.b64encode(os.urandom(16)).decode()
            head = self._connection.request(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
            )
            if " 101 " not in head.partition("\r\n")[0]:
                raise WebSocketError("it is no inspector")
        except BaseException:
            self.close()
            raise

    def extend(self, deadline: float) -> None:
        """Sets the time at which each wait from now on ends."""
        self._connection.deadline = deadline

    def send(self, text: bytes) -> None:
        self._connection.send(encode_frame(_TEXT, text, os.urandom(4)))

    def receive(self) -> bytes:
        """The next text message. Raises `WebSocketError`, also when the server closes the connection."""
        message = bytearray()
        while True:
            is_last, code, data = self._frame()
            if code == _CLOSE:
                raise WebSocketError("it has closed the connection")
            if code == _PING:
                self._connection.send(encode_frame(_PONG, data, os.urandom(4)))
            elif code != _PONG:
                message += data
                if len(message) > LARGEST:
                    raise WebSocketError(f"a message has more than {LARGEST} bytes")
                if is_last:
                    return bytes(message)

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._connection.take(2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self._connection.take(2 if size == 126 else 8), "big")
        if size > LARGEST or second & 0x80:
            raise WebSocketError("a frame is too large, or masked")
        return bool(first & 0x80), first & 0x0F, self._connection.take(size)

    def close(self) -> None:
        self._connection.close()


def encode_frame(code: int, data: bytes, mask: bytes) -> bytes:
    """A frame of a client: masked, and the last of its message."""
    size = len(data)
    if size < 126:
        head = bytes((0x80 | code, 0x80 | size))
    elif size < 65536:
        head = bytes((0x80 | code, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | code, 0x80 | 127)) + size.to_bytes(8, "big")
    repeated = (mask * (size // 4 + 1))[:size]
    return head + mask + (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


class _Connection:
    """A TCP connection to a port of this machine."""

    def __init__(self, port: int, timeout_s: float) -> None:
        self.deadline = time.monotonic() + timeout_s
        self._unread = bytearray()
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        except OSError as error:
            raise WebSocketError(f"port {port} takes no connection: {error.strerror or error}") from None

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, text: str) -> str:
        """Sends a request; returns the head of the response."""
        self.send(text.encode("ascii"))
        while b"\r\n\r\n" not in self._unread:
            if len(self._unread) > HEAD_LIMIT:
                raise WebSocketError("it is no web server")
            self._read()
        head, _, rest = bytes(self._unread).partition(b"\r\n\r\n")
        self._unread = bytearray(rest)
        return head.decode("latin-1")

    def send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(data)
        except OSError as error:
            raise WebSocketError(f"it reads nothing: {error.strerror or error}") from None

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        while len(self._unread) < size:
            self._read()
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken

    def _read(self) -> None:
        try:
            self._socket.settimeout(self._left())
            data = self._socket.recv(262144)
        except TimeoutError:
            raise WebSocketError("it does not answer") from None
        except OSError as error:
            raise WebSocketError(f"the connection is lost: {error.strerror or error}") from None
        if not data:
            raise WebSocketError("it has closed the connection")
        self._unread += data

    def _left(self) -> float:
        if (left := self.deadline - time.monotonic()) <= 0:
            raise WebSocketError("it does not answer")
        return left

    def close(self) -> None:
        self._socket.close()
