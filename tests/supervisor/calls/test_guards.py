"""A verdict waits for extensions that are still starting; one that never got ready is a guard if its failure denies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.host import AT_ONCE, Host

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.requests_in_flight import RequestsInFlight

both_drivers = pytest.mark.parametrize("waits", [True, False], ids=["waiting", "in flight"])
SLOW = 'time.sleep(0.4)\nhello(intercept=["tool_call", "turn_start"])\nsend(type="ready")\n'
ALLOWS = 'for frame in frames(): send(type="event_intercept_response", id=frame["id"])'


@pytest.fixture
def denying(waits: bool, tmp_path: Path):
    """A host whose guard `guard` denies when it fails: by its manifest, or by the command line with one driver."""
    with Host(tmp_path, strict_guards=waits) as host:
        host.manifest = {} if waits else {"on_failure": "deny"}
        yield host


# --- guards that cannot say what they guard ---------------------------------------------------------------------


@both_drivers
@pytest.mark.parametrize("child", ["exits_before_hello", "first_frame_not_hello", "silent"])
def test_a_guard_that_never_got_ready_denies_every_event(denying: Host, child: str, waits: bool):
    denying.add(child, name="guard", timeouts={"hello": 0.3}, **denying.manifest)
    denying.add("echo")
    denying.start()
    for event in ("tool_call", "turn_start", "assistant_message"):
        judgement, seconds = denying.timed(denying.ask, event, waits=waits, text="x")
        assert seconds < AT_ONCE
        assert judgement.blocked_by == "guard"
        assert denying.extension("guard").failure in judgement.reason


@both_drivers
def test_a_guard_whose_program_is_missing_denies_every_event(denying: Host, waits: bool):
    denying.add("echo", name="guard", exec="no-such-program", **denying.manifest)
    denying.start()
    assert "no such program on PATH" in denying.ask(waits=waits).reason


@both_drivers
def test_what_has_happened_is_not_denied_and_waits_for_nobody(denying: Host, waits: bool):
    denying.add("silent", name="guard", **denying.manifest)
    denying.launch()
    for event in ("session_start", "error", "session_end"):
        judgement, seconds = denying.timed(denying.ask, event, waits=waits, text="x")
        assert seconds < AT_ONCE
        assert not judgement.is_blocked


# --- guards that are still starting -----------------------------------------------------------------------------


@both_drivers
def test_a_verdict_waits_for_a_slow_guard(denying: Host, waits: bool):
    denying.write("guard", SLOW + ALLOWS, **denying.manifest)
    denying.launch()
    assert not denying.supervisor.is_settled
    assert not denying.ask("turn_start", waits=waits).is_blocked
    assert denying.supervisor.is_settled
    assert denying.cost("guard").calls == 1


@both_drivers
def test_a_guard_that_is_too_slow_denies_until_it_is_ready(denying: Host, waits: bool):
    code = 'sys.stdin.readline()\nhello(intercept=["tool_call"])\nsend(type="ready")\n' + ALLOWS
    denying.write("guard", code, timeouts={"intercept": 0.3, "hello": 20}, **denying.manifest)
    denying.launch()
    judgement, seconds = denying.timed(denying.ask, waits=waits)
    assert seconds < AT_ONCE
    assert denying.loop.clock() - denying.extension("guard").started_at >= 0.3
    assert "it is still starting (spawned)" in judgement.reason
    assert denying.timed(denying.ask, waits=waits)[1] < 0.3, "the wait is not repeated"
    denying.extension("guard").child.send(b"go\n")
    denying.until(lambda: denying.supervisor.is_settled)
    assert not denying.ask(waits=waits).is_blocked


@both_drivers
def test_only_the_guard_whose_failure_denies_blocks_while_both_are_starting(host: Host, waits: bool):
    host.add("silent", timeouts={"intercept": 0.2, "hello": 60})
    host.add("silent", name="strict", on_failure="deny", timeouts={"intercept": 0.2, "hello": 60})
    host.launch()
    judgement = host.ask(waits=waits)
    assert judgement.blocked_by == "strict"
    assert "it is still starting (spawned)" in judgement.reason


@both_drivers
def test_before_a_turn_only_guards_whose_failure_denies_are_waited_for(host: Host, waits: bool):
    go = host.folder / "go"
    waits_for_it = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    host.write("slow", waits_for_it + SLOW + ALLOWS)
    host.launch()
    assert not host.ask("turn_start", waits=waits).is_blocked
    assert not host.supervisor.is_settled
    go.touch()
    assert not host.ask(waits=waits).is_blocked
    assert host.supervisor.is_settled, "before a tool call all are waited for"
    assert host.cost("slow").calls == 1


def test_a_cancelled_wait_for_a_start_blocks_at_once(host: Host):
    host.add("silent", timeouts={"intercept": 60, "hello": 60})
    host.launch()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("interrupted"))
    judgement, seconds = host.timed(host.ask)
    assert seconds < AT_ONCE
    assert (judgement.blocked_by, judgement.reason) == ("host", "interrupted")


# --- in flight only ---------------------------------------------------------------------------------------------


def test_a_guard_in_start_is_asked_as_soon_as_it_is_ready(host: Host, in_flight: RequestsInFlight, tmp_path: Path):
    go = tmp_path / "go"
    host.write(
        "late",
        f'while not os.path.exists({str(go)!r}): time.sleep(0.01)\nhello(intercept=["tool_call"])\nsend(type="ready")\n'
        'for f in frames(): send(type="event_intercept_response", id=f["id"], block=True, reason="late, not never")',
        timeouts={"intercept": 60},
    )
    host.launch()
    in_flight.verdict("it")
    host.run_for(0.1)
    assert in_flight.answers["it"] == []
    go.touch()
    assert in_flight.until_all()["it"].reason == "late, not never"


def test_a_verdict_on_a_turn_overtakes_one_that_waits_for_a_start(host: Host, in_flight: RequestsInFlight):
    host.add("silent", timeouts={"intercept": 60, "hello": 60})
    host.launch()
    in_flight.verdict("turn", "turn_start", step=1)
    in_flight.verdict("call")
    host.until(lambda: in_flight.answers["turn"])
    host.run_for(0.1)
    assert not in_flight.answers["turn"][0].is_blocked
    assert in_flight.answers["call"] == []


def test_a_verdict_that_waits_for_a_start_can_be_cancelled(host: Host, in_flight: RequestsInFlight):
    host.add("silent", timeouts={"intercept": 60, "hello": 60})
    host.launch()
    verdict = in_flight.verdict("it")
    host.run_for(0.05)
    verdict.cancel("no more interest")
    judgement = in_flight.until_all()["it"]
    assert (judgement.blocked_by, judgement.reason) == ("host", "no more interest")


def test_all_verdicts_that_wait_for_a_start_can_be_cancelled_together(host: Host, in_flight: RequestsInFlight):
    host.add("silent", timeouts={"intercept": 60, "hello": 60})
    host.launch()
    in_flight.verdict("one")
    host.run_for(0.05)
    in_flight.verdict("two")
    host.supervisor.cancel_pending("interrupted")
    judgements, seconds = host.timed(in_flight.until_all)
    assert {(judgement.blocked_by, judgement.reason) for judgement in judgements.values()} == {("host", "interrupted")}
    assert seconds < AT_ONCE


def test_a_verdict_that_waits_for_a_start_wakes_the_host_only_when_something_happens(
    host: Host, in_flight: RequestsInFlight
):
    host.add("silent", timeouts={"intercept": 60, "hello": 60})
    host.launch()
    host.supervisor.sampler.stop()
    in_flight.verdict("it")
    host.run_for(0.05)
    before = host.loop.passes
    host.run_for(0.5)
    assert host.loop.passes - before <= 3
    assert in_flight.answers["it"] == []
