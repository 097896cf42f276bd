"""A headless run in this process whose spans are caught, with a scripted model and real tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agent.headless import Headless
from agent.options import Options
from tests.support.scripted_model import ScriptedModel
from tests.support.span_tree import Node, spans_of, trees
from wire.frames.trace_context import TraceContext

TASK = TraceContext("a" * 32, "b" * 16)
"""The span above the run."""


def traced_run(
    home: Path, *replies: Any, prompt: str = "go", act: Any = None, with_content: bool = False, **options: Any
) -> Node:
    """The tree of a run with these replies. `act` gets the run before it begins."""
    return traced(home, ScriptedModel(*replies), prompt=prompt, act=act, otel_content=with_content, **options)[0]


def traced(home: Path, model: Any, *, prompt: str = "go", act: Any = None, **options: Any) -> tuple[Node, list[bytes]]:
    """The tree of a run with this provider, and the lines with its spans."""
    lines: list[bytes] = []
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    with open(os.devnull, "wb") as nowhere:
        run = Headless(
            Options(
                cwd=str(folder), home=home, model="m", reply_tokens=100, system="Be brief.", trace_context=TASK,
                trace=False, keep_session=False, discover=False, **options,
            ),
            version="1",
            make_provider=lambda _loop: model,
            owns_process=False,
            stderr=nowhere.fileno(),
            send_spans=lines.append,
        )  # fmt: skip
        if act is not None:
            act(run)
        run.run(prompt)
    spans = spans_of(lines)
    assert {span["trace_id"] for span in spans} == {TASK.trace_id}
    (tree,) = trees(spans)
    (root,) = (span for span in spans if span["parent_id"] == TASK.span_id)
    assert root["name"] == tree.name
    return tree, lines
