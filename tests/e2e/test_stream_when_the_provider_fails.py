"""When the provider fails: the stream, the exit status, and what is kept."""

from __future__ import annotations

import re
import signal

import pytest

from tests.support.golden import golden, lines
from tests.support.messages_server import (
    MessagesServer,
    drop_before_headers,
    events_reply,
    hold_first_byte,
    http_error,
    message_events,
    stall_midway,
    text_block,
    text_reply,
    tool_reply,
)
from tests.support.replay_script import Script
from tests.support.zot_process import check_transcript
from wire.events import Error, Retry
from wire.exit_codes import Status

UP_TO_A_DELTA = 5
"""Steps of a text reply: message_start, ping, block start, and the two deltas."""


def ask(zot, server: MessagesServer, *args):
    return zot.run("--json", "--base-url", server.base_url, *args, "go", env={"ANTHROPIC_API_KEY": "sk-ant-secret"})


@pytest.mark.parametrize(("http", "status"), [(401, Status.AUTHENTICATION), (529, Status.RATE_LIMIT)])
def test_an_http_error(zot, server, http, status):
    server.add(*[http_error(http, "no, sk-ant-secret is", retry_after_ms=1)] * 3)
    advice = {
        401: f"the key from ANTHROPIC_API_KEY was refused by {server.base_url}: see that it is complete, not"
        " revoked, and made for this endpoint",
        529: f"{server.base_url} has too much to do, for everybody: try again in a few minutes, or use another --model",
    }
    retries = ["retry 2 of 3 in 0.001 s: overloaded 529", "retry 3 of 3 in 0.001 s: overloaded 529"]
    check_refusal(
        zot,
        ask(zot, server),
        f"anthropic: HTTP {http}: no, [API key] is\n{advice[http]}",
        status,
        retries=retries if http == 529 else [],
    )
    assert server.unused == (0 if http == 529 else 2), "only what may pass is tried again"


def check_refusal(zot, outcome, reason, status, retries=()):
    outcome.check(status)
    shown = re.sub(r"127\.0\.0\.1:\d+", "<server>", reason)
    assert golden(outcome).splitlines() == [
        "session",
        "user_message 'go'",
        "turn_start 1",
        *retries,
        *f"turn_end error: {shown}".splitlines(),
        *f"error {shown}".splitlines(),
        *f"result {status.value} {status.exit_code} '' steps=1: {shown}".splitlines(),
        "done",
    ]
    first, *more = reason.splitlines()
    assert outcome.warnings == [f"zot: {first}", *(f"     {line}" for line in more)]
    check_transcript(zot.session_rows())


def test_retries_that_succeed_are_told_and_fail_nothing(zot, server):
    server.add(http_error(529, retry_after_ms=1), tool_reply([("bash", {"command": "true"})]))
    server.add(drop_before_headers(), text_reply("Hello"))
    outcome = ask(zot, server).check(Status.OK)
    assert outcome.result.text == "Hello"
    assert outcome.of(Error) == []
    assert server.unused == 0
    overloaded, lost = outcome.of(Retry)
    assert overloaded == Retry(attempt=2, of=3, wait_s=0.001, reason="overloaded", status=529)
    assert (lost.attempt, lost.reason, lost.status) == (2, "no connection", None)
    assert outcome.stderr == ""


def test_a_server_that_falls_silent_is_asked_again_before_its_reply_and_given_up_in_its_middle(zot, server):
    server.add(hold_first_byte(text_reply("never")), stall_midway(text_reply("Hello there"), after=4))
    outcome = zot.run("--json", "--base-url", server.base_url, "go", env={"ZOT_MODEL_IDLE_TIMEOUT": "0.3"})
    outcome.check(Status.ERROR)
    (retry,) = outcome.of(Retry)
    assert (retry.attempt, retry.reason) == (2, "no answer in time")
    said, advice = outcome.result.reason.splitlines()
    assert said == f"anthropic: {server.base_url} sent nothing for 0.3 s"
    assert "ZOT_MODEL_IDLE_TIMEOUT=SECONDS" in advice
    assert outcome.result.text == "Hello "
    check_transcript(zot.session_rows())


def test_a_recording_has_no_retries_and_no_advice(zot, server):
    server.add(http_error(529, retry_after_ms=1), http_error(401))
    cassette = zot.folder / "c.jsonl"
    ask(zot, server, "--record", cassette).check(Status.AUTHENTICATION)
    assert "HTTP 401" in cassette.read_text()
    assert "retry" not in cassette.read_text().replace("retry_after_s", "")
    assert "was refused by" not in cassette.read_text()


def test_an_interrupt_ends_a_pause(zot, server):
    server.add(http_error(429, retry_after=55))
    with zot.start("--json", "--base-url", server.base_url, "go") as running:
        running.wait_for(Retry, attempt=2, of=3, wait_s=55.0, reason="rate limited", status=429)
        running.signal(signal.SIGINT)
        outcome = running.finish().check(Status.INTERRUPTED)
    assert outcome.result.duration_ms < 50_000
    assert len(server.requests) == 1


def test_a_stream_that_breaks_off_is_an_error(zot, server):
    # No final event: the SDK takes this for a normal end.
    server.add(events_reply(message_events([text_block("Hello there")])[:UP_TO_A_DELTA]))
    check_broken_off(zot, ask(zot, server))
    assert server.unused == 0


def check_broken_off(zot, outcome):
    text = golden(outcome.check(Status.ERROR))
    assert "turn_end error: anthropic: the stream " in text
    assert "assistant_message 'Hello" in text
    check_transcript(zot.session_rows())


def test_a_tool_call_that_breaks_off_is_neither_run_nor_kept(zot):
    call = ("t1", "bash", '{"command": "touch made"}')
    script = Script(zot.cwd).fail("dropped", "anthropic: the stream ended", text="Now: ", call=call, status=None)
    outcome = zot.replay(script).check(Status.ERROR)
    assert not (zot.cwd / "made").exists()
    text = golden(outcome)
    assert "tool_use_end" in text
    assert "tool_call" not in text
    check_transcript(zot.session_rows())


def test_without_a_credential_nothing_is_started(zot):
    outcome = zot.run("--json", "go").check(Status.AUTHENTICATION)
    reason = (
        "no credential for https://api.anthropic.com: run zot login, set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN,"
        " or pass --api-key-file FILE (zot demo needs none)"
    )
    assert golden(outcome) == lines(f"""
        session
        error {reason}
        result authentication 7 '' steps=0: {reason}
        done
    """)
    assert outcome.warnings == [f"zot: {reason}"]
    assert zot.session_files() == []
