"""Work of the host for a session besides reading: what it says first, its replies, its times, and what it says of
itself. The other side is in this process, and the clock stands until a test moves it."""

from __future__ import annotations

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.loop.link import LINK_LIMIT
from supervisor.process.child import EXIT_FOLLOWS_S
from tests.support.scripted_dialect import scripted_dialect
from tests.support.stand import Stand

dialect = pytest.fixture(scripted_dialect)


@pytest.fixture
def stand(tmp_path, dialect):
    made = Stand(tmp_path)
    with made.host:
        yield made


READY = ("hello", "tool a", "tool unsendable", "ready")


# --- what the host says --------------------------------------------------------------------------------------


def test_the_opening_is_said_before_the_process_says_anything(stand, dialect):
    dialect.opening = b"are you there?\n"
    stand.connect()
    assert stand.take() == b"are you there?\n"
    assert stand.extension.state is WorkerState.SPAWNED


def test_replies_of_one_piece_are_sent_together_behind_the_greeting(stand):
    stand.connect("echo 4", "hello", "echo 3", "echo 2", "ready")
    assert stand.sent == [b"welcome\n", b"xxx\nxx\nx\n"]


def test_replies_that_are_not_read_are_dropped_and_told_once(stand):
    stand.connect(*READY)
    stand.take()
    stand.queued = LINK_LIMIT
    stand.say("echo 100", "echo 100")
    stand.say("echo 100")
    assert stand.sent == []
    assert stand.host.said_of("desk") == [], "it may be about to end"
    stand.after(EXIT_FOLLOWS_S)
    assert stand.host.said_of("desk") == [
        ("warning", "does not read the lines for it; what it asked for is not answered")
    ]
    stand.queued = 0
    stand.say("echo 5")
    assert stand.take() == b"xxxx\n"
    assert stand.extension.state is WorkerState.READY


def test_a_request_that_cannot_be_sent_fails_alone(stand):
    stand.connect(*READY)
    other = stand.call("a")
    (answer,) = stand.call("unsendable")
    assert (answer.failure, answer.reason) == (Failure.INVALID_ARGS, "this tool cannot be called")
    assert b"unsendable" not in stand.take()
    stand.say("result 1 done")
    assert other[0].frame.content[0].text == "done"


def test_a_bad_message_with_the_id_of_a_request_fails_that_one_at_once(stand):
    stand.connect(*READY)
    first, second = stand.call("a"), stand.call("a")
    stand.say("bad 1")
    assert [(answer.failure, answer.reason) for answer in first] == [(Failure.BAD_ANSWER, "it cannot be read")]
    stand.say(f"result {'x' * 2000} 2")
    assert [(answer.failure, answer.reason) for answer in second] == [(Failure.BAD_ANSWER, "a line of 2009 bytes")]


# --- its times -----------------------------------------------------------------------------------------------


def test_a_session_is_called_when_it_is_due(stand):
    stand.connect(*READY, "due 5")
    stand.take()
    stand.after(4.9)
    assert stand.take() == b""
    stand.after(0.2)
    assert stand.take() == b"tick\n"
    assert "it is time" in stand.host.log("desk")
    stand.after(100)
    assert stand.take() == b"", "it wants no other time"


def test_the_timer_follows_a_time_that_is_moved(stand):
    stand.connect(*READY, "due 5")
    stand.say("due 1")
    stand.take()
    stand.after(1.0)
    assert stand.take() == b"tick\n"
    stand.say("due 2")
    stand.say("due 6")
    stand.after(2.5)
    assert stand.take() == b""
    stand.after(3.5)
    assert stand.take() == b"tick\n"


def test_a_session_may_want_to_be_called_again_and_again(stand, dialect):
    dialect.ticks_every = 2.0
    stand.connect(*READY, "due 1")
    stand.take()
    for seconds in (1.0, 2.0, 2.0):
        stand.after(seconds)
        assert stand.take() == b"tick\n"


@pytest.mark.parametrize("end", ["unusable it is broken", "gone"])
def test_no_session_is_called_after_the_end_of_its_worker(stand, dialect, end):
    dialect.ticks_every = 1.0
    stand.connect(*READY, "due 1")
    if end == "gone":
        stand.link.on_lost("it has gone")
    else:
        stand.say(end)
    stand.take()
    stand.after(10)
    assert stand.take() == b""
    assert "it is time" not in stand.host.log("desk")


def test_ready_is_said_and_not_taken_from_silence(stand):
    stand.connect("hello", "tool a")
    stand.after(2.9)
    assert stand.extension.state is WorkerState.GREETED
    stand.say("ready")
    assert stand.extension.state is WorkerState.READY


def test_what_never_says_ready_is_ready_at_the_deadline(stand):
    stand.connect("hello", "tool a")
    stand.after(3.0)
    assert stand.extension.state is WorkerState.READY
    late = "has not listed all that it offers within 3 s of its hello; using what it has listed"
    assert stand.host.said_of("desk") == [("warning", late)]


def test_a_late_hello_is_told_with_the_cause_that_the_session_knows(stand, dialect):
    dialect.trouble = "it is asleep"
    stand.connect("remark good morning")
    stand.after(5.0)
    assert stand.extension.lead.failure == "said no hello within 5 s; it is asleep"


# --- progress ------------------------------------------------------------------------------------------------


def test_progress_begins_the_time_of_a_call_anew_up_to_ten_times(stand):
    stand.connect(*READY)
    answers = stand.call("a")
    for _ in range(12):
        stand.after(4.0)
        stand.say("progress 1 working")
        assert answers == []
    stand.take()
    stand.after(1.9)
    assert answers == []
    stand.after(0.1)
    assert [answer.failure for answer in answers] == [Failure.TIMEOUT]
    assert answers[0].reason == "no progress for 5 s, or more than 50 s in all"
    assert stand.take() == b"cancel 1\n"


def test_a_call_ends_as_long_after_its_last_progress_as_it_may_take(stand):
    stand.connect(*READY)
    answers = stand.call("a")
    stand.after(3.0)
    stand.say("progress 1 working", "progress 7 of a call that nobody made")
    stand.after(4.9)
    assert answers == []
    stand.after(0.1)
    assert [answer.failure for answer in answers] == [Failure.TIMEOUT]


def test_without_the_rule_progress_moves_nothing(stand, dialect):
    dialect.is_extended_by_progress = False
    stand.connect(*READY)
    answers = stand.call("a")
    stand.after(4.0)
    stand.say("progress 1 working")
    stand.after(1.0)
    assert [answer.reason for answer in answers] == ["no answer within 5 s"]


# --- pings ---------------------------------------------------------------------------------------------------


def test_a_ping_that_the_session_does_not_send_is_not_missed(stand, dialect):
    dialect.is_pinged = False
    stand.connect(*READY, watchdog_s=2.0)
    stand.take()
    for _ in range(5):
        stand.after(2.0)
    assert (stand.take(), stand.extension.state) == (b"", WorkerState.READY)
    dialect.is_pinged = True
    stand.after(2.0)
    assert stand.take() == b"ping ping-1\n"
    stand.say("pong ping-1")
    stand.after(2.0)
    assert stand.take() == b"ping ping-2\n"
    stand.after(2.0)
    assert stand.extension.lead.failure == "it hangs: no pong within 2 s of a ping"


# --- what it says of itself ----------------------------------------------------------------------------------


def test_warnings_and_remarks_may_come_before_the_hello(stand):
    stand.connect("warn a beware", "remark in the log only", "warn a beware again", *READY, "warn b of this too")
    assert stand.host.said_of("desk") == [("warning", "beware"), ("warning", "of this too")]
    log = stand.host.log("desk")
    assert "in the log only" in log
    assert "beware again" in log
    assert stand.extension.state is WorkerState.READY


@pytest.mark.parametrize(
    "lines", [("unusable no licence",), ("hello", "hopeless no licence"), (*READY, "unusable no licence")]
)
def test_an_unusable_one_is_given_up_with_its_reason(stand, lines):
    stand.connect(*lines, "tool late")
    assert stand.extension.state is WorkerState.FAILED
    assert stand.extension.lead.failure == "no licence"
    assert "late" not in stand.host.tools()


@pytest.mark.parametrize("lines", [["due soon"], ["tool a", "due soon", "tool b"]])
def test_a_session_that_raises_costs_its_extension_alone(stand, lines):
    stand.connect(*READY, "tool a")
    answers = stand.call()
    stand.say(*lines)
    assert stand.extension.state is WorkerState.FAILED
    assert stand.extension.lead.failure.startswith("its dialect cannot read what it says: ValueError(")
    assert [answer.failure for answer in answers] == [Failure.DIED]


def test_instructions_are_told_until_they_are_taken_back_or_the_worker_ends(stand):
    instructions = stand.host.supervisor.registrations.instructions
    stand.connect("hello", "tell Count twice. ", "tool a", "ready")
    assert instructions() == "\nThe extension desk says of its tools:\nCount twice.\n"
    stand.say("tell Count once.")
    assert "once" in instructions()
    stand.say("tell ")
    assert instructions() == ""
    stand.say("tell Count.")
    stand.link.on_lost("it has gone")
    assert instructions() == ""


def test_instructions_before_the_hello_are_a_fault_of_the_session(stand):
    stand.connect("tell Count twice.", "hello")
    assert stand.extension.lead.failure == "its first frame must be hello, not Instructions"


FALSE_BODY = """
import json, sys, time
def framed(body): return "Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body)
resume = json.dumps({"id": 1, "method": "session.resume", "params": {"sessionId": "s", "tools": [{"name": "late"}]}})
answer = '{"method":"session.tools.handlePendingToolCall","params":[\\n' + "Content-Length: 99\\n" * 50_000 + "}"
sys.stdout.write(framed(answer) + framed(resume))
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_long_body_that_is_none_is_read_in_many_passes_and_what_follows_it_too(host):
    host.write("false", FALSE_BODY, prelude=False, dialect="copilot")
    host.launch()
    passes = host.loop.passes
    host.until(lambda: "late" in host.supervisor.registrations.tools())
    assert host.extension("false").account.junk_lines >= 50_000
    assert host.loop.passes - passes > 20
