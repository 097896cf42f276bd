"""`Runtime.compact` and `Runtime.steer` with a real engine and its model worker."""

from __future__ import annotations

import pytest

from pyzot import RefusedError, Runtime, ToolCall, UserMessage
from pyzot.events import CompactDone
from tests.support.messages_server import MessagesServer, text_reply, tool_reply


@pytest.fixture
def served(tmp_path):
    """A server of the Messages API, and a runtime that asks it."""
    with MessagesServer() as server:
        runtime = Runtime(base_url=server.base_url, api_key="k", cwd=tmp_path, env={"ZOT_HOME": str(tmp_path / "home")})
        yield server, runtime
        runtime.close()


def test_a_compaction_returns_the_summary(served):
    server, runtime = served
    server.add(*(text_reply(text) for text in ("One.", "Two.", "Three.", "All of it.", "Four.")))
    with pytest.raises(RefusedError, match="nothing to compact: the conversation is empty"):
        runtime.compact()
    for text in ("first", "second", "third"):
        runtime.run(text)
    assert runtime.compact("keep the paths") == "All of it."
    assert runtime.run("fourth").text == "Four."
    assert len(runtime.messages()) == 7
    assert CompactDone.__match_args__ == ("summary", "messages_before", "messages_after", "trigger")


def test_a_message_is_given_to_the_prompt_that_runs(served, tmp_path):
    server, runtime = served
    server.add(tool_reply([("bash", {"command": "until [ -e gate ]; do sleep 0.01; done"})]), text_reply("Done."))
    assert not runtime.steer("too early")
    told = []
    for event in runtime.prompt("go"):
        if isinstance(event, ToolCall):
            assert runtime.steer("rather this")
            (tmp_path / "gate").touch()
        if isinstance(event, UserMessage):
            told.append(event.content[0].text)
    assert told == ["go", "rather this"]
    assert not runtime.steer("too late")
    with pytest.raises(RefusedError, match="needs a text or an image"):
        runtime.steer(" ")
