"""Carries out the requests of the control socket: answers a request at once, or begins it and answers later."""

from __future__ import annotations

import os
import time
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from supervisor import orders, queries
from supervisor.control.session import OpenRequest
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.program_worker import RestartedElsewhereError
from supervisor.loop.loop import Timestamp
from wire import control, frames
from wire.dialects.base import EVENTS, HOOK_POINTS
from wire.settings.limit_changes import LimitError
from wire.suggestions import UnknownNameError
from wire.text import valid_text
from wire.trace_context import read_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.control.session import ControlSession
    from supervisor.loop.loop import Loop
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.stats import HostKind

REQUESTS_LIMIT = 1000
"""Maximum number of open requests of one client: calls, commands, verdicts and reloads."""
SHARED_S = 0.05
"""Seconds for which all watching clients get the same figures."""
WATCH_RANGE_S = (0.1, 86_400.0)
"""Shortest and longest interval of a watch, in seconds."""
STOPPING = "the host is stopping"
OF_A_RUN = (
    "this is an agent's run, whose extensions serve the agent; tool calls, commands, verdicts and events are served by"
    " zot host"
)

Calling = frames.ToolCall | frames.CommandInvoked | frames.EventIntercept


class RequestRefusedError(Exception):
    """The request is not carried out; the text says why."""


class ControlRequests:
    """Serves all clients of one host. A host of kind `run` only shows figures, reloads, restarts and stops. A host of
    kind `host` also calls tools and commands, asks guards and sends events."""

    def __init__(
        self,
        loop: Loop,
        supervisor: Supervisor,
        reloader: Reloader,
        *,
        kind: HostKind,
        version: str,
        cwd: str,
        on_stop: Callable[[], None],
    ) -> None:
        self.stopping = False
        """The host is stopping: it begins nothing new, but still serves figures."""
        self._loop = loop
        self._supervisor = supervisor
        self._reloader = reloader
        self._kind: HostKind = kind
        self._version = version
        self._cwd = valid_text(cwd)
        self._on_stop = on_stop
        self._stats = Raw(b"")
        self._stats_at = -1.0
        self._started = time.time()
        panels = supervisor.panels
        self._handlers: dict[type, Callable[[ControlSession, Any], control.Reply | _StatsReply | None]] = {
            control.Info: self._info,
            control.GetStats: lambda _client, request: _StatsReply(request.id, self._stats_now()),
            control.GetStatus: self._get_status,
            control.Registered: self._registered,
            control.Watch: self._watch,
            control.StopHost: self._stop,
            control.PanelKey: _ok(lambda key: panels.press(key.extension, key.panel_id, key.key, key.text)),
            control.PanelResize: _ok(
                lambda size: panels.resize(size.extension, size.panel_id, size.width, size.height)
            ),
            control.PanelClose: _ok(lambda close: panels.close(close.extension, close.panel_id)),
            frames.Cancel: self._cancel,
            control.RestartExtension: _ok(self._restart),
            control.StopExtension: self._stop_extension,
            control.StartExtension: self._start_extension,
            control.SetLimits: self._set_limits,
            control.Reload: self._reload,
            frames.Event: self._tell,
            frames.ToolCall: self._begin,
            frames.CommandInvoked: self._begin,
            frames.EventIntercept: self._begin,
        }
        """The handlers by type. Each returns the answer; None if it was sent, comes later, or is not needed."""

    def answer(self, client: ControlSession, request: control.Request) -> None:
        """Answers a request at once, or begins it and answers later."""
        try:
            reply = self._handlers[type(request)](client, request)
        except orders.ConsentNeededError as doubt:
            client.say(control.ConsentNeeded(request.id, doubt.reasons))  # type: ignore[union-attr]
        except RestartedElsewhereError as refusal:
            client.fail(request.id, f"extension {request.name}: {refusal}")  # type: ignore[union-attr]
        except (RequestRefusedError, UnknownNameError, LimitError) as refusal:
            client.fail(getattr(request, "id", None), str(refusal))
        else:
            if reply is not None:
                client.say(reply)

    # --- figures ------------------------------------------------------------------------------------------

    def _info(self, _client: ControlSession, request: control.Info) -> control.HostInfoReply:
        return control.HostInfoReply(
            request.id,
            pid=os.getpid(),
            kind=self._kind,
            version=self._version,
            cwd=self._cwd,
            started=self._started,
            extensions=queries.names(self._supervisor),
            skipped=queries.skipped_extensions(self._supervisor),
        )

    def _registered(self, _client: ControlSession, request: control.Registered) -> control.Registrations:
        return control.Registrations(
            request.id,
            tools=queries.tools(self._supervisor),
            commands=queries.commands(self._supervisor),
            is_complete=self._supervisor.is_settled,
            instructions=valid_text(self._supervisor.registrations.instructions()),
        )

    def _get_status(self, _client: ControlSession, request: control.GetStatus) -> control.StatusReply:
        status = queries.status(self._supervisor, request.name)
        return control.StatusReply(request.id, os.getpid(), self._kind, status)

    def stats(self) -> Raw:
        """The stats record as JSON, encoded once for all clients that ask within `SHARED_S`."""
        if self._loop.clock() - self._stats_at >= SHARED_S or self._stats_at < 0:
            self._stats_now()
        return self._stats

    def _stats_now(self) -> Raw:
        self._stats_at = self._loop.clock()
        stats = queries.stats(self._supervisor, self._kind, self._version, self._cwd)
        self._stats = Raw(msgspec.json.encode(stats))
        return self._stats

    def _watch(self, client: ControlSession, request: control.Watch) -> None:
        low, high = WATCH_RANGE_S
        wanted = request.stats_s
        if wanted is not None and not (isfinite(wanted) and low <= wanted <= high):
            raise RequestRefusedError(f"stats_s must be {low:g} to {high:g} seconds, not {wanted:g}")
        client.say(control.Ok(request.id))
        client.watch(wanted, notices=request.notices, shown=request.shown, registrations=request.registrations)

    # --- actions ------------------------------------------------------------------------------------------

    def _stop(self, client: ControlSession, request: control.StopHost) -> None:
        client.say(control.Ok(request.id))
        if not self.stopping:
            self.stopping = True
            self._on_stop()

    def _restart(self, request: control.RestartExtension) -> None:
        self._check_not_stopping()
        self._supervisor.restart(request.name)

    def _stop_extension(self, client: ControlSession, request: control.StopExtension) -> control.Switched | None:
        """Stops an extension. The stop goes on if the client disconnects."""
        self._check_not_stopping()
        opened = self._open(client, request.id, request.name)
        stopped = WorkerState.STOPPED.value

        def done() -> None:
            client.answered(opened, control.Switched(request.id, changed=True, state=stopped))

        try:
            if orders.stop(self._supervisor, request.name, done, consent=request.consent):
                return None
        except Exception:
            client.open_requests.discard(opened)
            raise
        client.open_requests.discard(opened)
        return control.Switched(request.id, changed=False, state=stopped)

    def _start_extension(self, _client: ControlSession, request: control.StartExtension) -> control.Switched:
        self._check_not_stopping()
        changed = orders.start(self._supervisor, request.name)
        return control.Switched(request.id, changed, self._supervisor.find(request.name).state.value)

    def _set_limits(self, _client: ControlSession, request: control.SetLimits) -> control.LimitsSet:
        self._check_not_stopping()
        later = orders.limit(
            self._supervisor,
            request.name,
            request.limits,
            consent=request.consent,
            only_check=request.only_check,
            is_kept=request.kept,
        )
        return control.LimitsSet(request.id, queries.limits(self._supervisor, request.name), later)

    def _check_not_stopping(self) -> None:
        if self.stopping:
            raise RequestRefusedError(STOPPING)

    def _reload(self, client: ControlSession, request: control.Reload) -> None:
        """Reloads one extension or all. The reload goes on if the client disconnects."""
        self._check_not_stopping()
        opened = self._open(client, request.id, request.name or "")

        def reloaded(outcomes: tuple[control.ReloadOutcome, ...]) -> None:
            if request.name is None or outcomes:
                opened.reloaded(outcomes)
            else:
                unknown = UnknownNameError("extension", request.name, queries.names(self._supervisor))
                client.answered(opened, control.ErrorReply(str(unknown), request.id))

        self._reloader.begin(request.name, reloaded)

    def _open(self, client: ControlSession, request: str, name: str) -> OpenRequest:
        """Notes one more open request. Raises `RequestRefusedError` if the client has `REQUESTS_LIMIT` already."""
        if len(client.open_requests) >= REQUESTS_LIMIT:
            raise RequestRefusedError(f"{REQUESTS_LIMIT} requests of yours are under way; wait for answers first")
        opened = OpenRequest(client, request, name)
        client.open_requests.add(opened)
        return opened

    def _cancel(self, client: ControlSession, request: frames.Cancel) -> None:
        """Cancels an open request of this client. An `error` then answers it. Other ids are ignored."""
        for opened in client.open_requests:
            if opened.id == request.id and opened.in_flight is not None:
                opened.in_flight.cancel(request.reason or "cancelled by the client")

    def _tell(self, _client: ControlSession, request: frames.Event) -> None:
        self._check_begins()
        if request.event not in EVENTS:
            raise UnknownNameError("event", request.event, EVENTS)
        self._supervisor.tell(request)

    def _begin(self, client: ControlSession, request: Calling) -> None:
        self._check_begins()
        name = request.event if isinstance(request, frames.EventIntercept) else request.name
        opened = self._open(client, request.id, name)
        try:
            opened.in_flight = self._ask(request, opened)
        except UnknownNameError:
            client.open_requests.discard(opened)
            raise

    def _ask(self, request: Calling, opened: OpenRequest) -> RequestInFlight:
        """Begins a call, a command or a verdict. Raises `UnknownNameError` for a tool or command that no extension has
        registered, and for an event that cannot be guarded."""
        registrations = self._supervisor.registrations
        match request:
            case frames.ToolCall(name=name, args=args):
                owned = registrations.tool(name)
                done = self._marking(owned, opened.called)
                context = read_context(request.traceparent or "", request.tracestate or "")
                return self._supervisor.begin_call(owned, bytes(args), done, opened.progressed, context=context)
            case frames.CommandInvoked(name=name, args=text):
                command = registrations.command(name)
                return self._supervisor.begin_command(command, text or "", opened.commanded)
            case frames.EventIntercept(event=name):
                if name not in HOOK_POINTS:
                    raise UnknownNameError("event that can be intercepted", name, HOOK_POINTS)
                return self._supervisor.begin_intercept(_event_of(request), opened.judged)

    def _marking(self, owned: OwnedTool, done: Callable[[ToolAnswer], None]) -> Callable[[ToolAnswer], None]:
        """Returns a callback that first marks the call in the stats file, then calls `done`."""
        began = Timestamp.now()

        def called(answer: ToolAnswer) -> None:
            if (stats_file := self._supervisor.stats_file) is not None:
                stats_file.mark("tool_call", owned.tool.name, owned.owner.name, began, detail=answer.reason)
            done(answer)

        return called

    def _check_begins(self) -> None:
        """Raises `RequestRefusedError` if the host begins no call, command, verdict or event."""
        if self._kind == "run":
            raise RequestRefusedError(OF_A_RUN)
        self._check_not_stopping()


class _StatsReply(msgspec.Struct, tag_field="type", tag="stats_reply"):
    """`wire.control.StatsReply` with stats that are encoded already."""

    id: str
    stats: Raw


def _ok(act: Callable[[Any], None]) -> Callable[[ControlSession, Any], control.Ok]:
    """Returns a handler that calls `act` with a request, and answers `ok`."""

    def handle(_client: ControlSession, request: Any) -> control.Ok:
        act(request)
        return control.Ok(request.id)

    return handle


def _event_of(request: frames.EventIntercept) -> frames.Event:
    return frames.Event(**{name: value for name, value in msgspec.structs.asdict(request).items() if name != "id"})
