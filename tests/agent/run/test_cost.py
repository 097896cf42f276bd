"""Small pure parts: sums of usage, blocks as events show them, the system prompt, text from the system."""

from __future__ import annotations

import base64
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from agent.output import event_content
from agent.run import cost
from agent.run.system_prompt import IDENTITY, system_prompt
from agent.transcript import Image, Text, Thinking, ToolCall, ToolResult
from wire import events
from wire.events import Totals
from wire.text import valid_text

DAY = date(2026, 1, 2)
counts = st.integers(0, 10**9)


@given(st.lists(st.tuples(counts, counts)))
def test_a_sum_of_unknown_costs_is_unknown_and_never_zero(requests):
    sum_ = cost.NOTHING
    for given_, taken in requests:
        sum_ = cost.add(sum_, cost.totals("no-such-model", {"input": given_, "output": taken}))
    assert (sum_.input, sum_.output) == (sum(given_ for given_, _ in requests), sum(taken for _, taken in requests))
    assert sum_.cost_usd == (None if requests else 0.0)


def test_one_request_of_unknown_cost_makes_the_sum_unknown():
    known = cost.totals("claude-sonnet-5-5", {"input": 1_000_000})
    assert known.cost_usd > 0
    assert cost.add(known, known).cost_usd == 2 * known.cost_usd
    assert cost.add(known, Totals(cost_usd=None)).cost_usd is None
    assert cost.add(Totals(cost_usd=None), known).cost_usd is None


def test_blocks_as_events():
    image = Image("image/png", base64.b64encode(b"12345").decode())
    blocks = [Text("a"), Thinking("hidden"), ToolCall("t1", "read", b'{"a": 1'), ToolResult("t0", (Text("x"), image))]
    text, call, result = event_content.content(blocks)
    assert text == events.TextContent("a")
    assert (call.id, bytes(call.args)) == ("t1", b"null")
    assert result.content == (events.TextContent("x"), events.ImageContent("image/png", 5))
    assert event_content.content([Image("image/png", "not base64!")]) == (events.ImageContent("image/png", 0),)


def test_the_system_prompt_ends_with_what_changes(tmp_path):
    text = system_prompt(home=tmp_path, custom=None, appended=["One.", " ", "Two."], cwd="/p", today=DAY)
    assert text == f"{IDENTITY}\n\nOne.\n\nTwo.\n\nCurrent date: 2026-01-02\nCurrent working directory: /p\n"


def test_the_system_prompt_of_the_user(tmp_path):
    (tmp_path / "SYSTEM.md").write_bytes(b"\nMine \xff\n")

    def start(custom, home=tmp_path):
        return system_prompt(home=home, custom=custom, appended=(), cwd="/p", today=DAY).partition("\n\nCurrent")[0]

    assert start(None) == "Mine \ufffd"
    assert start("") == "Mine \ufffd"
    assert start("Flag") == "Flag"
    assert start(None, home=None) == IDENTITY
    assert start(None, home=tmp_path / "missing") == IDENTITY


@given(st.binary())
def test_text_from_the_system_can_be_said_in_json(data):
    text = valid_text(data.decode("utf-8", "surrogateescape"))
    assert text == data.decode("utf-8", "replace")
    text.encode()
