"""Faults of extensions in a whole run: the run goes on, other extensions work, one line names the fault.

A fixture for the whole suite checks after every test that no process survives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension
from tests.support.faulty_run import ECHO, HEALTHY, Call, observe, program, short
from wire import events

if TYPE_CHECKING:
    from pathlib import Path


NO_FAULT = ("its tool 'echo' is hidden", "ready after the first request", "still starting", "sends notes faster")
"""Lines that a sound extension would get too, or that depend on how long the run takes."""
SAYS = {
    "silent": "said no hello within 1 s",
    "junk_first": "lines that are not messages to its stdout",
    "exits_before_hello": 'exited before its hello (exit 3): "exits_before_hello: cannot find',
    "first_frame_not_hello": "its first frame must be hello, not register_tool",
    "dies_in_call": 'ended (exit 7) with 1 call pending: "',
    "never_answers": "gave no verdict",
    "junk_between": "lines that are not messages to its stdout",
    "wrong_types": "register_tool",
    "slow_register": "",
    "no_ready": "",
    "chatty_never_ready": "",
    "stderr_flood": "",
    "deaf": "no verdict",
}
"""Words of the lines on stderr about a child; empty: there is no line."""
LATE = {"silent": ["hello"], "never_answers": ["intercept"], "chatty_never_ready": ["ready"], "deaf": ["intercept"]}
"""The deadlines that it lets pass."""
ENDED = {"silent", "exits_before_hello", "first_frame_not_hello", "dies_in_call", "never_answers"}


def test_the_run_goes_on_beside_them_all(tmp_path: Path) -> None:
    """The host's report of each fault is in `test_fault_by_dialect.py`."""
    bad = [
        extension(tmp_path, child, timeouts=short(*LATE.get(child, ())), restart={"backoff_s": [60, 60]})
        for child in SAYS
    ]
    seen = observe(tmp_path, *bad, batches=[[("die", {})], [ECHO]])
    assert (seen.result.status, seen.result.text) == ("ok", "all done")
    assert "(exit 7)" in seen.answer_of("t1.0")[0]
    assert seen.answer_of("t2.0") == ("still here", False), "the healthy one works"
    for child, words in SAYS.items():
        said = [line for line in seen.lines_about(child) if not any(word in line for word in NO_FAULT)]
        assert any(words in line for line in said) if words else not said, (child, said)
        assert len(set(said)) == len(said) <= 4, "each line once"
    assert not seen.lines_about(HEALTHY)
    costs = seen.result.extensions
    assert {child for child in SAYS if costs[child].state != "exited"} == ENDED
    assert (costs[HEALTHY].state, costs[HEALTHY].exit_status) == ("exited", "exit 0")


def test_calls_of_a_dead_extension_fail_at_once(tmp_path: Path) -> None:
    bad = extension(tmp_path, "dies_in_call")
    seen = observe(tmp_path, bad, batches=[[("die", {})], [("die", {})], [ECHO]])
    assert seen.result.status == "ok"
    assert seen.result.extensions["dies_in_call"].timeouts == 0
    assert "die" in seen.offered(1)
    assert "die" not in seen.offered(2), "it is not offered any more"


def test_a_guard_that_dies_is_recorded_as_no_verdict(tmp_path: Path) -> None:
    bad = extension(tmp_path, "dies_in_intercept")
    seen = observe(tmp_path, bad, batches=[[ECHO]])
    assert seen.result.status == "ok"
    kinds = [record.event for record in seen.records if isinstance(record, events.Extension)]
    assert "no_verdict" in kinds
    assert "exited" in kinds


def test_the_reason_of_a_guard_that_does_not_block_is_a_record_and_no_line(tmp_path: Path) -> None:
    code = (
        'hello(intercept=["tool_call"])\nsend(type="ready")\n'
        'for f in frames(): send(type="event_intercept_response", id=f["id"], reason="echo is harmless")'
    )
    seen = observe(tmp_path, program(tmp_path, "guard", code), batches=[[ECHO]])
    remarks = [record for record in seen.records if isinstance(record, events.Extension) and record.event == "remark"]
    assert [(record.extension, record.message) for record in remarks] == [("guard", "on tool_call: echo is harmless")]
    assert "harmless" not in seen.stderr
    assert seen.result.status == "ok"


@pytest.mark.parametrize("asked", [{"strict_guards": True}, {}])
def test_a_guard_whose_failure_means_deny_denies(asked: dict[str, Any], tmp_path: Path) -> None:
    bad = extension(tmp_path, "dies_in_intercept", **({} if asked else {"on_failure": "deny"}))
    seen = observe(tmp_path, bad, batches=[[ECHO]], **asked)
    assert (seen.result.status, seen.result.exit_code) == ("blocked", 3)
    assert "gave no verdict" in seen.result.reason
    assert "exit 9" in seen.result.reason


def test_a_guard_that_never_came_up_denies_too(tmp_path: Path) -> None:
    bad = extension(tmp_path, "exits_before_hello", on_failure="deny")
    seen = observe(tmp_path, bad, batches=[[ECHO]])
    assert seen.result.status == "blocked"
    assert "exits_before_hello" in seen.result.reason
    assert not seen.requests, "the model was not asked"


def test_an_extension_that_was_named_and_cannot_be_read_ends_the_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "extension.json").write_text('{"name": "broken"}')
    seen = observe(tmp_path, broken, batches=[[ECHO]])
    assert (seen.result.status, seen.result.exit_code) == ("required_extension", 9)
    assert "broken was named with --ext, and cannot be loaded: manifest: exec is required" in seen.result.reason
    assert f"zot: extension load: {broken}: manifest: exec is required, or skills, or a theme.json" in seen.stderr
    assert not seen.requests


def test_a_large_frame_to_an_extension_that_does_not_read(tmp_path: Path) -> None:
    """100 KB exceeds its pipe. The host waits for the verdict only; later requests fail at once."""
    bad = extension(tmp_path, "deaf", timeouts={"intercept": 0.5, "tool_call": 0.5})
    large: Call = ("echo", {"text": "x" * 49_000, "more": "y" * 51_000})
    seen = observe(tmp_path, bad, batches=[[large], [large], [large], [large], [ECHO]])
    assert seen.result.status == "ok"
    assert seen.answer_of("t1.0") == ("x" * 49_000, False)
    assert seen.answer_of("t5.0") == ("still here", False)
    assert seen.result.extensions["deaf"].timeouts <= 2


def test_a_tool_registered_after_ready_joins_in_the_next_turn(tmp_path: Path) -> None:
    late = extension(tmp_path, "late_tool")
    seen = observe(
        tmp_path,
        late,
        batches=[[ECHO], [ECHO], [("late_tool", {})]],
        hold={2: lambda supervisor: "late_tool" in supervisor.find("late_tool").tools},
    )
    assert "late_tool" not in seen.offered(1)
    assert "late_tool" in seen.offered(3)
    assert not seen.answer_of("t3.0")[1]
