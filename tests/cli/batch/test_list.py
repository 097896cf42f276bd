"""`zot batch list`: the batches that are known, from traces and from those that run."""

from __future__ import annotations

import shutil

from supervisor.loop.loop import Loop
from tests.support.batch_journal import outcome, run_folder, tasks
from tests.support.run_traces import BEGAN, header, write_trace
from tests.support.zot_fork import run


def trace(zot, folder, began):
    write_trace(zot.home, header(began, kind="batch", folder=str(folder)), [])


def test_all_batches_are_known_by_their_traces(zot, runs):
    gone, broken = zot.cwd / "gone", zot.cwd / "broken"
    loop = Loop()
    run_folder(broken, loop, tasks("a", "b"), outcome("a"))
    loop.close()
    journal = broken / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0].replace(b"opened", b"opEned"), *lines[1:]]))
    for number, folder in enumerate((runs.path, gone, broken, runs.path)):
        trace(zot, folder, BEGAN + 60 * number)
    found = run(zot, "batch", "list", "--json")
    assert (found.status, found.stderr) == (0, "")
    newest, unreadable, lost = found.json_lines
    assert (newest["folder"], newest["tasks"], newest["done"]) == (str(runs.path), 4, 3)
    assert newest["statuses"] == {"ok": 1, "check_failed": 1, "timeout": 1}
    assert newest["cost_usd"] is None
    assert (unreadable["state"], "is damaged" in unreadable["reason"]) == ("unreadable", True)
    assert (lost["state"], lost["folder"], lost["tasks"]) == ("gone", str(gone), None)

    table = run(zot, "batch", "list").text.splitlines()
    assert table[0].split() == ["STARTED", "STATE", "DONE", "OK", "COST", "FOLDER"]
    assert table[1].split()[2:5] == [newest["state"], "3/4", "1"]
    assert len(run(zot, "batch", "list", "-n", "1").text.splitlines()) == 2
    shutil.rmtree(zot.home / "runs")
    none = run(zot, "batch", "list")
    assert (none.status, "no batch has left a trace" in none.stderr) == (0, True)
