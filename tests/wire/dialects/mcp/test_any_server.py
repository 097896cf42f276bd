"""A session with a server that may say anything at any time: each call ends exactly once, nothing is raised, and what
is kept does not grow with what the server says."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.mcp_dialect_talk import (
    CAPABILITIES,
    MODERN,
    Talk,
    discovered,
    dumped,
    initialized,
    opened,
    text_result,
    tool,
)
from wire import frames
from wire.dialects.base import Instructions, Remarked, UnsendableError, Unusable, Warned
from wire.dialects.mcp.lists.list_state import ELEMENTS, INTERVAL_S
from wire.framing import Oversize

MESSAGES = (
    *frames.FromExtension.__args__,
    frames.UnknownFrame,
    frames.Malformed,
    Warned,
    Remarked,
    Unusable,
    Instructions,
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
IDS = st.integers(-1, 30) | st.integers(0, 30).map(str) | VALUE
METHODS = st.sampled_from(
    ["ping", "roots/list", "elicitation/create", "notifications/message", "notifications/progress", "x",
     "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/cancelled"]
)  # fmt: skip
PARAMS = VALUE | st.fixed_dictionaries(
    {}, optional={"progressToken": IDS, "progress": VALUE, "message": VALUE, "level": VALUE, "data": VALUE}
)
ANSWERS = (
    VALUE
    | st.just(initialized())
    | st.just(initialized("2020-01-01"))
    | st.just(discovered())
    | st.just(text_result())
    | st.fixed_dictionaries(
        {"tools": st.lists(st.sampled_from("abc").map(tool) | VALUE, max_size=3)}, optional={"nextCursor": VALUE}
    )
    | st.fixed_dictionaries({"prompts": st.lists(st.just({"name": "p"}) | VALUE, max_size=2)})
    | st.just({"resultType": "input_required", "requestState": "s"})
)
ERRORS = VALUE | st.fixed_dictionaries(
    {"code": st.sampled_from([-32022, -32601, 0])}, optional={"data": st.just({"supported": [MODERN]}) | VALUE}
)
SAID = st.fixed_dictionaries(
    {},
    optional={"jsonrpc": st.just("2.0"), "id": IDS, "method": METHODS | VALUE, "params": PARAMS, "result": ANSWERS,
              "error": ERRORS},
)  # fmt: skip


class AnyServer(RuleBasedStateMachine):
    """The model: the calls that the host waits for, and what has been asked of the server."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Talk()
        self.waiting: dict[str, None] = {}
        self.names = 0
        self.is_gone = False
        self.has_hello = False
        self.readies = 0

    @initialize(
        begin=st.sampled_from(["nothing", "legacy", "modern", "kept"]), capabilities=st.just(CAPABILITIES) | VALUE
    )
    def begin(self, begin: str, capabilities: Any) -> None:
        if begin == "nothing":
            return
        self.talk = Talk(kept={"mcp_era": MODERN} if begin == "kept" else {})
        if begin == "modern":
            self.judge(self.talk.refuse("initialize", -32022))
        if begin == "legacy":
            self.judge(self.talk.answer("initialize", initialized(capabilities=capabilities)))
        else:
            self.judge(self.talk.answer("server/discover", discovered(capabilities=capabilities)))
        if self.has_hello:  # else there was an infinity in the answer, which is no JSON
            self.judge(self.talk.answer("tools/list", {"tools": [tool("a"), tool("b")]}))

    def judge(self, heard: list[Any]) -> None:
        for message in heard:
            assert isinstance(message, MESSAGES)
            is_end = isinstance(message, frames.ToolResult | frames.CommandResponse) or (
                isinstance(message, frames.Malformed) and message.id is not None
            )
            if is_end:
                assert message.id in self.waiting, "it ends once, and none that is not waited for"
                del self.waiting[message.id]
            if isinstance(message, frames.ToolProgress):
                assert message.id in self.waiting
            assert not self.is_gone, "nothing comes behind the end"
            self.is_gone = isinstance(message, Unusable)
            if isinstance(message, frames.Hello):
                assert not self.has_hello
                self.has_hello = True
            elif not isinstance(message, Warned | Remarked | Unusable | frames.Malformed | frames.UnknownFrame):
                assert self.has_hello, "before the hello the host takes no frames"
            self.readies += isinstance(message, frames.Ready)
            assert self.readies <= 1

    def numbers(self) -> list[int]:
        """Of all requests of the host."""
        return [each["id"] for each in self.talk.sent if "method" in each and "id" in each]

    # --- the host -----------------------------------------------------------------------------------------

    @precondition(lambda self: self.has_hello)
    @rule(name=st.sampled_from("abx"), args=st.sampled_from([b"{}", b"null", b'{"a":1}', b"5"]))
    def call(self, name: str, args: bytes) -> None:
        self.names += 1
        with contextlib.suppress(UnsendableError):
            self.talk.call(f"c{self.names}", f"mcp__desk__{name}", args)
            self.waiting[f"c{self.names}"] = None

    @precondition(lambda self: self.has_hello)
    @rule()
    def invoke(self) -> None:
        self.names += 1
        with contextlib.suppress(UnsendableError):
            self.talk.keep(self.talk.session.invoke(f"c{self.names}", "mcp__desk__p", ""))
            self.waiting[f"c{self.names}"] = None

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        call_id = data.draw(st.sampled_from(sorted(self.waiting)))
        (sent,) = self.talk.keep(self.talk.session.cancel(call_id, "stop"))
        assert sent["method"] == "notifications/cancelled"
        del self.waiting[call_id]

    @rule()
    def ping(self) -> None:
        sent = self.talk.keep(self.talk.session.ping("p"))
        assert not sent or not self.waiting

    @rule(seconds=st.sampled_from([0.1, 0.3, 5.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.talk.now += seconds
        if self.talk.session.due_at is not None and self.talk.session.due_at <= self.talk.now:
            self.judge(self.talk.wait_until_due())

    # --- the server ---------------------------------------------------------------------------------------

    @rule(data=st.data(), result=ANSWERS, as_text=st.booleans(), id_first=st.booleans())
    def answer(self, data: Any, result: Any, as_text: bool, id_first: bool) -> None:
        number = data.draw(st.sampled_from(self.numbers()))
        ends = {"id": str(number) if as_text else number}
        self.judge(self.talk.hear({**ends, "result": result} if id_first else {"result": result, **ends}))

    @rule(data=st.data(), error=ERRORS)
    def refuse(self, data: Any, error: Any) -> None:
        number = data.draw(st.sampled_from(self.numbers()))
        self.judge(self.talk.hear({"jsonrpc": "2.0", "id": number, "error": error}))

    @rule(said=SAID)
    def say(self, said: dict[str, Any]) -> None:
        self.judge(self.talk.hear(said))

    @rule(batch=st.lists(SAID | VALUE, max_size=4))
    def say_together(self, batch: list[Any]) -> None:
        self.judge(self.talk.hear(batch))

    @rule(before=st.binary(max_size=20), said=SAID, cut=st.integers(0, 40))
    def say_badly(self, before: bytes, said: dict[str, Any], cut: int) -> None:
        self.judge(self.talk.hear(before + dumped(said)[cut:] + b"\n"))

    @rule(said=SAID, size=st.integers(600, 10**8), at=st.integers(0, 30))
    def say_too_much(self, said: dict[str, Any], size: int, at: int) -> None:
        text = dumped(said)
        messages, reply = self.talk.session.receive_oversize(Oversize(size, text[:at], 512, text[at:]), self.talk.now)
        self.talk.keep(reply)
        self.judge(list(messages))

    # --- what holds ---------------------------------------------------------------------------------------

    @invariant()
    def what_waits_is_bounded(self) -> None:
        requests = self.talk.session._requests
        assert set(requests.calls) == set(self.waiting)
        # Besides: the opening, a page of each list, the level or the subscription, a ping.
        assert len(requests) <= len(self.waiting) + 5

    @invariant()
    def lists_keep_their_distance(self) -> None:
        asked = [each for each in self.talk.sent if each.get("method") == "tools/list"]
        ids = self.numbers()
        assert ids == sorted(set(ids))
        assert len(asked) <= 100 + self.talk.now / INTERVAL_S * 100

    def teardown(self) -> None:
        for call_id in list(self.waiting):
            number = self.talk.session._requests._calls[call_id]
            result = {**text_result(), "messages": []}
            self.judge(self.talk.hear({"result": result, "id": number}))
        assert not self.waiting


TestAnyServer = AnyServer.TestCase


@given(st.lists(st.binary(max_size=40) | SAID.map(dumped), max_size=20))
def test_no_bytes_are_too_bad(lines: list[bytes]):
    for talk in (Talk(), opened()):
        for line in lines:
            for kind in (bytes, bytearray):
                messages, reply = talk.session.receive(kind(line), 0.0)
                assert all(isinstance(message, MESSAGES) for message in messages)
                assert all(isinstance(json.loads(each), dict) for each in reply.splitlines())


def test_what_is_kept_of_endless_lists_is_bounded():
    talk = opened()
    for _ in range(3):
        talk.hear({"method": "notifications/tools/list_changed"})
        talk.wait_until_due()
        for page in range(200):
            if talk.session.due_at is None:
                break
            talk.answer("tools/list", {"tools": [{}] * 1000, "nextCursor": str(page)})
        (listing, _) = next(iter(talk.session._lists._lists.values()))
        assert (listing.elements, len(listing._cursors)) == ([], 0)
        assert listing.pages == ELEMENTS // 1000
