"""The first request of a prefix goes alone until its reply begins; nothing makes the others wait for long."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.pool.prefix_turns import KEPT, WAIT_S, Prefix, PrefixTurns, asks_for_an_hour, prefix_of
from agent.model.request import ToolSpec, build_params
from agent.transcript import Message, Text
from tests.support.messages_server.prefix_cache import PrefixCache
from wire.batch.link import ModelRequest

P, Q = Prefix(b"p", 300.0), Prefix(b"q", 300.0)


def request_of(params: dict[str, Any]) -> ModelRequest:
    return ModelRequest("r.1", msgspec.Raw(b"{}"), params["model"], msgspec.Raw(json.dumps(params).encode()))


def params_of(**more: Any) -> dict[str, Any]:
    given_ = {"model": "claude-sonnet-5-5", "system": "s" * 3000, "system_end": "here", **more}
    tools = [ToolSpec("t", "t", {"type": "object"})]
    return build_params(
        messages=[Message("user", (Text("go"),), "")], tools=tools, max_tokens=9, reasoning=None, **given_
    )


def test_requests_share_a_prefix_by_their_tools_and_first_system_block() -> None:
    first = prefix_of(request_of(params_of()), "account")
    assert first is not None
    assert first.ttl_s == 300
    assert prefix_of(request_of(params_of(system_end="there")), "account") == first
    for other in (params_of(system="x" * 3000), params_of(model="claude-opus-5-5")):
        assert prefix_of(request_of(other), "account") != first
    assert prefix_of(request_of(params_of()), "another") != first
    assert prefix_of(request_of({**params_of(), "tools": []}), "account") != first


def test_an_hour_is_read_from_the_marks() -> None:
    hour = request_of(params_of(cache_ttl="1h"))
    assert prefix_of(hour, "") is not None
    assert prefix_of(hour, "").ttl_s == 3600  # type: ignore[union-attr]
    assert asks_for_an_hour(hour)
    assert not asks_for_an_hour(request_of(params_of()))
    assert asks_for_an_hour(request_of(params_of(cache_ttl="1h", system="short")))


def test_a_prefix_that_is_not_cached_needs_no_turn() -> None:
    short, local = params_of(system="short"), params_of(model="qwen3:8b")
    unmarked = {**params_of(), "system": "s" * 3000, "tools": []}
    for params in (short, local, unmarked, {"model": "claude-sonnet-5-5", "tools": 7}, {"model": "claude-opus-5"}):
        assert prefix_of(request_of(params), "") is None


def test_the_others_go_once_the_first_reply_has_begun() -> None:
    turns = PrefixTurns()
    assert turns.wait_until(P, 0.0) is None
    turns.sent(P, "a", 0.0)
    assert turns.wait_until(P, 1.0) == WAIT_S
    assert turns.wait_until(Q, 1.0) is None, "another prefix"
    assert turns.wait_until(None, 1.0) is None
    turns.begun(P, "a")
    assert turns.wait_until(P, 299.0) is None
    turns.sent(P, "b", 299.0)
    turns.begun(P, "b")
    turns.ended(P, "b")
    assert turns.wait_until(P, 598.0) is None, "a read makes it live on"
    turns.sent(P, "c", 700.0)
    assert turns.wait_until(P, 701.0) == 730, "it has expired: the next one goes alone again"


def test_a_first_request_that_ends_before_its_reply_passes_the_turn_on() -> None:
    turns = PrefixTurns()
    turns.sent(P, "a", 0.0)
    turns.ended(P, "a")
    assert turns.wait_until(P, 5.0) is None
    turns.sent(P, "b", 5.0)
    assert turns.wait_until(P, 6.0) == WAIT_S, "failures do not add up"
    turns.ended(P, "b")
    assert turns.wait_until(P, 6.0) is None


def test_all_go_if_the_first_hangs_and_the_next_prefix_begins_anew() -> None:
    turns = PrefixTurns()
    turns.sent(P, "a", 0.0)
    for name, now in (("b", 30.0), ("c", 31.0)):
        assert turns.wait_until(P, now) is None
        turns.sent(P, name, now)
    for name in "abc":
        turns.ended(P, name)
    turns.sent(P, "d", 100.0)
    assert turns.wait_until(P, 100.0) == 130


def test_prefixes_that_are_no_longer_used_are_forgotten() -> None:
    turns = PrefixTurns()
    for number in range(3 * KEPT):
        prefix = Prefix(str(number).encode(), 300.0)
        turns.sent(prefix, "r", float(number))
        turns.begun(prefix, "r")
    assert len(turns._turns) <= KEPT


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "begin", "end", "pass"]), st.integers(0, 7), st.floats(0.1, 40)), max_size=60
)


@given(STEPS, st.integers(2, 8))
def test_nobody_waits_for_long_and_waits_only_for_an_open_request(
    steps: list[tuple[str, int, float]], jobs: int
) -> None:
    turns, now, waiting, open_, count = PrefixTurns(), 0.0, {}, [], 0  # type: ignore[var-annotated]
    for step, which, seconds in steps:
        if step == "send" and len(open_) + len(waiting) < jobs:
            count += 1
            waiting[f"r{count}"] = now
        elif step in ("begin", "end") and open_:
            name = open_.pop(which % len(open_))
            (turns.begun if step == "begin" else turns.ended)(P, name)
        elif step == "pass":
            until = turns.wait_until(P, now)
            now = min(now + seconds, until if waiting and until is not None else now + seconds)
        for name in list(waiting):
            if turns.wait_until(P, now) is None:
                assert now - waiting.pop(name) <= WAIT_S + 1e-6
                turns.sent(P, name, now)
                open_.append(name)
        assert not waiting or open_, "no deadlock"


@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=30), st.integers(2, 8))
def test_only_the_first_request_writes_the_prefix(first_bytes: list[float], jobs: int) -> None:
    """Each request takes its seconds to its first byte; the cache has the provider's rules."""
    cache, turns, now = PrefixCache(minimum=0), PrefixTurns(), 0.0
    waiting, open_, reads = list(enumerate(first_bytes)), [], []  # type: ignore[var-annotated]
    while waiting or open_:
        while waiting and len(open_) < jobs and turns.wait_until(P, now) is None:
            number, seconds = waiting.pop(0)
            begun = cache.begin(params_of(system_end=str(number)), now)
            reads.append(begun.use.read)
            turns.sent(P, str(number), now)
            open_.append((now + seconds, number, begun))
        open_.sort(key=lambda one: one[:2])
        now, number, begun = open_.pop(0)
        cache.answered(begun, now)
        turns.begun(P, str(number))
    assert reads[0] == 0
    assert all(reads[1:])
