"""The first frame for a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from agent.batch.cluster.set_up import set_up
from agent.batch.request import BatchRequest
from agent.batch.run.begin import decode_request
from agent.options import RunRequest
from wire.batch.link import WorktreeBase
from wire.batch.node_frames import ExtensionFact, FolderExtensions, SetUp
from wire.batch.task import Task

FACTS = FolderExtensions("/here", (), (ExtensionFact("a", "hash", ""),))


def made(*tasks: Task, run: dict[str, Any] | None = None, **given: Any) -> SetUp:
    request = BatchRequest(folder=Path("/runs"), run=RunRequest(**{"cwd": "/here", **(run or {})}), **given)
    base = WorktreeBase("/here", "c0ffee", "/here/.git")
    return set_up(request, tasks, version="1", token="t", bases=[base], extensions=[FACTS])


def test_all_folders_and_files_are_named_once() -> None:
    schema = {"type": "object"}
    frame = made(
        Task(id="a", prompt="go", files=("/f/1",), replay="/f/c", ext=("/e",)),
        Task(id="b", prompt="go", cwd="/there", files=("/f/1",), output_schema=schema),
        Task(id="c", prompt="go", cwd="/there", output_schema="/f/schema"),
        run={
            "extensions": ("/x",), "mcp_configs": ("/f/mcp",), "api_key_file": "/f/key",
            "output_schema": ' {"type":"object"}',
        },
        upload="/here/", share=("x",), run_memory=7,
    )  # fmt: skip
    assert frame.folders == ("/e", "/here", "/there", "/x")
    assert frame.files == ("/f/1", "/f/c", "/f/mcp", "/f/schema")
    assert (frame.repositories, frame.extensions) == ((("/here", "c0ffee"),), (FACTS,))
    assert (frame.upload, frame.share, frame.run_memory, frame.token) == ("/here", ("x",), 7, "t")


def test_a_folder_that_no_task_uses_is_not_needed() -> None:
    assert made(Task(id="a", prompt="go", cwd="/there", ext=()), run={"extensions": ("/x",)}).folders == ("/there",)
    assert made(Task(id="a", prompt="go")).folders == ("/here",)


def test_each_model_that_is_asked_is_named_once_without_values_of_variables() -> None:
    task = Task(id="a", prompt="long", env={"TOKEN": "secret"}, provider="p", meta={"x": 1})
    tasks = (task, replace(task, id="b", prompt="other"), replace(task, id="c", replay="/c"), replace(task, model="m"))
    assert made(*tasks).models == (
        Task(id="a", prompt="-", env={"TOKEN": ""}, provider="p"),
        Task(id="a", prompt="-", env={"TOKEN": ""}, provider="p", model="m"),
    )
    assert made(task, run={"replay": "/c"}).models == ()
    assert made(task, max_cost_usd=2.0).models[0].max_cost_usd == 2.0
    assert made(replace(task, max_cost_usd=1.0), max_cost_usd=2.0).models[0].max_cost_usd == 1.0


def test_links_that_lead_into_the_uploaded_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "up" / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "alias").symlink_to("up")
    (tmp_path / "up" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "deep").symlink_to("up/sub")
    tasks = [
        Task(id="a", prompt="x", cwd=f"{tmp_path}/alias", files=(f"{tmp_path}/deep/f",)),
        Task(id="b", prompt="x", cwd=f"{tmp_path}/up/out"), Task(id="c", prompt="x", cwd=f"{tmp_path}/up/sub"),
    ]  # fmt: skip
    frame = made(*tasks, upload=f"{tmp_path}/alias")
    assert frame.upload == f"{tmp_path}/up"
    assert frame.links == (
        (f"{tmp_path}/alias", f"{tmp_path}/up"),
        (f"{tmp_path}/deep", f"{tmp_path}/up/sub"),
    )
    assert made(*tasks).links == ()


def test_the_flags_are_those_of_every_run() -> None:
    run = decode_request(Raw(made(run={"model": "m", "batch_trace": None}).request))
    assert (run.model, run.cwd, run.trace) == ("m", "/here", False)


def test_a_key_does_not_travel() -> None:
    with pytest.raises(AssertionError, match="a key stays on its machine"):
        made(run={"api_key": "secret"})
