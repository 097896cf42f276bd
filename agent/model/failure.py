"""The kinds of failed requests, from HTTP statuses, headers and stream events. Pure.

The model worker imports this file and must start fast, so it imports the standard library only.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from enum import StrEnum
from time import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorKind(StrEnum):
    """Why there is no complete reply."""

    AUTHENTICATION = "authentication"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    INVALID_REQUEST = "invalid_request"
    SERVER = "server"
    CONNECTION = "connection"
    """The connection failed before the reply began."""
    DROPPED = "dropped"
    """The stream ended in the middle of the reply."""
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    """The answer does not follow the Messages API."""
    TOO_LONG = "too_long"
    """The request is longer than the model can read, or larger than the server takes. A shorter conversation helps."""
    TOO_LARGE = "too_large"
    """The reply is beyond a bound."""


class ConnectionFault(StrEnum):
    """Why a connection failed before the reply began."""

    REFUSED = "refused"
    """Nothing listens at the address."""
    UNKNOWN_HOST = "unknown_host"
    """The name of the host cannot be resolved."""
    TLS = "tls"
    OTHER = "other"


LONGEST_RETRY_AFTER_S = 7 * 24 * 3600.0
"""Seconds. A server's wish for a longer wait is ignored."""

_TOO_LONG = r"""(?xi)
    prompt\ is\ too\ long                                           # Anthropic, Bedrock, Vertex AI, LiteLLM
    | input\ length\ and\ `?max_tokens`?\ exceed\ context\ limit     # Anthropic, models before Claude 4.5
    | input\ is\ too\ long                                          # Bedrock
    | prompt\ tokens\ \(\d+\)\ exceed                                # Bedrock Mantle
    | input\ token\ count\b.*\bexceeds                              # Gemini, behind gateways
    | max(imum)?\ (context|prompt|model)\ length                     # vLLM, OpenAI, OpenRouter, Ollama, mlx-serve
    | context\ length\ is\ only\ \d                                 # vLLM since 0.11
    | exceeds?\ the\ (available\ |model's\ )?context\ (size|window|length)      # llama.cpp, OpenAI, Ollama
    | greater\ than\ the\ context\ length | when\ context\ the\ overflows   # LM Studio
    | context_length_exceeded | exceed_context_size_error | ContextWindowExceededError
"""
"""Matches servers' messages about a too long request. The Messages API has no error type for it: it is an
`invalid_request_error` like any other, and gateways pass on the message of the server behind them."""

_KIND_OF_TYPE: Mapping[str, ErrorKind] = {
    "authentication_error": ErrorKind.AUTHENTICATION,
    "permission_error": ErrorKind.AUTHENTICATION,
    "rate_limit_error": ErrorKind.RATE_LIMIT,
    "overloaded_error": ErrorKind.OVERLOADED,
    "invalid_request_error": ErrorKind.INVALID_REQUEST,
    "not_found_error": ErrorKind.INVALID_REQUEST,
    "request_too_large": ErrorKind.TOO_LONG,
    "billing_error": ErrorKind.INVALID_REQUEST,
    "conflict_error": ErrorKind.INVALID_REQUEST,
}


def kind_of_status(status: int, error_type: str | None = None, message: str = "") -> ErrorKind:
    """The kind of a reply with an HTTP error status; `error_type` is the API's own name for the error."""
    if status == 413 or (status in (400, 422, 500) and _says_too_long(message)):
        return ErrorKind.TOO_LONG
    if status == 529 or error_type == "overloaded_error":
        return ErrorKind.OVERLOADED
    if status in (401, 403):
        return ErrorKind.AUTHENTICATION
    if status == 429:
        return ErrorKind.RATE_LIMIT
    if status == 408:
        return ErrorKind.TIMEOUT
    return ErrorKind.SERVER if status >= 500 else ErrorKind.INVALID_REQUEST


def kind_of_type(error_type: str, message: str = "") -> ErrorKind:
    """The kind of an error inside a stream; `SERVER` for an unknown type."""
    kind = _KIND_OF_TYPE.get(error_type, ErrorKind.SERVER)
    is_vague = kind in (ErrorKind.INVALID_REQUEST, ErrorKind.SERVER)
    return ErrorKind.TOO_LONG if is_vague and _says_too_long(message) else kind


def _says_too_long(message: str) -> bool:
    return re.search(_TOO_LONG, message) is not None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks the client to wait: `retry-after-ms`, else `retry-after` as a number or a date. None
    without a value above 0 and up to `LONGEST_RETRY_AFTER_S`."""
    for read in (_retry_after_ms, _retry_after_number, _retry_after_date):
        try:
            seconds = read(headers)
        except (LookupError, ValueError, TypeError, OverflowError):
            continue
        if 0 < seconds <= LONGEST_RETRY_AFTER_S:
            return seconds
    return None


def _retry_after_ms(headers: Mapping[str, str]) -> float:
    return float(headers["retry-after-ms"]) / 1000


def _retry_after_number(headers: Mapping[str, str]) -> float:
    return float(headers["retry-after"])


def _retry_after_date(headers: Mapping[str, str]) -> float:
    return parsedate_to_datetime(headers["retry-after"]).timestamp() - time()


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Whether the server wants a request to be sent once more; None if it says nothing."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", ""))


def fault_of_connection(error: BaseException | None) -> ConnectionFault:
    """Why there is no connection, from an exception and its causes. Only for the model worker, which has imported
    `ssl`: in a host the import would take 10 ms."""
    from socket import gaierror
    from ssl import SSLError

    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, ConnectionRefusedError):
            return ConnectionFault.REFUSED
        if isinstance(error, gaierror):
            return ConnectionFault.UNKNOWN_HOST
        if isinstance(error, SSLError):
            return ConnectionFault.TLS
        error, seen = error.__cause__ or error.__context__, seen + 1
    return ConnectionFault.OTHER


UNANSWERED = (ErrorKind.CONNECTION, ErrorKind.TIMEOUT, ErrorKind.DROPPED)
GATEWAY_TIMEOUTS = (504, 524)
"""HTTP statuses of a gateway that got no answer from the server behind it."""


class ModelError(Exception):
    """There is no complete reply. The attributes are fields of the `error` line; `retry_after` is in seconds.
    `should_retry`: whether the server wants a second try; None if it says nothing. `limits`: the rate limits in the
    headers; None without headers. `is_unanswered`: the server may have worked for the request, although no whole answer
    has come; with `is_unsent` it never got the request."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        should_retry: bool | None = None,
        fault: ConnectionFault | None = None,
        limits: Mapping[str, Any] | None = None,
        is_unsent: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
        self.should_retry = should_retry
        self.fault = fault
        self.limits = limits
        no_answer = kind in UNANSWERED if status is None else status in GATEWAY_TIMEOUTS
        self.is_unanswered = no_answer and not is_unsent


def reply_too_large(bound: str) -> ModelError:
    """The error for a reply beyond a bound."""
    return ModelError(ErrorKind.TOO_LARGE, f"the model's reply is too large: it has more than {bound}")
