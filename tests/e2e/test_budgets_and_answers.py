"""Runs as their users start them: one whose budget ends in mid-turn, and answers that must fit a schema."""

from __future__ import annotations

import json

import pytest

from tests.support.golden import shape
from tests.support.late_imports import PROGRAM, late_imports
from tests.support.messages_server import text_reply, tool_reply
from tests.support.zot_process import check_transcript
from wire import events
from wire.exit_codes import Status

SCHEMA = {
    "type": "object",
    "properties": {"bugs": {"type": "integer"}, "worst": {"type": "string"}},
    "required": ["bugs", "worst"],
    "additionalProperties": False,
}


@pytest.fixture
def asked(zot, server):
    """A run on the scripted server."""
    (zot.cwd / "schema.json").write_text(json.dumps(SCHEMA))
    return lambda *args: zot.run("--base-url", server.base_url, "--api-key", "k", *args, "go")


def test_a_budget_that_ends_in_mid_turn_leaves_a_whole_stream_and_session(zot, server, asked):
    """Tokens of the provider's cache are part of the input."""
    (zot.cwd / "a.txt").write_text("alpha\n")
    calls = [("read", {"path": "a.txt"}), ("read", {"path": "a.txt"})]
    used = tool_reply(calls, input_tokens=10, output_tokens=20, cache_read=1_000, cache_write=200)
    server.add(used, text_reply("never asked for"))
    outcome = asked("--json", "--max-tokens", "1000").check(Status.BUDGET)
    reason = "budget: 1,230 of 1,000 tokens (--max-tokens) are used; allow more, or ask for less"
    assert shape(outcome)[-8:] == [
        "tool_call", "tool_call", "turn_end", "tool_result", "tool_result", "error", "result", "done"
    ]  # fmt: skip
    assert (outcome.result.reason, outcome.result.steps) == (reason, 1)
    assert server.unused == 1
    assert outcome.stderr == f"zot: {reason}\n"
    check_transcript(zot.session_rows())


def test_an_answer_that_never_fits_is_exit_11(zot, server, asked):
    server.add(text_reply("There are two bugs."), text_reply('{"bugs": "2"}'))
    outcome = asked("--json", "--output-schema", "schema.json").check(Status.INVALID_ANSWER, user_messages=2)
    result = outcome.result
    assert (result.text, result.steps, bool(result.answer)) == ('{"bugs": "2"}', 2, False)
    assert result.reason.startswith("the answer does not fit --output-schema, also after one more turn: /")
    assert outcome.stderr == f"zot: {result.reason}\n"
    first, second = (request.body for request in server.requests)
    assert json.dumps(SCHEMA, separators=(",", ":")) in json.dumps(first["system"]).replace('\\"', '"')
    assert first["system"] == second["system"], "the beginning of the request stays in the provider's cache"
    told = json.dumps(second["messages"][-1])
    assert "(the line: There are two bugs.)" in told
    assert len(outcome.of(events.UserMessage)) == 2
    check_transcript(zot.session_rows())


@pytest.mark.slow
def test_nothing_is_printed_of_such_an_answer_and_of_another_one_its_json(zot, server, asked):
    """Nor is anything imported while it is judged."""
    server.add(text_reply("Two."), text_reply("Two."))
    outcome = asked("-p", "--output-schema", "schema.json")
    assert (outcome.status, outcome.stdout) == (Status.INVALID_ANSWER.exit_code, b"")
    server.add(text_reply('{"bugs": 2', stop_reason="max_tokens"))
    outcome = asked("-p", "--output-schema", "schema.json", "-o", "answer.json")
    assert (outcome.status, outcome.stdout) == (Status.ERROR.exit_code, b"")
    assert not (zot.cwd / "answer.json").exists()
    report = zot.folder / "late-imports"
    zot.command = [zot.command[0], str(PROGRAM), str(report)]
    server.add(text_reply("Two."), text_reply('```json\n{"bugs": 2,\n "worst": "ü"}\n```'))
    outcome = asked("-p", "--output-schema", "schema.json")
    assert (outcome.status, outcome.stdout.decode()) == (0, '{"bugs": 2,\n "worst": "ü"}\n'), outcome.stderr
    assert late_imports(report) == {}


@pytest.mark.parametrize("mode", ["--json", "--rpc"])
def test_a_faulty_schema_or_a_model_without_a_price_is_an_error_before_anything_starts(zot, mode):
    (zot.cwd / "s.json").write_text('{"properties":\n {"a": {"$ref": "https://example.com/a.json"}}}')
    words = () if mode == "--rpc" else ("go",)
    outcome = zot.run(mode, "--output-schema", "s.json", *words)
    assert (outcome.status, outcome.stdout) == (Status.USAGE.exit_code, b"")
    assert outcome.stderr.startswith("zot: --output-schema s.json:2:9: not a JSON Schema: it refers to https://example")
    outcome = zot.run(mode, "--max-cost-usd", "1", "-m", "llama-99b", *words)
    assert (outcome.status, outcome.stdout) == (Status.USAGE.exit_code, b"")
    assert "limit its tokens with --max-tokens" in outcome.stderr
    assert not zot.session_files()
