"""Nothing of an extension is left after a stop or a restart, in whatever state it was."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from tests.support.host import SOON, Host
from tests.support.lives import is_gone, lives

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "life"


def test_a_shutdown_ack_that_comes_too_early_does_not_put_off_the_stop(host: Host):
    host.write("early", 'hello("a")\nsend(type="shutdown_ack")\nsend(type="ready")\nlist(frames())')
    host.start()
    assert host.stop() < 1.5, "no SIGTERM is awaited"
    assert host.cost("early").exit_status == "exit 0"


def test_a_stop_ends_the_wait_for_a_restart(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.2, 0.2]})
    host.start()
    host.call("die")
    assert host.stop() < 1
    host.run_for(0.3)
    assert lives(marks) == 1
    assert host.cost("lives").restarts == 0


def test_a_stop_ends_a_grandchild_that_a_restart_waits_for(host: Host, tmp_path: Path):
    """The stop comes while a grandchild ignores its SIGTERM."""
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\nsignal.pause()"
    code = (
        'hello("a")\nsend(type="ready")\nnext(frames())\n'
        f'child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {deaf!r}], stdout=subprocess.PIPE)\n'
        f'child.stdout.readline()\nopen({str(tmp_path / "pid")!r}, "w").write(str(child.pid))\nos._exit(1)'
    )
    host.write("leader", code, restart=SOON)
    host.start()
    host.call("a")
    pid = int((tmp_path / "pid").read_text())
    host.run_for(0.1)
    assert host.state("leader") is WorkerState.BACKOFF, "it is not started while something of it lives"
    assert not is_gone(pid)
    host.stop(at_once=True)
    assert is_gone(pid)


def test_a_stop_ends_a_grandchild_that_only_the_restart_knew_of(tmp_path: Path):
    """The host is no subreaper; the grandchild has left the session, and its parent has ended."""
    grandchild = tmp_path / "grandchild.py"
    grandchild.write_text(
        "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\nsignal.pause()"
    )
    code = (
        f"child = subprocess.Popen([sys.executable, '-I', '-S', {str(grandchild)!r}], stdout=subprocess.PIPE, "
        "start_new_session=True)\n"
        f'child.stdout.readline()\nopen({str(tmp_path / "pid")!r}, "w").write(str(child.pid))\n'
        'hello("a")\nsend(type="ready")\nsignal.pause()'
    )
    with Host(tmp_path, owns_process=False) as embedded:
        embedded.write("leader", code, restart=SOON)
        embedded.start()
        pid = int((tmp_path / "pid").read_text())
        embedded.supervisor.restart("leader")
        leader = embedded.extension("leader").child
        os.kill(leader.pid, signal.SIGTERM)
        embedded.until(lambda: not leader.is_running)
        embedded.run_for(0.1)
        assert not is_gone(pid)
        embedded.stop()
        try:
            assert is_gone(pid)
        finally:
            if not is_gone(pid):
                os.kill(pid, signal.SIGKILL)


def test_a_stop_during_a_restart_is_no_failed_start(host: Host, marks: Path):
    host.add("lives", marks, restart={"backoff_s": [0.01, 0.01]})
    host.start()
    host.call("die")
    host.until(lambda: host.state("lives") is WorkerState.SPAWNED)
    host.stop()
    assert [kind for kind, _ in host.said_of("lives")] == ["exited"]


def test_an_extension_that_a_user_kills_is_not_started_again(host: Host, marks: Path):
    host.add("lives", marks, restart=SOON)
    host.start()
    host.supervisor.kill_now()
    host.run_for(0.3)
    assert lives(marks) == 1
    assert not any("restarting it" in line for _, line in host.said_of("lives"))
    host.stop()
    assert host.state("lives") in (WorkerState.FAILED, WorkerState.EXITED)


@pytest.mark.parametrize("how", ["crash", "user"])
def test_daemons_of_a_worker_are_ended_before_the_next_one_starts(host: Host, tmp_path: Path, how: str):
    host.add("daemon_grandchild", tmp_path / "pid", restart=SOON)
    host.start()
    daemon = int((tmp_path / "pid").read_text())
    assert os.getsid(daemon) != os.getsid(host.extension("daemon_grandchild").pid)
    extension = host.extension("daemon_grandchild")
    first = extension.lead
    if how == "crash":
        os.kill(extension.pid, signal.SIGKILL)
    else:
        host.supervisor.restart("daemon_grandchild")
    host.until(lambda: extension.lead is not first)
    assert is_gone(daemon)
    host.until(lambda: host.is_restarted("daemon_grandchild"))
    second = int((tmp_path / "pid").read_text())
    assert second != daemon
    assert not is_gone(second), "the daemon of the process that is there now is left alone"


def test_a_daemon_of_another_extension_is_left_alone(host: Host, tmp_path: Path, marks: Path):
    host.add("daemon_grandchild", tmp_path / "pid")
    host.add("lives", marks, restart=SOON)
    host.start()
    host.call("die")
    host.until(lambda: host.is_restarted("lives"))
    assert not is_gone(int((tmp_path / "pid").read_text()))
