"""The children do what the other tests rely on: each one's fault is its documented fault, and nothing else is."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.children.conversation import Conversation

HERE = Path(__file__).parent
NOT_CHILDREN = {"conftest.py", "conversation.py", "test_children.py", "test_echo.py"}
PROGRAMS = sorted(path for path in HERE.iterdir() if path.suffix in {".py", ".js", ".sh", ".c"})
CHILDREN = [path for path in PROGRAMS if path.name not in NOT_CHILDREN]


def python(stem: str, *argv: str | Path) -> Conversation:
    return Conversation(sys.executable, "-I", "-S", HERE / f"{stem}.py", *argv)


def test_there_are_children():
    assert len(CHILDREN) > 30


@pytest.mark.parametrize("path", [c for c in CHILDREN if c.suffix == ".py"], ids=lambda path: path.stem)
def test_python_child_compiles_and_states_its_fault_in_one_line(path: Path):
    source = path.read_text()
    compile(source, path, "exec")
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring
    assert "\n" not in docstring


@pytest.mark.parametrize("path", CHILDREN, ids=lambda path: path.name)
def test_readme_lists_child(path: Path):
    assert f"| `{path.name}` |" in (HERE / "README.md").read_text()


GREETS_AND_LEAVES = {
    "answers_late": [],
    "answers_twice": [],
    "bad_tools": [],
    "big_reader": [],
    "blocker": ["tool_call", "no"],
    "cpu_hog": [],
    "dies_in_call": [],
    "dies_in_intercept": [],
    "dumps_on_quit": [],
    "env_dump": [],
    "fd_leak": [],
    "fork_bomb": [],
    "huge_line": [],
    "killed_in_call": [],
    "late_tool": [],
    "memory_hog": [],
    "never_answers": [],
    "pinged": [],
    "recorder": [os.devnull],
    "rewriter": ["rewriter", "!"],
    "stderr_flood": [],
    "wrong_types": [],
}


@pytest.mark.parametrize("stem", GREETS_AND_LEAVES)
@pytest.mark.parametrize("goodbye", ["shutdown", "EOF"])
def test_greets_by_its_name_and_leaves_when_told(stem: str, goodbye: str):
    with python(stem, *GREETS_AND_LEAVES[stem]) as child:
        hello = child.frame()
        assert (hello["type"], hello["name"]) == ("hello", stem)
        child.frames_up_to("ready")
        if goodbye == "shutdown":
            child.send("shutdown")
            assert child.frame() == {"type": "shutdown_ack"}
        else:
            child.close_stdin()
        assert child.exit_code() == 0


@pytest.mark.parametrize("stem", ["slow_register", "no_ready"])
def test_registers_a_tool_but_is_never_ready(stem: str):
    with python(stem) as child:
        assert [child.frame()["type"] for _ in range(2)] == ["hello", "register_tool"]
        child.send("shutdown")
        assert child.frame() == {"type": "shutdown_ack"}
        assert child.exit_code() == 0


def test_silent():
    with python("silent") as child:
        child.send("shutdown")
        assert child.line() == b""
        assert child.exit_code() == 0


def test_exits_before_hello():
    with python("exits_before_hello") as child:
        assert child.line() == b""
        assert child.exit_code() == 3
        assert "cannot find my configuration" in child.stderr()


@pytest.mark.parametrize(
    ("stem", "request_type", "status"),
    [
        ("dies_in_call", "tool_call", 7),
        ("killed_in_call", "tool_call", -signal.SIGKILL),
        ("dies_in_intercept", "event_intercept", 9),
    ],
)
def test_dies_when_asked(stem: str, request_type: str, status: int):
    with python(stem) as child:
        child.frames_up_to("ready")
        child.send(request_type, id="1", name="die", args={}, event="tool_call")
        assert child.line() == b""
        assert child.exit_code() == status


def test_junk_first():
    with python("junk_first") as child:
        junk = [child.line() for _ in range(4)]
        assert b"\x1b[31m" in junk[1]
        assert junk[2:] == [b"\xff\xfe\x80\n", b"\n"]
        child.frames_up_to("ready")
        assert child.call("echo", text="ok") == "ok"


def test_junk_between():
    with python("junk_between") as child:
        assert child.frame()["type"] == "hello"
        for kind in ("register_tool", "ready"):
            junk = [child.line() for _ in range(4)]
            assert junk[1:] == [b'{"type":"tool_res\n', b"[1,2,3]\n", b"42\n"]
            assert child.frame()["type"] == kind


def test_answers_late():
    with python("answers_late") as child:
        child.frames_up_to("ready")
        child.send("tool_call", id="1", name="late", args={})
        child.send("tool_call", id="2", name="late", args={})
        assert [child.frame()["id"] for _ in range(2)] == ["1", "2"]


def test_answers_twice():
    with python("answers_twice") as child:
        child.frames_up_to("ready")
        assert child.call("twice") == "first"
        assert child.frame()["content"][0]["text"] == "second"


def test_never_answers():
    with python("never_answers") as child:
        child.frames_up_to("ready")
        child.send("tool_call", id="1", name="hang", args={})
        child.send("event_intercept", id="2", event="turn_start", step=1)
        child.send("shutdown")
        assert child.frame() == {"type": "shutdown_ack"}


def test_deaf_fills_its_stdin():
    with python("deaf") as child:
        child.frames_up_to("ready")
        stdin = child.process.stdin.fileno()
        os.set_blocking(stdin, False)
        os.write(stdin, b" " * (1 << 24))  # takes what fits into the pipe
        with pytest.raises(BlockingIOError):
            os.write(stdin, b" " * 65536)
        child.process.terminate()
        assert child.exit_code() == -signal.SIGTERM


def test_huge_line():
    with python("huge_line") as child:
        child.frames_up_to("ready")
        assert len(child.call("huge")) == 20 * 1024 * 1024
        assert child.call("huge") == "small"


def test_ignores_shutdown():
    with python("ignores_shutdown") as child:
        child.frames_up_to("ready")
        child.send("shutdown")
        child.process.terminate()
        assert child.call("echo", text="still here") == "still here"
        child.close_stdin()
        with pytest.raises(subprocess.TimeoutExpired):
            child.process.wait(0.2)


@pytest.mark.parametrize(("stem", "same_session"), [("grandchild", True), ("daemon_grandchild", False)])
def test_leaves_a_grandchild(stem: str, same_session: bool, tmp_path: Path):
    with python(stem, tmp_path / "pid") as child:
        child.frames_up_to("ready")
        sleeper = int((tmp_path / "pid").read_text())
        try:
            assert (os.getsid(sleeper) == os.getsid(child.process.pid)) is same_session
            child.send("shutdown")
            assert child.frame() == {"type": "shutdown_ack"}
            assert child.exit_code() == 0
            os.kill(sleeper, 0)
        finally:
            os.kill(sleeper, signal.SIGKILL)
        assert child.line() == b""


def test_bad_tools():
    with python("bad_tools") as child:
        tools = [frame for frame in child.frames_up_to("ready") if frame["type"] == "register_tool"]
        names = ["null_schema", "string_schema", "invalid_schema", "", "has spaces", "read", None, "good_tool"]
        assert [tool.get("name") for tool in tools] == names
        assert [tool["schema"] for tool in tools[:3]] == [None, "object", {"type": 5}]
        assert child.call("good_tool") == "good_tool"


def test_late_tool():
    with python("late_tool") as child:
        assert [frame["type"] for frame in child.frames_up_to("ready")] == ["hello", "subscribe", "ready"]
        child.send("event", event="turn_start", step=1)
        assert child.frame()["name"] == "late_tool"
        child.send("event", event="turn_start", step=2)
        assert child.call("late_tool") == "late"


def test_chatty_never_ready():
    with python("chatty_never_ready") as child:
        assert [child.frame()["type"] for _ in range(4)] == ["hello", "notify", "notify", "notify"]
        child.send("shutdown")
        assert child.frames_up_to("shutdown_ack")
        assert child.exit_code() == 0


def expect_flood(child: Conversation) -> None:
    child.frames_up_to("ready")
    assert {child.frame()["type"] for _ in range(5000)} == {"notify"}
    child.send("shutdown")
    assert child.frame()["type"] == "notify"
    child.close_stdin()
    assert child.exit_code() == 0


def test_flood_notify_py():
    with python("flood_notify") as child:
        expect_flood(child)


def test_flood_notify_c(compiled):
    with Conversation(compiled("flood_notify")) as child:
        expect_flood(child)


def test_first_frame_not_hello():
    with python("first_frame_not_hello") as child:
        assert [child.frame()["type"] for _ in range(3)] == ["register_tool", "hello", "ready"]


def test_wrong_types():
    with python("wrong_types") as child:
        tool, notify, _ = child.frames_up_to("ready")[2:]
        assert (tool["name"], notify["message"]) == (5, 5)
        child.send("event_intercept", id="1", event="turn_start", step=1)
        assert child.frame()["block"] == "yes"


def test_recorder(tmp_path: Path):
    with python("recorder", tmp_path / "record", "scribe") as child:
        assert child.frames_up_to("ready")[0]["name"] == "scribe"
        child.send("event", event="session_start")
        child.send("shutdown")
        assert child.exit_code() == 0
    assert (tmp_path / "record").read_text() == '{"type":"event","event":"session_start"}\n{"type":"shutdown"}\n'


def test_rewriter():
    with python("rewriter", "marker", "+m") as child:
        assert child.frames_up_to("ready")[0]["name"] == "marker"
        child.send("event_intercept", id="1", event="tool_call", tool_name="read", tool_args={"path": "a", "limit": 3})
        assert child.frame()["modified_args"] == {"path": "a+m", "limit": 3}
        child.send("event_intercept", id="2", event="tool_call", tool_name="bash", tool_args={"command": "ls"})
        assert child.frame() == {"type": "event_intercept_response", "id": "2"}
        child.send("event_intercept", id="3", event="assistant_message", text="hi")
        assert child.frame()["replace_text"] == "hi +m"


def test_blocker():
    with python("blocker", "turn_start", "not today") as child:
        assert child.frames_up_to("ready")[1]["intercept"] == ["turn_start"]
        child.send("event_intercept", id="1", event="turn_start", step=1)
        verdict = child.frame()
        assert (verdict["block"], verdict["reason"]) == (True, "not today")


def test_stderr_flood():
    with python("stderr_flood") as child:
        child.frames_up_to("ready")
        assert len(child.stderr()) == 5 * 1024 * 1024
        assert child.call("echo", text="ok") == "ok"


def test_closes_stdout():
    with python("closes_stdout") as child:
        child.frames_up_to("ready")
        assert child.line() == b""
        assert child.process.poll() is None
        child.send("shutdown")
        assert child.exit_code() == 0
        assert child.stderr() == ""


def test_env_dump():
    with python("env_dump") as child:
        child.frames_up_to("ready")
        assert "PATH" in json.loads(child.call("env"))


def test_big_reader():
    with python("big_reader") as child:
        child.frames_up_to("ready")
        assert child.call("length", text="é" * 1000) == "1000"


@pytest.mark.parametrize(("word", "status", "greets"), [("before=3", 3, False), ("greeted=4", 4, True)])
def test_lives_end_as_their_word_says(tmp_path: Path, word: str, status: int, greets: bool):
    with python("lives", tmp_path / "life", word) as child:
        assert bool(child.line()) is greets
        assert child.exit_code() == status
        assert child.stderr() == "life 0\n"


def test_each_life_has_its_word_and_the_last_one_lasts(tmp_path: Path):
    tools = []
    for _ in range(3):
        with python("lives", tmp_path / "life", "ready=a", "ready=b,c") as child:
            frames = child.frames_up_to("ready")
            tools.append([frame["name"] for frame in frames if frame["type"] == "register_tool"])
            life = json.loads(child.call("life"))["life"]
            assert life == len(tools) - 1
            child.send("tool_call", id="9", name="die", args={"code": 5})
            assert child.exit_code() == 5
    assert tools == [["life", "die", "a"], ["life", "die", "b", "c"], ["life", "die", "b", "c"]]


def test_pinged():
    with python("pinged") as child:
        child.frames_up_to("ready")
        child.send("ping", id="p1")
        assert child.frame() == {"type": "pong", "id": "p1"}
        child.call("hush")
        child.send("ping", id="p2")
        assert child.call("echo", text="still here") == "still here"


def test_dumps_on_quit():
    with python("dumps_on_quit") as child:
        child.frames_up_to("ready")
        child.send("tool_call", id="1", name="hang", args={})
        child.process.send_signal(signal.SIGQUIT)
        while "Current thread" not in child.stderr():
            assert child.process.poll() is None
        child.process.terminate()
        assert child.exit_code() == -signal.SIGTERM


def test_memory_hog():
    with python("memory_hog") as child:
        child.frames_up_to("ready")
        child.call("eat", mb=30)
        child.call("eat", mb=0)  # so that it has eaten
        assert psutil.Process(child.process.pid).memory_info().rss > 30 << 20


def test_cpu_hog():
    with python("cpu_hog") as child:
        child.frames_up_to("ready")
        child.call("burn")
        process = psutil.Process(child.process.pid)
        while process.cpu_times().user < 0.05:
            assert child.process.poll() is None
        child.process.terminate()


def test_fork_bomb_is_bounded():
    with python("fork_bomb") as child:
        child.frames_up_to("ready")
        child.call("fork")
        process = psutil.Process(child.process.pid)
        below: list[psutil.Process] = []
        while len(below) < 50:
            assert child.process.poll() is None
            below = process.children(recursive=True)
        assert len(below) == 50
        assert {os.getsid(one.pid) for one in below} - {os.getsid(child.process.pid)}
        for one in (*below, process):
            one.kill()
    # Their parents have been killed too, so they come to this process, and are collected after the test.


def test_fd_leak():
    with python("fd_leak") as child:
        child.frames_up_to("ready")
        process = psutil.Process(child.process.pid)
        before = process.num_fds()
        child.call("open", count=20)
        (half,) = process.children()
        assert process.num_fds() + half.num_fds() >= 2 * before + 20
        child.send("shutdown")
        assert child.exit_code() == 0
        half.wait()
