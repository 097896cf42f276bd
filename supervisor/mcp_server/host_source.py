"""The extensions of a running host, over its control socket."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from supervisor.calls.guard_chain import Judgement
from supervisor.calls.merged_registrations import not_offered
from supervisor.control.client import FRAME_LIMIT
from supervisor.control.connection import ControlConnection
from supervisor.extension.notices import level_of_note, level_of_notice
from supervisor.mcp_server.source import StartingSource
from wire import control, events, frames
from wire.frames.tool_results import error_result
from wire.framing import Oversize
from wire.mcp_server.offer import Offer, offer_of
from wire.suggestions import no_such

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from supervisor.calls.guarded_call import GuardedCall
    from supervisor.loop.loop import Loop
    from wire.framing import Line

    Done = Callable[[control.Reply], None]


class HostSource(StartingSource):
    """`on_lost` gets the reason once, when the host is gone or its lines cannot be understood."""

    def __init__(self, loop: Loop, sock: socket.socket, info: control.HostInfoReply, on_lost: Callable[[str], None]):
        super().__init__(loop)
        self.extensions: Sequence[str] = info.extensions
        self._pid = info.pid
        self._on_lost = on_lost
        self._offer = Offer()
        self.instructions = ""
        self.is_described = False
        """The host has sent its offer at least once."""
        self._known: set[str] = set()
        """All tools that the host has ever offered. A missing one may belong to an extension that is being restarted:
        the host then says why a call of it fails."""
        self._deferred: dict[str, str] = {}
        """The tools that are not offered now, with their extensions."""
        self._is_complete = False
        self._number = 0
        self._waiting: dict[str, Done] = {}
        self._reports: dict[str, Callable[[str], None]] = {}
        """The callbacks for progress of the calls that are under way."""
        self._is_asking = self._must_ask_again = False
        self._connection = ControlConnection(
            loop, sock, on_line=self._on_line, on_gone=self._lost, is_idle=lambda: False, line_limit=FRAME_LIMIT
        )

    def start(self) -> None:
        """Asks for the host's offer, and for changes, notes and notices from now on."""
        self._begin_to_wait()
        self._ask(lambda id_: control.Watch(id_, notices=True, shown=True, registrations=True), lambda _reply: None)
        self._ask_offer()

    def close(self) -> None:
        """Leaves the host, which runs on."""
        self._connection.close()

    @property
    def _has_started(self) -> bool:
        return self._is_complete or self._is_over

    # --- what there is ------------------------------------------------------------------------------------------

    def offer(self) -> Offer:
        return self._offer

    def unknown_tool(self, name: str) -> str:
        if name in self._deferred:
            return not_offered(name, self._deferred[name])
        if name in self._known:
            return ""
        return no_such("tool", name, [tool.name for tool in self._offer.tools])

    def _ask_offer(self) -> None:
        """Asks for the registrations; once more if they change before the answer."""
        if self._is_asking:
            self._must_ask_again = True
            return
        self._is_asking, self._must_ask_again = True, False
        self._ask(control.Registered, self._offered)

    def _offered(self, reply: control.Reply) -> None:
        self._is_asking = False
        if isinstance(reply, control.Registrations):
            self._offer = offer_of(reply.tools, reply.commands)
            self.instructions, self.is_described = reply.instructions, True
            self._deferred = {tool.name: tool.extension for tool in reply.tools if tool.deferred}
            self._known.update(tool.name for tool in reply.tools)
            self._is_complete = reply.is_complete
            self._changed()
        if self._must_ask_again:
            self._ask_offer()

    # --- requests -----------------------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        self._connection.send(control.encode(event))

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> _Request:
        def judged(reply: control.Reply) -> None:
            if isinstance(reply, control.Verdict):
                done(_judgement(reply))
            else:
                done(Judgement(blocked_by="host", reason=_complaint(reply)))

        return self._ask(lambda id_: _question(id_, event), judged)

    def call(
        self,
        call: GuardedCall,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> _Request:
        def called(reply: control.Reply) -> None:
            self._reports.pop(asked.id, None)
            done(reply if isinstance(reply, frames.ToolResult) else error_result(_complaint(reply)))

        asked = self._ask(lambda id_: frames.ToolCall(id_, call.tool, Raw(call.args)), called)
        self._reports[asked.id] = on_progress
        return asked

    def invoke(self, name: str, args: str, done: Callable[[frames.CommandResponse], None]) -> _Request:
        def ran(reply: control.Reply) -> None:
            if not isinstance(reply, frames.CommandResponse):
                done(frames.CommandResponse("", error=_complaint(reply)))
                return
            if reply.action == "open_panel" and reply.open_panel is not None:
                self._close_panel(name, reply.open_panel.id)
            done(reply)

        return self._ask(lambda id_: frames.CommandInvoked(id_, name, args), ran)

    def _close_panel(self, command: str, panel_id: str) -> None:
        """Closes the panel: it cannot be used here, and its text is in the answer."""
        owners = {info.name: info.extension for info in self._offer.commands}
        if command in owners:
            self._ask(lambda id_: control.PanelClose(id_, owners[command], panel_id), lambda _reply: None)

    def _ask(self, make: Callable[[str], control.Request], done: Done) -> _Request:
        self._number += 1
        id_ = str(self._number)
        self._waiting[id_] = done
        request = make(id_)
        if self._connection.is_open:
            self._connection.send(control.encode(request))
        else:
            self._loop.call_later(0, lambda: self._answered(id_, control.ErrorReply(self._gone)))
        return _Request(self, id_)

    def cancel(self, id_: str, reason: str) -> None:
        """Cancels a request; the host answers it with an error, which is ignored."""
        if id_ in self._waiting and self._connection.is_open:
            self._connection.send(control.encode(frames.Cancel(id_, reason)))

    # --- from the host ------------------------------------------------------------------------------------------

    def _on_line(self, line: Line | Oversize) -> None:
        if isinstance(line, Oversize):
            self._give_up(f"host {self._pid} sent a line of {line.size} bytes")
            return
        try:
            reply = control.decode_reply(bytes(line))
        except control.ControlError as error:
            self._give_up(f"host {self._pid} speaks another version of the protocol: {error}")
            return
        match reply:
            case frames.ToolProgress(id=id_, text=text):
                if (report := self._reports.get(id_)) is not None:
                    report(text)
            case control.RegistrationsChanged():
                self._ask_offer()
            case events.Extension(extension=name, event=kind, message=message):
                self.on_log(level_of_notice(kind), name, message)
            case events.ExtNotify(extension=name, level=level, message=message):
                self.on_log(level_of_note(level), name, message)
            case _:
                # A stopping host refuses an event with an answer without an id: nothing is lost.
                self._answered(getattr(reply, "id", ""), reply)

    def _answered(self, id_: str | None, reply: control.Reply) -> None:
        if id_ is not None and (done := self._waiting.pop(id_, None)) is not None:
            done(reply)

    @property
    def _gone(self) -> str:
        return f"host {self._pid} has ended"

    def _give_up(self, reason: str) -> None:
        self._connection.close()
        self._lost(reason)

    def _lost(self, reason: str) -> None:
        """Fails all open requests: the host is gone."""
        for id_ in self._waiting:
            self._loop.call_later(0, partial(self._answered, id_, control.ErrorReply(self._gone)))
        self._on_lost(reason if reason.startswith("host ") else self._gone)


class _Request:
    """A request that was sent to the host."""

    def __init__(self, source: HostSource, id_: str) -> None:
        self.id = id_
        self._source = source

    def cancel(self, reason: str) -> None:
        self._source.cancel(self.id, reason)


def _question(id_: str, event: frames.Event) -> frames.EventIntercept:
    return frames.EventIntercept(
        id_,
        event.event,
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        tool_args=event.tool_args,
        is_error=event.is_error,
        content=event.content,
        error=event.error,
        error_context=event.error_context,
        recoverable=event.recoverable,
    )


def _judgement(verdict: control.Verdict) -> Judgement:
    return Judgement(
        args=None if verdict.modified_args is UNSET else bytes(verdict.modified_args),
        result=verdict.modified_result,
        blocked_by=(verdict.blocked_by or "of the host") if verdict.block else None,
        reason=verdict.reason or "",
        contexts=(verdict.additional_context,) if verdict.additional_context else (),
        error_handling=verdict.error_handling,
        retry_count=verdict.retry_count or 0,
    )


def _complaint(reply: control.Reply) -> str:
    if isinstance(reply, control.ErrorReply):
        return reply.message
    return f"the host answered with {reply.__struct_config__.tag}"
