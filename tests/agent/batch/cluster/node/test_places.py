"""Where the paths of the driver are at a node."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agent.batch.cluster.node.places import Places
from agent.batch.run.begin import decode_request, encode_request
from agent.options import RunRequest
from wire.batch.link import Begin, WorktreeBase
from wire.batch.task import Task, decode_task, encode_task

PLACES = Places(upload="/home/me/up", copy="/ray/copy", standin="/tmp/zot-node-1")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("/home/me/up", "/ray/copy"),
        ("/home/me/up/", "/ray/copy"),
        ("/home/me/up/a/b", "/ray/copy/a/b"),
        ("/home/me/up/a/../b", "/ray/copy/b"),
        ("/home/me/upper", "/home/me/upper"),
        ("/home/me/up/../other", "/home/me/up/../other"),
        ("/home/me", "/home/me"),
        ("relative/up", "relative/up"),
        ("", ""),
    ],
)
def test_paths_of_the_uploaded_folder_are_in_the_copy(there: str, here: str) -> None:
    assert PLACES.here(there) == here
    assert msgspec.structs.replace(PLACES, upload="").here(there) == there


def adapted(task: Task, run: RunRequest, *, host: str = "", **begin: object) -> tuple[Begin, Task, RunRequest]:
    order = Begin(
        task=msgspec.Raw(encode_task(task).rstrip(b"\n")), attempt=2, run="5-2", request=encode_request(run),
        token="driver.5", version="1", **begin,  # type: ignore[arg-type]
    )  # fmt: skip
    made = PLACES.begin(order, "driver.node")
    if host:
        made = PLACES.with_host(made, host)
    return made, decode_task(bytes(made.task)), decode_request(made.request)


def test_all_that_a_run_names_is_at_its_place_at_the_node() -> None:
    task = Task(
        id="a", prompt="see /home/me/up/x", cwd="/home/me/up/p", files=("/home/me/up/f", "/data/f"),
        ext=("/home/me/up/e",),
        replay="/home/me/up/c", output_schema="/home/me/up/s.json", check="cat /home/me/up/x", env={"A": "/home/me/up"},
    )  # fmt: skip
    run = RunRequest(
        cwd="/home/me/up", extensions=("/home/me/up/e", "/opt/e"), mcp_configs=("/home/me/up/m",),
        images=("/home/me/up/i",),
        replay="/home/me/up/c", output_schema='{"type":"object"}', api_key_file="/home/me/up/k",
        home=Path("/home/me/up/home"), batch_trace="/rundir/t", batch_alerts="/rundir/a", system_prompt="/home/me/up",
    )  # fmt: skip
    made, task, run = adapted(task, run, workspace="/rundir/workspaces/a-1", prefix=("box", "{workspace}"))
    assert task == Task(
        id="a", prompt="see /home/me/up/x", cwd="/ray/copy/p", files=("/ray/copy/f", "/data/f"),
        ext=("/ray/copy/e",),
        replay="/ray/copy/c", output_schema="/ray/copy/s.json", check="cat /home/me/up/x", env={"A": "/home/me/up"},
    )  # fmt: skip
    assert run == RunRequest(
        cwd="/ray/copy", extensions=("/ray/copy/e", "/opt/e"), mcp_configs=("/ray/copy/m",),
        images=("/ray/copy/i",),
        replay="/ray/copy/c", output_schema='{"type":"object"}', api_key_file="/ray/copy/k",
        home=Path("/ray/copy/home"),
        system_prompt="/home/me/up", trace=False,
    )  # fmt: skip
    assert made.workspace == "/tmp/zot-node-1/workspaces/a-1"
    assert (made.run, made.attempt, made.token, made.prefix) == ("5-2", 2, "driver.node.5", ("box", "{workspace}"))


def test_a_home_that_is_not_given_is_that_of_the_node() -> None:
    assert adapted(Task(id="a", prompt="x"), RunRequest())[2].home is None


def test_runs_use_the_host_of_the_node_if_there_is_one() -> None:
    run = adapted(Task(id="a", prompt="x"), RunRequest(), host="/run/1.batch.attach")[2]
    assert (run.host, run.is_host_of_batch) == ("/run/1.batch.attach", True)
    run = adapted(Task(id="a", prompt="x"), RunRequest())[2]
    assert (run.host, run.is_host_of_batch) == (None, False)


def test_worktrees_are_of_the_repository_at_the_node() -> None:
    base = WorktreeBase("/home/me/up", "abc", "/home/me/up/.git")
    made, _task, _run = adapted(Task(id="a", prompt="x"), RunRequest(), base=base, workspace="/rundir/workspaces/a")
    assert made.base == WorktreeBase("/ray/copy", "abc", "/ray/copy/.git")
