"""One process of an extension, and the conversation with it: handshake, registrations, calls, and its end.

Every wait has a deadline, and nothing it does or fails to do reaches beyond it: what it says is read in bounded pieces,
what is said to it is queued up to a limit, and when it ends its pending calls fail at once, with the reason. A worker
lives as long as its process; another one takes its place after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.accounting.rates import Usage
from supervisor.extension.channel import RequestChannel
from supervisor.extension.handshake import MUTE, NO_NAME, Readiness, no_hello, not_hello, readiness
from supervisor.extension.lifecycle import State, Trigger, advance
from supervisor.extension.restart import Cause, Ending
from supervisor.loop.pending import Failure
from supervisor.process.child import EXIT_FOLLOWS_S, Child, SpawnError
from supervisor.registry.registry import Registry
from wire import frames
from wire.dialects.zot import describe_oversize
from wire.framing import Oversize

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.accounting.account import Account
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from wire.dialects.base import Dialect, HostInfo
    from wire.manifest import Timeouts

LARGE_FRAME = 64 * 1024


Shown = frames.ClearNotes | frames.PanelRender | frames.PanelClosed


class Owner(Protocol):
    """The extension that a worker belongs to."""

    name: str
    data_dir: str
    account: Account
    log: ExtensionLog
    timeouts: Timeouts
    notices: Notices

    def registered(self, worker: Worker) -> None:
        """It registered something, or came up or went down."""

    def got_ready(self, worker: Worker) -> None: ...

    def ended(self, worker: Worker, ending: Ending, reason: str) -> None:
        """It is of no use any more. Its process may still be running, and is then to be ended."""

    def collected(self, worker: Worker) -> None:
        """Its process has ended and been waited for. What it left may live on."""

    def gone(self, worker: Worker) -> None:
        """The process of one that was to end has ended."""

    def showed(self, worker: Worker, frame: Shown) -> None:
        """It has something on the user's screen changed."""

    def ran_out_of_time(self, worker: Worker) -> None:
        """It has not answered a request in time."""


class Worker(RequestChannel):
    __slots__ = (
        "_acked", "_decode", "_folder", "_handlers", "_host", "_last_frame", "_owner", "_splitter", "_timer",
        "can_ping", "frames_in", "index", "knows_session", "on_pong", "registry", "started_at", "usage", "was_ready",
    )  # fmt: skip

    def __init__(self, loop: Loop, owner: Owner, dialect: Dialect, *, host: HostInfo, folder: str, index: int) -> None:
        super().__init__(
            loop, dialect, owner.account, owner.notices, owner.timeouts, lambda: owner.ran_out_of_time(self)
        )
        self.index = index
        """Its place among the extension's workers, from 0."""
        self.registry = Registry(loop, dialect, owner.notices.warn, owner.notices.remark)
        self.frames_in = 0
        self.usage = Usage()
        self.was_ready = False
        self.knows_session = False
        self.can_ping = False
        self.on_pong: Callable[[str], None] | None = None
        self.started_at = loop.clock()
        self._owner = owner
        self._host = host
        self._folder = folder
        self._decode = dialect.decode
        self._splitter = dialect.splitter()
        self._last_frame = 0.0
        self._timer: Timer | None = None
        self._acked = False
        self._handlers: dict[type, Callable[..., None]] = {
            **dict.fromkeys(frames.FromExtension.__args__, self._on_too_early),
            frames.Hello: self._on_hello,
            frames.UnknownFrame: self._on_unknown,
            frames.Malformed: self._on_malformed,
        }

    def _handlers_once_greeted(self) -> dict[type, Callable[..., None]]:
        return {
            frames.RegisterTool: self._on_register_tool,
            frames.RegisterCommand: self._on_register_command,
            frames.UnregisterTool: self._on_unregister_tool,
            frames.ToolProgress: self._on_progress,
            frames.Log: self._on_log,
            frames.Subscribe: self._on_subscribe,
            frames.Ready: self._on_ready,
            frames.InterceptResponse: self._on_answer,
            frames.ToolResult: self._on_answer,
            frames.CommandResponse: self._on_answer,
            frames.Notify: self._notices.note,
            frames.Pong: self._on_pong,
            frames.ShutdownAck: self._on_shutdown_ack,
            **dict.fromkeys((frames.ClearNotes, frames.PanelRender, frames.PanelClosed), self._on_show),
        }

    @property
    def pid(self) -> int | None:
        return None if self.child is None else self.child.pid

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.is_running

    # --- start --------------------------------------------------------------------------------------------

    def start(self, argv: Callable[[], Sequence[str]], env: Mapping[str, str], hello_s: float) -> bool:
        """Starts the process. What cannot be started ends at once, with the reason, and False is returned. `argv` may
        raise `SpawnError`."""
        try:
            self.child = Child(
                self._loop,
                argv(),
                cwd=self._folder,
                env=env,
                on_stdout=self._on_stdout,
                on_stderr=self._owner.log.write,
                on_exit=self._on_exit,
                on_mute=self._on_mute,
            )
        except SpawnError as error:
            self.give_up(str(error), Cause.REFUSED if error.may_pass else Cause.UNSTARTABLE)
            return False
        late = no_hello(hello_s)
        self._timer = self._loop.call_later(hello_s, lambda: self.give_up(late, Cause.REFUSED))
        return True

    def _on_hello(self, hello: frames.Hello) -> None:
        if self.state is not State.SPAWNED:
            self._notices.remark("a second hello; ignored")
            return
        if not hello.name:
            self.give_up(NO_NAME, Cause.REFUSED)
            return
        if hello.name != self._owner.name:
            self._owner.log.note(f"says hello as {hello.name[:80]!r}; known here by its manifest's name")
        self.can_ping = "ping" in (hello.capabilities or ())
        self._hears_cancel = "cancel" in (hello.capabilities or ())
        self._handlers.update(self._handlers_once_greeted())
        self._move(Trigger.HELLO)
        self.write(self._dialect.greet(self._host, self._folder, self._owner.data_dir))
        greeted = self._clock()
        self._last_frame = greeted
        self._owner.registered(self)
        self._await_ready(greeted + self.timeouts.ready)

    def _on_too_early(self, frame: frames.Frame) -> None:
        self.give_up(not_hello(str(frame.__struct_config__.tag)), Cause.REFUSED)

    def _await_ready(self, latest: float) -> None:
        """Ready is what it says, or silence after the hello, or the deadline; whichever comes first."""
        if self.state is not State.GREETED:
            return
        found, again_at = readiness(self._clock(), last_frame=self._last_frame, latest=latest)
        if found is Readiness.NOT_YET:
            self._restart_timer(again_at, lambda: self._await_ready(latest))
            return
        if found is Readiness.LATE:
            self._owner.log.note(f"no ready within {self.timeouts.ready:g} s of the hello; going on without it")
        else:
            self._owner.log.note("no ready frame; taken as ready after 250 ms of silence")
        self._settle()

    def _on_ready(self, _frame: frames.Ready) -> None:
        self._settle()

    def _settle(self) -> None:
        if self.state is State.GREETED:
            self._move(Trigger.SETTLED)
            self.was_ready = True
            self._restart_timer(None)
            self._owner.got_ready(self)

    def _restart_timer(self, when: float | None, callback: Callable[[], None] | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if when is None or callback is None else self._loop.call_at(when, callback)

    # --- what it says -------------------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        account = self.account
        account.bytes_in += len(data)
        decode = self._decode
        handlers = self._handlers
        lines = self._splitter.feed(data)
        count = len(lines)
        account.frames_in += count
        self.frames_in += count
        for line in lines:
            if type(line) is Oversize:
                self._on_oversize(line)
                account.frames_in -= 1
            else:
                message = decode(line)  # type: ignore[arg-type]
                handlers[type(message)](message)
        self._last_frame = self._loop.turn_time
        if self._splitter.pending > LARGE_FRAME:
            assert self.child is not None
            self.child.stdout.expect_large()

    def _on_register_tool(self, frame: frames.RegisterTool) -> None:
        if self.registry.add_tool(frame):
            self._owner.registered(self)

    def _on_register_command(self, frame: frames.RegisterCommand) -> None:
        if self.registry.add_command(frame):
            self._owner.registered(self)

    def _on_unregister_tool(self, frame: frames.UnregisterTool) -> None:
        if self.registry.remove_tool(frame):
            self._owner.registered(self)

    def _on_log(self, frame: frames.Log) -> None:
        self._owner.log.record(frame.level or "info", frame.message, frame.fields)

    def _on_show(self, frame: Shown) -> None:
        self._owner.showed(self, frame)

    def _on_subscribe(self, frame: frames.Subscribe) -> None:
        self.registry.subscribe(frame)
        self._owner.registered(self)

    def _on_pong(self, frame: frames.Pong) -> None:
        if self.on_pong is not None:
            self.on_pong(frame.id)

    def _on_shutdown_ack(self, _frame: frames.ShutdownAck) -> None:
        self._acked = True

    def _on_unknown(self, frame: frames.UnknownFrame) -> None:
        self._notices.remark(f"unknown frame type {frame.type[:80]!r}; ignored")

    def _on_malformed(self, frame: frames.Malformed) -> None:
        if frame.type == "hello" and self.state is State.SPAWNED:
            self.give_up(frame.reason, Cause.REFUSED)
            return
        self.account.junk_lines += 1
        if frame.type is None and frame.id is None:
            self._notices.remark(f"not a frame: {frame.reason}")
            if not self._notices.has_warned("junk"):
                self._notices.warn(
                    "junk", "writes lines that are not frames to its stdout; they are skipped and counted"
                )
        elif not self._spoil(frame):
            self._notices.warn("frame", f"{frame.reason}; ignored")

    def _on_oversize(self, line: Oversize) -> None:
        frame = describe_oversize(line, self._splitter.limit)
        self.account.junk_lines += 1
        if not self._spoil(frame):
            self._notices.warn("oversize", frame.reason)

    # --- end ----------------------------------------------------------------------------------------------

    def _on_mute(self) -> None:
        """Its stdout has ended: mostly because it is ending."""
        self._loop.call_later(EXIT_FOLLOWS_S, lambda: self.give_up(MUTE, Cause.REFUSED))

    def ask_to_stop(self) -> None:
        """Sends the shutdown frame, behind everything already queued."""
        self._restart_timer(None)
        self._move(Trigger.STOP)
        if not self._acked and not self.write(self._dialect.stop()):
            self.hint_to_stop()

    def hint_to_stop(self) -> None:
        """Ends its stdin, for a program that knows only end of file."""
        if not self._acked and self.child is not None and self.child.stdin is not None:
            self.child.stdin.end()

    def give_up(self, reason: str, cause: Cause) -> None:
        """The host has no more use for it. Its owner ends the process; nobody waits for that."""
        if not self.state.is_settled or self.state is State.READY:
            self._end(reason, reason, Trigger.REFUSED, cause, None)

    def kill(self, number: signal.Signals) -> None:
        """Signals its process group at once."""
        if self.child is not None:
            self.child.kill_group(number)

    def _on_exit(self, status: ExitStatus) -> None:
        self._owner.log.note(f"ended: {status}")
        self._owner.collected(self)
        self.account.exited(str(status), cpu_s=status.cpu_s, rss_peak=status.rss_peak, seen_cpu_s=self.usage.spent_s)
        self.usage = Usage()
        self._restart_timer(None)
        if self.state not in (State.SPAWNED, State.GREETED, State.READY):
            self._move(Trigger.GONE)
            self._fail_pending(Failure.DIED, f"it was stopped ({status})")
            self._owner.gone(self)
            return
        busy = f" with {len(self.pending)} call{'s' * (len(self.pending) > 1)} pending" if self.pending else ""
        early = self.state is State.SPAWNED
        reason = f"it exited before its hello ({status})" if early else f"it ended ({status})"
        self._end(reason, reason + busy, Trigger.GONE, Cause.EXIT, status.code)

    def _end(self, reason: str, told: str, occurrence: Trigger, cause: Cause, code: int | None) -> None:
        self.failure = reason
        self._move(occurrence)
        self._restart_timer(None)
        last = self._owner.log.last_line()
        self._fail_pending(Failure.DIED, f'{reason}: "{last}"' if last else reason)
        uptime = self._clock() - self.started_at
        self._owner.ended(self, Ending(cause, code, uptime, self.was_ready), told)

    def _move(self, occurrence: Trigger) -> None:
        self.state = advance(self.state, occurrence)

    def retry(self) -> None:
        """Another worker will take its place."""
        self._move(Trigger.RETRY)
