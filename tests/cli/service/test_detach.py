"""`zot host -d`: a host in the background, or the reason why there is none; never a process that nobody knows of."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from cli.service import detach
from cli.service.detach import LOGS_KEPT, _wait
from tests.support.extension_folder import extension, folder
from tests.support.patience import PATIENCE_S
from tests.support.project_extension import put
from tests.support.terminal import open_terminal
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

LINE = re.compile(r"zot host (\d+) runs: (.*); log (.*); to stop: zot stop \1\n")
SILENT = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


def silent(zot: Zot) -> Path:
    """An extension that never says hello."""
    return folder(zot.folder, "silent", SILENT, timeouts={"hello": 600})


def stop(zot: Zot, pid: int) -> None:
    assert zot.run("stop", str(pid)).status == 0
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], PATIENCE_S)


def the_host(zot: Zot) -> int:
    """The pid of the host, once it serves."""
    (found,) = wait_until(lambda: list(zot.home.glob("run/*.sock")))
    return int(found.stem)


def nothing_runs(zot: Zot) -> bool:
    return not list(zot.home.glob("run/*"))


def test_it_is_ready_when_the_command_ends(zot):
    with zot.start("host", "-d", "--no-ext", "-e", extension(zot.folder, "echo")) as running:
        started = running.finish()
        assert (started.status, started.stderr) == (0, "")
        line = LINE.fullmatch(started.text)
        assert line is not None, started
        pid, log = int(line[1]), line[3]
        assert line[2] == "1 of 1 extension ready"
        assert os.getsid(pid) == pid, "no terminal's Ctrl-C reaches it"
        assert log == str(zot.home / "logs" / f"host-{pid}.log")
        assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
        assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (1, 2)} == {log}
        assert "hello" in zot.run("ext", "call", "echo", "echo", '{"text": "hello"}').text
        stop(zot, pid)
    with open(log) as file:
        events = [row.split()[2] for row in file]
    assert (events[0], events[-1]) == ("serving", "stopped")
    assert nothing_runs(zot)


@pytest.mark.parametrize(
    ("flags", "status", "reason"),
    [
        (("--share", "nope"), Status.USAGE, "--share: no such extension: 'nope'"),
        (("-e", "nowhere"), Status.REQUIRED_EXTENSION, "no such folder"),
        (("--stats", "/nowhere/stats"), Status.USAGE, "--stats /nowhere/stats: No such file"),
    ],
)
def test_a_host_that_does_not_start_tells_why(zot, flags, status, reason):
    started = zot.run("host", "-d", *flags)
    assert (started.status, started.stdout, started.leftovers) == (status.exit_code, b"", [])
    *lines, last = started.stderr.splitlines()
    assert any(reason in line for line in lines), started.stderr
    assert re.fullmatch(rf"zot host: the host ended with status {started.status} before it was ready; log .*", last)
    assert nothing_runs(zot)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--cwd", "nowhere"), "--cwd nowhere: no such folder"),
        (("--openmetrics",), "--openmetrics has no effect without --metrics FILE"),
    ],
)
def test_wrong_flags_are_refused_in_the_foreground(zot, flags, reason):
    refused = zot.run("host", "-d", *flags)
    assert reason in refused.refusal()
    assert refused.refusal() == zot.run("host", *flags).refusal()
    assert not (zot.home / "logs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_waits_stops_the_host(zot, number):
    with zot.start("host", "-d", "-e", silent(zot)) as running:
        the_host(zot)
        running.signal(number)
        outcome = running.finish()
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (130, b"", [])
    assert "interrupted; the host was stopped before it was ready" in outcome.stderr
    assert nothing_runs(zot)


def test_a_host_that_is_killed_before_it_is_ready(zot):
    with zot.start("host", "-d", "-e", silent(zot)) as running:
        os.kill(the_host(zot), signal.SIGKILL)
        outcome = running.finish()
    assert outcome.status == Status.ERROR.exit_code
    assert "the host was killed by signal 9 before it was ready" in outcome.stderr


def test_the_host_outlives_a_command_that_is_killed(zot):
    with zot.start("host", "-d", "-e", silent(zot)) as running:
        pid = the_host(zot)
        running.signal(signal.SIGKILL)
        running.process.wait()
        assert str(pid) in zot.run("ps").text
        stop(zot, pid)
    with zot.start("host", "--no-ext") as running:
        the_host(zot)
        running.signal(signal.SIGTERM)
        running.finish()
    assert nothing_runs(zot), "also the socket on which it waited"


def test_a_host_that_is_never_ready_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(detach, "START_S", 0.0)
    child = subprocess.Popen(["sleep", "600"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        assert _wait(listener, child.pid, []) == (-signal.SIGTERM, {}, 0)
    child.returncode = -signal.SIGTERM


def test_a_host_that_does_not_stop_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(detach, "STOP_S", 0.0)
    child = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 600; done"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    sleeper = wait_until(lambda: psutil.Process(child.pid).children())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        assert _wait(listener, child.pid, [signal.SIGINT]) == (-signal.SIGKILL, {}, 1)
    child.returncode = -signal.SIGKILL
    child.stdout.close()
    for process in sleeper:
        process.kill()
        process.wait()


def test_old_logs_are_removed(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    ended = 2**22  # above the largest pid
    for age in range(LOGS_KEPT + 5):
        (logs / f"host-{ended + age}.log").touch()
        os.utime(logs / f"host-{ended + age}.log", (1e9 - age, 1e9 - age))
    (logs / f"host-{ended + 99}.log").mkdir()  # it cannot be removed, and is the oldest
    os.utime(logs / f"host-{ended + 99}.log", (1, 1))
    kept = [logs / f"host-{os.getpid()}.log", logs / "ext-a.log"]
    for path in kept:
        path.write_text("x")
    program = "import sys; from pathlib import Path; from cli.service.detach import _write_to_log"
    program += "; _write_to_log(Path(sys.argv[1])); print('said')"
    subprocess.run([sys.executable, "-c", program, str(logs / "host-1.log")], check=True)
    assert all(path.read_text() == "x" for path in kept)
    assert (logs / "host-1.log").read_text() == "said\n"
    assert len(list(logs.iterdir())) == LOGS_KEPT + len(kept) + 2
    assert not (logs / f"host-{ended + LOGS_KEPT}.log").exists()


def test_two_hosts_that_remove_the_same_logs_do_not_fail(tmp_path, monkeypatch):
    """The other one removes each as soon as this one has seen it."""

    def removed_meanwhile(pid: int) -> bool:
        (tmp_path / f"host-{pid}.log").unlink()
        return False

    monkeypatch.setattr(detach.runtime_dir, "is_alive", removed_meanwhile)
    for pid in range(LOGS_KEPT + 1):
        (tmp_path / f"host-{pid}.log").touch()
    detach._remove_old_logs(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_question_about_trust_is_asked_first(zot):
    put(zot, "echo")
    with open_terminal(zot, width=140) as terminal:
        terminal.command(f"{terminal.zot} host -d")
        terminal.wait_for("Start it, now and until it changes")
        assert nothing_runs(zot)
        terminal.keys("y", "Enter")
        shown = terminal.wait_for(r"^zot host \d+ runs: 1 of 1 extension ready")
        pid = re.findall(r"^zot host (\d+) runs", shown, re.MULTILINE)[0]
        terminal.command(f"{terminal.zot} stop {pid}")
        terminal.wait_for(f"host {pid} has stopped")
    assert nothing_runs(zot)
