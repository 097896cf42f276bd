"""The server on its loop: what it tells, when, and what it bounds. The clock is the test's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.loop.loop import Loop
from supervisor.mcp_server.server import DRAIN_S, GAIN_S, LOSS_S, OUTBOX_LIMIT, STUCK_S, McpServer, ServingPhase
from wire import frames
from wire.control import CommandInfo, ToolInfo
from wire.dialects.jsonrpc import INVALID_PARAMS
from wire.mcp_server.offer import Offer
from wire.mcp_server.session import ServedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONE = ToolInfo("one", "", {}, "x")
TWO = ToolInfo("two", "", {}, "y")
COMMAND = CommandInfo("plan", "", "x")


class Under:
    def __init__(self, loop: Loop, done: Callable[[], None]) -> None:
        self._timer = loop.call_later(0, done)
        self.reason = ""

    def cancel(self, reason: str) -> None:
        self.reason = reason


class Source:
    """Answers at once, but the tools in `slow` only when the test calls `finish`."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.is_ready = True
        self.now = Offer((ONE,), (COMMAND,))
        self.extensions = ["x"]
        self.slow: set[str] = set()
        self.open: list[Any] = []
        self.under_way: list[Under] = []
        self.on_change: Callable[[], None] = lambda: None
        self.on_log: Callable[[str, str, str], None] = lambda *_: None

    def offer(self) -> Offer:
        return self.now

    def offers(self, *tools: ToolInfo) -> None:
        self.now = Offer(tools, (COMMAND,))
        self.on_change()

    def unknown_tool(self, name: str) -> str:
        return "" if name in {tool.name for tool in self.now.tools} else f"no such tool: {name}"

    def tell(self, event: frames.Event) -> None:
        pass

    def _soon(self, name: str, done: Callable[[], None]) -> Under:
        if name in self.slow:
            self.open.append(done)
            done = lambda: None  # noqa: E731
        self.under_way.append(Under(self.loop, done))
        return self.under_way[-1]

    def judge(self, event: frames.Event, done: Any) -> Under:
        return self._soon("", lambda: done(UNTOUCHED))

    def call(self, call: Any, done: Any, on_progress: Any) -> Under:
        tool = call.tool
        return self._soon(tool, lambda: done(frames.ToolResult("", [frames.ContentBlock("text", text=tool)])))

    def invoke(self, name: str, args: str, done: Any) -> Under:
        return self._soon(name, lambda: done(frames.CommandResponse("", "display", display=args)))

    def finish(self) -> None:
        self.open.pop(0)()


class Pipes:
    """Both pipes of the client."""

    def __init__(self) -> None:
        self.queued = 0
        self.is_full = False
        self.stuck_since: float | None = None
        self.is_paused = False
        self.lines: list[Any] = []

    def write(self, data: bytes) -> None:
        self.lines += [json.loads(line) for line in data.splitlines()]

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


class Served:
    def __init__(self) -> None:
        self.now = 100.0
        self.loop = Loop(lambda: self.now)
        self.source = Source(self.loop)
        self.pipes = Pipes()
        self.ends: list[tuple[str, bool]] = []
        session = ServedSession("1", lambda: "", lambda: True)
        self.server = McpServer(self.loop, session, self.source, lambda *end: self.ends.append(end))
        self.server.attach(self.pipes, self.pipes)
        self.source.on_change()

    def send(self, method: str, params: Any = None, id_: Any = 1) -> None:
        self.server.on_line(json.dumps({"id": id_, "method": method, "params": params or {}}).encode())
        self.passes()

    def passes(self, after_s: float = 0.0) -> None:
        """Lets `after_s` seconds go by, and all happen that is due."""
        self.now += after_s
        for _ in range(6):
            self.loop.run_until(lambda: False, self.now)

    def said(self) -> list[Any]:
        lines, self.pipes.lines = self.pipes.lines, []
        return lines


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    made.send("initialize", {"protocolVersion": "2025-11-25"})
    made.send("tools/list")
    made.said()
    yield made
    made.loop.close()


CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def test_calls_run_side_by_side_and_are_answered_in_the_order_of_their_ends(served: Served):
    served.source.slow = {"one"}
    served.source.offers(ONE, TWO)
    served.send("tools/call", {"name": "one"}, "slow")
    served.send("tools/call", {"name": "two"}, "quick")
    assert [line["id"] for line in served.said()] == ["quick"]
    served.source.finish()
    served.passes()
    assert [line["id"] for line in served.said()] == ["slow"]


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served):
    served.send("tools/call", {"name": "nope"})
    (line,) = served.said()
    assert line["error"] == {"code": INVALID_PARAMS, "message": "no such tool: nope"}


def test_new_tools_are_told_together(served: Served):
    served.source.offers(ONE, TWO)
    served.passes()
    assert served.said() == []
    served.source.offers(ONE, TWO, ToolInfo("three", "", {}, "y"))
    served.passes(GAIN_S + 0.01)
    assert served.said() == [CHANGED]
    served.send("tools/list")
    assert len(served.said()[0]["result"]["tools"]) == 3


def test_tools_that_are_back_soon_were_never_away(served: Served):
    served.source.offers()
    served.passes(GAIN_S + 0.01)
    served.send("tools/list")
    assert [tool["name"] for tool in served.said()[0]["result"]["tools"]] == ["one"], "a restart changes no list"
    served.source.offers(ONE)
    served.passes(LOSS_S)
    assert served.said() == []


def test_tools_that_stay_away_are_taken_from_the_list(served: Served):
    served.source.offers()
    served.passes(GAIN_S + 0.01)
    assert served.said() == []
    served.passes(LOSS_S)
    assert served.said() == [CHANGED]


def test_an_extension_that_changes_its_tools_all_the_time_is_told_of_now_and_then(served: Served):
    for number in range(100):
        served.source.offers(ONE, ToolInfo("two", str(number), {}, "y"))
        served.passes(0.1)
    assert 2 <= served.said().count(CHANGED) <= 3


def test_a_cancelled_call_reaches_the_extension(served: Served):
    served.source.slow = {"one"}
    served.send("tools/call", {"name": "one"}, 7)
    served.server.on_line(b'{"method":"notifications/cancelled","params":{"requestId":7}}')
    assert "cancelled" in served.source.under_way[-1].reason
    served.source.finish()
    served.passes()
    assert served.said() == []


def test_the_id_of_a_cancelled_command_may_be_used_again(served: Served):
    served.source.slow = {"plan"}
    served.send("prompts/get", {"name": "plan", "arguments": {"arguments": "first"}}, 7)
    served.server.on_line(b'{"method":"notifications/cancelled","params":{"requestId":7}}')
    served.send("prompts/get", {"name": "plan", "arguments": {"arguments": "second"}}, 7)
    served.source.finish()
    served.passes()
    assert served.said() == [], "the late answer belongs to the first"
    served.source.finish()
    (line,) = served.said()
    assert line["result"]["messages"][0]["content"]["text"] == "second"


def test_a_client_that_has_closed_its_side_still_gets_its_answers(served: Served):
    served.source.slow = {"one"}
    served.send("tools/call", {"name": "one"}, 7)
    served.server.on_end_of_input()
    assert served.ends == []
    served.source.finish()
    served.passes()
    assert [line["id"] for line in served.said()] == [7]
    assert served.ends == [("stdin has ended", False)]


def test_it_does_not_wait_for_ever_for_answers(served: Served):
    served.source.slow = {"one"}
    served.send("tools/call", {"name": "one"}, 7)
    served.server.on_end_of_input()
    served.passes(DRAIN_S + 1)
    assert served.ends == [("stdin has ended", False)]
    served.server.end("stopping")
    assert [line["result"]["isError"] for line in served.said()] == [True]
    assert served.source.under_way[-1].reason == "stopping"


def test_an_idle_client_that_closes_its_side_ends_the_server_at_once(served: Served):
    served.server.on_end_of_input()
    assert served.ends == [("stdin has ended", False)]
    served.server.end("stopping")
    assert served.server.phase is ServingPhase.ENDED
    served.send("ping")
    assert served.said() == []


def test_a_slow_client_is_not_read_and_misses_what_is_not_vital(served: Served):
    served.send("logging/setLevel", {"level": "debug"})
    served.said()
    served.pipes.is_full = True
    served.send("ping")
    assert served.pipes.is_paused
    served.source.on_log("error", "x", "lost")
    assert [line.get("method") for line in served.said()] == [None]
    served.pipes.is_full = False
    served.passes(1)
    assert not served.pipes.is_paused
    served.source.on_log("error", "x", "kept")
    assert [line["params"]["data"] for line in served.said()] == ["kept"]


@pytest.mark.parametrize("is_read_at_last", [False, True])
def test_a_client_that_takes_nothing_for_long_is_given_up(served: Served, is_read_at_last: bool):
    served.pipes.is_full, served.pipes.stuck_since = True, served.now
    served.send("ping")
    served.passes(STUCK_S / 2)
    assert served.ends == []
    if is_read_at_last:
        served.pipes.stuck_since = served.now
    served.passes(STUCK_S / 2 + 1)
    assert [is_fault for _, is_fault in served.ends] == ([] if is_read_at_last else [True])


def test_a_client_that_does_not_read_ends_the_server(served: Served):
    served.pipes.queued = OUTBOX_LIMIT + 1
    served.send("ping")
    ((reason, is_fault),) = served.ends
    assert is_fault
    assert "does not read" in reason
