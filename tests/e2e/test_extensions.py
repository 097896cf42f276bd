"""Extensions in four languages in whole runs: tools, guards, observers, and twenty at once."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from tests.support.extension_folder import EXAMPLES, extension, folder
from tests.support.messages_server import text_reply, tool_reply
from tests.support.replay_script import Script, error, ok
from tests.support.zot_process import check_transcript
from wire.events import Extension
from wire.exit_codes import Status

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
ECHO = {"echo": "Returns its text."}


def notices(outcome, name: str) -> list[str]:
    return [record.event for record in outcome.of(Extension) if record.extension == name]


@pytest.mark.parametrize("child", ["echo.py", "echo.sh", "echo.c", pytest.param("echo.js", marks=needs_node)])
def test_a_tool_in_each_language(zot, child, request):
    if child == "echo.c":
        ext = folder(zot.folder, "echo", [str(request.getfixturevalue("compiled")("echo"))])
    else:
        ext = extension(zot.folder, child)
    script = Script(zot.cwd, extra=ECHO).call(
        ("echo", {"text": "hello"}), ("echo", {"text": "again"}), results=[ok("hello"), ok("again")]
    )
    outcome = zot.replay(script.answer("Done."), "-e", ext).check(Status.OK)
    assert outcome.stderr == ""
    cost = outcome.result.extensions["echo"]
    assert (cost.calls, cost.errors, cost.timeouts, cost.exit_status) == (4, 0, 0, "exit 0")
    assert cost.rss_peak_bytes > 0
    assert cost.p50_ms is not None


def test_an_observer_gets_everything_in_order_and_the_end_before_shutdown(zot):
    seen = zot.folder / "seen"
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    outcome = zot.replay(script.answer("Done."), "-e", extension(zot.folder, "recorder", seen)).check(Status.OK)
    frames = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [frame.get("event") or frame["type"] for frame in frames] == [
        "hello_ack",
        "session_start",
        "turn_start",
        "assistant_message",
        "tool_call",
        "turn_end",
        "turn_start",
        "assistant_message",
        "turn_end",
        "shutdown",
    ]
    assert "text" not in frames[3], "the first message is a call only"
    assert frames[4]["tool_args"] == {"command": "true"}
    assert frames[-2]["stop"] == "end_turn"
    assert outcome.result.extensions["recorder"].frames_out == len(frames)


def test_an_observer_of_an_interrupted_run_hears_of_the_end(zot):
    seen = zot.folder / "seen"
    script = Script(zot.cwd).call(("bash", {"command": "sleep 600"}))
    zot.replay(script, "-e", extension(zot.folder, "recorder", seen), "--timeout", "1.2").check(Status.TIMEOUT)
    *_, end, shutdown = [json.loads(line) for line in seen.read_text().splitlines()]
    assert (end["event"], end["stop"], shutdown["type"]) == ("turn_end", "aborted", "shutdown")


def test_a_tool_registered_in_a_turn_is_offered_in_the_next(zot, server):
    server.add(
        tool_reply([("bash", {"command": "true"})]),
        tool_reply([("late_tool", {})]),
        text_reply("Done."),
    )
    flags = ["--base-url", server.base_url, "-e", extension(zot.folder, "late_tool")]
    outcome = zot.run("--json", *flags, "go", cold=True).check(Status.OK)
    offered = [{tool["name"] for tool in request.body["tools"]} for request in server.requests]
    assert "late_tool" not in offered[0]
    assert "late_tool" in offered[1] & offered[2]
    assert outcome.tool_texts()[1] == "late"


SLOW_GUARD = """
import json, sys, time
def send(**frame): print(json.dumps(frame), flush=True)
time.sleep(float(sys.argv[1]))
send(type="hello", name="slow")
send(type="subscribe", intercept=["tool_call"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason="too dangerous")
    elif frame["type"] == "shutdown":
        break
"""


def test_a_guard_that_is_slow_to_start_still_judges_the_first_call(zot, server):
    server.add(tool_reply([("bash", {"command": "touch made"})]), text_reply("Done."))
    ext = folder(zot.folder, "slow", [sys.executable, "-I", "-S", "-c", SLOW_GUARD, "3.5"])
    outcome = zot.run("--json", "--base-url", server.base_url, "-e", ext, "go", cold=True).check(Status.OK)
    assert not (zot.cwd / "made").exists()
    assert outcome.tool_texts() == ["too dangerous"]
    types = [type(record).__name__ for record in outcome.records]
    started = next(
        i for i, record in enumerate(outcome.records)
        if isinstance(record, Extension) and "ready after" in record.message
    )  # fmt: skip
    assert types.index("TurnStart") < started < types.index("ToolResult"), "the first turn did not wait for it"


@pytest.mark.parametrize(
    ("child", "tool", "told", "line"),
    [
        ("dies_in_call", "die", "it ended (exit 7)", "something terrible happened"),
        ("killed_in_call", "die", "it ended (signal SIGKILL)", "signal SIGKILL"),
        ("junk_between", "echo", None, "lines that are not messages"),
        ("huge_line", "huge", "is over the limit", "is over the limit"),
        ("ignores_shutdown", "echo", None, None),
        ("stderr_flood", "echo", None, None),
        ("answers_twice", "twice", None, None),
    ],
)
def test_a_misbehaving_extension_costs_one_clear_line_at_most(zot, child, tool, told, line):
    script = Script(zot.cwd, extra={tool: ""}).call((tool, {"text": "hi"}))
    good = extension(zot.folder, "recorder", zot.folder / "seen", name="good")
    bad = extension(zot.folder, child)
    outcome = zot.replay(script, "--max-steps", "1", "-e", bad, "-e", good).check(Status.MAX_STEPS)
    (text,) = outcome.tool_texts()
    if told is not None:
        assert told in text
    lines = [warning for warning in outcome.warnings if child in warning]
    assert len(lines) == (0 if line is None else 1), outcome.stderr
    assert line is None or line in lines[0]
    assert outcome.result.extensions["good"].exit_status == "exit 0"
    check_transcript(zot.session_rows())


def test_a_hanging_tool_times_out_by_the_manifest(zot):
    ext = extension(zot.folder, "answers_late", timeouts={"tool_call": 0.3})
    failed = "extension answers_late/late failed: timeout waiting for answers_late/late (no answer within 0.3 s)"
    script = Script(zot.cwd, extra={"late": ""}).call(("late", {}), results=[error(failed)])
    outcome = zot.replay(script.answer("Too slow."), "-e", ext).check(Status.OK)
    assert outcome.result.extensions["answers_late"].timeouts == 1


def test_twenty_extensions_run_beside_a_broken_one(zot):
    flags = []
    for number in range(20):
        flags += ["-e", extension(zot.folder, "echo", f"e{number}", name=f"e{number}")]
    flags += ["-e", extension(zot.folder, "exits_before_hello")]
    script = Script(zot.cwd, extra=ECHO).call(("echo", {"text": "hi"}), results=[ok("hi")]).answer("Done.")
    outcome = zot.replay(script, *flags).check(Status.OK)
    assert len(outcome.result.extensions) == 21
    calls = [outcome.result.extensions[f"e{number}"].calls for number in range(20)]
    assert calls == [2] + [1] * 19, "one answers the call, all judge it"
    assert outcome.result.extensions["exits_before_hello"].exits
    assert set(notices(outcome, "exits_before_hello")) <= {"exited", "failed"}


def test_the_examples_run_together(zot, server):
    (zot.cwd / "todo.py").write_text("# TODO one\n# FIXME two\n")
    server.add(
        tool_reply([("todo_count", {"path": "todo.py"}), ("bash", {"command": "rm -rf /"})]),
        text_reply("The key is AKIAIOSFODNN7EXAMPLE."),
    )
    names = ["guard", "redactor", "todo-count", *(["turn-meter"] if shutil.which("node") else [])]
    flags = [flag for name in names for flag in ("-e", EXAMPLES / name)]
    outcome = zot.run("--json", "--base-url", server.base_url, *flags, "go").check(Status.OK)
    counted, refused = outcome.tool_texts()
    assert "2" in counted
    assert "rm -rf" in refused
    assert outcome.result.text == "The key is [redacted:aws-key-id]."
    assert all(cost.exit_status == "exit 0" for cost in outcome.result.extensions.values())


@pytest.mark.parametrize("scope", ["project", "global"])
def test_extensions_are_found_without_flags_except_with_no_ext(zot, scope):
    parent = zot.cwd / ".zot" / "extensions" if scope == "project" else zot.home / "extensions"
    parent.mkdir(parents=True)
    shutil.move(extension(zot.folder, "blocker", "turn_start", "no"), parent / "blocker")
    script = Script(zot.cwd).answer("Hi")
    zot.replay(script, "--no-session", "--trust-project").check(Status.BLOCKED)
    zot.replay(script, "--no-ext", "--trust-project").check(Status.OK)
