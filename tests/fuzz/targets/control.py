"""The control socket: requests go through a client's session and the whole host, replies through the decoder."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.control.requests import ControlRequests
from supervisor.control.session import ControlSession
from tests.fuzz import seeds
from tests.fuzz.stage import Stage, pretended_children
from tests.fuzz.target import Target, without_folder
from tests.fuzz.targets.frames import GREETING, PANEL
from tests.support.control_peer import extension_stats, host_stats
from wire import control, frames
from wire.stats import Stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REQUESTS: tuple[dict[str, Any], ...] = (
    {"type": "info", "id": "1"},
    {"type": "get_stats", "id": "2"},
    {"type": "get_status", "id": "3", "name": "fuzz"},
    {"type": "watch", "id": "4", "stats_s": 100, "notices": True, "shown": True},
    {"type": "registered", "id": "5"},
    {"type": "restart", "id": "6", "name": "other"},
    {"type": "reload", "id": "7", "name": "fuzz"},
    {"type": "reload", "id": "8"},
    {"type": "stop", "id": "9"},
    {"type": "panel_key", "id": "10", "extension": "fuzz", "panel_id": "p1", "key": "rune", "text": "a"},
    {"type": "panel_resize", "id": "11", "extension": "fuzz", "panel_id": "p1", "width": 80, "height": 24},
    {"type": "panel_close", "id": "12", "extension": "fuzz", "panel_id": "p1"},
    {"type": "tool_call", "id": "13", "name": "known", "args": {"a": [1, {"b": "c"}]}},
    {"type": "command_invoked", "id": "14", "name": "known", "args": "x y"},
    {"type": "event_intercept", "id": "15", "event": "tool_call", "tool_id": "t", "tool_name": "read", "tool_args": {}},
    {"type": "event_intercept", "id": "16", "event": "assistant_message", "text": "hello"},
    {"type": "event", "event": "turn_end", "stop": "end_turn", "step": 3, "content": [{"type": "text", "text": "x"}]},
    {"type": "cancel", "id": "13", "reason": "enough"},
    {"type": "stop_extension", "id": "18", "name": "other", "consent": True},
    {"type": "start_extension", "id": "19", "name": "other"},
    {"type": "set_limits", "id": "20", "name": "fuzz", "limits": {"rss_mb": 300, "processes": None, "action": "stop"}},
    {"type": "set_limits", "id": "21", "name": "fuzz", "limits": {"rss_mb": "default"}, "only_check": True},
)
REPLIES = (
    control.HostInfoReply("1", 1, "host", "1", "/", 0.0, ("a",)),
    control.StatsReply("2", Stats(0.0, host_stats(), {"a": extension_stats()})),
    control.Registrations("3", (control.ToolInfo("t", "d", {}, "a"),), (control.CommandInfo("c", "d", "a"),)),
    control.Reloaded("4", (control.ReloadOutcome("a", "kept", "r"),)),
    control.Switched("9", changed=True, state="stopped"),
    control.LimitsSet("10", (control.LimitUse("rss_mb", 300.0, None, "command"),), ("file_mb",)),
    control.ConsentNeeded("11", ("it is required",)),
    control.Ok("5"),
    control.ErrorReply("m", "6"),
    frames.ToolResult("7", [frames.ContentBlock("text", text="x")]),
    frames.InterceptResponse("8", block=True, reason="no"),
)
ANSWERED = b"".join(
    seeds.as_line(answer)
    for number in range(2, 8)
    for answer in (
        {"type": "tool_result", "id": str(number), "content": [{"type": "text", "text": "ok"}]},
        {"type": "command_response", "id": str(number), "action": "display", "display": "d"},
        {"type": "event_intercept_response", "id": str(number), "modified_args": {}},
    )
)


class NoReloads:
    """Stands in for the reloader: a reload reads the files of extensions, which is no matter of the request."""

    def begin(self, name: str | None, done: Callable[[tuple[control.ReloadOutcome, ...]], None]) -> None:
        done((control.ReloadOutcome("fuzz", "kept", "as ever"),) if name in (None, "fuzz") else ())


def some_requests() -> list[bytes]:
    alone = list(map(seeds.as_line, REQUESTS))
    return [*alone, b"".join(alone), b"".join(alone[-7:])]


@contextmanager
def requests(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A client sends these bytes to `zot host` and ends its side. Each line that it gets is a reply."""

    def take(data: bytes) -> None:
        stage = Stage(folder)
        ours, theirs = socket.socketpair()
        try:
            stage.child.write(GREETING)
            supervisor: Any = stage.supervisor
            supervisor.begin_command(supervisor.registrations.commands()["known"], "", lambda _answer: None)
            stage.child.write(PANEL)
            stage.run_for()
            supervisor.sample = lambda: None  # of no processes
            reloader: Any = NoReloads()
            handler = ControlRequests(
                stage.loop, supervisor, reloader, kind="host", version="1", cwd="/", on_stop=lambda: None
            )
            client = ControlSession(stage.loop, theirs, handler, lambda _client: None)
            got = _said(stage, ours, data)
            stage.child.write(ANSWERED)
            stage.run_for()
            got += _all_of(ours)
            client.drop("the end")
            for line in got.splitlines():
                control.decode_reply(line)
        finally:
            ours.close()
            theirs.close()
            stage.close()

    with pretended_children():
        yield take


def _said(stage: Stage, ours: socket.socket, data: bytes) -> bytes:
    """Sends the bytes, and returns what comes meanwhile."""
    ours.setblocking(False)
    got, left = b"", memoryview(data)
    for _ in range(1000):
        try:
            left = left[ours.send(left[:65536]) :]
        except BlockingIOError:
            pass
        except OSError:  # the host has dropped this client
            return got
        stage.run_for()
        got += _all_of(ours)
        if not left:
            break
    ours.shutdown(socket.SHUT_WR)
    stage.run_for()
    return got


def _all_of(ours: socket.socket) -> bytes:
    got = b""
    try:
        while piece := ours.recv(1 << 20):
            got += piece
    except OSError:  # no more for now
        pass
    return got


@without_folder
def replies(data: bytes) -> None:
    """`zot ext` and `zot top` read replies: a line is a reply, or a `ControlError`."""
    for line in data.split(b"\n"):
        try:
            control.decode_reply(line)
        except control.ControlError:
            pass


TARGETS = (
    Target("control_requests", some_requests, requests, 150),
    Target("control_replies", lambda: [msgspec.json.encode(reply) for reply in REPLIES], replies, 1000),
)
