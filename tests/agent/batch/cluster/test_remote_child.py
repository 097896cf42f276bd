"""The process of a run on a node, between a `RunLink` and frames."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.cluster.remote_child import FOREIGN_PID, RemoteChild
from agent.batch.pool.run_link import RunLink
from supervisor.process.child import ExitStatus, SpawnError
from supervisor.process.table import read_process, send_signal
from wire.batch.node_frames import Exited, Kill, NotStarted, Read, Send, Start, Told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.loop.loop import Loop

LARGE = 4 * 1024 * 1024
"""More than a socket takes at once."""


class Stand:
    def __init__(self, loop: Loop, errors: Path) -> None:
        self.loop = loop
        self.sent: list[Any] = []
        self.told: list[tuple[str, Any]] = []
        self.link = RunLink(
            loop,
            on_line=lambda line: self.told.append(("line", line)),
            on_end=lambda why: self.told.append(("end", why)),
        )
        stderr = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.child = RemoteChild(
            loop, "1-1", self._send, link=self.link.theirs.fileno(), stderr=stderr,
            on_stdout=lambda data: self.told.append(("output", data)), on_exit=self._exit,
            on_failed=lambda error: self.told.append(("failed", error)), on_over=lambda: self.told.append(("over", 0)),
        )  # fmt: skip
        os.close(stderr)
        self.link.give()

    def _exit(self, status: ExitStatus) -> None:
        self.link.drain()
        self.told.append(("exit", status))

    def _send(self, frame: Any) -> bool:
        self.sent.append(frame)
        return True

    def until(self, condition: Any) -> None:
        assert self.loop.run_until(condition, self.loop.clock() + 30)

    def words(self) -> list[str]:
        return [word for word, _ in self.told]


@pytest.fixture
def stand(loop: Loop, tmp_path: Path) -> Iterator[Stand]:
    made = Stand(loop, tmp_path / "stderr")
    yield made
    made.child.lose("the test is over")
    made.link.close()


def exited(code: int = 0) -> Exited:
    return Exited(run="1-1", code=code, cpu_s=0.5, rss_peak=7)


def told(line: bytes) -> Told:
    return Told(run="1-1", line=line)


def test_the_first_line_starts_the_run_and_the_rest_is_sent(stand: Stand) -> None:
    stand.link.send(b'{"type":"begin"')
    stand.link.send(b"}\nmore\n")
    stand.until(lambda: len(stand.sent) == 2)
    stand.link.send(b"and more\n")
    stand.until(lambda: len(stand.sent) == 3)
    assert stand.sent == [
        Start(run="1-1", begin=b'{"type":"begin"}'),
        Send(run="1-1", data=b"more\n"),
        Send(run="1-1", data=b"and more\n"),
    ]


@pytest.mark.parametrize("size", [1, LARGE])
def test_all_lines_come_before_the_end(stand: Stand, size: int) -> None:
    lines = [b"%d" % number + b"x" * size for number in range(3)]
    for line in lines:
        stand.child.told(told(line))
    stand.child.exited(exited(3))
    stand.until(lambda: "exit" in stand.words())
    assert [line for word, line in stand.told if word == "line"] == lines
    assert stand.told[-1] == ("exit", ExitStatus(3, 0.5, 7))
    assert stand.words().count("over") == 1
    assert not stand.child.is_running


@pytest.mark.parametrize("size", [1, LARGE])
def test_lines_of_a_lost_node_count(stand: Stand, size: int) -> None:
    stand.child.told(told(b"x" * size))
    stand.child.lose("the cable")
    stand.until(lambda: "exit" in stand.words())
    assert ("line", b"x" * size) in stand.told
    assert (stand.child.lost, stand.child.exit) == ("the cable", ExitStatus(-9, 0.0, 0))


def test_a_batch_that_listens_no_longer_does_not_keep_the_end(stand: Stand) -> None:
    stand.child.told(told(b"x" * LARGE))
    stand.link.close()
    stand.child.exited(exited())
    stand.until(lambda: "exit" in stand.words())


def test_a_loss_after_the_end_changes_nothing(stand: Stand) -> None:
    stand.child.told(told(b"x" * LARGE))
    stand.child.exited(exited())
    stand.child.lose("too late")
    stand.until(lambda: "exit" in stand.words())
    stand.child.lose("too late")
    stand.child.not_started(NotStarted(run="1-1", message="never", may_pass=True))
    assert stand.child.lost == ""
    assert stand.words().count("exit") == 1


def test_a_run_that_could_not_be_started(stand: Stand) -> None:
    stand.child.not_started(NotStarted(run="1-1", message="no memory", may_pass=True))
    (_, (word, error)) = stand.told
    assert (word, str(error), error.may_pass) == ("failed", "no memory", True)
    assert isinstance(error, SpawnError)


def test_errors_go_into_the_file(stand: Stand, tmp_path: Path) -> None:
    stand.child.errors(b"one\n")
    stand.child.errors(b"two\n")
    assert (tmp_path / "stderr").read_bytes() == b"one\ntwo\n"


def test_orders_become_frames_while_it_runs(stand: Stand) -> None:
    stand.child.stdout.hold(held=True)
    stand.child.stdout.take()
    stand.child.stdout.hold(held=False)
    stand.child.kill_group(signal.SIGTERM)
    stand.child.kill_group(signal.SIGKILL)
    assert stand.sent == [Read(run="1-1", is_on=False), Read(run="1-1", is_on=True), Kill(run="1-1")]
    stand.child.exited(exited())
    stand.child.kill()
    assert len(stand.sent) == 3


def test_no_process_here_has_its_pid(stand: Stand) -> None:
    assert read_process(FOREIGN_PID) is None
    assert not send_signal(stand.child.identity, signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        os.killpg(FOREIGN_PID, 0)
