"""The HTTP server of metrics: what it answers, and that no client can hurt it or others."""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

import pytest

from supervisor.fleet import metrics_server
from supervisor.fleet.http_connection import HEAD_S, IDLE_S, LINGER_S, STUCK_S, HttpConnection
from supervisor.fleet.http_head import PLAIN
from supervisor.fleet.metrics_server import CLIENTS_LIMIT

if TYPE_CHECKING:
    from tests.support.control_peer import Serving

GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """An HTTP client whose waits run the server's loop."""

    def __init__(self, serving: Serving, address: tuple[str, int]) -> None:
        self.serving = serving
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        self.got = b""
        self.has_ended = False

    def say(self, data: bytes) -> Client:
        self.serving.until(lambda: self._sent(data))
        return self

    def _sent(self, data: bytes) -> bool:
        try:
            self._left = self._left if hasattr(self, "_left") and self._left else data
            self._left = self._left[self.socket.send(self._left) :]
        except BlockingIOError:
            return False
        except OSError:
            self._left = b""
        return not self._left

    def pull(self) -> bytes:
        try:
            while data := self.socket.recv(1 << 20):
                self.got += data
            self.has_ended = True
        except BlockingIOError:
            pass
        except OSError:
            self.has_ended = True
        return self.got

    def has_something(self) -> bool:
        """Whether something waits to be read."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next answer, which has a body."""
        self.serving.until(self._is_whole, poll_s=0.01)
        top, _, rest = self.got.partition(b"\r\n\r\n")
        first, *lines = top.decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines)
        length = int(fields["Content-Length"])
        self.got = rest[length:]
        return int(first.split()[1]), fields, rest[:length]

    def _is_whole(self) -> bool:
        top, end, rest = self.pull().partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in top.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        return bool(end) and len(rest) >= length

    def ends(self) -> None:
        self.serving.until(lambda: self.pull() is not None and self.has_ended, poll_s=0.01)

    def passes(self, seconds: float) -> None:
        """Lets the server's clock go ahead, once what was sent has been read."""
        loop = self.serving.loop
        for _ in range(3):
            loop.run_until(lambda: False, loop.clock())
        self.serving.skew += seconds


@pytest.fixture
def client(serving, address):
    clients: list[Client] = []

    def connect() -> Client:
        clients.append(Client(serving, address))
        clients[-1].passes(0)
        return clients[-1]

    yield connect
    for each in clients:
        each.socket.close()


def test_a_scraper_asks_again_and_again_on_one_connection(client):
    scraper = client()
    for _ in range(3):
        status, fields, body = scraper.say(GET).answer()
        assert (status, fields["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert fields["Connection"] == "keep-alive"
        assert body.endswith(b"\n")
        assert b"zot_host_up{" in body


def test_a_reader_of_openmetrics_gets_it(client):
    asked = GET.replace(b"Host: localhost", b"Accept: application/openmetrics-text; version=1.0.0")
    status, fields, body = client().say(asked).answer()
    assert (status, fields["Content-Type"]) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert body.endswith(b"# EOF\n")


def test_a_head_has_the_length_of_a_body_and_no_body(client):
    asked = client().say(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
    asked.ends()
    top, _, rest = asked.got.partition(b"\r\n\r\n")
    assert b"Content-Length: " in top
    assert rest == b""


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", 200, b"/metrics"),
        (b"GET /favicon.ico HTTP/1.0\r\n\r\n", 404, b"/metrics"),
        (b"GET /metrics/ HTTP/1.0\r\n\r\n", 404, b"/metrics"),
        (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", 404, b"/metrics"),
        (b"DELETE /metrics HTTP/1.0\r\n\r\n", 405, b"GET"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", 405, b"body"),
        (b"GET /metrics HTTP/1.0\r\nHost: evil.example:9469\r\n\r\n", 403, b"localhost"),
        (b"GET / HTTP/1.0\r\nHost: METRICS.example:9469\r\n\r\n", 200, b"/metrics"),
        (b"hello\r\n\r\n", 400, b"HTTP"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20), 431, b"KiB"),
        (b"GET /metrics HTTP/1.1\r\n" + b"X: a\r\n" * 10_000, 431, b"KiB"),
    ],
    ids=lambda value: value[:20].decode() if isinstance(value, bytes) else str(value),
)
def test_other_requests(client, asked: bytes, status: int, said: bytes):
    asking = client().say(asked)
    found, fields, body = asking.answer()
    assert (found, fields["Connection"]) == (status, "close")
    assert said in body
    asking.socket.close()
    assert client().say(GET).answer()[0] == 200


def test_who_ends_its_side_still_gets_the_answer(client):
    asked = client().say(b"GET / HTTP/1.1\r\n\r\n")
    asked.socket.shutdown(socket.SHUT_WR)
    assert asked.answer()[0] == 200
    asked.ends()


def test_who_sends_the_next_request_before_its_answer_gets_one_answer(client, silent):
    asked = client().say(GET)
    asked.passes(0)
    asked.say(GET)
    asked.passes(2.0)
    assert asked.answer()[1]["Connection"] == "close"
    asked.ends()
    assert asked.got == b""


def test_who_leaves_during_a_scrape_is_not_missed(client, silent):
    left, other = client().say(GET), client().say(GET)
    left.passes(0)
    left.socket.close()
    other.passes(2.0)
    assert other.answer()[0] == 200


def test_all_who_ask_during_a_scrape_share_it(serving, client, silent):
    asking = [client().say(GET) for _ in range(5)]
    asking[0].passes(2.0)
    assert [each.answer()[0] for each in asking] == [200] * 5
    assert serving.served.samples == 1


# --- clients that mean harm ---


def test_who_never_sends_is_sent_away(client):
    silent = client()
    silent.passes(HEAD_S)
    silent.ends()
    assert silent.got == b""


def test_who_never_ends_its_head_is_told_and_sent_away(client):
    slow = client().say(b"GET / HTTP/1.1\r\nX: y\r\n")
    slow.passes(HEAD_S)
    assert slow.answer()[0] == 408


def test_who_asks_no_more_is_sent_away(client):
    idle = client().say(GET)
    idle.answer()
    idle.passes(IDLE_S)
    idle.ends()


def test_who_sends_without_end_is_refused_and_cut_off(client):
    flood = client().say(b"GET / HTTP/1.1\r\nX: " + b"a" * (1 << 20))
    assert flood.answer()[0] == 431
    flood.say(b"a" * (1 << 20))
    flood.passes(LINGER_S)
    flood.ends()


def test_who_never_reads_is_dropped(serving):
    ours, theirs = socket.socketpair()
    gone: list[HttpConnection] = []
    connection = HttpConnection(
        serving.loop, ours, lambda asked, _request: asked.answer(200, PLAIN, bytes(1 << 25)), gone.append
    )
    with theirs:
        theirs.sendall(b"GET / HTTP/1.0\r\n\r\n")
        serving.until(lambda: connection.is_busy)
        serving.skew += STUCK_S
        serving.until(lambda: gone)
    assert gone == [connection]


def test_a_new_client_takes_the_place_of_the_quietest(client, serving):
    kept = client().say(GET)
    kept.answer()
    crowd = [client() for _ in range(2 * CLIENTS_LIMIT)]
    assert crowd[-1].say(GET).answer()[0] == 200
    gone = [each for each in crowd if each.pull() is not None and each.has_ended]
    assert len(crowd) - len(gone) <= CLIENTS_LIMIT


def test_a_new_client_takes_the_place_of_one_that_does_not_read(client, monkeypatch):
    monkeypatch.setattr(metrics_server, "CLIENTS_LIMIT", 2)
    monkeypatch.setattr(metrics_server, "render_scrape", lambda _scrape, openmetrics: bytes(1 << 25))
    stuck = [client().say(GET) for _ in range(2)]
    stuck[0].serving.until(lambda: all(map(Client.has_something, stuck)), poll_s=0.01)
    late = client().say(GET)
    late.serving.until(lambda: late.pull().startswith(b"HTTP/1.1 200"), poll_s=0.01)
    stuck[0].ends()
