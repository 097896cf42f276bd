"""The provider fails a request with a reason when its model worker fails."""

from __future__ import annotations

import pytest

from agent.model import anthropic_provider
from agent.model.anthropic_provider import AnthropicProvider
from supervisor.process.teardown import stop_all


def soon(loop, predicate):
    assert loop.run_until(predicate, loop.clock() + 20)


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


def test_a_model_worker_that_cannot_be_started_fails_the_request(loop, provider, monkeypatch):
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
def test_a_model_worker_that_fails_is_the_reason_of_the_request(loop, provider, tmp_path, monkeypatch, program, reason):
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
