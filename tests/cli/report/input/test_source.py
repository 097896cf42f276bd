"""Reading a file of JSON lines: cut-off lines, bad lines, files of another kind."""

from __future__ import annotations

import pytest

from cli.report.input.recorded_run import InputError
from cli.report.input.source import read_recording
from tests.support.recorded_stats import STARTED, extension_stats, mark, recorded, sample
from wire.stats import encode


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_last_line_that_is_cut_off_is_left_out_and_said(file, cut):
    whole = b"".join(map(encode, recorded(3, 5)))
    last = encode(sample(99, {"a": extension_stats()}))
    file.write_bytes(whole + last[:cut].rstrip(b"\n}"))
    found = read_recording(str(file))
    assert found.end == 5
    (note,) = found.notes
    assert "is cut off" in note


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{not json\n", "malformed"),
        (b'{"type":"stats","time":1}\n', "host"),
        (b'{"type":"mark","time":"noon"}\n', "time"),
        (b"[1,2]\n", "object"),
        (b'{"time":1}\n', "type"),
        (b'{"x":' + b"[" * 5000 + b"\n", "nested too deeply"),
        (b'{"type":"mark","time":1e999}\n', ""),
        (b'{"type":"mark","time":1' + b"0" * 400 + b"}\n", "the number 1000000000000000000… is too large"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(file, line, why):
    file.write_bytes(encode(sample(1, {})) + b"\n" + line + encode(sample(2, {})))
    with pytest.raises(InputError, match=rf"run\.stats:3: .*{why}") as caught:
        read_recording(str(file))
    assert "\n" not in str(caught.value)


def test_text_that_is_not_unicode_is_read(file):
    broken = encode(mark(1, "warning", "a", "DETAIL")).replace(b"DETAIL", b"caf\xe9 \\ud83d")
    file.write_bytes(broken + encode(sample(2, {})))
    assert read_recording(str(file)).happenings[0].detail == "caf\ufffd \ufffd"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n\n", "it has no lines"),
        (b'{"type":"sta', "its only line is cut off"),
        (b'{"type":"hello"}\n', "nothing to show"),
        (b"\x00\x01\x02", "nothing to show"),
    ],
)
def test_a_file_with_nothing_in_it_says_so_and_what_to_do(file, content, why):
    file.write_bytes(content)
    with pytest.raises(InputError, match=why) as caught:
        read_recording(str(file))
    assert "--stats FILE" in str(caught.value)


def test_a_file_of_something_else_is_refused_by_its_first_line(file):
    file.write_text('{"type":"task","id":1}\n{"type":"task","id":2}\n')
    with pytest.raises(InputError, match=r"run\.stats:1: 'task' is neither"):
        read_recording(str(file))


def test_the_parts_of_a_rotated_file_are_one_recording(file):
    held = recorded(3, 40)
    whole = b"".join(map(encode, held))
    file.write_bytes(whole)
    expected = read_recording(str(file))
    lines = whole.splitlines(keepends=True)
    for name, part in zip(
        ("run.stats.2", "run.stats.1", "run.stats"), (lines[:20], lines[20:30], lines[30:]), strict=True
    ):
        file.with_name(name).write_bytes(b"".join(part))
    found = read_recording(str(file))
    assert (found.times, found.total, found.figures) == (expected.times, expected.total, expected.figures)


def test_a_bad_line_of_an_older_part_is_named_by_its_file(file):
    file.with_name("run.stats.1").write_bytes(encode(sample(1, {})) + b"{not json\n")
    file.write_bytes(encode(sample(2, {})))
    with pytest.raises(InputError, match=r"run\.stats\.1:2: "):
        read_recording(str(file))


def test_the_neighbours_of_an_event_stream_are_not_its_parts(file):
    file.with_name("run.stats.1").write_text("something else")
    file.write_text('{"type":"done"}\n')
    assert read_recording(str(file)).figures == ()


def test_a_line_that_a_killed_host_left_unfinished_is_no_trouble_for_the_next_one(file):
    torn = encode(sample(3, {}))[:30] + b"\n"
    later = encode(mark(1, "started", "a")) + encode(sample(1, {}, pid=901, clock=STARTED + 60))
    file.write_bytes(encode(sample(2, {})) + torn + encode(sample(0.1, {}, pid=901, clock=STARTED + 60)) + later)
    found = read_recording(str(file))
    assert list(found.times) == [0.1, 1]
    assert found.notes == ("The file holds 2 runs; this page shows the last one.",)
