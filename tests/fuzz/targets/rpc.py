"""The requests of an rpc client: a whole server, with a model that is prepared, and with two extensions: one without a
process, and one in the client."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock
from zlib import crc32

import msgspec

from agent.model.provider import Stream
from agent.options import Options
from agent.rpc.server import RpcServer
from tests.fuzz import seeds
from tests.fuzz.stage import PretendedChild, pieces, pretended_children
from tests.fuzz.target import Target
from tests.fuzz.targets.frames import GREETING
from tests.support.extension_folder import folder as extension_folder
from wire import events
from wire.rpc import request_lines, requests
from wire.rpc.ext_lines import ExtLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.loop.loop import Loop

TOKEN = "token"
_ext_line = msgspec.json.Decoder(ExtLine)
LATE = ("run_command", "call_tool", "reload_ext")
"""Requests that are answered when they are done."""
LOCKED_ONE_IN = 8
"""One of this many inputs meets a server with a token."""
GIF = "R0lGODlhAQABAAAAACw="
PANEL = {"extension": "fuzz", "panel_id": "p1"}
MESSAGES = [
    {"role": "user", "content": [{"type": "text", "text": "first"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]},
    {
        "role": "user",
        "content": [{"type": "text", "text": "hi"}, {"type": "image", "mime_type": "image/gif", "data": GIF}],
    },
    {"role": "assistant", "content": [{"type": "tool_call", "id": "t1", "name": "known", "args": "{}"}]},
    {"role": "tool", "content": [{"type": "tool_result", "call_id": "t1", "content": [{"type": "text", "text": "x"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
]
REQUESTS: tuple[dict[str, Any], ...] = (
    {"type": "hello", "id": "h", "token": TOKEN},
    {"type": "prompt", "id": 1, "message": "go"},
    {
        "type": "prompt",
        "id": 2.5,
        "message": "x",
        "images": [{"mime_type": "image/gif", "data": GIF}],
    },
    {"type": "abort", "id": "a"},
    {"type": "abort", "id": "b", "prompt": "p1"},
    {"type": "get_state", "id": -3},
    {"type": "get_messages", "id": "m", "full": True},
    {"type": "clear"},
    {"type": "set_model", "id": "s", "model": "m2"},
    {"type": "set_reasoning", "id": "s", "reasoning": "low"},
    {"type": "get_models", "id": "g"},
    {"type": "ping", "id": "é"},
    {"type": "queue", "id": 4},
    {"type": "run_command", "id": "r", "name": "/known", "args": "x"},
    *({"type": kind, "id": 5} for kind in ("list_commands", "list_tools", "list_skills", "ext_stats")),
    {"type": "set_messages", "id": 8, "messages": MESSAGES},
    {"type": "get_schema", "id": 9, "name": "event.done"},
    {"type": "steer", "id": "t", "message": "rather this"},
    {"type": "compact", "id": "c", "instructions": "short"},
    {"type": "reload_ext", "id": "e", "name": "fuzz"},
    {"type": "panel_resize", "id": 10, **PANEL, "width": 80, "height": 24},
    {"type": "panel_key", "id": 11, **PANEL, "key": "rune", "text": "a"},
    {"type": "panel_close", "id": 12, **PANEL},
    {"type": "list_sessions", "id": 13, "all": True},
    {"type": "resume", "id": 15, "session": "0a1b2c3d"},
    {"type": "export", "id": 16, "format": "json"},
    {"type": "call_tool", "id": 17, "name": "known", "args": {"text": "x"}},
)


def _ext(frame: dict[str, Any], name: str = "mine", **members: Any) -> dict[str, Any]:
    return {"type": "ext", "id": "x", "extension": name, "frame": frame, **members}


EXT_LINES: tuple[dict[str, Any], ...] = (
    _ext(
        {"type": "hello", "name": "mine", "capabilities": ["ping", "cancel"]},
        manifest={"on_failure": "deny", "priority": 3, "timeouts": {"intercept": 0.01, "tool_call": 0.01}},
    ),
    _ext({"type": "register_tool", "name": "own", "description": "o", "schema": {"type": "object"}}),
    _ext({"type": "register_command", "name": "own", "description": "k"}),
    _ext({"type": "subscribe", "intercept": ["user_prompt", "tool_call"], "events": ["turn_start"]}),
    _ext({"type": "ready"}),
    _ext({"type": "tool_progress", "id": "1", "text": "p"}),
    _ext({"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "ok"}]}),
    _ext({"type": "event_intercept_response", "id": "1", "block": False}),
    _ext({"type": "event_intercept_response", "id": "2", "block": True, "reason": "no"}),
    _ext({"type": "command_response", "id": "3", "action": "open_panel", "open_panel": {"id": "p1", "title": "P"}}),
    _ext({"type": "panel_render", "panel_id": "p1", "lines": ["two"]}),
    _ext({"type": "notify", "level": "info", "message": "n"}),
    _ext({"type": "unregister_tool", "name": "own"}),
    _ext({"type": "shutdown_ack"}),
    {"type": "ext", "extension": "mine", "closed": True},
    _ext({"type": "hello", "name": "fuzz"}, "fuzz"),
    _ext({"type": "ready"}, "nobody"),
)
"""Lines of an extension in the client."""
USAGE = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}


def sequences() -> list[bytes]:
    """Each request, and conversations of several."""
    alone = list(map(seeds.as_line, REQUESTS))
    hello, prompt, image, abort, abort_first = alone[:5]
    unlocked = [
        prompt + abort + prompt + alone[11] + abort_first,
        image + alone[12] * 3 + prompt * 3 + alone[7] + alone[6],
        alone[16] + prompt + alone[5] + alone[8] + alone[17] + alone[3],
        alone[16] + alone[19] + prompt + alone[18] * 2 + alone[19] + abort + alone[20],
        b"".join(alone[1:]),
        b"\n \n".join(alone[5:]) + prompt.rstrip(),
    ]
    said = list(map(seeds.as_line, EXT_LINES))
    begun = b"".join(said[:5])
    unlocked += [
        begun + prompt + b"".join(said[5:9]) + prompt + said[14] + begun + prompt + b"".join(said[9:14]),
        prompt + begun + alone[12] + said[9] + said[10] + abort + prompt + said[7] + said[14] + said[4] + alone[9],
        b"".join(said) + alone[15] + alone[20] + prompt,
        said[0] + prompt + said[14] + said[0] + said[3] + prompt + said[8],
        *(said[0] + said[1] + said[4] + prompt * count + said[5] + said[6] for count in (2, 3, 4, 5)),
    ]
    return [*alone, *said, *unlocked, *(hello + said for said in unlocked)]


class Answering(PretendedChild):
    """An extension that answers commands, keys and guards at once, and not each time as it should."""

    def __init__(self, loop: Loop, argv: object, **options: Any) -> None:
        super().__init__(loop, argv, **options)
        self._loop = loop
        self._count = 0
        stdin: Any = self.stdin
        stdin.send = self._hear
        loop.call_later(0, lambda: self.is_running and self.write(GREETING))

    def _hear(self, data: bytes) -> bool:
        for line in bytes(data).splitlines():
            self._loop.call_later(0, lambda line=line: self._answer(json.loads(line)))  # type: ignore[misc]
        return True

    def _answer(self, frame: dict[str, Any]) -> None:
        if not self.is_running:
            return
        self._count += 1
        match frame["type"]:
            case "shutdown":
                self.end()
            case "command_invoked":
                ways: tuple[dict[str, Any], ...] = (
                    {"action": "open_panel", "open_panel": {"id": "p1", "title": "P", "lines": ["one"]}},
                    {"action": "display", "display": "d"},
                    {"error": "it cannot"},
                    {"action": "dance"},
                )
                self.write(seeds.as_line({"type": "command_response", "id": frame["id"], **ways[self._count % 4]}))
            case "panel_key":
                self.write(seeds.as_line({"type": "panel_render", "panel_id": frame["panel_id"], "lines": ["two"]}))
            case "event_intercept":
                self.write(seeds.as_line({"type": "event_intercept_response", "id": frame["id"]}))
            case "tool_call":
                text = [{"type": "text", "text": "ok"}]
                self.write(seeds.as_line({"type": "tool_result", "id": frame["id"], "content": text}))


class Feeding:
    """A model that answers each request in another way, and some without end unless the server `is_patient` at the end
    of stdin. It is also the client, which says a piece of `data` whenever the loop comes round."""

    name = "fuzz"
    error = None
    is_ready = True

    def __init__(self, loop: Loop, data: bytes, stdin: int, *, is_patient: bool) -> None:
        self._loop = loop
        self._is_patient = is_patient
        self._chosen = crc32(data)
        self._pieces = pieces(data)
        self._piece = b""
        self._stdin = stdin
        os.set_blocking(stdin, False)
        loop.call_later(0, self._feed)

    def _feed(self) -> None:
        """Writes as much of the next piece as the pipe takes; behind the last one, ends stdin."""
        if self._stdin < 0:
            return
        self._piece = self._piece or next(self._pieces, b"")
        if not self._piece:
            self.close()
            return
        try:
            self._piece = self._piece[os.write(self._stdin, self._piece) :]
        except BlockingIOError:
            pass
        self._loop.call_later(0, self._feed)

    def close(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
        self._stdin = -1

    def start(self) -> None:
        pass

    def warm_up(self) -> None:
        pass

    def request(self, _params: Any) -> Stream:
        self._chosen = self._chosen * 1103515245 + 12345 & 0x7FFFFFFF
        start = {"type": "message_start", "usage": USAGE}
        text = [start, {"type": "text_delta", "delta": "Hi"}]
        name = "own" if self._chosen & 1 << 12 else "known"
        call = {"type": "tool_call", "id": "t1", "name": name, "args": "{}"}
        called = [
            {"type": "tool_use_start", "call_id": "t1", "name": name},
            {"type": "tool_use_end", "call_id": "t1"},
        ]
        error = {"type": "error", "kind": "dropped", "status": None, "message": "no", "content": [], "usage": USAGE}
        retry = {"type": "retry", "attempt": 2, "of": 3, "wait_s": 0.5, "reason": "busy", "status": 529}
        ways: tuple[list[dict[str, Any]], ...] = (
            [*text, _final("end_turn", {"type": "text", "text": "Hi"})],
            [start, *called, _final("tool_use", call)],
            [*text, error],
            [retry, *text, _final("refusal", {"type": "text", "text": "Hi"})],
            text,
        )
        lines = ways[(self._chosen >> 8) % (len(ways) - self._is_patient)]
        stream = Stream(lines[:1])
        for line in lines[1:]:
            self._loop.call_later(0, lambda line=line: stream.feed(line))  # type: ignore[misc]
        return stream

    def cancel(self) -> None:
        pass

    def stoppables(self) -> tuple[()]:
        return ()


def _final(stop: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "final", "content": list(content), "stop_reason": stop, "usage": USAGE}


class Said(msgspec.Struct):
    """A line of the server."""

    type: str
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    command: str = ""
    success: bool | None = None
    error: str = ""
    prompt: str = ""
    data: dict[str, Any] | None = None
    stop: str = ""
    status: Any = None
    reason: str = ""


def check(data: bytes, output: bytes, status: int, token: str) -> None:
    """Each line with content is answered once, in order but for commands, and an `ext` line at most once, by a refusal;
    each prompt that was begun ends once, and its records lie together; the status is one of those in docs/rpc.md."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    asked = [request_lines.decode(line) for line in lines]
    is_let_in = not token or not asked or (isinstance(asked[0], requests.Hello) and asked[0].token == token)
    assert status == (0 if is_let_in else 1), f"status {status}"
    assert output.endswith(b"\n") or not output
    said = [msgspec.json.decode(line, type=Said) for line in output.splitlines()]
    answers = [line for line in said if line.type == "response"]
    if not is_let_in:
        assert [line.success for line in said] == [False], "one error, and no more"
        return
    expected = [_name_and_id(request) for request in asked if not isinstance(request, requests.Ext)]
    refused = Counter((answer.command, _text(answer.id)) for answer in answers if answer.command == "ext")
    assert not refused - Counter(map(_name_and_id, asked)), "an ext line is refused twice"
    assert not any(answer.success for answer in answers if answer.command == "ext")
    given = [(answer.command, _text(answer.id)) for answer in answers if answer.command != "ext"]
    expected = [each for each in expected if each[0] != "ext"]
    assert [each for each in given if each[0] not in LATE] == [each for each in expected if each[0] not in LATE]
    assert sorted(given) == sorted(expected), "a command without its response"
    for answer in answers:
        assert answer.success is not None
        assert answer.success or answer.error
    check_prompts(
        said, {str((answer.data or {})["prompt"]): answer.command for answer in answers if _has_begun(answer)}
    )
    for line, raw in zip(said, output.splitlines(), strict=True):
        if line.type == "ext":
            _ext_line.decode(raw)
        elif line.type != "response":
            events.decode(raw)
    first = next((line for line in said if line.type != "ext"), None)
    assert first is None or first.type == "response", "no record comes before the first response"


def check_prompts(said: list[Said], begun: dict[str, str]) -> None:
    """`begun` has the ids of prompts and compactions, each with its command."""
    records = [line for line in said if line.prompt and line.type != "response"]
    order = [
        line.prompt for number, line in enumerate(records) if not number or records[number - 1].prompt != line.prompt
    ]
    assert order == list(begun), "records of two prompts are mixed, or a prompt has none"
    for prompt, command in begun.items():
        own = [line for line in records if line.prompt == prompt]
        kinds = [line.type for line in own]
        if command == "compact":
            assert kinds[-2:] in (["compact_done", "done"], ["error", "done"], ["turn_end", "done"]), kinds
            assert kinds.count("done") == 1, kinds
            continue
        assert kinds[-2:] == ["result", "done"], kinds
        assert (kinds.count("result"), kinds.count("done")) == (1, 1), kinds
        is_aborted = own[-2].status == "interrupted"
        assert is_aborted == (len(own) > 2 and own[-3].stop == "aborted"), (own[-2].reason, kinds)
        assert is_aborted or "aborted" not in own[-2].reason, own[-2].reason


def _has_begun(answer: Said) -> bool:
    return answer.command in ("prompt", "compact") and answer.success is True


def _name_and_id(request: Any) -> tuple[str, str]:
    name = request.command if isinstance(request, request_lines.Refusal) else str(request.__struct_config__.tag)
    return name, _text(request.id)


def _text(written: msgspec.Raw | msgspec.UnsetType) -> str:
    return "" if written is msgspec.UNSET else bytes(written).decode()


def _no_folder(_home: Path) -> None:
    """A Mock would remember each call."""


@contextmanager
def sequences_of_requests(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A client says these bytes, in pieces, and then its stdin ends."""
    made = extension_folder(folder, "fuzz", ["./none"])
    home = folder / "home"
    out = os.open(folder / "out", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    err = os.open(folder / "err", os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def take(data: bytes) -> None:
        os.ftruncate(out, 0)
        os.ftruncate(err, 0)
        chosen = crc32(data)
        token = TOKEN if chosen % LOCKED_ONE_IN == 0 else ""
        is_patient = bool(chosen & 8)
        stdin, ours = os.pipe()
        models: list[Feeding] = []

        def make(loop: Loop) -> Feeding:
            models.append(Feeding(loop, data, ours, is_patient=is_patient))
            return models[0]

        try:
            server = RpcServer(
                Options(
                    cwd=str(folder), home=home, model="m", reply_tokens=100, system="s", discover=False,
                    keep_session=False, tools=frozenset(), extensions=(str(made),), max_steps=3,
                ), version="1", make_provider=make, token=token, drain_s=60.0 if is_patient else 0.0,
                stdin=stdin, stdout=out, stderr=err, owns_process=False,
            )  # fmt: skip
            status = server.run()
        finally:
            os.close(stdin)
            models[0].close()
        check(data, os.pread(out, 1 << 28, 0), status, token)

    with (
        pretended_children(),
        mock.patch("supervisor.extension.process_worker.Child", Answering),
        mock.patch("agent.engine.extensions.runtime_dir", _no_folder),  # so that no reaper is started
        mock.patch("supervisor.process.teardown.POLL_S", 0.001),
    ):
        try:
            yield take
        finally:
            os.close(out)
            os.close(err)


TARGETS = (Target("rpc_requests", sequences, sequences_of_requests, 100, share=0.02),)
