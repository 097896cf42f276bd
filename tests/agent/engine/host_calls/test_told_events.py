"""Events that an extension receives: who sent a prompt, when no prompt waits, and why something ended."""

from __future__ import annotations

import pytest

from tests.support.scripted_model import fails, says

HEARS = """\
hello(events={events!r})
with open({file!r}, "w") as told:
    for kind, host in heard():
        if kind == "event":
            print(json.dumps(host), file=told, flush=True)
"""


def heard(tmp_path, *events):
    return HEARS.format(events=list(events), file=str(tmp_path / "told"))


def told(tmp_path):
    import json

    return [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]


def test_idle_is_told_once_no_prompt_waits(run, tmp_path):
    sender = 'hello()\nwant("SendPrompt", text="more", files=["a.txt"])\nfor _ in heard(): pass\n'
    run(says("One."), says("Two."), programs={"a": heard(tmp_path, "user_prompt", "idle", "session_end"), "b": sender})
    events = told(tmp_path)
    assert [event["event"] for event in events] == ["user_prompt", "user_prompt", "idle", "session_end"]
    assert (events[0].get("sender"), events[0].get("files")) == (None, None)
    assert (events[1]["sender"], events[1]["files"], events[1]["text"]) == ("b", ["a.txt"], "more")
    assert events[-1]["reason"] == "complete"


def test_an_error_is_told_with_its_place_and_the_end_with_its_reason(run, tmp_path):
    run(fails(), programs={"a": heard(tmp_path, "error", "idle", "session_end")})
    error, idle, end = told(tmp_path)
    assert (error["event"], error["error_context"]) == ("error", "model_call")
    assert (idle["event"], end["event"], end["reason"]) == ("idle", "session_end", "error")


SENDS_TWICE = """\
hello(events=["idle"], intercept=["tool_call"])
asked = ""
for kind, host in heard():
    if kind == "ask":
        asked = host["id"]
        want("SendPrompt", text="from the hook")
    elif kind == "answer" and asked:
        say("verdict", id=asked)
        asked = ""
    elif kind == "event":
        want("SendPrompt", text="when idle")
"""


def test_each_prompt_is_told_when_it_is_accepted_and_whether_another_runs_first(run, tmp_path):
    call = ("t1", "bash", {"command": "echo hi"})
    replies = [says("", call), *(says(f"{number}.") for number in range(12))]
    run(*replies, programs={"a": heard(tmp_path, "user_prompt_submit", "user_prompt"), "b": SENDS_TWICE})
    submits = [(event["text"], event.get("queued")) for event in told(tmp_path) if event["event"].endswith("submit")]
    assert submits[:3] == [("go", None), ("from the hook", True), ("when idle", None)]
    assert len(submits) == 11, "no refused prompt is told"


@pytest.mark.parametrize(("prompt", "texts"), [("", []), ("hello", ["hello"])])
def test_a_command_is_told_as_a_prompt_only_if_it_becomes_one(run, tmp_path, prompt, texts):
    program = f"""\
import time
def is_heard(): return os.path.exists({str(tmp_path / "told")!r}) and os.path.getsize({str(tmp_path / "told")!r})
hello(commands=["greet"])
for kind, host in heard():
    if kind == "command":
        while not is_heard(): time.sleep(0.01)  # the observer has not subscribed yet
        say("done", id=host["id"], prompt={prompt!r})
"""
    events = ("user_prompt_submit", "session_start", "session_end")
    run(says("Hi."), programs={"a": heard(tmp_path, *events), "b": program}, prompt="/greet", may_end=True)
    assert [event["text"] for event in told(tmp_path) if event["event"] == "user_prompt_submit"] == texts
