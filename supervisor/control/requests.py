"""Carries out the requests of the control socket: answers a request at once, or begins it and answers later."""

from __future__ import annotations

import os
import time
from math import isfinite
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from supervisor.control.session import OpenRequest
from supervisor.control.status import status_of
from supervisor.extension.program_worker import OnlyItsProgramError
from supervisor.loop.timestamp import Timestamp
from wire import control, frames
from wire.dialects.base import EVENTS, HOOK_POINTS
from wire.stats import Stats
from wire.suggest import no_such
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.deadline import InFlight
    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.control.session import Client
    from supervisor.loop.loop import Loop
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.stats import HostKind

REQUESTS_LIMIT = 1000
"""Most open requests of one client: calls, commands, verdicts and reloads."""
FRESH_S = 0.25
"""Seconds for which a sample is used again."""
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


class RequestHandler:
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
        self._handlers: dict[type, Callable[..., None]] = {
            control.Info: self._info,
            control.GetStats: self._get_stats,
            control.GetStatus: self._get_status,
            control.Registered: self._registered,
            control.Watch: self._watch,
            control.StopHost: self._stop,
            control.PanelKey: self._panel,
            control.PanelResize: self._panel,
            control.PanelClose: self._panel,
            frames.Cancel: self._cancel,
            control.RestartExtension: self._restart,
            control.Reload: self._reload,
            frames.Event: self._tell,
            frames.ToolCall: self._begin,
            frames.CommandInvoked: self._begin,
            frames.EventIntercept: self._begin,
        }

    def answer(self, client: Client, request: control.Request) -> None:
        """Answers a request at once, or begins it and answers later."""
        self._handlers[type(request)](client, request)

    # --- figures ------------------------------------------------------------------------------------------

    def _info(self, client: Client, request: control.Info) -> None:
        client.say(
            control.HostInfoReply(
                request.id,
                pid=os.getpid(),
                kind=self._kind,
                version=self._version,
                cwd=self._cwd,
                started=self._started,
                extensions=tuple(valid_text(extension.name) for extension in self._supervisor.extensions),
                skipped=tuple(
                    control.SkippedExtension(
                        valid_text(each.name),
                        valid_text(str(each.folder)),
                        valid_text(msgspec.structs.replace(each.why, advice="").text),
                        each.why.is_waiting,
                    )
                    for each in self._supervisor.skipped
                    if each.is_error and not each.is_of_others
                ),
            )
        )

    def _registered(self, client: Client, request: control.Registered) -> None:
        client.say(
            control.Registrations(
                request.id,
                tools=tuple(
                    control.ToolInfo(
                        name,
                        owned.tool.description,
                        owned.tool.schema,
                        owned.owner.name,
                        read_only=owned.tool.read_only,
                        idempotent=owned.tool.retry,
                    )
                    for name, owned in self._supervisor.registrations.tools().items()
                ),
                commands=tuple(
                    control.CommandInfo(name, owned.command.description, owned.owner.name)
                    for name, owned in self._supervisor.registrations.commands().items()
                ),
                is_complete=self._supervisor.is_settled,
                instructions=valid_text(self._supervisor.registrations.instructions()),
            )
        )

    def _get_stats(self, client: Client, request: control.GetStats) -> None:
        client.say(_StatsReply(request.id, self._stats_now()))

    def _get_status(self, client: Client, request: control.GetStatus) -> None:
        try:
            extension = self._supervisor.find(request.name)
        except KeyError:
            client.fail(request.id, no_such("extension", request.name, self._names()))
            return
        self._sample_if_old()
        status = status_of(extension, self._loop.clock(), time.time())
        client.say(control.StatusReply(request.id, os.getpid(), self._kind, status))

    def stats(self) -> Raw:
        """The stats record as JSON, encoded once for all clients that ask within `SHARED_S`."""
        if self._loop.clock() - self._stats_at >= SHARED_S or self._stats_at < 0:
            self._stats_now()
        return self._stats

    def _stats_now(self) -> Raw:
        now = self._sample_if_old()
        host = self._supervisor.host_stats(self._kind, self._version, self._cwd)
        self._stats = Raw(msgspec.json.encode(Stats(time.time(), host, self._supervisor.stats())))
        self._stats_at = now
        return self._stats

    def _sample_if_old(self) -> float:
        """Samples the process trees if that was not done lately. Returns the time on the loop's clock before that."""
        now = self._loop.clock()
        if now - self._supervisor.sampled_at > FRESH_S:
            self._supervisor.sample()
        return now

    def _watch(self, client: Client, request: control.Watch) -> None:
        low, high = WATCH_RANGE_S
        wanted = request.stats_s
        if wanted is not None and not (isfinite(wanted) and low <= wanted <= high):
            client.fail(request.id, f"stats_s must be {low:g} to {high:g} seconds, not {wanted:g}")
            return
        client.say(control.Ok(request.id))
        client.watch(wanted, notices=request.notices, shown=request.shown, registrations=request.registrations)

    # --- actions ------------------------------------------------------------------------------------------

    def _stop(self, client: Client, request: control.StopHost) -> None:
        client.say(control.Ok(request.id))
        if not self.stopping:
            self.stopping = True
            self._on_stop()

    def _restart(self, client: Client, request: control.RestartExtension) -> None:
        if self.stopping:
            client.fail(request.id, STOPPING)
            return
        try:
            self._supervisor.restart(request.name)
        except KeyError:
            client.fail(request.id, no_such("extension", request.name, self._names()))
        except OnlyItsProgramError as error:
            client.fail(request.id, f"extension {request.name}: {error}")
        else:
            client.say(control.Ok(request.id))

    def _reload(self, client: Client, request: control.Reload) -> None:
        """Reloads one extension or all. The reload goes on if the client disconnects."""
        if self.stopping:
            client.fail(request.id, STOPPING)
            return
        if self._has_too_many(client, request.id):
            return
        opened = OpenRequest(client, request.id, request.name or "")
        client.open_requests.add(opened)

        def reloaded(outcomes: tuple[control.ReloadOutcome, ...]) -> None:
            if request.name is None or outcomes:
                opened.reloaded(outcomes)
            else:
                unknown = no_such("extension", request.name, self._names())
                client.answered(opened, control.ErrorReply(unknown, request.id))

        self._reloader.begin(request.name, reloaded)

    def _names(self) -> list[str]:
        return [extension.name for extension in self._supervisor.extensions]

    def _has_too_many(self, client: Client, request: str) -> bool:
        """Whether a client has `REQUESTS_LIMIT` open requests. If so, the new request fails."""
        if len(client.open_requests) < REQUESTS_LIMIT:
            return False
        client.fail(request, f"{REQUESTS_LIMIT} requests of yours are under way; wait for answers first")
        return True

    def _panel(self, client: Client, request: control.PanelKey | control.PanelResize | control.PanelClose) -> None:
        panels = self._supervisor.panels
        try:
            match request:
                case control.PanelKey(extension=extension, panel_id=panel_id, key=key, text=text):
                    panels.press(extension, panel_id, key, text)
                case control.PanelResize(extension=extension, panel_id=panel_id, width=width, height=height):
                    panels.resize(extension, panel_id, width, height)
                case control.PanelClose(extension=extension, panel_id=panel_id):
                    panels.close(extension, panel_id)
        except KeyError:
            known = [f"{panel.extension.name}/{panel.id}" for panel in panels.open_panels]
            client.fail(request.id, no_such("open panel", f"{request.extension}/{request.panel_id}", known))
        else:
            client.say(control.Ok(request.id))

    def _cancel(self, client: Client, request: frames.Cancel) -> None:
        """Cancels an open request of this client. An `error` then answers it. Other ids are ignored."""
        for opened in client.open_requests:
            if opened.id == request.id and opened.in_flight is not None:
                opened.in_flight.cancel(request.reason or "cancelled by the client")

    def _tell(self, client: Client, request: frames.Event) -> None:
        if refusal := self._refusal():
            client.fail(None, refusal)
        elif request.event not in EVENTS:
            client.fail(None, no_such("event", request.event, EVENTS))
        else:
            self._supervisor.tell(request)

    def _begin(self, client: Client, request: Calling) -> None:
        if refusal := self._refusal():
            client.fail(request.id, refusal)
            return
        if self._has_too_many(client, request.id):
            return
        name = request.event if isinstance(request, frames.EventIntercept) else request.name
        opened = OpenRequest(client, request.id, name)
        client.open_requests.add(opened)
        try:
            opened.in_flight = self._ask(request, opened)
        except KeyError:
            client.open_requests.discard(opened)
            client.fail(request.id, self._unknown(request, name))

    def _ask(self, request: Calling, opened: OpenRequest) -> InFlight:
        """Begins a call, a command or a verdict. Raises `KeyError` for a tool or command that no extension has
        registered, and for an event that cannot be guarded."""
        match request:
            case frames.ToolCall(name=name, args=args):
                owned = self._supervisor.registrations.tool(name)
                done = self._marking(owned, opened.called)
                return self._supervisor.begin_call(owned, bytes(args), done, opened.progressed)
            case frames.CommandInvoked(name=name, args=text):
                command = self._supervisor.registrations.commands()[name]
                return self._supervisor.begin_command(command, text or "", opened.commanded)
            case frames.EventIntercept(event=name):
                if name not in HOOK_POINTS:
                    raise KeyError(name)
                return self._supervisor.begin_intercept(_event_of(request), opened.judged)

    def _marking(self, owned: OwnedTool, done: Callable[[ToolAnswer], None]) -> Callable[[ToolAnswer], None]:
        """Returns `done`, preceded by the mark of the call in the stats file."""
        began = Timestamp.now()

        def called(answer: ToolAnswer) -> None:
            if (stats_file := self._supervisor.stats_file) is not None:
                stats_file.mark("tool_call", owned.tool.name, owned.owner.name, began, detail=answer.reason)
            done(answer)

        return called

    def _unknown(self, request: Calling, name: str) -> str:
        match request:
            case frames.ToolCall():
                return no_such("tool", name, self._supervisor.registrations.tools())
            case frames.CommandInvoked():
                return no_such("command", name, self._supervisor.registrations.commands())
            case frames.EventIntercept():
                return no_such("event that can be intercepted", name, HOOK_POINTS)

    def _refusal(self) -> str:
        """Why the host begins no call, command, verdict or event; empty if it does."""
        if self._kind == "run":
            return OF_A_RUN
        return STOPPING if self.stopping else ""


class _StatsReply(msgspec.Struct, tag_field="type", tag="stats_reply"):
    """`wire.control.StatsReply` with stats that are encoded already."""

    id: str
    stats: Raw


def _event_of(request: frames.EventIntercept) -> frames.Event:
    return frames.Event(
        request.event,
        step=request.step,
        tool_id=request.tool_id,
        tool_name=request.tool_name,
        tool_args=request.tool_args,
        text=request.text,
        is_error=request.is_error,
        content=request.content,
        error=request.error,
        source=request.source,
        reason=request.reason,
        error_context=request.error_context,
        recoverable=request.recoverable,
    )
