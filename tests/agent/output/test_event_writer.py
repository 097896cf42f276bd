"""What waits for a reader that is behind stays bounded, and the newest content of a panel is what comes."""

from __future__ import annotations

from agent.abort import Abort
from agent.output.event_writer import PROGRESS_WAITING, EventWriter
from supervisor.loop.loop import Loop
from wire import events


def test_while_nothing_can_be_emitted_only_the_newest_of_a_panel_waits():
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


def test_what_opens_and_closes_is_never_left_out():
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
