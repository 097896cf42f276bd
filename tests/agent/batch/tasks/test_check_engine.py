"""Flags that do not go together with `--engine` are refused by name, and tasks outside of `--upload` are told."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.request import BatchRequest
from agent.batch.tasks.check import check_tasks
from agent.batch.tasks.check_engine import check_engine, outside_upload
from agent.options import RunRequest
from agent.request_checks import UsageError
from tests.support.batch_journal import tasks
from wire.batch.task import Task
from wire.text import printable


def request(folder, run=None, **fields):
    given = {"engine": "ray", **fields}
    return BatchRequest(folder=folder / "out", run=RunRequest(home=folder / "home", **(run or {})), **given)


def fault(folder, run=None, **fields):
    with pytest.raises(UsageError) as raised:
        check_engine(request(folder, run, **fields))
    return str(raised.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_batch_without_further_flags_is_fine_on_both_engines(tmp_path, engine):
    check_engine(request(tmp_path, engine=engine))


@pytest.mark.parametrize(("name", "flag"), [("address", "--address"), ("upload", "--upload")])
@pytest.mark.parametrize("value", ["x", ""])
def test_flags_of_a_cluster_without_one_are_refused(tmp_path, name, flag, value):
    found = fault(tmp_path, engine="local", **{name: value})
    assert found == f"{flag} has no effect without --engine ray: add it, or leave {flag} out"


def test_flags_that_mean_nothing_on_other_machines_are_refused(tmp_path):
    key = fault(tmp_path, {"api_key": "sk-secret"})
    assert key.startswith("--engine ray: a key does not travel")
    assert "ANTHROPIC_API_KEY" in key
    assert "--api-key-file with a path that each node has" in key
    assert "sk-secret" not in key
    assert fault(tmp_path, {"host": "."}).startswith("--engine ray and --host exclude each other: ")
    assert fault(tmp_path, batch_api=True).startswith("--engine ray and --batch-api exclude each other: ")
    check_engine(request(tmp_path, {"api_key_file": "/etc/key"}, share=("web",), workspace="worktree", jobs=40))


@pytest.mark.parametrize(
    "address",
    ["auto", "10.0.0.5:6379", "head.example.org:6379", "ray://head:10001", "ray://[fd00::1]:10001", "[::1]:6379"],
)
def test_addresses_of_clusters_are_taken(tmp_path, address):
    check_engine(request(tmp_path, address=address))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "--address is empty: give ray://HOST:PORT or HOST:PORT, or leave it out"),
        (" ", "--address is empty"),
        ("local", "would be a cluster of this machine alone: leave --engine ray out"),
        ("head", "--address head: the port is missing; Ray's own is 6379: head:6379"),
        ("ray://head", "--address ray://head: the port is missing; Ray's own is 10001: ray://head:10001"),
        ("http://head:8265", "the dashboard of a cluster takes no tasks: give HOST:6379, the port of ray start"),
        ("head:0", "--address head:0: a port is a number from 1 to 65535"),
        ("head:65536", "a port is a number from 1 to 65535"),
        ("ray://me:secret@head:10001", "no address of a cluster: give ray://HOST:PORT, HOST:PORT or auto"),
        ("redis://head:6379", "no address of a cluster"),
        ("head:6379 --x", "no address of a cluster"),
        ("head\x1b[2J:6379", "no address of a cluster"),
        ("fd00::1:6379", "no address of a cluster"),
    ],
)
def test_what_is_no_address_is_refused_with_one_that_is(tmp_path, address, why):
    found = fault(tmp_path, address=address)
    assert why in found
    assert "\x1b" not in found


@given(st.text(max_size=40))
def test_any_address_is_taken_or_refused_in_one_line(tmp_path_factory, address):
    try:
        check_engine(request(tmp_path_factory.getbasetemp(), address=address))
        refused = ""
    except UsageError as error:
        refused = str(error)
    assert refused == printable(refused).replace("\n", " ")
    assert len(refused) < 260
    assert refused or address == "auto" or address.rpartition(":")[2].isdecimal()


def test_a_folder_to_upload_is_one_that_can_be_read(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "closed").mkdir(mode=0o300)
    upload = f"{tmp_path}/"
    assert fault(tmp_path, upload="").startswith("--upload is empty: name the folder")
    assert fault(tmp_path, upload=upload + "absent") == "--upload absent: no such folder"
    assert fault(tmp_path, upload=upload + "file") == "--upload file: not a folder"
    assert fault(tmp_path, upload=upload + "file/x") == "--upload file/x: Not a directory"
    assert "embedded null" in fault(tmp_path, upload="a\0b")
    if os.geteuid():
        assert fault(tmp_path, upload=upload + "closed") == "--upload closed: Permission denied"
    check_engine(request(tmp_path, upload=upload, workspace="copy"))


def test_copies_have_no_worktrees(tmp_path):
    found = fault(tmp_path, upload=str(tmp_path), workspace="worktree")
    assert found.startswith("--upload and --workspace worktree exclude each other: ")
    assert found.endswith("--workspace copy makes a diff of each task, too")
    check_engine(request(tmp_path, workspace="worktree"))


def test_tasks_outside_of_the_folder_are_told_with_their_folders(tmp_path, monkeypatch):
    for name in ("project/sub", "project-b", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "alias").symlink_to(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    asked = request(tmp_path, upload=str(tmp_path / "project"))

    def told(*folders):
        paths = [None if folder is None else f"{tmp_path}/{folder}" for folder in folders]
        made = [Task(id=f"t{at}", prompt="x", cwd=path) for at, path in enumerate(paths)]
        return outside_upload(asked, made).replace(f"{tmp_path}/", "")

    assert told(None, "project", "project/sub", "alias/sub") == ""
    one = told(None, "project-b")
    assert one == "1 task (t1) works outside of --upload: each node must have folder project-b"
    several = told("project/link", "elsewhere", "project-b", "project-b", "project")
    assert several.startswith("4 tasks (t0, t1, t2 and 1 more) work outside of --upload: each node must have folders ")
    assert outside_upload(request(tmp_path), tasks("a")) == ""


def test_without_a_credential_here_tasks_go_to_nodes_that_have_one(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    given = tasks("a")
    assert "no credential for" in str(check_tasks(given, {}, request(tmp_path, engine="local")))
    assert check_tasks(given, {}, request(tmp_path)) is None


def test_the_guide_has_the_sentences_that_are_said(tmp_path):
    guide = (Path(__file__).parents[4] / "docs" / "clusters.md").read_text()
    refused = guide.partition("## What is refused")[2].partition("| no Ray here")[0]
    sentences = re.findall(r"^\| .* \| `(--.*?)`.* \|$", refused, re.MULTILINE)
    faults = [
        fault(tmp_path, engine="local", address="auto"),
        fault(tmp_path, {"api_key": "k"}),
        fault(tmp_path, {"host": "."}),
        fault(tmp_path, batch_api=True),
        *(fault(tmp_path, address=address) for address in ("head", "http://head:8265", "x y")),
        fault(tmp_path, upload=f"{tmp_path}/DIR"),
        fault(tmp_path, upload=str(tmp_path), workspace="worktree"),
    ]
    assert len(sentences) == len(faults)
    for said in sentences:
        pattern = ".*".join(map(re.escape, said.split("…")))
        assert any(re.fullmatch(pattern, one) for one in faults), said
