"""Writes the recording of a run with two calls of the shell."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from agent.cassette import CassetteRecorder
from agent.model.request import blocks_from_worker, build_params
from agent.run.system_prompt import date_and_folder, system_prompt
from agent.transcript import Message, Text, ToolResult

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "claude-sonnet-5-5"
PROMPT = "say hello twice"
COMMANDS = ("echo hello", "echo hello again")
USAGE = {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0}


def record(path: Path, cwd: Path) -> None:
    """Writes the recording of a run in the folder `cwd`."""
    messages = [Message("user", (Text(PROMPT),), "")]
    with CassetteRecorder(str(path), cwd=str(cwd)) as recorder:
        for number, command in enumerate(COMMANDS):
            call = {"type": "tool_call", "id": f"t{number}", "name": "bash", "args": json.dumps({"command": command})}
            _exchange(recorder, messages, call, "tool_use", cwd)
            result = f"$ {command}\n\n{command.removeprefix('echo ')}\n\n[exit 0]  Took 0.0s"
            messages.append(Message("tool", (ToolResult(f"t{number}", (Text(result),)),), ""))
        _exchange(recorder, messages, {"type": "text", "text": "I have said it."}, "end_turn", cwd)


def _exchange(recorder: CassetteRecorder, messages: list[Message], block: dict[str, Any], stop: str, cwd: Path) -> None:
    params = build_params(
        model=MODEL,
        system=system_prompt(home=None, custom=None, appended=(), skills=""),
        system_end=date_and_folder(date.today(), str(cwd)),  # noqa: DTZ011  as in the product: the user's own day
        messages=messages,
        tools=(),
        max_tokens=32_000,
        reasoning=None,
    )
    final = {"type": "final", "content": [block], "stop_reason": stop, "usage": USAGE}
    recorder.add(params, [{"type": "message_start", "usage": USAGE}, final])
    messages.append(Message("assistant", blocks_from_worker([block]), ""))
