"""Scripts for `zot ext test`, and the frames that they are made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PATIENT = {"hello": 20.0, "ready": 20.0}
"""Timeouts for a loaded machine."""
CALL = {"type": "tool_call", "id": "1", "name": "echo", "args": {"text": "hi"}}
RESULT = {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "hi"}]}


def write_script(path: Path, *steps: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return path
