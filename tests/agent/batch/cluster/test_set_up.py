"""The first frame for a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agent.batch.cluster.set_up import set_up
from agent.batch.request import BatchRequest
from agent.batch.run.begin import decode_request
from agent.options import RunRequest
from wire.batch.link import WorktreeBase
from wire.batch.node_frames import ExtensionFact, SetUp
from wire.batch.task import Task

FACT = ExtensionFact("a", "hash", "")


def made(*tasks: Task, run: dict[str, Any] | None = None, **given: Any) -> SetUp:
    request = BatchRequest(folder=Path("/runs"), run=RunRequest(**{"cwd": "/here", **(run or {})}), **given)
    base = WorktreeBase("/here", "c0ffee", "/here/.git")
    return set_up(request, tasks, version="1", token="t", bases=[base], extensions=[FACT])


def test_all_folders_and_files_are_named_once() -> None:
    schema = {"type": "object"}
    frame = made(
        Task(id="a", prompt="go", files=("/f/1",), replay="/f/c", ext=("/e",)),
        Task(id="b", prompt="go", cwd="/there", files=("/f/1",), output_schema=schema),
        Task(id="c", prompt="go", cwd="/there", output_schema="/f/schema"),
        run={"mcp_configs": ("/f/mcp",), "api_key_file": "/f/key", "output_schema": ' {"type":"object"}'},
        upload="/here", share=("x",), run_memory=7,
    )  # fmt: skip
    assert frame.folders == ("/e", "/here", "/there")
    assert frame.files == ("/f/1", "/f/c", "/f/key", "/f/mcp", "/f/schema")
    assert (frame.repositories, frame.extensions) == ((("/here", "c0ffee"),), (FACT,))
    assert (frame.upload, frame.share, frame.run_memory, frame.token) == ("/here", ("x",), 7, "t")


def test_the_flags_are_those_of_every_run() -> None:
    run = decode_request(Raw(made(run={"model": "m", "batch_trace": None}).request))
    assert (run.model, run.cwd, run.trace) == ("m", "/here", False)


def test_a_key_does_not_travel() -> None:
    with pytest.raises(AssertionError, match="a key stays on its machine"):
        made(run={"api_key": "secret"})
