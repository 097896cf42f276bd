"""The connection of the model worker to the Messages API: the SDK's client, and its failures as `ModelError`.

The model worker imports this file and must start fast, so it imports neighbours and the standard library only; it finds
the SDK in memory, see `sdk_import`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from agent.model.failure import (
    ErrorKind,
    ModelError,
    fault_of_connection,
    kind_of_status,
    kind_of_type,
    reply_too_large,
    retry_after_s,
    should_retry,
)
from agent.model.sdk_import.stand_ins import StandInTouchedError
from agent.model.worker import tls
from agent.model.worker.rate_limits import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import anthropic
    import httpx2

    from agent.model.worker.stream_reply import Line

Result = TypeVar("Result")
NO_KEY = "none"
"""Sent when there is no credential: the SDK needs one, and servers without keys ignore it."""
CONNECT_TIMEOUT_S = 10.0
STREAM_BYTES = 128 * 1024 * 1024
"""Maximum of the stream of one reply in bytes, pings and comments included: several times the largest answers."""
EVENT_BYTES = 8 * 1024 * 1024
EVENT_LINES = 1_000
ERROR_BODY_BYTES = 16 * 1024
"""Maximum read of the answer to a refused request, before decompression."""
SLICE_BYTES = 64 * 1024


class Connection:
    """A client of the SDK. `settings`: the `configure` line; raises `ModelError` if they do not fit. With `transport`,
    no network is used."""

    def __init__(self, settings: Line, *, transport: httpx2.BaseTransport | None = None) -> None:
        self._base_url: str = settings["base_url"]
        self._idle_timeout_s = float(settings["idle_timeout_s"])
        self.has_sent = False
        """Whether the last `open` has begun to send its request."""
        self._client = self._connect(settings.get("api_key"), settings.get("auth_token"), transport)

    def _connect(
        self, key: str | None, token: str | None, transport: httpx2.BaseTransport | None
    ) -> anthropic.Anthropic:
        import anthropic
        import httpx2

        try:
            http = anthropic.DefaultHttpxClient(
                timeout=httpx2.Timeout(self._idle_timeout_s, connect=min(CONNECT_TIMEOUT_S, self._idle_timeout_s)),
                verify=tls.no_tls() if self._base_url.startswith("http://") else tls.context(),
                follow_redirects=False,
                event_hooks={"request": [self._note_sending], "response": [_bound_error_body]},
                transport=transport,
            )
            # `open_telemetry` turns on the SDK's own spans; their imports would delay the first request. The worker
            # itself retries, because the SDK would do so without notice.
            return anthropic.Anthropic(
                api_key=key or (None if token else NO_KEY),
                auth_token=None if key else token,
                base_url=self._base_url,
                max_retries=0,
                http_client=http,
                open_telemetry=False,
            )
        except Exception as error:
            raise ModelError(ErrorKind.INVALID_REQUEST, f"cannot use {self._host()}: {error}") from error

    def _note_sending(self, _request: httpx2.Request) -> None:
        self.has_sent = True

    def open(self, params: Line, *, retries: int = 0) -> anthropic.Stream[Any]:
        """Sends a request and returns once the head of its reply has come. `retries`: the number of earlier tries.
        Raises `ModelError`."""
        headers = {"x-stainless-retry-count": str(retries)}
        return self.call(lambda client: client.messages.create(**params, stream=True, extra_headers=headers))

    def call(self, make: Callable[[anthropic.Anthropic], Result]) -> Result:
        """The result of `make`, which gets the client. Raises `ModelError` for any failure of the SDK."""
        import anthropic
        import httpx2

        self.has_sent = False
        try:
            return make(self._client)
        except ModelError:
            raise
        except anthropic.APIStatusError as error:
            status, headers = error.status_code, error.response.headers
            said = _error_message(error.body) or _reason(error.response)
            raise ModelError(
                kind_of_status(status, error.type, said),
                f"HTTP {status}: {said}",
                status=status,
                retry_after=retry_after_s(headers),
                should_retry=should_retry(headers),
                limits=limits(headers),
            ) from error
        except anthropic.APITimeoutError as error:
            message = self._timeout(error.__cause__)
            raise ModelError(ErrorKind.TIMEOUT, message, is_unsent=_is_unsent(error.__cause__)) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:  # the latter: in the body of an answer
            message = f"connection to {self._host()} failed: {error.__cause__ or error}"
            fault, is_unsent = fault_of_connection(error), _is_unsent(error.__cause__)
            raise ModelError(ErrorKind.CONNECTION, message, fault=fault, is_unsent=is_unsent) from error
        except (TypeError, ValueError) as error:
            raise ModelError(ErrorKind.INVALID_REQUEST, str(error)) from error
        except Exception as error:
            raise ModelError(ErrorKind.PROTOCOL, repr(error)) from error

    def decoded(self, events: Iterator[Any]) -> Iterator[Line]:
        """The data of each stream event. Raises ModelError for an error event and for a stream that breaks."""
        import httpx2

        try:
            for event in events:
                if not event.data:
                    continue
                try:
                    data = event.json()
                except (ValueError, RecursionError) as error:
                    raise ModelError(ErrorKind.PROTOCOL, f"a stream event is not JSON: {event.data[:80]!r}") from error
                if not isinstance(data, dict):
                    raise ModelError(ErrorKind.PROTOCOL, f"a stream event is not an object: {event.data[:80]!r}")
                if event.event == "error" or data.get("type") == "error":
                    body = data.get("error")
                    body = body if isinstance(body, dict) else {}
                    name = body.get("type")
                    name = name if isinstance(name, str) and name else "error"
                    said = _error_message(data)
                    raise ModelError(kind_of_type(name, said), f"{name}: {said or 'no reason given'}")
                yield data
        except httpx2.TimeoutException as error:
            raise ModelError(ErrorKind.TIMEOUT, self._timeout(error)) from error
        except httpx2.TransportError as error:
            raise ModelError(ErrorKind.DROPPED, f"the stream broke off: {error or type(error).__name__}") from error
        except (httpx2.HTTPError, UnicodeDecodeError, StandInTouchedError) as error:
            raise ModelError(ErrorKind.PROTOCOL, f"unreadable stream: {error}") from error

    def check_type(self, stream: anthropic.Stream[Any]) -> None:
        """Checks an answer without events. Raises ModelError if it is no event stream."""
        kind = stream.response.headers.get("content-type", "no content type")
        if not kind.startswith("text/event-stream"):
            raise ModelError(ErrorKind.PROTOCOL, f"{self._host()} answered with {kind}, not with an event stream")

    def _timeout(self, cause: BaseException | None) -> str:
        import httpx2

        if isinstance(cause, httpx2.ConnectTimeout):
            return f"no connection to {self._host()} in time"
        return f"{self._host()} sent nothing for {self._idle_timeout_s:g} s"

    def _host(self) -> str:
        """The address of the requests: the URL without user name, path and query."""
        scheme, _, rest = self._base_url.partition("://")
        return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}" if rest else scheme


class BoundedBody:
    """The body of a streamed reply for the SDK's decoder. Raises ModelError once the stream, or one event of it, is
    beyond the bounds: the decoder would keep an event of any size, in time that grows with its square."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    def iter_bytes(self) -> Iterator[bytes]:
        total = size = lines = 0  # `size` and `lines` are those of the unfinished event
        last = b""
        for chunk in self._response.iter_bytes():
            for start in range(0, len(chunk), SLICE_BYTES):
                data = chunk[start : start + SLICE_BYTES]
                total += len(data)
                seen = last + data
                ended = max(seen.rfind(end) for end in (b"\n\n", b"\r\r", b"\r\n\r\n"))
                rest = data if ended < 0 else seen[ended:]
                size = len(rest) + (size if ended < 0 else 0)
                lines = rest.count(b"\n") + rest.count(b"\r") + (lines if ended < 0 else 0)
                last = seen[-3:]
                yield data
                for count, most, what in (
                    (total, STREAM_BYTES, "bytes of stream"),
                    (size, EVENT_BYTES, "bytes in one event"),
                    (lines, EVENT_LINES, "lines in one event"),
                ):
                    if count > most:
                        raise reply_too_large(f"{most} {what}")


def _bound_error_body(response: httpx2.Response) -> None:
    """Lets the SDK read only the start of the answer to a refused request."""
    import httpx2

    if response.is_success:
        return
    whole: httpx2.SyncByteStream = response.stream  # type: ignore[assignment]

    class Start(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            left = ERROR_BODY_BYTES
            for chunk in whole:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        def close(self) -> None:
            whole.close()

    response.stream = Start()


def _is_unsent(error: BaseException | None) -> bool:
    """Whether a request failed before the server could get it."""
    import httpx2

    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
    return isinstance(error, (*never_sent, httpx2.LocalProtocolError, httpx2.UnsupportedProtocol))


def _error_message(body: object) -> str:
    """The message in the body of an error; "" if it has none."""
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _reason(response: httpx2.Response) -> str:
    if response.is_redirect:
        return f"redirects to {response.headers.get('location', '')}; use that as the base URL"
    return response.text.strip() or response.reason_phrase
