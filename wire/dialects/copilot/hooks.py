"""The questions to hooks: which hook an event is for, and its input. Pure.

    tool_call       preToolUse           toolName, toolArgs
    tool_result     postToolUse          toolName, toolArgs, toolResult
                    postToolUseFailure   toolName, toolArgs, error; for a result that is an error
    user_prompt     userPromptSubmitted  prompt
    session_start   sessionStart         source, initialPrompt?
    session_end     sessionEnd           reason, finalMessage?, error?
    error           errorOccurred        error, errorContext, recoverable

Each input has `sessionId`, `timestamp` (ms since 1970) and `cwd` besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from wire.dialects.copilot.tool_names import told_args, told_name
from wire.dialects.jsonrpc import encode
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire import frames
    from wire.dialects.base import HostInfo

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
"""The hook for each event. For a `tool_result` that is an error it is `postToolUseFailure`."""
THROWN = "zotHookError"
"""The member in which our facade of the SDK says that a handler has thrown: the SDK itself hides that."""


def hook_of(event: frames.Event) -> str | None:
    """The type of the hook that is asked about an event; None if there is none.

    An extension may have only one of the two hooks for results. It is asked about the other kind of result, too: the
    SDK answers for a hook that is not there, and the host waits for an answer to each of its questions. A shell command
    that fails is a result like any other, and no error: the guide's example would end the prompt at the first one.
    """
    if event.event == "error" and event.tool_name == SHELL:
        return None
    return FAILURE if event.event == "tool_result" and event.is_error else HOOKS.get(event.event)


def handler_of(hook: str) -> str:
    """The name under which an extension registers a hook: `onPreToolUse`."""
    return f"on{hook[:1].upper()}{hook[1:]}"


def question(event: frames.Event, host: HostInfo, session_id: str, ms: int) -> tuple[str, bytes] | None:
    """The hook that is asked about an event, and the parameters of `hooks.invoke` as JSON text; None if there is no
    hook for it. A `tool_result` may have `tool_args`, those that the tool ran with."""
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
    args = {} if event.tool_args is UNSET else told_args(tool, event.tool_args, cwd)
    given = {"toolName": told_name(tool), "toolArgs": args}
    if hook == "postToolUse":
        return given | {"toolResult": told_result(event.content or ())}
    if hook == FAILURE:
        return given | {"error": text_of_result(event.content or ()) or "the tool failed"}
    return given


def _if_any(name: str, text: str | None) -> dict[str, Any]:
    return {name: text} if text else {}


def told_result(content: Sequence[frames.ContentBlock]) -> dict[str, Any]:
    """The result of a tool that has not failed, as a ToolResultObject."""
    told: dict[str, Any] = {"textResultForLlm": text_of_result(content), "resultType": "success"}
    if images := told_images(content):
        told["binaryResultsForLlm"] = images
    return told


def told_images(content: Sequence[frames.ContentBlock]) -> list[dict[str, Any]]:
    return [
        {"type": "image", "mimeType": block.mime_type or "", "data": block.data or ""}
        for block in content
        if block.type == "image"
    ]


def text_of_result(content: Sequence[frames.ContentBlock]) -> str:
    """The texts of a result, each on a line of its own."""
    return "\n".join(block.text for block in content if block.type == "text" and block.text)
