"""The order of prompts and their aborts, for any sequence of requests."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.engine.host_calls.sent_prompts import SendRefusedError, SentPrompt
from agent.rpc import prompt_queue
from agent.rpc.prompt_queue import PromptQueue, QueueFullError


class Requests(RuleBasedStateMachine):
    """Beside the queue a plain model of it: the ids in order, and which are aborted."""

    def __init__(self):
        super().__init__()
        self.queue = PromptQueue()
        self.expected: list[str] = []
        self.sent: set[str] = set()
        self.aborted: set[str] = set()
        self.begun: list[str] = []

    @rule(text=st.text(max_size=3))
    def prompt(self, text):
        prompt, position = self.queue.add(text, ())
        assert position == len(self.expected)
        self.expected.append(prompt.id)

    @rule()
    def prompt_of_an_extension(self):
        try:
            self.queue.add_sent(SentPrompt("again", (), "a"))
        except SendRefusedError:
            return
        self.expected.append([prompt.id for prompt in self.queue][-1])
        self.sent.add(self.expected[-1])

    def clients_first(self):
        return [each for each in self.expected if each not in self.sent][:1]

    @precondition(lambda self: self.queue.running is None)
    @rule()
    def begin(self):
        prompt = self.queue.begin()
        assert (prompt.id if prompt else None) == (self.expected[0] if self.expected else None)
        if prompt is not None:
            self.begun.append(prompt.id)

    @precondition(lambda self: self.queue.running is not None)
    @rule()
    def end(self):
        self.expected.remove(self.queue.running.id)
        self.queue.end()

    @rule()
    def abort_the_first(self):
        self.queue.abort(None, "enough")
        self.aborted |= {*self.expected[:1], *self.clients_first()}

    @rule(number=st.integers(0, 20))
    def abort_by_id(self, number):
        self.queue.abort(f"p{number}", "enough")
        self.aborted |= {f"p{number}"} & set(self.expected)

    @rule()
    def abort_all(self):
        self.queue.abort_all("the end")
        self.aborted |= set(self.expected)

    @rule()
    def abort_others(self):
        running = [] if self.queue.running is None else [self.queue.running.id]
        self.queue.abort_others("the end")
        self.aborted |= set(self.expected) - {*running, *self.clients_first()}

    @invariant()
    def the_queue_is_as_expected(self):
        assert [prompt.id for prompt in self.queue] == self.expected
        assert {prompt.id for prompt in self.queue if prompt.abort.requested} == self.aborted & set(self.expected)
        assert self.queue.is_busy == bool(self.expected)

    @invariant()
    def prompts_begin_in_the_order_of_their_arrival(self):
        assert self.begun == sorted(self.begun, key=lambda each: int(each[1:]))


TestRequests = Requests.TestCase
TestRequests.settings = settings(max_examples=40, stateful_step_count=30)


def test_the_queue_is_bounded_in_number_and_size(monkeypatch):
    monkeypatch.setattr(prompt_queue, "PROMPTS_LIMIT", 3)
    monkeypatch.setattr(prompt_queue, "BYTES_LIMIT", 10)
    queue = PromptQueue()
    queue.add("x" * 100, ())  # the first has room, however large it is
    with pytest.raises(QueueFullError, match="wait already"):
        queue.add("y", ())
    queue.begin()
    for _ in range(3):
        queue.add("z", ())
    with pytest.raises(QueueFullError, match="3 prompts wait already"):
        queue.add("z", ())
