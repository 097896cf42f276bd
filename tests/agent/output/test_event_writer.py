"""Records reach the reader in order; while it is behind, what waits is bounded."""

from __future__ import annotations

import os

from agent.abort import Abort
from agent.output.event_writer import PROGRESS_WAITING, EventWriter
from agent.output.fd_writer import FdWriter
from supervisor.loop.loop import FAIR_S, Loop
from tests.support.patience import PATIENCE_S
from wire import events
from wire.exit_codes import Status


def test_only_the_newest_content_of_a_panel_waits_to_be_emitted():
    sink: list[events.Record] = []
    loop = Loop()
    writer = EventWriter(loop, Abort(), sink.append)
    for number in range(10_000):
        writer.post_shown(events.PanelRender("x", "p", "", (str(number),), ""))
        writer.post_shown(events.PanelRender("x", f"q{number % 3}", "", (str(number),), ""))
        writer.post_shown(events.ExtNotify("x", "info", str(number)))
    writer.begin(events.Done())
    writer.emit(events.Done())
    loop.close()
    renders = {record.panel_id: record.lines for record in sink if isinstance(record, events.PanelRender)}
    assert renders == {"p": ("9999",), "q0": ("9999",), "q1": ("9997",), "q2": ("9998",)}
    assert sum(isinstance(record, events.PanelRender) for record in sink) == 4
    assert sum(isinstance(record, events.ExtNotify) for record in sink) <= PROGRESS_WAITING


def test_opened_and_closed_panels_are_never_left_out():
    sink: list[events.Record] = []
    loop = Loop()
    writer = EventWriter(loop, Abort(), sink.append)
    posted = [
        record
        for _ in range(500)
        for record in (events.PanelOpen("x", "p", "", (), ""), events.PanelClose("x", "p"), events.ClearNotes("x"))
    ]
    for record in posted:
        writer.post_shown(record)
    writer.begin(events.Done())
    writer.emit(events.Done())
    loop.close()
    assert sink[1:-1] == posted


def writer_of(loop, abort=None, output=None):
    seen = []
    return EventWriter(loop, abort or Abort(), seen.append, output=output), seen


def note(number):
    return events.ToolProgress("t1", str(number))


def test_posted_records_keep_their_place(loop):
    writer, seen = writer_of(loop)
    writer.post(note(1))
    writer.begin(events.TurnStart(0))
    writer.post(note(2))
    writer.emit(events.TurnStart(1))
    assert seen == [events.TurnStart(0), note(1), note(2), events.TurnStart(1)]


def test_a_record_posted_during_a_wait_is_emitted_during_the_wait(loop):
    writer, seen = writer_of(loop)
    writer.begin(events.TurnStart(0))
    loop.call_later(0.01, lambda: writer.post(note(1)))
    assert writer.wait(lambda: len(seen) == 2, loop.clock() + PATIENCE_S)


def test_a_wait_ends_by_deadline_or_abort(loop):
    abort = Abort()
    writer, _seen = writer_of(loop, abort)
    assert not writer.wait(lambda: False, loop.clock() + 0.01)
    loop.call_later(0.01, lambda: abort.request(Status.TIMEOUT, "late"))
    assert not writer.wait(lambda: False)
    assert writer.wait(lambda: True), "what has already come about counts, abort or not"


def test_a_wait_that_never_lasts_lets_others_be_served_now_and_then():
    """A replayed model has all of its reply at once; signals and requests must not wait for the end of it."""
    now = [0.0]
    loop = Loop(lambda: now[0])
    writer, _ = writer_of(loop)
    served = []
    loop.call_later(0, lambda: served.append(True))
    assert writer.wait(lambda: True)
    assert not served
    now[0] += FAIR_S
    assert writer.wait(lambda: True)
    assert served
    loop.close()


def test_waiting_progress_is_bounded_and_other_records_are_kept(loop):
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
