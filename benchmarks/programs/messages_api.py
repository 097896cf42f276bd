"""A server of the Messages API, as cheap as Python allows: one thread, one reply that is made beforehand.

argv: the seconds after which a request is answered, and how many are answered at all; -1 is all. Prints its port. Each
line on stdin is answered with the number of requests so far; the end of stdin ends it.
"""

import heapq
import json
import os
import selectors
import socket
import sys
import time
from typing import Any

USAGE = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": USAGE,
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
]
BODY = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in EVENTS)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncontent-length: %d\r\n\r\n" % len(BODY)
REPLY = HEAD + BODY


class Server:
    def __init__(self, delay_s, most):
        self.delay_s = delay_s
        self.most = most
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(0, selectors.EVENT_READ)
        self.count = 0
        self.due = []
        self.partial = {}

    def serve(self):
        while True:
            pause = max(0.0, self.due[0][0] - time.monotonic()) if self.due else None
            for key, _ in self.selector.select(pause):
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj != 0:
                    self.read(key.fileobj)
                elif os.read(0, 4096):
                    print(self.count, flush=True)
                else:
                    return
            self.answer()

    def accept(self):
        connection, _ = self.listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(connection, selectors.EVENT_READ)
        self.partial[connection] = b""

    def read(self, connection):
        try:
            data = connection.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(connection)
            connection.close()
            del self.partial[connection]
            return
        self.partial[connection] += data
        while (rest := after_request(self.partial[connection])) is not None:
            self.partial[connection] = rest
            self.count += 1
            if self.most < 0 or self.count <= self.most:
                heapq.heappush(self.due, (time.monotonic() + self.delay_s, self.count, connection))

    def answer(self):
        while self.due and self.due[0][0] <= time.monotonic():
            try:
                heapq.heappop(self.due)[2].sendall(REPLY)
            except OSError:
                pass  # the client has gone


def after_request(data):
    """The bytes after the first request; None if the request is not complete."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = next(
        int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    return body[length:] if len(body) >= length else None


server = Server(float(sys.argv[1]), int(sys.argv[2]))
print(server.listener.getsockname()[1], flush=True)
server.serve()
