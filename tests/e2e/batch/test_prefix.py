"""`zot batch --in PREFIX`: commands run inside, file tools stay in the workspace, and a prefix that fails is told."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.workspace.command_prefix import PROBE
from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand, _text, obey
from tests.support.git_repository import make_repository, unchanged
from tests.support.messages_server.replies import Reply, text_reply, tool_reply
from tests.support.prefixes import bwrap, script_prefix, why_no_bwrap
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.messages_server.server import Received
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
needs_bwrap = pytest.mark.skipif(bool(why_no_bwrap()), reason=why_no_bwrap() or "-")


def call_in_turn(request: Received) -> Reply:
    """The model: a prompt `[[tool, args], …]` makes these calls, one a turn, and then answers."""
    messages = request.body["messages"]
    prompt = _text(messages[0]["content"])
    if not prompt.startswith("[["):
        return obey(request)
    calls = json.loads(prompt)
    turn = len(messages) // 2
    return tool_reply([tuple(calls[turn])]) if turn < len(calls) else text_reply("Done.")


@pytest.fixture
def batch(zot: Zot, server: MessagesServer) -> BatchCommand:
    (zot.cwd / "sub").mkdir()
    (zot.cwd / "sub/old.txt").write_text("old\n")
    make_repository(zot.cwd)
    (zot.folder / "outside").mkdir()
    (zot.folder / "outside/secret").write_text("the secret\n")
    made = BatchCommand(zot, server)
    server.otherwise = call_in_turn
    return made


def calls(*made: tuple[str, dict[str, Any]]) -> str:
    return json.dumps(made)


def results(batch: BatchCommand, task: str) -> list[str]:
    found = [record for record in batch.events(task) if type(record).__name__ == "ToolResult"]
    return ["".join(part.text for part in record.content) for record in found]


@pytest.mark.parametrize("workspace", ["shared", "copy", "worktree"])
def test_commands_and_check_run_behind_the_prefix(batch: BatchCommand, workspace: str) -> None:
    prefix = script_prefix(batch.zot.folder)
    batch.tasks({
        "a": {"prompt": "bash echo $IN $(pwd)", "cwd": "sub", "setup": 'test -z "$IN"', "check": 'test "$IN" = side'},
    })  # fmt: skip
    found = batch.run("--workspace", workspace, "--in", prefix)
    assert found.status == 0, found.stderr
    top = {
        "shared": batch.zot.cwd / "sub",
        "copy": batch.rundir / "workspaces/a",
        "worktree": batch.rundir / "workspaces/a",
    }[workspace]
    enter = "cd -- sub || exit 126\n" if workspace == "worktree" else ""
    place = f"{top}/sub" if enter else str(top)
    assert f"\nside {place}\n" in results(batch, "a")[0]
    log = (top.parent / f"{top.name}.log").read_text()
    commands = [PROBE, "echo $IN $(pwd)", 'test "$IN" = side']
    assert log == "".join(f"{top}: /bin/sh -c {enter}{command}\n" for command in commands)
    assert ("--in with --workspace shared" in found.stderr) == (workspace == "shared")


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("docker 'run", "--in: no closing quotation: docker 'run"),
        ("", "--in: names no program; for example --in 'bwrap --dev-bind / / --chdir {workspace}'"),
        ("docker -v {work}:/w", "--in: {work} is unknown; there is only {workspace}, the folder of the task"),
    ],
)
def test_a_prefix_that_cannot_be_one_is_misuse(batch: BatchCommand, prefix: str, said: str) -> None:
    batch.tasks({"a": "go"})
    found = batch.run("--in", prefix)
    assert (found.status, found.stderr) == (Status.USAGE.exit_code, f"zot batch: {said}\n")
    assert not batch.rundir.exists()


def test_a_prefix_that_does_not_start_costs_nothing(batch: BatchCommand, server: MessagesServer) -> None:
    batch.tasks({"a": "go"})
    batch.run("--in", "no-such-program {workspace}")
    end = batch.results()["a"]
    assert (end["status"], end["reason"]) == (
        "setup_failed", "--in: exit 127: cannot start no-such-program: no such program on PATH",
    )  # fmt: skip
    (batch.zot.cwd / "project.down").touch()
    prefix = script_prefix(batch.zot.cwd).replace("{workspace}", "project")
    batch.tasks({"b": "go"})
    batch.run("--in", prefix)
    end = batch.results()["b"]
    assert (end["status"], end["reason"]) == ("setup_failed", "--in: exit 125: container: the daemon is down")
    assert server.requests == []


@pytest.mark.parametrize(("prefix", "said"), [("true", ""), ("echo", f": /bin/sh -c {PROBE}")])
def test_a_prefix_that_runs_nothing_passes_no_check(batch: BatchCommand, prefix: str, said: str) -> None:
    batch.tasks({"a": {"prompt": "go", "check": "false"}})
    batch.run("--in", prefix)
    end = batch.results()["a"]
    assert (end["status"], end["reason"]) == (
        "setup_failed", f"--in: exit 0{said} (the command behind it was not carried out)",
    )  # fmt: skip


def test_a_prefix_that_fails_later_ends_the_task_with_its_words(batch: BatchCommand, server: MessagesServer) -> None:
    down = "touch $PWD.down; "
    batch.tasks({
        "tool": calls(("bash", {"command": down}), ("bash", {"command": "echo never"}), ("bash", {"command": "echo"})),
        "check": {"prompt": f"bash {down}", "check": "echo never"},
        "own": {"prompt": "bash exit 127", "check": "exit 125"},
    })  # fmt: skip
    found = batch.run("--workspace", "copy", "--in", script_prefix(batch.zot.folder), "--jobs", "1")
    assert found.status != 0
    ends = {name: (end["status"], end["reason"]) for name, end in batch.results().items()}
    words = "--in: exit 125: container: the daemon is down"
    assert ends == {"tool": ("error", words), "check": ("error", words), "own": ("check_failed", "check: exit 125")}
    assert batch.results()["tool"]["requests"] == 2


def test_a_command_ends_with_all_that_the_prefix_has_started(batch: BatchCommand) -> None:
    batch.tasks({"a": calls(("bash", {"command": "sleep 1000 & sleep 1000", "timeout": 1})), "b": "bash sleep 1000"})
    with batch.start("--workspace", "copy", "--in", script_prefix(batch.zot.folder), "--jobs", "2") as running:
        wait_until(lambda: batch.attempts("a"))
        running.child("sleep 1000")
        running.signal(signal.SIGINT)
        wait_until(lambda: "SIGINT" in running.errors())
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert outcome.leftovers == []
    assert "timed out after 1s" in results(batch, "a")[0]
    assert batch.attempts("b")[0].status.value == "interrupted"


MADE = "ln -s {out}/secret file; ln -s {out} folder; ln -s /etc/passwd passwd; ln -s / root; ln -s ../../../.. up"


def test_links_made_inside_lead_nowhere(batch: BatchCommand) -> None:
    out = batch.zot.folder / "outside"
    edit = [{"oldText": "the secret", "newText": "changed"}]
    paths = [
        "file",
        "folder/secret",
        "passwd",
        "root/etc/passwd",
        f"root{out}/secret",
        "up/etc/passwd",
        f"{out}/secret",
    ]
    made = [("bash", {"command": MADE.format(out=out)})]
    for path in paths:
        made += [
            ("read", {"path": path}),
            ("write", {"path": path, "content": "changed"}),
            ("edit", {"path": path, "edits": edit}),
        ]
    made += [("write", {"path": "sub/new/a.txt", "content": "inside\n"}), ("read", {"path": "sub/old.txt"})]
    batch.tasks({"a": calls(*made)})
    with unchanged(batch.zot.cwd):
        found = batch.run("--workspace", "worktree", "--in", script_prefix(batch.zot.folder))
    assert found.status == 0, found.stderr
    said = results(batch, "a")
    for text in said[1:-2]:
        assert "with --in, read, write and edit reach only what is in it" in text
    assert said[-2:] == ["inside\n", "old\n"]
    assert (out / "secret").read_text() == "the secret\n"
    patch = (batch.rundir / "diffs/a.diff").read_text()
    assert "the secret" not in patch
    assert "+inside" in patch
    assert f"+{out}/secret\n" in patch, "a link is in the patch as a link"


@needs_bwrap
def test_bubblewrap(batch: BatchCommand) -> None:
    """A container that sees its own worktree, and neither the rest of the folder of the test nor a network."""
    hidden = batch.zot.folder
    commands = [
        f"cat {hidden}/outside/secret; ls {hidden}", "cat /proc/1/comm; echo made > made.txt",
        f"ln -s {hidden}/outside/secret way", "touch /etc/made-by-a-test",
    ]  # fmt: skip
    batch.tasks({
        "a": {"prompt": calls(*(("bash", {"command": one}) for one in commands), ("read", {"path": "way"})),
              "check": "test -e made.txt && ! test -e way/.. && test $(cat /proc/1/comm) = bwrap"},
        "hang": calls(("bash", {"command": "setsid sleep 1000 & sleep 1000", "timeout": 1})),
    })  # fmt: skip
    with unchanged(batch.zot.cwd):
        found = batch.run("--workspace", "worktree", "--in", bwrap(hidden), "--jobs", "2")
    assert found.status == 0, (found.stderr, results(batch, "a"))
    assert found.leftovers == []
    said = results(batch, "a")
    assert "No such file" in said[0]
    assert "outside" not in said[0].partition("\n\n")[2].replace(f"{hidden}/outside", "")
    assert "bwrap" in said[1]
    assert "Read-only file system" in said[3]
    assert "a link leads out of the workspace" in said[4]
    assert not os.path.exists("/etc/made-by-a-test")
    patch = (batch.rundir / "diffs/a.diff").read_text()
    assert "+made" in patch
    assert "the secret" not in patch


def test_a_score_runs_inside_and_has_no_value_where_the_prefix_fails(batch: BatchCommand) -> None:
    batch.tasks({
        "in": {"prompt": "bash true", "score": "test $IN = side && echo 0.5"},
        "down": {"prompt": "bash touch $PWD.down", "score": "echo 1"},
    })  # fmt: skip
    batch.run("--workspace", "worktree", "--in", script_prefix(batch.zot.folder))
    scores = {name: one["score"] for name, one in batch.results().items()}
    assert scores["in"]["value"] == 0.5
    assert (scores["down"]["value"], scores["down"]["reason"]) == (
        None,
        "--in: exit 125: container: the daemon is down",
    )
    for down in (batch.rundir / "workspaces").glob("*.down"):
        down.unlink()
    again = batch.zot.run("batch", "score", "runs", "--with", "test $IN = side && echo 0.25")
    assert again.status == 0, again.stderr
    assert "0.25" in batch.zot.run("batch", "results", "runs").stdout.decode()


@needs_bwrap
def test_a_killed_batch_leaves_nothing_inside(batch: BatchCommand) -> None:
    """As in `test_bubblewrap`, with the batch killed, and then its runs, while commands run inside."""
    batch.tasks({"a": "bash setsid sleep 1000 & sleep 1000", "b": "bash sleep 1000"})
    with unchanged(batch.zot.cwd):
        with batch.start("--workspace", "worktree", "--in", bwrap(batch.zot.folder), "--jobs", "2") as running:
            wait_until(lambda: running.find_child("bwrap") and len(batch.started()) == 2)
            running.child("sleep 1000")
            running.signal(signal.SIGKILL)
            running.finish()
            wait_until(lambda: running.find_child("bwrap") is None and running.find_child("sleep 1000") is None)
        batch.tasks({"a": "bash true", "b": "bash true"})
        assert batch.run("--workspace", "worktree", "--in", bwrap(batch.zot.folder)).status == 0
