"""Questions to the hooks and the permission handler of an extension, and their answers as verdicts. Pure.

For a `tool_call`, the hook preToolUse is asked first, and then, if it neither allows nor denies, the permission
handler:

    preToolUse         permission handler        verdict
    deny               not asked                 block
    allow              not asked                 allow
    ask                asked (kind hook)         the handler's; without a handler or its opinion: ask
    nothing, no hook   asked (kind of the tool)  the handler's; without a handler or its opinion: allow

A handler that threw and an unreadable answer give no verdict. After an `ask` they are a block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from wire import frames
from wire.dialects.base import GuardAnswer, Remarked, Warned
from wire.dialects.copilot.hooks import FIELDS, WITHOUT_EFFECT, OutputError, handler_of, question, read_output
from wire.dialects.copilot.permissions import ASKED, hook_request, no_decision, permission_request, read_permission
from wire.dialects.copilot.requests import Purpose, SentRequest
from wire.dialects.copilot.tool_results import error_message
from wire.dialects.json_values import kind_of, text_of
from wire.dialects.jsonrpc import encode
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT, count_strings
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.framing import string_member
from wire.lenient_json import UNREADABLE, read, reason
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wire.dialects.base import HostInfo, Message, Received
    from wire.dialects.copilot.hooks import HookOutput
    from wire.dialects.copilot.join import Join
    from wire.dialects.copilot.requests import SentRequests
    from wire.dialects.jsonrpc import Incoming

KEPT = 1_000
"""Maximum number of kept open questions, of open permission requests, and of arguments of calls. The oldest are
dropped: the time of a question is over long before."""
KEPT_SIZE = 32 * 1024 * 1024
"""Maximum size of each of these three together, in characters."""
NAMES_LIMIT = 100
"""Maximum number of remarks on fields without an effect, each once."""
SHOWN = 80
REASON_LENGTH = 500
_HOOK = "hooks.invoke"
_DENY = re.compile(rb'"permissionDecision"\s*:\s*"deny"')
_REFUSAL = re.compile(rb'"kind"\s*:\s*"(?:reject|den|cancel)')
"""Refusals in unreadable answers. Inside a text the quotes would be escaped."""
_PERMISSION = "permission"
HANDLER_GONE = "the extension has left the session: its permission handler is no longer asked"


class _Pending(NamedTuple):
    """An open permission request."""

    call_id: str
    verdict: GuardVerdict
    """The hook's verdict: allow, or ask."""


T = TypeVar("T")


class _Newest(Generic[T]):
    """The newest values by their keys, within the limits `KEPT` and `KEPT_SIZE`."""

    __slots__ = ("_size", "_values")

    def __init__(self) -> None:
        self._values: dict[str, tuple[T, int]] = {}
        self._size = 0

    def put(self, key: str, value: T, size: int) -> None:
        self.take(key)
        self._values[key] = (value, size)
        self._size += size
        while len(self._values) > KEPT or (self._size > KEPT_SIZE and len(self._values) > 1):
            self.take(next(iter(self._values)))

    def get(self, key: str | None) -> T | None:
        value, _ = self._values.get(key or "", (None, 0))
        return value

    def take(self, key: str) -> T | None:
        value, size = self._values.pop(key, (None, 0))
        self._size -= size
        return value

    def take_all(self) -> list[T]:
        found = [value for value, _ in self._values.values()]
        self._values.clear()
        self._size = 0
        return found


class Verdicts:
    """The open questions to one extension. Methods that return bytes return messages with their headers."""

    def __init__(self, joined: Join, requests: SentRequests, host: HostInfo, unix_ms: Callable[[], int]) -> None:
        self.joined = joined
        self.has_left = False
        """Whether it has left the session: its SDK has forgotten the permission handler, and answers for the hooks."""
        self._requests = requests
        self._host = host
        self._unix_ms = unix_ms
        self._questions: _Newest[frames.Event] = _Newest()
        """The events of questions to hooks, by the ids of the questions."""
        self._pending: _Newest[_Pending] = _Newest()
        self._args: _Newest[Raw] = _Newest()
        """The arguments of calls, by the calls' ids."""
        self._named: set[str] = set()

    def note(self, event: frames.Event) -> None:
        """Keeps the arguments of a call for the hooks of its result; without a run, the result has none."""
        if event.event == "tool_call" and event.tool_id is not None and event.tool_args is not UNSET:
            self._args.put(event.tool_id, event.tool_args, len(event.tool_args))

    def begin(self, call_id: str, event: frames.Event) -> bytes:
        """Asks for a verdict on an event, also if the extension has neither a hook nor a handler for it: the SDK then
        answers that it has no opinion."""
        self.note(event)
        hooks = self.joined.hooks
        is_hook_there = hooks is None or "preToolUse" in hooks or self.has_left
        if event.event == "tool_call" and not is_hook_there and self._asks_about(event, ALLOW):
            return self._ask_permission(event, _Pending(call_id, ALLOW))
        is_told_without = event.event == "tool_result" and event.tool_args is UNSET
        if is_told_without and (args := self._args.get(event.tool_id)) is not None:
            event = replace(event, tool_args=args)
        asked = question(event, self._host, self.joined.session_id, self._unix_ms())
        hook, params = asked or (event.event, encode({"sessionId": self.joined.session_id, "hookType": event.event}))
        self._questions.put(call_id, event, len(params))
        return self._requests.send(SentRequest(Purpose.HOOK, call_id, hook), params)

    def _asks_about(self, event: frames.Event, verdict: GuardVerdict) -> bool:
        """Whether its permission handler is asked about a call that no hook decided. `verdict` is the hook's."""
        tool = self.joined.tools.get(event.tool_name or "")
        is_free = tool is not None and tool.skip_permission and verdict.kind is not VerdictKind.ASK
        return self.joined.asks_permission and not is_free

    # --- hooks --------------------------------------------------------------------------------------------

    def hook_answered(self, request: SentRequest, message: Incoming) -> Received:
        """Takes the answer to `hooks.invoke`. Never raises."""
        hook: str = request.extra
        event = self._questions.take(request.id)
        try:
            if event is None:
                raise OutputError(f"the answer for its hook {handler_of(hook)} came much too late")
            given = _output_of(hook, message)
        except OutputError as error:
            said = b"" if event is None or message.result is UNSET else bytes(message.result)
            return (_unreadable(request, str(error), said),), b""
        try:
            output = read_output(hook, given, event, self._host.cwd)
        except OutputError as error:
            return (frames.Malformed(str(error), _HOOK, request.id),), b""
        messages: list[Message] = [*output.besides, *self._remarks(hook, output)]
        verdict = output.verdict
        if event.event == "tool_call":
            judged = self._rewrite(event, verdict)
            if not output.is_decided and self._asks_about(judged, verdict):
                if self.has_left:
                    return [*messages, _answer(request.id, no_decision(verdict, HANDLER_GONE))], b""
                return messages, self._ask_permission(judged, _Pending(request.id, verdict))
        return [*messages, _answer(request.id, verdict)], b""

    def lost(self, request: SentRequest, why: str, said: bytes) -> Message:
        """Takes an unreadable answer to `hooks.invoke`. `said` has its known parts."""
        self._questions.take(request.id)
        return _unreadable(request, why, said)

    def _rewrite(self, event: frames.Event, verdict: GuardVerdict) -> frames.Event:
        """Returns the call with the changes of this extension."""
        if verdict.modified_args is None:
            return event
        event = replace(event, tool_args=Raw(verdict.modified_args))
        self.note(event)
        return event

    def _remarks(self, hook: str, output: HookOutput) -> list[Message]:
        """Returns messages about fields without an effect, each once: for the log if the SDK knows the field, else for
        the user, since it may be a guard's misspelt answer."""
        said: list[Message] = []
        for name in output.unknown:
            shown = one_line(name, SHOWN)
            if shown in self._named or len(self._named) >= NAMES_LIMIT:
                continue
            self._named.add(shown)
            text = f"{shown!r} in the output of its hook {handler_of(hook)} has no effect"
            if name in WITHOUT_EFFECT or hook not in FIELDS:
                said.append(Remarked(text))
            else:
                said.append(Warned(f"hook output {shown}", f"{text}; known are {', '.join(sorted(FIELDS[hook]))}"))
        return said

    # --- permissions --------------------------------------------------------------------------------------

    def _ask_permission(self, event: frames.Event, pending: _Pending) -> bytes:
        """Asks the permission handler."""
        if pending.verdict.kind is VerdictKind.ASK:
            asked = hook_request(event, pending.verdict.reason, self._host.cwd)
        else:
            asked = permission_request(event, self.joined, self._host.cwd)
        request_id = self._requests.next_id()
        data = encode({"requestId": request_id, "permissionRequest": asked})
        self._pending.put(request_id, pending, len(data))
        return self._requests.event("permission.requested", data)

    def permission_answered(self, params: Raw | UnsetType) -> Received:
        """Takes an answer of the permission handler: the parameters of `handlePendingPermissionRequest`. Never
        raises."""
        value = _permission_params(params)
        request_id = value.get("requestId")
        pending = self._pending.take(request_id) if isinstance(request_id, str) else None
        if pending is None:
            shown = one_line(text_of(request_id), SHOWN)
            return (Remarked(f"an answer to permission request {shown}, which is not open; ignored"),), b""
        return (_answer(pending.call_id, read_permission(value.get("result"), pending.verdict)),), b""

    def end_permissions(self, reason: str) -> list[Message]:
        """Ends all open questions to the permission handler, which will not be answered. Returns their ends."""
        return [_answer(call_id, no_decision(verdict, reason)) for call_id, verdict in self._pending.take_all()]

    def permission_lost(self, why: str, said: bytes) -> Sequence[Message]:
        """Takes an unreadable answer of the permission handler. `said` has its known parts; the id of the request is in
        its first bytes."""
        params = said.find(b'"params"')
        request_id = string_member(said[said.find(b"{", params) :], b"requestId") if params >= 0 else None
        pending = self._pending.take(request_id) if request_id is not None else None
        if pending is None:
            return (frames.Malformed(why, "answer"),)
        if _REFUSAL.search(said):
            reason = f"its permission handler refuses it; the rest of its answer cannot be read: {why}"
            return (GuardAnswer(pending.call_id, GuardVerdict(VerdictKind.DENY, reason)),)
        return (_answer(pending.call_id, no_decision(pending.verdict, why)),)


def _answer(call_id: str, verdict: GuardVerdict) -> Message:
    """Returns the verdict for the host. A missing verdict is also logged."""
    if verdict.kind is VerdictKind.NO_VERDICT:
        return frames.Malformed(verdict.reason, _PERMISSION, call_id)
    if verdict.kind is VerdictKind.ASK and not verdict.reason:
        verdict = replace(verdict, reason=ASKED)
    return GuardAnswer(call_id, verdict)


def _unreadable(request: SentRequest, why: str, said: bytes) -> Message:
    """Returns no verdict, unless the hook has denied, which counts whatever else is wrong."""
    if request.extra == "preToolUse" and _DENY.search(said):
        reason = f"its hook {handler_of('preToolUse')} denies it; the rest of its answer cannot be read: {why}"
        return GuardAnswer(request.id, GuardVerdict(VerdictKind.DENY, reason))
    return frames.Malformed(why, _HOOK, request.id)


def _permission_params(params: Raw | UnsetType) -> dict[str, Any]:
    text = b"" if params is UNSET else bytes(params)
    if len(text) > SHORT:
        text = b""
    try:
        value = read(text)[0]
    except UNREADABLE:
        return {}
    return value if isinstance(value, dict) else {}


def _output_of(hook: str, message: Incoming) -> Any:
    """Returns the output of a hook. Raises `OutputError`."""
    name = handler_of(hook)
    if message.failure:
        raise OutputError(
            f"its hook {name} was not carried out: {one_line(error_message(message.failure), REASON_LENGTH)}"
        )
    if message.result is UNSET:
        raise OutputError(f"the answer for its hook {name} has no result")
    text = bytes(message.result)
    if len(text) > SHORT and count_strings(text) > STRINGS_LIMIT:
        raise OutputError(f"the output of its hook {name} has more than {STRINGS_LIMIT} strings")
    try:
        result = read(text)[0]
    except UNREADABLE as error:
        raise OutputError(f"the output of its hook {name} cannot be read: {reason(error)}") from None
    if result is None:
        return None
    if not isinstance(result, dict):
        raise OutputError(f"the answer for its hook {name} is {kind_of(result)}, not an object")
    return result.get("output")
