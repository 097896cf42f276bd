"""A repaired transcript is one that the API takes, and a valid one is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.sessions.repair import repair_messages
from agent.transcript import Message, Text, ToolCall, ToolResult

ids = st.sampled_from("abc")
blocks = st.one_of(
    st.builds(Text, st.just("t")),
    st.builds(ToolCall, ids, st.just("read"), st.just(b"{}")),
    st.builds(ToolResult, ids, st.just((Text("r"),))),
)
messages = st.lists(
    st.builds(
        Message, st.sampled_from(["user", "assistant", "tool"]), st.lists(blocks, max_size=4).map(tuple), st.just("")
    ),
    max_size=8,
)


def check(transcript):
    waiting = []
    for number, message in enumerate(transcript):
        results = [block.call_id for block in message.content if isinstance(block, ToolResult)]
        assert sorted(results) == sorted(waiting), number
        assert message.content
        waiting = [block.id for block in message.content if isinstance(block, ToolCall)]
        assert len(waiting) == len(set(waiting))
    assert not waiting
    assert not transcript or transcript[0].role == "user"


@given(messages)
def test_a_repaired_transcript_is_valid_and_stays_as_it_is(given_messages):
    found, changes = repair_messages(given_messages)
    check(found)
    assert repair_messages(found) == (found, 0)
    assert bool(changes) == (found != given_messages)
