"""Extensions as programs: real processes, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.sdk_program import PRELUDE, PYTHON

if TYPE_CHECKING:
    from pathlib import Path


def conversation(tmp_path: Path, code: str, said: bytes) -> subprocess.CompletedProcess[bytes]:
    """All input is there at once and then ends, as with a shell pipe."""
    script = tmp_path / "main.py"
    script.write_text(f"{PRELUDE}{code}\next.run()\n")
    return subprocess.run([*PYTHON, str(script)], input=said, capture_output=True)


def test_the_greeting_has_all_registrations(start: Any):
    host = start("""
ext.tool(name="t")(lambda: None)
ext.command(name="c")(lambda: None)
ext.on("turn_end")(lambda: None)
ext.on_panel_key("p")(lambda: None)
ext.notify("info", "early")
""")
    types = [frame["type"] for frame in host.frames]
    assert types[:5] == ["hello", "register_command", "register_tool", "subscribe", "ready"]
    assert host.frames[0]["capabilities"] == [
        "commands", "tools", "events", "panels", "cancel", "tool_cancel", "call_tool", "ping"
    ]  # fmt: skip
    assert (host.frames[0]["name"], host.frames[0]["version"]) == ("child", "1.0")
    host.wait_for(lambda: host.notes)


def test_a_ping_is_answered_although_every_handler_hangs(start: Any):
    host = start("""
@ext.tool
def hang(ctx: ToolContext) -> None:
    ctx.progress("hangs")
    forever.wait()
@ext.intercept_tool_call
def guard(call: ToolCall) -> None:
    forever.wait()
@ext.on("turn_end")
def ended() -> None:
    forever.wait()
""")
    calls = [host.begin_tool("hang") for _ in range(12)]
    host.send({"type": "event_intercept", "id": "g", "event": "tool_call"})
    host.send_event("turn_end")
    calls[0].wait_progress()
    host.ping()
    assert host.stop() == 0  # although its threads are stuck
    assert host.frames[-1] == {"type": "shutdown_ack"}


def test_a_conversation_through_a_pipe_is_answered_to_the_end(tmp_path: Path):
    calls = [{"type": "tool_call", "id": str(n), "name": "later", "args": {"n": n}} for n in range(20)]
    done = conversation(
        tmp_path,
        """
@ext.tool
def later(n: int, ctx: ToolContext) -> int:
    assert not ctx.wait(0.01)
    return n
ext.on_shutdown(lambda: print("the end"))
""",
        b"".join(json.dumps(call).encode() + b"\n" for call in calls).rstrip(b"\n"),
    )
    results = [json.loads(line) for line in done.stdout.splitlines()[3:]]
    assert {frame["id"]: frame["content"][0]["text"] for frame in results} == {str(n): str(n) for n in range(20)}
    assert (done.returncode, done.stderr) == (0, b"the end\n")


def test_the_shutdown_handler_runs_after_calls_under_way(start: Any, tmp_path: Path):
    host = start("""
@ext.tool
def work(ctx: ToolContext) -> str:
    ctx.progress("begun")
    assert ctx.wait(120)
    return "ended in good order: " + ctx.reason
@ext.on("turn_end")
def ended() -> None:
    ext.notify("info", "turn_end")
@ext.on_shutdown
def last() -> None:
    ext.notify("info", "last")
    (ext.host.data_dir / "state").write_text("kept")
atexit = __import__("atexit")
atexit.register(lambda: print("atexit"))
""", data_dir=tmp_path)  # fmt: skip
    call = host.begin_tool("work")
    call.wait_progress()
    for _ in range(50):
        host.send_event("turn_end")
    assert host.stop() == 0
    assert call.wait().text == "ended in good order: shutdown"
    assert [note.message for note in host.notes] == ["turn_end"] * 50 + ["last"]
    assert host.frames[-1] == {"type": "shutdown_ack"}
    assert (tmp_path / "state").read_text() == "kept"
    assert "atexit" in host.stderr  # nothing was stuck: the program ends as any other


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_extension_in_order(start: Any, number: int):
    host = start('ext.on_shutdown(lambda: ext.notify("info", "last"))')
    host.signal(number)
    assert host.wait() == 0
    assert [note.message for note in host.notes] == ["last"]
    assert "Traceback" not in host.stderr


def test_a_signal_cuts_the_wait_at_the_end_short(start: Any):
    host = start("""
@ext.tool
def hang() -> None:
    print("begun")
    forever.wait()
ext.on_shutdown(lambda: print("last"))
""")
    host.begin_tool("hang")
    host.wait_for(lambda: "begun" in host.stderr)
    host.close_stdin()
    host.signal(signal.SIGTERM)
    assert host.wait() == 0
    assert host.stderr.endswith("last\n")


def test_signals_that_the_author_handles_do_not_end_the_extension(start: Any):
    host = start("""
@ext.tool
def raise_signal() -> str:
    os.kill(os.getpid(), signal.SIGUSR1)
    return "raised"
signal.signal(signal.SIGUSR1, lambda *_: ext.notify("info", "seen"))
""")
    assert host.call_tool("raise_signal").text == "raised"
    host.wait_for(lambda: host.notes)
    host.ping()
    host.signal(signal.SIGQUIT)
    host.wait_for(lambda: "most recent call first" in host.stderr)
    host.ping()


def test_an_endless_thread_does_not_keep_the_extension_alive(start: Any):
    host = start("threading.Thread(target=forever.wait).start()")
    assert host.stop() == 0


def test_the_extension_ends_quietly_when_stdout_is_closed(tmp_path: Path):
    script = tmp_path / "main.py"
    script.write_text(f"{PRELUDE}ext.on('turn_end')(lambda: ext.notify('info', 'x'))\next.run()\n")
    child = subprocess.Popen(
        [*PYTHON, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        while b"ready" not in child.stdout.readline():
            pass
        child.stdout.close()
        child.stdin.write(b'{"type":"event","event":"turn_end"}\n')
        child.stdin.flush()
        assert child.wait(PATIENCE_S) == 0
        assert child.stderr.read() == b""


def test_every_call_is_answered_when_its_handler_fails(start: Any):
    host = start("""
class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Odd(str):
    pass

@ext.tool
def mute() -> str:
    raise Mute

@ext.tool
def unsayable() -> list:
    return [Image(b"x", mime_type=b"image/x-raw")]

@ext.tool
def leave() -> str:
    sys.exit("bye")

@ext.tool
def circle() -> list:
    items = []
    items.append(items)
    return items

@ext.tool
def half() -> str:
    return "half a pair: \\ud800"

@ext.command
def silent(text: str):
    raise Mute

@ext.intercept_tool_call
def speechless(call):
    raise Mute
""")
    assert host.call_tool("mute").text == "Mute"
    assert "bytes" in host.call_tool("unsayable").text
    assert host.call_tool("leave").text == "SystemExit: bye"
    assert host.call_tool("circle").is_error
    assert host.call_tool("half").text == "half a pair: ?"
    assert host.run_command("silent").error == "Mute"
    assert host.intercept_tool_call("bash", {}).reason == "guard 'speechless' failed: Mute"


def test_a_fork_of_the_extension_neither_answers_nor_stays(start: Any):
    host = start("""
@ext.tool
def fork() -> int:
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    ext.notify("info", "once")
    return pid
""")
    pid = host.call_tool("fork").json
    assert pid > 0
    assert [note.message for note in host.notes] == ["once"]
    assert host.stop() == 0
    assert [frame["type"] for frame in host.frames].count("tool_result") == 1
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
