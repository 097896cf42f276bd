"""`zot batch ctl` about a batch in another process: as from a second terminal."""

from __future__ import annotations

import json
import os
import signal
import socket

import pytest

from supervisor.home.runtime_dir import BATCH_CONTROL_SUFFIX, runtime_dir, sockets_in
from tests.support.replay_script import Script
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until


@pytest.fixture
def held(zot):
    """The first task ends; each of the others writes its id to `reached`, and waits for a line from `fifo`."""
    quick, slow = zot.folder / "quick.jsonl", zot.folder / "slow.jsonl"
    Script(zot.cwd, "go").answer("Hello.").write(quick)
    Script(zot.cwd, "go").call(("bash", {"command": "echo $NAME >> reached; read line < fifo"})).write(slow)
    tasks = [
        {"id": name, "prompt": "go", "env": {"NAME": name}, "replay": str(quick if name == "quick" else slow)}
        for name in ("quick", "one", "two", "three")
    ]
    (zot.cwd / "t.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    os.mkfifo(zot.cwd / "fifo")
    return ("batch", "t.jsonl", "-o", "runs", "--no-ext", "-j", "1", "--no-progress")


def ctl(zot, *words):
    return run(zot, "batch", "ctl", "runs", *words)


def show(zot, task):
    return ctl(zot, "show", task, "--json").json_lines[0]


def reached(zot):
    path = zot.cwd / "reached"
    return path.read_text().split() if path.exists() else []


def changes(zot):
    lines = map(json.loads, (zot.cwd / "runs" / "journal.jsonl").read_text().splitlines())
    return [line["what"] for line in lines if line["state"] == "changed"]


def test_a_running_batch_is_changed_from_a_second_terminal(zot, held):
    with zot.start(*held) as batch:
        wait_until(lambda: reached(zot) == ["one"])
        state = ctl(zot, "--json").json_lines[0]
        assert (state["type"], state["running"], state["waiting"], state["jobs"]) == ("state", 1, 2, 1)
        assert "1 running, 2 waiting" in ctl(zot).text

        more = ctl(zot, "jobs", "2")
        assert (more.status, more.text.splitlines()[0]) == (0, "jobs 1 → 2")
        assert "3 tasks may change" in more.text, "one at a time they did not disturb each other"
        wait_until(lambda: len(reached(zot)) == 2)
        assert ctl(zot, "jobs", "2").text == "nothing to do: jobs 2 already\n"
        assert "2 runs" in ctl(zot, "jobs", "1").text
        assert ctl(zot, "budget", "20").text == "budget none → $20.00\n"

        shown = show(zot, "two")
        assert (shown["state"], shown["phase"], shown["attempts"], shown["step"]) == ("running", "running", 1, 1)
        assert json.loads((zot.cwd / shown["events"]).read_bytes().splitlines()[-1]) == shown["last_event"]
        waiting = ctl(zot, "show", "three").text
        assert "state      waiting" in waiting
        assert "waits for  a running task to end" in waiting
        assert ctl(zot, "requeue", "three").text.startswith("nothing to do")

        (listed,) = run(zot, "batch", "list", "--json").json_lines
        assert (listed["state"], listed["pid"], listed["done"]) == ("running", batch.pid, 1)
        assert ctl(zot, "pause").text.startswith("paused")
        status = run(zot, "batch", "status", "runs")
        assert "paused by the user (pid" in status.text
        assert "jobs 2 → 1; budget none → $20.00; paused" in status.text
        assert ctl(zot, "resume").text == "resumed\n"
        assert ctl(zot, "resume").text.startswith("nothing to do")
        assert ctl(zot, "stop").text.startswith("stopping: 2 runs aborted")
        ended = batch.finish()
    assert ended.status == 130
    assert "jobs 1 → 2 by zot batch ctl" in ended.stderr
    assert changes(zot) == ["jobs", "jobs", "budget", "pause", "resume", "stop"]
    assert not sockets_in(runtime_dir(zot.home, zot.env), BATCH_CONTROL_SUFFIX)


def test_tasks_run_again_on_demand_and_each_attempt_counts_once(zot, held):
    with zot.start(*held, "--json", "--no-events") as batch:
        wait_until(lambda: reached(zot) == ["one"])
        assert (show(zot, "quick")["status"], show(zot, "quick")["attempts"]) == ("ok", 1)
        refused = ctl(zot, "requeue", "one")
        assert (refused.status, "--now aborts the run" in refused.stderr) == (1, True)
        assert ctl(zot, "requeue", "one", "--now").status == 0
        wait_until(lambda: reached(zot) == ["one", "one"])
        assert "stands until then" in ctl(zot, "requeue", "quick").text
        again = show(zot, "quick")
        assert (again["state"], again["status"]) == ("waiting", "ok")

        assert "1 run aborted" in ctl(zot, "pause", "--now").text
        wait_until(lambda: show(zot, "one")["state"] == "waiting")
        assert "zot batch ctl resume" in show(zot, "one")["waits_for"]
        assert ctl(zot, "jobs", "4").status == 0
        assert ctl(zot, "resume").status == 0
        wait_until(lambda: len(reached(zot)) == 5)
        wait_until(lambda: show(zot, "quick")["state"] == "done")
        assert show(zot, "quick")["attempts"] == 2
        assert show(zot, "one")["attempts"] == 3
        batch.signal(signal.SIGTERM)
        ended = batch.finish()
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    changed = [(each["what"], each["task"], each["now"]) for each in told if each["type"] == "batch_changed"]
    assert changed == [
        ("requeue", "one", True), ("requeue", "quick", False), ("pause", "", True), ("jobs", "", False),
        ("resume", "", False),
    ]  # fmt: skip
    ends = [(each["task"], each["attempt"]) for each in told if each["type"] == "task_end"]
    assert len(ends) == len(set(ends)), "each attempt has one end"
    assert told[-1]["statuses"] == {"ok": 1, "not_run": 3}


def test_wrong_words_and_batches_that_cannot_be_asked(zot, held):
    def error(*words, status=2):
        found = ctl(zot, *words)
        assert found.status == status, found.stderr
        return found.stderr

    assert "no such folder" in error()
    with zot.start(*held) as batch:
        wait_until(lambda: reached(zot) == ["one"])
        assert "did you mean 'pause'?" in error("puse")
        assert "N is missing" in error("jobs")
        assert "takes no value" in error("stop", "now")
        assert "--now goes with" in error("stop", "--now")
        for word in ("0", "-1", "x", "1.5", "9" * 30, "\uff11"):
            assert "whole number from 1" in error("jobs", "--", word)
        for word in ("-1", "nan", "inf", "x"):
            assert "number of US dollars" in error("budget", "--", word)
        assert "did you mean 'three'?" in error("show", "tree")
        assert "did you mean 'quick'?" in error("requeue", "quik")
        batch.signal(signal.SIGKILL)
        batch.finish()
    left = sockets_in(runtime_dir(zot.home, zot.env), BATCH_CONTROL_SUFFIX)
    assert len(left) == 1, "a killed batch leaves its socket"
    assert "no batch runs there; zot batch status" in error("jobs", "3")
    with zot.start(*held) as batch:
        wait_until(lambda: len(reached(zot)) == 2)
        assert [pid for pid, _ in sockets_in(left[0][1].parent, BATCH_CONTROL_SUFFIX)] == [batch.pid]
        sockets_in(left[0][1].parent, BATCH_CONTROL_SUFFIX)[0][1].unlink()
        assert "has no control socket" in error("jobs", "3", status=1)
        batch.signal(signal.SIGTERM)
        batch.finish()
    owner = {"host": "another.example", "pid": 1, "began": 0.0}
    (zot.cwd / "runs" / "journal.lock").write_text(json.dumps(owner))
    assert "a batch process on another.example (pid 1) works on it" in error("pause", status=1)


def test_floods_and_garbage_on_the_socket_hurt_nobody(zot, held):
    with zot.start(*held) as batch:
        wait_until(lambda: reached(zot) == ["one"])
        ((_, path),) = sockets_in(runtime_dir(zot.home, zot.env), BATCH_CONTROL_SUFFIX)
        assert path.stat().st_mode & 0o777 == 0o600
        clients = [socket.socket(socket.AF_UNIX) for _ in range(7)]
        for client in clients:
            client.connect(str(path))
            client.settimeout(20)
        garbage, long, silent, gone, *flooding = clients
        garbage.sendall(b'\xff\x00{]\n{"type":"jobs"}\n{"type":"jobs","id":"x","jobs":0}\n')
        answers = garbage.makefile("rb")
        assert b"not a request to a batch" in answers.readline()
        answers.readline()
        assert json.loads(answers.readline())["id"] == "x"
        long.sendall(b"x" * 200_000 + b"\n")
        assert b"the limit is 65536" in long.makefile("rb").readline()
        gone.sendall(b'{"type":"budget","id":"1","usd":5}\n')
        gone.close()
        for number, client in enumerate(flooding):
            client.setblocking(False)
            line = json.dumps({"type": "jobs", "id": "1", "jobs": number + 1}).encode() + b"\n"
            try:
                while client.send(line * 100):
                    pass
            except BlockingIOError:
                pass
        assert ctl(zot, "pause").status == 0
        assert ctl(zot, "--json").json_lines[0]["max_cost_usd"] == 5, "a request of a client that went is carried out"
        assert silent.fileno() >= 0
        for client in clients:
            client.close()
        assert ctl(zot, "stop").status == 0
        assert batch.finish().status == 130
