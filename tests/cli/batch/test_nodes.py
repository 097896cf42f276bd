"""The node of a task wherever a user looks at a batch on several machines; and nothing of it on one machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent.batch.control.decision import Place
from agent.batch.control.requests import BatchRequests
from agent.batch.request import NodeView
from cli.batch.folder.ctl import _state_lines, _task_lines
from tests.cli.batch.views import run as run_view
from tests.cli.batch.views import view
from tests.support.batch_written import WrittenBatch, asked, said
from tests.support.zot_fork import run
from wire import events
from wire.batch import control
from wire.batch.outcome import CommandEnd, TaskStatus
from wire.control import encode


@pytest.fixture
def written(zot, loop):
    """Three tasks have ended, two of them on nodes; three run, two of them on nodes."""
    written = WrittenBatch(zot.cwd / "runs", loop, "a", "b", "c", "d", "e", "f")
    written.open()
    written.run("a", TaskStatus.INTERRUPTED, final=False, node="n1", reason="node n1 was lost: its machine is gone")
    written.run("a", attempt=2, node="n2", check=CommandEnd(0, 20))
    written.run("b", TaskStatus.CRASHED, node="n3", reason="killed by signal 9")
    written.run("c")
    written.write_events("a", asked("do a"), events.TurnStart(1), said("all done"), events.Done(), attempt=2)
    written.write_events("c", asked("do c"), events.TurnStart(1), said("all done"), events.Done())
    for task, node in (("d", "n2"), ("e", "n3"), ("f", "")):
        written.start(task, node=node)
    return written


def test_status_tells_which_tasks_run_on_which_node(zot, written):
    found = run(zot, "batch", "status", "runs")
    lines = found.text.splitlines()
    assert "  left        3, 3 of them under way" in lines
    assert [line for line in lines if line.startswith("  on ")] == [
        "  on          n2: 1 task (d)",
        "  on          n3: 1 task (e)",
    ]
    assert run(zot, "batch", "status", "runs", "--json").json_lines[0]["nodes"] == {"n2": ["d"], "n3": ["e"]}
    written.kill()
    assert "nodes" not in run(zot, "batch", "status", "runs", "--json").json_lines[0], "nothing runs"


def test_a_batch_whose_start_was_refused_by_its_nodes_was_not_killed(zot, loop):
    WrittenBatch(zot.cwd / "runs", loop, "a").folder.journal.touch()
    found = run(zot, "batch", "status", "runs")
    assert found.text.splitlines()[1] == "  state       not begun"
    assert run(zot, "batch", "status", "runs", "--json").json_lines[0]["state"] == "not_begun"


def test_of_many_tasks_of_a_node_status_names_the_first(zot, loop):
    ids = [f"t{at}" for at in range(9)]
    written = WrittenBatch(zot.cwd / "runs", loop, *ids)
    written.open()
    for task in ids:
        written.start(task, node="n1\x1b[2J")
    assert "  on          n1: 9 tasks (t0, t1, t2, t3, t4 and 4 more)" in run(zot, "batch", "status", "runs").text
    written.kill()


def test_results_have_the_node_of_the_attempt_that_counts(zot, written):
    written.kill()
    nodes = [record.get("node") for record in run(zot, "batch", "results", "runs").json_lines]
    assert nodes == ["n2", "n3", None]
    header, *rows = run(zot, "batch", "results", "runs", "--format", "csv").text.splitlines()
    assert header.endswith(",repeat,score,node")
    assert [row.rpartition(",")[2] for row in rows] == ["n2", "n3", ""]
    assert run(zot, "batch", "results", "runs", "--format", "junit").text.count('<property name="node"') == 2


def test_logs_end_with_the_node(zot, written):
    written.kill()
    words = [line.split() for line in run(zot, "batch", "logs", "runs", "a").text.splitlines()]
    assert ["node", "n2"] in words
    assert ["check", "exit", "0,", "20", "ms"] in words
    assert not any(line.startswith("node") for line in run(zot, "batch", "logs", "runs", "c").text.splitlines())
    failed = run(zot, "batch", "logs", "runs", "--failed").text.splitlines()
    assert failed[0] == "--- b: crashed, attempt 1"
    assert ["node", "n3"] in [line.split() for line in failed]


def test_ctl_tells_of_nodes_and_of_the_node_of_a_task(written):
    state = written.journal.state
    limits = SimpleNamespace(jobs=5, max_cost_usd=None, stop=None)
    parts = SimpleNamespace(
        spent=lambda: state.spent("seen"), queue=SimpleNamespace(left=0), limits=limits, journal=written.journal,
        controls=SimpleNamespace(is_paused=False, is_stopping=False), place=lambda _task: Place.DONE,
    )  # fmt: skip
    nodes = (NodeView("n2", "build-7", 1, 4), NodeView("n1", "", 0, 4, "lost: its machine is gone"))
    shown = view(runs=(run_view("d", node="n2"),), nodes=nodes)
    replies = []
    requests = BatchRequests(parts, None, written.folder, "1", lambda: shown)
    requests.answer(control.GetState("1"), replies.append)
    requests.answer(control.Show("1", "b"), replies.append)
    requests.answer(control.Show("1", "c"), replies.append)
    batch, on_node, here = (control.decode_reply(encode(reply)) for reply in replies)
    assert [(node.name, node.runs, node.jobs) for node in batch.nodes] == [("n2", 1, 4), ("n1", 0, 4)]
    assert [line.split(maxsplit=1)[1] for line in _state_lines(batch) if line.startswith("  node")] == [
        "n2 (build-7): 1 of 4 runs",
        "n1: lost: its machine is gone",
    ]
    assert (on_node.node, here.node) == ("n3", "")
    assert "  node      n3" in _task_lines(written.folder, on_node)
    assert not any(line.startswith("  node") for line in _task_lines(written.folder, here))
    written.kill()
