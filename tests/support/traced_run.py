"""A headless run in this process whose spans are caught, with a scripted model and real tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent.headless import Headless
from agent.options import Options
from tests.support.scripted_model import ScriptedModel
from tests.support.span_tree import Node, spans_of, trees
from wire.trace_context import TraceContext

if TYPE_CHECKING:
    from pathlib import Path

TASK = TraceContext("a" * 32, "b" * 16)
"""The span above the run."""


def traced_run(home: Path, *replies: Any, **options: Any) -> Node:
    """The tree of a run with these replies."""
    return traced(home, ScriptedModel(*replies), **options)[0]


def traced(home: Path, model: Any, **options: Any) -> tuple[Node, list[bytes]]:
    """The tree of a run with this provider, and the lines with its spans. `options`: as with `caught`."""
    lines = caught(home, model, **options)
    spans = spans_of(lines)
    assert {span["trace_id"] for span in spans} == {TASK.trace_id}
    (tree,) = trees(spans)
    (root,) = (span for span in spans if span["parent_id"] == TASK.span_id)
    assert root["name"] == tree.name
    return tree, lines


def caught(
    home: Path, model: Any, *, prompt: str = "go", context: TraceContext = TASK, act: Any = None, **options: Any
) -> list[bytes]:
    """The lines with the spans of a run with this provider, below `context`. `act` gets the run before it begins, and
    returns its `on_result`."""
    lines: list[bytes] = []
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    with open(os.devnull, "wb") as nowhere:
        run = Headless(
            Options(
                cwd=str(folder), home=home, model="m", reply_tokens=100, system="Be brief.", trace_context=context,
                trace=False, keep_session=False, discover=False, **options,
            ),
            version="1",
            make_provider=lambda _loop: model,
            owns_process=False,
            stderr=nowhere.fileno(),
            send_spans=lines.append,
        )  # fmt: skip
        run.run(prompt, on_result=None if act is None else act(run))
    return lines
