"""The client of the file worker: order of answers, deaths, timeouts, cancelled calls."""

from __future__ import annotations

import os
import signal

import pytest

from agent.tools.file_worker import client
from agent.tools.file_worker.client import FileTools
from supervisor.loop.future import Failure
from supervisor.process.teardown import stop_all
from tests.support.patience import soon


@pytest.fixture
def files(loop, tmp_path):
    tools = FileTools(loop, str(tmp_path))
    yield tools
    stop_all(loop, tools.stoppables())


def test_calls_are_answered_in_order(loop, files, tmp_path):
    (tmp_path / "a").write_text("A")
    calls = [files.call("read", b'{"path": "a"}'), files.call("nope", b"{}"), files.call("read", b'{"path": "a"}')]
    soon(loop, calls[-1].is_done)
    assert [call.value["is_error"] for call in calls] == [False, True, False]


def test_a_worker_that_dies_fails_what_is_pending_and_is_replaced(loop, files, tmp_path):
    (tmp_path / "a").write_text("A")
    files.start()
    os.kill(files.child.pid, signal.SIGSTOP)
    call = files.call("read", b'{"path": "a"}')
    files.child.kill_group(signal.SIGKILL)
    soon(loop, call.is_done)
    assert (call.failure, call.reason) == (Failure.DIED, "the file worker ended (signal SIGKILL)")
    again = files.call("read", b'{"path": "a"}')
    soon(loop, again.is_done)
    assert again.value["content"] == [{"type": "text", "text": "A\n"}]


def test_giving_up_a_call_kills_the_worker(loop, files):
    files.start()
    os.kill(files.child.pid, signal.SIGSTOP)
    call = files.call("read", b'{"path": "a"}')
    child = files.child
    files.give_up(call, Failure.TIMEOUT, "too slow")
    soon(loop, lambda: not child.is_running)
    assert (call.failure, call.reason) == (Failure.TIMEOUT, "too slow")


def test_a_late_answer_of_a_cancelled_call_is_not_that_of_the_next(loop, files, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    first = files.call("read", b'{"path": "a"}')
    files.cancel_pending("aborted")
    assert first.failure is Failure.CANCELLED
    second = files.call("read", b'{"path": "b"}')
    soon(loop, second.is_done)
    assert second.value["content"][0]["text"] == "b\n"


@pytest.mark.parametrize("program", ["#!/bin/sh\necho not json\nread x", "#!/bin/sh\nexit 3"])
def test_a_program_that_is_no_file_worker_fails_the_call(loop, files, tmp_path, monkeypatch, program):
    fake = tmp_path / "fake"
    fake.write_text(program)
    fake.chmod(0o755)
    monkeypatch.setattr(client.sys, "executable", str(fake))
    call = files.call("read", b"{}")
    soon(loop, call.is_done)
    assert call.failure is Failure.DIED or "is not JSON" in call.value["content"][0]["text"]


def test_a_file_worker_that_cannot_be_started_fails_the_call(loop, files, monkeypatch):
    monkeypatch.setattr(client.sys, "executable", "/nowhere/python")
    assert files.call("read", b"{}").failure is Failure.DIED
