"""A guard of messages gets the text first; what it removes is nowhere in the output."""

from __future__ import annotations

from tests.support.extension_folder import EXAMPLES, extension
from tests.support.golden import golden, lines, shape
from tests.support.replay_script import Script, ok
from wire.events import TextDelta
from wire.exit_codes import Status

SECRET = "AKIAIOSFODNN7EXAMPLE"


def test_a_suppressed_message_appears_nowhere(zot):
    guard = extension(zot.folder, "blocker", "assistant_message", "says too much")
    script = Script(zot.cwd).answer(f"The key is {SECRET}.", chunks=5)
    outcome = zot.replay(script, "-e", guard).check(Status.BLOCKED)
    assert golden(outcome) == lines("""
        session blocker
        extension blocker started: ready
        user_message 'go'
        turn_start 1
        assistant_start
        extension blocker blocked: withheld a message of the model: says too much
        usage 10+5 so far 10+5
        turn_end end_turn
        result blocked 3 '' steps=1: says too much
        done
    """)
    assert SECRET not in outcome.text + outcome.stderr
    assert outcome.warnings == ["zot: blocker withheld a message of the model: says too much"]


def test_a_rewritten_message_comes_as_one_delta_and_the_original_goes_back_to_the_model(zot):
    said = f"The key is {SECRET}."
    script = Script(zot.cwd).call(
        ("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")], text=said
    )
    script.answer("Bye", chunks=1)
    outcome = zot.replay(script, "-e", EXAMPLES / "redactor").check(Status.OK)
    assert golden(outcome).partition("turn_start 2")[0] == lines("""
        session redactor
        extension redactor started: ready
        user_message 'go'
        turn_start 1
        assistant_start
        text_delta 'The key is [redacted:aws-key-id].'
        tool_use_start t1 bash
        tool_use_args t1 '{"command": "true"}'
        tool_use_end t1
        usage 10+5 so far 10+5
        assistant_message 'The key is [redacted:aws-key-id].' | t1 bash {"command": "true"}
        tool_call t1 bash {"command": "true"}
        turn_end tool_use
        tool_result t1 ok '$ true\\n\\n[exit 0]  Took <time>'
    """) + "\n"  # fmt: skip
    assert SECRET not in outcome.text + outcome.stderr
    assert said in zot.session_files()[0].read_text(), "the transcript keeps what the model said"


def test_a_rewritten_call_is_run_as_rewritten_and_announced_as_the_model_wrote_it(zot):
    (zot.cwd / "a.txt").write_text("wrong file\n")
    (zot.cwd / "a.txt.safe").write_text("right file\n")
    rewriter = extension(zot.folder, "rewriter", "rewriter", ".safe")
    script = Script(zot.cwd).call(("read", {"path": "a.txt"}), results=[ok("right file\n")])
    outcome = zot.replay(script.answer("Read."), "-e", rewriter).check(Status.OK)
    assert 'tool_call t1 read {"path": "a.txt"}' in golden(outcome)
    assert outcome.tool_texts() == ["right file\n"]


def test_stream_before_guards_sends_deltas_before_the_verdict(zot):
    guard = extension(zot.folder, "blocker", "assistant_message", "too late")
    script = Script(zot.cwd).answer("Hello there")
    outcome = zot.replay(script, "-e", guard, "--stream-before-guards").check(Status.BLOCKED)
    assert [delta.delta for delta in outcome.of(TextDelta)] == ["Hello ", "there"]
    assert "assistant_message" not in shape(outcome)
    assert outcome.result.text == ""


def test_no_verdict_of_a_guard_allows_unless_guards_are_strict(zot):
    guard = extension(zot.folder, "dies_in_intercept", name="frail")
    script = Script(zot.cwd).call(("bash", {"command": "touch made"}), text="Now.")
    outcome = zot.replay(script, "-e", guard, "--strict-guards").check(Status.BLOCKED)
    assert not (zot.cwd / "made").exists()
    assert "frail" in outcome.result.reason
    assert "exit 9" in outcome.stderr
    made = ok("$ touch made\n\n[exit 0]  Took 0.0s")
    script = Script(zot.cwd).call(("bash", {"command": "touch made"}), results=[made]).answer("Done.")
    outcome = zot.replay(script, "-e", guard).check(Status.OK)
    assert (zot.cwd / "made").exists()
    assert "no_verdict" in [record.event for record in outcome.records if hasattr(record, "event")]
