"""Writing to pipes whose readers are slow, gone or full, without ever blocking; and the event writer on top of it."""

from __future__ import annotations

import os
import threading

import pytest

from agent.abort import Abort
from agent.output.event_writer import PROGRESS_WAITING, EventWriter
from agent.output.fd_writer import HIGH_WATER, FdWriter
from supervisor.loop.loop import Loop
from wire import events
from wire.events import Status


@pytest.fixture
def loop():
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    for fd in (reading, writing):
        try:
            os.close(fd)
        except OSError:
            pass


def read_all(fd, size):
    data = bytearray()
    while len(data) < size:
        data += os.read(fd, 1 << 16)
    return bytes(data)


def test_a_slow_reader_gets_every_byte_and_the_writer_never_blocks(loop, pipe):
    reading, writing = pipe
    output = FdWriter(loop, writing, pytest.fail)
    sent = b"".join(b"%07d\n" % number for number in range(300_000))
    for start in range(0, len(sent), 100_000):
        output.write(sent[start : start + 100_000])
    assert output.is_full
    got = []
    reader = threading.Thread(target=lambda: got.append(read_all(reading, len(sent))))
    reader.start()
    assert loop.run_until(lambda: output.is_flushed, loop.clock() + 20)
    reader.join()
    assert got == [sent]
    output.close()


def test_the_descriptor_stays_blocking_for_whoever_shares_it(loop, pipe):
    output = FdWriter(loop, pipe[1], pytest.fail)
    output.write(b"x" * 200_000)
    assert os.get_blocking(pipe[1])
    output.close()


def test_a_reader_that_leaves_is_noticed_without_writing(loop, pipe):
    reading, writing = pipe
    reasons = []
    output = FdWriter(loop, writing, reasons.append)
    os.close(reading)
    assert loop.run_until(lambda: output.broken, loop.clock() + 5)
    output.write(b"into the void")
    assert (reasons, output.queued) == ([""], 0)


def test_a_full_disk_says_so(loop):
    reasons = []
    with open("/dev/full", "wb") as full:
        output = FdWriter(loop, full.fileno(), reasons.append)
        output.write(b"x")
        output.write(b"y")
    assert reasons == ["No space left on device"]


def test_a_lossy_output_is_bounded(loop, pipe):
    output = FdWriter(loop, pipe[1], pytest.fail, lossy=True)
    for _ in range(100):
        output.write(b"x" * 100_000)
    assert output.queued <= HIGH_WATER
    output.close()


def test_a_regular_file_takes_everything(loop, tmp_path):
    with (tmp_path / "out").open("wb") as file:
        output = FdWriter(loop, file.fileno(), pytest.fail)
        output.write(b"x" * 1_000_000)
        assert output.is_flushed
        output.close()
    assert (tmp_path / "out").stat().st_size == 1_000_000


def writer_of(loop, abort=None, output=None):
    seen = []
    return EventWriter(loop, abort or Abort(), seen.append, output), seen


def note(number):
    return events.ToolProgress("t1", str(number))


def test_what_callbacks_post_keeps_its_place(loop):
    writer, seen = writer_of(loop)
    writer.post(note(1))
    writer.begin(events.TurnStart(0))
    writer.post(note(2))
    writer.emit(events.TurnStart(1))
    assert seen == [events.TurnStart(0), note(1), note(2), events.TurnStart(1)]


def test_what_is_posted_during_a_wait_is_emitted_during_the_wait(loop):
    writer, seen = writer_of(loop)
    writer.begin(events.TurnStart(0))
    loop.call_later(0.01, lambda: writer.post(note(1)))
    assert writer.wait(lambda: len(seen) == 2, loop.clock() + 5)


def test_a_wait_ends_by_deadline_or_abort(loop):
    abort = Abort()
    writer, _seen = writer_of(loop, abort)
    assert not writer.wait(lambda: False, loop.clock() + 0.01)
    loop.call_later(0.01, lambda: abort.request(Status.TIMEOUT, "late"))
    assert not writer.wait(lambda: False)
    assert writer.wait(lambda: True), "what has already come about counts, abort or not"


def test_progress_nobody_takes_is_bounded_but_nothing_else_is_dropped(loop):
    writer, seen = writer_of(loop)
    for number in range(10 * PROGRESS_WAITING):
        writer.post_progress(note(number))
    writer.post(events.TurnStart(7))
    writer.begin(events.TurnStart(0))
    writer.emit(events.Done())
    assert len(seen) == PROGRESS_WAITING + 3
    assert events.TurnStart(7) in seen


def test_finish_says_whether_the_reader_has_everything(loop, pipe):
    reading, writing = pipe
    output = FdWriter(loop, writing, lambda _reason: None)
    writer, _seen = writer_of(loop, output=output)
    output.write(b"x")
    assert writer.finish()
    os.close(reading)
    output.write(b"y")
    assert not writer.finish()


def test_the_first_abort_counts_and_wakes_everybody():
    abort = Abort()
    heard = []
    abort.on_request(heard.append)
    abort.request(Status.TIMEOUT, "first")
    abort.request(Status.INTERRUPTED, "second")
    abort.on_request(heard.append)
    assert heard == ["first", "first"]
    assert (abort.status, abort.reason, abort.is_requested()) == (Status.TIMEOUT, "first", True)
