"""Guards are asked in a fixed order, and one that gives no verdict costs no more than its time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec import Raw

from supervisor.calls.verdict import Missing
from tests.support.host import AT_ONCE

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.verdict import Judgement
    from tests.support.host import Host


ALLOWED = "; allowed; to deny in such a case set on_failure in its manifest, or --strict-guards"


def path_of(judgement: Judgement) -> str:
    assert judgement.args is not None
    return json.loads(judgement.args)["path"]


def test_without_guards_nothing_is_touched(host: Host):
    host.add("recorder", "/dev/null")
    host.start()
    for event in ("tool_call", "turn_start", "assistant_message"):
        judgement = host.ask(event)
        assert (judgement.is_blocked, judgement.args, judgement.text, judgement.missing) == (False, None, None, ())


def test_rewrites_chain_in_order_of_priority_then_position(host: Host):
    host.add("rewriter", "second", "-2", name="second")
    host.add("rewriter", "third", "-3", name="third")
    host.add("rewriter", "last", "-4", name="last", priority=-1)
    host.add("rewriter", "first", "-1", name="first", priority=10)
    host.start()
    for _ in range(3):
        assert path_of(host.ask()) == "a-1-2-3-4"
        assert host.ask("assistant_message", text="Hi").text == "Hi -1 -2 -3 -4"


def test_the_first_block_wins_and_the_rest_are_not_asked(host: Host, tmp_path: Path):
    host.add("rewriter", "one", "!", name="one")
    host.add("blocker", "tool_call", "no reading", name="two")
    host.add("dies_in_intercept", name="three")
    host.start()
    judgement = host.ask()
    assert (judgement.blocked_by, judgement.reason) == ("two", "no reading")
    assert host.cost("two").blocks == 1
    assert host.cost("three").calls == 0


@pytest.mark.parametrize("event", ["tool_call", "turn_start", "assistant_message"])
def test_each_event_can_be_blocked(host: Host, event: str):
    host.add("blocker", event, "because")
    host.start()
    assert host.ask(event, text="x").reason == "because"
    for other in {"tool_call", "turn_start", "assistant_message"} - {event}:
        assert not host.ask(other, text="x").is_blocked


def test_a_guard_that_dies_is_no_verdict_at_once_and_stays_one(host: Host):
    host.add("dies_in_intercept", name="guard")
    host.add("echo")
    host.start()
    judgement, seconds = host.timed(host.ask)
    reason = "it ended (exit 9)"
    assert seconds < AT_ONCE
    assert judgement.missing == (Missing("guard", reason, False),)
    path = host.extension("guard").log.path
    assert host.said_of("guard") == [
        ("exited", f"{reason} with 1 call pending (log: {path})"),
        ("no_verdict", f"gave no verdict on tool_call: {reason}{ALLOWED}"),
    ]
    assert host.ask("turn_start").missing == (Missing("guard", reason, False),)
    assert host.said_of("guard")[2] == ("no_verdict", f"gave no verdict on turn_start: {reason}{ALLOWED}")


def test_a_guard_that_does_not_answer_costs_its_timeout(host: Host):
    host.add("never_answers", timeouts={"intercept": 0.3})
    host.add("blocker", "tool_call", "no", name="other")
    host.start()
    judgement, seconds = host.timed(host.ask)
    assert 0.3 <= seconds < AT_ONCE
    assert (judgement.reason, judgement.missing[0].reason) == ("no", "no answer within 0.3 s")
    assert host.cost("never_answers").timeouts == 1


def test_a_verdict_of_the_wrong_type_is_none(host: Host):
    host.add("wrong_types")
    host.start()
    host.notices.clear()
    reason = "bad event_intercept_response frame: Expected `bool | null`, got `str` - at `$.block`"
    assert host.ask().missing[0].reason == reason
    assert host.said_of("wrong_types") == [("no_verdict", f"gave no verdict on tool_call: {reason}{ALLOWED}")]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('modified_args="text"', "modified_args is not a JSON object"),
        ("modified_args=[1]", "modified_args is not a JSON object"),
    ],
)
def test_a_rewrite_into_what_no_tool_takes_is_no_verdict(host: Host, answer: str, reason: str):
    code = f'send(type="event_intercept_response", id=frame["id"], {answer})'
    host.write("odd", f'hello(intercept=["tool_call"])\nsend(type="ready")\nfor frame in frames(): {code}')
    host.start()
    judgement = host.ask()
    assert (judgement.args, judgement.missing[0].reason) == (None, reason)


def test_an_answer_of_another_kind_is_no_verdict(host: Host):
    code = 'send(type="tool_result", id=frame["id"])'
    host.write("odd", f'hello(intercept=["tool_call"])\nsend(type="ready")\nfor frame in frames(): {code}')
    host.start()
    assert host.ask().missing[0].reason == "it answered with tool_result"


def test_a_deaf_guard_stalls_nobody(host: Host):
    host.add("deaf", timeouts={"intercept": 0.3, "tool_call": 0.3})
    host.add("echo")
    host.start()
    large = json.dumps({"text": "x" * 100_000}).encode()
    judgement, seconds = host.timed(host.ask, tool_args=Raw(large))
    assert 0.3 <= seconds < AT_ONCE
    assert judgement.missing[0].reason == "no answer within 0.3 s"
    host.loop.run_until(lambda: False, host.loop.clock() + 0.05)
    for _ in range(5):
        judgement, seconds = host.timed(host.ask)
        assert seconds < 0.3
        assert judgement.missing[0].reason == "it has not read its stdin since an earlier request ran out of time"
    _answer, seconds = host.timed(host.call, "deaf")
    assert seconds < 0.3
    assert host.text("echo", text="fine") == "fine"
    assert host.stop() < 5


def test_a_full_outbox_refuses_at_once_what_no_longer_fits(host: Host):
    host.add("deaf", timeouts={"intercept": 60, "tool_call": 60})
    host.start()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("enough"))
    assert host.call("deaf", text="x" * 5_000_000).reason == "enough"
    judgement, seconds = host.timed(host.ask)
    assert seconds < AT_ONCE
    assert judgement.missing[0].reason.startswith("it does not read its stdin (")
    assert judgement.missing[0].reason.endswith(" bytes wait)")
