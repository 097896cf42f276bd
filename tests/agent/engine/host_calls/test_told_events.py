"""Events that an extension receives: who sent a prompt, when no prompt waits, and why something ended."""

from __future__ import annotations

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
