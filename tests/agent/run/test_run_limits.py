"""One prompt in this process with a scripted model: the budget before each request, and answers that fit a schema."""

from __future__ import annotations

import json

import pytest

from agent.answers.schema import AnswerSchema
from agent.run.limits import Budget
from agent.run.summarizer import Summarizer
from agent.transcript import Message, Text, ToolCall, ToolResult
from supervisor.calls.guard_chain import Judgement
from tests.support.run_bench import running
from tests.support.scripted_model import says
from wire import events
from wire.exit_codes import Status

MODEL = "claude-sonnet-5-5"
CALL = ("t1", "nope", {})
GOOD, BAD, WORSE = '{"bugs": 2}', "Two bugs.", '{"bugs": "2"}'


@pytest.fixture
def trial(tmp_path):
    def make(*replies, schema=None, **options):
        return running(tmp_path, *replies, model=MODEL, answer_schema=schema, **options)

    return make


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    rule = {"type": "object", "properties": {"bugs": {"type": "integer"}}, "required": ["bugs"]}
    path.write_text(json.dumps(rule))
    return AnswerSchema(str(path))


# --- budgets: each scripted reply has two tokens --------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_the_run_ends_after_the_results_of_the_turn_that_used_it_up(trial, limit):
    with trial(*[says("", CALL)] * 3, says("Done."), budget=Budget(None, limit)) as made:
        end = made.run.prompt("go")
        asked = (limit + 1) // 2
        assert (end.status, len(made.model.asked), made.run.steps) == (Status.BUDGET, asked, asked)
        assert end.reason.startswith(f"budget: {2 * asked} of {limit} tokens (--max-tokens)")
        assert made.kinds()[-2:] == ["TurnEnd", "ToolResult"]
        calls = [block for message in made.conversation.transcript for block in message.content]
        assert sum(isinstance(block, ToolCall) for block in calls) == asked
        assert sum(isinstance(block, ToolResult) for block in calls) == asked


def test_a_budget_that_the_final_answer_uses_up_is_enough(trial):
    with trial(says("", CALL), says("Done."), budget=Budget(None, 3)) as made:
        assert made.run.prompt("go").status is Status.OK


def test_dollars_count_as_tokens_do(trial):
    with trial(says("", CALL), says("", CALL), budget=Budget(0.00002)) as made:
        end = made.run.prompt("go")
        assert (end.status, len(made.model.asked)) == (Status.BUDGET, 2)
        assert "$0.000024 of $0.00002 (--max-cost-usd)" in end.reason


def test_a_request_that_failed_counts(trial):
    begun = [
        {"type": "message_start", "usage": {"input": 50, "output": 0}},
        {"type": "error", "kind": "api", "status": 500, "message": "boom", "usage": {"input": 50, "output": 7}},
    ]
    with trial(begun, budget=Budget(None, 100)) as made:
        assert made.run.prompt("go").status is Status.ERROR
        assert made.conversation.spending.used_up() is None
        assert made.conversation.spending.spent.output == 7


def test_what_another_prompt_used_counts_and_a_resumed_sum_does_not(trial):
    with trial(says("One."), says("", CALL), budget=Budget(None, 4)) as made:
        made.conversation.usage = events.Totals(10**6, 0, 0, 0, None)
        assert made.run.prompt("a").status is Status.OK
        assert made.new_run().prompt("b").status is Status.BUDGET
        assert len(made.model.asked) == 2


def test_a_steer_gets_no_request_beyond_the_budget(trial):
    with trial(says("Done."), budget=Budget(None, 2)) as made:
        made.once_after(events.TurnStart, lambda: made.steering.add("and more"))
        assert made.run.prompt("go").status is Status.BUDGET
        assert made.users() == ["go"]


def test_a_summary_is_not_asked_for_beyond_the_budget(trial):
    with trial(budget=Budget(None, 2)) as made:
        made.conversation.add_usage(events.Totals(2, 0, 0, 0, None))
        made.conversation.transcript = [Message("user", (Text(str(number)),), "") for number in range(6)]
        older, kept = made.conversation.transcript[:2], made.conversation.transcript[2:]
        summarizer = Summarizer(made.model, made.event_writer, made.conversation, made.abort)
        summary = summarizer.run(MODEL, older, kept, "")
        assert summary.status is Status.BUDGET
        assert "2 of 2 tokens" in summary.reason
        assert (len(made.conversation.transcript), made.model.asked) == (6, [])


# --- answers -------------------------------------------------------------------------------------------------


def test_an_answer_that_fits_is_the_end(trial, schema):
    with trial(says(f"```json\n{GOOD}\n```"), schema=schema) as made:
        end = made.run.prompt("go")
        assert (end.status, end.has_answer, made.run.text, bytes(made.run.answer)) == (
            Status.OK, True, GOOD, GOOD.encode()
        )  # fmt: skip
        (said,) = [record for record in made.records if isinstance(record, events.AssistantMessage)]
        assert said.content[0].text == f"```json\n{GOOD}\n```"


def test_one_that_does_not_gets_one_more_turn(trial, schema):
    with trial(says(BAD), says(GOOD), schema=schema) as made:
        assert made.run.prompt("go").status is Status.OK
        assert (made.run.text, made.run.steps) == (GOOD, 2)
        turn = ["TurnStart", "AssistantStart", "TextDelta", "Usage", "AssistantMessage", "TurnEnd"]
        assert made.kinds() == ["UserMessage", *turn, "UserMessage", *turn]
        _, told = made.users()
        assert "it is not JSON alone: invalid character at line 1, column 1 (the line: Two bugs.)" in told
        assert made.model.asked[1]["messages"][-1]["content"][0]["text"] == told


def test_it_may_call_tools_in_that_turn(trial, schema):
    with trial(says(BAD), says("", CALL), says(GOOD), schema=schema) as made:
        assert (made.run.prompt("go").status, made.run.steps) == (Status.OK, 3)


def test_a_second_one_that_does_not_fit_is_no_answer(trial, schema):
    with trial(says(BAD), says(WORSE), schema=schema) as made:
        end = made.run.prompt("go")
        assert (end.status, end.has_answer, made.run.text) == (Status.INVALID_ANSWER, False, WORSE)
        assert not made.run.answer
        assert end.reason == (
            "the answer does not fit --output-schema, also after one more turn:"
            ' /bugs: "2" is not of type "integer" (rule /properties/bugs/type)'
        )


@pytest.mark.parametrize(
    ("limits", "status"), [({"max_steps": 1}, Status.MAX_STEPS), ({"budget": Budget(None, 2)}, Status.BUDGET)]
)
def test_the_limits_hold_for_that_turn(trial, schema, limits, status):
    with trial(says(WORSE), schema=schema, **limits) as made:
        end = made.run.prompt("go")
        assert (end.status, made.run.text, made.users()) == (status, WORSE, ["go"])
        assert "; the answer does not fit --output-schema: /bugs:" in end.reason


@pytest.mark.parametrize(
    ("limits", "status"), [({"max_steps": 2}, Status.MAX_STEPS), ({"budget": Budget(None, 4)}, Status.BUDGET)]
)
def test_a_limit_after_tools_of_that_turn_still_says_what_is_owed(trial, schema, limits, status):
    with trial(says(BAD), says("", CALL), schema=schema, **limits) as made:
        end = made.run.prompt("go")
        assert end.status is status
        assert "; the answer does not fit --output-schema: it is not JSON alone" in end.reason


def test_an_abort_ends_it_before_that_turn(trial, schema):
    with trial(says(BAD), schema=schema) as made:
        made.once_after(events.TurnEnd, lambda: made.abort.request(Status.TIMEOUT, "too long"))
        end = made.run.prompt("go")
        assert (end.status, end.reason, made.users()) == (Status.TIMEOUT, "too long", ["go"])
        assert made.records[-1] == events.TurnEnd("aborted", "too long")


def test_an_empty_reply_is_no_answer_though_an_earlier_turn_said_one(trial, schema):
    with trial(says(GOOD, CALL), says(""), says(""), schema=schema) as made:
        end = made.run.prompt("go")
        assert (end.status, made.run.text) == (Status.INVALID_ANSWER, GOOD)
        assert end.reason.endswith("it is empty")


@pytest.mark.parametrize(("text", "stop"), [('{"bugs":', "max_tokens"), (GOOD, "refusal")])
def test_a_reply_that_the_model_did_not_end_is_not_judged_and_no_answer(trial, schema, text, stop):
    """A program reads the answer: it gets JSON that fits, or nothing."""
    with trial(says(text, stop=stop), schema=schema) as made:
        end = made.run.prompt("go")
        assert (end.status, end.has_answer, made.run.text) == (Status.ERROR, False, text)
        assert not made.run.answer


def test_a_steer_comes_before_the_answer_is_judged(trial, schema):
    with trial(says(BAD), says(GOOD), schema=schema) as made:
        made.once_after(events.TurnStart, lambda: made.steering.add("in JSON, please"))
        assert made.run.prompt("go").status is Status.OK
        assert made.users() == ["go", "in JSON, please"]


class Guard:
    """Stands in for the verdicts of extensions; counts what it was asked."""

    def __init__(self, supervisor, verdicts, on="assistant_message"):
        self.verdicts, self.on, self.asked = list(verdicts), on, []
        self.real = supervisor.intercept
        supervisor.may_guard = lambda event: event == on
        supervisor.intercept = self

    def __call__(self, event):
        if event.event != self.on:
            return self.real(event)
        self.asked.append(event.text)
        return self.verdicts.pop(0)


def test_the_text_that_readers_get_is_judged(trial, schema):
    with trial(says(BAD), schema=schema) as made:
        guard = Guard(made.supervisor, [Judgement(text=GOOD)])
        assert made.run.prompt("go").status is Status.OK
        assert (guard.asked, made.run.text) == ([BAD], GOOD)


def test_model_and_user_hear_that_the_text_which_does_not_fit_is_that_of_a_guard(trial, schema):
    """The model reads its own words in the conversation, and they may well fit."""
    with trial(says(GOOD), says(GOOD), schema=schema) as made:
        Guard(made.supervisor, [Judgement(text=BAD), Judgement(text=BAD)])
        end = made.run.prompt("go")
        assert made.users()[1].startswith("A guard of messages has rewritten your answer, and as it is now, it")
        assert (end.status, made.run.text) == (Status.INVALID_ANSWER, BAD)
        assert end.reason.startswith("the answer, as a guard has rewritten it, does not fit --output-schema, also")


def test_only_the_last_text_counts_for_that(trial, schema):
    with trial(says(GOOD), says(BAD), schema=schema) as made:
        Guard(made.supervisor, [Judgement(text=WORSE), Judgement()])
        assert made.run.prompt("go").reason.startswith("the answer does not fit --output-schema, also after")


def test_a_blocked_answer_stays_blocked(trial, schema):
    with trial(says(BAD), schema=schema) as made:
        Guard(made.supervisor, [Judgement(blocked_by="g", reason="not that")])
        end = made.run.prompt("go")
        assert (end.status, end.reason) == (Status.BLOCKED, "not that")


def test_a_reader_that_leaves_while_a_guard_judges_the_answer_is_no_success(trial):
    with trial(says(GOOD)) as made:
        guard = Guard(made.supervisor, [])
        made.once_after(events.AssistantStart, lambda: made.abort.request(Status.INTERRUPTED, ""))
        end = made.run.prompt("go")
        assert (end.status, end.has_answer, guard.asked) == (Status.INTERRUPTED, False, [])
        assert made.records[-1] == events.TurnEnd("aborted")


def test_a_blocked_steer_leaves_the_answer_to_be_judged(trial, schema):
    with trial(says(BAD), says(GOOD), schema=schema) as made:
        blocked = Judgement(blocked_by="g", reason="no")
        guard = Guard(made.supervisor, [Judgement(), blocked], on="user_prompt")
        made.once_after(events.TurnStart, lambda: made.steering.add("more"))
        assert made.run.prompt("go").status is Status.OK
        assert guard.asked == ["go", "more"], "no guard of prompts judges what is wrong with the answer"
        assert len(made.users()) == 2
