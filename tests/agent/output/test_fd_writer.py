"""Writing to a pipe whose reader is slow or gone, or to a full disk, never blocks."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from agent.output.fd_writer import HIGH_WATER, FdWriter
from tests.support.patience import PATIENCE_S


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
    assert loop.run_until(lambda: output.is_flushed, loop.clock() + PATIENCE_S)
    reader.join()
    assert got == [sent]
    output.close()


def test_the_descriptor_stays_blocking_for_processes_that_share_it(loop, pipe):
    output = FdWriter(loop, pipe[1], pytest.fail)
    output.write(b"x" * 200_000)
    assert os.get_blocking(pipe[1])
    output.close()


def test_a_reader_that_leaves_is_noticed_without_writing(loop, pipe):
    reading, writing = pipe
    reasons = []
    output = FdWriter(loop, writing, reasons.append)
    os.close(reading)
    assert loop.run_until(lambda: output.broken, loop.clock() + PATIENCE_S)
    output.write(b"into the void")
    assert (reasons, output.outbox.queued) == ([""], 0)


def test_a_peer_that_closes_its_socket_is_noticed_without_writing(loop):
    """Node gives its children sockets as stdin and stdout."""
    ours, theirs = socket.socketpair()
    reasons = []
    with ours:
        output = FdWriter(loop, ours.fileno(), reasons.append)
        theirs.close()
        assert loop.run_until(lambda: output.broken, loop.clock() + PATIENCE_S)
    assert reasons == [""]


def test_what_a_peer_sends_to_a_socket_is_no_end_and_does_not_keep_the_loop_busy(loop):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        output = FdWriter(loop, ours.fileno(), pytest.fail)
        theirs.send(b"a request")
        theirs.shutdown(socket.SHUT_WR)
        loop.run_until(lambda: False, loop.clock() + 0.05)
        assert loop.passes < 10
        output.write(b"the answer")
        assert theirs.recv(100) == b"the answer"
        output.close()


def test_a_full_disk_is_the_reason_of_the_failure(loop):
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
    assert output.outbox.queued <= HIGH_WATER
    output.close()


def test_a_regular_file_takes_everything(loop, tmp_path):
    with (tmp_path / "out").open("wb") as file:
        output = FdWriter(loop, file.fileno(), pytest.fail)
        output.write(b"x" * 1_000_000)
        assert output.is_flushed
        output.close()
    assert (tmp_path / "out").stat().st_size == 1_000_000
