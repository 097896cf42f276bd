"""Frames: those of extensions go through the whole host, those of hosts through the decoder that the harness uses."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any
from zlib import crc32

from agent.tools.extension_result import extension_result
from tests.fuzz import seeds
from tests.fuzz.stage import Stage, pieces, pretended_children
from tests.fuzz.target import Target, without_folder
from tests.support.dialect_session import session_of
from wire import events, frames
from wire.dialects.long_lines import decode_long, describe_oversize
from wire.framing import Oversize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINE_LIMIT = 4096
"""Bytes; as an extension may have it by `output_bytes`."""
GREETING = b"".join(
    map(
        seeds.as_line,
        (
            {"type": "hello", "name": "fuzz", "capabilities": ["cancel", "call_tool", "ping"]},
            {"type": "register_tool", "name": "known", "schema": {"type": "object"}},
            {"type": "register_command", "name": "known"},
            {"type": "subscribe", "intercept": ["tool_call", "tool_result", "assistant_message"]},
            {"type": "ready"},
        ),
    )
)
PANEL = seeds.as_line(
    {"type": "command_response", "id": "1", "action": "open_panel", "open_panel": {"id": "p1", "lines": ["x"]}}
)
QUESTIONS = (
    frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b'{"path":"a"}')),
    frames.Event("assistant_message", text="hello"),
    frames.Event("tool_result", tool_id="t", tool_name="read", content=[frames.ContentBlock("text", text="x")]),
)


def of_extensions() -> list[bytes]:
    """Each frame alone, and whole handshakes. The ids of answers are those of the requests that wait."""
    alone = [*seeds.frames_of("extension"), *ANSWERS]
    return [*alone, GREETING, b"".join(alone[:12])]


ANSWERS = tuple(
    map(
        seeds.as_line,
        (
            {"type": "tool_result", "id": "2", "content": [{"type": "text", "text": "ok"}], "is_error": False},
            {"type": "tool_result", "id": "2", "content": [{"type": "image", "mime_type": "a/b", "data": "aGk="}]},
            {"type": "tool_progress", "id": "2", "text": "half"},
            {"type": "command_response", "id": "3", "action": "display", "display": "hello"},
            {"type": "command_response", "id": "3", "action": "prompt", "prompt": "go"},
            {"type": "command_response", "id": "3", "action": "open_panel", "open_panel": {"id": "p2", "title": "t"}},
            {"type": "event_intercept_response", "id": "4", "block": True, "reason": "no"},
            {"type": "event_intercept_response", "id": "4", "modified_args": {"path": "b"}},
            {"type": "event_intercept_response", "id": "5", "replace_text": "other"},
            {"type": "event_intercept_response", "id": "6", "modified_result": {"content": [{"type": "text"}]}},
            {"type": "panel_render", "panel_id": "p1", "title": "t", "lines": ["a", "b"], "footer": "f"},
            {"type": "panel_close", "panel_id": "p1"},
            {"type": "log", "message": "m", "level": "warn", "fields": {"a": 1, "b": {"c": [1, 2]}}},
            {"type": "notify", "level": "warn", "message": "m"},
        ),
    )
)  # fmt: skip


@contextmanager
def from_extensions(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """An extension that is asked for a tool, a command and three verdicts says these bytes, and ends. Of eight inputs
    one is the first that it says."""

    def take(data: bytes) -> None:
        stage = Stage(folder)
        try:
            answers: list[Any] = []
            if crc32(data) & 7:
                stage.child.write(GREETING)
                ask(stage, answers)
            for piece in pieces(data):
                stage.child.write(piece)
            stage.run_for()
            stage.run_for(0.5)
            stage.child.end()
            stage.run_for()
            for answer in answers:
                if hasattr(answer, "frame") and (answer.frame is None or isinstance(answer.frame, frames.ToolResult)):
                    extension_result("t", "fuzz/known", answer)
            for record in stage.shown:
                if not isinstance(record, tuple):
                    events.encode(record)
        finally:
            stage.close()

    with pretended_children():
        yield take


def ask(stage: Stage, answers: list[Any]) -> None:
    supervisor = stage.supervisor
    supervisor.begin_command(supervisor.registrations.commands()["known"], "", answers.append)
    stage.child.write(PANEL)
    stage.run_for()
    answers.clear()
    supervisor.begin_call(supervisor.registrations.tool("known"), b"{}", answers.append, lambda _text: None)
    supervisor.begin_command(supervisor.registrations.commands()["known"], "", answers.append)
    for question in QUESTIONS:
        supervisor.begin_intercept(question, answers.append)


@contextmanager
def as_lines(_folder: Path) -> Iterator[Callable[[bytes], None]]:
    """The pieces in which bytes come change no line; decoding a line never raises."""
    session = session_of(frame_limit=LINE_LIMIT)

    def take(data: bytes) -> None:
        splitter, whole = session.splitter(), session.splitter()
        lines = [*chain.from_iterable(map(splitter.feed, pieces(data))), splitter.finish()]
        assert lines == [*whole.feed(data), whole.finish()]
        for line in lines:
            if isinstance(line, Oversize):
                describe_oversize(line)
            elif line is not None:
                decode_long(line)

    yield take


@without_folder
def from_hosts(data: bytes) -> None:
    """`decode_from_host` never raises."""
    for line in data.split(b"\n"):
        frames.decode_from_host(line)


TARGETS = (
    Target("lines", of_extensions, as_lines, 1000),
    Target("frames", of_extensions, from_extensions, 260),
    Target("host_frames", lambda: list(seeds.frames_of("host")), from_hosts, 1000),
)
