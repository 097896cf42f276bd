"""Two sessions at the same time, and two leases, are played to programs; and what the findings make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.harness import session_trial
from supervisor.harness.checkup import CheckupResult, examine
from supervisor.harness.findings import FindingLevel, judge
from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import find_extension
from tests.support.extension_folder import folder
from tests.support.host import PRELUDE as RAW
from tests.support.sdk_program import PRELUDE as SDK
from tests.support.sdk_program import PYTHON

if TYPE_CHECKING:
    from pathlib import Path

FOUND = "found what is in the folder of each; nothing else was tried"
READ = """
from pathlib import Path
@ext.tool(read_only=True)
"""


@pytest.fixture
def play(tmp_path: Path):
    def examine_it(code: str, **manifest: Any) -> CheckupResult:
        made = folder(tmp_path, "files", [*PYTHON, "main.py"], **{"sessions": "shared", **manifest})
        (made / "main.py").write_text(code)
        with Harness() as room:
            (result,) = examine(room, [find_extension(made)])
        assert result.left == 0
        return result

    return examine_it


def told(result: CheckupResult, topic: str = "sessions") -> list[tuple[str, str]]:
    return [(each.level.value, each.message) for each in judge(result) if each.topic == topic]


def test_a_tool_that_reads_the_frame_finds_the_file_of_each_session(play):
    result = play(f"{SDK}{READ}def read(path: str, ctx: ToolContext) -> str:\n"
                  "    return Path(ctx.cwd, path).read_text()\next.run()\n")  # fmt: skip
    assert told(result) == [("ok", f"read, called in two sessions at once, {FOUND}")]
    assert "safe" not in str(judge(result))


def test_state_of_the_last_session_is_found_out_with_the_other_ones_content(play):
    # Events are handled beside calls: the call waits until both sessions have begun.
    state = (
        "import threading\nbegun, both = [], threading.Event()\n@ext.on('session_start')\ndef begin(event):\n"
        "    begun.append(event.cwd)\n    if len(begun) == 2:\n        both.set()\n"
    )
    read = "def read(path: str) -> str:\n    both.wait(60)\n    return Path(begun[-1], path).read_text()\n"
    result = play(f"{SDK}{state}{READ}{read}ext.run()\n")
    (finding,) = (each for each in judge(result) if each.topic == "sessions")
    assert finding.level is FindingLevel.WARN
    assert finding.message == "read answers a call of the first session with what is in the folder of the second"
    assert result.sessions is not None
    assert finding.lines == (result.sessions.sessions[1].secret,)
    assert finding.advice == "resolve paths against the cwd of the frame, and keep state by its session_id"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Path(path).absolute()", "looks for a relative path in its own folder"),
        ("Path(path)", "does not find a file of the session's folder by its relative path"),
    ],
)
def test_a_path_of_its_own_folder_is_found_out(play, expression: str, message: str):
    result = play(f"{SDK}{READ}def read(path: str) -> str:\n    return {expression}.read_text()\next.run()\n")
    assert told(result) == [("warn", f"read {message}")]


def test_a_tool_that_may_write_is_not_called(play):
    code = """
    @ext.tool
    def write(path: str, text: str) -> str:
        os.kill(os.getpid(), 9)
    @ext.tool(read_only=True, interactive=True)
    def choose(path: str) -> str:
        os.kill(os.getpid(), 9)
    @ext.tool
    def count(text: str) -> str:
        os.kill(os.getpid(), 9)
    @ext.tool(idempotent=True)
    def list_files(folder: str, ctx: ToolContext) -> str:
        return " ".join(os.listdir(os.path.join(ctx.cwd, folder)))
    """.replace("\n    ", "\n")
    result = play(f"{SDK}{code}\next.run()\n")
    assert told(result) == [
        ("ok", f"list_files, called in two sessions at once, {FOUND}"),
        ("ok", "not tried with two sessions, as they may write: write, choose"),
    ]


TALK = """
hello()
send(type="register_tool", name="read", read_only=True,
     schema={"type": "object", "properties": {"path": {"type": "string"}}})
send(type="subscribe", events=["session_start", "session_end"])
send(type="ready")
waiting = []
for frame in frames():
    print(frame["type"], frame.get("event"), frame.get("session_id"), frame.get("cwd"), file=sys.stderr)
    if frame["type"] == "tool_call":
        waiting.append(frame)
"""
SWAPPED = """
        if len(waiting) == 2:
            for asked, other in zip(waiting, waiting[::-1]):
                text = open(os.path.join(other["cwd"], other["args"]["path"])).read()
                send(type="tool_result", id=asked["id"], content=[{"type": "text", "text": text}])
"""
MISNAMED = """
        if len(waiting) == 2:
            for asked, other in zip(waiting, waiting[::-1]):
                send(type="tool_result", id=asked["id"], content=[], session_id=other["session_id"])
"""


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (SWAPPED, ["with what is in the folder of the second", "with what is in the folder of the first"]),
        (MISNAMED, ["for session 'second-", "for session 'first-"]),
    ],
)
def test_answers_under_the_wrong_id_are_found_out(play, answers: str, expected: list[str]):
    found = told(play(RAW + TALK + answers))
    assert [level for level, _ in found] == ["warn", "warn"]
    for (_, message), name, text in zip(found, ("first", "second"), expected, strict=True):
        assert message.startswith(f"read answers a call of the {name} session {text}")


def test_each_session_begins_before_the_calls_and_ends_after_them(play):
    result = play(RAW + TALK + SWAPPED)
    assert result.sessions is not None
    about = [f"{each.about.id} {each.about.cwd}" for each in result.sessions.sessions]
    assert [line for line in result.stderr if "shutdown" not in line] == [
        *(f"event session_start {each}" for each in about), *(f"tool_call None {each}" for each in about),
        *(f"event session_end {each}" for each in about),
    ]  # fmt: skip


def test_a_tool_that_does_not_answer_shows_nothing(play, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_trial, "TRY_S", 0.2)
    found = told(play(RAW + TALK))
    assert found == [("ok", "read, called in two sessions at once, gave no answer within 2 s")]


def test_one_that_dies_of_a_call_ends_the_trial(play):
    result = play(RAW + TALK + "        os.kill(os.getpid(), 9)\n")
    assert told(result) == [("ok", "read, called in two sessions at once, gave no answer within 2 s")]
    assert any(each.topic == "shutdown" and each.level is FindingLevel.FAIL for each in judge(result))


@pytest.mark.parametrize("sessions", ["shared", "leased", "private"])
def test_one_that_does_not_start_is_not_tried(play, sessions: str):
    assert play("raise SystemExit(3)\n", sessions=sessions).sessions is None


def test_one_that_serves_one_run_is_not_tried(play):
    assert play(f"{SDK}ext.run()\n", sessions="private").sessions is None


MCP = """
import json, os, sys
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"name": name, "inputSchema": PATH, "annotations": {"readOnlyHint": True}} for name in ("by_meta", "by_own")]
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "files", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        folder = params["_meta"]["zot/cwd"] if params["name"] == "by_meta" else os.getcwd()
        path = os.path.join(folder, params["arguments"]["path"])
        text = open(path).read() if os.path.exists(path) else f"no such file: {path}"
        result = {"content": [{"type": "text", "text": text}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_a_server_of_mcp_is_tried_like_others(play):
    assert told(play(MCP, dialect="mcp")) == [
        ("ok", f"mcp__files__by_meta, called in two sessions at once, {FOUND}"),
        ("warn", "mcp__files__by_own looks for a relative path in its own folder"),
    ]


# --- leases -----------------------------------------------------------------------------------------------------

LEASED = """
send(type="hello", name="files", features=["leases"])
send(type="ready")
count = 0
for frame in frames():
    if frame["type"] == "lease_begin":
        count += 1
        if count <= {answered}:
            send(type="lease_ready", id=frame["id"])
"""


def test_leases_of_the_sdk_are_announced_and_answered(play):
    code = f"{SDK}@ext.on_lease_begin\ndef begin():\n    pass\next.run()\n"
    found = told(play(code, sessions="leased"), "leases")
    assert [level for level, _ in found] == ["ok", "ok"]
    assert found[1][1].endswith(" ms after the one after lease_end")


@pytest.mark.parametrize("answered", [0, 1])
def test_a_lease_without_an_answer_is_told(play, answered: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_trial, "TRY_S", 0.3)
    found = told(play(RAW + LEASED.format(answered=answered), sessions="leased"), "leases")
    assert [level for level, _ in found] == ["ok"] * answered + ["warn"] * (2 - answered)


def test_leases_that_are_not_announced_are_not_played(play):
    found = told(play(f"{SDK}ext.run()\n", sessions="leased"), "leases")
    assert found == [("warn", "its hello does not announce the feature leases: it stays private")]
