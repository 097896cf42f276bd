"""One process of an extension, and the conversation with it: handshake, registrations, calls, and its end.

Every wait has a deadline, and nothing it does or fails to do reaches beyond it: what it says is read in bounded pieces,
what is said to it is queued up to a limit, and when it ends its pending calls fail at once, with the reason. A worker
lives as long as its process; another one takes its place after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.child import EXIT_FOLLOWS_S, Child, SpawnError
from supervisor.lifecycle import Occurrence, State, advance
from supervisor.pending import Failure, Pending
from supervisor.registry import Registry
from supervisor.restart import Cause, Ending
from supervisor.usage import Usage
from wire import frames
from wire.framing import Oversize
from wire.zot import describe_oversize

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.accounting import Account
    from supervisor.child import ExitStatus
    from supervisor.logs import ExtensionLog
    from supervisor.loop import Loop, Timer
    from supervisor.voice import Voice
    from wire.dialect import Dialect, HostInfo, Question
    from wire.manifest import Timeouts

IDLE_IS_READY_S = 0.25
"""zot's rule: no frame for this long after the hello means that all first registrations have come."""
LARGE_FRAME = 64 * 1024
POSSIBLE_ANSWERS = frozenset({None, "tool_result", "event_intercept_response", "command_response"})
"""Types of bad frames that may have been an answer; None where the type could not be read."""


class Owner(Protocol):
    """The extension that a worker belongs to."""

    name: str
    account: Account
    log: ExtensionLog
    timeouts: Timeouts
    voice: Voice

    def registered(self, worker: Worker) -> None:
        """It registered something, or came up or went down."""

    def got_ready(self, worker: Worker) -> None: ...

    def ended(self, worker: Worker, ending: Ending, reason: str) -> None:
        """It is of no use any more. Its process may still be running, and is then to be ended."""

    def collected(self, worker: Worker) -> None:
        """Its process has ended and been waited for. What it left may live on."""

    def gone(self, worker: Worker) -> None:
        """The process of one that was to end has ended."""

    def ran_out_of_time(self, worker: Worker) -> None:
        """It has not answered a request in time."""


class Worker:
    # Without slots, a class of more than 30 attributes is slow to look at: it costs 2 % of a call.
    __slots__ = (
        "_acked", "_clock", "_decode", "_dialect", "_folder", "_handlers", "_host", "_last_frame", "_loop", "_owner",
        "_splitter", "_timer", "_voice", "account", "can_ping", "child", "failure", "frames_in", "index",
        "knows_session", "on_pong", "pending", "registry", "started_at", "state", "timeouts", "timeouts_in_row",
        "usage", "was_ready",
    )  # fmt: skip

    def __init__(self, loop: Loop, owner: Owner, dialect: Dialect, *, host: HostInfo, folder: str, index: int) -> None:
        self.state = State.SPAWNED
        self.failure = ""
        """Why it is of no use, when it has failed."""
        self.index = index
        """Its place among the extension's workers, from 0."""
        self.registry = Registry(loop, dialect, owner.voice.warn, owner.voice.remark)
        self.account = owner.account
        self.timeouts = owner.timeouts
        self.child: Child | None = None
        self.pending: dict[str, Pending] = {}
        self.frames_in = 0
        self.timeouts_in_row = 0
        self.usage = Usage()
        self.was_ready = False
        self.knows_session = False
        self.can_ping = False
        self.on_pong: Callable[[str], None] | None = None
        self.started_at = loop.clock()
        self._loop = loop
        self._clock = loop.clock
        self._owner = owner
        self._voice = owner.voice
        self._host = host
        self._folder = folder
        self._dialect = dialect
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
            frames.Subscribe: self._on_subscribe,
            frames.Ready: self._on_ready,
            frames.InterceptResponse: self._on_answer,
            frames.ToolResult: self._on_answer,
            frames.CommandResponse: self._on_answer,
            frames.Notify: self._voice.note,
            frames.Pong: self._on_pong,
            frames.ShutdownAck: self._on_shutdown_ack,
            **dict.fromkeys((frames.ClearNotes, frames.PanelRender, frames.PanelClosed), _not_shown_here),
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
        late = f"said no hello within {hello_s:g} s"
        self._timer = self._loop.call_later(hello_s, lambda: self.give_up(late, Cause.REFUSED))
        return True

    def _on_hello(self, hello: frames.Hello) -> None:
        if self.state is not State.SPAWNED:
            self._voice.remark("a second hello; ignored")
            return
        if not hello.name:
            self.give_up("its hello has no name", Cause.REFUSED)
            return
        if hello.name != self._owner.name:
            self._owner.log.note(f"says hello as {hello.name[:80]!r}; known here by its manifest's name")
        self.can_ping = "ping" in (hello.capabilities or ())
        self._handlers.update(self._handlers_once_greeted())
        self._move(Occurrence.HELLO)
        self.write(self._dialect.greet(self._host, self._folder, self._folder))
        greeted = self._clock()
        self._last_frame = greeted
        self._owner.registered(self)
        self._await_ready(greeted + self.timeouts.ready)

    def _on_too_early(self, frame: frames.Frame) -> None:
        self.give_up(f"its first frame must be hello, not {frame.__struct_config__.tag}", Cause.REFUSED)

    def _await_ready(self, latest: float) -> None:
        """Ready is what it says, or silence after the hello, or the deadline; whichever comes first."""
        if self.state is not State.GREETED:
            return
        now = self._clock()
        if now >= latest:
            self._owner.log.note(f"no ready within {self.timeouts.ready:g} s of the hello; going on without it")
            self._settle()
        elif now >= self._last_frame + IDLE_IS_READY_S:
            self._owner.log.note("no ready frame; taken as ready after 250 ms of silence")
            self._settle()
        else:
            soon = min(latest, self._last_frame + IDLE_IS_READY_S)
            self._restart_timer(soon, lambda: self._await_ready(latest))

    def _on_ready(self, _frame: frames.Ready) -> None:
        self._settle()

    def _settle(self) -> None:
        if self.state is State.GREETED:
            self._move(Occurrence.SETTLED)
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

    def _on_subscribe(self, frame: frames.Subscribe) -> None:
        self.registry.subscribe(frame)
        self._owner.registered(self)

    def _on_answer(self, frame: frames.InterceptResponse | frames.ToolResult | frames.CommandResponse) -> None:
        pending = self.pending.pop(frame.id, None)
        if pending is None:
            self._voice.remark(
                f"an answer to {frame.id[:80]!r}, which nobody waits for (late, repeated or unknown); ignored"
            )
            return
        pending.value = frame
        pending.done = True
        self.account.latency.add(self._clock() - pending.asked_at)
        self.timeouts_in_row = 0
        if pending.on_done is not None:
            pending.on_done()

    def _on_pong(self, frame: frames.Pong) -> None:
        if self.on_pong is not None:
            self.on_pong(frame.id)

    def _on_shutdown_ack(self, _frame: frames.ShutdownAck) -> None:
        self._acked = True

    def _on_unknown(self, frame: frames.UnknownFrame) -> None:
        self._voice.remark(f"unknown frame type {frame.type[:80]!r}; ignored")

    def _on_malformed(self, frame: frames.Malformed) -> None:
        if frame.type == "hello" and self.state is State.SPAWNED:
            self.give_up(frame.reason, Cause.REFUSED)
            return
        self.account.junk_lines += 1
        if frame.type is None and frame.id is None:
            self._voice.remark(f"not a frame: {frame.reason}")
            if not self._voice.has_warned("junk"):
                self._voice.warn("junk", "writes lines that are not frames to its stdout; they are skipped and counted")
        elif not self._spoil(frame):
            self._voice.warn("frame", f"{frame.reason}; ignored")

    def _on_oversize(self, line: Oversize) -> None:
        frame = describe_oversize(line, self._splitter.limit)
        self.account.junk_lines += 1
        if not self._spoil(frame):
            self._voice.warn("oversize", frame.reason)

    def _spoil(self, frame: frames.Malformed) -> bool:
        """Fails the request that a bad frame was to answer, at once; False if there is none. Without an id that could
        be read it was the answer if it may have been one and only one is owed."""
        key = frame.id
        if key is None and len(self.pending) == 1 and frame.type in POSSIBLE_ANSWERS:
            key = next(iter(self.pending))
        pending = None if key is None else self.pending.pop(key, None)
        if pending is None:
            return False
        self._voice.remark(frame.reason)
        pending.fail(Failure.BAD_ANSWER, frame.reason)
        return True

    # --- what is said to it -------------------------------------------------------------------------------

    def ask(self, question: Question) -> Pending:
        """Asks for a verdict."""
        self.account.calls = number = self.account.calls + 1
        call_id = str(number)
        return self._request(call_id, question.head + call_id.encode() + question.tail, self.timeouts.intercept)

    def call(self, tool: str, args: bytes) -> Pending:
        """Calls a tool with a JSON value."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        return self._request(call_id, self._dialect.call(call_id, tool, args), self.timeouts.tool_call)

    def invoke(self, command: str, args: str) -> Pending:
        """Runs a slash command."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        return self._request(call_id, self._dialect.invoke(call_id, command, args), self.timeouts.command)

    def _request(self, call_id: str, frame: bytes, patience_s: float) -> Pending:
        pending = Pending(self._clock())
        if not self.state.is_up:
            pending.fail(Failure.DIED, self.failure or f"it is {self.state.value}")
            return pending
        child = self.child
        assert child is not None
        stdin = child.stdin
        assert stdin is not None
        stuck = stdin.stuck_since
        if stuck is not None and pending.asked_at - stuck > patience_s:
            pending.fail(Failure.NOT_READING, "it has not read its stdin since an earlier request ran out of time")
            return pending
        self.pending[call_id] = pending
        if not stdin.send(frame):
            if stdin.is_open:
                self._forget(call_id, Failure.NOT_READING, f"it does not read its stdin ({stdin.queued} bytes wait)")
            else:
                self._loop.call_later(
                    EXIT_FOLLOWS_S, lambda: self._forget(call_id, Failure.NOT_READING, "it closed its stdin")
                )
            return pending
        account = self.account
        account.frames_out += 1
        account.bytes_out += len(frame)
        return pending

    def wait(self, pending: Pending, timeout_s: float) -> None:
        """Waits for the answer and books how long it took. Afterwards `pending` is done, one way or another."""
        if not pending.done:
            child = self.child
            assert child is not None
            if not self._loop.wait(pending, child.stdout, timeout_s):
                self.expire(pending, timeout_s)
                return
        if pending.failure is not None and pending.failure is not Failure.CANCELLED:
            self.account.errors += 1

    def expire(self, pending: Pending, timeout_s: float) -> None:
        """Nobody waits for this answer any longer."""
        if pending.done:
            return
        for call_id, other in self.pending.items():
            if other is pending:
                del self.pending[call_id]
                break
        self.account.timeouts += 1
        self.timeouts_in_row += 1
        pending.fail(Failure.TIMEOUT, f"no answer within {timeout_s:g} s")
        self._owner.ran_out_of_time(self)

    def tell(self, event: bytes) -> None:
        """Passes an event on, in order with everything else said to it; dropped and counted if it does not read."""
        if not self.write(event):
            self.account.events_dropped += 1
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_dropped_events)

    def _warn_of_dropped_events(self) -> None:
        if self.state.is_up:
            self._voice.warn("events", "does not read its stdin; events for it are dropped and counted")

    def _forget(self, call_id: str, failure: Failure, reason: str) -> None:
        if (pending := self.pending.pop(call_id, None)) is not None:
            pending.fail(failure, reason)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls under way; late answers are ignored."""
        self._fail_pending(Failure.CANCELLED, reason)

    def cancel(self, pending: Pending, reason: str) -> None:
        """Gives up this one."""
        for call_id, other in self.pending.items():
            if other is pending:
                self._forget(call_id, Failure.CANCELLED, reason)
                return

    def ping(self, ping_id: str) -> None:
        self.write(self._dialect.ping(ping_id))

    def write(self, frame: bytes) -> bool:
        """False if it does not take it."""
        if self.child is None or not self.child.send(frame):
            return False
        self.account.frames_out += 1
        self.account.bytes_out += len(frame)
        return True

    # --- end ----------------------------------------------------------------------------------------------

    def _on_mute(self) -> None:
        """Its stdout has ended: mostly because it is ending."""
        said = "closed its stdout and can say nothing any more"
        self._loop.call_later(EXIT_FOLLOWS_S, lambda: self.give_up(said, Cause.REFUSED))

    def ask_to_stop(self) -> None:
        """Sends the shutdown frame, behind everything already queued."""
        self._restart_timer(None)
        self._move(Occurrence.STOP)
        if not self._acked and not self.write(self._dialect.stop()):
            self.hint_to_stop()

    def hint_to_stop(self) -> None:
        """Ends its stdin, for a program that knows only end of file."""
        if not self._acked and self.child is not None and self.child.stdin is not None:
            self.child.stdin.end()

    def give_up(self, reason: str, cause: Cause) -> None:
        """The host has no more use for it. Its owner ends the process; nobody waits for that."""
        if not self.state.is_settled or self.state is State.READY:
            self._end(reason, reason, Occurrence.REFUSED, cause, None)

    def kill(self, number: signal.Signals) -> None:
        """Signals its process group at once."""
        if self.child is not None:
            self.child.kill_group(number)

    def _on_exit(self, status: ExitStatus) -> None:
        self._owner.log.note(f"ended: {status}")
        self._owner.collected(self)
        self.account.exited(status, self.usage.spent_s)
        self.usage = Usage()
        self._restart_timer(None)
        if self.state not in (State.SPAWNED, State.GREETED, State.READY):
            self._move(Occurrence.GONE)
            self._fail_pending(Failure.DIED, f"it was stopped ({status})")
            self._owner.gone(self)
            return
        busy = f" with {len(self.pending)} call{'s' * (len(self.pending) > 1)} pending" if self.pending else ""
        early = self.state is State.SPAWNED
        reason = f"it exited before its hello ({status})" if early else f"it ended ({status})"
        self._end(reason, reason + busy, Occurrence.GONE, Cause.EXIT, status.code)

    def _end(self, reason: str, told: str, occurrence: Occurrence, cause: Cause, code: int | None) -> None:
        self.failure = reason
        self._move(occurrence)
        self._restart_timer(None)
        last = self._owner.log.last_line()
        self._fail_pending(Failure.DIED, f'{reason}: "{last}"' if last else reason)
        uptime = self._clock() - self.started_at
        self._owner.ended(self, Ending(cause, code, uptime, self.was_ready), told)

    def _fail_pending(self, failure: Failure, reason: str) -> None:
        failed = list(self.pending.values())
        self.pending.clear()
        for pending in failed:
            pending.fail(failure, reason)

    def _move(self, occurrence: Occurrence) -> None:
        self.state = advance(self.state, occurrence)

    def retry(self) -> None:
        """Another worker will take its place."""
        self._move(Occurrence.RETRY)


def _not_shown_here(_frame: frames.Frame) -> None:
    """Panels and the taking back of notes need a screen."""
