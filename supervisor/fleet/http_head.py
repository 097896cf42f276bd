"""Reads the head of an HTTP request line by line, and decides what is answered. Pure: no socket, no clock.

A small part of HTTP/1.1 is enough for a program that scrapes: GET and HEAD, one request after another, no bodies.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

HEAD_LIMIT = 16 * 1024
"""Maximum size of a head in bytes."""
LINE_LIMIT = 8 * 1024
METRICS = "/metrics"
PLAIN = "text/plain; charset=utf-8"
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}


class Request(NamedTuple):
    """A request whose head is complete."""

    method: str
    path: str
    """The path without its query."""
    wants_openmetrics: bool
    keeps_open: bool
    """Whether the client may send another request on the connection."""
    host: str = ""
    """The Host header; empty without one."""


class Refusal(NamedTuple):
    """A head that is not answered with a page. The connection ends."""

    status: int
    text: str


class HeadReader:
    """Reads one head. `feed` gets each line without its LF."""

    def __init__(self) -> None:
        self._size = 0
        self._first = ""
        self._fields: dict[str, str] = {}

    @property
    def has_begun(self) -> bool:
        return bool(self._first)

    def feed(self, line: bytes) -> Request | Refusal | None:
        """The request or its refusal; None while more lines are needed."""
        self._size += len(line) + 1
        if self._size > HEAD_LIMIT:
            return too_large()
        text = line.removesuffix(b"\r").decode("latin-1")
        if not self._first:
            self._first = text  # an empty line before a request is skipped
            return _refusal_of(text) if text else None
        if text:
            name, colon, value = text.partition(":")
            if not colon or not name or name != name.strip():
                return Refusal(400, "a header without a name")
            name, value = name.lower(), value.strip()
            self._fields[name] = f"{self._fields[name]}, {value}" if name in self._fields else value
            return None
        return self._request()

    def _request(self) -> Request | Refusal:
        method, target, version = self._first.split(" ")
        if self._fields.get("content-length", "0") != "0" or "transfer-encoding" in self._fields:
            return Refusal(400 if method in ("GET", "HEAD") else 405, "no request here has a body")
        wanted = [word.strip().lower() for word in self._fields.get("connection", "").split(",")]
        keeps_open = "close" not in wanted and (version != "HTTP/1.0" or "keep-alive" in wanted)
        path = target.partition("?")[0]
        wants_openmetrics = prefers_openmetrics(self._fields.get("accept", ""))
        return Request(method, path, wants_openmetrics, keeps_open, self._fields.get("host", ""))


def too_large() -> Refusal:
    return Refusal(
        431, f"the head of a request has {HEAD_LIMIT // 1024} KiB and its lines {LINE_LIMIT // 1024} at most"
    )


def _refusal_of(first: str) -> Refusal | None:
    """The refusal of a request by its first line; None if its head is to be read."""
    words = first.split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[0].isascii() or not words[2].startswith("HTTP/"):
        return Refusal(400, "this is no HTTP request")
    if words[2] not in ("HTTP/1.0", "HTTP/1.1"):
        return Refusal(505, "HTTP/1.1 is served here")
    if not words[1].startswith("/"):
        return Refusal(400, "the target of a request is a path here")
    return None


def prefers_openmetrics(accept: str) -> bool:
    """Whether an Accept header takes OpenMetrics, and no other text more gladly."""
    weights = {"application/openmetrics-text": 0.0, "text/plain": 0.0}
    for one in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        if kind in weights:
            weights[kind] = max(weights[kind], _weight(parameters))
    return 0.0 < weights["application/openmetrics-text"] >= weights["text/plain"]


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


def is_local_host(field: str, bound: str) -> bool:
    """Whether a Host header names an address, localhost, or the name `bound`; or there is none. A browser sends the
    name of the page: one whose name was made to resolve to this machine gives itself away."""
    name = field[1:].partition("]")[0] if field.startswith("[") else field.partition(":")[0]
    name = name.lower().removesuffix(".")
    if name in ("", "localhost", bound.lower().removesuffix(".")):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def head(status: int, kind: str, length: int, *, keeps_open: bool) -> bytes:
    """The head of an answer with a body of `length` bytes."""
    allowed = "Allow: GET, HEAD\r\n" if status == 405 else ""
    connection = "keep-alive" if keeps_open else "close"
    return (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allowed}"
        f"Connection: {connection}\r\n\r\n"
    ).encode("latin-1")
