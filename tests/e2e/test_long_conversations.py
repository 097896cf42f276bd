"""Conversations that become too long for their model, with the real SDK: headless, in rpc, recorded and replayed."""

from __future__ import annotations

import subprocess

import pytest

from agent.run.compaction import HEADING
from agent.sessions.load import load
from agent.transcript import Text
from tests.support.extension_folder import EXAMPLES
from tests.support.golden import shape
from tests.support.messages_server import hold_first_byte, http_error, text_reply, tool_reply
from tests.support.rpc_client import RpcClient
from wire.events import CompactDone, CompactStart, TurnStart, Usage
from wire.exit_codes import Status

SMALL = "claude-haiku-4-5"
"""Its window has 200,000 tokens."""
TRUE = [("bash", {"command": "true"})]
TOO_LONG = http_error(400, "prompt is too long: 205668 tokens > 200000 maximum")
TURNS = [tool_reply(TRUE, input_tokens=4), tool_reply(TRUE, input_tokens=5)]
"""After these the conversation has five messages."""


@pytest.fixture
def ask(zot, server):
    def run(*flags, prompt="go", **popen):
        prompts = zot.folder / "prompt"
        prompts.write_text(prompt)
        with prompts.open("rb") as stdin:
            return zot.run("--json", "--base-url", server.base_url, *flags, stdin=stdin, **popen)

    return run


def test_a_run_compacts_before_it_fills_the_window_and_goes_on(ask, server):
    server.add(tool_reply(TRUE, input_tokens=3, cache_write=120_000))
    server.add(tool_reply(TRUE, input_tokens=3, cache_read=120_000, cache_write=50_500))
    server.add(text_reply("It was so.", input_tokens=101_000, output_tokens=900))
    server.add(text_reply("Done.", input_tokens=3_000))
    outcome = ask("--model", SMALL, prompt="word" * 100_000).check(Status.OK)
    assert outcome.result.text == "Done."
    (start,), (done,) = outcome.of(CompactStart), outcome.of(CompactDone)
    assert (start.trigger, start.window) == ("window", 200_000)
    assert 170_500 < start.tokens < 171_000
    assert done == CompactDone("It was so.", 5, 5, "window")
    kinds = shape(outcome)
    at = kinds.index("compact_start")
    assert kinds[at - 1 : at + 4] == ["tool_result", "compact_start", "usage", "compact_done", "turn_start"]
    (told,) = outcome.warnings
    assert told == (
        f"zot: the conversation filled about 85 % of the context window of {SMALL};"
        " a summary stands for the first 1 of its 5 messages now"
    )
    _, _, asked, next_one = (request.body for request in server.requests)
    assert "tools" not in asked
    assert "<conversation>" in asked["messages"][0]["content"][0]["text"]
    assert next_one["messages"][0] == {"role": "user", "content": [{"type": "text", "text": f"{HEADING}It was so."}]}
    assert len(next_one["messages"]) == 5
    used = outcome.of(Usage)
    assert len(used) == 4
    assert outcome.result.usage == used[-1].cumulative
    assert outcome.result.usage.input == 3 + 3 + 101_000 + 3_000


def test_a_request_that_is_too_long_for_a_model_that_nobody_knows_is_made_again_with_less(ask, server, zot):
    server.add(*TURNS, TOO_LONG, text_reply("It was so."), text_reply("Done."))
    outcome = ask("--model", "local-model").check(Status.OK)
    assert [record.step for record in outcome.of(TurnStart)] == [1, 2, 3, 3]
    assert outcome.result.steps == 3
    (start,), (done,) = outcome.of(CompactStart), outcome.of(CompactDone)
    assert (start.trigger, start.window) == ("too_long", None)
    assert (done.messages_before, done.messages_after, done.trigger) == (5, 5, "too_long")
    assert [len(request.body["messages"]) for request in server.requests] == [1, 3, 5, 1, 5]
    assert server.unused == 0
    (session,) = zot.session_files()
    messages = load(session).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert messages[0].content == (Text(f"{HEADING}It was so."),)


def test_a_guard_of_messages_sees_a_summary_before_readers_do(ask, server, zot):
    secret = "AKIAIOSFODNN7EXAMPLE"
    server.add(*TURNS, TOO_LONG, text_reply(f"The key is {secret}."), text_reply("Done."))
    outcome = ask("--model", "local-model", "-e", EXAMPLES / "redactor").check(Status.OK)
    (done,) = outcome.of(CompactDone)
    assert "The key is" in done.summary
    assert secret not in outcome.text
    assert secret in str(server.requests[-1].body["messages"][0]), "the model keeps what it wrote"


def test_the_settings_of_zot_have_the_threshold(ask, server, zot):
    zot.home.mkdir(parents=True, exist_ok=True)
    (zot.home / "config.json").write_text('{"auto_compact_threshold": 60}')
    server.add(tool_reply(TRUE, input_tokens=101_000), tool_reply(TRUE, input_tokens=121_000))
    server.add(text_reply("It was so."), text_reply("Done."))
    outcome = ask("--model", SMALL, prompt="word" * 100_000).check(Status.OK)
    assert len(outcome.of(CompactDone)) == 1


def test_a_recorded_compaction_is_replayed_if_it_is_asked_for(ask, server, zot):
    server.add(*TURNS, TOO_LONG, text_reply("It was so."), text_reply("Done."))
    cassette = zot.folder / "cassette.jsonl"
    recorded = ask("--model", "local-model", "--record", cassette).check(Status.OK)
    replayed = zot.run("--json", "--replay", cassette, "--auto-compact", "--no-session", "go").check(Status.OK)
    assert shape(replayed) == shape(recorded)
    without = zot.run("--json", "--replay", cassette, "--no-session", "go").check(Status.ERROR)
    assert "--auto-compact turns it on" in without.result.reason


def test_an_abort_during_the_summary_ends_the_prompt_of_rpc_and_the_next_one_is_carried_out(zot, server):
    server.add(*TURNS, TOO_LONG, hold_first_byte(text_reply("never")))
    with zot.start("rpc", "--base-url", server.base_url, "--model", "local-model", stdin=subprocess.PIPE) as running:
        client = RpcClient.of(running)
        client.ask("prompt", message="go")
        client.until("compact_start")
        server.wait_until_held()
        client.send("abort")
        assert client.until("turn_end", stop="aborted")["error"] == "aborted by the client"
        assert client.until("result")["status"] == "interrupted"
        client.until("done")
        assert client.ask("get_state")["data"]["message_count"] == 5
        server.add(TOO_LONG, text_reply("It was so."), text_reply("Done."))
        records = client.prompt("and now")
        assert [line["type"] for line in records if line["type"].startswith("compact")] == [
            "compact_start",
            "compact_done",
        ]
        assert records[-2]["text"] == "Done."
        assert client.ask("get_messages")["data"]["messages"][0]["content"][0]["text"] == f"{HEADING}It was so."
        running.process.stdin.close()
        assert running.finish().leftovers == []


def test_a_session_that_nearly_fills_the_window_is_compacted_before_its_first_request(ask, server, zot):
    server.add(*TURNS, text_reply("So far.", input_tokens=3, cache_read=189_000, output_tokens=997))
    ask("--model", SMALL, "--no-auto-compact", prompt="word" * 100_000).check(Status.OK)
    server.add(text_reply("It was so."), text_reply("Done.", input_tokens=3_000))
    outcome = ask("-c", prompt="next").check(Status.OK)
    (start,), (done,) = outcome.of(CompactStart), outcome.of(CompactDone)
    assert (start.trigger, start.window) == ("window", 200_000)
    assert 190_000 < start.tokens < 190_010
    assert done.messages_before == 7
    assert "tools" not in server.requests[3].body, "the first request asks for the summary"
    assert server.requests[4].body["messages"][0]["content"][0]["text"] == f"{HEADING}It was so."
    server.add(text_reply("Again."))
    assert ask("-c", prompt="more").check(Status.OK).of(CompactStart) == []
