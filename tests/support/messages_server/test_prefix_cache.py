"""The scripted server's prefix cache: the examples of the provider's page, and what holds for all requests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.messages_server.prefix_cache import (
    CacheRuleError,
    CacheUse,
    PrefixCache,
    allowed_read,
    least_cached,
)

HOUR = {"type": "ephemeral", "ttl": "1h"}
FIVE = {"type": "ephemeral"}


def request(*texts: str, marks: dict[int, Any], **more: Any) -> dict[str, Any]:
    """A request of one message with these blocks; `marks` are by the number of the block."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for at, mark in marks.items():
        blocks[at]["cache_control"] = mark
    return {"model": "m", "messages": [{"role": "user", "content": blocks}], **more}


def each(_block: Any) -> int:
    return 10


class Server:
    """A cache whose replies begin at once."""

    def __init__(self) -> None:
        self.cache = PrefixCache(minimum=0, count=each)
        self.now = 0.0

    def ask(self, body: dict[str, Any]) -> CacheUse:
        begun = self.cache.begin(body, self.now)
        self.cache.answered(begun, self.now)
        return begun.use


def texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_a_growing_conversation_is_found_while_it_grows_by_less_than_20_blocks() -> None:
    server = Server()
    assert server.ask(request(*texts(10), marks={9: FIVE})) == CacheUse(0, 0, 100, 0)
    assert server.ask(request(*texts(15), marks={14: FIVE})) == CacheUse(0, 100, 50, 0)
    assert server.ask(request(*texts(35), marks={34: FIVE})) == CacheUse(0, 0, 350, 0)


def test_a_second_breakpoint_starts_a_window_of_its_own() -> None:
    server = Server()
    server.ask(request(*texts(15), marks={14: FIVE}))
    assert server.ask(request(*texts(35), marks={14: FIVE, 34: FIVE})) == CacheUse(0, 150, 200, 0)


def test_nothing_is_written_between_breakpoints() -> None:
    server = Server()
    server.ask(request(*texts(5), "at 12:00", marks={5: FIVE}))
    assert server.ask(request(*texts(5), "at 12:01", marks={5: FIVE})).read == 0


def test_an_entry_is_readable_once_its_reply_has_begun_and_for_five_minutes_from_the_start_of_its_last_request() -> (
    None
):
    cache = PrefixCache(minimum=0, count=each)
    body = request("a", "b", marks={1: FIVE})
    first = cache.begin(body, 0.0)
    assert cache.begin(body, 1.0).use.read == 0
    cache.answered(first, 200.0)
    assert cache.begin(body, 299.0).use.read == 20
    assert cache.begin(body, 598.9).use.read == 20
    assert cache.begin(body, 898.9).use.read == 0


def test_an_hour_costs_up_to_the_last_mark_for_it() -> None:
    server = Server()
    assert server.ask(request(*texts(6), marks={1: HOUR, 3: FIVE})) == CacheUse(20, 0, 20, 20)
    server.now = 3599.0
    assert server.ask(request(*texts(6), marks={1: HOUR, 3: FIVE})) == CacheUse(20, 20, 20, 0)


def test_order_of_the_levels_and_what_matches() -> None:
    server = Server()
    tools = [{"name": "t", "cache_control": FIVE}]
    system = [{"type": "text", "text": "s", "cache_control": FIVE}]
    plain = request("a", marks={0: FIVE}, tools=tools, system=system)
    assert server.ask(plain) == CacheUse(0, 0, 30, 0)
    assert server.ask({**plain, "thinking": {"type": "adaptive"}}).read == 20
    assert server.ask({**plain, "system": [{"type": "text", "text": "other"}]}).read == 10
    assert server.ask({**plain, "tools": [{"name": "u"}]}).read == 0
    assert server.ask({**plain, "model": "n"}).read == 0


def test_a_short_prefix_is_not_cached() -> None:
    cache = PrefixCache(count=lambda _block: 511)
    body = {**request("a", "b", marks={0: FIVE}), "model": "claude-sonnet-5-5"}
    assert cache.begin(body, 0.0).use == CacheUse(1022, 0, 0, 0)
    assert least_cached("claude-haiku-4-5-20251001") == 4_096


@pytest.mark.parametrize(
    ("marks", "text"),
    [
        (dict.fromkeys(range(5), FIVE), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ({0: FIVE, 1: HOUR}, "must not come after"),
        ({0: {"type": "ephemeral", "ttl": "2h"}}, "ttl"),
    ],
)
def test_a_broken_rule_is_refused(marks: dict[int, Any], text: str) -> None:
    with pytest.raises(CacheRuleError, match=text):
        Server().ask(request(*texts(5), marks=marks))


marks_of_a_request = st.dictionaries(st.integers(0, 5), st.just(FIVE), max_size=4)
bodies = st.builds(
    lambda words, marks: request(*words, marks={at: mark for at, mark in marks.items() if at < len(words)}),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=6), marks_of_a_request,
)  # fmt: skip


@given(st.lists(bodies, max_size=12))
def test_counts_add_up_and_no_more_is_read_than_the_rules_allow(asked: list[dict[str, Any]]) -> None:
    server, read, total = Server(), 0, 0
    for body in asked:
        use = server.ask(body)
        blocks = body["messages"][0]["content"]
        assert use.total == 10 * len(blocks)
        assert min(use) >= 0
        last = max((at + 1 for at, block in enumerate(blocks) if "cache_control" in block), default=0)
        assert use.input == 10 * (len(blocks) - max(last, use.read // 10))
        read, total = read + use.read, total + use.total
    assert (total, True) == ((most := allowed_read(asked, minimum=0, count=each))[1], read <= most[0])


@given(bodies)
def test_what_a_request_has_written_is_read_by_the_same_one(body: dict[str, Any]) -> None:
    server = Server()
    first = server.ask(body)
    assert server.ask(body) == CacheUse(first.input, first.total - first.input, 0, 0)
