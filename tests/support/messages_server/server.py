"""The server: one thread per connection on 127.0.0.1, answering from the script and remembering what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.support.messages_server.message_batches import PATH as BATCHES
from tests.support.messages_server.message_batches import MessageBatches
from tests.support.messages_server.replies import Drop, Hold, Reply, Send, http_error
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any
    at: float
    """`time.monotonic()` when its head had been read."""
    connection: int
    """Which connection brought it, counted from 0."""
    method: str = "POST"


class MessagesServer:
    """Answers each `POST /v1/messages` with the next reply of the script.

    Use it as a context manager; leaving it closes every connection and joins every thread. A request that the script
    has no reply for gets HTTP 400, which no client retries, or what `otherwise` makes of the request. Replies can be
    added while it runs.
    """

    def __init__(self, *script: Reply) -> None:
        self.requests: list[Received] = []
        self.otherwise: Callable[[Received], Reply] | None = None
        self.batches: MessageBatches | None = None
        """The Message Batches API; None: the server has none."""
        self._script = deque(script)
        self._changed = threading.Condition()
        self._releases = 0
        self._held = 0
        self._closing = False
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def offer_batches(self) -> MessageBatches:
        """From now on the server has the Message Batches API."""
        self.batches = MessageBatches(lambda: self.base_url)
        return self.batches

    def add(self, *replies: Reply) -> None:
        with self._changed:
            self._script.extend(replies)

    @property
    def unused(self) -> int:
        """The number of replies that were not requested yet."""
        return len(self._script)

    def release(self) -> None:
        """Releases one `Hold`, now or when it is reached."""
        with self._changed:
            self._releases += 1
            self._changed.notify_all()

    def wait_for_requests(self, count: int, timeout_s: float = PATIENCE_S) -> list[Received]:
        """Waits until that many requests have arrived; raises TimeoutError when they do not."""
        return self._wait(lambda: len(self.requests) >= count, timeout_s, f"{count} requests")

    def wait_until_held(self, timeout_s: float = PATIENCE_S) -> None:
        """Waits until a reply stands at a `Hold`."""
        self._wait(lambda: self._held > 0, timeout_s, "a held reply")

    def __enter__(self) -> MessagesServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()  # joins the threads of the connections
        self._thread.join()

    def _wait(self, condition: Any, timeout_s: float, what: str) -> list[Received]:
        with self._changed:
            if not self._changed.wait_for(condition, timeout_s):
                raise TimeoutError(f"no {what} within {timeout_s} s; got {len(self.requests)} requests")
            return list(self.requests)

    def _next_reply(self, request: Received) -> Reply:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if self.batches is not None and request.path.startswith(BATCHES):
                return self.batches.reply(request)
            if request.path.partition("?")[0] != "/v1/messages":
                return http_error(404, f"no such path: {request.path}")
            if not self._script and self.otherwise is not None:
                return self.otherwise(request)
            if not self._script:
                return http_error(400, "the script has no reply for this request")
            return self._script.popleft()

    def _hold(self) -> None:
        with self._changed:
            self._held += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._releases > 0 or self._closing)
            self._releases -= 1
            self._held -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, owner: MessagesServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.connections = 0
        self.resets: set[socket.socket] = set()
        """Connections that are to end with a RST."""
        self.open: dict[socket.socket, int] = {}
        """The number of each open connection."""
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self.open[request] = self.connections
            self.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self.open.pop(request, None)
        if request in self.resets:  # a shutdown would send a FIN first
            self.resets.discard(request)
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def hang_up(self) -> None:
        """Wakes the threads that read from or write to a connection."""
        with self._lock:
            for request in self.open:
                try:
                    request.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of many tests; nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = self.server.open[self.connection]

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        at = time.monotonic()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        parsed = json.loads(body) if body else None
        self._play(self.server.owner._next_reply(Received(self.path, headers, parsed, at, self._number, self.command)))

    def _play(self, reply: Reply) -> None:
        begun = False
        for step in reply.steps:
            match step:
                case Hold():
                    self.server.owner._hold()
                case Drop(reset):
                    self._drop(reset)
                    return
                case Send(data):
                    if not begun:
                        self._begin(reply)
                        begun = True
                    if data:  # an empty chunk would end the body
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        if not begun:
            self._begin(reply)
        self.wfile.write(b"0\r\n\r\n")

    def _begin(self, reply: Reply) -> None:
        if reply.on_begin is not None:
            reply.on_begin()
        self.send_response_only(reply.status)
        if "date" not in reply.headers:
            self.send_header("date", self.date_time_string())
        for name, value in {"content-type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _drop(self, reset: bool) -> None:
        self.close_connection = True
        if reset:  # lingering for 0 s makes close() send a RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.server.resets.add(self.connection)
