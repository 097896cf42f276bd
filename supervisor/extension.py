"""One extension: its process, the conversation with it, what it registered, and the calls it still owes an answer.

Every wait has a deadline, and nothing it does or fails to do reaches beyond it: what it says is read in bounded pieces,
what is said to it is queued up to a limit, and when it ends its pending calls fail at once, with the reason.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from supervisor.accounting import Account
from supervisor.child import EXIT_FOLLOWS_S, Child, SpawnError
from supervisor.lifecycle import Occurrence, State, advance
from supervisor.logs import ExtensionLog, one_line
from supervisor.notes import LENGTH, NoteGate
from supervisor.pending import Failure, Pending
from supervisor.registrations import (
    COMMAND_NAME_LIMIT,
    COMMANDS_LIMIT,
    DESCRIPTION_LIMIT,
    TOOLS_LIMIT,
    Command,
    RefusedError,
    Tool,
    judge_tool,
)
from wire import frames
from wire.framing import Oversize
from wire.zot import ZotDialect, describe_oversize

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.child import ExitStatus
    from supervisor.discovery import Found
    from supervisor.loop import Loop, Timer
    from wire.dialect import Dialect, HostInfo, Question

IDLE_IS_READY_S = 0.25
"""zot's rule: no frame for this long after the hello means that all first registrations have come."""
KILL_AFTER_S = 1.0
LARGE_FRAME = 64 * 1024
WARNINGS_SHOWN = 10
"""Different faults of one extension that a user is told of, each once; the log has the others."""
NOTICE_LENGTH = 600
UNKNOWN_NAMED = 10
"""Of the events that it subscribed to and that do not exist."""
REGISTRATIONS_BURST = 4 * 1024 * 1024
REGISTRATIONS_PER_SECOND = 128 * 1024.0
"""Bytes of schemas that are judged: each MiB of them takes a third of a second, in which nobody else is served."""
REGISTRATION_COST = 512
REMARKS_BURST = 100
REMARKS_PER_SECOND = 20.0
"""Lines that the host writes into the log about what an extension says, once it has said that much wrong."""
POSSIBLE_ANSWERS = frozenset({None, "tool_result", "event_intercept_response", "command_response"})
"""Types of bad frames that may have been an answer; None where the type could not be read."""

Kind = Literal["started", "exited", "failed", "no_verdict", "late", "warning"]


class Listener:
    """What an extension tells its supervisor. The methods do nothing; a listener overrides what it wants."""

    def registered(self, extension: Extension) -> None:
        """Its tools, commands, subscriptions or its state changed."""

    def noticed(self, extension: Extension, kind: Kind, message: str) -> None:
        """Something that a user should know, in one line."""

    def noted(self, extension: Extension, level: str, message: str) -> None:
        """It sent a note for the user."""


class Extension:
    # Without slots, a class of more than 30 attributes is slow to look at: it costs 2 % of a call.
    __slots__ = (
        "_acked", "_decode", "_dialect", "_gate", "_handlers", "_host", "_last_frame", "_listener", "_loop",
        "_pending", "_registration_gate", "_remark_gate", "_remarks_left_out", "_splitter", "_timer", "_warned",
        "account", "child", "commands", "failure", "found", "guards", "knows_session", "log", "manifest", "name",
        "observes", "rank", "started_at", "state", "timeouts", "tools", "was_ready",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        found: Found,
        *,
        rank: int,
        host: HostInfo,
        logs: Path,
        listener: Listener,
        dialect: Dialect | None = None,
    ) -> None:
        self.found = found
        self.manifest = found.manifest
        self.name = found.manifest.name
        self.rank = rank
        """Its place in the order in which guards are asked."""
        self.state = State.SPAWNED
        self.failure = ""
        """Why it is of no use, when it has failed."""
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, Command] = {}
        self.observes: set[str] = set()
        self.guards: set[str] = set()
        self.was_ready = False
        self.knows_session = False
        self.started_at = loop.clock()
        self.account = Account()
        self.log = ExtensionLog(logs, self.name)
        self.child: Child | None = None
        self.timeouts = found.manifest.timeouts
        self._loop = loop
        self._host = host
        self._listener = listener
        self._dialect: Dialect = dialect or ZotDialect()
        self._decode = self._dialect.decode
        self._splitter = self._dialect.splitter()
        self._pending: dict[str, Pending] = {}
        self._last_frame = 0.0
        self._timer: Timer | None = None
        self._gate = NoteGate(loop.clock())
        self._registration_gate = NoteGate(loop.clock(), REGISTRATIONS_BURST, REGISTRATIONS_PER_SECOND)
        self._remark_gate = NoteGate(loop.clock(), REMARKS_BURST, REMARKS_PER_SECOND)
        self._remarks_left_out = 0
        self._warned: set[str] = set()
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
            frames.Notify: self._on_notify,
            frames.ShutdownAck: self._on_shutdown_ack,
            frames.Pong: _not_shown_here,
            **dict.fromkeys((frames.ClearNotes, frames.PanelRender, frames.PanelClosed), _not_shown_here),
        }

    @property
    def pid(self) -> int | None:
        return None if self.child is None else self.child.pid

    # --- start --------------------------------------------------------------------------------------------

    def start(self, env: dict[str, str]) -> None:
        """Starts the process. A program that cannot be started leaves the extension failed, and the reason noticed."""
        self.log.note(f"starting {self.name} {self.manifest.version or ''}".rstrip())
        hello_s = self.timeouts.hello or self.found.default_hello_s
        try:
            self.child = Child(
                self._loop,
                self.found.argv,
                cwd=str(self.found.folder),
                env=env,
                on_stdout=self._on_stdout,
                on_stderr=self.log.write,
                on_exit=self._on_exit,
                on_mute=self._on_mute,
            )
        except SpawnError as error:
            self._fail(str(error))
            return
        self._timer = self._loop.call_later(hello_s, lambda: self._refuse(f"said no hello within {hello_s:g} s"))

    def _on_hello(self, hello: frames.Hello) -> None:
        if self.state is not State.SPAWNED:
            self._remark("a second hello; ignored")
            return
        if not hello.name:
            self._refuse("its hello has no name")
            return
        if hello.name != self.name:
            self.log.note(f"says hello as {hello.name[:80]!r}; known here by its manifest's name")
        self._handlers.update(self._handlers_once_greeted())
        self._move(Occurrence.HELLO)
        folder = str(self.found.folder)
        self._write(self._dialect.greet(self._host, folder, folder))
        greeted = self._loop.clock()
        self._last_frame = greeted
        self._await_ready(greeted + self.timeouts.ready)

    def _on_too_early(self, frame: frames.Frame) -> None:
        self._refuse(f"its first frame must be hello, not {frame.__struct_config__.tag}")

    def _await_ready(self, latest: float) -> None:
        """Ready is what it says, or silence after the hello, or the deadline; whichever comes first."""
        if self.state is not State.GREETED:
            return
        now = self._loop.clock()
        if now >= latest:
            self.log.note(f"no ready within {self.timeouts.ready:g} s of the hello; going on without it")
            self._settle()
        elif now >= self._last_frame + IDLE_IS_READY_S:
            self.log.note("no ready frame; taken as ready after 250 ms of silence")
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
            self._listener.noticed(self, "started", "ready")

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
        account.frames_in += len(lines)
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
        size = 0 if frame.schema is UNSET else len(frame.schema)
        if not self._registration_gate.admits(self._loop.turn_time, size + REGISTRATION_COST):
            self.warn("registrations", "registers tools without end; the rest are left out")
            return
        if frame.name in self.tools:
            self.warn(f"tool {frame.name}", f"registered the tool {frame.name!r} again; the newer one counts")
        elif len(self.tools) >= TOOLS_LIMIT:
            self.warn("tools", f"registered more than {TOOLS_LIMIT} tools; the rest are left out")
            return
        try:
            tool = judge_tool(frame)
        except RefusedError as error:
            self.warn(f"tool {frame.name}", f"{error}; the tool is left out")
            return
        self.tools[tool.name] = tool
        self._listener.registered(self)

    def _on_register_command(self, frame: frames.RegisterCommand) -> None:
        if not 0 < len(frame.name) <= COMMAND_NAME_LIMIT:
            self.warn("command", f"a command's name must have 1 to {COMMAND_NAME_LIMIT} characters; left out")
            return
        if len(self.commands) >= COMMANDS_LIMIT:
            self.warn("commands", f"registered more than {COMMANDS_LIMIT} commands; the rest are left out")
            return
        description = (frame.description or "")[:DESCRIPTION_LIMIT]
        self.commands.setdefault(frame.name, Command(frame.name, description))
        self._listener.registered(self)

    def _on_subscribe(self, frame: frames.Subscribe) -> None:
        for asked, offered, taken in (
            (frame.events or (), self._dialect.observable, self.observes),
            (frame.intercept or (), self._dialect.guardable, self.guards),
        ):
            for name in islice((name for name in asked if name not in offered), UNKNOWN_NAMED):
                self._remark(f"subscribed to {name[:80]!r}, which is not offered; ignored")
            taken.update(offered.intersection(asked))
        self._listener.registered(self)

    def _on_answer(self, frame: frames.InterceptResponse | frames.ToolResult | frames.CommandResponse) -> None:
        pending = self._pending.pop(frame.id, None)
        if pending is None:
            self._remark(f"an answer to {frame.id[:80]!r}, which nobody waits for (late, repeated or unknown); ignored")
        else:
            pending.value = frame
            pending.done = True
            self.account.latency.add(self._loop.clock() - pending.asked_at)

    def _on_notify(self, frame: frames.Notify) -> None:
        if self._gate.admits(self._loop.turn_time):
            message = frame.message or ""
            shown = message if len(message) <= LENGTH else message[: LENGTH - 2] + " …"
            self._listener.noted(self, (frame.level or "info")[:20], shown)
            return
        if not self.account.notes_dropped:
            self.warn("notes", "sends notes faster than they can be shown; the rest are counted, not shown")
        self.account.notes_dropped += 1

    def _on_shutdown_ack(self, _frame: frames.ShutdownAck) -> None:
        self._acked = True

    def _on_unknown(self, frame: frames.UnknownFrame) -> None:
        self._remark(f"unknown frame type {frame.type[:80]!r}; ignored")

    def _on_malformed(self, frame: frames.Malformed) -> None:
        if frame.type == "hello" and self.state is State.SPAWNED:
            self._refuse(frame.reason)
            return
        self.account.junk_lines += 1
        if frame.type is None and frame.id is None:
            self._remark(f"not a frame: {frame.reason}")
            if "junk" not in self._warned:
                self.warn("junk", "writes lines that are not frames to its stdout; they are skipped and counted")
        elif not self._spoil(frame):
            self.warn("frame", f"{frame.reason}; ignored")

    def _on_oversize(self, line: Oversize) -> None:
        frame = describe_oversize(line, self._splitter.limit)
        self.account.junk_lines += 1
        if not self._spoil(frame):
            self.warn("oversize", frame.reason)

    def _spoil(self, frame: frames.Malformed) -> bool:
        """Fails the request that a bad frame was to answer, at once; False if there is none. Without an id that could
        be read it was the answer if it may have been one and only one is owed."""
        key = frame.id
        if key is None and len(self._pending) == 1 and frame.type in POSSIBLE_ANSWERS:
            key = next(iter(self._pending))
        pending = None if key is None else self._pending.pop(key, None)
        if pending is None:
            return False
        self._remark(frame.reason)
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

    def _request(self, call_id: str, frame: bytes, patience_s: float) -> Pending:
        pending = Pending(self._loop.clock())
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
        self._pending[call_id] = pending
        if not stdin.send(frame):
            if stdin.is_open:
                self._give_up(call_id, Failure.NOT_READING, f"it does not read its stdin ({stdin.queued} bytes wait)")
            else:
                self._loop.call_later(
                    EXIT_FOLLOWS_S, lambda: self._give_up(call_id, Failure.NOT_READING, "it closed its stdin")
                )
            return pending
        account = self.account
        account.frames_out += 1
        account.bytes_out += len(frame)
        return pending

    def wait(self, pending: Pending, timeout_s: float) -> None:
        """Waits for the answer and books how long it took. Afterwards `pending` is done, one way or another."""
        if not pending.done:
            loop = self._loop
            child = self.child
            assert child is not None
            if not loop.wait(pending, child.stdout, timeout_s):
                self._forget(pending)
                self.account.timeouts += 1
                pending.fail(Failure.TIMEOUT, f"no answer within {timeout_s:g} s")
                return
        if pending.failure is not None and pending.failure is not Failure.CANCELLED:
            self.account.errors += 1

    def tell(self, event: bytes) -> None:
        """Passes an event on, in order with everything else said to it; dropped and counted if it does not read."""
        if self.state.is_up and not self._write(event):
            self.account.events_dropped += 1
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_dropped_events)

    def _warn_of_dropped_events(self) -> None:
        if self.state.is_up:
            self.warn("events", "does not read its stdin; events for it are dropped and counted")

    def _give_up(self, call_id: str, failure: Failure, reason: str) -> None:
        if (pending := self._pending.pop(call_id, None)) is not None:
            pending.fail(failure, reason)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls under way; late answers are ignored."""
        for pending in self._pending.values():
            pending.fail(Failure.CANCELLED, reason)
        self._pending.clear()

    def _forget(self, pending: Pending) -> None:
        for call_id, other in self._pending.items():
            if other is pending:
                del self._pending[call_id]
                return

    def _write(self, frame: bytes) -> bool:
        if self.child is None or not self.child.send(frame):
            return False
        self.account.frames_out += 1
        self.account.bytes_out += len(frame)
        return True

    # --- end ----------------------------------------------------------------------------------------------

    def _on_mute(self) -> None:
        """Its stdout has ended: mostly because it is ending."""
        self._loop.call_later(EXIT_FOLLOWS_S, lambda: self._refuse("closed its stdout and can say nothing any more"))

    def ask_to_stop(self) -> None:
        """Sends the shutdown frame, behind everything already queued."""
        self._restart_timer(None)
        self._move(Occurrence.STOP)
        if not self._acked and not self._write(self._dialect.stop()):
            self.hint_to_stop()

    def hint_to_stop(self) -> None:
        """Ends its stdin, for a program that knows only end of file."""
        if not self._acked and self.child is not None and self.child.stdin is not None:
            self.child.stdin.end()

    def _refuse(self, reason: str) -> None:
        """The host gives up on it: it is terminated, and nobody waits for that."""
        import signal

        if self.state in (State.FAILED, State.EXITED, State.STOPPING):
            return
        self._fail(reason)
        self._kill(signal.SIGTERM)
        self._loop.call_later(KILL_AFTER_S, lambda: self._kill(signal.SIGKILL))

    def _kill(self, number: signal.Signals) -> None:
        if self.child is not None:
            self.child.kill_group(number)

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self._move(Occurrence.REFUSED)
        self._restart_timer(None)
        self._fail_pending(reason)
        self._tell_user("failed", reason, self._evidence())

    def _on_exit(self, status: ExitStatus) -> None:
        self.account.exited(status)
        self.log.note(f"ended: {status}")
        expected = self.state is State.STOPPING
        already_failed = self.state is State.FAILED
        before_hello = self.state is State.SPAWNED
        self._move(Occurrence.GONE)
        self._restart_timer(None)
        if expected or already_failed:
            self._fail_pending(f"it was stopped ({status})")
            return
        busy = f" with {len(self._pending)} call{'s' * (len(self._pending) > 1)} pending" if self._pending else ""
        self.failure = f"it exited before its hello ({status})" if before_hello else f"it ended ({status}){busy}"
        self._fail_pending(self.failure + self._last_words())
        self._tell_user("failed" if before_hello else "exited", self.failure, self._evidence())
        self._listener.registered(self)

    def _fail_pending(self, reason: str) -> None:
        for pending in self._pending.values():
            pending.fail(Failure.DIED, reason)
        self._pending.clear()

    def _last_words(self) -> str:
        last = self.log.last_line()
        return f': "{last}"' if last else ""

    def _evidence(self) -> str:
        return f"{self._last_words()} (log: {self.log.path})"

    def _move(self, occurrence: Occurrence) -> None:
        self.state = advance(self.state, occurrence)

    def warn(self, key: str, message: str) -> None:
        """Tells the user once for each key, and of `WARNINGS_SHOWN` of them; the log has the others."""
        if key in self._warned or len(self._warned) > WARNINGS_SHOWN:
            self._remark(message)
            return
        self.log.note(message)
        self._warned.add(key)
        if len(self._warned) > WARNINGS_SHOWN:
            message = "has more faults than are shown here"
            self._tell_user("warning", message, f" (log: {self.log.path})")
        else:
            self._tell_user("warning", message)

    def _tell_user(self, kind: Kind, message: str, evidence: str = "") -> None:
        self._listener.noticed(self, kind, one_line(message, NOTICE_LENGTH) + evidence)

    def _remark(self, text: str) -> None:
        """A line in the log about what it said; not more of them than a reader or a disk can take."""
        if not self._remark_gate.admits(self._loop.turn_time):
            self._remarks_left_out += 1
            return
        self._own_up()
        self.log.note(text)

    def _own_up(self) -> None:
        if self._remarks_left_out:
            self.log.note(f"{self._remarks_left_out} more such lines were left out here")
            self._remarks_left_out = 0

    def close(self) -> None:
        self._own_up()
        self.log.close()


def _not_shown_here(_frame: frames.Frame) -> None:
    """Panels and the taking back of notes need a screen."""
