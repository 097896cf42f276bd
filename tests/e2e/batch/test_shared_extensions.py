"""A batch starts one host for the extensions that may be shared: its runs share their processes."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import CHILDREN, child_argv, folder
from tests.support.mcp_files import write_servers
from tests.support.messages_server.replies import text_reply, tool_reply
from tests.support.zot_process import wait_until
from wire import events
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.messages_server.replies import Reply
    from tests.support.messages_server.server import Received
    from tests.support.zot_process import Running, Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
TELLER = Path(__file__).parents[2] / "support" / "teller.py"


def call(request: Received) -> Reply:
    """The model: `TOOL WORD` calls the tool with that word as an argument, `bash COMMAND` the shell, one after
    another with ` then ` between them."""
    messages = request.body["messages"]
    first = messages[0]["content"]
    calls = (first if isinstance(first, str) else first[0]["text"]).split(" then ")
    done = len(messages) // 2
    if done >= len(calls):
        return text_reply("done")
    tool, _, word = calls[done].partition(" ")
    return tool_reply([(tool, {"command": word} if tool == "bash" else {word or "text": "hi"})])


@pytest.fixture
def batch(zot: Zot, server: MessagesServer) -> BatchCommand:
    made = BatchCommand(zot, server)
    server.otherwise = call
    made.extensions = ["--no-ext"]
    return made


def put_teller(zot: Zot, name: str, *guarded: str, **manifest: Any) -> Path:
    """The folder of an extension that writes its pid to `NAME.starts` in the test's folder."""
    starts = zot.folder / f"{name}.starts"
    starts.touch()
    argv = [sys.executable, "-I", "-S", str(TELLER), name, str(starts), *guarded]
    return folder(zot.folder, name, argv, **{"sessions": "shared", **manifest})


def starts(zot: Zot, name: str) -> list[int]:
    return [int(line) for line in (zot.folder / f"{name}.starts").read_text().split()]


def results(batch: BatchCommand, task: str, attempt: int = 1) -> list[str]:
    """The texts of the tool results of an attempt."""
    found = (each for each in batch.events(task, attempt) if isinstance(each, events.ToolResult))
    return [str(each.content if isinstance(each.content, str) else each.content[0].text) for each in found]


def put_server(zot: Zot, file: Path, **entry: Any) -> Path:
    """A file with an MCP server that writes its pid to `books.starts` in the test's folder."""
    (zot.folder / "books.starts").touch()
    start = f"echo $$ >> {zot.folder}/books.starts; exec {sys.executable} {CHILDREN}/mcp/reference.py"
    return write_servers(file, books={"command": "/bin/sh", "args": ["-c", start], "sessions": "shared", **entry})


def host_of(running: Running) -> int:
    return int(wait_until(lambda: running.find_child("host_main")))


GO = "bash while [ ! -e go ]; do sleep 0.02; done"


def test_thirty_tasks_have_one_process_of_each_extension(zot, batch):
    python = put_teller(zot, "one")
    shell = folder(zot.folder, "echo", child_argv("echo.sh"), sessions="shared", on_failure="deny")
    servers = put_server(zot, zot.folder / "servers.json")
    ids = [f"t{number}" for number in range(30)]
    batch.tasks(dict.fromkeys(ids, "one then echo"))
    found = batch.run("-j", "4", "--json", "-e", python, "-e", shell, "--mcp-config", servers)
    assert (found.status, found.leftovers) == (0, []), found.stderr
    assert found.stderr.count("zot batch: one process each of one, echo and books serves all runs\n") == 1
    (shared,) = [line for line in found.json_lines if line["type"] == "batch_shared"]
    assert (shared["extensions"], shared["private"]) == (["one", "echo", "books"], {})
    assert (len(starts(zot, "one")), len(starts(zot, "books"))) == (1, 1)
    told = [results(batch, task) for task in ids]
    assert {first.split()[0] for first, _ in told} == {str(starts(zot, "one")[0])}
    assert len({first.split()[1] for first, _ in told}) == 30, "each run has a session of its own"
    assert {second for _, second in told} == {"hi"}


def test_a_batch_without_extensions_to_share_has_no_host(zot, batch):
    batch.tasks({"a": GO, "b": "one"})
    with batch.start("-q", "-e", put_teller(zot, "one", sessions="private"), "-j", "1") as running:
        wait_until(lambda: starts(zot, "one"))
        assert running.find_child("host_main") is None
        (zot.cwd / "go").touch()
        found = running.finish()
    assert (found.status, found.leftovers, len(starts(zot, "one"))) == (0, [], 2)
    assert '"host"' not in (batch.rundir / "batch.log").read_text()


@pytest.mark.slow
def test_share_and_the_settings_name_extensions_and_a_wrong_name_is_refused(zot, batch):
    one, two = (put_teller(zot, name, sessions="private") for name in ("one", "two"))
    zot.home.mkdir()
    (zot.home / "config.json").write_text(json.dumps({"share": ["two"]}))
    batch.tasks({"a": "one then two", "b": "two then one"})
    found = batch.run("--share", "on", "-e", one, "-e", two)
    assert (found.status, found.stderr) == (2, "zot batch: --share: no such extension: 'on'; did you mean 'one'?\n")
    found = batch.run("--share", "one", "-e", one, "-e", two, "-j", "1")
    assert (found.status, len(starts(zot, "one")), len(starts(zot, "two"))) == (0, 1, 1), found.stderr
    batch.tasks({"a": "one then two", "b": "two then one", "c": "one"})
    found = batch.run("-e", one, "-e", two)
    assert "changed since the result was made" not in found.stderr, "where processes are changes no result"
    assert (found.status, batch.finals()) == (0, {"a": 1, "b": 1, "c": 1})


@pytest.mark.slow
def test_a_guard_that_would_allow_on_failure_stays_private_and_is_told(zot, batch):
    batch.tasks({"a": "one", "b": "one"})
    found = batch.run("-e", put_teller(zot, "one", "tool_call"), "-j", "1")
    assert "zot batch: extension one is not shared: it is a guard whose failure means allow" in found.stderr
    assert (found.status, len(starts(zot, "one")), found.leftovers) == (0, 3, [])


@pytest.mark.slow
def test_a_call_that_kills_the_shared_guard_hurts_its_own_task_only(zot, batch):
    guard = put_teller(zot, "guard", "tool_call", on_failure="deny", restart={"backoff_s": [0.1, 0.2], "max": 50})
    echo = folder(zot.folder, "echo", child_argv("echo.sh"))
    ids = [f"t{number}" for number in range(12)]
    batch.tasks({**dict.fromkeys(ids[:6], "echo"), "bad": "echo poison", **dict.fromkeys(ids[6:], "echo")})
    found = batch.run("-j", "4", "-e", guard, "-e", echo)
    assert found.leftovers == []
    (blocked,) = results(batch, "bad")
    assert "guard" in blocked
    assert {task: results(batch, task) for task in ids} == {task: ["hi"] for task in ids}
    assert len(starts(zot, "guard")) > 2, "two deaths, and the poisonous run has one of its own"


@pytest.mark.slow
def test_leased_processes_serve_one_run_after_another(zot, batch):
    ids = [f"t{number}" for number in range(12)]
    batch.tasks(dict.fromkeys(ids, "one then one"))
    found = batch.run("-j", "2", "-e", put_teller(zot, "one", sessions="leased"))
    assert (found.status, found.leftovers) == (0, []), found.stderr
    assert found.stderr.count("zot batch: processes of one serve one run after another\n") == 1
    assert len(starts(zot, "one")) <= 3, "as many as runs at a time, and one that is being made ready"
    for task in ids:
        first, second = results(batch, task)
        assert first == second
    assert len({results(batch, task)[0].split()[1] for task in ids}) == len(ids)


@pytest.mark.slow
def test_a_killed_host_fails_the_calls_under_way_and_later_runs_have_the_next_one(zot, batch):
    one = put_teller(zot, "one")
    batch.tasks({"a": "one hold", "b": f"{GO} then one", **{f"t{number}": "one" for number in range(6)}})
    with batch.start("-j", "2", "-e", one) as running:
        wait_until(lambda: calls(batch, "a") and calls(batch, "b"))
        first = host_of(running)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: batch.attempts("a"))
        (zot.cwd / "go").touch()
        found = running.finish()
    assert (found.status, found.leftovers) == (0, []), found.stderr
    assert "zot batch: the host of the shared extensions has died (signal SIGKILL); a new one starts" in found.stderr
    assert f"its host (pid {first}) has ended" in results(batch, "a")[0]
    assert "its host" in results(batch, "b")[-1], "a run stays without it"
    old, new = starts(zot, "one")
    assert {results(batch, f"t{number}")[0].split()[0] for number in range(6)} == {str(new)} != {str(old)}


def began(batch: BatchCommand, task: str) -> list[Any]:
    """The records of a first attempt so far."""
    path = batch.rundir / "runs" / task / "1.events.jsonl"
    data = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [events.decode(line) for line in data.splitlines()]


def calls(batch: BatchCommand, task: str) -> list[Any]:
    return [each for each in began(batch, task) if isinstance(each, events.ToolCall)]


@pytest.mark.slow
@pytest.mark.parametrize("victims", [("batch",), ("host", "batch"), ("batch", "host")])
def test_a_killed_batch_leaves_nothing_and_the_next_start_shares_again(zot, batch, victims):
    one = put_teller(zot, "one")
    batch.tasks({"a": "one", "b": "one hold", "c": "one"})
    with batch.start("-j", "1", "-q", "-e", one, cold=True) as running:
        wait_until(lambda: calls(batch, "b"))
        pids = {"batch": running.pid, "host": host_of(running)}
        for victim in victims:
            os.kill(pids[victim], signal.SIGKILL)
        wait_until(lambda: running.find_child("") is None)
        running.finish()
    batch.tasks({"a": "one", "b": "one", "c": "one"})
    found = batch.run("-j", "1", "-e", one)
    assert (found.status, found.leftovers) == (0, [])
    assert (batch.finals(), len(starts(zot, "one"))) == ({"a": 1, "b": 1, "c": 1}, 2)
    assert {results(batch, "b", 2)[0].split()[0], results(batch, "c")[0].split()[0]} == {str(starts(zot, "one")[1])}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_host_too(zot, batch, number):
    batch.tasks({"a": "one hold"})
    with batch.start("-e", put_teller(zot, "one")) as running:
        wait_until(lambda: calls(batch, "a"))
        running.signal(number)
        if number is signal.SIGINT:
            wait_until(lambda: "no new tasks start" in running.errors())
            running.signal(number)
        found = running.finish()
    assert (found.status, found.leftovers) == (130, [])


@pytest.mark.slow
def test_copies_share_what_does_not_depend_on_the_folder(zot, batch):
    batch.extensions = []
    project = put_teller(zot, "one").rename(zot.cwd / "one")
    target = zot.cwd / ".zot" / "extensions" / "one"
    target.parent.mkdir(parents=True)
    project.rename(target)
    put_server(zot, zot.cwd / ".mcp.json")
    batch.tasks({f"t{number}": "one" for number in range(3)})
    found = batch.run("-j", "1", "--trust-project", "--workspace", "copy")
    assert (found.status, found.leftovers) == (0, []), found.stderr
    assert (len(starts(zot, "one")), len(starts(zot, "books"))) == (1, 1 + 3)
    folders = {results(batch, f"t{number}")[0].split()[2] for number in range(3)}
    assert folders == {str(batch.rundir / "workspaces" / f"t{number}") for number in range(3)}
    batch.tasks({f"u{number}": "one" for number in range(3)})
    found = batch.run("-j", "1", "--trust-project", "--workspace", "copy", "--share", "books")
    assert (found.status, len(starts(zot, "books"))) == (0, 4 + 1), found.stderr


@pytest.mark.slow
def test_tasks_that_differ_start_their_own(zot, batch):
    """In another folder, with extensions or with a variable of its own."""
    batch.extensions = []
    one, two = put_teller(zot, "one", env=["KEY"]), put_teller(zot, "two")
    elsewhere = zot.folder / "elsewhere"
    for name, place in (("here", zot.cwd), ("here", elsewhere)):
        parent = place / ".zot" / "extensions"
        parent.mkdir(parents=True)
        put_teller(zot, name).rename(parent / name)
    batch.tasks({
        "plain": "one then here",
        "variable": {"prompt": "one then two then here", "env": {"KEY": "other"}},
        "own": {"prompt": "two then here", "ext": [str(two)]},
        "folder": {"prompt": "here then one then two", "cwd": str(elsewhere)},
    })  # fmt: skip
    found = batch.run("-j", "1", "--trust-project", "-e", one, "-e", two)
    assert (found.status, found.leftovers) == (0, []), found.stderr
    assert [len(starts(zot, name)) for name in ("one", "two", "here")] == [2, 1, 2]
    assert results(batch, "own")[0].split()[0] == results(batch, "folder")[2].split()[0]
    said = (batch.rundir / "runs" / "variable" / "1.stderr").read_text()
    assert "extension one: KEY differ from those of host" in said


@pytest.mark.slow
def test_a_batch_with_a_named_host_starts_none(zot, batch):
    one = put_teller(zot, "one")
    batch.tasks({"a": "one", "b": GO})
    with zot.start("host", "-e", one, "--no-ext") as host:
        wait_until(lambda: starts(zot, "one"))
        with batch.start("-q", "-e", one, "--host", ".") as running:
            wait_until(lambda: began(batch, "b"))
            assert running.find_child("host_main") is None
            (zot.cwd / "go").touch()
            found = running.finish()
        host.signal(signal.SIGINT)
        host.finish()
    assert (found.status, len(starts(zot, "one"))) == (0, 1), found.stderr


@pytest.mark.slow
def test_the_host_outlives_the_template(zot, batch):
    up = "up=$(awk '/PPid/ {print $2}' /proc/$PPID/status); grep -q template_main /proc/$up/cmdline && kill -KILL $up"
    batch.tasks({"a": f"bash {up} then one", "b": "one", "c": "one"})
    found = batch.run("-j", "1", "-e", put_teller(zot, "one"), cold=True)
    assert (found.status, found.leftovers, len(starts(zot, "one"))) == (0, [], 1), found.stderr
    assert "the template has died" in found.stderr
    assert [attempt.status for attempt in batch.attempts("c")] == [TaskStatus.OK]


@pytest.mark.slow
def test_retry_shares_as_the_first_start_did(zot, batch):
    one = put_teller(zot, "one", sessions="private")
    batch.tasks({"a": {"prompt": "one", "check": "test -e ok"}, "b": {"prompt": "one", "check": "test -e ok"}})
    assert batch.run("-q", "--share", "one", "-e", one).status == 10
    (zot.cwd / "ok").touch()
    found = zot.run("batch", "retry", "runs", "--api-key", "k")
    assert (found.status, found.leftovers, len(starts(zot, "one"))) == (0, [], 2), found.stderr
