"""`zot batch --engine ray` as a command: what it refuses before anything starts, and what a retry keeps."""

from __future__ import annotations

import json

import pytest

from agent.batch.opening.settings import flags_of, request_of
from supervisor.loop.loop import Loop
from tests.cli.batch.test_command import asked
from tests.support.batch_written import WrittenBatch
from tests.support.replay_script import Script
from tests.support.zot_fork import run
from wire.batch.outcome import TaskStatus


@pytest.fixture
def tasks(zot):
    Script(zot.cwd, "go").answer("Hello.").write(zot.cwd / "c.jsonl")
    (zot.cwd / "t.jsonl").write_text(json.dumps({"id": "a", "prompt": "go", "replay": "c.jsonl"}) + "\n")
    (zot.cwd / "project").mkdir()
    return ("batch", "t.jsonl", "-o", "runs", "--no-ext")


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--address=auto",), "zot batch: --address has no effect without --engine ray: add it, or leave"),
        (("--engine=local", "--upload=."), "zot batch: --upload has no effect without --engine ray"),
        (("--engine=rya",), "Invalid value for '--engine'"),
        (("--engine=ray", "--api-key=k"), "zot batch: --engine ray: a key does not travel"),
        (("--engine=ray", "--host=."), "zot batch: --engine ray and --host exclude each other"),
        (("--engine=ray", "--batch-api"), "zot batch: --engine ray and --batch-api exclude each other"),
        (("--engine=ray", "--address=head"), "zot batch: --address head: the port is missing"),
        (("--engine=ray", "--upload=absent"), "/absent: no such folder"),
        (("--engine=ray", "--upload=t.jsonl"), "/t.jsonl: not a folder"),
        (("--engine=ray", "--upload="), "zot batch: --upload is empty"),
        (("--engine=ray", "--upload=.", "--workspace=worktree"), "zot batch: --upload and --workspace worktree"),
    ],
)
def test_flags_that_do_not_go_together_are_refused_and_nothing_starts(zot, tasks, flags, complaint):
    found = run(zot, *tasks, *flags)
    assert (found.status, found.text) == (2, "")
    assert complaint in found.stderr
    assert not (zot.cwd / "runs").exists()


def test_a_dry_run_asks_no_cluster(zot, tasks):
    flags = ("--engine=ray", "--address=127.0.0.1:1", "--upload=project", "--dry-run")
    found = run(zot, *tasks, *flags)
    assert found.status == 0, found.stderr
    assert "at a time   as many runs as the nodes allow on a cluster, which is not asked now, --workspace" in found.text
    outside = f"zot batch: 1 task (a) works outside of --upload: each node must have folder {zot.cwd}"
    assert outside in found.stderr.splitlines()
    assert run(zot, *tasks, *flags, "--json").json_lines[0]["jobs"] is None
    assert run(zot, *tasks, *flags, "--json", "-j4").json_lines[0]["jobs"] == 4
    assert not (zot.cwd / "runs").exists()


def test_the_folder_of_a_batch_keeps_its_engine_whatever_folder_it_is_resumed_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = asked("--engine", "ray", "--address", "head:6379", "--upload", "project").request
    kept = flags_of(request)
    again = request_of({"flags": json.loads(json.dumps(kept))}, request.folder)
    assert (again.engine, again.address, again.upload) == ("ray", "head:6379", f"{tmp_path}/project")
    assert {"engine", "address", "upload"}.isdisjoint(flags_of(asked().request))


def test_a_retry_has_the_engine_of_the_last_start_and_may_give_another_address(zot):
    flags = {"run": {"discover": False}, "engine": "ray", "address": "old", "upload": str(zot.cwd / "gone")}
    loop = Loop()
    written = WrittenBatch(zot.cwd / "runs", loop, "a", flags=flags)
    written.open()
    written.run("a", TaskStatus.ERROR)
    written.close()
    loop.close()
    (zot.cwd / "other").mkdir()
    journal = written.folder.journal.read_bytes()

    def retry(*words):
        found = run(zot, "batch", "retry", zot.cwd / "runs", *words, cwd=zot.cwd / "other")
        assert (found.status, written.folder.journal.read_bytes()) == (2, journal)
        return found.stderr

    assert "zot batch: --address old: the port is missing" in retry()
    assert "zot batch: --address new: the port is missing" in retry("--address", "new")
    assert f"zot batch: --upload {zot.cwd}/gone: no such folder" in retry("--address", "new:6379")
    assert "zot batch: --engine ray: a key does not travel" in retry("--address", "new:6379", "--api-key", "k")
