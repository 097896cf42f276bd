"""What a missing verdict means is the guard's own choice, or the user's, for every way in which it can be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.host import AT_ONCE, Host

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["on_failure", "strict"])
def denying(request: pytest.FixtureRequest, tmp_path: Path):
    """A host whose guard `guard` denies when it fails, by its manifest or by the command line."""
    with Host(tmp_path, strict_guards=request.param == "strict") as host:
        host.manifest = {"on_failure": "deny"} if request.param == "on_failure" else {}
        yield host


def test_a_crash_denies(denying: Host):
    denying.add("dies_in_intercept", name="guard", **denying.manifest)
    denying.start()
    for _ in range(2):
        judgement, seconds = denying.timed(denying.ask)
        assert seconds < AT_ONCE
        assert judgement.blocked_by == "guard"
        assert judgement.reason == ("guard guard gave no verdict (it ended (exit 9)), and its failure means deny")
    assert [line for kind, line in denying.said_of("guard") if kind == "no_verdict"] == [
        "gave no verdict on tool_call: it ended (exit 9); denied"
    ] * 2


def test_silence_denies(denying: Host):
    denying.add("never_answers", name="guard", timeouts={"intercept": 0.2}, **denying.manifest)
    denying.start()
    assert "(no answer within 0.2 s), and its failure means deny" in denying.ask("assistant_message", text="x").reason


@pytest.mark.parametrize("child", ["exits_before_hello", "first_frame_not_hello", "silent"])
def test_a_guard_that_never_got_ready_denies_everything(denying: Host, child: str):
    denying.add(child, name="guard", timeouts={"hello": 0.3}, **denying.manifest)
    denying.start()
    for event in ("tool_call", "turn_start", "assistant_message"):
        judgement, seconds = denying.timed(denying.ask, event, text="x")
        assert seconds < AT_ONCE
        assert judgement.blocked_by == "guard"
        assert denying.extension("guard").failure in judgement.reason


def test_a_guard_whose_program_is_missing_denies_everything(denying: Host):
    denying.add("echo", name="guard", exec="no-such-program", **denying.manifest)
    denying.start()
    assert "no such program on PATH" in denying.ask().reason


SLOW = 'time.sleep(0.4)\nhello(intercept=["tool_call", "turn_start"])\nsend(type="ready")\n'
ALLOWS = 'for frame in frames(): send(type="event_intercept_response", id=frame["id"])'


def test_a_slow_guard_is_waited_for(denying: Host):
    denying.write("guard", SLOW + ALLOWS, **denying.manifest)
    denying.launch()
    assert not denying.supervisor.is_settled
    assert not denying.ask("turn_start").is_blocked
    assert denying.supervisor.is_settled
    assert denying.cost("guard").calls == 1


def test_a_guard_that_is_too_slow_denies_until_it_is_there(denying: Host):
    code = 'sys.stdin.readline()\nhello(intercept=["tool_call"])\nsend(type="ready")\n' + ALLOWS
    denying.write("guard", code, timeouts={"intercept": 0.3, "hello": 20}, **denying.manifest)
    denying.launch()
    judgement, seconds = denying.timed(denying.ask)
    assert 0.2 < seconds < AT_ONCE
    assert "it is still starting (spawned)" in judgement.reason
    assert denying.timed(denying.ask)[1] < 0.3, "the wait is not repeated"
    denying.extension("guard").child.send(b"go\n")
    denying.until(lambda: denying.supervisor.is_settled)
    assert not denying.ask().is_blocked


def test_before_a_turn_only_guards_that_must_not_fail_are_waited_for(host: Host):
    host.write("slow", SLOW + ALLOWS)
    host.launch()
    judgement, seconds = host.timed(host.ask, "turn_start")
    assert not host.supervisor.is_settled
    assert (judgement.is_blocked, seconds < 0.4) == (False, True)
    assert not host.ask().is_blocked
    assert host.supervisor.is_settled, "before a tool call everyone is"
    assert host.cost("slow").calls == 1
