"""One run at one hosted extension: the run's frames become requests and events, answers go back with the run's ids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Raw
from msgspec.structs import force_setattr

from supervisor.loop.future import Failure
from supervisor.sharing import run_frames
from supervisor.sharing.run_frames import Question
from wire import frames
from wire.dialects import attach, host_calls
from wire.dialects.attach import AttachError, ext_head
from wire.dialects.base import GuardAnswer
from wire.dialects.verdict import answer_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.sharing.session_use import Uses
    from wire.dialects.base import PanelChange, RunSession
    from wire.dialects.host_calls import HostCall

SESSION_FRAME = frozenset({"session_start", "session_end"})
NOT_FOR_RUNS = "an extension that serves several runs cannot ask for it"


Request = Question | frames.ToolCall | frames.CommandInvoked


class Run(Protocol):
    """The attached run, see `AttachedRun`."""

    number: int
    session: RunSession
    pid: int

    def send(self, line: bytes) -> None: ...
    def pause(self, seconds: float) -> None: ...
    def complain(self, reason: str, extension: str = "") -> None: ...
    def leave(self, attachment: Attachment) -> None: ...
    def drop(self, attachment: Attachment, reason: str, *, is_private: bool = False) -> None: ...


class Served(Protocol):
    """The extension, see `ServedExtension`."""

    name: str
    uses: Uses

    def submit(self, forwarded: Forwarded) -> None: ...
    def cancel(self, forwarded: Forwarded, reason: str) -> None: ...
    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None: ...
    def panel(self, attachment: Attachment, change: PanelChange) -> None: ...
    def ping(self, attachment: Attachment, done: Callable[[], None]) -> None: ...


class Forwarded:
    """A request that waits in the line of its run, or is under way. It ends once."""

    __slots__ = ("attachment", "frame", "id", "is_asked_again", "limit_s", "pending", "size", "worker")

    def __init__(self, attachment: Attachment, request: str, frame: Request, size: int) -> None:
        self.attachment = attachment
        self.id = request
        """The run's id of the request."""
        self.frame = frame
        self.size = size
        """Of the frame, in bytes."""
        self.pending: Pending | None = None
        """None while it waits."""
        self.worker: Worker | None = None
        self.limit_s = 0.0
        """Seconds that the extension may take once it is under way."""
        self.is_asked_again = False
        """Its extension died with it once, and it is asked once more."""

    @property
    def is_verdict(self) -> bool:
        return isinstance(self.frame, frames.Event)


class Attachment:
    """A run that has taken an extension."""

    __slots__ = ("_answers", "_calls_made", "head", "open", "run", "served", "started", "use")

    def __init__(self, run: Run, served: Served) -> None:
        self.run = run
        self.served = served
        self.head = ext_head(served.name)
        """The start of each line with a frame of this extension."""
        self.open: dict[str, Forwarded] = {}
        """The requests that have not ended, by the run's ids."""
        self.use = served.uses.new()
        self.started: frames.Event | None = None
        """The start of the session, from when the extension was told of it to its end; a next process is told again."""
        self._answers: dict[str, HostCallAnswer] = {}
        """The extension's calls to this run, by the ids under which the run knows them."""
        self._calls_made = 0

    # --- from the run -------------------------------------------------------------------------------------------

    def on_frame(self, line: bytes | bytearray) -> None:
        """Takes a frame of the run. One that cannot be read is told off; all else goes on."""
        try:
            frame = run_frames.decode(line)
        except AttachError as error:
            self.run.complain(f"{self.served.name}: {error}", self.served.name)
            return
        if type(frame) is Question:
            request = frame.id
            force_setattr(frame, "id", None)
            run_frames.stamp(frame, self.run.session)
            self._begin(request or "", frame, len(line))
        elif type(frame) is frames.ToolCall or type(frame) is frames.CommandInvoked:
            self._begin(frame.id, frame, len(line))
        elif type(frame) is frames.Event:
            run_frames.stamp(frame, self.run.session)
            if frame.event in SESSION_FRAME:
                self.started = frame if frame.event == "session_start" else None
            self.served.tell(self, frame, len(line))
        else:
            self._take_other(frame)

    def _begin(self, request: str, frame: Question | frames.ToolCall | frames.CommandInvoked, size: int) -> None:
        if not request or request in self.open:
            self.run.complain(f"{self.served.name}: the id {request[:80]!r} is missing or in use", self.served.name)
            return
        forwarded = self.open[request] = Forwarded(self, request, frame, size)
        self.use.calls += 1
        self.use.frames_out += 1
        self.served.submit(forwarded)

    def _take_other(self, frame: run_frames.Frame) -> None:
        match frame:
            case frames.Cancel(id=request) | frames.ToolCancel(id=request):
                if (forwarded := self.open.pop(request, None)) is not None:
                    self.served.cancel(forwarded, getattr(frame, "reason", None) or "its run has cancelled it")
            case frames.CalledToolResult(id=key):
                if (answer := self._answers.pop(key, None)) is not None:
                    answer.on_end = None
                    answer.give(frames.ToolResult(key, frame.content, frame.is_error))
            case frames.PanelKey() | frames.PanelClosed() | frames.PanelResize():
                force_setattr(frame, "session_id", self.run.session.id)
                self.served.panel(self, frame)
            case frames.Ping(id=ping):
                self.served.ping(self, partial(self.say, frames.Pong(ping)))
            case frames.Shutdown():
                self.run.leave(self)
            case _:
                pass  # hello_ack: the host has greeted the extension

    # --- to the run ---------------------------------------------------------------------------------------------

    def say(self, frame: msgspec.Struct) -> None:
        """Sends a frame of the extension to the run."""
        self.use.frames_in += 1
        self.run.send(self.head + frames.encoder.encode(frame) + b"}\n")

    def ended(self, forwarded: Forwarded, pending: Pending) -> None:
        """Passes on the answer or the failure of a request. Does nothing if the run has cancelled it."""
        if self.open.pop(forwarded.id, None) is None:
            return
        if pending.failure is not None:
            self.fail(forwarded, pending.failure, pending.reason)
            return
        value = pending.value
        if type(value) is GuardAnswer:
            value = answer_frame(forwarded.id, value.verdict)
        else:
            self.use.errors += bool(getattr(value, "is_error", False))
            force_setattr(value, "id", forwarded.id)
            force_setattr(value, "session_id", None)
        self.say(value)

    def fail(self, forwarded: Forwarded, failure: Failure, reason: str) -> None:
        """Tells the run that a request has failed."""
        self.open.pop(forwarded.id, None)
        self.use.errors += 1
        self.use.timeouts += failure is Failure.TIMEOUT
        self.run.send(attach.encode(attach.Failed(self.served.name, forwarded.id, failure.value, reason)))

    def progressed(self, request: str, text: str) -> None:
        self.say(frames.ToolProgress(request, text))

    # --- calls of the extension ---------------------------------------------------------------------------------

    def called(self, call: HostCall, answer: HostCallAnswer, parent: Forwarded | None) -> None:
        """Passes a call of the extension on to the run, for which it makes it."""
        if isinstance(call, host_calls.SendPrompt):
            self.say(frames.Submit(call.text))
            answer.give(None)
        elif isinstance(call, host_calls.CallTool):
            self._calls_made += 1
            key = f"host-{self._calls_made}"
            self._answers[key] = answer
            answer.on_end = partial(self._call_ended, key)
            self.say(frames.CallTool(key, call.name, Raw(call.args), None if parent is None else parent.id))
        else:
            answer.refuse(NOT_FOR_RUNS)

    def _call_ended(self, key: str, _reason: str) -> None:
        if (answer := self._answers.get(key)) is not None and answer.on_end is not None:
            answer.on_end = None
            self.say(frames.CallToolCancel(key))

    def close(self, reason: str) -> None:
        """The run no longer has the extension: its calls for the run are refused."""
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.on_end = None
            answer.refuse(reason)
