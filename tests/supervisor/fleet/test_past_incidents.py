"""The events that traces tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.fleet.past_incidents import Traces, end_of, incident_text, incidents_of, run_of_batch
from supervisor.traces.places import TRACE, new_id, runs_folder
from wire import stats

if TYPE_CHECKING:
    from pathlib import Path

HEADER = stats.Trace(id="20261128-191102-4711", pid=4711, time=1000.0, kind="host", version="1.0", cwd="/project")


def mark(at: float, kind: str, extension: str = "git", *, name: str = "", ms: float | None = None, detail: str = ""):
    return stats.Mark(at, kind, name, extension, ms, detail)  # type: ignore[arg-type]


def write(home: Path, *lines: stats.StatsLine, header: stats.Trace = HEADER) -> Path:
    path = runs_folder(home) / f"{header.id}{TRACE}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(stats.encode, (header, *lines))))
    return path


def test_marks_of_extensions_are_told_in_the_order_of_their_times(tmp_path):
    write(
        tmp_path,
        mark(1001.0, "started", "", ms=12.0),  # the run could begin
        mark(1003.0, "exited", name="crashed", detail="crashed: exit 3"),
        mark(1001.5, "started", ms=120.4),
        mark(1003.1, "warning", name="file", detail="a.box.jsonl"),
        mark(1004.0, "turn", ""),
        mark(1005.0, "warning", name="leak", detail="leak: it only grows"),
    )
    said: list[str] = []
    trace = Traces(tmp_path, said.append).read(HEADER.id)
    assert trace is not None
    assert [(each.time, each.event, each.extension, each.text) for each in incidents_of(trace)] == [
        (1000.0, "host_started", "", "zot 1.0"),
        (1001.5, "started", "git", "ready after 120 ms"),
        (1003.0, "exited", "git", "crashed: exit 3"),
        (1005.0, "warning", "git", "leak: it only grows"),
    ]
    assert (end_of(trace, 2000.0).time, end_of(trace, 2000.0).text) == (2000.0, "killed")
    assert said == []


@pytest.mark.parametrize(
    ("event", "text", "told"),
    [
        ("limit", "limit: it is over its limits: rss 80 MiB over rss_mb 60", "rss 80 MiB over rss_mb 60"),
        ("limit", "it is over its limits: cpu 30 %; restarting it in 0.5 s", "cpu 30 %; restarting it in 0.5 s"),
        ("no_verdict", "no verdict: no answer within 5 s", "no answer within 5 s"),
        ("exited", "crashed: exit 3", "crashed: exit 3"),
        ("failed", "given up: 3 exits in 2 s", "given up: 3 exits in 2 s"),
    ],
)
def test_a_text_does_not_say_the_event_again(event: str, text: str, told: str):
    assert incident_text(event, text) == told


def test_the_newest_trace_of_a_process_is_its(tmp_path):
    for at in (1000.0, 2000.0):
        write(tmp_path, header=stats.Trace(**{**_members(HEADER), "id": new_id(at, 4711), "time": at}))
    traces = Traces(tmp_path, print)
    assert traces.id_of(4711) == new_id(2000.0, 4711)
    assert traces.id_of(471) == ""
    assert not traces.is_open(traces.id_of(4711))


def _members(header: stats.Trace) -> dict[str, object]:
    return {name: getattr(header, name) for name in header.__struct_fields__}


def test_traces_that_cannot_be_read_are_told_and_skipped(tmp_path):
    path = write(tmp_path)
    path.write_bytes(b"nonsense\n")
    said: list[str] = []
    traces = Traces(tmp_path, said.append)
    assert traces.read(HEADER.id) is None
    assert len(said) == 1
    assert said[0].endswith("; skipped")
    assert traces.read("20261128-191102-1") is None  # removed meanwhile
    assert Traces(tmp_path / "none", said.append).ids() == []
    assert Traces(tmp_path / "none", said.append).changed_at() == 0
    assert len(said) == 1


def test_only_traces_with_news_are_read_for_a_moment(tmp_path):
    write(tmp_path)
    traces = Traces(tmp_path, print)
    assert traces.has_news(HEADER.id, 0.0)
    assert not traces.has_news(HEADER.id, 4e9)
    assert not traces.has_news("20261128-191102-1", 0.0)


def test_the_trace_of_a_batch_is_read_as_its_runs_add_to_it(tmp_path):
    header = stats.Trace(**{**_members(HEADER), "kind": "batch"})
    path = write(tmp_path, header=header)
    tail = Traces(tmp_path, print).tail(HEADER.id)
    assert [each.event for each in tail.read()] == ["host_started"]
    fallen = mark(1002.0, "exited", name="crashed", detail="crashed: exit 3 (task a (b), process 77)")
    line = stats.encode(fallen)
    with path.open("ab") as file:
        file.write(line[:20])
        file.flush()
        assert list(tail.read()) == []
        file.write(line[20:] + b"nonsense\n" + stats.encode(mark(1003.0, "limit")))
    found = list(tail.read())
    assert [(each.event, each.host, run_of_batch(each)) for each in found] == [
        ("exited", "batch", 77),
        ("limit", "batch", None),
    ]
    path.unlink()
    assert list(tail.read()) == []
