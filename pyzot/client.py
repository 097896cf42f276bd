"""The conversation with an engine: requests and their answers, and events to the prompt that they belong to.

The same for programs with threads and with asyncio: an answer and a stream tell a callback, or are waited for.
"""

from __future__ import annotations

import json
import sys
import threading

from .command_line import command, environment
from .decode import event, members_of
from .engine_process import EngineProcess
from .errors import BusyError, ClosedError, ProtocolError, RefusedError
from .events import Session
from .prompt_stream import PromptStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .errors import ZotError
    from .record import Event

    OnFrame = Callable[[dict[str, Any]], None]

ANSWER_S = 60.0
"""Seconds to wait for an answer that the engine gives at once."""


class Answer:
    """The answer to one request."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.data: dict[str, Any] = {}
        self.error: ZotError | None = None
        self._come = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def give(self, data: dict[str, Any], error: ZotError | None = None) -> None:
        with self._lock:
            if self._come.is_set():
                return
            self.data, self.error = data, error
            self._come.set()
        for callback in self._callbacks:
            callback()

    def on_come(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the answer has come, at once if it has."""
        with self._lock:
            if not self._come.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def read(self) -> dict[str, Any]:
        """The data of an answer that has come. Raises its error."""
        if self.error is not None:
            raise self.error
        return self.data

    def wait(self, timeout_s: float | None) -> dict[str, Any]:
        """The data. Raises its error, and `ProtocolError` if it does not come in time."""
        if not self._come.wait(timeout_s):
            raise ProtocolError(f"the engine has not answered {self.command} for {timeout_s:g} s")
        return self.read()


class Client:
    """An engine and the conversation with it. `on_event` gets the events that belong to no prompt, in the reading
    thread. Raises `TypeError` for an option that does not exist, and `OSError` if the engine cannot be started."""

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
    ) -> None:
        self._on_event = on_event or (lambda _event: None)
        self._lock = threading.Lock()
        self._number = 0
        self._answers: dict[str, Answer] = {}
        self._active: PromptStream | None = None
        self._end: ZotError | None = None
        """Why there are no more answers; None while there are."""
        self.on_frame: dict[str, OnFrame] = {}
        """What gets the `ext` lines of each extension of this program."""
        self.process = EngineProcess(
            command(options, program),
            environment(options, env),
            on_line=self._on_line,
            on_stderr=on_stderr or (lambda _line: None),
            on_end=self._on_end,
        )

    # --- requests -------------------------------------------------------------------------------------------

    def send(self, kind: str, **members: Any) -> Answer:
        """Sends a request. Members that are None are left out. Raises `ClosedError`, or how the engine has ended."""
        answer = Answer(kind)
        with self._lock:
            self._check()
            self._number += 1
            id_ = f"r{self._number}"
            self._answers[id_] = answer
        self._write({"type": kind, "id": id_, **members})
        return answer

    def ask(self, kind: str, *, timeout_s: float | None = ANSWER_S, **members: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer. Raises `RefusedError` if the engine refuses, `BusyError` in the
        reading thread."""
        if self.process.is_own_thread:
            raise BusyError(f"{kind} cannot be asked for from a callback of the runtime")
        return self.send(kind, **members).wait(timeout_s)

    def begin(self, kind: str, **members: Any) -> tuple[PromptStream, Answer]:
        """Sends a `prompt` or a `compact`. Raises `BusyError` while another one runs."""
        stream = PromptStream()
        with self._lock:
            self._check()
            if self._active is not None and not self._active.is_over:
                raise BusyError("a prompt of this runtime runs; cancel it, read it to its end, or use a second runtime")
            self._active = stream
            self._number += 1
            id_ = f"r{self._number}"
            answer = self._answers[id_] = Answer(kind)
        try:
            self._write({"type": kind, "id": id_, **members})
        except ClosedError as error:
            stream.fail(error)
            raise
        return stream, answer

    def frame(self, extension: str, **members: Any) -> None:
        """Sends an `ext` line. Never fails: an engine that has ended has no extensions."""
        try:
            self._write({"type": "ext", "extension": extension, **members})
        except (ClosedError, ProtocolError):
            return

    def cancel(self) -> None:
        """Aborts the prompt that runs, if there is one. Waits for nothing, and may be called from anywhere."""
        if (stream := self._active) is not None and not stream.is_over:
            self._abort(stream)

    def _abort(self, stream: PromptStream) -> None:
        try:
            self._write({"type": "abort", "prompt": stream.id or None})
        except ClosedError:
            return

    def _check(self) -> None:
        if self._end is not None:
            raise self._end
        if self.process.is_foreign:
            raise ClosedError("this runtime belongs to the process that this one was forked from")

    def _write(self, members: Mapping[str, Any]) -> None:
        given = {name: value for name, value in members.items() if value is not None}
        text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            self.process.write(text.encode("utf-8", "replace") + b"\n")
        except ClosedError:
            raise self._end or ClosedError("the engine takes no more requests") from None

    # --- in the reading thread --------------------------------------------------------------------------------

    def _on_line(self, line: bytes) -> None:
        if self._end is not None:
            return
        try:
            members = members_of(line)
            if members["type"] == "response":
                self._on_response(members)
            elif members["type"] == "ext":
                self._on_ext(members)
            else:
                self._on_record(event(members, line))
        except (ProtocolError, KeyError, TypeError) as error:
            self._finish(error if isinstance(error, ProtocolError) else ProtocolError(f"{error!r} in {line[:200]!r}"))
            self.process.end_input()

    def _on_response(self, members: dict[str, Any]) -> None:
        answer = self._answers.pop(str(members.get("id", "")), None)
        if answer is None:
            return
        if not members["success"]:
            error = RefusedError(members.get("error", ""))
            if answer.command in ("prompt", "compact") and self._active is not None:
                self._active.fail(error)
            answer.give({}, error)
            return
        data = members.get("data") or {}
        if answer.command in ("prompt", "compact") and self._active is not None:
            self._active.id = data["prompt"]
        answer.give(data)

    def _on_record(self, record: Event) -> None:
        stream = self._active
        if not record.prompt:
            try:
                self._on_event(record)
            except Exception:
                sys.excepthook(*sys.exc_info())  # the program's own fault; the events go on
        if isinstance(record, Session) or stream is None or stream.is_over or record.prompt not in ("", stream.id):
            return
        if not stream.put(record):
            self._abort(stream)

    def _on_ext(self, members: dict[str, Any]) -> None:
        if (on_frame := self.on_frame.get(members["extension"])) is not None:
            on_frame(members)

    def _on_end(self) -> None:
        self._finish(self._end or self.process.died())

    def _finish(self, error: ZotError) -> None:
        """No more answers and events come."""
        with self._lock:
            self._end = self._end or error
            answers, self._answers = list(self._answers.values()), {}
        for answer in answers:
            answer.give({}, self._end)
        if self._active is not None:
            self._active.fail(self._end)

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Aborts what runs, ends the engine and waits for its end."""
        if self.process.is_foreign:
            return
        self.cancel()
        self._finish(ClosedError("the runtime is closed"))
        self.process.close()
