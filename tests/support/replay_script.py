"""Writes cassettes for runs that have not happened: what the model says, and what it was told before.

A replayed request must equal the recorded one, so the tool results that a script names are assertions too.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from agent.cassette import CassetteRecorder
from agent.model.request import ToolSpec, blocks_from_worker, build_params
from agent.run.system_prompt import date_and_folder, system_prompt
from agent.skills.builtin_skills import builtin_skills
from agent.skills.skill import manifest
from agent.tools.catalogue import SKILL
from agent.tools.toolbox import BUILT_IN, error_result
from agent.transcript import Message, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent.transcript import Block

MODEL = "claude-sonnet-5-5"
USAGE = {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0}
Json = dict[str, Any]
ALL_TOOLS = frozenset(BUILT_IN)


def ok(text: str) -> tuple[str, bool]:
    return text, False


def error(text: str) -> tuple[str, bool]:
    return text, True


class Script:
    """The requests and replies of a run, turn by turn. `write` makes a cassette for `--replay`."""

    def __init__(
        self,
        cwd: Path,
        prompt: str = "go",
        *,
        tools: Iterable[str] = ALL_TOOLS,
        extra: Mapping[str, str] | None = None,
        home: Path | None = None,
        skills: bool = True,
    ) -> None:
        """`extra`: the tools of extensions by name, with their descriptions; their schema is `{"type": "object"}`.
        `skills`: whether those are offered that come with zot."""
        self._cwd = cwd
        self._tools = [
            ToolSpec(spec.name, spec.description, spec.input_schema) for spec in BUILT_IN.values() if spec.name in tools
        ]
        self._skills = manifest(builtin_skills())[0] if skills else ""
        if skills:
            self._tools.append(ToolSpec(SKILL.name, SKILL.description, SKILL.input_schema))
        for name, description in (extra or {}).items():
            self.offer(name, description)
        self._messages = [Message("user", (Text(prompt),), "")]
        self._exchanges: list[tuple[Json, list[Json]]] = []
        self._home = home

    def offer(self, name: str, description: str = "") -> Script:
        """Offers one more tool to the model from now on."""
        self._tools.append(ToolSpec(name, description, {"type": "object"}))
        return self

    def offer_built_in(self, *specs: ToolSpec) -> Script:
        """Offers further built-in tools to the model from now on."""
        self._tools += specs
        return self

    def answer(self, text: str, *, stop: str = "end_turn", chunks: int = 2) -> Script:
        lines = [{"type": "text_delta", "delta": piece} for piece in _pieces(text, chunks)]
        return self._reply(lines, [{"type": "text", "text": text}] if text else [], stop)

    def call(self, *calls: tuple[str, Any], results: Iterable[tuple[str, bool]] = (), text: str = "") -> Script:
        """A reply that calls tools, and what the model will be told of them. Arguments that are a string are sent as
        they are. The calls are t1, t2, … within the run."""
        lines: list[Json] = [{"type": "text_delta", "delta": text}] if text else []
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        first = sum(1 for message in self._messages for block in message.content if isinstance(block, ToolResult)) + 1
        for number, (name, args) in enumerate(calls, first):
            call_id = f"t{number}"
            written = args if isinstance(args, str) else json.dumps(args)
            lines += [
                {"type": "tool_use_start", "call_id": call_id, "name": name},
                {"type": "tool_use_args", "call_id": call_id, "delta": written},
                {"type": "tool_use_end", "call_id": call_id},
            ]
            content.append({"type": "tool_call", "id": call_id, "name": name, "args": written})
        self._reply(lines, content, "tool_use")
        told: list[Block] = []
        for number, (said, is_error) in enumerate(results, first):
            told.append(error_result(f"t{number}", said) if is_error else ToolResult(f"t{number}", (Text(said),)))
        self._messages.append(Message("tool", tuple(told), ""))
        return self

    def prompt(self, text: str) -> Script:
        """A further prompt, behind the last answer."""
        self._messages = [*self._messages, Message("user", (Text(text),), "")]
        return self

    def write(self, path: Path) -> Path:
        with CassetteRecorder(path, cwd=str(self._cwd)) as recorder:
            for params, reply in self._exchanges:
                recorder.add(params, reply)
        return path

    def fail(
        self, kind: str, message: str, *, text: str = "", call: tuple[str, str, str] | None = None, status: int | None
    ) -> Script:
        """An error of the provider; with `text` and `call` after so much of a reply. `call`: id, name, arguments."""
        lines: list[Json] = [{"type": "text_delta", "delta": text}] if text else []
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        if call is not None:
            call_id, name, args = call
            lines.append({"type": "tool_use_start", "call_id": call_id, "name": name})
            lines.append({"type": "tool_use_args", "call_id": call_id, "delta": args})
            lines.append({"type": "tool_use_end", "call_id": call_id})
            content.append({"type": "tool_call", "id": call_id, "name": name, "args": args})
        usage = {**USAGE, "output": 1} if lines else dict.fromkeys(USAGE, 0)
        start = [{"type": "message_start", "usage": usage}] if lines else []
        error = {"type": "error", "kind": kind, "status": status, "message": message, "retry_after_s": None}
        self._exchanges.append((self.params(), [*start, *lines, {**error, "content": content, "usage": usage}]))
        return self

    def params(self) -> Json:
        """The next request."""
        return build_params(
            model=MODEL,
            system=system_prompt(home=self._home, custom=None, appended=(), skills=self._skills),
            system_end=date_and_folder(_today(), str(self._cwd)),
            messages=self._messages,
            tools=self._tools,
            max_tokens=32_000,
            reasoning=None,
        )

    def _reply(self, lines: list[Json], content: list[Json], stop: str) -> Script:
        start = {"type": "message_start", "usage": {**USAGE, "output": 1}}
        final = {"type": "final", "content": content, "stop_reason": stop, "usage": USAGE}
        self._exchanges.append((self.params(), [start, *lines, final]))
        self._messages = [*self._messages, Message("assistant", blocks_from_worker(content), "")]
        return self


def _today() -> date:
    return date.today()  # noqa: DTZ011  as in the product: the user's own day


def _pieces(text: str, chunks: int) -> list[str]:
    size = max(1, -(-len(text) // chunks))
    return [text[at : at + size] for at in range(0, len(text), size)]
