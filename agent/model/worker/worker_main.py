"""The process that talks to the model: NDJSON on stdin and stdout, the anthropic SDK in between.

Importing the whole SDK takes about a second and 70 MB, so only this process does it, and without the parts that no run
uses (`sdk_import`). The host runs this file by its path while the extensions start. The file imports only neighbours,
the standard library and the SDK.

Stdin has one JSON object per line. The first is `{"type":"configure","api_key":str|null,"auth_token":str|null,
"base_url":str,"max_retries":int,"idle_timeout_s":float}`, with `"report_limits":true` and `"retry_rate_limits":false`
for a host that itself waits for rate limits; then come requests,
`{"type":"request","id":str,"params":{...}}`, which the worker serves one after another. `params` are the keyword
arguments of `client.messages.create`, without `stream`. The end of stdin means that the host is gone; it ends the
process at once, also in the middle of a reply or of a pause.

Stdout has `{"type":"ready","whole_sdk":str}` once, with the reason if the whole SDK was loaded, and then the lines of
each request, each with the request's `id`: `retry {attempt,of,wait_s,reason,status}` before each pause, then
`message_start {usage,reply_id,model}`, `text_delta {delta}`, `thinking_delta {delta}`, `tool_use_start {call_id,name}`,
`tool_use_args {call_id,delta}`, `tool_use_end {call_id}`, and exactly one last line, which is
`final {content,stop_reason,usage}` or `error {kind,status,message,retry_after_s,fault,content,usage}`. With
`report_limits`, `message_start` and an `error` in its place have `limits`, see `rate_limits`. A `retry` and an `error`
have `unanswered` if the server may have worked for that try, see `ModelError`. The `args` of a
`tool_call` block are the text that the model wrote, because the text may be invalid JSON. The host checks each line by
the definitions in `agent.cassette.reply_lines`. All other output goes to stderr.

The configured key or token is the only credential: the SDK does not read its own variables and profiles. From the
environment the SDK takes only proxies, `ANTHROPIC_CUSTOM_HEADERS` and `ANTHROPIC_LOG` (to stderr). The worker reports a
redirect and does not follow it, so the credential goes to the configured address only.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from random import random
from typing import TYPE_CHECKING, Any, NoReturn

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`. Python adds the
    # folder of a script; it is removed, because its modules could hide modules that the SDK imports.
    here = os.path.dirname(os.path.abspath(__file__))
    programs = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path[:] = [programs, *(entry for entry in sys.path if entry != here)]

from agent.model.failure import ErrorKind, ModelError
from agent.model.sdk_import.load import load_sdk, load_whole_sdk
from agent.model.sdk_import.stand_ins import touched
from agent.model.worker import tls
from agent.model.worker.connection import BoundedBody, Connection
from agent.model.worker.rate_limits import limits
from agent.model.worker.retry import reason, wait_before_retry
from agent.model.worker.stream_reply import StreamedReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import anthropic

    from agent.model.worker.stream_reply import Line

MESSAGE_LIMIT = 500
"""Characters of an error message."""
OWN_API = "anthropic"
CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
"""Often has the key of a gateway to Anthropic's API; no other provider gets it."""
SHORTEST_SECRET = 8
"""Minimum length in characters. A stand-in for a key, such as `x` or `none`, is a part of many words."""


class Worker:
    """Serves requests with one connection. Output goes to the file descriptor `out`."""

    def __init__(
        self,
        settings: Line,
        out: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random,
    ) -> None:
        self._out = out
        self._settings = settings
        self._max_retries = int(settings["max_retries"])
        self._retries_rate_limits = settings.get("retry_rate_limits", True) is not False
        self._reports_limits = settings.get("report_limits") is True
        self._sleep = sleep
        self._chance = chance
        self._connection: Connection | None = None
        self._refusal: ModelError | None = None
        self._connect()

    def _connect(self) -> None:
        try:
            self._connection = Connection(self._settings)
        except ModelError as failure:
            self._refusal = failure

    def ready(self, why_whole_sdk: str = "") -> None:
        self._send({"type": "ready", "whole_sdk": why_whole_sdk})

    def serve(self, request_id: str, params: Line) -> None:
        """Makes one request and sends its lines. A failure becomes the `error` line."""
        reply = StreamedReply()
        try:
            for line in self._stream(request_id, params, reply):
                self._send({**line, "id": request_id})
        except ModelError as failure:
            error = {**self._error(request_id, failure), "content": reply.content(), "usage": reply.usage}
            if self._reports_limits and not reply.started and failure.limits is not None:
                error["limits"] = failure.limits
            self._send(error)

    def _error(self, request_id: str, failure: ModelError) -> Line:
        """The `error` line, without a part of a reply."""
        error: Line = {
            "type": "error",
            "id": request_id,
            "kind": failure.kind,
            "status": failure.status,
            "message": self._presentable(str(failure)),
            "retry_after_s": failure.retry_after,
            "fault": failure.fault,
        }
        return {**error, "unanswered": True} if failure.is_unanswered else error

    def _stream(self, request_id: str, params: Line, reply: StreamedReply) -> Iterator[Line]:
        """The lines of one reply, `final` included. Raises ModelError if the reply is not complete."""
        connection, stream = self._open(request_id, params)
        # This reads the raw events. The SDK's accumulating stream fails on arguments that are not JSON and on unknown
        # events, and takes the end of the bytes for the end of the reply.
        events = stream.raw_events(BoundedBody(stream.response))  # type: ignore[arg-type]
        try:
            for event in connection.decoded(events):
                for line in reply.feed(event):
                    if self._reports_limits and line["type"] == "message_start":
                        line["limits"] = limits(stream.response.headers)
                    yield line
                if reply.ended:
                    break
            if not reply.started:
                connection.check_type(stream)
            if not reply.ended:
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

    def _open(self, request_id: str, params: Line) -> tuple[Connection, anthropic.Stream[Any]]:
        """Sends a request, and sends it again as long as `retry` says so; a `retry` line precedes each pause. Raises
        ModelError."""
        retries = 0
        while True:
            try:
                return self._attempt(params, retries)
            except ModelError as failure:
                wait = wait_before_retry(
                    failure,
                    retries=retries,
                    of=self._max_retries,
                    chance=self._chance(),
                    rate_limits=self._retries_rate_limits,
                )
                if wait is None:
                    raise
                retries += 1
                line = {
                    "type": "retry",
                    "id": request_id,
                    "attempt": retries + 1,
                    "of": self._max_retries + 1,
                    "wait_s": round(wait, 3),
                    "reason": reason(failure),
                    "status": failure.status,
                }
                self._send({**line, "unanswered": True} if failure.is_unanswered else line)
            self._sleep(wait)

    def _attempt(self, params: Line, retries: int) -> tuple[Connection, anthropic.Stream[Any]]:
        """Sends a request once. If the SDK needs a part of itself that is left out, the whole SDK is loaded, and sends
        the request, unless it has left before."""
        connection = self._connected()
        try:
            return connection, connection.open(params, retries=retries)
        except ModelError:
            if not touched:
                raise
            has_sent = connection.has_sent
            load_whole_sdk()
            self._connect()
            if has_sent or self._connection is None:
                raise
            return self._connection, self._connection.open(params, retries=retries)

    def _connected(self) -> Connection:
        """Raises ModelError if the settings do not fit."""
        if self._connection is None:
            raise self._refusal or ModelError(ErrorKind.PROTOCOL, "not configured")
        return self._connection

    def _presentable(self, message: str) -> str:
        """The message on one line, cut to `MESSAGE_LIMIT`, without the key, which servers may quote in an error."""
        for name in ("api_key", "auth_token"):
            if len(secret := self._settings.get(name) or "") >= SHORTEST_SECRET:
                message = message.replace(secret, "[API key]")
        message = " ".join(message.split())
        return f"{self._settings.get('provider', 'anthropic')}: " + (
            message if len(message) <= MESSAGE_LIMIT else message[:MESSAGE_LIMIT] + "…"
        )

    def _send(self, *lines: Line) -> None:
        # A lone surrogate is legal in JSON escapes but not in UTF-8; the host's parser would refuse the line.
        texts = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        view = memoryview("".join(texts).encode("utf-8", "replace"))
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except BrokenPipeError:
            os._exit(0)


def _drain(events: Iterator[Any]) -> None:
    try:
        deque(events, maxlen=0)
    except Exception:  # noqa: S110 - the reply was complete
        pass


def _read_stdin(requests: Any) -> NoReturn:
    """Queues the lines of stdin. Runs in its own thread, so that the end of input ends the process while a reply
    streams."""
    with open(0, "rb", closefd=False) as stdin:  # in a fork, `sys.stdin` is that of the process that forked it
        for line in stdin:
            requests.put(line)
    os._exit(0)


def preload() -> None:
    """Loads what `main` needs, in a process that then forks workers. Starts no thread and opens nothing."""
    import encodings.idna  # noqa: F401  the first look-up of a host would import it
    import queue  # noqa: F401

    load_sdk()
    try:
        tls.context()
    except OSError:  # also `ssl.SSLError`: each worker says so itself
        pass


def main(make: Callable[[Line, int], Worker] = Worker, load: Callable[[], str] = load_sdk) -> NoReturn:
    """Serves the requests on standard input: of this program, or of a fork that has new standard streams. `make` gets
    the settings and the descriptor for output; `load` imports the SDK, and returns why the whole one."""
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not end up between the lines
    warnings.simplefilter("ignore")  # the SDK warns of models that retire; the host knows that from its catalogue
    gc.disable()  # an import makes no garbage, and the search for garbage takes a fifth of its time
    why_whole_sdk = load()
    gc.freeze()
    gc.enable()
    from queue import SimpleQueue

    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read_stdin, args=(lines,), daemon=True).start()
    try:
        settings = json.loads(lines.get())
        if settings.get("provider", OWN_API) != OWN_API:
            os.environ.pop(CUSTOM_HEADERS, None)
        worker = make(settings, out)
        worker.ready(why_whole_sdk)
        while True:
            request = json.loads(lines.get())
            worker.serve(request["id"], request["params"])
    except BaseException:
        # Python's own end would abort: the other thread holds the lock of stdin. The error must be the last words.
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
