"""Records that wait for a client are joined, and nothing of them is lost."""

from __future__ import annotations

import json
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.rpc import record_queue
from agent.rpc.record_queue import JOIN_ABOVE, JOINED_LIMIT, RecordQueue
from supervisor.loop.outbox import Outbox
from wire import events

FILL = events.Error("x" * (JOIN_ABOVE + 1))
TEXTS = ("text_delta", "tool_use_args", "tool_progress")


def delta(text):
    return events.TextDelta(text)


def read(queue, limit=None):
    """Takes `limit` bytes, or all."""
    taken = bytearray()

    def write(piece):
        count = len(piece) if limit is None else min(len(piece), limit - len(taken), 7)
        taken.extend(piece[:count])
        return count

    assert queue.flush(write) == len(taken)
    return bytes(taken)


def lines_of(data):
    return [json.loads(line) for line in data.splitlines()]


def after_fill(*records, prompt="p1"):
    """The lines that wait when there are enough bytes for records to be joined."""
    queue = RecordQueue()
    queue.append_record(FILL, prompt)
    for record in records:
        queue.append_record(record, prompt)
    lines = lines_of(read(queue))
    assert (lines[0]["type"], queue.queued) == ("error", 0)
    return lines[1:]


def test_pieces_of_one_text_become_one_record():
    assert after_fill(delta("On"), delta('ce "'), delta("\n\u2028\x01é")) == [
        {"type": "text_delta", "delta": 'Once "\n\u2028\x01é', "prompt": "p1"}
    ]
    assert after_fill(events.ToolUseArgs("t", "{"), events.ToolUseArgs("t", "}"), prompt="") == [
        {"type": "tool_use_args", "id": "t", "delta": "{}"}
    ]
    assert after_fill(events.ToolProgress("t", "a"), events.ToolProgress("t", "b")) == [
        {"type": "tool_progress", "id": "t", "text": "ab", "prompt": "p1"}
    ]


def test_pieces_of_two_texts_stay_apart():
    kinds = [events.ToolUseArgs("t", "a"), events.ToolUseArgs("u", "a"), delta("a"), events.ToolProgress("u", "a")]
    assert len(after_fill(*kinds)) == 4
    assert len(after_fill(delta("a"), events.TurnStart(1), delta("b"))) == 3
    queue = RecordQueue()
    queue.append_record(FILL, "p1")
    for prompt in ("p1", "p2", ""):
        queue.append_record(delta("a"), prompt)
    assert [line.get("prompt") for line in lines_of(read(queue))] == ["p1", "p1", "p2", None]


def test_nothing_is_joined_for_a_client_that_keeps_up():
    queue = RecordQueue()
    for text in ("a", "b"):
        queue.append_record(delta(text), "p1")
    assert [line["delta"] for line in lines_of(read(queue))] == ["a", "b"]


def test_progress_after_a_gap_begins_a_record():
    texts = ["a", "... [5 characters are not shown]\nb", "c"]
    shown = after_fill(*(events.ToolProgress("t", text) for text in texts))
    assert [line["text"] for line in shown] == ["a", texts[1] + "c"]


def test_a_joined_record_fits_into_the_buffers_of_readers():
    shown = after_fill(*(delta("\x01" * 100) for _ in range(1000)))
    assert max(len(json.dumps(line)) for line in shown) <= JOINED_LIMIT + 100
    assert "".join(line["delta"] for line in shown) == "\x01" * 100_000
    assert len(shown) < 50
    (huge, small) = after_fill(delta("x" * 100_000), delta("y"))
    assert (len(huge["delta"]), small["delta"]) == (100_000, "y")


def test_a_record_of_which_a_byte_was_taken_is_not_joined():
    queue = RecordQueue()
    queue.append_record(FILL, "p1")
    for text in ("a", "b"):
        queue.append_record(delta(text), "p1")
    waiting = queue.queued
    taken = read(queue, len(events.encode(FILL)) + len(',"prompt":"p1"') + 1)
    queue.append(b"x" * JOIN_ABOVE + b"\n")
    queue.append_record(delta("c"), "p1")
    rest = read(queue)
    texts = [json.loads(line) for line in (taken + rest).splitlines() if not line.startswith(b"x")]
    assert [line.get("delta") for line in texts] == [None, "ab", "c"]
    assert len(taken + rest) > waiting


def test_only_the_newest_content_of_a_panel_waits():
    def render(panel, line):
        return events.PanelRender("e", panel, "", (line,), "")

    shown = after_fill(render("p", "1"), render("q", "1"), delta("a"), render("p", "2"), prompt="")
    assert [(line["type"], line.get("panel_id")) for line in shown] == [
        ("panel_render", "q"), ("text_delta", None), ("panel_render", "p"),
    ]  # fmt: skip
    assert shown[2]["lines"] == ["2"]


def test_content_of_a_panel_of_which_a_byte_was_taken_stays():
    queue = RecordQueue()
    queue.append_record(FILL, "")
    queue.append_record(events.PanelRender("e", "p", "", ("1",), ""), "")
    taken = read(queue, len(events.encode(FILL)) + 1)
    queue.append(b'"' + b"x" * JOIN_ABOVE + b'"\n')
    queue.append_record(events.PanelRender("e", "p", "", ("2",), ""), "")
    waiting, rest = queue.queued, read(queue)
    assert waiting == len(rest)
    lines = lines_of(taken + rest)
    assert [line["lines"] for line in (lines[1], lines[3])] == [["1"], ["2"]]


def test_a_cleared_queue_is_empty():
    queue = RecordQueue()
    queue.append_record(FILL, "")
    queue.append_record(events.PanelRender("e", "p", "", (), ""), "")
    read(queue, 10)
    queue.clear()
    assert (queue.queued, read(queue)) == (0, b"")


# --- any sequence ---------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.sampled_from(["t1", "t2", 'a"b'])
records = st.one_of(
    st.builds(events.TextDelta, texts),
    st.builds(events.ToolUseArgs, ids, texts),
    st.builds(events.ToolProgress, ids, texts | texts.map("... [".__add__)),
    st.builds(events.ToolUseEnd, ids),
    st.builds(events.PanelRender, st.just("e"), ids, st.just(""), texts.map(lambda text: (text,)), st.just("")),
    st.builds(events.ExtNotify, st.just("e"), st.just("info"), texts),
)
steps = st.one_of(
    st.tuples(st.sampled_from(["", "p1", "p2"]), records), st.integers(0, 300), st.just(b'{"type":"response"}\n')
)


def plain(lines):
    """The lines with neighbouring pieces of the same text put together, and without contents of panels."""

    def key(line):
        kind = line["type"]
        return (kind, line.get("id"), line.get("prompt")) if kind in TEXTS else object()

    for _, group in groupby((line for line in lines if line["type"] != "panel_render"), key):
        first, *more = group
        text = "delta" if "delta" in first else "text"
        yield {**first, text: first[text] + "".join(line[text] for line in more)} if first["type"] in TEXTS else first


@given(st.lists(steps, max_size=60), st.sampled_from([0, 50, 500]), st.sampled_from([10, 40, 16384]))
def test_put_together_all_is_as_without_joining(script, join_above, joined_limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_queue, "JOIN_ABOVE", join_above)
        patch.setattr(record_queue, "JOINED_LIMIT", joined_limit)
        queue, reference, got = RecordQueue(), Outbox(), b""
        for step in script:
            if isinstance(step, int):
                got += read(queue, step)
            elif isinstance(step, bytes):
                queue.append(step)
                reference.append(step)
            else:
                prompt, record = step
                queue.append_record(record, prompt)
                member = b',"prompt":"%s"' % prompt.encode() if prompt else b""
                reference.append(events.encode(record)[:-2] + member + b"}\n")
            got_and_queued = len(got) + queue.queued
            assert queue.queued >= 0
        got += read(queue)
        assert not script or len(got) == got_and_queued
    expected, found = lines_of(read(reference)), lines_of(got)
    assert list(plain(found)) == list(plain(expected))
    assert _last_contents(found) == _last_contents(expected)
    assert len(found) <= len(expected)


def _last_contents(lines):
    return {line["panel_id"]: line["lines"] for line in lines if line["type"] == "panel_render"}
