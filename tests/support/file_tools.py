"""Calls of the file tools: what they answer, and why they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.tools import edit, write
from agent.tools.outcome import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.tools.outcome import ToolOutput


def written(directory: Path, **args: object) -> str:
    outcome = write.run(args, str(directory))
    assert not outcome.is_error
    return outcome.content[0]["text"]


def refusal(run: Callable[..., ToolOutput], directory: Path, **args: object) -> str:
    """Why a tool refuses these arguments."""
    with pytest.raises(ToolError) as caught:
        run(args, str(directory))
    return str(caught.value)


def edited(directory: Path, content: bytes, *edits: tuple[str, str]) -> tuple[bytes, str]:
    """The file's new content, and the result text."""
    (directory / "f").write_bytes(content)
    outcome = edit.run({"path": "f", "edits": [{"oldText": o, "newText": n} for o, n in edits]}, str(directory))
    assert not outcome.is_error
    return (directory / "f").read_bytes(), outcome.content[0]["text"]


def refused_edit(directory: Path, content: bytes, *edits: tuple[str, str]) -> str:
    with pytest.raises(ToolError) as caught:
        edited(directory, content, *edits)
    assert (directory / "f").read_bytes() == content
    return str(caught.value)
