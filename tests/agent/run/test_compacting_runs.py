"""Prompts that compact their conversation, with a scripted model: what it is asked, what readers see, how it ends."""

from __future__ import annotations

import msgspec
import pytest

from agent.run.limits import Budget
from agent.transcript import Text, ToolCall, ToolResult, text_of
from tests.support.compacting_bench import (
    FAILED,
    LONG,
    REFUSAL,
    SUMMARY,
    SUMMED_UP,
    TOO_LONG,
    WINDOW,
    call,
    reply,
    said,
)
from tests.support.scripted_model import says
from wire import events
from wire.exit_codes import Status


def asked(trial, number):
    return [
        "".join(block.get("text", f"<{block['type']}>") for block in message["content"])
        for message in trial.model.asked[number]["messages"]
    ]


def compactions(trial):
    return [record for record in trial.records if isinstance(record, events.CompactDone | events.CompactStart)]


def is_whole(transcript):
    calls = [block.id for message in transcript for block in message.content if isinstance(block, ToolCall)]
    results = [block.call_id for message in transcript for block in message.content if isinstance(block, ToolResult)]
    return calls == results


def test_between_two_turns_a_summary_takes_the_place_of_the_older_messages(bench):
    script = [reply("", call(1), tokens=4_000), reply("", call(2), tokens=8_499), SUMMARY]
    with bench(*script, reply("Done.", tokens=900)) as trial:
        ending = trial.run.prompt(LONG)
        assert (ending.status, ending.has_answer, trial.run.text) == (Status.OK, True, "Done.")
        assert asked(trial, 3) == [SUMMED_UP, "<tool_use>", "<tool_result>", "<tool_use>", "<tool_result>"]
        assert is_whole(trial.conversation.transcript)
        start, done = compactions(trial)
        assert (start.trigger, start.window) == ("window", WINDOW)
        assert 8_499 < start.tokens < 8_600
        assert done == events.CompactDone("It was so.", 5, 5, "window")
        kinds = trial.kinds()
        at = kinds.index("CompactStart")
        assert kinds[at - 1 : at + 4] == ["ToolResult", "CompactStart", "Usage", "CompactDone", "TurnStart"]
        assert [record.step for record in trial.records if isinstance(record, events.TurnStart)] == [1, 2, 3]
        (told,) = trial.told
        assert told == (
            "the conversation filled about 85 % of the context window of m;"
            " a summary stands for the first 1 of its 5 messages now"
        )


def test_its_use_counts_in_the_usage_of_the_run(bench):
    script = [reply("", call(1), tokens=4_000), reply("", call(2), tokens=9_000), SUMMARY, reply("Done.", tokens=900)]
    with bench(*script) as trial:
        trial.run.prompt(LONG)
        used = [record for record in trial.records if isinstance(record, events.Usage)]
        assert len(used) == 4
        assert (used[2].input, used[2].output) == (1, 1)
        assert [each.auxiliary for each in used] == [False, False, True, False]
        assert trial.run.usage == used[-1].cumulative == trial.conversation.usage
        assert trial.run.usage.input == 3 * 2 + 1


def test_before_the_first_turn_all_is_estimated(bench):
    """As after a resume."""
    with bench(SUMMARY, says("Done."), before=said(4_000, 4_000, 10, 10)) as trial:
        trial.run.prompt("go" + "word" * 500)
        assert trial.kinds()[:5] == ["UserMessage", "CompactStart", "Usage", "CompactDone", "TurnStart"]
        assert len(asked(trial, 1)) == 5
        assert asked(trial, 1)[-1].startswith("go")


@pytest.mark.parametrize(
    ("tokens", "options", "is_compacted"),
    [
        ((8_000,) * 5, {}, False),
        ((4_000, 9_000), {"auto_compact": False}, False),
        ((4_000, 9_000), {"auto_compact": None}, False),
        ((4_000, 9_000), {"compact_at": 0}, False),
        ((5_000, 6_500), {"compact_at": 60}, True),
        ((10**9,) * 3, {"model": "of an unknown window"}, False),
    ],
    ids=["room left", "off", "not asked for", "no threshold", "another threshold", "unknown window"],
)
def test_only_beyond_the_threshold_of_a_known_window_it_is_compacted(bench, tokens, options, is_compacted):
    script = [reply("", call(number), tokens=count) for number, count in enumerate(tokens)]
    with bench(*script, *[SUMMARY] * is_compacted, says("Done."), **options) as trial:
        assert trial.run.prompt("go" + "word" * 5_000).status is Status.OK
        assert len(compactions(trial)) == 2 * is_compacted


def test_the_window_of_another_model_in_the_middle_of_a_prompt_counts(bench):
    script = [reply("", call(1), tokens=4_000), reply("", call(2), tokens=4_500), SUMMARY, says("Done.")]
    with bench(*script) as trial:
        trial.windows["smaller"] = 5_000

        def on_record(record):
            if isinstance(record, events.ToolResult) and record.id == "t2":
                trial.run.options = msgspec.structs.replace(trial.run.options, model="smaller")

        trial.on_record = on_record
        trial.run.prompt("go" + "word" * 3_500)
        assert compactions(trial)[0].window == 5_000
        assert [params["model"] for params in trial.model.asked] == ["m", "m", "smaller", "smaller"]


def test_what_stays_too_long_is_told_once_and_the_run_goes_on(bench):
    script = [reply("", call(number), tokens=9_000 + number) for number in range(4)]
    with bench(*script, says("Done."), before=said(10)) as trial:
        assert trial.run.prompt("go").status is Status.OK
        assert compactions(trial) == []
        (told,) = trial.told
        assert "a summary of its older messages would not help" in told


def test_a_summary_that_fails_is_told_and_not_asked_for_again_until_the_provider_refuses(bench):
    script = [
        reply("", call(1), tokens=4_000),
        reply("", call(2), tokens=9_000),
        FAILED,
        reply("", call(3), tokens=9_500),
    ]
    with bench(*script, TOO_LONG, SUMMARY, says("Done.")) as trial:
        assert trial.run.prompt(LONG).status is Status.OK
        assert asked(trial, 3)[0] == LONG, "the whole conversation"
        assert [record.trigger for record in compactions(trial)] == ["window", "too_long", "too_long"]
        assert (
            trial.told[0]
            == "the conversation fills about 90 % of the context window of m, and is not compacted: broken"
        )
        assert asked(trial, 6)[0] == SUMMED_UP


def test_a_steered_message_is_kept(bench):
    script = [reply("", call(1), tokens=4_000), reply("", call(2), tokens=9_000), SUMMARY, says("Done.")]
    with bench(*script) as trial:
        trial.on_record = lambda record: (
            trial.steering.add("rather b") if isinstance(record, events.ToolResult) and record.id == "t2" else None
        )
        trial.run.prompt(LONG)
        assert asked(trial, 3)[-1] == "rather b"


# --- a request that is too long -----------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_request_that_is_too_long_is_made_again_after_a_compaction(bench, known):
    with bench(TOO_LONG, SUMMARY, says("Done."), before=said(*[100] * 6)) as trial:
        if not known:
            trial.windows.clear()
        ending = trial.run.prompt("go")
        assert (ending.status, trial.run.text, trial.run.steps) == (Status.OK, "Done.", 1)
        assert trial.kinds() == [
            "UserMessage", "TurnStart", "TurnEnd", "CompactStart", "Usage", "CompactDone",
            "TurnStart", "AssistantStart", "TextDelta", "Usage", "AssistantMessage", "TurnEnd",
        ]  # fmt: skip
        assert [record.step for record in trial.records if isinstance(record, events.TurnStart)] == [1, 1]
        assert trial.records[2] == events.TurnEnd("error", REFUSAL)
        start, done = compactions(trial)
        assert (start.trigger, start.window) == ("too_long", WINDOW if known else None)
        assert done == events.CompactDone("It was so.", 7, 5, "too_long")
        assert asked(trial, 2)[0] == SUMMED_UP
        assert asked(trial, 2)[-1] == "go"


def test_the_last_step_may_be_made_again(bench):
    with bench(TOO_LONG, SUMMARY, says("Done."), before=said(*[100] * 6), max_steps=1) as trial:
        assert trial.run.prompt("go").status is Status.OK


def test_a_summary_for_a_small_window_that_is_not_known_is_asked_for_with_less(bench):
    """The refused request had about 6,000 tokens; the summary is asked for with half of that, and with its own room."""
    with bench(TOO_LONG, SUMMARY, says("Done."), before=said(*[1_000] * 6)) as trial:
        trial.windows.clear()
        trial.run.prompt("go")
        params = trial.model.asked[1]
        shown = params["messages"][0]["content"][0]["text"]
        assert len(shown) / 4 + params["max_tokens"] < 6_000


def test_it_is_tried_again_once(bench):
    with bench(TOO_LONG, SUMMARY, TOO_LONG, before=said(*[100] * 6)) as trial:
        ending = trial.run.prompt("go")
        assert ending.status is Status.ERROR
        assert ending.reason == f"{REFUSAL}\nit is too long although it was compacted"
        assert trial.records[-1] == events.TurnEnd("error", REFUSAL)


@pytest.mark.parametrize(
    ("before", "options", "why"),
    [
        ((), {}, "nothing to compact: the last 4 messages are kept, and there are no others"),
        ((100,) * 6, {"auto_compact": False}, "that is off in this run; --auto-compact turns it on"),
    ],
)
def test_what_cannot_be_compacted_ends_the_prompt_and_says_why(bench, before, options, why):
    with bench(TOO_LONG, before=said(*before), **options) as trial:
        ending = trial.run.prompt("go")
        assert ending.status is Status.ERROR
        assert ending.reason == f"{REFUSAL}\nthe conversation was not compacted: {why}"
        assert compactions(trial) == []


def test_a_summary_that_fails_after_a_refusal_is_the_error_of_the_prompt(bench):
    limited = [{"type": "error", "kind": "rate_limit", "status": 429, "message": "slow down"}]
    with bench(TOO_LONG, limited, before=said(*[100] * 6)) as trial:
        before = list(trial.conversation.transcript)
        ending = trial.run.prompt("go")
        assert ending.status is Status.RATE_LIMIT
        assert ending.reason == f"{REFUSAL}\nthe conversation was not compacted: slow down"
        assert trial.conversation.transcript[:6] == before


def test_a_request_that_is_refused_just_after_a_compaction_is_not_compacted_again(bench):
    with bench(SUMMARY, TOO_LONG, before=said(4_400, 4_400, 10, 10)) as trial:
        ending = trial.run.prompt("go")
        assert ending.status is Status.ERROR
        assert ending.reason.endswith("it was compacted just before this request")
        assert trial.conversation.transcript[0].content == (Text(SUMMED_UP),)


def test_a_reply_that_fills_the_window_is_dropped_and_asked_for_again(bench):
    half = reply("Half an ans", tokens=9_999, stop="model_context_window_exceeded")
    with bench(half, SUMMARY, says("Done."), before=said(*[100] * 6)) as trial:
        ending = trial.run.prompt("go")
        assert (ending.status, trial.run.text) == (Status.OK, "Done.")
        assert [text_of(message.content) for message in trial.conversation.transcript][-2:] == ["go", "Done."]
        assert asked(trial, 2)[-1] == "go", "models refuse to go on with a reply of their own"
        assert compactions(trial)[1] == events.CompactDone("It was so.", 8, 5, "too_long")
        assert [record.stop for record in trial.records if isinstance(record, events.TurnEnd)] == ["length", "end_turn"]


def test_where_nothing_can_be_compacted_half_a_reply_is_the_answer(bench):
    half = reply("Half an ans", tokens=9_999, stop="model_context_window_exceeded")
    with bench(half) as trial:
        ending = trial.run.prompt("go")
        assert (ending.status, ending.has_answer, trial.run.text) == (Status.ERROR, True, "Half an ans")
        assert "the conversation was not compacted: nothing to compact" in ending.reason
        assert [message.role for message in trial.conversation.transcript] == ["user", "assistant"]


def test_after_a_compaction_that_was_not_enough_the_next_prompt_may_compact_again(bench):
    with bench(TOO_LONG, SUMMARY, TOO_LONG, TOO_LONG, SUMMARY, says("Done."), before=said(*[100] * 6)) as trial:
        assert trial.run.prompt("go").status is Status.ERROR
        ending = trial.run.prompt("and now")
        assert (ending.status, trial.run.text) == (Status.OK, "Done.")
        assert asked(trial, 5) == [SUMMED_UP, "text 4" + "word" * 100, "text 5" + "word" * 100, "go", "and now"]


def test_nor_does_a_failure_after_a_compaction_keep_the_next_prompt_from_it(bench):
    with bench(SUMMARY, FAILED, SUMMARY, says("Done."), before=said(4_400, 4_400, 10, 10)) as trial:
        assert trial.run.prompt("go").reason == "broken"
        assert trial.run.prompt("word" * 4_400).status is Status.OK
        assert [record.trigger for record in compactions(trial)] == ["window"] * 4


def test_a_reply_that_fills_the_window_and_uses_up_the_budget_is_the_last_one(bench):
    half = reply("Half an ans", tokens=9_999, stop="model_context_window_exceeded")
    with bench(half, before=said(*[100] * 6)) as trial:
        trial.conversation.spending.budget = Budget(None, 9_999)
        ending = trial.run.prompt("go")
        assert (ending.status, ending.has_answer, trial.run.text) == (Status.BUDGET, True, "Half an ans")
        assert ending.reason.startswith("the reply was cut off: model_context_window_exceeded\nbudget: 9,999 of 9,999")
        assert compactions(trial) == []


def test_a_summary_that_is_too_long_itself_is_told_in_few_words(bench):
    with bench(TOO_LONG, TOO_LONG, before=said(*[100] * 6)) as trial:
        reason = trial.run.prompt("go").reason
        assert reason == f"{REFUSAL}\nthe conversation was not compacted: no summary: the request for it was too long"


def test_a_failure_with_advice_is_told_on_one_line(bench):
    busy = [{"type": "error", "kind": "overloaded", "status": 529, "message": "HTTP 529", "advice": "try again later"}]
    with bench(busy, says("Done."), before=said(4_400, 4_400, 10, 10)) as trial:
        assert trial.run.prompt("go").status is Status.OK
        (told,) = trial.told
        assert told.endswith("and is not compacted: HTTP 529; try again later")


# --- aborts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "before"),
    [
        ([SUMMARY, says("Done.")], said(4_500, 4_500, 10, 10)),
        ([TOO_LONG, SUMMARY, says("Done.")], said(*[100] * 6)),
    ],
)
def test_an_abort_after_any_record_leaves_a_whole_stream_and_the_old_or_the_new_messages(bench, script, before):
    after, ended = 0, None
    while ended is not Status.OK:
        after += 1
        with bench(*script, before=before) as trial:
            trial.abort_after = after
            ended = trial.run.prompt("go").status
            trial.model.replies.clear()
            if ended is not Status.OK:
                assert ended is Status.INTERRUPTED
                assert trial.records[-1] == events.TurnEnd("aborted", "enough")
            transcript = trial.conversation.transcript
            is_new = any(isinstance(record, events.CompactDone) for record in trial.records)
            assert is_new or transcript[: len(before)] == before
            assert not is_new or transcript[0].content == (Text(SUMMED_UP),)
    assert after > 7
