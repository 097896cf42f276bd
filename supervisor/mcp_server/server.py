"""Serves one MCP client on the loop: carries out the session's actions, and bounds the output that waits for it."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from supervisor.calls.call_driver import CallDriver
from supervisor.calls.guarded_call import GuardedCall
from wire.dialects.jsonrpc import INVALID_PARAMS
from wire.framing import Oversize
from wire.mcp_server.offer import Abandon, Call, Invoke, Say
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.loop.loop import Loop, Timer
    from supervisor.mcp_server.source import ExtensionSource
    from wire import frames
    from wire.framing import Line
    from wire.mcp_server.offer import Action
    from wire.mcp_server.requests import Key
    from wire.mcp_server.session import ServedSession
    from wire.trace_context import TraceContext

LINE_LIMIT = 16 * 1024 * 1024
"""Maximum of one line of the client in bytes."""
OUTBOX_LIMIT = 64 * 1024 * 1024
"""Maximum of bytes that wait for a client that does not read. With more the server ends."""
DRAIN_S = 30.0
"""Maximum of seconds for requests that are under way when the client closes its side."""
ROOM_S = 0.05
"""Seconds between two looks whether a slow client has read."""
GAIN_S = 0.3
"""Seconds after which the client is told of a changed offer. An extension registers its tools one by one."""
LOSS_S = 5.0
"""Seconds after which the client is told of a loss: a restarted extension has its tools back by then. Also the minimum
time between two reports of changes."""
STUCK_S = 60.0
"""Seconds after which a client is given up that reads nothing while too much waits for it."""
STUCK = f"the client does not read: it has taken nothing for {STUCK_S:g} s"
NOT_READING = "the client does not read: more than {} MiB wait for it"


class ServingPhase(Enum):
    SERVING = "serving"
    DRAINING = "draining"
    """The client has closed its side: calls under way are still answered."""
    ENDED = "ended"


class ClientInput(Protocol):
    """The reader of the client's lines, which passes them to the server."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...


class ClientOutput(Protocol):
    """The writer of lines to the client, which does not wait."""

    stuck_since: float | None
    """While bytes wait: the time at which the client last read some, on the loop's clock."""

    @property
    def queued(self) -> int:
        """Bytes that wait for the client."""

    @property
    def is_full(self) -> bool:
        """Whether so much output waits that the client's input must pause."""

    def write(self, data: bytes) -> None: ...


class McpServer:
    """`on_end` is called once, when the client no longer needs the server, with the reason and whether it is a fault of
    the client. The caller then stops the source, and calls `end`."""

    def __init__(
        self,
        loop: Loop,
        session: ServedSession,
        source: ExtensionSource,
        on_end: Callable[[str, bool], None],
    ) -> None:
        self.phase = ServingPhase.SERVING
        self._loop = loop
        self._session = session
        self._source = source
        self._on_end = on_end
        self._under_way: dict[Key, CallDriver | Cancellable] = {}
        self._commands: dict[Key, int] = {}
        """The commands that run, each with its number: a client may use the id of a cancelled one again."""
        self._calls = 0
        self._contexts: dict[str, TraceContext] = {}
        """The client's spans of calls that are under way, by the ids of the calls."""
        self._told_at = loop.clock() - LOSS_S
        self._lost_at: float | None = None
        """When something that the client knows was first missing; None while nothing is."""
        self._has_offered = False
        self._change: Timer | None = None
        self._room_timer: Timer | None = None
        source.on_change = self._source_changed
        source.on_log = self._logged

    def attach(self, input_: ClientInput, output: ClientOutput) -> None:
        """Sets the client's pipes, before the first line and the first pass of the loop."""
        self._input = input_
        self._output = output

    # --- from the client --------------------------------------------------------------------------------------

    def on_line(self, line: Line | Oversize) -> None:
        """Takes one line of the client."""
        if self.phase is not ServingPhase.ENDED:
            if isinstance(line, Oversize):
                self._carry_out(self._session.receive_oversize(line))
            else:
                self._carry_out(self._session.receive(line))

    def _look_for_room(self) -> None:
        """Stops reading from the client while too much waits for it; ends if it reads nothing for `STUCK_S`."""
        if self.phase is ServingPhase.ENDED or self._room_timer is not None:
            return
        if self._output.is_full:
            self._input.pause()
            self._room_timer = self._loop.call_later(ROOM_S, self._look_again)

    def _look_again(self) -> None:
        self._room_timer = None
        since = self._output.stuck_since
        if since is not None and self._loop.clock() - since >= STUCK_S and self._output.is_full:
            self._give_up(STUCK, is_fault=True)
            return
        if not self._output.is_full:
            self._input.resume()
        self._look_for_room()

    def on_end_of_input(self) -> None:
        """The client has closed its side."""
        if self.phase is ServingPhase.SERVING:
            self.phase = ServingPhase.DRAINING
            self._loop.call_later(DRAIN_S, lambda: self._give_up("stdin has ended"))
            self._look_for_rest()

    def on_gone(self, reason: str) -> None:
        """The client takes no more output; `reason` is empty if it has gone."""
        self._give_up(f"stdout: {reason}" if reason else "the client has gone", is_fault=bool(reason))

    def _carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Say(line=line, is_vital=is_vital):
                    self._say(line, is_vital=is_vital)
                case Call():
                    self._call(action)
                case Invoke():
                    self._invoke(action)
                case Abandon(key=key, reason=reason):
                    if (under_way := self._under_way.pop(key, None)) is not None:
                        self._commands.pop(key, None)
                        under_way.cancel(reason)
        self._look_for_rest()
        self._look_for_room()

    def _call(self, action: Call) -> None:
        key = action.key
        if fault := self._source.unknown_tool(action.name):
            self._carry_out(self._session.failed(key, INVALID_PARAMS, fault))
            return
        self._calls += 1
        call_id = f"mcp-{os.getpid()}-{self._calls}"
        if action.context is not None:
            self._contexts[call_id] = action.context
        call = CallDriver(
            self._source,
            GuardedCall(call_id, action.name, action.args, names_guard=True),
            lambda result: self._called(key, call_id, result),
            lambda text: self._carry_out(self._session.progressed(key, text)),
        )
        self._under_way[key] = call
        call.begin()

    def _invoke(self, action: Invoke) -> None:
        self._calls += 1
        number = self._calls

        def ran(answer: frames.CommandResponse) -> None:
            if self._commands.get(action.key) == number:  # else the client has cancelled it
                del self._under_way[action.key], self._commands[action.key]
                self._carry_out(self._session.invoked(action.key, answer))

        self._commands[action.key] = number
        self._under_way[action.key] = self._source.invoke(action.name, action.args, ran)

    # --- from the extensions ------------------------------------------------------------------------------------

    def context_of(self, call_id: str | None) -> TraceContext | None:
        """The client's span of a call that is under way; None if the client has named none."""
        return None if call_id is None else self._contexts.get(call_id)

    def _called(self, key: Key, call_id: str, result: frames.ToolResult) -> None:
        self._under_way.pop(key, None)
        self._contexts.pop(call_id, None)
        self._carry_out(self._session.called(key, result))

    def _logged(self, level: str, extension: str, text: str) -> None:
        if self.phase is not ServingPhase.ENDED:
            self._carry_out(self._session.logged(level, valid_text(extension), valid_text(text)))

    def _source_changed(self) -> None:
        """Answers requests that wait for the first offer. Reports later changes together, losses later than gains."""
        if self.phase is ServingPhase.ENDED or not self._source.is_ready:
            return
        if not self._has_offered:
            self._has_offered = True
            self._carry_out(self._session.offered(self._source.offer()))
        elif self._change is None:
            self._change = self._loop.call_later(GAIN_S, self._tell_change)

    def _tell_change(self) -> None:
        self._change = None
        if self.phase is ServingPhase.ENDED:
            return
        offer, now = self._source.offer(), self._loop.clock()
        if offer == self._session.offer:
            self._lost_at = None
            return
        wait_s = self._told_at + LOSS_S - now
        if offer.lacks_some_of(self._session.offer):
            self._lost_at = now if self._lost_at is None else self._lost_at
            wait_s = max(wait_s, self._lost_at + LOSS_S - now)
        if wait_s > 0:
            self._change = self._loop.call_later(wait_s, self._tell_change)
            return
        self._told_at, self._lost_at = now, None
        self._carry_out(self._session.offered(offer))

    # --- to the client ------------------------------------------------------------------------------------------

    def _say(self, line: bytes, *, is_vital: bool) -> None:
        if self.phase is ServingPhase.ENDED or (not is_vital and self._output.is_full):
            return
        if self._output.queued > OUTBOX_LIMIT:
            self._give_up(NOT_READING.format(OUTBOX_LIMIT >> 20), is_fault=True)
            return
        self._output.write(line)

    # --- end ----------------------------------------------------------------------------------------------------

    def _look_for_rest(self) -> None:
        if self.phase is ServingPhase.DRAINING and self._session.is_idle:
            self._give_up("stdin has ended")

    def _give_up(self, reason: str, *, is_fault: bool = False) -> None:
        if self.phase is not ServingPhase.ENDED:
            self._on_end(reason, is_fault)

    def end(self, reason: str) -> None:
        """Answers calls under way, and reads no more lines. A second call does nothing."""
        if self.phase is ServingPhase.ENDED:
            return
        for action in self._session.end(valid_text(reason)):
            if isinstance(action, Say):
                self._say(action.line, is_vital=True)
        self.phase = ServingPhase.ENDED
        for timer in (self._change, self._room_timer):
            if timer is not None:
                timer.cancel()
        under_way, self._under_way = self._under_way, {}
        self._commands.clear()
        for request in under_way.values():
            request.cancel(reason)
