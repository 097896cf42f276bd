"""The process that talks to the model: NDJSON on stdin and stdout, the anthropic SDK in between.

Importing the SDK takes about a second and 70 MB, so only this process does it. The host runs this file by its path
while the extensions start. The file imports only `failure`, `stream_reply`, the standard library and the SDK.

Stdin has one JSON object per line. The first is
`{"type":"configure","api_key":str|null,"base_url":str|null,"max_retries":int,"idle_timeout_s":float}`; then come
requests, `{"type":"request","id":str,"params":{...}}`, which the worker serves one after another. `params` are the
keyword arguments of `client.messages.create`, without `stream`. The end of stdin means that the host is gone; it ends
the process at once, also in the middle of a reply.

Stdout has `{"type":"ready"}` once, and then the lines of each request, each with the request's `id`:
`message_start {usage}`, `text_delta {delta}`, `thinking_delta {delta}`, `tool_use_start {call_id,name}`,
`tool_use_args {call_id,delta}`, `tool_use_end {call_id}`, and exactly one last line, which is
`final {content,stop_reason,usage}` or `error {kind,status,message,retry_after_s,content,usage}`. The `args` of a
`tool_call` block are the text that the model wrote, because the text may be invalid JSON. All other output goes to
stderr.

The configured key is the only credential: the SDK does not read its key variables and profiles. From the environment
the SDK takes only proxies, `ANTHROPIC_CUSTOM_HEADERS` and `ANTHROPIC_LOG` (to stderr). The worker reports a redirect
and does not follow it, so the key goes to the configured address only.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`. Python adds the
    # folder of a script; it is removed, because its modules could hide modules that the SDK imports.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(os.path.dirname(here)), *(entry for entry in sys.path if entry != here)]

from agent.model.failure import ErrorKind, ModelError, kind_of_status, kind_of_type, retry_after_s
from agent.model.stream_reply import StreamedReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    import anthropic
    import httpx2

    from agent.model.stream_reply import Line

ANTHROPIC_URL = "https://api.anthropic.com"
NO_KEY = "none"
"""Sent to a `base_url` when there is no key: the SDK needs a credential, and servers without keys ignore it."""
CONNECT_TIMEOUT_S = 10.0
RETRY_AFTER_CAP_S = 60.0
"""Seconds. If a server asks for a longer wait, the worker does not retry; the `error` line has the wait."""
MESSAGE_LIMIT = 500
"""Characters of an error message."""


class Worker:
    """Serves requests with one client. Output goes to the file descriptor `out`."""

    def __init__(self, settings: Line, out: int) -> None:
        self._out = out
        self._api_key: str | None = settings["api_key"]
        self._base_url: str | None = settings["base_url"]
        self._idle_timeout_s = float(settings["idle_timeout_s"])
        self._client: anthropic.Anthropic | None = None
        self._refusal: ModelError | None = None
        try:
            self._client = self._connect(int(settings["max_retries"]))
        except ModelError as failure:
            self._refusal = failure

    def ready(self) -> None:
        self._send({"type": "ready"})

    def serve(self, request_id: str, params: Line) -> None:
        """Makes one request and sends its lines. A failure becomes the `error` line."""
        reply = StreamedReply()
        try:
            for line in self._stream(params, reply):
                self._send({**line, "id": request_id})
        except ModelError as failure:
            error = {
                "type": "error",
                "id": request_id,
                "kind": failure.kind,
                "status": failure.status,
                "message": self._presentable(str(failure)),
                "retry_after_s": failure.retry_after,
                "content": reply.content(),
                "usage": reply.usage,
            }
            self._send(error)

    def _connect(self, max_retries: int) -> anthropic.Anthropic:
        import anthropic
        import httpx2

        key = self._api_key or (NO_KEY if self._base_url else None)
        if key is None:
            raise ModelError(ErrorKind.AUTHENTICATION, "no API key")
        if not (key.isascii() and key.isprintable()):
            raise ModelError(ErrorKind.AUTHENTICATION, "the API key has characters that no HTTP header can carry")
        url = self._base_url or ANTHROPIC_URL
        try:
            http = anthropic.DefaultHttpxClient(
                timeout=httpx2.Timeout(self._idle_timeout_s, connect=min(CONNECT_TIMEOUT_S, self._idle_timeout_s)),
                verify=_no_tls() if url.startswith("http://") else True,
                follow_redirects=False,
                event_hooks={"response": [_refuse_long_wait]},
            )
            # `open_telemetry` turns on the SDK's own spans; the first request would take longer by their imports.
            return anthropic.Anthropic(
                api_key=key, base_url=url, max_retries=max_retries, http_client=http, open_telemetry=False
            )
        except Exception as error:
            raise ModelError(ErrorKind.INVALID_REQUEST, f"cannot use {self._host()}: {error}") from error

    def _stream(self, params: Line, reply: StreamedReply) -> Iterator[Line]:
        """The lines of one reply, `final` included. Raises ModelError if the reply is not complete."""
        if self._client is None:
            raise self._refusal or ModelError(ErrorKind.PROTOCOL, "not configured")
        stream = self._open(self._client, params)
        # This reads the raw events. The SDK's accumulating stream fails on arguments that are not JSON and on unknown
        # events, and takes the end of the bytes for the end of the reply.
        events = stream.raw_events(stream.response)
        try:
            for event in self._decoded(events):
                try:
                    yield from reply.feed(event)
                except (LookupError, TypeError, AttributeError, ValueError) as error:
                    raise ModelError(ErrorKind.PROTOCOL, f"malformed stream event: {error!r}") from error
                if reply.ended:
                    break
            if not reply.started:
                kind = stream.response.headers.get("content-type", "no content type")
                if not kind.startswith("text/event-stream"):
                    raise ModelError(
                        ErrorKind.PROTOCOL, f"{self._host()} answered with {kind}, not with an event stream"
                    )
            if not reply.ended or reply.stop_reason is None:
                raise ModelError(ErrorKind.DROPPED, "the stream ended before the reply was complete")
        except BaseException:
            stream.response.close()
            raise
        yield {
            "type": "final",
            "content": reply.content(),
            "stop_reason": reply.stop_reason,
            "usage": reply.usage,
        }
        # Reading to the end keeps the connection for the next request. A thread does it, because a server may leave
        # the stream open after its last event.
        threading.Thread(target=_drain, args=(events,), daemon=True).start()

    def _open(self, client: anthropic.Anthropic, params: Line) -> anthropic.Stream[Any]:
        import anthropic
        import httpx2

        try:
            return client.messages.create(**params, stream=True)
        except anthropic.APIStatusError as error:
            status = error.status_code
            raise ModelError(
                kind_of_status(status, error.type),
                f"HTTP {status}: {error.api_message or _reason(error.response)}",
                status=status,
                retry_after=retry_after_s(error.response.headers),
            ) from error
        except anthropic.APITimeoutError as error:
            raise ModelError(ErrorKind.TIMEOUT, self._timeout(error.__cause__)) from error
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ModelError(ErrorKind.CONNECTION, f"connection to {self._host()} failed: {cause}") from error
        except httpx2.TransportError as error:  # while reading the body of an error
            raise ModelError(ErrorKind.CONNECTION, f"connection to {self._host()} failed: {error}") from error
        except (TypeError, ValueError) as error:
            raise ModelError(ErrorKind.INVALID_REQUEST, str(error)) from error
        except Exception as error:
            raise ModelError(ErrorKind.PROTOCOL, repr(error)) from error

    def _decoded(self, events: Iterator[Any]) -> Iterator[Line]:
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
                    name = str(body.get("type") or "error")
                    raise ModelError(kind_of_type(name), f"{name}: {body.get('message') or 'no reason given'}")
                yield data
        except httpx2.TimeoutException as error:
            raise ModelError(ErrorKind.TIMEOUT, self._timeout(error)) from error
        except httpx2.TransportError as error:
            raise ModelError(ErrorKind.DROPPED, f"the stream broke off: {error or type(error).__name__}") from error
        except (httpx2.HTTPError, UnicodeDecodeError) as error:
            raise ModelError(ErrorKind.PROTOCOL, f"unreadable stream: {error}") from error

    def _timeout(self, cause: BaseException | None) -> str:
        import httpx2

        if isinstance(cause, httpx2.ConnectTimeout):
            return f"no connection to {self._host()} in time"
        return f"{self._host()} sent nothing for {self._idle_timeout_s:g} s"

    def _host(self) -> str:
        """The address that requests go to: its URL without user name, path and query."""
        scheme, _, rest = (self._base_url or ANTHROPIC_URL).partition("://")
        return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}" if rest else scheme

    def _presentable(self, message: str) -> str:
        """The message on one line, cut to `MESSAGE_LIMIT`, without the key, which servers may quote in an error."""
        if self._api_key:
            message = message.replace(self._api_key, "[API key]")
        message = " ".join(message.split())
        return "anthropic: " + (message if len(message) <= MESSAGE_LIMIT else message[:MESSAGE_LIMIT] + "…")

    def _send(self, line: Line) -> None:
        # A lone surrogate is legal in JSON escapes but not in UTF-8; the host's parser would refuse the line.
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except BrokenPipeError:
            os._exit(0)


def _no_tls() -> Any:
    """An SSL context without certificates, for a client that never uses TLS: loading them takes 20 ms."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _refuse_long_wait(response: httpx2.Response) -> None:
    """Stops the SDK from waiting longer than `RETRY_AFTER_CAP_S`: the SDK obeys this header."""
    if (retry_after_s(response.headers) or 0) > RETRY_AFTER_CAP_S:
        response.headers["x-should-retry"] = "false"


def _reason(response: httpx2.Response) -> str:
    if response.is_redirect:
        return f"redirects to {response.headers.get('location', '')}; use that as the base URL"
    return response.text.strip() or response.reason_phrase


def _drain(events: Iterator[Any]) -> None:
    try:
        deque(events, maxlen=0)
    except Exception:  # noqa: S110 - the reply was complete
        pass


def _read_stdin(requests: Any) -> NoReturn:
    """Queues the lines of stdin. Runs in its own thread, so that the end of input ends the process while a reply
    streams."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def main() -> NoReturn:
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not end up between the lines
    warnings.simplefilter("ignore")  # the SDK warns of models that retire; the host knows that from its catalogue
    gc.disable()  # an import makes no garbage, and the search for garbage takes a fifth of its time
    import anthropic  # noqa: F401

    gc.freeze()
    gc.enable()
    from queue import SimpleQueue

    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read_stdin, args=(lines,), daemon=True).start()
    worker = Worker(json.loads(lines.get()), out)
    worker.ready()
    while True:
        request = json.loads(lines.get())
        worker.serve(request["id"], request["params"])


if __name__ == "__main__":
    main()
