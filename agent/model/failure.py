"""The kinds of failed requests, told from HTTP statuses, headers and stream events. Pure.

The model worker imports this file and must start fast, so it imports the standard library only.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from enum import StrEnum
from time import time
from typing import TYPE_CHECKING

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


_KIND_OF_TYPE: Mapping[str, ErrorKind] = {
    "authentication_error": ErrorKind.AUTHENTICATION,
    "permission_error": ErrorKind.AUTHENTICATION,
    "rate_limit_error": ErrorKind.RATE_LIMIT,
    "overloaded_error": ErrorKind.OVERLOADED,
    "invalid_request_error": ErrorKind.INVALID_REQUEST,
    "not_found_error": ErrorKind.INVALID_REQUEST,
    "request_too_large": ErrorKind.INVALID_REQUEST,
    "billing_error": ErrorKind.INVALID_REQUEST,
    "conflict_error": ErrorKind.INVALID_REQUEST,
}


def kind_of_status(status: int, error_type: str | None = None) -> ErrorKind:
    """The kind of a reply with an HTTP error status; `error_type` is the API's own name for the error."""
    if status == 529 or error_type == "overloaded_error":
        return ErrorKind.OVERLOADED
    if status in (401, 403):
        return ErrorKind.AUTHENTICATION
    if status == 429:
        return ErrorKind.RATE_LIMIT
    if status == 408:
        return ErrorKind.TIMEOUT
    return ErrorKind.SERVER if status >= 500 else ErrorKind.INVALID_REQUEST


def kind_of_type(error_type: str) -> ErrorKind:
    """The kind of an error inside a stream; `SERVER` for an unknown type."""
    return _KIND_OF_TYPE.get(error_type, ErrorKind.SERVER)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks the client to wait: `retry-after-ms`, else `retry-after` as a number or a date. None
    without a readable header."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


class ModelError(Exception):
    """There is no complete reply. The attributes are fields of the `error` line; `retry_after` is in seconds."""

    def __init__(
        self, kind: ErrorKind, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
