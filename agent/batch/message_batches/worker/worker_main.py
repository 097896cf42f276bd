"""The process that talks to the Message Batches API: a model worker with other requests.

It is started, configured, and ended as `agent.model.worker.worker_main` says. The `params` of a request are one of
`{"do":"create","path":str,"bytes":int}`, with the file of the requests, `{"do":"list","since":float}`,
`{"do":"retrieve","batch":str}`, `{"do":"look","batch":str}` and `{"do":"results","batch":str}`. The lines of each, with
its `id`:

create, retrieve   `batch {batch}`
list               `batches {batches}`: all that were created since then
look               `batch`, with `first_id`: the `custom_id` of the first result, null unless it has ended
results            `result {custom_id,line,reason}` for each result, and `done`. `line` is the `final` or `error` line
                   that a model worker has for the same reply; null for a request that was not carried out: `reason` is
                   then canceled or expired

and `error` in place of the last one if anything fails. A creation is never made twice here.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    programs = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    sys.path[:] = [programs, *(entry for entry in sys.path if entry != here)]  # as in the model worker

from agent.batch.message_batches.chunk import BETWEEN, HEAD, TAIL
from agent.model.failure import ErrorKind, ModelError, kind_of_type
from agent.model.sdk_import.load import load_whole_sdk
from agent.model.worker.stream_reply import StreamedReply
from agent.model.worker.worker_main import Worker, main
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import anthropic
    from anthropic.types.messages import MessageBatch

Line = dict[str, Any]
PATH = "/v1/messages/batches"
PAGE = 100
"""Message batches in one answer to a list."""
RESULT_BYTES = 32 * 1024 * 1024
"""Maximum of one result."""


class BatchesWorker(Worker):
    """Serves calls to the Message Batches API."""

    def serve(self, request_id: str, params: Line) -> None:
        try:
            self._connected().call(lambda client: self._answer(request_id, client, params))
        except ModelError as failure:
            self._send(self._error(request_id, failure))

    def _answer(self, request_id: str, client: anthropic.Anthropic, params: Line) -> None:
        for lines in _lines(client, params):
            for line in lines:
                line["id"] = request_id
                if (answer := line.get("line")) is not None and answer["type"] == "error":
                    answer["message"] = self._presentable(answer["message"])
            self._send(*lines)  # at once: the host syncs its disk for what it reads


def _lines(client: anthropic.Anthropic, params: Line) -> Iterator[list[Line]]:
    """The lines of the answer, as many together as have come together."""
    batches = client.messages.batches
    match params["do"]:
        case "create":
            yield [_line(_create(client, params["path"], params["bytes"]))]
        case "retrieve":
            yield [_line(batches.retrieve(params["batch"]))]
        case "list":
            newest_first = batches.list(limit=PAGE)  # it asks for further pages
            found = takewhile(lambda batch: batch.created_at.timestamp() >= params["since"], newest_first)
            yield [{"type": "batches", "batches": [_description(batch) for batch in found]}]
        case "look":
            batch = batches.retrieve(params["batch"])
            results = chain.from_iterable(_results(client, batch.id)) if batch.results_url else iter(())
            first = next(results, None)
            yield [{**_line(batch), "first_id": first and first["custom_id"]}]
        case "results":
            for some in _results(client, params["batch"]):
                yield [_result(result) for result in some]
            yield [{"type": "done"}]


def _create(client: anthropic.Anthropic, path: str, size: int) -> MessageBatch:
    """Sends the requests in this file, of `size` bytes, without reading them into memory."""
    from anthropic.types.messages import MessageBatch

    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        count = sum(1 for _ in file)
        length = len(HEAD) + size - count + max(0, count - 1) * len(BETWEEN) + len(TAIL)
        file.seek(0)

        def body() -> Iterator[bytes]:
            yield HEAD
            for number, line in enumerate(file):
                yield (BETWEEN if number else b"") + line.rstrip(b"\n")
            yield TAIL

        headers = {"content-type": "application/json", "content-length": str(length)}
        return client.post(PATH, cast_to=MessageBatch, content=body(), options={"headers": headers})


def _line(batch: MessageBatch) -> Line:
    return {"type": "batch", "batch": _description(batch)}


def _description(batch: MessageBatch) -> Line:
    counts, is_ended = batch.request_counts, batch.processing_status == "ended"
    return {
        "id": batch.id,
        "status": batch.processing_status,
        "created": batch.created_at.timestamp(),
        "expires": batch.expires_at.timestamp(),
        "count": counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired,
        "is_archived": batch.archived_at is not None or (is_ended and not batch.results_url),
    }


def _results(client: anthropic.Anthropic, batch: str) -> Iterator[list[Line]]:
    """The results, as many together as have come together. They come from the configured address: the credential goes
    there only, whatever `results_url` says."""
    from anthropic._decoders.jsonl import JSONLDecoder

    decoder = client.get(
        f"{PATH}/{batch}/results",
        cast_to=JSONLDecoder[Any],
        stream=True,
        options={"headers": {"accept": "application/binary"}},
    )
    response = decoder.http_response
    try:
        splitter = LineSplitter(RESULT_BYTES)
        for chunk in chain(response.iter_bytes(), (b"\n",)):
            yield [_parsed(line) for line in splitter.feed(chunk) if line]
    finally:
        response.close()


def _parsed(line: bytes | bytearray | Oversize) -> Line:
    if isinstance(line, Oversize):
        raise ModelError(ErrorKind.TOO_LARGE, f"a result of {line.size} bytes is too long")
    try:
        result = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ModelError(ErrorKind.PROTOCOL, f"a result is not JSON: {line[:80]!r}") from error
    if not isinstance(result, dict) or not isinstance(result.get("custom_id"), str):
        raise ModelError(ErrorKind.PROTOCOL, f"a result has no custom_id: {line[:80]!r}")
    return result


def _result(said: Line) -> Line:
    result = said.get("result")
    result = result if isinstance(result, dict) else {}
    line, reason = None, str(result.get("type"))
    if reason in ("canceled", "expired"):
        return {"type": "result", "custom_id": said["custom_id"], "line": None, "reason": reason}
    try:
        if reason == "succeeded":
            line = _final(result.get("message"))
        elif reason == "errored":
            line = _errored(result.get("error"))
        else:
            line = _error_line(ErrorKind.PROTOCOL, f"a result of the unknown type {reason[:40]!r}")
    except ModelError as failure:
        line = _error_line(failure.kind, str(failure))
    return {"type": "result", "custom_id": said["custom_id"], "line": line, "reason": reason}


def _final(message: object) -> Line:
    """The `final` line of a whole message. Raises ModelError for a message that breaks the rules of the API."""
    if not isinstance(message, dict):
        raise ModelError(ErrorKind.PROTOCOL, "a result has no message")
    reply = StreamedReply()
    for event in _events(message):
        for _ in reply.feed(event):
            pass
    return {"type": "final", "content": reply.content(), "stop_reason": reply.stop_reason, "usage": reply.usage}


def _events(message: Mapping[str, Any]) -> Iterator[Line]:
    """The events by which a stream would bring the same message."""
    yield {"type": "message_start", "message": message}
    content = message.get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}}
    yield {"type": "message_stop"}


def _errored(error: object) -> Line:
    error = error.get("error") if isinstance(error, dict) else None
    error = error if isinstance(error, dict) else {}
    name, said = str(error.get("type") or "error"), str(error.get("message") or "no reason given")
    return _error_line(kind_of_type(name, said), f"{name}: {said}")


def _error_line(kind: str, message: str) -> Line:
    return {"type": "error", "kind": kind, "status": None, "message": message}


def load() -> str:
    load_whole_sdk()  # the parts that are left out for single requests are the ones that are needed here
    return "the Message Batches API"


if __name__ == "__main__":
    main(BatchesWorker, load)
