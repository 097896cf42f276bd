"""The complete event stream of each kind of run without a failure, record by record."""

from __future__ import annotations

import pytest

from tests.support.extension_folder import extension
from tests.support.golden import golden, lines
from tests.support.replay_script import Script, error, ok
from tests.support.zot_process import check_transcript
from wire.events import Session, UserMessage
from wire.exit_codes import Status


def test_a_plain_reply(zot):
    outcome = zot.replay(Script(zot.cwd).answer("Hello there")).check(Status.OK)
    assert golden(outcome) == lines("""
        session
        user_message 'go'
        turn_start 1
        assistant_start
        text_delta 'Hello '
        text_delta 'there'
        usage 10+5 so far 10+5
        assistant_message 'Hello there'
        turn_end end_turn
        result ok 0 'Hello there' steps=1
        done
    """)
    assert outcome.stderr == ""
    session = outcome.of(Session)[0]
    assert (session.provider, session.model, session.cwd) == ("replay", "claude-sonnet-5-5", str(zot.cwd))
    assert session.schema_version == 1
    assert outcome.result.session == session.id
    assert outcome.of(UserMessage)[0].time >= session.time
    assert outcome.result.cost_usd == outcome.result.usage.cost_usd == 0.00007


def test_one_tool_call(zot):
    (zot.cwd / "a.txt").write_text("alpha\n")
    script = Script(zot.cwd).call(("read", {"path": "a.txt"}), results=[ok("alpha\n")], text="Let me see.")
    outcome = zot.replay(script.answer("It says alpha.", chunks=1)).check(Status.OK)
    assert golden(outcome) == lines("""
        session
        user_message 'go'
        turn_start 1
        assistant_start
        text_delta 'Let me see.'
        tool_use_start t1 read
        tool_use_args t1 '{"path": "a.txt"}'
        tool_use_end t1
        usage 10+5 so far 10+5
        assistant_message 'Let me see.' | t1 read {"path": "a.txt"}
        tool_call t1 read {"path": "a.txt"}
        turn_end tool_use
        tool_result t1 ok 'alpha\\n'
        turn_start 2
        assistant_start
        text_delta 'It says alpha.'
        usage 10+5 so far 20+10
        assistant_message 'It says alpha.'
        turn_end end_turn
        result ok 0 'It says alpha.' steps=2
        done
    """)


def test_several_tool_calls_run_in_the_order_of_the_reply(zot):
    script = Script(zot.cwd).call(
        ("write", {"path": "b/c.txt", "content": "one\n"}),
        ("bash", {"command": "cat b/c.txt; exit 3"}),
        ("edit", {"path": "b/c.txt", "edits": [{"oldText": "one", "newText": "two"}]}),
        results=[
            ok("one\n"),
            error("$ cat b/c.txt; exit 3\n\none\n\n[exit 3]  Took 0.1s"),
            ok("-one\n+two\n"),
        ],
    )
    outcome = zot.replay(script.answer("done", chunks=1)).check(Status.OK)
    assert (zot.cwd / "b" / "c.txt").read_text() == "two\n"
    text = golden(outcome)
    assert text[text.index("tool_call") : text.index("turn_start 2")] == lines(r"""
        tool_call t1 write {"path": "b/c.txt", "content": "one\n"}
        tool_call t2 bash {"command": "cat b/c.txt; exit 3"}
        tool_call t3 edit {"path": "b/c.txt", "edits": [{"oldText": "one", "newText": "two"}]}
        turn_end tool_use
        tool_result t1 ok 'one\n'
        tool_progress t2 'one\n'
        tool_result t2 error '$ cat b/c.txt; exit 3\n\none\n\n[exit 3]  Took <time>'
        tool_result t3 ok '-one\n+two\n'
    """) + "\n"  # fmt: skip
    check_transcript(zot.session_rows())


def test_a_blocked_turn(zot):
    guard = extension(zot.folder, "blocker", "turn_start", "closed for today")
    outcome = zot.replay(Script(zot.cwd).answer("never said"), "-e", guard).check(Status.BLOCKED)
    assert golden(outcome) == lines("""
        session blocker
        extension blocker started: ready
        user_message 'go'
        turn_start 1
        extension blocker blocked: refused the turn: closed for today
        turn_end error: closed for today
        result blocked 3 '' steps=1: closed for today
        done
    """)
    assert outcome.warnings == ["zot: blocker refused the turn: closed for today"]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("max_tokens", "the reply was cut off: max_tokens"),
        ("refusal", "the model stopped for an unusual reason: refusal"),
    ],
)
def test_the_text_of_a_reply_that_ended_oddly_is_printed_and_the_status_says_so(zot, stop, reason):
    cassette = Script(zot.cwd).answer("half a sen", stop=stop).write(zot.folder / "c.jsonl")
    outcome = zot.run("-p", "--replay", cassette, "go")
    assert (outcome.text, outcome.stderr, outcome.status) == ("half a sen\n", f"zot: {reason}\n", 1)


def test_the_text_before_a_failed_request_is_no_answer(zot):
    script = Script(zot.cwd).call(("bash", {"command": "true"}), text="Let me look")
    cassette = script.write(zot.folder / "c.jsonl")
    outcome = zot.run("-p", "--replay", cassette, "go")
    assert (outcome.text, outcome.status) == ("", 1)


def test_a_call_that_is_cut_off_is_not_run(zot):
    script = Script(zot.cwd).call(("bash", {"command": "touch made"}), text="Now:")
    script._exchanges[0][1][-1]["stop_reason"] = "max_tokens"
    outcome = zot.replay(script).check(Status.ERROR)
    assert not (zot.cwd / "made").exists()
    assert "tool_call" not in golden(outcome)
    check_transcript(zot.session_rows())
