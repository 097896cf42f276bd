"""The client's half of a WebSocket, against a server that keeps to the protocol and one that does not."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.profile.websocket import WebSocket, WebSocketError, encode_frame, get

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 30.0
ACCEPTED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


@given(st.binary(max_size=70_000), st.binary(min_size=4, max_size=4))
def test_a_frame_is_masked_and_has_its_length(data: bytes, mask: bytes):
    frame = encode_frame(1, data, mask)
    assert frame[0] == 0x81
    size, rest = frame[1] & 0x7F, frame[2:]
    assert frame[1] & 0x80
    if size >= 126:
        digits = 2 if size == 126 else 8
        size, rest = int.from_bytes(rest[:digits], "big"), rest[digits:]
    assert size == len(data)
    assert rest[:4] == mask
    assert bytes(byte ^ mask[index % 4] for index, byte in enumerate(rest[4:])) == data


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


class ScriptedServer:
    """Answers each connection with the same bytes, once it has its request, and closes it."""

    def __init__(self) -> None:
        self.answer = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                if connection.recv(4096) == b"end":
                    return
                connection.sendall(self.answer)

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"end")
        self._thread.join()
        self._socket.close()


def frame(code: int, data: bytes, *, is_last: bool = True) -> bytes:
    size = bytes((len(data),)) if len(data) < 126 else bytes((126,)) + len(data).to_bytes(2, "big")
    return bytes((code | 0x80 * is_last,)) + size + data


def test_messages_come_whole_also_in_pieces_and_with_pings_between(server: ScriptedServer):
    server.answer = ACCEPTED + frame(1, b"a" * 300) + frame(1, b"be", is_last=False) + frame(9, b"?") + frame(0, b"gin")
    made = WebSocket(server.port, "/id", PATIENCE_S)
    assert made.receive() == b"a" * 300
    assert made.receive() == b"begin"
    with pytest.raises(WebSocketError, match=r"closed the connection|connection is lost"):
        made.receive()
    made.close()


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (frame(8, b""), "closed the connection"),
        (b"\x81\x7f" + b"\xff" * 8, "too large"),
        (b"\x81\x81abcde", "masked"),
    ],
)
def test_a_faulty_server_is_an_error(server: ScriptedServer, after: bytes, why: str):
    server.answer = ACCEPTED + after
    made = WebSocket(server.port, "/id", PATIENCE_S)
    with pytest.raises(WebSocketError, match=why):
        made.receive()
    made.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 404 Not Found\r\n\r\n", b"SSH-2.0\r\n\r\n"])
def test_another_server_is_no_inspector(server: ScriptedServer, answer: bytes):
    server.answer = answer
    with pytest.raises(WebSocketError):
        WebSocket(server.port, "/id", PATIENCE_S)
    with pytest.raises(WebSocketError):
        get(server.port, "/json/list", PATIENCE_S)


def test_a_page_is_read_by_its_length(server: ScriptedServer):
    server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[{}]\nmore"
    assert get(server.port, "/json/list", PATIENCE_S) == b"[{}]\n"
    server.answer = b"HTTP/1.1 200 OK\r\n\r\n[]"
    with pytest.raises(WebSocketError, match="no length"):
        get(server.port, "/json/list", PATIENCE_S)
