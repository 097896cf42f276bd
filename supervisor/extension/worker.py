"""One worker of an extension: its handshake, its registrations, its frames and its end.

A worker is a process (`process_worker`), or a part of the program in which this host runs (`program_worker`), and owns
the channel to it. Every wait has a deadline. When the worker ends, its pending requests fail at once, with the reason.
A restart makes a new worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from supervisor.accounting.limits import TreeUse
from supervisor.extension.connection.channel import Channel
from supervisor.extension.connection.handshake import NO_NAME, Readiness, no_hello, not_hello, readiness
from supervisor.extension.lifecycle import Trigger, WorkerState, advance
from supervisor.extension.restart import EndCause, WorkerEnding
from supervisor.process.exit_cause import LastWords
from supervisor.process.stop_policy import Patience
from supervisor.registry.worker_registry import Registry
from wire import frames
from wire.dialects.base import GuardAnswer, HostCallCancelled, HostCalled, Instructions, Message

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.accounting.account import Account
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.loop.link import Link
    from supervisor.loop.loop import Loop, Timer
    from supervisor.loop.pipes import PipeReader, PipeWriter
    from supervisor.process.child import Child
    from wire.dialects.base import Dialect, HostInfo, Setup, Unusable
    from wire.dialects.host_calls import HostCall
    from wire.manifest import Timeouts


Shown = frames.ClearNotes | frames.OpenPanel | frames.PanelRender | frames.PanelClosed


class WorkerOwner(Protocol):
    """The generation that a worker belongs to, or the harness."""

    name: str
    data_dir: str
    account: Account
    log: ExtensionLog
    timeouts: Timeouts
    notices: Notices

    def registered(self, worker: Worker) -> None:
        """The registrations of the worker changed, or it said hello."""

    def refusal(self, worker: Worker) -> str:
        """Why the hello of the worker is refused; "" if it is accepted. A refused worker is not restarted."""

    def got_ready(self, worker: Worker) -> None: ...

    def ended(self, worker: Worker, ending: WorkerEnding, reason: str) -> None:
        """The process has ended by itself, or the host has given up the worker. The owner then ends the process."""

    def collected(self, worker: Worker) -> None:
        """The process has been waited for. Processes that it started may live on."""

    def memory_breach(self, worker: Worker) -> str | None:
        """Called after `collected` if SIGKILL ended the process. Returns the reason if it was the memory limit."""

    def stopped(self, worker: Worker) -> None:
        """The process has ended after the host had stopped the worker or given it up."""

    def showed(self, worker: Worker, frame: Shown) -> None:
        """The worker clears its notes, or redraws or closes a panel."""

    def timed_out(self, worker: Worker) -> None:
        """A request to the worker got no answer in time."""

    def called(self, call: HostCall, answer: HostCallAnswer) -> None:
        """The worker wants something from the host."""


class Worker:
    """One worker of an extension, connected once by `start`."""

    __slots__ = (
        "_acked", "_clock", "_folder", "_host", "_is_drained", "_is_ready_by_silence", "_loop", "_notices", "_owner",
        "_session", "_timer", "can_ping", "channel", "child", "failure", "index", "knows_session", "last_words",
        "patience", "readiness", "registry", "requests", "said_hello", "started_at", "state", "state_since", "timeouts",
        "usage",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        owner: WorkerOwner,
        dialect: Dialect,
        setup: Setup,
        *,
        host: HostInfo | None,
        folder: str,
        index: int,
    ) -> None:
        """Without `host` the worker does not answer the hello: its owner does that."""
        self.timeouts = owner.timeouts
        self.channel = channel = Channel(
            loop, dialect, setup, owner.account, owner.timeouts, owner.notices,
            on_timeout=lambda: owner.timed_out(self), on_unusable=self._on_unusable,
        )  # fmt: skip
        self.requests = channel.requests
        self.child: Child | None = None
        """Its process; None before the start, and for a worker without a process."""
        self.failure = ""
        """Why it has ended, or is not started; empty before."""
        self.state = WorkerState.SPAWNED
        self.state_since = loop.clock()
        self.index = index
        """The number of the worker's slot, from 0."""
        self.patience = Patience(hint=max(Patience().hint, dialect.drain_s), ask=dialect.exit_s, term=dialect.term_s)
        """How long each step of its stop may take."""
        self.registry = Registry(loop, dialect, owner.notices.warn, owner.notices.remark)
        self.usage = TreeUse()
        self.readiness = Readiness.NOT_YET
        """Whether the worker has ever been ready, and why. Its end does not change that."""
        self.knows_session = False
        self.can_ping = False
        self.said_hello: frames.Hello | None = None
        """The hello that was accepted."""
        self.started_at = loop.clock()
        self.last_words = LastWords(folder)
        self._loop = loop
        self._clock = loop.clock
        self._session = channel.session
        self._notices = owner.notices
        self._owner = owner
        self._host = host
        self._folder = folder
        self._is_ready_by_silence = dialect.is_ready_by_silence
        self._is_drained = dialect.drain_s > 0
        self._timer: Timer | None = None
        self._acked = False
        channel.handlers = {
            **dict.fromkeys(Message.__args__, self._on_too_early),
            **channel.handlers,
            frames.Hello: self._on_hello,
            frames.Malformed: self._on_malformed_hello,
        }
        self._tell_refusal()

    def _handlers_once_greeted(self) -> dict[type, Callable[..., None]]:
        return {
            frames.RegisterTool: self._registering(self.registry.add_tool),
            frames.RegisterCommand: self._registering(self.registry.add_command),
            frames.UnregisterTool: self._registering(self.registry.remove_tool),
            frames.ToolProgress: self.requests.progressed,
            frames.Log: self._on_log,
            frames.Subscribe: self._on_subscribe,
            frames.Ready: self._on_ready,
            GuardAnswer: self.requests.answered,
            frames.ToolResult: self.requests.answered,
            frames.CommandResponse: self.requests.answered,
            frames.Notify: self._notices.note,
            frames.Pong: self.channel.ponged,
            frames.ShutdownAck: self._on_shutdown_ack,
            frames.LeaseReady: lambda _frame: None,  # of a host that leases it, which sets its own handler
            Instructions: self._on_instructions,
            HostCalled: self._on_host_called,
            HostCallCancelled: self.channel.host_calls.cancelled,
            frames.Malformed: self.channel.on_malformed,
            **dict.fromkeys(Shown.__args__, self._on_show),
        }

    @property
    def pid(self) -> int | None:
        return None if self.child is None else self.child.pid

    @property
    def spoken(self) -> str:
        """The protocol that it speaks, with its version; "" while that is unknown."""
        return self._session.spoken

    @property
    def claimed(self) -> Sequence[str]:
        """The tools that it claims with its hello."""
        return self._session.claimed

    @property
    def is_working(self) -> bool:
        """Whether it has said that it still works on an event."""
        return self.state.is_up and self._session.is_working

    @property
    def trouble(self) -> str:
        """A possible cause of a missing hello; "" if the dialect knows none."""
        return self._session.trouble

    @property
    def is_running(self) -> bool:
        """Whether its process runs, or its link is open: it may send frames."""
        raise NotImplementedError

    # --- start --------------------------------------------------------------------------------------------

    def start(self, argv: Callable[[], Sequence[str]], env: Mapping[str, str], cwd: str, hello_s: float) -> bool:
        """Connects the worker. If that fails, the worker ends at once with the reason, and False is returned. `argv`,
        `env` and `cwd` are for a process. The hello must come within `hello_s` seconds."""
        raise NotImplementedError

    def _connect(self, stdin: PipeWriter | Link, stdout: PipeReader | Link, hello_s: float) -> None:
        """Sends the host's first messages, and waits for the hello."""

        def late() -> None:
            self.give_up(no_hello(hello_s, self.trouble), EndCause.REFUSED)

        self.channel.open(stdin, stdout)
        self._timer = self._loop.call_later(hello_s, late)

    def _on_hello(self, hello: frames.Hello) -> None:
        if not self.state.is_awaited:
            if self.readiness is not Readiness.NOT_YET or self.state is WorkerState.GREETED:
                self._notices.remark("a second hello; ignored")
            return  # it is the second hello, or comes after the request to stop
        if not hello.name:
            self.give_up(NO_NAME, EndCause.REFUSED)
            return
        if refusal := self._owner.refusal(self):
            self.channel.reply(self._session.reject(refusal))
            self.give_up(refusal, EndCause.UNSTARTABLE)
            return
        if hello.name != self._owner.name:
            self._owner.log.add(f"calls itself {hello.name[:80]!r}; zot uses its manifest's name")
        self.said_hello = hello
        self.registry.claimed = frozenset(self.claimed)
        self.can_ping = "ping" in (hello.capabilities or ())
        self.requests.note_capabilities(hello.capabilities or ())
        self.channel.handlers.update(self._handlers_once_greeted())
        self._move(Trigger.HELLO)
        if self._host is not None:
            self.channel.reply(self._session.greet(self._host, self._folder, self._owner.data_dir, self._clock()))
        greeted = self._clock()
        self.channel.last_frame = greeted
        self._owner.registered(self)
        self._await_ready(greeted + self.timeouts.ready)

    def _on_malformed_hello(self, frame: frames.Malformed) -> None:
        if frame.type == "hello" and self.state.is_awaited:
            self.give_up(frame.reason, EndCause.REFUSED)
        else:
            self.channel.on_malformed(frame)

    def _on_too_early(self, frame: Message) -> None:
        self.give_up(not_hello(str(frame.__struct_config__.tag or type(frame).__name__)), EndCause.REFUSED)

    def _await_ready(self, latest: float) -> None:
        """Waits for `ready`, for 250 ms of silence after the hello, or for the deadline, whichever is first."""
        if self.state is not WorkerState.GREETED:
            return
        last, silence = self.channel.last_frame, self._is_ready_by_silence
        found, again_at = readiness(self._clock(), last_frame=last, latest=latest, by_silence=silence)
        if found is Readiness.NOT_YET:
            self.restart_timer(again_at, lambda: self._await_ready(latest))
            return
        if found is Readiness.LATE:
            self._tell_late()
        else:
            self._owner.log.add("has not said that it is ready; taken as ready after 250 ms of silence")
        self._become_ready(found)

    def _tell_late(self) -> None:
        """Only logs it if silence counts as ready: many programs never send `ready`. Else warns: lists are missing."""
        within = f"within {self.timeouts.ready:g} s of its hello"
        if self._is_ready_by_silence:
            self._owner.log.add(f"not ready {within}; continuing without it")
        else:
            self._notices.warn("ready", f"has not listed all that it offers {within}; using what it has listed")

    def _on_ready(self, _frame: frames.Ready) -> None:
        self._become_ready(Readiness.SAID)

    def _become_ready(self, why: Readiness) -> None:
        if self.state is WorkerState.GREETED:
            self._move(Trigger.SETTLED)
            self.readiness = why
            self.restart_timer(None)
            self._owner.got_ready(self)

    def restart_timer(self, when: float | None, callback: Callable[[], None] | None = None) -> None:
        """Sets the only timer of this worker to another time and callback; with None, turns it off, as the end of the
        worker does. Until `ready` the timer belongs to the handshake."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if when is None or callback is None else self._loop.call_at(when, callback)

    # --- its frames ---------------------------------------------------------------------------------------

    def _registering(self, change: Callable[[Any], bool]) -> Callable[[Any], None]:
        """Returns the handler of a frame that may change the registry. `change` returns whether it has changed it."""

        def on_frame(frame: object) -> None:
            if change(frame):
                self._owner.registered(self)

        return on_frame

    def _on_log(self, frame: frames.Log) -> None:
        self._owner.log.add_frame(frame.level or "info", frame.message, frame.fields)

    def _on_show(self, frame: Shown) -> None:
        self._owner.showed(self, frame)

    def _on_subscribe(self, frame: frames.Subscribe) -> None:
        self.registry.subscribe(frame)
        self._owner.registered(self)

    def _on_shutdown_ack(self, _frame: frames.ShutdownAck) -> None:
        self._acked = True

    def _on_instructions(self, instructions: Instructions) -> None:
        self.registry.instructions = instructions.text
        self._owner.registered(self)

    def _on_host_called(self, called: HostCalled) -> None:
        self.channel.host_calls.take(called, self._owner.called)

    def _on_unusable(self, unusable: Unusable) -> None:
        self.give_up(unusable.reason, EndCause.REFUSED if unusable.may_pass else EndCause.UNSTARTABLE)

    # --- end ----------------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        """Asks the worker to exit, behind all frames in the queue. If its dialect has no message for that, closes its
        input: at once, or when the worker has read all, as the dialect wants."""
        self.restart_timer(None)
        is_ending = self.state is WorkerState.STOPPING and self._acked
        self._move(Trigger.STOP)
        self.channel.wind_down()
        frame = self._session.stop()
        if is_ending or (frame and self.requests.write(frame)) or self._drain():
            return
        self.hint_to_stop()

    def _drain(self) -> bool:
        """Closes the input at the answer to a ping. Returns False if no ping can be sent, or none is needed."""
        return self._is_drained and self.can_ping and bool(self.channel.round_trips.begin(self.hint_to_stop))

    def hint_to_stop(self) -> None:
        """Closes the worker's input: some programs stop at end of file."""

    def give_up(self, reason: str, cause: EndCause) -> None:
        """Fails the worker with this reason; its owner then ends the process. Does nothing if it is stopping."""
        if not self.state.is_settled or self.state is WorkerState.READY:
            self._end(reason, reason, Trigger.REFUSED, cause, None)

    def kill(self, number: signal.Signals) -> None:
        """Sends a signal to the worker's process group at once."""

    def dismiss(self) -> None:
        """Called when the host stops. A worker without a process ends now; others are ended by their owner."""

    def _end(self, reason: str, full_reason: str, trigger: Trigger, cause: EndCause, code: int | None) -> None:
        self.failure = reason
        self._move(trigger)
        self.restart_timer(None)
        self.last_words.ended(code)
        self.channel.end(f"{reason}{self.last_words}")
        uptime = self._clock() - self.started_at
        was_ready = self.readiness is not Readiness.NOT_YET
        self._owner.ended(self, WorkerEnding(cause, code, uptime, was_ready), full_reason)

    def _move(self, trigger: Trigger) -> None:
        if (after := advance(self.state, trigger)) is not self.state:
            self.state = after
            self.state_since = self._clock()
            self._tell_refusal()

    def _tell_refusal(self) -> None:
        """Gives `requests` the reason with which they fail while the worker is not up."""
        self.requests.refusal = "" if self.state.is_up else self.failure or f"it is {self.state.value}"

    def retry(self) -> None:
        """Called after the end of the worker, if a next worker will be started."""
        self._move(Trigger.RETRY)

    def abandon(self) -> None:
        """Called after `retry`, if the next worker will not be started after all."""
        self._move(Trigger.ABANDONED)

    def stay_down(self, failure: str, why: Trigger) -> None:
        """Ends the worker before any start, with UNUSED or HALTED. Requests to it fail with this reason."""
        self.failure = failure
        self._move(why)

    def fail_requests_with(self, failure: str) -> None:
        """Sets the reason with which requests fail while the worker is not up."""
        self.failure = failure
        self._tell_refusal()

    def sampled(self, usage: TreeUse) -> None:
        """Stores the use of the worker's process tree at the last sample."""
        self.usage = usage
