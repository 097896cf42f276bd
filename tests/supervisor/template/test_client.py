"""A fork is announced, signalled and collected as a child is; a template that dies takes nothing with it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.process.child import ExitStatus, SpawnError
from supervisor.process.stop_policy import Patience
from supervisor.process.table import is_alive
from supervisor.process.teardown import stop_all
from supervisor.template import forked_child, protocol
from supervisor.template.forked_child import NO_PID, ForkState
from tests.support.templates import command, warm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.templates import Forked, Warm

pytestmark = pytest.mark.skipif(not protocol.is_available(), reason="no templates on this system")


@pytest.fixture(scope="module")
def template() -> Iterator[Warm]:
    with warm() as made:
        yield made.serving()


@pytest.fixture
def own() -> Iterator[Warm]:
    """A template for tests that kill it."""
    with warm() as made:
        yield made.serving()


@pytest.fixture
def link() -> Iterator[tuple[int, int]]:
    """A pipe: the reading and the writing end."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


def kill_template(warm: Warm) -> None:
    assert warm.template.child is not None
    warm.template.child.kill_group(signal.SIGKILL)


# --- how forks end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "code", "output"),
    [
        (b"return", 0, "return\n"),
        (b"return 7", 7, "return\n"),
        (b"return 256", 0, "return\n"),
        (b"exit", 0, "exit\n"),
        (b"exit 3", 3, "exit\n"),
        (b"exit no such task", 1, "no such task\nexit\n"),
        (b"raise too late", 1, "RuntimeError: too late"),
        (b"interrupt", -signal.SIGINT, "KeyboardInterrupt"),
        (b"signal 9", -signal.SIGKILL, ""),
        (b"signal 11", -signal.SIGSEGV, ""),
    ],
)
def test_the_status_is_that_of_an_interpreter(template: Warm, argument: bytes, code: int, output: str):
    forked = template.fork("returns", argument)
    end = forked.until_end()
    assert isinstance(end, ExitStatus)
    assert end.code == code
    assert output in forked.output.decode()
    assert forked.child.exit == end
    assert forked.child.state is ForkState.ENDED


def test_output_that_cannot_be_written_is_a_failure(template: Warm):
    """Its reader has gone. The interpreter's own status for that is 120."""
    for entry, code in (("copies", 1), ("says_later", 120)):
        forked = template.fork(entry, stdin=True)
        forked.child.stdout.close()
        assert forked.child.send(b"word\n")
        assert forked.until_end().code == code


def test_time_and_memory_are_reported(template: Warm, link: tuple[int, int]):
    reader, writer = link
    forked = template.fork("uses", b"64", links=[reader]).until_said(b"used")
    idle = template.fork("waits", links=[reader]).until_said()
    used, uss = forked.child.grown(), forked.child.uss()
    assert uss is not None
    assert used > 60 << 20
    assert uss > 60 << 20
    assert forked.child.peak_rss() > 60 << 20
    other = idle.child.uss()
    assert other is not None
    assert other < idle.child.peak_rss() / 2, "most is shared with the template"
    assert idle.child.grown() < 20 << 20
    os.write(writer, b"\0\0")
    end = forked.until_end()
    assert end.cpu_s > 0.04
    assert end.rss_peak > 60 << 20
    assert idle.until_end().rss_peak == 0, "the kernel's figure cannot be told from the template's own"
    assert forked.child.uss() is None
    assert forked.child.grown() == 0


def test_a_fork_that_forks(template: Warm):
    forked = template.fork("forks")
    assert forked.until_end().code == 5
    assert forked.output == b"buffered child parent"


def test_a_fork_that_closes_everything(template: Warm):
    muted: list[bool] = []
    forked = template.fork("closes_everything", on_mute=lambda: muted.append(True))
    assert forked.until_end().code in (5, 120)
    assert template.fork("returns", b"return 2").until_end().code == 2


def test_a_burst(template: Warm):
    burst = [template.fork("returns", b"return %d" % (number % 200)) for number in range(200)]
    assert [forked.until_end().code for forked in burst] == list(range(200))
    assert len({forked.child.pid for forked in burst}) == 200


# --- forks that cannot be ------------------------------------------------------------------------------------


def test_a_folder_that_does_not_exist(template: Warm):
    forked = template.fork("returns", cwd="/no/such/place")
    error = forked.until_end()
    assert isinstance(error, SpawnError)
    assert error.errno == errno.ENOENT
    assert "cannot start the fork: /no/such/place: No such file or directory" in str(error)
    assert not error.may_pass
    assert forked.child.exit is None
    assert forked.child.state is ForkState.FAILED
    assert template.fork("returns").until_end().code == 0


def test_a_function_that_does_not_exist(template: Warm):
    error = template.fork("retruns").until_end()
    assert "the template has no function 'retruns'; it has appends, " in str(error)


@pytest.mark.parametrize("env", [{"A=B": "c"}, {"": "a"}, {"A": "b\0c"}])
def test_an_environment_that_cannot_be(template: Warm, env: dict[str, str]):
    with pytest.raises(SpawnError, match="cannot start the fork: the environment cannot have the variable"):
        template.fork("returns", env=env)


def test_too_many_descriptors(template: Warm):
    with pytest.raises(SpawnError, match="64 descriptors at most"):
        template.fork("returns", links=[0] * 62)
    with pytest.raises(SpawnError, match="Bad file descriptor"):
        template.fork("returns", links=[999])


def test_a_failing_fork_fails_alone():
    """Every second fork of this template fails, as at the limit of processes."""
    with warm("flaky") as flaky:
        ends = [flaky.fork("returns", b"return 3") for _ in range(6)]
        good, bad = ends[::2], ends[1::2]
        assert [forked.until_end().code for forked in good] == [3] * 3
        for forked in bad:
            error = forked.until_end()
            assert error.errno == errno.EAGAIN
            assert error.may_pass
            assert "cannot fork: Resource temporarily unavailable" in str(error)


# --- signals -------------------------------------------------------------------------------------------------


def test_a_signal_reaches_the_whole_group(template: Warm, link: tuple[int, int]):
    forked = template.fork("waits", links=[link[0]]).until_said()
    assert forked.child.identity.pid == forked.child.pid == int(forked.output)
    assert is_alive(forked.child.identity)
    forked.child.kill_group(signal.SIGTERM)
    assert forked.until_end().code == -signal.SIGTERM
    assert not is_alive(forked.child.identity)
    forked.child.kill_group(signal.SIGKILL)


def test_an_older_kernel_signals_the_group_by_its_number(
    template: Warm, link: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(forked_child, "PIDFD_SIGNAL_PROCESS_GROUP", 1 << 20)  # EINVAL
    forked = template.fork("waits", links=[link[0]]).until_said()
    forked.child.kill_group(signal.SIGTERM)
    assert forked.until_end().code == -signal.SIGTERM


def test_a_kill_before_the_pid_is_known_is_delivered(template: Warm, link: tuple[int, int]):
    forked = template.fork("waits", links=[link[0]])
    assert forked.child.state is ForkState.ASKED
    assert forked.child.pid == NO_PID
    assert forked.child.identity.started == 0
    forked.child.kill_group(signal.SIGKILL)
    assert forked.until_end().code == -signal.SIGKILL


def test_a_kill_before_the_request_is_sent_withdraws_it(tmp_path: Path):
    with warm() as template:
        forked = template.fork("appends", b"%b/ran line" % bytes(tmp_path))
        assert forked.child.state is ForkState.WAITING
        forked.child.kill_group(signal.SIGTERM)
        assert not forked.ends, "not from within the call"
        assert forked.until_end() == ExitStatus(-signal.SIGTERM, 0.0, 0)
        template.serving()
    assert not (tmp_path / "ran").exists()


class Owner:
    """Stops a fork by closing its link."""

    def __init__(self, forked: Forked, asks: int = -1) -> None:
        self.child = forked.child
        self._asks = asks

    def ask_to_stop(self) -> None:
        if self._asks >= 0:
            os.close(self._asks)

    def hint_to_stop(self) -> None:
        pass


def test_a_teardown_stops_forks(template: Warm):
    reader, writer = os.pipe()
    polite = template.fork("waits", links=[reader]).until_said()
    os.close(reader)
    stubborn = template.fork("stubborn").until_said()
    late = template.fork("stubborn")
    owners = [Owner(polite, writer), Owner(stubborn), Owner(late)]
    assert stop_all(template.loop, owners, patience=Patience(hint=0.01, ask=0.05, term=0.05)) == []
    assert polite.until_end().code == 0
    assert stubborn.until_end().code == -signal.SIGKILL
    assert late.until_end().code in (-signal.SIGTERM, -signal.SIGKILL)


# --- the template dies ---------------------------------------------------------------------------------------


def test_forks_outlive_their_template(own: Warm, link: tuple[int, int]):
    forked = own.fork("waits", links=[link[0]]).until_said()
    ended = own.fork("waits", links=[link[0]]).until_said()
    first = own.template.child
    kill_template(own)
    own.until(lambda: own.template.child is None)
    assert forked.child.state is ForkState.ORPHANED
    ended.child.kill_group(signal.SIGTERM)
    assert ended.until_end().code == -signal.SIGTERM
    assert own.fork("returns", b"return 6").until_end().code == 6, "a new template"
    assert own.template.child is not first
    os.write(link[1], b"\x09")
    end = forked.until_end()
    assert end.code == 9
    assert end.cpu_s > 0


def test_without_a_descriptor_for_it_a_fork_is_still_collected(own: Warm, link: tuple[int, int]):
    """As when this process has no descriptor left at the moment when the fork begins."""
    forked = own.fork("waits", links=[link[0]]).until_said()
    os.close(forked.child._pidfd)
    forked.child._pidfd = -1
    other = own.fork("waits", links=[link[0]]).until_said()
    os.close(other.child._pidfd)
    other.child._pidfd = -1
    other.child.kill_group(signal.SIGTERM)
    assert other.until_end().code == -signal.SIGTERM
    kill_template(own)
    os.write(link[1], b"\x08")
    assert forked.until_end().code == 8


def test_the_status_of_a_fork_that_another_process_has_collected(own: Warm, link: tuple[int, int]):
    forked = own.fork("waits", links=[link[0]]).until_said()
    kill_template(own)
    own.until(lambda: own.template.child is None)
    os.write(link[1], b"\x08")
    os.waitpid(forked.child.pid, 0)
    assert forked.until_end().code in (8, forked_child.UNKNOWN_CODE)


@pytest.mark.parametrize("asked", [1, 5, 40])
def test_a_fork_that_failed_has_not_run_and_each_other_has_run_once(own: Warm, tmp_path: Path, asked: int):
    path = tmp_path / "ran"
    forks = [own.fork("appends", b"%b %d" % (bytes(path), number)) for number in range(asked)]
    own.until(lambda: forks[asked // 2].child.state is not ForkState.WAITING)
    kill_template(own)
    ends: list[Any] = [forked.until_end() for forked in forks]
    ran = sorted(map(int, path.read_text().split())) if path.exists() else []
    assert ran == [number for number, end in enumerate(ends) if isinstance(end, ExitStatus)], ends
    for end in ends:
        if isinstance(end, SpawnError):
            assert "the fork has not begun: the template ended (signal SIGKILL)" in str(end)
            assert end.may_pass


def test_a_template_that_cannot_start_says_its_last_words():
    with warm("dies") as dying:
        first, second = dying.fork("returns"), dying.fork("returns")
        for forked in (first, second):
            error = forked.until_end()
            assert "the template ended before it was ready (exit 1): there is no module" in str(error)
            assert "died 3 times without a fork: it is not restarted" in str(error)
        with pytest.raises(SpawnError, match="there is no module sonnet"):
            dying.fork("returns")


def test_a_template_whose_program_does_not_exist():
    with warm() as made:
        made.template._argv = ["/no/such/program"]
        assert "cannot start /no/such/program: no such file" in str(made.fork("returns").until_end())


def test_a_template_that_is_not_ready_in_time_is_killed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.template.connection.READY_S", 0.05)
    with warm("deaf") as deaf:
        error = deaf.fork("returns").until_end()
        assert "(it was not ready within 0 s, and was killed)" in str(error)


def test_a_template_that_does_not_answer_is_killed(own: Warm, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.template.connection.ANSWER_S", 0.05)
    assert own.template.child is not None
    own.template.child.kill_group(signal.SIGSTOP)
    error = own.fork("returns").until_end()
    assert "the fork has not begun" in str(error)
    assert "it did not answer within 0 s, and was killed" in str(error)
    assert error.may_pass
    assert own.fork("returns", b"return 4").until_end().code == 4


@pytest.mark.slow
def test_a_template_that_does_not_report_an_end_is_killed(
    own: Warm, link: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    """A fork has ended while its template stands still: no other process can collect it."""
    monkeypatch.setattr("supervisor.template.connection.LOOK_S", 0.05)
    forked = own.fork("waits", links=[link[0]]).until_said()
    assert own.template.child is not None
    own.template.child.kill_group(signal.SIGSTOP)
    os.write(link[1], b"\x09")
    assert forked.until_end().code == 9
    assert own.fork("returns", b"return 4").until_end().code == 4


def test_a_stopped_template_takes_its_forks_with_it(link: tuple[int, int]):
    with warm() as template:
        forks = [template.fork("stubborn").until_said(), template.fork("waits", links=[link[0]]).until_said()]
        stop_all(template.loop, [template.template])
        assert [forked.until_end().code for forked in forks] == [-signal.SIGKILL, -signal.SIGTERM]
        with pytest.raises(SpawnError, match="the template was stopped"):
            template.fork("returns")


def test_requests_that_wait_when_the_template_is_stopped_fail():
    with warm() as template:
        forked = template.fork("returns")
        template.template.ask_to_stop()
        assert "the template was stopped" in str(forked.until_end())


def test_a_parent_that_is_killed_leaves_nothing():
    """The parent dies without a word; the template ends its forks, also those that ignore SIGTERM, and itself."""
    code = (
        "import os, sys, time; from tests.support.templates import warm\n"
        "with warm() as made:\n"
        "    pids = [made.template.child and made.template.child.pid]\n"
        "    forks = [made.fork('stubborn').until_said() for _ in range(3)]\n"
        "    print(made.template.child.pid, *[forked.child.pid for forked in forks], flush=True)\n"
        "    time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        template, *forks = map(int, parent.stdout.readline().split())
        parent.kill()
    ends = {pid: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (template, *forks)}
    assert ends == {**dict.fromkeys(forks, -signal.SIGKILL), template: 0}


def test_the_template_is_started_once(template: Warm):
    child = template.template.child
    template.template.start()
    assert template.template.child is child
    assert child is not None
    assert command()[0] == sys.executable
