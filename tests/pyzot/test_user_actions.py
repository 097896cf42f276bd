"""The actions of a user beside prompts, by both halves, with a real engine and extensions that are real children: calls
of tools, reloads, panels."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import suppress
from functools import partial

import psutil
import pytest

from pyzot import (
    AsyncRuntime,
    ClosedError,
    ExtensionNotice,
    ImageContent,
    PanelClose,
    PanelRender,
    RefusedError,
    Reloaded,
    ReloadError,
    Runtime,
    TextContent,
    ToolCall,
    ToolOutcome,
    ToolProgress,
    ToolResult,
)
from tests.support.extension_folder import extension
from tests.support.faulty_run import PROMPT, program
from tests.support.patience import PATIENCE_S
from tests.support.pictures import png
from tests.support.zot_process import wait_until

GUARD = """
hello(intercept=["tool_call"])
send(type="ready")
for asked in frames():
    said = {}
    if asked["tool_name"] == "bash": said = {"block": True, "reason": "no shell here"}
    if asked["tool_name"] == "echo": said = {"modified_args": {"text": "rewritten"}}
    send(type="event_intercept_response", id=asked["id"], **said)
"""


class Half:
    """A runtime of one half, with what `on_event` got. `zot` calls a method of it, and waits."""

    def __init__(self, kind, **options):
        self.events = []
        self.runtime = kind(on_event=self.events.append, **options)
        self._is_async = kind is AsyncRuntime
        if self._is_async:
            asyncio.run(self._wait_greeting())

    async def _wait_greeting(self):
        await self.runtime

    async def _call(self, name, *args):
        return await getattr(self.runtime, name)(*args)

    def zot(self, name, *args):
        return asyncio.run(self._call(name, *args)) if self._is_async else getattr(self.runtime, name)(*args)

    def until_started(self, count):
        wait_until(lambda: sum(notice.event == "started" for notice in self.of(ExtensionNotice)) == count)

    def of(self, kind):
        return [event for event in list(self.events) if isinstance(event, kind)]


@pytest.fixture(params=[Runtime, AsyncRuntime])
def begin(request, options):
    """Starts a runtime of either half with these extensions."""
    made = []

    def begin(*extensions):
        made.append(Half(request.param, **{**options, "ext": [str(each) for each in extensions]}))
        return made[-1]

    yield begin
    for each in made:
        each.zot("close")


# --- tools ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "why"),
    [
        ("bsh", {}, "no such tool: 'bsh'; did you mean 'bash'?"),
        ("bash", ["ls"], 'invalid args: must be a JSON object, not ["ls"]'),
        ("bash", None, "args is required"),
        (7, {}, "name: expected str, got int"),
    ],
)
def test_a_faulty_call_of_a_tool_is_refused(begin, name, args, why):
    half = begin()
    with pytest.raises(RefusedError) as refused:
        half.zot("call_tool", name, args)
    assert str(refused.value) == why


def test_arguments_that_are_not_json_are_the_callers_fault(begin):
    half = begin()
    with pytest.raises(TypeError):
        half.zot("call_tool", "bash", {"command": {1}})
    assert half.zot("state").message_count == 0


def test_a_tool_is_called_and_its_records_come_to_on_event(begin, project):
    half = begin()
    outcome = half.zot("call_tool", "bash", {"command": "echo up; exit 3"})
    assert isinstance(outcome, ToolOutcome)
    (text,) = outcome.content
    assert isinstance(text, TextContent)
    assert (outcome.is_error, text.text.startswith("$ echo up; exit 3\n\nup\n\n[exit 3]")) == (True, True)
    wait_until(lambda: half.of(ToolResult))
    ((called,), (progress,), (result,)) = map(half.of, (ToolCall, ToolProgress, ToolResult))
    assert (called.origin, result.origin, called.id) == ("client", "client", progress.id)
    assert result.content == outcome.content
    assert {event.prompt for event in (called, progress, result)} == {""}
    (project / "a.png").write_bytes(png(8, 8))
    assert isinstance(half.zot("call_tool", "read", {"path": "a.png"}).content[-1], ImageContent)
    assert half.zot("run", "go").text == "Done."
    assert half.zot("state").message_count == 2


@pytest.mark.parametrize("child", ["echo.py", "echo.sh"])
def test_guards_judge_the_calls_of_the_user(begin, tmp_path, child):
    half = begin(program(tmp_path, "guard", GUARD, timeouts=PROMPT), extension(tmp_path, child, name="one"))
    half.until_started(2)
    denied = ToolOutcome(True, (TextContent("no shell here"),))
    assert half.zot("call_tool", "bash", {"command": "touch made"}) == denied
    assert half.zot("call_tool", "echo", {"text": "hi"}) == ToolOutcome(False, (TextContent("rewritten"),))


def test_cancel_ends_a_call_while_no_prompt_runs(begin, tmp_path):
    os.mkfifo(tmp_path / "pid")
    half, ended = begin(), []
    args = {"command": f"echo $$ > {tmp_path / 'pid'}; exec sleep 600"}
    waiting = threading.Thread(target=lambda: ended.append(half.zot("call_tool", "bash", args)))
    waiting.start()
    pid = int((tmp_path / "pid").read_text())
    half.runtime.cancel()
    waiting.join(PATIENCE_S)
    assert ended == [ToolOutcome(True, (TextContent("aborted: aborted by the client"),))]
    wait_until(lambda: not psutil.pid_exists(pid))
    assert half.zot("run", "go").status == "ok"


def test_the_end_of_the_runtime_leaves_nothing_of_a_call(begin, tmp_path):
    os.mkfifo(tmp_path / "pid")
    half, ended = begin(), []
    args = {"command": f"echo $$ > {tmp_path / 'pid'}; exec sleep 600"}

    def wait():
        with suppress(ClosedError):  # or it has the result of a call that was cancelled, which came just before
            half.zot("call_tool", "bash", args)
        ended.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    pid = int((tmp_path / "pid").read_text())
    half.zot("close")
    waiting.join(PATIENCE_S)
    assert ended
    assert not psutil.pid_exists(pid)


def test_a_wait_that_is_given_up_leaves_the_call(start_async, tmp_path):
    os.mkfifo(tmp_path / "up")
    os.mkfifo(tmp_path / "gate")

    async def main():
        seen = []
        async with start_async(on_event=seen.append) as zot:
            command = f"echo up > {tmp_path / 'up'}; cat {tmp_path / 'gate'}"
            task = asyncio.create_task(zot.call_tool("bash", {"command": command}))
            await asyncio.to_thread((tmp_path / "up").read_text)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (tmp_path / "gate").write_text("on\n")
            await asyncio.to_thread(wait_until, lambda: [each for each in seen if isinstance(each, ToolResult)])
            assert not seen[-1].is_error

    asyncio.run(main())


# --- reloads and panels ---------------------------------------------------------------------------------------


def test_a_reload_names_what_has_changed(begin, tmp_path):
    one, two = extension(tmp_path, "echo.py", name="one"), extension(tmp_path, "commands")
    half = begin(one, two)
    half.until_started(2)
    with pytest.raises(RefusedError, match="no such extension: 'oen'; did you mean 'one'"):
        half.zot("reload", "oen")
    assert half.zot("reload", "one") == Reloaded(("one",), ("one",), ("one",), ())
    (one / "extension.json").write_text(json.dumps({"name": "one", "exec": "/no/such/program"}))
    reloaded = half.zot("reload")
    assert reloaded.loaded == ("commands",)
    (error,) = reloaded.errors
    assert isinstance(error, ReloadError)
    assert (error.name, "cannot start /no/such/program" in error.reason) == ("one", True)
    assert half.zot("call_tool", "echo", {"text": "hi"}).content == (TextContent("hi"),)


def test_a_panel_gets_keys_its_size_and_its_end(begin, tmp_path):
    half = begin(extension(tmp_path, "commands"))
    half.until_started(1)
    calls = [
        partial(half.zot, "panel_key", "commands", "p", "up"),
        partial(half.zot, "panel_key", "commands", "p", "rune", "x"),
        partial(half.zot, "panel_resize", "commands", "p", 80, 24),
        partial(half.zot, "panel_close", "commands", "p"),
    ]
    for call in calls:
        with pytest.raises(RefusedError, match="panel"):
            call()
    half.zot("command", "/open_panel")
    with pytest.raises(RefusedError, match="width"):
        half.zot("panel_resize", "commands", "p", "wide", 24)
    key, rune, *others = calls
    for call, lines in (key, ("up",)), (rune, ("rune",)):
        assert call() is None
        wait_until(lambda lines=lines: [event.lines for event in half.of(PanelRender)][-1:] == [lines])
    for call in others:
        assert call() is None
    with pytest.raises(RefusedError, match="panel"):
        half.zot("panel_key", "commands", "p", "up")
    wait_until(lambda: half.of(PanelClose) == [PanelClose("commands", "p")])
