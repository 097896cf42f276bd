"""Changes of a task that change its digest, and changes that do not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from msgspec.structs import replace

from agent.batch.request import BatchRequest
from agent.batch.tasks import digest
from agent.batch.tasks.digest import BATCH_FIELDS, NOT_COUNTED, OVERRIDES, RUN_FIELDS, Digests
from agent.options import RunRequest
from wire.batch.task import Task

TASK = Task(id="a", prompt="x", env={"A": "1", "B": "2"}, meta={"p": 1, "q": 2})


def request(run=None, **changes):
    return BatchRequest(folder=Path("out"), run=run or RunRequest(), **changes)


def digest_of(task, **flags):
    return Digests(request(RunRequest(**flags))).of(task)


def test_it_stays_with_the_same_task_in_another_order_of_keys():
    again = replace(TASK, env={"B": "2", "A": "1"}, meta={"q": 2, "p": 1})
    assert digest_of(TASK) == digest_of(again)
    assert len(digest_of(TASK)) == 32


@pytest.mark.parametrize(
    "change", [{"prompt": "y"}, {"env": {"A": "1"}}, {"meta": {}}, {"tools": ()}, {"check": "true"}]
)
def test_any_field_changes_it(change):
    assert digest_of(replace(TASK, **change)) != digest_of(TASK)


@pytest.mark.parametrize("field", ["files", "replay", "output_schema"])
def test_the_content_of_a_file_changes_it(tmp_path, field):
    path = tmp_path / "f"
    task = replace(TASK, **{field: (str(path),) if field == "files" else str(path)})
    missing = digest_of(task)
    path.write_text("one")
    first = digest_of(task)
    os.utime(path, (1, 1))
    assert digest_of(task) == first, "the time does not"
    path.write_text("two")
    assert len({missing, first, digest_of(task)}) == 3


def test_a_file_is_read_once_while_it_stays(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("one")
    reads = []

    def counted(file, *given):
        reads.append(file.name)
        return hashlib.file_digest(file, *given)

    monkeypatch.setattr(digest, "hashlib", SimpleNamespace(sha256=hashlib.sha256, file_digest=counted))
    digests, task = Digests(request()), replace(TASK, files=(str(path), str(path)))
    assert digests.of(task) == digests.of(task)
    assert len(reads) == 1
    path.write_text("other")
    digests.of(task)
    assert len(reads) == 2


def test_what_is_no_file_has_a_digest_too(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert digest_of(replace(TASK, files=(str(tmp_path), str(tmp_path / "pipe"), "a\0b"))) != digest_of(TASK)


def test_a_flag_changes_it_unless_the_task_says_otherwise():
    assert digest_of(TASK, model="m") != digest_of(TASK)
    own = replace(TASK, model="mine")
    assert digest_of(own, model="m") == digest_of(own)
    assert digest_of(own, max_steps=3) != digest_of(own)


def test_the_key_and_what_is_kept_do_not_count():
    assert digest_of(TASK, api_key="sk-1", stats="s", keep_session=False) == digest_of(TASK)
    assert Digests(request(jobs=3, retries=9, max_cost_usd=1)).settings == Digests(request()).settings


def test_the_settings_have_a_digest_of_their_own(tmp_path):
    schema = tmp_path / "s.json"
    schema.write_text("{}")
    run = RunRequest(output_schema=str(schema))
    first = Digests(request(run)).settings
    schema.write_text('{"type":"object"}')
    assert Digests(request(run)).settings != first
    assert Digests(request(run, workspace="copy")).settings != Digests(request(run)).settings


def test_a_flag_that_is_not_given_leaves_digests_as_they_were():
    for flag in ("allow_asked", "copilot"):
        assert Digests(request(RunRequest(**{flag: True}))).settings != Digests(request(RunRequest())).settings
        assert flag not in RUN_FIELDS


def test_each_flag_of_a_run_counts_or_is_known_not_to():
    later = {"allow_asked", "copilot", "mcp_configs"}
    assert {*RUN_FIELDS, *NOT_COUNTED} | later == set(RunRequest.__struct_fields__)
    assert set(BATCH_FIELDS) < set(BatchRequest.__struct_fields__)
    assert set(OVERRIDES) < set(Task.__struct_fields__)
    assert {flag for flags in OVERRIDES.values() for flag in flags} <= {*RUN_FIELDS, *BATCH_FIELDS}


def test_the_values_of_variables_are_not_in_it():
    task = replace(TASK, env={"TOKEN": "secret-value"})
    assert "secret" not in digest_of(task)
    assert msgspec.json.encode(digest_of(task)).isascii()


def test_where_the_processes_of_extensions_are_changes_nothing():
    plain = digest_of(TASK)
    assert digest_of(TASK, host=".", host_version=True, is_host_of_batch=True) == plain
    assert Digests(request(share=("one",))).of(TASK) == plain
    assert Digests(request(share=("one",))).settings == Digests(request()).settings


def test_another_score_command_changes_no_run():
    assert digest_of(replace(TASK, score="true")) == digest_of(TASK)
    assert Digests(request(score="true")).of(TASK) == digest_of(TASK)
    assert digest_of(replace(TASK, check="true")) != digest_of(TASK)
