"""Reading the events of a run."""

from __future__ import annotations

import pytest

from cli.report.input.recorded_run import SourceKind
from cli.report.input.source import read_recording
from tests.support.recorded_events import RESULT, RUN, write_events


def test_events_have_an_order_and_totals(tmp_path):
    found = read_recording(write_events(tmp_path / "run.jsonl", [*RUN, RESULT, {"type": "done"}]))
    assert found.source is SourceKind.EVENTS
    assert (found.duration_s, len(found.times)) == (4.2, 0)
    assert [(happening.kind, happening.name, happening.extension, happening.bad) for happening in found.happenings] == [
        ("started", "", "guard", False),
        ("turn", "1", "", False),
        ("tool_call", "bash", "", True),
        ("turn", "2", "", False),
        ("exited", "", "guard", False),
    ]
    assert found.happenings[2].detail == "rm -rf build: refused by guard"
    assert [label for _, label in found.order_ticks] == ["turn 1", "turn 2"]
    by_name = {figure.name: figure for figure in found.figures}
    assert list(by_name) == ["guard", "silent"]
    assert (by_name["guard"].cpu_s, by_name["guard"].p99_ms, by_name["guard"].restarts) == (0.25, 2.5, 1)
    (note,) = found.notes
    assert "order, not time" in note
    assert "--stats FILE" in note


def test_a_run_that_was_cut_short_is_shown_up_to_there(tmp_path):
    path = tmp_path / "run.jsonl"
    write_events(path, RUN[:5])
    path.write_text(path.read_text() + '{"type":"tur')
    found = read_recording(str(path))
    assert [(happening.kind, happening.bad) for happening in found.happenings[1:]] == [
        ("turn", True),
        ("tool_call", True),
    ]
    assert [figure.name for figure in found.figures] == ["guard", "silent"]
    cut, _, no_result = found.notes
    assert "cut off" in cut
    assert "no `result` record" in no_result


def test_several_prompts_are_one_recording(tmp_path):
    both = [*RUN, RESULT, {"type": "done"}, *RUN[2:], RESULT, {"type": "done"}]
    found = read_recording(write_events(tmp_path / "rpc.jsonl", both))
    assert found.duration_s == pytest.approx(8.4)
    assert sum(happening.kind == "turn" for happening in found.happenings) == 4


def test_a_call_of_an_extensions_tool_belongs_to_the_extension(tmp_path):
    called = {"type": "tool_call", "id": "t", "name": "look_up", "args": {}, "extension": "guard"}
    answered = {"type": "tool_result", "id": "t", "is_error": False, "content": [], "extension": "guard"}
    found = read_recording(write_events(tmp_path / "run.jsonl", [RUN[0], called, answered]))
    assert [(happening.name, happening.extension) for happening in found.happenings] == [("look_up", "guard")]
