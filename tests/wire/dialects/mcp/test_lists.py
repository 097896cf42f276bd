"""Lists are read page by page, end in spite of servers that never end them, and are asked for again within bounds."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mcp_dialect_talk import SCHEMA, Talk, initialized, opened, tool
from wire import frames
from wire.dialects.base import UnsendableError, Warned
from wire.dialects.mcp.limits import PAGE
from wire.dialects.mcp.lists.list_state import ANSWER_S, DEBOUNCE_S, INTERVAL_S, OFFERS, PAGES, ListStage, ListState
from wire.dialects.mcp.lists.server_lists import PORTION

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def greeted() -> Talk:
    talk = Talk()
    talk.answer("initialize", initialized())
    talk.answer("prompts/list", {"prompts": []})
    return talk


def names(heard: list[Any], kind: type = frames.RegisterTool) -> list[str]:
    return [message.name.removeprefix("mcp__desk__") for message in heard if isinstance(message, kind)]


def lists_asked(talk: Talk) -> int:
    return sum(each.get("method") == "tools/list" for each in talk.sent)


# --- pages --------------------------------------------------------------------------------------------------


def test_pages_are_read_to_the_last_and_registered_as_they_come():
    talk = greeted()
    assert names(talk.answer("tools/list", {"tools": [tool("a")], "nextCursor": ""})) == ["a"], "any string is a cursor"
    assert talk.asked("tools/list")["params"] == {"cursor": ""}
    assert names(talk.answer("tools/list", {"tools": [tool("b"), tool("a")], "nextCursor": "2"})) == ["b"]
    last = talk.answer("tools/list", {"tools": [tool("c")], "nextCursor": None})
    assert names(last) == ["c"]
    assert last[-1] == frames.Ready()
    assert "lists it twice" in next(each.text for each in last if isinstance(each, Warned))


@pytest.mark.parametrize("cursor", [5, {}, True, "x" * 70_000])
def test_a_list_with_a_cursor_that_is_none_ends_with_what_there_is(cursor: object):
    heard = greeted().answer("tools/list", {"tools": [tool("a")], "nextCursor": cursor})
    assert names(heard) == ["a"]
    assert any(isinstance(each, Warned) for each in heard)
    assert heard[-1] == frames.Ready()


def test_a_long_list_is_told_in_portions_and_ready_is_the_last_of_them():
    talk = greeted()
    page = [tool(f"t{number}") for number in range(2 * PORTION + 1)]
    heard = [talk.hear({"result": {"tools": page}, "jsonrpc": "2.0", "id": talk.id_of("tools/list")})]
    assert talk.call("1", f"mcp__desk__t{2 * PORTION}")["method"] == "tools/call"
    while talk.session.due_at is not None:
        heard.append(talk.wait_until_due())
    assert [len(names(portion)) for portion in heard] == [PORTION, PORTION, 1]
    assert names([each for portion in heard for each in portion]) == [f"t{number}" for number in range(2 * PORTION + 1)]
    assert [portion[-1] == frames.Ready() for portion in heard] == [False, False, True]


def test_a_cursor_that_comes_again_ends_the_list():
    talk = greeted()
    for cursor in ("a", "b"):
        talk.answer("tools/list", {"tools": [tool(cursor)], "nextCursor": cursor})
    heard = talk.answer("tools/list", {"tools": [tool("c")], "nextCursor": "a"})
    assert names(heard) == ["c"]
    assert heard[-1] == frames.Ready()


def test_endless_pages_end():
    talk = greeted()
    for page in range(PAGES):
        heard = talk.answer("tools/list", {"tools": [], "nextCursor": str(page)})
    assert heard[-1] == frames.Ready()
    assert lists_asked(talk) == PAGES


@pytest.mark.parametrize("per_page", [50, 5 * OFFERS])
def test_endless_tools_end(per_page: int):
    talk = greeted()
    heard: list[Any] = []
    while frames.Ready() not in heard:
        page = [tool(f"t{lists_asked(talk)}x{number}") for number in range(per_page)]
        heard += talk.answer("tools/list", {"tools": page, "nextCursor": str(lists_asked(talk))})
    assert len(names(heard)) == OFFERS
    assert lists_asked(talk) == max(1, OFFERS // per_page)
    # The names in excess are not called either.
    with pytest.raises(UnsendableError):
        talk.call("7", f"mcp__desk__t1x{OFFERS}")


def test_tools_that_are_not_wanted_do_not_count():
    talk = Talk(include_tools=["last"])
    talk.answer("initialize", initialized())
    talk.answer("prompts/list", {"prompts": []})
    page = [tool(f"t{number}") for number in range(OFFERS + 1)]
    talk.answer("tools/list", {"tools": page, "nextCursor": "2"})
    assert names(talk.answer("tools/list", {"tools": [tool("last")]})) == ["last"]


def test_one_bad_tool_costs_only_itself():
    heard = greeted().answer("tools/list", {"tools": [5, tool("a"), {"name": ""}, None, tool("b")]})
    assert names(heard) == ["a", "b"]
    assert heard[-1] == frames.Ready()


@pytest.mark.parametrize("result", [None, 5, [], {}, {"tools": None}, {"tools": {"a": 1}}, {"tools": "x" * PAGE}])
def test_a_bad_list_is_told_and_leaves_the_server_ready(result: object):
    warned, ready = greeted().answer("tools/list", result)
    assert warned.text.startswith("tools/list: ")
    assert "continuing without tools" in warned.text
    assert ready == frames.Ready()


def test_a_refused_list_is_told():
    warned, ready = greeted().refuse("tools/list", -32601, "Method not found")
    assert warned.text == "tools/list: MCP error -32601: Method not found; continuing without tools"
    assert ready == frames.Ready()


def test_a_list_without_an_answer_is_given_up():
    talk = greeted()
    warned, ready = talk.wait_until_due()
    assert (talk.now, ready) == (ANSWER_S, frames.Ready())
    assert "no answer within 30 s" in warned.text
    assert talk.session.due_at is None
    assert "which is not open" in talk.answer("tools/list", {"tools": [tool("a")]})[0].text


# --- changes ------------------------------------------------------------------------------------------------


def test_a_change_is_listed_and_only_the_difference_is_passed_on():
    talk = opened(tool("a"), tool("b"), tool("c"))
    talk.now = 100.0
    assert talk.hear(CHANGED) == []
    assert talk.session.due_at == 100 + DEBOUNCE_S
    assert talk.wait_until_due() == []
    reordered = dict(reversed(tool("a", inputSchema=dict(reversed(SCHEMA.items()))).items()))
    changed = tool("c", description="new")
    heard = talk.answer("tools/list", {"tools": [tool("d"), changed, reordered]})
    assert names(heard, frames.UnregisterTool) == ["b"]
    assert names(heard) == ["d", "c"]
    assert frames.Ready() not in heard
    with pytest.raises(UnsendableError):
        talk.call("7", "mcp__desk__b")
    assert talk.call("7", "mcp__desk__d")["params"]["name"] == "d"


def test_no_difference_is_no_change():
    talk = opened(tool("a"))
    talk.hear(CHANGED)
    talk.wait_until_due()
    assert talk.answer("tools/list", {"tools": [tool("a")]}) == []


def test_a_server_that_reports_a_change_after_each_list_is_listed_every_five_seconds():
    talk = opened(tool("a"))
    began = []
    for _ in range(5):
        talk.hear(*[CHANGED] * 4)
        talk.wait_until_due()
        began.append(talk.now)
        talk.hear(CHANGED)
        talk.answer("tools/list", {"tools": [tool("a")]})
    assert began[0] == DEBOUNCE_S
    assert [round(later - earlier, 6) for earlier, later in itertools.pairwise(began)] == [INTERVAL_S] * 4


def test_one_list_at_a_time():
    talk = opened(tool("a"))
    talk.hear(CHANGED)
    talk.wait_until_due()
    asked = lists_asked(talk)
    talk.hear(CHANGED)
    talk.now += 2 * INTERVAL_S
    messages, sent = talk.session.on_time(talk.now)
    assert (list(messages), sent) == ([], b"")
    talk.answer("tools/list", {"tools": [tool("a")]})
    assert talk.wait_until_due() == []
    assert lists_asked(talk) == asked + 1


def test_a_failed_new_list_keeps_the_tools():
    talk = opened(tool("a"))
    talk.hear(CHANGED)
    talk.wait_until_due()
    (warned,) = talk.refuse("tools/list", -32603, "busy")
    assert "continuing with 1 tools" in warned.text
    talk.call("7", "mcp__desk__a")


def test_prompts_change_too():
    talk = opened()
    talk.hear({"method": "notifications/prompts/list_changed"})
    talk.wait_until_due()
    assert names(talk.answer("prompts/list", {"prompts": [{"name": "q"}]}), frames.RegisterCommand) == ["q"]
    talk.session.invoke("7", "mcp__desk__q", "")
    with pytest.raises(UnsendableError, match="no longer has a prompt for /mcp__desk__p"):
        talk.session.invoke("8", "mcp__desk__p", "x")


def test_endless_prompts_end():
    talk = Talk()
    talk.answer("initialize", initialized())
    page = [{"name": f"p{number}"} for number in range(OFFERS + 5)]
    heard = talk.answer("prompts/list", {"prompts": page, "nextCursor": "x"})
    assert len(names(heard, frames.RegisterCommand)) == OFFERS
    assert talk.session.due_at is not None
    assert sum(each.get("method") == "prompts/list" for each in talk.sent) == 1


STEPS = st.lists(st.sampled_from(["change", "page", "more", "end", "wait"]), max_size=40)


@given(STEPS)
def test_new_lists_keep_their_distance_whatever_happens(steps: list[str]):
    listing, now, begun = ListState(), 0.0, []
    listing.begin(now)
    for step in steps:
        now += 0.1
        if step == "change":
            listing.changed(now)
        elif step in ("page", "more") and listing.stage is ListStage.ASKED:
            if listing.take([1], str(now) if step == "more" else None, 10, 1, now).cursor is None:
                listing.end()
        elif step == "end" and listing.stage is ListStage.ASKED:
            listing.end()
        elif step == "wait" and listing.stage is ListStage.CHANGED:
            assert listing.due_at is not None
            now = max(now, listing.due_at)
            listing.begin(now)
            begun.append(now)
        assert (listing.due_at is None) == (listing.stage is ListStage.KNOWN)
    assert all(later - earlier >= INTERVAL_S - 1e-6 for earlier, later in itertools.pairwise(begun))
