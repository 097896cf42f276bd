"""Faults of answers to calls, and requests that a client does not expect."""

from __future__ import annotations

from faults import Faulty, fault
from server import LATER, text, tool

FAULTS = {}


@fault(FAULTS, "string-ids")
class StringIds(Faulty):
    """Answers with "7" for 7."""

    def answer(self, request_id, result):
        super().answer(str(request_id), result)


@fault(FAULTS, "float-ids")
class FloatIds(Faulty):
    """Answers with 7.0 for 7, as clients of JavaScript numbers do."""

    def answer(self, request_id, result):
        super().answer(float(request_id), result)


@fault(FAULTS, "null-id-error")
class NullIdError(Faulty):
    """Calls are answered by an error whose id is null, as a server does that could not read the request."""

    def call(self, request_id, params):
        self.refuse(None, -32700, "Parse error")
        return LATER


@fault(FAULTS, "progress-for-ever")
class ProgressForEver(Faulty):
    """Reports progress every 50 ms for ever: `total` is unknown, `progress` only grows."""

    def call(self, request_id, params):
        self.open_calls[request_id] = params
        self.report(request_id, 1)
        return LATER

    def report(self, call, number):
        if call in self.open_calls:
            self.progress(call, number)
            self.after(0.05, lambda: self.report(call, number + 1))


@fault(FAULTS, "strange-results")
class StrangeResults(Faulty):
    """Tool `strange` answers with `kind`, which is one of RESULTS."""

    def __init__(self, *args):
        super().__init__(*args)
        self.add(tool(strange, "Returns something strange.", {"kind": "string"}))


RESULTS = {
    "string": {"result": "done"},
    "null": {"result": None},
    "list": {"result": [1]},
    "empty": {"result": {}},
    "content-string": {"result": {"content": "done"}},
    "content-object": {"result": {"content": {"type": "text", "text": "done"}}},
    "part-string": {"result": {"content": ["done"]}},
    "part-unknown": {"result": {"content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "after"}]}},
    "part-untyped": {"result": {"content": [{"text": "untyped"}]}},
    "text-number": {"result": {"content": [{"type": "text", "text": 7}]}},
    "image-empty": {"result": {"content": [{"type": "image"}]}},
    "image-jpeg-is-png": {
        "result": {"content": [{"type": "image", "mimeType": "image/jpeg", "data": "iVBORw0KGgoAAAANSUhEUg=="}]}
    },
    "is-error-string": {"result": {"content": [{"type": "text", "text": "?"}], "isError": "false"}},
    "neither": {},
    "both": {"result": {"content": [{"type": "text", "text": "well"}]}, "error": {"code": 1, "message": "ill"}},
    "error-string": {"error": "broken"},
    "error-null": {"error": None},
    "error-odd": {"error": {"code": "E42", "message": {"deep": 1}}},
    "result-type-unknown": {"result": {"resultType": "deferred", "content": []}},
    "result-type-number": {"result": {"resultType": 7, "content": []}},
    "bare-input-required": {"result": {"resultType": "input_required"}},
}


def strange(server, call, args):
    server.send(id=call, **RESULTS[args.get("kind", "string")])
    return LATER


@fault(FAULTS, "endless-rounds")
class EndlessRounds(Faulty):
    """Modern; wants another round after each."""

    era = "modern"
    rounds = 0

    def call(self, request_id, params):
        self.rounds += 1
        return {"resultType": "input_required", "requestState": f"round {self.rounds}"}


@fault(FAULTS, "asks-all")
class AsksAll(Faulty):
    """Each call first asks for everything that a client may be asked for, with ids that the client uses itself."""

    methods = (
        "ping", "roots/list", "sampling/createMessage", "elicitation/create", "tasks/list", "no/such/method",
    )  # fmt: skip

    def call(self, request_id, params):
        self.open_calls[request_id] = params
        answers = []

        def on_answer(answer):
            answers.append({key: answer[key] for key in ("result", "error") if key in answer})
            if len(answers) == len(self.methods):
                self.finish(request_id, text(dict(zip(self.methods, answers, strict=True))))

        for offset, method in enumerate(self.methods):
            own = request_id + offset  # the first is the id of the call itself
            self.asked[own] = on_answer
            self.send(id=own, method=method, params={"message": "x", "messages": [], "maxTokens": 1})
        return LATER


@fault(FAULTS, "odd-messages")
class OddMessages(Faulty):
    """Sends broken messages before each answer: wrong types, no version, no method, deep nesting."""

    def answer(self, request_id, result):
        for line in (
            b"null", b"7", b'"text"', b"[[], 7]", b"{}", b'{"jsonrpc":"1.0","id":99}', b'{"jsonrpc":"2.0"}',
            b'{"jsonrpc":"2.0","method":7}', b'{"jsonrpc":"2.0","method":"notifications/message"}',
            b'{"jsonrpc":"2.0","method":"notifications/message","params":[1]}',
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":7,"data":{"a":[null]}}}',
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
            b'{"jsonrpc":"2.0","method":"notifications/unknown","params":null}',
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
            b'{"a":' * 2_000 + b"1" + b"}" * 2_000, b'{"jsonrpc":"2.0","id":99,"result":', b"\x00\x01",
        ):  # fmt: skip
            self.write(line + b"\n")
        super().answer(request_id, result)
