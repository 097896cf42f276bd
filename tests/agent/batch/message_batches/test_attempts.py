"""Batches whose tasks go through the Message Batches API of the scripted server, asked by the real SDK."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.batch import BatchError
from agent.batch.message_batches.worker.worker_main import PAGE
from agent.batch.message_batches.write_up import EXPIRED
from tests.support.batch_api_starts import IN_USD, MODEL, OUT_USD, prompts, run, stopped_when
from tests.support.batch_place import when
from tests.support.messages_server.message_batches import DAY_S, prompt_of, succeeded
from tests.support.messages_server.replies import Drop, Reply, http_error, text_reply
from wire.batch.task import Task

if TYPE_CHECKING:
    from tests.support.batch_place import BatchPlace
    from tests.support.messages_server.message_batches import MessageBatches
    from tests.support.messages_server.server import MessagesServer


def test_tasks_are_one_message_batch_at_half_the_price(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    end = run(place, server, prompts(3))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3}), place.said
    assert [len(batch.requests) for batch in api.stored] == [3]
    (outcome,) = place.ends()["t1"]
    assert outcome.text == "answer to say 1"
    assert outcome.cost_usd == pytest.approx((IN_USD + OUT_USD) / 2, abs=1e-6)
    assert (outcome.provider, outcome.model, outcome.steps, outcome.requests) == ("anthropic", MODEL, 1, 1)
    assert end.cost_usd == pytest.approx(3 * (IN_USD + OUT_USD) / 2, abs=1e-5)
    assert not (place.rundir / "batches").exists() or not list((place.rundir / "batches").iterdir())
    assert (place.rundir / "runs" / "t1" / "1.events.jsonl").read_bytes() == b"".join(
        line for task, _, line in place.events if task == "t1"
    )


def test_a_stopped_batch_leaves_its_message_batch_and_the_next_start_fetches_it(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    end = stopped_when(place, server, prompts(3), lambda: api.calls["retrieve"] >= 2)
    assert (end.reason, end.statuses) == ("stopped", {"not_run": 3})
    assert any("3 tasks of message batch msgbatch_0001 go on at the provider" in line for line in place.said)
    api.looks = 1
    end = run(place, server, prompts(3))
    assert (end.reason, end.statuses) == ("done", {"ok": 3})
    assert set(api.prompts.values()) == {1}
    assert [outcome.attempt for outcome in place.ends()["t0"]] == [1]
    assert end.cost_usd == pytest.approx(3 * (IN_USD + OUT_USD) / 2, abs=1e-5)


def test_a_start_without_the_flag_is_refused_while_results_are_outstanding(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(2), lambda: api.calls["retrieve"] >= 1)
    with pytest.raises(BatchError, match=r"2 tasks went into message batches.*--batch-api"):
        run(place, server, prompts(2), batch_api=False)


def test_a_creation_whose_answer_is_lost_is_found_in_the_list_and_not_repeated(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.add_foreign(3)
    api.add_foreign(2)
    api.lost["create"] = 1
    end = run(place, server, prompts(3))
    assert (end.reason, end.statuses) == ("done", {"ok": 3})
    assert api.calls["create"] == 1
    assert api.calls["list"] >= 1


def test_a_clock_that_is_hours_ahead_sends_nothing_twice(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.clock = lambda: time.time() - 14 * 3600
    api.lost["create"] = 1
    end = run(place, server, prompts(2))
    assert (end.statuses, api.calls["create"], len(api.stored)) == ({"ok": 2}, 1, 1)


def test_ours_is_found_on_a_later_page_of_the_list(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.held.add("create")
    stopped_when(place, server, prompts(3), lambda: len(api.stored) == 1)
    api.held.clear()
    server.release()
    for _ in range(PAGE + 1):
        api.add_foreign(4)
    assert run(place, server, prompts(3)).statuses == {"ok": 3}
    assert api.calls["create"] == 1
    assert api.calls["list"] == 2


def test_after_a_day_at_the_provider_a_request_is_sent_again(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(2), lambda: api.calls["retrieve"] >= 1)
    api.looks, api.clock = 1, lambda: time.time() + DAY_S
    end = run(place, server, prompts(2))
    assert end.statuses == {"ok": 2}
    assert {one.reason for one in place.ends(final=False)["t0"]} == {EXPIRED, ""}
    assert len(api.stored) == 2


def test_a_creation_that_never_arrived_is_made_again_once_the_list_shows_nothing(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.add_foreign(3)
    api.faults["create"] = deque([Reply((Drop(),)), http_error(500), http_error(429, retry_after_ms=10)])
    end = run(place, server, prompts(3))
    assert (end.reason, end.statuses) == ("done", {"ok": 3})
    assert api.calls["create"] == 4
    assert all(count == 1 for prompt, count in api.prompts.items() if prompt != "foreign")


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (http_error(401, "invalid x-api-key"), "authentication", "invalid x-api-key"),
        (http_error(404), "error", "has no Message Batches API: leave --batch-api out"),
        (http_error(413), "error", "413"),
    ],
)
def test_a_refused_creation_is_the_outcome_of_each_task(
    place: BatchPlace, server: MessagesServer, api: MessageBatches, fault: Reply, status: str, words: str
) -> None:
    api.faults["create"] = deque([fault])
    end = run(place, server, prompts(2), retries=0)
    assert (end.exit_code, end.statuses) == (10, {status: 2})
    outcome = place.ends()["t0"][0]
    assert words in outcome.reason
    assert (outcome.cost_usd, outcome.requests) == (0, 1)


def test_the_budget_counts_each_request_at_most_before_it_is_sent(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    at_most = 32_000 * 15 / 1e6 / 2
    end = run(place, server, prompts(8), max_cost_usd=2.5 * at_most)
    assert end.statuses == {"ok": 8}, "real costs take the place of what was reserved"
    assert len(api.stored[0].requests) == 3
    assert len(api.stored) > 1


def test_a_used_up_budget_sends_no_more(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    used = {"input_tokens": 0, "output_tokens": 20_000}
    api.answer = lambda _params: succeeded("long", usage=used)
    end = run(place, server, prompts(8), max_cost_usd=0.3)
    assert (end.reason, end.limit) == ("budget", "--max-cost-usd")
    assert end.statuses == {"ok": 2, "not_run": 6}


def test_after_the_deadline_the_message_batch_is_left(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    end = run(place, server, prompts(2), deadline=0.5)
    assert (end.reason, end.limit, end.statuses) == ("deadline", "--deadline", {"not_run": 2})
    api.looks = 1
    assert run(place, server, prompts(2)).statuses == {"ok": 2}
    assert set(api.prompts.values()) == {1}


def test_answers_fit_their_schema_or_are_told(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    schema = {"type": "object", "required": ["n"]}
    api.answer = lambda params: succeeded('{"n": 1}' if prompt_of(params) == "say 0" else "seven")
    tasks = [Task(id=f"t{number}", prompt=f"say {number}", output_schema=schema) for number in range(2)]
    end = run(place, server, tasks)
    assert end.statuses == {"ok": 1, "invalid_answer": 1}
    assert bytes(place.ends()["t0"][0].answer) == b'{"n": 1}'
    assert "does not fit --output-schema" in place.ends()["t1"][0].reason
    assert "JSON Schema" in api.stored[0].requests[0]["params"]["system"][0]["text"]


def test_a_task_that_cannot_be_asked_ends_alone(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    tasks = [*prompts(1), Task(id="t1", prompt="x", files=(str(place.folder / "gone"),))]
    end = run(place, server, tasks)
    assert end.statuses == {"ok": 1, "usage": 1}
    assert set(api.prompts) == {"say 0"}


def test_another_account_neither_loses_nor_repeats_anything(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(2), lambda: api.calls["retrieve"] >= 1)
    mine, api.stored = api.stored, []
    end = run(place, server, prompts(2))
    assert (end.reason, end.statuses) == ("stopped", {"not_run": 2})
    assert any("msgbatch_0001 is not there for this key" in line and "or remove" in line for line in place.said)
    api.stored, api.looks = mine, 1
    assert run(place, server, prompts(2)).statuses == {"ok": 2}
    assert set(api.prompts.values()) == {1}


def test_one_that_the_user_gives_up_is_lost(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(2), lambda: api.calls["retrieve"] >= 1)
    api.stored.clear()
    (file,) = (place.rundir / "batches").iterdir()
    file.unlink()
    assert run(place, server, prompts(2)).statuses == {"error": 2}


def test_a_worker_that_dies_is_replaced(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    api.held.add("create")

    def kill(batch: Any) -> None:
        def end() -> None:
            batch._attempts._calls._worker.kill()
            api.held.clear()
            server.release()

        when(batch, lambda: len(api.stored) == 1, end)

    end = run(place, server, prompts(2), do=kill)
    assert end.statuses == {"ok": 2}
    assert api.calls["create"] == 1


def test_changed_prompts_do_not_change_what_was_sent(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(1), lambda: api.calls["retrieve"] >= 1)
    api.looks = 1
    end = run(place, server, [Task(id="t0", prompt="another")])
    assert end.statuses == {"ok": 1}
    assert place.ends()["t0"][0].text == "answer to say 0"
    assert b'"say 0"' in (place.rundir / "runs" / "t0" / "1.events.jsonl").read_bytes()
    end = run(place, server, [Task(id="t0", prompt="another")], redo=("changed",))
    assert place.ends()["t0"][0].text == "answer to another"


def test_tasks_of_another_start_are_recorded_too(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(3), lambda: api.calls["retrieve"] >= 1)
    api.looks = 1
    end = run(place, server, prompts(1))
    assert (end.reason, end.exit_code, end.statuses) == ("done", 0, {"ok": 1})
    assert [place.state().history(f"t{number}").is_done for number in range(3)] == [True] * 3


def test_what_is_sent_is_in_the_view(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    api.looks = 1e9
    seen: list[Any] = []

    def look(batch: Any) -> None:
        when(batch, lambda: api.calls["retrieve"] >= 1, lambda: (seen.append(batch.view()), stop(batch)))

    def stop(batch: Any) -> None:
        batch.controls.is_stopping = True

    run(place, server, prompts(2), do=look)
    ((sent,),) = [view.sent for view in seen]
    assert (sent.id, sent.state, sent.tasks) == ("msgbatch_0001", "in_progress", 2)
    assert seen[0].reserved_usd == pytest.approx(2 * 32_000 * 15 / 1e6 / 2, rel=0.05)
    assert seen[0].has_unknown_cost


@pytest.mark.slow
def test_requests_are_those_of_a_run(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    (place.folder / "project" / "AGENTS.md").write_text("Be brief.")
    (place.folder / "notes.txt").write_text("a note")
    tasks = [
        Task(id="t0", prompt="say", files=(str(place.folder / "notes.txt"),), system_prompt="You are terse."),
        Task(id="t1", prompt="say", output_schema={"type": "object"}, model="claude-opus-4-5"),
    ]
    run(place, server, tasks, run={"reasoning": "low"})
    server.add(text_reply("{}"), text_reply("{}"))
    flags = {"reasoning": "low", "skills": False}
    place.rundir = place.folder / "other"
    run(place, server, tasks, run=flags, batch_api=False, jobs=1)
    asked = [request.body for request in server.requests if request.path.partition("?")[0] == "/v1/messages"]
    assert len(asked) == 2
    for body, one in zip(asked, api.stored[0].requests, strict=True):
        assert body.pop("stream") is True
        assert body == one["params"]
