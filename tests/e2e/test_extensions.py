"""Extensions in four languages in whole runs: tools, guards, observers, and twenty at once."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from tests.support.extension_folder import EXAMPLES, extension, folder
from tests.support.messages_server import text_reply, tool_reply
from tests.support.replay_script import Script, ok
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


def test_an_observer_of_an_interrupted_run_hears_of_the_end(zot):
    seen = zot.folder / "seen"
    script = Script(zot.cwd).call(("bash", {"command": "sleep 600"}))
    zot.replay(script, "-e", extension(zot.folder, "recorder", seen), "--timeout", "1.2").check(Status.TIMEOUT)
    *_, end, shutdown = [json.loads(line) for line in seen.read_text().splitlines()]
    assert (end["event"], end["stop"], shutdown["type"]) == ("turn_end", "aborted", "shutdown")


SLOW_GUARD = """
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
open(sys.argv[1]).close()
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
    gate = zot.folder / "gate"
    os.mkfifo(gate)

    def first_reply(_request):
        """The guard starts to speak once the model has been asked."""
        server.otherwise = lambda _request: text_reply("Done.")
        gate.open("w").close()
        return tool_reply([("bash", {"command": "touch made"})])

    server.otherwise = first_reply
    ext = folder(zot.folder, "slow", [sys.executable, "-I", "-S", "-c", SLOW_GUARD, str(gate)])
    outcome = zot.run("--json", "--base-url", server.base_url, "-e", ext, "go").check(Status.OK)
    assert not (zot.cwd / "made").exists()
    assert outcome.tool_texts() == ["too dangerous"]
    types = [type(record).__name__ for record in outcome.records]
    started = next(
        i for i, record in enumerate(outcome.records)
        if isinstance(record, Extension) and "ready after" in record.message
    )  # fmt: skip
    assert types.index("TurnStart") < started < types.index("ToolResult"), "the first turn did not wait for it"


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
