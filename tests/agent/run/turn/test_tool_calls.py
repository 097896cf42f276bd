"""Which calls run side by side, and how much the results of one turn may hold."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.run.turn import tool_calls
from agent.run.turn.tool_calls import SIDE_BY_SIDE, ToolCalls, side_by_side
from agent.transcript import Image, Text, ToolCall, ToolResult, text_of
from supervisor.calls.guard_chain import Judgement


def call(number: int, name: str = "big") -> ToolCall:
    return ToolCall(f"t{number}", name, b"{}")


class Silent:
    """Stands in for what a turn talks to: nobody guards, nothing is aborted, records go nowhere."""

    requested = False

    def may_guard(self, _event: str) -> bool:
        return False

    def intercept(self, _event):
        return Judgement()

    def tell(self, _event) -> None:
        pass

    def emit(self, _record) -> None:
        pass

    def wait(self, _predicate, _deadline) -> bool:
        return True


class Tools:
    def __init__(self, content, *, read_only: bool) -> None:
        self.content, self.read_only = content, read_only
        self.ran: list[str] = []
        self.follower = None

    def knows(self, _name: str) -> bool:
        return True

    def is_hidden(self, _name: str) -> bool:
        return False

    def refusal(self, _call) -> str:
        return ""

    def is_read_only(self, _name: str) -> bool:
        return self.read_only

    def extension_of(self, _name: str) -> str:
        return ""

    prompt_end = ""

    def run_beside(self, calls, _wait, _abort):
        self.ran += [call.id for call, _ in calls]
        return [ToolResult(call.id, (self.content,)) for call, _ in calls]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [Text("x" * 40_000), Image("image/png", "x" * 40_000)])
def test_the_results_of_a_thousand_calls_are_bounded(monkeypatch, content, read_only):
    monkeypatch.setattr(tool_calls, "RESULTS_CHARACTERS", 1_010_000)
    tools, silent = Tools(content, read_only=read_only), Silent()
    calls = [call(number) for number in range(1_000)]
    results = ToolCalls(silent, tools, silent, silent).run(calls)
    assert [result.call_id for result in results] == [call.id for call in calls]
    assert sum(len(getattr(part, "text", "") or part.data) for result in results for part in result.content) < 1_200_000
    assert [result.is_error for result in results] == [False] * 25 + [True] * 975
    left_out = [result for result in results if text_of(result.content).startswith("the call has run, but")]
    not_run = [result for result in results if text_of(result.content).startswith("not run: the results of")]
    assert (25 + len(left_out), len(not_run)) == (len(tools.ran), 1_000 - len(tools.ran))
    assert len(tools.ran) == (SIDE_BY_SIDE if read_only else 26)


@given(st.lists(st.booleans(), max_size=200))
def test_groups_keep_the_order_and_only_read_only_calls_share_one(kinds):
    calls = [call(number, "look" if kind else "act") for number, kind in enumerate(kinds)]
    groups = side_by_side(calls, lambda name: name == "look")
    assert [call for group in groups for call in group] == calls
    for group in groups:
        assert len(group) == 1 or (len(group) <= SIDE_BY_SIDE and all(call.name == "look" for call in group))
    for group, following in pairwise(groups):
        assert len(group) == SIDE_BY_SIDE or "act" in (group[-1].name, following[0].name)
