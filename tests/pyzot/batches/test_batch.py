"""A batch as a program sees it: results, what it is told to do, and what goes wrong. A stand-in is the batch."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from pyzot import Batch, BatchError, BusyError, ClosedError, ProtocolError, TextDelta, UnknownEvent
from pyzot.batches import client, inboxes
from pyzot.connection import engine_process
from tests.pyzot.batches.conftest import fake_program
from tests.pyzot.conftest import is_gone
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import wait_until


def ids(batch):
    return [result.id for result in batch]


# --- results -----------------------------------------------------------------------------------------------------


def test_results_come_once_and_a_failed_task_is_one(fake):
    with fake("ok", {"id": "b", "prompt": "fail", "meta": {"n": [1, Path("x")]}}, "retried") as batch:
        assert batch.summary is None
        found = list(batch)
        assert [(one.id, one.status, one.meta) for one in found] == [
            ("1", "ok", {}), ("b", "error", {"n": [1, "x"]}), ("3", "ok", {}),
        ]  # fmt: skip
        assert (found[0].text, found[0].usage.input, found[0].cost_usd) == ("Done.", 1, None)
        assert (batch.summary.reason, batch.summary.cost_usd) == ("done", 0.5)
        assert list(batch) == []
        assert is_gone(batch.pid)
        assert repr(batch) == f"<Batch pid={batch.pid} done>"


def test_results_of_an_earlier_batch_come_first(fake):
    assert ids(fake("ok", "ok")) == ["1", "2"]
    batch = fake("ok", "ok", "ok")
    assert ids(batch) == ["1", "2", "3"]
    assert ids(fake("ok")) == ["1"], "the folder has more tasks than the batch"


def test_of_tasks_that_are_run_again_the_new_results_are_given_and_the_old_ones_of_those_that_have_not_begun(fake):
    assert ids(fake("ok", "fail", "fail", "fail")) == ["1", "2", "3", "4"]
    batch = fake("ok", "ok", "hang", "ok", redo="failed")
    found = [next(batch), next(batch)]
    assert [(one.id, one.status) for one in found] == [("1", "ok"), ("2", "ok")]
    batch.drain()
    assert [(one.id, one.status) for one in batch] == [("4", "error")]


def test_the_folder_that_cannot_be_read_is_named(fake):
    fake("ok").wait()
    batch = fake("ok", "ok", behaviour="cannot_be_read")
    with pytest.raises(BatchError, match=r"journal\.jsonl:3: damaged") as caught:
        list(batch)
    assert caught.value.exit_status == 1


def test_wait_loses_no_result(fake):
    batch = fake("ok", "ok", "ok")
    first = next(batch)
    assert batch.wait().reason == "done"
    assert batch.wait().tasks == 3
    assert [first.id, *ids(batch)] == ["1", "2", "3"]


def test_results_that_nobody_takes_stay_in_the_folder(fake, monkeypatch):
    monkeypatch.setattr(inboxes, "KEPT_BYTES", 100_000)
    monkeypatch.setattr(inboxes, "READ_AHEAD_BYTES", 50_000)
    count = 300
    batch = fake(*["long 10000"] * count)
    batch._client.process.ended.wait(PATIENCE_S)
    live = batch._client._live
    assert 50_000 < live.bytes <= 100_000
    found, most = [], 0
    for result in batch:
        found.append(result.id)
        for inbox in (live, *batch._client._folders.values()):
            most = max(most, inbox.bytes)
    assert found[:5] == ["1", "2", "3", "4", "5"]
    assert sorted(found, key=int) == [str(number) for number in range(1, count + 1)]
    assert most < 50_000 + engine_process.STDERR_LINE + 300_000  # one read of a pipe more
    assert live.bytes == 0


def test_two_iterations_share_the_results(fake):
    batch = fake(*["ok"] * 200)
    found = [[], []]
    threads = [threading.Thread(target=lambda taken=taken: taken.extend(ids(batch))) for taken in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, found[0] + found[1])) == list(range(1, 201))


def test_an_iteration_that_is_left_early_goes_on_later(fake):
    batch = fake(*["ok"] * 20)
    for result in batch:
        if result.id == "3":
            break
    assert ids(batch) == [str(number) for number in range(4, 21)]


def test_events_come_with_their_task(fake):
    seen = []
    fake("ok", "event", on_event=lambda *given: seen.append(given)).wait()
    (task, attempt, first), (_, _, second) = seen
    assert (task, attempt, first) == ("2", 1, TextDelta("x", prompt="p1"))
    assert isinstance(second, UnknownEvent)
    assert fake("event").wait().reason == "done", "without on_event there are none"


def test_callbacks_that_raise_stop_nothing(fake, monkeypatch):
    shown = []
    monkeypatch.setattr("sys.excepthook", lambda *error: shown.append(error[0]))

    def fail(*_given):
        raise ValueError

    assert ids(fake("event", "ok", on_event=fail, on_stderr=fail)) == ["1", "2"]
    assert shown == [ValueError] * 5  # two events, three lines


def test_without_a_reader_stderr_has_what_the_batch_says_of_itself(fake, capfd):
    fake("ok", on_stderr=None).wait()
    said = ["a word before the start", "a word after the start", "signals: 0"]
    assert capfd.readouterr().err.splitlines() == said


# --- what it is told to do ----------------------------------------------------------------------------------------


def test_drain_ends_the_iteration_after_what_runs(fake):
    batch = fake("ok", "hang", "ok")
    assert next(batch).id == "1"
    batch.drain()
    assert ids(batch) == []
    assert batch.summary.reason == "drained"


@pytest.mark.parametrize("told", ["drain", "stop"])
def test_what_comes_before_the_start_is_told_after_it(fake, told):
    batch = fake("hang", "ok")
    getattr(batch, told)()
    assert batch.wait().reason == {"drain": "drained", "stop": "stopped"}[told]


def test_stop_may_be_called_often_and_from_a_callback(fake):
    def stop(*_given):
        for _ in range(5):
            batch.stop()

    batch = fake("event", "hang", on_event=stop)
    assert batch.wait().reason == "stopped"
    batch.stop()


def test_close_after_stop_leaves_the_runs_their_time(fake):
    said = []
    batch = fake("ok", "hang", on_stderr=said.append)
    next(batch)
    batch.stop()
    batch.close()
    assert said[-1] == "signals: 1"  # a second one would kill them


def test_ctrl_c_interrupts_the_iteration_and_nothing_else(fake):
    waits, is_told = threading.Event(), []

    def interrupt(*_given):
        waits.wait(PATIENCE_S)
        if not is_told:
            is_told.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    def iterate():
        waits.set()
        for _ in batch:
            pass

    batch = fake("event", "hang", on_event=interrupt)
    with pytest.raises(KeyboardInterrupt):
        iterate()
    batch.drain()
    assert batch.wait().reason == "drained"


def test_a_result_cannot_be_waited_for_in_a_callback(fake):
    raised = []

    def wait(*_given):
        for call in (batch.wait, lambda: next(batch)):
            with pytest.raises(BusyError):
                call()
            raised.append(1)

    batch = fake("event", on_event=wait)
    batch.wait()
    assert len(raised) == 4


def test_close_stops_it_and_ends_a_wait_in_another_thread(fake):
    batch = fake("ok", "hang", "ok")
    assert next(batch).id == "1"
    ended = []
    thread = threading.Thread(target=lambda: ended.append(ids(batch)))
    thread.start()
    batch.close()
    batch.close()
    thread.join()
    assert (ended, batch.summary.reason) == ([[]], "stopped")
    assert is_gone(batch.pid)


def test_after_close_what_is_in_the_folder_is_not_read(fake):
    fake("ok").wait()
    batch = fake("ok", "hang")
    assert next(batch).id == "1"
    batch.close()
    other = fake("ok", "hang")
    wait_until(lambda: other._client.begun.is_come)
    other.close()
    with pytest.raises(ClosedError, match="the batch is closed"):
        next(other)
    assert is_gone(batch._client._folders["earlier"].process.pid)


def test_a_batch_that_does_not_end_is_killed(fake, monkeypatch):
    monkeypatch.setattr(client, "KILL_RUNS_S", 0.1)
    monkeypatch.setattr(client, "EXIT_S", 0.1)
    batch = fake("ok", behaviour="never_ends")
    wait_until(lambda: batch._client.begun.is_come)
    batch.close()
    assert is_gone(batch.pid)
    with pytest.raises(ClosedError):
        next(batch)


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_wrong_tasks_are_refused_with_the_lines_of_the_batch(fake, capfd):
    batch = fake("ok", {"prmpt": "x"}, behaviour="refuses", on_stderr=None)
    for call in (lambda: next(batch), batch.wait, lambda: list(batch)):
        with pytest.raises(BatchError, match="stdin:2: prmpt: no such field") as caught:
            call()
        assert caught.value.exit_status == 2
    assert capfd.readouterr().err == "", "it is in the exception"
    assert batch.summary is None


def test_a_killed_batch_is_an_error_after_its_results(fake):
    batch = fake("ok", "die", "ok")
    assert next(batch).id == "1"
    with pytest.raises(BatchError, match="killed by signal 9") as caught:
        next(batch)
    assert (caught.value.exit_status, caught.value.stderr[-1]) == (-signal.SIGKILL, "about to die")
    assert repr(batch) == f"<Batch pid={batch.pid} ended>"


def test_a_folder_that_cannot_be_written_is_an_error(fake):
    batch = fake("ok", "ok", behaviour="fails")
    assert next(batch).id == "1"
    with pytest.raises(BatchError, match="No space left"):
        next(batch)
    assert batch.summary.reason == "failed"


@pytest.mark.parametrize(
    ("prompt", "behaviour", "said"),
    [
        ("garbage x", "works", "not a line of an engine: b'x'"),
        ('garbage {"type":"task_end"}', "works", "not a line of a batch"),
        ('garbage {"type":"task_end","final":true,"outcome":{"id":"a"}}', "works", "not a line of a batch"),
        ("ok", "no_batch", "Usage: something else"),
        ("ok", "begins_with_another_record", "not a batch: its first line is"),
    ],
)
def test_another_program_is_a_protocol_error(fake, monkeypatch, prompt, behaviour, said):
    monkeypatch.setattr(client, "KILL_RUNS_S", 0.1)
    monkeypatch.setattr(client, "EXIT_S", 0.1)
    batch = fake(prompt, behaviour=behaviour)
    for _ in range(2):
        with pytest.raises(ProtocolError, match=said):
            next(batch)


def test_a_program_that_cannot_be_started_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        Batch(["ok"], tmp_path, program=["./no-such-program"])


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ("one prompt", r"tasks are a list, not one str: put it into \[\]"),
        ({"prompt": "x"}, "not one dict"),
        (["ok", 5], "task 2 is a prompt or a mapping, not 5"),
        (["ok", {"prompt": "x", "meta": {"a": object()}}], "task 2: <object object .* is no JSON"),
        ([{"prompt": "x", "max_cost_usd": float("nan")}], "task 1: Out of range float"),
    ],
)
def test_what_is_no_task_is_refused_before_anything_runs(tmp_path, tasks, said):
    with pytest.raises(TypeError, match=said):
        Batch(tasks, tmp_path / "runs", program=fake_program())
    assert not (tmp_path / "runs").exists()


def test_tasks_that_are_too_many_bytes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pyzot.batches.command_line.SIZE_LIMIT", 1000)
    with pytest.raises(ValueError, match="put long texts into files"):
        Batch(("x" * 100 for _ in range(100)), tmp_path, program=fake_program())


def test_a_batch_that_is_dropped_is_stopped(fake, tmp_path):
    batch = Batch(["ok", "hang"], tmp_path / "runs", program=fake_program(), on_stderr=lambda _line: None)
    next(batch)
    ended = batch._client.process.ended
    with pytest.warns(ResourceWarning, match="a Batch was not closed"):
        del batch
    ended.wait(PATIENCE_S)


# --- forks and the end of the program ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_in_a_fork_the_batch_is_closed(fake):
    batch = fake("ok", "hang")
    next(batch)
    if (child := os.fork()) == 0:
        status = 9
        try:
            signal.alarm(20)
            for call in (lambda: next(batch), batch.wait):
                try:
                    call()
                except ClosedError:
                    status -= 1
            batch.stop()
            batch.drain()
            batch.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert batch.summary is None
    batch.stop()
    assert batch.wait().reason == "stopped"
