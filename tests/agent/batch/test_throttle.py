"""The throttle keeps to what the headers tell, gives way after a refusal, and always goes on."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.pool.leases import account_of, family
from agent.batch.throttle import FIRST, LIMITS, Aimd, Bucket, Throttle
from agent.cassette.reply_lines import Limits, RateLimit
from tests.support.throttle_simulation import simulate

NOW = 1_000.0
SIZE = 1_000


def all_sent(throttle, now, count=1_000):
    """Sends as many requests as may be sent."""
    sent = 0
    while sent < count and throttle.may_send(now, throttle.estimate(SIZE)) is None:
        throttle.sent(f"{now} {sent}", SIZE)
        sent += 1
    return sent


def grown(most=64):
    """A throttle that may have `most` requests open, and has none."""
    throttle = Throttle(most)
    while throttle.may_send(NOW, throttle.estimate(SIZE)) is None:
        for number in range(all_sent(throttle, NOW)):
            throttle.answered(NOW, f"{NOW} {number}", None)
        if throttle.open_requests == most:
            break
    for number in range(most):
        throttle.finished(NOW, f"{NOW} {number}")
    return throttle


def tell(throttle, now, **limits):
    throttle.sent("told", 0)
    throttle.answered(now, "told", Limits(**limits))
    throttle.finished(now, "told")


# --- buckets ------------------------------------------------------------------------------------------------


def test_an_answer_that_comes_late_gives_nothing_back():
    throttle = grown()
    throttle.sent("first", SIZE)
    throttle.sent("second", SIZE)
    throttle.answered(NOW, "second", Limits(requests=RateLimit(60, 3, 57.0)))
    throttle.answered(NOW, "first", Limits(requests=RateLimit(60, 4, 56.0)))
    assert all_sent(throttle, NOW) == 3
    tell(throttle, NOW, requests=RateLimit(60, 9, 51.0))
    assert all_sent(throttle, NOW + 0.001) == 9 - 3, "a later answer counts as it is"


def test_no_more_is_sent_than_the_headers_leave():
    throttle = grown()
    tell(throttle, NOW, requests=RateLimit(60, 5, 55.0))
    assert all_sent(throttle, NOW) == 5
    wait = throttle.may_send(NOW, throttle.estimate(SIZE))
    assert wait.reason == "60 requests per minute are used up"
    assert wait.until == pytest.approx(NOW + 1)
    assert all_sent(throttle, NOW + 3.001) == 3


def test_tokens_are_counted_by_their_estimates():
    throttle = grown()
    needed = throttle.estimate(SIZE).input_tokens
    tell(throttle, NOW, input_tokens=RateLimit(30_000, int(3.5 * needed), 60.0))
    assert all_sent(throttle, NOW) == 3
    assert "30,000 input tokens per minute are used up" in throttle.may_send(NOW, throttle.estimate(SIZE)).reason


def test_an_answer_that_has_counted_a_request_frees_what_was_reserved_for_it():
    throttle = grown()
    tell(throttle, NOW, requests=RateLimit(60, 1, 59.0))
    throttle.sent("a", SIZE)
    assert throttle.may_send(NOW, throttle.estimate(SIZE)) is not None
    throttle.answered(NOW, "a", Limits(requests=RateLimit(60, 4, 56.0)))
    assert all_sent(throttle, NOW) == 4


def test_output_stays_reserved_until_its_reply_ends():
    throttle = grown()
    tell(throttle, NOW, output_tokens=RateLimit(8_000, 600, 55.0))
    throttle.sent("a", SIZE)
    throttle.answered(NOW, "a", None)
    assert throttle.may_send(NOW, throttle.estimate(SIZE)) is not None
    throttle.finished(NOW, "a", {"output": 50})
    assert throttle.may_send(NOW, throttle.estimate(SIZE)) is None


def test_estimates_follow_what_replies_used():
    throttle = grown()
    for number in range(60):
        throttle.sent(str(number), SIZE)
        throttle.answered(NOW, str(number), None)
        throttle.finished(NOW, str(number), {"input": 100, "output": 40, "cache_read": 10_000, "cache_write": 20})
    estimate = throttle.estimate(SIZE)
    assert estimate.input_tokens == pytest.approx(120, rel=0.01), "what is read from the cache does not count"
    assert estimate.output_tokens == pytest.approx(40, rel=0.01)


def test_a_request_beyond_the_whole_limit_is_sent_when_the_limit_is_full():
    throttle = grown()
    tell(throttle, NOW, input_tokens=RateLimit(100, 0, 60.0))
    wait = throttle.may_send(NOW, throttle.estimate(SIZE))
    assert wait.until == pytest.approx(NOW + 60)
    assert throttle.may_send(wait.until + 1, throttle.estimate(SIZE)) is None
    assert throttle.is_too_large(throttle.estimate(SIZE))


limits_told = st.builds(
    lambda limit, part, reset: RateLimit(limit, int(limit * part), reset),
    st.integers(1, 10**6), st.floats(0, 1), st.none() | st.floats(0, 600),
)  # fmt: skip


@given(limits_told, st.lists(st.floats(0, 100), max_size=30))
def test_a_bucket_is_never_more_than_full_and_fills_until_the_time_that_it_tells(told, gaps):
    bucket = Bucket()
    bucket.told(NOW, told)
    before = bucket.level(NOW)
    now = NOW
    for gap in gaps:
        now += gap
        assert before <= bucket.level(now) <= told.limit
        before = bucket.level(now)
    at = bucket.ready_at(NOW, told.limit)
    assert bucket.level(at + 0.01) >= told.limit - 1e-3


@given(limits_told, st.lists(st.tuples(st.floats(0, 20), st.integers(1, 10_000)), max_size=40))
def test_what_is_sent_between_two_answers_is_at_most_what_is_there(told, wishes):
    throttle = grown()
    tell(throttle, NOW, input_tokens=told)
    bucket = Bucket()
    bucket.told(NOW, told)
    now, taken = NOW, 0.0
    for number, (gap, size) in enumerate(wishes):
        now += gap
        estimate = throttle.estimate(size)
        if throttle.may_send(now, estimate) is None:
            throttle.sent(str(number), size)
            taken += min(estimate.input_tokens, told.limit)
        assert taken <= bucket.level(now) + 1e-3


@st.composite
def happenings(draw):
    """Something that happens to requests: names of methods with their arguments."""
    answer = st.builds(
        Limits, requests=st.none() | limits_told, input_tokens=st.none() | limits_told,
        output_tokens=st.none() | limits_told, tokens=st.none() | limits_told,
    )  # fmt: skip
    usage = st.fixed_dictionaries({"output": st.integers(0, 10**6), "input": st.integers(0, 10**6)})
    what = draw(st.sampled_from(["send", "answered", "finished", "refused"]))
    seconds = draw(st.floats(0, 100))
    return what, seconds, draw(st.integers(0, 10**6)), draw(answer), draw(usage), draw(st.none() | st.floats(0.1, 600))


@given(st.lists(happenings(), max_size=60), st.integers(1, 64), st.integers(0, 10**7))
def test_whatever_has_happened_a_request_is_sent_in_the_end(happened, most, size):
    throttle = Throttle(most)
    now, open_requests, number = NOW, [], 0
    for what, gap, amount, limits, usage, pause in happened:
        now += gap
        if what == "send" and throttle.may_send(now, throttle.estimate(amount)) is None:
            number += 1
            throttle.sent(str(number), amount)
            open_requests.append(str(number))
            assert throttle.open_requests <= most
        elif what == "answered" and open_requests:
            throttle.answered(now, open_requests[amount % len(open_requests)], limits)
        elif what == "finished" and open_requests:
            throttle.finished(now, open_requests.pop(), usage)
        elif what == "refused" and open_requests:
            throttle.refused(now, open_requests.pop(0), pause, limits)
    for request in open_requests:
        throttle.finished(now, request)
    for _ in range(100):
        wait = throttle.may_send(now, throttle.estimate(size))
        if wait is None:
            return
        assert now < wait.until < math.inf, wait
        now = wait.until
    pytest.fail(f"still waits: {wait}")


# --- refusals -----------------------------------------------------------------------------------------------


def test_after_a_refusal_nothing_is_sent_for_as_long_as_the_server_asks():
    throttle = grown()
    throttle.sent("a", SIZE)
    throttle.refused(NOW, "a", 10.0, None)
    wait = throttle.may_send(NOW + 9.9, throttle.estimate(SIZE))
    assert (wait.until, wait.reason) == (NOW + 10, "the server asks for a pause")
    assert all_sent(throttle, NOW + 10) == 1, "one request tries it first"
    throttle.answered(NOW + 10, f"{NOW + 10} 0", None)
    assert all_sent(throttle, NOW + 11) == 2, "then twice as many each time"


def test_refusals_without_a_time_make_longer_pauses_until_an_answer_comes():
    throttle = grown()
    now, pauses = NOW, []
    for number in range(9):
        throttle.sent(str(number), SIZE)
        throttle.refused(now, str(number), None, None)
        pauses.append(throttle.may_send(now, throttle.estimate(SIZE)).until - now)
        now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    throttle.sent("good", SIZE)
    throttle.answered(now, "good", None)
    throttle.sent("again", SIZE)
    throttle.refused(now, "again", None, None)
    assert throttle.may_send(now, throttle.estimate(SIZE)).until == now + 1


def test_many_refusals_at_once_cut_the_limit_once():
    aimd = Aimd(100)
    while aimd.limit < 100:
        aimd.answered(100)
    for _ in range(20):
        aimd.refused(NOW, 100, 1.0)
    assert aimd.limit == 80
    aimd.refused(NOW + 14.9, 80, 30.0)
    assert aimd.limit == 80
    aimd.refused(NOW + 15, 80, 30.0)
    assert aimd.limit == 64
    aimd.refused(NOW + 44.9, 64, 1.0)
    assert aimd.limit == 64


def test_the_limit_grows_only_while_it_is_used_and_never_beyond_the_most():
    aimd = Aimd(12)
    for _ in range(100):
        aimd.answered(1)
    assert aimd.limit == FIRST
    for _ in range(100):
        aimd.answered(12)
    assert aimd.limit == 12
    aimd.refused(NOW, 12, 1.0)
    before = aimd.limit
    for _ in range(before):
        aimd.answered(before)
    assert before <= aimd.limit <= before + 1, "by one for each round after a refusal"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 200), st.floats(0, 100)), max_size=200), st.integers(1, 100))
def test_the_limit_is_always_at_least_one(happened, most):
    aimd, now = Aimd(most), NOW
    for is_good, open_requests, gap in happened:
        now += gap
        if is_good:
            aimd.answered(open_requests)
        else:
            aimd.refused(now, open_requests, gap)
        assert 1 <= aimd.limit <= most


# --- accounts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("claude-opus-4-1-20250805", "claude-opus-4"),
        ("claude-opus-4-5", "claude-opus-4"),
        ("anthropic/claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
        ("claude-3-haiku-20240307", "claude-3-haiku"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("qwen3:8b", "qwen3:8b"),
        ("other-20250101", "other"),
    ],
)
def test_models_of_one_family_share_a_limit(model, named):
    assert family(model) == named


def test_a_throttle_is_for_one_address_and_one_credential_and_does_not_show_it():
    configure = {"base_url": "http://a/", "api_key": "sk-secret", "auth_token": None}
    account = account_of(configure, "m")
    assert "sk-secret" not in str(account)
    assert account == account_of({**configure, "base_url": "http://a"}, "m")
    assert account != account_of({**configure, "api_key": "other"}, "m")
    assert account != account_of({**configure, "base_url": "http://b"}, "m")
    assert account_of({"base_url": "http://a"}, "m").fingerprint == ""


# --- many runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jobs", "others", "with_headers"),
    [
        *((32, others, with_headers) for others in (0.0, 0.5) for with_headers in (True, False)),
        pytest.param(128, 0.5, True, marks=pytest.mark.slow),
    ],
)
def test_six_hundred_runs_are_hardly_refused_and_lose_no_time(jobs, others, with_headers):
    figures = simulate(jobs, others=others, with_headers=with_headers)
    assert figures.refused_per_answer <= (0.1 if others or not with_headers else 0.005)
    assert figures.time_per_ideal <= 1.1
    assert figures.longest_wait_s <= 60


def test_every_limit_has_its_words():
    assert set(LIMITS) == set(Limits.__struct_fields__) - {"retry_after_s", "should_retry"}
