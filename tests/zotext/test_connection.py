"""Frames on the pipe: whole lines, and lines that are no frames."""

from __future__ import annotations

from typing import Any


def test_what_an_author_prints_does_not_reach_the_host(start: Any):
    host = start("""
@ext.tool
def noisy() -> str:
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["echo", "by a child"])
    sys.stdout.write("no line feed")
    sys.stdout.flush()
    try:
        return input()
    except EOFError:
        return "no input" + subprocess.run(["cat"], capture_output=True, text=True).stdout
print("before the run")
""")
    assert host.call_tool("noisy").text == "no input"
    assert host.stop() == 0
    assert host.junk == []
    for text in ("printed", "written", "by a child", "no line feed", "before the run"):
        assert text in host.stderr


def test_frames_of_many_threads_are_whole_lines(start: Any):
    host = start("""
@ext.tool
def talk(letter: str, ctx: ToolContext) -> str:
    for _ in range(20):
        ctx.progress(letter * 100_000)
    return letter
""")
    calls = [host.begin_tool("talk", letter=letter) for letter in "abcdefgh"]
    for call, letter in zip(calls, "abcdefgh", strict=True):
        answer = call.wait()
        assert answer.text == letter
        assert answer.progress == [letter * 100_000] * 20
    assert host.junk == []


def test_what_is_no_frame_is_skipped_and_logged(start: Any):
    host = start('ext.tool(name="ok")(lambda: "ok")')
    for line in (
        *(b"junk\n", b"[]\n", b'{"type":3}\n', b"\xff\xfe\n", b"\n", b"[" * 100_000 + b"\n", b'{"type":"news"}\n'),
        *(b'{"type":"tool_call"}\n', b'{"type":"event"}\n', b'{"type":"panel_key"}\n', b'{"type":"cancel","id":"9"}\n'),
        b'{"type":"tool_call","id":"a","name":3,"args":[]}\n',
        b'{"type":"command_invoked","id":"b"}\n',
        b'{"type":"event_intercept","id":"c"}\n',
    ):
        host.send(line)
    assert host.call_tool("ok").text == "ok"
    host.wait_for(lambda: {"a", "b", "c"} <= {frame.get("id") for frame in host.frames})
    assert host.stop() == 0
    assert host.stderr.count("skipped a line of the host") == 6
    assert "a tool_call frame without an id" in host.stderr
