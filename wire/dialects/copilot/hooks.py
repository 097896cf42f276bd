"""Hooks: the hook for an event, its input, and the verdict in its output. Pure.

The input:

    tool_call       preToolUse           toolName, toolArgs
    tool_result     postToolUse          toolName, toolArgs, toolResult
                    postToolUseFailure   toolName, toolArgs, error; for a result that is an error
    user_prompt     userPromptSubmitted  prompt
    session_start   sessionStart         source, initialPrompt?
    session_end     sessionEnd           reason, finalMessage?, error?
    error           errorOccurred        error, errorContext, recoverable

Each input also has `sessionId`, `timestamp` (ms since 1970) and `cwd`.

The output:

    preToolUse           permissionDecision (allow, deny, ask), permissionDecisionReason, modifiedArgs,
                         additionalContext
    postToolUse          modifiedResult, additionalContext
    postToolUseFailure   additionalContext
    userPromptSubmitted  modifiedPrompt, additionalContext
    sessionStart         additionalContext
    sessionEnd           sessionSummary, cleanupActions
    errorOccurred        errorHandling (retry, skip, abort), retryCount, userNotification

All fields are optional, and null counts as missing. A faulty field makes the whole output no verdict, with two
exceptions: `deny` is a block whatever else is wrong, and so is `ask`, because the question cannot be shown as the
extension meant it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from wire import frames
from wire.dialects.copilot.tool_names import RewriteError, copilot_args, copilot_name, is_same_value, restore_args
from wire.dialects.copilot.tool_results import value_result
from wire.dialects.json_values import kind_of, text_of
from wire.dialects.jsonrpc import encode
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.text import counted, one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.dialects.base import HostInfo, Message

FAILURE = "postToolUseFailure"
SHELL = "bash"
"""The agent's tool that runs commands."""
HOOK_EVENTS = {
    "preToolUse": "tool_call",
    "postToolUse": "tool_result",
    FAILURE: "tool_result",
    "userPromptSubmitted": "user_prompt",
    "sessionStart": "session_start",
    "sessionEnd": "session_end",
    "errorOccurred": "error",
}
"""The event that each hook guards."""
HOOKS = {event: hook for hook, event in HOOK_EVENTS.items() if hook != FAILURE}
"""The hook for each event. For a `tool_result` with an error it is `postToolUseFailure`."""
THROWN = "zotHookError"
"""The member in which our facade of the SDK reports that a handler threw: the SDK itself hides it."""
FIELDS = {
    "preToolUse": {"permissionDecision", "permissionDecisionReason", "modifiedArgs", "additionalContext"},
    "postToolUse": {"modifiedResult", "additionalContext"},
    "postToolUseFailure": {"additionalContext"},
    "userPromptSubmitted": {"modifiedPrompt", "additionalContext"},
    "sessionStart": {"additionalContext"},
    "sessionEnd": {"sessionSummary", "cleanupActions"},
    "errorOccurred": {"errorHandling", "retryCount", "userNotification"},
}
"""The fields of each hook's output that have an effect."""
WITHOUT_EFFECT = frozenset({"suppressOutput", "modifiedConfig"})
"""Fields of the SDK's types that have no effect here."""
CLEANUPS = 20
"""Maximum number of cleanup actions that are shown."""
LINE_LENGTH = 1_000
"""Maximum length of a shown or logged line in characters."""
REASON_LENGTH = 500
"""Maximum length of the text of a thrown error in characters."""
QUOTED = 80
RETRIES = 1_000
"""Maximum `retryCount`; a larger number counts as this one."""

_DECISIONS = {"allow": VerdictKind.ALLOW, "deny": VerdictKind.DENY, "ask": VerdictKind.ASK}
Besides = frames.Log | frames.Notify

# --- questions -----------------------------------------------------------------------------------------------


def hook_of(event: frames.Event) -> str | None:
    """Returns the type of the hook for an event; None if there is no such hook.

    An extension may have only one of the two hooks for results. It is asked about the other kind of result, too: the
    SDK answers for a missing hook, and the host waits for an answer to each of its questions. A failing shell command
    is a normal result, not an error: otherwise the guide's example would end the prompt at the first one.
    """
    if event.event == "error" and event.tool_name == SHELL:
        return None
    return FAILURE if event.event == "tool_result" and event.is_error else HOOKS.get(event.event)


def handler_of(hook: str) -> str:
    """Returns the name under which an extension registers a hook: `onPreToolUse`."""
    return f"on{hook[:1].upper()}{hook[1:]}"


def question(event: frames.Event, host: HostInfo, session_id: str, ms: int) -> tuple[str, bytes] | None:
    """Returns the hook for an event, and the parameters of `hooks.invoke` as JSON text; None if the event has no hook.
    `tool_args` of a `tool_result` are the arguments with which the tool ran."""
    hook = hook_of(event)
    if hook is None:
        return None
    given = {"sessionId": session_id, "timestamp": ms, "cwd": valid_text(host.cwd), **_input(hook, event, host.cwd)}
    return hook, encode({"sessionId": session_id, "hookType": hook, "input": given})


def _input(hook: str, event: frames.Event, cwd: str) -> dict[str, Any]:
    match hook:
        case "userPromptSubmitted":
            return {"prompt": event.text or ""}
        case "sessionStart":
            return {"source": event.source or "startup", **_if_any("initialPrompt", event.text)}
        case "sessionEnd":
            ended = _if_any("finalMessage", event.text) | _if_any("error", event.error)
            return {"reason": event.reason or "complete", **ended}
        case "errorOccurred":
            return {
                "error": event.error or "unknown error",
                "errorContext": event.error_context or "system",
                "recoverable": bool(event.recoverable),
            }
    tool = event.tool_name or ""
    args = {} if event.tool_args is UNSET else copilot_args(tool, event.tool_args, cwd)
    given = {"toolName": copilot_name(tool), "toolArgs": args}
    if hook == "postToolUse":
        return given | {"toolResult": result_object(event.content or ())}
    if hook == FAILURE:
        return given | {"error": text_of_result(event.content or ()) or "the tool failed"}
    return given


def _if_any(name: str, text: str | None) -> dict[str, Any]:
    return {name: text} if text else {}


def result_object(content: Sequence[frames.ContentBlock]) -> dict[str, Any]:
    """Returns the result of a successful tool as a ToolResultObject."""
    told: dict[str, Any] = {"textResultForLlm": text_of_result(content), "resultType": "success"}
    if images := result_images(content):
        told["binaryResultsForLlm"] = images
    return told


def result_images(content: Sequence[frames.ContentBlock]) -> list[dict[str, Any]]:
    return [
        {"type": "image", "mimeType": block.mime_type or "", "data": block.data or ""}
        for block in content
        if block.type == "image"
    ]


def text_of_result(content: Sequence[frames.ContentBlock]) -> str:
    """Returns the texts of a result, each on its own line."""
    return "\n".join(block.text for block in content if block.type == "text" and block.text)


# --- outputs -------------------------------------------------------------------------------------------------


class OutputError(Exception):
    """An output that cannot be understood; the text names the field."""


class HookOutput(NamedTuple):
    """The verdict of a hook, and the other parts of its output."""

    verdict: GuardVerdict
    is_decided: bool = False
    """Whether preToolUse has allowed or denied the call; if not, the permission handler decides."""
    besides: tuple[Besides, ...] = ()
    """Notes to show and lines to log."""
    unknown: tuple[str, ...] = ()
    """Fields that have no effect."""


def read_output(hook: str, output: Any, event: frames.Event, cwd: str) -> HookOutput:
    """Returns the verdict on an event. `output` is the handler's return value, or None; `cwd` is the working folder.
    Raises only `OutputError`."""
    if output is None:
        return HookOutput(ALLOW)
    if not isinstance(output, dict):
        raise OutputError(f"its hook {handler_of(hook)} returned {kind_of(output)}, not an object")
    if output.get(THROWN) is not None:
        raise OutputError(f"its hook {handler_of(hook)} threw: {one_line(text_of(output[THROWN]), REASON_LENGTH)}")
    unknown = tuple(name for name in output if name not in FIELDS.get(hook, ()) and output[name] is not None)
    try:
        return _Reader(hook, output, event, cwd).read()._replace(unknown=unknown)
    except OutputError as error:
        decision = output.get("permissionDecision") if hook == "preToolUse" else None
        if decision != "ask":
            raise
        reason = _string_or_none(output.get("permissionDecisionReason"))
        said = f"{reason} ({error})" if reason else f"the extension asks for a decision, but {error}"
        return HookOutput(GuardVerdict(VerdictKind.DENY, said), is_decided=True, unknown=unknown)


def _string_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


class _Reader:
    """Reads the output of one hook. All methods may raise `OutputError`."""

    def __init__(self, hook: str, output: dict[str, Any], event: frames.Event, cwd: str) -> None:
        self._hook = hook
        self._output = output
        self._event = event
        self._cwd = cwd

    def read(self) -> HookOutput:
        match self._hook:
            case "preToolUse":
                return self._pre_tool_use()
            case "postToolUse":
                return self._post_tool_use()
            case "userPromptSubmitted":
                prompt = self._string("modifiedPrompt")
                return self._context(replace_text=None if prompt == self._event.text else prompt)
            case "sessionEnd":
                verdict = GuardVerdict(VerdictKind.ALLOW, session_summary=self._string("sessionSummary") or "")
                return HookOutput(verdict, besides=self._cleanups())
            case "errorOccurred":
                return self._error_occurred()
        return self._context()

    # --- fields -------------------------------------------------------------------------------------------

    def _string(self, name: str) -> str | None:
        """Returns a text; None for an empty or missing one."""
        value = self._output.get(name)
        if value is None or isinstance(value, str):
            return value or None
        raise self._wrong(name, value, "a string")

    def _choice(self, name: str, choices: Sequence[str]) -> Any:
        value = self._output.get(name)
        if value is None or (isinstance(value, str) and value in choices):
            return value
        shown = f'"{one_line(value, QUOTED)}"' if isinstance(value, str) else kind_of(value)
        raise OutputError(self._in_hook(f"{name} is {shown}, not {', '.join(choices[:-1])} or {choices[-1]}"))

    def _wrong(self, name: str, value: Any, wanted: str) -> OutputError:
        return OutputError(self._in_hook(f"{name} is {kind_of(value)}, not {wanted}"))

    def _in_hook(self, what: str) -> str:
        return f"in the output of its hook {handler_of(self._hook)} {what}"

    def _context(self, **outputs: Any) -> HookOutput:
        verdict = GuardVerdict(VerdictKind.ALLOW, additional_context=self._string("additionalContext") or "", **outputs)
        return HookOutput(ALLOW if verdict == ALLOW else verdict)

    # --- hooks --------------------------------------------------------------------------------------------

    def _pre_tool_use(self) -> HookOutput:
        kind = _DECISIONS.get(self._choice("permissionDecision", tuple(_DECISIONS)))
        if kind is VerdictKind.DENY:
            reason = _string_or_none(self._output.get("permissionDecisionReason"))
            return HookOutput(GuardVerdict(VerdictKind.DENY, reason or ""), is_decided=True)
        reason = self._string("permissionDecisionReason")
        read = self._context(modified_args=self._modified_args())
        if kind is VerdictKind.ASK:
            return read._replace(verdict=replace(read.verdict, kind=kind, reason=reason or ""))
        return read._replace(is_decided=kind is not None)

    def _modified_args(self) -> bytes | None:
        given = self._output.get("modifiedArgs")
        if given is None:
            return None
        before = b"{}" if self._event.tool_args is UNSET else bytes(self._event.tool_args)
        try:
            return restore_args(self._event.tool_name or "", before, given, self._cwd)
        except RewriteError as error:
            raise OutputError(self._in_hook(str(error))) from None

    def _post_tool_use(self) -> HookOutput:
        given = self._output.get("modifiedResult")
        if given is None:
            return self._context()
        modified, besides = self._modified_result(given)
        return self._context(modified_result=modified)._replace(besides=besides)

    def _error_occurred(self) -> HookOutput:
        count = self._output.get("retryCount")
        if isinstance(count, bool) or not isinstance(count, int | float | None) or count != _whole(count):
            raise self._wrong("retryCount", count, "a whole number")
        handling = self._choice("errorHandling", ("retry", "skip", "abort"))
        retries = 1 if count is None else int(max(0, min(RETRIES, count)))
        verdict = GuardVerdict(
            VerdictKind.ALLOW,
            error_handling=handling,
            retry_count=retries if handling == "retry" else 0,
            notification=self._string("userNotification") or "",
        )
        return HookOutput(verdict)

    def _cleanups(self) -> tuple[Besides, ...]:
        actions = self._output.get("cleanupActions")
        if actions is None:
            return ()
        if not isinstance(actions, list):
            raise self._wrong("cleanupActions", actions, "a list")
        for number, action in enumerate(actions):
            if not isinstance(action, str):
                raise self._wrong(f"cleanupActions[{number}]", action, "a string")
        lines = [f"cleanup: {one_line(action, LINE_LENGTH)}" for action in actions[:CLEANUPS]]
        if len(actions) > CLEANUPS:
            lines[-1] = f"cleanup: {counted(len(actions) - CLEANUPS + 1, 'more action')}"
        return tuple(each for line in lines for each in (frames.Log(line, "info"), frames.Notify("info", line)))

    # --- results ------------------------------------------------------------------------------------------

    def _modified_result(self, given: Any) -> tuple[frames.ModifiedResult | None, tuple[Besides, ...]]:
        """Returns the result that replaces the tool's, or None if it is the same; and a line for the log, if any."""
        try:
            *logged, result = value_result("", given)
        except msgspec.ValidationError as error:
            raise OutputError(self._in_hook(f"modifiedResult is not a tool result: {error}")) from None
        if not isinstance(result, frames.ToolResult):
            raise OutputError(self._in_hook(f"modifiedResult is not a tool result: {_reason(result)}"))
        besides = tuple(line for line in logged if isinstance(line, frames.Log))
        content, before = result.content or [], self._event.content or []
        if isinstance(given, dict) and self._is_unchanged(given):
            if not result.is_error:
                return None, besides
            content = list(before) or content
        return frames.ModifiedResult(content, is_error=result.is_error), besides

    def _is_unchanged(self, given: dict[str, Any]) -> bool:
        """Whether the texts and images are the same as in the tool's result."""
        before = self._event.content or []
        images = given.get("binaryResultsForLlm") or []
        return given.get("textResultForLlm") == text_of_result(before) and is_same_value(images, result_images(before))


def _reason(message: Message) -> str:
    return message.reason if isinstance(message, frames.Malformed) else ""


def _whole(count: float | None) -> float | None:
    """Returns the count rounded down; None if it is missing."""
    return count if count is None or isinstance(count, int) else float(count // 1)
