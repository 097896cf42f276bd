"""A RUNDIR with links, pipes and other things for its own names: each command refuses the name, and reads nothing of
what is behind it."""

from __future__ import annotations

import json
import os

import pytest
from typer import Context

from agent.batch.journal.folder import BatchFile
from agent.batch.opening.settings import FLAGS
from cli.batch import BatchGroup
from cli.batch.completion import task_ids
from supervisor.loop.loop import Loop
from tests.support.batch_journal import BEGAN, outcome, run_folder, tasks
from tests.support.zot_fork import run
from wire import events
from wire.batch.outcome import TaskStatus

SECRET = "the-secret-of-another-folder"
ROOT = ("batch.json", "tasks.jsonl", "journal.jsonl")
EVENTS, STDERR, DIFF = "runs/one/1.events.jsonl", "runs/one/1.stderr", "diffs/one.diff"
BEGINS = (*ROOT, "journal.lock", "results.jsonl", "batch.log", "runs", "diffs", "workspaces")
READS = {
    ("status",): (*ROOT, "journal.lock"),
    ("results",): ROOT,
    ("logs", "one"): (*ROOT[:2], EVENTS, "runs/one", "runs"),
    ("logs", "one", "--stderr"): (STDERR,),
    ("retry",): BEGINS,
}
"""The files that each command opens."""
FOLDERS = ("runs", "runs/one", "diffs", "workspaces")


@pytest.fixture
def prepared(zot):
    """One task that has failed, with all files that it can have."""
    loop = Loop()
    found = run_folder(zot.cwd / "runs", loop, tasks("one"), outcome("one", status=TaskStatus.ERROR, diff=DIFF))
    loop.close()
    found.write_batch(BatchFile(version="1", created=BEGAN, tasks=1, settings={FLAGS: {"run": {"provider": "ollama"}}}))
    for folder in FOLDERS:
        (found.path / folder).mkdir()
    for name in (EVENTS, STDERR, DIFF):
        (found.path / name).write_bytes(events.encode(events.Done()))
    (zot.cwd / "elsewhere").mkdir()
    (zot.cwd / "elsewhere" / "file").write_text(f"{SECRET}\n")
    (zot.cwd / "elsewhere" / "1.events.jsonl").write_text(f"{SECRET}\n")
    (zot.cwd / "elsewhere" / "one").mkdir()
    (zot.cwd / "elsewhere" / "one" / "1.events.jsonl").write_text(f"{SECRET}\n")
    (zot.cwd / "t.jsonl").write_text(json.dumps({"id": "two", "prompt": "p"}) + "\n")
    return found


def put(prepared, name, kind):
    path = prepared.path / name
    if os.path.lexists(path):
        path.rename(prepared.path / "before")
    if kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(prepared.path.parent / "elsewhere" / ("" if name in FOLDERS else "file"))


def everything_below(path):
    return {str(found): found.read_bytes() for found in sorted(path.rglob("*")) if found.is_file()}


CASES = [(words, name) for words, names in READS.items() for name in names]
CASES += [(("start",), name) for name in BEGINS]
CASES = [(*case, "a link") for case in CASES] + [
    (words, name, "a named pipe") for name, words in {name: words for words, name in CASES}.items()
]
"""A link for each name that a command opens, and a pipe for each name once."""


@pytest.mark.parametrize(("words", "name", "kind"), CASES)
def test_a_name_that_is_not_its_own_is_refused(zot, prepared, words, name, kind):
    put(prepared, name, kind)
    before = everything_below(zot.cwd / "elsewhere")
    command, *rest = words
    where = ["t.jsonl", "-o", "runs", "--no-ext", "--provider", "ollama"] if command == "start" else [command, "runs"]
    found = run(zot, "batch", *where, *rest)
    wanted = "folder" if name in FOLDERS else "file"
    said = f"{prepared.path}/{name}: is {kind}, and the batch has a {wanted} of its own there: nothing of it was read"
    assert (found.status, found.stdout, said in found.stderr) == (2, b"", True), found
    assert everything_below(zot.cwd / "elsewhere") == before


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "a link") for name in (*ROOT[:1], *ROOT[2:], "journal.lock")), (ROOT[2], "a named pipe")],
)
def test_no_report_is_made_of_it(zot, prepared, name, kind):
    put(prepared, name, kind)
    found = run(zot, "report", "runs")
    assert (found.status, f"{name}: is {kind}, and the batch has a file of its own there" in found.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "a link") for name in ("tasks.jsonl", EVENTS, STDERR, DIFF, "runs/one", "runs", "diffs")),
        *((name, "a named pipe") for name in ("tasks.jsonl", EVENTS)),
    ],
)
def test_a_report_names_it_and_shows_nothing_of_it(zot, prepared, name, kind):
    put(prepared, name, kind)
    assert run(zot, "report", "runs").status == 0
    pages = (prepared.path / "report.html").read_text() + (prepared.path / "report-tasks" / "one.html").read_text()
    assert f"{prepared.path.name}/{name}: is {kind}, and the batch has a " in pages
    assert SECRET not in pages


@pytest.mark.parametrize("name", ["report.html", "report-tasks"])
def test_a_report_is_written_through_no_link(zot, prepared, name):
    (prepared.path / name).symlink_to(zot.cwd / "elsewhere" / ("new" if name == "report.html" else ""))
    before = everything_below(zot.cwd / "elsewhere")
    found = run(zot, "report", "runs")
    assert found.status in (1, 2)
    assert f"{name}" in found.stderr
    assert "is there already and is no " in found.stderr
    assert everything_below(zot.cwd / "elsewhere") == before


def test_completion_offers_nothing_of_it(zot, prepared):
    context = Context(BatchGroup(name="batch"))
    context.params["folder"] = str(prepared.path)
    assert task_ids(context, "o") == ["one"]
    put(prepared, "tasks.jsonl", "a named pipe")
    assert task_ids(context, "o") == []
