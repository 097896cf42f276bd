"""The conversation with an engine: requests and answers, and events for each prompt. Shared by programs with threads
and with asyncio: answers and streams call a callback, or a thread waits for them.
"""

from __future__ import annotations

import json
import threading
from itertools import count

from .connection.channel import tell
from .connection.command_line import command, environment
from .connection.decoder import event, members_of
from .connection.engine_process import EngineProcess
from .connection.pending_answer import ANSWER_S, PendingAnswer
from .connection.prompt_stream import PromptStream
from .connection.requests import ABORTABLE, AFTER_CANCELLED
from .errors import BusyError, ClosedError, ProtocolError, RefusedError, SessionBusyError
from .events import Done, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from .connection.requests import Request
    from .errors import ZotError
    from .events import AnyEvent
    from .in_program.extensions import Given, ProgramExtensions
    from .in_program.permissions import Permission, ProgramPermissions

    T = TypeVar("T")
    OnFrame = Callable[[dict[str, Any]], None]

PROTOCOL_VERSION = 1
FOREIGN = "this runtime belongs to the process that this one was forked from"
BUSY = "a prompt of this runtime runs; cancel it, read it to its end, or use a second runtime"


class Client:
    """An engine and the conversation with it. `on_event` gets the events that belong to no prompt of this program, in
    the reading thread. Raises `TypeError` for an unknown option or a value of another type, and `OSError` if the engine
    cannot be started. `greeting` comes with the answer to `hello`; then the caller begins `own_extensions`, the
    extensions that live in this program, and `permissions`, its decisions, if any.

    Requests take no lock that the reading thread holds while it calls the program; `cancel` and `leave` take none.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        extensions: Given | Iterable[Given] = (),
        functions: Iterable[Callable[..., object]] = (),
        permission: Permission | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        on_event: Callable[[AnyEvent], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
    ) -> None:
        self.own_extensions: ProgramExtensions | None = None
        if extensions != () or functions != ():
            from .in_program.extensions import ProgramExtensions

            self.own_extensions = ProgramExtensions(extensions, functions, options)
            options = self.own_extensions.options
        self.permissions: ProgramPermissions | None = None
        if permission is not None:
            from .in_program.permissions import ProgramPermissions

            self.permissions = ProgramPermissions(permission, self)
        self._on_event = on_event or (lambda _event: None)
        self._on_stderr = on_stderr or (lambda _line: None)
        self._numbers = count(1)
        self._pending: dict[str, PendingAnswer] = {}
        self._begun: dict[str, PromptStream] = {}
        """Prompts without an answer yet, by the id of the request."""
        self._streams: dict[str, PromptStream] = {}
        """Answered prompts by their id, until they are over."""
        self._latest: PromptStream | None = None
        self._begin_lock = threading.RLock()
        self.end: ZotError | None = None
        """Why there are no more answers; None before the end."""
        self._model = ""
        """The model in the engine's last message about it."""
        self.on_frame: dict[str, OnFrame] = {}
        """The receiver of the `ext` lines of each extension of this program, called in the reading thread."""
        self.greeting = PendingAnswer("hello")
        self._pending["hello"] = self.greeting
        self.process = EngineProcess(
            command(options, program),
            environment(options, env),
            on_line=self._on_line,
            on_stderr=lambda line: tell(self._on_stderr, line),
            on_end=self._finish,
        )
        asks = True if permission is not None else None
        self.process.write(_line({"type": "hello", "id": "hello", "sent_prompts": True, "permissions": asks}))
        self.process.start()

    # --- requests -------------------------------------------------------------------------------------------

    def send(self, kind: str, **members: Any) -> PendingAnswer:
        """Sends a request. Members that are None are left out. Raises `ClosedError`, or the engine's end."""
        return self._send(f"r{next(self._numbers)}", kind, members)

    def request(self, request: Request[T]) -> PendingAnswer:
        """Sends one of `connection.requests`; the caller waits for it. Raises `BusyError` in the reading thread."""
        kind, members, _, _ = request
        self._check_caller(kind)
        return self.send(kind, **members)

    def ending(self, request: Request[T]) -> tuple[PromptStream, ...]:
        """Returns the prompts whose end this request must wait for: the cancelled ones, if the request needs the whole
        conversation and no other prompt runs. Raises `BusyError` in the reading thread."""
        self._check_caller(request[0])
        latest = self._latest
        if request[0] not in AFTER_CANCELLED or self.process.is_foreign or latest is None:
            return ()
        if not (latest.is_over or latest.is_cancelled):
            return ()  # the engine will refuse the request
        return (*self._begun.values(), *self._streams.values())  # prompts move from the first to the second

    def ask(self, kind: str, *, timeout_s: float | None = ANSWER_S, **members: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer. Raises `RefusedError` if the engine refuses, `BusyError` in the
        reading thread."""
        self._check_caller(kind)
        return self.send(kind, **members).wait(timeout_s)

    def begin(self, kind: str, **members: Any) -> tuple[PromptStream, PendingAnswer]:
        """Sends a `prompt` or a `compact`. Raises `BusyError` while another uncancelled one runs, in the reading
        thread, and in a handler of an extension of this program."""
        self._check_caller(kind)
        if self.own_extensions is not None and self.own_extensions.is_handler:
            raise BusyError(f"a handler cannot {kind} in its own runtime: steer what runs, or use a second runtime")
        with self._begin_lock:
            latest = self._latest
            if latest is not None and not (latest.is_over or latest.is_cancelled):
                raise BusyError(BUSY)
            id_ = f"r{next(self._numbers)}"
            stream = self._latest = self._begun[id_] = PromptStream()  # before the first event comes: see `cancel`
            try:
                answer = self._send(id_, kind, members)
            except BaseException:
                self._begun.pop(id_, None)
                self._latest = latest
                raise
        return stream, answer

    def frame(self, extension: str, **members: Any) -> None:
        """Sends an `ext` line, from any thread. Never waits and never fails, even after the engine's end."""
        self.process.write(_line({"type": "ext", "extension": extension, **members}))

    def cancel(self) -> None:
        """Aborts the running prompt and the requests in `ABORTABLE`, if any. Does not wait, and may be called from
        anywhere."""
        if (stream := self._latest) is not None:
            self.abort(stream)
        if not self.process.is_foreign and any(each.kind in ABORTABLE for each in list(self._pending.values())):
            self.process.write(_line({"type": "abort"}))

    def leave(self, stream: PromptStream) -> None:
        """Aborts a prompt that is no longer read. May be called from anywhere."""
        stream.leave()
        self.abort(stream)

    def abort(self, stream: PromptStream) -> None:
        """Aborts this prompt, if it has not ended. A prompt without an id is aborted when its answer comes."""
        if stream.is_over:
            return
        stream.is_cancelled = True
        if stream.id and not self.process.is_foreign:
            self.process.write(_line({"type": "abort", "prompt": stream.id}))

    def check_owner(self) -> None:
        """Raises `ClosedError` in a fork of the process that has started the engine. Takes no lock: a thread that is
        not in the fork may have held it."""
        if self.process.is_foreign:
            raise ClosedError(FOREIGN)

    def check_reader(self, items: str) -> None:
        """Raises `ClosedError` in a fork, and `BusyError` in the thread that brings these items."""
        self.check_owner()
        if self.process.is_own_thread:
            raise BusyError(f"{items} would never come in a callback of the runtime: read them in another thread")

    def _check_caller(self, kind: str) -> None:
        self.check_owner()
        if self.process.is_own_thread:
            raise BusyError(f"{kind} would wait for ever in a callback of the runtime: call it from another thread")

    def _send(self, id_: str, kind: str, members: Mapping[str, Any]) -> PendingAnswer:
        self.check_owner()
        line = _line({"type": kind, "id": id_, **members})
        self._pending[id_] = pending = PendingAnswer(kind)
        if self.end is not None:  # after the line above: `_finish` sets it before it ends the waits
            self._pending.pop(id_, None)
            raise self.end.with_traceback(None)
        self.process.write(line)
        return pending

    # --- in the reading thread --------------------------------------------------------------------------------

    def _on_line(self, line: bytes) -> None:
        if self.end is not None:
            return
        try:
            members = members_of(line)
            if members["type"] == "response":
                self._on_response(members)
            elif "hello" in self._pending:
                raise ProtocolError(f"not zot: its first line is not the response to hello: {line[:200]!r}")
            elif members["type"] == "ext":
                self._on_ext(members)
            else:
                self._on_record(event(members, line))
        except ProtocolError as error:
            self._break_off(error)
        except (KeyError, TypeError, AttributeError) as error:
            self._break_off(ProtocolError(f"not a line of an engine ({error!r}): {line[:200]!r}"))

    def _break_off(self, error: ProtocolError) -> None:
        self._finish(error)
        self.process.end(at_once=True)

    def _on_response(self, members: dict[str, Any]) -> None:
        id_ = str(members.get("id", ""))
        if (pending := self._pending.get(id_)) is None:
            return
        data = members.get("data") or {}
        error = None if members["success"] else _refusal(members.get("error", ""), members.get("code", ""))
        if pending is self.greeting and error is None and (version := data["protocol_version"]) != PROTOCOL_VERSION:
            raise ProtocolError(f"the engine speaks protocol {version!r}; this pyzot knows only {PROTOCOL_VERSION}")
        if error is None and pending.kind in ("hello", "set_model"):
            self._model = str(data.get("model", ""))
        if (stream := self._begun.get(id_)) is not None:
            if error is not None:
                stream.fail(error)
            else:
                stream.id = data["prompt"]
                self._streams[stream.id] = stream
                if stream.is_cancelled:
                    self.abort(stream)
            self._begun.pop(id_, None)
        self._pending.pop(id_, None)
        pending.give(data, error)

    def _on_record(self, record: AnyEvent) -> None:
        stream = self._streams.get(record.prompt) if record.prompt else self._latest
        if not record.prompt or stream is None:  # an extension sent the prompt
            tell(self._on_event, record)
        if self.permissions is not None:
            self.permissions.take(record)
        if stream is None or stream.is_over or (not record.prompt and isinstance(record, Session)):
            return
        if not stream.put(record):
            self.abort(stream)
        if isinstance(record, Done):
            self._streams.pop(record.prompt, None)

    def _on_ext(self, members: dict[str, Any]) -> None:
        if (on_frame := self.on_frame.get(members["extension"])) is not None:
            tell(on_frame, members)

    def _finish(self, error: ZotError) -> None:
        """Ends all waits: no more answers and events come. The first error counts."""
        self.end = self.end or error
        if self.permissions is not None:
            self.permissions.end()
        for stream in (*_take_all(self._begun), *_take_all(self._streams)):
            stream.fail(self.end)
        for pending in _take_all(self._pending):
            pending.give(error=self.end)

    # --- the end ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """The middle of the `repr` of a runtime."""
        if self.end is None and not self.process.is_foreign:
            how = "open" if self.greeting.is_come else "starting"
        else:
            how = "closed" if isinstance(self.end, ClosedError) or self.process.is_foreign else "ended"
        return f"pid={self.process.pid} model={self._model!r} {how}"

    def begin_close(self) -> None:
        """Aborts the running prompt and ends the engine. Does not wait, and takes no locks but those of waiting
        threads."""
        if not self.process.is_foreign:
            self.cancel()
            self._finish(ClosedError("the runtime is closed"))
            self.process.end()


def _refusal(text: str, code: str) -> RefusedError:
    return SessionBusyError(text, code) if code == "busy" else RefusedError(text, code)


def _take_all(waiting: dict[str, T]) -> Iterator[T]:
    """Removes and yields all values of a dict that other threads change."""
    try:
        while True:
            yield waiting.popitem()[1]
    except KeyError:
        return


def _line(members: Mapping[str, Any]) -> bytes:
    given = {name: value for name, value in members.items() if value is not None}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"
