"""Calls a tool of an extension without waiting: checks the arguments, chooses a worker, retries if allowed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from supervisor.calls.request_in_flight import RequestInFlight
from supervisor.loop.future import Failure
from supervisor.registry.plain_schema import fault_at_once
from wire import frames
from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, is_deeper, json_on_one_line, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Raw, UnsetType

    from supervisor.accounting.account import Account
    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop
    from supervisor.registry.checkers import Checkers
    from wire.trace_context import TraceContext


Frame = TypeVar("Frame")
STRUCTURED_LIMIT = 4 * 1024 * 1024
"""Maximum of the structured content of a result in bytes: zot's limit of a frame."""
NOBODY = "it waits for a person, and nobody can answer here; zot rpc and zot host have clients that can"


class Answer(msgspec.Struct, Generic[Frame], frozen=True):
    """The answer to a tool call or a command. A failure has a reason and no frame."""

    frame: Frame | None
    failure: Failure | None = None
    reason: str = ""


def read_answer(pending: Pending, kind: type[Frame], what: str, account: Account) -> Answer[Frame]:
    """The answer of a request that has ended. A frame of another type is a failure and counts as an error."""
    if pending.failure is not None:
        return Answer(None, pending.failure, pending.reason)
    if not isinstance(pending.value, kind):
        account.errors += 1
        return Answer(None, Failure.BAD_ANSWER, f"it answered a {what} with {pending.value.__struct_config__.tag}")
    return Answer(pending.value)


ToolAnswer = Answer[frames.ToolResult]


def second_worker(owned: OwnedTool, first: Worker, pending: Pending) -> Worker | None:
    """The worker for a retry, if `first` died with the call, the tool allows it and another worker is up; else None."""
    if pending.failure is not Failure.DIED or not owned.tool.retry:
        return None
    other = owned.owner.least_busy(besides=first)
    return other if other.state.is_up else None


def _report(owned: OwnedTool, pending: Pending) -> ToolAnswer:
    """The answer of a call that has ended. Counts an error; a fault of the extension becomes a notice."""
    extension = owned.owner
    answer = read_answer(pending, frames.ToolResult, "tool call", extension.account)
    if (frame := answer.frame) is not None:
        extension.account.errors += bool(frame.is_error)
        if frame.activate_tools:
            extension.activate(frame.activate_tools, owned.tool.name)
        if frame.structured_content is not UNSET:
            answer = Answer(replace(frame, structured_content=_structured(owned, bytes(frame.structured_content))))
    elif answer.failure not in (Failure.CANCELLED, Failure.DIED):  # the user knows of these already
        extension.notices.tell("warning", f"its tool {owned.tool.name} failed: {answer.reason}")
    return answer


def _structured(owned: OwnedTool, text: bytes) -> Raw | UnsetType:
    """The structured content of a result on one line; UNSET if it is null, or cannot be passed on: the user is told."""
    if text == b"null":
        return UNSET
    if fault := structured_fault(text):
        name = owned.tool.name
        owned.owner.notices.warn(f"structured {name}", f"the structured_content of its tool {name!r} {fault}; left out")
        return UNSET
    return json_on_one_line(text)


def structured_fault(text: bytes) -> str:
    """Why readers of JSON may fail at this text, which a decoder of frames has passed over; "" if they do not."""
    if len(text) > STRUCTURED_LIMIT:
        return f"has {len(text)} bytes, more than {STRUCTURED_LIMIT}"
    try:
        text.decode()
        may_be_deep = text.count(b"[") + text.count(b"{") > ARGUMENTS_DEPTH
        if may_be_deep and is_deeper(msgspec.json.decode(text), ARGUMENTS_DEPTH):
            return f"is nested deeper than {ARGUMENTS_DEPTH} levels"
    except UnicodeDecodeError:
        return "is not UTF-8"
    except UNREADABLE as error:
        return f"cannot be read: {reason(error)}"
    return ""


class NestedCall(Protocol):
    """A call that an extension makes for the call of one of its tools."""

    @property
    def waits_for_person(self) -> bool: ...
    def end_early(self, reason: str) -> None: ...


class ToolCallInFlight(RequestInFlight):
    """A call of a tool. `done` gets the answer, `on_progress` each progress message. If the arguments do not fit the
    tool's schema, the call fails and is not sent; if they cannot be checked, it is sent unchecked, as zot does. If the
    worker dies, the call is made once more if the tool allows a retry and another worker is up.

    `tool_id` is the id of the call in events; `around` are the tools of the calls for which it is made; `context` is
    the span of the call. The check has its own time limit. The time limit of the tool begins when the call is sent."""

    def __init__(
        self,
        loop: Loop,
        checkers: Checkers,
        owned: OwnedTool,
        args: bytes,
        done: Callable[[ToolAnswer], None],
        on_progress: Callable[[str], None] | None = None,
        tool_id: str = "",
        around: tuple[str, ...] = (),
        context: TraceContext | None = None,
    ) -> None:
        super().__init__(loop)
        self.tool_id = tool_id
        self._context = context
        self._around = around
        self.nested: set[NestedCall] | None = None
        """The calls that are made for this one; None if none was made."""
        self._on_progress = on_progress
        self._owned = owned
        self._args = args
        self._done = done
        self._check: Pending | None = None
        """The check of the arguments, while a checker process makes it."""
        if owned.tool.is_interactive and not owned.owner.has_person:
            self._fail(Failure.INVALID_ARGS, f"{owned.tool.name} of extension {owned.owner.name} failed: {NOBODY}")
            return
        fault = fault_at_once(owned.tool.schema, owned.tool.plain_parts, args)
        if fault is not None:
            self._checked(fault)
            return
        self._check = check = checkers.check(owned.owner.name, msgspec.json.encode(owned.tool.schema), args)
        if check.done:
            self._check_ended()
        else:
            check.on_done = self._check_ended

    @property
    def chain(self) -> tuple[str, ...]:
        """The tools of the calls for which it is made, outermost first, and its own."""
        return (*self._around, self._owned.tool.name)

    @property
    def waits_for_person(self) -> bool:
        return any(call.waits_for_person for call in self.nested or ())

    def cancel(self, reason: str) -> None:
        super().cancel(reason)
        if self._check is not None:
            self._check.fail(Failure.CANCELLED, reason)

    def _check_ended(self) -> None:
        check, self._check = self._check, None
        assert check is not None
        if check.failure is Failure.CANCELLED:
            self._fail(Failure.CANCELLED, check.reason)
            return
        if check.failure is not None:
            name = self._owned.tool.name
            message = f"calls of its tool {name!r} are not checked: {check.reason}"
            self._owned.owner.notices.warn(f"schema {name}", message)
        self._checked(check.value or "")

    def _checked(self, fault: str) -> None:
        if fault:
            self._fail(Failure.INVALID_ARGS, fault)
        else:
            self._call(self._owned.owner.least_busy(), may_retry=True)

    def _fail(self, failure: Failure, reason: str) -> None:
        self._loop.call_later(0, partial(self._done, Answer(None, failure, reason)))

    def _call(self, worker: Worker, *, may_retry: bool) -> None:
        requests, patience_s = worker.requests, self._owned.patience_s
        pending = requests.call(self._owned.tool.name, self._args, patience_s, self.tool_id, context=self._context)
        pending.call = self
        pending.on_progress = self._on_progress
        self._await(requests, pending, patience_s, partial(self._ended, worker, may_retry))

    def _ended(self, worker: Worker, may_retry: bool, pending: Pending) -> None:
        """Hands on the answer of this worker, or calls the tool once more in another one."""
        if self.nested is not None:
            self._end_nested(pending)
        other = second_worker(self._owned, worker, pending) if may_retry else None
        if other is None:
            self._done(_report(self._owned, pending))
        elif self._cancelled is not None:
            self._done(Answer(None, Failure.CANCELLED, self._cancelled))
        else:
            self._call(other, may_retry=False)

    def _end_nested(self, pending: Pending) -> None:
        """Ends the calls that the extension has made for this one."""
        ending = "has ended" if pending.failure is None else f"was given up: {pending.reason}"
        nested, self.nested = self.nested or set(), None
        for call in nested:
            call.end_early(f"the call of {self._owned.tool.name} for which it was made {ending}")
