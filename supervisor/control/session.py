"""One client of the control socket: its open requests, and what it watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Raw

from supervisor.control.connection import ControlConnection
from wire import control, frames
from wire.dialects.long_lines import describe_oversize
from wire.framing import Oversize
from wire.lenient_json import UNREADABLE
from wire.text import valid_text

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.loop.loop import Loop, Timer
    from wire.framing import Line


class Handler(Protocol):
    """The part of `RequestHandler` that a client uses."""

    def answer(self, client: ControlSession, request: control.Request) -> None: ...
    def stats(self) -> Raw: ...


class _Envelope(msgspec.Struct):
    type: Any = None
    id: Any = None


_envelope = msgspec.json.Decoder(_Envelope)
_encoder = msgspec.json.Encoder()
REQUEST_TYPES = tuple(sorted(kind.__struct_config__.tag for kind in control.Request.__args__))


class ControlSession:
    """One client, from its connection to its end. Requests that are still open at the end are cancelled."""

    def __init__(
        self, loop: Loop, sock: socket.socket, handler: Handler, on_end: Callable[[ControlSession], None]
    ) -> None:
        self.open_requests: set[OpenRequest] = set()
        self.wants_notices = False
        self.wants_shown = False
        self.wants_registrations = False
        self._handler = handler
        self._on_end = on_end
        self._loop = loop
        self._stats_s: float | None = None
        self._next_stats: Timer | None = None
        self._connection = ControlConnection(
            loop, sock, on_line=self._on_line, on_gone=self._on_gone, is_idle=lambda: not self._expects_more
        )

    @property
    def _expects_more(self) -> bool:
        """Whether the client still gets lines if it sends nothing more."""
        watches = self.wants_notices or self.wants_shown or self.wants_registrations or self._stats_s is not None
        return bool(self.open_requests) or watches

    # --- from the client ----------------------------------------------------------------------------------

    def _on_line(self, line: Line | Oversize) -> None:
        if isinstance(line, Oversize):
            described = describe_oversize(line)
            self.fail(described.id, described.reason)
            return
        text = bytes(line)
        if not text.strip():
            return
        try:
            request = control.decode_request(text)
        except control.ControlError as error:
            self.fail(*_complaint(text, str(error)))
        else:
            self._handler.answer(self, request)

    def _on_gone(self, reason: str) -> None:
        self._end(f"the client that asked for it is no longer served: {reason}")

    # --- to the client ------------------------------------------------------------------------------------

    def say(self, reply: msgspec.Struct) -> None:
        self._connection.send(_encoder.encode(reply) + b"\n")

    def fail(self, request: str | None, message: str) -> None:
        self.say(control.ErrorReply(message, request))

    def pass_on(self, line: bytes) -> None:
        """Sends a line, but not to a slow client: that client misses the line."""
        if not self._connection.is_slow:
            self._connection.send(line)

    def watch(self, stats_s: float | None, *, notices: bool, shown: bool, registrations: bool = False) -> None:
        """Replaces all that the client watched before. `stats_s` is the number of seconds between two stats records;
        with None the client gets no stats."""
        self.wants_notices = notices
        self.wants_shown = shown
        self.wants_registrations = registrations
        self._stats_s = stats_s
        if self._next_stats is not None:
            self._next_stats.cancel()
            self._next_stats = None
        if stats_s is not None:
            self._pass_on_stats()

    def _pass_on_stats(self) -> None:
        self._next_stats = None
        if self._stats_s is None:
            return
        self._next_stats = self._loop.call_later(self._stats_s, self._pass_on_stats)
        if not self._connection.is_slow:
            self._connection.send(bytes(self._handler.stats()) + b"\n")

    def answered(self, request: OpenRequest, reply: msgspec.Struct) -> None:
        """Sends an answer, unless the client has gone meanwhile."""
        if request in self.open_requests:
            self.open_requests.discard(request)
            self.say(reply)
            self._connection.attend()

    # --- end ----------------------------------------------------------------------------------------------

    def drop(self, reason: str) -> None:
        self._connection.close()
        self._end(reason)

    def _end(self, reason: str) -> None:
        self.wants_notices = self.wants_shown = self.wants_registrations = False
        self._stats_s = None
        if self._next_stats is not None:
            self._next_stats.cancel()
            self._next_stats = None
        requests, self.open_requests = self.open_requests, set()
        for request in requests:
            if request.in_flight is not None:
                request.in_flight.cancel(reason)
        self._on_end(self)


class OpenRequest:
    """A call, a command, a verdict or a reload that a client waits for. Its methods are callbacks for the result."""

    __slots__ = ("client", "id", "in_flight", "name")

    def __init__(self, client: ControlSession, id_: str, name: str) -> None:
        self.client = client
        self.id = id_
        self.name = name
        """The name of the tool, the command, the event or the extension."""
        self.in_flight: RequestInFlight | None = None

    def called(self, answer: ToolAnswer) -> None:
        self._pass_on("tool", answer)

    def progressed(self, text: str) -> None:
        if self.client.wants_shown and self in self.client.open_requests:
            self.client.pass_on(_encoder.encode(frames.ToolProgress(self.id, text)) + b"\n")

    def commanded(self, answer: CommandAnswer) -> None:
        self._pass_on("command", answer)

    def reloaded(self, outcomes: tuple[control.ReloadOutcome, ...]) -> None:
        self.client.answered(self, control.Reloaded(self.id, outcomes))

    def judged(self, judgement: Judgement) -> None:
        self.client.answered(
            self,
            control.Verdict(
                self.id,
                block=judgement.is_blocked or None,
                reason=(judgement.reason if judgement.is_blocked else judgement.explanation) or None,
                modified_args=msgspec.UNSET if judgement.args is None else Raw(judgement.args),
                replace_text=judgement.text,
                modified_result=judgement.result,
                blocked_by=None if judgement.blocked_by is None else valid_text(judgement.blocked_by),
                additional_context=judgement.additional_context or None,
                error_handling=judgement.error_handling,
                retry_count=judgement.retry_count or None,
                session_summary=judgement.session_summary or None,
                system_prompt=judgement.system_prompt,
            ),
        )

    def _pass_on(self, what: str, answer: ToolAnswer | CommandAnswer) -> None:
        if answer.frame is not None:
            self.client.answered(self, msgspec.structs.replace(answer.frame, id=self.id))
            return
        kind = "" if answer.failure is None else f" ({answer.failure.value})"
        self.client.answered(self, control.ErrorReply(f"the {what} {self.name} failed{kind}: {answer.reason}", self.id))


def _complaint(line: bytes, reason: str) -> tuple[str | None, str]:
    """Returns the id of an invalid request, or None if it cannot be read, and the fault of the request."""
    try:
        found = _envelope.decode(line)
    except UNREADABLE:
        return None, f"not a request: {reason}"
    id_ = found.id if isinstance(found.id, str) else None
    if not isinstance(found.type, str):
        return id_, f"a request needs a type: one of {', '.join(REQUEST_TYPES)}"
    if found.type not in REQUEST_TYPES:
        from difflib import get_close_matches

        near = get_close_matches(found.type, REQUEST_TYPES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(REQUEST_TYPES)}"
        return id_, f"unknown request {found.type[:80]!r}; {hint}"
    return id_, f"bad {found.type} request: {reason}"
