"""Rate limits are read from the headers of an answer, and the worker reports them if asked to."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cassette.reply_lines import Limits, problem_of_worker_line
from agent.model.replay_provider import RecordingProvider
from agent.model.worker.rate_limits import NAMES, PREFIX, limits
from tests.support.messages_server import (
    Account,
    MessagesServer,
    drop_before_headers,
    http_error,
    text_reply,
    token_bucket,
)
from tests.support.scripted_model import ScriptedModel

DATE = "Sun, 06 Nov 2026 08:49:37 GMT"
INPUT = {
    f"{PREFIX}input-tokens-limit": "30000",
    f"{PREFIX}input-tokens-remaining": "1000",
    f"{PREFIX}input-tokens-reset": "2026-11-06T08:50:35Z",
}


def test_limits_are_counted_from_the_time_of_the_server():
    found = limits({"date": DATE, "retry-after": "7", **INPUT})
    assert found == {
        "input_tokens": {"limit": 30_000, "remaining": 1_000, "reset_s": 58.0},
        "retry_after_s": 7.0,
    }


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        ("2026-11-06T08:49:30Z", 0.0),
        ("2026-11-06T09:49:47+01:00", 10.0),
        ("2026-11-06T08:49:37.5Z", 0.5),
        ("2026-11-06T08:49:47", 10.0),
        ("9999-11-06T08:49:47Z", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_time_that_makes_no_sense_is_left_out(moment, seconds):
    found = limits({"date": DATE, **INPUT, f"{PREFIX}input-tokens-reset": moment})
    assert found["input_tokens"]["reset_s"] == seconds


@pytest.mark.parametrize("field", ["limit", "remaining"])
@pytest.mark.parametrize("value", ["", "x", "-1", "1.5", "9" * 13])
def test_a_limit_without_its_numbers_is_none(field, value):
    assert limits({"date": DATE, **INPUT, f"{PREFIX}input-tokens-{field}": value}) == {}


def test_without_a_date_this_machines_clock_counts():
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    found = limits({**INPUT, f"{PREFIX}input-tokens-reset": moment})
    assert 3500 < found["input_tokens"]["reset_s"] < 3601


headers = st.sampled_from(
    [f"{PREFIX}{name}-{part}" for name in NAMES.values() for part in ("limit", "remaining", "reset")]
    + ["date", "retry-after", "retry-after-ms", "x-should-retry"]
)
values = st.text() | st.integers().map(str) | st.floats().map(str) | st.datetimes().map(lambda at: at.isoformat())


@given(st.dictionaries(headers, values))
def test_any_headers_make_limits_that_the_host_takes(given_headers):
    found = limits(given_headers)
    msgspec.convert(json.loads(json.dumps(found)), Limits)
    assert not problem_of_worker_line({"type": "message_start", "usage": {}, "limits": found})


def test_the_worker_reports_limits_and_refusals_to_a_host_that_waits_itself(workers):
    refused = http_error(429, retry_after=9)
    refused = replace(refused, headers={**refused.headers, "date": DATE, **INPUT})
    served = replace(text_reply("ok"), headers={"date": DATE, **INPUT})
    told = {"input_tokens": {"limit": 30_000, "remaining": 1_000, "reset_s": 58.0}}
    asked = {"report_limits": True, "retry_rate_limits": False}
    with MessagesServer(refused, served, http_error(529, retry_after_ms=1), served) as server:
        worker = workers.next(server.base_url, max_retries=2, **asked)
        (error,) = worker.ask()
        assert (error["kind"], error["retry_after_s"]) == ("rate_limit", 9.0)
        assert error["limits"] == {**told, "retry_after_s": 9.0}
        assert worker.ask()[0]["limits"] == told
        assert [line["type"] for line in worker.ask()][:2] == ["retry", "message_start"], "others are retried"


def test_a_host_that_waits_itself_hears_whether_the_server_may_have_worked_without_an_answer(workers):
    lost, refused = drop_before_headers(), http_error(500, retry_after_ms=1)
    with MessagesServer(http_error(504), refused, lost, refused, refused, lost, refused) as server:
        worker = workers.next(server.base_url, max_retries=0, report_limits=True)
        assert [worker.ask()[-1].get("unanswered") for _ in range(3)] == [True, None, True]
        worker = workers.next(server.base_url, max_retries=1, report_limits=True)
        tries = [[line.get("unanswered") for line in worker.ask()] for _ in range(2)]
        assert tries == [[None, None], [True, None]], "of each try"
        url = server.base_url
    gone = workers.next(url, max_retries=0, report_limits=True).ask()[-1]
    assert (gone["fault"], gone.get("unanswered")) == ("refused", None), "it has not got the request"


def test_a_host_that_does_not_ask_gets_no_limits(workers):
    served = replace(text_reply("ok"), headers={"date": DATE, **INPUT})
    with MessagesServer(http_error(429, retry_after_ms=1), served, http_error(400)) as server:
        worker = workers.next(server.base_url, max_retries=1)
        assert "limits" not in json.dumps(worker.ask() + worker.ask())


def test_limits_are_in_no_cassette():
    class Recorder:
        def add(self, _params, reply):
            self.reply = reply

    start = {"type": "message_start", "id": "1", "usage": {}, "limits": {}}
    end = {"type": "error", "id": "1", "kind": "x", "message": "y", "limits": {}}
    recorder = Recorder()
    stream = RecordingProvider(ScriptedModel([start, end]), recorder).request({})
    while stream.has_line():
        stream.take()
    assert recorder.reply == [
        {"type": "message_start", "usage": {}},
        {"type": "error", "kind": "x", "message": "y"},
    ]


def test_the_account_of_the_test_server_refuses_what_its_headers_say(workers):
    account = Account(time.monotonic(), requests=2, input_tokens=10_000)
    with MessagesServer() as server:
        server.otherwise = token_bucket(account)
        worker = workers.next(server.base_url, report_limits=True, retry_rate_limits=False)
        first, second = worker.ask()[0], worker.ask()[0]
        (error,) = worker.ask()
    assert first["limits"]["requests"]["limit"] == 2
    assert [line["limits"]["requests"]["remaining"] for line in (first, second, error)] == [1, 0, 0]
    assert 20 <= error["retry_after_s"] <= 30
    assert 50 <= error["limits"]["requests"]["reset_s"] <= 61
    assert (account.answered, account.refused) == (2, 1)
