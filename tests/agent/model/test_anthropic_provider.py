"""The provider fails a request with a reason when its model worker fails."""

from __future__ import annotations

import signal

import pytest

from agent.model import anthropic_provider, worker_process
from agent.model.access import find_access
from agent.model.anthropic_provider import LINES_WAITING, AnthropicProvider
from supervisor.loop.pipes import FULL_READ
from supervisor.process.teardown import stop_all
from tests.support.messages_server import MessagesServer, http_error
from tests.support.patience import soon


@pytest.fixture
def provider(loop):
    provider = AnthropicProvider(loop, find_access({}, api_key="k", base_url="http://127.0.0.1:9"))
    yield provider
    stop_all(loop, provider.stoppables())


def error_of(loop, stream):
    soon(loop, stream.has_line)
    line = stream.take()
    assert line["type"] == "error"
    return line["message"]


@pytest.fixture
def fake_worker(tmp_path, monkeypatch):
    """Has a shell script run as the worker; `pids` has a line for each start."""
    fake = tmp_path / "fake"

    def write(program):
        fake.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\n{program}\n")
        fake.chmod(0o755)
        monkeypatch.setattr(worker_process.sys, "executable", str(fake))
        return lambda: [int(pid) for pid in (tmp_path / "pids").read_text().split()]

    return write


def test_a_model_worker_that_cannot_be_started_fails_the_request(loop, provider, monkeypatch):
    monkeypatch.setattr(worker_process.sys, "executable", "/nowhere/python")
    provider.start()
    reason = "the model worker could not be started: cannot start /nowhere/python: no such file"
    assert error_of(loop, provider.request({})) == reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo 'no module named x' >&2; exit 1", "the model worker ended (exit 1): no module named x"),
        ("read a; read b; echo junk; read c", "a line from the model worker is not JSON"),
        ("read a; read b; echo '[]'; read c", "a line from the model worker is not valid: expected object, got array"),
        (
            'read a; read b; echo \'{"type":"text_delta","id":"1","delta":null}\'; read c',
            "a line from the model worker is not valid: delta: expected str, got null",
        ),
        (
            "printf 'Fatal Python error: bad luck\\n\\nThread 0x1:\\n  <no Python frame>\\n' >&2; kill -ABRT $$",
            "the model worker ended (signal SIGABRT): Fatal Python error: bad luck",
        ),
        ("read a; read b; kill -KILL $$", "the model worker ended (signal SIGKILL)"),
    ],
)
def test_a_model_worker_that_fails_is_the_reason_of_the_request(loop, provider, fake_worker, program, reason):
    fake_worker(program)
    assert error_of(loop, provider.request({})).startswith(reason)


def test_a_request_beyond_the_limit_is_not_sent(loop, provider, monkeypatch):
    monkeypatch.setattr(anthropic_provider, "REQUEST_LIMIT", 1_000)
    reason = "the conversation makes a request of more than 1000 bytes"
    assert error_of(loop, provider.request({"system": "x" * 1_000})) == reason


@pytest.mark.slow
def test_a_worker_is_read_no_faster_than_the_run_takes_its_lines(loop, provider, fake_worker):
    count = 20_000
    line = '{"type":"text_delta","id":"1","delta":"x"}'
    last = '{"type":"final","id":"1","content":[],"stop_reason":"end_turn","usage":{}}'
    fake_worker(f"read a; read b; yes '{line}' | head -n {count}; echo '{last}'; read c")
    stream = provider.request({})
    soon(loop, lambda: stream.waiting >= LINES_WAITING)
    for _ in range(20):
        loop.run_until(lambda: False, loop.clock())
    most = stream.waiting
    assert most <= LINES_WAITING + FULL_READ // len(line)
    types = []
    while "final" not in types:
        soon(loop, stream.has_line)
        most = max(most, stream.waiting)
        types.append(stream.take()["type"])
    assert len(types) == count + 1
    assert most <= LINES_WAITING + FULL_READ // len(line)


def test_the_message_of_an_error_controls_no_terminal(loop):
    with MessagesServer(http_error(400, "red \x1b[31mand\0 \x9b2Jclear")) as server:
        provider = AnthropicProvider(loop, find_access({}, base_url=server.base_url))
        message = error_of(loop, provider.request({"model": "m", "max_tokens": 1, "messages": []}))
        stop_all(loop, provider.stoppables())
    assert message == "anthropic: HTTP 400: red and clear"


def test_a_reply_that_was_given_up_does_not_reach_the_next_request(loop, provider, fake_worker):
    answer = '{"type":"text_delta","id":"%s","delta":"%s"}\\n'
    fake_worker(f"read a; read b; printf '{answer}' 1 old 2 new; read d")
    first = provider.request({})
    provider.cancel()
    second = provider.request({})
    soon(loop, second.has_line)
    assert second.take()["delta"] == "new"
    assert not first.has_line()


def test_a_failed_request_comes_with_advice_that_names_the_source_of_the_key(loop):
    with MessagesServer(http_error(401, "bad key")) as server:
        access = find_access({"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": server.base_url})
        provider = AnthropicProvider(loop, access)
        stream = provider.request({"model": "m", "max_tokens": 1, "messages": []})
        soon(loop, stream.has_line)
        line = stream.take()
        stop_all(loop, provider.stoppables())
        assert server.requests[0].headers["authorization"] == "Bearer t"
    assert line["advice"].startswith(f"the token from ANTHROPIC_AUTH_TOKEN was refused by {server.base_url}")


def test_the_worker_gets_the_headers_that_the_sdk_adds_and_no_key_of_the_environment(loop, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: abc")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-env")
    with MessagesServer(http_error(400)) as server:
        provider = AnthropicProvider(loop, find_access({}, base_url=server.base_url))
        stream = provider.request({"model": "m", "max_tokens": 1, "messages": []})
        soon(loop, stream.has_line)
        stop_all(loop, provider.stoppables())
        headers = server.requests[0].headers
    assert headers["x-gateway"] == "abc"
    assert "sk-from-env" not in str(headers)


# --- a worker that is kept warm -----------------------------------------------------------------------------

READY = 'read a; echo \'{"type":"ready","whole_sdk":""}\'; '


def is_warm(provider):
    return lambda: provider.is_ready and provider.child is not None and provider.child.is_running


def test_after_a_cancelled_request_another_worker_is_started_at_once(loop, provider, fake_worker):
    pids = fake_worker(READY + "cat > /dev/null")
    provider.start()
    soon(loop, is_warm(provider))
    first = provider.child
    provider.request({})
    provider.cancel()
    provider.warm_up()
    soon(loop, lambda: provider.child is not first and is_warm(provider)())
    assert pids() == [first.pid, provider.child.pid]
    provider.warm_up()
    assert provider.child.pid == pids()[-1]


def test_a_cancelled_request_alone_starts_no_other_worker(loop, provider, fake_worker):
    pids = fake_worker(READY + "cat > /dev/null")
    provider.warm_up()
    soon(loop, is_warm(provider))
    provider.request({})
    provider.cancel()
    soon(loop, lambda: not provider.child.is_running)
    assert len(pids()) == 1


def test_a_request_may_come_before_the_killed_worker_has_ended(loop, provider, fake_worker, tmp_path):
    line = '{"type":"final","id":"2","content":[],"stop_reason":"end_turn","usage":{}}'
    is_first = f"[ $(wc -l < {tmp_path}/pids) = 1 ]"
    pids = fake_worker(READY + f"{is_first} && exec cat > /dev/null; read b; echo '{line}'; cat > /dev/null")
    provider.start()
    soon(loop, is_warm(provider))
    provider.request({})
    provider.cancel()
    provider.warm_up()
    stream = provider.request({})
    soon(loop, stream.has_line)
    assert stream.take()["type"] == "final"
    assert len(pids()) == 2


def test_a_worker_that_ends_between_requests_is_started_again_once(loop, provider, fake_worker):
    pids = fake_worker(READY + "cat > /dev/null")
    provider.start()
    provider.warm_up()
    soon(loop, is_warm(provider))
    first = provider.child
    first.kill_group(signal.SIGKILL)
    soon(loop, lambda: provider.child is not first and is_warm(provider)())
    second = provider.child
    second.kill_group(signal.SIGKILL)
    soon(loop, lambda: not second.is_running)
    assert provider.child is second
    assert pids() == [first.pid, second.pid]


@pytest.mark.parametrize("at_once", [False, True])
def test_at_the_end_no_other_worker_is_started(loop, provider, fake_worker, at_once):
    pids = fake_worker(READY + "exec cat > /dev/null")
    provider.start()
    provider.warm_up()
    soon(loop, is_warm(provider))
    stop_all(loop, provider.stoppables(), at_once=at_once)
    assert not provider.child.is_running
    assert len(pids()) == 1
