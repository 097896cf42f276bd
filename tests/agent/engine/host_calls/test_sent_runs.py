"""Prompts that extensions send in a headless run: real processes, and a model in this one."""

from __future__ import annotations

import pytest

from agent.answers.schema import AnswerSchema
from tests.support.scripted_model import fails, says
from wire import events
from wire.exit_codes import Status

SENDS_AT_ONCE = 'hello()\nwant("SendPrompt", text="and now you")\nfor _ in heard(): pass\n'
SENDS_WHEN_IDLE = """\
hello(events=["idle"])
left = {count}
for kind, host in heard():
    if kind == "event" and left:
        left -= 1
        want("SendPrompt", text=f"again {{left}}")
    elif kind == "refuse":
        say("note", text=json.dumps(host["reason"]))
"""


def test_a_prompt_that_was_sent_early_runs_after_the_users_and_before_the_result(run):
    ran = run(says("One."), says("Two."), programs={"eager": SENDS_AT_ONCE})
    assert ran.users == [("", "go"), ("eager", "and now you")]
    assert [type(record) for record in ran.records[-2:]] == [events.Result, events.Done]
    assert len(ran.of(events.Result)) == 1
    assert (ran.result.status, ran.result.text, ran.result.steps) == ("ok", "One.", 2)
    (sent,) = ran.result.sent
    assert (sent.extension, sent.status, sent.text, sent.steps) == ("eager", "ok", "Two.", 1)
    assert (sent.usage.input, ran.result.usage.input) == (1, 2)
    assert "zot: extension eager sends prompt 1 of 10: and now you\n" in ran.stderr


def test_a_run_without_sent_prompts_has_a_result_as_before(run):
    ran = run(says("One."), programs={"silent": "hello()\nfor _ in heard(): pass\n"})
    assert ran.result.sent is events.msgspec.UNSET
    assert ran.headless.has_answer


def test_what_an_extension_sends_as_it_hears_that_the_agent_is_idle_is_not_lost(run):
    replies = [says(str(number)) for number in range(4)]
    ran = run(*replies, programs={"looping": SENDS_WHEN_IDLE.format(count=3)})
    assert ran.users == [("", "go"), *(("looping", f"again {number}") for number in (2, 1, 0))]
    assert (ran.result.text, len(ran.result.sent)) == ("0", 3)


def test_prompts_without_end_end_at_ten(run):
    replies = [says(str(number)) for number in range(11)]
    ran = run(*replies, programs={"endless": SENDS_WHEN_IDLE.format(count=1000)})
    why = "extensions have sent 10 prompts already, and no more are accepted"
    assert len(ran.users) == 11
    assert ran.result.status == "ok"
    assert ran.warnings("endless") == [f"a prompt that it sends is refused: {why}"]
    assert ran.notes == [why]
    assert f"zot: extension endless: a prompt that it sends is refused: {why}\n" in ran.stderr


def test_a_hook_may_send_and_wait_for_the_word_that_it_is_taken(run):
    """The prompt runs later: the hook that waits for its end would wait for itself, but not the one that sends it."""
    program = """\
hello(intercept=["tool_call"])
asked = ""
for kind, host in heard():
    if kind == "ask":
        asked = host["id"]
        want("SendPrompt", text="from the hook")
    elif kind == "answer":
        say("verdict", id=asked)
"""
    call = ("t1", "bash", {"command": "echo hi"})
    ran = run(says("", call), says("One."), says("Two."), programs={"hook": program})
    assert ran.users == [("", "go"), ("hook", "from the hook")]
    assert [result.is_error for result in ran.of(events.ToolResult)] == [False]
    assert ran.result.status == "ok"


def test_the_limit_is_that_of_all_extensions_together(run):
    program = (
        'hello(events=["turn_start"])\nfor kind, _ in heard():\n    want("SendPrompt", text="x") if kind == "event"'
    )
    ran = run(*[says("x") for _ in range(11)], programs={"a": program + " else 0\n", "b": program + " else 0\n"})
    senders = [sender for sender, _ in ran.users]
    assert (senders[0], len(senders)) == ("", 11)
    assert len(ran.result.sent) == 10


def test_guards_judge_what_is_sent_and_know_who_has_sent_it(run):
    guard = """\
hello(intercept=["user_prompt"], events=["user_prompt"])
for kind, host in heard():
    if kind == "ask":
        say("verdict", id=host["id"], **({"block": "no bots"} if host.get("sender") else {}))
"""
    ran = run(says("One."), programs={"eager": SENDS_AT_ONCE, "guard": guard})
    (sent,) = ran.result.sent
    assert (sent.status, sent.reason) == ("blocked", "no bots")
    assert (ran.result.status, ran.result.exit_code, ran.result.text) == ("ok", 0, "One.")


def test_a_sent_prompt_that_a_guard_blocks_does_not_stop_the_next_one(run):
    guard = """\
hello(intercept=["user_prompt"])
for kind, host in heard():
    if kind == "ask":
        say("verdict", id=host["id"], **({"block": "no"} if host.get("text") == "and now you" else {}))
"""
    program = SENDS_AT_ONCE.replace("for _", 'want("SendPrompt", "next", text="and you")\nfor _')
    ran = run(says("One."), says("Two."), programs={"eager": program, "guard": guard})
    assert [(sent.status, sent.text) for sent in ran.result.sent] == [("blocked", ""), ("ok", "Two.")]
    assert ran.result.status == "ok"


def test_a_sent_prompt_that_fails_is_told_and_changes_no_status(run):
    program = SENDS_AT_ONCE.replace("for _", 'want("SendPrompt", "l", text="never")\nfor _')
    ran = run(says("One."), fails(), programs={"eager": program})
    (error,) = ran.of(events.Error)
    assert error.message.startswith("the prompt of extension eager: ")
    assert f"zot: {error.message}" in ran.stderr.replace("\n     ", "\n")
    assert (ran.result.status, ran.result.exit_code, ran.result.text, ran.headless.has_answer) == (
        "ok",
        0,
        "One.",
        True,
    )
    assert [sent.status for sent in ran.result.sent] == ["error"]
    assert ran.warnings("eager") == ["1 prompt that it has sent was not carried out: a prompt before it has failed"]


def test_after_a_failure_of_the_users_prompt_nothing_that_was_sent_runs(run):
    program = """\
hello(events=["idle", "error", "session_end"], intercept=["user_prompt"])
for kind, host in heard():
    if kind == "ask":
        want("SendPrompt", text="x")
        say("verdict", id=host["id"])
    elif kind == "event":
        say("note", text=json.dumps(host))
"""
    ran = run(fails(), programs={"eager": program})
    assert ran.users == [("", "go")]
    assert (ran.result.status, ran.result.sent) == ("error", events.msgspec.UNSET)
    assert ran.warnings("eager") == ["1 prompt that it has sent was not carried out: a prompt before it has failed"]


def test_the_budget_holds_for_all_prompts(run):
    ran = run(says("One."), programs={"endless": SENDS_WHEN_IDLE.format(count=1000)}, max_tokens=2)
    (sent,) = ran.result.sent
    assert (sent.status, ran.result.status) == ("budget", "ok")
    assert sent.reason.startswith("the prompt of extension endless: budget: 2 of 2 tokens")


def test_each_prompt_has_its_own_steps(run):
    call = ("t1", "bash", {"command": "true"})
    ran = run(
        says("", call), says("One."), says("", call), says("", call), programs={"eager": SENDS_AT_ONCE}, max_steps=2
    )
    (sent,) = ran.result.sent
    assert (ran.result.status, ran.result.steps, sent.status, sent.steps) == ("ok", 4, "max_steps", 2)


def test_a_timeout_during_a_sent_prompt_is_that_of_the_run(run):
    call = ("t1", "bash", {"command": "exec sleep 600"})
    ran = run(says("One."), says("", call), programs={"eager": SENDS_AT_ONCE}, timeout=3.0)
    assert (ran.result.status, ran.result.text, ran.headless.has_answer) == ("timeout", "One.", True)
    assert [sent.status for sent in ran.result.sent] == ["timeout"]


def test_an_interruption_ends_all_prompts(run):
    def interrupt(headless, record):
        if isinstance(record, events.UserMessage) and record.extension == "endless":
            headless.end(Status.INTERRUPTED, "enough")

    ran = run(says("One."), says("Two."), programs={"endless": SENDS_WHEN_IDLE.format(count=9)}, seen=interrupt)
    assert (ran.result.status, ran.result.exit_code, ran.result.text) == ("interrupted", 130, "One.")
    assert len(ran.result.sent) == 1


def test_an_extension_may_abort_the_prompt_that_it_has_sent(run):
    program = """\
hello(events=["user_prompt"])
want("SendPrompt", text="x")
for kind, host in heard():
    if kind == "event" and host.get("sender"): want("AbortPrompt", "a")
"""
    call = ("t1", "bash", {"command": "exec sleep 600"})
    ran = run(says("One."), says("", call), programs={"eager": program})
    (sent,) = ran.result.sent
    assert (sent.status, sent.reason) == (
        "interrupted", "the prompt of extension eager: extension eager has aborted it"
    )  # fmt: skip
    assert (ran.result.status, ran.result.text) == ("ok", "One.")


def test_an_extension_may_abort_the_users_prompt(run):
    program = (
        'hello(events=["tool_call"])\nfor kind, _ in heard():\n    want("AbortPrompt") if kind == "event" else 0\n'
    )
    call = ("t1", "bash", {"command": "exec sleep 600"})
    ran = run(says("", call), programs={"strict": program})
    assert (ran.result.status, ran.result.reason) == ("interrupted", "extension strict has aborted it")
    assert ran.result.exit_code == 130


def test_a_command_that_says_nothing_has_the_result_of_the_first_prompt_that_it_sends(run):
    program = """\
hello(commands=["review"])
for kind, host in heard():
    if kind == "command":
        want("SendPrompt", text="Review " + host["args"])
        want("SendPrompt", "next", text="And its tests")
        say("done", id=host["id"])
"""
    ran = run(says("Good."), says("Fine."), programs={"reviews": program}, prompt="/review a.py")
    assert ran.users == [("reviews", "Review a.py"), ("reviews", "And its tests")]
    assert ran.result.steps == 2
    assert (ran.result.status, ran.result.text, ran.headless.has_answer) == ("ok", "Good.", True)


def test_the_answer_of_the_users_prompt_is_the_one_that_fits_the_schema(run):
    schema = AnswerSchema('{"type": "object"}')
    ran = run(says('{"a": 1}'), says("no JSON"), programs={"eager": SENDS_AT_ONCE}, answer_schema=schema)
    assert (ran.result.status, bytes(ran.result.answer)) == ("ok", b'{"a": 1}')
    assert [(sent.status, sent.text) for sent in ran.result.sent] == [("ok", "no JSON")]


def test_one_that_does_not_answer_holds_the_end_up_for_a_second_at_most(run):
    program = 'hello(events=["idle"])\nimport time\ntime.sleep(600)\n'
    ran = run(says("One."), programs={"deaf": program})
    assert ran.result.status == "ok"
    assert ran.result.duration_ms < 20_000


def test_what_is_sent_as_the_session_ends_is_refused(run):
    program = """\
hello(intercept=["session_end"])
for kind, host in heard():
    if kind == "ask":
        asked = host["id"]
        want("SendPrompt", text="late")
    elif kind == "refuse":
        say("note", text=json.dumps(host["reason"]))
        say("verdict", id=asked)
"""
    ran = run(says("One."), programs={"late": program})
    assert ran.users == [("", "go")]
    why = "the run is ending: it takes no more prompts"
    assert ran.notes == [why]
    assert ran.warnings("late") == [f"a prompt that it sends is refused: {why}"]


@pytest.mark.parametrize("fields", [{"text": ""}, {"text": "x", "files": ["f"] * 21}])
def test_a_prompt_that_cannot_run_is_refused_at_once(run, fields):
    program = f'hello()\nwant("SendPrompt", **{fields!r})\n'
    program += 'for kind, host in heard():\n    say("note", text=json.dumps(host)) if kind == "refuse" else 0\n'
    ran = run(says("One."), programs={"wrong": program})
    assert len(ran.users) == 1
    assert ran.warnings("wrong") == []


def test_a_flood_of_prompts_is_refused_but_for_ten_and_the_run_goes_on(run):
    program = """\
hello()
for number in range(5000): want("SendPrompt", str(number), text="x")
refused = 0
for kind, _ in heard():
    refused += kind == "refuse"
    if refused == 4990:
        refused = 0
        say("note", text='"refused"')
"""
    ran = run(*[says(str(number)) for number in range(11)], programs={"flood": program})
    assert (ran.result.status, len(ran.result.sent)) == ("ok", 10)
    warnings = ran.warnings("flood")
    assert "have sent 10 prompts already" in warnings[0]
    assert len(warnings) <= 2, "one for each reason: what it says late comes as the run ends"


def test_a_prompt_runs_though_its_sender_has_ended(run):
    program = 'hello()\nwant("SendPrompt", text="my last will")\nnext(heard())\n'
    ran = run(says("One."), says("Two."), programs={"mortal": program}, may_end=True)
    assert ran.users == [("", "go"), ("mortal", "my last will")]


def test_one_that_waits_for_the_end_of_its_prompt_gets_it_and_may_send_the_next_one(run):
    """As `sendAndWait`, twice in a row."""
    program = """\
hello(events=["assistant_message", "idle"])
said, waits = "", 0
for kind, host in heard():
    if kind == "event" and host["event"] == "assistant_message":
        said = host["text"]
    elif kind == "event" and waits < 3:
        if waits: say("note", text=json.dumps(said))
        waits += 1
        if waits < 3: want("SendPrompt", text=f"question {waits}")
"""
    ran = run(says("One."), says("Two."), says("Three."), programs={"patient": program})
    assert ran.users == [("", "go"), ("patient", "question 1"), ("patient", "question 2")]
    assert ran.notes == ["Two.", "Three."]


def test_a_prompt_that_is_sent_after_other_wishes_are_answered_is_not_lost(run):
    program = """\
hello(events=["idle"])
wishes = 5
for kind, host in heard():
    if kind in ("event", "answer") and wishes:
        wishes -= 1
        want("SendPrompt", text="at last") if not wishes else want("GetUsage", str(wishes))
"""
    ran = run(says("One."), says("Two."), programs={"thorough": program})
    assert ran.users == [("", "go"), ("thorough", "at last")]


def test_a_prompt_of_one_that_says_it_is_still_at_work_is_not_lost(run):
    """The extension works for longer than zot waits for an extension that does not say so."""
    program = """\
import time
hello(events=["idle"])
works = 2
for kind, host in heard():
    if kind == "event" and works:
        works -= 1
        say("working", **{"is": True})
        time.sleep(1.5 if works else 0)
        want("SendPrompt", text=f"at last {works}")
        say("working", **{"is": False})
"""
    ran = run(says("One."), says("Two."), says("Three."), programs={"slow": program})
    assert ran.users == [("", "go"), ("slow", "at last 1"), ("slow", "at last 0")]
    assert ran.warnings("slow") == []


def test_one_that_is_at_work_without_end_does_not_hold_up_the_end(run, monkeypatch):
    monkeypatch.setattr("agent.engine.sent_runs.WORK_S", 0.2)
    program = 'hello(events=["idle"])\nsay("working", **{"is": True})\nfor kind, host in heard(): pass\n'
    ran = run(says("One."), programs={"busy": program})
    assert ran.result.status == "ok"
    (warning,) = ran.warnings("busy")
    assert "a handler of an event has not ended" in warning


def test_one_that_ends_while_it_is_at_work_is_not_waited_for(run, monkeypatch):
    monkeypatch.setattr("agent.engine.sent_runs.WORK_S", 600.0)
    program = 'hello(events=["idle"])\nsay("working", **{"is": True})\nnext(heard())\n'
    ran = run(says("One."), programs={"busy": program}, may_end=True)
    assert ran.result.status == "ok"


def test_one_that_never_stops_talking_does_not_hold_up_the_end(run):
    program = """\
hello(events=["idle"])
for kind, host in heard():
    if kind in ("event", "answer"): want("GetUsage")
"""
    ran = run(says("One."), programs={"chatty": program})
    assert ran.result.status == "ok"


@pytest.mark.slow
def test_a_pending_wait_does_not_hold_up_the_end_of_an_aborted_run(run):
    program = (
        'hello(events=["idle"])\nwant("SendPrompt", text="x")\nfor _ in heard(): pass\nimport time\ntime.sleep(600)\n'
    )
    call = ("t1", "bash", {"command": "exec sleep 600"})
    ran = run(says("", call), programs={"waits": program}, timeout=3.0)
    assert (ran.result.status, ran.result.sent) == ("timeout", events.msgspec.UNSET)
    assert ran.warnings("waits") == ["1 prompt that it has sent was not carried out: the run was ended"]
