"""A run that is a trial: extensions left out, replies by position, recorded results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from agent.trial.plan import FoundNames, MadeCall, NoReplyLeft, RanTool, RecordedCall, SentRequest, TrialPlan
from agent.trial.report import read_report
from tests.support.mcp_files import write_servers
from tests.support.mcp_servers import server_argv
from tests.support.replay_script import Script, error, ok
from tests.support.sh_extension import guard, modified
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.zot_process import Outcome, Zot


class TrialRun:
    """Runs a trial of a script."""

    def __init__(self, zot: Zot) -> None:
        self.zot = zot
        self.report: list[Any] = []

    def __call__(self, script: Script, *flags: Any, **plan: Any) -> Outcome:
        file, report = self.zot.folder / "trial.json", self.zot.folder / "report.jsonl"
        report.unlink(missing_ok=True)
        file.write_bytes(msgspec.json.encode(TrialPlan(str(report), **plan)))
        outcome = self.zot.replay(script, *flags, env={"ZOT_TRIAL": str(file)})
        self.report = read_report(report)
        return outcome

    def of(self, kind: type) -> list[Any]:
        return [line for line in self.report if isinstance(line, kind)]

    @property
    def differing(self) -> list[str]:
        return [each.path for line in self.of(SentRequest) for each in line.differences]


@pytest.fixture
def trial(zot: Zot) -> TrialRun:
    return TrialRun(zot)


def bash(zot: Zot, command: str = "echo hello", recorded: str = "from the recording") -> Script:
    return Script(zot.cwd).call(("bash", {"command": command}), results=[ok(recorded)]).answer("done")


def test_extensions_are_left_out_and_all_names_are_reported_in_the_order_of_guards(trial: TrialRun, zot: Zot):
    guard(zot.home / "extensions", "b")
    guard(zot.home / "extensions", "a")
    guard(zot.home / "extensions", "first", priority=9)
    outcome = trial(bash(zot), without=("a",)).check(Status.OK)
    assert outcome.of(events.Session)[0].extensions == ("first", "b")
    assert trial.of(FoundNames) == [FoundNames(("first", "a", "b"))]


def test_replies_come_by_position_and_differences_are_reported_but_not_those_of_tools(trial: TrialRun, zot: Zot):
    outcome = trial(bash(zot).offer("no_longer_there")).check(Status.OK)
    assert "hello" in outcome.tool_texts()[0]
    assert outcome.result.text == "done"
    assert trial.differing == ["messages[2].content[0].content[0].text"]
    assert len(trial.of(SentRequest)) == 2


def test_the_end_of_the_recording_is_reported(trial: TrialRun, zot: Zot):
    trial(Script(zot.cwd).call(("bash", {"command": "true"}))).check(Status.ERROR)
    assert trial.of(NoReplyLeft) == [NoReplyLeft()]


def test_a_call_of_an_extension_that_is_left_out_gets_its_recorded_result(trial: TrialRun, zot: Zot):
    guard(zot.home / "extensions", "gone", tool="look")
    guard(zot.home / "extensions", "here", event="tool_result")
    script = Script(zot.cwd).offer("look").call(("look", {}), results=[error("recorded")]).answer("done")
    outcome = trial(script, without=("gone",), owners={"look": "gone"}).check(Status.OK)
    assert [(result.is_error, result.content[0].text) for result in outcome.of(events.ToolResult)] == [
        (True, "recorded")
    ]
    assert (trial.of(RecordedCall), trial.differing) == ([RecordedCall("t1", ("recorded",))], [])
    outcome = trial(script, without=("here",), owners={"look": "gone"})
    assert outcome.tool_texts() == ["live gone"]
    assert trial.of(RecordedCall) == []


def test_the_tool_of_an_extension_that_runs_and_fails_gets_no_recorded_result(trial: TrialRun, zot: Zot):
    guard(zot.home / "extensions", "other")
    script = Script(zot.cwd).offer("look").call(("look", {}), results=[ok("recorded")]).answer("done")
    outcome = trial(script, without=("other",), owners={"look": "here"})
    assert outcome.tool_texts() == ['unknown tool "look"']


def test_guards_judge_the_recorded_result_of_a_call(trial: TrialRun, zot: Zot):
    guard(zot.home / "extensions", "gone", tool="look")
    guard(zot.home / "extensions", "changes", modified("changed"), event="tool_result")
    script = Script(zot.cwd).offer("look").call(("look", {}), results=[ok("recorded")]).answer("done")
    assert trial(script, without=("gone",)).tool_texts() == ["changed"]


def test_a_command_that_a_guard_refuses_is_not_run_without_the_guard(trial: TrialRun, zot: Zot):
    refuses = """more=',"block":true,"reason":"never"'"""
    guard(zot.home / "extensions", "refuses", refuses)
    script = bash(zot, "touch harm", "blocked")
    trial(script)
    assert trial.of(MadeCall) == []
    outcome = trial(script, without=("refuses",), ran=())
    assert outcome.tool_texts() == ["blocked"]
    assert not (zot.cwd / "harm").exists()


def test_a_command_that_ran_with_all_extensions_runs_again(trial: TrialRun, zot: Zot):
    script = bash(zot, "echo ran >> log")
    trial(script)
    assert [json.loads(line.call.args) for line in trial.of(MadeCall)] == [{"command": "echo ran >> log"}]
    trial(script, ran=tuple(line.call for line in trial.of(MadeCall)))
    assert (zot.cwd / "log").read_text() == "ran\n" * 2
    trial(script, ran=(RanTool("bash", '{"command": "echo other"}'),))
    assert (zot.cwd / "log").read_text() == "ran\n" * 2


def test_recorded_results_of_built_in_tools_fit_the_recording(trial: TrialRun, zot: Zot):
    script = bash(zot, "echo ran >> log", f"{zot.cwd}/x cut, the whole is in /tmp/zot-bash-0f.log; Took 3.2s")
    outcome = trial(script, keeps_results=True)
    assert str(zot.cwd) in outcome.tool_texts()[0]
    assert trial.differing == []
    assert not (zot.cwd / "log").exists()


def test_a_trial_keeps_no_session_and_its_children_are_no_trials(trial: TrialRun, zot: Zot):
    outcome = trial(bash(zot, "echo [$ZOT_TRIAL]"))
    assert "\n[]\n" in outcome.tool_texts()[0]
    assert zot.session_files() == []
    assert not (zot.home / "runs").exists()


def test_deadlines_are_parts_of_the_time_that_the_trial_has(trial: TrialRun, zot: Zot):
    guard(zot.home / "extensions", "hangs", "while read -r line; do :; done")
    outcome = trial(bash(zot), longest_s=1.2)
    assert "0.1 s" in outcome.of(events.Extension)[1].message
    assert outcome.tool_texts()


def test_mcp_servers_are_left_out_as_well(trial: TrialRun, zot: Zot):
    command, *args = server_argv("reference.sh")
    write_servers(zot.home / "mcp.json", one={"command": command, "args": args}, two={"command": command, "args": args})
    name = "mcp__one__echo"
    script = Script(zot.cwd).offer(name).call((name, {"text": "live"}), results=[ok("recorded")]).answer("done")
    assert trial(script).tool_texts() == ["live"]
    assert trial.of(FoundNames) == [FoundNames(("one", "two"))]
    outcome = trial(script, without=("one",), owners={name: "one"}).check(Status.OK)
    assert outcome.tool_texts() == ["recorded"]
    assert outcome.of(events.Session)[0].extensions == ("two",)


def test_a_plan_that_cannot_be_read_is_a_usage_error(zot: Zot):
    (zot.folder / "trial.json").write_text("{")
    outcome = zot.replay(bash(zot), env={"ZOT_TRIAL": str(zot.folder / "trial.json")})
    assert "ZOT_TRIAL" in outcome.refusal()
