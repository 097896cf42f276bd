"""An extension of the Copilot CLI that asks its host for something, without a process."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.copilot_shapes import ANSWERS
from wire.dialects.base import HostCalled, HostInfo
from wire.dialects.copilot.events import Events
from wire.dialects.copilot.join import Join
from wire.dialects.copilot.requests import SentRequests
from wire.dialects.copilot.rpc.methods import Methods

HOST = HostInfo("1", "p", "m", "/repo", session_id="S", workspace="/work/S")
JOINED = Join("S")


class Talk:
    def __init__(self, host: HostInfo = HOST, joined: Join = JOINED) -> None:
        requests = SentRequests(lambda: 0)
        self.events = Events(joined, requests, lambda: 0, host)
        self.methods = Methods(joined, requests, host, self.events)

    def take(self, method: str, **params: Any) -> tuple[list[Any], Any]:
        """The messages, and the answer that is given at once; None if there is none."""
        params = {"sessionId": "S", **params}
        messages, reply = self.methods.take(method, b"7", msgspec.Raw(msgspec.json.encode(params)))
        return list(messages), read(reply)

    def called(self, method: str, **params: Any) -> HostCalled:
        """The only message: a call of the host."""
        (call,), reply = self.take(method, **params)
        assert isinstance(call, HostCalled)
        assert reply is None
        return call

    def answered(self, method: str, value: Any, **params: Any) -> Any:
        """The result of a call that the host answers with this value. It has the SDK's shape."""
        answer = read(self.methods.answer(self.called(method, **params).key, value))
        return result_of(method, answer)


def read(framed: bytes) -> Any:
    if not framed:
        return None
    head, _, body = framed.partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    return msgspec.json.decode(body)


def result_of(method: str, answer: Any) -> Any:
    assert answer.keys() == {"jsonrpc", "id", "result"}, answer
    assert answer["id"] == 7
    msgspec.json.decode(msgspec.json.encode(answer["result"]), type=ANSWERS[method])
    return answer["result"]


def error_of(answer: Any) -> tuple[int, str]:
    assert answer.keys() == {"jsonrpc", "id", "error"}, answer
    return answer["error"]["code"], answer["error"]["message"]
