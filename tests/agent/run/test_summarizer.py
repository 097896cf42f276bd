"""A compaction in this process with a scripted model: the conversation changes on success, and only then."""

from __future__ import annotations

import pytest

from agent.abort import Abort
from agent.model.provider import Stream
from agent.output.event_writer import EventWriter
from agent.run import compaction
from agent.run.compaction import HEADING
from agent.run.conversation import Conversation
from agent.run.summarizer import Summarizer
from agent.run.turn.model_call import ModelCalls
from agent.transcript import Message, Text, text_of
from tests.support.scripted_model import ScriptedModel, says
from wire import events
from wire.exit_codes import Status

RETRY = {"type": "retry", "attempt": 2, "of": 3, "wait_s": 0.1, "reason": "overloaded", "status": 529}
BEGUN = [{"type": "message_start", "usage": {"input": 7, "output": 0}}, {"type": "text_delta", "delta": "Once"}]


def said(count):
    return [
        Message("user" if number % 2 == 0 else "assistant", (Text(f"text {number}"),), "2026-01-01T00:00:00Z")
        for number in range(count)
    ]


class Bench:
    def __init__(self, loop, *replies, count=6):
        self.loop, self.model, self.abort, self.records = loop, ScriptedModel(*replies), Abort(), []
        self.conversation = Conversation()
        self.conversation.transcript = said(count)
        self.on_record = lambda _record: None
        self.event_writer = EventWriter(loop, self.abort, self._take)

    def _take(self, record):
        self.records.append(record)
        self.on_record(record)

    def run(self, instructions=""):
        older, kept = compaction.split(self.conversation.transcript)
        calls = ModelCalls(self.model, self.event_writer, self.conversation, self.abort)
        summarizer = Summarizer(calls, self.event_writer, self.conversation, self.abort)
        return summarizer.run("claude-sonnet-5-5", older, kept, instructions)

    @property
    def texts(self):
        return [text_of(message.content) for message in self.conversation.transcript]

    def kinds(self):
        return [type(record).__name__ for record in self.records]


def test_the_older_messages_become_a_summary(loop):
    bench = Bench(loop, says("  It was so. "))
    ended = bench.run("keep the paths")
    assert (ended.status, ended.text) == (Status.OK, "It was so.")
    assert bench.texts == [f"{HEADING}It was so.", "text 2", "text 3", "text 4", "text 5"]
    assert bench.kinds() == ["Usage", "CompactDone"]
    assert bench.records[-1] == events.CompactDone("It was so.", 6, 5)
    (asked,) = bench.model.asked
    (message,) = asked["messages"]
    text = message["content"][0]["text"]
    assert "text 1" in text
    assert "text 2" not in text
    assert "keep the paths" in text


def test_its_use_counts_with_that_of_the_prompts(loop):
    bench = Bench(loop, says("So."))
    bench.conversation.add_usage(events.Totals(10, 10, 0, 0, 0.5))
    bench.run()
    (usage, _) = bench.records
    assert (usage.input, usage.cumulative.input, bench.conversation.usage.input) == (1, 11, 11)
    assert usage.cumulative.cost_usd > 0.5
    assert usage.auxiliary


def test_readers_see_retries_and_no_piece_of_the_summary(loop):
    bench = Bench(loop, [RETRY, *says("So.")])
    assert bench.run().status is Status.OK
    assert bench.kinds() == ["Retry", "Usage", "CompactDone"]


@pytest.mark.parametrize(
    ("reply", "status", "reason"),
    [
        (says(""), Status.ERROR, "no summary: the model's reply is empty"),
        (says(" \n"), Status.ERROR, "no summary: the model's reply is empty"),
        (says("Half", stop="max_tokens"), Status.ERROR, "no summary: the reply was cut off: max_tokens"),
        (says("No.", stop="refusal"), Status.ERROR, "the model stopped for an unusual reason: refusal"),
        (says("", ("t1", "bash", {})), Status.ERROR, "no summary: the model called a tool instead"),
        ([{"type": "error", "kind": "rate_limit", "status": 429, "message": "slow"}], Status.RATE_LIMIT, "slow"),
        ([*BEGUN, {"type": "error", "kind": "dropped", "status": None, "message": "gone"}], Status.ERROR, "gone"),
    ],
)
def test_what_is_no_summary_leaves_the_conversation_as_it_was(loop, reply, status, reason):
    bench = Bench(loop, reply)
    ended = bench.run()
    assert (ended.status, ended.text) == (status, "")
    assert ended.reason.endswith(reason)
    assert bench.conversation.transcript == said(6)
    assert "CompactDone" not in bench.kinds()


def test_an_abort_leaves_the_conversation_as_it_was_and_what_was_used_counts(loop):
    bench = Bench(loop)
    stream = Stream(BEGUN, on_empty=lambda: bench.abort.request(Status.INTERRUPTED, "enough"))
    bench.model.request = lambda _params: stream
    ended = bench.run()
    assert (ended.status, ended.reason) == (Status.INTERRUPTED, "enough")
    assert bench.conversation.transcript == said(6)
    assert bench.conversation.usage.input == 7
    assert bench.kinds() == ["Usage"]
    assert bench.model.cancelled == 1
