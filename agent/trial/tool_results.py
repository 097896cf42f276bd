"""Recorded results of tool calls, and which calls of a trial get them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent.transcript import Image, Text, ToolResult
from agent.trial.plan import MadeCall, RanTool, RecordedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.transcript import ToolCall
    from agent.trial.plan import TrialPlan
    from agent.trial.report import TrialReport

Json = dict[str, Any]
NOT_MADE = "not run: a trial makes no call of a built-in tool that was not made with all extensions"


class RecordedTools:
    """The calls of the last reply and their recorded results.

    An extension that is left out is represented by its recorded results. A built-in tool runs only if the run with all
    extensions has made the same call: a guard that is left out may have refused or changed it.
    """

    def __init__(self, plan: TrialPlan, report: TrialReport) -> None:
        self.report = report
        self._plan = plan
        self._names: frozenset[str] = frozenset()
        self._results: dict[str, ToolResult] = {}

    def take(self, reply: Sequence[Json], following: Json, restore: Callable[[str], str]) -> None:
        """Takes the calls of a reply, with their results in the request that follows it; an empty one if none does.
        `restore` puts this machine's values in the place of placeholders."""
        content = reply[-1].get("content") or () if reply else ()
        calls = {block["id"]: block["name"] for block in content if block.get("type") == "tool_call"}
        self._results = {
            block["tool_use_id"]: _result(block, restore)
            for message in following.get("messages") or ()
            if isinstance(message.get("content"), list)
            for block in message["content"]
            if block.get("type") == "tool_result" and block.get("tool_use_id") in calls
        }
        self._names = frozenset(name for call_id, name in calls.items() if call_id in self._results)

    def stands_for(self, name: str) -> bool:
        """Whether calls of this tool, which no extension of the trial has, get recorded results."""
        return (
            name in self._names
            and self._plan.owners.get(name, "") in ("", *self._plan.without)
            and bool(self._plan.without)
        )

    def instead_of(self, call: ToolCall, args: bytes, *, is_built_in: bool) -> ToolResult | None:
        """The result of a call that is not made; None if the call is to be made with these arguments."""
        recorded = self._results.get(call.id)
        if is_built_in:
            made = RanTool(call.name, args.decode("utf-8", "replace"))
            may_run = self._plan.ran is None or made in self._plan.ran
            if self._plan.ran is None:
                self.report.add(MadeCall(made))
            if may_run and not (self._plan.keeps_results and recorded is not None and _is_same(args, call.args)):
                return None
        if recorded is None:
            return ToolResult(call.id, (Text(NOT_MADE),), is_error=True) if is_built_in else None
        texts = tuple(part.text for part in recorded.content if isinstance(part, Text))
        self.report.add(RecordedCall(call.id, texts))
        return recorded


def _result(block: Json, restore: Callable[[str], str]) -> ToolResult:
    content = block.get("content") or ()
    parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return ToolResult(
        block["tool_use_id"],
        tuple(
            Image(part["source"].get("media_type", ""), part["source"].get("data", ""))
            if part.get("type") == "image"
            else Text(restore(str(part.get("text", ""))))
            for part in parts
        ),
        is_error=bool(block.get("is_error")),
    )


def _is_same(first: bytes, second: bytes) -> bool:
    try:
        return first == second or bool(json.loads(first) == json.loads(second))
    except ValueError:
        return False
