"""One extension of the host for all runs that have taken it: forwards their requests and tells them of its life.

The host owns the processes: their restarts, their limits, their log. A run learns of exits and registrations by `state`
and `registered`. How processes and runs go together: `shared_extension`, `leased_extension`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.registry.registration import INTERACTIVE_S
from supervisor.sharing import run_frames
from supervisor.sharing.session_use import Uses
from wire import frames
from wire.dialects import attach
from wire.dialects.attach import Registered
from wire.trace_context import read_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer
    from supervisor.registry.registration import Tool
    from supervisor.sharing.attachment import Attachment, Forwarded
    from supervisor.sharing.session_use import RunUse
    from wire.dialects.base import PanelChange, RunSession

LOOK_S = 0.25
"""Seconds between two looks for requests that are over their time."""
LATE = 0.9
"""Part of its time after which a request whose run stops waiting counts as unanswered."""


class ServedExtension:
    """Base: the requests under way, their times, their accounts, and the state that runs are told."""

    def __init__(self, loop: Loop, extension: Extension) -> None:
        self.extension = extension
        self.name = extension.name
        self.uses = Uses(loop.clock)
        self.runs: dict[int, Attachment] = {}
        """The runs that have it, by their numbers."""
        self._loop = loop
        self._under_way: dict[int, Forwarded] = {}
        self._look_timer: Timer | None = None
        self._state = self._state_now()
        """The line with the state of the extension, or with its registrations if it is up."""
        self._cpu_before = extension.account.cpu_s

    # --- runs ---------------------------------------------------------------------------------------------------

    def join(self, attachment: Attachment) -> None:
        """A run takes the extension. It is told of its state, and of its registrations."""
        self.runs[attachment.run.number] = attachment

    def leave(self, attachment: Attachment, reason: str) -> None:
        """The run no longer has the extension: its requests are freed at once, and its session ends. Does nothing if it
        has left already."""
        if self.runs.pop(attachment.run.number, None) is None:
            return
        for forwarded in list(attachment.open.values()):
            self.cancel(forwarded, reason)
        attachment.open.clear()
        self.uses.left(attachment.use)
        attachment.close(reason)
        if attachment.started is not None and "session_end" in self.extension.observes:
            ended = frames.Event("session_end", reason="shutdown")
            run_frames.stamp(ended, attachment.run.session)
            self._pass_event(attachment, ended)

    def attachment_of(self, worker: Worker, session_id: str | None) -> Attachment | None:
        """The run that a frame of a worker is for, if it names this session or none; None if it is for no run."""
        raise NotImplementedError

    def use_of(self, use: RunUse) -> attach.SessionUse:
        return self.uses.told(use, self.extension.account.cpu_s - self._cpu_before)

    # --- from runs ----------------------------------------------------------------------------------------------

    def submit(self, forwarded: Forwarded) -> None:
        """Takes a request of a run, which ends once."""
        raise NotImplementedError

    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None:
        """Takes an event of a run. If it cannot be sent, it is dropped and counted."""
        raise NotImplementedError

    def panel(self, attachment: Attachment, change: PanelChange) -> None:
        """Passes on what the user of a run did with a panel."""
        if (worker := self._worker_for(attachment)) is not None:
            worker.requests.tell_panel(change)

    def ping(self, attachment: Attachment, done: Callable[[], None]) -> None:
        """Calls `done` when all earlier output of the extension for this run is handled."""
        worker = self._worker_for(attachment)
        if worker is None or not (worker.can_ping and worker.channel.round_trips.begin(done)):
            done()

    def cancel(self, forwarded: Forwarded, reason: str) -> None:
        """The run no longer waits for this request."""
        pending, worker = forwarded.pending, forwarded.worker
        if pending is None or worker is None:
            return
        pending.on_progress = None
        self._is_over(forwarded)
        if self._loop.clock() - pending.asked_at >= forwarded.limit_s * LATE:
            worker.requests.expire(pending, forwarded.limit_s)
        else:
            worker.requests.cancel(pending, reason)

    # --- to the extension -----------------------------------------------------------------------------------------

    def _worker_for(self, attachment: Attachment) -> Worker | None:
        """The worker that gets the events and verdicts of a run; None if none is up."""
        raise NotImplementedError

    def _pass_event(self, attachment: Attachment, event: frames.Event) -> None:
        if (worker := self._worker_for(attachment)) is None:
            self.extension.account.events_dropped += 1
        else:
            worker.requests.tell(event)

    def _send(self, forwarded: Forwarded, worker: Worker) -> None:
        attachment = forwarded.attachment
        session = attachment.run.session
        forwarded.worker = worker
        forwarded.limit_s, pending = _request(worker, forwarded.frame, session, self.extension)
        forwarded.pending = pending
        pending.session = session.id
        if pending.done:  # refused at once
            attachment.ended(forwarded, pending)
            return
        self._under_way[id(forwarded)] = forwarded
        self._began(forwarded, pending)
        self.uses.began(attachment.use)
        pending.on_done = partial(self._answered, forwarded)
        if type(forwarded.frame) is frames.ToolCall:
            pending.on_progress = partial(attachment.progressed, forwarded.id)
        if self._look_timer is None:
            self._look_timer = self._loop.call_later(LOOK_S, self._look)

    def _began(self, forwarded: Forwarded, pending: Pending) -> None:
        """A request is under way."""

    def _is_over(self, forwarded: Forwarded) -> None:
        """A request is no longer under way."""
        if self._under_way.pop(id(forwarded), None) is not None:
            self.uses.ended(forwarded.attachment.use)

    def _answered(self, forwarded: Forwarded) -> None:
        pending, attachment = forwarded.pending, forwarded.attachment
        if id(forwarded) not in self._under_way:
            return  # its run has cancelled it
        assert pending is not None
        self._is_over(forwarded)
        if pending.failure is Failure.DIED and self._asks_again(forwarded):
            return
        attachment.ended(forwarded, pending)

    def _asks_again(self, forwarded: Forwarded) -> bool:  # noqa: ARG002
        """The extension died with this request. Returns whether it is asked once more."""
        return False

    def _look(self) -> None:
        """Fails requests that are over their time: the extension hangs, and so may the run."""
        self._look_timer = None
        now = self._loop.clock()
        for forwarded in list(self._under_way.values()):
            pending, worker = forwarded.pending, forwarded.worker
            assert pending is not None
            assert worker is not None
            if now - (pending.progressed_at or pending.asked_at) > forwarded.limit_s:
                worker.requests.expire(pending, forwarded.limit_s)
        if self._under_way:
            self._look_timer = self._loop.call_later(LOOK_S, self._look)

    # --- the life of the extension --------------------------------------------------------------------------------

    def changed(self) -> None:
        """The extension's state or its registrations may have changed."""
        raise NotImplementedError

    def _state_now(self) -> bytes:
        """The line about the extension for its runs: `registered` if it is up, else `state`."""
        extension = self.extension
        if not extension.is_settled or extension.state is WorkerState.GREETED:  # its registrations are still coming
            return attach.encode(attach.State(self.name, "starting"))
        if extension.is_up:
            return attach.encode(registered(extension))
        is_gone = extension.is_given_up and not extension.is_halted  # a user may start it again
        return attach.encode(attach.State(self.name, "gone" if is_gone else "down", extension.lead.requests.refusal))

    def told(self, kind: str, message: str) -> None:
        """Passes a notice about the extension on to its runs."""
        line = attach.encode(attach.Told(self.name, kind, message))
        for attachment in list(self.runs.values()):
            attachment.run.send(line)


def _request(
    worker: Worker, frame: frames.Event | frames.ToolCall | frames.CommandInvoked, session: RunSession,
    extension: Extension,
) -> tuple[float, Pending]:  # fmt: skip
    """Sends a request to a worker. Returns the seconds that it may take, and the request."""
    requests, timeouts = worker.requests, worker.timeouts
    if isinstance(frame, frames.Event):
        return timeouts.intercept, requests.ask(frame)
    if isinstance(frame, frames.CommandInvoked):
        return timeouts.command, requests.invoke(frame.name, frame.args or "", session)
    tool = extension.tools.get(frame.name)
    limit_s = timeouts.tool_call if tool is None or tool.timeout_s is None else tool.timeout_s
    if tool is not None and tool.is_interactive:
        limit_s = INTERACTIVE_S
    context = None if frame.traceparent is None else read_context(frame.traceparent, frame.tracestate or "")
    return limit_s, requests.call(frame.name, bytes(frame.args), limit_s, "", session, context)


def registered(extension: Extension, worker: Worker | None = None) -> Registered:
    """All present registrations of an extension that is up; with `worker`, those of this worker."""
    registry = extension.registry if worker is None else worker.registry
    hello = (worker or extension.lead).said_hello
    said = [
        frames.Hello(
            extension.name,
            None if hello is None else hello.version,
            None if hello is None else hello.capabilities,
        ),
        *(_tool_frame(tool) for tool in registry.tools.values()),
        *(frames.RegisterCommand(each.name, each.description or None) for each in registry.commands.values()),
        frames.Subscribe(sorted(registry.observes) or None, sorted(registry.guards) or None),
        frames.Ready(),
    ]
    return Registered(extension.name, tuple(Raw(frames.encoder.encode(frame)) for frame in said), registry.instructions)


def _tool_frame(tool: Tool) -> frames.RegisterTool:
    return frames.RegisterTool(
        tool.name,
        tool.description or None,
        Raw(frames.encoder.encode(tool.schema)),
        timeout_s=tool.timeout_s,
        idempotent=tool.retry or None,
        read_only=tool.read_only or None,
        deferred=tool.is_deferred or None,
        output_schema=UNSET if tool.output_schema is None else Raw(frames.encoder.encode(tool.output_schema)),
        interactive=tool.is_interactive or None,
    )
