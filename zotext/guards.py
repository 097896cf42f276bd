"""Asks the guards of one point in order. The first block wins; each guard sees the changes of earlier ones."""

from __future__ import annotations

import json

from .coroutines import finish
from .errors import Cancelled, describe, print_traceback
from .events import AgentStart, AssistantMessage, ToolCall, ToolResult, TurnStart, UserPrompt
from .verdicts import AddContext, Allow, Ask, Block, ReplaceResult, ReplaceText, RewriteArgs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

SUBJECTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "tool_call": ToolCall,
    "turn_start": TurnStart,
    "assistant_message": AssistantMessage,
    "user_prompt": UserPrompt,
    "tool_result": ToolResult,
    "before_agent_start": AgentStart,
}
REWRITES: dict[str, type | None] = {
    "tool_call": RewriteArgs,
    "turn_start": None,
    "assistant_message": ReplaceText,
    "user_prompt": ReplaceText,
    "tool_result": ReplaceResult,
}
EXPLAINABLE = frozenset({"tool_call", "user_prompt", "tool_result"})
"""Points at which a guard may add context for the model."""
ASKED = "a person has to decide, and this host cannot ask one"
"""The reason of a block if the host knows no questions: it would read a question as an allow."""


class Guard:
    """One handler of one point. With `tools`, it is asked only about tools with these names."""

    def __init__(self, handler: Callable[[Any], object], tools: Collection[str] | None) -> None:
        self.handler = handler
        self.tools = None if tools is None else frozenset(tools)  # a generator would be empty the second time
        self.name = getattr(handler, "__name__", type(handler).__name__)


def judge(guards: list[Guard], frame: dict[str, Any], *, can_ask: bool = True) -> dict[str, Any]:
    """Returns the members of the answer frame; none means allow. `can_ask`: the host knows questions for a person. A
    guard that raises, or returns something other than a verdict for this point, blocks: nothing passes unjudged."""
    point = str(frame.get("event"))
    answer: dict[str, Any] = {}
    for guard in guards:
        if guard.tools is not None and frame.get("tool_name") not in guard.tools:
            continue
        try:
            verdict = finish(guard.handler(SUBJECTS[point](frame)))
            rewrite = REWRITES[point]
            if verdict is None or isinstance(verdict, Allow):
                continue
            if isinstance(verdict, Block):
                return {"block": True, "reason": verdict.reason} if verdict.reason else {"block": True}
            if isinstance(verdict, Ask) and not can_ask:
                return {"block": True, "reason": verdict.reason or ASKED}
            if isinstance(verdict, Ask) or (isinstance(verdict, AddContext) and point in EXPLAINABLE):
                answer = _added(answer, verdict)
                continue
            if rewrite is None or not isinstance(verdict, rewrite):
                raise TypeError(f"{verdict!r} is no verdict on a {point}; return None, block(...){_or(rewrite)}")
            changed = _members(verdict)
            json.dumps(changed, allow_nan=False)  # raises here, where a failure blocks, if JSON cannot hold it
        except BaseException as error:
            if not isinstance(error, Cancelled):
                print_traceback(f"guard {guard.name!r} of {point}", error)
            return {"block": True, "reason": f"guard {guard.name!r} failed: {describe(error)}"}
        answer.update(changed)
        frame = {**frame, **_seen_by_the_next(changed)}
    return answer


def change_system_prompt(guards: list[Guard], frame: dict[str, Any]) -> dict[str, Any]:
    """Returns the new system prompt, if a guard has one. A guard that fails changes nothing; the answer names it."""
    answer: dict[str, Any] = {}
    for guard in guards:
        try:
            said = finish(guard.handler(AgentStart({**frame, **answer})))
            if not isinstance(said, (str, type(None))):
                raise TypeError(f"{said!r} is no system prompt; return a str, or None to keep it")
        except BaseException as error:
            if not isinstance(error, Cancelled):
                print_traceback(f"guard {guard.name!r} of before_agent_start", error)
            answer["reason"] = f"guard {guard.name!r} failed: {describe(error)}"
            continue
        if said is not None:
            answer["system_prompt"] = said
    return answer


def _added(answer: dict[str, Any], verdict: Ask | AddContext) -> dict[str, Any]:
    """Returns the answer with one more verdict, which changes nothing for the next guard. The first question counts."""
    if isinstance(verdict, Ask):
        return {"reason": verdict.reason, **answer, "ask": True}
    texts = (answer.get("additional_context"), verdict.text)
    return {**answer, "additional_context": "\n\n".join(text for text in texts if text)}


def _members(verdict: object) -> dict[str, Any]:
    if isinstance(verdict, RewriteArgs):
        return {"modified_args": verdict.args}
    if isinstance(verdict, ReplaceText):
        return {"replace_text": verdict.text}
    assert isinstance(verdict, ReplaceResult)
    changed: dict[str, Any] = {"content": [block.as_json() for block in verdict.content]}
    if verdict.is_error is not None:
        changed["is_error"] = verdict.is_error
    return {"modified_result": changed}


def _seen_by_the_next(changed: dict[str, Any]) -> dict[str, Any]:
    if "modified_args" in changed:
        return {"tool_args": changed["modified_args"]}
    if "replace_text" in changed:
        return {"text": changed["replace_text"]}
    return dict(changed["modified_result"])


def _or(rewrite: type | None) -> str:
    words = {RewriteArgs: "rewrite_args", ReplaceText: "replace_text", ReplaceResult: "replace_result"}
    return f" or {words[rewrite]}(...)" if rewrite is not None else ""
