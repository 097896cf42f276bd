"""The model worker as a process: retries, timeouts, credentials, its start and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.messages_server import (
    MessagesServer,
    drop_before_headers,
    hold_first_byte,
    http_error,
    stall_midway,
    text_reply,
)
from tests.support.model_worker_process import WORKER, SeveralWorkers, WorkerProcess, configure
from tests.support.patience import PATIENCE_S


def test_retries_follow_retry_after_and_are_capped(workers: SeveralWorkers) -> None:
    replies = [
        http_error(429, retry_after_ms=300),
        http_error(529, retry_after_ms=5),
        text_reply("at last"),
        http_error(429, "first", retry_after=3600),
        *(http_error(500, retry_after_ms=1) for _ in range(3)),
        *(drop_before_headers() for _ in range(3)),
        http_error(400, retry_after_ms=1),
    ]
    with MessagesServer(*replies) as server:
        worker = workers.next(server.base_url, max_retries=2)
        lines = worker.ask()
        assert lines[-1]["type"] == "final"
        assert lines[:2] == [
            {"type": "retry", "attempt": 2, "of": 3, "wait_s": 0.3, "reason": "rate limited", "status": 429},
            {"type": "retry", "attempt": 3, "of": 3, "wait_s": 0.005, "reason": "overloaded", "status": 529},
        ]
        first, second, third = server.requests
        assert second.at - first.at >= 0.3
        counts = [request.headers["x-stainless-retry-count"] for request in (first, second, third)]
        assert counts == ["0", "1", "2"]

        (error,) = worker.ask()
        assert (error["kind"], error["retry_after_s"]) == ("rate_limit", 3600)
        assert len(server.requests) == 4, "a wait of an hour is left to the host"

        assert worker.ask()[-1]["kind"] == "server"
        assert len(server.requests) == 7, "one try and two retries"

        *pauses, error = worker.ask()
        assert error["kind"] == "connection"
        assert [(pause["reason"], pause["status"]) for pause in pauses] == [("no connection", None)] * 2
        assert server.unused == 1, "closed without an answer: one try and two retries"

        assert worker.ask()[-1]["kind"] == "invalid_request"
        assert server.unused == 0, "no retry of a request that is wrong"


def test_silence_is_a_timeout_before_and_within_the_reply(workers: SeveralWorkers) -> None:
    whole = text_reply("partial")
    with MessagesServer(hold_first_byte(whole), stall_midway(whole, after=4)) as server:
        worker = workers.next(server.base_url, idle_timeout_s=0.3)
        error = worker.ask()[-1]
        assert error["kind"] == "timeout"
        assert error["message"] == f"anthropic: {server.base_url} sent nothing for 0.3 s"
        error = worker.ask()[-1]
        assert error["kind"] == "timeout"
        assert error["content"] == [{"type": "text", "text": "part"}]


def test_an_address_without_a_server_is_a_connection_error(workers: SeveralWorkers) -> None:
    with MessagesServer() as server:
        url = server.base_url
    error = workers.next(url).ask()[-1]
    assert (error["kind"], error["fault"]) == ("connection", "refused")
    assert "refused" in error["message"]


def test_no_key_with_a_base_url_sends_the_request_and_no_key_of_the_environment(
    workers: SeveralWorkers, tmp_path
) -> None:
    profile = tmp_path / "configs" / "default.json"
    profile.parent.mkdir()
    profile.write_text("not even json")
    environment = {
        "ANTHROPIC_API_KEY": "sk-ant-from-env",
        "ANTHROPIC_AUTH_TOKEN": "token-from-env",
        "ANTHROPIC_CONFIG_DIR": str(tmp_path),
    }
    with MessagesServer(text_reply("ok")) as server:
        worker = workers.next(server.base_url, api_key=None, env=environment)
        assert worker.ask()[-1]["type"] == "final"
        assert "from-env" not in json.dumps(server.requests[0].headers)


def test_a_token_is_sent_as_bearer_and_not_shown(workers: SeveralWorkers) -> None:
    with MessagesServer(http_error(401, "no such token: tok-12345")) as server:
        error = workers.next(server.base_url, api_key=None, auth_token="tok-12345").ask()[-1]
        assert server.requests[0].headers["authorization"] == "Bearer tok-12345"
        assert "x-api-key" not in server.requests[0].headers
    assert error["message"] == "anthropic: HTTP 401: no such token: [API key]"


def test_a_key_as_short_as_a_part_of_a_word_does_not_spoil_the_message(workers: SeveralWorkers) -> None:
    with MessagesServer(http_error(400, "unknown model")) as server:
        error = workers.next(server.base_url, api_key="k").ask()[-1]
    assert error["message"] == "anthropic: HTTP 400: unknown model"


def test_a_key_is_sent_as_the_sdk_sends_it(workers: SeveralWorkers) -> None:
    with MessagesServer(text_reply("ok")) as server:
        workers.next(server.base_url, api_key="sk-123").ask()
        headers = server.requests[0].headers
    assert (headers.get("authorization"), headers.get("x-api-key")) in (("Bearer sk-123", None), (None, "sk-123"))


def test_tls_is_spoken_to_an_https_address(workers: SeveralWorkers) -> None:
    with MessagesServer() as server:
        error = workers.next(server.base_url.replace("http:", "https:")).ask()[-1]
    assert (error["kind"], error["fault"]) == ("connection", "tls")
    assert "SSL" in error["message"]


def test_a_base_url_that_is_no_url_fails_each_request(workers: SeveralWorkers) -> None:
    assert workers.next("http://127.0.0.1:port").ask()[-1]["kind"] == "invalid_request"


def test_the_worker_ends_when_the_host_goes_away_in_the_middle_of_a_reply() -> None:
    with (
        MessagesServer(stall_midway(text_reply("partial"), after=4)) as server,
        WorkerProcess(server.base_url) as worker,
    ):
        worker.start()
        server.wait_until_held()
        assert worker.process.stdin
        worker.process.stdin.close()
        assert worker.process.wait(PATIENCE_S) == 0


NOISY = """
import builtins, runpy, sys
real = builtins.__import__
def noisy(name, *rest):
    if name == "anthropic":
        print("NOISE", flush=True)
    return real(name, *rest)
builtins.__import__ = noisy
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_the_host_going_away_in_a_pause_ends_the_worker_at_once() -> None:
    with (
        MessagesServer(http_error(429, retry_after=50)) as server,
        WorkerProcess(server.base_url, max_retries=1) as worker,
    ):
        worker.start()
        while (line := worker.read())["type"] != "retry":
            assert line["type"] == "ready"
        assert line["wait_s"] == 50
        assert worker.process.stdin
        worker.process.stdin.close()
        assert worker.process.wait(PATIENCE_S) == 0


def test_a_worker_that_fails_says_the_error_of_python_last() -> None:
    with WorkerProcess("http://127.0.0.1:9") as worker:
        assert worker.process.stdin
        worker.process.stdin.write(b"{}\n")
        worker.process.stdin.flush()
        assert worker.process.wait(PATIENCE_S) == 1
        assert worker.stderr().strip().splitlines()[-1] == "KeyError: 'id'"


def test_stray_prints_do_not_reach_the_host_and_the_worker_ends_with_its_input() -> None:
    process = subprocess.run(
        [sys.executable, "-c", NOISY, str(WORKER)],
        input=json.dumps(configure("http://127.0.0.1:9", "k", 0, 1)).encode() + b"\n",
        capture_output=True,
    )
    assert b"NOISE" in process.stderr
    assert b"NOISE" not in process.stdout
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("-P",), ()])
def test_modules_of_the_same_names_in_the_project_are_not_imported(tmp_path, flags: tuple[str, ...]) -> None:
    for name in ("agent", "failure", "reply"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    environment = {"PYTHONPATH": os.fspath(tmp_path)}
    with WorkerProcess("http://127.0.0.1:9", env=environment, flags=flags) as worker:
        assert worker.read()["type"] == "ready"
        assert worker.process.stdin
        worker.process.stdin.close()
        assert worker.process.wait(PATIENCE_S) == 0, "an idle one ends at the end of its input"


@pytest.mark.slow
def test_a_model_that_retires_soon_prints_no_warning_and_sigterm_ends_the_worker() -> None:
    with (
        MessagesServer(text_reply("ok")) as server,
        WorkerProcess(server.base_url, env={"PYTHONWARNINGS": "error::DeprecationWarning"}) as worker,
    ):
        assert worker.ask(model="claude-sonnet-4-5")[-1]["type"] == "final"
        worker.process.terminate()
        assert worker.process.wait(PATIENCE_S) == -15
        assert worker.stderr() == ""
