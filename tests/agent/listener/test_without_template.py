"""Where the system has no template each conversation is a program of its own, and all else is the same."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.support.batch_command import MODEL, obey
from tests.support.lives import is_gone
from tests.support.no_child_left import no_child_left
from tests.support.rpc_listener import Listening
from tests.support.zot_process import wait_until

PROGRAM = Path(__file__).parents[2] / "support" / "rpc_listener_program.py"
pytestmark = pytest.mark.slow


@pytest.fixture
def started(zot, server):
    server.otherwise = obey
    path = zot.folder / "s"
    with no_child_left(), zot.start(path, server.base_url, MODEL, command=[sys.executable, PROGRAM], cold=True) as run:
        wait_until(lambda: "serving" in run.errors() or run.process.poll() is not None)
        at = Listening(run, path)
        yield at
        at.close()


def test_conversations_are_served_and_stopped(started):
    first, second = started.connect(), started.connect()
    assert (first.text("one"), second.text("two")) == ("answer to one", "answer to two")
    assert started.stop().status == 0


def test_a_killed_listener_leaves_nothing(started):
    client = started.connect()
    conversation = started.pid_of(client)
    client.begin("hang")
    started.running.process.kill()
    client.rest()
    assert started.running.process.wait() == -signal.SIGKILL
    wait_until(lambda: is_gone(conversation))
