"""A run as its batch sees it, with a process that does what its prompt says in the place of an agent."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Raw

from agent.batch.pool.processes import RunMemory
from agent.batch.pool.run_facts import Attempt, EndReason
from agent.batch.pool.run_order import RunOrder
from agent.batch.pool.run_process import RunProcess
from agent.batch.request import RunState
from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.loop.loop import Loop
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.table import ProcessTable
from tests.support.patience import PATIENCE_S
from tests.support.run_launcher import program_launcher
from wire.batch import link, task
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).resolve().parents[3] / "support" / "standin_run.py"


class Listener:
    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.requests: list[link.ModelRequest] = []
        self.outcome: Outcome | None = None
        self.trouble = ""
        self.pace: list[bool] = []

    def run_said(self, run: RunProcess, line: bytes) -> None:
        self.lines.append(line)

    def run_asked(self, run: RunProcess, request: link.ModelRequest) -> None:
        self.requests.append(request)

    def run_cancelled(self, run: RunProcess) -> None: ...

    def run_is_behind(self, run: RunProcess, is_behind: bool) -> None:
        self.pace.append(is_behind)

    def run_has_no_files(self, run: RunProcess, reason: str) -> None:
        self.trouble = reason

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        assert self.outcome is None
        self.outcome = outcome


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = Loop()
        self.listener = Listener()
        self.token = os.urandom(8).hex()

    def run(self, prompt: str, **limits: object) -> RunProcess:
        begin = link.Begin(
            task=Raw(task.encode_task(task.Task(id="a", prompt=prompt)).rstrip()), attempt=1, run="r1",
            request=Raw(b"{}"),
            token=f"{self.token}.1", version="0",
        )  # fmt: skip
        attempt = Attempt("a", 1, "digest", {"n": 1})
        order = RunOrder(
            attempt=attempt, begin=begin, events=self.folder / "runs" / "a" / "1.events.jsonl",
            stderr=self.folder / "runs" / "a" / "1.stderr", **limits,
        )  # fmt: skip
        run = RunProcess(
            self.loop, order, self.listener,
            launch=program_launcher(self.loop, dict(os.environ), str(self.folder), PROGRAM),
            memory_of=lambda child: RunMemory(lambda: child.pid),
        )  # fmt: skip
        run.start()
        return run

    def end(self) -> Outcome:
        assert self.loop.run_until(lambda: self.listener.outcome is not None, self.loop.clock() + PATIENCE_S)
        assert self.listener.outcome is not None
        # The moment it is told, nothing of the run is left.
        bearing = [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), self.token)]
        assert bearing == []
        return self.listener.outcome

    def wait_for(self, state: RunState, run: RunProcess) -> None:
        assert self.loop.run_until(lambda: run.state is state, self.loop.clock() + PATIENCE_S)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    SharedProcessTable(place.loop).adopt_orphans()
    with place.loop.signals((), lambda _number: None):
        yield place
    place.loop.close()


def test_a_run_that_ends_well(place: Place) -> None:
    run = place.run("say hello usage 7")
    outcome = place.end()
    assert (outcome.status, outcome.reason, outcome.text, outcome.exit_status) == (TaskStatus.OK, "", "did a", 0)
    assert (outcome.usage.input, outcome.requests, outcome.meta, outcome.digest) == (7, 1, {"n": 1}, "digest")
    events = (place.folder / "runs" / "a" / "1.events.jsonl").read_bytes()
    assert events == b"".join(place.listener.lines)
    assert b'{"type":"text_delta","delta":"hello"}\n' in events
    assert events.endswith(b'{"type":"done"}\n')
    assert run.view().usage.input == 7


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_run_that_dies_names_its_signal_and_its_last_words_and_leaves_nothing(place: Place, number: str) -> None:
    place.run(f"leave usage 7 die {number}")
    outcome = place.end()
    assert outcome.status is TaskStatus.CRASHED
    assert number in outcome.reason
    assert "about to die" in outcome.reason
    assert outcome.exit_status is not None
    assert outcome.exit_status < 0
    assert (outcome.usage.input, outcome.cost_usd) == (7, 0.01)


def test_a_run_that_exits_without_a_word_has_crashed(place: Place) -> None:
    place.run("exit 0")
    assert place.end().status is TaskStatus.CRASHED


@pytest.mark.parametrize(
    ("told", "lost", "cost_usd"),
    [
        ((), 1, None),
        (("request_was_free",), 0, 0.01),
        (("request_was_lost", "request_was_free"), 1, None),
    ],
    ids=["in flight", "refused", "sent twice and answered"],
)
def test_the_cost_of_a_lost_request_is_reserved(
    place: Place, told: tuple[str, ...], lost: int, cost_usd: float | None
) -> None:
    run = place.run("usage 7 ask 1000")
    assert place.loop.run_until(lambda: len(place.listener.requests) == 2, place.loop.clock() + PATIENCE_S)
    for word in told:
        getattr(run, word)()
    run.kill(EndReason(TaskStatus.CRASHED, "for the test"))
    outcome = place.end()
    assert (outcome.cost_usd, outcome.known_cost_usd) == (cost_usd, 0.01)
    if not lost:
        assert (outcome.lost, outcome.reserved_usd) == (None, 0.0)
        return
    assert outcome.lost is not None
    assert (outcome.lost.requests, outcome.lost.max_tokens) == (1, 1000)
    assert 1000 * 15 / 1e6 <= outcome.reserved_usd <= 0.016


def test_a_run_over_its_time_is_told_to_end(place: Place) -> None:
    place.run("hang", timeout_s=0.4)
    outcome = place.end()
    assert outcome.status is TaskStatus.TIMEOUT
    assert "0.4 s" in outcome.reason
    assert outcome.text == "did a"


def test_a_run_that_does_not_end_is_killed_with_its_tree(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.batch.pool.run_process.ABORT_S", 0.2)
    place.run("leave deaf", timeout_s=0.4)
    outcome = place.end()
    assert outcome.status is TaskStatus.TIMEOUT
    assert "was killed" in outcome.reason
    assert outcome.exit_status == -9


def test_a_pause_does_not_count(place: Place) -> None:
    run = place.run("wait", timeout_s=1.0)
    place.wait_for(RunState.RUNNING, run)
    assert run.pause("rate limit")
    assert not run.pause("rate limit")
    place.loop.run_until(lambda: False, place.loop.clock() + 1.2)
    assert run.state is RunState.PAUSED
    assert run.resume()
    run.send(b'{"type":"go"}\n')
    outcome = place.end()
    assert outcome.status is TaskStatus.OK
    assert outcome.paused_ms >= 1200


def test_a_run_whose_output_is_held_waits_and_loses_nothing(place: Place) -> None:
    run = place.run("wait flood 40")
    place.wait_for(RunState.RUNNING, run)
    run.hold_output(held=True)
    run.send(b'{"type":"go"}\n')
    at_most = 2 * 65536  # what was read before, and what a pipe holds
    place.loop.run_until(lambda: place.listener.outcome is not None, place.loop.clock() + 0.2)
    assert sum(map(len, place.listener.lines)) < at_most
    run.hold_output(held=False)
    assert place.end().status is TaskStatus.OK
    assert sum(b"text_delta" in line for line in place.listener.lines) == 40


def test_a_run_that_does_not_read_is_behind_until_it_has_caught_up(place: Place) -> None:
    run = place.run("wait deaf")
    place.wait_for(RunState.RUNNING, run)
    os.kill(run.child.pid, signal.SIGSTOP)
    sent = 0
    while not place.listener.pace:
        sent += 1
        assert run.send(b'{"type":"noise","text":"%s"}\n' % (b"x" * 65536))
        assert sent < 200
    assert place.listener.pace == [True]
    os.kill(run.child.pid, signal.SIGCONT)
    run.send(b'{"type":"go"}\n')
    assert place.loop.run_until(lambda: place.listener.pace == [True, False], place.loop.clock() + PATIENCE_S)
    run.kill(EndReason(TaskStatus.INTERRUPTED, "enough"))
    place.end()


def test_memory_is_what_the_run_has_for_itself(place: Place) -> None:
    run = place.run("eat 64")
    assert run.memory is not None
    memory = run.memory

    def tick() -> None:
        memory.sample()
        place.loop.call_later(0.05, tick)

    tick()
    assert place.loop.run_until(lambda: memory.now > 64 * 1024 * 1024, place.loop.clock() + PATIENCE_S)
    run.kill(EndReason(TaskStatus.OUT_OF_MEMORY, "too much"))
    outcome = place.end()
    assert (outcome.status, outcome.reason) == (TaskStatus.OUT_OF_MEMORY, "too much")
    assert outcome.memory_peak_bytes > 64 * 1024 * 1024


def test_an_abort_is_obeyed(place: Place) -> None:
    run = place.run("hang")
    place.wait_for(RunState.RUNNING, run)
    run.abort(TaskStatus.INTERRUPTED, "the batch was stopped")
    assert run.state is RunState.STOPPING
    assert place.end().status is TaskStatus.INTERRUPTED


@pytest.mark.parametrize("word", ["garbage", "noise"])
def test_a_run_that_speaks_nonsense_is_killed(place: Place, word: str) -> None:
    place.run(word)
    outcome = place.end()
    assert outcome.status is TaskStatus.CRASHED
    assert "cannot be read" in outcome.reason


def test_files_that_cannot_be_made_are_said_and_nothing_is_started(place: Place) -> None:
    (place.folder / "runs").write_text("in the way")
    run = place.run("ok")
    outcome = place.end()
    assert outcome.status is TaskStatus.INTERRUPTED
    assert f"{place.folder}/runs: is a file, and the batch has a folder of its own there" in place.listener.trouble
    assert run.child is None


def test_a_program_that_cannot_be_started(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    place.run("ok")
    outcome = place.end()
    assert outcome.status is TaskStatus.ERROR
    assert "/nowhere/python" in outcome.reason
