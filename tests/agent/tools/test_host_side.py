"""The host's side of the processes that do its work: file tools, commands, the model worker."""

from __future__ import annotations

import os
import signal

import pytest

from agent.model import anthropic_provider
from agent.model.anthropic_provider import AnthropicProvider
from agent.model.worker_lines import problem_of
from agent.tools import bash
from agent.tools.file_worker import client
from agent.tools.file_worker.client import FileTools
from agent.tools.shell.command import ShellCommand
from supervisor.loop.loop import Loop
from supervisor.loop.pending import Failure
from supervisor.process.teardown import stop_all


@pytest.fixture
def loop():
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def files(loop, tmp_path):
    tools = FileTools(loop, str(tmp_path))
    yield tools
    stop_all(loop, tools.stoppables())


def soon(loop, predicate):
    assert loop.run_until(predicate, loop.clock() + 20)


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


def test_a_call_that_is_given_up_costs_the_worker(loop, files):
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
def test_a_worker_that_is_none(loop, files, tmp_path, monkeypatch, program):
    fake = tmp_path / "fake"
    fake.write_text(program)
    fake.chmod(0o755)
    monkeypatch.setattr(client.sys, "executable", str(fake))
    call = files.call("read", b"{}")
    soon(loop, call.is_done)
    assert call.failure is Failure.DIED or "is not JSON" in call.value["content"][0]["text"]


def test_a_worker_that_cannot_be_started(loop, files, monkeypatch):
    monkeypatch.setattr(client.sys, "executable", "/nowhere/python")
    assert files.call("read", b"{}").failure is Failure.DIED


def command_of(loop, tmp_path, text, progress=None, timeout_s=20):
    heard = progress if progress is not None else []
    return ShellCommand(loop, bash.Call(text, timeout_s), cwd=str(tmp_path), logs=tmp_path, on_progress=heard.append)


def test_a_command_is_over_when_its_shell_is(loop, tmp_path):
    heard = []
    command = command_of(loop, tmp_path, "sleep 600 & echo up; exit 4", heard)
    soon(loop, lambda: command.is_over)
    text, is_error = command.finish()
    assert is_error
    assert "\n\nup\n\n[exit 4]" in text
    assert heard == ["up\n"]
    stop_all(loop, [command])


def test_a_command_that_is_cancelled(loop, tmp_path):
    heard = []
    command = command_of(loop, tmp_path, "echo up; sleep 600", heard)
    soon(loop, lambda: bool(heard))
    command.cancel()
    text, is_error = command.finish()
    assert is_error
    assert "\n\nup\n\ncancelled, killed by SIGTERM\n[exit -1]" in text
    assert not command.child.is_running


def test_a_command_without_a_folder(loop, tmp_path):
    command = command_of(loop, tmp_path / "missing", "true")
    assert command.is_over
    assert command.finish() == (f"bash: cannot start /bin/sh: its folder {tmp_path / 'missing'} does not exist", True)


@pytest.fixture
def provider(loop):
    provider = AnthropicProvider(loop, api_key="k", base_url="http://127.0.0.1:9")
    yield provider
    stop_all(loop, provider.stoppables())


def error_of(loop, stream):
    soon(loop, stream.has_line)
    line = stream.take()
    assert line["type"] == "error"
    return line["message"]


def test_a_model_worker_that_cannot_be_started(loop, provider, monkeypatch):
    monkeypatch.setattr(anthropic_provider.sys, "executable", "/nowhere/python")
    provider.start()
    reason = "the model worker could not be started: cannot start /nowhere/python: no such file"
    assert error_of(loop, provider.request({})) == reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo 'no module named x' >&2; exit 1", "the model worker ended (exit 1): no module named x"),
        ("read a; read b; echo junk; read c", "a line from the model worker is not JSON"),
        ("read a; read b; kill -KILL $$", "the model worker ended (signal SIGKILL)"),
    ],
)
def test_a_model_worker_that_fails(loop, provider, tmp_path, monkeypatch, program, reason):
    fake = tmp_path / "fake"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(anthropic_provider.sys, "executable", str(fake))
    assert error_of(loop, provider.request({})).startswith(reason)


def test_a_reply_that_was_given_up_does_not_reach_the_next_request(loop, provider, tmp_path, monkeypatch):
    fake = tmp_path / "fake"
    answer = '{"type":"text_delta","id":"%s","delta":"%s"}\\n'
    fake.write_text(f"#!/bin/sh\nread a; read b; read c; printf '{answer}' 1 old 2 new; read d\n")
    fake.chmod(0o755)
    monkeypatch.setattr(anthropic_provider.sys, "executable", str(fake))
    first = provider.request({})
    provider.cancel()
    second = provider.request({})
    soon(loop, second.has_line)
    assert second.take()["delta"] == "new"
    assert not first.has_line()


@pytest.mark.parametrize(
    "line",
    [
        {"type": "text_delta"},
        {"type": "text_delta", "delta": 5},
        {"type": "mystery"},
        {"type": "final", "content": [], "usage": {}},
        {"type": "final", "content": [{"type": "text"}], "stop_reason": "end_turn", "usage": {}},
        {"type": "final", "content": [], "stop_reason": "end_turn", "usage": {"input": "5"}},
        {"type": "error", "kind": "x"},
        {},
    ],
)
def test_lines_that_cannot_be_relied_on(line):
    assert problem_of(line)


def test_lines_that_can():
    final = {
        "type": "final",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
        "usage": {"input": 1},
    }
    for line in (
        final,
        {"type": "error", "kind": "x", "message": "y", "status": None},
        {"type": "message_start", "usage": {}},
    ):
        assert problem_of(line) is None
