"""One prompt in this process with a scripted model: the order of records, and a complete end after each abort."""

from __future__ import annotations

import pytest

from agent.transcript import ToolCall, ToolResult
from tests.support.run_bench import running
from tests.support.scripted_model import says
from wire import events
from wire.exit_codes import Status


@pytest.fixture
def bench(tmp_path):
    return lambda *replies, **options: running(tmp_path, *replies, **options)


def test_the_file_worker_starts_when_the_model_begins_a_call_that_needs_it(bench, tmp_path):
    (tmp_path / "a.txt").write_text("alpha\n")
    shell, reading = ("t1", "bash", {"command": "true"}), ("t2", "read", {"path": "a.txt"})
    with bench(says("", shell), says("", reading), says("Done.")) as trial:
        running = {}
        trial.on_record = lambda record: running.update(
            {(type(record), getattr(record, "id", "")): trial.toolbox._files.child is not None}
        )
        assert trial.run.prompt("go").status is Status.OK
    assert not running[events.ToolResult, "t1"]
    assert running[events.ToolUseStart, "t2"]


def test_the_model_hears_the_results_in_the_next_request(bench, tmp_path):
    (tmp_path / "a.txt").write_text("alpha\n")
    with bench(says("", ("t1", "read", {"path": "a.txt"}), ("t2", "nope", {})), says("Done.")) as trial:
        assert trial.run.prompt("go").status is Status.OK
        *_, results = trial.model.asked[1]["messages"]
    first, second = results["content"]
    assert first == {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "alpha\n"}]}
    assert second["is_error"] is True
    assert trial.run.text == "Done."
    assert trial.run.usage.input == 2


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ("[1]", "invalid args: must be a JSON object, not [1]"),
        ('"' + "é" * 60 + 'x"', 'invalid args: must be a JSON object, not "éé'),
        ("null", "invalid args: must be a JSON object, not null"),
        ("{", "invalid args: not valid JSON: "),
        ('{"path": 1}', "invalid args: "),
        ('{"path": "\\ud800"}', "invalid args: not valid JSON: "),
    ],
)
def test_arguments_that_a_tool_does_not_take_are_an_error_result(bench, args, reason):
    with bench(says("", ("t1", "read", args)), says("Done.")) as trial:
        trial.run.prompt("go")
        (result,) = [record for record in trial.records if isinstance(record, events.ToolResult)]
        assert result.is_error
        assert result.content[0].text.startswith(reason)
        assert trial.model.asked[1]["messages"][1]["content"][0]["input"] in ({}, {"path": 1})


@pytest.mark.parametrize("withhold", [False, True])
def test_an_abort_after_any_record_leaves_a_whole_stream_and_transcript(bench, tmp_path, withhold):
    """Tried for every record of a run with two turns of tools: with real ones, and with none that needs a process."""
    (tmp_path / "a.txt").write_text("alpha\n")
    read = ("nope", {}) if withhold else ("read", {"path": "a.txt"})
    script = [
        says("One.", ("t1", *read), ("t2", "nope", {}), ("t3", *read)),
        says("Two.", ("t4", *read)),
        says("Three."),
    ]
    after = 0
    ended = None
    while ended is not Status.OK:
        after += 1
        with bench(*script, stream_before_guards=not withhold) as trial:
            trial.abort_after = after
            ending = trial.run.prompt("go")
            ended = ending.status
            announced = [record.id for record in trial.records if isinstance(record, events.ToolCall)]
            answered = [record.id for record in trial.records if isinstance(record, events.ToolResult)]
            assert announced == answered, trial.kinds()
            if trial.abort.requested and ended is not Status.OK:
                assert (ending.status, ending.reason) == (Status.INTERRUPTED, "enough")
                assert trial.records[-1] == events.TurnEnd("aborted", "enough")
            calls = [b.id for m in trial.conversation.transcript for b in m.content if isinstance(b, ToolCall)]
            results = [b.call_id for m in trial.conversation.transcript for b in m.content if isinstance(b, ToolResult)]
            assert calls == results
            starts = trial.kinds().count("TurnStart")
            ends = trial.kinds().count("TurnEnd")
            assert ends - starts in (0, 1), "an abort between the tools adds the end that the run stops with"
    assert after > 25


def test_steps_are_counted_and_limited(bench):
    with bench(*[says("", (f"t{n}", "nope", {})) for n in range(5)], max_steps=3) as trial:
        ending = trial.run.prompt("go")
        assert (ending.status, ending.reason, trial.run.steps) == (Status.MAX_STEPS, "max steps (3) exceeded", 3)


def test_an_empty_reply_is_an_answer(bench):
    with bench(says("")) as trial:
        assert trial.run.prompt("go").status is Status.OK
        assert trial.kinds() == ["UserMessage", "TurnStart", "AssistantStart", "Usage", "TurnEnd"]
        assert [message.role for message in trial.conversation.transcript] == ["user"]


def test_several_texts_are_one_for_the_guards_and_stay_apart_for_readers(bench):
    reply = says("a")
    reply[-1]["content"] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    with bench(reply) as trial:
        trial.run.prompt("go")
        (message,) = [record for record in trial.records if isinstance(record, events.AssistantMessage)]
        assert [part.text for part in message.content] == ["a", "b"]


# --- messages for a prompt that runs ------------------------------------------------------------------------


def steered(trial, after, *texts):
    """Has the messages come as soon as a record of this type is written, the first time."""

    def on_record(record):
        if type(record).__name__ == after:
            trial.on_record = lambda _record: None
            for text in texts:
                trial.steering.add(text)

    trial.on_record = on_record


def asked(model, number):
    """The last messages of a request: roles, and what the blocks are or say."""
    return [
        (message["role"], [block.get("text", block["type"]) for block in message["content"]])
        for message in model.asked[number]["messages"]
    ]


@pytest.mark.parametrize("after", ["TurnStart", "AssistantStart", "ToolCall", "TurnEnd", "ToolResult"])
def test_a_message_comes_after_the_results_of_the_turn(bench, after):
    with bench(says("", ("t1", "nope", {})), says("Done.")) as trial:
        steered(trial, after, "rather b", "and c")
        assert trial.run.prompt("a").status is Status.OK
        assert asked(trial.model, 0) == [("user", ["a"])]
        assert asked(trial.model, 1)[2:] == [("user", ["tool_result"]), ("user", ["rather b"]), ("user", ["and c"])]
        kinds = trial.kinds()
        second = len(kinds) - 1 - kinds[::-1].index("TurnStart")
        assert kinds[second - 3 : second] == ["ToolResult", "UserMessage", "UserMessage"]


def test_a_message_before_the_first_turn_goes_with_the_first_request(bench):
    with bench(says("Done.")) as trial:
        steered(trial, "UserMessage", "b")
        assert trial.run.prompt("a").status is Status.OK
        assert asked(trial.model, 0) == [("user", ["a"]), ("user", ["b"])]


@pytest.mark.parametrize("after", ["TextDelta", "AssistantMessage", "TurnEnd"])
def test_when_the_model_is_done_a_message_makes_another_turn_follow(bench, after):
    with bench(says("One."), says("Two.")) as trial:
        steered(trial, after, "go on")
        assert trial.run.prompt("a").status is Status.OK
        assert asked(trial.model, 1) == [("user", ["a"]), ("assistant", ["One."]), ("user", ["go on"])]
        assert (trial.run.steps, trial.run.text) == (2, "Two.")


@pytest.mark.parametrize("reply", [says("One."), says("", ("t1", "nope", {}))])
def test_a_message_gets_no_step_beyond_the_most(bench, reply):
    with bench(reply, max_steps=1) as trial:
        steered(trial, "TurnStart", "go on")
        ending = trial.run.prompt("a")
        assert (ending.status, trial.run.steps) == (Status.MAX_STEPS, 1)
        assert trial.kinds().count("UserMessage") == 1


def test_a_failure_drops_the_message(bench):
    with bench([{"type": "error", "kind": "server", "status": 500, "message": "bad"}]) as trial:
        steered(trial, "TurnStart", "go on")
        assert trial.run.prompt("a").status is Status.ERROR
        assert trial.kinds().count("UserMessage") == 1


def test_an_abort_after_any_record_of_a_steered_prompt_leaves_a_whole_stream(bench):
    after, ended = 0, None
    while ended is not Status.OK:
        after += 1
        with bench(says("One.", ("t1", "nope", {})), says("Two."), says("Three.")) as trial:
            trial.abort_after = after
            steered(trial, "ToolCall", "b", "c")
            ended = trial.run.prompt("a").status
            if ended is not Status.OK:
                assert trial.records[-1] == events.TurnEnd("aborted", "enough")
            transcript = trial.conversation.transcript
            calls = [block.id for m in transcript for block in m.content if isinstance(block, ToolCall)]
            results = [block.call_id for m in transcript for block in m.content if isinstance(block, ToolResult)]
            assert calls == results
    assert after > 13
