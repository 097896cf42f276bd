"""When nobody wants the answers any more, whatever waits for an extension ends at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.host import AT_ONCE

if TYPE_CHECKING:
    from tests.support.host import Host


def test_a_cancelled_verdict_blocks_at_once_and_is_nobodys_fault(host: Host):
    host.add("never_answers")
    host.add("dies_in_intercept", name="other")
    host.start()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("interrupted"))
    judgement, seconds = host.timed(host.ask)
    assert seconds < AT_ONCE
    assert (judgement.blocked_by, judgement.reason) == ("host", "interrupted")
    assert host.said_of("never_answers") == host.said_of("other") == []
    assert (host.cost("never_answers").blocks, host.cost("never_answers").errors) == (0, 0)


def test_a_cancelled_wait_for_starters_blocks_at_once(host: Host):
    host.add("silent", timeouts={"intercept": 30, "hello": 30})
    host.launch()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("interrupted"))
    judgement, seconds = host.timed(host.ask)
    assert seconds < AT_ONCE
    assert (judgement.blocked_by, judgement.reason) == ("host", "interrupted")


def test_a_cancelled_call_fails_at_once_and_its_late_answer_is_ignored(host: Host):
    host.add("answers_late", timeouts={"tool_call": 30})
    host.start()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("interrupted"))
    answer, seconds = host.timed(host.call, "late")
    assert seconds < AT_ONCE
    assert answer.reason == "interrupted"
    assert host.text("late") == "answer to 2"
    assert host.said_of("answers_late") == []
