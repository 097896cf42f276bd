"""The session of a handler: known to it, put into its frames, with a state of its own; and leases."""

from __future__ import annotations

import threading

import pytest

from tests.support.patience import PATIENCE_S
from zotext import CommandContext, Display, Event, Extension, Lease, PanelKey, RegistrationError, ToolCall, ToolContext
from zotext.testing import Harness

A, B = ("a", "/of/a"), ("b", "/of/b")


def where(subject: ToolContext | CommandContext | ToolCall | Event) -> str:
    return f"{subject.session_id} in {subject.cwd}"


def test_each_handler_knows_the_session_and_the_folder_of_its_frame(ext: Extension):
    seen: list[str] = []

    @ext.tool
    def look(ctx: ToolContext) -> str:
        return where(ctx)

    @ext.command
    def show(ctx: CommandContext) -> Display:
        return Display(where(ctx))

    @ext.intercept_tool_call
    def judge(call: ToolCall) -> None:
        seen.append(where(call))

    @ext.on("turn_end")
    def ended(event: Event) -> None:
        seen.append(where(event))

    @ext.on_panel_key("p")
    def pressed(key: PanelKey) -> None:
        seen.append(key.session_id)

    with Harness(ext) as host:
        for name, cwd in (A, B):
            with host.session(name, cwd=cwd):
                assert host.call_tool("look").text == f"{name} in {cwd}"
                assert host.run_command("show").text == f"{name} in {cwd}"
                host.intercept_tool_call("bash")
                host.send_event("turn_end")
                host.panel_key("p", "up")
        assert seen == ["a in /of/a", "a in /of/a", "a", "b in /of/b", "b in /of/b", "b"]


def test_a_frame_without_a_session_is_about_the_one_of_the_last_event_and_its_folder_is_the_hosts(ext: Extension):
    @ext.tool
    def look(ctx: ToolContext) -> str:
        return where(ctx)

    with Harness(ext, cwd="/here") as host:
        assert host.call_tool("look").text == " in /here"
        host.send_event("session_start", session_id="s1", cwd="/there")
        assert host.call_tool("look").text == "s1 in /there"


def test_frames_of_a_handler_carry_its_session_and_answers_do_not(ext: Extension):
    @ext.tool
    async def speak() -> str:
        ext.notify("info", "hi")
        ext.clear_notes()
        ext.open_panel("p")
        ext.render_panel("p", ["x"])
        ext.close_panel("p")
        ext.submit("go on")
        return (await ext.call_tool_async("other")).text

    with Harness(ext, host_tools={"other": lambda _args: "done"}) as host:
        with host.session("a"):
            assert host.call_tool("speak").text == "done"
        said = {frame["type"]: frame.get("session_id") for frame in host.frames}
    told = ("notify", "clear_notes", "open_panel", "panel_render", "panel_close", "submit", "call_tool")
    assert {kind: said[kind] for kind in told} == dict.fromkeys(told, "a")
    assert said["tool_result"] is None


def test_a_thread_of_the_extension_speaks_for_no_session_and_a_cancelled_call_for_its_own(ext: Extension):
    @ext.tool
    def work(ctx: ToolContext) -> str:
        thread = threading.Thread(target=ext.notify, args=("info", "own thread"))
        thread.start()
        thread.join()
        ctx.on_cancel(lambda: ext.notify("warn", "cancelled"))
        ctx.progress("working")
        ctx.wait(PATIENCE_S)
        return ""

    with Harness(ext) as host:
        with host.session("a"):
            pending = host.begin_tool("work")
        pending.wait_progress()
        pending.cancel()
        host.wait_for(lambda: len(host.notes) == 2)
        said = {frame["message"]: frame.get("session_id") for frame in host.frames if frame["type"] == "notify"}
    assert said == {"own thread": None, "cancelled": "a"}


def test_two_sessions_have_notes_of_their_own_for_the_test(ext: Extension):
    @ext.tool
    def speak(text: str) -> None:
        ext.notify("info", text)

    with Harness(ext) as host:
        with host.session("a"):
            host.call_tool("speak", text="for a")
        with host.session("b"):
            host.call_tool("speak", text="for b")
            assert [note.message for note in host.notes] == ["for b"]
        assert [note.message for note in host.notes] == ["for a", "for b"]


def test_a_state_for_each_session_is_dropped_at_its_end(ext: Extension):
    notes = ext.session_state(list[str])

    @ext.tool
    def add(text: str) -> str:
        notes().append(text)
        return " ".join(notes())

    @ext.on("session_end")
    def ended() -> None:
        ext.notify("info", f"left: {notes()}")

    with Harness(ext) as host:
        assert {"session_start", "session_end"} <= host.events
        with host.session("a"):
            host.call_tool("add", text="one")
            assert host.call_tool("add", text="two").text == "one two"
        with host.session("b"):
            assert host.call_tool("add", text="three").text == "three"
        with host.session("a"):
            host.send_event("session_end", reason="shutdown")
            assert [note.message for note in host.notes] == ["left: ['one', 'two']"]
            assert host.call_tool("add", text="four").text == "four"
        with host.session("b"):
            assert host.call_tool("add", text="five").text == "three five"


def test_a_run_of_its_own_has_one_state_until_the_session_changes(ext: Extension):
    notes = ext.session_state(list[str])

    @ext.tool
    def add(text: str) -> str:
        notes().append(text)
        return " ".join(notes())

    with Harness(ext) as host:
        host.send_event("session_start", session_id="s1")
        host.call_tool("add", text="one")
        host.send_event("turn_start", session_id="s1", step=1)
        assert host.call_tool("add", text="two").text == "one two"
        host.send_event("session_end", session_id="s1")
        host.send_event("session_start", session_id="s2")
        assert host.call_tool("add", text="three").text == "three"


def test_a_state_is_not_known_outside_of_handlers(ext: Extension):
    notes = ext.session_state(list)
    with pytest.raises(RuntimeError, match="known in handlers only"):
        notes()
    with pytest.raises(RegistrationError, match="session_state\\(\\) takes a function or a class, not 3"):
        ext.session_state(3)  # type: ignore[arg-type]


# --- leases -----------------------------------------------------------------------------------------------------


def test_handlers_of_leases_are_announced_and_answered(ext: Extension):
    notes = ext.session_state(list[str])
    told: list[str] = []

    @ext.on_lease_begin
    async def begin(lease: Lease) -> None:
        told.append(f"begin {where(lease)} {notes()}")

    @ext.on_lease_end
    def end(lease: Lease) -> None:
        told.append(f"end {where(lease)} {notes()}")

    @ext.tool
    def add(text: str, ctx: ToolContext) -> str:
        notes().append(text)
        ext.notify("info", text)
        return where(ctx)

    with Harness(ext) as host:
        assert host.frames[0]["features"] == ["leases"]
        for name, cwd in (A, B, A):
            with host.lease(name, cwd=cwd):
                assert host.call_tool("add", text="x").text == f"{name} in {cwd}"
        assert [frame["session_id"] for frame in host.frames if frame["type"] == "notify"] == ["a", "b", "a"]
    assert told == [
        "begin a in /of/a []", "end a in /of/a []", "begin b in /of/b []", "end b in /of/b []",
        "begin a in /of/a []", "end a in /of/a []",
    ]  # fmt: skip


def test_the_next_lease_begins_when_the_handlers_of_the_last_one_have_ended(ext: Extension):
    go = threading.Event()

    @ext.on_lease_begin
    def begin() -> None:
        ext.notify("info", "begins")

    @ext.tool
    def linger(ctx: ToolContext) -> None:
        ctx.progress("working")
        ctx.wait(PATIENCE_S)  # until the end of the lease cancels it
        go.wait(PATIENCE_S)
        ext.notify("info", "last words")

    with Harness(ext) as host:
        begin = {"type": "lease_begin", "id": "1", "session_id": "a", "cwd": "/of/a"}
        host._send(begin)
        host.wait_for(lambda: {"type": "lease_ready", "id": "1"} in host.frames)
        host.begin_tool("linger").wait_progress()
        host._send({"type": "lease_end", "id": "1", "session_id": "a"})
        host._send({**begin, "id": "next", "session_id": "b"})
        host.ping()
        assert not [frame for frame in host.frames if frame.get("id") == "next"]
        go.set()
        host.wait_for(lambda: host.frames[-1] == {"type": "lease_ready", "id": "next"})
        said = [(frame["message"], frame["session_id"]) for frame in host.frames if frame["type"] == "notify"]
    assert said == [("begins", "a"), ("last words", "a"), ("begins", "b")]


def test_a_handler_that_fails_leaves_the_lease_unanswered(ext: Extension, capfd: pytest.CaptureFixture[str]):
    @ext.on_lease_begin
    def begin() -> None:
        raise ValueError("no room")

    with Harness(ext, timeout_s=0.2) as host, pytest.raises(TimeoutError, match="the lease_ready"), host.lease("a"):
        pass
    assert "ValueError: no room" in capfd.readouterr().err


def test_without_such_handlers_the_hello_is_as_ever(ext: Extension):
    with Harness(ext) as host:
        assert "features" not in host.frames[0]
        with pytest.raises(RegistrationError, match="on_lease_begin comes before run"):
            ext.on_lease_begin(lambda: None)
