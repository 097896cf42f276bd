"""Both pollers say the same of a pipe."""

from __future__ import annotations

import os

import pytest

from supervisor.loop import poller
from supervisor.loop.poller import READ, WRITE

KINDS = [kind for name in ("_Epoll", "_Selector") if (kind := getattr(poller, name, None)) is not None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_is_ready_when_it_can_be_read_or_written(kind):
    made = kind()
    read, write = os.pipe()
    try:
        made.register(read, READ)
        made.register(write, READ)
        assert made.poll(0) == []
        made.modify(write, WRITE)
        assert made.poll(None) == [(write, WRITE)]
        made.unregister(write)
        os.write(write, b"x")
        assert made.poll(10) == [(read, READ)]
        os.read(read, 1)
        assert made.poll(0.001) == []
        os.close(write)
        ((fd, mask),) = made.poll(10)
        assert fd == read
        assert mask & ~WRITE, "the end of file is readable"
        made.unregister(read)
    finally:
        made.close()
        os.close(read)


@pytest.mark.parametrize("kind", KINDS)
def test_a_descriptor_that_was_closed_can_be_forgotten(kind):
    made = kind()
    read, write = os.pipe()
    made.register(read, READ)
    os.close(read)
    made.unregister(read)
    made.close()
    os.close(write)


@pytest.mark.parametrize("timeout", [1e9, 1e300])
@pytest.mark.parametrize("kind", KINDS)
def test_no_timeout_is_too_long_for_the_kernel(kind, timeout):
    made = kind()
    read, write = os.pipe()
    made.register(write, WRITE)
    assert made.poll(timeout) == [(write, WRITE)]
    made.close()
    os.close(read)
    os.close(write)
