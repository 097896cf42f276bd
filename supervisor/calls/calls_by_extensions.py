"""The calls of tools that extensions make through their host: the guards judge them as they judge those of the model.

A call belongs to the host's call for which the extension makes it, its parent, and ends with it. The extension names
the parent; if it does not, the deepest of its open calls counts as the parent, but for the end. So no two extensions
can call each other without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.calls.call_driver import CallDriver
from supervisor.calls.guarded_call import CallOrigin, GuardedCall
from supervisor.calls.request_in_flight import RequestInFlight
from supervisor.calls.tool_source import ExtensionToolSource
from supervisor.extension.lifecycle import WorkerState
from wire.dialects.host_calls import CallTool
from wire.frames.tool_results import error_result
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.calls.tool_call import ToolCallInFlight
    from supervisor.calls.tool_source import CallHost
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from wire import frames
    from wire.dialects.host_calls import HostCall
    from wire.trace_context import TraceContext

CHAIN_LIMIT = 4
"""Maximum number of calls that wait for one another, the first one included. zot's limit."""
CALL_S = 60.0
"""Maximum number of seconds of such a call, with its guards, from the last decision of a person on. zot's limit."""
BEHIND_S = 0.05
"""Seconds until the next look whether the readers of the host have caught up."""
STOPPING = "the host is stopping"
QUOTED = 40
"""Maximum number of characters of a name in a refusal."""


class OwnTools(Protocol):
    """The tools of the agent itself, its rules and its readers."""

    @property
    def names(self) -> Collection[str]:
        """The names of its own tools that are on."""

    @property
    def is_behind(self) -> bool:
        """Whether too many records wait for the readers."""

    def refusal(self, call: GuardedCall) -> str:
        """Why the agent does not allow the call, whose arguments are a JSON object; "" if it does."""

    def call(self, call: GuardedCall, done: Callable[[frames.ToolResult], None]) -> Cancellable:
        """Calls one of its own tools. `done` gets the result in a later pass."""

    def context_of(self, call: GuardedCall) -> TraceContext | None:
        """The span of an open call; None without telemetry."""

    def began(self, call: GuardedCall) -> None: ...
    def progressed(self, call: GuardedCall, text: str) -> None: ...
    def ended(self, call: GuardedCall, result: frames.ToolResult) -> None: ...


class CallsByExtensions(ExtensionToolSource):
    """All such calls of one host."""

    def __init__(self, host: CallHost, others: Callable[[Extension, HostCall, HostCallAnswer], None]) -> None:
        super().__init__(host)
        self.others = others
        """Takes the requests of extensions that are about something else."""
        self.loop = host.loop
        self.own: OwnTools | None = None
        """None in a host without an agent."""
        self.open: set[_Call] = set()
        self._is_closed = False
        """Whether the host is stopping."""

    def take(self, caller: Extension, call: HostCall, answer: HostCallAnswer) -> None:
        """Carries out a call of an extension, or refuses it."""
        if not isinstance(call, CallTool):
            self.others(caller, call, answer)
            return
        worker = next((each for each in caller.all_workers if answer.is_of(each.channel.host_calls)), None)
        if worker is None:
            answer.refuse("its worker has ended")
            return
        parent = _parent_of(worker, call.parent)
        if why := self._refusal(caller, worker, call, parent):
            caller.notices.warn("call_tool", f"its call of the tool {call.name[:QUOTED]!r} is refused: {why}")
            answer.refuse(why)
            return
        caller.account.calls_made += 1
        made = _Call(self, caller, call, answer, parent)
        self.open.add(made)
        made.begin()

    def _refusal(self, caller: Extension, worker: Worker, call: CallTool, parent: ToolCallInFlight | None) -> str:
        """Why the call is not even put to the guards; "" if it is."""
        if self._is_closed:
            return STOPPING
        if worker.state is not WorkerState.READY:
            return "it is not ready; call tools after ready" if not worker.state.is_settled else "it is being stopped"
        if call.parent is not None and parent is None:
            return f"parent_id {call.parent[:QUOTED]!r} is no call of it that is open"
        if call.parent is None and any(made.is_asked(worker) for made in self.open):
            return "it is asked for a verdict on such a call; answer first, or name the call that needs it in parent_id"
        name, registrations = call.name, self._host.registrations
        own = () if self.own is None else self.own.names
        if name not in own:
            if registrations.owner_of(name) is caller:
                return "it is its own tool; an extension calls only tools of others"
            if name not in (known := registrations.tools()) and registrations.owner_of(name) is None:
                return no_such("tool", name[:QUOTED], [*own, *known])
        chain = () if parent is None else parent.chain
        if name in chain:
            return f"it is being called already: {' > '.join((*chain, name))}"
        if len(chain) >= CHAIN_LIMIT:
            return f"at most {CHAIN_LIMIT} calls may wait for one another: {' > '.join((*chain, name))}"
        return ""

    def call(
        self, call: GuardedCall, done: Callable[[frames.ToolResult], None], on_progress: Callable[[str], None]
    ) -> Cancellable:
        if self.own is not None and call.tool in self.own.names:
            return self.own.call(call, done)
        return super().call(call, done, on_progress)

    def _context_of(self, call: GuardedCall) -> TraceContext | None:
        return None if self.own is None else self.own.context_of(call)

    def close(self) -> None:
        """Ends all open calls, and refuses further ones: the host is stopping."""
        self._is_closed = True
        self.cancel_all(STOPPING)

    def cancel_all(self, reason: str) -> None:
        """Ends all open calls."""
        for made in list(self.open):
            made.end_early(reason)


def _parent_of(worker: Worker, parent_id: str | None) -> ToolCallInFlight | None:
    """The open call with this id, or without one the deepest; None if there is none."""
    pending = worker.requests.pending
    if parent_id is not None:
        return pending[parent_id].call if parent_id in pending else None
    calls: list[ToolCallInFlight] = [each.call for each in pending.values() if each.call is not None]
    return max(calls, key=lambda call: len(call.chain), default=None)


class _Call:
    """One call that an extension makes. It ends once: with its result, or early."""

    def __init__(
        self,
        calls: CallsByExtensions,
        caller: Extension,
        call: CallTool,
        answer: HostCallAnswer,
        parent: ToolCallInFlight | None,
    ) -> None:
        self._calls = calls
        self._answer = answer
        self._parent: ToolCallInFlight | None = None
        """The call with which this one ends; None if it has named none."""
        self._has_begun = False
        around = () if parent is None else parent.chain
        if parent is not None and call.parent is not None:
            self._parent = parent
            parent.nested = parent.nested or set()
            parent.nested.add(self)
        before = (parent.tool_id if parent is not None else "") or caller.name
        origin = CallOrigin(caller.name, around)
        id_ = f"{before}/{caller.account.calls_made}"
        self._call = GuardedCall(id_, call.name, call.args, names_guard=True, origin=origin)
        self._driver = CallDriver(calls, self._call, self._end, self._progressed)
        self._timer = calls.loop.call_later(CALL_S, self._late)
        answer.on_end = lambda reason: self.end_early(f"extension {caller.name}: {reason}")

    def begin(self) -> None:
        """Puts the call to the guards, once the readers of the host have caught up."""
        own, calls = self._calls.own, self._calls
        if self not in calls.open:
            return  # it has ended while it waited
        if own is not None and own.is_behind:
            calls.loop.call_later(BEHIND_S, self.begin)
            return
        self._has_begun = True
        if own is None:
            self._driver.begin()
        else:
            own.began(self._call)
            self._driver.begin(own.refusal)

    def is_asked(self, worker: Worker) -> bool:
        """Whether this worker is asked for a verdict on the call now."""
        verdict = self._driver.verdict
        return isinstance(verdict, RequestInFlight) and verdict.waits_for(worker.requests)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide on it, or on a call that is made for it."""
        under_way = self._driver.under_way
        return isinstance(under_way, RequestInFlight) and under_way.waits_for_person

    def _late(self) -> None:
        if self.waits_for_person:
            self._timer = self._calls.loop.call_later(CALL_S, self._late)
        else:
            self.end_early(f"no result within {CALL_S:g} s")

    def end_early(self, reason: str) -> None:
        """Ends the call with an error, if it has not ended."""
        result = self._driver.cancel(reason) if self._has_begun else error_result(f"aborted: {reason}")
        if result is not None:
            self._end(result)

    def _progressed(self, text: str) -> None:
        if self._calls.own is not None:
            self._calls.own.progressed(self._call, text)

    def _end(self, result: frames.ToolResult) -> None:
        self._timer.cancel()
        self._calls.open.discard(self)
        if self._parent is not None and self._parent.nested is not None:
            self._parent.nested.discard(self)
        if self._calls.own is not None and self._has_begun:
            self._calls.own.ended(self._call, result)
        self._answer.on_end = None
        self._answer.give(result)
