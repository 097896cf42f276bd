"""A request of an extension to its host is answered once, now or later, or refused; its end leaves nothing of it."""

from __future__ import annotations

import pytest

from supervisor.extension.connection.open_calls import NO_AGENT, OPEN_LIMIT, SHARE_S
from supervisor.extension.lifecycle import WorkerState
from tests.support.scripted_dialect import Sh, scripted_dialect
from tests.support.stand import Stand
from wire.dialects.host_calls import SendPrompt

dialect = pytest.fixture(scripted_dialect)


class Handler:
    """Keeps the calls, with what answers them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.answers: list = []
        self.at_once: object = None
        self.error: Exception | None = None
        self.on_call = lambda: None

    def __call__(self, extension, call, answer):
        self.calls.append((extension.name, call))
        self.answers.append(answer)
        self.on_call()
        if self.at_once is not None:
            answer.give(self.at_once)
        if self.error is not None:
            raise self.error


@pytest.fixture
def handler():
    return Handler()


@pytest.fixture
def stand(tmp_path, dialect, handler):
    made = Stand(tmp_path, on_host_call=handler)
    with made.host:
        made.connect("hello", "ready")
        made.take()
        yield made


def test_a_host_without_an_agent_refuses(tmp_path, dialect):
    made = Stand(tmp_path)
    with made.host:
        made.connect("hello", "ready", "want a go on")
        assert made.take() == f"welcome\nrefused a {NO_AGENT}\n".encode()


def test_the_host_answers_now_or_later_in_any_order(stand, handler):
    stand.say("want a one", "want b two")
    assert handler.calls == [("desk", SendPrompt("one")), ("desk", SendPrompt("two"))]
    assert stand.take() == b""
    handler.answers[1].give(2)
    handler.answers[0].refuse("no")
    assert stand.take() == b"given b 2\nrefused a no\n"
    handler.at_once = 3
    stand.say("want c three")
    assert stand.take() == b"given c 3\n"


def test_each_call_is_answered_once(stand, handler):
    stand.say("want a one")
    (answer,) = handler.answers
    assert answer.is_open
    answer.give(1)
    assert not answer.is_open
    answer.give(2)
    answer.refuse("no")
    assert stand.take() == b"given a 1\n"
    stand.say("want a again")
    answer.give(3)
    assert stand.take() == b"", "the key is that of another call now"
    handler.answers[1].give(4)
    assert stand.take() == b"given a 4\n"


def test_a_key_in_use_is_no_second_call(stand, handler):
    stand.say("want a one", "want a two")
    assert handler.calls == [("desk", SendPrompt("one"))]
    assert "asks its host for SendPrompt with an id that is in use" in stand.host.log("desk")
    handler.answers[0].give(1)
    assert stand.take() == b"given a 1\n"


def test_more_open_calls_than_the_limit_are_refused(stand, handler):
    stand.say(*(f"want {number} x" for number in range(OPEN_LIMIT + 2)))
    assert len(handler.calls) == OPEN_LIMIT
    reason = f"{OPEN_LIMIT} calls of this extension already wait for an answer"
    assert stand.take() == f"refused {OPEN_LIMIT} {reason}\nrefused {OPEN_LIMIT + 1} {reason}\n".encode()
    handler.answers[0].give(1)
    stand.say("want again x")
    assert len(handler.calls) == OPEN_LIMIT + 1


def test_a_handler_that_raises_refuses_unless_it_has_answered(stand, handler):
    handler.error = ValueError("x" * 1000)
    stand.say("want a one")
    assert stand.take() == b"refused a " + f"the host failed at it: {'x' * 1000}"[:300].encode() + b"\n"
    handler.at_once = 1
    stand.say("want b two")
    assert stand.take() == b"given b 1\n"
    assert stand.extension.state is WorkerState.READY
    assert "its host failed at SendPrompt: ValueError" in stand.host.log("desk")


def test_an_answer_that_the_dialect_cannot_write_costs_this_extension_alone(stand, handler):
    stand.say("want a one", "want b two")
    handler.answers[0].give("unwritable")
    assert stand.extension.state is WorkerState.FAILED
    assert stand.extension.lead.failure == "its dialect cannot write an answer: TypeError('unwritable')"
    handler.answers[1].give(2)
    assert stand.take() == b""


def test_after_the_end_of_the_worker_no_answer_has_an_effect(stand, handler):
    stand.say("want a one")
    stand.link.on_lost("its program has gone")
    (answer,) = handler.answers
    assert not answer.is_open
    answer.give(1)
    assert stand.take() == b""


def test_a_call_before_the_hello_is_a_broken_handshake(stand):
    other = stand.beside("other")
    other.connect("want a one", "hello")
    assert other.extension.lead.failure == "its first frame must be hello, not HostCalled"


def test_what_is_asked_for_while_a_process_stops_is_answered_and_forgotten_at_its_end(host, tmp_path, dialect):
    answers = []
    host.supervisor.calls_by_extensions.others = lambda _extension, _call, answer: answers.append(answer)
    Sh(host, tmp_path).add(
        "sender", "echo hello; echo ready; read -r x; echo want a on; read -r x; cat; echo want b on"
    )
    host.start()
    host.until(lambda: answers)
    host.stop()
    assert [answer.is_open for answer in answers] == [False] * len(answers)


@pytest.fixture
def slow(stand, handler):
    """A handler of which each call takes so long that a pass has no time for another one."""

    def take_long():
        stand.now += 2 * SHARE_S

    handler.on_call = take_long
    return handler


def test_calls_that_take_long_wait_for_the_next_passes_in_their_order(stand, slow):
    slow.at_once = 1
    stand.link.on_frames(b"want a one\nwant b two\nwant c three\nremark hi\n")
    assert [call.text for _, call in slow.calls] == ["one"]
    assert stand.take() == b"given a 1\n"
    assert "hi" in stand.host.log("desk"), "what is no call does not wait"
    stand.passes()
    assert [call.text for _, call in slow.calls] == ["one", "two", "three"]
    assert stand.take() == b"given b 1\ngiven c 1\n"


def test_a_flood_of_calls_that_take_long_is_refused_beyond_the_limit(stand, slow):
    stand.link.on_frames(b"".join(b"want %d x\n" % number for number in range(OPEN_LIMIT + 1)))
    assert len(slow.calls) == 1
    reason = f"{OPEN_LIMIT} calls of this extension already wait for an answer"
    assert stand.take() == f"refused {OPEN_LIMIT} {reason}\n".encode()


def test_what_waits_is_not_begun_after_the_end_of_the_worker(stand, slow):
    stand.link.on_frames(b"want a one\nwant b two\n")
    stand.link.on_lost("its program has gone")
    stand.passes()
    assert [call.text for _, call in slow.calls] == ["one"]


def test_a_round_trip_ends_behind_the_calls_that_were_made_before_its_pong(stand, slow, dialect):
    dialect.is_pinged = True
    ended = []
    stand.host.supervisor.round_trip([stand.extension], lambda: ended.append(len(slow.calls)), 5.0)
    sent = stand.take().split()
    assert sent[0] == b"ping"
    stand.link.on_frames(b"want a one\nwant b two\npong %b\n" % sent[-1])
    assert ended == []
    stand.passes()
    assert ended == [2]
