"""The files and folders that tasks name are checked before anything starts, each of them once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.batch.request import BatchRequest
from agent.batch.tasks import check
from agent.batch.tasks.check import check_tasks
from agent.options import RunRequest
from wire.batch.task import Task


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    (tmp_path / "file").write_text("x")
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    (tmp_path / "no_schema.json").write_text('{"type": "objekt"}')
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def said(folder, run=None, batch=None, **fields):
    task = Task(id="a", prompt="x", **fields)
    request = BatchRequest(folder=folder / "out", run=RunRequest(home=folder / "home", **(run or {})), **(batch or {}))
    found = check_tasks([task], {"a": "t.jsonl:7"}, request)
    return "" if found is None else str(found).replace(f"{folder}/", "")


def test_good_tasks_pass(folder):
    path = str(folder / "file")
    schema = str(folder / "schema.json")
    assert said(folder, cwd=str(folder), files=(path,), replay=path, output_schema=schema, tools=("read", "bash")) == ""
    assert said(folder, output_schema={"type": "array"}, env={"A": "1"}, model="any-model", tools=()) == ""


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("cwd", "absent", "cwd: absent: no such file or folder"),
        ("cwd", "file", "cwd: file: not a folder"),
        ("cwd", "a\0b", r"a path cannot have a NUL character"),
        ("cwd", "~/x", "no such file or folder; ~ is no folder here: write the path out"),
        ("files", "absent", "files: absent: no such file or folder"),
        ("files", "pipe", "files: pipe: not a regular file"),
        ("files", "", "it is a folder"),
        ("replay", "absent", "replay: absent: no such file or folder"),
        ("output_schema", "absent", "output_schema: absent: no such file or folder"),
        ("output_schema", "no_schema.json", "output_schema: no_schema.json:1:2: not a JSON Schema: "),
        ("ext", "absent", "ext: absent: no such file or folder"),
        ("ext", "", "extension.json"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(folder, field, value, fault):
    path = f"{folder}/{value}"
    found = said(folder, **{field: (path,) if field in ("files", "ext") else path})
    assert found.startswith(f"t.jsonl:7: {field}: ")
    assert fault in found


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"tools": ("raed",)}, "tools: 'raed' is not one of bash, edit, read, write; did you mean 'read'?"),
        ({"output_schema": {"type": "objekt"}}, "output_schema: (the JSON)"),
        ({"setup": "a\0"}, "setup: a command cannot have a NUL character"),
        ({"env": {"": "1"}}, "env: '' cannot be the name of a variable"),
        ({"env": {"A=B": "1"}}, "env: 'A=B' cannot be the name of a variable"),
        ({"env": {"A": "\0"}}, "env: A: a value cannot have a NUL character"),
        ({"env": {"ZOT_HOST_TOKEN": "1"}}, "env: ZOT_HOST_TOKEN is set by zot itself: leave it out"),
        ({"provider": "antropic"}, "provider: 'antropic' is not one of"),
        ({"provider": "replay"}, "provider: 'replay' needs a cassette: set `replay` to its file"),
        ({"model": "odd", "max_cost_usd": 1}, "the price of the model 'odd' is unknown, so max_"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_used_are_told(folder, fields, fault):
    assert said(folder, **fields).startswith(f"t.jsonl:7: {fault}")


def test_a_cassette_and_a_provider_exclude_each_other(folder):
    found = said(folder, replay=str(folder / "file"), provider="anthropic")
    assert found == "t.jsonl:7: replay: a cassette and the provider 'anthropic' exclude each other"
    assert said(folder, replay=str(folder / "file"), provider="replay") == ""


@pytest.mark.parametrize(
    ("run", "batch"), [({}, {"max_cost_usd": 2}), ({}, {"task_max_cost_usd": 2}), ({"max_cost_usd": 2}, {})]
)
def test_every_budget_needs_a_price(folder, run, batch):
    assert "the price of the model 'odd' is unknown" in said(folder, run, batch, model="odd")
    assert "the price of the model 'odd' is unknown" in said(folder, {**run, "model": "odd"}, batch)
    assert said(folder, {**run, "model": "odd"}, batch, model="claude-opus-5") == ""
    assert said(folder, run, batch) == "", "the default model has one"


def test_a_price_in_the_users_file_counts(folder):
    (folder / "home").mkdir()
    (folder / "home" / "models.json").write_text(
        '{"providers":{"anthropic":{"models":[{"id":"odd","priceInput":1,"priceOutput":2}]}}}'
    )
    assert said(folder, model="odd", max_cost_usd=1) == ""


def test_each_path_is_looked_at_once(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(check, "_mode", lambda path: looks.append(path) or os.stat(path).st_mode)
    tasks = [Task(id=str(number), prompt="x", cwd=str(folder), files=(str(folder / "file"),)) for number in range(50)]
    assert check_tasks(tasks, {}, BatchRequest(folder=Path("out"), run=RunRequest(home=folder))) is None
    assert len(looks) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(folder):
    (folder / "file").chmod(0)
    assert said(folder, files=(f"{folder}/file",)) == "t.jsonl:7: files: file: cannot be read: Permission denied"


def test_a_missing_credential_is_told_once_and_not_of_tasks_that_bring_their_own(folder, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    request = BatchRequest(folder=folder / "out", run=RunRequest(home=folder / "home"))
    tasks = [Task(id=name, prompt="x") for name in "abc"]
    found = check_tasks(tasks, {name: f"t.jsonl:{number}" for number, name in enumerate("abc", 1)}, request)
    assert str(found).startswith("t.jsonl:1: no credential for https://api.anthropic.com: run zot login, set ANTHROPIC")
    assert (found.count, str(found).count("\n")) == (1, 0)
    assert said(folder, env={"ANTHROPIC_API_KEY": "x"}) == ""
    assert said(folder, base_url="http://127.0.0.1:9") == "", "other servers may need none"
    assert said(folder, replay=str(folder / "file")) == ""
    assert said(folder, {"api_key": "x"}) == ""
