"""Tasks that end, block, starve or litter their own run, among others that do as they should."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.process.table import is_alive, read_process, send_signal
from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import extension
from tests.support.marked_processes import command_line
from tests.support.project_extension import put
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire import events
from wire.batch.outcome import TaskStatus
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot
    from wire.batch.outcome import Outcome

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
CRASHES = {
    "kill": (signal.SIGKILL, "the run was ended by signal SIGKILL (zot has not sent it"),
    "segv": (signal.SIGSEGV, "the run was ended by signal SIGSEGV"),
    "abrt": (signal.SIGABRT, "the run was ended by signal SIGABRT"),
    "term": (signal.SIGTERM, "the batch did not end the run, and it says: interrupted by SIGTERM"),
}
KILL_TEMPLATE = (
    "up=$(awk '/PPid/ {print $2}' /proc/$PPID/status); grep -q template_main /proc/$up/cmdline && kill -KILL $up;"
)
LITTER = "for n in 1 2 3; do (setsid sleep 1000 > /dev/null 2>&1 &); done; setsid sleep 1000 > /dev/null 2>&1 &"
HIDDEN = "for n in 1 2; do env -i setsid sh -c 'setsid sleep 600 < /dev/null > /dev/null 2>&1 & echo $! >> pids'; done"
EAT = "python3 -c 'import time; eaten = bytearray(400 << 20); time.sleep(600)'"


@pytest.mark.slow
def test_hundreds_of_replayed_tasks_are_run_once_each(zot: Zot) -> None:
    batch = BatchCommand(zot)
    cassette = Script(zot.cwd, "go").answer("Done.").write(zot.folder / "cassette.jsonl")
    ids = [f"t{number}" for number in range(300)]
    batch.tasks(dict.fromkeys(ids, "go"))
    found = batch.run("-j", "8", "-q", "--replay", cassette)
    assert (found.status, found.stderr, found.leftovers) == (0, "", [])
    assert batch.finals() == dict.fromkeys(ids, 1)
    results = batch.results()
    assert list(results) == ids
    assert {(one["status"], one["text"], one["attempt"]) for one in results.values()} == {("ok", "Done.", 1)}
    for task in ids:
        records = batch.events(task)
        assert isinstance(records[0], events.Session)
        assert [type(record) for record in records[-2:]] == [events.Result, events.Done]


def begun(batch: BatchCommand, task: str) -> list[Outcome]:
    """Without those whose process could not be forked because the template had just been killed."""
    return [attempt for attempt in batch.attempts(task) if attempt.status is not TaskStatus.INTERRUPTED]


@pytest.mark.slow
def test_a_task_that_harms_its_run_harms_no_other(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    tasks = {f"good{number}": f"prompt {number}" for number in range(6)}
    tasks |= {
        f"crash-{name}": f"bash {LITTER} kill -{number} $PPID; sleep 600" for name, (number, _) in CRASHES.items()
    }
    tasks |= {
        "litter": f"bash {LITTER} echo ok",
        "template": f"bash {KILL_TEMPLATE} sleep 0.2; echo ok",
        "loud": "bash head -c 200000000 /dev/zero; head -c 200000000 /dev/zero >&2",
        "eat": f"bash {EAT}",
        "late": "one more",
    }
    limited = {
        "deaf": {"prompt": "bash trap '' TERM INT HUP; while :; do sleep 1; done", "timeout_s": 1.0},
        "silent": {"prompt": "hang", "timeout_s": 1.0},
    }
    batch.tasks({**tasks, **limited})
    found = batch.run("-j", "4", "--run-memory", "150MB", cold=True)
    assert (found.status, found.leftovers) == (Status.PARTIAL_BATCH.exit_code, []), found.stderr
    assert batch.finals() == dict.fromkeys([*tasks, *limited], 1)
    statuses = {task: one["status"] for task, one in batch.results().items()}
    bad = {"eat": "out_of_memory", "deaf": "timeout", "silent": "timeout"}
    bad |= {f"crash-{name}": "crashed" for name in CRASHES}
    assert statuses == {task: bad.get(task, "ok") for task in statuses}
    for name, (number, reason) in CRASHES.items():
        attempts = begun(batch, f"crash-{name}")
        assert len(attempts) == 2, "it is tried once more"
        assert attempts[1].reason.startswith(reason)
        assert attempts[1].exit_status == (130 if name == "term" else -number)
        assert attempts[1].cost_usd, "what was paid for is known"
    (eaten,) = begun(batch, "eat")
    assert "--run-memory is 143 MiB" in eaten.reason
    assert eaten.memory_peak_bytes > 150_000_000
    assert "the template has died; its runs continue" in found.stderr


@pytest.mark.parametrize("victim", ["batch", pytest.param("template", marks=pytest.mark.slow)])
def test_a_process_that_was_stopped_goes_on(zot: Zot, server: MessagesServer, victim: str) -> None:
    batch = BatchCommand(zot, server)
    wait = "bash while [ ! -e go ]; do sleep 0.02; done"
    batch.tasks({"a": wait, "b": "x", "c": "x"})
    with batch.start("-j", "1", "-q", cold=True) as running:
        wait_until(batch.started)
        child = wait_until(lambda: running.find_child("template_main"))
        pid = running.pid if victim == "batch" else child
        stop_for_a_moment(pid)
        (zot.cwd / "go").touch()
        found = running.finish()
    assert (found.status, found.stderr, found.leftovers) == (0, "", [])
    assert batch.finals() == {"a": 1, "b": 1, "c": 1}
    assert {one["attempt"] for one in batch.results().values()} == {1}


def stop_for_a_moment(pid: int) -> None:
    """Until all that the process would have done meanwhile waits for it."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: b" T " in Path(f"/proc/{pid}/stat").read_bytes())
    os.kill(pid, signal.SIGCONT)


def test_a_project_that_is_not_trusted_is_said_once(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    put(zot, "echo")
    batch.extensions = []
    batch.tasks({f"t{number}": "x" for number in range(12)})
    found = batch.run("-j", "4")
    assert found.status == 0
    assert found.stderr.count("not trusted") == 1, found.stderr
    assert "extension echo: not trusted (never seen): not started; zot ext trust echo" in found.stderr
    for number in range(12):
        (record,) = [one for one in batch.events(f"t{number}") if isinstance(one, events.Extension)]
        assert record.event == "failed"


@pytest.mark.slow
def test_bad_extensions_in_each_run_cost_themselves_only(zot: Zot, server: MessagesServer) -> None:
    """One dies at its start, one floods, one is there and works; seen meanwhile by `zot ps`."""
    batch = BatchCommand(zot, server)
    for child in ("exits_before_hello", "flood_notify", "echo"):
        batch.extensions += ["-e", str(extension(zot.folder, child))]
    wait = "bash while [ ! -e go ]; do sleep 0.02; done"
    batch.tasks({"t0": wait, "t1": wait, "u": "x"})
    with batch.start("-j", "2", "-q") as running:
        wait_until(lambda: {host["task"] for host in hosts(zot)} == {"t0", "t1"})
        (zot.cwd / "go").touch()
        found = running.finish()
    assert (found.status, found.leftovers) == (0, [])
    assert [attempt.status for attempt in batch.attempts("u")] == [TaskStatus.OK]
    assert hosts(zot) == []


@pytest.mark.slow
def test_many_installed_extensions_are_told_once_with_their_memory(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    for number in range(6):
        extension(zot.home / "extensions", "echo", name=f"e{number}")
    wait = "bash while [ ! -e go ]; do sleep 0.02; done"
    batch.tasks({f"t{number}": wait for number in range(4)})
    batch.extensions = []
    with batch.start("-j", "2", "--no-progress") as running:
        wait_until(lambda: "each task starts" in running.errors())
        (zot.cwd / "go").touch()
        found = running.finish()
    (line,) = [line for line in found.stderr.splitlines() if "each task starts" in line]
    told = re.fullmatch(
        r"zot batch: each task starts 6 extensions \(e0, e1, e2 and 3 more\), and has (\d+) MiB with them: --no-ext"
        r" leaves out those that are installed, -e FOLDER keeps one",
        line,
    )
    assert told is not None, line
    assert int(told[1]) > 6, "each of them is a Python"


def hosts(zot: Zot) -> list[dict[str, object]]:
    return zot.run("ps", "--json").json_lines


@pytest.mark.slow
@pytest.mark.parametrize("first", ["run", "batch"])
def test_daemons_without_an_environment_end_though_run_and_batch_are_killed_together(
    zot: Zot, server: MessagesServer, first: str
) -> None:
    """Only their parents show which task started the daemons."""
    batch = BatchCommand(zot, server)
    batch.tasks({"a": f"bash {HIDDEN}; sleep 1000"})
    with batch.start("-q", cold=True) as running:
        pids = zot.cwd / "pids"
        wait_until(lambda: pids.exists() and pids.read_text().count("\n") == 2)
        daemons = [process for pid in pids.read_text().split() if (process := read_process(int(pid)))]
        assert len(daemons) == 2
        (run,) = {wait_until(lambda pid=one.identity.pid: adopter(pid)) for one in daemons}
        try:
            for pid in (run, running.pid) if first == "run" else (running.pid, run):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not any(is_alive(one.identity) for one in daemons))
        finally:
            for one in daemons:
                send_signal(one.identity, signal.SIGKILL)


def adopter(pid: int) -> int | None:
    """The run that a daemon belongs to, once those are gone that have started it."""
    process = read_process(pid)
    assert process is not None
    return process.parent if "template_main" in command_line(process.parent) else None
