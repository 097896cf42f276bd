"""The output of a batch on stdout and stderr, and its end when a reader is slow or leaves."""

from __future__ import annotations

import json
import os

import pytest

from cli.batch.output.outputs import Outputs, RecordStream
from cli.batch.output.stderr import ProgressStyle
from supervisor.loop.loop import Loop
from tests.support.fake_batch import FakeBatch
from wire.batch.records import TaskStart


class Streams:
    """Descriptors 1 and 2 are files between `with` and its end."""

    def __init__(self, folder):
        self._paths = [folder / "out", folder / "err"]

    def __enter__(self):
        self._kept = [os.dup(number) for number in (1, 2)]
        for number, path in enumerate(self._paths, 1):
            self.put(number, path)
        return self

    def put(self, number, path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(fd, number)
        os.close(fd)

    def __exit__(self, *exc):
        for number, fd in enumerate(self._kept, 1):
            os.dup2(fd, number)
            os.close(fd)

    def read(self):
        return tuple(path.read_text() for path in self._paths)


@pytest.fixture
def streams(tmp_path):
    return Streams(tmp_path)


def ran(show=ProgressStyle.AUTO, events=(), *, as_json=False):
    outputs = Outputs(show, "my runs", as_json=as_json)
    outputs.say("said before it began")
    batch = FakeBatch(outputs, events, waits=False)
    status = outputs.run(batch)
    batch.loop.close()
    return status


def test_in_a_pipe_there_is_a_line_for_each_task_and_a_summary(streams):
    with streams:
        assert ran() == 0
    out, err = streams.read()
    assert out == ""
    assert err.splitlines()[:5] == [
        "said before it began",
        "[1/3] ok            one  12.5 s  $0.0123",
        "a remark of the batch",
        "[2/3] ok            two  12.5 s  $0.0123",
        "[3/3] ok            three  12.5 s  $0.0123",
    ]
    assert "zot batch logs 'my runs' three  one run: its messages, tools and answer" in err


def test_quiet_leaves_what_the_batch_itself_has_to_say(streams):
    with streams:
        assert ran(ProgressStyle.NOTHING) == 0
    assert streams.read() == ("", "said before it began\na remark of the batch\n")


def test_records_and_the_events_of_the_runs_are_on_stdout(streams):
    events = (b'{"type":"turn_start","step":1}\n', b'{"type":"done"}\n')
    with streams:
        assert ran(events=events, as_json=True) == 0
    out, err = streams.read()
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["type"] for record in records] == [
        "batch_start", "task_start", "turn_start", "done", "task_end", "task_end", "task_end", "batch_end",
    ]  # fmt: skip
    assert records[2] == {"task": "one", "attempt": 1, "type": "turn_start", "step": 1}
    assert "[3/3] ok " in err


def ran_with(streams, put):
    outputs = Outputs(ProgressStyle.LINES, "runs", as_json=True)
    batch = FakeBatch(outputs, waits=False)
    with streams:
        put()
        status = outputs.run(batch)
    batch.loop.close()
    return status, batch.controls, streams.read()[1]


def test_a_reader_that_leaves_drains_the_batch(streams):
    def no_reader():
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        os.close(write)

    status, controls, said = ran_with(streams, no_reader)
    assert (status, controls.is_draining, controls.is_stopping) == (130, True, False)
    assert "the reader of stdout has gone: running tasks end, and no new ones start\n" in said


def test_a_full_disk_drains_the_batch_and_is_named(streams):
    status, controls, said = ran_with(streams, lambda: streams.put(1, "/dev/full"))
    assert status != 0
    assert controls.is_draining
    assert "cannot write to stdout: No space left on device; no new tasks start\n" in said


def test_a_slow_reader_is_waited_for():
    read, write = os.pipe()
    loop = Loop()
    broken = []
    stream = RecordStream(loop, broken.append, fd=write)
    event = b'{"type":"text_delta","delta":"' + b"x" * 1000 + b'"}\n'
    count = 0
    while not stream.is_full:
        stream.on_event("one", 1, event)
        count += 1
    assert count > 1000
    stream.tell(TaskStart(task="two", attempt=1, time="t"))
    got = bytearray()

    def take():
        got.extend(os.read(read, 1 << 20))
        loop.call_later(0, take)

    loop.call_later(0, take)
    assert stream.finish()
    os.close(write)
    while data := os.read(read, 1 << 20):
        got.extend(data)
    os.close(read)
    loop.close()
    lines = bytes(got).splitlines()
    assert len(lines) == count + 1
    assert set(lines[:-1]) == {b'{"task":"one","attempt":1,' + event.strip()[1:]}
    assert not broken
