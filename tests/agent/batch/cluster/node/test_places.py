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
        ("", ""),
    ],
)
def test_paths_of_the_uploaded_folder_are_in_the_copy(there: str, here: str) -> None:
    assert PLACES.here(there) == here
    assert msgspec.structs.replace(PLACES, upload="").here(there) == there


def test_relative_paths_start_in_the_working_folder_of_the_driver() -> None:
    places = msgspec.structs.replace(PLACES, cwd="/home/me/up/sub")
    assert [places.here(path) for path in ("ext", ".", "../a", "../../other", "")] == [
        "/ray/copy/sub/ext", "/ray/copy/sub", "/ray/copy/a", "/home/me/up/sub/../../other", "",
    ]  # fmt: skip
    without = msgspec.structs.replace(places, upload="")
    assert without.here("ext") == "/home/me/up/sub/ext"
    run = RunRequest(extensions=("e",), mcp_configs=("m",), images=("i",), output_schema="s", replay="c",
                     home=Path("h"), api_key_file="k")  # fmt: skip
    assert without.request(run) == RunRequest(
        extensions=("/home/me/up/sub/e",), mcp_configs=("/home/me/up/sub/m",), images=("/home/me/up/sub/i",),
        output_schema="/home/me/up/sub/s", replay="/home/me/up/sub/c", home=Path("/home/me/up/sub/h"),
        api_key_file="/home/me/up/sub/k", cwd="/home/me/up/sub", trace=False,
    )  # fmt: skip
    assert without.request(RunRequest(output_schema=' {"type":"object"}')).output_schema == ' {"type":"object"}'


def test_paths_that_lead_into_the_uploaded_folder_by_links_are_in_the_copy() -> None:
    links = (("/link", "/home/me/up"), ("/link/deep", "/home/me/up/a/b"), ("/other", "/home/me/up/c"))
    places = msgspec.structs.replace(PLACES, links=links)
    given = ("/link", "/link/x", "/link/deep/x", "/linked", "/other/", "/home/me/up/x")
    assert [places.here(path) for path in given] == [
        "/ray/copy", "/ray/copy/x", "/ray/copy/a/b/x", "/linked", "/ray/copy/c", "/ray/copy/x",
    ]  # fmt: skip


def test_what_the_driver_says_of_trust_is_not_taken_from_a_run() -> None:
    places = msgspec.structs.replace(PLACES, trusted_content=("1 a",))
    assert places.request(RunRequest(trusted_content=("2 b",))).trusted_content == ("1 a",)
    assert PLACES.request(RunRequest(trusted_content=("2 b",))).trusted_content == ()


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
        replay="/ray/copy/c", output_schema='{"type":"object"}', api_key_file="/home/me/up/k",
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
