"""Promises of a session that hold for whatever a client says, and whatever the extensions do meanwhile."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.any_json import json_values
from wire import frames
from wire.control import CommandInfo, ToolInfo
from wire.mcp_server.offer import Abandon, Action, Call, Invoke, Offer, Say
from wire.mcp_server.session import ServedSession

OFFERS = [Offer(), Offer((ToolInfo("echo", "", {}, "echo"),), (CommandInfo("plan", "", "planner"),))]
METHODS = [
    "initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "logging/setLevel",
    "server/discover", "subscriptions/listen", "notifications/cancelled", "x",
]  # fmt: skip
meta = st.fixed_dictionaries(
    {},
    optional={
        "io.modelcontextprotocol/protocolVersion": st.sampled_from(["2026-07-28", "x"]),
        "progressToken": st.integers() | st.none(),
    },
)
params = st.fixed_dictionaries(
    {},
    optional={
        "protocolVersion": st.sampled_from(["2025-11-25", "1"]),
        "name": st.sampled_from(["echo", "plan"]),
        "arguments": st.just({}) | json_values,
        "level": st.just("debug"),
        "notifications": st.just({"toolsListChanged": True}),
        "requestId": st.integers(0, 3),
        "_meta": meta | json_values,
    },
)
requests = st.fixed_dictionaries(
    {"method": st.sampled_from(METHODS)}, optional={"id": st.integers(0, 3), "params": params | json_values}
)
lines = st.one_of(
    requests.map(lambda message: json.dumps(message).encode()),
    st.lists(requests, max_size=3).map(lambda batch: json.dumps(batch).encode()),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=40),
)
events = st.lists(
    st.one_of(lines, st.sampled_from(OFFERS), st.sampled_from(["call", "fail", "progress", "log"])),
    max_size=25,
)


class Played:
    """A session, and how often each id was asked and answered."""

    def __init__(self) -> None:
        self.session = ServedSession("1", lambda: "", lambda: True)
        self.asked: Counter[Any] = Counter()
        self.answered: Counter[Any] = Counter()
        self._under_way: list[Any] = []

    def carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Say(line=line):
                    said = json.loads(line)
                    assert line.count(b"\n") == 1
                    if "method" not in said:
                        self.answered[said["id"]] += 1
                case Call() | Invoke():
                    self._under_way.append(action)
                case Abandon(key=key):
                    (gone,) = [each for each in self._under_way if each.key == key]
                    self._under_way.remove(gone)

    def happen(self, event: Any) -> None:
        match event:
            case bytes():
                self.asked.update(_ids(event))
                self.carry_out(self.session.receive(event))
            case Offer():
                self.carry_out(self.session.offered(event))
            case "log":
                self.carry_out(self.session.logged("error", "x", "y"))
            case _ if self._under_way:
                self._answer(event)

    def _answer(self, how: str) -> None:
        if how == "progress":
            self.carry_out(self.session.progressed(self._under_way[0].key, "half"))
            return
        action = self._under_way.pop(0)
        if how == "fail":
            self.carry_out(self.session.failed(action.key, -32602, "no"))
        elif isinstance(action, Call):
            self.carry_out(self.session.called(action.key, frames.ToolResult("x", [])))
        else:
            self.carry_out(self.session.invoked(action.key, frames.CommandResponse("x", "noop")))


@settings(deadline=None)
@given(events)
def test_each_request_is_answered_at_most_once_and_all_at_the_end(history: list[Any]):
    played = Played()
    for event in history:
        played.happen(event)
        assert all(played.answered[id_] <= played.asked[id_] for id_ in played.asked)
    played.carry_out(played.session.end("the end"))
    assert played.session.is_idle
    assert all(played.answered[id_] <= count for id_, count in played.asked.items())
    if b"notifications/cancelled" not in b"".join(each for each in history if isinstance(each, bytes)):
        assert {id_: played.answered[id_] for id_ in played.asked} == dict(played.asked)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _ids(line: bytes) -> list[Any]:
    """The ids of the requests in a line, as the session should see them."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse)
    except ValueError:
        return []
    messages = value if isinstance(value, list) else [value]
    return [
        each["id"]
        for each in messages
        if isinstance(each, dict) and isinstance(each.get("id"), int) and "method" in each
    ]
