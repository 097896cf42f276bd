"""The files that go with a prompt: read as the model's own `read` would read them, judged by the same guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from agent.transcript import Image, Text, ToolCall, text_of
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.run.turn.tool_calls import ToolCalls
    from agent.transcript import Block

READ = "read"
OFF = "the tool read is off in this run"


def attached(files: Sequence[str], tool_calls: ToolCalls, call_ids: str) -> tuple[Block, ...]:
    """What stands behind the prompt for these files, each under its name: its text or its image, or why it is not
    there. `call_ids` is how the ids of the calls begin, which guards see."""
    names = [valid_text(name) for name in files]
    if not tool_calls.has_built_in(READ):
        return tuple(Text(f"[file {name}: not read: {OFF}]") for name in names)
    calls = [
        ToolCall(f"{call_ids}-{number}", READ, orjson.dumps({"path": name})) for number, name in enumerate(names, 1)
    ]
    parts: list[Block] = []
    for name, result in zip(names, tool_calls.run_unannounced(calls), strict=True):
        text = text_of(result.content)
        if result.is_error:
            parts.append(Text(f"[file {name}: not read: {text}]"))
            continue
        images = [part for part in result.content if isinstance(part, Image)]
        parts += [Text(f"[file {name}]\n{text}" if text or not images else f"[file {name}]"), *images]
    return tuple(parts)
