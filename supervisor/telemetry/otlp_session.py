"""The HTTP session of the process that exports: no answer of a collector takes more memory or time than it may, and
each failure has a reason in words without anything secret."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests import exceptions

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY_LIMIT = 64 * 1024
"""Maximum of bytes that are read of an answer. The rest is left, and the connection is closed."""
PIECE = 4096
BODY_S = 2.0
"""Maximum of seconds for reading an answer, after its head."""
PATHS = frozenset({"", "/", "/v1/traces", "/v1/metrics"})
"""Paths that are shown. Another one may hold a secret."""
REASON_LENGTH = 120


class RefusedError(Exception):
    """The collector has not taken an export, and another attempt is of no use."""


class OtlpSession(requests.Session):
    """A session for one signal. `reason` and `where` tell of its last failure, `body` is the last answer."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = ""
        """Why the last request has failed; empty if it has not."""
        self.where = ""
        """The address of the last request, see `shown_address`."""
        self.body = b""
        self.is_ending = False
        """Whether there is no time for another attempt."""

    def request(self, method: Any, url: Any, *args: Any, **given: Any) -> requests.Response:
        """As the base class. A redirect is an error: it could lead anywhere. While `is_ending`, so is an answer that
        asks for another attempt."""
        self.where = shown_address(str(url))
        self.body = b""
        given |= {"stream": True, "allow_redirects": False}
        try:
            response = super().request(method, url, *args, **given)
        except Exception as error:
            self.reason = explain(error, given.get("timeout"))
            if self.is_ending:
                raise RefusedError(self.reason) from None
            raise
        self.body = _read(response)
        code = response.status_code
        self.reason = "" if 200 <= code < 300 else _answer_words(code, response.reason)
        if 300 <= code < 400 or (self.reason and self.is_ending):
            raise RefusedError(self.reason)
        return response


def _read(response: requests.Response) -> bytes:
    """The beginning of the body. A connection on which more would come is closed."""
    body = b""
    ends_at = time.monotonic() + BODY_S
    try:
        while len(body) < BODY_LIMIT and time.monotonic() < ends_at:
            piece = response.raw.read1(PIECE)
            if not piece:
                return body
            body += piece
    except Exception:  # noqa: S110  (of urllib3 or the socket; the head has said all that counts)
        pass
    response.close()
    return b""


def _answer_words(code: int, phrase: object) -> str:
    if 300 <= code < 400:
        return f"HTTP {code}: it redirects, which is not followed"
    said = one_line(str(phrase or ""), 40)
    hint = "; check OTEL_EXPORTER_OTLP_HEADERS" if code in (401, 403) else ""
    hint = "; is this the address of a collector, and its port for HTTP?" if code in (404, 405) else hint
    return f"HTTP {code} {said}".rstrip() + hint


def shown_address(url: str) -> str:
    """The address for people: without user, password and query, and without a path of its own, which may be secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "the address in OTEL_EXPORTER_OTLP_ENDPOINT"
    if not parts.scheme or not host:
        return "the address in OTEL_EXPORTER_OTLP_ENDPOINT"
    host = f"[{host}]" if ":" in host else host
    path = parts.path if parts.path in PATHS else "/…"
    return one_line(f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}", REASON_LENGTH)


WORDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (exceptions.ConnectTimeout, "no connection"),
    (exceptions.Timeout, "no answer"),
    ((exceptions.MissingSchema, exceptions.InvalidSchema, exceptions.InvalidURL), "not an address of http or https"),
    (exceptions.InvalidHeader, "OTEL_EXPORTER_OTLP_HEADERS has a header that cannot be sent"),
)
LAST_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ProxyError, "the proxy refuses"),
    (exceptions.ConnectionError, "it closes the connection without an answer"),
    (OSError, "a file of certificates cannot be read"),
)
"""For errors without a known cause."""


def explain(error: Exception, timeout: Any = None) -> str:
    """Why a request has failed, in words without the address: that may hold a password."""
    for kind, words in WORDS:
        if isinstance(error, kind):
            is_long = isinstance(error, exceptions.Timeout) and isinstance(timeout, (int, float)) and timeout >= 1
            return f"{words} within {timeout:.0f} s" if is_long else words
    known = next(filter(None, map(_explain_cause, _causes(error))), "")
    return known or next((words for kind, words in LAST_WORDS if isinstance(error, kind)), type(error).__name__)


def _explain_cause(cause: BaseException) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {one_line(cause.verify_message, 60)}"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS: {one_line(str(cause.reason or 'it ends the handshake'), 60)}"
    if isinstance(cause, socket.gaierror):
        return "its name cannot be resolved"
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno in errno.errorcode:
        return os.strerror(cause.errno).lower()
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The errors behind an error, which urllib3 keeps in several places."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, BaseException) and id(each) not in seen:
            seen.add(id(each))
            if each is not error:
                yield each
            waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
